//! Updates that wait in documents for items that have not arrived: which there are, and their end.
//!
//! The log keeps them, whatever the memory of a process has of them. The store notes in which
//! documents some wait, so that they are counted and listed without reading all others.
//!
//! # Invariants
//!
//! - What waits is dropped only with all handles evicting the document: another process might
//!   otherwise integrate from its memory what the log no longer has.

mod parked_updates;

use std::cell::RefCell;

use hashbrown::HashMap;
use yfs_engine::{
    content::ContentDoc,
    gate::{DocRole, GatedDoc, IdRange, UpdateSource, named_items},
    id::{ClientId, FileId, ItemId},
    time::Millis,
};
use yfs_store::{DocName, ParkedNote, StoredDocument};

pub(crate) use self::parked_updates::{ParkedUpdates, role_of};
use crate::{
    Maintenance,
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
};

pub use self::parked_updates::MAX_WAIT;

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
        self.state.parked.flush(self.state)?;
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
        state.parked.flush(state)?;
        let mut waiting = Vec::new();
        if !state.main.read().doc().parked().is_empty() {
            waiting.extend(waiting_in(state, &state.main_name, None)?);
        }
        for note in state.store.parked()? {
            if note.doc != state.main_name {
                waiting.extend(waiting_in(state, &note.doc, Some(&note))?);
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
        self.state.parked.drop_waiting(self.state, id, None)
    }

    /// Moves the updates that have waited for longer than [`MAX_WAIT`] to the quarantine, and
    /// returns how many.
    pub fn expire_parked(&self) -> Result<u64> {
        self.state.check_writable()?;
        self.state.parked.expire(self.state)
    }
}

/// Lists what waits in a document.
fn waiting_in(
    core: &WorkspaceCore,
    name: &DocName,
    note: Option<&ParkedNote>,
) -> Result<Vec<WaitingUpdate>> {
    let (id, loaded) = (FileId::from(name), core.store.load(name)?);
    let times = ArrivalTimes::of(&loaded);
    let author_of: RefCell<Option<ContentDoc>> = RefCell::new(None);
    let client = core.options.ids.client_id();
    let parked = if note.is_some() {
        let mut doc = ContentDoc::new(&id, client, core.options.limits);
        for update in updates_of(&loaded) {
            doc.receive(update, UpdateSource::Store).ok();
        }
        let parked = doc.gate().parked().list();
        author_of.replace(Some(doc));
        parked
    } else {
        let mut doc = GatedDoc::new(&id, DocRole::Main, client, core.options.limits);
        for update in updates_of(&loaded) {
            doc.receive(update, UpdateSource::Store).ok();
        }
        doc.parked().list()
    };
    let doc = author_of.into_inner();
    let waiting = parked.into_iter().filter_map(|parked| {
        let named = named_items(&parked.update).ok()?;
        let first = named.first().map(|range| ItemId::new(range.client, range.start))?;
        let of_client = doc.as_ref().and_then(|doc| {
            let last = doc.gate().items().last_item(first.client)?;
            doc.log().who(last.id).map(|author| author.actor.name.to_string())
        });
        let noted = note.map(|note| note.author.clone());
        let author = of_client.or(noted).filter(|author| !author.is_empty());
        Some(WaitingUpdate {
            doc: id.clone(),
            first,
            n_bytes: parked.update.len() as u64,
            since: times.find(first).unwrap_or_else(|| core.now()),
            waits_for: parked.waits_for,
            author,
        })
    });
    Ok(waiting.collect())
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
