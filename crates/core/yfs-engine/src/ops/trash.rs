//! Removal: into the trash, back from it, and for good in two phases.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use smol_str::{SmolStr, format_smolstr};
use yrs::Any;

use super::{OpCode, OpError, OpReason, RowSource, resolve_free, resolve_row};
use crate::{
    content::RunAuthor,
    hash::ContentHash,
    id::FileId,
    name::{MAX_NAME_LEN, split_extension},
    path::VPath,
    step::StepId,
    table::{
        FileRow, HELD_KEY, PURGE_KEY, REMOVAL_KEYS, REPLACED_KEY, RowChanges, RowWrite,
        TRASH_LABEL_KEY, TRASH_STEP_KEY, TRASHED_BY_KEY,
    },
    tree::{FinalLink, HidingAncestors, NodeRef, TreeIndex},
};

/// The length of an extension above which it counts as part of the name, in bytes.
const MAX_EXTENSION_LEN: usize = 64;

/// The plan of a final deletion.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct ExpirePlan {
    /// The rows to delete.
    pub writes: Vec<RowWrite>,
    /// Nodes that must stay: they were restored, were never purged, or contain a node that must
    /// stay.
    pub kept: Vec<FileId>,
}

/// Plans to put the node at `path` into the trash. A link at the end is not followed.
///
/// Trashing a directory is one write, however many children it has; if any are visible, `recursive`
/// must be set. The first write is the removal; it records who did it, and when ([`trashed_by`]).
/// The others are those of [`keep_names_of_others`].
pub fn plan_trash(
    tree: &TreeIndex,
    path: &VPath,
    recursive: bool,
    by: &RunAuthor,
) -> Result<Vec<RowWrite>, OpError> {
    let (node, id) = resolve_row(tree, path, FinalLink::No)?;
    if !recursive && node.n_children() > 0 {
        return Err(OpError::new(OpCode::NotEmpty, path));
    }
    let mut writes = vec![RowWrite::Update { id: id.clone(), changes: removal(by) }];
    writes.extend(keep_names_of_others(node));
    Ok(writes)
}

/// Returns the writes with which other nodes keep the names under which they are shown when a node
/// leaves its name: those that store the same name and have a number store that number, too.
///
/// Without them, `x (1).md` would become `x.md` when `x.md` is removed, and a program that has the
/// path of one file open would go on with the other.
pub fn keep_names_of_others(node: NodeRef<'_>) -> Vec<RowWrite> {
    let pinned = node.numbered_beside().map(|(id, name)| {
        let changes = RowChanges { name: Some(name), ..RowChanges::default() };
        RowWrite::Update { id: id.clone(), changes }
    });
    pinned.collect()
}

/// Returns the change that puts a node into the trash, with who did it, and when ([`trashed_by`]).
pub fn removal(by: &RunAuthor) -> RowChanges {
    removal_with(by, HashMap::new())
}

/// Returns the change that puts a file into the trash whose content, with this hash, another file
/// got: it was moved over that.
pub fn replacement(by: &RunAuthor, target: &FileId, held: ContentHash) -> RowChanges {
    let target = (REPLACED_KEY.to_owned(), Any::from(target.as_str()));
    let held = (HELD_KEY.to_owned(), Any::from(held.to_string()));
    removal_with(by, HashMap::from([target, held]))
}

fn removal_with(by: &RunAuthor, own_members: HashMap<String, Any>) -> RowChanges {
    // Nothing stays of an earlier removal, nor of a purge that met a restore.
    let former = REMOVAL_KEYS.into_iter().chain([PURGE_KEY]);
    let mut members: HashMap<String, Any> = former.map(|key| (key.to_owned(), Any::Null)).collect();
    members.extend(own_members);
    members.insert(TRASHED_BY_KEY.to_owned(), Any::from(by.actor.to_string()));
    if let Some(label) = &by.label {
        members.insert(TRASH_LABEL_KEY.to_owned(), Any::from(label.as_str()));
    }
    if let Some(step) = &by.step {
        members.insert(TRASH_STEP_KEY.to_owned(), Any::from(step.as_str()));
    }
    let (trashed_at, meta) = (Some(Some(by.at)), Some(Any::from(members)));
    RowChanges { trashed_at, meta, ..RowChanges::default() }
}

/// Returns who put a node into the trash, and when, if it is recorded.
pub fn trashed_by(row: &FileRow) -> Option<RunAuthor> {
    let Some(Any::Map(meta)) = &row.meta else { return None };
    let text = |key: &str| match meta.get(key) {
        Some(Any::String(text)) => Some(text),
        _ => None,
    };
    let actor = text(TRASHED_BY_KEY)?.parse().ok()?;
    let label = text(TRASH_LABEL_KEY).map(SmolStr::new);
    let step = text(TRASH_STEP_KEY).and_then(|step| StepId::parse(step).ok());
    Some(RunAuthor { actor, at: row.trashed_at?, label, step })
}

/// Plans to restore a node from the trash: a trashed one, or one that a trashed directory hides.
///
/// Without `to` it returns to its former place, or if that is gone or hidden, to the nearest
/// visible directory above. If another node there has its name, it is named `NAME (restored)`,
/// because an error would leave work in the trash. With `to`, that path must be free. Restoring
/// reverses a purge, and clears the record that the node was moved over another file.
pub fn plan_restore(
    tree: &TreeIndex,
    rows: &dyn RowSource,
    id: &FileId,
    to: Option<&VPath>,
) -> Result<Vec<RowWrite>, OpError> {
    let node = tree.node(id).ok_or_else(|| OpError::about(OpCode::NotFound, id))?;
    if node.is_visible() {
        return Err(OpError::invalid(OpReason::NotTrashed, &node.path()));
    }
    let mut changes = RowChanges::default();
    let home = match to {
        Some(to) => {
            let (home, name) = resolve_free(tree, to, FinalLink::No)?;
            if name.as_str() != node.stored_name() {
                changes.name = Some(name.to_smol_str());
            }
            home
        }
        None => {
            let home = node.restore_destination();
            changes.name = find_free_name(tree, home, node);
            home
        }
    };
    if node.parent() != Some(home) {
        changes.parent = Some(home.id().cloned());
    }
    if node.is_trashed() {
        changes.trashed_at = Some(None);
    }
    let meta = rows.row(id).and_then(|row| row.meta);
    let purge = meta.as_ref().and_then(purge_of);
    if let Some(Any::Map(meta)) = &meta {
        let gone = REMOVAL_KEYS.into_iter().chain([PURGE_KEY]);
        let gone =
            gone.filter(|key| meta.contains_key(*key)).map(|key| (key.to_owned(), Any::Null));
        let patch: HashMap<String, Any> = gone.collect();
        changes.meta = (!patch.is_empty()).then(|| Any::from(patch));
    }
    let mut writes = vec![RowWrite::Update { id: id.clone(), changes }];
    if purge.is_some() {
        let below = node.descendants().filter(NodeRef::is_purged).filter_map(|node| node.id());
        let same =
            below.filter(|id| rows.row(id).and_then(|row| purge_of(row.meta.as_ref()?)) == purge);
        writes.extend(same.map(|id| patch_meta(id, purge_patch(None))));
    }
    Ok(writes)
}

/// Returns the name under which a node is restored to a directory if its own is in use there.
fn find_free_name(tree: &TreeIndex, home: NodeRef<'_>, node: NodeRef<'_>) -> Option<SmolStr> {
    let name = node.stored_name();
    tree.child(home, name)?;
    let (stem, extension) = match split_extension(name) {
        (stem, extension) if !node.is_directory() && extension.len() <= MAX_EXTENSION_LEN => {
            (stem, extension)
        }
        _ => (name, ""),
    };
    let numbers = std::iter::once(String::new()).chain((2..).map(|number| format!(" {number}")));
    let mut names = numbers.map(|number| {
        let suffix = format!(" (restored{number}){extension}");
        let stem = &stem[..stem.floor_char_boundary(MAX_NAME_LEN - suffix.len())];
        format_smolstr!("{stem}{suffix}")
    });
    names.find(|name| tree.child(home, name).is_none())
}

/// Plans to purge a trashed node, the first phase of deleting it: it and all nodes below it are
/// marked with `purge_id` and leave the trash, unless they are marked already.
///
/// Nothing is deleted, so a peer may still restore it, or move a node out of it at the same time.
/// The second phase is [`plan_expire`].
pub fn plan_purge(tree: &TreeIndex, id: &FileId, purge_id: &str) -> Result<Vec<RowWrite>, OpError> {
    let node = tree.node(id).ok_or_else(|| OpError::about(OpCode::NotFound, id))?;
    if node.is_visible() {
        return Err(OpError::invalid(OpReason::NotTrashed, &node.path()));
    }
    let unmarked = std::iter::once(node).chain(node.descendants()).filter(|node| !node.is_purged());
    let ids = unmarked.filter_map(|node| node.id());
    Ok(ids.map(|id| patch_meta(id, purge_patch(Some(purge_id)))).collect())
}

/// Plans to delete the rows among `ids` that may go: those that a purge marked and that are hidden,
/// and directories only with all their content.
///
/// The caller passes those whose retention has passed, counted from when this store first logged
/// the purge.
pub fn plan_expire<'a>(tree: &TreeIndex, ids: impl IntoIterator<Item = &'a FileId>) -> ExpirePlan {
    let asked: BTreeMap<&FileId, NodeRef<'_>> =
        ids.into_iter().filter_map(|id| Some((id, tree.node(id)?))).collect();
    let mut hiding = HidingAncestors::new(tree);
    let mut goes = |node: &NodeRef<'_>| {
        node.is_purged() && hiding.hide(node) && node.id().is_some_and(|id| asked.contains_key(id))
    };
    let mut kept = BTreeSet::new();
    for node in asked.values() {
        let children = node.children().map(|(_, child)| child).chain(node.trashed_children());
        let must_stay = !goes(node) || children.into_iter().any(|child| !goes(&child));
        if must_stay {
            let above = std::iter::once(*node).chain(node.ancestors());
            let ids = above.filter_map(|node| node.id());
            ids.take_while(|id| kept.insert((*id).clone())).for_each(drop);
        }
    }
    let deleted = asked.keys().filter(|id| !kept.contains(**id));
    let writes = deleted.map(|id| RowWrite::Delete { id: (*id).clone() }).collect();
    let kept = kept.into_iter().filter(|id| asked.contains_key(id)).collect();
    ExpirePlan { writes, kept }
}

fn patch_meta(id: &FileId, patch: Any) -> RowWrite {
    let changes = RowChanges { meta: Some(patch), ..RowChanges::default() };
    RowWrite::Update { id: id.clone(), changes }
}

fn purge_patch(purge_id: Option<&str>) -> Any {
    let value = purge_id.map_or(Any::Null, Any::from);
    Any::from(HashMap::from([(PURGE_KEY.to_owned(), value)]))
}

fn purge_of(meta: &Any) -> Option<SmolStr> {
    let Any::Map(meta) = meta else { return None };
    match meta.get(PURGE_KEY) {
        Some(Any::String(purge)) => Some(SmolStr::new(purge)),
        _ => None,
    }
}
