//! One side of a connection between two peers, without a transport.
//!
//! The transport has proved that the other side holds the key of its [`PeerId`], and nothing else.
//! The session admits it by its certificate, and then carries a [`ReplicaSession`]. Every message
//! with updates is signed by a peer that vouches for it; the session checks the rights of that peer
//! at the time of arrival, and quarantines what it may not send.
//!
//! # Invariants
//!
//! - Before the peer is admitted, only its first message is decoded, of at most 4 KiB.
//! - No update reaches the replica session unless a key that may write now has signed it.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Notify;
use yfs::Workspace;
use yfs_engine::{id::FileId, lib0::write_string};
use yfs_replica::{
    DEFAULT_MAIN_LIMIT, ExchangeProgress, ExchangeRights, FrameSession, MarkStore, ReplicaSession,
    SessionOptions, WELCOME_WITHIN,
};
use yfs_store::DocName;
use yfs_sync::replica::{DocumentUpdate, ReplicaMessage};

use crate::{
    carried::{CarriedBatch, CarriedList},
    contact::PeerContact,
    first_exchange::{ExchangeTurn, FirstExchange},
    membership::PeerMembership,
    peer_error::{DenialCode, DenialReason, PeerError},
    peer_grant::{PeerCertificate, PeerRights},
    peer_key::{PeerId, SIGNATURE_LEN},
    peer_message::{MAX_CONTACTS_IN_MESSAGE, PeerMessage, is_peer_frame},
    presence::{PresenceLink, SignedPresence},
};

/// The context of the signatures of messages with updates.
const BATCH_CONTEXT: &[u8] = b"yfs peer batch v1\0";

/// The greatest length of a message before the peer is admitted, in bytes.
const MAX_FIRST_FRAME_LEN: usize = 4 << 10;

/// The greatest length of a later message, in bytes: one of replication, and its envelope.
const MAX_FRAME_LEN: usize = (64 << 20) + (4 << 10);

/// The type of a message of replication with updates.
const UPDATES_TYPE: u8 = 2;

/// The most messages of other peers that are remembered so as not to send them back.
const MAX_SEEN: usize = 4096;

/// The most messages that may be queued for a peer that does not read.
const MAX_OUTGOING: usize = 1024;

/// The beginning of the settings with the marks of an exchange with a peer.
const MARKS_SETTING: &str = "peer.marks.";

/// One side of a connection to a peer.
#[derive(Debug)]
pub struct PeerSession {
    member: Arc<PeerMembership>,
    carried: CarriedList,
    remote: PeerId,
    phase: SessionPhase,
    /// What the peer showed.
    certificate: Option<PeerCertificate>,
    own: PeerCertificate,
    outgoing: VecDeque<Vec<u8>>,
    /// The blocks that were sent.
    n_blocks_sent: usize,
    /// The next position of the list of carried messages to send, once the peer has asked.
    carry_from: Option<u64>,
    /// The last position that the peer was informed of.
    carry_reached: Option<u64>,
    seen: BTreeSet<[u8; 32]>,
    /// The marks of the exchange, of a guest.
    marks: Option<MarkStore>,
    /// The number of updates that were put in quarantine because their signer may not write.
    n_unauthorized: u64,
    /// The documents for which peers sent other content under ids that items have here.
    forked: Vec<(PeerId, FileId)>,
    /// Whether the peer has sent all messages of others that it had to pass on.
    has_carried: bool,
    first: Arc<FirstExchange>,
    /// The part in the turn of the peer, until both sides have everything.
    turn: Option<ExchangeTurn>,
    /// Whether both sides had everything after the last step.
    is_resting: bool,
    /// The commits of the store that the last check of the standing has seen.
    checked_stamp: Option<i64>,
    /// The presence of the connection, once the peer is admitted.
    presence: Option<PresenceLink>,
}

#[derive(Debug)]
enum SessionPhase {
    AwaitHello,
    AwaitAdmission,
    Open(Box<ReplicaSession>),
    /// The peer was denied: the message that says so is still to be sent.
    Denied(DenialCode),
}

impl PeerSession {
    /// Makes the side that connects.
    ///
    /// # Errors
    ///
    /// [`PeerError::NotShared`] if this store has no certificate.
    pub fn dialer(member: Arc<PeerMembership>, remote: PeerId) -> Result<Self, PeerError> {
        let first = FirstExchange::new(true);
        let turn = first.begin(remote, Instant::now()).expect("a complete store needs no turn");
        Self::dialer_in_turn(member, remote, first, turn)
    }

    /// Makes the side that connects to a peer whose turn it is.
    pub(crate) fn dialer_in_turn(
        member: Arc<PeerMembership>,
        remote: PeerId,
        first: Arc<FirstExchange>,
        turn: ExchangeTurn,
    ) -> Result<Self, PeerError> {
        let mut session = Self::new(member, remote, SessionPhase::AwaitAdmission, first)?;
        session.turn = Some(turn);
        let workspace = session.workspace().id().clone();
        let (certificate, is_complete) = (session.own.clone(), session.first.is_complete());
        let hello = PeerMessage::Hello { workspace, certificate, is_complete };
        session.outgoing.push_back(hello.encode());
        Ok(session)
    }

    /// Makes the side that accepts a connection.
    ///
    /// # Errors
    ///
    /// [`PeerError::NotShared`] if this store has no certificate.
    pub fn acceptor(member: Arc<PeerMembership>, remote: PeerId) -> Result<Self, PeerError> {
        Self::acceptor_in_turn(member, remote, FirstExchange::new(true))
    }

    /// Makes the side that accepts a connection once it is the turn of the peer.
    pub(crate) fn acceptor_in_turn(
        member: Arc<PeerMembership>,
        remote: PeerId,
        first: Arc<FirstExchange>,
    ) -> Result<Self, PeerError> {
        Self::new(member, remote, SessionPhase::AwaitHello, first)
    }

    fn new(
        member: Arc<PeerMembership>,
        remote: PeerId,
        phase: SessionPhase,
        first: Arc<FirstExchange>,
    ) -> Result<Self, PeerError> {
        Ok(Self {
            carried: CarriedList::of(member.workspace())?,
            own: member.certificate()?,
            member,
            remote,
            phase,
            certificate: None,
            outgoing: VecDeque::new(),
            n_blocks_sent: 0,
            carry_from: None,
            carry_reached: None,
            seen: BTreeSet::new(),
            marks: None,
            n_unauthorized: 0,
            forked: Vec::new(),
            has_carried: false,
            first,
            turn: None,
            is_resting: false,
            checked_stamp: None,
            presence: None,
        })
    }

    /// Returns the peer.
    pub fn remote(&self) -> PeerId {
        self.remote
    }

    /// Returns the certificate that the peer showed and that was valid.
    pub fn certificate(&self) -> Option<&PeerCertificate> {
        self.certificate.as_ref()
    }

    /// Reports whether the peer is admitted on both sides.
    pub fn is_open(&self) -> bool {
        matches!(self.phase, SessionPhase::Open(_))
    }

    /// Returns why the peer was denied, once the message that says so was returned.
    pub fn denied(&self) -> Option<DenialCode> {
        match &self.phase {
            SessionPhase::Denied(code) if self.outgoing.is_empty() => Some(*code),
            _ => None,
        }
    }

    /// Reports whether both sides have everything, as far as this side knows.
    pub fn is_done(&self) -> bool {
        match &self.phase {
            SessionPhase::Open(inner) => {
                // All that a peer without the right to write sends is what others signed.
                let has_all = self.has_carried || self.is_remote_writer();
                inner.is_done() && has_all && self.outgoing.is_empty()
            }
            _ => false,
        }
    }

    /// Follows the turn of the peer after a step, if this store has just joined. Reports whether
    /// the store is up to date from now on, and was not before.
    pub(crate) fn follow_turn(&mut self, is_done: bool) -> bool {
        self.is_resting = is_done;
        if is_done {
            return self.turn.take().is_some_and(ExchangeTurn::complete);
        }
        let progress = self.progress();
        if let Some(turn) = &mut self.turn {
            turn.note_news(progress.n_new + progress.n_blobs, Instant::now());
        }
        false
    }

    /// Returns the counters of the exchange so far.
    pub fn progress(&self) -> ExchangeProgress {
        match &self.phase {
            SessionPhase::Open(inner) => inner.progress(),
            _ => ExchangeProgress::default(),
        }
    }

    /// Returns the number of updates that were put in quarantine, because their signer may not
    /// write or because they are harmful.
    pub fn n_refused(&self) -> u64 {
        self.n_unauthorized + self.progress().n_quarantined
    }

    /// Takes the documents for which a peer, which is named, sent other content under ids that
    /// items have here. The peer may only have passed it on, so the connection continues.
    pub(crate) fn take_forked(&mut self) -> Vec<(PeerId, FileId)> {
        std::mem::take(&mut self.forked)
    }

    /// Returns the greatest length of the next message that the peer may send, in bytes.
    pub(crate) fn max_frame_len(&self) -> usize {
        if self.is_open() { MAX_FRAME_LEN } else { MAX_FIRST_FRAME_LEN }
    }

    /// Checks that both sides may still be connected, and sends blocks that were added since.
    ///
    /// # Errors
    ///
    /// [`PeerError::Denies`] if the certificate of the peer, or of this side, has expired or was
    /// blocked.
    pub(crate) fn check_standing(&mut self) -> Result<(), PeerError> {
        let Some(certificate) = &self.certificate else { return Ok(()) };
        // Blocks and notes are in the store: only a commit changes them.
        let stamp = self.workspace().store().commit_stamp()?;
        let is_unchanged = stamp.is_some() && stamp == self.checked_stamp;
        for certificate in [certificate, &self.own] {
            if certificate.has_expired(self.member.now()) {
                return Err(PeerError::Denies(DenialCode::Expired));
            }
            if !is_unchanged {
                self.member.check_current(certificate)?.map_err(PeerError::Denies)?;
            }
        }
        if is_unchanged {
            return Ok(());
        }
        self.checked_stamp = stamp;
        self.send_blocks()
    }

    /// Sends the contacts that this store knows, this peer's own first.
    pub(crate) fn send_contacts(&mut self, own: Option<PeerContact>) -> Result<(), PeerError> {
        let known = self.member.contacts()?;
        let remote = self.remote;
        let others = known.into_iter().filter(|known| known.peer != remote);
        let contacts = own.into_iter().chain(others.filter(|known| known.certificate().is_some()));
        let contacts: Vec<PeerContact> = contacts.take(MAX_CONTACTS_IN_MESSAGE).collect();
        self.send(&PeerMessage::Contacts(contacts))
    }

    /// Records that both sides have everything, before the connection is closed normally.
    pub fn remember_all(&mut self) -> Result<(), PeerError> {
        if let SessionPhase::Open(inner) = &mut self.phase {
            inner.remember_all()?;
        }
        self.save_marks()
    }

    fn send(&mut self, message: &PeerMessage<'_>) -> Result<(), PeerError> {
        if self.outgoing.len() >= MAX_OUTGOING {
            return Err(PeerError::Fault("it does not read"));
        }
        self.outgoing.push_back(message.encode());
        Ok(())
    }

    fn send_blocks(&mut self) -> Result<(), PeerError> {
        if self.member.n_blocks()? > self.n_blocks_sent {
            let blocks = self.member.blocks()?;
            let news = blocks[self.n_blocks_sent..].to_vec();
            self.n_blocks_sent = blocks.len();
            self.send(&PeerMessage::Blocks(news))?;
        }
        Ok(())
    }

    fn handle_hello(&mut self, frame: &[u8]) -> Result<(), PeerError> {
        let Ok(PeerMessage::Hello { workspace, certificate, is_complete }) =
            PeerMessage::decode(frame)
        else {
            return Err(PeerError::Fault("its first message is not a hello"));
        };
        let mut admitted = if workspace == *self.workspace().id() {
            self.member.admit(&certificate, self.remote)?
        } else {
            Err(DenialCode::NotAdmitted)
        };
        if admitted.is_ok() {
            self.turn = self.first.begin(self.remote, Instant::now());
            if !self.is_in_turn(is_complete) {
                admitted = Err(DenialCode::Joining);
            }
        }
        let renewed = match admitted {
            Ok(renewed) => renewed,
            Err(code) => {
                self.outgoing.push_back(PeerMessage::Denied(code).encode());
                self.phase = SessionPhase::Denied(code);
                return Ok(());
            }
        };
        let own = self.own.clone();
        let is_complete = self.first.is_complete();
        self.certificate = Some(renewed.clone().unwrap_or(certificate));
        let renewed = renewed.map(Box::new);
        self.send(&PeerMessage::Admitted { certificate: own, renewed, is_complete })?;
        self.begin_exchange()
    }

    /// Reports whether it is the turn of the peer, which says whether it is up to date.
    fn is_in_turn(&mut self, is_complete: bool) -> bool {
        let now = Instant::now();
        let is_in_turn = self.turn.as_mut().is_some_and(|turn| turn.may_exchange(is_complete, now));
        if !is_in_turn {
            self.give_back_turn();
        }
        is_in_turn
    }

    fn give_back_turn(&mut self) {
        if let Some(turn) = self.turn.take() {
            turn.give_back();
        }
    }

    fn handle_admission(&mut self, frame: &[u8]) -> Result<(), PeerError> {
        let (certificate, renewed, is_complete) = match PeerMessage::decode(frame) {
            Ok(PeerMessage::Admitted { certificate, renewed, is_complete }) => {
                (certificate, renewed, is_complete)
            }
            Ok(PeerMessage::Denied(code)) => {
                self.give_back_turn();
                return Err(PeerError::Denied(code));
            }
            _ => return Err(PeerError::Fault("its first message is not an answer")),
        };
        if let Some(renewed) = renewed {
            self.member.set_certificate(&renewed)?;
            self.own = *renewed;
        }
        match self.member.admit(&certificate, self.remote)? {
            Ok(None) => {}
            // Its ticket is for one peer, and the owner has not admitted it yet.
            Ok(Some(_)) => return Err(PeerError::Denies(DenialCode::NeedsOwner)),
            Err(code) => return Err(PeerError::Denies(code)),
        }
        if !self.is_in_turn(is_complete) {
            return Err(PeerError::Denies(DenialCode::Joining));
        }
        self.certificate = Some(certificate);
        self.begin_exchange()
    }

    /// Begins the exchange of logs. The side with the lesser key is the guest, whichever connected:
    /// so the same store keeps the marks of a pair each time.
    fn begin_exchange(&mut self) -> Result<(), PeerError> {
        let is_remote_writer = self.is_remote_writer();
        let workspace = self.workspace().clone();
        let inner = if self.member.id() < self.remote {
            let rights = ExchangeRights { is_writer: self.is_writer(), is_remote_writer };
            let setting = format!("{MARKS_SETTING}{}", self.remote);
            let marks = self.marks.insert(MarkStore::open(&workspace, setting, Some(rights))?);
            ReplicaSession::guest(workspace, marks.marks())
        } else {
            ReplicaSession::hub(workspace, is_remote_writer)
        };
        let settles_contents = self.member.is_owner()?;
        let inner = inner.with_blob_pool(self.member.blob_pool()).with_options(|options| {
            *options = SessionOptions {
                keeps_changes: !self.is_writer(),
                settles_contents,
                are_updates_checked: true,
                main_limit: Some(DEFAULT_MAIN_LIMIT),
            };
        });
        self.open(inner)
    }

    fn open(&mut self, inner: ReplicaSession) -> Result<(), PeerError> {
        self.phase = SessionPhase::Open(Box::new(inner));
        self.presence = Some(self.member.presence().join(self.remote));
        self.send_blocks()?;
        let (epoch, position) = self.carried.position_of(&self.remote.to_string())?;
        self.send(&PeerMessage::CarrySince { epoch, position })
    }

    /// Reports whether this side may send changes of its own.
    fn is_writer(&self) -> bool {
        self.own.signed.grant.rights == PeerRights::Write
    }

    /// Reports whether the admitted peer may send changes of its own.
    fn is_remote_writer(&self) -> bool {
        let certificate = self.certificate.as_ref();
        certificate.is_some_and(|shown| shown.signed.grant.rights == PeerRights::Write)
    }

    fn save_marks(&mut self) -> Result<(), PeerError> {
        match (&self.phase, &mut self.marks) {
            (SessionPhase::Open(inner), Some(marks)) => Ok(marks.save(inner)?),
            _ => Ok(()),
        }
    }

    /// Processes a message of an admitted peer.
    fn handle_open(&mut self, frame: &[u8]) -> Result<(), PeerError> {
        if !is_peer_frame(frame) {
            if frame.first() == Some(&UPDATES_TYPE) {
                return Err(PeerError::Fault("updates without a signature"));
            }
            return self.pass_on(frame);
        }
        let message = PeerMessage::decode(frame)
            .map_err(|_| PeerError::Fault("a message that cannot be decoded"))?;
        match message {
            PeerMessage::Signed { signature, frame } => self.receive_signed(signature, frame),
            PeerMessage::Carried { certificate, signature, frame } => {
                let frame = frame.to_vec();
                self.receive_carried(&CarriedBatch { certificate, signature, frame })
            }
            PeerMessage::Blocks(blocks) => {
                for block in &blocks {
                    self.member.add_block(block)?;
                }
                self.checked_stamp = None;
                self.check_standing()
            }
            PeerMessage::Contacts(contacts) => {
                let mut checked = Vec::new();
                for contact in contacts {
                    if self.member.check_contact(&contact)? {
                        checked.push(contact);
                    }
                }
                self.member.add_contacts(checked)
            }
            PeerMessage::CarrySince { epoch, position } => {
                if self.carry_from.is_some() {
                    return Err(PeerError::Fault("a second position to continue from"));
                }
                let is_known = epoch == self.carried.epoch();
                self.carry_from = Some(if is_known { position } else { 0 });
                Ok(())
            }
            PeerMessage::CarryReached { epoch, position } => {
                self.has_carried = true;
                let remote = self.remote.to_string();
                Ok(self.carried.set_position_of(&remote, epoch, position)?)
            }
            PeerMessage::Presence { certificate, signature, frame } => {
                self.receive_presence(SignedPresence::of_message(*certificate, signature, frame))
            }
            PeerMessage::PresenceWithdrawn { peer } => {
                self.presence.as_mut().map_or(Ok(()), |presence| presence.withdraw(peer))
            }
            PeerMessage::Hello { .. } | PeerMessage::Admitted { .. } | PeerMessage::Denied(_) => {
                Err(PeerError::Fault("a message of admission out of turn"))
            }
        }
    }

    fn receive_presence(&mut self, message: SignedPresence) -> Result<(), PeerError> {
        let Some(presence) = &mut self.presence else { return Ok(()) };
        let owner = self.member.owner()?.ok_or(PeerError::NotShared)?;
        let member = &self.member;
        presence.receive(message, (owner, member.workspace().id()), |certificate| {
            Ok(member.check_current(certificate)?.is_ok())
        })
    }

    fn pass_on(&mut self, frame: &[u8]) -> Result<(), PeerError> {
        let SessionPhase::Open(inner) = &mut self.phase else {
            return Err(PeerError::Fault("a message out of turn"));
        };
        inner.receive(frame)?;
        self.save_marks()
    }

    /// Accepts updates that the peer itself vouches for.
    fn receive_signed(
        &mut self,
        signature: [u8; SIGNATURE_LEN],
        frame: &[u8],
    ) -> Result<(), PeerError> {
        let certificate = self.certificate.clone().ok_or(PeerError::Fault("no certificate"))?;
        let batch = CarriedBatch { certificate, signature, frame: frame.to_vec() };
        match self.check_batch(&batch)? {
            Ok(()) => self.accept(&batch),
            Err(reason) => Err(PeerError::Unauthorized(reason)),
        }
    }

    /// Accepts updates that another peer vouches for. The peer that carries them may not know that
    /// the other has lost its right.
    fn receive_carried(&mut self, batch: &CarriedBatch) -> Result<(), PeerError> {
        let owner = self.member.owner()?.ok_or(PeerError::NotShared)?;
        if batch.certificate.check(owner, self.workspace().id()).is_err() {
            return Err(PeerError::Fault("a certificate that the owner did not sign"));
        }
        if self.seen.len() < MAX_SEEN {
            self.seen.insert(batch.id());
        }
        match self.check_batch(batch)? {
            Ok(()) => self.accept(batch),
            Err(DenialReason::Forged) => Err(PeerError::Unauthorized(DenialReason::Forged)),
            Err(_) => Ok(()),
        }
    }

    fn accept(&mut self, batch: &CarriedBatch) -> Result<(), PeerError> {
        // It is kept before it is logged, so that nothing is logged that can't be passed on.
        if !self.is_writer() {
            self.carried.append(batch)?;
        }
        let SessionPhase::Open(inner) = &mut self.phase else {
            return Err(PeerError::Fault("a message out of turn"));
        };
        let signer = batch.certificate.peer;
        let forked = inner.receive_from(&signer.to_string(), &batch.frame)?;
        self.forked.extend(forked.into_iter().map(|doc| (signer, doc)));
        self.save_marks()
    }

    /// Checks the signature of a message with updates and the rights of its signer. Puts updates
    /// that are not accepted into quarantine.
    fn check_batch(&mut self, batch: &CarriedBatch) -> Result<Result<(), DenialReason>, PeerError> {
        let Ok(ReplicaMessage::Updates(updates)) = ReplicaMessage::decode(&batch.frame) else {
            return Err(PeerError::Fault("a signed message without updates"));
        };
        let bytes = batch_bytes(self.workspace().id().as_str(), &batch.frame);
        let reason = if batch.certificate.peer.has_signed(&bytes, &batch.signature) {
            match self.member.check_writer(&batch.certificate)? {
                Ok(()) => return Ok(Ok(())),
                Err(reason) => reason,
            }
        } else {
            DenialReason::Forged
        };
        self.quarantine(&batch.certificate, &updates, reason)?;
        Ok(Err(reason))
    }

    fn quarantine(
        &mut self,
        certificate: &PeerCertificate,
        updates: &[DocumentUpdate<'_>],
        reason: DenialReason,
    ) -> Result<(), PeerError> {
        let reason = format!("from peer {}: {reason}", certificate.peer.short());
        let now = self.member.now();
        for update in updates {
            let doc = DocName::from(&update.doc);
            self.workspace().store().quarantine(&doc, update.data, &reason, now)?;
            self.n_unauthorized += 1;
        }
        Ok(())
    }

    /// Signs a message with updates; returns others unchanged.
    fn seal(&self, frame: Vec<u8>) -> Vec<u8> {
        if frame.first() != Some(&UPDATES_TYPE) {
            return frame;
        }
        let bytes = batch_bytes(self.workspace().id().as_str(), &frame);
        let signature = self.member.key().sign(&bytes);
        PeerMessage::Signed { signature, frame: &frame }.encode()
    }

    /// Returns the next message of another peer to pass on.
    fn next_carried(&mut self) -> Result<Option<Vec<u8>>, PeerError> {
        let Some(position) = &mut self.carry_from else { return Ok(None) };
        while let Some(batch) = self.carried.get(*position)? {
            *position += 1;
            let is_own = batch.certificate.peer == self.remote;
            if is_own || self.seen.contains(&batch.id()) {
                continue;
            }
            let CarriedBatch { certificate, signature, frame } = batch;
            let message = PeerMessage::Carried { certificate, signature, frame: &frame };
            return Ok(Some(message.encode()));
        }
        if self.carry_reached == Some(*position) {
            return Ok(None);
        }
        self.carry_reached = Some(*position);
        let (epoch, position) = (self.carried.epoch(), *position);
        Ok(Some(PeerMessage::CarryReached { epoch, position }.encode()))
    }
}

impl FrameSession for PeerSession {
    type Error = PeerError;

    fn receive(&mut self, frame: &[u8]) -> Result<(), PeerError> {
        if frame.len() > self.max_frame_len() {
            return Err(PeerError::Fault("a message that is too long"));
        }
        match &self.phase {
            SessionPhase::AwaitHello => self.handle_hello(frame),
            SessionPhase::AwaitAdmission => self.handle_admission(frame),
            SessionPhase::Open(_) => self.handle_open(frame),
            SessionPhase::Denied(code) => Err(PeerError::Denies(*code)),
        }
    }

    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, PeerError> {
        if let Some(frame) = self.outgoing.pop_front() {
            return Ok(Some(frame));
        }
        let SessionPhase::Open(inner) = &mut self.phase else { return Ok(None) };
        // It is little, and would end if a large blob delayed it.
        if let Some(frame) = self.presence.as_mut().and_then(PresenceLink::next_message) {
            return Ok(Some(frame));
        }
        if let Some(frame) = inner.next_frame()? {
            return Ok(Some(self.seal(frame)));
        }
        if inner.has_begun() { self.next_carried() } else { Ok(None) }
    }

    fn patience(&self) -> Option<Duration> {
        match &self.phase {
            // A hub waits for a guest without a limit only once the guest has begun.
            SessionPhase::Open(inner) if inner.has_begun() => inner.patience(),
            _ => Some(WELCOME_WITHIN),
        }
    }

    fn is_resting(&self) -> bool {
        self.is_resting
    }

    fn workspace(&self) -> &Workspace {
        self.member.workspace()
    }

    fn wake(&self) -> Option<Arc<Notify>> {
        self.presence.as_ref().map(|presence| presence.wake().clone())
    }
}

pub(crate) fn batch_bytes(workspace: &str, frame: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BATCH_CONTEXT.len() + workspace.len() + 8 + 32);
    bytes.extend_from_slice(BATCH_CONTEXT);
    write_string(&mut bytes, workspace);
    bytes.extend_from_slice(blake3::hash(frame).as_bytes());
    bytes
}
