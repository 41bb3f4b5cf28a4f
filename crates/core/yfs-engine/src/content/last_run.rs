//! Where actors wrote last, for carets that show it to others.

use std::collections::BTreeMap;

use super::{
    Anchor, AnchorSide, ContentDoc, RunAuthor, TEXT, item_sets::to_ranges, note::NotedState,
};
use crate::{
    actor::Actor,
    gate::IdRange,
    id::{ClientId, ItemId},
    kind::ContentRoot,
    rich::ROOT,
};

/// The last run of an actor in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastRun {
    /// On whose behalf it was written, and when it began.
    pub author: RunAuthor,
    /// Its entry in the log.
    pub entry: ItemId,
    /// Where it ended in the current root; `None` if it changed nothing there.
    pub place: Option<Anchor>,
}

/// A run in the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoggedRun<'a> {
    pub(super) author: &'a RunAuthor,
    pub(super) entry: ItemId,
    pub(super) client: ClientId,
    /// The clock of its first item, and the one after its last.
    pub(super) from: u32,
    pub(super) to: u32,
}

impl ContentDoc {
    /// Returns the last run of each actor whose runs are wanted.
    ///
    /// # Cost
    ///
    /// One pass over the entries of the log. A run that only deleted costs the notes that its own
    /// builds on.
    pub fn last_runs(&self, is_wanted: impl Fn(&RunAuthor) -> bool) -> Vec<LastRun> {
        let root = match self.conversion().current_root() {
            ContentRoot::Text => TEXT,
            ContentRoot::Rich(_) => ROOT,
        };
        let runs = self.log().last_runs(is_wanted);
        let described = runs.into_iter().map(|run| LastRun {
            author: run.author.clone(),
            entry: run.entry,
            place: self.end_of_run(&run, root),
        });
        described.collect()
    }

    /// Returns the place behind what a run inserted, or else where it deleted.
    fn end_of_run(&self, run: &LoggedRun<'_>, root: &str) -> Option<Anchor> {
        let items = self.gate().items();
        let end = run.to.min(items.end(run.client));
        let inserted = (run.from < end)
            .then(|| IdRange { client: run.client, start: run.from, len: end - run.from })
            .and_then(|range| items.last_in_root(range, root));
        if let Some(item) = inserted {
            return Some(Anchor::beside(item, AnchorSide::Left));
        }
        let deleted = self.deleted_by_run(run.entry);
        let gone = deleted.into_iter().find_map(|range| items.last_in_root(range, root))?;
        Some(Anchor::beside(gone, AnchorSide::Right))
    }

    /// Returns what was deleted from the beginning of a run to the next one that knew of it.
    fn deleted_by_run(&self, entry: ItemId) -> Vec<IdRange> {
        let notes = self.log().notes();
        if let Some(later) = notes.built_on(entry) {
            return later.snapshot().map(|later| to_ranges(&later.delete_set)).unwrap_or_default();
        }
        let mut before = NotedState::default();
        if !before.add(notes, entry) {
            return Vec::new();
        }
        to_ranges(&before.newer_in(&self.version()).snapshot().delete_set)
    }
}

/// Keeps the last run of each actor.
pub(super) fn keep_last<'a>(runs: impl Iterator<Item = LoggedRun<'a>>) -> Vec<LoggedRun<'a>> {
    let mut last: BTreeMap<&Actor, LoggedRun<'a>> = BTreeMap::new();
    for run in runs {
        let order = |run: &LoggedRun<'_>| (run.author.at, run.client, run.from);
        let is_last = last.get(&run.author.actor).is_none_or(|last| order(last) < order(&run));
        if is_last {
            last.insert(&run.author.actor, run);
        }
    }
    last.into_values().collect()
}
