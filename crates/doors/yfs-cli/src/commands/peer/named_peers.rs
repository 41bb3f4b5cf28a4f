//! What the commands that list, name and block peers have in common.

use std::path::Path;

use yfs_peer::{PeerError, PeerGroups};

use crate::{discover, prelude::*};

/// A peer that a command names.
#[derive(Debug, Args)]
pub(super) struct PeerNameArgs {
    /// The peer: the name that `yfs peer rename` gave, the one for which the ticket was made, or
    /// the beginning of an id (4 digits or more)
    #[arg(value_name = "PEER")]
    pub(super) peer: String,
}

/// Opens the peers of the workspace and of its shared directories.
pub(super) fn open_peers(
    open: impl FnOnce(&Workspace, Option<&Path>) -> Result<PeerGroups, PeerError>,
    context: &mut CommandContext,
) -> Result<PeerGroups> {
    let file = context.file()?;
    let workspace = context.writable()?;
    let groups = open(&workspace, Some(&discover::store_dir(&file)))?;
    for (file, error) in &groups.unreadable {
        context.remark(&format!("{}: cannot open this share: {error}", file.display()));
    }
    Ok(groups)
}

/// Changes what is stored of peers.
pub(super) fn change_peers(
    context: &mut CommandContext,
    change: impl FnOnce(&PeerGroups) -> Result<(), PeerError>,
) -> Result {
    let groups = open_peers(PeerGroups::open, context)?;
    let changed = change(&groups);
    groups.close()?;
    Ok(changed?)
}
