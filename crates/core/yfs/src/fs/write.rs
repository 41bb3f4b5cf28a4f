//! The calls that write contents.

mod append;
mod author;
mod blob;
mod change_form;
mod edit;
mod new_content;
mod replace;
mod row_options;
mod upload;
mod write_base;
mod write_target;

use yfs_engine::{path::VPath, table::BlobRef, time::Millis};
use yfs_vfs::{FsCode, FsError, Op, WriteOptions, WriteOutcome};

use self::{
    append::AppendedData, blob::is_blob_gone, row_options::row_changes, write_target::WriteTarget,
};
pub(super) use self::{
    blob::new_blob,
    new_content::{NewFileContent, NewFileData},
    row_options::meta_patch,
};
use super::convert_types::{ContentLocation, ResolvedFile, fs_error};
use crate::workspace::damage::{check_not_lost, note_replaced};

/// How often a call starts over because a file was created or removed meanwhile.
const MAX_ATTEMPTS: usize = 64;

/// The change that a write makes to the content.
enum ContentChange<'a> {
    Replace(&'a [u8]),
    /// By a blob that is in the store already.
    ReplaceByBlob(BlobRef),
    Append(AppendedData<'a>),
}

impl ContentChange<'_> {
    /// Returns the bytes, if they are in memory.
    fn data(&self) -> &[u8] {
        match self {
            Self::Replace(data) | Self::Append(AppendedData::Bytes(data)) => data,
            _ => &[],
        }
    }

    /// Reports whether the bytes can be put into the store again.
    fn is_in_memory(&self) -> bool {
        matches!(self, Self::Replace(_) | Self::Append(AppendedData::Bytes(_)))
    }
}

fs_part! {
    /// The calls that write contents.
    FileContentWriter, writer
}

impl FileContentWriter<'_> {
    /// Replaces the content of an existing file by `data`, as the least edit.
    pub(crate) fn overwrite(
        &self,
        path: &VPath,
        data: &[u8],
        mode: Option<u32>,
        mtime: Option<Millis>,
    ) -> Result<(), FsError> {
        let options = WriteOptions { mode, mtime, follow: false, ..WriteOptions::default() };
        self.write(path, data, &options).map(drop)
    }

    pub(crate) fn write(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.change_content(Op::Open, path, &mut ContentChange::Replace(data), options)
    }

    pub(crate) fn append(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let mut change = ContentChange::Append(AppendedData::Bytes(data));
        self.change_content(Op::Append, path, &mut change, &append_options(options))
    }

    /// Writes to the file at the path, or creates it; starts over if another process was faster.
    fn change_content(
        &self,
        op: Op,
        path: &VPath,
        change: &mut ContentChange<'_>,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.refresh_if_unfollowed(op)?;
        self.state.check_writable().map_err(|error| fs_error(error, op, path))?;
        // It may make directories, or set permission bits, too.
        let has_several = options.parents || options.mode.is_some();
        let own_step = has_several.then(|| self.in_own_step());
        let this = own_step.as_deref().unwrap_or(self);
        let data = change.data();
        let _heavy = self.state.heavy_writes.begin(&self.state.documents, path, data);
        for _ in 0..MAX_ATTEMPTS {
            let found = self.find_target(op, path, options)?;
            let written = match found {
                Some(found) => {
                    this.writer().change_file(op, path, &found, change, options).map(Some)
                }
                None => match this.writer().create_with(op, path, change, options) {
                    // The blob of this call was removed before the file named it.
                    Err(error) if change.is_in_memory() && is_blob_gone(&error) => continue,
                    created => created,
                },
            };
            match written {
                Ok(Some(written)) => return Ok(written),
                // Without a precondition, `ESTALE` only means that the file is gone.
                Err(error) if error.code != FsCode::ESTALE || is_conditional(options) => {
                    return Err(error);
                }
                _ => (),
            }
        }
        Err(FsError::new(FsCode::EBUSY, op, path))
    }

    fn create_with(
        &self,
        op: Op,
        path: &VPath,
        change: &mut ContentChange<'_>,
        options: &WriteOptions,
    ) -> Result<Option<WriteOutcome>, FsError> {
        let data = match change {
            ContentChange::Replace(data) | ContentChange::Append(AppendedData::Bytes(data)) => {
                NewFileData::Bytes(data)
            }
            ContentChange::ReplaceByBlob(blob) => NewFileData::Blob(*blob),
            ContentChange::Append(AppendedData::Stream(stream)) => {
                self.tree().check_create(op, path, options)?;
                NewFileData::Blob(self.put_alone(op, path, stream)?)
            }
        };
        self.tree().create(op, path, data, options)
    }

    fn change_file(
        &self,
        op: Op,
        path: &VPath,
        found: &ResolvedFile,
        change: &mut ContentChange<'_>,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let expected = self.expected_head(op, path, found, options)?;
        let by = self.author(options.author.as_ref());
        let is_append = matches!(change, ContentChange::Append(_));
        let mut row = row_changes(options);
        row.mode = row.mode.filter(|_| !is_append);
        let (by, row) = (&by, &row);
        let target = WriteTarget { fs: self, op, path, found, options, expected, by, row };
        let is_text = matches!(found.location, ContentLocation::Text);
        if is_text && is_append {
            check_not_lost(&self.state, &found.id).map_err(|error| fs_error(error, op, path))?;
        }
        let written = match change {
            ContentChange::Append(data) => self.append_to(target, data)?.appended(options),
            ContentChange::Replace(data) => self.replace(target, data, options.base.as_ref())?,
            ContentChange::ReplaceByBlob(blob) => {
                self.replace_by_blob(target, *blob, options.base.as_ref())?
            }
        };
        if is_text && !is_append {
            let replaced = note_replaced(&self.state, &found.id);
            replaced.map_err(|error| fs_error(error, op, path))?;
        }
        if row.updated_at.is_some() {
            self.state.reports.drop_edit(&found.id);
        }
        Ok(written)
    }
}

/// Returns the options of an append.
fn append_options(options: &WriteOptions) -> WriteOptions {
    WriteOptions { base: None, follow: true, ..options.clone() }
}

fn is_conditional(options: &WriteOptions) -> bool {
    options.expected_version.is_some() || options.base.is_some()
}
