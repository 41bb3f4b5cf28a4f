//! Changes told again from the log of the store: for whoever holds a cursor that a workspace gave before it was closed.
//!
//! The main document is built as it stood then, and what was logged since is taken in record by record, so that the
//! changes are those that a watcher would have been told. What compaction has merged since is not to be told apart:
//! then the cursor is lost.
//!
//! # Cost
//!
//! That of loading the main document, and of reading the log since, for the first who asks; what was told is kept for
//! the others, since all watchers of a server that was started again come at once.

use std::collections::BTreeSet;

use yfs_engine::{gate::UpdateSource, id::FileId, main_doc::MainDoc, table::WriterIds};
use yfs_store::{Seq, TailPage};
use yfs_vfs::{ChangeCursor, ChangeKind, ChangePage, FileChange};

use crate::{
    error::Result,
    events::{CAPACITY, content_event, row_events},
    state::WorkspaceState,
};

/// What was told again last.
#[derive(Debug)]
pub(crate) struct ChangeReplay {
    after: Seq,
    /// What became of rows, each with where it stands in the log.
    rows: Vec<(Seq, FileChange)>,
    /// The contents that changed, likewise.
    contents: Vec<(Seq, FileChange)>,
    /// What to go on with.
    next: ChangeCursor,
}

impl WorkspaceState {
    /// Returns what changed since a position of the log; nothing where that cannot be told any more.
    pub(crate) fn replayed(&self, after: Seq) -> Result<Option<ChangePage>> {
        if after > self.store.head()? {
            return Ok(None);
        }
        // Who comes meanwhile waits for what is told to the first.
        let mut kept = self.replay.lock();
        let counts = |it: &ChangeReplay| it.after <= after && self.events.reaches(&it.next);
        if !kept.as_ref().is_some_and(counts) {
            // Before the log is read, so that nothing is between it and what comes next.
            let next = self.events.cursor(self.tailed());
            *kept = self.replay(after, next)?;
        }
        Ok(kept.as_ref().map(|replay| replay.since(after)))
    }

    fn replay(&self, after: Seq, next: ChangeCursor) -> Result<Option<ChangeReplay>> {
        let mut replay = ChangeReplay { after, rows: Vec::new(), contents: Vec::new(), next };
        let mut main = self.main_at(after)?;
        let mut contents = Vec::new();
        let mut at = after;
        loop {
            let tail = self.store.tail(at, &|doc, _| *doc == self.main_name)?;
            if tail.reload.iter().any(|reload| reload.doc == self.main_name) {
                return Ok(None);
            }
            self.replay_page(&mut main, &tail, &mut replay.rows, &mut contents);
            if replay.rows.len() + contents.len() > CAPACITY {
                return Ok(None);
            }
            at = tail.upto;
            if !tail.more {
                // Told where their files are in the end, after all that became of these.
                let now = self.now();
                let events = contents.into_iter();
                let events = events.filter_map(|(seq, id)| {
                    content_event(&main, &id, now, None).map(|event| (seq, event))
                });
                replay.contents = events.collect();
                return Ok(Some(replay));
            }
        }
    }

    /// Builds the main document as it stood at a position of the log, or later where records were merged.
    fn main_at(&self, position: Seq) -> Result<MainDoc> {
        let random = || self.options.ids.client_id();
        let ids = WriterIds { rows: random(), cells: random(), meta: random() };
        let mut main = MainDoc::new(&self.id, ids, self.options.limits);
        let loaded = self.store.load(&self.main_name)?;
        let records = loaded.updates.iter().filter(|record| record.seq <= position);
        for update in loaded.snapshot.iter().chain(records.map(|record| &record.data)) {
            // What the gate refuses from the log is left out wherever it is loaded.
            main.receive(update, UpdateSource::Store).ok();
        }
        Ok(main)
    }

    fn replay_page(
        &self,
        main: &mut MainDoc,
        tail: &TailPage,
        rows: &mut Vec<(Seq, FileChange)>,
        contents: &mut Vec<(Seq, FileId)>,
    ) {
        for record in &tail.records {
            if let Ok(changes) = main.receive(&record.data, UpdateSource::Store) {
                let events = row_events(main, &changes, record.at);
                rows.extend(events.into_iter().map(|event| (record.seq, event)));
            }
        }
        let reloaded = tail.reload.iter().map(|reload| (reload.upto, &reload.doc));
        let touched = tail.touched.iter().map(|touched| (touched.head, &touched.doc));
        let docs = touched.chain(reloaded).filter(|(_, doc)| **doc != self.main_name);
        contents.extend(docs.map(|(seq, doc)| (seq, FileId::from(doc))));
    }
}

impl ChangeReplay {
    /// Returns what came after a position. A file that is new, or that changed as a row, is not told of once more for
    /// its content.
    fn since(&self, after: Seq) -> ChangePage {
        let later = |changes: &[(Seq, FileChange)]| -> Vec<FileChange> {
            let later = changes.iter().filter(|(seq, _)| *seq > after);
            later.map(|(_, change)| change.clone()).collect()
        };
        let mut events = later(&self.rows);
        let is_told =
            |it: &&FileChange| matches!(it.kind, ChangeKind::Created | ChangeKind::Changed);
        let mut told: BTreeSet<FileId> =
            events.iter().filter(is_told).map(|it| it.id.clone()).collect();
        events.extend(later(&self.contents).into_iter().filter(|it| told.insert(it.id.clone())));
        ChangePage { events, next: self.next.clone(), more: false }
    }
}
