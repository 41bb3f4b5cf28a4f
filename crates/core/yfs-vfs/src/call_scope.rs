//! What the operations of one call share: the approvals that a person gave or refused for it, and
//! what it left out because an approval is missing.

use std::{collections::HashSet, sync::Arc};

use parking_lot::Mutex;
use yfs_types::path::VPath;

/// The most left-out files that are kept by name, so that none is counted twice.
const MAX_NAMED: usize = 100_000;

/// One call of a caller, for example of a tool. Clones are handles of one call.
///
/// A filesystem that asks a person takes an approval for "once" as one for the call, the object and
/// everything below it, and a refusal as one for the call, the object, and what holds it or is
/// below it. See [`FsView::ForCall`](crate::FsView::ForCall).
#[derive(Debug, Clone, Default)]
pub struct CallScope {
    changes: bool,
    state: Arc<Mutex<ScopeState>>,
}

#[derive(Debug, Default)]
struct ScopeState {
    /// Whether the approval is one to write, and the object.
    approved: Vec<(bool, VPath)>,
    /// Whether the refusal is one to write, and the object.
    refused: Vec<(bool, VPath)>,
    only_read: Vec<VPath>,
    left_out: HashSet<VPath>,
    n_unnamed: u64,
}

impl CallScope {
    /// Makes the scope of a call that only reads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the scope of a call that changes what it reads, so that one question is asked for
    /// both.
    pub fn changing() -> Self {
        Self { changes: true, ..Self::default() }
    }

    /// Returns the same call for a part that may change what it reads or not, such as a command: a
    /// question is then about what the part does, when it does it.
    #[must_use]
    pub fn of_unknown_part(&self) -> Self {
        Self { changes: false, ..self.clone() }
    }

    /// Declares that the call only reads an object and what is below it, such as the source of a
    /// copy.
    pub fn declare_only_read(&self, path: &VPath) {
        self.state.lock().only_read.push(path.clone());
    }

    /// Returns whether the call changes an object if it reads it.
    pub fn changes(&self, path: &VPath) -> bool {
        let only_read = || self.state.lock().only_read.iter().any(|read| path.starts_with(read));
        self.changes && !only_read()
    }

    /// Records the approval of an object and everything below it.
    pub fn approve(&self, writes: bool, path: &VPath) {
        let mut state = self.state.lock();
        let approval = (writes, path.clone());
        if !state.approved.contains(&approval) {
            state.approved.push(approval);
        }
    }

    /// Returns whether an object, or a directory above it, was approved in this call.
    pub fn is_approved(&self, writes: bool, path: &VPath) -> bool {
        let state = self.state.lock();
        state.approved.iter().any(|(write, object)| *write == writes && path.starts_with(object))
    }

    /// Returns whether an object below a directory was approved in this call.
    pub fn is_approved_below(&self, directory: &VPath) -> bool {
        let state = self.state.lock();
        state.approved.iter().any(|(_, object)| object.starts_with(directory))
    }

    /// Records that the access to an object was refused.
    pub fn refuse(&self, writes: bool, path: &VPath) {
        let mut state = self.state.lock();
        let refusal = (writes, path.clone());
        if !state.refused.contains(&refusal) {
            state.refused.push(refusal);
        }
    }

    /// Returns whether the access to an object was refused in this call, or to a directory above
    /// it, or to an object below it, which an approval would cover.
    pub fn is_refused(&self, writes: bool, path: &VPath) -> bool {
        let state = self.state.lock();
        let is_related = |object: &VPath| path.starts_with(object) || object.starts_with(path);
        state.refused.iter().any(|(write, object)| *write == writes && is_related(object))
    }

    /// Counts a file that the call left out because it needs an approval.
    pub fn leave_out(&self, path: &VPath) {
        let mut state = self.state.lock();
        if state.left_out.len() < MAX_NAMED {
            state.left_out.insert(path.clone());
        } else if !state.left_out.contains(path) {
            state.n_unnamed += 1;
        }
    }

    /// Returns the number of files that were left out.
    pub fn n_left_out(&self) -> u64 {
        let state = self.state.lock();
        state.left_out.len() as u64 + state.n_unnamed
    }
}
