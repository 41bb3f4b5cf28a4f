//! Content in lists that it does not belong into: text among values or among the children of an
//! element ([decision 80]).
//!
//! Versions without this check accepted it, so logs may have it. It is read as deleted; setting it
//! aside takes it out of the log, too.
//!
//! [decision 80]: ../../../../../docs/decisions/0080-content-stays-in-its-kind-of-list.md

use yfs_engine::{gate::find_misplaced, id::FileId};
use yfs_store::DocName;

use super::parked::role_of;
use crate::{Maintenance, error::Result, workspace::conflict_report::path_of};

/// A document whose log has content that does not belong into its list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MisplacedContent {
    /// The id of the file, or of the workspace.
    pub id: FileId,
    /// The path of the file; `None` if the content is in the files table.
    pub path: Option<String>,
    /// The number of its characters and values.
    pub n_items: u64,
}

impl Maintenance<'_> {
    /// Finds the documents whose logs have content that does not belong into its list. Reads the
    /// whole log.
    pub fn misplaced_contents(&self) -> Result<Vec<MisplacedContent>> {
        let state = self.state;
        state.refresh_damaged()?;
        let mut found = Vec::new();
        for stats in state.store.documents()? {
            let stored = state.store.load(&stats.doc)?;
            let records = stored.updates.iter().map(|record| record.data.as_slice());
            let updates = stored.snapshot.as_deref().into_iter().chain(records);
            let items = find_misplaced(role_of(state, &stats.doc), updates);
            if items.is_empty() {
                continue;
            }
            let id = FileId::from(&stats.doc);
            let path = (id != state.id).then(|| path_of(&state.main.read(), &id));
            let n_items = items.iter().map(|range| u64::from(range.len)).sum();
            found.push(MisplacedContent { id, path, n_items });
        }
        Ok(found)
    }

    /// Takes content that does not belong into its list out of the log: the updates with it go to
    /// the quarantine, and a snapshot without it takes their place. Returns the documents
    /// concerned.
    pub fn set_misplaced_aside(&self) -> Result<Vec<MisplacedContent>> {
        let state = self.state;
        state.check_writable()?;
        let found = self.misplaced_contents()?;
        for content in &found {
            state.compaction.compact_doc(state, &DocName::from(&content.id))?;
        }
        Ok(found)
    }
}
