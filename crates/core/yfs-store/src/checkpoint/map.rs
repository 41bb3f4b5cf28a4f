//! Reads one version of a map.

use std::io;

use crate::encryption::SealedDirectory;

use crate::checkpoint::{
    CheckpointError, Result,
    block_file::{BLOCK_BYTES, BlockCache, BlockFile, BlockWeighter},
    chunk::{Found, find_in_chunk},
    cursor::{MergedCursor, Scan},
    manifest::Manifest,
};

/// The number of entries that are passed on the way to a key before it is searched instead.
const MAX_PASSED: usize = 32;

/// Entries in order of key.
pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// One version of a map: the newest at the time when it was opened.
#[derive(Debug)]
pub struct CheckpointMap {
    pub(crate) manifest: Manifest,
    /// Newest first.
    pub(crate) levels: Vec<BlockFile>,
    pub(crate) cache: BlockCache,
}

impl CheckpointMap {
    /// Opens the newest version in a directory; `None` if there is none. `cache_bytes` is the
    /// budget for blocks that were read.
    ///
    /// # Errors
    ///
    /// If the files are damaged, of another format or cannot be read.
    pub fn open(directory: &SealedDirectory, cache_bytes: u64) -> Result<Option<Self>> {
        let Some(mut manifest) = Manifest::read(directory.path())? else { return Ok(None) };
        loop {
            match Self::of_manifest(directory, &manifest, cache_bytes) {
                // A writer removed the file after it wrote a newer manifest.
                Err(CheckpointError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                    match Manifest::read(directory.path())? {
                        Some(newer) if newer != manifest => manifest = newer,
                        _ => return Err(CheckpointError::Damaged("a file is missing")),
                    }
                }
                opened => return opened.map(Some),
            }
        }
    }

    pub(crate) fn of_manifest(
        directory: &SealedDirectory,
        manifest: &Manifest,
        cache_bytes: u64,
    ) -> Result<Self> {
        let levels = manifest.levels.iter().zip(0..);
        let levels = levels.map(|(level, number)| BlockFile::open(directory, level, number));
        let n_blocks = usize::try_from(cache_bytes).unwrap_or(usize::MAX) / BLOCK_BYTES;
        Ok(Self {
            manifest: manifest.clone(),
            levels: levels.collect::<Result<_>>()?,
            cache: BlockCache::with_weighter(n_blocks, cache_bytes, BlockWeighter),
        })
    }

    /// Returns what the writer recorded with this version.
    pub fn label(&self) -> &[u8] {
        &self.manifest.label
    }

    /// Returns the size of the files in bytes.
    pub fn n_bytes(&self) -> u64 {
        self.manifest.levels.iter().map(|level| level.n_bytes).sum()
    }

    /// Returns the value of a key; `None` if it is certain that there is none.
    ///
    /// # Errors
    ///
    /// If the files are damaged or cannot be read.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        for level in &self.levels {
            let (block, _) = level.covering_block(key, &self.cache, true)?;
            match find_in_chunk(&block, key)? {
                Found::Value(value) => return Ok(Some(value.to_vec())),
                Found::Removed => return Ok(None),
                Found::Absent => {}
            }
        }
        Ok(None)
    }

    /// Calls `each` with the number of each key and its value, if there is one. Keys that follow
    /// each other closely in the map are read by one pass over it.
    ///
    /// `keys` ascend.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), and what `each` returns.
    pub(crate) fn get_ascending<E: From<CheckpointError>>(
        &self,
        keys: &[Vec<u8>],
        mut each: impl FnMut(usize, Option<&[u8]>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let Some(first) = keys.first() else { return Ok(()) };
        let seek = |from| {
            MergedCursor::seek(&self.levels, &self.cache, Scan { from, ahead_to: None, keep: true })
        };
        let mut cursor = seek(first)?;
        for (number, key) in keys.iter().enumerate() {
            let is_before = |cursor: &MergedCursor<'_>| {
                cursor.current().is_some_and(|(at, _)| at < key.as_slice())
            };
            let mut n_passed = 0;
            while n_passed < MAX_PASSED && is_before(&cursor) {
                cursor.advance()?;
                n_passed += 1;
            }
            if is_before(&cursor) {
                cursor = seek(key)?;
            }
            let found = cursor.current().filter(|(at, _)| *at == key.as_slice());
            each(number, found.and_then(|(_, value)| value))?;
        }
        Ok(())
    }

    /// Returns the first entries with keys from `from` on and before `to`; at most `n`.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn scan(&self, from: &[u8], to: &[u8], n: usize) -> Result<Entries> {
        let mut entries = Entries::new();
        let scan = Scan { from, ahead_to: None, keep: true };
        let mut merged = MergedCursor::seek(&self.levels, &self.cache, scan)?;
        while let Some((key, value)) = merged.current()
            && key < to
            && entries.len() < n
        {
            entries.extend(value.map(|value| (key.to_vec(), value.to_vec())));
            merged.advance()?;
        }
        Ok(entries)
    }

    /// Calls `each` with the entries whose keys are from `from` on and before `to`, in order, until
    /// it fails.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), and what `each` returns.
    pub fn for_each_entry<E: From<CheckpointError>>(
        &self,
        from: &[u8],
        to: &[u8],
        mut each: impl FnMut(&[u8], &[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let scan = Scan { from, ahead_to: Some(to), keep: true };
        let mut merged = MergedCursor::seek(&self.levels, &self.cache, scan)?;
        while let Some((key, value)) = merged.current()
            && key < to
        {
            if let Some(value) = value {
                each(key, value)?;
            }
            merged.advance()?;
        }
        Ok(())
    }

    /// Reads and checks everything, and returns the number of entries.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn check(&self) -> Result<u64> {
        let mut n_entries = 0;
        let mut merged = MergedCursor::seek(&self.levels, &self.cache, Scan::ALL)?;
        while let Some((_, value)) = merged.current() {
            n_entries += u64::from(value.is_some());
            merged.advance()?;
        }
        Ok(n_entries)
    }
}
