//! The author of a change, as the filesystem and as the content records it.

use std::borrow::Cow;

use yfs_engine::content::RunAuthor;
use yfs_vfs::ChangeAuthor;

use crate::fs::WorkspaceFs;

impl WorkspaceFs {
    /// Returns the author that a call names, or that of the filesystem.
    pub(in crate::fs) fn author(&self, author: Option<&ChangeAuthor>) -> ChangeAuthor {
        let Some(author) = author else { return self.author.clone() };
        let step = author.step.clone().or_else(|| self.author.step.clone());
        ChangeAuthor { step, ..author.clone() }
    }

    /// Returns the author of a change of contents by this filesystem that is made now.
    pub(crate) fn own_content_author(&self) -> RunAuthor {
        self.content_author(&self.author)
    }

    /// Returns the author of a change of contents that is made now.
    pub(in crate::fs) fn content_author(&self, by: &ChangeAuthor) -> RunAuthor {
        RunAuthor {
            actor: by.actor.clone(),
            at: self.state.now(),
            label: by.label.clone(),
            step: by.step.clone(),
        }
    }

    /// Returns this filesystem for a call that may change several objects: its changes are one
    /// step, unless they are part of a larger one.
    pub(crate) fn in_own_step(&self) -> Cow<'_, Self> {
        match self.author.step {
            Some(_) => Cow::Borrowed(self),
            None => Cow::Owned(self.clone().in_step(&self.state.new_step())),
        }
    }
}
