//! Contents that arrive from a reader. At most the size of a text is held in memory; what is larger
//! is a blob, and goes to the store piece by piece.

use std::{
    io::{self, Read},
    str,
};

use yfs_engine::{path::VPath, table::BlobRef};
use yfs_vfs::{FsError, Op, WriteOptions, WriteOutcome};

use super::FileContentWriter;
use super::{
    ContentChange,
    append::{AppendedData, AppendedStream},
    append_options,
};
use crate::fs::{WorkspaceFs, convert_types::fs_error};

/// The content that a reader gave.
pub(in crate::fs) enum UploadedContent {
    /// It is no longer than a text may be, and in memory.
    Small(Vec<u8>),
    /// It is longer, and in the store.
    Blob(BlobRef),
}

impl WorkspaceFs {
    /// Replaces the content of a file by the bytes that a reader gives, as
    /// [`write`](yfs_vfs::FileSystem::write) does. At most the size of a text is held in memory.
    ///
    /// A base that is a content must fit in memory; a longer one is named by
    /// [`blob_version_of`](crate::blob_version_of).
    ///
    /// # Errors
    ///
    /// Fails as a write does, and with `EIO` if the reader fails. A write that would be refused
    /// reads nothing. If the blob is removed from the store before the file names it, the call
    /// fails with `EIO`, since the bytes cannot be read again.
    pub fn write_from(
        &self,
        path: &VPath,
        data: &mut dyn Read,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let limit = self.writer().check_write(Op::Open, path, options)?;
        let content = self.writer().upload(path, data, limit)?;
        self.writer().write_uploaded(path, &content, options)
    }

    /// Appends the bytes that a reader gives to a file, as [`append`](yfs_vfs::FileSystem::append)
    /// does. At most the size of a text is held in memory, and of a file that is a blob, 4 MiB.
    ///
    /// # Errors
    ///
    /// Fails as an append does, and with `EIO` if the reader fails.
    pub fn append_from(
        &self,
        path: &VPath,
        data: &mut dyn Read,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let options = append_options(options);
        let limit = self.writer().check_write(Op::Append, path, &options)?;
        let head = read_head(path, data, limit)?;
        if head.len() <= limit {
            return self.writer().append(path, &head, &options);
        }
        let begins_as_text = match str::from_utf8(&head) {
            Ok(_) => true,
            // A character that is cut at the end may go on.
            Err(error) => error.error_len().is_none(),
        };
        let mut whole = head.as_slice().chain(data);
        let stream = AppendedStream::new(&mut whole, begins_as_text);
        let mut change = ContentChange::Append(AppendedData::Stream(stream));
        self.writer().change_content(Op::Append, path, &mut change, &options)
    }
}

impl FileContentWriter<'_> {
    /// Takes in what a reader gives. The bytes are stored once; which file names them is decided
    /// afterwards.
    pub(in crate::fs) fn upload(
        &self,
        path: &VPath,
        data: &mut dyn Read,
        limit: usize,
    ) -> Result<UploadedContent, FsError> {
        let head = read_head(path, data, limit)?;
        if head.len() <= limit {
            return Ok(UploadedContent::Small(head));
        }
        let mut whole = head.as_slice().chain(data);
        self.put_stream(Op::Write, path, &mut whole).map(UploadedContent::Blob)
    }

    /// Replaces the content of a file by one that was taken in.
    pub(in crate::fs) fn write_uploaded(
        &self,
        path: &VPath,
        content: &UploadedContent,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let mut change = match content {
            UploadedContent::Small(data) => ContentChange::Replace(data),
            UploadedContent::Blob(blob) => ContentChange::ReplaceByBlob(*blob),
        };
        self.change_content(Op::Open, path, &mut change, options)
    }

    /// Checks that a write would not be refused as the file is now, and returns the greatest size
    /// of a text at the path.
    fn check_write(&self, op: Op, path: &VPath, options: &WriteOptions) -> Result<usize, FsError> {
        self.refresh_if_unfollowed(op)?;
        self.state.check_writable().map_err(|error| fs_error(error, op, path))?;
        let found = self.find_target(op, path, options)?;
        if let Some(found) = found {
            self.expected_head(op, path, &found, options)?;
            return Ok(self.text_limit_in(&found, usize::MAX));
        }
        self.tree().check_create(op, path, options)?;
        Ok(self.text_limit())
    }
}

/// Reads up to one byte more than a limit.
fn read_head(path: &VPath, data: &mut dyn Read, limit: usize) -> Result<Vec<u8>, FsError> {
    let mut head = Vec::new();
    let read = data.take(limit as u64 + 1).read_to_end(&mut head);
    read.map_err(|error: io::Error| FsError::io(Op::Write, path, error))?;
    Ok(head)
}
