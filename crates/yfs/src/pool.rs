//! The content doc pool: which content documents are in memory, and for how long.
//!
//! A document is loaded from the store when somebody first acquires it, stays while a [`DocHandle`]
//! is held, and after that until the pool needs its bytes (least recently used first).
//!
//! # Invariants
//!
//! - A document is in the map before it is loaded, and its lock is held while it loads: an update
//!   that is tailed meanwhile waits for the lock, so none falls between load and tail.
//! - An entry leaves the map only while no handle counts on it.
//! - A document whose update could not be logged is dropped, not kept: the log decides.
//! - A document holds all that the log holds of it up to its head, so that the head says which text was
//!   read. Who logs an update after others did takes theirs in before anybody reads.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use dashmap::DashMap;
use parking_lot::{Mutex, MutexGuard};
use yfs_engine::{content::ContentDoc, gate::Source, id::FileId, kind::ContentKind};
use yfs_store::{Appended, DocName, Record, Seq, Store};

use crate::{
    error::Result,
    load,
    updates::{Followers, Updates},
};

/// How many updates a subscriber may fall behind before it is told that it lost some.
const SUBSCRIBER_BACKLOG: usize = 4096;

/// What a document costs beside its history, in bytes (facts measured on yrs 0.28).
const DOC_OVERHEAD: u64 = 2048;

/// What a byte of history costs in memory, roughly.
const MEMORY_PER_BYTE: u64 = 3;

/// Called when a document is loaded; what it returns is dropped when the document is closed.
///
/// It is the place to connect a document to the outside. It must not acquire documents.
pub trait Provider: fmt::Debug + Send + Sync {
    /// Connects a document that has just been loaded.
    fn attach(&self, id: &FileId) -> Box<dyn Send>;
}

/// Makes an empty document for an id.
pub(crate) type NewDoc = dyn Fn(&FileId) -> ContentDoc + Send + Sync;

/// Tells how the content of a file is to be kept; nothing where there is no such file. It is asked while
/// a document is locked, so it must not lock any.
pub(crate) type KindOf = dyn Fn(&FileId) -> Option<ContentKind> + Send + Sync;

/// The documents in memory.
pub(crate) struct Pool {
    entries: DashMap<FileId, Arc<Entry>>,
    /// Documents without handles, by when they were last used.
    idle: Mutex<BTreeMap<u64, FileId>>,
    ticks: AtomicU64,
    bytes: AtomicU64,
    budget: u64,
    store: Arc<dyn Store>,
    new_doc: Box<NewDoc>,
    kind_of: Box<KindOf>,
    provider: Option<Arc<dyn Provider>>,
}

/// A content document in memory. Dropping the handle releases it.
pub struct DocHandle {
    entry: Arc<Entry>,
    pool: Weak<Pool>,
}

/// One slot of the pool.
pub(crate) struct Entry {
    id: FileId,
    handles: AtomicUsize,
    /// When the last handle was dropped; the key in `idle`.
    last_used: AtomicU64,
    bytes: AtomicU64,
    slot: Mutex<Option<Loaded>>,
    followers: Followers,
}

/// A document and how far it has read the log.
pub(crate) struct Loaded {
    pub(crate) doc: ContentDoc,
    /// Everything that others logged up to here is in `doc`.
    pub(crate) seen: Seq,
    /// The last update of this document that is known to be logged, ours included.
    pub(crate) head: Seq,
    /// The record with which this process moved the file over another: who still means to write to it
    /// by its old path is late.
    pub(crate) moved_over: Option<Seq>,
    /// Held for its drop.
    _attached: Option<Box<dyn Send>>,
}

impl Pool {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        budget: u64,
        provider: Option<Arc<dyn Provider>>,
        new_doc: Box<NewDoc>,
        kind_of: Box<KindOf>,
    ) -> Arc<Self> {
        Arc::new(Self {
            entries: DashMap::new(),
            idle: Mutex::new(BTreeMap::new()),
            ticks: AtomicU64::new(1),
            bytes: AtomicU64::new(0),
            budget,
            store,
            new_doc,
            kind_of,
            provider,
        })
    }

    /// Returns a handle on the document, which is loaded when it is first used.
    pub(crate) fn acquire(self: &Arc<Self>, id: &FileId) -> DocHandle {
        let entry = self.entries.entry(id.clone()).or_insert_with(|| Arc::new(Entry::new(id)));
        if entry.handles.fetch_add(1, Ordering::AcqRel) == 0 {
            self.idle.lock().remove(&entry.last_used.load(Ordering::Acquire));
        }
        DocHandle { entry: entry.clone(), pool: Arc::downgrade(self) }
    }

    /// Returns a handle if the document is in memory.
    pub(crate) fn peek(self: &Arc<Self>, id: &FileId) -> Option<DocHandle> {
        self.entries.contains_key(id).then(|| self.acquire(id)).filter(DocHandle::is_loaded)
    }

    /// Tells whether the document has a slot; without one nothing can be stale.
    pub(crate) fn holds(&self, id: &FileId) -> bool {
        self.entries.contains_key(id)
    }

    /// Closes a document unless somebody holds it; tells whether it is closed.
    pub(crate) fn close(&self, id: &FileId) -> bool {
        let idle = |_: &FileId, entry: &Arc<Entry>| entry.handles.load(Ordering::Acquire) == 0;
        if let Some((_, entry)) = self.entries.remove_if(id, idle) {
            self.bytes.fetch_sub(entry.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        !self.holds(id)
    }

    /// Returns the number of documents in memory and their estimated size in bytes.
    pub(crate) fn usage(&self) -> (usize, u64) {
        (self.entries.len(), self.bytes.load(Ordering::Relaxed))
    }

    fn load(&self, entry: &Entry) -> Result<Loaded> {
        let mut doc = (self.new_doc)(&entry.id);
        let loaded = load::content(&*self.store, &DocName::from(&entry.id), &mut doc)?;
        entry.bytes.store(0, Ordering::Relaxed);
        self.charge(entry, DOC_OVERHEAD + loaded.bytes * MEMORY_PER_BYTE);
        let attached = self.provider.as_ref().map(|provider| provider.attach(&entry.id));
        let (seen, head) = (loaded.upto, loaded.head);
        Ok(Loaded { doc, seen, head, moved_over: None, _attached: attached })
    }

    fn charge(&self, entry: &Entry, bytes: u64) {
        entry.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn release(&self, entry: &Arc<Entry>) {
        // The entry's shard is locked, so that no `acquire` comes between count and bookkeeping.
        self.entries.remove_if(&entry.id, |_, _| {
            if entry.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
                let tick = self.ticks.fetch_add(1, Ordering::Relaxed);
                entry.last_used.store(tick, Ordering::Release);
                self.idle.lock().insert(tick, entry.id.clone());
            }
            false
        });
        self.evict();
    }

    /// Closes documents that nobody holds until the pool is within its budget.
    fn evict(&self) {
        while self.bytes.load(Ordering::Relaxed) > self.budget {
            let Some((_, id)) = self.idle.lock().pop_first() else { return };
            let idle = |_: &FileId, entry: &Arc<Entry>| entry.handles.load(Ordering::Acquire) == 0;
            if let Some((_, entry)) = self.entries.remove_if(&id, idle) {
                let bytes = entry.bytes.load(Ordering::Relaxed);
                self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            }
        }
    }
}

impl DocHandle {
    /// Returns the id of the file, which is the guid of the document.
    pub fn id(&self) -> &FileId {
        &self.entry.id
    }

    /// Follows the updates of the document from now on, in the order in which they were logged.
    ///
    /// Subscribe before taking a state. A subscriber that falls too far behind is told so, and must
    /// start over from a state.
    pub fn subscribe(&self) -> Updates {
        self.entry.followers.add(SUBSCRIBER_BACKLOG)
    }

    /// Sends an update that was logged to whoever follows the document.
    pub(crate) fn publish(&self, update: &[u8]) {
        self.entry.followers.publish(update);
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.entry.slot.lock().is_some()
    }

    /// Runs `f` on the document, which is loaded if need be.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Loaded) -> R) -> Result<R> {
        let mut slot = self.locked()?;
        Ok(f(slot.as_mut().expect("`locked` has loaded it")))
    }

    /// Locks the slot of the document, loaded or not.
    pub(crate) fn slot(&self) -> MutexGuard<'_, Option<Loaded>> {
        self.entry.slot.lock()
    }

    /// Locks the document, loaded.
    pub(crate) fn locked(&self) -> Result<MutexGuard<'_, Option<Loaded>>> {
        let mut slot = self.entry.slot.lock();
        let pool = self.pool.upgrade().ok_or_else(crate::error::closed)?;
        let loaded = match &mut *slot {
            Some(loaded) => loaded,
            empty => empty.insert(pool.load(&self.entry)?),
        };
        // The file may have been renamed since.
        if let Some(kind) = (pool.kind_of)(&self.entry.id) {
            loaded.doc.set_kind(kind);
        }
        Ok(slot)
    }

    /// Counts bytes that an edit added.
    pub(crate) fn charge(&self, update: &[u8]) {
        if let Some(pool) = self.pool.upgrade() {
            pool.charge(&self.entry, update.len() as u64 * MEMORY_PER_BYTE);
        }
    }

    /// Notes that this process has logged updates of the document, whose lock is held. Answers whether
    /// others had got in between: what they logged is then in the document as well, so that it is what
    /// the log holds up to its head, and the text of before is outdated.
    pub(crate) fn logged(&self, slot: &mut Option<Loaded>, head: Seq, appended: &Appended) -> bool {
        let Some(loaded) = slot.as_mut() else { return false };
        loaded.head = loaded.head.max(head);
        if !appended.overtaken {
            return false;
        }
        // The updates are logged whatever happens here; a document that cannot be read is loaded again.
        if self.take_from_log(loaded).is_err() {
            *slot = None;
        }
        true
    }

    /// Takes in whatever the log holds. How far the log was tailed stays, so that followers get
    /// what is new when its turn comes.
    fn take_from_log(&self, loaded: &mut Loaded) -> Result<()> {
        let pool = self.pool.upgrade().ok_or_else(crate::error::closed)?;
        let state = pool.store.load(&DocName::from(&self.entry.id))?;
        let updates = state.updates.iter().map(|record| &record.data);
        for update in state.snapshot.iter().chain(updates) {
            loaded.doc.receive(update, Source::Store)?;
        }
        loaded.head = loaded.head.max(state.head);
        Ok(())
    }

    /// Takes in an update that somebody else logged. Returns whether the text may have changed.
    pub(crate) fn tail(&self, record: &Record) -> bool {
        let mut slot = self.entry.slot.lock();
        let Some(loaded) = slot.as_mut() else { return true };
        if record.seq <= loaded.seen {
            return false;
        }
        loaded.seen = record.seq;
        loaded.head = loaded.head.max(record.seq);
        match loaded.doc.receive(&record.data, Source::Store) {
            Ok(_) => self.charge(&record.data),
            // What the gate refuses from the log it refuses for everybody; the next load says why.
            Err(_) => *slot = None,
        }
        self.publish(&record.data);
        true
    }

    /// Reads the log again, part of which was compacted up to `upto` before it was tailed.
    pub(crate) fn reload(&self, upto: Seq) -> Result<()> {
        let Some(pool) = self.pool.upgrade() else { return Ok(()) };
        let mut slot = self.entry.slot.lock();
        let Some(loaded) = slot.as_mut().filter(|loaded| loaded.seen < upto) else { return Ok(()) };
        let state = pool.store.load(&DocName::from(&self.entry.id))?;
        let updates = state.updates.iter().map(|record| &record.data);
        for update in state.snapshot.iter().chain(updates) {
            if loaded.doc.receive(update, Source::Store).is_err() {
                *slot = None;
                return Ok(());
            }
            self.publish(update);
        }
        loaded.seen = state.upto;
        loaded.head = loaded.head.max(state.head);
        Ok(())
    }
}

impl Clone for DocHandle {
    fn clone(&self) -> Self {
        self.entry.handles.fetch_add(1, Ordering::AcqRel);
        Self { entry: self.entry.clone(), pool: self.pool.clone() }
    }
}

impl Drop for DocHandle {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.release(&self.entry);
        }
    }
}

impl Entry {
    fn new(id: &FileId) -> Self {
        Self {
            id: id.clone(),
            handles: AtomicUsize::new(0),
            last_used: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            slot: Mutex::new(None),
            followers: Followers::default(),
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("documents", &self.entries.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for DocHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DocHandle").field(&self.entry.id).finish()
    }
}
