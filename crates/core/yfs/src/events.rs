//! The log of changes for watchers: bounded, in memory, in the order in which this process applied
//! them.
//!
//! A cursor is a position in this log, together with a position in the log of the store from which
//! another process can continue (`change_replay.rs`): `EPOCH-NUMBER@LOG.SEQ`.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, watch};
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

    /// Adds the changes of contents to those of rows, with one event per file.
    pub(crate) fn add_contents(
        &self,
        main: &RwLock<MainDoc>,
        now: Millis,
        ids: &[FileId],
        by: Option<&Actor>,
        events: &mut Vec<FileChange>,
    ) {
        let mut ids: BTreeSet<&FileId> = ids.iter().collect();
        for event in events.iter_mut() {
            let is_reported = matches!(event.kind, ChangeKind::Created | ChangeKind::Changed);
            if is_reported && ids.remove(&event.id) {
                event.actor = by.cloned();
            }
        }
        if !ids.is_empty() {
            let main = main.read();
            events.extend(ids.into_iter().filter_map(|id| content_event(&main, id, now, by)));
        }
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

/// Returns the events of row changes.
pub(crate) fn row_events(main: &MainDoc, changes: &RowChanges, at: Millis) -> Vec<FileChange> {
    let changed = changes.ids.iter().enumerate();
    let mut paths = main.tree().path_resolver();
    let events = changed.filter_map(|(index, id)| {
        let before = changes.before.get(index).and_then(Option::as_ref);
        row_event(main, id, before, paths.path_of(id), at)
    });
    events.collect()
}

/// Returns the event of a content change, with the visible path of its file.
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
    after: Option<VPath>,
    at: Millis,
) -> Option<FileChange> {
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

/// Returns the kind of object that a row stands for.
pub(crate) fn kind_of(row: &yfs_engine::table::FileRow) -> FileKind {
    match row.kind {
        NodeKind::Directory => FileKind::Directory,
        NodeKind::File if row.link.is_some() => FileKind::Symlink,
        NodeKind::File => FileKind::File,
    }
}
