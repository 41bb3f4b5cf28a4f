//! Looking up paths the way POSIX does: component by component, following symbolic links.
//!
//! `..` means the parent of the directory reached so far, so after a link to a directory it leads
//! to where that directory is, not back to where the link was (POSIX, "Pathname Resolution").

use std::collections::VecDeque;

use smol_str::SmolStr;

use super::{
    LookupError, NodeRef, TreeIndex, TreeNodes,
    arena::{NodeSlot, ROOT, SlotKind},
};
use crate::path::{MAX_LINKS, MAX_PATH_LEN, VPath};

/// A path below a directory, without links, while it is put together.
struct UnlinkedPath {
    components: Vec<SmolStr>,
}

/// The treatment of a link that the whole path names. Links on the way are always followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalLink {
    /// Stop at it.
    No,
    /// Follow it.
    Yes,
}

/// The place that a path leads to, whether or not a node is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathTarget<'a> {
    /// There is a node.
    Taken(NodeRef<'a>),
    /// There is no such name in that directory.
    Free {
        /// The directory.
        parent: NodeRef<'a>,
        /// The name.
        name: SmolStr,
    },
}

/// A look-up in progress.
struct PathWalk {
    /// Components still to go.
    rest: VecDeque<SmolStr>,
    /// The number of times that components were put in front: once for the path, then for each
    /// link.
    n_entered: usize,
}

impl TreeIndex {
    /// Finds the node at a path, following links.
    pub fn resolve(&self, path: &VPath, follow: FinalLink) -> Result<NodeRef<'_>, LookupError> {
        if let Some(node) = self.resolve_plain(path) {
            return Ok(node);
        }
        match self.place(path, follow)? {
            PathTarget::Taken(node) => Ok(node),
            PathTarget::Free { .. } => Err(LookupError::NotFound { at: path.clone() }),
        }
    }

    /// Finds the node at a path if its components are display names and none is a link.
    pub(super) fn resolve_plain(&self, path: &VPath) -> Option<NodeRef<'_>> {
        let mut here = ROOT;
        for component in path.components() {
            here = self.nodes.shown_child(here, component)?;
        }
        self.nodes.arena[here].link().is_none().then(|| self.node_at(here))
    }

    /// Finds the place that a path leads to: the node there, or the directory and name where it
    /// could be.
    ///
    /// All components before the last must exist. With [`FinalLink::Yes`] a link to nothing leads
    /// to the place where it points, as `open` with `O_CREAT` does.
    pub fn place(&self, path: &VPath, follow: FinalLink) -> Result<PathTarget<'_>, LookupError> {
        self.place_from(self.root(), path.as_str(), follow)
    }

    /// Finds the place like [`TreeIndex::place`], for a text that may be relative to `start` and
    /// have `..`.
    pub(crate) fn place_from<'a>(
        &'a self,
        start: NodeRef<'a>,
        text: &str,
        follow: FinalLink,
    ) -> Result<PathTarget<'a>, LookupError> {
        self.place_passing(start, text, follow, &mut |_| ())
    }

    /// Finds the place like `TreeIndex::place_from`, and calls `each` with every node that is
    /// passed on the way, links as well, until the look-up ends or fails.
    pub fn place_passing<'a>(
        &'a self,
        start: NodeRef<'a>,
        text: &str,
        follow: FinalLink,
        each: &mut dyn FnMut(NodeRef<'a>),
    ) -> Result<PathTarget<'a>, LookupError> {
        let whole = || VPath::parse(text).unwrap_or_else(|_| VPath::root());
        let mut steps = PathWalk { rest: VecDeque::new(), n_entered: 0 };
        let mut here = steps.enter(text, start.slot(), ROOT).map_err(|error| error(whole()))?;
        while let Some(component) = steps.rest.pop_front() {
            if !self.nodes.is_directory(here) {
                return Err(LookupError::NotADirectory { at: self.node_at(here).path() });
            }
            if component == "." {
                continue;
            }
            if component == ".." {
                here = self.nodes.arena[here].shown_in;
                each(self.node_at(here));
                continue;
            }
            let next = match self.nodes.find_name(here, &component) {
                Some(next) => next,
                None if here == ROOT && component == ".id" && !steps.rest.is_empty() => {
                    let id = steps.rest.pop_front().unwrap_or_default();
                    let missing = || LookupError::NotFound { at: whole() };
                    self.find_visible(&id).ok_or_else(missing)?
                }
                None if steps.rest.is_empty() => {
                    return Ok(PathTarget::Free { parent: self.node_at(here), name: component });
                }
                None => {
                    return Err(LookupError::NotFound {
                        at: self.node_at(here).path().join(&component),
                    });
                }
            };
            each(self.node_at(next));
            let follows = follow == FinalLink::Yes || !steps.rest.is_empty();
            match self.nodes.arena[next].link().filter(|_| follows) {
                Some(target) => {
                    here = steps.enter(target, here, ROOT).map_err(|error| error(whole()))?;
                }
                None => here = next,
            }
        }
        Ok(PathTarget::Taken(self.node_at(here)))
    }
}

impl TreeNodes {
    /// Finds the displayed entry of a directory with a name.
    fn shown_child(&self, home: NodeSlot, name: &str) -> Option<NodeSlot> {
        if !self.is_directory(home) {
            return None;
        }
        self.guessed(home, name).or_else(|| {
            let found = self.find_listed(home, name)?;
            self.cache.note(home, name, found);
            Some(found)
        })
    }

    /// Finds the displayed entry of a directory with a name, if it was found there before.
    pub(super) fn guessed(&self, home: NodeSlot, name: &str) -> Option<NodeSlot> {
        self.cache.guess(home, name).filter(|guess| {
            let node = &self.arena[*guess];
            let is_shown = node.kind != SlotKind::Missing && !node.trashed;
            is_shown && node.shown_in == home && node.display() == name
        })
    }
}

/// Look-ups below a directory that is the root of all paths and links, as after `chroot`.
impl TreeIndex {
    /// Returns a path below `top`, relative to it, with the links in it resolved: an absolute
    /// target begins at `top`, and `..` stays there. So no link leads out of the directory,
    /// wherever it points in the tree.
    ///
    /// What follows a component that does not exist is kept as it is: a call that uses the result
    /// fails or creates it. Of the target of a link only the last component may be missing. The
    /// result is empty for `top` itself.
    pub fn unlinked_path(
        &self,
        top: NodeRef<'_>,
        path: &VPath,
        follow: FinalLink,
    ) -> Result<String, LookupError> {
        let top = top.slot();
        let whole = || path.clone();
        let mut steps = PathWalk { rest: VecDeque::new(), n_entered: 0 };
        let mut here = steps.enter(path.as_str(), top, top).map_err(|error| error(whole()))?;
        let mut unlinked = UnlinkedPath { components: Vec::new() };
        // The components that are still to go and are of the path itself, not of a link.
        let mut n_own = steps.rest.len();
        while let Some(component) = steps.rest.pop_front() {
            let is_of_link = steps.rest.len() >= n_own;
            n_own = n_own.min(steps.rest.len());
            if component == "." || component == ".." {
                if !self.nodes.is_directory(here) {
                    return Err(LookupError::NotADirectory { at: whole() });
                }
                if component == ".." && here != top {
                    here = self.nodes.arena[here].shown_in;
                    unlinked.components.pop();
                }
                continue;
            }
            let next = Some(here).filter(|here| self.nodes.is_directory(*here));
            let Some(next) = next.and_then(|here| self.nodes.find_name(here, &component)) else {
                unlinked.components.push(component);
                let missing = || LookupError::NotFound { at: whole() };
                if is_of_link && !steps.rest.is_empty() {
                    return Err(missing());
                }
                unlinked.append_rest(steps.rest).ok_or_else(missing)?;
                break;
            };
            let follows = follow == FinalLink::Yes || !steps.rest.is_empty();
            match self.nodes.arena[next].link().filter(|_| follows) {
                Some(target) => {
                    here = steps.enter(target, here, top).map_err(|error| error(whole()))?;
                    if target.starts_with('/') {
                        unlinked.components.clear();
                    }
                }
                None => {
                    unlinked.components.push(self.nodes.arena[next].display().clone());
                    here = next;
                }
            }
        }
        Ok(unlinked.components.join("/"))
    }
}

impl UnlinkedPath {
    /// Appends the components behind one that does not exist; `None` if one of them leads up.
    fn append_rest(&mut self, rest: VecDeque<SmolStr>) -> Option<()> {
        for component in rest.into_iter().filter(|component| component != ".") {
            (component != "..").then(|| self.components.push(component))?;
        }
        Some(())
    }
}

impl PathWalk {
    /// Puts the components of `text` before the others, and returns where they begin: at `top` if
    /// the text is absolute, else `here`.
    fn enter(
        &mut self,
        text: &str,
        here: NodeSlot,
        top: NodeSlot,
    ) -> Result<NodeSlot, fn(VPath) -> LookupError> {
        self.n_entered += 1;
        let rest: usize = self.rest.iter().map(|component| component.len() + 1).sum();
        if self.n_entered > MAX_LINKS + 1 {
            return Err(|at| LookupError::Loop { at });
        }
        if text.len() + rest > MAX_PATH_LEN {
            return Err(|at| LookupError::TooLong { at });
        }
        if text.is_empty() {
            return Err(|at| LookupError::NotFound { at });
        }
        // A slash at the end requires a directory (POSIX, "Pathname Resolution").
        if text.ends_with('/') && text.len() > 1 {
            self.rest.push_front(".".into());
        }
        for component in text.rsplit('/').filter(|component| !matches!(*component, "" | ".")) {
            self.rest.push_front(component.into());
        }
        Ok(if text.starts_with('/') { top } else { here })
    }
}
