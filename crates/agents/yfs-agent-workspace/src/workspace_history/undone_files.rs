//! What undoing a session did, by file: an entry for all that was done alike with it.

use std::{
    collections::{HashMap, HashSet},
    mem::{Discriminant, discriminant},
};

use yfs::workspace::change_list::HistoryEntry;
use yfs_agent::history::{UndoneChange, UndoneResult};
use yfs_types::id::FileId;

/// The entries in the order in which the first change of each was undone.
#[derive(Debug, Default)]
pub(super) struct UndoneFiles {
    entries: Vec<(FileId, UndoneChange)>,
    places: HashMap<(FileId, Discriminant<UndoneResult>, String), usize>,
    /// The files that were moved to the trash.
    removed: HashSet<FileId>,
}

impl UndoneFiles {
    /// Adds the result of a change.
    pub(super) fn add(&mut self, change: &HistoryEntry, result: UndoneResult) {
        let id = change.id.clone();
        if result == UndoneResult::Removed {
            self.removed.insert(id.clone());
        }
        let reason = match &result {
            UndoneResult::Kept(reason) => reason.clone(),
            _ => String::new(),
        };
        let (path, kind) = (change.path.clone(), change.change.as_str());
        let key = (id.clone(), discriminant(&result), reason);
        if let Some(place) = self.places.get(&key) {
            let (_, known) = &mut self.entries[*place];
            known.result = joined(&known.result, result);
            return;
        }
        self.places.insert(key, self.entries.len());
        self.entries.push((id, UndoneChange { path, change: kind, result }));
    }

    /// Returns the entries. A file that is in the trash now has that entry, and those of changes
    /// that stand. [`UndoneResult::Nothing`] is returned of a file that has no other entry.
    pub(super) fn into_changes(self) -> Vec<UndoneChange> {
        let mut n_of_file: HashMap<FileId, usize> = HashMap::new();
        for (id, _) in &self.entries {
            *n_of_file.entry(id.clone()).or_default() += 1;
        }
        let is_returned = |(id, entry): &(FileId, UndoneChange)| match &entry.result {
            UndoneResult::Removed | UndoneResult::Kept(_) => true,
            _ if self.removed.contains(id) => false,
            UndoneResult::Nothing => n_of_file.get(id) == Some(&1),
            _ => true,
        };
        let entries = self.entries.iter().filter(|entry| is_returned(entry));
        entries.map(|(_, entry)| entry.clone()).collect()
    }
}

/// Returns the result of two changes of a file with results of one kind, the first undone first.
fn joined(first: &UndoneResult, second: UndoneResult) -> UndoneResult {
    match (first, second) {
        (UndoneResult::Reverted { kept_others: a }, UndoneResult::Reverted { kept_others: b }) => {
            UndoneResult::Reverted { kept_others: *a || b }
        }
        (_, second) => second,
    }
}
