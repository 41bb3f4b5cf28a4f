//! Who wrote what: the array `fs:log` of a content document.
//!
//! An entry marks where a *run* of its writer's work begins. It is written in the transaction of the
//! first edit, before that edit, under the same client id; so everything that this client wrote from
//! the entry on, up to its next entry, is by the actor whom the entry names. A run needs no end and
//! no upkeep: later edits of the run write nothing to the log, and an entry never changes.
//!
//! A process may also say who sits behind a client that writes no entries, an editor in a browser
//! for example. Such a *claim* names the client and the clock from which it holds. What a client
//! says about itself goes before what others say about it.

use std::{collections::BTreeMap, sync::Arc};

use hashbrown::HashMap;
use smol_str::SmolStr;
use yrs::{Any, Number};

use super::Version;
use crate::{
    actor::Actor,
    id::{ClientId, ItemId},
    lib0::as_number,
    time::Millis,
};

/// A run ends when its writer does not edit for so long after it began, in milliseconds.
pub const MAX_RUN_MS: i64 = 5 * 60 * 1000;

/// The greatest size of an encoded version that an entry notes, in bytes. Documents with a long history
/// of scattered deletions go without.
pub const MAX_BEFORE_LEN: usize = 4 << 10;

/// The greatest length of a label that we write, in bytes.
pub const MAX_LABEL_LEN: usize = 128;

/// On whose behalf an edit is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Who.
    pub actor: Actor,
    /// When.
    pub at: Millis,
    /// What for: a tool, a task, a session.
    pub label: Option<SmolStr>,
}

/// Who wrote a run of a content document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The client that wrote the run.
    pub client: ClientId,
    /// The clock of the first item of the run.
    pub from: u32,
    /// The clock after its last item, or nothing if the run may go on.
    pub to: Option<u32>,
    /// On whose behalf.
    pub actor: Actor,
    /// When the run began.
    pub at: Millis,
    /// What for.
    pub label: Option<SmolStr>,
    /// Whether another client says so.
    pub claimed: bool,
    /// What the document was when the run began, where its writer noted it.
    pub before: Option<Version>,
}

/// The entries of one document, in order.
#[derive(Debug, Default)]
pub(super) struct Log {
    runs: BTreeMap<Key, Noted>,
    /// Where the entry is that an item holds.
    keys: HashMap<ItemId, Key>,
}

/// What an entry says.
#[derive(Debug)]
struct Noted {
    author: Author,
    /// What the document was, encoded.
    before: Option<Arc<[u8]>>,
}

/// What orders entries: those of one client together, what it says itself before what others say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    client: ClientId,
    claimed: bool,
    from: u32,
    item: ItemId,
}

impl Author {
    /// Makes an author without a label.
    pub fn new(actor: Actor, at: Millis) -> Self {
        Self { actor, at, label: None }
    }

    /// Returns the author with a label; one that is too long is cut.
    #[must_use]
    pub fn with_label(mut self, label: &str) -> Self {
        self.label = Some(label[..label.floor_char_boundary(MAX_LABEL_LEN)].into());
        self
    }
}

impl Log {
    /// Takes in an element of `fs:log`. What cannot be read as an entry is passed over.
    pub(super) fn insert(&mut self, item: ItemId, value: &Any) {
        let Some((client, from, noted)) = parse(item, value) else { return };
        let key = Key { client, claimed: client != item.client, from, item };
        self.runs.insert(key, noted);
        self.keys.insert(item, key);
    }

    /// Forgets what was deleted.
    pub(super) fn remove(&mut self, client: ClientId, start: u32, end: u32) {
        if ((end - start) as usize) < self.keys.len() {
            let gone =
                (start..end).filter_map(|clock| self.keys.remove(&ItemId::new(client, clock)));
            for key in gone {
                self.runs.remove(&key);
            }
        } else {
            let is_gone =
                |item: &ItemId| item.client == client && (start..end).contains(&item.clock);
            self.keys.retain(|item, _| !is_gone(item));
            self.runs.retain(|key, _| !is_gone(&key.item));
        }
    }

    /// Tells whether an edit of `author` by `client` goes on with the last run of that client.
    pub(super) fn goes_on(&self, client: ClientId, author: &Author) -> bool {
        let last = self.of(client, false).next_back();
        last.is_some_and(|(_, Noted { author: last, .. })| {
            let age = author.at.0.saturating_sub(last.at.0);
            last.actor == author.actor
                && last.label == author.label
                && (0..MAX_RUN_MS).contains(&age)
        })
    }

    pub(super) fn entries(&self) -> Vec<LogEntry> {
        let mut entries: Vec<LogEntry> = Vec::with_capacity(self.runs.len());
        for (key, Noted { author, before }) in &self.runs {
            if let Some(last) = entries.last_mut()
                && (last.client, last.claimed) == (key.client, key.claimed)
            {
                last.to = Some(key.from);
            }
            entries.push(LogEntry {
                client: key.client,
                from: key.from,
                to: None,
                actor: author.actor.clone(),
                at: author.at,
                label: author.label.clone(),
                claimed: key.claimed,
                before: before.as_ref().and_then(|bytes| Version::decode(bytes).ok()),
            });
        }
        entries
    }

    pub(super) fn who(&self, item: ItemId) -> Option<&Author> {
        let by = |claimed| {
            let mut runs = self.of(item.client, claimed).rev();
            runs.find(|(key, _)| key.from <= item.clock).map(|(_, noted)| &noted.author)
        };
        by(false).or_else(|| by(true))
    }

    fn of(
        &self,
        client: ClientId,
        claimed: bool,
    ) -> impl DoubleEndedIterator<Item = (&Key, &Noted)> {
        let bound = |clock| Key {
            client,
            claimed,
            from: clock,
            item: ItemId::new(ClientId::from_random(0), 0),
        };
        // No item has the greatest clock, so the end is behind every entry.
        self.runs.range(bound(0)..bound(u32::MAX))
    }
}

/// Returns the entry that begins a run of the client that writes it, with what the document was
/// before: nothing if it was empty.
pub(super) fn run(author: &Author, before: Option<&Version>) -> Any {
    let before = before.map(Version::encode).filter(|bytes| bytes.len() <= MAX_BEFORE_LEN);
    match before {
        Some(bytes) => value(author, [("was", Any::Buffer(bytes.into()))]),
        None => value(author, []),
    }
}

/// Returns the entry that says who sits behind another client.
pub(super) fn claim(client: ClientId, from: u32, author: &Author) -> Any {
    let number = |number: f64| Any::Number(Number::Float(number));
    let client = number(client.get() as f64);
    value(author, [("client", client), ("from", number(f64::from(from)))])
}

fn value<const N: usize>(author: &Author, more: [(&str, Any); N]) -> Any {
    let mut members = std::collections::HashMap::with_capacity(5);
    members.insert("actor".to_owned(), Any::from(author.actor.to_string()));
    members.insert("at".to_owned(), Any::Number(Number::Float(author.at.as_f64())));
    if let Some(label) = &author.label {
        members.insert("label".to_owned(), Any::from(label.as_str()));
    }
    members.extend(more.map(|(name, value)| (name.to_owned(), value)));
    Any::Map(Arc::new(members))
}

/// Reads an entry: whose work it speaks of, from which clock on, and who did it.
fn parse(item: ItemId, value: &Any) -> Option<(ClientId, u32, Noted)> {
    let Any::Map(members) = value else { return None };
    let text = |name| match members.get(name)? {
        Any::String(text) => Some(&**text),
        _ => None,
    };
    let number = |name| as_number(members.get(name)?);
    let actor = text("actor")?.parse().ok()?;
    let at = Millis::from_f64(number("at")?);
    let label = text("label").map(|label| label[..label.floor_char_boundary(MAX_LABEL_LEN)].into());
    let before = match members.get("was") {
        Some(Any::Buffer(bytes)) if bytes.len() <= MAX_BEFORE_LEN => Some(bytes.clone()),
        _ => None,
    };
    let noted = Noted { author: Author { actor, at, label }, before };
    if !members.contains_key("client") {
        return Some((item.client, item.clock, noted));
    }
    let whole = |number: f64, limit: f64| {
        (number >= 0.0 && number < limit && number.fract() == 0.0).then_some(number)
    };
    let client = whole(number("client")?, ClientId::LIMIT as f64)? as u64;
    let from = whole(number("from")?, f64::from(u32::MAX))? as u32;
    Some((ClientId::new(client).ok()?, from, noted))
}
