//! Contents without rows: what is left of files whose rows were in damaged records.

use yfs_engine::{
    id::FileId,
    ops::{self, DirectoryPlanOptions},
    path::VPath,
    table::{BlobRef, FileRow, NodeKind, RowWrite},
};
use yfs_vfs::{FsCode, FsError, Op};

use super::damage::was_set_aside;
use crate::{
    Maintenance,
    commit::{StructureAccess, Transaction},
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
};

/// The directory that gets the contents without rows.
pub(crate) const LOST_AND_FOUND: &str = "/lost+found";

/// A content that no row names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostContent {
    /// The id of the file that it was.
    pub id: FileId,
    /// Its size in bytes.
    pub size: u64,
    /// Whether editors show it as a document.
    pub is_rich: bool,
    /// The bytes that it refers to, if it is no text.
    blob: Option<BlobRef>,
}

impl LostContent {
    /// Returns the path that the content gets.
    pub fn path(&self) -> VPath {
        let extension = if self.is_rich { ".md" } else { "" };
        lost_and_found().join(&format!("{}{extension}", self.id))
    }
}

impl Maintenance<'_> {
    /// Finds the contents that no row names: what is left of files whose rows were in records that
    /// were set aside. None if no record of the files table was: then the content of a new file may
    /// have arrived before its row, and that of a purged file waits for its deletion.
    pub fn lost_contents(&self) -> Result<Vec<LostContent>> {
        let state = self.state;
        if !was_set_aside(&*state.store, &state.id)? {
            return Ok(Vec::new());
        }
        let ids = self.contents_without_files()?;
        // A content with a damaged record stays where it is.
        Ok(ids.iter().filter_map(|id| lost_content(state, id).ok()).collect())
    }

    /// Makes a file of each content that no row names, with its history, in `/lost+found`.
    /// Returns them.
    pub fn recover_lost_contents(&self) -> Result<Vec<LostContent>> {
        let state = self.state;
        state.check_writable()?;
        let lost = self.lost_contents()?;
        if lost.is_empty() {
            return Ok(lost);
        }
        let directory = lost_and_found();
        let now = state.now();
        state.commit(StructureAccess::Change, None, |main| {
            let options = DirectoryPlanOptions { recursive: true, mode: None };
            let planned = ops::plan_mkdir(main.tree(), &directory, now, options);
            let taken = || FsError::new(FsCode::ENOTDIR, Op::Mkdir, &directory);
            let planned = planned.ok().flatten().ok_or_else(|| WorkspaceError::Fs(taken()))?;
            let mut writes = planned.writes;
            for content in &lost {
                let path = content.path();
                let name = path.file_name().unwrap_or_default();
                let (id, parent) = (content.id.clone(), Some(planned.id.clone()));
                let mut row = FileRow::new(id, name, parent, NodeKind::File, now);
                row.size = content.size;
                row.blob = content.blob;
                writes.push(RowWrite::Create { row, derived: false });
            }
            Ok(Transaction::rows(writes, ()))
        })?;
        Ok(lost)
    }
}

fn lost_content(core: &WorkspaceCore, id: &FileId) -> Result<LostContent> {
    core.documents.acquire(id).with(|loaded| {
        loaded.check_whole(id)?;
        let text_size = loaded.doc.text().len() as u64;
        let blob = loaded.doc.blobs().heads().pop().filter(|_| text_size == 0);
        let blob = blob.map(|blob| BlobRef { hash: blob.hash, size: blob.size });
        let is_rich = blob.is_none() && loaded.doc.conversion().is_rich();
        let size = blob.map_or(text_size, |blob| blob.size);
        Ok(LostContent { id: id.clone(), size, is_rich, blob })
    })?
}

fn lost_and_found() -> VPath {
    VPath::root().join(LOST_AND_FOUND.trim_start_matches('/'))
}
