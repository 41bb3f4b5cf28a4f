//! The sessions of clients whose protocol version has none (2026-07-28 and later).
//!
//! Such a client may send each request on a connection of its own, so its session is found by the
//! credential and by what the client states about itself. Several programs with one credential and
//! one identity share a session. What each has read is then found by the content of its writes:
//! see [`AgentSessionBuilder::shared`](yfs_agent::AgentSessionBuilder::shared).

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use yfs_mcp::{ClientIdentity, OpenedSession, SessionRefusal};

/// A session ends after this time without a request.
const IDLE_LIMIT: Duration = Duration::from_secs(60 * 60);

/// The most sessions; beyond it, the longest unused ends.
const MAX_SESSIONS: usize = 1024;

/// The sessions of a server, by client.
#[derive(Debug, Default)]
pub(crate) struct StatelessSessions {
    by_client: Mutex<HashMap<ClientKey, IdleSession>>,
}

/// What requests of one session have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ClientKey {
    credential: String,
    name: Option<String>,
    version: Option<String>,
    user_agent: Option<String>,
}

#[derive(Debug)]
struct IdleSession {
    used_at: Instant,
    session: OpenedSession,
}

impl StatelessSessions {
    /// Returns the session of a client, and opens it at its first request.
    pub(crate) fn find_or_open(
        &self,
        credential: &str,
        client: &ClientIdentity,
        open: impl FnOnce() -> Result<OpenedSession, SessionRefusal>,
    ) -> Result<OpenedSession, SessionRefusal> {
        self.find_or_open_at(Instant::now(), credential, client, open)
    }

    fn find_or_open_at(
        &self,
        now: Instant,
        credential: &str,
        client: &ClientIdentity,
        open: impl FnOnce() -> Result<OpenedSession, SessionRefusal>,
    ) -> Result<OpenedSession, SessionRefusal> {
        let key = ClientKey {
            credential: credential.to_owned(),
            name: client.name.clone(),
            version: client.version.clone(),
            user_agent: client.user_agent.clone(),
        };
        let mut by_client = self.by_client.lock();
        by_client.retain(|_, idle| now.duration_since(idle.used_at) < IDLE_LIMIT);
        if let Some(known) = by_client.get_mut(&key) {
            known.used_at = now;
            return Ok(known.session.clone());
        }
        let session = open()?;
        if by_client.len() >= MAX_SESSIONS {
            let oldest = by_client.iter().min_by_key(|(_, idle)| idle.used_at);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                by_client.remove(&oldest);
            }
        }
        by_client.insert(key, IdleSession { used_at: now, session: session.clone() });
        Ok(session)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use yfs_agent::AgentSession;
    use yfs_engine::actor::{Actor, ActorKind};
    use yfs_mcp::McpProfile;
    use yfs_vfs::MemoryFs;

    use super::*;

    fn open(id: &str) -> Result<OpenedSession, SessionRefusal> {
        let actor = Actor::new(ActorKind::Agent, "a");
        let agent = AgentSession::builder(Arc::new(MemoryFs::new()), actor).id(id).build();
        Ok(OpenedSession::new(agent, McpProfile::Full))
    }

    #[test]
    fn a_session_is_found_by_credential_and_identity_until_it_is_idle() {
        let sessions = StatelessSessions::default();
        let start = Instant::now();
        let id_at = |seconds, credential: &str, version: &str, new: &str| {
            let mut client = ClientIdentity::default();
            client.version = Some(version.to_owned());
            let now = start + Duration::from_secs(seconds);
            let found = sessions.find_or_open_at(now, credential, &client, || open(new));
            found.map(|session| session.agent.id().to_string())
        };
        assert_eq!(id_at(0, "t1", "1", "first"), Ok("first".into()));
        assert_eq!(id_at(3000, "t1", "1", "other"), Ok("first".into()));
        assert_eq!(id_at(3000, "t2", "1", "second"), Ok("second".into()));
        assert_eq!(id_at(3000, "t1", "2", "third"), Ok("third".into()));
        // An hour after the last request, not after the first.
        assert_eq!(id_at(6000, "t1", "1", "other"), Ok("first".into()));
        assert_eq!(id_at(9600, "t1", "1", "later"), Ok("later".into()));
    }
}
