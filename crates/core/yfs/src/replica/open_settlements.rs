//! The exchanges of a process that wait for blobs.

use std::collections::BTreeSet;

/// The exchanges of a process that wait for blobs.
#[derive(Debug, Default)]
pub(crate) struct OpenSettlements {
    pub(super) last: u64,
    pub(super) waiting: BTreeSet<u64>,
    /// How often blobs became missing that no exchange waits for.
    pub(crate) n_abandoned: u64,
}
