//! Importing new files and links from the disk into the workspace.
//!
//! A new file may be one that the state knows, come back under another name, or one that the
//! workspace has under the same name. Otherwise it is created in the workspace, together with
//! others in one transaction.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use smol_str::SmolStr;
use yfs::{
    WorkspaceError,
    workspace::nodes::{NewNodeContent, NewObject, TreeNode},
};
use yfs_engine::{hash::ContentHash, id::FileId, time::Millis};
use yfs_vfs::{FileKind, FsCode, confined_dir::HostStat, stat::DEFAULT_FILE_MODE};

use super::{
    disk_file_content::DiskFileContent,
    import_content::{ContentImporter, MAX_BYTES, MAX_FILES},
    import_structure::{NameHolder, StructureImporter},
    mirror_context::MirrorContext,
    sync_pass::SyncPass,
    workspace_access::path_in_directory,
};
use crate::{
    error::Result,
    mirror_state::{EditBase, MirrorNode},
    report::NoticeReason,
};

/// The number of attempts to create a file that another writer created first.
const MAX_CREATIONS: u32 = 20;

/// A new file that waits to be created in the workspace.
struct PendingFile {
    path: PathBuf,
    parent: Option<FileId>,
    name: SmolStr,
    kind: FileKind,
    read: DiskFileContent,
}

/// Imports new files.
pub(super) struct NewFileImporter<'a> {
    pub(super) context: &'a mut MirrorContext,
    pub(super) pass: &'a mut SyncPass,
}

impl NewFileImporter<'_> {
    fn structure(&mut self) -> StructureImporter<'_> {
        StructureImporter { context: self.context, pass: self.pass }
    }

    fn contents(&mut self) -> ContentImporter<'_> {
        ContentImporter { context: self.context, pass: self.pass }
    }

    /// Imports new files and links into the workspace.
    pub(super) fn import_new_files(&mut self, fresh: Vec<(PathBuf, HostStat)>) -> Result<()> {
        let mut gone = self.missing_by_hash(fresh.len());
        let mut batch: Vec<PendingFile> = Vec::new();
        let mut n_bytes = 0;
        for (path, facts) in fresh {
            if self.context.state.at_path(&path).is_some() {
                self.pass.later.insert(path, true);
                continue;
            }
            let Some(read) = self.contents().read(&path, facts.kind) else { continue };
            if self.contents().is_half_written(&path, &read, 0, ContentHash::of(b"")) {
                continue;
            }
            if let Some(id) = self.find_returned(&mut gone, &path, facts.kind, &read) {
                self.pass.relocate(self.context, &id, &path);
                self.structure().import_structure(Vec::new(), Vec::new())?;
                self.contents().import_changed_file(&id, read)?;
                continue;
            }
            if self.bring_back_deleted(&path, facts.kind, &read)? {
                continue;
            }
            if let Some(waiting) = self.match_new_file(path, facts.kind, read)? {
                n_bytes += waiting.read.data.len();
                batch.push(waiting);
            }
            if batch.len() >= MAX_FILES || n_bytes >= MAX_BYTES {
                self.create_files(std::mem::take(&mut batch))?;
                n_bytes = 0;
            }
        }
        self.create_files(batch)
    }

    /// Returns the missing files by content, to recognize them under another inode.
    fn missing_by_hash(&self, n_fresh: usize) -> HashMap<ContentHash, Vec<FileId>> {
        let mut gone: HashMap<ContentHash, Vec<FileId>> = HashMap::new();
        if n_fresh > 0 {
            let missing = self.pass.missing.iter().filter(|(_, absence)| absence.backup.is_none());
            for node in missing.filter_map(|(id, _)| self.context.state.get(id)) {
                if node.kind == FileKind::File && node.stamp.size > 0 {
                    gone.entry(node.hash).or_default().push(node.id.clone());
                }
            }
        }
        gone
    }

    /// Returns the missing file that came back under another name, with the same content.
    fn find_returned(
        &self,
        gone: &mut HashMap<ContentHash, Vec<FileId>>,
        path: &Path,
        kind: FileKind,
        read: &DiskFileContent,
    ) -> Option<FileId> {
        let candidates = gone.get_mut(&read.hash).filter(|_| kind == FileKind::File)?;
        candidates.retain(|id| self.pass.missing.contains_key(id));
        let same_name = |id: &FileId| {
            self.context.state.get(id).is_some_and(|node| path.file_name() == Some(&*node.name))
        };
        let at = candidates.iter().position(same_name);
        let at = at.or((candidates.len() == 1).then_some(0))?;
        Some(candidates.swap_remove(at))
    }

    /// Restores the file that was deleted at the path of a new one a moment ago, and imports the
    /// new content as an edit of it. Reports whether there was one.
    fn bring_back_deleted(
        &mut self,
        path: &Path,
        kind: FileKind,
        read: &DiskFileContent,
    ) -> Result<bool> {
        let parent = path.parent().and_then(|above| self.context.state.directory(above));
        let (Some(parent), FileKind::File) = (parent, kind) else { return Ok(false) };
        let Some(node) = self.pass.deleted.take(path) else { return Ok(false) };
        let Some(name) = self.context.work_name(parent.as_ref(), path)? else { return Ok(false) };
        let is_free =
            matches!(self.structure().name_holder(parent.as_ref(), &name)?, NameHolder::Free);
        let access = &self.context.workspace;
        if !is_free
            || self.context.state.get(&node.id).is_some()
            || access.object(&node.id)?.is_some()
            || !access.restore_object_to(&node.id, parent.as_ref(), &name)
        {
            return Ok(false);
        }
        let id = node.id.clone();
        self.context.reporter.count_workspace(|counts| counts.created += 1);
        let MirrorNode { stamp, hash, base, work, .. } = node;
        self.structure().add_node(&id, parent, path, kind, stamp, hash, base)?;
        self.context.state.update(&id, |node| node.work.version = work.version);
        self.contents().import_changed_file(&id, read.clone())?;
        Ok(true)
    }

    /// Decides about a new file: returns it if it is to be created, or matches it with an object of
    /// the workspace.
    fn match_new_file(
        &mut self,
        path: PathBuf,
        kind: FileKind,
        read: DiskFileContent,
    ) -> Result<Option<PendingFile>> {
        let parent = path.parent().and_then(|above| self.context.state.directory(above));
        let Some(parent) = parent else {
            self.pass.later.insert(path, true);
            return Ok(None);
        };
        if kind == FileKind::Symlink && std::str::from_utf8(&read.data).is_err() {
            self.context.reporter.skip(&path, NoticeReason::NotUtf8);
            return Ok(None);
        }
        let Some(mut name) = self.context.work_name(parent.as_ref(), &path)? else {
            self.context.reporter.skip(&path, NoticeReason::BadName);
            return Ok(None);
        };
        match self.structure().name_holder(parent.as_ref(), &name)? {
            NameHolder::Free => (),
            NameHolder::Stranger(there) if there.kind == kind => {
                if self.match_with_object(&there, parent.as_ref(), &path, &read)? {
                    return Ok(None);
                }
                name = self.context.workspace.free_name(parent.as_ref(), &name)?;
                let why = NoticeReason::Renamed(name.clone());
                self.context.reporter.notify_event(&path, why);
            }
            NameHolder::Leaving(other) if self.structure().must_wait_for(&other) => {
                self.pass.later.insert(path, true);
                return Ok(None);
            }
            NameHolder::Leaving(other) if !self.pass.moved.contains(&other) => {
                self.pass.trash(self.context, &other)?;
            }
            _ => name = self.context.workspace.free_name(parent.as_ref(), &name)?,
        }
        Ok(Some(PendingFile { path, parent, name, kind, read }))
    }

    /// Matches an object on disk with one that the workspace has under the same name, if both have
    /// the same content or one descends from the other. Returns whether they are one object now.
    fn match_with_object(
        &mut self,
        there: &TreeNode,
        parent: Option<&FileId>,
        path: &Path,
        read: &DiskFileContent,
    ) -> Result<bool> {
        let (id, parent) = (&there.id, parent.cloned());
        if there.kind == FileKind::Symlink {
            let is_same = there.link.as_ref().is_some_and(|text| *text.as_bytes() == *read.data);
            if is_same {
                self.context.reporter.report.n_matched += 1;
                self.structure().add_node(
                    id,
                    parent,
                    path,
                    there.kind,
                    read.stamp,
                    read.hash,
                    EditBase::Unknown,
                )?;
            }
            return Ok(is_same);
        }
        let held = match self.context.workspace.nodes().read_durable(id) {
            Ok(held) => held,
            // The content was damaged and set aside: the disk brings it back.
            Err(WorkspaceError::ContentLost(_)) => {
                let (hash, read) = (ContentHash::of(b""), read.clone());
                let base = EditBase::Unknown;
                self.structure().add_node(id, parent, path, there.kind, read.stamp, hash, base)?;
                self.contents().write_contents(vec![(id.clone(), read)])?;
                return Ok(true);
            }
            Err(error) => {
                self.pass.note_unread(self.context, id, path, &error);
                return Ok(true);
            }
        };
        let base = if held.data == read.data {
            self.context.reporter.report.n_matched += 1;
            Some(held.base)
        } else {
            // An earlier version of the file: then only the workspace changed it since.
            self.context.workspace.nodes().find_base(id, &read.data)?
        };
        if let Some(base) = base {
            let base = EditBase::Version(base);
            self.structure().add_node(id, parent, path, there.kind, read.stamp, read.hash, base)?;
            self.pass.schedule_comparison(self.context, id);
            return Ok(true);
        }
        let is_kept = self.context.options.keep_both && !self.context.former_bases.contains_key(id);
        if is_kept || !self.context.is_first {
            // Two users created different files at the same time: both stay, one under another
            // name.
            return Ok(false);
        }
        let base = match self.context.former_bases.remove(id) {
            Some(base @ EditBase::Version(_)) => base,
            _ => {
                self.context.reporter.notify_event(path, NoticeReason::Joined);
                EditBase::Unknown
            }
        };
        let hash = ContentHash::of(b"");
        self.structure().add_node(id, parent, path, there.kind, read.stamp, hash, base)?;
        self.contents().write_contents(vec![(id.clone(), read.clone())])?;
        Ok(true)
    }

    fn create_files(&mut self, batch: Vec<PendingFile>) -> Result<()> {
        let objects: Vec<NewObject> = batch.iter().map(PendingFile::object).collect();
        let made = self.context.workspace.create_objects(&objects)?;
        for (waiting, made) in batch.into_iter().zip(made) {
            let PendingFile { path, parent, kind, read, .. } = waiting;
            match made {
                Ok(id) => {
                    self.context.reporter.count_workspace(|counts| counts.created += 1);
                    let (base, version) = self.created_base(&id, kind, &read)?;
                    self.structure()
                        .add_node(&id, parent, &path, kind, read.stamp, read.hash, base)?;
                    self.contents().note_open(&id, &read, true);
                    if kind == FileKind::File {
                        // Another writer may have changed it since.
                        self.context.state.update(&id, |node| node.work.version = version);
                    }
                }
                // Another writer created the file first: the next pass compares them.
                Err(error) if error.code == FsCode::EEXIST => {
                    self.pass.retry(self.context, &path, MAX_CREATIONS);
                }
                Err(error) => {
                    self.pass.record_workspace_failure(self.context, &path, &error);
                }
            }
        }
        self.context.commit(&[])
    }

    /// Returns the version of a file that has the bytes read, as a base and as `stat` reports it.
    fn created_base(
        &self,
        id: &FileId,
        kind: FileKind,
        read: &DiskFileContent,
    ) -> Result<(EditBase, SmolStr)> {
        if kind != FileKind::File {
            return Ok((EditBase::Unknown, SmolStr::default()));
        }
        Ok(match self.context.workspace.nodes().read_durable(id) {
            Ok(held) if held.data == read.data => {
                (EditBase::Version(held.base), held.version.as_str().into())
            }
            _ => (EditBase::Bytes(read.data.to_vec().into()), SmolStr::default()),
        })
    }
}

impl PendingFile {
    fn object(&self) -> NewObject {
        let content = match self.kind {
            FileKind::Symlink => {
                NewNodeContent::Link(SmolStr::new(String::from_utf8_lossy(&self.read.data)))
            }
            _ => NewNodeContent::File(self.read.data.clone()),
        };
        let is_usual = self.kind == FileKind::Symlink || self.read.stamp.mode == DEFAULT_FILE_MODE;
        NewObject {
            path: path_in_directory(self.parent.as_ref(), &self.name),
            mode: (!is_usual).then_some(self.read.stamp.mode),
            mtime: Some(Millis(self.read.stamp.mtime_ms())),
            content,
        }
    }
}
