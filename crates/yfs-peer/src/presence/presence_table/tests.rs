//! Connections of one table, without signatures: those are checked before.

use yfs_engine::id::WorkspaceId;
use yfs_sync::presence::{PresenceEntry, decode, encode};

use super::*;
use crate::{
    peer_grant::{PeerRights, TicketGrant, TicketId},
    peer_key::PeerSecretKey,
    presence::signed_presence::PresenceFrame,
};

const MS: Duration = Duration::from_millis(1);

/// A table of the peer 0, and what arrives at it.
struct TestTable(PresenceTable);

fn key(number: u8) -> PeerSecretKey {
    PeerSecretKey::from_seed([number; 32])
}

fn peer(number: u8) -> PeerId {
    key(number).id()
}

fn doc(name: &str) -> FileId {
    FileId::parse(name).unwrap()
}

fn arrived(of: u8, name: &str, sequence: u64, states: &[u8]) -> ArrivedPresence {
    let owner = key(100);
    let grant = TicketGrant {
        id: TicketId::from_bytes([0; 12]),
        workspace: WorkspaceId::parse("workspace").unwrap(),
        ticket_key: owner.id(),
        rights: PeerRights::Read,
        expires: None,
        is_once: false,
        label: String::new(),
    };
    let certificate = grant.sign(&owner).bind_by_owner(&owner, peer(of));
    let frame = PresenceFrame { sequence, doc: doc(name), states };
    let is_empty = frame.is_empty();
    let message = SignedPresence::sign(&key(of), certificate, &frame);
    ArrivedPresence { doc: doc(name), sequence, is_empty, message }
}

fn editor(id: u64) -> Vec<u8> {
    encode(&[PresenceEntry { id, clock: 1, state: "{}" }])
}

impl TestTable {
    /// Makes a table with connections to the peers 1 and 2, and one to a server.
    fn new() -> (Self, [PresenceLinkNumber; 3]) {
        let mut table = Self(PresenceTable::default());
        let links = [(1, false), (2, false), (0, true)];
        let links = links.map(|(number, is_server)| table.join(number, is_server));
        (table, links)
    }

    fn join(&mut self, number: u8, is_server: bool) -> PresenceLinkNumber {
        self.0.join(peer(number), is_server, Arc::default())
    }

    /// Accepts that an editor of a peer is at a document, or that none is.
    fn accept(
        &mut self,
        via: PresenceLinkNumber,
        (of, sequence): (u8, u64),
        editors: Option<u64>,
        now: Duration,
    ) -> bool {
        let states = editors.map_or_else(|| encode(&[]), editor);
        self.0.accept(Some(via), arrived(of, "doc", sequence, &states), now)
    }

    /// Returns what a connection is sent: the peer with its editors at the document.
    fn sent(&mut self, link: PresenceLinkNumber) -> Vec<String> {
        let mut sent = Vec::new();
        let name = |of: PeerId| (0..9).find(|number| peer(*number) == of).unwrap();
        while let Some(next) = self.0.next(link, |_| true) {
            sent.push(match next {
                NextPresence::Withdrawn(of) => format!("{} withdrawn", name(of)),
                NextPresence::Record((of, _), None) => format!("{}: ended", name(of)),
                NextPresence::Record((of, _), Some(message)) => {
                    let frame = PresenceFrame::decode(&message.frame).unwrap();
                    let ids: Vec<u64> =
                        decode(frame.states).unwrap().iter().map(|entry| entry.id).collect();
                    format!("{}: {ids:?}", name(of))
                }
            });
        }
        sent
    }

    fn known(&self) -> Vec<PeerId> {
        self.0.records.keys().map(|(of, _)| *of).collect()
    }
}

const NONE: [&str; 0] = [];

#[test]
fn what_is_new_is_sent_to_all_others_once() {
    let (mut table, [one, two, server]) = TestTable::new();
    assert!(table.accept(one, (1, 5), Some(7), MS));
    assert_eq!(table.sent(one), NONE);
    assert_eq!(table.sent(two), ["1: [7]"]);
    assert_eq!(table.sent(server), ["1: [7]"]);
    // The same by another way is not new, and neither is an older one.
    assert!(!table.accept(two, (1, 5), Some(7), MS));
    assert!(!table.accept(two, (1, 4), Some(8), MS));
    assert_eq!(table.sent(one), NONE);
    assert_eq!(table.sent(server), NONE);
    // A connection that begins is sent what is known, except its own.
    let three = table.join(3, false);
    assert_eq!(table.sent(three), ["1: [7]"]);
    let again = table.join(1, false);
    assert_eq!(table.sent(again), NONE);
    // The last editor leaves.
    assert!(table.accept(one, (1, 6), None, MS));
    assert_eq!(table.sent(two), ["1: []"]);
    assert_eq!(table.sent(server), ["1: []"]);
    assert!(table.known().is_empty());
    assert!(!table.accept(two, (1, 5), Some(7), MS));
}

#[test]
fn a_peer_that_has_a_message_is_not_sent_it() {
    let (mut table, [one, two, _]) = TestTable::new();
    assert!(table.accept(one, (3, 5), Some(7), MS));
    assert!(!table.accept(two, (3, 5), Some(7), MS));
    assert_eq!(table.sent(two), NONE);
}

#[test]
fn a_record_ends_with_the_connection_that_delivered_it() {
    let (mut table, [one, two, server]) = TestTable::new();
    table.accept(one, (1, 5), Some(7), MS);
    table.accept(one, (3, 5), Some(8), MS);
    table.accept(two, (4, 5), Some(9), MS);
    assert_eq!(table.sent(server).len() + table.sent(one).len() + table.sent(two).len(), 6);
    table.0.leave(one);
    assert_eq!(table.known(), [peer(4)]);
    let mut sent = table.sent(two);
    sent.sort();
    assert_eq!(sent, ["1 withdrawn", "3 withdrawn"]);
    let mut sent = table.sent(server);
    sent.sort();
    assert_eq!(sent, ["1: ended", "3: ended"]);
    // The same arrives by another way, or by a new connection.
    assert!(table.accept(two, (3, 5), Some(8), MS));
    let again = table.join(1, false);
    assert!(table.accept(again, (1, 5), Some(7), MS));
    assert_eq!(table.known().len(), 3);
}

#[test]
fn a_peer_out_of_reach_of_another_is_withdrawn_unless_it_is_connected() {
    let (mut table, [one, two, server]) = TestTable::new();
    table.accept(two, (3, 5), Some(7), MS);
    table.accept(two, (1, 5), Some(8), MS);
    table.accept(one, (4, 5), Some(9), MS);
    assert_eq!((table.sent(one).len(), table.sent(server).len()), (1, 3));
    // One connection cannot withdraw what another delivered.
    table.0.withdraw(two, peer(4));
    table.0.withdraw(two, peer(1));
    assert_eq!(table.known().len(), 3);
    table.0.withdraw(two, peer(3));
    assert_eq!(table.known().len(), 2);
    assert_eq!(table.sent(one), ["3 withdrawn"]);
    assert_eq!(table.sent(server), ["3: ended"]);
}

#[test]
fn what_is_not_renewed_ends_and_does_not_come_back() {
    let (mut table, [one, two, server]) = TestTable::new();
    table.accept(two, (3, 5), Some(7), MS);
    table.sent(server);
    table.0.expire(EXPIRY);
    assert_eq!(table.known().len(), 1);
    table.0.expire(EXPIRY + MS);
    assert!(table.known().is_empty());
    assert_eq!(table.sent(server), ["3: ended"]);
    assert!(!table.accept(one, (3, 5), Some(7), EXPIRY + 2 * MS));
    assert!(table.accept(one, (3, 6), Some(7), EXPIRY + 2 * MS));
}

/// A carrier that withdraws and repeats a message does not make it last longer.
#[test]
fn a_message_that_is_repeated_ends_when_it_would_have() {
    let (mut table, [_, two, _]) = TestTable::new();
    table.accept(two, (3, 5), Some(7), MS);
    for at in [10, 20, 29] {
        table.0.withdraw(two, peer(3));
        assert!(table.accept(two, (3, 5), Some(7), Duration::from_secs(at)));
    }
    table.0.expire(EXPIRY + MS);
    assert!(table.known().is_empty());
}

/// A peer whose clock was set back begins with smaller numbers.
#[test]
fn a_peer_itself_may_begin_again() {
    let (mut table, [one, two, _]) = TestTable::new();
    assert!(table.accept(one, (1, 500), Some(7), MS));
    assert!(!table.accept(two, (1, 3), Some(8), MS));
    assert!(table.accept(one, (1, 3), Some(8), MS));
    assert_eq!(table.sent(two), ["1: [8]"]);
}

#[test]
fn a_connection_has_room_for_a_number_of_records() {
    let (mut table, [one, two, _]) = TestTable::new();
    for number in 0..2 * MAX_RECORDS {
        let of = number as u8 % 200;
        let name = format!("doc{number}");
        let is_new = table.0.accept(Some(one), arrived(of, &name, 5, &editor(7)), MS);
        assert_eq!(is_new, number < MAX_RECORDS);
    }
    // Others have room, and so does a record that is replaced.
    assert!(table.accept(two, (2, 5), Some(7), MS));
    assert!(table.0.accept(Some(one), arrived(0, "doc0", 6, &editor(7)), MS));
    // Each that leaves makes room for one.
    assert!(table.0.accept(Some(one), arrived(0, "doc0", 7, &encode(&[])), MS));
    assert!(table.0.accept(Some(one), arrived(1, "another", 5, &editor(7)), MS));
    assert!(!table.0.accept(Some(one), arrived(1, "third", 5, &editor(7)), MS));
}

#[test]
fn a_connection_has_room_for_a_number_of_bytes() {
    let (mut table, [one, ..]) = TestTable::new();
    let state = format!("{{\"a\":\"{}\"}}", "x".repeat(60 << 10));
    let states = encode(&[PresenceEntry { id: 7, clock: 1, state: &state }]);
    let n_kept = (0..20).filter(|number| {
        table.0.accept(Some(one), arrived(1, &format!("doc{number}"), 5, &states), MS)
    });
    assert_eq!(n_kept.count(), 8);
    assert!(table.0.links[&one].len <= MAX_RECORDS_LEN);
    table.0.expire(2 * EXPIRY);
    assert_eq!((table.0.links[&one].len, table.0.links[&one].n_records), (0, 0));
}

#[test]
fn the_memory_of_what_has_ended_is_bounded() {
    let (mut table, [one, ..]) = TestTable::new();
    for number in 0..=MAX_ENDED {
        let name = format!("doc{number}");
        let now = MS * u32::try_from(number).unwrap();
        table.0.accept(Some(one), arrived(1, &name, 5, &encode(&[])), now);
    }
    assert_eq!(table.0.ended.len(), MAX_ENDED);
    assert!(!table.0.ended.contains_key(&(peer(1), doc("doc0"))));
    table.0.expire(REMEMBERED + EXPIRY);
    assert!(table.0.ended.is_empty());
}
