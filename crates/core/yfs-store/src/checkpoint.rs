//! A checked, ordered map in immutable files: what is derived from a log, as of one position of it.
//!
//! [`CheckpointMap`] reads the newest version of a map, and keeps that version for as long as it is
//! open, whatever others write. [`CheckpointWriter`] writes a new version, from nothing or from
//! changes; its costs grow with the changes, not with the map.
//!
//! The map is disposable. Every byte that is read is checked, and so is every answer that a key is
//! missing. Bytes that fail their check make [`CheckpointError::Damaged`]: the caller then derives
//! the map again. `docs/format/checkpoint.md` describes the files, and
//! [decision 54] why
//! they are our own.
//!
//! The blocks of an encrypted store's map are sealed; see
//! [`SealedDirectory`](crate::SealedDirectory).
//!
//! [decision 54]: ../../../../docs/decisions/0054-the-checkpoint-is-levels-of-immutable-files.md
//!
//! # Invariants
//!
//! - A file is never changed. A new version is visible once its manifest replaces the one before,
//!   by a rename, after its files are complete.
//! - One process at a time writes, under a lock of the operating system, which ends with the
//!   process. Readers take no lock.
//! - The memory of a writer is bounded, and so is that of a reader, by the budget of its cache.
//!
//! # Example
//!
//! ```
//! use yfs_store::checkpoint::{CheckpointMap, CheckpointWriter};
//! use yfs_store::SealedDirectory;
//!
//! # let directory = tempfile::tempdir().unwrap();
//! let directory = SealedDirectory::plain(directory.path());
//! let mut writer = CheckpointWriter::begin(&directory)?.expect("no other process writes");
//! writer.set(b"a", Some(b"1"))?;
//! writer.finish(b"position 7")?;
//!
//! let map = CheckpointMap::open(&directory, 1 << 20)?.expect("there is a version");
//! assert_eq!(map.label(), b"position 7");
//! assert_eq!(map.get(b"a")?.as_deref(), Some(&b"1"[..]));
//! assert_eq!(map.get(b"b")?, None);
//! # Ok::<(), yfs_store::checkpoint::CheckpointError>(())
//! ```

mod block_file;
mod block_writer;
mod bytes;
mod checks;
mod chunk;
mod cursor;
mod error;
mod manifest;
mod map;
mod positioned;
#[cfg(test)]
mod tests;
mod writer;

pub use self::{
    error::{CheckpointError, Result},
    map::{CheckpointMap, Entries},
    writer::CheckpointWriter,
};
