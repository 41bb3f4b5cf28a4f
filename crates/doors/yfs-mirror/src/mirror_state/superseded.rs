//! Files that lost their name to a newer one, and that a program may still write to.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use yfs_engine::{hash::ContentHash, id::FileId};

use super::{EditBase, MirrorNode, MirrorState};

/// An inode whose name a newer inode has, kept in `.yfs/superseded` until no program can write to
/// it.
///
/// Bytes that arrive there are an edit of what the inode held, whatever the newer inode holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupersededFile {
    /// The object that it was the content of.
    pub id: FileId,
    /// Its length when its bytes were those of `hash`.
    pub size: u64,
    /// The hash of the bytes that the mirror last wrote to the workspace.
    pub hash: ContentHash,
    /// The base of further edits.
    pub base: EditBase,
    /// The edit that is about to be written to the workspace.
    pub edit: Option<PendingEdit>,
}

/// An edit that is recorded before it is written, so that recovery after a crash finds out whether
/// it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingEdit {
    /// The bytes that the inode holds.
    pub bytes: Arc<[u8]>,
    /// The result of `n_written_by` for the mirror's actor before the edit.
    pub written: u64,
}

impl SupersededFile {
    /// Describes the inode that a node had until now.
    pub fn of(node: &MirrorNode) -> Self {
        let (size, base) = (node.stamp.size, node.base.clone());
        Self { id: node.id.clone(), size, hash: node.hash, base, edit: None }
    }
}

/// The superseded files by name in `.yfs/superseded`, and the names that are to be written to the
/// database.
#[derive(Debug, Default)]
pub(super) struct SupersededFiles {
    pub(super) by_name: BTreeMap<String, SupersededFile>,
    pub(super) changed: HashSet<String>,
}

impl SupersededFiles {
    /// Forgets all files.
    pub(super) fn clear(&mut self) {
        self.changed.extend(std::mem::take(&mut self.by_name).into_keys());
    }
}

impl MirrorState {
    /// Returns the superseded files, by name.
    pub fn superseded(&self) -> &BTreeMap<String, SupersededFile> {
        &self.superseded.by_name
    }

    /// Adds a superseded file, or changes one.
    pub(crate) fn put_superseded(&mut self, name: &str, file: SupersededFile) {
        self.superseded.changed.insert(name.to_owned());
        self.superseded.by_name.insert(name.to_owned(), file);
    }

    /// Forgets a superseded file.
    pub(crate) fn remove_superseded(&mut self, name: &str) {
        self.superseded.changed.insert(name.to_owned());
        self.superseded.by_name.remove(name);
    }
}
