//! A store of three parts that were made apart: a log, blobs, and the local state of a machine.
//!
//! The parts share no transaction. [`CompositeStore`] orders its calls so that the log never names
//! what the other parts do not have; what it cannot keep up, it leaves out.
//!
//! # What holds across the parts
//!
//! - An append is atomic in the log. Before it, the blobs that the batch names are counted as put
//!   and flushed, so that a power cut cannot take a blob from a row that names it. A batch that is
//!   refused after that has changed nothing but the age of these blobs.
//! - Between the check of a blob and the append, only `older_than` protects the blob from
//!   [`BlobStore::remove_blobs`], as between a put and an append. The two are one step in a store
//!   with one transaction.
//! - Facts are settings of the local state (`composite/fact_entry.rs`), written after the append.
//!   If that fails, or the process dies in between, they are missing. A fact is returned only if
//!   the record that it was computed at is still the last one of its document.
//! - [`Store::flush`] flushes the blobs, then the log, then the local state.
//! - Released client ids are not reused: the local state cannot tell whether the log was replaced
//!   by an older copy, in which they were not used yet. Every claim makes new ids.
//! - [`Store::backup`] is not supported, since three copies that were made one after another are
//!   not one state. Back up the parts: the blobs last, so that they include all that the log names.
//!
//! # Cost
//!
//! An append reads the log's head, and with facts a page of its tail without the records. A batch
//! that names blobs flushes them. Appends of one handle wait for each other.

mod fact_entry;

use std::{
    io::{Read, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use yfs_types::{hash::ContentHash, time::Millis};

use self::fact_entry::FactEntry;
use crate::{
    AppendBatch, AppendReceipt, BlobInfo, BlobMark, BlobStore, CheckReport, CompactionOutcome,
    DocFact, DocHead, DocHistory, DocName, DocStats, HandleOrigin, LocalState, LogRecord, MergeFn,
    ParkedNote, QuarantinedUpdate, Seq, Store, StoreError, StoreStats, StoredDocument, TailPage,
    UpdateLog, WriterClaim,
    encryption::{Cipher, KeyKind},
    forward::forward_to,
    record::new_ids,
};

/// The upkeep of a part of a [`CompositeStore`]. Every [`Store`] is a part.
///
/// The methods mean what those of [`Store`] mean, for what the part holds. A part leaves the fields
/// of reports that do not concern it at zero.
pub trait StorePart {
    /// Erases removed content from all files of the part.
    fn wipe_part(&self) -> Result<(), StoreError>;

    /// Returns the size of the part.
    fn part_stats(&self) -> Result<StoreStats, StoreError>;

    /// Returns the kind of key that opens the part; `None` if it is not encrypted.
    fn part_key_kind(&self) -> Result<Option<KeyKind>, StoreError> {
        Ok(None)
    }

    /// Returns the cipher for files of a purpose that belong to the part; `None` if it is not
    /// encrypted.
    fn part_cipher(&self, _purpose: &str) -> Option<Arc<Cipher>> {
        None
    }

    /// Syncs the part; all earlier changes survive a power cut once it returns.
    fn flush_part(&self) -> Result<(), StoreError>;

    /// Reads the whole part and reports damage.
    fn check_part(&self) -> Result<CheckReport, StoreError>;

    /// Flushes, and makes every later call fail.
    fn close_part(&self) -> Result<(), StoreError>;
}

/// A store of three parts.
#[derive(Debug)]
pub struct CompositeStore<Log, Blobs, Local> {
    log: Log,
    blobs: Blobs,
    local: Local,
    /// Held during an append, so that the records of this handle that follow the head that the
    /// append read are those of its batch.
    appending: Mutex<()>,
}

impl<Log, Blobs, Local> CompositeStore<Log, Blobs, Local>
where
    Log: UpdateLog + StorePart,
    Blobs: BlobStore + StorePart,
    Local: LocalState + StorePart,
{
    /// Joins three parts. Each must be a handle of its own, as the store is one handle.
    pub fn new(log: Log, blobs: Blobs, local: Local) -> Self {
        Self { log, blobs, local, appending: Mutex::new(()) }
    }

    /// Selects the facts that were computed from all of their document.
    fn current_facts(
        &self,
        facts: Vec<(DocName, DocFact)>,
    ) -> Result<Vec<(DocName, DocFact)>, StoreError> {
        let mut current = Vec::with_capacity(facts.len());
        for (doc, fact) in facts {
            if self.log.doc_head(&doc)?.seq <= fact.upto {
                current.push((doc, fact));
            }
        }
        Ok(current)
    }

    /// Keeps facts of a batch that was appended after `before`, except of documents to which
    /// another handle appended as well.
    fn keep_facts(&self, facts: Vec<(DocName, DocFact)>, before: Seq) -> Result<(), StoreError> {
        let page = self.log.tail(before, &|_, _| false)?;
        let is_unclear =
            |doc: &DocName| page.more || page.reload.iter().any(|reloaded| reloaded.doc == *doc);
        for (doc, fact) in facts {
            let touched = page.touched.iter().find(|touched| touched.doc == doc);
            if let Some(touched) = touched.filter(|touched| touched.own && !is_unclear(&doc)) {
                let head = DocHead { seq: touched.head, origin: self.log.origin() };
                let entry = FactEntry::new(head, fact);
                self.local.set_meta(&FactEntry::key(&doc), &entry.encode())?;
            }
        }
        Ok(())
    }

    fn doc_fact(&self, doc: &DocName) -> Result<Option<DocFact>, StoreError> {
        let Some(bytes) = self.local.get_meta(&FactEntry::key(doc))? else { return Ok(None) };
        let Some(entry) = FactEntry::decode(&bytes) else { return Ok(None) };
        // Read after the fact, so that no append in between is missed.
        let head = self.log.doc_head(doc)?;
        Ok((entry.head == head).then_some(entry.fact))
    }
}

impl<S: Store + ?Sized> StorePart for S {
    fn wipe_part(&self) -> Result<(), StoreError> {
        self.wipe()
    }

    fn part_key_kind(&self) -> Result<Option<KeyKind>, StoreError> {
        self.key_kind()
    }

    fn part_cipher(&self, purpose: &str) -> Option<Arc<Cipher>> {
        self.cipher(purpose)
    }

    fn part_stats(&self) -> Result<StoreStats, StoreError> {
        self.stats()
    }

    fn flush_part(&self) -> Result<(), StoreError> {
        self.flush()
    }

    fn check_part(&self) -> Result<CheckReport, StoreError> {
        self.check()
    }

    fn close_part(&self) -> Result<(), StoreError> {
        self.close()
    }
}

impl<Log, Blobs, Local> UpdateLog for CompositeStore<Log, Blobs, Local>
where
    Log: UpdateLog + StorePart,
    Blobs: BlobStore + StorePart,
    Local: LocalState + StorePart,
{
    // The log keeps what it sets aside, in a place of its own.
    forward_to! {
        log:
        fn origin(&self) -> HandleOrigin;
        fn load(&self, doc: &DocName) -> Result<StoredDocument, StoreError>;
        fn load_single(&self, docs: &[DocName]) -> Result<Vec<Option<LogRecord>>, StoreError>;
        fn load_after(
            &self, doc: &DocName, after: Seq,
        ) -> Result<Option<StoredDocument>, StoreError>;
        fn load_history(&self, doc: &DocName) -> Result<DocHistory, StoreError>;
        fn set_aside_damaged(&self, doc: &DocName, at: Millis) -> Result<u64, StoreError>;
        fn tail(
            &self, after: Seq, select: &dyn Fn(&DocName, HandleOrigin) -> bool,
        ) -> Result<TailPage, StoreError>;
        fn head(&self) -> Result<Seq, StoreError>;
        fn doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError>;
        fn time_at(&self, position: Seq) -> Result<Option<Millis>, StoreError>;
        fn tailed_doc_head(&self, doc: &DocName) -> Result<DocHead, StoreError>;
        fn wait(&self, after: Seq, timeout: Duration) -> Result<bool, StoreError>;
        fn documents(&self) -> Result<Vec<DocStats>, StoreError>;
        fn documents_before(
            &self, before: Seq, n: usize,
        ) -> Result<Option<Vec<(Seq, DocName)>>, StoreError>;
        fn doc_stats(&self, doc: &DocName) -> Result<Option<DocStats>, StoreError>;
        fn compact(
            &self, doc: &DocName, merge: &MergeFn<'_>,
        ) -> Result<CompactionOutcome, StoreError>;
    }

    fn append(&self, mut batch: AppendBatch) -> Result<AppendReceipt, StoreError> {
        let blobs = std::mem::take(&mut batch.blobs);
        for hash in &blobs {
            self.blobs.touch_blob(hash, batch.at)?;
        }
        if !blobs.is_empty() {
            self.blobs.flush_part()?;
        }
        let facts = std::mem::take(&mut batch.facts);
        let _appending = self.appending.lock();
        if facts.is_empty() {
            return self.log.append(batch);
        }
        let before = self.log.head()?;
        let facts = self.current_facts(facts)?;
        let appended = self.log.append(batch)?;
        // The batch is in the log, so the call has succeeded. A fact that is missing is computed
        // again.
        self.keep_facts(facts, before).ok();
        Ok(appended)
    }

    fn forget(&self, doc: &DocName, head: Seq) -> Result<u64, StoreError> {
        // The head of a forgotten document stays, so its fact would still hold. It goes first: a
        // fact that is missing is computed again.
        self.local.set_meta(&FactEntry::key(doc), &[])?;
        self.log.forget(doc, head)
    }
}

impl<Log, Blobs, Local> BlobStore for CompositeStore<Log, Blobs, Local>
where
    Log: UpdateLog + StorePart,
    Blobs: BlobStore + StorePart,
    Local: LocalState + StorePart,
{
    forward_to! {
        blobs:
        fn read_blob(&self, hash: &ContentHash, range: Range<u64>) -> Result<Vec<u8>, StoreError>;
        fn copy_blob(&self, hash: &ContentHash, to: &mut dyn Write) -> Result<u64, StoreError>;
        fn put_blob(&self, content: &mut dyn Read, at: Millis) -> Result<BlobInfo, StoreError>;
        fn touch_blob(&self, hash: &ContentHash, at: Millis) -> Result<BlobInfo, StoreError>;
        fn blob_info(&self, hash: &ContentHash) -> Result<Option<BlobInfo>, StoreError>;
        fn blobs(&self) -> Result<Vec<BlobInfo>, StoreError>;
        fn blob_mark(&self) -> Result<BlobMark, StoreError>;
        fn remove_blobs(
            &self, mark: BlobMark, older_than: Millis, keep: &dyn Fn(&ContentHash) -> bool,
        ) -> Result<u64, StoreError>;
    }
}

impl<Log, Blobs, Local> LocalState for CompositeStore<Log, Blobs, Local>
where
    Log: UpdateLog + StorePart,
    Blobs: BlobStore + StorePart,
    Local: LocalState + StorePart,
{
    forward_to! {
        local:
        fn quarantine(
            &self, doc: &DocName, update: &[u8], reason: &str, at: Millis,
        ) -> Result<(), StoreError>;
        fn quarantined(&self) -> Result<Vec<QuarantinedUpdate>, StoreError>;
        fn quarantined_update(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError>;
        fn drop_quarantined(&self, number: Option<u64>) -> Result<u64, StoreError>;
        fn note_parked(&self, doc: &DocName, note: Option<&ParkedNote>) -> Result<(), StoreError>;
        fn parked(&self) -> Result<Vec<ParkedNote>, StoreError>;
        fn repair_facts(&self) -> Result<bool, StoreError>;
        fn note_first_seen(&self, keys: &[&str], at: Millis) -> Result<(), StoreError>;
        fn first_seen(&self, key: &str) -> Result<Option<Millis>, StoreError>;
        fn clear_first_seen(&self, keys: &[&str]) -> Result<(), StoreError>;
        fn get_meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;
        fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;
        fn init_meta(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError>;
        fn init_secret(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError>;
        fn set_secret(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;
        fn restricted_paths(&self) -> &[PathBuf];
    }

    fn doc_facts(&self, docs: &[DocName]) -> Result<Vec<Option<DocFact>>, StoreError> {
        docs.iter().map(|doc| self.doc_fact(doc)).collect()
    }

    fn set_doc_facts(&self, facts: &[(DocName, DocFact)]) -> Result<(), StoreError> {
        for (doc, fact) in facts {
            let head = self.log.doc_head(doc)?;
            if head.seq == fact.upto && head != DocHead::ZERO {
                let entry = FactEntry::new(head, *fact);
                self.local.set_meta(&FactEntry::key(doc), &entry.encode())?;
            }
        }
        Ok(())
    }

    fn claim_writer(&self) -> Result<WriterClaim, StoreError> {
        let [rows, cells, meta, content] = new_ids();
        Ok(WriterClaim { rows, cells, meta, content, reused: false })
    }

    fn release_writer(&self, _claim: WriterClaim) -> Result<(), StoreError> {
        Ok(())
    }
}

impl<Log, Blobs, Local> Store for CompositeStore<Log, Blobs, Local>
where
    Log: UpdateLog + StorePart,
    Blobs: BlobStore + StorePart,
    Local: LocalState + StorePart,
{
    fn key_kind(&self) -> Result<Option<KeyKind>, StoreError> {
        self.local.part_key_kind()
    }

    fn cipher(&self, purpose: &str) -> Option<Arc<Cipher>> {
        self.local.part_cipher(purpose)
    }

    fn wipe(&self) -> Result<(), StoreError> {
        self.log.wipe_part()?;
        self.blobs.wipe_part()?;
        self.local.wipe_part()
    }

    fn stats(&self) -> Result<StoreStats, StoreError> {
        let log = self.log.part_stats()?;
        let blobs = self.blobs.part_stats()?;
        let local = self.local.part_stats()?;
        Ok(StoreStats {
            n_blobs: blobs.n_blobs,
            blob_bytes: blobs.blob_bytes,
            n_quarantined: local.n_quarantined,
            n_refused: local.n_refused,
            quarantine_bytes: local.quarantine_bytes,
            n_quarantine_dropped: local.n_quarantine_dropped,
            file_bytes: log.file_bytes + blobs.file_bytes + local.file_bytes,
            ..log
        })
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.blobs.flush_part()?;
        self.log.flush_part()?;
        self.local.flush_part()
    }

    fn backup(&self, _to: &Path, _progress: &mut dyn FnMut(u64, u64)) -> Result<(), StoreError> {
        Err(StoreError::Unsupported { action: "back up: its parts are backed up one by one" })
    }

    fn check_with_progress(&self, _: &mut dyn FnMut(u64, u64)) -> Result<CheckReport, StoreError> {
        let mut log = self.log.check_part()?;
        let mut blobs = self.blobs.check_part()?;
        let mut local = self.local.check_part()?;
        log.problems.append(&mut blobs.problems);
        log.problems.append(&mut local.problems);
        Ok(CheckReport { n_blobs: blobs.n_blobs, ..log })
    }

    fn check_log(&self) -> Result<CheckReport, StoreError> {
        self.log.check_part()
    }

    fn close(&self) -> Result<(), StoreError> {
        self.flush()?;
        // Every part is closed, even if another one fails.
        let closed = [self.blobs.close_part(), self.log.close_part(), self.local.close_part()];
        closed.into_iter().collect()
    }
}
