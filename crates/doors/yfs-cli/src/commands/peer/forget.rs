//! `yfs peer forget`: removes a peer from the list.

use crate::{
    commands::peer::named_peers::{PeerNameArgs, change_peers},
    prelude::*,
};

const HELP: &str = "\
Example:
  yfs peer forget ben                           until it connects again";

/// Do not list a peer, and do not connect with it, until it connects itself
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PeerForgetArgs {
    #[command(flatten)]
    target: PeerNameArgs,
}

/// Forgets the peer.
pub(crate) async fn run(args: PeerForgetArgs, context: &mut CommandContext) -> Result {
    change_peers(context, |groups| {
        groups.change_note(&args.target.peer, |note| note.is_forgotten = true)
    })
}
