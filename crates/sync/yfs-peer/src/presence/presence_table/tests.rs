//! Connections of one table, without signatures: those are checked before.

use yfs_engine::id::WorkspaceId;
use yfs_sync::presence::{PresenceEntry, decode, encode};

use super::*;
use crate::{
    peer_grant::{PeerRights, TicketGrant, TicketId},
    peer_key::PeerSecretKey,
    presence::signed_presence::{PresenceFrame, SignedPresence},
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
    // The peer to which they were sent may have them from another one, and says that it has not.
    let mut sent = table.sent(two);
    sent.sort();
    assert_eq!(sent, ["1 withdrawn", "3 withdrawn"]);
    assert_eq!((table.known().len(), table.sent(server)), (3, Vec::new()));
    for of in [1, 3] {
        table.0.withdraw(two, peer(of));
    }
    assert_eq!(table.known(), [peer(4)]);
    assert_eq!(table.sent(two).len(), 2);
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
    assert_eq!(table.sent(one), ["3 withdrawn"]);
    table.0.withdraw(one, peer(3));
    assert_eq!(table.known().len(), 2);
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

/// The direct connection with a peer ends while another peer passes its editors on.
#[test]
fn a_record_goes_to_another_connection_that_delivered_the_same() {
    let (mut table, [one, two, server]) = TestTable::new();
    assert!(table.accept(one, (1, 5), Some(7), MS));
    assert!(!table.accept(two, (1, 5), Some(7), MS));
    assert!(table.accept(one, (3, 5), Some(8), MS));
    assert_eq!(table.sent(server).len(), 2);
    table.0.leave(one);
    // Only what no other connection has, neither delivered nor sent, has ended.
    assert_eq!(table.known(), [peer(1)]);
    assert_eq!(table.sent(server), ["3: ended"]);
    // The peer that has it is informed that this one has it from there.
    let mut sent = table.sent(two);
    sent.sort();
    assert_eq!(sent, ["1 withdrawn", "3 withdrawn"]);
    // It belongs to that connection now, and ends in its time.
    table.0.expire(EXPIRY);
    assert_eq!(table.known(), [peer(1)]);
    table.0.leave(two);
    assert!(table.known().is_empty());
    assert_eq!(table.sent(server), ["1: ended"]);
}

#[test]
fn a_record_that_is_handed_over_ends_when_it_would_have() {
    let (mut table, [one, two, _]) = TestTable::new();
    assert!(table.accept(one, (1, 5), Some(7), MS));
    assert!(!table.accept(two, (1, 5), Some(7), Duration::from_secs(29)));
    table.0.leave(one);
    assert_eq!(table.known(), [peer(1)]);
    table.0.expire(EXPIRY + MS);
    assert!(table.known().is_empty());
}

/// What a connection delivered of an older message does not count, nor what it has withdrawn.
#[test]
fn a_record_goes_only_to_a_connection_that_has_it_still() {
    let (mut table, [one, two, _]) = TestTable::new();
    let three = table.join(4, false);
    assert!(table.accept(one, (1, 5), Some(7), MS));
    assert!(!table.accept(two, (1, 5), Some(7), MS));
    assert!(table.accept(one, (1, 6), Some(7), MS));
    assert!(!table.accept(three, (1, 6), Some(7), MS));
    table.0.withdraw(three, peer(1));
    table.0.leave(one);
    assert!(table.known().is_empty());
    // A connection of the peer itself comes first.
    assert!(table.accept(two, (1, 7), Some(7), MS));
    let direct = table.join(1, false);
    assert!(!table.accept(three, (1, 7), Some(7), MS));
    assert!(!table.accept(direct, (1, 7), Some(7), MS));
    table.0.leave(two);
    assert_eq!(table.0.records[&(peer(1), doc("doc"))].via, Some(direct));
    assert_eq!(table.sent(direct), NONE);
}

#[test]
fn a_peer_that_has_stopped_is_forgotten_whoever_delivered_it() {
    let (mut table, [one, two, server]) = TestTable::new();
    assert!(table.accept(one, (1, 5), Some(7), MS));
    assert!(!table.accept(two, (1, 5), Some(7), MS));
    table.sent(server);
    table.0.forget(peer(1));
    assert!(table.known().is_empty());
    assert_eq!(table.sent(server), ["1: ended"]);
    assert_eq!(table.sent(two), ["1 withdrawn"]);
    assert_eq!(table.0.links[&one].n_records, 0);
    // Of a peer without editors there is nothing to say.
    table.0.forget(peer(3));
    assert_eq!(table.sent(two), NONE);
}

/// Whatever delivers the same, the memory and the rooms of connections stay bounded.
#[test]
fn connections_that_delivered_the_same_are_few_and_have_room() {
    let (mut table, [one, two, _]) = TestTable::new();
    assert!(table.accept(one, (1, 5), Some(7), MS));
    for number in 10..30 {
        let link = table.join(number, false);
        for _ in 0..2 {
            assert!(!table.accept(link, (1, 5), Some(7), MS));
        }
    }
    let key = (peer(1), doc("doc"));
    assert_eq!(table.0.records[&key].others.len(), MAX_OTHERS);
    // A connection that is full takes none.
    let (mut table, [one_again, full, _]) = (TestTable::new().0, [one, two, 0]);
    for number in 0..MAX_RECORDS {
        let name = format!("doc{number}");
        assert!(table.0.accept(Some(full), arrived(3, &name, 5, &editor(7)), MS));
    }
    assert!(table.accept(one_again, (1, 5), Some(7), MS));
    assert!(!table.accept(full, (1, 5), Some(7), MS));
    table.0.leave(one_again);
    assert!(!table.known().contains(&peer(1)));
    assert_eq!(table.0.links[&full].n_records, MAX_RECORDS);
}

/// Tables that are connected with each other. The number of a link is the number of the other
/// table.
struct TestMesh(BTreeMap<u8, (PresenceTable, BTreeMap<u8, PresenceLinkNumber>)>);

impl TestMesh {
    fn new(numbers: std::ops::Range<u8>) -> Self {
        let mut mesh = Self(BTreeMap::new());
        for number in numbers.clone() {
            let mut table = PresenceTable::default();
            let others = numbers.clone().filter(|other| *other != number);
            let links = others.map(|other| (other, table.join(peer(other), false, Arc::default())));
            let links = links.collect();
            mesh.0.insert(number, (table, links));
        }
        mesh
    }

    /// Delivers all messages until none is left. Panics if there is no end.
    fn settle(&mut self) {
        let numbers: Vec<u8> = self.0.keys().copied().collect();
        for _ in 0..1000 {
            let mut n_sent = 0;
            for number in &numbers {
                let links = self.0[number].1.clone();
                for (other, link) in links {
                    let Some(next) = self.0.get_mut(number).unwrap().0.next(link, |_| true) else {
                        continue;
                    };
                    n_sent += 1;
                    let Some((table, links)) = self.0.get_mut(&other) else { continue };
                    let Some(back) = links.get(number) else { continue };
                    match next {
                        NextPresence::Withdrawn(of) => table.withdraw(*back, of),
                        NextPresence::Record((of, _), Some(message)) if of != peer(other) => {
                            let frame = PresenceFrame::decode(&message.frame).unwrap();
                            let arrived = ArrivedPresence {
                                doc: frame.doc.clone(),
                                sequence: frame.sequence,
                                is_empty: frame.is_empty(),
                                message: SignedPresence::of_message(
                                    message.certificate.clone(),
                                    message.signature,
                                    &message.frame,
                                ),
                            };
                            table.accept(Some(*back), arrived, MS);
                        }
                        NextPresence::Record(..) => {}
                    }
                }
            }
            if n_sent == 0 {
                return;
            }
        }
        panic!("messages without end");
    }

    fn cut(&mut self, one: u8, other: u8) {
        for (from, to) in [(one, other), (other, one)] {
            if let Some((table, links)) = self.0.get_mut(&from) {
                links.remove(&to).into_iter().for_each(|link| table.leave(link));
            }
        }
    }

    /// Returns the tables that know of the editors of a peer.
    fn know(&self, of: u8) -> Vec<u8> {
        let knows =
            |table: &PresenceTable| table.records.keys().any(|(known, _)| *known == peer(of));
        self.0.iter().filter(|(_, (table, _))| knows(table)).map(|(number, _)| *number).collect()
    }
}

/// Three peers: the connection of two ends, and all still see each other. Then a peer loses all its
/// connections, and the other two do not keep its editors because each has them from the other.
#[test]
fn peers_keep_what_they_can_reach_and_no_more() {
    let mut mesh = TestMesh::new(1..4);
    mesh.0.get_mut(&1).unwrap().0.accept(None, arrived(1, "doc", 5, &editor(7)), MS);
    mesh.settle();
    assert_eq!(mesh.know(1), [1, 2, 3]);
    mesh.cut(1, 2);
    mesh.settle();
    assert_eq!(mesh.know(1), [1, 2, 3]);
    mesh.cut(1, 3);
    mesh.settle();
    assert_eq!(mesh.know(1), [1]);
    // Both at once.
    let mut mesh = TestMesh::new(1..4);
    mesh.0.get_mut(&1).unwrap().0.accept(None, arrived(1, "doc", 5, &editor(7)), MS);
    mesh.settle();
    mesh.cut(1, 2);
    mesh.cut(1, 3);
    mesh.settle();
    assert_eq!(mesh.know(1), [1]);
}

/// In larger groups a circle of peers may keep such a record, at most as long as it is valid.
#[test]
fn what_a_circle_of_peers_keeps_ends_in_its_time() {
    let mut mesh = TestMesh::new(1..9);
    mesh.0.get_mut(&1).unwrap().0.accept(None, arrived(1, "doc", 5, &editor(7)), MS);
    mesh.settle();
    assert_eq!(mesh.know(1).len(), 8);
    (2..9).for_each(|other| mesh.cut(1, other));
    mesh.settle();
    for (table, _) in mesh.0.values_mut() {
        table.expire(EXPIRY + MS);
    }
    mesh.settle();
    assert!(mesh.know(1).is_empty());
}
