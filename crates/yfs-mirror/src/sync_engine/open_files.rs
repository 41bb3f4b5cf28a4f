//! Waiting for programs that have a file open for writing.
//!
//! The bytes of such a file may be an incomplete save. So the mirror imports or replaces the file
//! only when it rests: when no program has it open any more, when it was unchanged for `open_idle`,
//! or when the mirror has waited for `open_patience`. It imports bytes appended at the end at once,
//! because this deletes nothing.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use yfs_engine::{hash::ContentHash, id::FileId};

use super::{MirrorEngine, import_content::DiskFileContent, superseded::InodePoll};
use crate::mirror_state::DiskStamp;

/// How often the mirror checks a file that it waits for.
pub(super) const CHECK: Duration = Duration::from_millis(100);

/// What the mirror knows of a file that a program has open for writing.
#[derive(Debug)]
pub(super) struct OpenFileWait {
    /// When the mirror started to wait.
    since: Instant,
    /// When the file was last seen to change.
    changed: Instant,
    /// Its length and modification time then.
    seen: (u64, i64),
}

impl MirrorEngine {
    /// Reports whether the mirror leaves alone a file that a program has open for writing.
    ///
    /// A file that programs lock counts as in use even if it is unchanged.
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
            // After this change, the mirror waits for the next one as long again.
            wait.since = now;
            return false;
        }
        true
    }

    /// Forgets that the mirror waited for a file, because no program has it open for writing.
    pub(super) fn note_closed(&mut self, stamp: &DiskStamp) {
        self.waits.remove(&stamp.place);
    }

    /// Reports whether the bytes read may be an incomplete save. If so, schedules another read.
    ///
    /// `size` and `hash` are those of the known bytes.
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

    /// Schedules reads of a file until no program has it open for writing, because changes of
    /// mapped memory raise no event.
    pub(super) fn note_open(&mut self, id: &FileId, read: &DiskFileContent, is_changed: bool) {
        if !read.has_writer {
            self.open_files.remove(id);
            return;
        }
        let poll = self.open_files.entry(id.clone()).or_default();
        poll.set_next(is_changed, read.stamp.size);
        self.racy.insert(id.clone());
    }

    /// Schedules the files whose wait is over, and returns the open files that are due to be read.
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

    /// Returns when files are due that were left alone, or that are read periodically.
    pub(super) fn next_of_open_files(&self) -> impl Iterator<Item = Instant> {
        let held_back = self.held_back_disk.values().chain(self.held_back_work.values()).copied();
        held_back.chain(self.open_files.values().map(|poll| poll.next))
    }
}

fn known_at(state: &crate::mirror_state::MirrorState, path: &Path) -> Option<FileId> {
    let parent = state.directory(path.parent()?)?;
    state.child(parent.as_ref(), path.file_name()?).map(|node| node.id.clone())
}

/// Reports whether bytes begin with the known ones, and are UTF-8 to their end.
pub(super) fn is_extension(data: &[u8], size: u64, hash: ContentHash) -> bool {
    let Some(begin) = usize::try_from(size).ok().and_then(|size| data.get(..size)) else {
        return false;
    };
    // The last character may be incomplete.
    ContentHash::of(begin) == hash && std::str::from_utf8(data).is_ok()
}
