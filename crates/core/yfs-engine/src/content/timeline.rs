//! The timeline of a document: its past versions.
//!
//! Every run of edits notes in the log the state that it found. So a version is the state that a
//! run left behind: the state that the next run found, or the current state. A label in the middle
//! of a run makes a version of the labeled state.
//!
//! If two people worked apart, the state of each side is a version, and the merged state another
//! one (decision 67). No version mixes what was never in one document.
//!
//! Runs are in order of time, but never before a run that they build on: a wrong clock misplaces
//! only the work of its owner.
//!
//! # Cost
//!
//! Listing costs all notes once, which is about as much as all deletions that there ever were. More
//! than [`MAX_BRANCHES`] sides that were apart at one time cost their notes again.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use smol_str::SmolStr;
use yrs::IdSet;

use super::{
    LogEntry, RunAuthor, Version, VersionLabel,
    convert::ConversionHistory,
    item_sets::holds,
    label::VersionLabels,
    log::AuthorLog,
    note::{NotedState, StateNote, StateNotes},
    redact::RedactionRecords,
    replica::ContentReplica,
    rule_client::is_rule_client,
};
use crate::id::{ClientId, ItemId};

/// One past version of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastVersion {
    /// On whose behalf its last run was written and when that began, as far as that was recorded.
    pub author: Option<RunAuthor>,
    /// The entries of the runs that are in it and not in the version before.
    pub runs: Vec<ItemId>,
    /// The labels that people gave it.
    pub names: Vec<SmolStr>,
    /// Whether some of its content was erased for good.
    pub redacted: bool,
    /// Whether it is the current version.
    pub current: bool,
}

/// An event that ends one version and may begin another.
enum TimelineMark<'a> {
    Run(&'a LogEntry),
    Label(&'a VersionLabel, &'a StateNote),
}

/// A position in time: never before the entries that it builds on.
type Order = (i64, u32);

/// The number of sides whose states are kept while a timeline is read.
const MAX_BRANCHES: usize = 8;

/// The past versions of a document and its current one, read from its registers.
#[derive(Debug, Clone, Copy)]
pub struct Timeline<'a> {
    pub(super) replica: &'a ContentReplica,
    pub(super) log: &'a AuthorLog,
    pub(super) labels: &'a VersionLabels,
    pub(super) redactions: &'a RedactionRecords,
    pub(super) conversions: &'a ConversionHistory,
}

/// Deletions, with the run that made them.
pub(super) struct NotedDeletions {
    /// The entry of the run.
    pub(super) run: ItemId,
    /// At least the items that the run deleted. What an earlier run deleted is its own.
    pub(super) deleted: IdSet,
}

/// A version with the state that it was listed for.
struct ListedVersion<'a> {
    past: PastVersion,
    order: Order,
    size: StateSize,
    /// The mark that notes the state; `None` for the current state.
    mark: Option<&'a TimelineMark<'a>>,
}

/// The numbers of content items and deleted content items of a state.
type StateSize = (u64, u64);

/// A pass over the marks.
struct TimelinePass<'a> {
    doc: Timeline<'a>,
    orders: HashMap<ItemId, Order>,
    /// The valid entries of a document, by client.
    entries: BTreeMap<ClientId, Vec<u32>>,
    /// The state that the last mark noted.
    state: NotedState,
    /// The entry of the last mark, if its state was known.
    tip: Option<ItemId>,
    /// The states that the last entries of other sides noted.
    branches: Vec<(ItemId, NotedState)>,
    listed: Vec<ListedVersion<'a>>,
    /// The last run.
    open: Option<&'a LogEntry>,
    /// The runs that are not in a version yet.
    unlisted: Vec<&'a LogEntry>,
    /// The size of the state that was listed last.
    size: StateSize,
    /// The notes that were visited, each with the run that led to it.
    noted: Vec<(ItemId, &'a StateNote)>,
}

impl<'a> Timeline<'a> {
    /// Returns the versions of the text, oldest first; the last is the current one.
    pub fn versions(self) -> Vec<PastVersion> {
        self.pass(|listed| listed.into_iter().map(|version| version.past).collect())
    }

    /// Returns one version, to be read or compared with.
    pub fn version(self, index: usize) -> Option<Version> {
        self.pass(|listed| match listed.get(index)?.mark {
            None => Some(self.replica.version()),
            Some(mark) => Some(self.state_at(mark)?.version()),
        })
    }

    /// Returns the deletions that the notes record, in order of time.
    pub(super) fn noted_deletions(self) -> Vec<NotedDeletions> {
        self.pass_all(|pass| {
            let noted = pass.noted.iter().filter_map(|(run, note)| {
                let deleted = note.snapshot()?.delete_set;
                (!deleted.is_empty()).then_some(NotedDeletions { run: *run, deleted })
            });
            let mut all: Vec<NotedDeletions> = noted.collect();
            let deleted = self.replica.version().snapshot().delete_set.clone();
            all.extend(pass.last_run().map(|run| NotedDeletions { run, deleted }));
            all
        })
    }

    /// Returns some versions, in the order of the places that are given.
    pub(super) fn versions_at(self, places: &[usize]) -> Vec<Option<Version>> {
        self.pass(|listed| {
            let version = |place: &usize| match listed.get(*place)?.mark {
                None => Some(self.replica.version()),
                Some(mark) => Some(self.state_at(mark)?.version()),
            };
            places.iter().map(version).collect()
        })
    }

    /// Returns the past versions that can still be read, with their places in the timeline.
    pub(super) fn readable_past(self) -> Vec<(usize, Version)> {
        let versions = self.versions();
        let readable = versions.iter().enumerate();
        let readable = readable.filter(|(_, past)| !past.current && !past.redacted);
        readable.filter_map(|(index, _)| Some((index, self.version(index)?))).collect()
    }

    /// Returns the last listed state that shows an item, and the first one after it that does not;
    /// `None` if the log does not tell these. Costs a state for each halving of the versions.
    pub(super) fn change_that_deleted(self, item: ItemId) -> Option<(Version, Version)> {
        self.pass(|listed| {
            let state = |at: usize| match listed[at].mark {
                None => Some(self.replica.version()),
                Some(mark) => Some(self.state_at(mark)?.version()),
            };
            let (mut first, mut last) = (0, listed.len().checked_sub(1)?);
            let (mut before, mut after) = (None, state(last)?);
            while first < last {
                let middle = usize::midpoint(first, last);
                let version = state(middle)?;
                match holds(&version.snapshot().delete_set, item) {
                    true => (last, after) = (middle, version),
                    false => (first, before) = (middle + 1, Some(version)),
                }
            }
            let before = before.filter(|before| before.knows(item.client, item.clock + 1))?;
            holds(&after.snapshot().delete_set, item).then_some((before, after))
        })
    }

    /// Walks the timeline, and passes the versions in order of time to `read`.
    fn pass<R>(self, read: impl FnOnce(Vec<ListedVersion<'_>>) -> R) -> R {
        self.pass_all(|pass| read(std::mem::take(&mut pass.listed)))
    }

    /// Walks the timeline, and passes the finished walk to `read`.
    fn pass_all<R>(self, read: impl FnOnce(&mut TimelinePass<'_>) -> R) -> R {
        let log = self.log.entries();
        let mut marks: Vec<(Order, ItemId, TimelineMark<'_>)> = Vec::new();
        let orders = orders(&log, self.log.notes());
        for entry in &log {
            marks.push((orders[&entry.entry], entry.entry, TimelineMark::Run(entry)));
        }
        for (label, note) in self.labels.iter() {
            let known = builds_on(&log, note).filter_map(|entry| orders.get(&entry));
            let after = known.max().copied().unwrap_or_default();
            let order = (label.author.at.0.max(after.0), after.1 + 1);
            marks.push((order, label.id, TimelineMark::Label(label, note)));
        }
        // Of two marks about one run, the one that knows less is about that run alone.
        let len_of_mark = |id: &ItemId| match is_rule_client(id.client) {
            true => self.log.notes().get(*id).bytes().len(),
            false => 0,
        };
        marks.sort_by_key(|(order, id, _)| (*order, len_of_mark(id), *id));
        let mut pass = TimelinePass {
            doc: self,
            orders,
            entries: self.entries(&log),
            state: NotedState::default(),
            tip: None,
            branches: Vec::new(),
            listed: Vec::new(),
            open: None,
            unlisted: Vec::new(),
            size: (0, 0),
            noted: Vec::new(),
        };
        for (order, _, mark) in &marks {
            pass.visit_mark(*order, mark);
        }
        pass.end();
        read(&mut pass)
    }

    /// Returns the state that a mark notes, if all notes that it builds on are known.
    fn state_at(self, mark: &TimelineMark<'_>) -> Option<NotedState> {
        let mut state = NotedState::default();
        let notes = self.log.notes();
        let is_known = match mark {
            TimelineMark::Run(entry) => state.add(notes, entry.entry),
            TimelineMark::Label(_, note) => state.add_noted(notes, note),
        };
        is_known.then_some(state)
    }

    /// Returns the items that are no content.
    fn entries(self, log: &[LogEntry]) -> BTreeMap<ClientId, Vec<u32>> {
        let mut entries: BTreeMap<ClientId, Vec<u32>> = BTreeMap::new();
        let ids = log.iter().map(|entry| entry.entry);
        let ids = ids.chain(self.labels.iter().map(|(label, _)| label.id));
        let ids = ids.chain(self.labels.gone());
        let ids = ids.chain(self.redactions.iter().map(|redaction| redaction.id));
        for id in ids {
            entries.entry(id.client).or_default().push(id.clock);
        }
        entries.values_mut().for_each(|clocks| clocks.sort_unstable());
        entries
    }
}

impl Timeline<'_> {
    /// Reports whether any visible item of a state was redacted.
    fn is_redacted(&self, state: &NotedState) -> bool {
        let was_rich =
            |version: &Version| self.conversions.settlements(self.replica).was_rich_at(version);
        self.redactions.hides_part_of(self.replica, state, was_rich)
    }
}

impl<'a> TimelinePass<'a> {
    fn visit_mark(&mut self, order: Order, mark: &'a TimelineMark<'a>) {
        let goes_on = self.enter(mark);
        if let Some(goes_on) = goes_on {
            let n_listed = self.listed.len();
            self.list_if_due(order, Some(mark), goes_on);
            self.note_run(mark, self.listed.len() > n_listed);
        }
        match mark {
            TimelineMark::Run(entry) => {
                self.open = Some(entry);
                self.unlisted.push(entry);
                self.tip = goes_on.map(|_| entry.entry);
            }
            TimelineMark::Label(label, _) => {
                self.name_version(order, mark, label);
                // The state is that of the label now.
                self.tip = None;
            }
        }
    }

    /// Keeps the note of a mark with the run that led to it: the last one of the version that it
    /// ends, else the one that the note builds on, else the last one.
    fn note_run(&mut self, mark: &TimelineMark<'a>, is_listed: bool) {
        let note = match mark {
            TimelineMark::Run(entry) => self.doc.log.notes().get(entry.entry),
            TimelineMark::Label(_, note) => note,
        };
        let listed = self.listed.last().filter(|_| is_listed);
        let listed = listed.and_then(|version| version.past.runs.last()).copied();
        let base = note.base().filter(|base| self.orders.contains_key(base));
        let run = listed.or(base).or(self.open.map(|run| run.entry));
        self.noted.extend(run.map(|run| (run, note)));
    }

    /// Returns the run that led to the current state.
    fn last_run(&self) -> Option<ItemId> {
        let current = self.listed.iter().find(|version| version.past.current);
        let run = current.and_then(|version| version.past.runs.last()).copied();
        run.or(self.open.map(|run| run.entry))
    }

    /// Makes the state that a mark notes the current one. Returns whether it goes on from the state
    /// before, `None` if it is unknown.
    fn enter(&mut self, mark: &TimelineMark<'a>) -> Option<bool> {
        let notes = self.doc.log.notes();
        let (base, is_label) = match mark {
            TimelineMark::Run(entry) => (notes.get(entry.entry).base(), false),
            TimelineMark::Label(_, note) => (note.base(), true),
        };
        let goes_on = base.is_some() && base == self.tip;
        let state = match mark {
            TimelineMark::Run(entry) if goes_on => {
                let mut state = std::mem::take(&mut self.state);
                state.add(notes, entry.entry);
                state
            }
            _ => self.find_branch(base, mark, is_label)?,
        };
        // A noted state may not have arrived here.
        let gate = &self.doc.replica.gate;
        if state.clocks().any(|(client, clock)| clock > gate.clock_of(client)) {
            if goes_on {
                self.tip = None;
            }
            return None;
        }
        let goes_on = goes_on || state.covers(&self.state);
        let before = std::mem::replace(&mut self.state, state);
        if let Some(tip) = self.tip.filter(|tip| is_label || base != Some(*tip)) {
            self.branches.insert(0, (tip, before));
            self.branches.truncate(MAX_BRANCHES);
        }
        Some(goes_on)
    }

    /// Returns the state that a mark notes, from that of the side that it goes on from.
    fn find_branch(
        &mut self,
        base: Option<ItemId>,
        mark: &TimelineMark<'_>,
        is_label: bool,
    ) -> Option<NotedState> {
        let place = self.branches.iter().position(|(tip, _)| Some(*tip) == base);
        let (Some(place), TimelineMark::Run(entry), false) = (place, mark, is_label) else {
            return self.doc.state_at(mark);
        };
        let (_, mut state) = self.branches.remove(place);
        state.add(self.doc.log.notes(), entry.entry).then_some(state)
    }

    /// Lists the current state if it has the work of a run that is in no version.
    fn list_if_due(&mut self, order: Order, mark: Option<&'a TimelineMark<'a>>, goes_on: bool) {
        let state = &self.state;
        let mut runs = Vec::new();
        self.unlisted.retain(|run| {
            let is_known = mark.is_none() || state.clock(run.client) > run.from;
            runs.extend(is_known.then_some(*run));
            !is_known
        });
        let size = self.size();
        let has_changed = size != self.size && (goes_on || !runs.is_empty());
        // A claim alone makes no version.
        if has_changed || runs.iter().any(|run| !run.claimed) {
            self.list(order, mark, runs);
            self.size = size;
        } else {
            self.unlisted.splice(0..0, runs);
            self.size = if goes_on { self.size } else { size };
        }
    }

    fn list(&mut self, order: Order, mark: Option<&'a TimelineMark<'a>>, runs: Vec<&'a LogEntry>) {
        let author = runs.last().copied().or(self.open);
        let past = PastVersion {
            author: author.map(|run| RunAuthor {
                actor: run.actor.clone(),
                at: run.at,
                label: run.label.clone(),
                step: run.step.clone(),
            }),
            runs: runs.iter().map(|run| run.entry).collect(),
            names: Vec::new(),
            redacted: mark.is_some() && self.doc.is_redacted(&self.state),
            current: false,
        };
        let order = runs.last().map_or(order, |run| self.orders[&run.entry]);
        self.listed.push(ListedVersion { past, order, size: self.size(), mark });
    }

    /// Gives a name to the version of the current state.
    fn name_version(&mut self, order: Order, mark: &'a TimelineMark<'a>, label: &VersionLabel) {
        if self.listed.is_empty() {
            self.list(order, Some(mark), Vec::new());
        }
        let size = self.size();
        let same = self.listed.iter().rposition(|version| version.size == size);
        let place = same.unwrap_or(self.listed.len() - 1);
        self.listed[place].past.names.push(label.name.clone());
    }

    /// Lists the current version, and sorts all.
    fn end(&mut self) {
        let now = self.doc.replica.version();
        self.state.add_snapshot(now.snapshot());
        let last = (i64::MAX, u32::MAX);
        self.list_if_due(last, None, true);
        if self.listed.last().is_some_and(|version| version.mark.is_some()) {
            let size = self.size();
            let same = self.listed.iter().rposition(|version| version.size == size);
            let current = self.listed.remove(same.unwrap_or(self.listed.len() - 1));
            self.listed.push(ListedVersion { mark: None, ..current });
        }
        if let Some(current) = self.listed.last_mut() {
            current.order = last;
            current.past.current = true;
            current.past.redacted = false;
            current.past.runs.extend(self.unlisted.drain(..).map(|run| run.entry));
        }
        self.listed.sort_by_key(|version| version.order);
    }

    /// Returns the number of content items of the state, and the number of them that are deleted.
    fn size(&self) -> (u64, u64) {
        let units = self.state.clocks().map(|(client, clock)| {
            let entries = self.entries.get(&client);
            let n_entries =
                entries.map_or(0, |clocks| clocks.partition_point(|entry| *entry < clock));
            u64::from(clock) - n_entries as u64
        });
        let gone = self.doc.labels.gone().filter(|label| self.state.deletes(*label));
        (units.sum(), self.state.n_deleted() - gone.count() as u64)
    }
}

/// Returns entries that a note builds on. A whole snapshot names none, but of each client it has
/// all entries up to a clock. `log` is in order.
fn builds_on(log: &[LogEntry], note: &StateNote) -> impl Iterator<Item = ItemId> {
    let snapshot = note.snapshot().filter(|_| note.base().is_none());
    let clocks = snapshot.map(|snapshot| snapshot.state_map).unwrap_or_default();
    let clocks: Vec<(ClientId, u32)> = clocks
        .iter()
        .filter_map(|(client, clock)| Some((ClientId::new(client.get()).ok()?, *clock)))
        .collect();
    let last_of = |(client, clock): (ClientId, u32)| {
        let is_before =
            |entry: &LogEntry| (entry.client, entry.claimed, entry.from) < (client, false, clock);
        let last = log.get(log.partition_point(is_before).checked_sub(1)?)?;
        (last.client == client && !last.claimed).then_some(last.entry)
    };
    note.base().into_iter().chain(clocks.into_iter().filter_map(last_of))
}

/// Returns the position of each entry in time.
fn orders(log: &[LogEntry], notes: &StateNotes) -> HashMap<ItemId, Order> {
    let mut before: HashMap<ItemId, Vec<ItemId>> = HashMap::new();
    let mut at: HashMap<ItemId, i64> = HashMap::new();
    let mut last: Option<&LogEntry> = None;
    for entry in log {
        let known = before.entry(entry.entry).or_default();
        known.extend(builds_on(log, notes.get(entry.entry)));
        let previous = last.filter(|last| !entry.claimed && last.client == entry.client);
        known.extend(previous.filter(|last| !last.claimed).map(|last| last.entry));
        at.insert(entry.entry, entry.at.0);
        last = Some(entry);
    }
    let mut orders: HashMap<ItemId, Order> = HashMap::new();
    for entry in log {
        let mut stack = vec![entry.entry];
        let mut waiting: HashSet<ItemId> = stack.iter().copied().collect();
        while let Some(id) = stack.last().copied() {
            let needed = before.get(&id).map_or(&[][..], Vec::as_slice);
            let open = |other: &&ItemId| !orders.contains_key(*other) && at.contains_key(*other);
            // An entry that builds on itself is malicious, and is ordered by its time alone.
            let next = needed.iter().filter(open).find(|other| !waiting.contains(*other));
            if let Some(next) = next.copied() {
                waiting.insert(next);
                stack.push(next);
                continue;
            }
            let known = needed.iter().filter_map(|other| orders.get(other)).copied();
            let (after, depth) = known.max().map_or((i64::MIN, 0), |(at, depth)| (at, depth + 1));
            orders.insert(id, (at[&id].max(after), depth));
            stack.pop();
        }
    }
    orders
}
