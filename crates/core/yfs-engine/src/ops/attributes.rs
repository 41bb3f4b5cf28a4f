//! Permission bits, times and metadata.

use yrs::Any;

use super::{OpError, OpReason, RowSource, resolve_row};
use crate::{
    path::VPath,
    table::{PURGE_KEY, REMOVAL_KEYS, RowChanges, RowWrite},
    time::Millis,
    tree::{FinalLink, TreeIndex},
};

/// The permission bits that are kept, with set-user-id, set-group-id and sticky.
const MODE_MASK: u32 = 0o7777;

/// Plans to set the permission bits of the node at `path`. Links are followed.
pub fn plan_chmod(
    tree: &TreeIndex,
    rows: &dyn RowSource,
    path: &VPath,
    mode: u32,
) -> Result<Vec<RowWrite>, OpError> {
    let (_, id) = resolve_row(tree, path, FinalLink::Yes)?;
    let mode = Some(mode & MODE_MASK);
    if rows.row(id).is_some_and(|row| row.mode == mode) {
        return Ok(Vec::new());
    }
    let changes = RowChanges { mode: Some(mode), ..RowChanges::default() };
    Ok(vec![RowWrite::Update { id: id.clone(), changes }])
}

/// Plans to set the modification time of the node at `path`.
pub fn plan_touch(
    tree: &TreeIndex,
    rows: &dyn RowSource,
    path: &VPath,
    updated_at: Millis,
    follow: FinalLink,
) -> Result<Vec<RowWrite>, OpError> {
    let (_, id) = resolve_row(tree, path, follow)?;
    if rows.row(id).is_some_and(|row| row.updated_at == updated_at) {
        return Ok(Vec::new());
    }
    let changes = RowChanges { updated_at: Some(updated_at), ..RowChanges::default() };
    Ok(vec![RowWrite::Update { id: id.clone(), changes }])
}

/// Plans to change the metadata of the node at `path` by a merge patch (RFC 7396). Links are
/// followed. Members that yfs itself keeps there cannot be set.
pub fn plan_meta(tree: &TreeIndex, path: &VPath, patch: &Any) -> Result<Vec<RowWrite>, OpError> {
    let (_, id) = resolve_row(tree, path, FinalLink::Yes)?;
    let Any::Map(members) = patch else { return Err(OpError::invalid(OpReason::Meta, path)) };
    let mut own = REMOVAL_KEYS.into_iter().chain([PURGE_KEY]);
    if own.any(|key| members.contains_key(key)) {
        return Err(OpError::invalid(OpReason::Meta, path));
    }
    if members.is_empty() {
        return Ok(Vec::new());
    }
    let changes = RowChanges { meta: Some(patch.clone()), ..RowChanges::default() };
    Ok(vec![RowWrite::Update { id: id.clone(), changes }])
}
