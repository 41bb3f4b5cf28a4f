//! Rejected updates, in memory: the same rules as on disk.

use std::{collections::BTreeMap, sync::Arc};

use yfs_types::time::Millis;

use crate::{
    DocName, QuarantinedUpdate, StoreStats,
    quarantine::{MAX_AGE_MS, MAX_BYTES, MAX_DOC_BYTES, QuarantineKey, RefusedUpdate},
};

/// The rejected updates of a store.
#[derive(Debug, Default, Clone)]
pub(super) struct Quarantine {
    /// By number.
    entries: BTreeMap<u64, QuarantineEntry>,
    last_number: u64,
    n_dropped: u64,
}

#[derive(Debug, Clone)]
struct QuarantineEntry {
    key: QuarantineKey,
    size: u64,
    listed: QuarantinedUpdate,
    update: Option<Arc<[u8]>>,
}

impl Quarantine {
    pub(super) fn add(&mut self, doc: &DocName, refused: &RefusedUpdate<'_>) {
        let RefusedUpdate { key, update, reason, at, .. } = refused;
        if let Some(entry) = self.entries.values_mut().find(|entry| entry.key == *key) {
            entry.listed.n_times += 1;
            entry.listed.last_at = entry.listed.last_at.max(*at);
            return;
        }
        self.last_number += 1;
        let listed = QuarantinedUpdate {
            number: self.last_number,
            doc: doc.clone(),
            first_at: *at,
            last_at: *at,
            n_times: 1,
            len: update.len() as u64,
            is_kept: refused.is_kept(),
            reason: reason.clone(),
        };
        let update = refused.is_kept().then(|| Arc::from(*update));
        let entry = QuarantineEntry { key: *key, size: refused.size(), listed, update };
        self.entries.insert(self.last_number, entry);
        let old = Millis(at.0.saturating_sub(MAX_AGE_MS));
        self.entries.retain(|_, entry| entry.listed.last_at >= old);
        self.drop_excess(|entry| entry.listed.doc == *doc, MAX_DOC_BYTES);
        self.drop_excess(|_| true, MAX_BYTES);
    }

    fn drop_excess(&mut self, counts: impl Fn(&QuarantineEntry) -> bool, limit: u64) {
        let counted = self.entries.iter().filter(|(_, entry)| counts(entry));
        let mut oldest: Vec<(Millis, u64, u64)> =
            counted.map(|(n, entry)| (entry.listed.last_at, *n, entry.size)).collect();
        oldest.sort_unstable();
        let mut sum: u64 = oldest.iter().map(|(_, _, size)| size).sum();
        for (_, number, size) in oldest {
            if sum <= limit {
                return;
            }
            if number != self.last_number {
                self.entries.remove(&number);
                self.n_dropped += 1;
                sum -= size;
            }
        }
    }

    pub(super) fn list(&self) -> Vec<QuarantinedUpdate> {
        self.entries.values().map(|entry| entry.listed.clone()).collect()
    }

    pub(super) fn update(&self, number: u64) -> Option<Vec<u8>> {
        Some(self.entries.get(&number)?.update.as_ref()?.to_vec())
    }

    pub(super) fn drop_entries(&mut self, number: Option<u64>) -> u64 {
        let n_before = self.entries.len();
        match number {
            Some(number) => drop(self.entries.remove(&number)),
            None => self.entries.clear(),
        }
        (n_before - self.entries.len()) as u64
    }

    /// Returns the sums of the quarantine; the other fields are zero.
    pub(super) fn stats(&self) -> StoreStats {
        let entries = self.entries.values();
        let kept = entries.clone().filter(|entry| entry.update.is_some());
        StoreStats {
            n_quarantined: self.entries.len() as u64,
            n_refused: entries.map(|entry| entry.listed.n_times).sum(),
            quarantine_bytes: kept.map(|entry| entry.listed.len).sum(),
            n_quarantine_dropped: self.n_dropped,
            ..StoreStats::default()
        }
    }
}
