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
use yfs_store::{
    AppendBatch, AppendReceipt, BlobInfo, BlobMark, BlobStore, CheckReport, Cipher,
    CompactionOutcome, DocFact, DocHead, DocHistory, DocName, DocStats, Durability, HandleOrigin,
    KeyKind, LocalState, LogRecord, MergeFn, ParkedNote, QuarantinedUpdate, SealedDirectory, Seq,
    Store, StoreError, StoreStats, StoredDocument, TailPage, UnlockKey, UpdateLog, WriterClaim,
};
use yfs_types::{hash::ContentHash, time::Millis};

/// Implements methods by calls of the store below.
macro_rules! forward_to_store {
    ($(fn $name:ident(&self $(, $arg:ident: $type:ty)* $(,)?) $(-> $result:ty)?;)*) => {
        $(fn $name(&self $(, $arg: $type)*) $(-> $result)? {
            self.below.$name($($arg),*)
        })*
    };
}

/// A store that fails on demand.
///
/// A call that is made to fail does not reach the store below. For power cuts, see
/// [`MemoryStore::with_power_cuts`](yfs_store::MemoryStore::with_power_cuts).
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
    forward_to_store! {
        fn origin(&self) -> HandleOrigin;
        fn set_aside_damaged(&self, doc: &DocName, at: Millis) -> Result<u64, StoreError>;
        fn time_at(&self, position: Seq) -> Result<Option<Millis>, StoreError>;
        fn tailed_doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError>;
        fn wait(&self, after: Seq, timeout: Duration) -> Result<bool, StoreError>;
        fn documents(&self) -> Result<Vec<DocStats>, StoreError>;
        fn documents_before(
            &self, before: Seq, n: usize,
        ) -> Result<Option<Vec<(Seq, DocName)>>, StoreError>;
        fn doc_stats(&self, doc: &DocName) -> Result<Option<DocStats>, StoreError>;
        fn forget(&self, doc: &DocName, head: Seq) -> Result<u64, StoreError>;
    }

    fn append(&self, batch: AppendBatch) -> Result<AppendReceipt, StoreError> {
        self.apply_fault(StoreFault::Append)?;
        if batch.durability == Durability::Synced {
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

    fn head(&self) -> Result<Seq, StoreError> {
        self.n_head_reads.fetch_add(1, Ordering::Relaxed);
        self.below.head()
    }

    fn doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError> {
        self.n_head_reads.fetch_add(1, Ordering::Relaxed);
        self.below.doc_head(doc)
    }

    fn compact(&self, doc: &DocName, merge: &MergeFn<'_>) -> Result<CompactionOutcome, StoreError> {
        self.apply_fault(StoreFault::Compact)?;
        self.below.compact(doc, merge)
    }
}

impl BlobStore for FaultStore {
    forward_to_store! {
        fn blob_info(&self, hash: &ContentHash) -> Result<Option<BlobInfo>, StoreError>;
        fn blobs(&self) -> Result<Vec<BlobInfo>, StoreError>;
        fn blob_mark(&self) -> Result<BlobMark, StoreError>;
        fn remove_blobs(
            &self, mark: BlobMark, older_than: Millis, keep: &dyn Fn(&ContentHash) -> bool,
        ) -> Result<u64, StoreError>;
    }

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
}

impl LocalState for FaultStore {
    forward_to_store! {
        fn quarantine(
            &self, doc: &DocName, update: &[u8], reason: &str, at: Millis,
        ) -> Result<(), StoreError>;
        fn quarantined(&self) -> Result<Vec<QuarantinedUpdate>, StoreError>;
        fn quarantined_update(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError>;
        fn drop_quarantined(&self, number: Option<u64>) -> Result<u64, StoreError>;
        fn note_parked(&self, doc: &DocName, note: Option<&ParkedNote>) -> Result<(), StoreError>;
        fn parked(&self) -> Result<Vec<ParkedNote>, StoreError>;
        fn doc_facts(&self, docs: &[DocName]) -> Result<Vec<Option<DocFact>>, StoreError>;
        fn repair_facts(&self) -> Result<bool, StoreError>;
        fn set_doc_facts(&self, facts: &[(DocName, DocFact)]) -> Result<(), StoreError>;
        fn note_first_seen(&self, keys: &[&str], at: Millis) -> Result<(), StoreError>;
        fn first_seen(&self, key: &str) -> Result<Option<Millis>, StoreError>;
        fn clear_first_seen(&self, keys: &[&str]) -> Result<(), StoreError>;
        fn get_meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;
        fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;
        fn init_meta(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError>;
        fn init_secret(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError>;
        fn set_secret(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;
        fn restricted_paths(&self) -> &[PathBuf];
        fn claim_writer(&self) -> Result<WriterClaim, StoreError>;
        fn release_writer(&self, claim: WriterClaim) -> Result<(), StoreError>;
    }
}

impl Store for FaultStore {
    forward_to_store! {
        fn stats(&self) -> Result<StoreStats, StoreError>;
        fn key_kind(&self) -> Result<Option<KeyKind>, StoreError>;
        fn change_key(&self, key: &UnlockKey) -> Result<(), StoreError>;
        fn cipher(&self, purpose: &str) -> Option<Arc<Cipher>>;
        fn derived_directory(&self) -> Option<SealedDirectory>;
        fn commit_stamp(&self) -> Result<Option<i64>, StoreError>;
        fn release_memory(&self);
        fn checkpoint(&self, after: u64) -> Result<bool, StoreError>;
        fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError>;
        fn check_with_progress(
            &self, progress: &mut dyn FnMut(u64, u64),
        ) -> Result<CheckReport, StoreError>;
        fn check_log(&self) -> Result<CheckReport, StoreError>;
        fn close(&self) -> Result<(), StoreError>;
    }

    fn wipe(&self) -> Result<(), StoreError> {
        self.apply_fault(StoreFault::Compact)?;
        self.below.wipe()
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.apply_fault(StoreFault::Flush)?;
        self.below.flush()
    }
}
