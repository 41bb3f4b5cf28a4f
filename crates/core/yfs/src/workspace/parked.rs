//! Updates that wait in documents for items that have not arrived: which there are, and their end.
//!
//! The log keeps them, whatever the memory of a process has of them. The store notes in which
//! documents some wait, so that they are counted and listed without reading all others.
//!
//! # Invariants
//!
//! - What waits is dropped only with all handles evicting the document: another process might
//!   otherwise integrate from its memory what the log no longer has.

mod parked_changes;

use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

use hashbrown::HashMap;
use yfs_engine::{
    actor::Actor,
    content::ContentDoc,
    gate::{DocRole, GatedDoc, IdRange, ParkedTotals, UpdateSource, named_items},
    id::{ClientId, FileId, ItemId},
    time::Millis,
};
use yfs_store::{CompactionOutcome, DocName, LogRecord, ParkedNote, StoredDocument};

pub(crate) use self::parked_changes::ParkedChanges;
use super::compact::merge_records;
use crate::{
    Maintenance,
    error::{Result, WorkspaceError},
    state::WorkspaceState,
};

/// How long updates wait. Then compaction moves them to the quarantine.
pub const MAX_WAIT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The time between two looks for updates that have waited too long.
const EXPIRY_GAP_MS: i64 = 60 * 60 * 1000;

/// How often a drop is tried again because another compaction of the document was faster.
const MAX_ATTEMPTS: usize = 16;

/// An update that waits in a document for items that have not arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingUpdate {
    /// The document: a file, or the workspace for the files table.
    pub doc: FileId,
    /// The first item that it brings or deletes.
    pub first: ItemId,
    /// Its length in bytes.
    pub n_bytes: u64,
    /// When the record that brought it was logged.
    pub since: Millis,
    /// An item that it needs. There may be others.
    pub waits_for: ItemId,
    /// The author of the client's other work, or else the one on whose behalf the last update that
    /// waits in the document arrived; `None` if neither is known.
    pub author: Option<String>,
}

impl Maintenance<'_> {
    /// Returns how many updates wait in contents, and in the files table, without reading them.
    pub(super) fn count_parked(&self, in_main: usize) -> Result<u64> {
        self.state.flush_parked_notes()?;
        let notes = self.state.store.parked()?;
        let is_content = |note: &&ParkedNote| note.doc != self.state.main_name;
        let in_contents: u64 = notes.iter().filter(is_content).map(|note| note.n_updates).sum();
        Ok(in_contents + in_main as u64)
    }

    /// Lists the updates that wait for items that have not arrived.
    ///
    /// # Cost
    ///
    /// Reads the documents in which some wait.
    pub fn parked(&self) -> Result<Vec<WaitingUpdate>> {
        let state = self.state;
        state.refresh()?;
        state.flush_parked_notes()?;
        let mut waiting = Vec::new();
        if state.main.read().doc().has_parked() {
            waiting.extend(state.waiting_in(&state.main_name, None)?);
        }
        for note in state.store.parked()? {
            if note.doc != state.main_name {
                waiting.extend(state.waiting_in(&note.doc, Some(&note))?);
            }
        }
        Ok(waiting)
    }

    /// Drops all updates that wait in the content of a file, and returns the number of records that
    /// had some. What peers and replicas still have of them, they send again.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::NoFile`] for the files table: the rows of files may be among
    /// what waits there.
    pub fn drop_parked(&self, id: &FileId) -> Result<u64> {
        self.state.check_writable()?;
        if *id == self.state.id {
            return Err(WorkspaceError::NoFile(id.clone()));
        }
        self.state.drop_parked(id, None)
    }

    /// Moves the updates that have waited for longer than [`MAX_WAIT`] to the quarantine, and
    /// returns how many.
    pub fn expire_parked(&self) -> Result<u64> {
        self.state.check_writable()?;
        self.state.expire_parked()
    }
}

impl WorkspaceState {
    /// Records that a change of a document changed what waits in it.
    pub(crate) fn note_parked(
        &self,
        id: &FileId,
        before: ParkedTotals,
        after: ParkedTotals,
        by: Option<&Actor>,
    ) {
        if before == after {
            return;
        }
        let author = by.map_or_else(String::new, |by| by.name.to_string());
        self.parked.lock().changed.insert(id.clone(), (after, author));
        // Counts may be behind until the next upkeep; which documents have some may not.
        if before.n_updates == 0 || after.n_updates == 0 {
            // What cannot be written now is written later.
            self.flush_parked_notes().ok();
        }
    }

    /// Writes what changed to the store.
    pub(crate) fn flush_parked_notes(&self) -> Result<()> {
        if self.options.read_only {
            return Ok(());
        }
        let mut parked = self.parked.lock();
        if parked.changed.is_empty() {
            return Ok(());
        }
        let known = self.store.parked()?;
        while let Some((id, (totals, author))) = parked.changed.pop_first() {
            let doc = DocName::from(&id);
            let old = known.iter().find(|note| note.doc == doc);
            let note = (totals.n_updates > 0).then(|| ParkedNote {
                doc: doc.clone(),
                n_updates: totals.n_updates as u64,
                n_bytes: totals.n_bytes as u64,
                since: old.map_or_else(|| self.now(), |old| old.since),
                author: match old {
                    Some(old) if author.is_empty() => old.author.clone(),
                    _ => author.clone(),
                },
            });
            if note.as_ref() == old {
                continue;
            }
            if let Err(error) = self.store.note_parked(&doc, note.as_ref()) {
                parked.changed.insert(id, (totals, author));
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Moves what has waited too long to the quarantine, once an hour.
    pub(crate) fn expire_parked_due(&self) -> Result<()> {
        self.flush_parked_notes()?;
        let now = self.now();
        {
            let expired_at = &mut self.parked.lock().expired_at;
            if expired_at.is_some_and(|at| now.0.saturating_sub(at.0) < EXPIRY_GAP_MS) {
                return Ok(());
            }
            *expired_at = Some(now);
        }
        self.expire_parked().map(drop)
    }

    pub(super) fn expire_parked(&self) -> Result<u64> {
        self.flush_parked_notes()?;
        let oldest = Millis(self.now().0.saturating_sub(MAX_WAIT.as_millis() as i64));
        let mut n_dropped = 0;
        for note in self.store.parked()? {
            if note.doc != self.main_name && note.since < oldest {
                n_dropped += self.drop_parked(&FileId::from(&note.doc), Some(oldest))?;
            }
        }
        Ok(n_dropped)
    }

    /// Drops the records of a document that wait, or have parts that do: all, or those that were
    /// logged before a time, which go to the quarantine.
    fn drop_parked(&self, id: &FileId, before: Option<Millis>) -> Result<u64> {
        let name = DocName::from(id);
        let days = MAX_WAIT.as_secs() / (24 * 60 * 60);
        let reason = format!("waited for more than {days} days for items that have not arrived");
        let n_dropped = Cell::new(0);
        let since = Cell::new(None);
        for _ in 0..MAX_ATTEMPTS {
            let compacted = self.store.compact(&name, &|snapshot, records| {
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
                        self.store.quarantine(&name, update, &reason, self.now())?;
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
            self.load_again(id)?;
            // Otherwise replicas would not send again what may still be completed.
            self.forget_replicas()?;
        }
        let left = self.documents.acquire(id).with(|loaded| loaded.doc.gate().parked_totals())?;
        let note = self.store.parked()?.into_iter().find(|note| note.doc == name);
        let note = note.filter(|_| left.n_updates > 0).map(|note| ParkedNote {
            n_updates: left.n_updates as u64,
            n_bytes: left.n_bytes as u64,
            since: since.get().map_or(note.since, |since| since.max(note.since)),
            ..note
        });
        self.store.note_parked(&name, note.as_ref())?;
        Ok(n_dropped.get())
    }

    /// Lists what waits in a document.
    fn waiting_in(&self, name: &DocName, note: Option<&ParkedNote>) -> Result<Vec<WaitingUpdate>> {
        let (id, loaded) = (FileId::from(name), self.store.load(name)?);
        let times = ArrivalTimes::of(&loaded);
        let author_of: RefCell<Option<ContentDoc>> = RefCell::new(None);
        let client = self.options.ids.client_id();
        let parked = if note.is_some() {
            let mut doc = ContentDoc::new(&id, client, self.options.limits);
            for update in updates_of(&loaded) {
                doc.receive(update, UpdateSource::Store).ok();
            }
            let parked = doc.gate().parked();
            author_of.replace(Some(doc));
            parked
        } else {
            let mut doc = GatedDoc::new(&id, DocRole::Main, client, self.options.limits);
            for update in updates_of(&loaded) {
                doc.receive(update, UpdateSource::Store).ok();
            }
            doc.parked()
        };
        let doc = author_of.into_inner();
        let waiting = parked.into_iter().filter_map(|parked| {
            let named = named_items(&parked.update).ok()?;
            let first = named.first().map(|range| ItemId::new(range.client, range.start))?;
            let of_client = doc.as_ref().and_then(|doc| {
                let last = doc.gate().last_item(first.client)?;
                doc.log().who(last.id).map(|author| author.actor.name.to_string())
            });
            let noted = note.map(|note| note.author.clone());
            let author = of_client.or(noted).filter(|author| !author.is_empty());
            Some(WaitingUpdate {
                doc: id.clone(),
                first,
                n_bytes: parked.update.len() as u64,
                since: times.find(first).unwrap_or_else(|| self.now()),
                waits_for: parked.waits_for,
                author,
            })
        });
        Ok(waiting.collect())
    }
}

/// When each item of a document's records was logged first.
struct ArrivalTimes {
    of_clients: HashMap<ClientId, Vec<(IdRange, Millis)>>,
}

impl ArrivalTimes {
    fn of(loaded: &StoredDocument) -> Self {
        let mut of_clients: HashMap<ClientId, Vec<(IdRange, Millis)>> = HashMap::new();
        for record in &loaded.updates {
            for range in named_items(&record.data).unwrap_or_default() {
                of_clients.entry(range.client).or_default().push((range, record.at));
            }
        }
        Self { of_clients }
    }

    fn find(&self, item: ItemId) -> Option<Millis> {
        let ranges = self.of_clients.get(&item.client)?;
        let has_item =
            |(range, _): &&(IdRange, Millis)| range.start <= item.clock && item.clock < range.end();
        ranges.iter().filter(has_item).map(|(_, at)| *at).min()
    }
}

fn updates_of(loaded: &StoredDocument) -> impl Iterator<Item = &Vec<u8>> {
    loaded.snapshot.iter().chain(loaded.updates.iter().map(|record| &record.data))
}
