//! Presence: the clients at a document, as the y-protocols awareness CRDT stores them.
//!
//! The engine reads only the client id and the clock of a state. A connection owns the ids that it
//! introduced: other connections cannot change them. They are removed when the connection closes,
//! or when it did not renew them for [`EXPIRY`].
//!
//! A client that reconnects may be faster than the close of its old connection. So an entry of a
//! second connection for the same client is stored as a claim. It takes effect when the first
//! connection leaves or is not renewed. Until then the owner of the room is asked to check that the
//! first connection is alive ([`PresenceRoom::take_contested`]).

use std::{collections::BTreeMap, time::Duration};

use yfs_engine::{
    id::ClientId,
    lib0::{Lib0Error, Lib0Reader, write_string, write_var_uint},
};

/// The lifetime of a state without renewal. Clients renew theirs every 15 seconds.
pub const EXPIRY: Duration = Duration::from_secs(30);

/// The greatest size of one client's state, in bytes.
pub const MAX_STATE_LEN: usize = 64 << 10;

/// The most clients that one connection may own.
const MAX_CLIENTS_PER_CONNECTION: usize = 64;

/// The most clients that one document may have, and that one message may contain.
const MAX_CLIENTS: usize = 10_000;

/// The greatest size of all states of one document, in bytes.
const MAX_BYTES: usize = 16 << 20;

/// The state of a client that has left.
pub(crate) const GONE: &str = "null";

/// A connection to a room, which owns the clients that it introduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresenceConnection(u64);

/// The presence of one client, in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresenceEntry<'a> {
    /// The client.
    pub id: u64,
    /// The number of its state changes.
    pub clock: u64,
    /// The state as JSON; `null` if the client has left.
    pub state: &'a str,
}

/// The presence of all clients of one document.
#[derive(Debug)]
pub struct PresenceRoom {
    clients: BTreeMap<u64, PresentClient>,
    max_clients_per_connection: usize,
    /// The sum of the lengths of all states, including those of claims, in bytes.
    bytes: usize,
    n_connections: u64,
    /// Connections whose clients other connections claim, and that the owner does not know of yet.
    contested: Vec<PresenceConnection>,
}

#[derive(Debug)]
struct PresentClient {
    clock: u64,
    state: String,
    connection: PresenceConnection,
    renewed: Duration,
    /// The entry of another connection for this client.
    claim: Option<Box<PresenceClaim>>,
}

/// The entry of a connection for a client that another connection owns.
#[derive(Debug)]
struct PresenceClaim {
    clock: u64,
    state: String,
    connection: PresenceConnection,
    made: Duration,
}

impl Default for PresenceRoom {
    fn default() -> Self {
        Self {
            clients: BTreeMap::new(),
            max_clients_per_connection: MAX_CLIENTS_PER_CONNECTION,
            bytes: 0,
            n_connections: 0,
            contested: Vec::new(),
        }
    }
}

impl PresenceRoom {
    /// Makes a room whose only connection may own all clients: it leads to a hub.
    pub(crate) fn for_guest() -> Self {
        Self { max_clients_per_connection: MAX_CLIENTS, ..Self::default() }
    }

    /// Adds a connection.
    pub fn enter(&mut self) -> PresenceConnection {
        self.n_connections += 1;
        PresenceConnection(self.n_connections)
    }

    /// Applies an awareness update. Returns the update to send to all connections, including its
    /// sender, because clients expect a message at least every 30 seconds.
    pub fn receive(
        &mut self,
        connection: PresenceConnection,
        update: &[u8],
        now: Duration,
    ) -> Result<Option<Vec<u8>>, Lib0Error> {
        let mut entries = decode(update)?;
        let own = |client: &&PresentClient| client.connection == connection;
        let mut n_own = self.clients.values().filter(own).count();
        entries.retain(|entry| self.accept(connection, &mut n_own, entry, now));
        Ok((!entries.is_empty()).then(|| encode(&entries)))
    }

    /// Returns the presence of all clients, or `None` without clients.
    pub fn all(&self) -> Option<Vec<u8>> {
        (!self.clients.is_empty()).then(|| encode(&self.entries().collect::<Vec<_>>()))
    }

    /// Returns the presence of each client.
    pub fn entries(&self) -> impl Iterator<Item = PresenceEntry<'_>> {
        self.clients.iter().map(|(id, client)| PresenceEntry {
            id: *id,
            clock: client.clock,
            state: &client.state,
        })
    }

    /// Reports whether a connection owns a client.
    pub fn has_client(&self, id: u64) -> bool {
        self.clients.contains_key(&id)
    }

    /// Removes the clients of a connection, unless another connection claims them. Returns the
    /// update to send to the others.
    pub fn leave(&mut self, connection: PresenceConnection) -> Option<Vec<u8>> {
        for client in self.clients.values_mut() {
            let claim = client.claim.take_if(|claim| claim.connection == connection);
            self.bytes -= claim.map_or(0, |claim| claim.state.len());
        }
        self.contested.retain(|contested| *contested != connection);
        self.remove(|client| client.connection == connection)
    }

    /// Transfers the clients of a connection to the one that replaces it.
    pub fn transfer_clients(&mut self, from: PresenceConnection, to: PresenceConnection) {
        for client in self.clients.values_mut().filter(|client| client.connection == from) {
            client.connection = to;
        }
    }

    /// Returns the connections whose clients other connections have claimed since the last call.
    /// The owner should close a dead one now, rather than after its timeout.
    pub fn take_contested(&mut self) -> Vec<PresenceConnection> {
        std::mem::take(&mut self.contested)
    }

    /// Removes the clients that were not renewed in time. Returns the update to send to all
    /// connections.
    pub fn expire(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.remove(|client| now.saturating_sub(client.renewed) >= EXPIRY)
    }

    /// Returns the state of each client.
    pub fn states(&self) -> impl Iterator<Item = (u64, &str)> {
        self.clients.iter().map(|(id, client)| (*id, client.state.as_str()))
    }

    /// Reports whether there are no clients.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    fn remove(&mut self, goes: impl Fn(&PresentClient) -> bool) -> Option<Vec<u8>> {
        let mut changed = Vec::new();
        self.clients.retain(|id, client| {
            if !goes(client) {
                return true;
            }
            self.bytes -= client.state.len();
            // A claim that meets the same condition is removed as well.
            let claim = client.claim.take().map(|claim| PresentClient {
                clock: claim.clock,
                state: claim.state,
                connection: claim.connection,
                renewed: claim.made,
                claim: None,
            });
            match claim {
                Some(heir) if goes(&heir) => self.bytes -= heir.state.len(),
                Some(heir) => {
                    changed.push((*id, heir.clock, heir.state.clone()));
                    *client = heir;
                    return true;
                }
                None => {}
            }
            changed.push((*id, client.clock + 1, GONE.to_owned()));
            false
        });
        let entries = changed.iter().map(|(id, clock, state)| PresenceEntry {
            id: *id,
            clock: *clock,
            state,
        });
        (!changed.is_empty()).then(|| encode(&entries.collect::<Vec<_>>()))
    }

    fn accept(
        &mut self,
        connection: PresenceConnection,
        n_own: &mut usize,
        entry: &PresenceEntry<'_>,
        now: Duration,
    ) -> bool {
        let PresenceEntry { id, clock, state } = *entry;
        let known = self.clients.get(&id);
        match known {
            Some(known) if known.connection != connection => {
                if !self.is_echo(connection, *n_own, entry) {
                    self.claim(connection, entry, now);
                }
                return false;
            }
            // An equal clock is a renewal. It is relayed, so that its sender receives a message.
            Some(known) if clock < known.clock => return false,
            Some(_) => (),
            None if state == GONE => return false,
            None if self.clients.len() >= MAX_CLIENTS => return false,
            None if *n_own >= self.max_clients_per_connection => return false,
            None => (),
        }
        let before = known.map_or(0, |known| known.state.len());
        if state == GONE {
            if let Some(claim) = self.clients.remove(&id).and_then(|client| client.claim) {
                self.bytes -= claim.state.len();
            }
            self.bytes -= before;
            *n_own -= 1;
            return true;
        }
        let bytes = self.bytes - before + state.len();
        if state.len() > MAX_STATE_LEN || bytes > MAX_BYTES {
            return false;
        }
        self.bytes = bytes;
        let claim = self.clients.get_mut(&id).and_then(|known| known.claim.take());
        let client =
            PresentClient { clock, state: state.to_owned(), connection, renewed: now, claim };
        if self.clients.insert(id, client).is_none() {
            *n_own += 1;
        }
        true
    }

    /// Reports whether an entry repeats what its connection was sent. Clients of y-websocket send
    /// all changes back, also those of others. A client that reconnects repeats its own state,
    /// before it has or claims any other.
    fn is_echo(
        &self,
        connection: PresenceConnection,
        n_own: usize,
        entry: &PresenceEntry<'_>,
    ) -> bool {
        let known = self.clients.get(&entry.id);
        let is_same =
            known.is_some_and(|known| known.clock == entry.clock && known.state == entry.state);
        let claims_another = || {
            let mut others = self.clients.iter().filter(|(id, _)| **id != entry.id);
            let claimant =
                |client: &PresentClient| client.claim.as_ref().map(|claim| claim.connection);
            others.any(|(_, client)| claimant(client) == Some(connection))
        };
        is_same && (n_own > 0 || claims_another())
    }

    /// Stores the entry of a connection for a client that another connection owns.
    fn claim(&mut self, connection: PresenceConnection, entry: &PresenceEntry<'_>, now: Duration) {
        let Some(known) = self.clients.get_mut(&entry.id) else { return };
        let before = known.claim.as_ref().map_or(0, |claim| claim.state.len());
        // Other clients would ignore an older clock.
        let is_possible = entry.clock >= known.clock && entry.state.len() <= MAX_STATE_LEN;
        if !is_possible || self.bytes - before + entry.state.len() > MAX_BYTES {
            return;
        }
        if entry.state == GONE {
            let withdrawn = known.claim.take_if(|claim| claim.connection == connection);
            self.bytes -= withdrawn.map_or(0, |claim| claim.state.len());
            return;
        }
        self.bytes = self.bytes - before + entry.state.len();
        let (clock, state) = (entry.clock, entry.state.to_owned());
        known.claim = Some(Box::new(PresenceClaim { clock, state, connection, made: now }));
        if !self.contested.contains(&known.connection) {
            self.contested.push(known.connection);
        }
    }
}

/// Decodes an awareness update.
///
/// # Errors
///
/// If the update ends too early, has too many clients, or has ids or clocks that JavaScript cannot
/// represent.
pub fn decode(update: &[u8]) -> Result<Vec<PresenceEntry<'_>>, Lib0Error> {
    let mut reader = Lib0Reader::new(update);
    let n_clients = reader.var_uint()?;
    if n_clients > MAX_CLIENTS as u64 {
        return Err(Lib0Error::Parts);
    }
    let number = |reader: &mut Lib0Reader<'_>| {
        let number = reader.var_uint()?;
        if number < ClientId::LIMIT { Ok(number) } else { Err(Lib0Error::Number) }
    };
    let mut entries = Vec::new();
    for _ in 0..n_clients {
        let (id, clock) = (number(&mut reader)?, number(&mut reader)?);
        entries.push(PresenceEntry { id, clock, state: reader.string()? });
    }
    Ok(entries)
}

/// Encodes an awareness update.
pub fn encode(entries: &[PresenceEntry<'_>]) -> Vec<u8> {
    let mut update = Vec::new();
    write_var_uint(&mut update, entries.len() as u64);
    for entry in entries {
        write_var_uint(&mut update, entry.id);
        write_var_uint(&mut update, entry.clock);
        write_string(&mut update, entry.state);
    }
    update
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    fn one(id: u64, clock: u64, state: &str) -> Vec<u8> {
        encode(&[PresenceEntry { id, clock, state }])
    }

    /// Returns a room with client 7 at clock 5, its connection, and another connection.
    fn room() -> (PresenceRoom, PresenceConnection, PresenceConnection) {
        let mut room = PresenceRoom::default();
        let (a, b) = (room.enter(), room.enter());
        assert_eq!(room.receive(a, &one(7, 5, "{}"), NOW), Ok(Some(one(7, 5, "{}"))));
        (room, a, b)
    }

    #[test]
    fn presence_comes_and_goes_with_its_connection() {
        let (mut room, a, b) = room();
        assert_eq!(room.all(), Some(one(7, 5, "{}")));
        assert_eq!(room.leave(b), None);
        assert_eq!(room.leave(a), Some(one(7, 6, GONE)));
        assert_eq!(room.all(), None);
        assert_eq!(room.bytes, 0);
    }

    #[test]
    fn nobody_speaks_for_another_connection() {
        let (mut room, _, b) = room();
        assert_eq!(room.receive(b, &one(7, 9, GONE), NOW), Ok(None));
        assert_eq!(room.all(), Some(one(7, 5, "{}")));
    }

    #[test]
    fn a_client_that_reconnects_is_present_as_soon_as_its_old_connection_is_gone() {
        let (mut room, old, new) = room();
        assert_eq!(room.receive(new, &one(7, 5, "[1]"), NOW), Ok(None));
        assert_eq!(room.receive(new, &one(7, 6, "[22]"), NOW), Ok(None));
        assert_eq!(room.take_contested(), [old]);
        assert!(room.take_contested().is_empty());
        assert_eq!(room.all(), Some(one(7, 5, "{}")));
        assert_eq!(room.leave(old), Some(one(7, 6, "[22]")));
        assert_eq!(room.all(), Some(one(7, 6, "[22]")));
        assert_eq!(room.leave(new), Some(one(7, 7, GONE)));
        assert_eq!(room.bytes, 0);
    }

    #[test]
    fn a_claim_ends_with_its_connection_or_with_what_it_claims() {
        let (mut room, old, new) = room();
        room.receive(new, &one(7, 6, "[]"), NOW).unwrap();
        assert_eq!(room.leave(new), None);
        assert_eq!(room.leave(old), Some(one(7, 6, GONE)));
        assert_eq!(room.bytes, 0);
        room.receive(old, &one(8, 1, "{}"), NOW).unwrap();
        for said in [one(8, 0, "[]"), one(8, 2, "[]"), one(8, 3, GONE)] {
            assert_eq!(room.receive(new, &said, NOW), Ok(None));
        }
        assert_eq!(room.leave(old), Some(one(8, 2, GONE)));
        // Neither connection has renewed its state in time.
        room.receive(old, &one(9, 1, "{}"), NOW).unwrap();
        room.receive(new, &one(9, 2, "[]"), NOW).unwrap();
        assert_eq!(room.expire(NOW + EXPIRY), Some(one(9, 2, GONE)));
        assert_eq!(room.bytes, 0);
        room.receive(old, &one(9, 3, "{}"), NOW).unwrap();
        let later = NOW + EXPIRY / 2;
        room.receive(new, &one(9, 4, "[]"), later).unwrap();
        assert_eq!(room.expire(NOW + EXPIRY), Some(one(9, 4, "[]")));
    }

    /// A member that had been sent the state of another seemed to have it after the other had left,
    /// for up to 30 s.
    #[test]
    fn what_a_client_repeats_of_another_is_no_claim() {
        let (mut room, a, b) = room();
        room.receive(b, &one(8, 1, "{}"), NOW).unwrap();
        assert_eq!(room.receive(b, &one(7, 5, "{}"), NOW), Ok(None));
        assert!(room.take_contested().is_empty());
        assert_eq!(room.leave(a), Some(one(7, 6, GONE)));
        // A client that reconnects claims its own state, and repeats those of others then.
        room.receive(a, &one(7, 7, "{}"), NOW).unwrap();
        let c = room.enter();
        room.receive(c, &one(7, 7, "{}"), NOW).unwrap();
        room.receive(c, &one(8, 1, "{}"), NOW).unwrap();
        assert_eq!(room.take_contested(), [a]);
        assert_eq!(room.leave(b), Some(one(8, 2, GONE)));
        assert_eq!(room.leave(a), Some(one(7, 7, "{}")));
    }

    #[test]
    fn a_connection_that_replaces_another_keeps_its_clients() {
        let (mut room, old, new) = room();
        room.transfer_clients(old, new);
        assert_eq!(room.leave(old), None);
        assert_eq!(room.receive(new, &one(7, 6, "[]"), NOW), Ok(Some(one(7, 6, "[]"))));
    }

    #[test]
    fn old_news_is_dropped_and_renewals_pass() {
        let (mut room, a, _) = room();
        assert_eq!(room.receive(a, &one(7, 4, "{}"), NOW), Ok(None));
        assert_eq!(room.receive(a, &one(7, 5, "{}"), NOW), Ok(Some(one(7, 5, "{}"))));
    }

    #[test]
    fn who_is_not_renewed_expires() {
        let (mut room, a, b) = room();
        room.receive(b, &one(8, 1, "{}"), NOW).unwrap();
        let later = NOW + EXPIRY - Duration::from_millis(1);
        assert_eq!(room.expire(later), None);
        room.receive(a, &one(7, 5, "{}"), later).unwrap();
        assert_eq!(room.expire(NOW + EXPIRY), Some(one(8, 2, GONE)));
        assert_eq!(room.all(), Some(one(7, 5, "{}")));
        // The id is free again, for any connection.
        assert!(room.receive(a, &one(8, 1, "{}"), later).unwrap().is_some());
    }

    #[test]
    fn a_connection_speaks_for_so_many_and_no_more() {
        let mut room = PresenceRoom::default();
        let a = room.enter();
        let entry = |id| PresenceEntry { id, clock: 1, state: "{}" };
        let many: Vec<_> = (0..=MAX_CLIENTS_PER_CONNECTION as u64).map(entry).collect();
        let relayed = room.receive(a, &encode(&many), NOW).unwrap().unwrap();
        assert_eq!(decode(&relayed).unwrap().len(), MAX_CLIENTS_PER_CONNECTION);
        let long = "x".repeat(MAX_STATE_LEN + 1);
        assert_eq!(room.receive(a, &one(1, 2, &long), NOW), Ok(None));
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
    }
}
