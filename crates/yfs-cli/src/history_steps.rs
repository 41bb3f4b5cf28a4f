//! Histories as steps: an import is one step, every other change is one of its own.

use std::iter::{self, Peekable};

use yfs::workspace::change_list::HistoryEntry;
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
        let files = counted(n_files, "file", "files");
        let from = if source.is_empty() { String::new() } else { format!(" from {source}") };
        (self.entries.len() > 1).then(|| files + &from)
    }
}

/// Reports whether two changes belong to one import.
fn is_same_import(one: &HistoryEntry, other: &HistoryEntry) -> bool {
    one.import_source().is_some() && one.label == other.label
}

/// Groups a history into steps, unless each change is asked for. An error is a step, too.
pub(crate) fn steps<E>(
    entries: impl Iterator<Item = Result<HistoryEntry, E>>,
    is_grouped: bool,
) -> impl Iterator<Item = Result<HistoryStep, E>> {
    let mut entries = entries.peekable();
    iter::from_fn(move || next_step(&mut entries, is_grouped))
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
