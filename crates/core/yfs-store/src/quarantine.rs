//! Rejected updates, kept so that a person can inspect them.
//!
//! # Cost
//!
//! A peer whose update was rejected sends the same update, or a slightly longer one, for as long as
//! it runs. So equal updates are kept once and counted, the kept bytes are bounded per document and
//! in total, and the update with the oldest last rejection is dropped first.

use yfs_types::{hash::ContentHash, time::Millis};

use crate::DocName;

/// The limit per document, in bytes. A larger update is listed, but its bytes are not kept.
pub(crate) const MAX_DOC_BYTES: u64 = 16 << 20;

/// The limit in total, in bytes.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// The bytes that an entry counts besides its update: at most 256 small entries fit per document,
/// and 1024 in total.
pub(crate) const ENTRY_BYTES: u64 = 64 << 10;

/// How long an update is kept after its last rejection, in milliseconds: 30 days.
pub(crate) const MAX_AGE_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The longest reason that is kept, in characters.
const MAX_REASON_CHARS: usize = 1000;

/// A rejected update, as it is listed: without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedUpdate {
    /// The number of the entry. Numbers are not reused.
    pub number: u64,
    /// The document that the update was sent for.
    pub doc: DocName,
    /// When it was first rejected.
    pub first_at: Millis,
    /// When it was last rejected.
    pub last_at: Millis,
    /// How often it was rejected.
    pub n_times: u64,
    /// The length of the update, in bytes.
    pub len: u64,
    /// Whether the bytes are kept. Those of an update that is too large are not.
    pub is_kept: bool,
    /// The reason of the first rejection.
    pub reason: String,
}

/// A key that is the same for equal updates of the same document.
pub(crate) type QuarantineKey = ContentHash;

/// An update to quarantine.
#[derive(Debug)]
pub(crate) struct RefusedUpdate<'a> {
    pub(crate) key: QuarantineKey,
    pub(crate) doc: &'a str,
    pub(crate) update: &'a [u8],
    pub(crate) reason: String,
    pub(crate) at: Millis,
}

impl<'a> RefusedUpdate<'a> {
    pub(crate) fn new(doc: &'a str, update: &'a [u8], reason: &str, at: Millis) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(doc.len() as u64).to_le_bytes()).update(doc.as_bytes()).update(update);
        let key = QuarantineKey::from_bytes(*hasher.finalize().as_bytes());
        let reason = reason.chars().take(MAX_REASON_CHARS).collect();
        Self { key, doc, update, reason, at }
    }

    /// Reports whether the update is small enough to be kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.update.len() as u64 + ENTRY_BYTES <= MAX_DOC_BYTES
    }

    /// Returns the bytes that it counts against the limits.
    pub(crate) fn size(&self) -> u64 {
        ENTRY_BYTES + if self.is_kept() { self.update.len() as u64 } else { 0 }
    }
}
