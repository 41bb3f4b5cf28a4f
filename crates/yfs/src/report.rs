//! Reporting edits to rows: size and time of the last change go to the `stat` cell, coalesced.
//!
//! Only who made an edit reports it (DESIGN: rows are never written per keystroke): when the file
//! has rested, at most once a minute while it does not, and on flush and close.

use std::{collections::btree_map::Entry, time::Duration};

use yfs_engine::{
    id::FileId,
    table::{RowChanges, RowWrite},
    time::Millis,
};

use yfs_store::DocName;

use crate::{
    error::{Result, WorkspaceError},
    shared::{Plan, Shared, Unreported},
};

/// How long a file that is edited all the time goes without a report.
const MAX_SILENCE: Duration = Duration::from_secs(60);

/// How many rows are written in one transaction.
const MAX_ROWS: usize = 1_000;

impl Shared {
    /// Notes that a content changed here, and is to be reported.
    pub(crate) fn touch(&self, id: &FileId, at: Millis) {
        self.written.lock().insert(DocName::from(id));
        match self.unreported.lock().entry(id.clone()) {
            Entry::Occupied(mut known) => known.get_mut().last = at,
            Entry::Vacant(slot) => {
                slot.insert(Unreported { first: at, last: at });
            }
        }
    }

    /// Reports files that have rested, or were silent for too long.
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

    /// Reports everything.
    pub(crate) fn report_all(&self) -> Result<()> {
        self.report(|_| true)
    }

    fn report(&self, due: impl Fn(&Unreported) -> bool) -> Result<()> {
        loop {
            let batch: Vec<(FileId, Unreported)> = {
                let unreported = self.unreported.lock();
                let due = unreported.iter().filter(|(_, edit)| due(edit));
                due.take(MAX_ROWS).map(|(id, edit)| (id.clone(), *edit)).collect()
            };
            if batch.is_empty() {
                return Ok(());
            }
            self.report_batch(&batch)?;
            let mut unreported = self.unreported.lock();
            for (id, edit) in &batch {
                // An edit that came meanwhile stays due.
                if unreported.get(id).is_some_and(|it| it.last == edit.last) {
                    unreported.remove(id);
                }
            }
        }
    }

    fn report_batch(&self, batch: &[(FileId, Unreported)]) -> Result<()> {
        let mut sizes = Vec::with_capacity(batch.len());
        for (id, edit) in batch {
            match self.settle_content(id) {
                // What cannot be settled stays as it is, and is listed among the conflicts.
                Ok(()) | Err(WorkspaceError::Content(_)) => {}
                Err(error) => return Err(error),
            }
            sizes.push((id, self.text_size(id)?, edit.last));
        }
        self.structural(None, |main| {
            let known = sizes.iter().filter_map(|(id, size, last)| {
                let row = main.files().get(id)?.row;
                let is_news = row.size != *size || row.updated_at < *last;
                is_news.then(|| (*id, *size, row.updated_at.max(*last)))
            });
            let writes = known.map(|(id, size, updated_at)| {
                let changes = RowChanges {
                    size: Some(size),
                    updated_at: Some(updated_at),
                    ..RowChanges::default()
                };
                RowWrite::Update { id: id.clone(), changes }
            });
            Ok::<_, WorkspaceError>(Plan::rows(writes.collect(), ()))
        })?;
        for (id, ..) in sizes {
            self.live.reported(id);
        }
        Ok(())
    }
}
