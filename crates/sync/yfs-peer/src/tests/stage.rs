//! The stage of attacks: an owner as the victim, members that may read or write, and a connection
//! of the attacker.

use std::fmt::Write as _;

use yfs_engine::time::Millis;
use yfs_replica::FrameSession;

use super::group::{KeyOrder, TestPeer, beginning, exchange, request};
use crate::{
    membership::TicketRequest,
    peer_error::PeerError,
    peer_grant::{PeerCertificate, PeerRights, TicketGrant},
    peer_key::PeerSecretKey,
    peer_message::PeerMessage,
    peer_session::PeerSession,
};

pub(super) const HOUR: i64 = 3_600_000;

/// An attack: the attacker, and what it sends to the owner after it was admitted or instead.
pub(super) type Attack = fn(&mut Stage) -> Result<(), PeerError>;

/// The owner as the victim, and a connection of the attacker.
pub(super) struct Stage {
    pub(super) owner: TestPeer,
    /// May write.
    pub(super) writer: TestPeer,
    /// May read.
    pub(super) reader: TestPeer,
    pub(super) session: Option<PeerSession>,
}

impl Stage {
    pub(super) fn new(order: KeyOrder) -> Self {
        let owner = TestPeer::owner_among(order);
        owner.write("plan", "1");
        let writer = owner.invite(PeerRights::Write);
        let reader = owner.invite(PeerRights::Read);
        Self { owner, writer, reader, session: None }
    }

    /// Begins a connection of `attacker`, without a message.
    pub(super) fn connect(&mut self, attacker: &TestPeer) -> Result<(), PeerError> {
        let session = PeerSession::acceptor(self.owner.member.clone(), attacker.member.id())?;
        self.session = Some(session);
        Ok(())
    }

    pub(super) fn send(&mut self, frame: &[u8]) -> Result<(), PeerError> {
        let session = self.session.as_mut().expect("a connection was begun");
        session.receive(frame)?;
        while session.next_frame()?.is_some() {}
        session.denied().map_or(Ok(()), |code| Err(PeerError::Denies(code)))
    }

    /// Connects `attacker` as a peer that keeps the rules until now.
    pub(super) fn admit(&mut self, attacker: &TestPeer) -> Result<(), PeerError> {
        self.connect(attacker)?;
        self.send(&attacker.hello())?;
        self.begin(attacker)
    }

    /// Sends the first message of replication, in the role that the key of `attacker` gives it.
    pub(super) fn begin(&mut self, attacker: &TestPeer) -> Result<(), PeerError> {
        self.send(&beginning(attacker, &self.owner))
    }

    /// Admits the writer, who has made a change that it has not sent.
    pub(super) fn writer(&mut self) -> Result<TestPeer, PeerError> {
        let writer = self.writer.clone();
        writer.write("evil", "x");
        self.admit(&writer)?;
        Ok(writer)
    }

    /// Admits the reader, who has made a change that it may not send.
    pub(super) fn reader(&mut self) -> Result<TestPeer, PeerError> {
        let reader = self.reader.clone();
        reader.write("evil", "x");
        self.admit(&reader)?;
        Ok(reader)
    }

    /// Connects a peer with this certificate instead of its own.
    pub(super) fn show(
        &mut self,
        attacker: &TestPeer,
        certificate: PeerCertificate,
    ) -> Result<(), PeerError> {
        self.connect(attacker)?;
        let workspace = attacker.workspace().id().clone();
        self.send(&PeerMessage::Hello { workspace, certificate, is_complete: true }.encode())
    }

    pub(super) fn send_all(
        &mut self,
        frames: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<(), PeerError> {
        frames.into_iter().try_for_each(|frame| self.send(&frame))
    }
}

/// Returns the grant of a peer, changed, with a signature of the key that an attacker has.
pub(super) fn altered(peer: &TestPeer, change: impl FnOnce(&mut TicketGrant)) -> PeerCertificate {
    let honest = peer.member.certificate().unwrap();
    let forged = PeerSecretKey::from_seed([9; 32]);
    let mut grant = TicketGrant { ticket_key: forged.id(), ..honest.signed.grant };
    change(&mut grant);
    grant.sign(&forged).bind(&forged, peer.member.id())
}

pub(super) fn expiring(stage: &Stage, rights: PeerRights) -> TestPeer {
    let expires = Some(Millis(stage.owner.member.now().0 + HOUR));
    let ticket = stage.owner.ticket(TicketRequest { expires, ..request(rights) });
    let peer = stage.owner.join(&ticket);
    exchange(&peer, &stage.owner).unwrap();
    peer
}

pub(super) fn once(stage: &Stage) -> crate::PeerTicket {
    stage.owner.ticket(TicketRequest { is_once: true, ..request(PeerRights::Write) })
}

/// Runs the attacks of a table, each on two groups of its own: the attackers have lesser keys than
/// the victim, so that they are the guests of the exchange, and then greater ones. Both end alike.
pub(super) fn play(table: &[(&str, Attack)]) -> String {
    let mut out = String::new();
    for (name, attack) in table {
        let [as_guest, as_hub] = KeyOrder::ALL.map(|order| play_one(*attack, order));
        assert_eq!(as_guest, as_hub, "{name}: it matters who is the guest");
        writeln!(out, "{name}\n    {as_guest}").expect("a string grows");
    }
    out
}

fn play_one(attack: Attack, order: KeyOrder) -> String {
    let mut stage = Stage::new(order);
    let ended = match attack(&mut stage) {
        Ok(()) => "goes on".to_owned(),
        Err(error) => error.to_string(),
    };
    let (n_quarantined, tree) = (stage.owner.n_quarantined(), stage.owner.tree());
    let quarantine = if n_quarantined > 0 { ", quarantined" } else { "" };
    format!("{ended}{quarantine}; {tree}")
}
