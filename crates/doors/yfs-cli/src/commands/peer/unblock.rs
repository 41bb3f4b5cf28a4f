//! `yfs peer unblock`: allows connections with a peer that only this store blocked.

use crate::{
    commands::peer::named_peers::{PeerNameArgs, change_peers},
    prelude::*,
};

const HELP: &str = "\
Example:
  yfs peer unblock ben";

/// Allow connections with a peer that only this store blocked
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PeerUnblockArgs {
    #[command(flatten)]
    target: PeerNameArgs,
}

/// Allows the connections.
pub(crate) async fn run(args: PeerUnblockArgs, context: &mut CommandContext) -> Result {
    change_peers(context, |groups| {
        groups.change_note(&args.target.peer, |note| note.is_blocked = false)
    })
}
