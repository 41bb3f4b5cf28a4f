//! The log of changes that watchers read: bounded, in memory, in the order in which this process
//! learnt of them.
//!
//! A cursor is a place in this log, and beside it one in the log of the store, from which another process goes on
//! (`replay.rs`): `EPOCH-NUMBER@LOG.SEQ`.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use tokio::sync::Notify;
use yfs_engine::{
    actor::Actor,
    id::FileId,
    main_doc::{MainDoc, MainDocChanges as RowChanges},
    path::VPath,
    table::NodeKind,
    time::Millis,
};
use yfs_store::{HandleOrigin, Seq};
use yfs_vfs::{ChangeCursor, ChangeKind, ChangePage, FileChange, FileKind, FsError};

use crate::state::WorkspaceState;

/// How many changes are kept.
pub(crate) const CAPACITY: usize = 65_536;

/// The last changes.
#[derive(Debug)]
pub(crate) struct EventLog {
    /// Tells cursors of this log from those of another process, or of another time.
    epoch: String,
    /// Tells the log of this store from those of others; nothing where it has no name.
    store: Option<String>,
    ring: Mutex<ChangeRing>,
    /// Wakes whoever waits for a change; whoever pushes notifies.
    arrived: Notify,
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
        Self { epoch, store, ring: Mutex::default(), arrived: Notify::new() }
    }

    /// Adds the changes of contents to those of rows: each file is told of once.
    pub(crate) fn add_contents(
        &self,
        state: &WorkspaceState,
        ids: &[FileId],
        by: Option<&Actor>,
        events: &mut Vec<FileChange>,
    ) {
        let mut ids: BTreeSet<&FileId> = ids.iter().collect();
        for event in events.iter_mut() {
            let is_told = matches!(event.kind, ChangeKind::Created | ChangeKind::Changed);
            if is_told && ids.remove(&event.id) {
                event.actor = by.cloned();
            }
        }
        if !ids.is_empty() {
            let (main, now) = (state.main.read(), state.now());
            events.extend(ids.into_iter().filter_map(|id| content_event(&main, id, now, by)));
        }
    }

    /// Returns the place after the last change. All that the log of the store has up to `seen` was told before.
    pub(crate) fn cursor(&self, seen: Seq) -> ChangeCursor {
        let ring = self.ring.lock();
        self.cursor_at(ring.first + ring.changes.len() as u64, Some(seen))
    }

    /// Returns what came after `since`. `seen` is as for [`cursor`](Self::cursor).
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
        // Who has not been told everything goes on from where it was, if it goes on elsewhere.
        let more = next < end;
        let seen = if more { self.position(since) } else { Some(seen) };
        Ok(ChangePage { events, next: self.cursor_at(next, seen), more })
    }

    /// Returns what completes when a change arrives after this call.
    pub(crate) fn arrival(&self) -> tokio::sync::futures::Notified<'_> {
        self.arrived.notified()
    }

    /// Notes changes.
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

    /// Tells whether a cursor is a place in this log, or once was.
    pub(crate) fn is_own(&self, cursor: &ChangeCursor) -> bool {
        self.parse(cursor).is_some()
    }

    /// Tells whether a cursor is a place in this log, and all that came since is still there.
    pub(crate) fn reaches(&self, cursor: &ChangeCursor) -> bool {
        self.since(cursor, 0, Seq::ZERO).is_ok()
    }

    /// Returns the place of a cursor in the log of this store, whichever process gave it.
    pub(crate) fn position(&self, cursor: &ChangeCursor) -> Option<Seq> {
        let (_, place) = cursor.as_str().split_once('@')?;
        let (store, seq) = place.rsplit_once('.')?;
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

/// Says what became of rows.
pub(crate) fn row_events(main: &MainDoc, changes: &RowChanges, at: Millis) -> Vec<FileChange> {
    let changed = changes.ids.iter().enumerate();
    let events = changed.filter_map(|(place, id)| {
        let before = changes.before.get(place).and_then(Option::as_ref);
        row_event(main, id, before, at)
    });
    events.collect()
}

/// Says that a content changed, where its file is shown.
pub(crate) fn content_event(
    main: &MainDoc,
    id: &FileId,
    at: Millis,
    by: Option<&Actor>,
) -> Option<FileChange> {
    let path = main.tree().path_of(id)?;
    let mut event = FileChange::new(ChangeKind::Changed, path, id.clone(), FileKind::File, at);
    event.actor = by.cloned();
    Some(event)
}

fn row_event(
    main: &MainDoc,
    id: &FileId,
    before: Option<&VPath>,
    at: Millis,
) -> Option<FileChange> {
    let after = main.tree().path_of(id);
    let (kind, path) = match (before, after) {
        (None, None) => return None,
        (None, Some(path)) => (ChangeKind::Created, path),
        (Some(path), None) => (ChangeKind::Removed, path.clone()),
        (Some(from), Some(to)) if *from != to => (ChangeKind::Moved { from: from.clone() }, to),
        (Some(_), Some(path)) => (ChangeKind::Changed, path),
    };
    let file_kind = main.files().get(id).map_or(FileKind::File, |entry| kind_of(&entry.row));
    Some(FileChange::new(kind, path, id.clone(), file_kind, at))
}

/// Tells what sort of object a row stands for.
pub(crate) fn kind_of(row: &yfs_engine::table::FileRow) -> FileKind {
    match row.kind {
        NodeKind::Directory => FileKind::Directory,
        NodeKind::File if row.link.is_some() => FileKind::Symlink,
        NodeKind::File => FileKind::File,
    }
}
