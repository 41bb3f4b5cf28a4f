//! Returns freed memory to the system.
//!
//! The allocator of glibc keeps the pages that it gets back, between those that are still used: a
//! server that had eight large documents open one after the other kept the memory of all. So once
//! enough was freed, a thread asks it to return whole pages, which takes about 0.2 ms per MB.

#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "no library wraps malloc_trim and mallopt")
)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

/// The number of freed bytes after which they are returned.
const STEP: u64 = 32 << 20;

/// A count of freed bytes.
#[derive(Debug, Default)]
pub(crate) struct FreedMemory {
    bytes: AtomicU64,
    is_returning: Arc<AtomicBool>,
}

impl FreedMemory {
    /// Counts bytes that are about to be freed.
    pub(crate) fn count(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns memory to the system, if so many bytes, which were just freed, are worth it.
    pub(crate) fn return_now(&self, bytes: u64) {
        if bytes >= STEP {
            return_pages();
        } else {
            self.count(bytes);
            self.return_if_due();
        }
    }

    /// Returns memory to the system in the background, if enough was freed.
    pub(crate) fn return_if_due(&self) {
        if self.bytes.load(Ordering::Relaxed) < STEP {
            return;
        }
        if self.is_returning.swap(true, Ordering::AcqRel) {
            return;
        }
        self.bytes.store(0, Ordering::Relaxed);
        let is_returning = self.is_returning.clone();
        let spawned = thread::Builder::new().name("yfs-freed".into()).spawn(move || {
            return_pages();
            is_returning.store(false, Ordering::Release);
        });
        if spawned.is_err() {
            self.is_returning.store(false, Ordering::Release);
        }
    }
}

/// Returns the memory of this process that is not swapped out, in bytes; `None` if the system does
/// not report it.
pub fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// Returns the memory that was freed to the system.
///
/// # Cost
///
/// About 0.2 ms per MB.
pub fn return_freed_memory() {
    return_pages();
}

/// Makes the allocator use at most `n` arenas. It makes eight for each core otherwise, one for each
/// thread: each keeps pages that are partly used, which a process that is idle most of the time
/// does not need, and reserves 64 MB of addresses, which a process with a limit may not have.
///
/// Threads that have an arena keep it.
pub fn limit_arenas(n: u8) {
    set_arenas(n.into());
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn set_arenas(n: libc::c_int) {
    // SAFETY: the parameter only selects an arena for threads that have none.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, n) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn set_arenas(_: i32) {}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn return_pages() {
    // SAFETY: the function may be called at any time, from any thread.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn return_pages() {}
