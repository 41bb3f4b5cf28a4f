//! What was logged here since somebody last asked.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use yfs_engine::id::FileId;
use yfs_store::{DocName, LogRecord, Seq, TailPage};

use super::log_mark::LogCursor;
use crate::{Replication, error::Result, state::WorkspaceState};

/// Reads the log for one replica, piece by piece. What it holds in memory is a page of the log at most.
#[derive(Debug)]
pub struct ReplicaFeed {
    state: Arc<WorkspaceState>,
    /// Everything up to here has been read.
    after: Seq,
    work: VecDeque<FeedWork>,
    /// Documents that were read whole, and up to where.
    whole: BTreeMap<DocName, Seq>,
    /// Records that came from the replica itself.
    skip: BTreeSet<Seq>,
    /// Whether the replica must be told of a place, even if there is nothing new.
    must_tell: bool,
}

#[derive(Debug)]
enum FeedWork {
    /// A document whose log was compacted: it is read whole.
    Load(DocName, Seq),
    Record(LogRecord),
    Reached(Seq),
}

/// A piece of what was logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedPiece {
    /// An update of a document. Those of the main document come before those that need them.
    Update {
        /// Which document.
        doc: FileId,
        /// The update.
        update: Vec<u8>,
        /// Whether it is of a document that is sent whole, so that some of it may be known.
        is_whole: bool,
    },
    /// Everything up to here was read.
    Reached {
        /// Where to go on another time.
        cursor: LogCursor,
        /// Whether this is the end of the log.
        is_end: bool,
    },
}

impl Replication<'_> {
    /// Begins to read the log behind a place, or from its beginning.
    ///
    /// Answers nothing if the place is not one of this log's: it was restored from an older copy, or is
    /// another. Then what it says must be read from the beginning.
    pub fn feed(&self, since: Option<&LogCursor>) -> Result<Option<ReplicaFeed>> {
        self.state.check_open()?;
        let after = match since {
            None => Seq::ZERO,
            Some(since) => match self.state.find_mark(since)? {
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
            must_tell: true,
        }))
    }
}

impl ReplicaFeed {
    /// Passes over records that came from the replica itself ([`Taken::logged`](super::ReceivedUpdates)).
    pub fn skip(&mut self, records: impl IntoIterator<Item = Seq>) {
        let unread = records.into_iter().filter(|seq| *seq > self.after);
        self.skip.extend(unread);
    }

    /// Tells of a place soon, even if there is nothing new: one that a copy of this log which was made
    /// before does not know.
    pub fn tell(&mut self) {
        self.must_tell = true;
    }

    /// Marks the log where it was read up to.
    pub fn mark(&self) -> Result<LogCursor> {
        self.state.mark(self.after, true)
    }

    /// Tells whether there is something to read.
    pub fn has_news(&self) -> Result<bool> {
        Ok(!self.work.is_empty() || self.state.store.head()? > self.after)
    }

    /// Returns the next piece, or nothing at the end of the log. After the end it may go on.
    pub fn next_piece(&mut self) -> Result<Option<Vec<FeedPiece>>> {
        if self.work.is_empty() {
            if self.state.store.head()? > self.after {
                self.read_page()?;
            } else if self.must_tell {
                self.work.push_back(FeedWork::Reached(self.after));
            }
        }
        match self.work.pop_front() {
            None => Ok(None),
            Some(FeedWork::Load(doc, upto)) => self.load(&doc, upto).map(Some),
            Some(FeedWork::Record(record)) => Ok(Some(self.record(record).into_iter().collect())),
            Some(FeedWork::Reached(seq)) => {
                let cursor = self.state.mark(seq, self.must_tell)?;
                self.must_tell = false;
                let is_end = self.state.store.head()? <= seq;
                Ok(Some(vec![FeedPiece::Reached { cursor, is_end }]))
            }
        }
    }

    fn read_page(&mut self) -> Result<()> {
        let TailPage { reload, records, upto, .. } =
            self.state.store.tail(self.after, &|_, _| true)?;
        let is_main = |doc: &DocName| *doc == self.state.main_name;
        let loads = reload.into_iter().filter(|it| !it.forgotten);
        let mut loads: Vec<FeedWork> = loads.map(|it| FeedWork::Load(it.doc, it.upto)).collect();
        let mut records: Vec<FeedWork> = records.into_iter().map(FeedWork::Record).collect();
        // Files come before what they hold.
        loads.sort_by_key(|work| !matches!(work, FeedWork::Load(doc, _) if is_main(doc)));
        records.sort_by_key(|work| !matches!(work, FeedWork::Record(it) if is_main(&it.doc)));
        let n_main =
            records.iter().take_while(|it| matches!(it, FeedWork::Record(it) if is_main(&it.doc)));
        let contents = records.split_off(n_main.count());
        let n_main =
            usize::from(matches!(loads.first(), Some(FeedWork::Load(doc, _)) if is_main(doc)));
        let content_loads = loads.split_off(n_main);
        self.work.extend(loads.into_iter().chain(records).chain(content_loads).chain(contents));
        self.work.push_back(FeedWork::Reached(upto));
        self.after = upto;
        Ok(())
    }

    fn load(&mut self, doc: &DocName, upto: Seq) -> Result<Vec<FeedPiece>> {
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

    fn record(&mut self, record: LogRecord) -> Option<FeedPiece> {
        let is_known = self.whole.get(&record.doc).is_some_and(|whole| *whole >= record.seq);
        if self.skip.remove(&record.seq) || is_known {
            return None;
        }
        let doc = FileId::from(&record.doc);
        Some(FeedPiece::Update { doc, update: record.data, is_whole: false })
    }
}
