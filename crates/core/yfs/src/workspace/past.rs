//! The workspace as it was at an earlier time.
//!
//! A file is there if it had been created and was not in the trash; its content is that of the last
//! version until then. Names and directories are those of the present: a row records at most 16
//! renames (decision 49), so the name at any time may not be known, and the view does not use them.
//! All times are those of the authors' clocks.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use yfs_engine::{
    id::FileId,
    main_doc::MainDoc,
    path::VPath,
    time::Millis,
    tree::{NodeRef, TrashItem},
};
use yfs_store::{DocName, Seq};
use yfs_vfs::{FileKind, FsError, Op, SnapshotContents, SnapshotFs, SnapshotNode, Stat};

use super::{Workspace, versions::list};
use crate::{
    History, WorkspaceFs,
    error::{Result, WorkspaceError},
    fs::{ContentLocation, ResolvedFile, file_kind, fs_error, mode_of},
    state::WorkspaceState,
    workspace::versions::version_content,
};

/// The objects of a workspace at one time ([`History::state_at`]).
#[derive(Debug, Clone)]
pub struct PastState {
    entries: BTreeMap<VPath, PastEntry>,
    reader: PastReader,
}

/// An object as it was at that time.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PastEntry {
    /// Its id.
    pub id: FileId,
    /// Its kind.
    pub kind: FileKind,
    /// Its content.
    pub content: PastContent,
    stat: Stat,
    location: ContentLocation,
}

/// The content of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PastContent {
    /// That of a directory, which has none.
    Directory,
    /// The target of a link.
    Link(String),
    /// The present content of the file.
    Current,
    /// An earlier version of the file, by its number.
    Version(u64),
    /// The file had no content yet.
    Empty,
}

/// The reader of the files of a [`PastState`].
#[derive(Debug, Clone)]
pub struct PastReader {
    fs: WorkspaceFs,
    /// The files whose content is not the present one.
    files: Arc<BTreeMap<FileId, (ResolvedFile, PastContent)>>,
}

impl History<'_> {
    /// Returns the objects of the workspace as they were at a time, or as they are now.
    ///
    /// Loads the documents of the files that changed since, and of those in the trash.
    pub fn state_at(&self, time: Option<Millis>) -> Result<PastState> {
        self.state.refresh()?;
        let fs = Workspace::of(self.state.clone()).fs();
        let mut entries = BTreeMap::new();
        let visible = fs.list_all(&VPath::root())?;
        {
            let main = self.state.main.read();
            if let Some(time) = time {
                add_trashed(&main, time, &mut entries);
            }
            for item in visible {
                let Some(mut entry) = entry_of(&main, &item.entry.id) else { continue };
                if time.is_some_and(|time| entry.stat.created > time) {
                    continue;
                }
                (entry.stat.size, entry.stat.mtime) = (item.entry.size, item.entry.mtime);
                // What was trashed later was here as well, but what is here now is shown.
                entries.insert(item.path, entry);
            }
        }
        let mut files = BTreeMap::new();
        if let Some(time) = time {
            let since = position_after(self.state, time)?;
            for entry in entries.values_mut() {
                if find_version(self.state, entry, since, time)? {
                    let found = entry.resolved();
                    files.insert(entry.id.clone(), (found, entry.content.clone()));
                }
            }
        }
        Ok(PastState { entries, reader: PastReader { fs, files: Arc::new(files) } })
    }
}

impl PastState {
    /// Lists the objects by path, without the root.
    pub fn entries(&self) -> &BTreeMap<VPath, PastEntry> {
        &self.entries
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    ///
    /// Fails as reading a version does.
    pub fn read(&self, entry: &PastEntry, path: &VPath) -> Result<Bytes, FsError> {
        self.reader.read(&entry.id, path)
    }

    /// Returns the objects as a filesystem that cannot be written.
    pub fn into_fs(self) -> SnapshotFs<PastReader> {
        let nodes = self.entries.into_iter().map(|(path, entry)| {
            let target = match &entry.content {
                PastContent::Link(target) => Some(target.clone()),
                _ => None,
            };
            let is_sized = entry.content == PastContent::Current;
            (path, SnapshotNode { stat: entry.stat, is_sized, target })
        });
        SnapshotFs::new(nodes, self.reader)
    }
}

impl PastEntry {
    fn resolved(&self) -> ResolvedFile {
        ResolvedFile { id: self.id.clone(), location: self.location.clone() }
    }
}

impl SnapshotContents for PastReader {
    fn read(&self, id: &FileId, path: &VPath) -> Result<Bytes, FsError> {
        match self.files.get(id) {
            // By its id, because others may move the file meanwhile.
            None => Ok(self.fs.read_with_id(&VPath::root().join(".id").join(id.as_str()))?.1.data),
            Some((found, PastContent::Version(number))) => {
                let content = version_content(self.fs.state(), found, *number, path);
                content.map_err(|error| fs_error(error, Op::Read, path))
            }
            Some(_) => Ok(Bytes::new()),
        }
    }
}

/// Adds the objects that were put into the trash after a time, at their former paths.
fn add_trashed(main: &MainDoc, time: Millis, entries: &mut BTreeMap<VPath, PastEntry>) {
    for item in main.trash_and_purged() {
        let Some(node) = main.tree().node(&item.id).filter(|_| item.trashed_at > time) else {
            continue;
        };
        for node in std::iter::once(node).chain(node.descendants()) {
            let is_there = nodes_up_to(&item, node).all(|node| !was_trashed(node, time));
            let entry = node.id().filter(|_| is_there).and_then(|id| entry_of(main, id));
            if let Some(mut entry) = entry.filter(|entry| entry.stat.created <= time) {
                if entry.kind == FileKind::File {
                    entry.content = PastContent::Empty;
                }
                entries.entry(former_path(&item, node)).or_insert(entry);
            }
        }
    }
}

/// Returns the path of a node that was removed with the directory that an item of the trash is.
pub(super) fn former_path(item: &TrashItem, node: NodeRef<'_>) -> VPath {
    let names: Vec<_> = nodes_up_to(item, node).map(|node| node.name()).collect();
    names.iter().rev().fold(item.original.clone(), |path, name| path.join(name))
}

/// Lists a node that was removed with an item of the trash, and those between the two.
fn nodes_up_to<'a>(
    item: &TrashItem,
    node: NodeRef<'a>,
) -> impl Iterator<Item = NodeRef<'a>> + use<'a> {
    let top = item.id.clone();
    std::iter::successors(Some(node), NodeRef::parent)
        .take_while(move |node| node.id().is_some_and(|id| *id != top))
}

fn was_trashed(node: NodeRef<'_>, time: Millis) -> bool {
    node.trashed_at().is_some_and(|at| at <= time)
}

fn entry_of(main: &MainDoc, id: &FileId) -> Option<PastEntry> {
    let row = main.files().attributes(id)?;
    let kind = file_kind(&row);
    let mut stat = Stat::new(id.clone(), kind);
    (stat.created, stat.mtime, stat.mode) = (row.created_at, row.updated_at, mode_of(&row));
    let content = match (kind, row.link) {
        (FileKind::Directory, _) => PastContent::Directory,
        (FileKind::Symlink, Some(target)) => {
            stat.size = target.len() as u64;
            PastContent::Link(target.to_owned())
        }
        _ => PastContent::Current,
    };
    let location = row.blob.map_or(ContentLocation::Text, |blob| ContentLocation::Blob(*blob));
    Some(PastEntry { id: id.clone(), kind, content, stat, location })
}

/// Returns the first position whose record was logged after a time.
fn position_after(state: &WorkspaceState, time: Millis) -> Result<Seq> {
    let (mut low, mut high) = (0, state.store.head()?.0 + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        match state.store.time_at(Seq(middle))? {
            Some(at) if at <= time => low = middle + 1,
            // The records from here on are later, or were compacted, and their times are not known.
            _ => high = middle,
        }
    }
    Ok(Seq(low))
}

/// Finds the version of a file at a time, if it may have changed since a position; reports whether
/// its content is not the present one.
fn find_version(
    state: &WorkspaceState,
    entry: &mut PastEntry,
    since: Seq,
    time: Millis,
) -> Result<bool> {
    let is_trashed = match entry.content {
        PastContent::Current => false,
        PastContent::Empty => true,
        _ => return Ok(false),
    };
    let is_changed = state.store.tailed_doc_head(&DocName::from(&entry.id))?.seq >= since;
    if !is_changed && !is_trashed {
        return Ok(false);
    }
    let found = entry.resolved();
    let listed = state.documents.acquire(&entry.id).with(|loaded| {
        loaded.check_readable(&entry.id)?;
        Ok(list(&loaded.doc, &found))
    })?;
    let listed = match listed {
        Err(WorkspaceError::Damaged(_) | WorkspaceError::ContentLost(_)) => {
            // Reading it fails, as it does now.
            entry.content = PastContent::Current;
            return Ok(false);
        }
        listed => listed?,
    };
    let last = listed.into_iter().map(|(info, _)| info).rfind(|info| info.at <= time);
    entry.content = match last {
        None => PastContent::Empty,
        Some(info) if info.current && !is_trashed => PastContent::Current,
        Some(info) => {
            entry.stat.mtime = info.at;
            PastContent::Version(info.number)
        }
    };
    Ok(entry.content != PastContent::Current)
}
