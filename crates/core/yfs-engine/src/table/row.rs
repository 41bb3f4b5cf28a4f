//! Rows as the rest of the engine sees them, and their changes.

use smol_str::SmolStr;
use thiserror::Error;
use yrs::Any;

use crate::{
    hash::ContentHash,
    id::{ClientId, FileId},
    time::Millis,
};

/// The kind of a row. It never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// A file, or a symbolic link (a file with [`FileRow::link`]).
    File,
    /// A directory.
    Directory,
}

/// Content that is kept outside of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobRef {
    /// The hash of the bytes.
    pub hash: ContentHash,
    /// The size in bytes.
    pub size: u64,
}

/// One file or directory, with the effective value of each field.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRow {
    /// The key of the row.
    pub id: FileId,
    /// The stored name. Peers may have stored a string that is not a
    /// [`Name`](crate::name::NodeName).
    pub name: SmolStr,
    /// The directory that contains it; `None` for the root.
    pub parent: Option<FileId>,
    /// File or directory.
    pub kind: NodeKind,
    /// The length of the content in bytes, as its last editor reported it.
    pub size: u64,
    /// When it was made.
    pub created_at: Millis,
    /// When its content last changed.
    pub updated_at: Millis,
    /// When it was put into the trash, if it is there.
    pub trashed_at: Option<Millis>,
    /// Permission bits, if they were set.
    pub mode: Option<u32>,
    /// Its target, if it is a symbolic link.
    pub link: Option<SmolStr>,
    /// Its content, if that is kept by reference.
    pub blob: Option<BlobRef>,
    /// Application data of the file: a JSON object. The record of a removal
    /// ([`REMOVAL_KEYS`](super::REMOVAL_KEYS)) and the mark of a purge
    /// ([`PURGE_KEY`](super::PURGE_KEY)) are members of it, and have cells of their own.
    pub meta: Option<Any>,
}

impl FileRow {
    /// Reports whether it is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.kind == NodeKind::File && self.link.is_some()
    }

    /// Returns the length of the content of a file as the row reports it; 0 for directories and
    /// links.
    pub(crate) fn content_size(&self) -> u64 {
        match (self.kind, self.blob) {
            (NodeKind::Directory, _) => 0,
            (NodeKind::File, _) if self.link.is_some() => 0,
            (NodeKind::File, Some(blob)) => blob.size,
            (NodeKind::File, None) => self.size,
        }
    }

    /// Makes the row of a new and empty file or directory.
    pub fn new(
        id: FileId,
        name: &str,
        parent: Option<FileId>,
        kind: NodeKind,
        now: Millis,
    ) -> Self {
        Self {
            id,
            name: name.into(),
            parent,
            kind,
            size: 0,
            created_at: now,
            updated_at: now,
            trashed_at: None,
            mode: None,
            link: None,
            blob: None,
            meta: None,
        }
    }
}

/// A row with the history that the tree needs.
#[derive(Debug, Clone, PartialEq)]
pub struct RowHistory {
    /// The effective values.
    pub row: FileRow,
    /// When `parent` was written: the timestamp of its cell, else of the row.
    pub parent_ts: f64,
    /// Up to three parents before this one, latest first.
    pub prev_parents: Vec<Option<FileId>>,
    /// When name, parent or trash was last written.
    pub structural_ts: f64,
    /// When `trashed_at` was written.
    pub trashed_ts: f64,
    /// Whether the row is a derived directory that was not changed since it was made.
    pub derived: bool,
}

/// One change to the table.
#[derive(Debug, Clone, PartialEq)]
pub enum RowWrite {
    /// Makes a row.
    Create {
        /// The new row.
        row: FileRow,
        /// Whether every peer that makes this directory gives it the same id. Any other write to it
        /// then beats its creation.
        derived: bool,
    },
    /// Changes fields of a row.
    Update {
        /// The row.
        id: FileId,
        /// The fields.
        changes: RowChanges,
    },
    /// Removes a row for good.
    Delete {
        /// The row.
        id: FileId,
    },
}

impl RowWrite {
    /// Returns the id of the row.
    pub fn id(&self) -> &FileId {
        match self {
            Self::Create { row, .. } => &row.id,
            Self::Update { id, .. } | Self::Delete { id } => id,
        }
    }
}

/// The fields to change, and their new values.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct RowChanges {
    /// See [`FileRow::name`].
    pub name: Option<SmolStr>,
    /// See [`FileRow::parent`].
    pub parent: Option<Option<FileId>>,
    /// See [`FileRow::size`].
    pub size: Option<u64>,
    /// See [`FileRow::updated_at`].
    pub updated_at: Option<Millis>,
    /// See [`FileRow::trashed_at`].
    pub trashed_at: Option<Option<Millis>>,
    /// See [`FileRow::mode`].
    pub mode: Option<Option<u32>>,
    /// See [`FileRow::link`].
    pub link: Option<Option<SmolStr>>,
    /// See [`FileRow::blob`].
    pub blob: Option<Option<BlobRef>>,
    /// A merge patch for [`FileRow::meta`] (RFC 7396): an object whose nulls remove.
    pub meta: Option<Any>,
}

/// The client ids under which a process writes to the main document.
///
/// Each array has its own, because only items with adjacent clocks in one array merge when they are
/// deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterIds {
    /// For `table:files`.
    pub rows: ClientId,
    /// For `fs:cells`.
    pub cells: ClientId,
    /// For `fs:meta`.
    pub meta: ClientId,
}

/// The reason why a write to the table was rejected. Nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TableError {
    /// There is no such row.
    #[error("no row {0}")]
    NotFound(FileId),
    /// There is such a row already.
    #[error("row {0} exists already")]
    Exists(FileId),
    /// This process wrote so much that it needs a new client id.
    #[error("client {0} has used all of its clocks")]
    ClocksExhausted(ClientId),
    /// The metadata is not an object, or has values that JSON cannot represent.
    #[error("metadata of {0} is not a JSON object")]
    InvalidMeta(FileId),
}
