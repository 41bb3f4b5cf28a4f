//! Copying: first a plan, which may be refused, then the copies.

use std::collections::BTreeMap;

use yfs_engine::path::VPath;

use super::{Body, Found, Last, Missing, Node, NodeIx, Spot, Tree};
use crate::{changes::ChangeKind, error::FsCode, options::CopyOptions};

/// One object to be copied.
struct Step {
    /// The source, as it was before the copying began.
    node: Node,
    /// Where the copy goes, relative to the directory that step `parent` makes or finds.
    place: Place,
}

enum Place {
    /// Over what is there, which keeps its identity.
    Onto(NodeIx),
    /// In place of what is there.
    InsteadOf(NodeIx),
    /// As something new, in the directory that an earlier step made or found.
    Under(usize),
    /// As something new, where the caller said.
    First,
}

impl Tree {
    pub(in crate::memory) fn cp(
        &mut self,
        from: &VPath,
        to: &VPath,
        options: &CopyOptions,
    ) -> Result<(), FsCode> {
        let source = self.find(from, Last::Keep)?;
        if self.children(source).is_some() && !options.recursive {
            return Err(FsCode::EISDIR);
        }
        let (dest, missing) = match self.lookup(to, Last::Keep)? {
            Found::Node(dest) if self.is_within(dest, source) => return Err(FsCode::EINVAL),
            Found::Node(_) if !options.replace => return Err(FsCode::EEXIST),
            Found::Node(dest) => (Some(dest), None),
            Found::Missing(missing) => {
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

    /// Lists what is to be copied where, directories first, or refuses.
    fn plan(&self, source: NodeIx, dest: Option<NodeIx>) -> Result<Vec<Step>, FsCode> {
        let mut steps: Vec<Step> = Vec::new();
        let mut pending = vec![(source, dest, None)];
        let mut n_bytes = u128::from(self.n_bytes);
        while let Some((ix, dest, parent)) = pending.pop() {
            let node = self.node(ix);
            if self.is_file(ix) {
                n_bytes += u128::from(node.size());
            }
            let place = match dest {
                None => parent.map_or(Place::First, Place::Under),
                Some(dest) => {
                    let place = self.place_onto(ix, dest)?;
                    if self.is_file(dest) {
                        n_bytes -= u128::from(self.node(dest).size());
                    }
                    place
                }
            };
            let n_steps = steps.len();
            if let Body::Directory(children) = &node.body {
                let onto = dest.and_then(|dest| self.children(dest));
                pending.extend(children.iter().rev().map(|(name, child)| {
                    (*child, onto.and_then(|onto| onto.get(name).copied()), Some(n_steps))
                }));
            }
            steps.push(Step { node: node.clone(), place });
        }
        let fits = n_bytes <= u128::from(self.limits.max_bytes);
        if fits { Ok(steps) } else { Err(FsCode::ENOSPC) }
    }

    fn place_onto(&self, source: NodeIx, dest: NodeIx) -> Result<Place, FsCode> {
        let directories = (self.children(source).is_some(), self.children(dest).is_some());
        match directories {
            (true, false) => Err(FsCode::ENOTDIR),
            (false, true) => Err(FsCode::EISDIR),
            (true, true) => Ok(Place::Onto(dest)),
            (false, false) if self.is_file(source) && self.is_file(dest) => Ok(Place::Onto(dest)),
            (false, false) => Ok(Place::InsteadOf(dest)),
        }
    }

    fn carry_out(&mut self, steps: Vec<Step>, missing: Option<Missing>) {
        let mut first = missing.map(|missing| self.make_parents(missing));
        let mut made: Vec<NodeIx> = Vec::new();
        for Step { node, place } in steps {
            let spot = match place {
                Place::Onto(dest) => {
                    self.copy_onto(node, dest);
                    made.push(dest);
                    continue;
                }
                Place::InsteadOf(dest) => {
                    let old = self.node(dest);
                    let spot = Spot { dir: old.parent, name: old.name.clone() };
                    self.record(ChangeKind::Removed, dest, None);
                    self.remove(dest);
                    spot
                }
                Place::Under(step) => Spot { dir: made[step], name: node.name.clone() },
                Place::First => first.take().expect("the first step is the only one"),
            };
            made.push(self.copy_new(node, spot));
        }
    }

    /// Directories merge: theirs stays as it is. Files give their content.
    fn copy_onto(&mut self, node: Node, dest: NodeIx) {
        if let Body::File { data, .. } = node.body {
            let version = self.next_version();
            self.n_bytes = self.n_bytes - self.node(dest).size() + data.len() as u64;
            let file = self.node_mut(dest);
            file.body = Body::File { data, version };
            (file.mode, file.mtime, file.mime) = (node.mode, node.mtime, node.mime);
            file.metadata = node.metadata;
            self.record(ChangeKind::Changed, dest, None);
        }
    }

    fn copy_new(&mut self, node: Node, spot: Spot) -> NodeIx {
        let body = match node.body {
            Body::Directory(_) => Body::Directory(BTreeMap::new()),
            Body::Symlink(target) => Body::Symlink(target),
            Body::File { data, .. } => {
                self.n_bytes += data.len() as u64;
                Body::File { data, version: self.next_version() }
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
