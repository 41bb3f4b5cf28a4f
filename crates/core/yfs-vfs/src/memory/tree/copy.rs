//! Copying: first a plan, which may be rejected, then the copies.

use std::collections::BTreeMap;

use yfs_types::path::VPath;

use super::{
    MemoryBody, MemoryFinalLink, MemoryLookup, MemoryMissingPath, MemoryNode, MemorySlot,
    MemoryTree, NodeIx,
};
use crate::{changes::ChangeKind, error::FsCode, options::CopyOptions};

/// One object to be copied.
struct CopyStep {
    /// The source, as it was before the copying began.
    node: MemoryNode,
    /// The destination of the copy.
    place: CopyDestination,
}

enum CopyDestination {
    /// Into the existing file or directory, which keeps its identity.
    Onto(NodeIx),
    /// In place of the existing object.
    InsteadOf(NodeIx),
    /// A new object in the directory that an earlier step created or found.
    Under(usize),
    /// A new object at the caller's destination.
    First,
}

impl MemoryTree {
    pub(in crate::memory) fn cp(
        &mut self,
        from: &VPath,
        to: &VPath,
        options: &CopyOptions,
    ) -> Result<(), FsCode> {
        let source = self.find(from, MemoryFinalLink::Keep)?;
        if self.children(source).is_some() && !options.recursive {
            return Err(FsCode::EISDIR);
        }
        let (dest, missing) = match self.lookup(to, MemoryFinalLink::Keep)? {
            MemoryLookup::Node(dest) if self.is_within(dest, source) => return Err(FsCode::EINVAL),
            MemoryLookup::Node(_) if !options.replace => return Err(FsCode::EEXIST),
            MemoryLookup::Node(dest) => (Some(dest), None),
            MemoryLookup::Missing(missing) => {
                let within = self.is_within(missing.dir, source);
                let missing = self.check_spot(missing, options.parents)?;
                if within {
                    return Err(FsCode::EINVAL);
                }
                (None, Some(missing))
            }
        };
        let steps = self.plan(source, dest)?;
        self.carry_out(steps, missing);
        Ok(())
    }

    /// Lists the objects to copy and their destinations, directories first. Fails if a copy is not
    /// allowed.
    fn plan(&self, source: NodeIx, dest: Option<NodeIx>) -> Result<Vec<CopyStep>, FsCode> {
        let mut steps: Vec<CopyStep> = Vec::new();
        let mut pending = vec![(source, dest, None)];
        let mut n_bytes = u128::from(self.n_bytes);
        while let Some((ix, dest, parent)) = pending.pop() {
            let node = self.node(ix);
            if self.is_file(ix) {
                n_bytes += u128::from(node.size());
            }
            let place = match dest {
                None => parent.map_or(CopyDestination::First, CopyDestination::Under),
                Some(dest) => {
                    let place = self.place_onto(ix, dest)?;
                    if self.is_file(dest) {
                        n_bytes -= u128::from(self.node(dest).size());
                    }
                    place
                }
            };
            let n_steps = steps.len();
            if let MemoryBody::Directory(children) = &node.body {
                let onto = dest.and_then(|dest| self.children(dest));
                pending.extend(children.iter().rev().map(|(name, child)| {
                    (*child, onto.and_then(|onto| onto.get(name).copied()), Some(n_steps))
                }));
            }
            steps.push(CopyStep { node: node.clone(), place });
        }
        let fits = n_bytes <= u128::from(self.limits.max_bytes);
        if fits { Ok(steps) } else { Err(FsCode::ENOSPC) }
    }

    fn place_onto(&self, source: NodeIx, dest: NodeIx) -> Result<CopyDestination, FsCode> {
        let directories = (self.children(source).is_some(), self.children(dest).is_some());
        match directories {
            (true, false) => Err(FsCode::ENOTDIR),
            (false, true) => Err(FsCode::EISDIR),
            (true, true) => Ok(CopyDestination::Onto(dest)),
            (false, false) if self.is_file(source) && self.is_file(dest) => {
                Ok(CopyDestination::Onto(dest))
            }
            (false, false) => Ok(CopyDestination::InsteadOf(dest)),
        }
    }

    fn carry_out(&mut self, steps: Vec<CopyStep>, missing: Option<MemoryMissingPath>) {
        let mut first = missing.map(|missing| self.make_parents(missing));
        let mut made: Vec<NodeIx> = Vec::new();
        for CopyStep { node, place } in steps {
            let spot = match place {
                CopyDestination::Onto(dest) => {
                    self.copy_onto(node, dest);
                    made.push(dest);
                    continue;
                }
                CopyDestination::InsteadOf(dest) => {
                    let old = self.node(dest);
                    let spot = MemorySlot { dir: old.parent, name: old.name.clone() };
                    self.record(ChangeKind::Removed, dest, None);
                    self.remove(dest);
                    spot
                }
                CopyDestination::Under(step) => {
                    MemorySlot { dir: made[step], name: node.name.clone() }
                }
                CopyDestination::First => first.take().expect("the first step is the only one"),
            };
            made.push(self.copy_new(node, spot));
        }
    }

    /// Copies onto an existing object. An existing directory stays as it is; a file gets the new
    /// content.
    fn copy_onto(&mut self, node: MemoryNode, dest: NodeIx) {
        if let MemoryBody::File { data, .. } = node.body {
            let version = self.next_version();
            self.n_bytes = self.n_bytes - self.node(dest).size() + data.len() as u64;
            let file = self.node_mut(dest);
            file.body = MemoryBody::File { data, version };
            (file.mode, file.mtime, file.mime) = (node.mode, node.mtime, node.mime);
            file.metadata = node.metadata;
            self.record(ChangeKind::Changed, dest, None);
        }
    }

    fn copy_new(&mut self, node: MemoryNode, spot: MemorySlot) -> NodeIx {
        let body = match node.body {
            MemoryBody::Directory(_) => MemoryBody::Directory(BTreeMap::new()),
            MemoryBody::Symlink(target) => MemoryBody::Symlink(target),
            MemoryBody::File { data, .. } => {
                self.n_bytes += data.len() as u64;
                MemoryBody::File { data, version: self.next_version() }
            }
        };
        let copy = self.insert(spot, body);
        let made = self.node_mut(copy);
        (made.mode, made.mtime, made.mime) = (node.mode, node.mtime, node.mime);
        made.metadata = node.metadata;
        self.record(ChangeKind::Created, copy, None);
        copy
    }
}
