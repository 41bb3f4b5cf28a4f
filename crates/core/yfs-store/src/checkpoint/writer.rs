//! Writes a version of a map.

use std::{collections::BTreeMap, fs::File, path::Path};

use crate::encryption::SealedDirectory;

use crate::checkpoint::{
    CheckpointError, CheckpointMap, Result,
    block_file::BlockFileSummary,
    block_writer::BlockFileWriter,
    cursor::{MergedCursor, Scan},
    manifest::{Manifest, clear, lock, remove_unnamed, try_lock},
    positioned::create_private_directory,
};

/// A file stays as it is if it is so many times as long as all that is newer.
const GROWTH: u64 = 8;

/// The changes that are kept in memory before they are written, in bytes.
const MAX_PENDING: u64 = 32 << 20;

/// The cache for index blocks while files are merged, in bytes.
const CACHE_BYTES: u64 = 1 << 20;

/// Writes a version of a map. No other process can write until it is finished or dropped.
///
/// Dropped without [`finish`](Self::finish), it leaves the version before, and removes what it has
/// written.
#[derive(Debug)]
pub struct CheckpointWriter {
    directory: SealedDirectory,
    /// Released by the operating system when the file is closed.
    _lock: File,
    /// Newest first: those of the version before that stay, and those that were written.
    levels: Vec<BlockFileSummary>,
    pending: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    n_pending_bytes: u64,
}

impl CheckpointWriter {
    /// Begins a version that has nothing of the one before. Returns `None` if another process
    /// writes. The directory is created if it is missing.
    ///
    /// # Errors
    ///
    /// If the operating system fails.
    pub fn begin(directory: &SealedDirectory) -> Result<Option<Self>> {
        create_private_directory(directory.path())?;
        Self::with_levels(directory, Vec::new())
    }

    /// Begins a version that differs from `base` by changes. Returns `None` if another process
    /// writes.
    ///
    /// # Errors
    ///
    /// [`CheckpointError::Stale`] if `base` is not the newest version any more.
    pub fn begin_from(directory: &SealedDirectory, base: &CheckpointMap) -> Result<Option<Self>> {
        let begun = Self::with_levels(directory, base.manifest.levels.clone())?;
        if begun.is_some() && Manifest::read(directory.path())?.as_ref() != Some(&base.manifest) {
            return Err(CheckpointError::Stale);
        }
        Ok(begun)
    }

    /// Removes all versions. Waits for a process that writes one, so that none appears afterwards
    /// that was begun before.
    ///
    /// # Errors
    ///
    /// If the operating system fails.
    pub fn remove_all(directory: &Path) -> Result<()> {
        if !directory.try_exists()? {
            return Ok(());
        }
        let _lock = lock(directory)?;
        clear(directory)
    }

    fn with_levels(
        directory: &SealedDirectory,
        levels: Vec<BlockFileSummary>,
    ) -> Result<Option<Self>> {
        let Some(lock) = try_lock(directory.path())? else { return Ok(None) };
        // Files that a killed writer left would fill the disk.
        let current = Manifest::read(directory.path()).ok().flatten().unwrap_or_default();
        remove_unnamed(directory.path(), &current.levels)?;
        Ok(Some(Self {
            directory: directory.clone(),
            _lock: lock,
            levels,
            pending: BTreeMap::new(),
            n_pending_bytes: 0,
        }))
    }

    /// Gives a key a value, or none.
    ///
    /// # Errors
    ///
    /// If the operating system fails, or the version before is damaged. Then nothing more can be
    /// written.
    pub fn set(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        self.n_pending_bytes += (key.len() + value.map_or(0, <[u8]>::len) + 64) as u64;
        self.pending.insert(key.to_vec(), value.map(<[u8]>::to_vec));
        if self.n_pending_bytes < MAX_PENDING {
            return Ok(());
        }
        self.write_pending()
    }

    /// Writes all changes to files, which are not visible yet: what can fail has then succeeded,
    /// but for the manifest.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn write_changes(&mut self) -> Result<()> {
        if !self.pending.is_empty() || self.levels.is_empty() {
            self.write_pending()?;
        }
        Ok(())
    }

    /// Makes this the newest version, with a label that says what it was derived from.
    ///
    /// # Errors
    ///
    /// If the operating system fails, or the version before is damaged. Then that version stays.
    pub fn finish(mut self, label: &[u8]) -> Result<()> {
        self.write_changes()?;
        let manifest = Manifest { label: label.to_vec(), levels: self.levels.clone() };
        manifest.write(self.directory.path())?;
        remove_unnamed(self.directory.path(), &manifest.levels)
    }

    /// Writes the changes as a file, together with the files that are not much longer.
    fn write_pending(&mut self) -> Result<()> {
        let n_merged = self.n_levels_to_merge();
        let is_last = n_merged == self.levels.len();
        let merged = Manifest { label: Vec::new(), levels: self.levels[..n_merged].to_vec() };
        let merged = CheckpointMap::of_manifest(&self.directory, &merged, CACHE_BYTES)?;
        let mut older = MergedCursor::seek(&merged.levels, &merged.cache, Scan::ALL)?;
        let mut writer = BlockFileWriter::create(&self.directory)?;
        let mut push = |key: &[u8], value: Option<&[u8]>| match value {
            // There is nothing older that a removal would hide.
            None if is_last => Ok(()),
            value => writer.push(key, value),
        };
        for (key, value) in &self.pending {
            while let Some((before, value)) = older.current()
                && before <= key.as_slice()
            {
                if before < key.as_slice() {
                    push(before, value)?;
                }
                older.advance()?;
            }
            push(key, value.as_deref())?;
        }
        while let Some((before, value)) = older.current() {
            push(before, value)?;
            older.advance()?;
        }
        let written = writer.finish()?;
        self.levels.splice(..n_merged, [written]);
        self.pending.clear();
        self.n_pending_bytes = 0;
        Ok(())
    }

    fn n_levels_to_merge(&self) -> usize {
        // Prefixes are left out of a file, so it is shorter than its entries.
        let mut n_bytes = self.n_pending_bytes / 2;
        let mut merged = 0;
        for level in &self.levels {
            if level.n_bytes >= GROWTH * n_bytes {
                break;
            }
            n_bytes += level.n_bytes;
            merged += 1;
        }
        merged
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        // What was not finished would fill the disk until the next writer comes.
        if let Ok(Some(current)) = Manifest::read(self.directory.path()) {
            remove_unnamed(self.directory.path(), &current.levels).ok();
        }
    }
}
