//! The records that were logged here since the last exchange with a replica.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use yfs_engine::id::FileId;
use yfs_store::{DocName, LogRecord, Seq, TailPage};

use super::{
    log_mark::{LogCursor, find_mark},
    log_summary::{EqualDocuments, LogSummary},
};
use crate::{Replication, error::Result, state::WorkspaceState};

/// A reader of the log for one replica, piece by piece. It keeps at most one page of the log in
/// memory.
#[derive(Debug)]
pub struct ReplicaFeed {
    state: Arc<WorkspaceState>,
    /// Everything up to this position was read.
    after: Seq,
    work: VecDeque<FeedWork>,
    /// Documents that were read whole, and up to which position.
    whole: BTreeMap<DocName, Seq>,
    /// Records that came from the replica itself.
    skip: BTreeSet<Seq>,
    /// What the replica has already.
    equal: EqualDocuments,
    /// Whether the replica must get a cursor even if there are no new records.
    must_return_cursor: bool,
}

#[derive(Debug)]
enum FeedWork {
    /// A document whose log was compacted: it is read whole.
    Load(DocName, Seq),
    Record(LogRecord),
    Reached(Seq),
}

/// A piece of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedPiece {
    /// An update of a document. Updates of the main document come before the updates that need
    /// them.
    Update {
        /// The document.
        doc: FileId,
        /// The update.
        update: Vec<u8>,
        /// Whether the document is sent whole, so that the replica may know parts of it.
        is_whole: bool,
    },
    /// Everything up to the cursor was read.
    Reached {
        /// The position to continue from.
        cursor: LogCursor,
        /// Whether this is the end of the log.
        is_end: bool,
    },
}

impl Replication<'_> {
    /// Begins to read the log after a cursor, or from its beginning.
    ///
    /// Returns `None` if this log does not have the cursor: the store was restored from an older
    /// copy, or is another. Then the replica must be read from the beginning.
    pub fn feed(&self, since: Option<&LogCursor>) -> Result<Option<ReplicaFeed>> {
        self.state.check_open()?;
        let after = match since {
            None => Seq::ZERO,
            Some(since) => match find_mark(self.state, since)? {
                None => return Ok(None),
                Some(seq) => seq,
            },
        };
        Ok(Some(ReplicaFeed {
            state: self.state.clone(),
            after,
            work: VecDeque::new(),
            whole: BTreeMap::new(),
            skip: BTreeSet::new(),
            equal: EqualDocuments::default(),
            must_return_cursor: true,
        }))
    }

    /// Lists the documents with records after a cursor, without reading them; `None` if this log
    /// does not have the cursor.
    pub fn changed_since(&self, since: &LogCursor) -> Result<Option<BTreeSet<FileId>>> {
        self.state.check_open()?;
        let Some(mut after) = find_mark(self.state, since)? else { return Ok(None) };
        let mut changed = BTreeSet::new();
        loop {
            let page = self.state.store.tail(after, &|_, _| false)?;
            let reload = page.reload.iter().filter(|notice| !notice.forgotten);
            changed.extend(reload.map(|notice| FileId::from(&notice.doc)));
            changed.extend(page.touched.iter().map(|touched| FileId::from(&touched.doc)));
            if !page.more {
                return Ok(Some(changed));
            }
            after = page.upto;
        }
    }
}

impl ReplicaFeed {
    /// Skips records that came from the replica itself
    /// ([`ReceivedUpdates::logged`](super::ReceivedUpdates)).
    pub fn skip_records(&mut self, records: impl IntoIterator<Item = Seq>) {
        let unread = records.into_iter().filter(|seq| *seq > self.after);
        self.skip.extend(unread);
    }

    /// Skips the documents that are equal on both sides, by the summaries of both logs. What was
    /// logged after this log was summarized is not skipped.
    pub fn skip_equal(&mut self, own: &LogSummary, theirs: &LogSummary) {
        self.equal = own.equal_documents(theirs);
    }

    /// Makes the feed return a cursor soon, even without new records: one that an earlier copy of
    /// this log does not have.
    pub fn request_cursor(&mut self) {
        self.must_return_cursor = true;
    }

    /// Marks the position in the log up to which the feed has read.
    pub fn mark(&self) -> Result<LogCursor> {
        self.state.marks.mark(&self.state, self.after, true)
    }

    /// Reports whether there are unread records.
    pub fn has_news(&self) -> Result<bool> {
        Ok(!self.work.is_empty() || self.state.store.head()? > self.after)
    }

    /// Returns the next piece, or `None` at the end of the log. Calls after the end return later
    /// records.
    pub fn next_piece(&mut self) -> Result<Option<Vec<FeedPiece>>> {
        if self.work.is_empty() {
            if self.state.store.head()? > self.after {
                self.read_page()?;
            } else if self.must_return_cursor {
                self.work.push_back(FeedWork::Reached(self.after));
            }
        }
        match self.work.pop_front() {
            None => Ok(None),
            Some(FeedWork::Load(doc, upto)) => self.load_document(&doc, upto).map(Some),
            Some(FeedWork::Record(record)) => {
                Ok(Some(self.read_record(record).into_iter().collect()))
            }
            Some(FeedWork::Reached(seq)) => {
                let cursor = self.state.marks.mark(&self.state, seq, self.must_return_cursor)?;
                self.must_return_cursor = false;
                let is_end = self.state.store.head()? <= seq;
                Ok(Some(vec![FeedPiece::Reached { cursor, is_end }]))
            }
        }
    }

    fn read_page(&mut self) -> Result<()> {
        let TailPage { reload, records, upto, .. } =
            self.state.store.tail(self.after, &|_, _| true)?;
        let is_main = |doc: &DocName| *doc == self.state.main_name;
        let is_new = |doc: &DocName, seq: Seq| !self.equal.contain(&self.state, doc, seq);
        let loads = reload.into_iter().filter(|notice| !notice.forgotten);
        let loads = loads.filter(|notice| is_new(&notice.doc, notice.upto));
        let mut loads: Vec<FeedWork> =
            loads.map(|notice| FeedWork::Load(notice.doc, notice.upto)).collect();
        let records = records.into_iter().filter(|record| is_new(&record.doc, record.seq));
        let mut records: Vec<FeedWork> = records.map(FeedWork::Record).collect();
        // Files come before their contents.
        loads.sort_by_key(|work| !matches!(work, FeedWork::Load(doc, _) if is_main(doc)));
        records
            .sort_by_key(|work| !matches!(work, FeedWork::Record(record) if is_main(&record.doc)));
        let n_main = records
            .iter()
            .take_while(|work| matches!(work, FeedWork::Record(record) if is_main(&record.doc)));
        let contents = records.split_off(n_main.count());
        let n_main =
            usize::from(matches!(loads.first(), Some(FeedWork::Load(doc, _)) if is_main(doc)));
        let content_loads = loads.split_off(n_main);
        self.work.extend(loads.into_iter().chain(records).chain(content_loads).chain(contents));
        self.work.push_back(FeedWork::Reached(upto));
        self.after = upto;
        Ok(())
    }

    fn load_document(&mut self, doc: &DocName, upto: Seq) -> Result<Vec<FeedPiece>> {
        if self.whole.get(doc).is_some_and(|whole| *whole >= upto) {
            return Ok(Vec::new());
        }
        let loaded = self.state.store.load(doc)?;
        self.whole.insert(doc.clone(), loaded.upto);
        let id = FileId::from(doc);
        let updates = loaded.updates.into_iter().map(|record| record.data);
        let all = loaded.snapshot.into_iter().chain(updates);
        Ok(all
            .map(|update| FeedPiece::Update { doc: id.clone(), update, is_whole: true })
            .collect())
    }

    fn read_record(&mut self, record: LogRecord) -> Option<FeedPiece> {
        let is_known = self.whole.get(&record.doc).is_some_and(|whole| *whole >= record.seq);
        if self.skip.remove(&record.seq) || is_known {
            return None;
        }
        let doc = FileId::from(&record.doc);
        Some(FeedPiece::Update { doc, update: record.data, is_whole: false })
    }
}
