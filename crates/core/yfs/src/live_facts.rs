//! Sizes and times of files' contents that are known without loading them.
//!
//! A size is the length of the content as a reader sees it. It is dropped when an update of the
//! document arrives, and computed again on demand; the store keeps it between sessions.

use dashmap::DashMap;
use hashbrown::DefaultHashBuilder;
use yfs_engine::{id::FileId, time::Millis};

/// Facts about contents, by file.
#[derive(Debug, Default)]
pub(crate) struct LiveFacts {
    facts: DashMap<FileId, LiveFact, DefaultHashBuilder>,
}

#[derive(Debug, Default, Clone, Copy)]
struct LiveFact {
    size: Option<u64>,
    /// The time of the last update whose author has not yet reported it in the `stat` cell.
    touched: Option<Millis>,
}

impl LiveFacts {
    /// Returns the length of the content in bytes, if it is known.
    pub(crate) fn size(&self, id: &FileId) -> Option<u64> {
        self.facts.get(id).and_then(|fact| fact.size)
    }

    /// Returns the size and the time of the last update, as far as they are known.
    pub(crate) fn get(&self, id: &FileId) -> (Option<u64>, Option<Millis>) {
        self.facts.get(id).map_or((None, None), |fact| (fact.size, fact.touched))
    }

    pub(crate) fn set_size(&self, id: &FileId, size: u64) {
        self.facts.entry(id.clone()).or_default().size = Some(size);
    }

    /// Records an edit of this process, whose result is known.
    pub(crate) fn record_edit(&self, id: &FileId, size: u64, at: Millis) {
        self.facts.insert(id.clone(), LiveFact { size: Some(size), touched: Some(at) });
    }

    /// Records an update whose result is not known yet.
    pub(crate) fn record_change(&self, id: &FileId, at: Millis) {
        self.facts.insert(id.clone(), LiveFact { size: None, touched: Some(at) });
    }

    /// Forgets a file's facts, because its row has, or will have, the right ones.
    pub(crate) fn forget(&self, id: &FileId) {
        self.facts.remove(id);
    }

    /// Records that the row includes all changes so far.
    pub(crate) fn mark_reported(&self, id: &FileId) {
        if let Some(mut fact) = self.facts.get_mut(id) {
            fact.touched = None;
        }
    }
}
