//! Returns freed memory to the system.
//!
//! The allocator of glibc keeps the pages that it gets back, between those that are still used: a
//! server that had eight large documents open one after the other kept the memory of all. So once
//! enough was freed, a thread asks it to return whole pages, which takes about 0.2 ms per MB.

#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "no library wraps malloc_trim")
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

/// Returns the memory that was freed to the system.
///
/// # Cost
///
/// About 0.2 ms per MB.
pub fn return_freed_memory() {
    return_pages();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn return_pages() {
    // SAFETY: the function may be called at any time, from any thread.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn return_pages() {}
