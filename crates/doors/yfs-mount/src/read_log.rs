//! What each program knows of a file: the base of what it saves later.
//!
//! An editor reads a file, closes it, and writes it whole when the person saves. What others typed
//! in between is no part of what it writes, and must not be deleted by it. So the content that a
//! process has read to the end, or written, is remembered, and is the base when the same process
//! empties the file or renames another file into its place.

use std::{
    collections::{HashMap, VecDeque},
    fs,
};

use parking_lot::Mutex;
use yfs_types::id::FileId;
use yfs_vfs::VersionBase;

/// The most contents that are remembered.
const MAX_ENTRIES: usize = 4096;

/// The most bytes of contents that are no version of the file.
const MAX_BYTES: usize = 64 << 20;

/// What processes know.
#[derive(Debug, Default)]
pub(crate) struct ReadLog {
    entries: Mutex<Entries>,
}

/// A process and a file.
type Key = (u32, FileId);

#[derive(Debug, Default)]
struct Entries {
    known: HashMap<Key, VersionBase>,
    /// The keys in the order in which they were added; some may be forgotten since.
    order: VecDeque<Key>,
    n_bytes: usize,
}

impl ReadLog {
    /// Records the content of a file that a process has read to the end, or written.
    pub(crate) fn note(&self, process: u32, id: &FileId, content: VersionBase) {
        let mut entries = self.entries.lock();
        let key = (process, id.clone());
        if entries.forget(&key).is_none() {
            entries.order.push_back(key.clone());
        }
        entries.n_bytes += n_bytes(&content);
        entries.known.insert(key, content);
        while entries.order.len() > MAX_ENTRIES || entries.n_bytes > MAX_BYTES {
            let Some(oldest) = entries.order.pop_front() else { return };
            entries.forget(&oldest);
        }
    }

    /// Forgets what a process knows of a file: it has changed the file without reading it.
    pub(crate) fn forget(&self, process: u32, id: &FileId) {
        let mut entries = self.entries.lock();
        let key = (process, id.clone());
        if entries.forget(&key).is_some() {
            entries.order.retain(|other| *other != key);
        }
    }

    /// Returns the content of a file that a process knows.
    pub(crate) fn get(&self, process: u32, id: &FileId) -> Option<VersionBase> {
        self.entries.lock().known.get(&(process, id.clone())).cloned()
    }
}

impl Entries {
    fn forget(&mut self, key: &Key) -> Option<VersionBase> {
        let known = self.known.remove(key)?;
        self.n_bytes -= n_bytes(&known);
        Some(known)
    }
}

fn n_bytes(content: &VersionBase) -> usize {
    match content {
        VersionBase::Version(_) => 0,
        VersionBase::Content(data) => data.len(),
    }
}

/// Returns the process that a thread belongs to: the kernel names the thread that made a request.
pub(crate) fn process_of(thread: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(thread)
}

#[cfg(test)]
mod tests {
    use yfs_vfs::VersionToken;

    use super::*;

    fn id(n: usize) -> FileId {
        FileId::parse(&format!("f{n}")).expect("an id")
    }

    #[test]
    fn the_last_contents_are_remembered() {
        let log = ReadLog::default();
        let version = |n: usize| VersionBase::Version(VersionToken::new(format!("v{n}")));
        for n in 0..=MAX_ENTRIES {
            log.note(7, &id(n), version(0));
            log.note(7, &id(n), version(n));
        }
        assert_eq!(log.get(7, &id(0)), None);
        assert_eq!(log.get(7, &id(1)), Some(version(1)));
        assert_eq!(log.get(8, &id(1)), None);
        log.forget(7, &id(1));
        assert_eq!(log.get(7, &id(1)), None);
    }

    #[test]
    fn contents_have_a_budget() {
        let log = ReadLog::default();
        let content = || VersionBase::Content(vec![0; MAX_BYTES / 2].into());
        for n in 0..3 {
            log.note(7, &id(n), content());
            log.note(7, &id(n), content());
        }
        let known: Vec<_> = (0..3).map(|n| log.get(7, &id(n)).is_some()).collect();
        assert_eq!(known, [false, true, true]);
        log.note(7, &id(3), VersionBase::Content(vec![0; MAX_BYTES + 1].into()));
        assert_eq!((0..4).filter(|n| log.get(7, &id(*n)).is_some()).count(), 0);
        assert_eq!(log.entries.lock().n_bytes, 0);
    }

    #[test]
    fn a_thread_belongs_to_its_process() {
        let thread = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        assert_eq!(process_of(thread), std::process::id());
    }
}
