//! The index for searches in contents: which files may have a match of a pattern.
//!
//! It is derived from the log as of a position, as the [checkpoint](crate::checkpoint) is, and kept
//! beside it: an ordered map whose every byte is checked, with a label whose mark the store has. It
//! can be lost, damaged, of another log or of another version at any time; then all files are read.
//!
//! [Decision 56] has the reasons and figures.
//!
//! # Invariants
//!
//! - The index never decides that a file matches, only that it cannot. Each file that it does not
//!   exclude is read and searched as without it.
//! - It excludes a file only if the content that it has of the file is the current one: the
//!   document of the file has no record after the position of the index, and the row, if it changed
//!   after that, still gives the content the same form.
//!
//! # Cost
//!
//! A query reads the lists of its trigrams, the files that remain, and those that changed after the
//! position. Renewing costs what was written since, and a pass over the names that the index has of
//! files that are not text. The memory of both is bounded.
//!
//! [Decision 56]: ../../../../docs/decisions/0056-search-has-an-index-of-trigrams.md

mod batch;
mod binary_files;
mod build;
mod changes;
mod index_map;
mod indexes;
mod pattern;
mod postings;
mod select;
mod stored_text;
#[cfg(test)]
mod tests;
mod trigrams;
mod upkeep;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use yfs_engine::{
    id::FileId,
    main_doc::MainDoc,
    table::{BlobRef, NodeKind},
};
use yfs_store::checkpoint::{CheckpointError, CheckpointWriter};
use yfs_store::{SealedDirectory, Seq, Store, StoreError};

use self::index_map::SearchMap;
use crate::{error::Result, options::WorkspaceOptions};

pub(crate) use self::indexes::SearchIndexes;

/// The setting that stores the marks of the last indexes, the newest first.
const MARKS_KEY: &str = "search.marks";

/// The directory of the index, in that of the store's derived files.
const DIRECTORY: &str = "search";

/// The largest blob whose text is in the index, in bytes; larger ones are read for every query.
const MAX_BLOB_BYTES: u64 = 8 << 20;

/// The index of a store.
#[derive(Debug)]
pub(crate) struct SearchIndexHome {
    store: Arc<dyn Store>,
    directory: SealedDirectory,
    /// The head of the log when this process last tried to renew the index.
    tried_at: AtomicU64,
    /// Whether a search of this process read all files because there was no index.
    is_wanted: AtomicBool,
    /// How many documents this process built for their text.
    n_builds: AtomicU64,
    /// The index, open for its texts; the inner `None` is that there is none.
    texts: Mutex<Option<Option<Arc<SearchMap>>>>,
}

/// How the content of a file is kept, as far as its bytes depend on its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentForm {
    /// A document, as text.
    Text,
    /// A document, as rich text.
    Rich,
    Blob(BlobRef),
}

impl ContentForm {
    /// Returns the form of a file; `None` if the id is not of a file.
    fn of(main: &MainDoc, id: &FileId) -> Option<Self> {
        let row = main.files().attributes(id)?;
        if row.kind != NodeKind::File || row.link.is_some() {
            return None;
        }
        if let Some(blob) = row.blob {
            return Some(Self::Blob(*blob));
        }
        Some(match main.content_kind(id)? {
            yfs_engine::kind::ContentRoot::Text => Self::Text,
            _ => Self::Rich,
        })
    }

    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Text => b"t".to_vec(),
            Self::Rich => b"r".to_vec(),
            Self::Blob(blob) => [b"b", &blob.hash.as_bytes()[..16]].concat(),
        }
    }
}

impl SearchIndexHome {
    /// Returns the home of the index, if it is enabled and the store has a place for derived files.
    pub(crate) fn of(store: &Arc<dyn Store>, options: &WorkspaceOptions) -> Option<Self> {
        if !options.search_index {
            return None;
        }
        let directory = store.derived_directory()?.join(DIRECTORY);
        let store = store.clone();
        let (tried_at, is_wanted, n_builds, texts) = Default::default();
        Some(Self { store, directory, tried_at, is_wanted, n_builds, texts })
    }

    /// Opens the newest index; `None` if there is none of this log and version. One that is
    /// damaged is removed.
    fn open(&self) -> Result<Option<SearchMap>> {
        let map = match SearchMap::open(&self.directory) {
            Ok(map) => map,
            Err(error) => {
                self.note_failure(&error);
                None
            }
        };
        let Some(map) = map else { return Ok(None) };
        Ok(map.label.is_in(&self.marks()?).then_some(map))
    }

    /// Removes an index that turned out to be damaged, so that it is made anew.
    fn note_failure(&self, error: &CheckpointError) {
        if matches!(error, CheckpointError::Damaged(_)) {
            // In a directory that cannot be written, it is found again and not used.
            std::fs::remove_file(self.directory.path().join("manifest")).ok();
        }
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    fn marks(&self) -> Result<Vec<u8>> {
        Ok(self.store.get_meta(MARKS_KEY)?.unwrap_or_default())
    }
}

/// Makes the index of a store unusable and removes its files, also if this process does not use
/// it: it may hold what is to be forgotten. Waits for a process that writes one.
pub(crate) fn discard(store: &Arc<dyn Store>) -> Result<(), StoreError> {
    if store.get_meta(MARKS_KEY)?.is_some_and(|marks| !marks.is_empty()) {
        store.set_meta(MARKS_KEY, b"")?;
    }
    let Some(directory) = store.derived_directory() else { return Ok(()) };
    CheckpointWriter::remove_all(directory.join(DIRECTORY).path()).map_err(|error| {
        let error = match error {
            CheckpointError::Io(error) => error,
            error => io::Error::other(error),
        };
        StoreError::io("remove the index for search", error)
    })
}

/// Returns the position of the newest index of a store, if there is one.
pub(crate) fn indexed_position(store: &Arc<dyn Store>) -> Result<Option<Seq>> {
    let Some(directory) = store.derived_directory() else { return Ok(None) };
    let Ok(Some(map)) = SearchMap::open(&directory.join(DIRECTORY)) else { return Ok(None) };
    let marks = store.get_meta(MARKS_KEY)?.unwrap_or_default();
    Ok(map.label.is_in(&marks).then_some(map.label.position))
}
