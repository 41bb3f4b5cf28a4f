//! Reports of edits in rows: the size and time of the last change are written to the `stat` cell,
//! coalesced.
//!
//! Only the process that made an edit reports it, because rows must not be written per keystroke:
//! when the file was idle for a while, at least once a minute while it is edited, and on flush and
//! close.

use std::{
    collections::{BTreeSet, btree_map::Entry},
    time::Duration,
};

use yfs_engine::{
    id::FileId,
    path::VPath,
    table::{RowChanges, RowWrite},
    time::Millis,
    tree::FinalLink,
};

use yfs_store::DocName;

use crate::{
    commit::{StructureAccess, Transaction},
    error::{Result, WorkspaceError},
    state::{UnreportedEdit, WorkspaceState},
};

/// The longest time without a report for a file that is edited all the time.
const MAX_SILENCE: Duration = Duration::from_secs(60);

/// The number of rows that are written in one transaction.
const MAX_ROWS: usize = 1_000;

impl WorkspaceState {
    /// Records that a content changed here and must be reported.
    pub(crate) fn touch(&self, id: &FileId, at: Millis) {
        self.written.lock().insert(DocName::from(id));
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

    /// Reports files that were idle long enough, or not reported for too long.
    pub(crate) fn report_rested(&self) -> Result<()> {
        if self.unreported.lock().is_empty() {
            return Ok(());
        }
        let now = self.now();
        let over = |since: Millis, limit: Duration| {
            now.0.saturating_sub(since.0) >= i64::try_from(limit.as_millis()).unwrap_or(i64::MAX)
        };
        self.report(|edit| over(edit.last, self.options.stat_idle) || over(edit.first, MAX_SILENCE))
    }

    /// Reports all unreported files.
    pub(crate) fn report_all(&self) -> Result<()> {
        self.report(|_| true)
    }

    /// Reports the unreported files at and below a path.
    pub(crate) fn report_below(&self, path: &VPath) -> Result<()> {
        let ids: Vec<FileId> = self.unreported.lock().keys().cloned().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let below: BTreeSet<FileId> = {
            let main = self.main.read();
            let Ok(top) = main.tree().resolve(path, FinalLink::No) else { return Ok(()) };
            let is_below =
                |id: &FileId| main.tree().node(id).is_some_and(|node| node.is_within(top));
            ids.into_iter().filter(is_below).collect()
        };
        self.report_those(|id, _| below.contains(id))
    }

    fn report(&self, due: impl Fn(&UnreportedEdit) -> bool) -> Result<()> {
        self.report_those(|_, edit| due(edit))
    }

    fn report_those(&self, due: impl Fn(&FileId, &UnreportedEdit) -> bool) -> Result<()> {
        loop {
            let batch: Vec<(FileId, UnreportedEdit)> = {
                let unreported = self.unreported.lock();
                let due = unreported.iter().filter(|(id, edit)| due(id, edit));
                due.take(MAX_ROWS).map(|(id, edit)| (id.clone(), *edit)).collect()
            };
            if batch.is_empty() {
                return Ok(());
            }
            self.report_batch(&batch)?;
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
    fn report_batch(&self, batch: &[(FileId, UnreportedEdit)]) -> Result<()> {
        let mut measured = Vec::with_capacity(batch.len());
        for (id, edit) in batch {
            match self.settle_content(id).and_then(|()| self.text_size(id)) {
                Ok(_) if edit.is_time_set => {}
                Ok(size) => measured.push(SizeMeasurement { id: id.clone(), size, at: edit.last }),
                Err(error) if is_of_store(&error) => return Err(error),
                // A content that cannot be converted or read is listed among the conflicts.
                Err(_) => {}
            }
        }
        match self.report_measured(&measured) {
            Err(error) if is_of_store(&error) => return Err(error),
            Ok(()) => {}
            Err(_) => {
                // A row that rejects the report does not affect the others.
                for measurement in &measured {
                    match self.report_measured(std::slice::from_ref(measurement)) {
                        Err(error) if is_of_store(&error) => return Err(error),
                        _ => {}
                    }
                }
            }
        }
        for SizeMeasurement { id, .. } in measured {
            self.live.mark_reported(&id);
        }
        Ok(())
    }

    fn report_measured(&self, measured: &[SizeMeasurement]) -> Result<()> {
        self.commit(StructureAccess::Change, None, |main| {
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
