//! `yfs peer rename`: gives a name to a peer.

use crate::{
    commands::peer::named_peers::{PeerNameArgs, change_peers},
    prelude::*,
};

const HELP: &str = "\
Example:
  yfs peer rename 3f9a21 ben";

/// Give a name to a peer
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PeerRenameArgs {
    #[command(flatten)]
    target: PeerNameArgs,
    /// Its new name
    name: String,
}

/// Names the peer.
pub(crate) async fn run(args: PeerRenameArgs, context: &mut CommandContext) -> Result {
    change_peers(context, |groups| groups.rename(&args.target.peer, &args.name))
}
