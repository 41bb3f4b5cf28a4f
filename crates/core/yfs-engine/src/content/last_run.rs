//! Where actors wrote last, for carets that show it to others.

use super::{
    Anchor, AnchorSide, ContentDoc, RunAuthor, TEXT, item_sets::to_ranges, logged_run::LoggedRun,
    note::NotedState,
};
use crate::{gate::IdRange, id::ItemId, kind::ContentRoot, rich::ROOT};

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

impl LastRun {
    /// Returns the last run of each actor in a document whose runs are wanted.
    ///
    /// # Cost
    ///
    /// One pass over the entries of the log. A run that only deleted costs the notes that its own
    /// builds on.
    pub fn of_each(doc: &ContentDoc, is_wanted: impl Fn(&RunAuthor) -> bool) -> Vec<Self> {
        let root = match doc.conversion().current_root() {
            ContentRoot::Text => TEXT,
            ContentRoot::Rich(_) => ROOT,
        };
        let runs = doc.log().last_runs(is_wanted);
        let described = runs.into_iter().map(|run| Self {
            author: run.author.clone(),
            entry: run.entry,
            place: end_of_run(doc, &run, root),
        });
        described.collect()
    }
}

/// Returns the place behind what a run inserted, or else where it deleted.
fn end_of_run(doc: &ContentDoc, run: &LoggedRun<'_>, root: &str) -> Option<Anchor> {
    let items = doc.gate().items();
    let end = run.to.min(items.end(run.client));
    let inserted = (run.from < end)
        .then(|| IdRange { client: run.client, start: run.from, len: end - run.from })
        .and_then(|range| items.last_in_root(range, root));
    if let Some(item) = inserted {
        return Some(Anchor::beside(item, AnchorSide::Left));
    }
    let deleted = deleted_by_run(doc, run.entry);
    let gone = deleted.into_iter().find_map(|range| items.last_in_root(range, root))?;
    Some(Anchor::beside(gone, AnchorSide::Right))
}

/// Returns what was deleted from the beginning of a run to the next one that knew of it.
fn deleted_by_run(doc: &ContentDoc, entry: ItemId) -> Vec<IdRange> {
    let notes = doc.log().notes();
    if let Some(later) = notes.built_on(entry) {
        return later.snapshot().map(|later| to_ranges(&later.delete_set)).unwrap_or_default();
    }
    let mut before = NotedState::default();
    if !before.add(notes, entry) {
        return Vec::new();
    }
    to_ranges(&before.newer_in(&doc.version()).snapshot().delete_set)
}
