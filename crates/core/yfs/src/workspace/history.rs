//! The view for calls on a file's history.

use std::sync::Arc;

use yfs_engine::content::RunAuthor;

use crate::state::WorkspaceState;

/// The history of the files of a workspace: versions, authors, anchors, redaction
/// ([`Workspace::history`](crate::Workspace::history)).
#[derive(Debug, Clone, Copy)]
pub struct History<'w> {
    pub(super) state: &'w Arc<WorkspaceState>,
}

impl History<'_> {
    /// Returns the author of changes that are made now on behalf of
    /// [`WorkspaceOptions::actor`](crate::WorkspaceOptions::actor).
    pub(super) fn author(&self) -> RunAuthor {
        self.state.author_now()
    }
}
