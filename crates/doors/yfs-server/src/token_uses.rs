//! When each token was used last.

use std::collections::HashMap;

use parking_lot::Mutex;
use yfs_engine::time::Millis;

use crate::access::{AccessControl, AccessGrant};

/// How old a recorded time may become while a token is in use, in milliseconds.
const MAX_AGE_MS: i64 = 60_000;

/// The most grants whose recorded time is known here.
const MAX_KNOWN: usize = 4_096;

/// The times that this server has recorded, by grant.
#[derive(Debug, Default)]
pub(crate) struct TokenUses(Mutex<HashMap<String, Millis>>);

impl TokenUses {
    /// Records that a grant is used now, unless that was recorded a moment ago.
    pub(crate) fn note(&self, access: &AccessControl, grant: &AccessGrant) {
        let AccessControl::Tokens(keys) = access else { return };
        let now = keys.now();
        let mut known = self.0.lock();
        let is_known = |at: &Millis| now.0.saturating_sub(at.0) < MAX_AGE_MS;
        if known.get(&grant.id).is_some_and(is_known) {
            return;
        }
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(grant.id.clone(), now);
        drop(known);
        // The time is only shown: a store that cannot be written grants the same.
        keys.note_use(&grant.id).ok();
    }
}
