//! `yfs peer`: connects the workspace with the same workspace of other persons, without a server.

use clap::Args;

#[cfg(any(test, not(feature = "peer")))]
mod absent;
#[cfg(feature = "peer")]
mod named_peers;
#[cfg(feature = "peer")]
mod peer_run;
#[cfg(feature = "peer")]
mod share_code;

#[cfg(not(feature = "peer"))]
use self::absent::AbsentPeerCommand as PeerCommand;

const HELP: &str = "\
Examples:
  yfs peer share                        prints a ticket for another person
  yfs peer join yfspeer_... notes       makes a copy that stays connected
  yfs peer ls
  yfs help peer share";

/// Share the workspace with other machines without a server, and list its peers
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PeerArgs {
    /// The command.
    #[cfg_attr(feature = "peer", command(subcommand))]
    #[cfg_attr(not(feature = "peer"), command(flatten))]
    pub(super) command: PeerCommand,
}

#[cfg(feature = "peer")]
declare_commands! {
    /// A command of `yfs peer` and its arguments.
    enum PeerCommand = "peer ";
    share::ShareArgs => resident,
    join::JoinArgs => resident,
    ls::PeerLsArgs,
    rename::PeerRenameArgs,
    block::PeerBlockArgs,
    unblock::PeerUnblockArgs,
    forget::PeerForgetArgs,
    id::IdArgs,
    relay::RelayArgs => multi_threaded,
}
