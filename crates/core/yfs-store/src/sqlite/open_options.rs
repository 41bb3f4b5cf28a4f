//! How a store is opened.

use std::time::Duration;

/// Options for opening a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// Whether to make a store if there is none.
    pub create: bool,
    /// Whether to fail if there is a store already.
    pub create_new: bool,
    /// The longest time span of unflushed writes that a power cut may lose: a thread flushes this
    /// often while there are unflushed writes. `None` means that it never flushes.
    pub sync_every: Option<Duration>,
    /// The size in bytes to which this handle may grow the file. Beyond that, writing fails as on a
    /// full disk. An eighth of it, at most 2 MiB, is reserved for small writes and for removals.
    pub max_bytes: Option<u64>,
    /// Whether to reject all writes. A read-only store is never created. It can be opened in a
    /// directory that the process cannot write, unless a writer died there and left a log to clean
    /// up.
    pub read_only: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let sync_every = Some(Duration::from_secs(1));
        Self { create: false, create_new: false, sync_every, max_bytes: None, read_only: false }
    }
}
