//! The presence that a peer knows, and what each connection is still to be sent of it.
//!
//! Messages flood: what is new is sent on to all other connections. A record belongs to the
//! connection that delivered it first. Where that ends, the record goes to another connection that
//! delivered the same or was sent it, whose peer is informed that it is this one's only way now. If
//! that peer has no other way, it says so, and the record goes on, or ends. Times count from any
//! fixed moment.
//!
//! # Invariants
//!
//! - A connection owns at most [`MAX_RECORDS`] records of [`MAX_RECORDS_LEN`] bytes.
//! - A record that is not replaced within [`EXPIRY`] ends, whatever arrives again.
//!
//! # Cost
//!
//! A message costs a step for each connection; the end of a connection one for each record.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use tokio::sync::Notify;
use yfs_engine::id::FileId;
use yfs_sync::presence::EXPIRY;

use crate::{
    peer_grant::PeerCertificate, peer_key::PeerId, presence::signed_presence::SignedPresence,
};

/// The most records of one connection: documents with editors, of all peers behind it.
pub(crate) const MAX_RECORDS: usize = 256;

/// The greatest length of the records of one connection, in bytes.
pub(crate) const MAX_RECORDS_LEN: usize = 512 << 10;

/// The most other connections that are remembered for one record.
const MAX_OTHERS: usize = 8;

/// How long the number of a record is remembered after its end, so that it is not accepted again.
const REMEMBERED: Duration = Duration::from_secs(600);

/// The most such numbers.
const MAX_ENDED: usize = 4096;

/// The peer whose editors a record has, and the document.
pub(crate) type PresenceKey = (PeerId, FileId);

/// The number of a connection in a table.
pub(crate) type PresenceLinkNumber = u64;

/// All presence that a peer knows.
#[derive(Debug, Default)]
pub(crate) struct PresenceTable {
    records: BTreeMap<PresenceKey, PresenceRecord>,
    ended: BTreeMap<PresenceKey, EndedPresence>,
    links: BTreeMap<PresenceLinkNumber, TableLink>,
    n_links: u64,
}

/// The editors of one peer at one document.
#[derive(Debug)]
struct PresenceRecord {
    sequence: u64,
    /// When the sequence arrived first.
    arrived: Duration,
    /// The connection that delivered it; `None` for this peer's own.
    via: Option<PresenceLinkNumber>,
    /// Other connections whose peers have the same.
    others: Vec<OtherCarrier>,
    message: Arc<SignedPresence>,
}

/// A connection whose peer has a record.
#[derive(Debug, Clone, Copy)]
struct OtherCarrier {
    link: PresenceLinkNumber,
    /// Whether it delivered the record. Else it was sent it, and may have it from this peer alone.
    has_delivered: bool,
}

/// A record that has ended.
#[derive(Debug)]
struct EndedPresence {
    sequence: u64,
    arrived: Duration,
    /// Whether it ended because its connection did: the same may arrive by another one.
    is_withdrawn: bool,
    /// The message that says so, if its peer signed one.
    message: Option<Arc<SignedPresence>>,
}

#[derive(Debug)]
struct TableLink {
    /// The peer: this one for a server on this machine.
    remote: PeerId,
    is_server: bool,
    /// The records to send.
    pending: BTreeSet<PresenceKey>,
    /// The peers that are out of reach: their records have ended.
    withdrawn: BTreeSet<PeerId>,
    wake: Arc<Notify>,
    n_records: usize,
    len: usize,
}

/// A message about one document, as it arrived.
#[derive(Debug)]
pub(crate) struct ArrivedPresence {
    pub(crate) doc: FileId,
    pub(crate) sequence: u64,
    /// Whether no editor is there any more.
    pub(crate) is_empty: bool,
    pub(crate) message: SignedPresence,
}

/// What a connection sends next.
#[derive(Debug)]
pub(crate) enum NextPresence {
    /// A peer is out of reach.
    Withdrawn(PeerId),
    /// The state of a record; `None` if it has ended.
    Record(PresenceKey, Option<Arc<SignedPresence>>),
}

impl PresenceTable {
    /// Adds a connection with a peer, or a server of this peer on this machine. It is sent
    /// everything that is known of other peers.
    pub(crate) fn join(
        &mut self,
        remote: PeerId,
        is_server: bool,
        wake: Arc<Notify>,
    ) -> PresenceLinkNumber {
        self.n_links += 1;
        let others = self.records.keys().filter(|(peer, _)| *peer != remote);
        let pending = others.cloned().collect();
        let withdrawn = BTreeSet::new();
        let link = TableLink { remote, is_server, pending, withdrawn, wake, n_records: 0, len: 0 };
        self.links.insert(self.n_links, link);
        self.n_links
    }

    /// Removes a connection. What it alone delivered ends.
    pub(crate) fn leave(&mut self, link: PresenceLinkNumber) {
        self.links.remove(&link);
        self.withdraw_if(link, |_| true, true);
    }

    /// Ends what a connection alone delivered of a peer, which is out of reach there. A peer with a
    /// connection of its own is not.
    pub(crate) fn withdraw(&mut self, link: PresenceLinkNumber, peer: PeerId) {
        let is_connected = self.links.values().any(|other| other.remote == peer);
        self.withdraw_if(link, |of| of == peer, !is_connected);
    }

    /// Ends all that is known of a peer, which has stopped or lost its right.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        let of_peer = self.records.keys().filter(|(of, _)| *of == peer);
        let of_peer: Vec<PresenceKey> = of_peer.cloned().collect();
        for key in &of_peer {
            self.end(key, false);
            self.inform_servers(key);
        }
        let numbers: Vec<PresenceLinkNumber> = self.links.keys().copied().collect();
        for number in numbers.into_iter().filter(|_| !of_peer.is_empty()) {
            self.announce_withdrawn_to(number, peer);
        }
    }

    /// Returns the certificates of the peers with records, one of each.
    pub(crate) fn certificates(&self) -> BTreeMap<PeerId, PeerCertificate> {
        let of_others = self.records.iter().filter(|(_, record)| record.via.is_some());
        of_others.map(|((peer, _), record)| (*peer, record.message.certificate.clone())).collect()
    }

    /// Reports whether a record has this certificate, which was therefore checked.
    pub(crate) fn has_certificate(&self, doc: &FileId, certificate: &PeerCertificate) -> bool {
        let record = self.records.get(&(certificate.peer, doc.clone()));
        record.is_some_and(|record| record.message.certificate == *certificate)
    }

    /// Accepts a message of a connection, or of this peer's own. Reports whether it is new.
    pub(crate) fn accept(
        &mut self,
        via: Option<PresenceLinkNumber>,
        arrived: ArrivedPresence,
        now: Duration,
    ) -> bool {
        let ArrivedPresence { doc, sequence, is_empty, message } = arrived;
        let key = (message.certificate.peer, doc);
        let link = via.and_then(|via| self.links.get_mut(&via));
        // It has just said so itself: nothing that was recorded is sent again.
        let is_direct = link.as_ref().is_none_or(|link| link.remote == key.0);
        let mut since = now;
        let known = match (self.records.get(&key), self.ended.get(&key)) {
            (Some(record), _) => Some(record.sequence),
            (None, Some(ended)) if ended.is_withdrawn && ended.sequence == sequence => {
                since = ended.arrived;
                None
            }
            (None, Some(ended)) => Some(ended.sequence),
            (None, None) => None,
        };
        if known == Some(sequence)
            && let Some(link) = link
        {
            link.pending.remove(&key);
            if let Some(record) = self.records.get_mut(&key) {
                record.note_other(via, true);
            }
        }
        let is_new = known.is_none_or(|known| sequence > known || is_direct && sequence != known);
        if !is_new || !is_empty && !self.has_room(via, &key, message.len()) {
            return false;
        }
        self.release(&key);
        let message = Arc::new(message);
        if is_empty {
            let message = Some(message);
            let ended = EndedPresence { sequence, arrived: now, is_withdrawn: false, message };
            self.remember_end(key.clone(), ended);
        } else {
            self.ended.remove(&key);
            if let Some(link) = via.and_then(|via| self.links.get_mut(&via)) {
                (link.n_records, link.len) = (link.n_records + 1, link.len + message.len());
            }
            let others = Vec::new();
            let record = PresenceRecord { sequence, arrived: since, via, others, message };
            self.records.insert(key.clone(), record);
        }
        for (number, link) in &mut self.links {
            if Some(*number) != via && link.remote != key.0 {
                link.pending.insert(key.clone());
                link.wake.notify_one();
            }
        }
        true
    }

    /// Ends the records that were not replaced in time.
    pub(crate) fn expire(&mut self, now: Duration) {
        let is_over = |record: &PresenceRecord| now.saturating_sub(record.arrived) >= EXPIRY;
        let over = self.records.iter().filter(|(_, record)| is_over(record));
        let over: Vec<PresenceKey> = over.map(|(key, _)| key.clone()).collect();
        for key in over {
            self.end(&key, false);
            self.inform_servers(&key);
        }
        self.ended.retain(|_, ended| now.saturating_sub(ended.arrived) < REMEMBERED);
    }

    /// Returns what to send over a connection next, if `may_send` permits its length in bytes.
    pub(crate) fn next(
        &mut self,
        number: PresenceLinkNumber,
        may_send: impl FnOnce(usize) -> bool,
    ) -> Option<NextPresence> {
        let link = self.links.get_mut(&number)?;
        if let Some(peer) = link.withdrawn.first().copied() {
            return may_send(0).then(|| {
                link.withdrawn.remove(&peer);
                NextPresence::Withdrawn(peer)
            });
        }
        while let Some(key) = link.pending.first().cloned() {
            let record = self.records.get(&key).map(|record| &record.message);
            let ended = || self.ended.get(&key).and_then(|ended| ended.message.as_ref());
            let message = record.or_else(ended).cloned();
            if message.is_none() && !link.is_server {
                link.pending.remove(&key);
                continue;
            }
            let len = message.as_ref().map_or(0, |message| message.len());
            if !may_send(len) {
                return None;
            }
            link.pending.remove(&key);
            let carrier = Some(number).filter(|_| !link.is_server);
            if let Some(record) = self.records.get_mut(&key) {
                record.note_other(carrier, false);
            }
            return Some(NextPresence::Record(key, message));
        }
        None
    }

    fn has_room(&self, via: Option<PresenceLinkNumber>, key: &PresenceKey, len: usize) -> bool {
        let Some(link) = via.and_then(|via| self.links.get(&via)) else { return via.is_none() };
        let replaced = self.records.get(key).filter(|record| record.via == via);
        let replaced = replaced.map_or((0, 0), |record| (1, record.message.len()));
        link.n_records - replaced.0 < MAX_RECORDS && link.len - replaced.1 + len <= MAX_RECORDS_LEN
    }

    /// Removes a record, if there is one.
    fn release(&mut self, key: &PresenceKey) -> Option<PresenceRecord> {
        let record = self.records.remove(key)?;
        if let Some(link) = record.via.and_then(|via| self.links.get_mut(&via)) {
            (link.n_records, link.len) = (link.n_records - 1, link.len - record.message.len());
        }
        Some(record)
    }

    fn end(&mut self, key: &PresenceKey, is_withdrawn: bool) {
        if let Some(PresenceRecord { sequence, arrived, .. }) = self.release(key) {
            let ended = EndedPresence { sequence, arrived, is_withdrawn, message: None };
            self.remember_end(key.clone(), ended);
        }
    }

    fn remember_end(&mut self, key: PresenceKey, ended: EndedPresence) {
        if self.ended.len() >= MAX_ENDED && !self.ended.contains_key(&key) {
            let oldest = self.ended.iter().min_by_key(|(_, ended)| ended.arrived);
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.map(|oldest| self.ended.remove(&oldest));
        }
        self.ended.insert(key, ended);
    }

    /// Takes records from a connection: each goes to another one whose peer has the same, or ends,
    /// if it may.
    fn withdraw_if(
        &mut self,
        link: PresenceLinkNumber,
        is_gone: impl Fn(PeerId) -> bool,
        may_end: bool,
    ) {
        let mut gone = Vec::new();
        for (key, record) in self.records.iter_mut().filter(|(key, _)| is_gone(key.0)) {
            record.others.retain(|other| other.link != link);
            if record.via == Some(link) {
                gone.push(key.clone());
            }
        }
        let mut ended = BTreeSet::new();
        for key in &gone {
            if let Some(next) = self.hand_over(key) {
                // Else two peers would each keep a record because the other has it.
                self.announce_withdrawn_to(next, key.0);
            } else if may_end {
                self.end(key, true);
                self.inform_servers(key);
                ended.insert(key.0);
            }
        }
        // Also to where that came from: its peer may have the record from here now.
        let numbers: Vec<PresenceLinkNumber> = self.links.keys().copied().collect();
        for peer in ended {
            numbers.iter().for_each(|number| self.announce_withdrawn_to(*number, peer));
        }
    }

    /// Gives a record to another connection whose peer has the same, and that has room for it:
    /// first to one with the peer of the editors itself, then to one that delivered it. Returns
    /// that connection.
    fn hand_over(&mut self, key: &PresenceKey) -> Option<PresenceLinkNumber> {
        let record = self.records.get(key)?;
        let len = record.message.len();
        let mut others = record.others.clone();
        let is_direct = |link: &PresenceLinkNumber| {
            self.links.get(link).is_some_and(|link| link.remote == key.0)
        };
        others.sort_by_key(|other| (!is_direct(&other.link), !other.has_delivered));
        let next = others.into_iter().map(|other| other.link).find(|other| {
            self.links.get(other).is_some_and(|link| {
                link.n_records < MAX_RECORDS && link.len + len <= MAX_RECORDS_LEN
            })
        })?;
        let mut record = self.release(key)?;
        record.others.retain(|other| other.link != next);
        record.via = Some(next);
        if let Some(link) = self.links.get_mut(&next) {
            (link.n_records, link.len) = (link.n_records + 1, link.len + len);
        }
        self.records.insert(key.clone(), record);
        Some(next)
    }

    /// Informs the peer of a connection that another is out of reach of this one, except through
    /// it.
    fn announce_withdrawn_to(&mut self, link: PresenceLinkNumber, peer: PeerId) {
        let link = self.links.get_mut(&link);
        if let Some(link) = link.filter(|link| !link.is_server && link.remote != peer) {
            link.withdrawn.insert(peer);
            link.wake.notify_one();
        }
    }

    fn inform_servers(&mut self, key: &PresenceKey) {
        let servers = self.links.values_mut().filter(|link| link.is_server);
        for link in servers.filter(|link| link.remote != key.0) {
            link.pending.insert(key.clone());
            link.wake.notify_one();
        }
    }
}

impl PresenceRecord {
    /// Records that the peer of a connection has the same, unless this record is of that connection
    /// or of this peer.
    fn note_other(&mut self, link: Option<PresenceLinkNumber>, has_delivered: bool) {
        let Some(link) = link.filter(|link| self.via.is_some_and(|via| via != *link)) else {
            return;
        };
        if let Some(known) = self.others.iter_mut().find(|other| other.link == link) {
            known.has_delivered |= has_delivered;
        } else if self.others.len() < MAX_OTHERS {
            self.others.push(OtherCarrier { link, has_delivered });
        }
    }
}

#[cfg(test)]
impl PresenceTable {
    /// Returns the messages of all records.
    pub(crate) fn messages(&self) -> Vec<Arc<SignedPresence>> {
        self.records.values().map(|record| record.message.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
