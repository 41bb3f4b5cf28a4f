//! Reports of edits in rows: the size and time of the last change are written to the `stat` cell,
//! coalesced.
//!
//! Only the process that made an edit reports it, because rows must not be written per keystroke:
//! when the file was idle for a while, at least once a minute while it is edited, and on flush and
//! close.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use yfs_engine::{
    id::FileId,
    path::VPath,
    table::{RowChanges, RowWrite},
    time::Millis,
    tree::FinalLink,
};

use crate::{
    commit::{ChangeEffect, StructureAccess, Transaction},
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
    feature::{ContentCommit, WorkspaceFeature},
    texts::ContentTexts,
};

/// The longest time without a report for a file that is edited all the time.
const MAX_SILENCE: Duration = Duration::from_secs(60);

/// The number of rows that are written in one transaction.
const MAX_ROWS: usize = 1_000;

/// An edit that its author has not yet written to the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct UnreportedEdit {
    first: Millis,
    last: Millis,
    /// Whether the row's time was set since. The content is then settled, and the row is kept.
    is_time_set: bool,
}

/// The edits of this process that are to be reported.
#[derive(Debug)]
pub(crate) struct StatReports {
    /// Files whose `stat` cell is outdated, with the time of the first unreported edit.
    unreported: Mutex<BTreeMap<FileId, UnreportedEdit>>,
    texts: Arc<ContentTexts>,
}

impl StatReports {
    pub(crate) fn new(texts: Arc<ContentTexts>) -> Self {
        Self { unreported: Mutex::default(), texts }
    }

    /// Records that a content changed here and must be reported.
    fn touch(&self, id: &FileId, at: Millis) {
        match self.unreported.lock().entry(id.clone()) {
            Entry::Occupied(mut known) => {
                let edit = known.get_mut();
                (edit.last, edit.is_time_set) = (at, false);
            }
            Entry::Vacant(slot) => {
                slot.insert(UnreportedEdit { first: at, last: at, is_time_set: false });
            }
        }
    }

    /// Keeps the time of a file that was set explicitly: earlier edits are not reported any more.
    /// Their content is still settled, because they may be in a root that is not current.
    pub(crate) fn drop_edit(&self, id: &FileId) {
        self.texts.live.mark_reported(id);
        if let Some(edit) = self.unreported.lock().get_mut(id) {
            edit.is_time_set = true;
        }
    }

    /// Reports files that were idle long enough, or not reported for too long.
    pub(crate) fn report_rested(&self, core: &WorkspaceCore) -> Result<()> {
        if self.unreported.lock().is_empty() {
            return Ok(());
        }
        let now = core.now();
        let over = |since: Millis, limit: Duration| {
            now.0.saturating_sub(since.0) >= i64::try_from(limit.as_millis()).unwrap_or(i64::MAX)
        };
        self.report(core, |edit| {
            over(edit.last, core.options.stat_idle) || over(edit.first, MAX_SILENCE)
        })
    }

    /// Reports all unreported files.
    pub(crate) fn report_all(&self, core: &WorkspaceCore) -> Result<()> {
        self.report(core, |_| true)
    }

    /// Reports the unreported files at and below a path.
    pub(crate) fn report_below(&self, core: &WorkspaceCore, path: &VPath) -> Result<()> {
        let ids: Vec<FileId> = self.unreported.lock().keys().cloned().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let below: BTreeSet<FileId> = {
            let main = core.main.read();
            let Ok(top) = main.tree().resolve(path, FinalLink::No) else { return Ok(()) };
            let is_below =
                |id: &FileId| main.tree().node(id).is_some_and(|node| node.is_within(top));
            ids.into_iter().filter(is_below).collect()
        };
        self.report_those(core, |id, _| below.contains(id))
    }

    fn report(&self, core: &WorkspaceCore, due: impl Fn(&UnreportedEdit) -> bool) -> Result<()> {
        self.report_those(core, |_, edit| due(edit))
    }

    fn report_those(
        &self,
        core: &WorkspaceCore,
        due: impl Fn(&FileId, &UnreportedEdit) -> bool,
    ) -> Result<()> {
        loop {
            let batch: Vec<(FileId, UnreportedEdit)> = {
                let unreported = self.unreported.lock();
                let due = unreported.iter().filter(|(id, edit)| due(id, edit));
                due.take(MAX_ROWS).map(|(id, edit)| (id.clone(), *edit)).collect()
            };
            if batch.is_empty() {
                return Ok(());
            }
            self.report_batch(core, &batch)?;
            let mut unreported = self.unreported.lock();
            for (id, edit) in &batch {
                // A later edit stays due.
                if unreported.get(id) == Some(edit) {
                    unreported.remove(id);
                }
            }
        }
    }

    /// Reports a batch of files. A file that cannot be reported is left out: its size is computed
    /// on demand.
    fn report_batch(&self, core: &WorkspaceCore, batch: &[(FileId, UnreportedEdit)]) -> Result<()> {
        let mut measured = Vec::with_capacity(batch.len());
        for (id, edit) in batch {
            match core.settle_content(id).and_then(|()| self.texts.size(core, id)) {
                Ok(_) if edit.is_time_set => {}
                Ok(size) => measured.push(SizeMeasurement { id: id.clone(), size, at: edit.last }),
                Err(error) if is_of_store(&error) => return Err(error),
                // A content that cannot be converted or read is listed among the conflicts.
                Err(_) => {}
            }
        }
        match self.report_measured(core, &measured) {
            Err(error) if is_of_store(&error) => return Err(error),
            Ok(()) => {}
            Err(_) => {
                // A row that rejects the report does not affect the others.
                for measurement in &measured {
                    match self.report_measured(core, std::slice::from_ref(measurement)) {
                        Err(error) if is_of_store(&error) => return Err(error),
                        _ => {}
                    }
                }
            }
        }
        for SizeMeasurement { id, .. } in measured {
            self.texts.live.mark_reported(&id);
        }
        Ok(())
    }

    fn report_measured(&self, core: &WorkspaceCore, measured: &[SizeMeasurement]) -> Result<()> {
        core.commit(StructureAccess::Change, None, |main| {
            let writes = measured.iter().filter_map(|SizeMeasurement { id, size, at }| {
                let row = main.files().get(id)?.row;
                let is_news = row.size != *size || row.updated_at < *at;
                let changes = RowChanges {
                    size: Some(*size),
                    updated_at: Some(row.updated_at.max(*at)),
                    ..RowChanges::default()
                };
                is_news.then(|| RowWrite::Update { id: id.clone(), changes })
            });
            Ok(Transaction::rows(writes.collect(), ()))
        })?;
        Ok(())
    }
}

impl WorkspaceFeature for StatReports {
    fn content_committed(&self, _core: &WorkspaceCore, commit: &ContentCommit<'_>) {
        match commit.effect {
            ChangeEffect::EditWithRow => self.drop_edit(commit.id),
            ChangeEffect::Edit | ChangeEffect::Peer if commit.document.is_changed => {
                self.touch(commit.id, commit.now);
            }
            _ => {}
        }
    }

    fn upkeep(&self, core: &WorkspaceCore) -> Result<()> {
        self.report_rested(core)
    }

    fn closing(&self, core: &WorkspaceCore) {
        self.report_all(core).ok();
    }
}

/// The size and time to write to a row.
struct SizeMeasurement {
    id: FileId,
    /// The size in bytes.
    size: u64,
    /// When the content last changed.
    at: Millis,
}

/// Reports whether an error is the store's, so that trying again later may help.
fn is_of_store(error: &WorkspaceError) -> bool {
    matches!(error, WorkspaceError::Store(_) | WorkspaceError::Closed | WorkspaceError::ReadOnly)
}
