//! Lookup of the node at a path, and of the path of a node.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use yfs_types::{name::MAX_NAME_LEN, path::VPath};

use super::{MemoryBody, MemoryNode, MemoryTree, NodeIx, ROOT};
use crate::{
    error::FsCode,
    path_components::{NameComparison, PendingComponents},
};

/// The handling of a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum MemoryFinalLink {
    Follow,
    Keep,
}

/// The result of a lookup.
#[derive(Debug)]
pub(super) enum MemoryLookup {
    Node(NodeIx),
    Missing(MemoryMissingPath),
}

/// A path whose last components do not exist.
#[derive(Debug)]
pub(super) struct MemoryMissingPath {
    /// The last directory of the path that exists.
    pub(super) dir: NodeIx,
    /// The missing names, at least one.
    pub(super) names: Vec<SmolStr>,
}

/// A name in a directory, for a new object.
#[derive(Debug)]
pub(super) struct MemorySlot {
    pub(super) dir: NodeIx,
    pub(super) name: SmolStr,
}

impl MemoryTree {
    /// Returns the node at a path, or `ENOENT`.
    pub(super) fn find(&self, path: &VPath, last: MemoryFinalLink) -> Result<NodeIx, FsCode> {
        match self.lookup(path, last)? {
            MemoryLookup::Node(node) => Ok(node),
            MemoryLookup::Missing(_) => Err(FsCode::ENOENT),
        }
    }

    /// Resolves a path from the root.
    pub(super) fn lookup(
        &self,
        path: &VPath,
        last: MemoryFinalLink,
    ) -> Result<MemoryLookup, FsCode> {
        let mut pending = PendingComponents::new(path, NameComparison::FormC);
        let mut at = ROOT;
        while let Some(component) = pending.next() {
            let children = self.children(at).ok_or(FsCode::ENOTDIR)?;
            match component.name.as_str() {
                "." => continue,
                ".." => {
                    at = self.node(at).parent;
                    continue;
                }
                name if name.len() > MAX_NAME_LEN => return Err(FsCode::ENAMETOOLONG),
                _ => (),
            }
            let Some(&child) = children.get(&component.name) else {
                let names = pending.missing(component)?;
                return Ok(MemoryLookup::Missing(MemoryMissingPath { dir: at, names }));
            };
            match &self.node(child).body {
                MemoryBody::Symlink(target)
                    if last == MemoryFinalLink::Follow || !pending.is_empty() =>
                {
                    if !self.follows_links {
                        return Err(FsCode::ELOOP);
                    }
                    if pending.follow(target)? {
                        at = ROOT;
                    }
                }
                _ => at = child,
            }
        }
        Ok(MemoryLookup::Node(at))
    }

    pub(super) fn path_of(&self, node: NodeIx) -> VPath {
        let mut names = Vec::new();
        let mut at = node;
        while at != ROOT {
            names.push(self.node(at).name.as_str());
            at = self.node(at).parent;
        }
        names.iter().rev().fold(VPath::root(), |path, name| path.join(name))
    }

    /// Reports whether a node is `ancestor` or lies below it.
    pub(super) fn is_within(&self, node: NodeIx, ancestor: NodeIx) -> bool {
        let mut at = node;
        loop {
            match at {
                _ if at == ancestor => return true,
                ROOT => return false,
                _ => at = self.node(at).parent,
            }
        }
    }

    pub(super) fn is_file(&self, node: NodeIx) -> bool {
        matches!(self.node(node).body, MemoryBody::File { .. })
    }

    pub(super) fn node(&self, ix: NodeIx) -> &MemoryNode {
        self.nodes.get(&ix).expect("nodes are named only while they are in the tree")
    }

    pub(super) fn node_mut(&mut self, ix: NodeIx) -> &mut MemoryNode {
        self.nodes.get_mut(&ix).expect("nodes are named only while they are in the tree")
    }

    /// Returns the children of a directory, or `None` for other kinds.
    pub(super) fn children(&self, ix: NodeIx) -> Option<&BTreeMap<SmolStr, NodeIx>> {
        match &self.node(ix).body {
            MemoryBody::Directory(children) => Some(children),
            MemoryBody::File { .. } | MemoryBody::Symlink(_) => None,
        }
    }

    pub(super) fn children_mut(&mut self, ix: NodeIx) -> &mut BTreeMap<SmolStr, NodeIx> {
        match &mut self.node_mut(ix).body {
            MemoryBody::Directory(children) => children,
            MemoryBody::File { .. } | MemoryBody::Symlink(_) => {
                unreachable!("a parent is a directory")
            }
        }
    }
}
