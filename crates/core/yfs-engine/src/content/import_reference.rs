//! Imports documents of the reference implementation.

use super::{ContentDoc, ContentError, ReferenceContent, RunAuthor};
use crate::{
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::ContentRoot,
};

/// A document of the reference implementation in the form of yfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportedReference {
    /// A content document, as one update; `None` if it is empty.
    Document(Option<Vec<u8>>),
    /// Bytes, to be kept as a blob.
    Bytes(Vec<u8>),
}

/// Converts a document of the reference implementation, of any version, into a new content document
/// without its history.
///
/// # Errors
///
/// [`ContentError::Refused`] if `state` is not the state of a content document, or an error of
/// [`ContentDoc::write`].
pub fn import_reference(
    state: &[u8],
    id: &FileId,
    kind: ContentRoot,
    client: ClientId,
    author: &RunAuthor,
) -> Result<ImportedReference, ContentError> {
    let mut source = ContentDoc::new(id, client, GateLimits::default());
    source.set_kind(kind);
    source.receive(state, UpdateSource::Store)?;
    source.gate().health()?;
    let text = match source.reference().read() {
        Some(ReferenceContent::Bytes(bytes)) => return Ok(ImportedReference::Bytes(bytes)),
        Some(ReferenceContent::Text(text)) => text,
        None => source.text(),
    };
    let mut made = ContentDoc::new(id, client, GateLimits::default());
    made.set_kind(kind);
    let update = if text.is_empty() { None } else { made.write(&text, None, author)?.update };
    Ok(ImportedReference::Document(update))
}
