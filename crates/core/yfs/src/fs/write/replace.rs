//! Replacing the content of a file: the choice between text and blob, and the merge of a text with
//! the changes since its base.

use yfs_engine::{
    content::{ByteClassification, MAX_TEXT_BYTES, classify_as},
    kind::ContentRoot,
    table::BlobRef,
};
use yfs_vfs::{EditOverlap, FsCode, FsError, VersionBase, WriteOutcome};

use super::FileContentWriter;
use super::{MAX_ATTEMPTS, write_base::WriteBase, write_target::WriteTarget};
use crate::fs::convert_types::{ContentLocation, ResolvedFile};

impl FileContentWriter<'_> {
    /// Replaces the content of a file by `data`. If both are text, the change is the least edit of
    /// the text that the writer had read.
    pub(super) fn replace(
        &self,
        target: WriteTarget<'_>,
        data: &[u8],
        base: Option<&VersionBase>,
    ) -> Result<WriteOutcome, FsError> {
        let kind = self.state.main.read_recursive().content_kind(&target.found.id);
        let limit = self.text_limit_in(target.found, data.len());
        let form = classify_as(data, kind.unwrap_or(ContentRoot::Text), limit);
        match (&target.found.location, form) {
            (ContentLocation::Text, ByteClassification::Text(text)) => {
                self.replace_text(target, text, base)
            }
            (_, form) => {
                let expected = target.expected.or(self.check_unmerged_base(target, base)?);
                let target = WriteTarget { expected, ..target };
                match form {
                    ByteClassification::Blob => self.put_bytes(target, data),
                    ByteClassification::Text(text) => self.replace_blob_by_text(target, text),
                }
            }
        }
    }

    /// Replaces the content of a file by a blob that is in the store already.
    pub(super) fn replace_by_blob(
        &self,
        target: WriteTarget<'_>,
        blob: BlobRef,
        base: Option<&VersionBase>,
    ) -> Result<WriteOutcome, FsError> {
        let expected = target.expected.or(self.check_unmerged_base(target, base)?);
        self.put_stored(WriteTarget { expected, ..target }, blob)
    }

    /// Returns the greatest size of a text that is written in place of the content of a file. One
    /// that peers with a higher limit have written stays a text.
    pub(super) fn text_limit_in(&self, found: &ResolvedFile, len: usize) -> usize {
        let limit = self.text_limit();
        let is_text = || matches!(found.location, ContentLocation::Text);
        let current =
            || self.state.texts.read(&self.state, &found.id).map_or(0, |text| text.content.len());
        if len > limit && is_text() && current() > limit { MAX_TEXT_BYTES } else { limit }
    }

    /// Merges a text with the changes since its base; starts over if the current content was the
    /// base and another process was faster.
    fn replace_text(
        &self,
        target: WriteTarget<'_>,
        text: &str,
        base: Option<&VersionBase>,
    ) -> Result<WriteOutcome, FsError> {
        for _ in 0..MAX_ATTEMPTS {
            let base = self.resolve_base(target, base)?;
            let Some(WriteBase::Current(head)) = base else {
                return self.replace_from(target, text, base.as_ref());
            };
            // The base must still be the current content when the edit is logged.
            let expected = target.expected.or(Some(head));
            match self.replace_from(WriteTarget { expected, ..target }, text, None) {
                Err(error) if error.code == FsCode::ESTALE && target.expected.is_none() => (),
                written => return written,
            }
        }
        Err(target.fail(FsCode::EBUSY))
    }

    /// Merges a text with the changes since a base that does not change.
    fn replace_from(
        &self,
        target: WriteTarget<'_>,
        text: &str,
        base: Option<&WriteBase>,
    ) -> Result<WriteOutcome, FsError> {
        let author = self.content_author(target.by);
        let mut overlaps = Vec::new();
        let (mut written, stored) = self.edit_text(target, |doc| {
            let written = doc.write(text, base.and_then(WriteBase::as_base), &author)?;
            let met = written.overlaps.into_iter().map(|overlap| EditOverlap {
                offset: overlap.at as u64,
                len: (overlap.inserted.len() + overlap.theirs.len()) as u64,
                actor: None,
            });
            overlaps = met.collect();
            Ok(written.update.into_iter().collect())
        })?;
        written.merged = *stored != *text;
        written.version = written.version.filter(|_| !written.merged);
        written.overlaps = overlaps;
        Ok(written)
    }
}
