//! Rooms with connections that come, go, claim and lie, and with clients that apply updates as
//! y-protocols does.

use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::*;

const NOW: Duration = Duration::from_secs(100);
const ONE: &str = r#"{"n":1}"#;
const TWO: &str = r#"{"n":2}"#;

fn one(id: u64, clock: u64, state: &str) -> Vec<u8> {
    encode(&[PresenceEntry { id, clock, state }])
}

/// Returns a room with client 7 at clock 5, its connection, and another connection.
fn room() -> (PresenceRoom, PresenceConnection, PresenceConnection) {
    let mut room = PresenceRoom::default();
    let (a, b) = (room.enter(), room.enter());
    assert_eq!(room.receive(a, &one(7, 4, "{}"), NOW), Ok(Some(one(7, 5, "{}"))));
    (room, a, b)
}

#[test]
fn presence_comes_and_goes_with_its_connection() {
    let (mut room, a, b) = room();
    assert_eq!(room.all(), Some(one(7, 5, "{}")));
    assert_eq!(room.leave(b, NOW), None);
    assert_eq!(room.leave(a, NOW), Some(one(7, 5, GONE)));
    assert_eq!(room.all(), None);
    assert_eq!(room.bytes, 0);
}

#[test]
fn a_connection_cannot_change_the_clients_of_another() {
    let (mut room, _, b) = room();
    assert_eq!(room.receive(b, &one(7, 9, GONE), NOW), Ok(None));
    assert_eq!(room.all(), Some(one(7, 5, "{}")));
}

#[test]
fn a_client_that_reconnects_is_present_as_soon_as_its_old_connection_is_gone() {
    let (mut room, old, new) = room();
    assert_eq!(room.receive(new, &one(7, 5, ONE), NOW), Ok(None));
    assert_eq!(room.receive(new, &one(7, 6, TWO), NOW), Ok(None));
    assert_eq!(room.take_contested(), [old]);
    assert!(room.take_contested().is_empty());
    assert_eq!(room.all(), Some(one(7, 5, "{}")));
    assert_eq!(room.leave(old, NOW), Some(one(7, 6, TWO)));
    assert_eq!(room.all(), Some(one(7, 6, TWO)));
    assert_eq!(room.leave(new, NOW), Some(one(7, 6, GONE)));
    assert_eq!(room.bytes, 0);
}

#[test]
fn a_claim_ends_with_its_connection_or_with_what_it_claims() {
    let (mut room, old, new) = room();
    room.receive(new, &one(7, 6, ONE), NOW).unwrap();
    assert_eq!(room.leave(new, NOW), None);
    assert_eq!(room.leave(old, NOW), Some(one(7, 5, GONE)));
    assert_eq!(room.bytes, 0);
    room.receive(old, &one(8, 1, "{}"), NOW).unwrap();
    for said in [one(8, 0, ONE), one(8, 3, ONE), one(8, 4, GONE)] {
        assert_eq!(room.receive(new, &said, NOW), Ok(None));
    }
    assert_eq!(room.leave(old, NOW), Some(one(8, 2, GONE)));
    // Neither connection has renewed its state in time.
    room.receive(old, &one(9, 1, "{}"), NOW).unwrap();
    room.receive(new, &one(9, 2, ONE), NOW).unwrap();
    assert_eq!(room.expire(NOW + EXPIRY), Some(one(9, 2, GONE)));
    assert_eq!(room.bytes, 0);
    room.receive(old, &one(9, 3, "{}"), NOW).unwrap();
    let later = NOW + EXPIRY / 2;
    room.receive(new, &one(9, 5, ONE), later).unwrap();
    assert_eq!(room.expire(NOW + EXPIRY), Some(one(9, 5, ONE)));
}

/// A claim may have the clock at which another state of the client was published.
#[test]
fn the_state_of_a_claim_is_published_at_a_clock_that_others_do_not_know() {
    let (mut room, old, new) = room();
    room.receive(new, &one(7, 5, ONE), NOW).unwrap();
    assert_eq!(room.leave(old, NOW), Some(one(7, 6, ONE)));
}

/// A member that had been sent the state of another seemed to have it after the other had left,
/// for up to 30 s.
#[test]
fn what_a_client_repeats_of_another_is_no_claim() {
    let (mut room, a, b) = room();
    room.receive(b, &one(8, 1, "{}"), NOW).unwrap();
    assert_eq!(room.receive(b, &one(7, 5, "{}"), NOW), Ok(None));
    assert!(room.take_contested().is_empty());
    assert_eq!(room.leave(a, NOW), Some(one(7, 5, GONE)));
    // Nor does one that is late bring the other back.
    assert_eq!(room.receive(b, &one(7, 5, "{}"), NOW), Ok(None));
    // A client that reconnects claims its own state, and repeats those of others then.
    let a = room.enter();
    room.receive(a, &one(7, 5, "{}"), NOW).unwrap();
    let c = room.enter();
    let known = room.all().unwrap();
    let known = decode(&known).unwrap();
    let clock_of = |id| known.iter().find(|entry| entry.id == id).unwrap().clock;
    room.receive(c, &one(7, clock_of(7), "{}"), NOW).unwrap();
    assert_eq!(room.take_contested(), [a]);
    room.receive(c, &one(8, 4, "{}"), NOW).unwrap();
    assert_eq!(room.leave(a, NOW), Some(one(7, 6, "{}")));
}

#[test]
fn a_connection_that_replaces_another_keeps_its_clients() {
    let (mut room, old, new) = room();
    room.transfer_clients(old, new);
    assert_eq!(room.leave(old, NOW), None);
    assert_eq!(room.receive(new, &one(7, 6, ONE), NOW), Ok(Some(one(7, 6, ONE))));
}

#[test]
fn renewals_pass_at_the_clock_at_which_the_state_is_known() {
    let (mut room, a, _) = room();
    for clock in [4, 5] {
        assert_eq!(room.receive(a, &one(7, clock, "{}"), NOW), Ok(Some(one(7, 5, "{}"))));
    }
}

#[test]
fn a_client_that_is_not_renewed_expires() {
    let (mut room, a, b) = room();
    room.receive(b, &one(8, 1, "{}"), NOW).unwrap();
    let later = NOW + EXPIRY - Duration::from_millis(1);
    assert_eq!(room.expire(later), None);
    room.receive(a, &one(7, 5, "{}"), later).unwrap();
    assert_eq!(room.expire(NOW + EXPIRY), Some(one(8, 2, GONE)));
    assert_eq!(room.all(), Some(one(7, 5, "{}")));
    // The id is free again, for any connection.
    assert!(room.receive(a, &one(8, 3, "{}"), later).unwrap().is_some());
}

#[test]
fn a_connection_has_so_many_clients_and_no_more() {
    let mut room = PresenceRoom::default();
    let a = room.enter();
    let entry = |id| PresenceEntry { id, clock: 1, state: "{}" };
    let many: Vec<_> = (0..=MAX_CLIENTS_PER_CONNECTION as u64).map(entry).collect();
    let relayed = room.receive(a, &encode(&many), NOW).unwrap().unwrap();
    assert_eq!(decode(&relayed).unwrap().len(), MAX_CLIENTS_PER_CONNECTION);
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_STATE_LEN));
    assert_eq!(room.receive(a, &one(1, 3, &long), NOW), Ok(None));
}

#[test]
fn broken_updates_are_refused() {
    let mut room = PresenceRoom::default();
    let a = room.enter();
    assert!(room.receive(a, &[255, 255, 3], NOW).is_err());
    assert!(room.receive(a, &[2, 7, 1, 2, b'{', b'}'], NOW).is_err());
    assert_eq!(room.all(), None);
    // A clock that could not be incremented.
    assert_eq!(room.receive(a, &one(7, u64::MAX, "{}"), NOW), Err(Lib0Error::Number));
    assert_eq!(room.receive(a, &one(1 << 53, 1, "{}"), NOW), Err(Lib0Error::Number));
    assert_eq!(room.receive(a, &one(7, ClientId::LIMIT - 1, "{}"), NOW), Ok(None));
}

/// Stock clients parse what others say of themselves, and ended at what is not JSON.
#[test]
fn states_that_would_end_a_stock_client_are_neither_relayed_nor_kept() {
    let (mut room, a, b) = room();
    let deep = "[".repeat(30_000) + &"]".repeat(30_000);
    for state in ["this is not json", "", "5", "[]", "\"\\ud800\"", &deep] {
        assert_eq!(room.receive(b, &one(8, 1, state), NOW), Ok(None), "{state:.9}");
        assert_eq!(room.receive(a, &one(7, 6, state), NOW), Ok(None), "{state:.9}");
    }
    assert_eq!(room.all(), Some(one(7, 5, "{}")));
    // Others of the same message pass, and what is unsafe to show is left out.
    let states = [(8, "{"), (9, r#"{"user":{"color":"red;inset:0"}}"#)];
    let entries = states.map(|(id, state)| PresenceEntry { id, clock: 1, state });
    let relayed = room.receive(b, &encode(&entries), NOW).unwrap();
    assert_eq!(relayed, Some(one(9, 2, r#"{"user":{}}"#)));
}

/// A client that applies updates as y-protocols 1.0.7 does (`applyAwarenessUpdate`), and connects
/// as y-websocket does.
#[derive(Debug)]
struct StockClient {
    id: u64,
    states: BTreeMap<u64, String>,
    clocks: BTreeMap<u64, u64>,
    connection: Option<PresenceConnection>,
}

impl StockClient {
    fn new(id: u64) -> Self {
        let (states, clocks) = ([(id, "{}".to_owned())].into(), [(id, 0)].into());
        Self { id, states, clocks, connection: None }
    }

    fn own(&self) -> Vec<u8> {
        one(self.id, self.clocks[&self.id], &self.states[&self.id])
    }

    fn set(&mut self, state: &str) {
        *self.clocks.get_mut(&self.id).unwrap() += 1;
        self.states.insert(self.id, state.to_owned());
    }

    /// Forgets the states of others and not their clocks.
    fn disconnect(&mut self) {
        self.connection = None;
        self.states.retain(|id, _| *id == self.id);
    }

    /// Applies an update. Returns what it sends back: all that has changed.
    fn apply(&mut self, update: &[u8]) -> Option<Vec<u8>> {
        let mut changed = BTreeSet::new();
        for PresenceEntry { id, mut clock, state } in decode(update).unwrap() {
            let known = self.clocks.get(&id).copied();
            let before = known.unwrap_or(0);
            let is_removal = before == clock && state == GONE && self.states.contains_key(&id);
            if before >= clock && !is_removal {
                continue;
            }
            match state {
                // The client is not removed from its own states.
                GONE if id == self.id => clock += 1,
                GONE => drop(self.states.remove(&id)),
                state => drop(self.states.insert(id, state.to_owned())),
            }
            self.clocks.insert(id, clock);
            if known.is_some() || state != GONE {
                changed.insert(id);
            }
        }
        let entries = changed.iter().map(|id| PresenceEntry {
            id: *id,
            clock: self.clocks[id],
            state: self.states.get(id).map_or(GONE, String::as_str),
        });
        let entries: Vec<_> = entries.collect();
        (!entries.is_empty()).then(|| encode(&entries))
    }
}

/// Clients of one room.
struct StockRoom {
    room: PresenceRoom,
    clients: Vec<StockClient>,
    now: Duration,
}

impl StockRoom {
    fn new(n_clients: u64) -> Self {
        let clients = (1..=n_clients).map(StockClient::new).collect();
        Self { room: PresenceRoom::default(), clients, now: NOW }
    }

    /// Sends an update of a client to the room, and all that follows from it to all.
    fn send(&mut self, who: usize, update: &[u8]) {
        let mut waiting = vec![(who, update.to_vec())];
        for _ in 0..10_000 {
            let Some((who, update)) = waiting.pop() else { return };
            let Some(connection) = self.clients[who].connection else { continue };
            let relayed = self.room.receive(connection, &update, self.now).unwrap();
            let Some(relayed) = relayed else { continue };
            waiting.extend(self.publish(&relayed));
        }
        panic!("the clients never come to rest");
    }

    fn publish(&mut self, update: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let online = self.clients.iter_mut().enumerate();
        let online = online.filter(|(_, client)| client.connection.is_some());
        let answers = online.map(|(who, client)| Some((who, client.apply(update)?)));
        answers.flatten().collect()
    }

    fn connect(&mut self, who: usize) {
        self.clients[who].connection = Some(self.room.enter());
        let own = self.clients[who].own();
        self.send(who, &own);
        let all = self.room.all().unwrap();
        let answer = self.clients[who].apply(&all);
        answer.into_iter().for_each(|answer| self.send(who, &answer));
    }

    fn set(&mut self, who: usize, state: &str) {
        self.clients[who].set(state);
        let own = self.clients[who].own();
        self.send(who, &own);
    }

    fn cut(&mut self, who: usize) {
        let Some(connection) = self.clients[who].connection else { return };
        self.clients[who].disconnect();
        let gone = self.room.leave(connection, self.now);
        let answers = gone.map(|gone| self.publish(&gone)).unwrap_or_default();
        answers.into_iter().for_each(|(who, answer)| self.send(who, &answer));
    }

    /// Fails unless all clients that are connected have the present states of each other.
    fn check(&self, step: &str) {
        let online = || self.clients.iter().filter(|client| client.connection.is_some());
        let present: BTreeMap<u64, String> =
            online().map(|client| (client.id, client.states[&client.id].clone())).collect();
        for client in online() {
            assert_eq!(client.states, present, "client {} after {step}", client.id);
        }
    }
}

/// Clients that reconnected were invisible for up to 32 s, and their first move was not shown.
#[test]
fn a_client_that_is_back_is_seen_at_once_and_its_first_move_too() {
    let mut room = StockRoom::new(2);
    (0..2).for_each(|who| room.connect(who));
    room.set(0, ONE);
    room.check("a move");
    for round in 0..3 {
        room.cut(0);
        room.check("a cut");
        room.connect(0);
        room.check("a return");
        room.set(0, &format!("{{\"n\":{round}}}"));
        room.check("the first move");
    }
    // It sees the others, too, which have not moved.
    assert_eq!(room.clients[0].states.len(), 2);
}

#[test]
fn clients_see_each_other_again_after_a_restart_of_the_server() {
    let mut room = StockRoom::new(3);
    (0..3).for_each(|who| room.connect(who));
    room.set(1, TWO);
    room.clients.iter_mut().for_each(StockClient::disconnect);
    room.room = PresenceRoom::default();
    for who in [2, 0, 1] {
        room.connect(who);
    }
    room.check("the restart");
    room.set(2, ONE);
    room.check("the first move");
}

/// The old connection of a client is still there when it comes back: its network has changed.
#[test]
fn a_client_that_comes_back_before_its_old_connection_ends_sees_all_and_is_seen() {
    let mut room = StockRoom::new(3);
    (0..3).for_each(|who| room.connect(who));
    let old = room.clients[0].connection.unwrap();
    room.clients[0].disconnect();
    room.connect(0);
    assert_eq!(room.clients[0].states.len(), 3, "it sees the others");
    let gone = room.room.leave(old, NOW);
    gone.into_iter().for_each(|gone| drop(room.publish(&gone)));
    room.check("the end of the old connection");
    room.set(0, ONE);
    room.check("the first move");
}

/// Other rooms of the process, and peers, show editors beside this room.
#[test]
fn the_return_of_a_client_is_reported_once_with_the_time_at_which_it_left() {
    let (mut room, a, b) = room();
    room.receive(b, &one(8, 1, "{}"), NOW).unwrap();
    assert_eq!(room.take_returned(), None);
    let later = NOW + Duration::from_secs(5);
    room.leave(a, later);
    let a = room.enter();
    let relayed = room.receive(a, &one(7, 5, "{}"), later + EXPIRY).unwrap().unwrap();
    let entries: Vec<_> = decode(&relayed).unwrap().iter().map(|e| (e.id, e.clock)).collect();
    assert_eq!(entries, [(7, 6), (8, 3)]);
    assert_eq!((room.take_returned(), room.take_returned()), (Some(later), None));
}

/// Whatever clients do, those that are connected have each other's present states.
#[test]
fn clients_that_come_and_go_agree_on_who_is_there() {
    for seed in 0..200 {
        let mut random = StdRng::seed_from_u64(seed);
        let mut room = StockRoom::new(4);
        for step in 0..40 {
            room.now += Duration::from_millis(random.random_range(0..3));
            let who = random.random_range(0..4);
            let is_online = room.clients[who].connection.is_some();
            let act = random.random_range(0..4);
            match (act, is_online) {
                (0, true) => room.cut(who),
                (_, false) => room.connect(who),
                (1, _) => {
                    // A renewal.
                    let state = room.clients[who].states[&room.clients[who].id].clone();
                    room.set(who, &state);
                }
                _ => room.set(who, &format!("{{\"n\":{step}}}")),
            }
            room.check(&format!("step {step} of seed {seed}"));
        }
    }
}
