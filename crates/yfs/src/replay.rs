//! Changes told again from the log of the store: for whoever holds a cursor that a workspace gave before it was closed.
//!
//! The main document is built as it stood then, and what was logged since is taken in record by record, so that the
//! changes are those that a watcher would have been told. What compaction has merged since is not to be told apart:
//! then the cursor is lost.
//!
//! # Cost
//!
//! That of loading the main document, and of reading the log since.

use std::collections::BTreeSet;

use yfs_engine::{gate::Source, id::FileId, main_doc::MainDoc, table::WriterIds};
use yfs_store::{Seq, Tail};
use yfs_vfs::{Change, ChangeKind};

use crate::{
    error::Result,
    events::{CAPACITY, content_event, row_events},
    shared::Shared,
};

impl Shared {
    /// Returns what changed since a position of the log; nothing where that cannot be told any more.
    pub(crate) fn replay(&self, after: Seq) -> Result<Option<Vec<Change>>> {
        if after > self.store.head()? {
            return Ok(None);
        }
        let mut main = self.main_at(after)?;
        let mut changes = Vec::new();
        let mut at = after;
        loop {
            let tail = self.store.tail(at, &|doc, _| *doc == self.main_name)?;
            if tail.reload.iter().any(|reload| reload.doc == self.main_name) {
                return Ok(None);
            }
            self.replay_page(&mut main, &tail, &mut changes);
            if changes.len() > CAPACITY {
                return Ok(None);
            }
            at = tail.upto;
            if !tail.more {
                return Ok(Some(changes));
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
            main.receive(update, Source::Store).ok();
        }
        Ok(main)
    }

    fn replay_page(&self, main: &mut MainDoc, tail: &Tail, changes: &mut Vec<Change>) {
        let n_before = changes.len();
        for record in &tail.records {
            if let Ok(rows) = main.receive(&record.data, Source::Store) {
                changes.extend(row_events(main, &rows, record.at));
            }
        }
        // A file that is new, or that changed as a row, is not told of once more for its content.
        let is_told =
            |change: &&Change| matches!(change.kind, ChangeKind::Created | ChangeKind::Changed);
        let told = changes[n_before..].iter().filter(is_told).map(|change| change.id.clone());
        let told: BTreeSet<FileId> = told.collect();
        let reloaded = tail.reload.iter().map(|reload| &reload.doc);
        let contents = tail.touched.iter().map(|touched| &touched.doc).chain(reloaded);
        let now = self.now();
        let ids = contents.filter(|doc| **doc != self.main_name).map(FileId::from);
        let untold = ids.filter(|id| !told.contains(id));
        changes.extend(untold.filter_map(|id| content_event(main, &id, now, None)));
    }
}
