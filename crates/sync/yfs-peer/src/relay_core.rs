//! What a relay does with a datagram, without a socket or a clock.
//!
//! # Invariants
//!
//! - Nothing is remembered of a sender before it has proven its address by a challenge and its key
//!   by a signature, except a bounded count of its attempts. Nor is of a joiner, who has no key
//!   here.
//! - Each datagram causes at most one datagram, except a call, which causes two; each is at most as
//!   long as its cause. Until the sender has proven its address, it goes to the sender, and is
//!   shorter.
//! - What is passed on is not read, and goes only to a registered peer of the same group.
//!
//! # Cost
//!
//! A constant number of lookups in hash tables for each datagram; a signature is verified only for
//! a sender that has proven its address, and within a rate.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use crate::{
    peer_key::{KEY_LEN, PeerId},
    relay_codes::{CodeApplication, RelayCodes},
    relay_limits::{RelayAllowList, RelayLimits, TokenBucket},
    relay_message::{
        CHALLENGE_LEN, MeetingNumber, RelayChallenge, RelayGroup, RelayRefusal, RelayReply,
        RelayRequest, RelaySession, RelayVisit, VISIT_CODE_LEN, VISIT_HEADER_LEN,
    },
};

/// How long a challenge may be used.
const CHALLENGE_TTL: Duration = Duration::from_secs(10);

/// The silence after which a registration ends.
pub(crate) const REGISTRATION_TTL: Duration = Duration::from_secs(60);

/// How often ended registrations are removed.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// The most addresses whose attempts are counted.
const MAX_COUNTED: usize = 8192;

/// The calls per second of each peer.
const CALLS_PER_SECOND: u64 = 4;

/// The knocks per second of each address at numbers that no peer offers. Until the next one, no
/// knock of the address is passed on, so that an attempt shows only what it has cost.
const MISSES_PER_SECOND: u64 = 1;

/// How long a visit may be answered.
const VISIT_TTL: Duration = Duration::from_secs(30);

/// The context of the key of the codes of visits.
const VISIT_CONTEXT: &str = "yfs relay visit v1";

/// The datagrams that are to be sent.
pub(crate) type RelayOutput = Vec<(SocketAddr, Vec<u8>)>;

/// The counts of a relay since its start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RelayStatistics {
    /// The registrations now.
    pub peers: u64,
    /// The registrations since the start, also of the same peer from another address.
    pub registered: u64,
    /// The registrations that were refused.
    pub refused: u64,
    /// The datagrams that were passed on.
    pub forwarded: u64,
    /// Their bytes, with the envelope.
    pub forwarded_bytes: u64,
    /// The calls by which two peers tried to connect directly.
    pub calls: u64,
    /// The join codes that are offered now.
    pub codes: u64,
    /// The messages of joiners that were passed on to peers that offer a code.
    pub knocks: u64,
    /// The datagrams that were dropped because of a limit.
    pub over_limit: u64,
    /// Those whose target is not registered in the group of the sender.
    pub no_target: u64,
    /// Those whose sender is not registered.
    pub no_sender: u64,
    /// Those that could not be decoded.
    pub malformed: u64,
}

/// The state of a relay.
#[derive(Debug)]
pub(crate) struct RelayCore {
    limits: RelayLimits,
    allowed: RelayAllowList,
    /// The key of challenges, random at each start.
    secret: [u8; KEY_LEN],
    /// The key of the codes of visits.
    visit_secret: [u8; KEY_LEN],
    codes: RelayCodes,
    sessions: HashMap<RelaySession, RelayRegistration>,
    peers: HashMap<(RelayGroup, PeerId), RelaySession>,
    senders: HashMap<IpAddr, SenderCount>,
    bytes: TokenBucket,
    attempts: TokenBucket,
    knocks: TokenBucket,
    swept_at: Duration,
    statistics: RelayStatistics,
}

/// A peer that has proven its key and its address.
#[derive(Debug)]
struct RelayRegistration {
    peer: PeerId,
    group: RelayGroup,
    address: SocketAddr,
    /// The time in the challenge. A registration with an earlier one does not replace this one.
    challenged_at: u64,
    last_seen: Duration,
    bytes: TokenBucket,
    calls: TokenBucket,
}

/// What is counted of one address.
#[derive(Debug)]
struct SenderCount {
    attempts: TokenBucket,
    knocks: TokenBucket,
    misses: TokenBucket,
    n_peers: usize,
    last_seen: Duration,
}

/// A registration or an offer that a peer asks for.
struct RelayApplication<'r> {
    session: RelaySession,
    challenge: RelayChallenge,
    group: RelayGroup,
    peer: PeerId,
    is_signed: &'r dyn Fn() -> bool,
}

impl RelayCore {
    /// Makes a relay without registrations.
    pub(crate) fn new(
        limits: RelayLimits,
        allowed: RelayAllowList,
        secret: [u8; KEY_LEN],
        now: Duration,
    ) -> Self {
        Self {
            bytes: TokenBucket::new(limits.bytes_of_all, now),
            attempts: TokenBucket::new(limits.attempts_of_all, now),
            knocks: TokenBucket::new(limits.knocks_of_all, now),
            limits,
            allowed,
            visit_secret: blake3::derive_key(VISIT_CONTEXT, &secret),
            secret,
            codes: RelayCodes::default(),
            sessions: HashMap::new(),
            peers: HashMap::new(),
            senders: HashMap::new(),
            swept_at: now,
            statistics: RelayStatistics::default(),
        }
    }

    /// Returns the counts.
    pub(crate) fn statistics(&self) -> RelayStatistics {
        let (peers, codes) = (self.sessions.len() as u64, self.codes.len() as u64);
        RelayStatistics { peers, codes, ..self.statistics }
    }

    /// Returns the number of registrations, of offers, and of addresses that are counted.
    #[cfg(test)]
    pub(crate) fn n_remembered(&self) -> usize {
        self.sessions.len() + self.codes.len() + self.senders.len()
    }

    /// Processes a datagram, and appends those that it causes.
    pub(crate) fn handle(
        &mut self,
        now: Duration,
        from: SocketAddr,
        datagram: &[u8],
        out: &mut RelayOutput,
    ) {
        if now.saturating_sub(self.swept_at) >= SWEEP_EVERY {
            self.sweep(now);
        }
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        let Some((session, request)) = RelayRequest::decode(datagram) else {
            self.statistics.malformed += 1;
            return;
        };
        let is_signed: &dyn Fn() -> bool = &|| request.is_signed(&session);
        let reply = match request {
            RelayRequest::Hello => {
                Some(RelayReply::Challenge(self.challenge_at(millis(now), from)))
            }
            RelayRequest::Register { challenge, group, peer, .. } => {
                let application = RelayApplication { session, challenge, group, peer, is_signed };
                let registered = self.register(now, from, &application);
                Some(self.reply_to(registered, from))
            }
            RelayRequest::Offer { challenge, number, group, peer, .. } => {
                let application = RelayApplication { session, challenge, group, peer, is_signed };
                let offered = self.offer(now, from, number, &application);
                Some(self.reply_to(offered, from))
            }
            RelayRequest::Knock { challenge, number, payload } => {
                let refusal = self.knock(now, (from, session), &challenge, (number, payload), out);
                refusal.err().map(RelayReply::Refused)
            }
            request => self.serve(now, from, (session, request), out),
        };
        if let Some(reply) = reply {
            out.push((from, reply.encode(&session)));
        }
    }

    fn reply_to(
        &mut self,
        registered: Result<(), RelayRefusal>,
        observed: SocketAddr,
    ) -> RelayReply<'static> {
        match registered {
            Ok(()) => RelayReply::Registered { observed },
            Err(refusal) => {
                self.statistics.refused += 1;
                RelayReply::Refused(refusal)
            }
        }
    }

    /// Serves a registered peer, or one that offers a code. Returns what it is answered.
    fn serve<'d>(
        &mut self,
        now: Duration,
        from: SocketAddr,
        (session, request): (RelaySession, RelayRequest<'d>),
        out: &mut RelayOutput,
    ) -> Option<RelayReply<'d>> {
        if let Some(number) = self.codes.number_of(&session) {
            return self.serve_offer(now, from, (number, request), out);
        }
        let registered = self.sessions.get_mut(&session);
        let Some(sender) = registered.filter(|known| known.address == from) else {
            self.statistics.no_sender += 1;
            let is_leaving = matches!(request, RelayRequest::Leave);
            return (!is_leaving).then_some(RelayReply::Unknown);
        };
        sender.last_seen = now;
        match request {
            RelayRequest::Ping => Some(RelayReply::Registered { observed: from }),
            RelayRequest::Leave => {
                self.remove(&session);
                None
            }
            RelayRequest::Send { to, payload } => self.forward(now, &session, to, payload, out),
            RelayRequest::Call { to, meeting } => self.call(now, &session, (to, meeting), out),
            _ => None,
        }
    }

    /// Serves a peer that offers a code. Returns what it is answered.
    fn serve_offer<'d>(
        &mut self,
        now: Duration,
        from: SocketAddr,
        (number, request): (u16, RelayRequest<'d>),
        out: &mut RelayOutput,
    ) -> Option<RelayReply<'d>> {
        let Some(offer) = self.codes.get_mut(number).filter(|offer| offer.address == from) else {
            self.statistics.no_sender += 1;
            let is_leaving = matches!(request, RelayRequest::Leave);
            return (!is_leaving).then_some(RelayReply::Unknown);
        };
        offer.note_seen(now);
        match request {
            RelayRequest::Ping => return Some(RelayReply::Registered { observed: from }),
            RelayRequest::Leave => drop(self.codes.remove(number)),
            RelayRequest::Answer { visit, payload } => {
                let len = out_len(payload);
                let code = visit_code(&self.visit_secret, &visit);
                let is_current = millis(now).saturating_sub(visit.time) <= millis(VISIT_TTL);
                if !is_current || code != visit.code {
                    self.statistics.no_target += 1;
                } else if offer.take(len, &mut self.bytes, now) {
                    let answered = RelayReply::Answered { payload };
                    out.push((visit.address, answered.encode(&visit.session)));
                } else {
                    self.statistics.over_limit += 1;
                }
            }
            _ => {}
        }
        None
    }

    /// Passes a datagram on.
    fn forward<'d>(
        &mut self,
        now: Duration,
        session: &RelaySession,
        to: PeerId,
        payload: &[u8],
        out: &mut RelayOutput,
    ) -> Option<RelayReply<'d>> {
        let sender = self.sessions.get_mut(session)?;
        let Some(target) = self.peers.get(&(sender.group, to)).copied() else {
            self.statistics.no_target += 1;
            return Some(RelayReply::NoPeer(to));
        };
        let from = sender.peer;
        let len = (crate::relay_message::ENVELOPE_LEN + payload.len()) as u64;
        if !sender.bytes.take(len, now) {
            self.statistics.over_limit += 1;
            return None;
        }
        if !self.bytes.take(len, now) {
            sender.bytes.put_back(len);
            self.statistics.over_limit += 1;
            return None;
        }
        self.statistics.forwarded += 1;
        self.statistics.forwarded_bytes += len;
        let received = RelayReply::Received { from, payload };
        let address = self.sessions.get(&target)?.address;
        out.push((address, received.encode(&target)));
        None
    }

    /// Reports to two peers the observed address of the other.
    fn call<'d>(
        &mut self,
        now: Duration,
        session: &RelaySession,
        (to, meeting): (PeerId, MeetingNumber),
        out: &mut RelayOutput,
    ) -> Option<RelayReply<'d>> {
        let caller = self.sessions.get_mut(session)?;
        if !caller.calls.take(1, now) {
            self.statistics.over_limit += 1;
            return None;
        }
        let (group, peer, address) = (caller.group, caller.peer, caller.address);
        let target_session = self.peers.get(&(group, to)).copied();
        let target = target_session.and_then(|target| Some((target, self.sessions.get(&target)?)));
        let Some((target_session, target)) = target else {
            self.statistics.no_target += 1;
            return Some(RelayReply::NoPeer(to));
        };
        self.statistics.calls += 1;
        let meet = RelayReply::Meet { peer, meeting, address };
        out.push((target.address, meet.encode(&target_session)));
        Some(RelayReply::Meet { peer: to, meeting, address: target.address })
    }

    /// Checks what a peer asks for. Returns the time in the challenge.
    fn admit(
        &mut self,
        now: Duration,
        from: SocketAddr,
        asked: &RelayApplication<'_>,
    ) -> Result<u64, RelayRefusal> {
        let challenged_at = self.check_challenge(now, from, &asked.challenge)?;
        self.count_attempt(now, from.ip())?;
        if !self.allowed.allows(asked.peer, &asked.group) {
            return Err(RelayRefusal::NotAllowed);
        }
        if !(asked.is_signed)() {
            return Err(RelayRefusal::Forged);
        }
        Ok(challenged_at)
    }

    /// Checks that a challenge is one for this address, and recent. Returns the time in it.
    fn check_challenge(
        &self,
        now: Duration,
        from: SocketAddr,
        challenge: &RelayChallenge,
    ) -> Result<u64, RelayRefusal> {
        let (time, _) = challenge.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let challenged_at = u64::from_be_bytes(*time);
        let is_current = millis(now).saturating_sub(challenged_at) <= millis(CHALLENGE_TTL);
        let is_own = self.challenge_at(challenged_at, from) == *challenge;
        if is_current && is_own { Ok(challenged_at) } else { Err(RelayRefusal::StaleChallenge) }
    }

    /// Offers a join code at the address of a sender.
    fn offer(
        &mut self,
        now: Duration,
        from: SocketAddr,
        number: u16,
        asked: &RelayApplication<'_>,
    ) -> Result<(), RelayRefusal> {
        let challenged_at = self.admit(now, from, asked)?;
        if self.sessions.contains_key(&asked.session) {
            return Err(RelayRefusal::Busy);
        }
        let (session, peer) = (asked.session, asked.peer);
        let offer = CodeApplication { number, session, address: from, peer, challenged_at };
        self.codes.offer(&offer, &self.limits, now)
    }

    /// Passes a message of a joiner on to the peer that offers the code with a number.
    fn knock(
        &mut self,
        now: Duration,
        (from, session): (SocketAddr, RelaySession),
        challenge: &RelayChallenge,
        (number, payload): (u16, &[u8]),
        out: &mut RelayOutput,
    ) -> Result<(), RelayRefusal> {
        self.check_challenge(now, from, challenge)?;
        let is_offered = self.codes.get_mut(number).is_some();
        self.count_knock(now, from.ip(), is_offered)?;
        let offer = self.codes.get_mut(number).ok_or(RelayRefusal::NoCode)?;
        if !offer.take(out_len(payload), &mut self.bytes, now) {
            self.statistics.over_limit += 1;
            return Ok(());
        }
        self.statistics.knocks += 1;
        let time = millis(now);
        let visit = RelayVisit { time, address: from, session, code: [0; VISIT_CODE_LEN] };
        let visit = RelayVisit { code: visit_code(&self.visit_secret, &visit), ..visit };
        out.push((offer.address, RelayReply::Visit { visit, payload }.encode(&offer.session)));
        Ok(())
    }

    /// Registers a peer at the address of a sender.
    fn register(
        &mut self,
        now: Duration,
        from: SocketAddr,
        asked: &RelayApplication<'_>,
    ) -> Result<(), RelayRefusal> {
        let challenged_at = self.admit(now, from, asked)?;
        let known = self.peers.get(&(asked.group, asked.peer)).copied();
        let registered = known.and_then(|session| self.sessions.get(&session));
        if registered.is_some_and(|known| known.challenged_at > challenged_at) {
            return Err(RelayRefusal::StaleChallenge);
        }
        let is_taken = self.codes.number_of(&asked.session).is_some();
        if is_taken || self.sessions.contains_key(&asked.session) && known != Some(asked.session) {
            return Err(RelayRefusal::Busy);
        }
        // The peer's former registration makes room for this one.
        let freed = known.and_then(|session| self.sessions.get(&session));
        let freed_here =
            freed.is_some_and(|known| sender_of(known.address.ip()) == sender_of(from.ip()));
        let n_here = self.senders.get(&sender_of(from.ip())).map_or(0, |sender| sender.n_peers);
        let is_full = known.is_none() && self.sessions.len() >= self.limits.max_peers;
        if is_full || (!freed_here && n_here >= self.limits.max_peers_of_address) {
            return Err(RelayRefusal::Full);
        }
        // A peer that registers again gets no fresh allowance.
        let allowance = known.and_then(|session| self.remove(&session));
        let fresh = |rate| TokenBucket::new(rate, now);
        let (bytes, calls) = allowance.map_or_else(
            || (fresh(self.limits.bytes_of_peer), fresh(CALLS_PER_SECOND)),
            |known| (known.bytes, known.calls),
        );
        self.sessions.insert(
            asked.session,
            RelayRegistration {
                peer: asked.peer,
                group: asked.group,
                address: from,
                challenged_at,
                last_seen: now,
                bytes,
                calls,
            },
        );
        self.peers.insert((asked.group, asked.peer), asked.session);
        if let Some(sender) = self.senders.get_mut(&sender_of(from.ip())) {
            sender.n_peers += 1;
        }
        self.statistics.registered += 1;
        Ok(())
    }

    /// Counts an attempt to register of a sender that has proven its address.
    fn count_attempt(&mut self, now: Duration, ip: IpAddr) -> Result<(), RelayRefusal> {
        let is_within = self.sender(now, ip)?.attempts.take(1, now);
        let is_within = is_within && self.attempts.take(1, now);
        if is_within { Ok(()) } else { Err(RelayRefusal::Busy) }
    }

    /// Counts a message of a joiner that has proven its address. After one at a number that no peer
    /// offers, all are refused for a while, so that the numbers cannot be searched quickly.
    fn count_knock(
        &mut self,
        now: Duration,
        ip: IpAddr,
        is_offered: bool,
    ) -> Result<(), RelayRefusal> {
        let sender = self.sender(now, ip)?;
        let may_miss = sender.misses.take(1, now);
        if may_miss && is_offered {
            sender.misses.put_back(1);
        }
        let is_within = may_miss && sender.knocks.take(1, now);
        let is_within = is_within && self.knocks.take(1, now);
        if is_within { Ok(()) } else { Err(RelayRefusal::Busy) }
    }

    /// Returns the counts of an address.
    fn sender(&mut self, now: Duration, ip: IpAddr) -> Result<&mut SenderCount, RelayRefusal> {
        let sender = sender_of(ip);
        if self.senders.len() >= MAX_COUNTED && !self.senders.contains_key(&sender) {
            return Err(RelayRefusal::Busy);
        }
        let limits = &self.limits;
        let fresh = || SenderCount {
            attempts: TokenBucket::new(limits.attempts_of_address, now),
            knocks: TokenBucket::new(limits.knocks_of_address, now),
            misses: TokenBucket::new(MISSES_PER_SECOND, now),
            n_peers: 0,
            last_seen: now,
        };
        let count = self.senders.entry(sender).or_insert_with(fresh);
        count.last_seen = now;
        Ok(count)
    }

    /// Removes a registration.
    fn remove(&mut self, session: &RelaySession) -> Option<RelayRegistration> {
        let removed = self.sessions.remove(session)?;
        self.peers.remove(&(removed.group, removed.peer));
        if let Some(sender) = self.senders.get_mut(&sender_of(removed.address.ip())) {
            sender.n_peers = sender.n_peers.saturating_sub(1);
        }
        Some(removed)
    }

    /// Removes registrations and offers that have ended, and the counts of addresses without one.
    pub(crate) fn sweep(&mut self, now: Duration) {
        self.swept_at = now;
        self.codes.sweep(now);
        let is_over = |last_seen: Duration| now.saturating_sub(last_seen) > REGISTRATION_TTL;
        let ended: Vec<RelaySession> = self
            .sessions
            .iter()
            .filter(|(_, known)| is_over(known.last_seen))
            .map(|(session, _)| *session)
            .collect();
        for session in &ended {
            self.remove(session);
        }
        self.senders.retain(|_, sender| sender.n_peers > 0 || !is_over(sender.last_seen));
    }

    /// Returns the challenge for an address at a time, which is verified without a state.
    fn challenge_at(&self, time: u64, from: SocketAddr) -> RelayChallenge {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(&time.to_be_bytes());
        hasher.update(from.to_string().as_bytes());
        let code = hasher.finalize();
        let mut challenge = [0; CHALLENGE_LEN];
        challenge[..8].copy_from_slice(&time.to_be_bytes());
        challenge[8..].copy_from_slice(&code.as_bytes()[..CHALLENGE_LEN - 8]);
        challenge
    }
}

/// Returns the address by which attempts are counted: of IPv6, the network of 64 bits.
pub(crate) fn sender_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6((u128::from(ip) >> 64 << 64).into()),
        ip => ip,
    }
}

/// Returns the length of a datagram that passes on a message of a code, in bytes: at most this.
fn out_len(payload: &[u8]) -> u64 {
    (VISIT_HEADER_LEN + payload.len()) as u64
}

/// Returns the code of a visit that the relay passes on.
fn visit_code(secret: &[u8; KEY_LEN], visit: &RelayVisit) -> [u8; VISIT_CODE_LEN] {
    let mut hasher = blake3::Hasher::new_keyed(secret);
    hasher.update(&visit.time.to_be_bytes());
    hasher.update(&visit.session);
    hasher.update(visit.address.to_string().as_bytes());
    let mut code = [0; VISIT_CODE_LEN];
    code.copy_from_slice(&hasher.finalize().as_bytes()[..VISIT_CODE_LEN]);
    code
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
