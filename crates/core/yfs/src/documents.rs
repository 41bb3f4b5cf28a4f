//! The document pool: the content documents in memory, and their eviction.
//!
//! A document is loaded from the store when it is locked, and stays in memory until the pool needs
//! its bytes: the one that was not used for longest is unloaded first (CLOCK, F. J. Corbató 1968).
//! A [`DocHandle`] keeps the entry with its subscribers; the document only if it is pinned.
//!
//! # Invariants
//!
//! - A document is in the map before it is loaded, and its lock is held while it loads: an update
//!   that is tailed meanwhile waits for the lock, so none is lost between load and tail.
//! - An entry leaves the map only while it has no handles.
//! - A document that is locked or pinned is not unloaded.
//! - A document whose change could not be logged is evicted (`DocumentGuard`): the log decides.
//! - A document includes all records of the log up to its head, so that the head identifies the
//!   text that was read.
//! - Subscribers get every record that is tailed, whether the document is in memory or not.

mod guard;

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use dashmap::DashMap;
use parking_lot::Mutex;
use yfs_engine::{
    content::ContentDoc,
    gate::UpdateSource,
    id::{ClientId, FileId},
    kind::ContentRoot,
    main_doc::EMPTY_UPDATE,
};
use yfs_store::{DocHead, DocName, LogRecord, Seq, Store};

pub(crate) use self::guard::DocumentGuard;
use crate::{
    clock::IdSource,
    document_provider::DocumentProvider,
    error::{Result, WorkspaceError},
    freed_memory::FreedMemory,
    load_document,
    subscription::{SubscriberList, Subscription},
    workspace::damage::{is_content_lost, was_set_aside},
};

/// The number of updates that a subscriber may fall behind before its subscription ends.
const SUBSCRIBER_BACKLOG: usize = 4096;

/// The bytes of a document besides its history: one of a single line takes 7 KB (yrs 0.28, mean of
/// 5,000 documents).
const DOC_OVERHEAD: u64 = 6 << 10;

/// The bytes of memory per byte of history, roughly: of plain text, and of rich text, where each
/// block, text and attribute is an object (37 for 6,500 paragraphs, 39 to 79 for lines of one
/// letter).
const MEMORY_PER_BYTE: u64 = 3;
const MEMORY_PER_RICH_BYTE: u64 = 40;

/// Returns the bytes of memory per byte of history.
fn memory_per_byte(kind: ContentRoot) -> u64 {
    match kind {
        ContentRoot::Text => MEMORY_PER_BYTE,
        _ => MEMORY_PER_RICH_BYTE,
    }
}

/// A function that makes an empty document that is edited under a client id.
pub(crate) type NewDoc = dyn Fn(&FileId, ClientId) -> ContentDoc + Send + Sync;

/// A function that returns the root in which the content of a file is kept, or `None` if there is
/// no such file. It is called while a document is locked, so it must not lock any.
pub(crate) type KindOf = dyn Fn(&FileId) -> Option<ContentRoot> + Send + Sync;

/// The documents in memory.
pub(crate) struct DocumentPool {
    entries: DashMap<FileId, Arc<PooledDocument>>,
    /// The documents that were loaded, in the order in which they are considered for unloading. One
    /// that was unloaded otherwise stays in it until then.
    loaded: Mutex<VecDeque<Arc<PooledDocument>>>,
    bytes: AtomicU64,
    budget: u64,
    freed: FreedMemory,
    store: Arc<dyn Store>,
    /// The client id under which this process edits documents.
    client: AtomicU64,
    /// Makes client ids for documents that must not be edited under the usual one.
    ids: Arc<dyn IdSource>,
    new_doc: Box<NewDoc>,
    kind_of: Box<KindOf>,
    provider: Option<Arc<dyn DocumentProvider>>,
}

/// A content document in memory. Dropping the handle releases it.
pub struct DocHandle {
    entry: Arc<PooledDocument>,
    pool: Weak<DocumentPool>,
    is_pinned: bool,
}

/// One slot of the pool.
pub(crate) struct PooledDocument {
    id: FileId,
    handles: AtomicUsize,
    /// The handles that keep the document in memory.
    pins: AtomicUsize,
    /// Whether the document was locked since it was last considered for unloading.
    was_used: AtomicBool,
    /// Whether the entry is in the pool's queue of loaded documents.
    is_queued: AtomicBool,
    bytes: AtomicU64,
    slot: Mutex<Option<LoadedDocument>>,
    followers: SubscriberList,
}

/// A document, and its position in the log.
pub(crate) struct LoadedDocument {
    pub(crate) doc: ContentDoc,
    /// All records of other processes up to this position are in `doc`.
    pub(crate) seen: Seq,
    /// The last logged update of this document that this process knows, its own included.
    pub(crate) head: DocHead,
    /// Whether some of the document's records could not be read.
    pub(crate) is_damaged: bool,
    /// Whether all content of the document was set aside as damaged.
    pub(crate) is_lost: bool,
    /// Kept for its `Drop`.
    _attached: Option<Box<dyn Send>>,
}

impl LoadedDocument {
    /// Fails with [`WorkspaceError::Damaged`] if some of the document's records could not be read.
    pub(crate) fn check_whole(&self, id: &FileId) -> Result<()> {
        if self.is_damaged { Err(WorkspaceError::Damaged(id.clone())) } else { Ok(()) }
    }

    /// Fails with [`WorkspaceError::Damaged`] if some of the document's records could not be read,
    /// and with [`WorkspaceError::ContentLost`] if its content was set aside and has not come back.
    pub(crate) fn check_readable(&self, id: &FileId) -> Result<()> {
        self.check_whole(id)?;
        self.check_not_lost(id)
    }

    /// Fails with [`WorkspaceError::ContentLost`] if the content was set aside as damaged and has
    /// not come back.
    pub(crate) fn check_not_lost(&self, id: &FileId) -> Result<()> {
        let is_lost = self.is_lost && self.doc.text().is_empty();
        if is_lost { Err(WorkspaceError::ContentLost(id.clone())) } else { Ok(()) }
    }
}

impl DocumentPool {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        budget: u64,
        provider: Option<Arc<dyn DocumentProvider>>,
        (client, ids): (ClientId, Arc<dyn IdSource>),
        new_doc: Box<NewDoc>,
        kind_of: Box<KindOf>,
    ) -> Arc<Self> {
        Arc::new(Self {
            entries: DashMap::new(),
            loaded: Mutex::new(VecDeque::new()),
            bytes: AtomicU64::new(0),
            budget,
            freed: FreedMemory::default(),
            store,
            client: AtomicU64::new(client.get()),
            ids,
            new_doc,
            kind_of,
            provider,
        })
    }

    /// Returns a handle of the document, which is loaded when it is first used.
    pub(crate) fn acquire(self: &Arc<Self>, id: &FileId) -> DocHandle {
        let entry =
            self.entries.entry(id.clone()).or_insert_with(|| Arc::new(PooledDocument::new(id)));
        entry.handles.fetch_add(1, Ordering::AcqRel);
        DocHandle { entry: entry.clone(), pool: Arc::downgrade(self), is_pinned: false }
    }

    /// Reads a document for a caller that does not come back to it, such as an index or a copy. One
    /// that was not in memory does not stay there: it takes 16 KB for a file of 1 KB.
    pub(crate) fn read_once<R>(
        self: &Arc<Self>,
        id: &FileId,
        read: impl FnOnce(&mut LoadedDocument) -> R,
    ) -> Result<R> {
        let was_in_memory = self.has_slot(id);
        let read = self.acquire(id).with(read);
        if !was_in_memory {
            self.close(id);
        }
        read
    }

    /// Returns a handle if the document is in memory.
    pub(crate) fn peek(self: &Arc<Self>, id: &FileId) -> Option<DocHandle> {
        self.entries.contains_key(id).then(|| self.acquire(id)).filter(DocHandle::is_loaded)
    }

    /// Reports whether the document has a slot. Without one, nothing can be stale.
    pub(crate) fn has_slot(&self, id: &FileId) -> bool {
        self.entries.contains_key(id)
    }

    /// Closes a document unless a handle of it exists; reports whether it is closed.
    pub(crate) fn close(&self, id: &FileId) -> bool {
        let idle =
            |_: &FileId, entry: &Arc<PooledDocument>| entry.handles.load(Ordering::Acquire) == 0;
        if let Some((_, entry)) = self.entries.remove_if(id, idle) {
            self.unload(&entry);
        }
        !self.has_slot(id)
    }

    /// Returns the client id under which this process edits documents.
    pub(crate) fn client(&self) -> ClientId {
        ClientId::from_random(self.client.load(Ordering::Acquire))
    }

    /// Edits all documents under another client id from now on: each is loaded again before it is
    /// used. The caller must have locked none.
    pub(crate) fn set_client(&self, client: ClientId) {
        self.client.store(client.get(), Ordering::Release);
        let entries: Vec<_> = self.entries.iter().map(|entry| entry.value().clone()).collect();
        for entry in entries {
            let mut slot = entry.slot.lock();
            self.discharge(&entry);
            *slot = None;
        }
    }

    /// Returns the number of documents in memory and their estimated size in bytes.
    pub(crate) fn usage(&self) -> (usize, u64) {
        let is_loaded = |entry: &Arc<PooledDocument>| entry.bytes.load(Ordering::Relaxed) > 0;
        let n_loaded = self.entries.iter().filter(|entry| is_loaded(entry)).count();
        (n_loaded, self.bytes.load(Ordering::Relaxed))
    }

    fn load(&self, entry: &PooledDocument) -> Result<LoadedDocument> {
        let (name, id) = (DocName::from(&entry.id), &entry.id);
        let new_doc = || (self.new_doc)(id, self.client());
        let (mut doc, report) = load_document::content(&*self.store, &name, new_doc)?;
        let was_set_aside = was_set_aside(&*self.store, id)?;
        if report.is_incomplete() || was_set_aside {
            // Some unreadable records may have been written under the usual client id. Reusing its
            // clocks would make peers keep different content under equal state vectors.
            let new_doc = || (self.new_doc)(id, self.ids.client_id());
            (doc, _) = load_document::content(&*self.store, &name, new_doc)?;
        }
        self.discharge(entry);
        let kind = (self.kind_of)(id).unwrap_or(ContentRoot::Text);
        self.charge(entry, DOC_OVERHEAD + report.bytes * memory_per_byte(kind));
        let attached = self.provider.as_ref().map(|provider| provider.attach(&entry.id));
        let (seen, head, is_damaged) = (report.upto, report.head, report.n_damaged > 0);
        let is_lost = was_set_aside && is_content_lost(&*self.store, id)?;
        Ok(LoadedDocument { doc, seen, head, is_damaged, is_lost, _attached: attached })
    }

    fn charge(&self, entry: &PooledDocument, bytes: u64) {
        entry.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Removes a document's bytes from the count.
    fn discharge(&self, entry: &PooledDocument) {
        let bytes = entry.bytes.swap(0, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns memory that was freed besides that of pooled documents, if it is much.
    pub(crate) fn return_freed(&self, bytes: u64) {
        self.freed.return_now(bytes);
    }

    fn release(&self, entry: &Arc<PooledDocument>) {
        // The entry's shard is locked, so that no `acquire` comes between count and removal. A
        // document that is in memory stays, since it may be used again.
        let is_unused = |_: &FileId, _: &Arc<PooledDocument>| {
            let is_last = entry.handles.fetch_sub(1, Ordering::AcqRel) == 1;
            is_last && entry.slot.try_lock().is_some_and(|slot| slot.is_none())
        };
        if self.entries.remove_if(&entry.id, is_unused).is_some() {
            self.discharge(entry);
        }
        self.evict();
    }

    /// Adds a document that was loaded to those that may be unloaded.
    fn enqueue(&self, entry: &Arc<PooledDocument>) {
        if entry.is_queued.swap(true, Ordering::AcqRel) {
            return;
        }
        let n_entries = self.entries.len();
        let mut loaded = self.loaded.lock();
        if loaded.len() > 2 * n_entries + 64 {
            // Entries that left the map.
            loaded.retain(|entry| Arc::strong_count(entry) > 1);
        }
        loaded.push_back(entry.clone());
    }

    /// Unloads documents until the pool is within its budget: those first that were not used for
    /// longest. One that is locked stays.
    fn evict(&self) {
        if self.bytes.load(Ordering::Relaxed) <= self.budget {
            return;
        }
        // Each is considered twice at most: when it was used, and when it was not used since.
        let n_steps = 2 * self.loaded.lock().len();
        self.unload_some(n_steps, self.budget);
        self.freed.return_if_due();
    }

    /// Unloads documents that were not used since the last call, until the pool has at most these
    /// bytes. Reports whether there were any.
    pub(crate) fn unload_idle(&self, budget: u64) -> bool {
        let before = self.bytes.load(Ordering::Relaxed);
        let n_steps = self.loaded.lock().len();
        self.unload_some(n_steps, budget);
        self.bytes.load(Ordering::Relaxed) < before
    }

    fn unload_some(&self, n_steps: usize, budget: u64) {
        for _ in 0..n_steps {
            if self.bytes.load(Ordering::Relaxed) <= budget {
                return;
            }
            let Some(entry) = self.loaded.lock().pop_front() else { return };
            if entry.was_used.swap(false, Ordering::Relaxed) || !self.unload(&entry) {
                self.loaded.lock().push_back(entry);
                continue;
            }
            entry.is_queued.store(false, Ordering::Release);
            // One that was loaded again meanwhile is still to be found.
            if entry.slot.try_lock().is_none_or(|slot| slot.is_some()) {
                self.enqueue(&entry);
            }
            self.entries.remove_if(&entry.id, |_, current| {
                let is_unused = current.handles.load(Ordering::Acquire) == 0;
                is_unused && current.slot.try_lock().is_some_and(|slot| slot.is_none())
            });
        }
    }

    /// Unloads a document unless it is locked or kept in memory by a handle; reports whether it is
    /// no longer there.
    fn unload(&self, entry: &PooledDocument) -> bool {
        let Some(mut slot) = entry.slot.try_lock() else { return false };
        if entry.pins.load(Ordering::Acquire) > 0 {
            return false;
        }
        self.freed.count(entry.bytes.load(Ordering::Relaxed));
        self.discharge(entry);
        *slot = None;
        true
    }
}

impl DocHandle {
    /// Returns the id of the file, which is the guid of the document.
    pub fn id(&self) -> &FileId {
        &self.entry.id
    }

    /// Keeps the document in memory while the handle exists, whatever the budget.
    pub(crate) fn pin(&mut self) {
        if !self.is_pinned {
            self.is_pinned = true;
            self.entry.pins.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Subscribes to the updates of the document from now on, in the order in which they were
    /// logged.
    ///
    /// The caller must subscribe before it reads a state. A subscription that falls too far behind
    /// ends, and the caller must start over from a state.
    pub fn subscribe(&self) -> Subscription {
        self.entry.followers.add(SUBSCRIBER_BACKLOG)
    }

    /// Sends a logged update to the document's subscribers.
    pub(crate) fn publish(&self, update: &[u8]) {
        self.entry.followers.publish(update);
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.entry.slot.lock().is_some()
    }

    /// Runs `f` on the document, loading it if necessary. `f` must not change it.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut LoadedDocument) -> R) -> Result<R> {
        let mut guard = self.lock()?;
        Ok(f(guard.loaded().expect("`lock` loads the document")))
    }

    /// Locks the document, loaded or not.
    pub(crate) fn lock_slot(&self) -> DocumentGuard<'_> {
        DocumentGuard::new(self, self.entry.slot.lock())
    }

    /// Locks the document, loading it if necessary.
    ///
    /// # Errors
    ///
    /// Fails if the store fails, or if the stored document cannot be read.
    pub(crate) fn lock(&self) -> Result<DocumentGuard<'_>> {
        let mut slot = self.entry.slot.lock();
        self.load_into(&mut slot)?;
        Ok(DocumentGuard::new(self, slot))
    }

    fn load_into(&self, slot: &mut Option<LoadedDocument>) -> Result<()> {
        let pool = self.pool.upgrade().ok_or(WorkspaceError::Closed)?;
        // A document in which the CRDT library panicked reads as empty; it is loaded again from the
        // log.
        if slot.as_ref().is_some_and(|loaded| loaded.doc.gate().health().is_err()) {
            *slot = None;
        }
        let loaded = match slot {
            Some(loaded) => loaded,
            empty => {
                let loaded = empty.insert(pool.load(&self.entry)?);
                pool.enqueue(&self.entry);
                pool.evict();
                loaded
            }
        };
        self.entry.was_used.store(true, Ordering::Relaxed);
        // The file may have been renamed since it was loaded.
        if let Some(kind) = (pool.kind_of)(&self.entry.id) {
            loaded.doc.set_kind(kind);
        }
        Ok(())
    }

    /// Counts bytes that an edit of a document added.
    pub(crate) fn charge(&self, update: &[u8], kind: ContentRoot) {
        if let Some(pool) = self.pool.upgrade() {
            pool.charge(&self.entry, update.len() as u64 * memory_per_byte(kind));
            pool.evict();
        }
    }

    /// Applies the records of other processes that the document lacks: those after `tailed`, up to
    /// which all were applied. Subscribers get them when they are tailed.
    ///
    /// # Errors
    ///
    /// Also if the document must be loaded again.
    fn apply_tail(&self, loaded: &mut LoadedDocument, tailed: Seq) -> Result<()> {
        let pool = self.pool.upgrade().ok_or(WorkspaceError::Closed)?;
        let (name, own) = (DocName::from(&self.entry.id), pool.store.origin());
        loop {
            let after = loaded.seen.max(tailed);
            let page = pool.store.tail(after, &|doc, origin| *doc == name && origin != own)?;
            let is_damaged = page.damaged.iter().any(|damage| damage.doc == name);
            if is_damaged || page.reload.iter().any(|reload| reload.doc == name) {
                return self.apply_log(loaded);
            }
            for record in &page.records {
                if record.data == EMPTY_UPDATE {
                    return Err(WorkspaceError::Damaged(self.entry.id.clone()));
                }
                loaded.doc.receive(&record.data, UpdateSource::Store)?;
                loaded.head = loaded.head.max(record.head());
                self.charge(&record.data, loaded.doc.kind());
            }
            loaded.seen = page.upto.max(after);
            if !page.more {
                return Ok(());
            }
        }
    }

    /// Applies all records that the log has of the document. The tailed position stays unchanged,
    /// so that subscribers still get the new records.
    fn apply_log(&self, loaded: &mut LoadedDocument) -> Result<()> {
        if loaded.doc.gate().parked().was_used() {
            // As in `reload`.
            return Err(WorkspaceError::Damaged(self.entry.id.clone()));
        }
        let pool = self.pool.upgrade().ok_or(WorkspaceError::Closed)?;
        let state = pool.store.load(&DocName::from(&self.entry.id))?;
        let updates = state.updates.iter().map(|record| &record.data);
        for update in state.snapshot.iter().chain(updates) {
            loaded.doc.receive(update, UpdateSource::Store)?;
        }
        loaded.head = loaded.head.max(state.head);
        Ok(())
    }

    /// Applies a record that another process logged, and publishes it.
    pub(crate) fn tail(&self, record: &LogRecord) {
        let mut slot = self.entry.slot.lock();
        if let Some(loaded) = slot.as_mut().filter(|loaded| loaded.seen < record.seq) {
            loaded.seen = record.seq;
            loaded.head = loaded.head.max(record.head());
            match loaded.doc.receive(&record.data, UpdateSource::Store) {
                // Records of the document were dropped: what is in memory may have their content.
                _ if record.data == EMPTY_UPDATE => *slot = None,
                Ok(_) => self.charge(&record.data, loaded.doc.kind()),
                // Every process rejects the same records; the next load reports them.
                Err(_) => *slot = None,
            }
        }
        // Sent even if the document has the record already or is not in memory: its subscribers may
        // not have received it. Sending an update twice does no harm.
        self.publish(&record.data);
    }

    /// Applies and publishes the logged state, after compaction removed records up to `upto` before
    /// they were tailed.
    pub(crate) fn reload(&self, upto: Seq) -> Result<()> {
        let Some(pool) = self.pool.upgrade() else { return Ok(()) };
        let mut slot = self.entry.slot.lock();
        let is_behind = slot.as_ref().is_some_and(|loaded| loaded.seen < upto);
        if slot.as_ref().is_some_and(|loaded| is_behind && loaded.doc.gate().parked().was_used()) {
            // The records that waited may have been dropped, and are in this document.
            *slot = None;
        }
        if !is_behind && self.entry.followers.is_empty() {
            return Ok(());
        }
        let state = pool.store.load(&DocName::from(&self.entry.id))?;
        let updates = state.updates.iter().map(|record| &record.data);
        for update in state.snapshot.iter().chain(updates) {
            if let Some(loaded) = slot.as_mut().filter(|_| is_behind)
                && loaded.doc.receive(update, UpdateSource::Store).is_err()
            {
                *slot = None;
            }
            self.publish(update);
        }
        if let Some(loaded) = slot.as_mut().filter(|_| is_behind) {
            loaded.seen = state.upto;
            loaded.head = loaded.head.max(state.head);
        }
        Ok(())
    }
}

impl Clone for DocHandle {
    fn clone(&self) -> Self {
        self.entry.handles.fetch_add(1, Ordering::AcqRel);
        let mut handle =
            Self { entry: self.entry.clone(), pool: self.pool.clone(), is_pinned: false };
        if self.is_pinned {
            handle.pin();
        }
        handle
    }
}

impl Drop for DocHandle {
    fn drop(&mut self) {
        if self.is_pinned {
            self.entry.pins.fetch_sub(1, Ordering::AcqRel);
        }
        if let Some(pool) = self.pool.upgrade() {
            pool.release(&self.entry);
        }
    }
}

impl PooledDocument {
    fn new(id: &FileId) -> Self {
        Self {
            id: id.clone(),
            handles: AtomicUsize::new(0),
            pins: AtomicUsize::new(0),
            was_used: AtomicBool::new(false),
            is_queued: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            slot: Mutex::new(None),
            followers: SubscriberList::default(),
        }
    }
}

impl fmt::Debug for DocumentPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentPool")
            .field("documents", &self.entries.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for DocHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DocHandle").field(&self.entry.id).finish()
    }
}
