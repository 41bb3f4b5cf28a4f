//! From paths to nodes and back.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use yfs_engine::{name::MAX_NAME_LEN, path::VPath};

use super::{Body, Node, NodeIx, ROOT, Tree};
use crate::{
    error::FsCode,
    links::{Pending, Spelling},
};

/// What happens to a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Last {
    Follow,
    Keep,
}

/// What a path leads to.
#[derive(Debug)]
pub(super) enum Found {
    Node(NodeIx),
    Missing(Missing),
}

/// A path of which only the beginning exists.
#[derive(Debug)]
pub(super) struct Missing {
    /// The directory where it ends to exist.
    pub(super) dir: NodeIx,
    /// What is missing there; at least one.
    pub(super) names: Vec<SmolStr>,
}

/// Where something is to be put.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) dir: NodeIx,
    pub(super) name: SmolStr,
}

impl Tree {
    /// Returns what a path leads to, which must exist.
    pub(super) fn find(&self, path: &VPath, last: Last) -> Result<NodeIx, FsCode> {
        match self.lookup(path, last)? {
            Found::Node(node) => Ok(node),
            Found::Missing(_) => Err(FsCode::ENOENT),
        }
    }

    /// Walks from the root.
    pub(super) fn lookup(&self, path: &VPath, last: Last) -> Result<Found, FsCode> {
        let mut pending = Pending::new(path, Spelling::FormC);
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
                return Ok(Found::Missing(Missing { dir: at, names }));
            };
            match &self.node(child).body {
                Body::Symlink(target) if last == Last::Follow || !pending.is_empty() => {
                    if pending.follow(target)? {
                        at = ROOT;
                    }
                }
                _ => at = child,
            }
        }
        Ok(Found::Node(at))
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

    /// Tells whether a node is another or lies below it.
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
        matches!(self.node(node).body, Body::File { .. })
    }

    pub(super) fn node(&self, ix: NodeIx) -> &Node {
        self.nodes.get(&ix).expect("nodes are named only while they are in the tree")
    }

    pub(super) fn node_mut(&mut self, ix: NodeIx) -> &mut Node {
        self.nodes.get_mut(&ix).expect("nodes are named only while they are in the tree")
    }

    /// Returns what a directory holds, or nothing for other kinds.
    pub(super) fn children(&self, ix: NodeIx) -> Option<&BTreeMap<SmolStr, NodeIx>> {
        match &self.node(ix).body {
            Body::Directory(children) => Some(children),
            Body::File { .. } | Body::Symlink(_) => None,
        }
    }

    pub(super) fn children_mut(&mut self, ix: NodeIx) -> &mut BTreeMap<SmolStr, NodeIx> {
        match &mut self.node_mut(ix).body {
            Body::Directory(children) => children,
            Body::File { .. } | Body::Symlink(_) => unreachable!("a parent is a directory"),
        }
    }
}
