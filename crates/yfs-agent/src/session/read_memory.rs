//! What a session remembers of what its agent has read.
//!
//! # Cost
//!
//! A version is some tens of bytes; contents are kept up to a budget, and beyond it the longest
//! unused are dropped first. A file with only a version left is still not overwritten blindly: its
//! write names the version. With neither, the write fails, and the agent must read again.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use yfs_types::id::FileId;
use yfs_vfs::VersionToken;

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
pub struct RememberedRead {
    /// The version, unless the content was sent by the agent and then merged.
    pub version: Option<VersionToken>,
    /// The content, if it is still kept.
    pub content: Option<Bytes>,
}

/// The record of what an agent has read, by file.
#[derive(Debug)]
pub(crate) struct ReadMemory {
    limits: ReadMemoryLimits,
    files: HashMap<FileId, (u64, RememberedRead)>,
    /// Files by their last use.
    by_use: BTreeMap<u64, FileId>,
    n_uses: u64,
    n_bytes: usize,
}

impl Default for ReadMemoryLimits {
    fn default() -> Self {
        Self { max_files: 16_384, max_bytes: 32 << 20 }
    }
}

impl RememberedRead {
    /// Reports whether the file was read, but nothing is left that a write could name.
    pub fn is_lost(&self) -> bool {
        self.version.is_none() && self.content.is_none()
    }

    fn n_bytes(&self) -> usize {
        self.content.as_ref().map_or(0, Bytes::len)
    }
}

impl ReadMemory {
    pub(crate) fn new(limits: ReadMemoryLimits) -> Self {
        let (files, by_use) = (HashMap::new(), BTreeMap::new());
        Self { limits, files, by_use, n_uses: 0, n_bytes: 0 }
    }

    pub(crate) fn get(&self, id: &FileId) -> Option<RememberedRead> {
        self.files.get(id).map(|(_, known)| known.clone())
    }

    pub(crate) fn forget(&mut self, id: &FileId) {
        if let Some((last_use, known)) = self.files.remove(id) {
            self.by_use.remove(&last_use);
            self.n_bytes -= known.n_bytes();
        }
    }

    pub(crate) fn remember(&mut self, id: &FileId, known: RememberedRead) {
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
