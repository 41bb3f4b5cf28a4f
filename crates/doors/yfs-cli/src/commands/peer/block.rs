//! `yfs peer block`: withdraws the rights of a peer or a ticket.

use crate::{commands::peer::named_peers::change_peers, prelude::*};

const HELP: &str = "\
A block withdraws the rights of a key, or of a ticket and all keys that joined with it. It spreads
to all peers, and cannot be withdrawn; the peer keeps what it has received. Only the owner's store
can make one; elsewhere, the command ends the connections of this store only, and `yfs peer unblock`
allows them again.

Examples:
  yfs peer block ben
  yfs peer block 0a1b2c3d4e5f60718293a4b5       a ticket, by the id that `yfs peer share` prints";

/// Withdraw the rights of a peer, or of a ticket
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PeerBlockArgs {
    /// The peer, as for `yfs peer rename`, or the id of a ticket
    #[arg(value_name = "PEER")]
    target: String,
}

/// Blocks the peer or the ticket.
pub(crate) async fn run(args: PeerBlockArgs, context: &mut CommandContext) -> Result {
    let mut is_everywhere = true;
    change_peers(context, |groups| {
        is_everywhere = groups.block(&args.target)?;
        Ok(())
    })?;
    if !is_everywhere {
        context.remark("blocked here only: other peers follow the blocks of the owner's store");
    }
    Ok(())
}
