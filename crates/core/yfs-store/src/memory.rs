//! A store in memory: for tests, and for temporary workspaces.
//!
//! [`MemoryStore::another_handle`] stands for another process on the same store.

mod quarantine;

use std::{
    collections::{BTreeMap, HashMap},
    io::{Read, Write},
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use smol_str::SmolStr;
use yfs_types::{hash::ContentHash, id::ClientId, time::Millis};

use self::quarantine::Quarantine;
use crate::{
    AppendBatch, AppendReceipt, BlobInfo, BlobMark, BlobStore, CheckReport, CompactionOutcome,
    DocFact, DocHead, DocHistory, DocName, DocStats, Durability, HandleOrigin, HeadPrecondition,
    LocalState, LogRecord, MergeFn, ParkedNote, PastHead, QuarantinedUpdate, ReloadNotice, Seq,
    Store, StoreError, StoreStats, StoredDocument, TailPage, TouchedDocument, UpdateLog,
    WriterClaim, past_heads, quarantine::RefusedUpdate, record::new_ids,
};

/// The most bytes of records in one page of the tail.
const PAGE_BYTES: usize = 8 << 20;

/// A store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<MemoryShared>,
    origin: HandleOrigin,
    closed: AtomicBool,
}

#[derive(Debug)]
struct MemoryShared {
    state: Mutex<MemoryState>,
    /// Notified by each append; callers of [`wait`](UpdateLog::wait) wait on it.
    grown: Condvar,
}

#[derive(Debug, Default)]
struct MemoryState {
    now: MemoryData,
    /// The state that survives a power cut, if this store models one.
    durable: Option<MemoryData>,
}

#[derive(Debug, Default, Clone)]
struct MemoryData {
    head: Seq,
    log: BTreeMap<Seq, MemoryRecord>,
    docs: HashMap<DocName, MemoryDoc>,
    quarantine: Quarantine,
    parked: BTreeMap<DocName, ParkedNote>,
    blobs: BTreeMap<ContentHash, StoredBlob>,
    /// The mark of the last put of a blob.
    last_put: BlobMark,
    first_seen: HashMap<SmolStr, Millis>,
    meta: HashMap<SmolStr, Vec<u8>>,
    secrets: HashMap<SmolStr, Vec<u8>>,
    released: Vec<[ClientId; 4]>,
}

#[derive(Debug, Clone)]
struct StoredBlob {
    content: Arc<[u8]>,
    at: Millis,
    put: BlobMark,
}

#[derive(Debug, Clone)]
struct MemoryRecord {
    doc: DocName,
    origin: HandleOrigin,
    at: Millis,
    data: Arc<[u8]>,
}

#[derive(Debug, Default, Clone)]
struct MemoryDoc {
    records: Vec<Seq>,
    /// The last record of each handle.
    heads: HashMap<HandleOrigin, Seq>,
    head: DocHead,
    snapshot: Option<Arc<[u8]>>,
    /// Heads that the snapshot covers.
    past_heads: Vec<PastHead>,
    /// The position up to which compaction or `forget` has removed records, and the position of its
    /// marker in the log.
    compacted: Option<(Seq, Seq)>,
    forgotten: bool,
    fact: Option<DocFact>,
}

impl MemoryStore {
    /// Makes an empty store.
    pub fn new() -> Self {
        Self::with(MemoryState::default())
    }

    /// Makes an empty store that remembers what was flushed, for [`cut_power`](Self::cut_power).
    /// Every flush copies the whole store, so this is for tests.
    pub fn with_power_cuts() -> Self {
        Self::with(MemoryState { durable: Some(MemoryData::default()), ..MemoryState::default() })
    }

    fn with(state: MemoryState) -> Self {
        let shared = MemoryShared { state: Mutex::new(state), grown: Condvar::new() };
        Self::on(Arc::new(shared))
    }

    /// Opens the same store again, as another process would.
    pub fn another_handle(&self) -> Self {
        Self::on(self.shared.clone())
    }

    fn on(shared: Arc<MemoryShared>) -> Self {
        Self { shared, origin: HandleOrigin::random(), closed: AtomicBool::new(false) }
    }

    /// Drops all changes that were not flushed. Does nothing unless the store was made by
    /// [`with_power_cuts`](Self::with_power_cuts).
    pub fn cut_power(&self) {
        let mut state = self.shared.state.lock();
        if let Some(durable) = state.durable.clone() {
            state.now = durable;
        }
    }

    fn state(&self) -> Result<MutexGuard<'_, MemoryState>, StoreError> {
        let state = self.shared.state.lock();
        if self.closed.load(Ordering::Relaxed) { Err(StoreError::Closed) } else { Ok(state) }
    }
}

impl StoredBlob {
    fn info(&self, hash: &ContentHash) -> BlobInfo {
        BlobInfo { hash: *hash, size: self.content.len() as u64, at: self.at }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryState {
    fn sync(&mut self) {
        if self.durable.is_some() {
            self.durable = Some(self.now.clone());
        }
    }
}

impl MemoryData {
    fn record(&self, seq: Seq) -> LogRecord {
        let MemoryRecord { doc, origin, at, data } = &self.log[&seq];
        LogRecord { seq, doc: doc.clone(), origin: *origin, at: *at, data: data.to_vec() }
    }

    fn append(
        &mut self,
        batch: AppendBatch,
        origin: HandleOrigin,
    ) -> Result<AppendReceipt, StoreError> {
        for expect in &batch.expect {
            if let Some(head) = self.foreign_head_after(expect, origin) {
                return Err(StoreError::HeadMoved { doc: expect.doc.clone(), head });
            }
        }
        if let Some(hash) = batch.blobs.iter().find(|hash| !self.blobs.contains_key(hash)) {
            return Err(StoreError::NoBlob { hash: *hash });
        }
        for hash in &batch.blobs {
            self.last_put.0 += 1;
            let put = self.last_put;
            if let Some(blob) = self.blobs.get_mut(hash) {
                blob.put = put;
            }
        }
        let overtaken =
            batch.watch.iter().any(|watched| self.foreign_head_after(watched, origin).is_some());
        let mut facts = batch.facts;
        facts.retain(|(doc, fact)| {
            self.docs.get(doc).map_or(Seq::ZERO, |doc| doc.head.seq) <= fact.upto
        });
        let first = if batch.updates.is_empty() { self.head } else { Seq(self.head.0 + 1) };
        for (name, data) in batch.updates {
            self.head.0 += 1;
            let seq = self.head;
            let doc = self.docs.entry(name.clone()).or_default();
            doc.records.push(seq);
            doc.heads.insert(origin, seq);
            doc.head = DocHead { seq, origin };
            self.log
                .insert(seq, MemoryRecord { doc: name, origin, at: batch.at, data: data.into() });
        }
        for (name, fact) in facts {
            if let Some(doc) = self.docs.get_mut(&name) {
                doc.fact = Some(DocFact { upto: doc.head.seq, ..fact });
            }
        }
        Ok(AppendReceipt { first, last: self.head, overtaken })
    }

    /// Returns another handle's last record of the document, if it is after the position that the
    /// precondition names.
    fn foreign_head_after(&self, expect: &HeadPrecondition, origin: HandleOrigin) -> Option<Seq> {
        let heads = &self.docs.get(&expect.doc)?.heads;
        let others = heads.iter().filter(|(other, _)| **other != origin);
        others.map(|(_, seq)| *seq).max().filter(|head| *head > expect.seen)
    }

    fn load(&self, name: &DocName) -> StoredDocument {
        let Some(doc) = self.docs.get(name) else {
            return StoredDocument { upto: self.head, ..StoredDocument::default() };
        };
        StoredDocument {
            snapshot: doc.snapshot.as_ref().map(|state| state.to_vec()),
            updates: doc.records.iter().map(|seq| self.record(*seq)).collect(),
            snapshot_upto: match doc.compacted {
                Some((upto, _)) if doc.snapshot.is_some() => upto,
                _ => Seq::ZERO,
            },
            head: doc.head,
            upto: self.head,
            damaged: Vec::new(),
        }
    }

    fn tail(
        &self,
        after: Seq,
        own: HandleOrigin,
        select: &dyn Fn(&DocName, HandleOrigin) -> bool,
    ) -> TailPage {
        let mut tail = TailPage { upto: self.head, head: self.head, ..TailPage::default() };
        for (name, doc) in &self.docs {
            let due = doc.compacted.filter(|(upto, at)| *upto > after && *at > after);
            tail.reload.extend(due.map(|(upto, _)| ReloadNotice {
                doc: name.clone(),
                upto,
                forgotten: doc.forgotten,
            }));
        }
        let mut n_bytes = 0;
        let mut touched: HashMap<DocName, (Seq, bool)> = HashMap::new();
        for (seq, entry) in self.log.range(Seq(after.0 + 1)..) {
            if n_bytes > PAGE_BYTES {
                tail.upto = Seq(seq.0 - 1);
                tail.more = true;
                break;
            }
            let (head, all_own) = touched.entry(entry.doc.clone()).or_insert((*seq, true));
            *head = *seq;
            *all_own &= entry.origin == own;
            if select(&entry.doc, entry.origin) {
                n_bytes += entry.data.len();
                tail.records.push(self.record(*seq));
            }
        }
        let touched =
            touched.into_iter().map(|(doc, (head, own))| TouchedDocument { doc, head, own });
        tail.touched = touched.collect();
        tail.touched.sort_by_key(|touched| touched.head);
        tail
    }

    fn stats_of(&self, name: &DocName, doc: &MemoryDoc) -> DocStats {
        DocStats {
            doc: name.clone(),
            n_records: doc.records.len() as u64,
            bytes: doc.records.iter().map(|seq| self.log[seq].data.len() as u64).sum(),
            snapshot_bytes: doc.snapshot.as_ref().map_or(0, |state| state.len() as u64),
            head: doc.head.seq,
        }
    }

    /// Appends an entry that is not an update, and returns its position.
    fn append_marker(&mut self) -> Seq {
        self.head.0 += 1;
        self.head
    }
}

impl UpdateLog for MemoryStore {
    fn origin(&self) -> HandleOrigin {
        self.origin
    }

    fn append(&self, batch: AppendBatch) -> Result<AppendReceipt, StoreError> {
        let mut state = self.state()?;
        let durability = batch.durability;
        let appended = state.now.append(batch, self.origin)?;
        if durability == Durability::Synced {
            state.sync();
        }
        self.shared.grown.notify_all();
        Ok(appended)
    }

    fn load(&self, doc: &DocName) -> Result<StoredDocument, StoreError> {
        Ok(self.state()?.now.load(doc))
    }

    fn load_history(&self, doc: &DocName) -> Result<DocHistory, StoreError> {
        let data = &self.state()?.now;
        let past_heads = data.docs.get(doc).map(|doc| doc.past_heads.clone()).unwrap_or_default();
        Ok(DocHistory { loaded: data.load(doc), past_heads })
    }

    /// Nothing in memory is damaged.
    fn set_aside_damaged(&self, _doc: &DocName, _at: Millis) -> Result<u64, StoreError> {
        Ok(0)
    }

    fn tail(
        &self,
        after: Seq,
        select: &dyn Fn(&DocName, HandleOrigin) -> bool,
    ) -> Result<TailPage, StoreError> {
        Ok(self.state()?.now.tail(after, self.origin, select))
    }

    fn head(&self) -> Result<Seq, StoreError> {
        Ok(self.state()?.now.head)
    }

    fn doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError> {
        Ok(self.state()?.now.docs.get(doc).map_or(DocHead::ZERO, |doc| doc.head))
    }

    fn wait(&self, after: Seq, timeout: Duration) -> Result<bool, StoreError> {
        let until = Instant::now() + timeout;
        let mut state = self.state()?;
        while state.now.head <= after && !self.closed.load(Ordering::Relaxed) {
            if self.shared.grown.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        Ok(state.now.head > after)
    }

    fn compact(
        &self,
        name: &DocName,
        merge: &MergeFn<'_>,
    ) -> Result<CompactionOutcome, StoreError> {
        let before = self.state()?.now.load(name);
        let Some(last) = before.updates.last().map(|record| record.seq) else {
            return Ok(CompactionOutcome::Nothing);
        };
        let merged = merge(before.snapshot.as_deref(), &before.updates)
            .map_err(|source| StoreError::Merge { doc: name.clone(), source: source.into() })?;

        let mut state = self.state()?;
        let data = &mut state.now;
        let Some(doc) = data.docs.get_mut(name) else { return Ok(CompactionOutcome::Raced) };
        if doc.snapshot.as_deref() != before.snapshot.as_deref() {
            return Ok(CompactionOutcome::Raced);
        }
        let absorbed: Vec<Seq> = before
            .updates
            .iter()
            .zip(&merged.absorbed)
            .filter_map(|(record, absorbed)| absorbed.then_some(record.seq))
            .collect();
        if absorbed.is_empty() {
            return Ok(CompactionOutcome::Nothing);
        }
        let mut bytes_before = before.snapshot.as_ref().map_or(0, |state| state.len() as u64);
        let bytes_after = merged.state.len() as u64;
        doc.records.retain(|seq| !absorbed.contains(seq));
        let earlier = std::mem::take(&mut doc.past_heads);
        doc.past_heads = past_heads::extend_heads(earlier, &before, &merged.changes);
        doc.snapshot = Some(merged.state.into());
        doc.forgotten = false;
        let n_kept = doc.records.len() as u64;
        for seq in &absorbed {
            bytes_before += data.log.remove(seq).map_or(0, |entry| entry.data.len() as u64);
        }
        for (index, rewritten) in merged.rewritten {
            let seq = before.updates[index].seq;
            if let Some(entry) = data.log.get_mut(&seq) {
                entry.data = rewritten.into();
            }
        }
        let at = data.append_marker();
        let doc = data.docs.entry(name.clone()).or_default();
        // The records that stay may be older than those that an earlier compaction removed.
        let reaches = last.max(before.snapshot_upto);
        doc.compacted = Some((reaches, at));
        self.shared.grown.notify_all();
        let n_absorbed = absorbed.len() as u64;
        Ok(CompactionOutcome::Done { n_absorbed, n_kept, bytes_before, bytes_after })
    }

    fn time_at(&self, position: Seq) -> Result<Option<Millis>, StoreError> {
        let data = &self.state()?.now;
        Ok(data.log.range(position..).next().map(|(_, record)| record.at))
    }

    fn documents(&self) -> Result<Vec<DocStats>, StoreError> {
        let data = &self.state()?.now;
        Ok(data.docs.iter().map(|(name, doc)| data.stats_of(name, doc)).collect())
    }

    fn doc_stats(&self, name: &DocName) -> Result<Option<DocStats>, StoreError> {
        let data = &self.state()?.now;
        Ok(data.docs.get(name).map(|doc| data.stats_of(name, doc)))
    }

    fn forget(&self, name: &DocName, head: Seq) -> Result<u64, StoreError> {
        let mut state = self.state()?;
        let data = &mut state.now;
        let Some(doc) = data.docs.get_mut(name) else { return Ok(0) };
        if doc.head.seq != head {
            return Err(StoreError::HeadMoved { doc: name.clone(), head: doc.head.seq });
        }
        doc.past_heads.clear();
        let mut n_bytes = doc.snapshot.take().map_or(0, |state| state.len() as u64);
        let records = std::mem::take(&mut doc.records);
        let head = doc.head.seq;
        for seq in records {
            n_bytes += data.log.remove(&seq).map_or(0, |entry| entry.data.len() as u64);
        }
        let at = data.append_marker();
        let doc = data.docs.entry(name.clone()).or_default();
        doc.fact = None;
        doc.forgotten = true;
        doc.compacted = Some((head, at));
        self.shared.grown.notify_all();
        Ok(n_bytes)
    }
}

impl BlobStore for MemoryStore {
    fn put_blob(&self, content: &mut dyn Read, at: Millis) -> Result<BlobInfo, StoreError> {
        let mut bytes = Vec::new();
        content
            .read_to_end(&mut bytes)
            .map_err(|source| StoreError::Stream { source: Arc::new(source) })?;
        let (hash, size) = (ContentHash::of(&bytes), bytes.len() as u64);
        let mut state = self.state()?;
        let data = &mut state.now;
        data.last_put.0 += 1;
        let put = data.last_put;
        let fresh = || StoredBlob { content: bytes.into(), at, put };
        let blob = data.blobs.entry(hash).or_insert_with(fresh);
        (blob.at, blob.put) = (at.max(blob.at), put);
        Ok(BlobInfo { hash, size, at: blob.at })
    }

    fn touch_blob(&self, hash: &ContentHash, at: Millis) -> Result<BlobInfo, StoreError> {
        let mut state = self.state()?;
        let MemoryData { blobs, last_put, .. } = &mut state.now;
        let blob = blobs.get_mut(hash).ok_or(StoreError::NoBlob { hash: *hash })?;
        last_put.0 += 1;
        (blob.at, blob.put) = (at.max(blob.at), *last_put);
        Ok(blob.info(hash))
    }

    fn read_blob(&self, hash: &ContentHash, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let state = self.state()?;
        let Some(StoredBlob { content, .. }) = state.now.blobs.get(hash) else {
            return Err(StoreError::NoBlob { hash: *hash });
        };
        let end = range.end.min(content.len() as u64) as usize;
        let start = range.start.min(end as u64) as usize;
        Ok(content[start..end].to_vec())
    }

    fn copy_blob(&self, hash: &ContentHash, to: &mut dyn Write) -> Result<u64, StoreError> {
        let content = self.state()?.now.blobs.get(hash).map(|blob| blob.content.clone());
        let content = content.ok_or(StoreError::NoBlob { hash: *hash })?;
        to.write_all(&content).map_err(|source| StoreError::Stream { source: Arc::new(source) })?;
        Ok(content.len() as u64)
    }

    fn blob_info(&self, hash: &ContentHash) -> Result<Option<BlobInfo>, StoreError> {
        let state = self.state()?;
        Ok(state.now.blobs.get(hash).map(|blob| blob.info(hash)))
    }

    fn blobs(&self) -> Result<Vec<BlobInfo>, StoreError> {
        let state = self.state()?;
        Ok(state.now.blobs.iter().map(|(hash, blob)| blob.info(hash)).collect())
    }

    fn blob_mark(&self) -> Result<BlobMark, StoreError> {
        Ok(self.state()?.now.last_put)
    }

    fn remove_blobs(
        &self,
        mark: BlobMark,
        older_than: Millis,
        keep: &dyn Fn(&ContentHash) -> bool,
    ) -> Result<u64, StoreError> {
        let is_old = |blob: &StoredBlob| blob.put <= mark && blob.at < older_than;
        let old = |state: &MemoryState| -> Vec<ContentHash> {
            let blobs = state.now.blobs.iter();
            blobs.filter(|(_, blob)| is_old(blob)).map(|(hash, _)| *hash).collect()
        };
        let candidates = old(&*self.state()?);
        let doomed: Vec<_> = candidates.into_iter().filter(|hash| !keep(hash)).collect();
        let mut state = self.state()?;
        let mut n_bytes = 0;
        for hash in doomed {
            if state.now.blobs.get(&hash).is_some_and(is_old) {
                let removed = state.now.blobs.remove(&hash);
                n_bytes += removed.map_or(0, |blob| blob.content.len() as u64);
            }
        }
        Ok(n_bytes)
    }
}

impl LocalState for MemoryStore {
    fn quarantine(
        &self,
        doc: &DocName,
        update: &[u8],
        reason: &str,
        at: Millis,
    ) -> Result<(), StoreError> {
        let refused = RefusedUpdate::new(doc.as_str(), update, reason, at);
        self.state()?.now.quarantine.add(doc, &refused);
        Ok(())
    }

    fn quarantined(&self) -> Result<Vec<QuarantinedUpdate>, StoreError> {
        Ok(self.state()?.now.quarantine.list())
    }

    fn quarantined_update(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.state()?.now.quarantine.update(number))
    }

    fn drop_quarantined(&self, number: Option<u64>) -> Result<u64, StoreError> {
        Ok(self.state()?.now.quarantine.drop_entries(number))
    }

    fn note_parked(&self, doc: &DocName, note: Option<&ParkedNote>) -> Result<(), StoreError> {
        let parked = &mut self.state()?.now.parked;
        match note {
            Some(note) => parked.insert(doc.clone(), note.clone()),
            None => parked.remove(doc),
        };
        Ok(())
    }

    fn parked(&self) -> Result<Vec<ParkedNote>, StoreError> {
        Ok(self.state()?.now.parked.values().cloned().collect())
    }

    fn doc_facts(&self, docs: &[DocName]) -> Result<Vec<Option<DocFact>>, StoreError> {
        let state = self.state()?;
        let current = |name| {
            let doc: &MemoryDoc = state.now.docs.get(name)?;
            doc.fact.filter(|fact| fact.upto >= doc.head.seq)
        };
        Ok(docs.iter().map(current).collect())
    }

    fn set_doc_facts(&self, facts: &[(DocName, DocFact)]) -> Result<(), StoreError> {
        let mut state = self.state()?;
        for (name, fact) in facts {
            if let Some(doc) = state.now.docs.get_mut(name) {
                doc.fact = Some(*fact);
            }
        }
        Ok(())
    }

    fn note_first_seen(&self, keys: &[&str], at: Millis) -> Result<(), StoreError> {
        let mut state = self.state()?;
        for key in keys {
            state.now.first_seen.entry(SmolStr::new(key)).or_insert(at);
        }
        Ok(())
    }

    fn first_seen(&self, key: &str) -> Result<Option<Millis>, StoreError> {
        Ok(self.state()?.now.first_seen.get(key).copied())
    }

    fn clear_first_seen(&self, keys: &[&str]) -> Result<(), StoreError> {
        let mut state = self.state()?;
        for key in keys {
            state.now.first_seen.remove(*key);
        }
        Ok(())
    }

    fn get_meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.state()?.now.meta.get(key).cloned())
    }

    fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.state()?.now.meta.insert(SmolStr::new(key), value.to_vec());
        Ok(())
    }

    fn init_meta(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut state = self.state()?;
        let entry = state.now.meta.entry(SmolStr::new(key));
        Ok(entry.or_insert_with(|| value.to_vec()).clone())
    }

    fn init_secret(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut state = self.state()?;
        let entry = state.now.secrets.entry(SmolStr::new(key));
        Ok(entry.or_insert_with(|| value.to_vec()).clone())
    }

    fn set_secret(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.state()?.now.secrets.insert(SmolStr::new(key), value.to_vec());
        Ok(())
    }

    fn claim_writer(&self) -> Result<WriterClaim, StoreError> {
        let released = self.state()?.now.released.pop();
        let reused = released.is_some();
        let [rows, cells, meta, content] = released.unwrap_or_else(new_ids);
        Ok(WriterClaim { rows, cells, meta, content, reused })
    }

    fn release_writer(&self, claim: WriterClaim) -> Result<(), StoreError> {
        let WriterClaim { rows, cells, meta, content, .. } = claim;
        self.state()?.now.released.push([rows, cells, meta, content]);
        Ok(())
    }
}

impl Store for MemoryStore {
    fn wipe(&self) -> Result<(), StoreError> {
        // There is no file, so removed content is gone already.
        self.state().map(drop)
    }

    fn stats(&self) -> Result<StoreStats, StoreError> {
        let state = self.state()?;
        let data = &state.now;
        let docs: Vec<_> = data.docs.iter().map(|(name, doc)| data.stats_of(name, doc)).collect();
        let record_bytes = docs.iter().map(|doc| doc.bytes).sum();
        let snapshot_bytes = docs.iter().map(|doc| doc.snapshot_bytes).sum();
        let blob_bytes = data.blobs.values().map(|blob| blob.content.len() as u64).sum();
        Ok(StoreStats {
            n_docs: docs.len() as u64,
            n_records: data.log.len() as u64,
            record_bytes,
            snapshot_bytes,
            n_blobs: data.blobs.len() as u64,
            blob_bytes,
            file_bytes: record_bytes + snapshot_bytes + blob_bytes,
            head: data.head,
            ..data.quarantine.stats()
        })
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.state()?.sync();
        Ok(())
    }

    fn backup(&self, _to: &Path, _progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError> {
        Err(StoreError::Unsupported { action: "back up: it is in memory only" })
    }

    fn check_with_progress(&self, _: &mut dyn FnMut(u64, u64)) -> Result<CheckReport, StoreError> {
        let state = self.state()?;
        let data = &state.now;
        Ok(CheckReport {
            n_records: data.log.len() as u64,
            n_snapshots: data.docs.values().filter(|doc| doc.snapshot.is_some()).count() as u64,
            n_blobs: data.blobs.len() as u64,
            problems: Vec::new(),
        })
    }

    fn check_log(&self) -> Result<CheckReport, StoreError> {
        Ok(CheckReport { n_blobs: 0, ..self.check()? })
    }

    fn close(&self) -> Result<(), StoreError> {
        self.flush()?;
        self.closed.store(true, Ordering::Relaxed);
        self.shared.grown.notify_all();
        Ok(())
    }
}
