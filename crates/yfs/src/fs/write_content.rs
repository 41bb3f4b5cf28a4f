//! Replacing the content of a file: text by text as the least edit, and the changes between text
//! and blob.

use std::sync::Arc;

use yfs_engine::{
    content::{self, ByteClassification, ContentError, NewBlob},
    kind::{ContentRoot, FileCategory},
    main_doc::MainDoc,
    path::VPath,
    table::{BlobRef, RowChanges, RowWrite},
};
use yfs_store::{DocHead, StoreError};
use yfs_vfs::{
    ChangeAuthor, EditOutcome, EditOverlap, EditRefusal, FsCode, FsError, Op, TextReplacement,
    VersionBase, WriteOptions, WriteOutcome,
};

use super::{
    WorkspaceFs,
    convert_types::{
        ContentLocation, ResolvedFile, fs_error, head_of_token, is_of_blob, version_token,
    },
    durable_version::DurableVersion,
    write::{MAX_ATTEMPTS, find_target},
};
use crate::{
    commit::{DocumentChange, NewBody, StructureAccess, Transaction},
    error::WorkspaceError,
    fs::read::{CUSTOM_KEY, MIME_KEY},
    json_convert,
};

/// The content of a new file.
#[derive(Debug)]
pub(crate) enum NewFileContent {
    /// Text, as the first update of its document.
    Text {
        /// `None` if the text is empty.
        update: Option<Vec<u8>>,
        size: u64,
    },
    /// Bytes that are in the store already.
    Blob { blob: BlobRef, update: Option<Vec<u8>> },
}

/// A file to write to, with the writer and the preconditions.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteTarget<'a> {
    pub(super) fs: &'a WorkspaceFs,
    pub(super) op: Op,
    pub(super) path: &'a VPath,
    pub(super) found: &'a ResolvedFile,
    /// The options by which the path was resolved.
    pub(super) options: &'a WriteOptions,
    /// The record that the document must have as its last.
    pub(super) expected: Option<DocHead>,
    pub(super) by: &'a ChangeAuthor,
}

impl WriteTarget<'_> {
    pub(super) fn fail(&self, code: FsCode) -> FsError {
        FsError::new(code, self.op, self.path)
    }

    /// Checks that the path still leads to the file, which is still a text or has the same blob.
    ///
    /// # Errors
    ///
    /// Fails with `ESTALE` if not.
    pub(super) fn check(&self, main: &MainDoc) -> Result<(), WorkspaceError> {
        let found = find_target(main, self.op, self.path, self.options);
        let is_same = found.is_ok_and(|found| {
            found.is_some_and(|file| {
                file.id == self.found.id && file.location == self.found.location
            })
        });
        if !is_same {
            return Err(self.fail(FsCode::ESTALE).into());
        }
        Ok(self.fs.check_found(main, self.op, self.path, &self.found.id)?)
    }

    pub(super) fn convert_error(&self, error: WorkspaceError) -> FsError {
        fs_error(error, self.op, self.path)
    }
}

impl WorkspaceFs {
    pub(super) fn author(&self, author: Option<&ChangeAuthor>) -> ChangeAuthor {
        author.cloned().unwrap_or_else(|| self.author.clone())
    }

    pub(super) fn content_author(&self, by: &ChangeAuthor) -> content::RunAuthor {
        content::RunAuthor {
            actor: by.actor.clone(),
            at: self.state.now(),
            label: by.label.clone(),
        }
    }

    /// Returns the head that the caller's expected version names, after a first comparison.
    pub(super) fn expected_head(
        &self,
        op: Op,
        path: &VPath,
        found: &ResolvedFile,
        options: &WriteOptions,
    ) -> Result<Option<DocHead>, FsError> {
        let Some(token) = &options.expected_version else { return Ok(None) };
        if self.version_of(found, path)? != *token {
            return Err(FsError::new(FsCode::ESTALE, op, path));
        }
        Ok(head_of_token(token))
    }

    /// Replaces the content of a file by `data`. If both are text, the change is the least edit of
    /// the text that the writer had read.
    pub(super) fn replace(
        &self,
        target: WriteTarget<'_>,
        data: &[u8],
        base: Option<&VersionBase>,
    ) -> Result<WriteOutcome, FsError> {
        let kind = self.state.main.read_recursive().content_kind(&target.found.id);
        let form = content::classify_as(data, kind.unwrap_or(ContentRoot::Text));
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

    fn replace_text(
        &self,
        target: WriteTarget<'_>,
        text: &str,
        base: Option<&VersionBase>,
    ) -> Result<WriteOutcome, FsError> {
        for _ in 0..MAX_ATTEMPTS {
            let base = self.content_base(target, base)?;
            let Some(OwnedBase::Current(head)) = base else {
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

    fn replace_from(
        &self,
        target: WriteTarget<'_>,
        text: &str,
        base: Option<&OwnedBase>,
    ) -> Result<WriteOutcome, FsError> {
        let author = self.content_author(target.by);
        let mut overlaps = Vec::new();
        let (mut written, stored) = self.edit_text(target, |doc| {
            let written = doc.write(text, base.and_then(OwnedBase::as_base), &author)?;
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

    /// Resolves the base that the writer had read.
    fn content_base(
        &self,
        target: WriteTarget<'_>,
        base: Option<&VersionBase>,
    ) -> Result<Option<OwnedBase>, FsError> {
        let stale = || target.fail(FsCode::ESTALE);
        match base {
            None => Ok(None),
            Some(VersionBase::Content(bytes)) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(OwnedBase::Text(text.to_owned()))),
                Err(_) => Err(stale()),
            },
            Some(VersionBase::Version(token)) => {
                if let Some(lasting) = DurableVersion::of_token(token) {
                    return match lasting {
                        DurableVersion::Text(version) => Ok(Some(OwnedBase::Version(version))),
                        DurableVersion::Blob(_) => Err(stale()),
                    };
                }
                if is_of_blob(token) {
                    return Err(stale());
                }
                let head = head_of_token(token).ok_or_else(stale)?;
                if self.version_of(target.found, target.path)? == *token {
                    return Ok(Some(OwnedBase::Current(head)));
                }
                let version = self.state.version_at(&target.found.id, head);
                let version =
                    version.map_err(|error| target.convert_error(error))?.ok_or_else(stale)?;
                Ok(Some(OwnedBase::Version(version)))
            }
        }
    }

    /// Rejects a base that cannot be merged with, unless it is the current content. It must still
    /// be current when the write is logged, so the head to expect is returned.
    fn check_unmerged_base(
        &self,
        target: WriteTarget<'_>,
        base: Option<&VersionBase>,
    ) -> Result<Option<DocHead>, FsError> {
        let Some(base) = base else { return Ok(None) };
        let version = self.version_of(target.found, target.path)?;
        let is_current = match base {
            VersionBase::Version(token) => match DurableVersion::of_token(token) {
                Some(lasting) => lasting.is_blob_of(&target.found.location),
                None => version == *token,
            },
            VersionBase::Content(bytes) => self.read_now(target.path)?.data == *bytes,
        };
        if is_current { Ok(head_of_token(&version)) } else { Err(target.fail(FsCode::ESTALE)) }
    }

    pub(super) fn append_bytes(
        &self,
        target: WriteTarget<'_>,
        data: &[u8],
    ) -> Result<WriteOutcome, FsError> {
        for _ in 0..MAX_ATTEMPTS {
            let found = self.resolve_file(&self.state.main.read(), target.op, target.path)?;
            let before = self.read_found(target.path, &found)?;
            let whole = [&before.data[..], data].concat();
            // A change in between would be overwritten.
            let expected = target.expected.or_else(|| head_of_token(&before.version));
            match self.put_bytes(WriteTarget { expected, found: &found, ..target }, &whole) {
                Err(error) if error.code == FsCode::ESTALE && target.expected.is_none() => (),
                written => return written,
            }
        }
        Err(target.fail(FsCode::EBUSY))
    }

    /// Replaces the content of a file by bytes: stores the blob, records the version in the
    /// document, and names the blob in the row.
    fn put_bytes(&self, target: WriteTarget<'_>, data: &[u8]) -> Result<WriteOutcome, FsError> {
        for _ in 0..MAX_ATTEMPTS {
            let blob = self.put_blob(target.op, target.path, data)?;
            match self.change_form(
                target,
                ContentLocation::Blob(blob),
                blob.size,
                NewBody::Blob(new_blob(blob)),
            ) {
                // An equal blob existed, and was removed meanwhile.
                Err(error) if is_blob_gone(&error) => {}
                written => return written,
            }
        }
        Err(target.fail(FsCode::EBUSY))
    }

    /// Replaces a blob by a text.
    fn replace_blob_by_text(
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
            updated_at: Some(author.at),
            ..RowChanges::default()
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

    pub(super) fn put_blob(&self, op: Op, path: &VPath, data: &[u8]) -> Result<BlobRef, FsError> {
        let mut reader = data;
        let info = self.state.store.put_blob(&mut reader, self.state.now());
        let info = info.map_err(|error| fs_error(error.into(), op, path))?;
        Ok(BlobRef { hash: info.hash, size: info.size })
    }

    /// Writes the row options of a write: mode, media type, metadata, time.
    pub(super) fn write_row_options(
        &self,
        op: Op,
        path: &VPath,
        id: &yfs_engine::id::FileId,
        options: &WriteOptions,
    ) -> Result<(), FsError> {
        let changes = RowChanges {
            mode: options.mode.map(|mode| Some(mode & 0o7777)),
            updated_at: options.mtime,
            meta: meta_patch(options),
            ..RowChanges::default()
        };
        if changes == RowChanges::default() {
            return Ok(());
        }
        if options.mtime.is_some() {
            self.state.drop_unreported_edit(id);
        }
        self.commit(op, path, |_| {
            let write = RowWrite::Update { id: id.clone(), changes: changes.clone() };
            Ok(Transaction::rows(vec![write], ()))
        })?;
        Ok(())
    }

    /// Prepares the content of a new file.
    pub(super) fn new_content(
        &self,
        op: Op,
        path: &VPath,
        id: &yfs_engine::id::FileId,
        data: &[u8],
        by: &ChangeAuthor,
    ) -> Result<NewFileContent, FsError> {
        let author = self.content_author(by);
        let name = path.components().next_back().unwrap_or_default();
        let profile = self.state.main.read_recursive().profile();
        let kind = ContentRoot::of(FileCategory::of(name), profile);
        let mut doc = self.state.new_doc(id, kind);
        let failed = |error: ContentError| fs_error(error.into(), op, path);
        match content::classify_as(data, kind) {
            ByteClassification::Text(text) => {
                let update = doc.write(text, None, &author).map_err(failed)?.update;
                Ok(NewFileContent::Text { update, size: text.len() as u64 })
            }
            ByteClassification::Blob => {
                let blob = self.put_blob(op, path, data)?;
                let update = doc.add_blob_version(&new_blob(blob), &author).map_err(failed)?;
                Ok(NewFileContent::Blob { blob, update })
            }
        }
    }

    pub(crate) fn edit_now(
        &self,
        path: &VPath,
        edit: &TextReplacement,
    ) -> Result<EditOutcome, FsError> {
        self.refresh_if_unfollowed(Op::Edit)?;
        for _ in 0..MAX_ATTEMPTS {
            match self.edit_found(path, edit) {
                // Without a precondition, `ESTALE` only means that the file is gone.
                Err(error) if error.code == FsCode::ESTALE && edit.expected_version.is_none() => (),
                edited => return edited,
            }
        }
        Err(FsError::new(FsCode::EBUSY, Op::Edit, path))
    }

    fn edit_found(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        let found = self.resolve_file(&self.state.main.read(), Op::Edit, path)?;
        if found.location != ContentLocation::Text {
            return Err(FsError::edit_refused(path, EditRefusal::NotText));
        }
        let options = WriteOptions {
            expected_version: edit.expected_version.clone(),
            ..WriteOptions::default()
        };
        let expected = self.expected_head(Op::Edit, path, &found, &options)?;
        let by = self.author(edit.author.as_ref());
        let author = self.content_author(&by);
        let mut n_replaced = 0;
        let options = &options;
        let target =
            WriteTarget { fs: self, op: Op::Edit, path, found: &found, options, expected, by: &by };
        let (written, _) = self.edit_text(target, |doc| {
            n_replaced =
                edit.count(&doc.text()).map_err(|refusal| FsError::edit_refused(path, refusal))?;
            let edited = doc.edit(&edit.old, &edit.new, edit.all, &author)?;
            Ok(edited.update.into_iter().collect())
        })?;
        let version = written.version.filter(|_| edit.expected_version.is_some());
        Ok(EditOutcome { n_replaced, version })
    }
}

/// The base of a write, kept while the document is resolved.
enum OwnedBase {
    /// The current content, up to the record that was the last when it was read.
    Current(DocHead),
    Version(content::Version),
    Text(String),
}

impl OwnedBase {
    fn as_base(&self) -> Option<content::ContentBase<'_>> {
        match self {
            Self::Current(_) => None,
            Self::Version(version) => Some(content::ContentBase::Version(version)),
            Self::Text(text) => Some(content::ContentBase::Text(text)),
        }
    }
}

pub(super) fn new_blob(blob: BlobRef) -> NewBlob {
    NewBlob { hash: blob.hash, size: blob.size, mime: None }
}

/// Reports whether a call failed because its blob was removed before the row named it.
pub(super) fn is_blob_gone(error: &FsError) -> bool {
    let source = error.source.as_ref().and_then(|source| source.downcast_ref());
    matches!(source, Some(WorkspaceError::Store(StoreError::NoBlob { .. })))
}

/// Returns the merge patch of a row's `meta` for the options of a write.
pub(super) fn meta_patch(options: &WriteOptions) -> Option<yfs_engine::Any> {
    let mut patch = serde_json::Map::new();
    if let Some(mime) = &options.mime {
        patch.insert(MIME_KEY.to_owned(), mime.as_str().into());
    }
    if let Some(custom) = &options.metadata {
        patch.insert(CUSTOM_KEY.to_owned(), custom.clone().into());
    }
    (!patch.is_empty()).then(|| json_convert::object(&patch))
}
