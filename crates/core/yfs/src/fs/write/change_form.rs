//! Writes that change where the content is kept: bytes to a blob, or a blob to a text.

use std::sync::Arc;

use yfs_engine::table::{BlobRef, RowChanges, RowWrite};
use yfs_vfs::{FsCode, FsError, WriteOutcome};

use super::FileContentWriter;
use super::{
    MAX_ATTEMPTS,
    blob::{is_blob_gone, new_blob},
    write_target::WriteTarget,
};
use crate::{
    commit::{DocumentChange, NewBody, StructureAccess, Transaction},
    fs::convert_types::{ContentLocation, version_token},
};

impl FileContentWriter<'_> {
    /// Replaces the content of a file by bytes: stores the blob, records the version in the
    /// document, and names the blob in the row.
    pub(super) fn put_bytes(
        &self,
        target: WriteTarget<'_>,
        data: &[u8],
    ) -> Result<WriteOutcome, FsError> {
        for _ in 0..MAX_ATTEMPTS {
            let blob = self.put_blob(target.op, target.path, data)?;
            match self.put_stored(target, blob) {
                // An equal blob existed, and was removed meanwhile.
                Err(error) if is_blob_gone(&error) => {}
                written => return written,
            }
        }
        Err(target.fail(FsCode::EBUSY))
    }

    /// Replaces the content of a file by a blob that is in the store.
    pub(super) fn put_stored(
        &self,
        target: WriteTarget<'_>,
        blob: BlobRef,
    ) -> Result<WriteOutcome, FsError> {
        let body = NewBody::Blob(new_blob(blob));
        self.change_form(target, ContentLocation::Blob(blob), blob.size, body)
    }

    /// Replaces a blob by a text.
    pub(super) fn replace_blob_by_text(
        &self,
        target: WriteTarget<'_>,
        text: &str,
    ) -> Result<WriteOutcome, FsError> {
        let text: Arc<str> = text.into();
        self.change_form(target, ContentLocation::Text, text.len() as u64, NewBody::Text(text))
    }

    /// Changes document and row of a file in one transaction.
    fn change_form(
        &self,
        target: WriteTarget<'_>,
        location: ContentLocation,
        size: u64,
        body: NewBody,
    ) -> Result<WriteOutcome, FsError> {
        let id = &target.found.id;
        let author = self.content_author(target.by);
        let changes = RowChanges {
            blob: Some(if let ContentLocation::Blob(blob) = location { Some(blob) } else { None }),
            size: Some(size),
            updated_at: Some(target.row.updated_at.unwrap_or(author.at)),
            ..target.row.clone()
        };
        let by = Some(&author.actor);
        let committed = self.state.commit(StructureAccess::Change, by, |main| {
            target.check(main)?;
            let entry = main.files().get(id).filter(|entry| entry.row.trashed_at.is_none());
            // The file was removed since it was resolved.
            let entry = entry.ok_or_else(|| target.fail(FsCode::ESTALE))?;
            let preconditions = self.state.expect_content(id, target.expected)?;
            // The row may have been behind its document when the version was read.
            if target.expected.is_some() && ContentLocation::of(&entry.row) != target.found.location
            {
                return Err(target.fail(FsCode::ESTALE).into());
            }
            let write = RowWrite::Update { id: id.clone(), changes: changes.clone() };
            let changes = vec![DocumentChange::replace(id, body.clone(), author.clone())];
            let blobs = body.blob().into_iter().collect();
            let rows = Transaction::rows(vec![write], ());
            Ok(Transaction { changes, preconditions, blobs, ..rows })
        });
        let committed = committed.map_err(|error| target.convert_error(error))?;
        let document = committed.documents.get(id).filter(|document| !document.is_overtaken);
        let version = document.map(|document| version_token(document.head, &location));
        let mut written = WriteOutcome::new(id.clone(), version, size, false);
        written.merged = written.version.is_none();
        Ok(written)
    }
}
