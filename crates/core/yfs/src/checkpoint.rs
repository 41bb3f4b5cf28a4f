//! Opens a workspace from a checkpoint of its main document, and makes checkpoints.
//!
//! A checkpoint is derived from the log as of a position, and kept beside the store. Opening reads
//! its head and the records after that position; rows and directories are read when they are asked
//! for. It can be lost, damaged or of another log at any time: then the log is read instead.
//!
//! # Which log it is of
//!
//! The store remembers a random *mark* for each of the last checkpoints, in the database of the log
//! itself; the checkpoint has the mark in its label. A log that went back in time, by a backup that
//! was put back or by a power cut, has no mark of a checkpoint that was made later.
//!
//! # How it is made
//!
//! From the checkpoint before and the records after it, in a document of its own: no writer waits
//! for it, and it costs what was written since. One process makes one at a time.

mod healing;
mod journal;
mod live;
#[cfg(test)]
mod tests;
mod upkeep;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use yfs_engine::{
    checkpoint::{self, CheckpointReader},
    gate::GateLimits,
    id::{ClientId, FileId, WorkspaceId},
    main_doc::MainDoc,
    table::WriterIds,
};
use yfs_store::checkpoint::{CheckpointError, CheckpointMap, CheckpointWriter};
use yfs_store::{DerivedLabel, DocName, SealedDirectory, Seq, Store, StoreError, StoredDocument};

use self::healing::{CheckpointUse, HealingReader};
pub(crate) use self::live::MainCheckpoints;
use crate::{
    error::Result,
    load_document::{self, LoadReport},
    search,
};

/// The setting that stores the marks of the last checkpoints, the newest first.
const MARKS_KEY: &str = "checkpoint.marks";

/// The blocks of a checkpoint that a process keeps in memory, in bytes.
const CACHE_BYTES: u64 = 16 << 20;

/// The bytes of the change of a row in a record of many.
const CHANGE_BYTES: u64 = 256;

/// The directory of the checkpoint of the main document, in that of the store's derived files.
const DIRECTORY: &str = "main";

/// The checkpoint of a store.
#[derive(Debug, Clone)]
pub(crate) struct CheckpointHome {
    store: Arc<dyn Store>,
    workspace: WorkspaceId,
    limits: GateLimits,
    directory: SealedDirectory,
    /// The number of changes of rows after the last checkpoint, as far as is known.
    n_uncovered: Arc<AtomicU64>,
    /// Whether a file of the checkpoint was found damaged, so that the next one has nothing of it.
    is_damaged: Arc<AtomicBool>,
    /// Whether the last checkpoint of the workspace's own document could not be written. It is not
    /// tried again before enough rows changed.
    has_failed: Arc<AtomicBool>,
    /// Whether the workspace's document read from a damaged checkpoint what the log does not have
    /// as of the same position, so that it must be loaded from the log before its next use.
    pub(crate) must_replace: Arc<AtomicBool>,
    /// The checkpoint that the workspace's document is on.
    in_use: Arc<Mutex<Option<DerivedLabel>>>,
}

/// A main document on a checkpoint.
#[derive(Debug)]
pub(crate) struct OpenedMain {
    pub(crate) main: MainDoc,
    pub(crate) report: LoadReport,
    /// The number of changes of rows that were read after the checkpoint.
    pub(crate) n_tail: u64,
}

impl CheckpointHome {
    /// Returns the home of the checkpoint, if the store has a place for derived files.
    pub(crate) fn of(
        store: &Arc<dyn Store>,
        workspace: &WorkspaceId,
        limits: GateLimits,
    ) -> Option<Self> {
        let directory = store.derived_directory()?.join(DIRECTORY);
        let (store, workspace) = (store.clone(), workspace.clone());
        let (n_uncovered, is_damaged, has_failed, must_replace, in_use) = Default::default();
        Some(Self {
            store,
            workspace,
            limits,
            directory,
            n_uncovered,
            is_damaged,
            has_failed,
            must_replace,
            in_use,
        })
    }

    /// Notes that rows were read or written after the checkpoint.
    pub(crate) fn note_uncovered(&self, n_changes: u64) {
        let add = |n: u64| Some(n.saturating_add(n_changes));
        self.n_uncovered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok();
    }

    /// Returns the size of the newest checkpoint; 0 if there is none.
    pub(crate) fn n_bytes(&self) -> Result<u64> {
        Ok(self.open_map()?.map_or(0, |(map, _)| map.n_bytes()))
    }

    /// Makes a checkpoint due, because the records after the last one are gone.
    pub(crate) fn request(&self) {
        self.n_uncovered.store(u64::MAX, Ordering::Relaxed);
    }

    /// Notes that a checkpoint of all rows was made.
    fn note_covered(&self) {
        self.n_uncovered.store(0, Ordering::Relaxed);
    }

    /// Notes that the files of the checkpoint are damaged, which makes another one due.
    fn note_damaged(&self) {
        self.is_damaged.store(true, Ordering::Relaxed);
        self.request();
    }

    fn is_due(&self, checkpoint_after: u64) -> bool {
        self.n_uncovered.load(Ordering::Relaxed) >= checkpoint_after
    }

    /// Makes a checkpoint if enough rows changed after the last one.
    fn make_due(&self, checkpoint_after: u64) -> Result<()> {
        let n_changes = self.n_uncovered.load(Ordering::Relaxed);
        if !self.is_due(checkpoint_after) {
            return Ok(());
        }
        // Also after a failure: it must not be tried again and again.
        let subtract = |n: u64| Some(n.saturating_sub(n_changes));
        self.n_uncovered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract).ok();
        self.make().map(drop)
    }

    /// Opens the main document on the newest checkpoint; `None` if there is none of this log, or it
    /// cannot be used.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub(crate) fn open(&self, writer: WriterIds) -> Result<Option<OpenedMain>> {
        let Some((map, label)) = self.open_map()? else { return Ok(None) };
        let opened = self.open_on(map, &label, writer, Seq(u64::MAX), CheckpointUse::Live)?;
        *self.in_use.lock() = opened.is_some().then_some(label);
        Ok(opened)
    }

    /// Opens a main document as of a position of the log, for reading; `None` if there is no
    /// checkpoint of that position or an earlier one.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub(crate) fn open_at(&self, position: Seq) -> Result<Option<MainDoc>> {
        let Some((map, label)) = self.open_map()? else { return Ok(None) };
        if label.position > position {
            return Ok(None);
        }
        let opened = self.open_on(map, &label, self.no_writer(), position, CheckpointUse::Once)?;
        Ok(opened.map(|opened| opened.main))
    }

    /// Returns the rows that changed after a position, as far as the main document in use is based
    /// on a checkpoint and does not know itself; `None` if it cannot be known.
    ///
    /// The caller holds `tailing`, so that the document does not move to another checkpoint.
    pub(crate) fn changed_before_base(&self, after: Seq) -> Result<Option<BTreeSet<FileId>>> {
        let in_use = *self.in_use.lock();
        // A document without a base has changed all rows.
        let Some(in_use) = in_use.filter(|in_use| in_use.position > after) else {
            return Ok(Some(BTreeSet::new()));
        };
        let Some((map, label)) = self.open_map()? else { return Ok(None) };
        if label.position < in_use.position {
            return Ok(None);
        }
        // What cannot be read is not known.
        Ok(journal::changed_after(&map, after).ok().flatten())
    }

    /// Makes a checkpoint of the head of the log, and reports whether it did: not if another
    /// process makes one, or the log has records that cannot be read.
    ///
    /// # Errors
    ///
    /// If the store or the operating system fails. The checkpoint before stays.
    pub(crate) fn make(&self) -> Result<bool> {
        if let Some(is_made) = self.make_from_last()? {
            return Ok(is_made);
        }
        // Locked before the log is read: what is removed from it meanwhile must not come back.
        let Some(writer) = begun(CheckpointWriter::begin(&self.directory))? else {
            return Ok(false);
        };
        let mut main = MainDoc::new(&self.workspace, self.no_writer(), self.limits);
        let report = load_document::main(&*self.store, &self.name(), &mut main)?;
        if report.is_incomplete() {
            return Ok(false);
        }
        Ok(self.write_with(writer, &main, None, report.upto)?.is_some())
    }

    /// Makes a checkpoint as changes of the last one, and reports whether it did; `None` if that is
    /// missing or damaged.
    fn make_from_last(&self) -> Result<Option<bool>> {
        if self.is_damaged.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let Some((base, label)) = self.open_map()? else { return Ok(None) };
        let Some(writer) = begun(CheckpointWriter::begin_from(&self.directory, &base))? else {
            return Ok(Some(false));
        };
        let Some((map, again)) = self.open_map()? else { return Ok(None) };
        let (writer_ids, all) = (self.no_writer(), Seq(u64::MAX));
        let opened = self.open_on(map, &label, writer_ids, all, CheckpointUse::Once)?;
        let Some(opened) = opened.filter(|_| again == label) else { return Ok(None) };
        let written = self.write_with(writer, &opened.main, Some(&base), opened.report.upto);
        if self.is_damaged.load(Ordering::Relaxed) {
            return Ok(None);
        }
        Ok(Some(written?.is_some()))
    }

    /// Writes a checkpoint of a document, from nothing or as changes of the one that the document
    /// is based on. Returns its label; `None` if another process writes one, or there can be none.
    pub(crate) fn write(
        &self,
        main: &MainDoc,
        base: Option<&CheckpointMap>,
        position: Seq,
    ) -> Result<Option<DerivedLabel>> {
        if let Some(base) = base.filter(|_| !self.is_damaged.load(Ordering::Relaxed)) {
            let writer = begun(CheckpointWriter::begin_from(&self.directory, base))?;
            let Some(writer) = writer else { return Ok(None) };
            let written = self.write_with(writer, main, Some(base), position);
            if !self.is_damaged.load(Ordering::Relaxed) {
                return written;
            }
        }
        let writer = begun(CheckpointWriter::begin(&self.directory))?;
        let Some(writer) = writer else { return Ok(None) };
        self.write_with(writer, main, None, position)
    }

    /// Writes a document, or what it changed in the checkpoint that it is based on.
    fn write_with(
        &self,
        mut writer: CheckpointWriter,
        main: &MainDoc,
        base: Option<&CheckpointMap>,
        position: Seq,
    ) -> Result<Option<DerivedLabel>> {
        let needed = search::indexed_position(&self.store)?;
        let mut set =
            |key: &[u8], value: Option<&[u8]>| writer.set(key, value).map_err(WriteError::Map);
        let written = if let Some(base) = base {
            let changed = main.files().changed_ids();
            let listed = journal::write_changes(&mut set, base, changed, position, needed);
            listed.and_then(|()| main.write_checkpoint_changes(&mut set))
        } else {
            main.write_checkpoint(|key, value| set(key, Some(value)))
        };
        match written.and_then(|()| writer.write_changes().map_err(WriteError::Map)) {
            Ok(()) => {}
            Err(WriteError::Document) => return Ok(None),
            Err(WriteError::Map(error)) => {
                if error.is_of_files() {
                    self.note_damaged();
                }
                return Err(error.into());
            }
        }
        if self.must_replace.load(Ordering::Acquire) {
            // The document read what is not as of the position.
            return Ok(None);
        }
        let Some(label) = DerivedLabel::new(position) else { return Ok(None) };
        self.store.set_meta(MARKS_KEY, &label.add_to(&self.marks()?))?;
        writer.finish(&label.encode())?;
        if base.is_none() {
            self.is_damaged.store(false, Ordering::Relaxed);
        }
        Ok(Some(label))
    }

    /// Makes the checkpoint unusable, because the log lost records on purpose. It may hold what is
    /// to be forgotten, so its files are removed.
    pub(crate) fn discard(&self) -> Result<(), StoreError> {
        if self.store.get_meta(MARKS_KEY)?.is_some_and(|marks| !marks.is_empty()) {
            self.store.set_meta(MARKS_KEY, b"")?;
        }
        CheckpointWriter::remove_all(self.directory.path()).map_err(|error| match error {
            CheckpointError::Io(error) => StoreError::io("remove the checkpoint", error),
            error => StoreError::io("remove the checkpoint", std::io::Error::other(error)),
        })
    }

    fn name(&self) -> DocName {
        DocName::from(&self.workspace)
    }

    /// Returns ids for a document that is not written to.
    fn no_writer(&self) -> WriterIds {
        let [rows, cells, meta] = [0, 1, 2].map(ClientId::from_random);
        WriterIds { rows, cells, meta }
    }

    /// Opens the newest checkpoint, if it is of this log.
    fn open_map(&self) -> Result<Option<(CheckpointMap, DerivedLabel)>> {
        // What cannot be read is made again.
        let Some(map) = CheckpointMap::open(&self.directory, CACHE_BYTES).ok().flatten() else {
            return Ok(None);
        };
        let Some(label) = DerivedLabel::parse(map.label()) else { return Ok(None) };
        Ok(label.is_in(&self.marks()?).then_some((map, label)))
    }

    /// Makes the document on a checkpoint, with the records after it up to a position.
    fn open_on(
        &self,
        map: CheckpointMap,
        label: &DerivedLabel,
        writer: WriterIds,
        upto: Seq,
        in_use_by: CheckpointUse,
    ) -> Result<Option<OpenedMain>> {
        let Some(mut tail) = self.records_after(label.position)? else { return Ok(None) };
        tail.updates.retain(|record| record.seq <= upto);
        let reader = HealingReader::new(self.clone(), map, label.position, in_use_by);
        let reader: Arc<dyn CheckpointReader> = Arc::new(reader);
        let opened = MainDoc::on_checkpoint(&self.workspace, writer, self.limits, reader);
        let Ok(mut main) = opened else { return Ok(None) };
        let n_records = tail.updates.len() as u64;
        let report = load_document::main_tail(tail, &mut main);
        let n_tail = n_changes(n_records, report.bytes);
        let is_mixed =
            in_use_by == CheckpointUse::Live && self.must_replace.swap(false, Ordering::AcqRel);
        if is_mixed || report.is_incomplete() || main.checkpoint_failure().is_some() {
            return Ok(None);
        }
        Ok(Some(OpenedMain { main, report, n_tail }))
    }

    /// Reads the records of the main document after a position; `None` if some are not there any
    /// more.
    fn records_after(&self, position: Seq) -> Result<Option<StoredDocument>> {
        let loaded = self.store.load_after(&self.name(), position)?;
        Ok(loaded.filter(|loaded| loaded.damaged.is_empty()))
    }

    fn marks(&self) -> Result<Vec<u8>> {
        Ok(self.store.get_meta(MARKS_KEY)?.unwrap_or_default())
    }
}

/// Returns about how many changes of rows there are in records of the main document.
fn n_changes(n_records: u64, n_bytes: u64) -> u64 {
    n_records.max(n_bytes / CHANGE_BYTES)
}

/// Returns the writer, unless another process writes or has written.
fn begun(
    begun: yfs_store::checkpoint::Result<Option<CheckpointWriter>>,
) -> Result<Option<CheckpointWriter>> {
    match begun {
        Err(CheckpointError::Stale) => Ok(None),
        begun => Ok(begun?),
    }
}

/// The reason why a checkpoint was not written.
enum WriteError {
    /// The document has parked structs, or what it is based on cannot be read.
    Document,
    Map(CheckpointError),
}

impl From<CheckpointError> for WriteError {
    fn from(error: CheckpointError) -> Self {
        Self::Map(error)
    }
}

impl From<checkpoint::CheckpointError> for WriteError {
    fn from(_: checkpoint::CheckpointError) -> Self {
        Self::Document
    }
}
