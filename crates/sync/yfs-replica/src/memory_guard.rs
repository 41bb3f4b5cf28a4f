//! The limit of the memory that the updates of a peer may take on a guest.
//!
//! How much an update takes depends on what it holds: a long text takes a little more than its
//! length, single characters a hundred times more. So the memory of the process is measured, where
//! the system reports it, and estimated from what was received elsewhere.

use crate::replica_error::ReplicaError;

/// The default of the memory that an exchange with a server may add to the process, in bytes.
pub(crate) const DEFAULT_MEMORY_LIMIT: u64 = 3 << 29;

/// The bytes of memory per byte of an update, of a long text: the message, the update, the
/// document, the parts that are logged.
const MEMORY_PER_BYTE: u64 = 4;

/// The bytes of the limit that a message counts, and each update in it, whatever their length: of
/// what a guest notes for each, and so that messages without end, of no memory, end as well. With
/// the default limit, that is 6 million.
const BYTES_PER_ITEM: u64 = 256;

/// Counts the memory that updates take.
#[derive(Debug)]
pub(crate) struct MemoryGuard {
    limit: u64,
    /// The memory of the process at the beginning; `None` if the system does not report it.
    before: Option<u64>,
    /// The size of all updates received, in bytes.
    received: u64,
    /// The number of messages and updates received since the exchange was complete.
    n_items: u64,
}

impl MemoryGuard {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, before: resident_memory(), received: 0, n_items: 0 }
    }

    /// Counts messages and updates that were received.
    ///
    /// # Errors
    ///
    /// [`ReplicaError::TooManyMessages`] if there are more than the limit allows.
    pub(crate) fn count_items(&mut self, n_items: u64) -> Result<(), ReplicaError> {
        self.n_items = self.n_items.saturating_add(n_items);
        if self.n_items.saturating_mul(BYTES_PER_ITEM) <= self.limit {
            return Ok(());
        }
        Err(ReplicaError::TooManyMessages { limit: self.limit, n_received: self.n_items })
    }

    /// Begins to count messages and updates again, since both sides have everything.
    pub(crate) fn forget_items(&mut self) {
        self.n_items = 0;
    }

    /// Counts updates that are about to be applied.
    ///
    /// # Errors
    ///
    /// [`ReplicaError::OutOfMemory`] if the process would take more than the limit.
    pub(crate) fn count(&mut self, n_bytes: u64) -> Result<(), ReplicaError> {
        self.received = self.received.saturating_add(n_bytes);
        let coming = n_bytes.saturating_mul(MEMORY_PER_BYTE);
        if self.used().saturating_add(coming) <= self.limit {
            return Ok(());
        }
        // The allocator may keep memory that nothing uses any more.
        yfs::return_freed_memory();
        let used = self.used();
        if used.saturating_add(coming) <= self.limit {
            return Ok(());
        }
        Err(ReplicaError::OutOfMemory { limit: self.limit, used, received: self.received })
    }

    /// Returns the memory that the exchange has added.
    fn used(&self) -> u64 {
        match (self.before, resident_memory()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.received.saturating_mul(MEMORY_PER_BYTE),
        }
    }
}

/// Returns the memory of this process that is not swapped out, in bytes; `None` if the system does
/// not report it.
fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}
