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

use std::{
    collections::{BTreeMap, HashMap as Members},
    sync::Arc,
};

use hashbrown::HashMap;
use smol_str::SmolStr;
use yrs::{Any, Number};

use super::note::{StateNote, StateNotes};
use crate::{
    actor::Actor,
    id::{ClientId, ItemId},
    lib0::as_number,
    time::Millis,
};

/// A run ends when its writer does not edit for so long after it began, in milliseconds.
pub const MAX_RUN_MS: i64 = 5 * 60 * 1000;

/// The greatest length of a label that we write, in bytes.
pub const MAX_LABEL_LEN: usize = 128;

/// The member of an entry whose run is one edit.
const ALONE: &str = "alone";

/// On whose behalf an edit is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAuthor {
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
    /// Whether the run is one edit that stands alone, such as a rewrite of most of the text.
    pub alone: bool,
    /// The entry that says all this.
    pub entry: ItemId,
}

/// The entries of one document, in order.
#[derive(Debug, Default)]
pub(super) struct AuthorLog {
    runs: BTreeMap<EntryOrder, EntryNote>,
    /// What the document was at each entry. Those of entries that were deleted are kept, since others
    /// build on them.
    notes: StateNotes,
    /// Where the entry is that an item holds.
    keys: HashMap<ItemId, EntryOrder>,
}

/// What an entry says.
#[derive(Debug)]
struct EntryNote {
    author: RunAuthor,
    alone: bool,
}

/// What orders entries: those of one client together, what it says itself before what others say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EntryOrder {
    client: ClientId,
    claimed: bool,
    from: u32,
    item: ItemId,
}

impl RunAuthor {
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

impl EntryOrder {
    /// Returns what is before every entry of a client from a clock on.
    fn at(client: ClientId, claimed: bool, from: u32) -> Self {
        Self { client, claimed, from, item: ItemId::new(ClientId::from_random(0), 0) }
    }
}

impl AuthorLog {
    /// Takes in an element of `fs:log`. What cannot be read as an entry is passed over.
    pub(super) fn insert(&mut self, item: ItemId, value: &Any) {
        let Some((client, from, noted, note)) = parse(item, value) else { return };
        self.notes.insert(item, note);
        let key = EntryOrder { client, claimed: client != item.client, from, item };
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
    pub(super) fn goes_on(&self, client: ClientId, author: &RunAuthor) -> bool {
        let last = self.of(client, false).next_back();
        last.is_some_and(|(_, EntryNote { author: last, alone })| {
            let age = author.at.0.saturating_sub(last.at.0);
            !alone
                && last.actor == author.actor
                && last.label == author.label
                && (0..MAX_RUN_MS).contains(&age)
        })
    }

    pub(super) fn entries(&self) -> Vec<LogEntry> {
        let mut entries: Vec<LogEntry> = Vec::with_capacity(self.runs.len());
        for (key, EntryNote { author, alone }) in &self.runs {
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
                alone: *alone,
                entry: key.item,
            });
        }
        entries
    }

    pub(super) fn who(&self, item: ItemId) -> Option<&RunAuthor> {
        self.run_of(item).0.map(|(_, author)| author)
    }

    /// Returns the entry of the run that an item belongs to and on whose behalf it was written, if that
    /// is known, and up to which clock of its client that holds.
    pub(super) fn run_of(&self, item: ItemId) -> (Option<(ItemId, &RunAuthor)>, u32) {
        let by = |claimed| {
            let behind = EntryOrder::at(item.client, claimed, item.clock.saturating_add(1));
            let last = self.runs.range(EntryOrder::at(item.client, claimed, 0)..behind).next_back();
            let end = EntryOrder::at(item.client, claimed, u32::MAX);
            let next = self.runs.range(behind..end).next();
            let run = last.map(|(key, noted)| (key.item, &noted.author));
            (run, next.map_or(u32::MAX, |(key, _)| key.from))
        };
        // A claim holds until the client speaks for itself.
        let (own, own_end) = by(false);
        if own.is_some() {
            return (own, own_end);
        }
        let (claimed, claimed_end) = by(true);
        (claimed, claimed_end.min(own_end))
    }

    /// Returns what the document was at each entry.
    pub(super) fn notes(&self) -> &StateNotes {
        &self.notes
    }

    fn of(
        &self,
        client: ClientId,
        claimed: bool,
    ) -> impl DoubleEndedIterator<Item = (&EntryOrder, &EntryNote)> {
        // No item has the greatest clock, so the end is behind every entry.
        self.runs
            .range(EntryOrder::at(client, claimed, 0)..EntryOrder::at(client, claimed, u32::MAX))
    }
}

/// Returns the entry that begins a run of the client that writes it, with what the document was
/// before.
pub(super) fn run(author: &RunAuthor, alone: bool, before: &StateNote) -> Any {
    let alone = alone.then_some((ALONE, Any::Bool(true)));
    value(author, alone.into_iter().chain(before.member()))
}

/// Returns the entry that says who sits behind another client, with what the document was before.
pub(super) fn claim(client: ClientId, from: u32, author: &RunAuthor, before: &StateNote) -> Any {
    let number = |number: f64| Any::Number(Number::Float(number));
    let of = [("client", number(client.get() as f64)), ("from", number(f64::from(from)))];
    value(author, of.into_iter().chain(before.member()))
}

/// Returns an element that says who, when and what for, and something more.
pub(super) fn value<'a>(author: &RunAuthor, more: impl IntoIterator<Item = (&'a str, Any)>) -> Any {
    let mut members = Members::with_capacity(5);
    members.insert("actor".to_owned(), Any::from(author.actor.to_string()));
    members.insert("at".to_owned(), Any::Number(Number::Float(author.at.as_f64())));
    if let Some(label) = &author.label {
        members.insert("label".to_owned(), Any::from(label.as_str()));
    }
    members.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Any::Map(Arc::new(members))
}

/// Reads an entry: whose work it speaks of, from which clock on, and who did it.
fn parse(item: ItemId, value: &Any) -> Option<(ClientId, u32, EntryNote, StateNote)> {
    let Any::Map(members) = value else { return None };
    let author = parse_author(members)?;
    let alone = matches!(members.get(ALONE), Some(Any::Bool(true)));
    let (noted, note) = (EntryNote { author, alone }, StateNote::parse(item, members));
    if !members.contains_key("client") {
        return Some((item.client, item.clock, noted, note));
    }
    let number = |name| as_number(members.get(name)?);
    let whole = |number: f64, limit: f64| {
        (number >= 0.0 && number < limit && number.fract() == 0.0).then_some(number)
    };
    let client = whole(number("client")?, ClientId::LIMIT as f64)? as u64;
    let from = whole(number("from")?, f64::from(u32::MAX))? as u32;
    Some((ClientId::new(client).ok()?, from, noted, note))
}

/// Reads who, when and what for.
pub(super) fn parse_author(members: &Members<String, Any>) -> Option<RunAuthor> {
    let text = |name| match members.get(name)? {
        Any::String(text) => Some(&**text),
        _ => None,
    };
    let actor = text("actor")?.parse().ok()?;
    let at = Millis::from_f64(as_number(members.get("at")?)?);
    let label = text("label").map(|label| label[..label.floor_char_boundary(MAX_LABEL_LEN)].into());
    Some(RunAuthor { actor, at, label })
}
