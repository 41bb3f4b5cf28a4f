//! The timeline of a document: its past versions.
//!
//! Every run of edits notes in the log the state that it found. So a version is the state that a
//! run left behind: the state that the next run found, or the current state. A label in the middle
//! of a run makes a version of the labeled state. Each version includes all versions before it: if
//! two people worked apart, the later one shows both.
//!
//! Runs are in order of time, but never before a run that they build on: a wrong clock misplaces
//! only the work of its owner.
//!
//! # Cost
//!
//! Listing costs all notes once, which is about as much as all deletions that there ever were.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use smol_str::SmolStr;

use super::{
    LogEntry, RunAuthor, Version, VersionLabel,
    convert::ConversionHistory,
    label::VersionLabels,
    log::AuthorLog,
    note::{NotedState, StateNote, StateNotes},
    redact::RedactionRecords,
    replica::ContentReplica,
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

/// The past versions of a document and its current one, read from its registers.
#[derive(Debug, Clone, Copy)]
pub struct Timeline<'a> {
    pub(super) replica: &'a ContentReplica,
    pub(super) log: &'a AuthorLog,
    pub(super) labels: &'a VersionLabels,
    pub(super) redactions: &'a RedactionRecords,
    pub(super) conversions: &'a ConversionHistory,
}

/// A pass over the marks.
struct TimelinePass<'a> {
    doc: Timeline<'a>,
    /// The valid entries of a document, by client.
    entries: BTreeMap<ClientId, Vec<u32>>,
    state: NotedState,
    listed: Vec<PastVersion>,
    /// The current run.
    open: Option<&'a LogEntry>,
    /// The runs that are not in a version yet.
    runs: Vec<ItemId>,
    /// Whether the current version is listed even if it changed nothing.
    is_due: bool,
    /// The numbers of content items and deleted content items in the last version.
    size: (u64, u64),
}

impl<'a> Timeline<'a> {
    /// Returns the versions of the text, oldest first; the last is the current one.
    pub fn versions(self) -> Vec<PastVersion> {
        self.pass(usize::MAX).0
    }

    /// Returns one version, to be read or compared with.
    pub fn version(self, index: usize) -> Option<Version> {
        let (listed, state) = self.pass(index);
        let past = listed.get(index)?;
        Some(if past.current { self.replica.version() } else { state.version() })
    }

    /// Returns the past versions that can still be read, with their places in the timeline.
    pub(super) fn readable_past(self) -> Vec<(usize, Version)> {
        let versions = self.versions();
        let readable = versions.iter().enumerate();
        let readable = readable.filter(|(_, past)| !past.current && !past.redacted);
        readable.filter_map(|(index, _)| Some((index, self.version(index)?))).collect()
    }

    /// Walks the timeline up to a version, and returns the state of the document at that version.
    fn pass(self, last: usize) -> (Vec<PastVersion>, NotedState) {
        let log = self.log.entries();
        let mut marks: Vec<(Order, ItemId, TimelineMark<'_>)> = Vec::new();
        let orders = orders(&log, self.log.notes());
        for entry in &log {
            marks.push((orders[&entry.entry], entry.entry, TimelineMark::Run(entry)));
        }
        for (label, note) in self.labels.iter() {
            let after = note.base().and_then(|base| orders.get(&base)).copied().unwrap_or_default();
            let order = (label.author.at.0.max(after.0), after.1 + 1);
            marks.push((order, label.id, TimelineMark::Label(label, note)));
        }
        marks.sort_by_key(|(order, id, _)| (*order, *id));
        let mut pass = TimelinePass {
            doc: self,
            entries: self.entries(&log),
            state: NotedState::default(),
            listed: Vec::new(),
            open: None,
            runs: Vec::new(),
            is_due: false,
            size: (0, 0),
        };
        for (_, _, mark) in &marks {
            pass.visit_mark(mark);
            if pass.listed.len() > last {
                return (pass.listed, pass.state);
            }
        }
        pass.end();
        (pass.listed, pass.state)
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
    fn visit_mark(&mut self, mark: &TimelineMark<'a>) {
        let is_known = match mark {
            TimelineMark::Run(entry) => self.state.add(self.doc.log.notes(), entry.entry),
            TimelineMark::Label(_, note) => self.state.add_noted(self.doc.log.notes(), note),
        };
        self.finish_run();
        // A noted state may not have arrived here.
        let gate = &self.doc.replica.gate;
        let mut clocks = self.state.clocks();
        let is_known = is_known && clocks.all(|(client, clock)| clock <= gate.clock_of(client));
        drop(clocks);
        if is_known && (self.is_due || self.size() != self.size) {
            self.list();
        }
        match mark {
            TimelineMark::Run(entry) => {
                self.open = Some(entry);
                self.runs.push(entry.entry);
                // A claim alone makes no version.
                self.is_due = !entry.claimed;
            }
            TimelineMark::Label(label, _) => {
                if self.listed.is_empty() {
                    self.list();
                }
                let last = self.listed.last_mut().expect("there is one now");
                last.names.push(label.name.clone());
            }
        }
    }

    /// Adds the changes of the current run, if the next one does not know it.
    fn finish_run(&mut self) {
        let Some(run) = self.open else { return };
        if self.state.clock(run.client) > run.from {
            return;
        }
        let doc = self.doc;
        let end = run.to.unwrap_or_else(|| doc.replica.gate.clock_of(run.client));
        if let Some(to) = run.to {
            self.state.add(doc.log.notes(), ItemId::new(run.client, to));
        }
        self.state.reach(run.client, end.min(doc.replica.gate.clock_of(run.client)));
    }

    fn end(&mut self) {
        let now = self.doc.replica.version();
        self.state.add_snapshot(now.snapshot());
        if self.is_due || self.size() != self.size {
            self.list();
        }
        if let Some(last) = self.listed.last_mut() {
            last.current = true;
            last.redacted = false;
            last.runs.append(&mut self.runs);
        }
    }

    fn list(&mut self) {
        self.size = self.size();
        self.is_due = false;
        self.listed.push(PastVersion {
            author: self.open.map(|run| RunAuthor {
                actor: run.actor.clone(),
                at: run.at,
                label: run.label.clone(),
            }),
            runs: std::mem::take(&mut self.runs),
            names: Vec::new(),
            redacted: self.doc.is_redacted(&self.state),
            current: false,
        });
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

/// Returns the position of each entry in time.
fn orders(log: &[LogEntry], notes: &StateNotes) -> HashMap<ItemId, Order> {
    let mut before: HashMap<ItemId, Vec<ItemId>> = HashMap::new();
    let mut at: HashMap<ItemId, i64> = HashMap::new();
    let mut last: Option<&LogEntry> = None;
    for entry in log {
        let known = before.entry(entry.entry).or_default();
        known.extend(notes.get(entry.entry).base());
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
