//! What this process knows of the updates that wait for missing items, until it is stored.

use std::{cell::Cell, collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use yfs_engine::{
    actor::Actor,
    gate::{DocRole, ParkedTotals},
    id::FileId,
    time::Millis,
};
use yfs_store::{CompactionOutcome, DocName, LogRecord, ParkedNote};

use crate::{
    core::WorkspaceCore,
    error::Result,
    feature::{ContentCommit, WorkspaceFeature},
    replica::ReplicaMarks,
    workspace::merge_records::merge_records,
};

/// How long updates wait. Then compaction moves them to the quarantine.
pub const MAX_WAIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The time between two looks for updates that have waited too long.
const EXPIRY_GAP_MS: i64 = 60 * 60 * 1000;

/// How often a drop is tried again because another compaction of the document was faster.
const MAX_ATTEMPTS: usize = 16;

/// Changes of what waits that the store does not have yet.
#[derive(Debug, Default)]
struct ParkedChanges {
    changed: BTreeMap<FileId, (ParkedTotals, String)>,
    /// When this process last looked for updates that have waited too long.
    expired_at: Option<Millis>,
}

/// The updates that wait for items that have not arrived.
#[derive(Debug)]
pub(crate) struct ParkedUpdates {
    changes: Mutex<ParkedChanges>,
    marks: Arc<ReplicaMarks>,
}

impl ParkedUpdates {
    pub(crate) fn new(marks: Arc<ReplicaMarks>) -> Self {
        Self { changes: Mutex::default(), marks }
    }

    /// Records that a change of a document changed what waits in it.
    pub(crate) fn note(
        &self,
        core: &WorkspaceCore,
        id: &FileId,
        before: ParkedTotals,
        after: ParkedTotals,
        by: Option<&Actor>,
    ) {
        if before == after {
            return;
        }
        let author = by.map_or_else(String::new, |by| by.name.to_string());
        self.changes.lock().changed.insert(id.clone(), (after, author));
        // Counts may be behind until the next upkeep; which documents have some may not.
        if before.n_updates == 0 || after.n_updates == 0 {
            // What cannot be written now is written later.
            self.flush(core).ok();
        }
    }

    /// Writes what changed to the store.
    pub(crate) fn flush(&self, core: &WorkspaceCore) -> Result<()> {
        if core.options.read_only {
            return Ok(());
        }
        let mut parked = self.changes.lock();
        if parked.changed.is_empty() {
            return Ok(());
        }
        let known = core.store.parked()?;
        while let Some((id, (totals, author))) = parked.changed.pop_first() {
            let doc = DocName::from(&id);
            let old = known.iter().find(|note| note.doc == doc);
            let note = (totals.n_updates > 0).then(|| ParkedNote {
                doc: doc.clone(),
                n_updates: totals.n_updates as u64,
                n_bytes: totals.n_bytes as u64,
                since: old.map_or_else(|| core.now(), |old| old.since),
                author: match old {
                    Some(old) if author.is_empty() => old.author.clone(),
                    _ => author.clone(),
                },
            });
            if note.as_ref() == old {
                continue;
            }
            if let Err(error) = core.store.note_parked(&doc, note.as_ref()) {
                parked.changed.insert(id, (totals, author));
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Moves what has waited too long to the quarantine, once an hour.
    pub(crate) fn expire_due(&self, core: &WorkspaceCore) -> Result<()> {
        self.flush(core)?;
        let now = core.now();
        {
            let expired_at = &mut self.changes.lock().expired_at;
            if expired_at.is_some_and(|at| now.0.saturating_sub(at.0) < EXPIRY_GAP_MS) {
                return Ok(());
            }
            *expired_at = Some(now);
        }
        self.expire(core).map(drop)
    }

    pub(crate) fn expire(&self, core: &WorkspaceCore) -> Result<u64> {
        self.flush(core)?;
        let oldest = Millis(core.now().0.saturating_sub(MAX_WAIT.as_millis() as i64));
        let mut n_dropped = 0;
        for note in core.store.parked()? {
            if note.doc != core.main_name && note.since < oldest {
                n_dropped += self.drop_waiting(core, &FileId::from(&note.doc), Some(oldest))?;
            }
        }
        Ok(n_dropped)
    }

    /// Drops the records of a document that wait, or have parts that do: all, or those that were
    /// logged before a time, which go to the quarantine.
    pub(super) fn drop_waiting(
        &self,
        core: &WorkspaceCore,
        id: &FileId,
        before: Option<Millis>,
    ) -> Result<u64> {
        let name = DocName::from(id);
        let days = MAX_WAIT.as_secs() / (24 * 60 * 60);
        let reason = format!("waited for more than {days} days for items that have not arrived");
        let n_dropped = Cell::new(0);
        let since = Cell::new(None);
        for _ in 0..MAX_ATTEMPTS {
            let compacted = core.store.compact(&name, &|snapshot, records| {
                let (mut merged, _) = merge_records(DocRole::Content, snapshot, records)?;
                let is_doomed = |record: &LogRecord| before.is_none_or(|end| record.at < end);
                let is_waiting = |(index, record): &(usize, &LogRecord)| {
                    !merged.absorbed[*index] && is_doomed(record)
                };
                let doomed: Vec<usize> =
                    records.iter().enumerate().filter(is_waiting).map(|(index, _)| index).collect();
                for index in &doomed {
                    if before.is_some() {
                        let update = &records[*index].data;
                        core.store.quarantine(&name, update, &reason, core.now())?;
                    }
                    merged.absorbed[*index] = true;
                }
                merged.rewritten.retain(|(index, _)| !doomed.contains(index));
                n_dropped.set(doomed.len() as u64);
                let stay = merged.absorbed.iter().zip(records).filter(|(absorbed, _)| !**absorbed);
                since.set(stay.map(|(_, record)| record.at).min());
                Ok(merged)
            })?;
            if compacted != CompactionOutcome::Raced {
                break;
            }
            n_dropped.set(0);
        }
        if n_dropped.get() > 0 {
            // Other handles evict the document when they read the empty record.
            core.load_again(id)?;
            // Otherwise replicas would not send again what may still be completed.
            self.marks.forget_replicas(core)?;
        }
        let left = core.documents.acquire(id).with(|loaded| loaded.doc.gate().parked().totals())?;
        let note = core.store.parked()?.into_iter().find(|note| note.doc == name);
        let note = note.filter(|_| left.n_updates > 0).map(|note| ParkedNote {
            n_updates: left.n_updates as u64,
            n_bytes: left.n_bytes as u64,
            since: since.get().map_or(note.since, |since| since.max(note.since)),
            ..note
        });
        core.store.note_parked(&name, note.as_ref())?;
        Ok(n_dropped.get())
    }
}

impl WorkspaceFeature for ParkedUpdates {
    fn content_committed(&self, core: &WorkspaceCore, commit: &ContentCommit<'_>) {
        if let Some((before, after)) = commit.parked {
            self.note(core, commit.id, before, after, commit.by);
        }
    }

    fn upkeep(&self, core: &WorkspaceCore) -> Result<()> {
        if core.options.read_only { Ok(()) } else { self.expire_due(core) }
    }

    fn closing(&self, core: &WorkspaceCore) {
        self.flush(core).ok();
    }
}

/// Returns the role of a document of the log.
pub(crate) fn role_of(core: &WorkspaceCore, doc: &DocName) -> DocRole {
    if *doc == core.main_name { DocRole::Main } else { DocRole::Content }
}
