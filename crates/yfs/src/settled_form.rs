//! Which documents were found to need no settlement, as facts beside the log say it.

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
    /// Returns the form that the name of a file asks for.
    pub(crate) fn of_name(name: &str) -> Self {
        match FileCategory::of(name) {
            FileCategory::RichText => Self::RichText,
            FileCategory::Text => Self::PlainText,
        }
    }

    /// Returns the hash by which the fact of a document says so.
    pub(crate) fn mark(self) -> ContentHash {
        let said: &[u8] = match self {
            Self::PlainText => b"plain text that is settled",
            Self::RichText => b"rich text that is settled",
        };
        ContentHash::of(said)
    }
}
