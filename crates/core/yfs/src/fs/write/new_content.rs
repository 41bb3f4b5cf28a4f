//! The content of a new file.

use yfs_engine::{
    content::{ByteClassification, ContentError, classify_as},
    id::FileId,
    kind::{ContentRoot, FileCategory},
    path::VPath,
    table::BlobRef,
};
use yfs_vfs::{ChangeAuthor, FsError, Op};

use super::FileContentWriter;
use super::blob::new_blob;
use crate::fs::convert_types::fs_error;

/// The bytes of a new file.
#[derive(Debug, Clone, Copy)]
pub(in crate::fs) enum NewFileData<'a> {
    Bytes(&'a [u8]),
    /// A blob that is in the store already.
    Blob(BlobRef),
}

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

impl FileContentWriter<'_> {
    /// Prepares the content of a new file.
    pub(in crate::fs) fn new_content(
        &self,
        op: Op,
        path: &VPath,
        id: &FileId,
        data: &[u8],
        by: &ChangeAuthor,
    ) -> Result<NewFileContent, FsError> {
        let author = self.content_author(by);
        let name = path.components().next_back().unwrap_or_default();
        let profile = self.state.main.read_recursive().profile();
        let kind = ContentRoot::of(FileCategory::of(name), profile);
        let mut doc = self.state.new_doc(id, kind);
        let failed = |error: ContentError| fs_error(error.into(), op, path);
        match classify_as(data, kind, self.text_limit()) {
            ByteClassification::Text(text) => {
                let update = doc.write(text, None, &author).map_err(failed)?.update;
                Ok(NewFileContent::Text { update, size: text.len() as u64 })
            }
            ByteClassification::Blob => {
                let blob = self.put_blob(op, path, data)?;
                let noted = doc.edit_registers().add_blob_version(&new_blob(blob), &author);
                Ok(NewFileContent::Blob { blob, update: noted.map_err(failed)? })
            }
        }
    }

    /// Prepares the content of a new file whose bytes are in the store already.
    pub(in crate::fs) fn new_blob_content(
        &self,
        op: Op,
        path: &VPath,
        id: &FileId,
        blob: BlobRef,
        by: &ChangeAuthor,
    ) -> Result<NewFileContent, FsError> {
        let name = path.components().next_back().unwrap_or_default();
        let profile = self.state.main.read_recursive().profile();
        let mut doc = self.state.new_doc(id, ContentRoot::of(FileCategory::of(name), profile));
        let author = self.content_author(by);
        let noted = doc.edit_registers().add_blob_version(&new_blob(blob), &author);
        let update = noted.map_err(|error| fs_error(error.into(), op, path))?;
        Ok(NewFileContent::Blob { blob, update })
    }
}
