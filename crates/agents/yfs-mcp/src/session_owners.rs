//! The credentials that opened the sessions of a server on HTTP.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;

/// The sessions of a server, with the credential that opened each.
#[derive(Debug, Default)]
pub(crate) struct SessionOwners {
    owned: Mutex<OwnedSessions>,
}

#[derive(Debug, Default)]
struct OwnedSessions {
    by_id: HashMap<String, OwnedSession>,
    n_uses: u64,
}

#[derive(Debug)]
struct OwnedSession {
    credential: String,
    /// The number of its last request.
    used: u64,
}

impl SessionOwners {
    /// Notes that a credential opened a session.
    pub(crate) fn note_begin(&self, id: &str, credential: String) {
        let owned = &mut *self.owned.lock();
        owned.n_uses += 1;
        owned.by_id.insert(id.to_owned(), OwnedSession { credential, used: owned.n_uses });
    }

    /// Notes a request to a session. Reports whether the credential may use it, which it may if no
    /// other one opened it.
    pub(crate) fn note_use(&self, id: &str, credential: &str) -> bool {
        let owned = &mut *self.owned.lock();
        owned.n_uses += 1;
        let Some(session) = owned.by_id.get_mut(id) else { return true };
        if session.credential != credential {
            return false;
        }
        session.used = owned.n_uses;
        true
    }

    /// Forgets the sessions that are no longer open.
    pub(crate) fn retain(&self, open: &HashSet<String>) {
        self.owned.lock().by_id.retain(|id, _| open.contains(id));
    }

    /// Removes and returns the longest unused session of the credential with the most sessions.
    pub(crate) fn take_oldest_of_most(&self) -> Option<String> {
        let by_id = &mut self.owned.lock().by_id;
        let mut counts = HashMap::<&str, usize>::new();
        for session in by_id.values() {
            *counts.entry(&session.credential).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(credential, count)| (*count, *credential));
        let (credential, _) = most?;
        let sessions = by_id.iter().filter(|(_, session)| session.credential == credential);
        let (oldest, _) = sessions.min_by_key(|(_, session)| session.used)?;
        let oldest = oldest.clone();
        by_id.remove(&oldest);
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,024 sessions of one token kept all others out for five minutes.
    #[test]
    fn the_credential_with_the_most_sessions_loses_its_longest_unused() {
        let owners = SessionOwners::default();
        for (id, credential) in [("o1", "owner"), ("e1", "eve"), ("e2", "eve"), ("e3", "eve")] {
            owners.note_begin(id, credential.to_owned());
        }
        assert!(owners.note_use("e1", "eve"));
        assert_eq!(owners.take_oldest_of_most().as_deref(), Some("e2"));
        assert_eq!(owners.take_oldest_of_most().as_deref(), Some("e3"));
        owners.retain(&["o1".to_owned()].into());
        assert_eq!(owners.take_oldest_of_most().as_deref(), Some("o1"));
        assert_eq!(owners.take_oldest_of_most(), None);
    }

    /// `DELETE /mcp` with another token ended a session, and its answers were taken.
    #[test]
    fn a_session_is_used_by_the_credential_that_opened_it_only() {
        let owners = SessionOwners::default();
        owners.note_begin("a", "ana".to_owned());
        assert!(owners.note_use("a", "ana") && !owners.note_use("a", "eve"));
        assert!(owners.note_use("unknown", "eve"), "the service refuses it");
    }
}
