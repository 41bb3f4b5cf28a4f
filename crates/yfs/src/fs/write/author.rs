//! The author of a change, as the filesystem and as the content records it.

use yfs_engine::content::RunAuthor;
use yfs_vfs::ChangeAuthor;

use crate::fs::WorkspaceFs;

impl WorkspaceFs {
    /// Returns the author that a call names, or that of the filesystem.
    pub(in crate::fs) fn author(&self, author: Option<&ChangeAuthor>) -> ChangeAuthor {
        author.cloned().unwrap_or_else(|| self.author.clone())
    }

    /// Returns the author of a change of contents that is made now.
    pub(in crate::fs) fn content_author(&self, by: &ChangeAuthor) -> RunAuthor {
        RunAuthor { actor: by.actor.clone(), at: self.state.now(), label: by.label.clone() }
    }
}
