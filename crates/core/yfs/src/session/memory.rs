//! The record of what a session's client has read of each file.
//!
//! # Cost
//!
//! The record is bounded: a version is some 20 bytes, and contents beyond [`MAX_BYTES`] are
//! dropped, longest unused first. A file with only a version left is still never overwritten: if
//! its version can no longer be found, the write fails.
//!
//! Beyond [`MAX_FILES`], the longest unused file is forgotten, as if it had not been read.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use yfs_engine::{id::FileId, path::VPath};
use yfs_vfs::{VersionBase, VersionToken};

/// The bytes of contents that a session keeps.
const MAX_BYTES: usize = 32 << 20;

/// The number of files for which a session keeps the version.
const MAX_FILES: usize = 65_536;

/// What a client knows of the content of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownContent {
    /// The version of the content, if the content was ever stored in this form.
    pub(super) version: Option<VersionToken>,
    /// The content, if it is kept.
    pub(super) content: Option<Bytes>,
    /// Whether the client has emptied the file and the truncation is pending.
    pub(super) is_truncated: bool,
    /// Whether the content was read and is no longer kept, so that a write has no base.
    pub(super) is_lost: bool,
}

/// The record of what a session's client has read.
#[derive(Debug, Default)]
pub(super) struct SessionMemory {
    files: HashMap<FileId, RememberedFile>,
    /// Files by their last use.
    by_use: BTreeMap<u64, FileId>,
    /// Those of them whose content is kept.
    with_content: BTreeMap<u64, FileId>,
    n_uses: u64,
    n_bytes: usize,
}

#[derive(Debug)]
struct RememberedFile {
    known: KnownContent,
    last_use: u64,
    /// The path at which the client truncated the file.
    truncated_at: Option<VPath>,
}

impl KnownContent {
    pub(super) fn new(version: Option<VersionToken>, content: Option<Bytes>) -> Self {
        Self { version, content, ..Self::default() }
    }

    /// Reports whether a write can be based on it.
    pub(super) fn is_useful(&self) -> bool {
        self.version.is_some() || self.content.is_some()
    }

    /// Returns the entry to remember: itself if a write can be based on it, a lost entry if the
    /// file was read, else `None`.
    pub(super) fn or_lost(self, was_read: bool) -> Option<Self> {
        let is_lost = !self.is_useful() && was_read;
        (is_lost || self.is_useful()).then_some(Self { is_lost, ..self })
    }

    /// Returns the bases for a write, best first.
    pub(super) fn bases(self) -> Vec<VersionBase> {
        let version = self.version.map(VersionBase::Version);
        version.into_iter().chain(self.content.map(VersionBase::Content)).collect()
    }

    fn n_bytes(&self) -> usize {
        self.content.as_ref().map_or(0, Bytes::len)
    }
}

impl SessionMemory {
    /// Returns the files with an entry.
    pub(super) fn ids(&self) -> Vec<FileId> {
        self.files.keys().cloned().collect()
    }

    /// Returns the entry of a file.
    pub(super) fn get(&self, id: &FileId) -> Option<KnownContent> {
        self.files.get(id).map(|entry| entry.known.clone())
    }

    /// Sets the entry of a file; a pending truncation is dropped.
    pub(super) fn remember(&mut self, id: &FileId, known: KnownContent) {
        self.put(id, known, None);
    }

    /// Forgets a file.
    pub(super) fn forget(&mut self, id: &FileId) {
        if let Some(entry) = self.files.remove(id) {
            self.by_use.remove(&entry.last_use);
            self.with_content.remove(&entry.last_use);
            self.n_bytes -= entry.known.n_bytes();
        }
    }

    /// Reports whether a truncation of the file is pending.
    pub(super) fn is_truncation_pending(&self, id: &FileId) -> bool {
        self.files.get(id).is_some_and(|entry| entry.known.is_truncated)
    }

    /// Makes a truncation pending. The entry of the file stays the base of later writes; without an
    /// entry, `now` returns the current content.
    pub(super) fn defer_truncation(
        &mut self,
        id: &FileId,
        path: &VPath,
        now: impl FnOnce() -> KnownContent,
    ) {
        let known = self.get(id).unwrap_or_else(now);
        self.put(id, KnownContent { is_truncated: true, ..known }, Some(path.clone()));
    }

    /// Drops a pending truncation. The entry of the file stays.
    pub(super) fn drop_truncation(&mut self, id: &FileId) {
        if let Some(entry) = self.files.get_mut(id) {
            entry.known.is_truncated = false;
            entry.truncated_at = None;
        }
    }

    /// Returns the pending truncations: of one file, or of all.
    pub(super) fn pending_truncations(&self, only: Option<&FileId>) -> Vec<(FileId, VPath)> {
        let pending = self.files.iter().filter(|(id, _)| only.is_none_or(|only| only == *id));
        pending.filter_map(|(id, entry)| Some((id.clone(), entry.truncated_at.clone()?))).collect()
    }

    fn put(&mut self, id: &FileId, known: KnownContent, truncated_at: Option<VPath>) {
        self.forget(id);
        self.n_uses += 1;
        self.n_bytes += known.n_bytes();
        self.by_use.insert(self.n_uses, id.clone());
        if known.content.is_some() {
            self.with_content.insert(self.n_uses, id.clone());
        }
        self.files
            .insert(id.clone(), RememberedFile { known, last_use: self.n_uses, truncated_at });
        while self.n_bytes > MAX_BYTES && self.with_content.len() > 1 {
            self.drop_oldest_content();
        }
        while self.files.len() > MAX_FILES {
            let Some((_, oldest)) = self.by_use.first_key_value() else { return };
            self.forget(&oldest.clone());
        }
    }

    fn drop_oldest_content(&mut self) {
        let Some((_, id)) = self.with_content.pop_first() else { return };
        let Some(entry) = self.files.get_mut(&id) else { return };
        self.n_bytes -= entry.known.n_bytes();
        entry.known.content = None;
        // Without a version a write has no base, and must fail.
        entry.known.is_lost = entry.known.version.is_none();
    }
}
