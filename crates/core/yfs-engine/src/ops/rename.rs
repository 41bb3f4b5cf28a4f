//! Moves and renames, as POSIX `rename` does it.

use super::{
    OpCode, OpError, OpReason, check_name,
    create::make_directories_above,
    resolve_row,
    trash::{keep_names_of_others, removal},
};
use crate::{
    content::RunAuthor,
    id::FileId,
    path::VPath,
    table::{RowChanges, RowWrite},
    tree::{FinalLink, LookupError, NodeRef, PathTarget, TreeIndex},
};

/// The options of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenameOptions {
    /// Whether an existing destination may be replaced.
    pub replace: bool,
    /// Make the missing directories above the destination.
    pub parents: bool,
}

/// The plan of a move.
#[derive(Debug, Clone, PartialEq)]
pub enum MovePlan {
    /// It is there already.
    Nothing,
    /// Write these rows.
    Write(Vec<RowWrite>),
    /// A file takes the place of a file. The destination keeps its identity, so that editors stay
    /// bound to it and history goes on: in one transaction, write the content of `source` into
    /// `target` and put `source` into the trash with `meta.replaced`
    /// (see [`REPLACED_KEY`](crate::table::REPLACED_KEY)).
    Replace {
        /// The file that was to be moved.
        source: FileId,
        /// The file that stays.
        target: FileId,
    },
}

/// Plans to move `from` to `to`, which is the new path itself, not the directory to move into.
///
/// Links at the end of either path are moved and replaced themselves. A file may replace a file,
/// and a directory an empty directory, which goes to the trash. Moving within a directory changes
/// only the name, also if the stored parent is another, so an orphan still goes home when its
/// directory arrives.
pub fn plan_move(
    tree: &TreeIndex,
    from: &VPath,
    to: &VPath,
    by: &RunAuthor,
    options: RenameOptions,
) -> Result<MovePlan, OpError> {
    let (source, id) = resolve_row(tree, from, FinalLink::No)?;
    let place = match tree.place(to, FinalLink::No) {
        Err(LookupError::NotFound { .. }) if options.parents => {
            let mut writes = Vec::new();
            let (parent, name) = make_directories_above(tree, source, to, by.at, &mut writes)?;
            let (name, parent) = (Some(name.to_smol_str()), Some(Some(parent)));
            let changes = RowChanges { name, parent, ..RowChanges::default() };
            writes.push(RowWrite::Update { id: id.clone(), changes });
            writes.extend(keep_names_of_others(source));
            return Ok(MovePlan::Write(writes));
        }
        place => place?,
    };
    let below_source = match &place {
        PathTarget::Taken(target) => *target != source && target.is_within(source),
        PathTarget::Free { parent, .. } => parent.is_within(source),
    };
    if below_source {
        return Err(OpError::invalid(OpReason::IntoItself, to));
    }
    let mut others = keep_names_of_others(source);
    let (parent, name, target) = match &place {
        PathTarget::Taken(target) if *target == source => return Ok(MovePlan::Nothing),
        PathTarget::Taken(target) => {
            let target_id = check_replaceable(source, *target, to, options)?;
            let is_plain = |node: &NodeRef<'_>| !node.is_directory() && node.link().is_none();
            if is_plain(&source) && is_plain(target) {
                return Ok(MovePlan::Replace { source: id.clone(), target: target_id.clone() });
            }
            let parent = target.parent().ok_or_else(|| OpError::invalid(OpReason::Root, to))?;
            let beside_target = keep_names_of_others(*target).into_iter();
            others.extend(beside_target.filter(|write| write.id() != id));
            (parent, target.name(), Some(target_id))
        }
        PathTarget::Free { parent, name } => (*parent, name.as_str(), None),
    };
    let name = check_name(name, to)?;
    let mut changes = RowChanges::default();
    if name.as_str() != source.stored_name() {
        changes.name = Some(name.to_smol_str());
    }
    if source.parent() != Some(parent) {
        changes.parent = Some(parent.id().cloned());
    }
    let mut writes = Vec::new();
    if let Some(target) = target {
        writes.push(RowWrite::Update { id: target.clone(), changes: removal(by) });
    }
    if changes != RowChanges::default() {
        writes.push(RowWrite::Update { id: id.clone(), changes });
        let is_target = |write: &RowWrite| target.is_some_and(|target| target == write.id());
        others.retain(|write| !is_target(write));
        others.dedup_by(|a, b| a.id() == b.id());
        writes.extend(others);
    }
    Ok(if writes.is_empty() { MovePlan::Nothing } else { MovePlan::Write(writes) })
}

/// Checks that one node may replace the other, and returns the id of the other.
fn check_replaceable<'a>(
    source: NodeRef<'_>,
    target: NodeRef<'a>,
    to: &VPath,
    options: RenameOptions,
) -> Result<&'a FileId, OpError> {
    let fail = |code| Err(OpError::new(code, to));
    let Some(id) = target.id() else { return fail(OpCode::NotEmpty) };
    match (source.is_directory(), target.is_directory()) {
        _ if !options.replace => fail(OpCode::Exists),
        // As Linux reports it, even if the source is a file.
        _ if source.is_within(target) => fail(OpCode::NotEmpty),
        (true, false) => fail(OpCode::NotADirectory),
        (false, true) => fail(OpCode::IsADirectory),
        (true, true) if target.n_children() > 0 => fail(OpCode::NotEmpty),
        _ => Ok(id),
    }
}
