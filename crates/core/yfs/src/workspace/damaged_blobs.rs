//! Blobs whose stored bytes are damaged: which files have them, and where the bytes come from
//! again.
//!
//! A blob is damaged by itself: it takes no name, no other file and no edit with it, and reading it
//! fails. So a workspace with damaged blobs is mirrored and served. They are found by a full check,
//! not whenever the workspace is opened: reading all blobs takes as long as reading the disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Seek},
};

use yfs_engine::{hash::ContentHash, id::FileId, table::NodeKind};
use yfs_store::StoreError;

use crate::{
    Maintenance,
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
    workspace::conflict_report::path_of,
};

/// The setting that lists the damaged blobs, one hash on each line.
const DAMAGED_BLOBS_KEY: &str = "damage.blobs";

/// A file that has a blob.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct BlobUse {
    /// The path of the file.
    pub path: String,
    /// Whether the blob is the content of the file, and not only that of an earlier version.
    pub is_current: bool,
}

impl Maintenance<'_> {
    /// Returns the files that have these blobs, now or in earlier versions. Reads the documents of
    /// all files.
    pub fn uses_of_blobs(
        &self,
        hashes: &BTreeSet<ContentHash>,
    ) -> Result<BTreeMap<ContentHash, BTreeSet<BlobUse>>> {
        let state = self.state;
        state.refresh_damaged()?;
        let mut uses: BTreeMap<ContentHash, BTreeSet<BlobUse>> = BTreeMap::new();
        if hashes.is_empty() {
            return Ok(uses);
        }
        for (id, current) in files_and_blobs(state) {
            let past = match past_blobs(state, &id) {
                // Its versions are not known.
                Err(WorkspaceError::Store(StoreError::Corrupt { .. })) => BTreeSet::new(),
                past => past?,
            };
            for hash in past.iter().chain(&current).filter(|hash| hashes.contains(hash)) {
                let is_current = current == Some(*hash);
                let path = path_of(&state.main.read(), &id);
                uses.entry(*hash).or_default().insert(BlobUse { path, is_current });
            }
        }
        Ok(uses)
    }

    /// Replaces the damaged bytes of a blob by those of a file, and reports whether the file has
    /// the content of the blob.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or the store fails.
    pub fn mend_blob(&self, hash: &ContentHash, content: &mut (impl Read + Seek)) -> Result<bool> {
        let state = self.state;
        state.check_writable()?;
        let stream_error = |source| StoreError::Stream { source: std::sync::Arc::new(source) };
        let mut hasher = blake3::Hasher::new();
        io::copy(content, &mut hasher).map_err(stream_error)?;
        if hasher.finalize().as_bytes() != hash.as_bytes() {
            return Ok(false);
        }
        content.rewind().map_err(stream_error)?;
        Ok(state.store.put_blob(content, state.now())?.hash == *hash)
    }

    /// Notes that these blobs are damaged: they count as missing, so that the next exchange with a
    /// replica requests them.
    pub fn note_damaged_blobs(&self, hashes: &BTreeSet<ContentHash>) -> Result<()> {
        let state = self.state;
        state.check_writable()?;
        let lines: Vec<String> = hashes.iter().map(ToString::to_string).collect();
        state.store.set_meta(DAMAGED_BLOBS_KEY, lines.join("\n").as_bytes())?;
        if !hashes.is_empty() {
            crate::Workspace::of(state.clone()).replication().search_again()?;
        }
        Ok(())
    }
}

/// Returns the noted blobs that are still damaged. Reads them.
pub(crate) fn damaged_blobs(core: &WorkspaceCore) -> Result<BTreeSet<ContentHash>> {
    let noted = core.store.get_meta(DAMAGED_BLOBS_KEY)?.unwrap_or_default();
    let noted = String::from_utf8_lossy(&noted);
    let hashes = noted.lines().filter_map(|line| line.parse().ok());
    Ok(hashes.filter(|hash: &ContentHash| !is_whole(core, hash)).collect())
}

fn is_whole(core: &WorkspaceCore, hash: &ContentHash) -> bool {
    core.store.copy_blob(hash, &mut io::sink()).is_ok()
}

fn files_and_blobs(core: &WorkspaceCore) -> Vec<(FileId, Option<ContentHash>)> {
    let main = core.main.read();
    let rows = main.files().iter().map(|entry| entry.row);
    rows.filter(|row| row.kind == NodeKind::File && row.link.is_none())
        .map(|row| (row.id, row.blob.map(|blob| blob.hash)))
        .collect()
}

fn past_blobs(core: &WorkspaceCore, id: &FileId) -> Result<BTreeSet<ContentHash>> {
    let versions = core.documents.acquire(id).with(|loaded| loaded.doc.blobs().versions())?;
    Ok(versions.into_iter().map(|version| version.hash).collect())
}
