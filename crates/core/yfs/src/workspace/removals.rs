//! Removals beside changes: one writer puts a file or a directory into the trash, and another
//! changes it without knowing of that.
//!
//! The change is in the trash as well. `conflicts` lists it until it is restored, or removed again
//! by a writer that knows of it (decision 45).

use std::collections::BTreeSet;

use yfs_engine::{
    actor::Actor,
    id::FileId,
    main_doc::{LateChange, MainDoc},
    ops,
    path::VPath,
    tree::NodeRef,
};

use super::{
    Trash,
    conflict_report::{ConflictKind, ConflictReport},
};
use crate::{
    commit::{StructureAccess, Transaction},
    core::WorkspaceCore,
    error::Result,
};

/// The end of a conflict between a removal and a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalDecision {
    /// The object stays in the trash, with the change.
    KeepRemoved,
    /// The object is restored, with the change.
    Restore,
}

/// A node with changes that its remover did not know of.
struct LateNode {
    late: LateChange,
    /// The trashed node that hides it, or itself.
    trashed: FileId,
    by: Option<Actor>,
    is_directory: bool,
}

impl Trash<'_> {
    /// Ends the conflicts between removals and changes at a path: of the removed object that had
    /// the path, and of all objects in it if it is a directory. Returns the paths of the objects:
    /// if they are restored, their new ones. There are none if nothing is in conflict.
    ///
    /// # Errors
    ///
    /// Fails if the log cannot be written.
    pub fn resolve_removal(&self, path: &VPath, decision: RemovalDecision) -> Result<Vec<VPath>> {
        self.state.check_writable()?;
        let mut paths = Vec::new();
        for id in self.in_conflict_at(path)? {
            paths.push(match decision {
                RemovalDecision::Restore => self.restore(&id, None)?,
                RemovalDecision::KeepRemoved => {
                    trash_again(self.state, &id)?;
                    path.clone()
                }
            });
        }
        Ok(paths)
    }

    /// Reports whether [`resolve_removal`](Self::resolve_removal) has a conflict to end at a path.
    ///
    /// # Errors
    ///
    /// Fails if the log cannot be read.
    pub fn has_removal_conflict(&self, path: &VPath) -> Result<bool> {
        Ok(!self.in_conflict_at(path)?.is_empty())
    }

    fn in_conflict_at(&self, path: &VPath) -> Result<BTreeSet<FileId>> {
        self.state.refresh()?;
        let main = self.state.main.read();
        let has_path = |id: &FileId| main.tree().node(id).is_some_and(|node| node.path() == *path);
        let late = late_nodes(&main);
        let concerned = late.iter().flat_map(|node| [&node.trashed, &node.late.id]);
        Ok(concerned.filter(|id| has_path(id)).cloned().collect())
    }
}

/// Returns the conflicts of all removals. Walks the trash.
pub(super) fn removal_conflicts(core: &WorkspaceCore) -> Result<Vec<ConflictReport>> {
    let late = late_nodes(&core.main.read());
    late.into_iter().map(|node| describe_late(core, node)).collect()
}

/// Returns the conflicts of removals that concern files or directories. Walks what is below
/// the trashed directories among them.
pub(super) fn removal_conflicts_among(
    core: &WorkspaceCore,
    ids: &BTreeSet<FileId>,
) -> Result<Vec<ConflictReport>> {
    let late: Vec<LateNode> = {
        let main = core.main.read();
        let nodes = ids.iter().filter_map(|id| main.tree().node(id));
        let trashed = nodes.filter_map(|node| node.trashed_ancestor());
        let trashed: BTreeSet<&FileId> = trashed.filter_map(|node| node.id()).collect();
        let trashed = trashed.into_iter().filter_map(|id| main.tree().node(id));
        let late = trashed.flat_map(|node| late_nodes_below(&main, node));
        late.filter(|node| ids.contains(&node.late.id) || ids.contains(&node.trashed)).collect()
    };
    late.into_iter().map(|node| describe_late(core, node)).collect()
}

fn trash_again(core: &WorkspaceCore, id: &FileId) -> Result<()> {
    let by = core.author_now();
    core.commit(StructureAccess::Change, Some(&by.actor), |main| {
        Ok(Transaction::rows(main.plan_trash_hidden(id, &by), ()))
    })?;
    Ok(())
}

fn describe_late(core: &WorkspaceCore, node: LateNode) -> Result<ConflictReport> {
    let LateNode { late: LateChange { id, changes }, trashed, by, is_directory } = node;
    let author = if is_directory { None } else { last_author(core, &id)? };
    let main = core.main.read();
    let name = |actor: Option<Actor>| {
        actor.map_or_else(|| "another writer".to_owned(), |actor| actor.to_string())
    };
    let what = if changes.is_new {
        "created"
    } else if changes.is_edited {
        "edited"
    } else {
        "moved"
    };
    let (by, author) = (name(by), name(author.filter(|_| !changes.is_moved)));
    let (kind, detail) = if trashed == id {
        (ConflictKind::Removed, format!("{by} removed it without knowing that {author} {what} it"))
    } else {
        let above = former_path(&main, &trashed);
        let detail = format!("{by} removed {above} without knowing that {author} {what} this");
        (ConflictKind::Stranded, detail)
    };
    let detail = format!("{detail}; it is in the trash");
    let path = former_path(&main, &id);
    Ok(ConflictReport { kind, id, path, detail })
}

/// Returns the author of the last version of a file, if it is recorded and can be read.
fn last_author(core: &WorkspaceCore, id: &FileId) -> Result<Option<Actor>> {
    let is_blob = core.main.read().files().get(id).is_some_and(|entry| entry.row.blob.is_some());
    core.documents.acquire(id).with(|loaded| {
        if is_blob {
            return loaded.doc.blobs().versions().pop().and_then(|version| version.actor);
        }
        let last = loaded.doc.timeline().versions().pop();
        last.and_then(|version| version.author).map(|author| author.actor)
    })
}

/// Returns the path of a node as if nothing were trashed.
fn former_path(main: &MainDoc, id: &FileId) -> String {
    let path = main.tree().node(id).map(|node| node.path().to_string());
    path.unwrap_or_else(|| format!("/.id/{id}"))
}

fn late_nodes(main: &MainDoc) -> Vec<LateNode> {
    let trashed = main.tree().trashed();
    trashed.flat_map(|node| late_nodes_below(main, node)).collect()
}

/// Returns the nodes at and below a trashed one whose changes its remover did not know of.
fn late_nodes_below(main: &MainDoc, trashed: NodeRef<'_>) -> Vec<LateNode> {
    let Some(id) = trashed.id() else { return Vec::new() };
    let by = main.files().get(id).and_then(|entry| ops::trashed_by(&entry.row));
    let by = by.map(|by| by.actor);
    let late = main.late_changes(trashed).unwrap_or_default().into_iter();
    late.map(|late| LateNode {
        is_directory: main.tree().node(&late.id).is_some_and(|node| node.is_directory()),
        trashed: id.clone(),
        by: by.clone(),
        late,
    })
    .collect()
}
