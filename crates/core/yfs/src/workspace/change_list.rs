//! The history of all files of a directory: who changed which file, and when.
//!
//! Documents are loaded from the one that was logged last, and only as far as the caller reads. A
//! document was not changed after its last record was logged, so its entries are returned once no
//! other document that is not loaded yet can have a later one.
//!
//! Of a directory with many files, the log is read backwards, and the rows with records are read
//! from the one that changed last, so that the first entries do not cost the number of files.
//!
//! The files of a large import are in the order in which they were logged, so that none is read
//! for another, and are left out altogether if the caller shows the import as one change.

#[cfg(test)]
mod tests;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use smol_str::SmolStr;
use yfs_engine::{
    actor::Actor,
    id::FileId,
    main_doc::{MainDoc, RecordedRow, RemovalOrder},
    ops,
    path::VPath,
    step::StepId,
    time::Millis,
    tree::{NodeRef, TrashItem},
};
use yfs_store::{DocName, Seq};
use yfs_vfs::{FileKind, Op};

use super::{
    noted_imports::{LogRun, NotedImport},
    past::former_path,
    row_changes::row_changes,
    versions::{VersionInfo, list},
};
use crate::{
    History,
    documents::LoadedDocument,
    error::Result,
    fs::{ContentLocation, ResolvedFile, file_kind, fs_error, resolve},
    state::WorkspaceState,
    workspace::{noted_imports::noted_imports, versions::version_content},
};

/// The number of files and directories below a directory above which the log is read backwards.
const MANY_NODES: usize = 1000;

/// The number of records, or rows with records, that are read at once backwards.
const PAGE: usize = 256;

/// A change of a file or directory: a version of a content, a removal, or what its row records.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// When it was made, by the clock of its author.
    pub at: Millis,
    /// The file or directory.
    pub id: FileId,
    /// Its present path. For an object in the trash, its former path.
    pub path: VPath,
    /// The kind of object.
    pub kind: FileKind,
    /// The change.
    pub change: HistoryChange,
    /// Its author; `None` if it is not recorded.
    pub actor: Option<Actor>,
    /// The label of the change.
    pub label: Option<SmolStr>,
    /// The step that the change is part of: all that one command, one call of a tool or one
    /// request changed. `None` if it is not recorded.
    pub step: Option<StepId>,
    /// The number of the version that it made, if it changed a content.
    pub version: Option<u64>,
    /// The names that people gave this version.
    pub names: Vec<SmolStr>,
    /// Whether some of the version was erased for good, so that it cannot be read.
    pub is_redacted: bool,
    /// The paths before and after a rename or move, with the present paths of the directories.
    pub paths: Option<[VPath; 2]>,
    /// The permission bits before and after, if it changed them.
    pub modes: Option<[u32; 2]>,
    /// The places before and after a rename or move.
    pub(super) places: Option<[RowPlace; 2]>,
    /// The place of a removal among all.
    pub(super) removal: Option<RemovalOrder>,
}

/// The place of a row: its name, and its directory; `None` is the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowPlace {
    pub(super) name: SmolStr,
    pub(super) parent: Option<FileId>,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HistoryChange {
    /// The first content of the file; the new directory, link or empty file.
    Created,
    /// Other content.
    Edited,
    /// Another name in the same directory.
    Renamed,
    /// Another directory, and maybe another name.
    Moved,
    /// Other permission bits.
    ModeChanged,
    /// The restoration of the file or directory from the trash.
    Restored,
    /// The removal of the file or directory. It is in the trash.
    Deleted,
}

/// The changes below a directory, the latest first ([`History::changes`]).
#[derive(Debug)]
pub struct HistoryEntries {
    state: Arc<WorkspaceState>,
    /// The files whose documents are not loaded yet; the one that was logged last is the last.
    unread: Vec<UnreadFile>,
    /// The source of more such files. All of them were logged before those in `unread`.
    scan: Option<BackwardScan>,
    /// The rows whose records are not read yet, of a directory with many files.
    rows: Option<RowScan>,
    /// No file of `unread` has an entry later than this.
    bound: Option<Millis>,
    ready: BinaryHeap<OrderedEntry>,
    /// The records that created the files of large imports.
    runs: Vec<LogRun>,
    /// Those of them that are left out.
    skipped: Vec<LogRun>,
}

/// A search for the files of a directory in the log, from its end.
#[derive(Debug)]
struct BackwardScan {
    place: Arc<ScannedPlace>,
    /// The position of the last record that was read.
    before: Seq,
    /// The documents that were found.
    found: HashSet<FileId>,
}

/// A search for the rows of a directory that have records, from the one that changed last.
#[derive(Debug)]
struct RowScan {
    place: Arc<ScannedPlace>,
    page: VecDeque<RecordedRow>,
    /// The last row that was read.
    last: Option<RecordedRow>,
    /// The size of the next page. Each is twice the last, because each costs the rows that changed
    /// since the checkpoint.
    n_next: usize,
}

/// A directory whose files are searched.
#[derive(Debug)]
struct ScannedPlace {
    /// The directory; `None` for the root.
    directory: Option<FileId>,
    /// Its path.
    below: VPath,
    /// What was put into the trash, from there or above, in the order of the trash.
    trashed: Vec<TrashItem>,
    /// The indexes of these.
    indexes: HashMap<FileId, usize>,
}

/// The files and directories at or below a path.
#[derive(Debug, Default)]
struct FoundObjects {
    files: BTreeMap<FileId, VPath>,
    seen: HashSet<FileId>,
    /// The removals, and what rows record.
    entries: Vec<HistoryEntry>,
    /// The directory with more visible files than were listed (`None` for the root), and what is in
    /// the trash from there.
    large_directory: Option<(Option<FileId>, Vec<TrashItem>)>,
}

/// A file whose versions were not read yet.
#[derive(Debug)]
struct UnreadFile {
    id: FileId,
    path: VPath,
    head: Seq,
}

/// An entry, ordered by time.
#[derive(Debug, PartialEq, Eq)]
struct OrderedEntry {
    /// Its time; that of the record if a large import made it.
    at: Millis,
    entry: HistoryEntry,
}

impl HistoryChange {
    /// Returns the name of the change.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Edited => "edited",
            Self::Renamed => "renamed",
            Self::Moved => "moved",
            Self::ModeChanged => "mode",
            Self::Restored => "restored",
            Self::Deleted => "deleted",
        }
    }
}

impl History<'_> {
    /// Lists the changes of a file, or of all files below a directory, the latest first. Files in
    /// the trash are included under their former paths. A file keeps its history when it is
    /// renamed. Of the changes of a file or directory that its row records (its creation, renames,
    /// moves, restorations and modes), the last 16 are known.
    ///
    /// A file whose content is damaged is an error in the list, after which the list continues.
    ///
    /// The list is read lazily: its first entries are cheap. Entries of authors whose clocks
    /// differ may be out of order by that difference. The files of a large import are in the order
    /// in which they were logged, which differs from that of their times within a second or so.
    ///
    /// # Errors
    ///
    /// Fails with `ENOENT` if there is no such path, neither now nor in the trash.
    pub fn changes(&self, below: &VPath) -> Result<HistoryEntries> {
        self.changes_of(below, MANY_NODES)
    }

    /// Lists the changes as [`changes`](Self::changes) does. If there are more than `many` files
    /// and directories below, the log is read backwards.
    fn changes_of(&self, below: &VPath, many: usize) -> Result<HistoryEntries> {
        self.state.refresh()?;
        let is_reversible = self.state.store.documents_before(Seq::ZERO, 1)?.is_some();
        let max_nodes = if is_reversible { many } else { usize::MAX };
        let FoundObjects { files, entries, large_directory, .. } = {
            let main = self.state.main.read();
            find_objects(&main, below, max_nodes)?
        };
        let (scan, rows) = match large_directory {
            None => (None, None),
            Some((directory, trashed)) => {
                let place = Arc::new(ScannedPlace::new(directory, below, trashed));
                let rows = RowScan::new(place.clone());
                let (before, found) = (Seq(u64::MAX), HashSet::new());
                let scan = BackwardScan { place, before, found };
                (Some(scan), Some(rows))
            }
        };
        let mut unread = Vec::with_capacity(files.len());
        for (id, path) in files {
            let head = self.state.store.tailed_doc_head(&DocName::from(&id))?.seq;
            if head > Seq::ZERO {
                unread.push(UnreadFile { id, path, head });
            }
        }
        unread.sort_by(|a, b| a.head.cmp(&b.head).then_with(|| a.id.cmp(&b.id)));
        let ready = entries.into_iter().map(OrderedEntry::from).collect();
        let state = self.state.clone();
        let imports = noted_imports(self.state)?;
        let runs = imports.into_iter().flat_map(|import| import.runs).collect();
        let (bound, skipped) = (None, Vec::new());
        let mut entries = HistoryEntries { state, unread, scan, rows, bound, ready, runs, skipped };
        entries.update_bound()?;
        Ok(entries)
    }

    /// Returns the contents before and after a change; `None` where there was none, or it cannot
    /// be read any more.
    ///
    /// # Errors
    ///
    /// Fails as reading a version does.
    pub fn contents_of(&self, entry: &HistoryEntry) -> Result<[Option<Bytes>; 2]> {
        let known = kind_and_location(&self.state.main.read(), &entry.id);
        let (Some(number), Some((_, location)), false) = (entry.version, known, entry.is_redacted)
        else {
            return Ok([None, None]);
        };
        let found = ResolvedFile { id: entry.id.clone(), location };
        let read = |number| version_content(self.state, &found, number, &entry.path);
        let before = match number {
            1 => None,
            number => match read(number - 1) {
                Err(crate::WorkspaceError::Redacted { .. }) => None,
                read => Some(read?),
            },
        };
        Ok([before, Some(read(number)?)])
    }
}

impl HistoryEntries {
    /// Leaves out, unread, the files that these imports created and that have not changed. Other
    /// changes of these imports, such as directories and files that were edited later, are listed.
    ///
    /// # Errors
    ///
    /// Fails if the log cannot be read.
    pub fn skip_imports(&mut self, imports: &[NotedImport]) -> Result<()> {
        self.skipped.extend(imports.iter().flat_map(|import| import.runs.iter().cloned()));
        let skipped = &self.skipped;
        self.unread.retain(|file| !skipped.iter().any(|run| run.contains(file.head)));
        self.update_bound()
    }

    /// Reads the versions of the next file.
    fn read_next_file(&mut self) -> Result<()> {
        let Some(UnreadFile { id, path, head }) = self.unread.pop() else { return Ok(()) };
        let is_imported = self.runs.iter().any(|run| run.contains(head));
        let logged_at = self.bound.filter(|at| is_imported && at.0 < i64::MAX);
        self.update_bound()?;
        let Some((kind, location)) = kind_and_location(&self.state.main.read(), &id) else {
            return Ok(());
        };
        let found = ResolvedFile { id, location };
        let listed = self.read_document(&found.id, |loaded| {
            loaded.check_readable(&found.id)?;
            Ok(list(&loaded.doc, &found))
        })?;
        let listed = listed.map_err(|error| fs_error(error, Op::Read, &path))?;
        let entries = listed.into_iter().map(|(info, _)| {
            let entry = entry_of(info, &found.id, &path, kind);
            OrderedEntry { at: logged_at.unwrap_or(entry.at), entry }
        });
        self.ready.extend(entries);
        Ok(())
    }

    /// Reads a document. One that is cheap to read again does not stay in memory.
    fn read_document<R>(
        &self,
        id: &FileId,
        read: impl FnOnce(&mut LoadedDocument) -> R,
    ) -> Result<R> {
        let documents = &self.state.documents;
        let stats = self.state.store.doc_stats(&DocName::from(id))?;
        match stats {
            Some(stats) if stats.n_records == 1 => documents.read_once(id, read),
            _ => documents.acquire(id).with(read),
        }
    }

    /// Finds more files in the log if those that were found are read.
    fn find_more(&mut self) -> Result<()> {
        while self.unread.is_empty() {
            let Some(scan) = &mut self.scan else { return Ok(()) };
            scan.pass_over(&self.skipped);
            let page = self.state.store.documents_before(scan.before, PAGE)?.unwrap_or_default();
            let Some((last, _)) = page.last() else {
                self.scan = None;
                return Ok(());
            };
            scan.before = *last;
            let main = self.state.main.read();
            for (head, doc) in page {
                let id = FileId::from(&doc);
                let is_skipped = self.skipped.iter().any(|run| run.contains(head));
                let is_content = doc != self.state.main_name && !is_skipped;
                if !is_content || !scan.found.insert(id.clone()) {
                    continue;
                }
                let path = scan.place.path_of(&main, &id, true);
                self.unread.extend(path.map(|path| UnreadFile { id, path, head }));
            }
            self.unread.reverse();
        }
        Ok(())
    }

    fn update_bound(&mut self) -> Result<()> {
        self.find_more()?;
        let next = self.unread.last().map(|file| self.state.store.time_at(file.head));
        // Without a time, any document may have the latest entry.
        self.bound = next.transpose()?.map(|time| time.unwrap_or(Millis(i64::MAX)));
        Ok(())
    }
}

impl BackwardScan {
    /// Moves to the beginning of a run that is left out, if it is at the end of one.
    fn pass_over(&mut self, skipped: &[LogRun]) {
        let last = |before: Seq| Seq(before.0.saturating_sub(1));
        while let Some(run) = skipped.iter().find(|run| run.contains(last(self.before))) {
            self.before = run.first;
        }
    }
}

impl RowScan {
    fn new(place: Arc<ScannedPlace>) -> Self {
        Self { place, page: VecDeque::new(), last: None, n_next: PAGE }
    }

    /// Returns the time of the latest record that was not read.
    fn bound(&mut self, main: &MainDoc) -> Option<Millis> {
        if self.page.is_empty() {
            self.page = main.recorded_rows(self.last.as_ref(), self.n_next).into();
            self.last = self.page.back().cloned().or_else(|| self.last.take());
            self.n_next = self.n_next.saturating_mul(2);
        }
        self.page.front().map(|row| row.at)
    }

    /// Reads the records of the next row.
    fn read_next(&mut self, main: &MainDoc) -> Vec<HistoryEntry> {
        let Some(RecordedRow { id, .. }) = self.page.pop_front() else { return Vec::new() };
        let path = self.place.path_of(main, &id, false);
        path.map_or_else(Vec::new, |path| row_changes(main, &id, &path))
    }
}

impl ScannedPlace {
    fn new(directory: Option<FileId>, below: &VPath, trashed: Vec<TrashItem>) -> Self {
        let indexes = trashed.iter().enumerate().map(|(index, item)| (item.id.clone(), index));
        let indexes = indexes.collect();
        Self { directory, below: below.clone(), trashed, indexes }
    }

    /// Returns the former path of an object in the trash, if that was in the directory.
    fn former_path_of(&self, node: NodeRef<'_>) -> Option<VPath> {
        let above = std::iter::successors(Some(node), NodeRef::parent);
        let items = above.filter_map(|above| self.indexes.get(above.id()?).copied());
        // What was removed before its directory was is found twice.
        let paths = items.filter_map(|index| {
            let path = former_path(&self.trashed[index], node);
            path.starts_with(&self.below).then_some((index, path))
        });
        paths.min_by_key(|(index, _)| *index).map(|(_, path)| path)
    }

    /// Returns the path of an object if it is, or was when it was removed, in the directory.
    fn path_of(&self, main: &MainDoc, id: &FileId, is_file: bool) -> Option<VPath> {
        let is_below = |node: &NodeRef<'_>| match &self.directory {
            None => true,
            Some(directory) => {
                let mut above = std::iter::once(*node).chain(node.ancestors());
                above.any(|above| above.id() == Some(directory))
            }
        };
        let node = main.tree().node(id)?;
        if !node.is_visible() {
            return self.former_path_of(node);
        }
        if is_file && node.is_directory() || !is_below(&node) {
            return None;
        }
        Some(node.path())
    }
}

impl Iterator for HistoryEntries {
    type Item = Result<HistoryEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let row_bound = self.rows.as_mut().and_then(|rows| {
                let main = self.state.main.read();
                rows.bound(&main)
            });
            let is_next = |entry: &OrderedEntry| entry.is_before(self.bound, row_bound);
            if self.bound.max(row_bound).is_none() || self.ready.peek().is_some_and(is_next) {
                break;
            }
            if row_bound >= self.bound {
                let main = self.state.main.read();
                let changes = self.rows.as_mut().map(|rows| rows.read_next(&main));
                self.ready.extend(changes.into_iter().flatten().map(OrderedEntry::from));
                continue;
            }
            if let Err(error) = self.read_next_file() {
                return Some(Err(error));
            }
        }
        self.ready.pop().map(|ordered| Ok(ordered.entry))
    }
}

impl OrderedEntry {
    /// Reports whether this entry comes before all that were not read. `files` and `rows` are the
    /// latest times that entries of files, and entries that rows record, may still have.
    fn is_before(&self, files: Option<Millis>, rows: Option<Millis>) -> bool {
        let at = self.at;
        // The files of one import may have one time, and are not all read for the first of them.
        let is_of_content = self.entry.version.is_some();
        rows.is_none_or(|rows| at > rows)
            && files.is_none_or(|files| at > files || at == files && is_of_content)
    }
}

impl From<HistoryEntry> for OrderedEntry {
    fn from(entry: HistoryEntry) -> Self {
        Self { at: entry.at, entry }
    }
}

impl Ord for OrderedEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |entry: &Self| {
            let HistoryEntry { change, version, removal, .. } = entry.entry;
            (entry.at, change, version, removal)
        };
        // A directory is made before what is in it.
        let depth = |entry: &Self| entry.entry.path.components().count();
        let order = key(self).cmp(&key(other)).then_with(|| depth(self).cmp(&depth(other)));
        order.then_with(|| self.entry.id.cmp(&other.entry.id))
    }
}

impl PartialOrd for OrderedEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the kind of an object, and where its content is if it is a file.
pub(super) fn kind_and_location(
    main: &MainDoc,
    id: &FileId,
) -> Option<(FileKind, ContentLocation)> {
    let row = main.files().attributes(id)?;
    let location = row.blob.map_or(ContentLocation::Text, |blob| ContentLocation::Blob(*blob));
    Some((file_kind(&row), location))
}

fn entry_of(info: VersionInfo, id: &FileId, path: &VPath, kind: FileKind) -> HistoryEntry {
    let is_first = info.number == 1;
    HistoryEntry {
        at: info.at,
        id: id.clone(),
        path: path.clone(),
        kind,
        change: if is_first { HistoryChange::Created } else { HistoryChange::Edited },
        actor: info.actor,
        label: info.label,
        step: info.step,
        version: Some(info.number),
        names: info.names,
        is_redacted: info.redacted,
        paths: None,
        modes: None,
        places: None,
        removal: None,
    }
}

/// Returns the files at or below a path, and the changes there that rows record. If there are more
/// than `max_nodes` files and directories below a directory, only removals are returned.
fn find_objects(main: &MainDoc, below: &VPath, max_nodes: usize) -> Result<FoundObjects> {
    let mut found = FoundObjects::default();
    let visible = resolve(main, Op::Open, below, yfs_engine::tree::FinalLink::Yes);
    if let Ok(node) = &visible
        && node.walk().nth(max_nodes).is_some()
    {
        found.large_directory = Some((node.id().cloned(), Vec::new()));
    }
    for item in main.trash_and_purged() {
        if !item.original.starts_with(below) && !below.starts_with(&item.original) {
            continue;
        }
        if let Some((_, trashed)) = &mut found.large_directory {
            if item.original.starts_with(below) {
                found.entries.push(removal_of(main, item.clone()));
            }
            trashed.push(item);
            continue;
        }
        let Some(node) = main.tree().node(&item.id) else { continue };
        for node in std::iter::once(node).chain(node.descendants()) {
            let path = former_path(&item, node);
            if path.starts_with(below) {
                found.add(main, node, path);
            }
        }
        if item.original.starts_with(below) {
            found.entries.push(removal_of(main, item));
        }
    }
    match visible {
        Ok(_) if found.large_directory.is_some() => (),
        Ok(node) => {
            for node in std::iter::once(node).chain(node.walk()) {
                found.add(main, node, node.path());
            }
        }
        Err(error) if found.files.is_empty() && found.entries.is_empty() => {
            return Err(error.into());
        }
        Err(_) => {}
    }
    Ok(found)
}

impl FoundObjects {
    fn add(&mut self, main: &MainDoc, node: NodeRef<'_>, path: VPath) {
        let Some(id) = node.id() else { return };
        // What was removed before its directory was is found twice.
        if self.seen.insert(id.clone()) {
            self.entries.extend(row_changes(main, id, &path));
        }
        if !node.is_directory() {
            self.files.entry(id.clone()).or_insert(path);
        }
    }
}

fn removal_of(main: &MainDoc, item: TrashItem) -> HistoryEntry {
    let kind = kind_and_location(main, &item.id).map_or(FileKind::File, |(kind, _)| kind);
    let by = main.files().get(&item.id).and_then(|entry| ops::trashed_by(&entry.row));
    let (actor, label, step) = match by {
        Some(by) => (Some(by.actor), by.label, by.step),
        None => (None, None, None),
    };
    HistoryEntry {
        removal: main.removal_order(&item.id),
        at: item.trashed_at,
        id: item.id,
        path: item.original,
        kind,
        change: HistoryChange::Deleted,
        actor,
        label,
        step,
        version: None,
        names: Vec::new(),
        is_redacted: false,
        paths: None,
        modes: None,
        places: None,
    }
}
