//! Histories as steps: an import is one step, every other change is one of its own.

use std::iter::Peekable;

use yfs::workspace::{change_list::HistoryEntry, noted_imports::NotedImport};
use yfs_vfs::FileKind;

use crate::format_text::counted;

/// One change, or the changes of one import that follow one another.
#[derive(Debug)]
pub(crate) struct HistoryStep {
    /// The changes; at least one.
    pub(crate) entries: Vec<HistoryEntry>,
}

impl HistoryStep {
    /// Makes a step of changes; there is at least one.
    pub(crate) fn of(entries: Vec<HistoryEntry>) -> Self {
        Self { entries }
    }

    /// Describes an import of several files, as `12 files from notes`.
    pub(crate) fn import_summary(&self) -> Option<String> {
        let source = self.entries.first()?.import_source()?;
        let files = self.entries.iter().filter(|entry| entry.kind != FileKind::Directory);
        let n_files = files.count() as u64;
        (self.entries.len() > 1).then(|| imported(n_files, source))
    }
}

/// Describes files of an import, as `12 files from notes`.
pub(crate) fn imported(n_files: u64, source: &str) -> String {
    let from = if source.is_empty() { String::new() } else { format!(" from {source}") };
    counted(n_files, "file", "files") + &from
}

/// A step of a list.
#[derive(Debug)]
pub(crate) enum ListedStep {
    /// Changes that were read.
    Changes(HistoryStep),
    /// A large import whose files were not read.
    Import(NotedImport),
}

/// A history as steps, the latest first.
pub(crate) struct ListedSteps<I: Iterator> {
    entries: Peekable<I>,
    /// The imports whose files `entries` leaves out; the latest is the last.
    imports: Vec<NotedImport>,
    /// Those that were returned. Their other changes, such as directories, are part of them.
    returned: Vec<NotedImport>,
    is_grouped: bool,
}

/// Reports whether two changes belong to one import.
fn is_same_import(one: &HistoryEntry, other: &HistoryEntry) -> bool {
    one.import_source().is_some() && one.label == other.label
}

impl<E, I: Iterator<Item = Result<HistoryEntry, E>>> ListedSteps<I> {
    /// Groups a history into steps, unless each change is asked for. `imports` are those whose
    /// files it leaves out, the latest first. An error is a step, too.
    pub(crate) fn new(entries: I, mut imports: Vec<NotedImport>, is_grouped: bool) -> Self {
        imports.reverse();
        Self { entries: entries.peekable(), imports, returned: Vec::new(), is_grouped }
    }

    /// Returns the next import, if no change that was not returned is later.
    fn next_import(&mut self) -> Option<NotedImport> {
        let import = self.imports.last()?;
        let is_next = match self.entries.peek() {
            None => true,
            Some(entry) => entry.as_ref().is_ok_and(|entry| entry.at <= import.at),
        };
        if is_next { self.imports.pop() } else { None }
    }
}

impl<E, I: Iterator<Item = Result<HistoryEntry, E>>> Iterator for ListedSteps<I> {
    type Item = Result<ListedStep, E>;

    fn next(&mut self) -> Option<Self::Item> {
        let returned = &self.returned;
        let is_returned = |entry: &HistoryEntry| {
            returned.iter().any(|import| entry.label.as_ref() == Some(&import.label))
        };
        while self.entries.next_if(|entry| entry.as_ref().is_ok_and(is_returned)).is_some() {}
        if let Some(import) = self.next_import() {
            self.returned.push(import.clone());
            return Some(Ok(ListedStep::Import(import)));
        }
        let step = next_step(&mut self.entries, self.is_grouped)?;
        Some(step.map(ListedStep::Changes))
    }
}

fn next_step<E>(
    entries: &mut Peekable<impl Iterator<Item = Result<HistoryEntry, E>>>,
    is_grouped: bool,
) -> Option<Result<HistoryStep, E>> {
    let first = match entries.next()? {
        Ok(first) => first,
        Err(error) => return Some(Err(error)),
    };
    let mut step = HistoryStep { entries: vec![first] };
    while is_grouped
        && let Some(Ok(next)) = entries
            .next_if(|next| next.as_ref().is_ok_and(|next| is_same_import(&step.entries[0], next)))
    {
        step.entries.push(next);
    }
    Some(Ok(step))
}
