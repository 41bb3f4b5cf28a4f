//! Truncations that wait for the write that follows them.

use super::{ContentBase, ContentDoc, ContentError, ContentWriteResult, RunAuthor, Version};

/// An empty truncating write of one opener, not made yet.
///
/// Every shell redirect and every `open` with `O_TRUNC` first empties a file and then writes it.
/// Taken literally that would delete all that anybody has typed and insert it again. So whoever
/// opens a file keeps one of these instead, shows that opener an empty file, and ends it by either
/// [`write`](Self::write), which makes one least edit of both, or [`truncate`](Self::truncate) when
/// the opener closes without having written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the file is not truncated until this is ended"]
pub struct PendingTruncate {
    base: Version,
}

impl PendingTruncate {
    /// Begins a truncation of what the document is now.
    pub fn new(doc: &ContentDoc) -> Self {
        Self { base: doc.version() }
    }

    /// Makes the truncation and the write behind it one edit.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn write(
        self,
        doc: &mut ContentDoc,
        new: &str,
        author: &RunAuthor,
    ) -> Result<ContentWriteResult, ContentError> {
        doc.write(new, Some(ContentBase::Version(&self.base)), author)
    }

    /// Makes the truncation, since nothing was written behind it.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn truncate(
        self,
        doc: &mut ContentDoc,
        author: &RunAuthor,
    ) -> Result<ContentWriteResult, ContentError> {
        self.write(doc, "", author)
    }
}
