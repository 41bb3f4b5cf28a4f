//! Copies of what left a shared directory.
//!
//! A file that leaves the directory is trashed in the share, and the share trashes it again
//! whenever a peer restores it. So a restore copies it: the copy is a new file of the directory,
//! and the original waits in the trash until it is back. See
//! [decision 82](../../../../../docs/decisions/0082-what-left-is-restored-as-a-copy.md).

use std::sync::Arc;

use yfs_engine::{
    id::FileId,
    main_doc::MainDoc,
    ops,
    path::VPath,
    table::NodeKind,
    tree::{FinalLink, NodeRef, TreeIndex},
};
use yfs_vfs::{CreateMode, MkdirOptions, WriteOptions};

use super::{Trash, Workspace};
use crate::{
    error::{Result, WorkspaceError},
    state::WorkspaceState,
};

/// The label of the removal of a node that left the directory.
pub(crate) const LEFT_LABEL: &str = "left the shared directory";

/// One node to copy.
struct LeftNode {
    id: FileId,
    /// Its path below the one that is restored; none for that one itself.
    relative: Option<String>,
    kind: NodeKind,
}

impl Trash<'_> {
    /// Copies an object, with what is in it, if it left a shared directory, and returns the path of
    /// the copy.
    pub(super) fn copy_what_left(&self, id: &FileId, to: Option<&VPath>) -> Result<Option<VPath>> {
        self.state.refresh()?;
        let (nodes, path) = {
            let main = self.state.main.read();
            let Some(node) = main.tree().node(id).filter(|node| has_left(&main, *node)) else {
                return Ok(None);
            };
            let path = to.cloned().unwrap_or_else(|| free_path(main.tree(), node));
            (left_nodes(node), path)
        };
        for node in nodes {
            let at = match &node.relative {
                None => path.clone(),
                Some(relative) => relative.split('/').fold(path.clone(), |at, name| at.join(name)),
            };
            copy_left_node(self.state, &node, &at)?;
        }
        Ok(Some(path))
    }
}

fn copy_left_node(state: &Arc<WorkspaceState>, node: &LeftNode, at: &VPath) -> Result<()> {
    let workspace = Workspace { state: state.clone() };
    let session = workspace.session(state.options.actor.clone());
    if node.kind == NodeKind::Directory {
        return session.mkdir(at, &MkdirOptions::default()).map_err(WorkspaceError::Fs);
    }
    let row = state.main.read().files().get(&node.id).map(|entry| entry.row);
    let row = row.ok_or_else(|| WorkspaceError::NoFile(node.id.clone()))?;
    if let Some(target) = &row.link {
        return session.symlink(target, at).map_err(WorkspaceError::Fs);
    }
    let data = match row.blob {
        Some(blob) => state.store.read_blob(&blob.hash, 0..blob.size)?,
        None => state.texts.read(state, &node.id)?.content.as_bytes().to_vec(),
    };
    let options =
        WriteOptions { create: CreateMode::New, mode: row.mode, ..WriteOptions::default() };
    session.write(at, &data, &options).map(drop).map_err(WorkspaceError::Fs)
}

/// Reports whether a node is in the trash because it left a shared directory.
fn has_left(main: &MainDoc, node: NodeRef<'_>) -> bool {
    let trashed = node.trashed_ancestor();
    let row = trashed.and_then(|trashed| main.files().get(trashed.id()?));
    let removal = row.and_then(|entry| ops::trashed_by(&entry.row));
    removal.is_some_and(|by| by.label.as_deref() == Some(LEFT_LABEL))
}

fn left_nodes(top: NodeRef<'_>) -> Vec<LeftNode> {
    let above = top.path();
    let nodes = std::iter::once(top).chain(top.walk());
    let describe = |node: NodeRef<'_>| {
        let path = node.path();
        let relative = path.relative_to(&above).filter(|relative| !relative.is_empty());
        let kind = if node.is_directory() { NodeKind::Directory } else { NodeKind::File };
        Some(LeftNode { id: node.id()?.clone(), relative: relative.map(str::to_owned), kind })
    };
    nodes.filter_map(describe).collect()
}

/// Returns a path for the copy that nothing has: the former one, or one beside it.
fn free_path(tree: &TreeIndex, node: NodeRef<'_>) -> VPath {
    let mut above = node.ancestors();
    let directory = above.find(NodeRef::is_visible).map_or_else(VPath::root, |at| at.path());
    let former = node.path();
    let name = former.file_name().unwrap_or("restored");
    let (stem, extension) = match name.rfind('.').filter(|at| *at > 0) {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    let numbered = (2..).map(|n| format!("{stem} (restored {n}){extension}"));
    let names = [name.to_owned(), format!("{stem} (restored){extension}")].into_iter();
    let mut paths = names.chain(numbered).map(|name| directory.join(&name));
    let is_free = |path: &VPath| tree.resolve(path, FinalLink::No).is_err();
    paths.find(is_free).unwrap_or(former)
}
