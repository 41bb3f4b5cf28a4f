//! Replay of changes from the log of the store, for callers with a cursor that a workspace gave
//! before it was closed.
//!
//! The main document is built as it was at the cursor, and the later records are applied one by
//! one, so the changes are those that a watcher would have received. Compaction merges records that
//! can no longer be separated; a cursor before such records is lost.
//!
//! # Cost
//!
//! For the first caller, reading the log since the cursor, and loading the main document from the
//! checkpoint; from the whole log if the checkpoint is newer than the cursor. The result is kept
//! for the other callers, because all watchers of a restarted server reconnect at the same time.

mod replayed_changes;

use std::sync::Arc;

use parking_lot::Mutex;
use yfs_engine::{gate::UpdateSource, id::FileId, main_doc::MainDoc};
use yfs_store::{Seq, TailPage};
use yfs_vfs::{ChangeCursor, ChangePage, FileChange};

use self::replayed_changes::ChangeReplay;
use crate::{
    change_events::{content_event, row_events},
    checkpoint::MainCheckpoints,
    core::WorkspaceCore,
    error::Result,
    events::{CAPACITY, EventLog},
};

/// The changes that were replayed last.
#[derive(Debug)]
pub(crate) struct ChangeReplayer {
    /// Locked while changes are read from the log.
    kept: Mutex<Option<ChangeReplay>>,
    events: Arc<EventLog>,
    checkpoint: Arc<MainCheckpoints>,
}

impl ChangeReplayer {
    pub(crate) fn new(events: Arc<EventLog>, checkpoint: Arc<MainCheckpoints>) -> Self {
        Self { kept: Mutex::default(), events, checkpoint }
    }

    /// Returns the changes since a position of the log, or `None` if they can no longer be
    /// replayed.
    pub(crate) fn changes_since(
        &self,
        core: &WorkspaceCore,
        after: Seq,
    ) -> Result<Option<ChangePage>> {
        if after > core.store.head()? {
            return Ok(None);
        }
        // Later callers wait here for the replay of the first.
        let mut kept = self.kept.lock();
        let counts = |kept: &ChangeReplay| kept.after <= after && self.events.reaches(&kept.next);
        if !kept.as_ref().is_some_and(counts) {
            // Taken before the log is read, so that no change is lost between the replay and the
            // next page.
            let next = self.events.cursor(core.tailed());
            *kept = self.replay(core, after, next)?;
        }
        Ok(kept.as_ref().map(|replay| replay.since(after)))
    }

    fn replay(
        &self,
        core: &WorkspaceCore,
        after: Seq,
        next: ChangeCursor,
    ) -> Result<Option<ChangeReplay>> {
        let mut replay = ChangeReplay { after, rows: Vec::new(), contents: Vec::new(), next };
        let mut main = self.main_at(core, after)?;
        let mut contents = Vec::new();
        let mut at = after;
        loop {
            let tail = core.store.tail(at, &|doc, _| *doc == core.main_name)?;
            if tail.reload.iter().any(|reload| reload.doc == core.main_name) {
                return Ok(None);
            }
            self.replay_page(core, &mut main, &tail, &mut replay.rows, &mut contents);
            if replay.rows.len() + contents.len() > CAPACITY {
                return Ok(None);
            }
            at = tail.upto;
            if !tail.more {
                if main.checkpoint_failure().is_some() {
                    return Ok(None);
                }
                // Content events name the final paths of their files, after all row changes.
                let now = core.now();
                let events = contents.into_iter();
                let events = events.filter_map(|(seq, id)| {
                    content_event(&main, &id, now, None).map(|event| (seq, event))
                });
                replay.contents = events.collect();
                return Ok(Some(replay));
            }
        }
    }

    /// Builds the main document as it was at a position of the log, or later where records were
    /// merged.
    fn main_at(&self, core: &WorkspaceCore, position: Seq) -> Result<MainDoc> {
        let on_checkpoint = self.checkpoint.home.as_ref().map(|home| home.open_at(position));
        if let Some(main) = on_checkpoint.transpose()?.flatten() {
            return Ok(main);
        }
        let ids = core.options.fresh_writer_ids();
        let mut main = MainDoc::new(&core.id, ids, core.options.limits);
        let loaded = core.store.load(&core.main_name)?;
        let records = loaded.updates.iter().filter(|record| record.seq <= position);
        for update in loaded.snapshot.iter().chain(records.map(|record| &record.data)) {
            // Records that the gate rejects are left out of every load.
            main.receive(update, UpdateSource::Store).ok();
        }
        Ok(main)
    }

    fn replay_page(
        &self,
        core: &WorkspaceCore,
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
        let docs = touched.chain(reloaded).filter(|(_, doc)| **doc != core.main_name);
        contents.extend(docs.map(|(seq, doc)| (seq, FileId::from(doc))));
    }
}
