//! A store that fails on demand, for tests of code that uses a store.

use std::{
    collections::HashMap,
    io::{Read, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use yfs_types::{hash::ContentHash, time::Millis};

use crate::{
    AppendBatch, AppendReceipt, BlobInfo, BlobMark, BlobStore, CheckReport, CompactionOutcome,
    DocFact, DocHead, DocHistory, DocName, DocStats, HandleOrigin, LocalState, LogRecord, MergeFn,
    ParkedNote, QuarantinedUpdate, Seq, Store, StoreError, StoreStats, StoredDocument, TailPage,
    UpdateLog, WriterClaim,
    encryption::{Cipher, KeyKind, SealedDirectory, UnlockKey},
};

/// A store that fails on demand.
///
/// A call that is made to fail does not reach the store below. For power cuts, see
/// [`MemoryStore::with_power_cuts`](crate::MemoryStore::with_power_cuts).
#[derive(Debug)]
pub struct FaultStore {
    below: Arc<dyn Store>,
    plan: Mutex<FaultPlan>,
    n_head_reads: AtomicU64,
    n_loads: AtomicU64,
}

/// The calls that a fault affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreFault {
    /// [`UpdateLog::append`].
    Append,
    /// [`UpdateLog::append`], applied below: its answer is lost, as on a network.
    AppendApplied,
    /// [`UpdateLog::load`].
    Load,
    /// [`UpdateLog::tail`].
    Tail,
    /// [`Store::flush`], and appends that are synced.
    Flush,
    /// [`UpdateLog::compact`] and [`Store::wipe`].
    Compact,
    /// All calls that read or write blobs.
    Blob,
}

#[derive(Debug, Default)]
struct FaultPlan {
    /// For each kind of call, how many more calls succeed before one fails, and with which error.
    failures: HashMap<StoreFault, (u64, StoreError)>,
    delay: Duration,
}

impl FaultStore {
    /// Wraps a store. All calls succeed as before until [`fail`](Self::fail) is called.
    pub fn new(below: Arc<dyn Store>) -> Self {
        Self {
            below,
            plan: Mutex::default(),
            n_head_reads: AtomicU64::new(0),
            n_loads: AtomicU64::new(0),
        }
    }

    /// Makes one call fail, after `n_good` calls of its kind have succeeded.
    pub fn fail(&self, fault: StoreFault, n_good: u64, error: StoreError) {
        self.plan.lock().failures.insert(fault, (n_good, error));
    }

    /// Returns how many calls have read the head of the log: [`UpdateLog::head`] and
    /// [`UpdateLog::doc_head`].
    pub fn n_head_reads(&self) -> u64 {
        self.n_head_reads.load(Ordering::Relaxed)
    }

    /// Returns how many calls have read a whole document: [`UpdateLog::load`] and
    /// [`UpdateLog::load_history`].
    pub fn n_loads(&self) -> u64 {
        self.n_loads.load(Ordering::Relaxed)
    }

    /// Makes every append, load, tail and flush take longer.
    pub fn delay(&self, delay: Duration) {
        self.plan.lock().delay = delay;
    }

    fn apply_fault(&self, fault: StoreFault) -> Result<(), StoreError> {
        let mut plan = self.plan.lock();
        let delay = plan.delay;
        let due = match plan.failures.get_mut(&fault) {
            None => false,
            Some((0, _)) => true,
            Some((n_good, _)) => {
                *n_good -= 1;
                false
            }
        };
        let failure = if due { plan.failures.remove(&fault) } else { None };
        drop(plan);
        if !delay.is_zero() {
            thread::sleep(delay);
        }
        failure.map_or(Ok(()), |(_, error)| Err(error))
    }
}

impl UpdateLog for FaultStore {
    fn origin(&self) -> HandleOrigin {
        self.below.origin()
    }

    fn append(&self, batch: AppendBatch) -> Result<AppendReceipt, StoreError> {
        self.apply_fault(StoreFault::Append)?;
        if batch.durability == crate::Durability::Synced {
            self.apply_fault(StoreFault::Flush)?;
        }
        let appended = self.below.append(batch)?;
        self.apply_fault(StoreFault::AppendApplied)?;
        Ok(appended)
    }

    fn load(&self, doc: &DocName) -> Result<StoredDocument, StoreError> {
        self.apply_fault(StoreFault::Load)?;
        self.n_loads.fetch_add(1, Ordering::Relaxed);
        self.below.load(doc)
    }

    fn load_single(&self, docs: &[DocName]) -> Result<Vec<Option<LogRecord>>, StoreError> {
        self.apply_fault(StoreFault::Load)?;
        self.below.load_single(docs)
    }

    fn load_after(&self, doc: &DocName, after: Seq) -> Result<Option<StoredDocument>, StoreError> {
        self.apply_fault(StoreFault::Load)?;
        self.below.load_after(doc, after)
    }

    fn load_history(&self, doc: &DocName) -> Result<DocHistory, StoreError> {
        self.apply_fault(StoreFault::Load)?;
        self.n_loads.fetch_add(1, Ordering::Relaxed);
        self.below.load_history(doc)
    }

    fn tail(
        &self,
        after: Seq,
        select: &dyn Fn(&DocName, HandleOrigin) -> bool,
    ) -> Result<TailPage, StoreError> {
        self.apply_fault(StoreFault::Tail)?;
        self.below.tail(after, select)
    }

    fn time_at(&self, position: Seq) -> Result<Option<Millis>, StoreError> {
        self.below.time_at(position)
    }

    fn head(&self) -> Result<Seq, StoreError> {
        self.n_head_reads.fetch_add(1, Ordering::Relaxed);
        self.below.head()
    }

    fn doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError> {
        self.n_head_reads.fetch_add(1, Ordering::Relaxed);
        self.below.doc_head(doc)
    }

    fn tailed_doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError> {
        self.below.tailed_doc_head(doc)
    }

    fn wait(&self, after: Seq, timeout: Duration) -> Result<bool, StoreError> {
        self.below.wait(after, timeout)
    }

    fn compact(&self, doc: &DocName, merge: &MergeFn<'_>) -> Result<CompactionOutcome, StoreError> {
        self.apply_fault(StoreFault::Compact)?;
        self.below.compact(doc, merge)
    }

    fn set_aside_damaged(&self, doc: &DocName, at: Millis) -> Result<u64, StoreError> {
        self.below.set_aside_damaged(doc, at)
    }

    fn documents(&self) -> Result<Vec<DocStats>, StoreError> {
        self.below.documents()
    }

    fn documents_before(
        &self,
        before: Seq,
        n: usize,
    ) -> Result<Option<Vec<(Seq, DocName)>>, StoreError> {
        self.below.documents_before(before, n)
    }

    fn doc_stats(&self, doc: &DocName) -> Result<Option<DocStats>, StoreError> {
        self.below.doc_stats(doc)
    }

    fn forget(&self, doc: &DocName, head: Seq) -> Result<u64, StoreError> {
        self.below.forget(doc, head)
    }
}

impl BlobStore for FaultStore {
    fn put_blob(&self, content: &mut dyn Read, at: Millis) -> Result<BlobInfo, StoreError> {
        self.apply_fault(StoreFault::Blob)?;
        self.below.put_blob(content, at)
    }

    fn touch_blob(&self, hash: &ContentHash, at: Millis) -> Result<BlobInfo, StoreError> {
        self.apply_fault(StoreFault::Blob)?;
        self.below.touch_blob(hash, at)
    }

    fn read_blob(&self, hash: &ContentHash, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        self.apply_fault(StoreFault::Blob)?;
        self.below.read_blob(hash, range)
    }

    fn copy_blob(&self, hash: &ContentHash, to: &mut dyn Write) -> Result<u64, StoreError> {
        self.apply_fault(StoreFault::Blob)?;
        self.below.copy_blob(hash, to)
    }

    fn blob_info(&self, hash: &ContentHash) -> Result<Option<BlobInfo>, StoreError> {
        self.below.blob_info(hash)
    }

    fn blobs(&self) -> Result<Vec<BlobInfo>, StoreError> {
        self.below.blobs()
    }

    fn blob_mark(&self) -> Result<BlobMark, StoreError> {
        self.below.blob_mark()
    }

    fn remove_blobs(
        &self,
        mark: BlobMark,
        older_than: Millis,
        keep: &dyn Fn(&ContentHash) -> bool,
    ) -> Result<u64, StoreError> {
        self.below.remove_blobs(mark, older_than, keep)
    }
}

impl LocalState for FaultStore {
    fn quarantine(
        &self,
        doc: &DocName,
        update: &[u8],
        reason: &str,
        at: Millis,
    ) -> Result<(), StoreError> {
        self.below.quarantine(doc, update, reason, at)
    }

    fn quarantined(&self) -> Result<Vec<QuarantinedUpdate>, StoreError> {
        self.below.quarantined()
    }

    fn quarantined_update(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.below.quarantined_update(number)
    }

    fn drop_quarantined(&self, number: Option<u64>) -> Result<u64, StoreError> {
        self.below.drop_quarantined(number)
    }

    fn note_parked(&self, doc: &DocName, note: Option<&ParkedNote>) -> Result<(), StoreError> {
        self.below.note_parked(doc, note)
    }

    fn parked(&self) -> Result<Vec<ParkedNote>, StoreError> {
        self.below.parked()
    }

    fn doc_facts(&self, docs: &[DocName]) -> Result<Vec<Option<DocFact>>, StoreError> {
        self.below.doc_facts(docs)
    }

    fn repair_facts(&self) -> Result<bool, StoreError> {
        self.below.repair_facts()
    }

    fn set_doc_facts(&self, facts: &[(DocName, DocFact)]) -> Result<(), StoreError> {
        self.below.set_doc_facts(facts)
    }

    fn note_first_seen(&self, keys: &[&str], at: Millis) -> Result<(), StoreError> {
        self.below.note_first_seen(keys, at)
    }

    fn first_seen(&self, key: &str) -> Result<Option<Millis>, StoreError> {
        self.below.first_seen(key)
    }

    fn clear_first_seen(&self, keys: &[&str]) -> Result<(), StoreError> {
        self.below.clear_first_seen(keys)
    }

    fn get_meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.below.get_meta(key)
    }

    fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.below.set_meta(key, value)
    }

    fn init_meta(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.below.init_meta(key, value)
    }

    fn init_secret(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.below.init_secret(key, value)
    }

    fn set_secret(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.below.set_secret(key, value)
    }

    fn restricted_paths(&self) -> &[PathBuf] {
        self.below.restricted_paths()
    }

    fn claim_writer(&self) -> Result<WriterClaim, StoreError> {
        self.below.claim_writer()
    }

    fn release_writer(&self, claim: WriterClaim) -> Result<(), StoreError> {
        self.below.release_writer(claim)
    }
}

impl Store for FaultStore {
    fn wipe(&self) -> Result<(), StoreError> {
        self.apply_fault(StoreFault::Compact)?;
        self.below.wipe()
    }

    fn stats(&self) -> Result<StoreStats, StoreError> {
        self.below.stats()
    }

    fn key_kind(&self) -> Result<Option<KeyKind>, StoreError> {
        self.below.key_kind()
    }

    fn change_key(&self, key: &UnlockKey) -> Result<(), StoreError> {
        self.below.change_key(key)
    }

    fn cipher(&self, purpose: &str) -> Option<Arc<Cipher>> {
        self.below.cipher(purpose)
    }

    fn derived_directory(&self) -> Option<SealedDirectory> {
        self.below.derived_directory()
    }

    fn commit_stamp(&self) -> Result<Option<i64>, StoreError> {
        self.below.commit_stamp()
    }

    fn release_memory(&self) {
        self.below.release_memory();
    }

    fn checkpoint(&self, after: u64) -> Result<bool, StoreError> {
        self.below.checkpoint(after)
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.apply_fault(StoreFault::Flush)?;
        self.below.flush()
    }

    fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError> {
        self.below.backup(to, progress)
    }

    fn check_with_progress(
        &self,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CheckReport, StoreError> {
        self.below.check_with_progress(progress)
    }

    fn check_log(&self) -> Result<CheckReport, StoreError> {
        self.below.check_log()
    }

    fn close(&self) -> Result<(), StoreError> {
        self.below.close()
    }
}
