//! The registration of this peer with one relay: made, kept, and made again.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until, timeout},
};
use yfs_replica::client::jittered;

use crate::{
    membership::PeerMembership,
    peer_key::PeerId,
    relay_message::{
        MeetingNumber, RelayGroup, RelayRefusal, RelayReply, RelayRequest, RelaySession,
    },
    relay_name::RelayName,
    relay_paths::RelayIndex,
    relay_socket::RelaySocket,
};

/// How long a relay may take to reply: each attempt has more time than the one before it.
pub(crate) const REPLY_WITHIN: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_millis(1500), Duration::from_secs(3)];

/// The pause before the next attempt to register: first, and at most.
const REGISTER_AGAIN: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(8)];

/// How often this peer shows that it is there. NATs keep a mapping for 30 s or more.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(15);

/// When a sign of life is repeated, and how often before the relay is gone.
pub(crate) const PING_AGAIN: Duration = Duration::from_secs(2);
pub(crate) const MAX_UNANSWERED: u32 = 4;

/// What a registration brings.
#[derive(Debug)]
pub(crate) enum RelayEvent {
    /// The peer is registered, and the relay sees it at an address.
    Registered { relay: RelayIndex, observed: SocketAddr },
    /// The peer is not registered, and why.
    Lost { relay: RelayIndex, reason: String },
    /// A peer sends to this one, directly from an address.
    Meet { peer: PeerId, meeting: MeetingNumber, address: SocketAddr },
}

/// Keeps this peer registered with a relay.
pub(crate) struct RelayClient {
    pub(crate) socket: Arc<RelaySocket>,
    pub(crate) relay: RelayIndex,
    pub(crate) name: RelayName,
    pub(crate) member: Arc<PeerMembership>,
    pub(crate) group: RelayGroup,
    pub(crate) replies: mpsc::Receiver<RelayReply<'static>>,
    pub(crate) events: mpsc::Sender<RelayEvent>,
}

impl RelayClient {
    /// Registers, as often as it is needed, until the future is dropped.
    pub(crate) async fn run(mut self) {
        let mut pause = REGISTER_AGAIN[0];
        for attempt in 0usize.. {
            let reason = match self.register(attempt).await {
                Ok((to, session, observed)) => {
                    pause = REGISTER_AGAIN[0];
                    self.socket.set_registered(self.relay, true);
                    let event = RelayEvent::Registered { relay: self.relay, observed };
                    self.events.send(event).await.ok();
                    let reason = self.keep(to, &session).await;
                    self.socket.set_registered(self.relay, false);
                    reason
                }
                Err(reason) => reason,
            };
            self.events.send(RelayEvent::Lost { relay: self.relay, reason }).await.ok();
            sleep(jittered(pause)).await;
            pause = (pause * 2).min(REGISTER_AGAIN[1]);
        }
    }

    /// Registers with a relay, at one of its addresses. Returns the address, the session, and the
    /// address at which the relay sees this peer.
    async fn register(
        &mut self,
        attempt: usize,
    ) -> Result<(SocketAddr, RelaySession, SocketAddr), String> {
        let resolved = self.name.resolve().await?;
        let addresses: Vec<SocketAddr> = resolved.filter(|to| self.socket.fits(*to)).collect();
        let address = addresses.get(attempt % addresses.len().max(1));
        let address = *address.ok_or("it has no address that this socket can reach")?;
        let session = random_session();
        self.socket.set_route(self.relay, address, session);
        let hello = RelayRequest::Hello.encode(&session);
        let challenge = self.ask(address, &hello, |reply| match reply {
            RelayReply::Challenge(challenge) => Some(challenge),
            _ => None,
        });
        let challenge = challenge.await?;
        let key = self.member.key();
        let register = RelayRequest::register(key, &session, challenge, self.group);
        let register = register.encode(&session);
        let answer = self.ask(address, &register, |reply| match reply {
            RelayReply::Registered { observed } => Some(Ok(observed)),
            RelayReply::Refused(refusal) => Some(Err(refusal)),
            _ => None,
        });
        let observed = answer
            .await?
            .map_err(|refusal: RelayRefusal| format!("it refuses: {}", refusal.reason()))?;
        Ok((address, session, observed))
    }

    /// Sends a request until the relay gives an expected reply.
    async fn ask<R>(
        &mut self,
        to: SocketAddr,
        request: &[u8],
        expect: impl Fn(RelayReply<'static>) -> Option<R>,
    ) -> Result<R, String> {
        for within in REPLY_WITHIN {
            self.socket.send(to, request).await.map_err(|error| error.to_string())?;
            let expected = async {
                while let Some(reply) = self.replies.recv().await {
                    if let Some(expected) = expect(reply) {
                        return Some(expected);
                    }
                }
                None
            };
            if let Ok(Some(expected)) = timeout(within, expected).await {
                return Ok(expected);
            }
        }
        Err("it does not reply".to_owned())
    }

    /// Keeps the registration. Returns why it ended.
    async fn keep(&mut self, to: SocketAddr, session: &RelaySession) -> String {
        let mut n_unanswered = 0;
        let mut due = Instant::now() + PING_EVERY;
        loop {
            tokio::select! {
                reply = self.replies.recv() => match reply {
                    Some(RelayReply::Registered { .. }) => {
                        n_unanswered = 0;
                        due = Instant::now() + PING_EVERY;
                    }
                    Some(RelayReply::Unknown) => {
                        return "it does not know this peer any more".to_owned();
                    }
                    Some(RelayReply::Meet { peer, meeting, address }) => {
                        self.events.try_send(RelayEvent::Meet { peer, meeting, address }).ok();
                    }
                    Some(_) => {}
                    None => return "the socket is gone".to_owned(),
                },
                () = sleep_until(due) => {
                    if n_unanswered >= MAX_UNANSWERED {
                        return "it does not reply".to_owned();
                    }
                    n_unanswered += 1;
                    due = Instant::now() + PING_AGAIN;
                    self.socket.send(to, &RelayRequest::Ping.encode(session)).await.ok();
                }
            }
        }
    }
}

/// Returns a number that others cannot guess.
pub(crate) fn random_session() -> RelaySession {
    let mut session = RelaySession::default();
    getrandom::fill(&mut session).expect("the operating system has a random source");
    session
}
