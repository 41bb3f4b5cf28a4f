//! What a session remembers of what its agent has read.
//!
//! Files are known by their ids. A directory of the host gives a file another id with each write,
//! so the file that the agent knew at a path last is remembered, too.
//!
//! # Cost
//!
//! A version is some tens of bytes; contents are kept up to a budget, and beyond it the longest
//! unused are dropped first. A file with only a version left is still not overwritten blindly: its
//! write names the version. With neither, the write fails, and the agent must read again.

use std::collections::{BTreeMap, HashMap, VecDeque};

use bytes::Bytes;
use yfs_types::{id::FileId, path::VPath};
use yfs_vfs::VersionToken;

/// The most reads of a shared session that wait for a write based on them.
const MAX_OPEN_READS: usize = 4096;

/// The bounds of what a session remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadMemoryLimits {
    /// The number of files.
    pub max_files: usize,
    /// The bytes of contents.
    pub max_bytes: usize,
}

/// What an agent knows of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RememberedRead {
    /// The version, unless the content was sent by the agent and then merged.
    pub version: Option<VersionToken>,
    /// The content, if it is still kept.
    pub content: Option<Bytes>,
}

/// The record of what an agent has read, by file.
#[derive(Debug, Default)]
pub(crate) struct ReadMemory {
    limits: ReadMemoryLimits,
    files: HashMap<FileId, (u64, RememberedRead)>,
    /// The file that the agent knew last at each path.
    places: HashMap<VPath, FileId>,
    /// Files by their last use.
    by_use: BTreeMap<u64, FileId>,
    n_uses: u64,
    n_bytes: usize,
    /// In a session that several programs share: the reads that no write was based on yet, oldest
    /// first.
    open_reads: VecDeque<(FileId, RememberedRead)>,
    n_open_bytes: usize,
    /// Whether several programs share the session.
    pub(crate) is_shared: bool,
}

impl Default for ReadMemoryLimits {
    fn default() -> Self {
        Self { max_files: 16_384, max_bytes: 32 << 20 }
    }
}

impl RememberedRead {
    /// Reports whether the file was read, but nothing is left that a write could name.
    pub(crate) fn is_lost(&self) -> bool {
        self.version.is_none() && self.content.is_none()
    }

    fn n_bytes(&self) -> usize {
        self.content.as_ref().map_or(0, Bytes::len)
    }
}

impl ReadMemory {
    pub(crate) fn new(limits: ReadMemoryLimits, is_shared: bool) -> Self {
        Self { limits, is_shared, ..Self::default() }
    }

    /// Records a read by one of the programs that share the session.
    pub(crate) fn note_read(&mut self, id: &FileId, read: &RememberedRead) {
        if !self.is_shared {
            return;
        }
        self.n_open_bytes += read.n_bytes();
        self.open_reads.push_back((id.clone(), read.clone()));
        while self.open_reads.len() > MAX_OPEN_READS || self.n_open_bytes > self.limits.max_bytes {
            let Some((_, oldest)) = self.open_reads.pop_front() else { return };
            self.n_open_bytes -= oldest.n_bytes();
        }
    }

    /// Returns the different reads of a file that no write was based on yet, the oldest first.
    pub(crate) fn open_reads(&self, id: &FileId) -> Vec<RememberedRead> {
        let mut reads: Vec<RememberedRead> = Vec::new();
        for (_, read) in self.open_reads.iter().filter(|(of, _)| of == id) {
            if !reads.contains(read) {
                reads.push(read.clone());
            }
        }
        reads
    }

    /// Removes one of the reads that a write was based on.
    pub(crate) fn close_read(&mut self, id: &FileId, read: &RememberedRead) {
        let found = self.open_reads.iter().position(|(of, open)| of == id && open == read);
        if let Some((_, closed)) = found.and_then(|index| self.open_reads.remove(index)) {
            self.n_open_bytes -= closed.n_bytes();
        }
    }

    pub(crate) fn get(&self, id: &FileId) -> Option<RememberedRead> {
        self.files.get(id).map(|(_, known)| known.clone())
    }

    /// Returns what the agent knows of the file that has an id and is at a path: as that file, or
    /// as the one that was there before.
    pub(crate) fn get_at(&self, path: &VPath, id: &FileId) -> Option<RememberedRead> {
        self.get(id).or_else(|| self.get(self.places.get(path)?))
    }

    pub(crate) fn forget(&mut self, id: &FileId) {
        if let Some((last_use, known)) = self.files.remove(id) {
            self.by_use.remove(&last_use);
            self.n_bytes -= known.n_bytes();
        }
    }

    /// Remembers a file as it is known at a path.
    pub(crate) fn remember_at(&mut self, path: &VPath, id: &FileId, known: RememberedRead) {
        self.remember(id, known);
        self.places.insert(path.clone(), id.clone());
        if self.places.len() > self.limits.max_files.saturating_mul(2) {
            self.places.retain(|_, id| self.files.contains_key(id));
        }
    }

    fn remember(&mut self, id: &FileId, known: RememberedRead) {
        self.forget(id);
        self.n_uses += 1;
        self.n_bytes += known.n_bytes();
        self.by_use.insert(self.n_uses, id.clone());
        self.files.insert(id.clone(), (self.n_uses, known));
        self.drop_contents();
        while self.files.len() > self.limits.max_files {
            let Some((_, oldest)) = self.by_use.first_key_value() else { return };
            self.forget(&oldest.clone());
        }
    }

    /// Drops the longest unused contents beyond the budget.
    fn drop_contents(&mut self) {
        if self.n_bytes <= self.limits.max_bytes {
            return;
        }
        for id in self.by_use.values() {
            if self.n_bytes <= self.limits.max_bytes {
                return;
            }
            let Some((_, known)) = self.files.get_mut(id) else { continue };
            self.n_bytes -= known.n_bytes();
            known.content = None;
        }
    }
}
