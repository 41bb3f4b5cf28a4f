//! The history of all files of a directory: who changed which file, and when.
//!
//! Documents are loaded from the one that was logged last, and only as far as the caller reads. A
//! document was not changed after its last record was logged, so its entries are returned once no
//! other document that is not loaded yet can have a later one.
//!
//! Of a directory with many files, the log is read backwards, so that the first entries do not cost
//! the number of files.

#[cfg(test)]
mod tests;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BinaryHeap, HashSet},
    sync::Arc,
};

use bytes::Bytes;
use smol_str::SmolStr;
use yfs_engine::{
    actor::Actor,
    id::FileId,
    main_doc::MainDoc,
    ops,
    path::VPath,
    time::Millis,
    tree::{NodeRef, TrashItem},
};
use yfs_store::{DocName, Seq};
use yfs_vfs::{FileKind, Op};

use super::{
    past::former_path,
    versions::{VersionInfo, list},
};
use crate::{
    History,
    error::Result,
    fs::{ContentLocation, ResolvedFile, file_kind, fs_error, resolve},
    state::WorkspaceState,
};

/// The number of files and directories below a directory above which the log is read backwards.
const MANY_NODES: usize = 1000;

/// The number of records that are read at once backwards.
const PAGE: usize = 256;

/// A change of a file: a version of its content, or its removal.
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
    /// The number of the version that it made; `None` for a removal.
    pub version: Option<u64>,
    /// The names that people gave this version.
    pub names: Vec<SmolStr>,
    /// Whether some of the version was erased for good, so that it cannot be read.
    pub is_redacted: bool,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HistoryChange {
    /// The first content of the file.
    Created,
    /// Other content.
    Edited,
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
    /// No file of `unread` has an entry later than this.
    bound: Option<Millis>,
    ready: BinaryHeap<OrderedEntry>,
}

/// A search for the files of a directory in the log, from its end.
#[derive(Debug)]
struct BackwardScan {
    /// The directory; `None` for the root.
    directory: Option<FileId>,
    /// Files in the trash that were in the directory, with their former paths.
    trashed: BTreeMap<FileId, VPath>,
    /// The position of the last record that was read.
    before: Seq,
    /// The documents that were found.
    found: HashSet<FileId>,
}

/// The files at or below a path.
#[derive(Debug, Default)]
struct FoundObjects {
    files: BTreeMap<FileId, VPath>,
    removals: Vec<HistoryEntry>,
    /// The directory with more visible files than were listed; the inner `None` for the root.
    large_directory: Option<Option<FileId>>,
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
struct OrderedEntry(HistoryEntry);

impl HistoryChange {
    /// Returns the name of the change.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Edited => "edited",
            Self::Deleted => "deleted",
        }
    }
}

impl History<'_> {
    /// Lists the changes of a file, or of all files below a directory, the latest first. Files in
    /// the trash are included under their former paths. A file keeps its history when it is
    /// renamed; renames themselves, and changes of directories, are not recorded.
    ///
    /// A file whose content is damaged is an error in the list, after which the list continues.
    ///
    /// The list is read lazily: its first entries are cheap. Entries of authors whose clocks
    /// differ may be out of order by that difference.
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
        let FoundObjects { files, removals, large_directory } = {
            let main = self.state.main.read();
            find_objects(&main, below, max_nodes)?
        };
        let (scan, files) = match large_directory {
            None => (None, files),
            Some(directory) => {
                let (before, found) = (Seq(u64::MAX), HashSet::new());
                let scan = BackwardScan { directory, trashed: files, before, found };
                (Some(scan), BTreeMap::new())
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
        let ready = removals.into_iter().map(OrderedEntry).collect();
        let state = self.state.clone();
        let mut entries = HistoryEntries { state, unread, scan, bound: None, ready };
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
        let read = |number| self.state.version_content(&found, number, &entry.path);
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
    /// Reads the versions of the next file.
    fn read_next_file(&mut self) -> Result<()> {
        let Some(UnreadFile { id, path, .. }) = self.unread.pop() else { return Ok(()) };
        self.update_bound()?;
        let Some((kind, location)) = kind_and_location(&self.state.main.read(), &id) else {
            return Ok(());
        };
        let found = ResolvedFile { id, location };
        let handle = self.state.documents.acquire(&found.id);
        let listed = handle.with(|loaded| {
            loaded.check_readable(&found.id)?;
            Ok(list(&loaded.doc, &found))
        })?;
        let listed = listed.map_err(|error| fs_error(error, Op::Read, &path))?;
        let entries = listed
            .into_iter()
            .map(|(info, _)| OrderedEntry(entry_of(info, &found.id, &path, kind)));
        self.ready.extend(entries);
        Ok(())
    }

    /// Finds more files in the log if those that were found are read.
    fn find_more(&mut self) -> Result<()> {
        while self.unread.is_empty() {
            let Some(scan) = &mut self.scan else { return Ok(()) };
            let page = self.state.store.documents_before(scan.before, PAGE)?.unwrap_or_default();
            let Some((last, _)) = page.last() else {
                self.scan = None;
                return Ok(());
            };
            scan.before = *last;
            let main = self.state.main.read();
            for (head, doc) in page {
                let id = FileId::from(&doc);
                if doc == self.state.main_name || !scan.found.insert(id.clone()) {
                    continue;
                }
                let path = scan.path_of(&main, &id);
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
    /// Returns the path of a file if it is, or was when it was removed, in the directory.
    fn path_of(&self, main: &MainDoc, id: &FileId) -> Option<VPath> {
        let is_below = |node: &NodeRef<'_>| match &self.directory {
            None => true,
            Some(directory) => {
                let mut above = node.ancestors();
                above.any(|above| above.id() == Some(directory))
            }
        };
        let node = main.tree().node(id).filter(|node| !node.is_directory() && node.is_visible());
        let path = node.filter(is_below).map(|node| node.path());
        path.or_else(|| self.trashed.get(id).cloned())
    }
}

impl Iterator for HistoryEntries {
    type Item = Result<HistoryEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(bound) = self.bound {
            if self.ready.peek().is_some_and(|entry| entry.0.at >= bound) {
                break;
            }
            if let Err(error) = self.read_next_file() {
                return Some(Err(error));
            }
        }
        self.ready.pop().map(|entry| Ok(entry.0))
    }
}

impl Ord for OrderedEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |entry: &Self| (entry.0.at, entry.0.change, entry.0.version);
        key(self).cmp(&key(other)).then_with(|| self.0.id.cmp(&other.0.id))
    }
}

impl PartialOrd for OrderedEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the kind of an object, and where its content is if it is a file.
fn kind_and_location(main: &MainDoc, id: &FileId) -> Option<(FileKind, ContentLocation)> {
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
        version: Some(info.number),
        names: info.names,
        is_redacted: info.redacted,
    }
}

/// Returns the files at or below a path, and the removals there. If there are more than `max_nodes`
/// files and directories below a directory, only those in the trash are returned.
fn find_objects(main: &MainDoc, below: &VPath, max_nodes: usize) -> Result<FoundObjects> {
    let FoundObjects { mut files, mut removals, mut large_directory } = FoundObjects::default();
    for item in main.tree().trash_and_purged() {
        if !item.original.starts_with(below) && !below.starts_with(&item.original) {
            continue;
        }
        let Some(node) = main.tree().node(&item.id) else { continue };
        let inside = std::iter::once(node).chain(node.descendants());
        for node in inside.filter(|node| !node.is_directory()) {
            let path = former_path(&item, node);
            if let Some(id) = node.id().filter(|_| path.starts_with(below)) {
                files.entry(id.clone()).or_insert(path);
            }
        }
        if item.original.starts_with(below) {
            removals.push(removal_of(main, item));
        }
    }
    match resolve(main, Op::Open, below, yfs_engine::tree::FinalLink::Yes) {
        Ok(node) if node.walk().nth(max_nodes).is_some() => {
            large_directory = Some(node.id().cloned());
        }
        Ok(node) => {
            let inside = std::iter::once(node).chain(node.walk());
            for node in inside.filter(|node| !node.is_directory()) {
                files.extend(node.id().map(|id| (id.clone(), node.path())));
            }
        }
        Err(error) if files.is_empty() && removals.is_empty() => return Err(error.into()),
        Err(_) => {}
    }
    Ok(FoundObjects { files, removals, large_directory })
}

fn removal_of(main: &MainDoc, item: TrashItem) -> HistoryEntry {
    let kind = kind_and_location(main, &item.id).map_or(FileKind::File, |(kind, _)| kind);
    let by = main.files().get(&item.id).and_then(|entry| ops::trashed_by(&entry.row));
    let (actor, label) = by.map(|by| (by.actor, by.label)).unzip();
    HistoryEntry {
        at: item.trashed_at,
        id: item.id,
        path: item.original,
        kind,
        change: HistoryChange::Deleted,
        actor,
        label: label.flatten(),
        version: None,
        names: Vec::new(),
        is_redacted: false,
    }
}
