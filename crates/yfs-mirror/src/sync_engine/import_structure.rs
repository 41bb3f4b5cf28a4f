//! Bringing folders and names from the disk into the workspace.
//!
//! Moves and new folders wait for each other: a name must be free in the workspace, and the folder above must
//! be there. So they are done in rounds; where a round gets nowhere, two things change places, and one of
//! them gets a name of its own for a moment.

use std::path::{Path, PathBuf};

use smol_str::SmolStr;
use yfs::workspace::nodes::{NewNodeContent, NewObject, TreeNode};
use yfs_engine::{hash::ContentHash, id::FileId, time::Millis};
use yfs_vfs::{FileKind, FsError, RemoveOptions, stat::DEFAULT_DIRECTORY_MODE};

use super::{MirrorEngine, by_id, in_folder, ready};
use crate::{
    error::Result,
    mirror_state::{DiskStamp, EditBase, MirrorNode, WorkspaceSide},
    report::NoticeReason,
};

/// What a name in the workspace is taken by, for something that is to have it.
pub(super) enum NameHolder {
    /// Nothing.
    Free,
    /// Something that the mirror does not know: the same thing, met for the first time.
    Stranger(TreeNode),
    /// Something that will go away from there, since it did on disk.
    Leaving(FileId),
    /// Something that stays.
    Taken,
}

impl MirrorEngine {
    /// Brings all moves and new folders into the workspace.
    pub(super) fn settle(
        &mut self,
        mut folders: Vec<PathBuf>,
        mut arrived: Vec<(FileId, PathBuf)>,
    ) -> Result<()> {
        loop {
            arrived.retain(|(id, path)| !self.arrive(id, path));
            let n_before = self.moved.len() + folders.len();
            if n_before == 0 {
                return Ok(());
            }
            for id in self.moved_in_order() {
                self.settle_move(&id, false)?;
            }
            folders = self.settle_folders(folders)?;
            if self.moved.len() + folders.len() < n_before {
                continue;
            }
            // Two things change places: one of them steps aside.
            match self.moved_in_order().first() {
                Some(id) => self.settle_move(&id.clone(), true)?,
                None => {
                    folders.remove(0);
                }
            }
        }
    }

    /// Notes that something stands in a new folder, once that is there; what is in it is looked at later.
    fn arrive(&mut self, id: &FileId, path: &Path) -> bool {
        let is_there = self.state.folder(path.parent().unwrap_or(Path::new(""))).is_some();
        if is_there && self.known(path).is_none() {
            self.relocate(id, path);
            self.dirty_disk.insert(path.to_owned(), true);
        }
        is_there
    }

    fn moved_in_order(&self) -> Vec<FileId> {
        let mut moved: Vec<(usize, FileId)> = self
            .moved
            .iter()
            .map(|id| (self.state.path(id).components().count(), id.clone()))
            .collect();
        moved.sort();
        moved.into_iter().map(|(_, id)| id).collect()
    }

    /// Tells what stands under a name in the workspace.
    pub(super) fn spot(&self, parent: Option<&FileId>, name: &str) -> Result<NameHolder> {
        let Some(there) = self.workspace.nodes().child(parent, name)? else {
            return Ok(NameHolder::Free);
        };
        let id = &there.id;
        Ok(match self.state.get(id) {
            None => NameHolder::Stranger(there),
            Some(_) if self.moved.contains(id) || self.missing.contains_key(id) => {
                NameHolder::Leaving(id.clone())
            }
            Some(_) => NameHolder::Taken,
        })
    }

    /// Returns what the workspace is to call something on disk, unless it has a name already.
    pub(super) fn work_name(
        &self,
        parent: Option<&FileId>,
        path: &Path,
    ) -> Result<Option<SmolStr>> {
        let Some(host) = path.file_name() else { return Ok(None) };
        // Of two names on disk that the workspace takes for one, the one that is there keeps it.
        let mut siblings = self.state.children(parent).filter(|it| it.name != host);
        let needs_spelling = host.to_str().is_none_or(|name| !name.is_ascii());
        let siblings: Vec<&MirrorNode> =
            if needs_spelling { siblings.by_ref().collect() } else { vec![] };
        let is_taken = |name: &str| siblings.iter().any(|it| it.work.name == name);
        Ok(self.rules.to_workspace(host, &is_taken))
    }

    /// Moves in the workspace what was moved on disk; `aside` where it must not wait.
    fn settle_move(&mut self, id: &FileId, aside: bool) -> Result<()> {
        let path = self.state.path(id);
        let Some(node) = self.state.get(id).cloned() else {
            self.moved.remove(id);
            return Ok(());
        };
        if self.object(id)?.is_none() && !self.revive(id)? {
            self.moved.remove(id);
            self.dirty_work.insert(id.clone());
            return Ok(());
        }
        let parent = node.parent.as_ref();
        if let Some(parent) = parent
            && self.object(parent)?.is_none()
            && !self.revive(parent)?
        {
            self.moved.remove(id);
            self.dirty_work.insert(id.clone());
            return Ok(());
        }
        let Some(name) = self.work_name(parent, &path)? else {
            self.moved.remove(id);
            self.skip(&path, NoticeReason::BadName);
            return Ok(());
        };
        let spot = match self.workspace.nodes().child(parent, &name)? {
            Some(there) if there.id == *id => return self.settled_move(id, &path),
            _ => self.spot(parent, &name)?,
        };
        let name = match spot {
            NameHolder::Free => name,
            NameHolder::Leaving(other) if self.moved.contains(&other) && !aside => return Ok(()),
            NameHolder::Leaving(other) if !self.moved.contains(&other) => {
                self.trash(&other)?;
                name
            }
            _ => self.free_name(parent, &name)?,
        };
        match self.move_in_workspace(id, parent, &name) {
            Ok(()) if aside => Ok(()),
            Ok(()) => {
                self.n_done += 1;
                self.report.to_workspace.moved += 1;
                self.settled_move(id, &path)
            }
            Err(error) => {
                // It will be looked at from the other side, and once more from here.
                self.moved.remove(id);
                self.dirty_work.insert(id.clone());
                self.failed_in_workspace(&path, &error);
                Ok(())
            }
        }
    }

    fn settled_move(&mut self, id: &FileId, path: &Path) -> Result<()> {
        self.moved.remove(id);
        self.unskip(path);
        // Its name may be another by now, and its content may be kept otherwise.
        self.dirty_work.insert(id.clone());
        if let Some(object) = self.object(id)? {
            let name = self.agreed_name(&object, path)?;
            self.state.update(id, |node| {
                (node.work.parent, node.work.name) = (object.parent, name);
            });
        }
        Ok(())
    }

    /// Returns the name that something on disk stands for: where the workspace had to give it another, the
    /// disk is to follow.
    fn agreed_name(&self, object: &TreeNode, path: &Path) -> Result<SmolStr> {
        let name = self.work_name(object.parent.as_ref(), path)?;
        Ok(name.unwrap_or_else(|| object.name.clone()))
    }

    /// Makes the folders of a round, and returns those that must wait.
    fn settle_folders(&mut self, folders: Vec<PathBuf>) -> Result<Vec<PathBuf>> {
        let mut waiting = Vec::new();
        let mut batch: Vec<(PathBuf, Option<FileId>, SmolStr, DiskStamp)> = Vec::new();
        for path in folders {
            let parent = path.parent().and_then(|above| self.state.folder(above));
            let Some(parent) = parent else {
                waiting.push(path);
                continue;
            };
            let facts = match self.facts(&path) {
                Ok(Some(facts)) if facts.kind == FileKind::Directory => facts,
                // Gone, or another thing: whoever told of that has it looked at.
                _ => continue,
            };
            let Some(name) = self.work_name(parent.as_ref(), &path)? else {
                self.skip(&path, NoticeReason::BadName);
                continue;
            };
            let stamp = DiskStamp::of(&facts);
            match self.spot(parent.as_ref(), &name)? {
                NameHolder::Free => batch.push((path, parent, name, stamp)),
                NameHolder::Stranger(there) if there.kind == FileKind::Directory => {
                    self.report.n_matched += 1;
                    self.add_folder(&there.id, parent, &path, stamp)?;
                }
                NameHolder::Leaving(other) if self.moved.contains(&other) => waiting.push(path),
                NameHolder::Leaving(other) => {
                    self.trash(&other)?;
                    batch.push((path, parent, name, stamp));
                }
                NameHolder::Stranger(_) | NameHolder::Taken => {
                    let name = self.free_name(parent.as_ref(), &name)?;
                    batch.push((path, parent, name, stamp));
                }
            }
        }
        self.make_folders(batch)?;
        Ok(waiting)
    }

    fn make_folders(
        &mut self,
        batch: Vec<(PathBuf, Option<FileId>, SmolStr, DiskStamp)>,
    ) -> Result<()> {
        for batch in batch.chunks(1_000) {
            let objects: Vec<NewObject> = batch
                .iter()
                .map(|(_, parent, name, stamp)| NewObject {
                    path: in_folder(parent.as_ref(), name),
                    mode: Some(stamp.mode).filter(|mode| *mode != DEFAULT_DIRECTORY_MODE),
                    mtime: Some(Millis(stamp.mtime_ms())),
                    content: NewNodeContent::Folder,
                })
                .collect();
            let made = self.fs.make_many(&objects)?;
            for ((path, parent, _, stamp), made) in batch.iter().zip(made) {
                match made {
                    Ok(id) => {
                        self.n_done += 1;
                        self.report.to_workspace.created += 1;
                        self.add_folder(&id, parent.clone(), path, *stamp)?;
                    }
                    Err(error) => {
                        self.failed_in_workspace(path, &error);
                    }
                }
            }
        }
        Ok(())
    }

    fn add_folder(
        &mut self,
        id: &FileId,
        parent: Option<FileId>,
        path: &Path,
        stamp: DiskStamp,
    ) -> Result<()> {
        self.add(
            id,
            parent,
            path,
            FileKind::Directory,
            stamp,
            ContentHash::of(b""),
            EditBase::Unknown,
        )
    }

    /// Notes that something is in both trees.
    #[expect(clippy::too_many_arguments, reason = "a node has as many parts")]
    pub(super) fn add(
        &mut self,
        id: &FileId,
        parent: Option<FileId>,
        path: &Path,
        kind: FileKind,
        stamp: DiskStamp,
        hash: ContentHash,
        base: EditBase,
    ) -> Result<()> {
        self.dirty_work.insert(id.clone());
        let Some(object) = self.object(id)? else { return Ok(()) };
        let name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
        let mut work = work_of(&object);
        work.name = self.agreed_name(&object, path)?;
        self.state.put(MirrorNode { id: id.clone(), parent, name, kind, stamp, hash, work, base });
        self.note_racy(id, &stamp);
        self.unskip(path);
        Ok(())
    }

    /// Puts something into the workspace's trash, with all that is in it.
    pub(super) fn trash(&mut self, id: &FileId) -> Result<()> {
        let options = RemoveOptions { recursive: true, force: true };
        ready(yfs_vfs::FileSystem::rm(&self.fs, &by_id(id), &options))?;
        self.n_done += 1;
        self.report.to_workspace.deleted += 1;
        self.forget(id);
        Ok(())
    }

    /// Forgets something, and all that is in it.
    pub(super) fn forget(&mut self, id: &FileId) {
        let path = self.state.path(id);
        if let Some(watch) = &mut self.watch {
            watch.forget(&path);
        }
        let below = self.state.below(Some(id));
        for id in below.iter().rev().chain([id]) {
            self.state.remove(id);
            self.missing.remove(id);
            self.emptied.remove(id);
            self.moved.remove(id);
            self.racy.remove(id);
            self.open_files.remove(id);
            self.held_back_work.remove(id);
            self.unread.note_saved(id);
        }
    }

    /// Notes that the workspace refused something, and has it looked at again a few times.
    pub(super) fn failed_in_workspace(&mut self, path: &Path, error: &FsError) {
        self.retry(path, 5);
        self.skip(path, NoticeReason::Failed(error.to_string()));
    }

    /// Has a path looked at again, unless that was done so many times in vain.
    pub(super) fn retry(&mut self, path: &Path, limit: u32) {
        let n_times = self.failed.entry(path.to_owned()).or_default();
        *n_times += 1;
        if *n_times <= limit {
            self.later.insert(path.to_owned(), true);
        }
    }
}

/// Returns what the workspace has of an object.
pub(super) fn work_of(object: &TreeNode) -> WorkspaceSide {
    WorkspaceSide {
        parent: object.parent.clone(),
        name: object.name.clone(),
        version: object.version.as_ref().map(|it| it.as_str().into()).unwrap_or_default(),
        mode: object.mode,
        mtime_ms: object.mtime.0,
    }
}
