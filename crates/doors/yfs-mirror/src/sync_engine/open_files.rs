//! Waiting for programs that have a file open for writing.
//!
//! The bytes of such a file may be an incomplete save. So the mirror imports or replaces the file
//! only when it rests: when no program has it open any more, when it was unchanged for `open_idle`,
//! or when the mirror has waited for `open_patience`. It imports bytes appended at the end at once,
//! because this deletes nothing.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use yfs_engine::{hash::ContentHash, id::FileId};

use super::{disk_file_content::DiskFileContent, superseded_schedule::InodePoll};
use crate::{mirror_state::DiskStamp, options::MirrorOptions};

/// How often the mirror checks a file that it waits for.
pub(super) const CHECK: Duration = Duration::from_millis(100);

/// The state of waiting for files that programs have open for writing.
#[derive(Debug, Default)]
pub(super) struct OpenFileTracker {
    /// Files that programs have open for writing, by inode.
    waits: HashMap<(u64, u64), OpenFileWait>,
    /// Paths left alone for now because a program has them open for writing, and when they are
    /// checked again.
    held_back_disk: BTreeMap<PathBuf, Instant>,
    /// Objects left alone for now because a program has them open for writing, and when they are
    /// checked again.
    held_back_work: HashMap<FileId, Instant>,
    /// Files that were read while a program had them open for writing.
    polls: HashMap<FileId, InodePoll>,
}

/// The files whose wait is over.
#[derive(Debug, Default)]
pub(super) struct DueOpenFiles {
    /// Paths to scan.
    pub(super) paths: Vec<PathBuf>,
    /// Objects to compare with the workspace.
    pub(super) objects: Vec<FileId>,
    /// Objects to read, because changes of mapped memory raise no event.
    pub(super) polled: Vec<FileId>,
}

/// What the mirror knows of a file that a program has open for writing.
#[derive(Debug)]
struct OpenFileWait {
    /// When the mirror started to wait.
    since: Instant,
    /// When the file was last seen to change.
    changed: Instant,
    /// Its length and modification time then.
    seen: (u64, i64),
}

impl OpenFileTracker {
    /// Reports whether the mirror leaves alone a file that a program has open for writing.
    ///
    /// A file that programs lock counts as in use even if it is unchanged.
    pub(super) fn must_wait(
        &mut self,
        options: &MirrorOptions,
        stamp: &DiskStamp,
        is_locked: bool,
    ) -> bool {
        let (now, seen) = (Instant::now(), (stamp.size, stamp.mtime_ns));
        let first = OpenFileWait { since: now, changed: now, seen };
        let wait = self.waits.entry(stamp.place).or_insert(first);
        if wait.seen != seen {
            (wait.seen, wait.changed) = (seen, now);
        }
        if !is_locked && now.duration_since(wait.changed) >= options.open_idle {
            return false;
        }
        if now.duration_since(wait.since) >= options.open_patience {
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

    /// Forgets an object that is no longer mirrored.
    pub(super) fn forget(&mut self, id: &FileId) {
        self.polls.remove(id);
        self.held_back_work.remove(id);
    }

    /// Reports whether the bytes read may be an incomplete save. If so, schedules another read.
    ///
    /// `size` and `hash` are those of the known bytes.
    pub(super) fn is_half_written(
        &mut self,
        options: &MirrorOptions,
        path: &Path,
        read: &DiskFileContent,
        size: u64,
        hash: ContentHash,
    ) -> bool {
        if !read.has_writer {
            self.note_closed(&read.stamp);
            return false;
        }
        if is_extension(&read.data, size, hash) || !self.must_wait(options, &read.stamp, false) {
            return false;
        }
        self.held_back_disk.insert(path.to_owned(), Instant::now() + CHECK);
        true
    }

    /// Schedules an object that the workspace changed for another check.
    pub(super) fn hold_back_object(&mut self, id: &FileId) {
        self.held_back_work.insert(id.clone(), Instant::now() + CHECK);
    }

    /// Cancels the check of a path that was scheduled, because its bytes were imported.
    pub(super) fn release_path(&mut self, path: &Path) {
        self.held_back_disk.remove(path);
    }

    /// Cancels the check of an object that was scheduled, because its bytes were applied.
    pub(super) fn release_object(&mut self, id: &FileId) {
        self.held_back_work.remove(id);
    }

    /// Schedules reads of a file until no program has it open for writing, because changes of
    /// mapped memory raise no event. Returns whether a program has it open for writing.
    pub(super) fn note_read(
        &mut self,
        id: &FileId,
        read: &DiskFileContent,
        is_changed: bool,
    ) -> bool {
        if !read.has_writer {
            self.polls.remove(id);
            return false;
        }
        let poll = self.polls.entry(id.clone()).or_default();
        poll.set_next(is_changed, read.stamp.size);
        true
    }

    /// Returns the files whose wait is over. Those that are polled stay scheduled until they are
    /// read.
    pub(super) fn take_due(&mut self) -> DueOpenFiles {
        let now = Instant::now();
        let paths = self.held_back_disk.extract_if(.., |_, next| *next <= now);
        let paths = paths.map(|(path, _)| path).collect();
        let objects = self.held_back_work.extract_if(|_, next| *next <= now);
        let objects = objects.map(|(id, _)| id).collect();
        let is_due = |(_, poll): &(&FileId, &InodePoll)| poll.next <= now;
        let polled = self.polls.iter().filter(is_due).map(|(id, _)| id.clone()).collect();
        DueOpenFiles { paths, objects, polled }
    }

    /// Reports whether no file was left alone.
    pub(super) fn is_quiet(&self) -> bool {
        self.held_back_disk.is_empty() && self.held_back_work.is_empty()
    }

    /// Returns when files are due that were left alone, or that are read periodically.
    pub(super) fn next_due(&self) -> impl Iterator<Item = Instant> {
        let held_back = self.held_back_disk.values().chain(self.held_back_work.values()).copied();
        held_back.chain(self.polls.values().map(|poll| poll.next))
    }
}

/// Reports whether bytes begin with the known ones, and are UTF-8 to their end.
pub(super) fn is_extension(data: &[u8], size: u64, hash: ContentHash) -> bool {
    let Some(begin) = usize::try_from(size).ok().and_then(|size| data.get(..size)) else {
        return false;
    };
    // The last character may be incomplete.
    ContentHash::of(begin) == hash && std::str::from_utf8(data).is_ok()
}
