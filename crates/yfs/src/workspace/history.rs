//! What the calls on a file's history share.

use yfs_engine::content::RunAuthor;

use super::Workspace;

impl Workspace {
    /// Returns of changes that are made now on behalf of [`Options::actor`](crate::WorkspaceOptions::actor).
    pub(super) fn author(&self) -> RunAuthor {
        RunAuthor::new(self.state.options.actor.clone(), self.state.now())
    }
}
