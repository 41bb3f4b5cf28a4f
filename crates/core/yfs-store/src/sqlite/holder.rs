//! The process that holds the writer lock of a store.
//!
//! SQLite does not report it. It locks a byte of the shared memory file, and Linux lists the owner
//! of each lock.

use std::{cell::Cell, path::Path};

use crate::LockHolder;

thread_local! {
    /// The process for which the last transaction of this thread stopped waiting.
    static HOLDER: Cell<Option<LockHolder>> = const { Cell::new(None) };
}

/// Records the process that a transaction of this thread stops waiting for.
pub(super) fn record_holder(holder: Option<LockHolder>) {
    HOLDER.set(holder);
}

/// Returns the process that the last transaction stopped waiting for, and clears it.
pub(super) fn take_holder() -> Option<LockHolder> {
    HOLDER.take()
}

/// Reports whether the last transaction stopped waiting for a process that is stopped: trying again
/// would wait for the same process.
pub(super) fn is_holder_stopped() -> bool {
    let holder = HOLDER.take();
    let is_stopped = holder.as_ref().is_some_and(|holder| holder.is_stopped);
    HOLDER.set(holder);
    is_stopped
}

/// Finds the process that holds the writer lock, given the path of the shared memory file.
#[cfg(target_os = "linux")]
pub(super) fn find_lock_holder(shared_memory: &Path) -> Option<LockHolder> {
    use std::{fs, os::unix::fs::MetadataExt};

    /// The byte that a writer locks: `WAL_WRITE_LOCK` of SQLite.
    const WRITE_LOCK_BYTE: u64 = 120;

    let path = shared_memory.canonicalize().ok()?;
    let inode = fs::metadata(&path).ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let locking_process = |line: &&str| -> Option<u32> {
        // 10: POSIX  ADVISORY  WRITE 22574 fe:00:10027014 120 120
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "POSIX", _, "WRITE", pid, file, start, end] = words[..] else { return None };
        let is_same = file.rsplit(':').next()?.parse::<u64>().ok()? == inode;
        let start: u64 = start.parse().ok()?;
        let end: u64 = if end == "EOF" { u64::MAX } else { end.parse().ok()? };
        let is_held = is_same && (start..=end).contains(&WRITE_LOCK_BYTE);
        is_held.then(|| pid.parse().ok()).flatten()
    };
    // Inode numbers repeat on different filesystems, so the process must also have the file open.
    let has_open = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd"));
        files.is_ok_and(|mut files| {
            files.any(|file| {
                file.is_ok_and(|file| fs::read_link(file.path()).is_ok_and(|to| to == path))
            })
        })
    };
    let pid = locks.lines().filter_map(|line| locking_process(&line)).find(has_open)?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain any character; the state follows.
    let state = stat.rsplit(')').next()?.trim_start().chars().next()?;
    Some(LockHolder { pid, name, is_stopped: matches!(state, 'T' | 't') })
}

/// Other systems do not report it.
#[cfg(not(target_os = "linux"))]
pub(super) fn find_lock_holder(_: &Path) -> Option<LockHolder> {
    None
}
