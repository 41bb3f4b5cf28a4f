//! Waiting for programs that have a file open for writing.
//!
//! What such a program has written may be half of a save, so the mirror takes it in, or puts
//! another file in its place, only when the file rests: when no program has it open any more, when
//! nothing was written for `open_idle`, or when the mirror has waited for `open_patience`. Bytes
//! that were added at the end are taken in at once, because nothing is deleted by that.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use yfs_engine::{hash::ContentHash, id::FileId};

use super::{MirrorEngine, import_content::DiskFileContent, superseded::InodePoll};
use crate::mirror_state::DiskStamp;

/// How often a file is checked that the mirror waits for.
pub(super) const CHECK: Duration = Duration::from_millis(100);

/// What is known of a file that a program has open for writing.
#[derive(Debug)]
pub(super) struct OpenFileWait {
    /// When the mirror began to wait.
    since: Instant,
    /// When the file was last seen to change.
    changed: Instant,
    /// Its length and time then.
    seen: (u64, i64),
}

impl MirrorEngine {
    /// Reports whether a file that a program has open for writing is to be left alone for now.
    ///
    /// A file that a program locks is used even if it rests.
    pub(super) fn must_wait(&mut self, stamp: &DiskStamp, is_locked: bool) -> bool {
        let (now, seen) = (Instant::now(), (stamp.size, stamp.mtime_ns));
        let first = OpenFileWait { since: now, changed: now, seen };
        let wait = self.waits.entry(stamp.place).or_insert(first);
        if wait.seen != seen {
            (wait.seen, wait.changed) = (seen, now);
        }
        if !is_locked && now.duration_since(wait.changed) >= self.options.open_idle {
            return false;
        }
        if now.duration_since(wait.since) >= self.options.open_patience {
            // The next change waits as long again.
            wait.since = now;
            return false;
        }
        true
    }

    /// Forgets that a file was waited for, because no program has it open for writing.
    pub(super) fn note_closed(&mut self, stamp: &DiskStamp) {
        self.waits.remove(&stamp.place);
    }

    /// Reports whether what was read may be half of a save, and has it read again later if so.
    ///
    /// `size` and `hash` are those of the bytes that are known.
    pub(super) fn is_half_written(
        &mut self,
        path: &Path,
        read: &DiskFileContent,
        size: u64,
        hash: ContentHash,
    ) -> bool {
        if !read.has_writer {
            self.note_closed(&read.stamp);
            return false;
        }
        if is_extension(&read.data, size, hash) || !self.must_wait(&read.stamp, false) {
            return false;
        }
        self.held_back_disk.insert(path.to_owned(), Instant::now() + CHECK);
        true
    }

    /// Has a file read again, and again, until no program has it open for writing: memory that is
    /// mapped changes without a sign.
    pub(super) fn note_open(&mut self, id: &FileId, read: &DiskFileContent, is_changed: bool) {
        if !read.has_writer {
            self.open_files.remove(id);
            return;
        }
        let poll = self.open_files.entry(id.clone()).or_default();
        poll.set_next(is_changed, read.stamp.size);
        self.racy.insert(id.clone());
    }

    /// Has files looked at again that were left alone until now.
    pub(super) fn take_held_back(&mut self) -> Vec<FileId> {
        let now = Instant::now();
        let due = self.held_back_disk.extract_if(.., |_, next| *next <= now);
        for (path, _) in due {
            if let Some(node) = known_at(&self.state, &path) {
                self.racy.insert(node);
            }
            self.dirty_disk.entry(path).or_default();
        }
        let due = self.held_back_work.extract_if(|_, next| *next <= now);
        self.dirty_work.extend(due.map(|(id, _)| id));
        let is_due = |(_, poll): &(&FileId, &InodePoll)| poll.next <= now;
        self.open_files.iter().filter(is_due).map(|(id, _)| id.clone()).collect()
    }

    /// Returns when a file is due that was left alone, or is read again and again.
    pub(super) fn next_of_open_files(&self) -> impl Iterator<Item = Instant> {
        let held_back = self.held_back_disk.values().chain(self.held_back_work.values()).copied();
        held_back.chain(self.open_files.values().map(|poll| poll.next))
    }
}

fn known_at(state: &crate::mirror_state::MirrorState, path: &Path) -> Option<FileId> {
    let parent = state.folder(path.parent()?)?;
    state.child(parent.as_ref(), path.file_name()?).map(|node| node.id.clone())
}

/// Reports whether bytes begin with known ones, and are text as far as they go.
pub(super) fn is_extension(data: &[u8], size: u64, hash: ContentHash) -> bool {
    let Some(begin) = usize::try_from(size).ok().and_then(|size| data.get(..size)) else {
        return false;
    };
    // A character may be half written.
    ContentHash::of(begin) == hash && std::str::from_utf8(data).is_ok()
}
