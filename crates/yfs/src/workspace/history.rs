//! What the calls on a file's history share.

use yfs_engine::content::Author;

use super::Workspace;

impl Workspace {
    /// Returns of changes that are made now on behalf of [`Options::actor`](crate::Options::actor).
    pub(super) fn author(&self) -> Author {
        Author::new(self.state.options.actor.clone(), self.state.now())
    }
}
