//! Appending to a file.
//!
//! A file that is a blob is read from the store piece by piece, with the new bytes behind it, and
//! put as another blob, so that neither is in memory as a whole.

use std::io::Read;

use yfs_engine::{content::ContentDoc, path::VPath, table::BlobRef};
use yfs_store::{BlobReader, StoreError};
use yfs_vfs::{FsCode, FsError, Op, VersionToken, WriteOutcome};

use super::FileContentWriter;
use super::{MAX_ATTEMPTS, blob::is_blob_gone, write_target::WriteTarget};
use crate::fs::convert_types::{
    ContentLocation, ResolvedFile, bytes_of, fs_error, head_of_token, version_token,
};

/// The bytes to append.
pub(super) enum AppendedData<'a> {
    Bytes(&'a [u8]),
    Stream(AppendedStream<'a>),
}

/// Bytes to append that are not in memory as a whole. There are more of them than a text may have.
pub(super) struct AppendedStream<'a> {
    source: StreamSource<'a>,
    /// Whether they begin as a text of the greatest size does.
    begins_as_text: bool,
}

/// Where the bytes of a stream can be read.
enum StreamSource<'a> {
    /// From a reader that was not read yet.
    Reader(&'a mut dyn Read),
    /// From a blob that an earlier attempt has put, from an offset on.
    Stored { blob: BlobRef, from: u64 },
}

/// The content of a file that is appended to.
struct OldContent<'a> {
    version: VersionToken,
    len: u64,
    reader: Box<dyn Read + 'a>,
}

impl<'a> AppendedStream<'a> {
    pub(super) fn new(reader: &'a mut dyn Read, begins_as_text: bool) -> Self {
        Self { source: StreamSource::Reader(reader), begins_as_text }
    }
}

impl FileContentWriter<'_> {
    /// Appends to a file that exists.
    pub(super) fn append_to(
        &self,
        target: WriteTarget<'_>,
        data: &mut AppendedData<'_>,
    ) -> Result<WriteOutcome, FsError> {
        if target.found.location == ContentLocation::Text {
            match data {
                AppendedData::Bytes(bytes) => {
                    if let Ok(text) = std::str::from_utf8(bytes) {
                        return self.append_text(target, text);
                    }
                }
                // A text stays one, so it cannot grow over the limit.
                AppendedData::Stream(stream) if stream.begins_as_text => {
                    return Err(target.fail(FsCode::EFBIG));
                }
                AppendedData::Stream(_) => (),
            }
        }
        self.append_bytes(target, data)
    }

    /// Appends a text to a text.
    fn append_text(&self, target: WriteTarget<'_>, text: &str) -> Result<WriteOutcome, FsError> {
        let author = self.content_author(target.by);
        let append =
            |doc: &mut ContentDoc| Ok(doc.append(text, &author)?.update.into_iter().collect());
        Ok(self.edit_text(target, append)?.0)
    }

    /// Appends bytes to a file that is not a text, or will not be one afterwards. Fails with
    /// `ESTALE` if another process changed or removed the file meanwhile.
    fn append_bytes(
        &self,
        target: WriteTarget<'_>,
        data: &mut AppendedData<'_>,
    ) -> Result<WriteOutcome, FsError> {
        for _ in 0..MAX_ATTEMPTS {
            match self.append_once(target, data) {
                Err(error) if error.code == FsCode::ESTALE => return Err(error),
                Err(_) if self.is_replaced(target)? => return Err(target.fail(FsCode::ESTALE)),
                // An equal blob existed, and was removed meanwhile.
                Err(error) if matches!(data, AppendedData::Bytes(_)) && is_blob_gone(&error) => {
                    if self.lacks_blob(target)? {
                        return Err(error);
                    }
                }
                written => return written,
            }
        }
        Err(target.fail(FsCode::EBUSY))
    }

    fn append_once(
        &self,
        target: WriteTarget<'_>,
        data: &mut AppendedData<'_>,
    ) -> Result<WriteOutcome, FsError> {
        let OldContent { version, len, reader } = self.open_found(target.path, target.found)?;
        // A change in between would be overwritten.
        let expected = target.expected.or_else(|| head_of_token(&version));
        let blob = self.put_behind(target.op, target.path, reader, data)?;
        if let AppendedData::Stream(stream) = data {
            stream.source = StreamSource::Stored { blob, from: len };
        }
        self.put_stored(WriteTarget { expected, ..target }, blob)
    }

    /// Opens the current content of a file.
    fn open_found(&self, path: &VPath, found: &ResolvedFile) -> Result<OldContent<'_>, FsError> {
        let failed = |error| fs_error(error, Op::Read, path);
        match found.location {
            ContentLocation::Text => {
                let text = self.state.texts.read(&self.state, &found.id).map_err(failed)?;
                let version = version_token(text.head, &ContentLocation::Text);
                let data = bytes_of(text.content);
                let len = data.len() as u64;
                Ok(OldContent { version, len, reader: Box::new(std::io::Cursor::new(data)) })
            }
            ContentLocation::Blob(blob) => {
                let version = self.reader().refreshed_version_of(found, path)?;
                let info = self.state.store.blob_info(&blob.hash);
                let info = info.map_err(|error| failed(error.into()))?;
                let gone = || failed(StoreError::NoBlob { hash: blob.hash }.into());
                let len = info.ok_or_else(gone)?.size;
                let reader = Box::new(BlobReader::new(&*self.state.store, blob.hash));
                Ok(OldContent { version, len, reader })
            }
        }
    }

    /// Puts a blob of some content and the bytes to append.
    fn put_behind(
        &self,
        op: Op,
        path: &VPath,
        old: impl Read,
        data: &mut AppendedData<'_>,
    ) -> Result<BlobRef, FsError> {
        match data {
            AppendedData::Bytes(bytes) => self.put_stream(op, path, &mut old.chain(*bytes)),
            AppendedData::Stream(stream) => match &mut stream.source {
                StreamSource::Reader(reader) => self.put_stream(op, path, &mut old.chain(reader)),
                StreamSource::Stored { blob, from } => {
                    let rest = BlobReader::starting_at(&*self.state.store, blob.hash, *from);
                    self.put_stream(op, path, &mut old.chain(rest))
                }
            },
        }
    }

    /// Puts the bytes of a stream as a blob of a new file.
    pub(super) fn put_alone(
        &self,
        op: Op,
        path: &VPath,
        stream: &mut AppendedStream<'_>,
    ) -> Result<BlobRef, FsError> {
        let blob = match &mut stream.source {
            StreamSource::Reader(reader) => self.put_stream(op, path, reader)?,
            StreamSource::Stored { blob, from } => {
                let mut data = BlobReader::starting_at(&*self.state.store, blob.hash, *from);
                self.put_stream(op, path, &mut data)?
            }
        };
        stream.source = StreamSource::Stored { blob, from: 0 };
        Ok(blob)
    }

    /// Reports whether the content of the file is a blob that is not in the store.
    fn lacks_blob(&self, target: WriteTarget<'_>) -> Result<bool, FsError> {
        let ContentLocation::Blob(blob) = &target.found.location else { return Ok(false) };
        let info = self.state.store.blob_info(&blob.hash);
        Ok(info.map_err(|error| target.convert_error(error.into()))?.is_none())
    }

    /// Reports whether an attempt failed because the blob was removed after another process had
    /// replaced it or removed the file. A blob that the file still names is missing, and does not
    /// come back.
    fn is_replaced(&self, target: WriteTarget<'_>) -> Result<bool, FsError> {
        if !self.lacks_blob(target)? {
            return Ok(false);
        }
        self.refresh_if_unfollowed(target.op)?;
        let now = self.resolve_file(&self.state.main.read(), target.op, target.path);
        Ok(!now.is_ok_and(|now| now.location == target.found.location))
    }
}
