//! Rejected updates, kept for a person to inspect.
//!
//! # Cost
//!
//! A peer that is refused comes back with the same update, or with the same and a little more, for
//! as long as it runs. So equal updates are kept once and counted, what is kept is bounded per
//! document and in all, and what was refused longest ago is dropped first.

use yfs_types::{hash::ContentHash, time::Millis};

use crate::DocName;

/// The most that is kept of one document, in bytes. A larger update is listed, but not kept.
pub(crate) const MAX_DOC_BYTES: u64 = 16 << 20;

/// The most that is kept in all, in bytes.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// What an entry counts beside its update: of small ones there are at most 256 of a document, and
/// 1024 in all.
pub(crate) const ENTRY_BYTES: u64 = 64 << 10;

/// How long after it was last refused an update is kept at least, in milliseconds: 30 days.
pub(crate) const MAX_AGE_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The longest reason that is kept, in characters.
const MAX_REASON_CHARS: usize = 1000;

/// A refused update, as it is listed: without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedUpdate {
    /// Names the entry. Numbers are not given twice.
    pub number: u64,
    /// The document that it was meant for.
    pub doc: DocName,
    /// When it was first refused.
    pub first_at: Millis,
    /// When it was last refused.
    pub last_at: Millis,
    /// How often it was refused.
    pub n_times: u64,
    /// The length of the update, in bytes.
    pub len: u64,
    /// Whether the update itself is kept. One that is too large is not.
    pub is_kept: bool,
    /// Why it was refused, the first time.
    pub reason: String,
}

/// The same for equal updates of the same document.
pub(crate) type QuarantineKey = ContentHash;

/// An update that is to be quarantined.
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

    /// Whether the update itself is small enough to be kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.update.len() as u64 + ENTRY_BYTES <= MAX_DOC_BYTES
    }

    /// What it counts against the limits, in bytes.
    pub(crate) fn size(&self) -> u64 {
        ENTRY_BYTES + if self.is_kept() { self.update.len() as u64 } else { 0 }
    }
}
