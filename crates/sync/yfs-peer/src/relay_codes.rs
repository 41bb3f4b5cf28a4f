//! The join codes that peers offer at a relay: by number, who offers them, and what of them is
//! passed on. Without a socket or a clock, as [`RelayCore`](crate::relay_core::RelayCore), which
//! calls this and has checked challenges and signatures before.
//!
//! A joiner has no registration: the relay describes it to the peer that answers
//! ([`RelayVisit`](crate::relay_message::RelayVisit)), and keeps nothing of it.
//!
//! # Invariants
//!
//! - A number belongs to the key that offered it first, until it leaves, is silent for
//!   [`REGISTRATION_TTL`], or [`OFFER_TTL`] is over.
//! - The relay knows neither the words of a code nor what they protect.

use std::{collections::HashMap, net::SocketAddr, time::Duration};

use crate::{
    peer_key::PeerId,
    relay_core::{REGISTRATION_TTL, sender_of},
    relay_limits::{RelayLimits, TokenBucket},
    relay_message::{RelayRefusal, RelaySession},
};

/// The longest time for which a code is offered. Codes live for an hour at most, and their end is
/// reported for ten minutes.
const OFFER_TTL: Duration = Duration::from_secs(75 * 60);

/// The bytes per second that are passed on to and from a peer that offers a code.
const BYTES_PER_SECOND: u64 = 32 << 10;

/// The codes that are offered.
#[derive(Debug, Default)]
pub(crate) struct RelayCodes {
    offers: HashMap<u16, OfferedNumber>,
    numbers: HashMap<RelaySession, u16>,
}

/// The offer of one code.
#[derive(Debug)]
pub(crate) struct OfferedNumber {
    pub(crate) session: RelaySession,
    pub(crate) address: SocketAddr,
    peer: PeerId,
    /// The time in the challenge, as in a registration.
    challenged_at: u64,
    offered_at: Duration,
    last_seen: Duration,
    bytes: TokenBucket,
}

/// An offer that was checked.
#[derive(Debug)]
pub(crate) struct CodeApplication {
    pub(crate) number: u16,
    pub(crate) session: RelaySession,
    pub(crate) address: SocketAddr,
    pub(crate) peer: PeerId,
    pub(crate) challenged_at: u64,
}

impl RelayCodes {
    /// Returns the number of offers.
    pub(crate) fn len(&self) -> usize {
        self.offers.len()
    }

    /// Returns the number that a session offers.
    pub(crate) fn number_of(&self, session: &RelaySession) -> Option<u16> {
        self.numbers.get(session).copied()
    }

    /// Returns the offer of a number.
    pub(crate) fn get_mut(&mut self, number: u16) -> Option<&mut OfferedNumber> {
        self.offers.get_mut(&number)
    }

    /// Adds an offer. One of the same peer with the same number is replaced.
    pub(crate) fn offer(
        &mut self,
        asked: &CodeApplication,
        limits: &RelayLimits,
        now: Duration,
    ) -> Result<(), RelayRefusal> {
        let known = self.offers.get(&asked.number);
        match known {
            Some(known) if known.peer != asked.peer => return Err(RelayRefusal::Taken),
            Some(known) if known.challenged_at > asked.challenged_at => {
                return Err(RelayRefusal::StaleChallenge);
            }
            _ => {}
        }
        if self.number_of(&asked.session).is_some_and(|number| number != asked.number) {
            return Err(RelayRefusal::Busy);
        }
        let sender = sender_of(asked.address.ip());
        let others = self.offers.iter().filter(|(number, _)| **number != asked.number);
        let (mut n_others, mut n_here) = (0, 0);
        for (_, other) in others {
            n_others += 1;
            n_here += usize::from(sender_of(other.address.ip()) == sender);
        }
        if n_others >= limits.max_codes || n_here >= limits.max_codes_of_address {
            return Err(RelayRefusal::Full);
        }
        // An offer that is made again gets no fresh allowance and no more time.
        let known = self.remove(asked.number);
        let (offered_at, bytes) = known.map_or_else(
            || (now, TokenBucket::new(BYTES_PER_SECOND, now)),
            |known| (known.offered_at, known.bytes),
        );
        let &CodeApplication { number, session, address, peer, challenged_at } = asked;
        let offer = OfferedNumber {
            session,
            address,
            peer,
            challenged_at,
            offered_at,
            last_seen: now,
            bytes,
        };
        self.offers.insert(number, offer);
        self.numbers.insert(session, number);
        Ok(())
    }

    /// Removes the offer of a number.
    pub(crate) fn remove(&mut self, number: u16) -> Option<OfferedNumber> {
        let removed = self.offers.remove(&number)?;
        self.numbers.remove(&removed.session);
        Some(removed)
    }

    /// Removes the offers whose peer is silent, or whose time is over.
    pub(crate) fn sweep(&mut self, now: Duration) {
        let is_over = |offer: &OfferedNumber| {
            now.saturating_sub(offer.last_seen) > REGISTRATION_TTL
                || now.saturating_sub(offer.offered_at) > OFFER_TTL
        };
        let over = self.offers.iter().filter(|(_, offer)| is_over(offer));
        for number in over.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.remove(number);
        }
    }
}

impl OfferedNumber {
    /// Records that the peer has sent a datagram.
    pub(crate) fn note_seen(&mut self, now: Duration) {
        self.last_seen = now;
    }

    /// Takes a number of bytes of the allowance of this offer and of all peers, if both have as
    /// much.
    pub(crate) fn take(&mut self, len: u64, all: &mut TokenBucket, now: Duration) -> bool {
        if !self.bytes.take(len, now) {
            return false;
        }
        let is_taken = all.take(len, now);
        if !is_taken {
            self.bytes.put_back(len);
        }
        is_taken
    }
}
