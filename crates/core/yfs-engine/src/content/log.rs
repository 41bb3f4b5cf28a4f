//! The authors of a content document: the array `fs:log`.
//!
//! An entry marks where a *run* of its writer's work begins. It is written in the transaction of
//! an edit, before that edit, under the same client id; so everything that this client wrote from
//! the entry on, up to its next entry, is by the actor that the entry names. A run needs no end and
//! no upkeep, and an entry never changes. Every edit that this process makes is a run of its own:
//! a version of the file (`docs/decisions/0043-every-save-is-a-version.md`).
//!
//! A process may also record the actor behind a client that writes no entries, an editor in a
//! browser for example. Such a *claim* names the client and the clock from which it holds. An entry
//! of the client itself takes precedence over a claim by another.

use std::{
    collections::{BTreeMap, HashMap as Members},
    ops::Bound,
    sync::Arc,
};

use hashbrown::HashMap;
use smol_str::SmolStr;
use yrs::{Any, Number};

use super::{
    ContentError, MAX_LABEL_LEN,
    logged_run::{LoggedRun, keep_last},
    note::{StateNote, StateNotes},
    replica::{ContentReplica, LocalChange},
    rule_client::is_rule_client,
    typing_marks::TypingMarks,
    writer_ids::WritersOfClients,
};
use crate::{
    actor::Actor,
    gate::RootIx,
    id::{ClientId, ItemId},
    lib0::as_number,
    step::StepId,
    time::Millis,
};

/// The label of the mark that notes the last state of one side of a merge.
pub(crate) const LAST_OF_SIDE: &str = "merge";

/// The label of an entry that says that the text is right where words of several writers meet.
pub(super) const SETTLED: &str = "settled";

/// The member of an entry that names the step of its author.
const STEP: &str = "step";

/// On whose behalf an edit is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAuthor {
    /// The actor.
    pub actor: Actor,
    /// The time.
    pub at: Millis,
    /// The purpose: a tool, a task, a session.
    pub label: Option<SmolStr>,
    /// The step that the edit is part of.
    pub step: Option<StepId>,
}

/// A run of a content document with its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The client that wrote the run.
    pub client: ClientId,
    /// The clock of the first item of the run.
    pub from: u32,
    /// The clock after its last item, or `None` if the run may go on.
    pub to: Option<u32>,
    /// The actor on whose behalf the run was written.
    pub actor: Actor,
    /// When the run began.
    pub at: Millis,
    /// The purpose.
    pub label: Option<SmolStr>,
    /// The step that the run is part of.
    pub step: Option<StepId>,
    /// Whether another client recorded this author.
    pub claimed: bool,
    /// The item of the entry.
    pub entry: ItemId,
}

/// The entries of one document, in order.
#[derive(Debug, Default)]
pub struct AuthorLog {
    runs: BTreeMap<EntryOrder, RunAuthor>,
    /// The state of the document at each entry. States of deleted entries are kept, since others
    /// build on them.
    notes: StateNotes,
    /// The order key of the entry that an item holds.
    keys: HashMap<ItemId, EntryOrder>,
    /// The number of runs that each client recorded itself, deleted ones included.
    n_written: HashMap<ClientId, usize>,
    /// Whether an entry ever noted the state of one side of a merge.
    has_marks: bool,
    /// What this process knows of the people who type.
    pub(super) typing: TypingMarks,
}

/// The sort key of entries: grouped by client, the client's own entries before claims of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EntryOrder {
    client: ClientId,
    claimed: bool,
    from: u32,
    item: ItemId,
}

impl RunAuthor {
    /// Makes an author without a label and a step.
    pub fn new(actor: Actor, at: Millis) -> Self {
        Self { actor, at, label: None, step: None }
    }

    /// Returns the author with a label; one that is too long is cut.
    #[must_use]
    pub fn with_label(mut self, label: &str) -> Self {
        self.label = Some(label[..label.floor_char_boundary(MAX_LABEL_LEN)].into());
        self
    }
}

impl EntryOrder {
    /// Returns the key before every entry of a client from a clock on.
    fn at(client: ClientId, claimed: bool, from: u32) -> Self {
        Self { client, claimed, from, item: ItemId::new(ClientId::from_random(0), 0) }
    }
}

impl AuthorLog {
    /// Adds an element of `fs:log`. Elements that are not entries are ignored.
    pub(super) fn insert(&mut self, item: ItemId, value: &Any) {
        let Some((client, from, author, note)) = parse(item, value) else { return };
        let is_mark = author.label.as_deref() == Some(LAST_OF_SIDE);
        self.has_marks |= is_mark;
        if is_mark && !is_rule_client(item.client) {
            // A save that was merged (`content/saved_side.rs`).
            self.notes.insert_aside(item, note);
        } else {
            self.notes.insert(item, note);
        }
        let key = EntryOrder { client, claimed: client != item.client, from, item };
        self.typing.note_entry(key.claimed);
        if !key.claimed {
            *self.n_written.entry(client).or_default() += 1;
        }
        self.runs.insert(key, author);
        self.keys.insert(item, key);
    }

    /// Removes deleted entries.
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

    /// Returns the number of entries that writers made.
    pub(super) fn n_written(&self) -> usize {
        self.runs.keys().filter(|key| !is_rule_client(key.item.client)).count()
    }

    /// Returns the entry that arrived last.
    pub(super) fn last_entry(&self) -> Option<ItemId> {
        self.notes.latest().filter(|last| self.keys.contains_key(last))
    }

    /// Returns the author that an entry names.
    pub(super) fn author_of_entry(&self, entry: ItemId) -> Option<&RunAuthor> {
        self.runs.get(self.keys.get(&entry)?)
    }

    /// Reports whether any entry notes work of the run that an entry begins.
    pub(super) fn is_noted(&self, entry: ItemId) -> bool {
        let Some(key) = self.keys.get(&entry) else { return false };
        self.notes.reach_beyond(key.client, key.from)
    }

    /// Reports whether the document was ever merged with work that did not know all of it.
    pub(super) fn has_marks(&self) -> bool {
        self.has_marks
    }

    /// Returns the entries with a label.
    pub(super) fn entries_labeled(&self, label: &str) -> Vec<ItemId> {
        let labeled = self.runs.iter().filter(|(_, author)| author.label.as_deref() == Some(label));
        labeled.map(|(key, _)| key.item).collect()
    }

    /// Reports whether the writer of a run knew an item that is in the text.
    pub(super) fn knows(&self, run: ItemId, item: ItemId) -> bool {
        let next = self.keys.get(&run).and_then(|key| {
            let (next, _) = self.runs.range((Bound::Excluded(key), Bound::Unbounded)).next()?;
            (next.client == key.client && self.notes.is_aside(next.item)).then_some(next.item)
        });
        // A save that was merged was written by a writer who knew less than its run.
        self.notes.knows(next.unwrap_or(run), item)
    }

    /// Returns the number of runs that a client recorded itself.
    pub(super) fn n_written_by(&self, client: ClientId) -> usize {
        self.n_written.get(&client).copied().unwrap_or(0)
    }

    /// Reports whether more than one writer recorded its runs itself.
    pub(super) fn has_several_writers(&self) -> bool {
        self.n_written.len() > 1 && self.writers().are_several()
    }

    /// Returns the writers behind the clients that recorded their runs themselves.
    pub(super) fn writers(&self) -> WritersOfClients {
        WritersOfClients::of(self.n_written.keys().copied())
    }

    /// Returns the log entries, by client and clock.
    pub fn entries(&self) -> Vec<LogEntry> {
        let mut entries: Vec<LogEntry> = Vec::with_capacity(self.runs.len());
        for (key, author) in &self.runs {
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
                step: author.step.clone(),
                claimed: key.claimed,
                entry: key.item,
            });
        }
        entries
    }

    /// Returns the last run of each actor whose runs are wanted.
    pub(super) fn last_runs(&self, is_wanted: impl Fn(&RunAuthor) -> bool) -> Vec<LoggedRun<'_>> {
        // Marks of merges and of settled places begin no run.
        let is_mark = |author: &RunAuthor| {
            author.label.as_deref().is_some_and(|label| [LAST_OF_SIDE, SETTLED].contains(&label))
        };
        let nexts = self.runs.keys().skip(1).map(Some).chain([None]);
        let runs = self.runs.iter().zip(nexts);
        let wanted = runs.filter(|((_, author), _)| !is_mark(author) && is_wanted(author));
        keep_last(wanted.map(|((key, author), next)| {
            let next = next.filter(|next| (next.client, next.claimed) == (key.client, key.claimed));
            LoggedRun {
                author,
                entry: key.item,
                client: key.client,
                from: key.from,
                to: next.map_or(u32::MAX, |next| next.from),
            }
        }))
    }

    /// Reports whether a client writes entries itself, as writers of yfs do.
    pub(super) fn writes_entries(&self, client: ClientId) -> bool {
        // No item has the greatest clock, so the end is behind every entry.
        let own = EntryOrder::at(client, false, 0)..EntryOrder::at(client, false, u32::MAX);
        self.runs.range(own).next().is_some()
    }

    /// Returns on whose behalf an item was written, as far as that was recorded.
    pub fn who(&self, item: ItemId) -> Option<&RunAuthor> {
        self.run_of(item).0.map(|(_, author)| author)
    }

    /// Returns the entry of the run that an item belongs to and its author, if that is known, and
    /// the clock of the client up to which that holds.
    pub(super) fn run_of(&self, item: ItemId) -> (Option<(ItemId, &RunAuthor)>, u32) {
        let by = |claimed| {
            let behind = EntryOrder::at(item.client, claimed, item.clock.saturating_add(1));
            let last = self.runs.range(EntryOrder::at(item.client, claimed, 0)..behind).next_back();
            let end = EntryOrder::at(item.client, claimed, u32::MAX);
            let next = self.runs.range(behind..end).next();
            let run = last.map(|(key, author)| (key.item, author));
            (run, next.map_or(u32::MAX, |(key, _)| key.from))
        };
        // A claim holds until the client writes an entry of its own.
        let (own, own_end) = by(false);
        if own.is_some() {
            return (own, own_end);
        }
        let (claimed, claimed_end) = by(true);
        (claimed, claimed_end.min(own_end))
    }

    /// Records on whose behalf another client writes, from a clock on.
    pub(super) fn attribute(
        &mut self,
        replica: &mut ContentReplica,
        client: ClientId,
        from: u32,
        author: &RunAuthor,
    ) -> Result<LocalChange, ContentError> {
        let before = self.note_of(replica);
        self.add_claim(replica, client, from, author, &before)
    }

    /// Records on whose behalf another client writes, with the state of the document before.
    pub(super) fn add_claim(
        &mut self,
        replica: &mut ContentReplica,
        client: ClientId,
        from: u32,
        author: &RunAuthor,
        before: &StateNote,
    ) -> Result<LocalChange, ContentError> {
        self.add_entry(replica, &claim(client, from, author, before))
    }

    /// Adds an entry by itself.
    pub(super) fn add_entry(
        &mut self,
        replica: &mut ContentReplica,
        value: &Any,
    ) -> Result<LocalChange, ContentError> {
        let (id, change) = replica.push_element(RootIx::Log, value)?;
        self.insert(id, value);
        Ok(change)
    }

    /// Encodes the current state of the document as a note.
    pub(super) fn note_of(&mut self, replica: &mut ContentReplica) -> StateNote {
        self.notes.encode_current(replica)
    }

    /// Returns the states of the document at the entries.
    pub(super) fn notes(&self) -> &StateNotes {
        &self.notes
    }
}

/// Returns the entry that begins a run of the client that writes it, with the state of the document
/// before.
pub(super) fn run(author: &RunAuthor, before: &StateNote) -> Any {
    value(author, before.member())
}

/// Returns the entry that names the actor behind another client, with the state of the document
/// before.
fn claim(client: ClientId, from: u32, author: &RunAuthor, before: &StateNote) -> Any {
    let number = |number: f64| Any::Number(Number::Float(number));
    let of = [("client", number(client.get() as f64)), ("from", number(f64::from(from)))];
    value(author, of.into_iter().chain(before.member()))
}

/// Returns an element with the actor, the time, the label, the step and the given further members.
pub(super) fn value<'a>(author: &RunAuthor, more: impl IntoIterator<Item = (&'a str, Any)>) -> Any {
    let mut members = Members::with_capacity(6);
    members.insert("actor".to_owned(), Any::from(author.actor.to_string()));
    members.insert("at".to_owned(), Any::Number(Number::Float(author.at.as_f64())));
    if let Some(label) = &author.label {
        members.insert("label".to_owned(), Any::from(label.as_str()));
    }
    if let Some(step) = &author.step {
        members.insert(STEP.to_owned(), Any::from(step.as_str()));
    }
    members.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Any::Map(Arc::new(members))
}

/// Parses an entry: its client, the clock from which it holds, and the author.
fn parse(item: ItemId, value: &Any) -> Option<(ClientId, u32, RunAuthor, StateNote)> {
    let Any::Map(members) = value else { return None };
    let author = parse_author(members)?;
    let note = StateNote::parse(item, members);
    if !members.contains_key("client") {
        return Some((item.client, item.clock, author, note));
    }
    let number = |name| as_number(members.get(name)?);
    let whole = |number: f64, limit: f64| {
        (number >= 0.0 && number < limit && number.fract() == 0.0).then_some(number)
    };
    let client = whole(number("client")?, ClientId::LIMIT as f64)? as u64;
    let from = whole(number("from")?, f64::from(u32::MAX))? as u32;
    Some((ClientId::new(client).ok()?, from, author, note))
}

/// Parses the actor, the time, the label and the step.
pub(super) fn parse_author(members: &Members<String, Any>) -> Option<RunAuthor> {
    let text = |name| match members.get(name)? {
        Any::String(text) => Some(&**text),
        _ => None,
    };
    let actor = text("actor")?.parse().ok()?;
    let at = Millis::from_f64(as_number(members.get("at")?)?);
    let label = text("label").map(|label| label[..label.floor_char_boundary(MAX_LABEL_LEN)].into());
    let step = text(STEP).and_then(|step| StepId::parse(step).ok());
    Some(RunAuthor { actor, at, label, step })
}
