//! The client ids under which one writer edits one text, one after another.
//!
//! yrs keeps all items of a client in one array, and an item that is split moves all that follow:
//! the more a client had edited a text, the more each edit of it would cost. So a writer takes
//! another id in a text after [`MAX_EDITS`] edits of it.
//!
//! The next id is a hash of the one before. So a writer needs no random number and claims one id
//! only, which is the first of all its ids in all texts; a later process that claims the same id
//! goes on under the same ids. And every replica can tell that such ids are of one writer, which
//! knows what it wrote under each of them.

use hashbrown::{HashMap, HashSet};

use super::rule_client::is_rule_client;
use crate::id::ClientId;

/// The number of edits that a writer makes under one id.
pub(super) const MAX_EDITS: usize = if cfg!(test) { 4 } else { 1 << 12 };

/// What the hash for the next id begins with; it must change with the rule.
const RULE: &[u8] = b"yfs next client id 1";

/// The ids of the writer of this process in one text.
#[derive(Debug)]
pub(super) struct WriterIds {
    current: ClientId,
    max_edits: usize,
}

/// The writers behind client ids.
#[derive(Debug, Default)]
pub(super) struct WritersOfClients {
    /// The first id of the writer of each id.
    first: HashMap<ClientId, ClientId>,
}

impl WriterIds {
    /// Makes the ids of a writer from the first of them.
    pub(super) fn of(first: ClientId) -> Self {
        Self { current: first, max_edits: MAX_EDITS }
    }

    /// Returns the id under which the next edit is made, from the number of edits that were made
    /// under each.
    pub(super) fn current(&mut self, n_edits: impl Fn(ClientId) -> usize) -> ClientId {
        while n_edits(self.current) >= self.max_edits {
            self.current = next_id(self.current);
        }
        self.current
    }

    /// Sets the number of edits under one id.
    #[cfg(test)]
    pub(super) fn set_max_edits(&mut self, max_edits: usize) {
        self.max_edits = max_edits;
    }
}

impl WritersOfClients {
    /// Finds the writers of ids.
    pub(super) fn of(clients: impl Iterator<Item = ClientId>) -> Self {
        let all: HashSet<ClientId> = clients.collect();
        let writers = all.iter().filter(|client| !is_rule_client(**client));
        let next: HashMap<ClientId, ClientId> = writers
            .map(|client| (*client, next_id(*client)))
            .filter(|(_, next)| all.contains(next))
            .collect();
        let later: HashSet<ClientId> = next.values().copied().collect();
        let mut begins: Vec<ClientId> = all.difference(&later).copied().collect();
        // In order, because ids that were searched for may have the same next one.
        begins.sort_unstable();
        let mut first = HashMap::with_capacity(all.len());
        for begin in begins {
            let ids = std::iter::successors(Some(begin), |client| next.get(client).copied());
            for client in ids.take(all.len()) {
                first.entry(client).or_insert(begin);
            }
        }
        Self { first }
    }

    /// Reports whether there are several writers.
    pub(super) fn are_several(&self) -> bool {
        let mut writers = self.first.values();
        let first = writers.next();
        writers.any(|writer| Some(writer) != first)
    }

    /// Returns the first id of the writer of a client; `None` if the client is no writer.
    pub(super) fn writer_of(&self, client: ClientId) -> Option<ClientId> {
        self.first.get(&client).copied()
    }
}

/// Returns the ids under which a writer edits a text, one after another, without an end.
pub fn ids_of_writer(first: ClientId) -> impl Iterator<Item = ClientId> {
    std::iter::successors(Some(first), |client| Some(next_id(*client)))
}

/// Returns the id that a writer takes after another one. It is not one of a
/// [rule](super::rule_client).
fn next_id(client: ClientId) -> ClientId {
    let mut input = RULE.to_vec();
    input.extend(client.get().to_le_bytes());
    let hash = blake3::hash(&input);
    let number = hash.as_bytes().first_chunk().expect("32 bytes");
    ClientId::from_random(u64::from_le_bytes(*number))
}
