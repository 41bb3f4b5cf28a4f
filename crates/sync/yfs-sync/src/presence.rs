//! Presence: the clients at a document, as the y-protocols awareness CRDT stores them.
//!
//! A connection owns the ids that it introduced: other connections cannot change them. They are
//! removed when the connection closes, or when it did not renew them for [`EXPIRY`]. States are
//! [checked](crate::checked_state) before others get them.
//!
//! Clients remember the clock of a client that left, and ignore a state at that clock. A client
//! that reconnects has the same clock as before, so a room publishes the first state of each at
//! the next clock. Its client takes that clock for its own when it gets the state back, and so do
//! the others. One that comes back has also forgotten the states of others and not their clocks:
//! those that have not changed since it left are published again at their next clocks.
//!
//! A client that reconnects may be faster than the close of its old connection. So an entry of a
//! second connection for the same client is stored as a claim. It takes effect when the first
//! connection leaves or is not renewed. Until then the owner of the room is asked to check that the
//! first connection is alive ([`PresenceRoom::take_contested`]).

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use yfs_engine::{
    id::ClientId,
    lib0::{Lib0Error, Lib0Reader, write_string, write_var_uint},
};

use crate::presence_state::checked_state;

/// The lifetime of a state without renewal. Clients renew theirs every 15 seconds.
pub const EXPIRY: Duration = Duration::from_secs(30);

/// The greatest size of one client's state, in bytes.
pub(crate) const MAX_STATE_LEN: usize = 64 << 10;

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
#[derive(Debug, Default)]
pub struct PresenceRoom {
    clients: BTreeMap<u64, PresentClient>,
    /// The clients that have left. At most [`MAX_CLIENTS`]; beyond it the first to leave go.
    left: BTreeMap<u64, LeftClient>,
    /// The sum of the lengths of all states, including those of claims, in bytes.
    bytes: usize,
    n_connections: u64,
    /// Connections whose clients other connections claim, and that the owner does not know of yet.
    contested: Vec<PresenceConnection>,
    /// When the first left of the clients that are back, and that the owner does not know of yet.
    returned: Option<Duration>,
}

/// A client that has left.
#[derive(Debug, Clone, Copy)]
struct LeftClient {
    clock: u64,
    at: Duration,
}

/// What a room does with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryVerdict {
    /// Nothing.
    Ignore,
    /// It publishes the state at this clock.
    Publish(u64),
    /// The client is back after it left, then: it publishes the state at this clock, and the others
    /// that have not changed since.
    PublishReturn(u64, Duration),
    /// The client may be back on another connection: it publishes the others.
    Return(Duration),
}

#[derive(Debug)]
struct PresentClient {
    clock: u64,
    state: String,
    connection: PresenceConnection,
    renewed: Duration,
    /// When its clock was advanced.
    changed: Duration,
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

impl PresenceRoom {
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
        let entries = decode(update)?;
        let own = |client: &&PresentClient| client.connection == connection;
        let mut n_own = self.clients.values().filter(own).count();
        let mut published = BTreeSet::new();
        let mut gone = Vec::new();
        for PresenceEntry { id, clock, state } in entries {
            let Some(state) = checked(state) else { continue };
            let entry = PresenceEntry { id, clock, state: &state };
            let (clock, returned) = match self.accept(connection, &mut n_own, &entry, now) {
                EntryVerdict::Ignore => (None, None),
                EntryVerdict::Publish(clock) => (Some(clock), None),
                EntryVerdict::PublishReturn(clock, left) => (Some(clock), Some(left)),
                EntryVerdict::Return(left) => (None, Some(left)),
            };
            match clock {
                Some(clock) if state == GONE => gone.push((id, clock)),
                Some(_) => drop(published.insert(id)),
                None => {}
            }
            if let Some(left) = returned {
                self.returned = Some(self.returned.map_or(left, |known| known.min(left)));
                published.extend(self.advance_unchanged(id, left, now));
            }
        }
        let present = published.iter().filter_map(|id| Some(self.clients.get(id)?.entry(*id)));
        let mut relayed: Vec<PresenceEntry<'_>> = present.collect();
        // Another entry of the same message may have brought a client back.
        gone.retain(|(id, _)| !self.clients.contains_key(id));
        relayed.extend(gone.iter().map(|(id, clock)| PresenceEntry {
            id: *id,
            clock: *clock,
            state: GONE,
        }));
        Ok((!relayed.is_empty()).then(|| encode(&relayed)))
    }

    /// Returns the presence of all clients, or `None` without clients.
    pub fn all(&self) -> Option<Vec<u8>> {
        (!self.clients.is_empty()).then(|| encode(&self.entries().collect::<Vec<_>>()))
    }

    /// Returns the presence of each client.
    pub fn entries(&self) -> impl Iterator<Item = PresenceEntry<'_>> {
        self.clients.iter().map(|(id, client)| client.entry(*id))
    }

    /// Reports whether a connection owns a client.
    pub fn has_client(&self, id: u64) -> bool {
        self.clients.contains_key(&id)
    }

    /// Removes the clients of a connection, unless another connection claims them. Returns the
    /// update to send to the others.
    pub fn leave(&mut self, connection: PresenceConnection, now: Duration) -> Option<Vec<u8>> {
        for client in self.clients.values_mut() {
            let claim = client.claim.take_if(|claim| claim.connection == connection);
            self.bytes -= claim.map_or(0, |claim| claim.state.len());
        }
        self.contested.retain(|contested| *contested != connection);
        self.remove(now, |client| client.connection == connection)
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

    /// Returns when the first left of the clients that have come back since the last call. The
    /// owner should publish again what it publishes beside this room, if it has not changed since.
    pub fn take_returned(&mut self) -> Option<Duration> {
        self.returned.take()
    }

    /// Removes the clients that were not renewed in time. Returns the update to send to all
    /// connections.
    pub fn expire(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.remove(now, |client| now.saturating_sub(client.renewed) >= EXPIRY)
    }

    /// Reports whether there are no clients.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    fn remove(&mut self, now: Duration, goes: impl Fn(&PresentClient) -> bool) -> Option<Vec<u8>> {
        let (mut gone, mut inherited) = (Vec::new(), Vec::new());
        self.clients.retain(|id, client| {
            if !goes(client) {
                return true;
            }
            self.bytes -= client.state.len();
            // A claim that meets the same condition is removed as well.
            match client.claim.take().map(|claim| client.heir(*claim, now)) {
                Some(heir) if goes(&heir) => self.bytes -= heir.state.len(),
                Some(heir) => {
                    inherited.push(*id);
                    *client = heir;
                    return true;
                }
                None => {}
            }
            // At an equal clock others remove a state, and its next one is newer.
            gone.push((*id, client.clock));
            false
        });
        for (id, clock) in &gone {
            self.note_left(*id, *clock, now);
        }
        let inherited = inherited.iter().filter_map(|id| Some(self.clients.get(id)?.entry(*id)));
        let gone =
            gone.iter().map(|(id, clock)| PresenceEntry { id: *id, clock: *clock, state: GONE });
        let mut changed: Vec<PresenceEntry<'_>> = inherited.chain(gone).collect();
        changed.sort_by_key(|entry| entry.id);
        (!changed.is_empty()).then(|| encode(&changed))
    }

    fn note_left(&mut self, id: u64, clock: u64, at: Duration) {
        if self.left.len() >= MAX_CLIENTS {
            let first = self.left.iter().min_by_key(|(_, left)| left.at);
            if let Some(first) = first.map(|(id, _)| *id) {
                self.left.remove(&first);
            }
        }
        self.left.insert(id, LeftClient { clock, at });
    }

    /// Advances the clocks of all clients that have not changed since a client left. Returns their
    /// ids.
    fn advance_unchanged(&mut self, returned: u64, left: Duration, now: Duration) -> Vec<u64> {
        let others = self.clients.iter_mut().filter(|(id, _)| **id != returned);
        let unchanged = others.filter(|(_, client)| client.changed <= left);
        let advanced = unchanged.filter_map(|(id, client)| {
            client.clock = next_clock(client.clock)?;
            client.changed = now;
            Some(*id)
        });
        advanced.collect()
    }

    fn accept(
        &mut self,
        connection: PresenceConnection,
        n_own: &mut usize,
        entry: &PresenceEntry<'_>,
        now: Duration,
    ) -> EntryVerdict {
        match self.clients.get(&entry.id) {
            Some(known) if known.connection != connection => {
                if self.is_echo(connection, *n_own, entry) {
                    return EntryVerdict::Ignore;
                }
                let is_return = self.claim(connection, entry, now);
                if is_return { EntryVerdict::Return(now) } else { EntryVerdict::Ignore }
            }
            Some(_) if entry.state == GONE => self.withdraw(n_own, entry, now),
            Some(_) => self.change(entry, now),
            None => self.introduce(connection, n_own, entry, now),
        }
    }

    /// Removes a client that its connection reports as gone.
    fn withdraw(
        &mut self,
        n_own: &mut usize,
        entry: &PresenceEntry<'_>,
        now: Duration,
    ) -> EntryVerdict {
        let Some(known) = self.clients.remove(&entry.id) else { return EntryVerdict::Ignore };
        self.bytes -= known.state.len() + known.claim.map_or(0, |claim| claim.state.len());
        *n_own -= 1;
        let clock = entry.clock.max(known.clock);
        self.note_left(entry.id, clock, now);
        EntryVerdict::Publish(clock)
    }

    /// Replaces the state of a client by that of its connection, or renews it.
    fn change(&mut self, entry: &PresenceEntry<'_>, now: Duration) -> EntryVerdict {
        let Some(known) = self.clients.get_mut(&entry.id) else { return EntryVerdict::Ignore };
        let is_same = known.state == entry.state;
        let clock = match entry.clock > known.clock {
            true => Some(entry.clock),
            // A renewal. It is relayed, so that its sender receives a message.
            false if is_same => Some(known.clock),
            // The client does not know yet at which clock its last state was published.
            false => next_clock(known.clock),
        };
        let bytes = self.bytes - known.state.len() + entry.state.len();
        let Some(clock) = clock.filter(|_| bytes <= MAX_BYTES) else {
            return EntryVerdict::Ignore;
        };
        if clock != known.clock {
            known.changed = now;
        }
        self.bytes = bytes;
        (known.clock, known.renewed) = (clock, now);
        if !is_same {
            entry.state.clone_into(&mut known.state);
        }
        EntryVerdict::Publish(clock)
    }

    /// Adds a client.
    fn introduce(
        &mut self,
        connection: PresenceConnection,
        n_own: &mut usize,
        entry: &PresenceEntry<'_>,
        now: Duration,
    ) -> EntryVerdict {
        let left = self.left.get(&entry.id).copied();
        // A client that has just been sent the state of one that left sends it back.
        let is_late_echo = *n_own > 0 && left.is_some_and(|left| entry.clock <= left.clock);
        let has_room = self.clients.len() < MAX_CLIENTS
            && *n_own < MAX_CLIENTS_PER_CONNECTION
            && self.bytes + entry.state.len() <= MAX_BYTES;
        if entry.state == GONE || is_late_echo || !has_room {
            return EntryVerdict::Ignore;
        }
        let before = entry.clock.max(left.map_or(0, |left| left.clock));
        let Some(clock) = next_clock(before) else { return EntryVerdict::Ignore };
        self.left.remove(&entry.id);
        self.bytes += entry.state.len();
        *n_own += 1;
        let state = entry.state.to_owned();
        let client =
            PresentClient { clock, state, connection, renewed: now, changed: now, claim: None };
        self.clients.insert(entry.id, client);
        match left {
            Some(left) => EntryVerdict::PublishReturn(clock, left.at),
            None => EntryVerdict::Publish(clock),
        }
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

    /// Stores the entry of a connection for a client that another connection owns. Reports whether
    /// the connection had not claimed the client before.
    fn claim(
        &mut self,
        connection: PresenceConnection,
        entry: &PresenceEntry<'_>,
        now: Duration,
    ) -> bool {
        let Some(known) = self.clients.get_mut(&entry.id) else { return false };
        let before = known.claim.as_ref().map_or(0, |claim| claim.state.len());
        // Other clients would ignore an older clock.
        let is_possible = entry.clock >= known.clock;
        if !is_possible || self.bytes - before + entry.state.len() > MAX_BYTES {
            return false;
        }
        if entry.state == GONE {
            let withdrawn = known.claim.take_if(|claim| claim.connection == connection);
            self.bytes -= withdrawn.map_or(0, |claim| claim.state.len());
            return false;
        }
        let is_first = known.claim.as_ref().is_none_or(|claim| claim.connection != connection);
        self.bytes = self.bytes - before + entry.state.len();
        let (clock, state) = (entry.clock, entry.state.to_owned());
        known.claim = Some(Box::new(PresenceClaim { clock, state, connection, made: now }));
        if !self.contested.contains(&known.connection) {
            self.contested.push(known.connection);
        }
        is_first
    }
}

impl PresentClient {
    fn entry(&self, id: u64) -> PresenceEntry<'_> {
        PresenceEntry { id, clock: self.clock, state: &self.state }
    }

    /// Returns the client after its connection has left, in favor of the one that claims it. Its
    /// state is published at a clock at which others have no other state of it.
    fn heir(&self, claim: PresenceClaim, now: Duration) -> Self {
        let is_new = claim.clock > self.clock || claim.state == self.state;
        let next = if is_new { None } else { next_clock(self.clock) };
        let clock = next.unwrap_or(claim.clock.max(self.clock));
        let changed = if clock == self.clock { self.changed } else { now };
        let PresenceClaim { state, connection, made: renewed, .. } = claim;
        Self { clock, state, connection, renewed, changed, claim: None }
    }
}

/// Returns the state of an entry as others may get it.
fn checked(state: &str) -> Option<Cow<'_, str>> {
    if state == GONE { Some(state.into()) } else { checked_state(state) }
}

/// Returns the clock after another; `None` if JavaScript could not represent it.
fn next_clock(clock: u64) -> Option<u64> {
    Some(clock + 1).filter(|next| *next < ClientId::LIMIT)
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
mod tests;
