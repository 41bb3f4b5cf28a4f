//! Marks of documents that need no settlement, kept in facts beside the log.

use yfs_engine::{hash::ContentHash, kind::FileCategory};

/// The form in which a document was checked and found settled, until its next update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettledForm {
    /// Plain text.
    PlainText,
    /// Rich text.
    RichText,
}

impl SettledForm {
    /// Returns the form that the name of a file requires.
    pub(crate) fn of_name(name: &str) -> Self {
        match FileCategory::of(name) {
            FileCategory::RichText => Self::RichText,
            FileCategory::Text => Self::PlainText,
        }
    }

    /// Returns the hash that stands for the form in the fact of a document.
    pub(crate) fn mark(self) -> ContentHash {
        let text: &[u8] = match self {
            Self::PlainText => b"plain text that is settled",
            Self::RichText => b"rich text that is settled",
        };
        ContentHash::of(text)
    }
}
