//! What each program has read: the base of what it saves later.
//!
//! An editor reads a file, closes it, and writes it whole when the person saves. What others typed
//! in between is no part of what it writes, and must not be deleted by it. So the version that a
//! process has read to the end is remembered, and is the base when the same process empties the
//! file or renames another file into its place.

use std::{
    collections::{HashMap, VecDeque},
    fs,
};

use parking_lot::Mutex;
use yfs_types::id::FileId;
use yfs_vfs::VersionToken;

/// The most versions that are remembered.
const MAX_ENTRIES: usize = 4096;

/// The versions that processes have read.
#[derive(Debug, Default)]
pub(crate) struct ReadLog {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    versions: HashMap<(u32, FileId), VersionToken>,
    /// The keys, oldest first.
    order: VecDeque<(u32, FileId)>,
}

impl ReadLog {
    /// Records that a process has read a version of a file to the end, or written it.
    pub(crate) fn note(&self, process: u32, id: &FileId, version: VersionToken) {
        let mut entries = self.entries.lock();
        let key = (process, id.clone());
        if entries.versions.insert(key.clone(), version).is_none() {
            entries.order.push_back(key);
        }
        while entries.order.len() > MAX_ENTRIES {
            if let Some(oldest) = entries.order.pop_front() {
                entries.versions.remove(&oldest);
            }
        }
    }

    /// Returns the version of a file that a process has read last.
    pub(crate) fn get(&self, process: u32, id: &FileId) -> Option<VersionToken> {
        self.entries.lock().versions.get(&(process, id.clone())).cloned()
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
    use super::*;

    #[test]
    fn the_last_versions_are_remembered() {
        let log = ReadLog::default();
        let id = |n: usize| FileId::parse(&format!("f{n}")).expect("an id");
        let version = |n: usize| VersionToken::new(format!("v{n}"));
        for n in 0..=MAX_ENTRIES {
            log.note(7, &id(n), version(0));
            log.note(7, &id(n), version(n));
        }
        assert_eq!(log.get(7, &id(0)), None);
        assert_eq!(log.get(7, &id(1)), Some(version(1)));
        assert_eq!(log.get(8, &id(1)), None);
    }

    #[test]
    fn a_thread_belongs_to_its_process() {
        let thread = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        assert_eq!(process_of(thread), std::process::id());
    }
}
