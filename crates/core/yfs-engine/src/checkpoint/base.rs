//! Answers the questions of a table and a tree from a checkpoint.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{Arc, OnceLock},
};

use smol_str::SmolStr;

use super::{
    CheckpointBase, CheckpointError, CheckpointReader, keys,
    keys::NodePlace,
    listing::{self, ListingBatch},
    malformed, write,
};
use crate::{
    gate::{LoggedUpdates, RootIx},
    id::{ClientId, FileId},
    main_doc::{MainDoc, RecordedRow},
    table::{BaseRow, BaseRows, ListedChild},
    tree::{BaseNode, BaseTree},
};

/// The place of a node, and the entry there.
type FoundNode = (Vec<u8>, Vec<u8>);

impl MainDoc {
    /// Returns the first failure to read the checkpoint that the document is based on. It may have
    /// given wrong answers since: load another from the log.
    pub fn checkpoint_failure(&self) -> Option<CheckpointError> {
        self.checkpoint()?.failure.get().cloned()
    }
}

impl CheckpointBase {
    pub(super) fn new(reader: Arc<dyn CheckpointReader>) -> Self {
        Self { reader, failure: OnceLock::new() }
    }

    /// Notes a failure, and returns what was read without it.
    fn noted<T>(&self, read: Result<T, CheckpointError>) -> Option<T> {
        read.map_err(|failure| self.failure.set(failure)).ok()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, CheckpointError> {
        self.reader.get(key).map_err(CheckpointError::Unreadable)
    }

    /// Calls `each` with the entries of a range, in order.
    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        mut each: impl FnMut(&[u8], &[u8]) -> Result<(), CheckpointError>,
    ) -> Result<(), CheckpointError> {
        let mut called = Ok(());
        let read = self.reader.for_each(from, to, &mut |key, value| {
            called = each(key, value);
            if called.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        read.map_err(CheckpointError::Unreadable).and(called)
    }

    /// Returns the ids that end the keys of a range.
    fn ids(&self, [from, to]: [&[u8]; 2]) -> Vec<FileId> {
        let mut ids = Vec::new();
        let read = self.scan(from, to, |key, _| {
            ids.push(read_id(&key[from.len()..])?);
            Ok(())
        });
        self.noted(read);
        ids
    }

    /// Returns the first rows with records in keys from `from` on, at most `n`: the row whose
    /// latest record is the latest comes first.
    pub(crate) fn recorded(&self, from: &[u8], n: usize) -> Vec<RecordedRow> {
        let page = self.reader.scan(from, keys::RECORDED[1], n);
        let rows = page.map_err(CheckpointError::Unreadable).and_then(|page| {
            let rows = page.iter().map(|(key, _)| {
                let (at, id) =
                    keys::read_recorded(key).ok_or_else(|| malformed("a time is none"))?;
                Ok(RecordedRow { at, id: read_id(id)? })
            });
            rows.collect()
        });
        self.noted(rows).unwrap_or_default()
    }

    /// Finds the place of an id and what is there.
    fn find(&self, id: &str) -> Result<Option<FoundNode>, CheckpointError> {
        let Some(place) = self.get(&keys::place_of(id))? else { return Ok(None) };
        let entry = self.entry_at(&place)?;
        Ok(Some((place, entry)))
    }

    fn entry_at(&self, place: &[u8]) -> Result<Vec<u8>, CheckpointError> {
        let entry = self.get(&keys::entry(place))?;
        entry.ok_or_else(|| malformed("a node is not at its place"))
    }

    /// Returns the keys of an id, and their values.
    pub(super) fn entries_of(
        &self,
        id: &FileId,
    ) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, CheckpointError> {
        if let Some((place, entry)) = self.find(id.as_str())? {
            let place = NodePlace::read(&place).ok_or_else(|| malformed("a place is none"))?;
            let mut entries = write::entries(id, Some(&place), record_in(&entry)?.to_vec())?;
            let renamed = keys::renamed(id.as_str());
            if self.get(&renamed)?.is_some() {
                entries.insert(renamed, Vec::new());
            }
            return Ok(entries);
        }
        let record = self.get(&keys::rowless(id.as_str()))?;
        record.map_or(Ok(BTreeMap::new()), |record| write::entries(id, None, record))
    }

    fn row_of(&self, id: &FileId) -> Result<Option<BaseRow>, CheckpointError> {
        match self.find(id.as_str())? {
            Some((_, entry)) => Ok(Some(read_entry(&entry)?.1)),
            None => {
                let record = self.get(&keys::rowless(id.as_str()))?;
                Ok(record.map(|record| BaseRow::read(&record)).transpose()?)
            }
        }
    }
}

impl LoggedUpdates for CheckpointBase {
    fn updates(&self) -> Result<Vec<Vec<u8>>, String> {
        self.reader.updates()
    }
}

impl BaseTree for CheckpointBase {
    fn node(&self, id: &str) -> Option<BaseNode> {
        let found = self.find(id);
        let read = |(place, entry): FoundNode| read_node(&place, &entry);
        self.noted(found.and_then(|found| found.map(read).transpose()))?
    }

    fn entry(&self, directory: Option<&FileId>, display: &str) -> Option<BaseNode> {
        let parent = directory.map(FileId::as_str);
        let place = NodePlace { parent, is_trashed: false, name: display }.write();
        let entry = self.get(&keys::entry(&place));
        let read = |entry: Vec<u8>| read_node(&place, &entry);
        self.noted(entry.and_then(|entry| entry.map(read).transpose()))?
    }

    fn entries(&self, directory: Option<&FileId>) -> Vec<BaseNode> {
        let mut nodes = Vec::new();
        let [from, to] = keys::entries_of(directory);
        let read = self.scan(&from, &to, |key, entry| {
            nodes.push(read_node(&key[1..], entry)?);
            Ok(())
        });
        self.noted(read);
        nodes
    }

    fn each_entry(
        &self,
        directory: Option<&FileId>,
        each: &mut dyn FnMut(&FileId, &str, &BaseRow),
    ) {
        let [from, to] = keys::names_in(directory);
        let read = self.scan(&from, &to, |key, entry| {
            let name = std::str::from_utf8(&key[from.len()..]);
            let name = name.map_err(|_| malformed("a name is none"))?;
            let (id, row) = read_entry(entry)?;
            each(&id, name, &row);
            Ok(())
        });
        self.noted(read);
    }

    fn each_listed(&self, directory: Option<&FileId>, each: &mut dyn FnMut(ListedChild<'_>)) {
        let [from, to] = keys::listed_in(directory);
        let mut batch = ListingBatch::default();
        let read = self.scan(&from, &to, |key, entry| {
            batch.push(&key[from.len()..], entry)?;
            if batch.is_full() { batch.pass_to(each) } else { Ok(()) }
        });
        self.noted(read.and_then(|()| batch.pass_to(each)));
    }

    fn each_listed_in(
        &self,
        directory: Option<&FileId>,
        [first, last]: [&str; 2],
        each: &mut dyn FnMut(ListedChild<'_>) -> ControlFlow<()>,
    ) {
        let [names, _] = keys::listed_in(directory);
        let from = [&names, first.as_bytes()].concat();
        let to = [&names, last.as_bytes(), &[0]].concat();
        let mut called = Ok(());
        let read = self.reader.for_each(&from, &to, &mut |key, entry| {
            let flow = listing::read_entry(&key[names.len()..], entry).map(&mut *each);
            flow.unwrap_or_else(|error| {
                called = Err(error);
                ControlFlow::Break(())
            })
        });
        self.noted(read.map_err(CheckpointError::Unreadable).and(called));
    }

    fn trashed(&self) -> Vec<FileId> {
        self.ids(keys::TRASHED)
    }

    fn renamed(&self) -> Vec<FileId> {
        self.ids(keys::RENAMED)
    }
}

impl BaseRows for CheckpointBase {
    fn row(&self, id: &FileId) -> Option<BaseRow> {
        self.noted(self.row_of(id))?
    }

    fn owners(&self, root: RootIx, client: ClientId, start: u32, end: u32) -> Vec<(u32, FileId)> {
        let mut owners = Vec::new();
        let [from, to] = [start, end].map(|clock| keys::element(root, client, clock));
        let read = self.scan(&from, &to, |key, id| {
            let clock = keys::clock_of(key).ok_or_else(|| malformed("an element has no clock"))?;
            owners.push((clock, read_id(id)?));
            Ok(())
        });
        self.noted(read);
        owners
    }

    fn rows_after(&self, after: Option<&FileId>, n: usize) -> Vec<(FileId, BaseRow)> {
        let from = match after {
            Some(id) => keys::after(&keys::place_of(id.as_str())),
            None => keys::PLACES[0].to_vec(),
        };
        let page = self.reader.scan(&from, keys::PLACES[1], n);
        let rows = page.map_err(CheckpointError::Unreadable).and_then(|page| {
            page.iter().map(|(_, place)| read_entry(&self.entry_at(place)?)).collect()
        });
        self.noted(rows).unwrap_or_default()
    }

    fn rowless(&self) -> Vec<FileId> {
        self.ids(keys::ROWLESS)
    }
}

fn read_node(place: &[u8], entry: &[u8]) -> Result<BaseNode, CheckpointError> {
    let place = NodePlace::read(place).ok_or_else(|| malformed("a place cannot be read"))?;
    let (id, row) = read_entry(entry)?;
    let entry = row.history(&id).ok_or_else(|| malformed("a node has no row"))?;
    let shown_in = place.parent.map(|id| read_id(id.as_bytes())).transpose()?;
    let is_other = !place.is_trashed && entry.row.name != place.name;
    Ok(BaseNode { entry, shown_in, display: is_other.then(|| SmolStr::from(place.name)) })
}

/// Reads the id and the elements of a node.
fn read_entry(entry: &[u8]) -> Result<(FileId, BaseRow), CheckpointError> {
    let record = record_in(entry)?;
    let id = &entry[..entry.len() - record.len() - 1];
    Ok((read_id(id)?, BaseRow::read(record)?))
}

/// Returns the elements of a node.
fn record_in(entry: &[u8]) -> Result<&[u8], CheckpointError> {
    let end = memchr::memchr(0, entry);
    end.map(|end| &entry[end + 1..]).ok_or_else(|| malformed("an entry has no id"))
}

fn read_id(bytes: &[u8]) -> Result<FileId, CheckpointError> {
    let text = std::str::from_utf8(bytes).ok();
    text.and_then(|text| FileId::parse(text).ok()).ok_or_else(|| malformed("an id is none"))
}
