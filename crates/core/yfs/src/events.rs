//! The log of changes for watchers: bounded, in memory, in the order in which this process applied
//! them.
//!
//! A cursor is a position in this log, together with a position in the log of the store from which
//! another process can continue (`change_replay.rs`): `EPOCH-NUMBER@LOG.SEQ`.

use std::{
    collections::VecDeque,
    mem,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use yfs_store::{HandleOrigin, Seq};
use yfs_vfs::{ChangeCursor, ChangePage, FileChange, FsError};

use crate::feature::WorkspaceFeature;

/// The number of changes that are kept.
pub(crate) const CAPACITY: usize = 65_536;

/// The latest changes.
#[derive(Debug)]
pub(crate) struct EventLog {
    /// Distinguishes cursors of this log from those of another process or another opening.
    epoch: String,
    /// The name of the store's log; `None` if it has no name.
    store: Option<String>,
    ring: Mutex<ChangeRing>,
    /// Notified by each push; wakes callers that wait for a change.
    arrived: Notify,
    /// Counts how often records were applied. Not every record is a change that watchers receive:
    /// an edit of a file in the trash is none.
    applied: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct ChangeRing {
    /// The number of the first change that is kept.
    first: u64,
    changes: VecDeque<FileChange>,
}

impl EventLog {
    pub(crate) fn new(handle: HandleOrigin, store: Option<String>) -> Self {
        // A handle may be opened several times.
        static N_OPENED: AtomicU64 = AtomicU64::new(0);
        let epoch = format!("{:x}.{}", handle.0, N_OPENED.fetch_add(1, Ordering::Relaxed));
        let applied = watch::Sender::new(0);
        Self { epoch, store, ring: Mutex::default(), arrived: Notify::new(), applied }
    }

    /// Returns the cursor after the last change. All changes in the store's log up to `seen`
    /// precede it.
    pub(crate) fn cursor(&self, seen: Seq) -> ChangeCursor {
        let ring = self.ring.lock();
        self.cursor_at(ring.first + ring.changes.len() as u64, Some(seen))
    }

    /// Returns the changes after `since`. `seen` is as for [`cursor`](Self::cursor).
    pub(crate) fn since(
        &self,
        since: &ChangeCursor,
        limit: usize,
        seen: Seq,
    ) -> Result<ChangePage, FsError> {
        let ring = self.ring.lock();
        let end = ring.first + ring.changes.len() as u64;
        let at = self.parse(since).filter(|at| (ring.first..=end).contains(at));
        let at = at.ok_or_else(FsError::cursor_lost)?;
        let skipped = (at - ring.first) as usize;
        let events: Vec<FileChange> =
            ring.changes.iter().skip(skipped).take(limit).cloned().collect();
        let next = at + events.len() as u64;
        // A caller that has not received all changes continues from its old position, if it
        // continues in another process.
        let more = next < end;
        let seen = if more { self.position(since) } else { Some(seen) };
        Ok(ChangePage { events, next: self.cursor_at(next, seen), more })
    }

    /// Returns a future that completes when a change arrives after this call.
    pub(crate) fn arrival(&self) -> tokio::sync::futures::Notified<'_> {
        self.arrived.notified()
    }

    /// Wakes the watches of [`records`](Self::records): records of this process or of another one
    /// were applied.
    pub(crate) fn note_records(&self) {
        self.applied.send_modify(|times| *times = times.wrapping_add(1));
    }

    /// Returns a counter of how often records were applied.
    pub(crate) fn records(&self) -> watch::Receiver<u64> {
        self.applied.subscribe()
    }

    /// Appends changes.
    pub(crate) fn push(&self, events: Vec<FileChange>) {
        if events.is_empty() {
            return;
        }
        let mut ring = self.ring.lock();
        ring.changes.extend(events);
        while ring.changes.len() > CAPACITY {
            ring.changes.pop_front();
            ring.first += 1;
        }
        drop(ring);
        self.arrived.notify_waiters();
    }

    /// Forgets all changes, so that each watcher receives `ESTALE` and lists the tree again.
    pub(crate) fn invalidate_cursors(&self) {
        let mut ring = self.ring.lock();
        ring.first += ring.changes.len() as u64 + 1;
        ring.changes.clear();
        drop(ring);
        self.arrived.notify_waiters();
    }

    /// Reports whether a cursor is, or once was, a position in this log.
    pub(crate) fn is_own(&self, cursor: &ChangeCursor) -> bool {
        self.parse(cursor).is_some()
    }

    /// Reports whether a cursor is a position in this log and all later changes are still kept.
    pub(crate) fn reaches(&self, cursor: &ChangeCursor) -> bool {
        self.since(cursor, 0, Seq::ZERO).is_ok()
    }

    /// Returns the position of a cursor in the log of this store, whichever process made the
    /// cursor.
    pub(crate) fn position(&self, cursor: &ChangeCursor) -> Option<Seq> {
        let (_, position) = cursor.as_str().split_once('@')?;
        let (store, seq) = position.rsplit_once('.')?;
        (Some(store) == self.store.as_deref()).then_some(())?;
        seq.parse().ok().map(Seq)
    }

    fn cursor_at(&self, number: u64, seen: Option<Seq>) -> ChangeCursor {
        let here = format!("{}-{number}", self.epoch);
        ChangeCursor::new(match (&self.store, seen) {
            (Some(store), Some(seen)) => format!("{here}@{store}.{}", seen.0),
            _ => here,
        })
    }

    fn parse(&self, cursor: &ChangeCursor) -> Option<u64> {
        let (here, _) = cursor.as_str().split_once('@').unwrap_or((cursor.as_str(), ""));
        here.strip_prefix(&self.epoch)?.strip_prefix('-')?.parse().ok()
    }
}

impl WorkspaceFeature for EventLog {
    fn changed(&self, events: &mut Vec<FileChange>) {
        self.push(mem::take(events));
    }

    fn position_moved(&self) {
        self.note_records();
    }

    fn main_replaced(&self) {
        self.invalidate_cursors();
    }
}
