//! When a workspace renews its index.

use std::sync::atomic::Ordering;

use super::SearchIndexes;
use crate::{Maintenance, core::WorkspaceCore, error::Result, feature::WorkspaceFeature};

impl SearchIndexes {
    /// Renews the index if enough was written since, and makes one that is missing if a search
    /// wants it, or if this process serves others and rests.
    pub(crate) fn renew_due(&self, core: &WorkspaceCore) -> Result<()> {
        let Some(home) = self.home.as_ref().filter(|_| core.check_writable().is_ok()) else {
            return Ok(());
        };
        let (head, after) = (core.store.head()?, core.options.checkpoint_after);
        let tried_at = home.tried_at.load(Ordering::Relaxed);
        let is_wanted = home.is_wanted.load(Ordering::Relaxed);
        if head.0 < tried_at.saturating_add(after) && !is_wanted {
            return Ok(());
        }
        let position = home.open()?.map(|map| map.label.position);
        let is_due = match position {
            Some(position) => head.0 >= position.0.saturating_add(after),
            None => {
                let n_files = core.main.read().tree().n_files() as u64;
                n_files >= after && (is_wanted || core.options.follow)
            }
        };
        // Also if it fails: it must not be tried again and again.
        home.tried_at.store(position.filter(|_| !is_due).unwrap_or(head).0, Ordering::Relaxed);
        home.is_wanted.store(false, Ordering::Relaxed);
        if is_due { self.renew_index(core).map(drop) } else { Ok(()) }
    }
}

impl WorkspaceFeature for SearchIndexes {
    fn upkeep(&self, core: &WorkspaceCore) -> Result<()> {
        self.renew_due(core)
    }

    fn last_upkeep(&self, core: &WorkspaceCore) {
        self.renew_due(core).ok();
    }
}

impl Maintenance<'_> {
    /// Reports whether a search through this workspace read all files because there was no index
    /// that it could use.
    pub fn wants_search_index(&self) -> bool {
        let home = self.state.search.home.as_ref();
        home.is_some_and(|home| home.is_wanted.load(Ordering::Relaxed))
    }

    /// Makes the index due, so that closing the workspace makes it if it is missing and the
    /// workspace is not small.
    pub fn request_search_index(&self) {
        if let Some(home) = &self.state.search.home {
            home.is_wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Renews the index for searches in contents, or makes one, and reports whether it did: not if
    /// another process does, or the index is disabled.
    ///
    /// # Errors
    ///
    /// If the workspace is read-only, or the store fails.
    pub fn renew_search_index(&self) -> Result<bool> {
        self.state.check_writable()?;
        self.state.search.renew_index(self.state)
    }
}
