//! Importing directories and names from the disk into the workspace.
//!
//! Moves and new directories depend on each other: a name must be free in the workspace, and its
//! parent directory must exist. So the import proceeds in rounds. If a round makes no progress, two
//! objects exchange places, and one of them gets a temporary name.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::Instant,
};

use smol_str::SmolStr;
use yfs::workspace::nodes::{NewNodeContent, NewObject, TreeNode};
use yfs_engine::{hash::ContentHash, id::FileId, time::Millis};
use yfs_vfs::{FileKind, stat::DEFAULT_DIRECTORY_MODE};

use super::{
    mirror_context::MirrorContext, sync_pass::SyncPass, workspace_access::path_in_directory,
};
use crate::{
    error::Result,
    layout_plan::parked_name,
    mirror_state::{DiskStamp, EditBase, MirrorNode, WorkspaceSide},
    report::NoticeReason,
};

/// The holder of a name in the workspace that another object is to get.
pub(super) enum NameHolder {
    /// No object has the name.
    Free,
    /// An object that the mirror does not know has the name: the same object, met for the first
    /// time.
    Stranger(TreeNode),
    /// An object that is about to leave the name, as it did on disk.
    Leaving(FileId),
    /// An object that keeps the name.
    Taken,
}

/// Imports directories and names.
pub(super) struct StructureImporter<'a> {
    pub(super) context: &'a mut MirrorContext,
    pub(super) pass: &'a mut SyncPass,
}

impl StructureImporter<'_> {
    /// Imports all moves and new directories into the workspace.
    pub(super) fn import_structure(
        &mut self,
        mut directories: Vec<PathBuf>,
        mut arrived: Vec<(FileId, PathBuf)>,
    ) -> Result<()> {
        self.pass.moved.extend(self.pass.waiting.drain());
        loop {
            arrived.retain(|(id, path)| !self.record_arrival(id, path));
            let n_before = self.pass.moved.len() + directories.len();
            if n_before == 0 {
                return Ok(());
            }
            self.import_moves()?;
            directories = self.import_directories(directories)?;
            if self.pass.moved.len() + directories.len() < n_before {
                continue;
            }
            // Two objects exchange places: one of them moves to a temporary name.
            match self.moved_in_order().first() {
                Some(id) => drop(self.import_move(&id.clone(), true)?),
                None => {
                    directories.remove(0);
                }
            }
        }
    }

    /// Imports the moves that can be made now. A file whose name another one takes moves first, so
    /// that a row of files that take each other's names takes one round.
    fn import_moves(&mut self) -> Result<()> {
        let mut blocked = HashSet::new();
        for id in self.moved_in_order() {
            let mut row = vec![id];
            while let Some(id) = row.last() {
                match self.import_move(&id.clone(), false)? {
                    Some(other) if self.is_file(&other) && blocked.insert(other.clone()) => {
                        row.push(other);
                    }
                    // The rest of the row waits for this one.
                    Some(_) => break,
                    None => drop(row.pop()),
                }
            }
        }
        Ok(())
    }

    fn is_file(&self, id: &FileId) -> bool {
        self.context.state.get(id).is_some_and(|node| node.kind == FileKind::File)
    }

    /// Notes that an object is in a new directory, as soon as that directory is known. Its content
    /// is scanned later.
    fn record_arrival(&mut self, id: &FileId, path: &Path) -> bool {
        let is_there =
            self.context.state.directory(path.parent().unwrap_or(Path::new(""))).is_some();
        if is_there && self.context.state.at_path(path).is_none() {
            self.pass.relocate(self.context, id, path);
            self.pass.disk.insert(path.to_owned(), true);
        }
        is_there
    }

    fn moved_in_order(&self) -> Vec<FileId> {
        let mut moved: Vec<(usize, FileId)> = self
            .pass
            .moved
            .iter()
            .map(|id| (self.context.state.path(id).components().count(), id.clone()))
            .collect();
        moved.sort();
        moved.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns the holder of a name in the workspace.
    pub(super) fn name_holder(&self, parent: Option<&FileId>, name: &str) -> Result<NameHolder> {
        let Some(there) = self.context.workspace.nodes().child(parent, name)? else {
            return Ok(NameHolder::Free);
        };
        let id = &there.id;
        Ok(match self.context.state.get(id) {
            None => NameHolder::Stranger(there),
            Some(_) if self.pass.is_moving(id) || self.pass.missing.contains_key(id) => {
                NameHolder::Leaving(id.clone())
            }
            Some(_) => NameHolder::Taken,
        })
    }

    /// Reports whether an object that leaves its name may appear elsewhere in a later pass: two
    /// directories that exchange their names are seen one after the other.
    pub(super) fn must_wait_for(&self, other: &FileId) -> bool {
        self.pass.waiting.contains(other) || self.pass.may_appear(self.context, other)
    }

    /// Repeats a move on disk in the workspace. With `aside` it uses a free name rather than wait
    /// for another move. Returns the object whose move comes first, if there is one.
    fn import_move(&mut self, id: &FileId, aside: bool) -> Result<Option<FileId>> {
        let path = self.context.state.path(id);
        let Some(node) = self.context.state.get(id).cloned() else {
            self.pass.moved.remove(id);
            return Ok(None);
        };
        if node.name == parked_name(id) {
            // Another object took its place on disk before its move was imported. It has no name
            // there, so the one that the workspace has counts.
            self.pass.moved.remove(id);
            self.pass.work.insert(id.clone());
            return Ok(None);
        }
        if self.context.workspace.object(id)?.is_none()
            && !self.pass.restore_from_trash(self.context, id)?
        {
            self.pass.moved.remove(id);
            self.pass.work.insert(id.clone());
            return Ok(None);
        }
        let parent = node.parent.as_ref();
        if let Some(parent) = parent
            && self.context.workspace.object(parent)?.is_none()
            && !self.pass.restore_from_trash(self.context, parent)?
        {
            self.pass.moved.remove(id);
            self.pass.work.insert(id.clone());
            return Ok(None);
        }
        let Some(name) = self.context.work_name(parent, &path)? else {
            self.pass.moved.remove(id);
            self.context.reporter.skip(&path, NoticeReason::BadName);
            return Ok(None);
        };
        let spot = match self.context.workspace.nodes().child(parent, &name)? {
            Some(there) if there.id == *id => {
                self.record_imported_move(id, &path)?;
                return Ok(None);
            }
            _ => self.name_holder(parent, &name)?,
        };
        let name = match spot {
            NameHolder::Free => name,
            NameHolder::Leaving(other) if self.pass.moved.contains(&other) && !aside => {
                return Ok(Some(other));
            }
            NameHolder::Leaving(other) if self.must_wait_for(&other) => {
                self.pass.moved.remove(id);
                self.pass.waiting.insert(id.clone());
                return Ok(None);
            }
            NameHolder::Leaving(other) if !self.pass.moved.contains(&other) => {
                self.pass.trash(self.context, &other)?;
                // The object may have been below the other one, and then it is in the trash, too.
                return self.import_move(id, aside);
            }
            _ => self.context.workspace.free_name(parent, &name)?,
        };
        match self.context.workspace.move_object(id, parent, &name) {
            Ok(()) if aside => {}
            Ok(()) => {
                self.context.reporter.count_workspace(|counts| counts.moved += 1);
                self.record_imported_move(id, &path)?;
            }
            Err(error) => {
                // Nothing on disk changes again, so no scan would find it: it is tried again.
                self.pass.moved.remove(id);
                self.pass.failed_moves.insert(id.clone(), Instant::now());
                self.pass.work.insert(id.clone());
                self.pass.record_workspace_failure(self.context, &path, &error);
            }
        }
        Ok(None)
    }

    fn record_imported_move(&mut self, id: &FileId, path: &Path) -> Result<()> {
        self.pass.moved.remove(id);
        self.context.reporter.clear_skipped(path);
        // The workspace may have chosen another name, and may store the content differently.
        self.pass.work.insert(id.clone());
        if let Some(object) = self.context.workspace.object(id)? {
            let name = self.context.agreed_name(&object, path)?;
            self.context.state.update(id, |node| {
                (node.work.parent, node.work.name) = (object.parent, name);
            });
        }
        Ok(())
    }

    /// Creates the directories of a round, and returns those that must wait.
    fn import_directories(&mut self, directories: Vec<PathBuf>) -> Result<Vec<PathBuf>> {
        let mut waiting = Vec::new();
        let mut batch: Vec<(PathBuf, Option<FileId>, SmolStr, DiskStamp)> = Vec::new();
        for path in directories {
            let parent = path.parent().and_then(|above| self.context.state.directory(above));
            let Some(parent) = parent else {
                waiting.push(path);
                continue;
            };
            let facts = match self.context.directory.facts(&path) {
                Ok(Some(facts)) if facts.kind == FileKind::Directory => facts,
                // It disappeared, or is another kind of object: the event that reports that has it
                // scanned.
                _ => continue,
            };
            let Some(name) = self.context.work_name(parent.as_ref(), &path)? else {
                self.context.reporter.skip(&path, NoticeReason::BadName);
                continue;
            };
            let stamp = DiskStamp::of(&facts);
            match self.name_holder(parent.as_ref(), &name)? {
                NameHolder::Free => batch.push((path, parent, name, stamp)),
                NameHolder::Stranger(there) if there.kind == FileKind::Directory => {
                    self.context.reporter.report.n_matched += 1;
                    self.add_directory(&there.id, parent, &path, stamp)?;
                }
                NameHolder::Leaving(other) if self.pass.moved.contains(&other) => {
                    waiting.push(path);
                }
                NameHolder::Leaving(other) if self.must_wait_for(&other) => {
                    self.pass.later.insert(path, true);
                }
                NameHolder::Leaving(other) => {
                    self.pass.trash(self.context, &other)?;
                    batch.push((path, parent, name, stamp));
                }
                NameHolder::Stranger(_) | NameHolder::Taken => {
                    let name = self.context.workspace.free_name(parent.as_ref(), &name)?;
                    batch.push((path, parent, name, stamp));
                }
            }
        }
        self.create_directories(batch)?;
        Ok(waiting)
    }

    fn create_directories(
        &mut self,
        batch: Vec<(PathBuf, Option<FileId>, SmolStr, DiskStamp)>,
    ) -> Result<()> {
        for batch in batch.chunks(1_000) {
            let objects: Vec<NewObject> = batch
                .iter()
                .map(|(_, parent, name, stamp)| NewObject {
                    path: path_in_directory(parent.as_ref(), name),
                    mode: Some(stamp.mode).filter(|mode| *mode != DEFAULT_DIRECTORY_MODE),
                    mtime: Some(Millis(stamp.mtime_ms())),
                    content: NewNodeContent::Directory,
                })
                .collect();
            let made = self.context.workspace.create_objects(&objects)?;
            for ((path, parent, _, stamp), made) in batch.iter().zip(made) {
                match made {
                    Ok(id) => {
                        self.context.reporter.count_workspace(|counts| counts.created += 1);
                        self.add_directory(&id, parent.clone(), path, *stamp)?;
                    }
                    Err(error) => {
                        self.pass.record_workspace_failure(self.context, path, &error);
                    }
                }
            }
        }
        Ok(())
    }

    fn add_directory(
        &mut self,
        id: &FileId,
        parent: Option<FileId>,
        path: &Path,
        stamp: DiskStamp,
    ) -> Result<()> {
        self.add_node(
            id,
            parent,
            path,
            FileKind::Directory,
            stamp,
            ContentHash::of(b""),
            EditBase::Unknown,
        )
    }

    /// Adds a node for an object that is in both trees.
    #[expect(clippy::too_many_arguments, reason = "a node has as many parts")]
    pub(super) fn add_node(
        &mut self,
        id: &FileId,
        parent: Option<FileId>,
        path: &Path,
        kind: FileKind,
        stamp: DiskStamp,
        hash: ContentHash,
        base: EditBase,
    ) -> Result<()> {
        self.pass.work.insert(id.clone());
        let Some(object) = self.context.workspace.object(id)? else { return Ok(()) };
        let name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
        let mut work = work_of(&object);
        work.name = self.context.agreed_name(&object, path)?;
        self.context.state.put(MirrorNode {
            id: id.clone(),
            parent,
            name,
            kind,
            stamp,
            hash,
            work,
            base,
        });
        self.pass.note_racy(id, &stamp);
        self.context.reporter.clear_skipped(path);
        Ok(())
    }
}

/// Converts an object of the workspace to the workspace side of a node.
pub(super) fn work_of(object: &TreeNode) -> WorkspaceSide {
    WorkspaceSide {
        parent: object.parent.clone(),
        name: object.name.clone(),
        version: object.version.as_ref().map(|version| version.as_str().into()).unwrap_or_default(),
        mode: object.mode,
        mtime_ms: object.mtime.0,
    }
}
