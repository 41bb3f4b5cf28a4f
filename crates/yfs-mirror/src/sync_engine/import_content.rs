//! Importing contents from the disk into the workspace: new files, and edits of known files.
//!
//! An edit is written with the bytes that the disk last showed as its base, so that the text that
//! others wrote meanwhile stays. Before the write the mirror records the bytes and how much it had
//! written to the document before. After a crash, recovery finds out from this record whether the
//! write was completed, and does not repeat it.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use bytes::Bytes;
use smol_str::{SmolStr, format_smolstr};
use yfs::workspace::nodes::{NewNodeContent, NewObject, TreeNode};
use yfs_engine::{hash::ContentHash, id::FileId, time::Millis};
use yfs_vfs::{
    ChangeAuthor, CreateMode, FileKind, FileSystem, FsCode, FsError, WriteOptions,
    host::{HostStat, confined_dir::read_open_file},
    stat::DEFAULT_FILE_MODE,
};

use super::{
    MirrorEngine, block_on_call, crash_recovery::base_of, import_structure::NameHolder, path_by_id,
    path_in_directory,
};
use crate::{
    error::Result,
    lease::OpenWriters,
    mirror_state::{DiskStamp, EditBase, MirrorNode, database::WriteIntent},
    report::NoticeReason,
};

/// The maximum number of new files that one transaction creates.
const MAX_FILES: usize = 500;

/// The maximum number of bytes that are read before they are written.
const MAX_BYTES: usize = 16 << 20;

/// The content of a file as it was read from the disk.
pub(super) struct DiskFileContent {
    pub(super) data: Bytes,
    pub(super) hash: ContentHash,
    pub(super) stamp: DiskStamp,
    /// Whether a program had it open for writing.
    pub(super) has_writer: bool,
}

/// A new file that waits to be created in the workspace.
struct PendingFile {
    path: PathBuf,
    parent: Option<FileId>,
    name: SmolStr,
    kind: FileKind,
    read: DiskFileContent,
}

impl MirrorEngine {
    /// Reads a file or the target of a link. Returns none if it does not exist, or cannot be
    /// imported now.
    pub(super) fn read(&mut self, path: &Path, kind: FileKind) -> Option<DiskFileContent> {
        match self.try_read(path, kind) {
            Ok(read) => Some(read),
            Err(error) if super::is_absent(&error) => {
                self.later.insert(path.to_owned(), true);
                None
            }
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::FBIG.raw_os_error()) => {
                self.skip(path, NoticeReason::TooLarge);
                None
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // A program is writing the file, so more changes follow.
                self.later.insert(path.to_owned(), true);
                None
            }
            Err(error) => {
                self.record_disk_failure(path, &error);
                None
            }
        }
    }

    fn try_read(&mut self, path: &Path, kind: FileKind) -> io::Result<DiskFileContent> {
        let name = path.file_name().unwrap_or(OsStr::new("."));
        let dir = self.root.dir(path.parent().unwrap_or(Path::new("")))?;
        let (data, facts, has_writer) = match kind {
            FileKind::Symlink => {
                let text = dir.read_link(name)?;
                let facts = dir.facts(name)?.ok_or(io::ErrorKind::NotFound)?;
                (text, facts, false)
            }
            _ => {
                let file = dir.open_file(name, false)?;
                let id = self.known(path).map(|node| node.id.clone());
                let writers = self.lease_file(id.as_ref(), &file);
                let (data, facts) = self.read_open(id.as_ref(), &file, &writers)?;
                (data, facts, writers.is_some())
            }
        };
        let hash = ContentHash::of(&data);
        Ok(DiskFileContent { data: data.into(), hash, stamp: DiskStamp::of(&facts), has_writer })
    }

    /// Keeps writers out of a file if no program has it open for writing, and readers as well if
    /// the mirror watches for the file's first reader.
    pub(super) fn lease_file<'a>(&self, id: Option<&FileId>, file: &'a File) -> OpenWriters<'a> {
        match id.is_some_and(|id| self.unread.is_watched(id)) {
            true => OpenWriters::alone(file),
            false => OpenWriters::of(file),
        }
    }

    /// Reads a file, without counting as the program that first reads it.
    pub(super) fn read_open(
        &mut self,
        id: Option<&FileId>,
        file: &File,
        writers: &OpenWriters<'_>,
    ) -> io::Result<(Vec<u8>, HostStat)> {
        let max_len = self.options.max_file_len;
        let Some(id) = id.filter(|_| writers.is_alone()) else {
            return read_open_file(file, max_len);
        };
        self.unread.catch_up();
        let read = read_open_file(file, max_len);
        self.unread.ignore_own(id);
        read
    }

    /// Imports new files and links into the workspace.
    pub(super) fn import_new_files(&mut self, fresh: Vec<(PathBuf, HostStat)>) -> Result<()> {
        let mut gone = self.missing_by_hash(fresh.len());
        let mut batch: Vec<PendingFile> = Vec::new();
        let mut n_bytes = 0;
        for (path, facts) in fresh {
            if self.known(&path).is_some() {
                self.later.insert(path, true);
                continue;
            }
            let Some(read) = self.read(&path, facts.kind) else { continue };
            if self.is_half_written(&path, &read, 0, ContentHash::of(b"")) {
                continue;
            }
            if let Some(id) = self.find_returned(&mut gone, &path, facts.kind, &read) {
                self.relocate(&id, &path);
                self.import_structure(Vec::new(), Vec::new())?;
                self.import_changed_file(&id, read)?;
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
            for node in self.missing.keys().filter_map(|id| self.state.get(id)) {
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
        candidates.retain(|id| self.missing.contains_key(id));
        let same_name = |id: &FileId| {
            self.state.get(id).is_some_and(|node| path.file_name() == Some(&*node.name))
        };
        let at = candidates.iter().position(same_name);
        let at = at.or((candidates.len() == 1).then_some(0))?;
        Some(candidates.swap_remove(at))
    }

    /// Decides about a new file: returns it if it is to be created, or matches it with an object of
    /// the workspace.
    fn match_new_file(
        &mut self,
        path: PathBuf,
        kind: FileKind,
        read: DiskFileContent,
    ) -> Result<Option<PendingFile>> {
        let parent = path.parent().and_then(|above| self.state.directory(above));
        let Some(parent) = parent else {
            self.later.insert(path, true);
            return Ok(None);
        };
        if kind == FileKind::Symlink && std::str::from_utf8(&read.data).is_err() {
            self.skip(&path, NoticeReason::NotUtf8);
            return Ok(None);
        }
        let Some(mut name) = self.work_name(parent.as_ref(), &path)? else {
            self.skip(&path, NoticeReason::BadName);
            return Ok(None);
        };
        match self.name_holder(parent.as_ref(), &name)? {
            NameHolder::Free => (),
            NameHolder::Stranger(there) if there.kind == kind => {
                if self.match_with_object(&there, parent.as_ref(), &path, &read)? {
                    return Ok(None);
                }
                name = self.free_name(parent.as_ref(), &name)?;
            }
            NameHolder::Leaving(other) if !self.moved.contains(&other) => self.trash(&other)?,
            _ => name = self.free_name(parent.as_ref(), &name)?,
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
                self.report.n_matched += 1;
                self.add_node(
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
        let held = match self.workspace.nodes().read_durable(id) {
            Ok(held) => held,
            Err(error) => {
                self.note_unread(id, path, &error);
                return Ok(true);
            }
        };
        let base = if held.data == read.data {
            self.report.n_matched += 1;
            Some(held.base)
        } else {
            // An earlier version of the file: then only the workspace changed it since.
            self.workspace.nodes().find_base(id, &read.data)?
        };
        if let Some(base) = base {
            let base = EditBase::Version(base);
            self.add_node(id, parent, path, there.kind, read.stamp, read.hash, base)?;
            self.schedule_comparison(id);
            return Ok(true);
        }
        if !self.is_first {
            // Two users created different files at the same time: both stay, one under another
            // name.
            return Ok(false);
        }
        self.notify_event(path, NoticeReason::Joined);
        self.add_node(
            id,
            parent,
            path,
            there.kind,
            read.stamp,
            ContentHash::of(b""),
            EditBase::Unknown,
        )?;
        let read = DiskFileContent { data: read.data.clone(), ..*read };
        self.write_contents(vec![(id.clone(), read)])?;
        Ok(true)
    }

    /// Schedules the workspace's content for a comparison, whatever its version.
    pub(super) fn schedule_comparison(&mut self, id: &FileId) {
        self.state.update(id, |node| node.work.version = SmolStr::default());
        self.dirty_work.insert(id.clone());
    }

    fn create_files(&mut self, batch: Vec<PendingFile>) -> Result<()> {
        let objects: Vec<NewObject> = batch.iter().map(PendingFile::object).collect();
        let made = self.fs.make_many(&objects)?;
        for (waiting, made) in batch.into_iter().zip(made) {
            let PendingFile { path, parent, kind, read, .. } = waiting;
            match made {
                Ok(id) => {
                    self.n_done += 1;
                    self.report.to_workspace.created += 1;
                    let (base, version) = self.base_of(&id, kind, &read)?;
                    self.add_node(&id, parent, &path, kind, read.stamp, read.hash, base)?;
                    self.note_open(&id, &read, true);
                    if kind == FileKind::File {
                        // Another writer may have changed it since.
                        self.state.update(&id, |node| node.work.version = version);
                    }
                }
                // Another writer created the file first: the next pass compares them.
                Err(error) if error.code == FsCode::EEXIST => self.retry(&path, 20),
                Err(error) => {
                    self.record_workspace_failure(&path, &error);
                }
            }
        }
        self.commit(&[])
    }

    /// Returns the version of a file that has the bytes read, as a base and as `stat` reports it.
    fn base_of(
        &self,
        id: &FileId,
        kind: FileKind,
        read: &DiskFileContent,
    ) -> Result<(EditBase, SmolStr)> {
        if kind != FileKind::File {
            return Ok((EditBase::Unknown, SmolStr::default()));
        }
        Ok(match self.workspace.nodes().read_durable(id) {
            Ok(held) if held.data == read.data => {
                (EditBase::Version(held.base), held.version.as_str().into())
            }
            _ => (EditBase::Bytes(read.data.to_vec().into()), SmolStr::default()),
        })
    }

    /// Imports changed files into the workspace.
    pub(super) fn import_changed_files(&mut self, changed: Vec<FileId>) -> Result<()> {
        let mut batch: Vec<(FileId, DiskFileContent)> = Vec::new();
        let mut n_bytes = 0;
        for id in changed {
            if let Some(read) = self.read_if_changed(&id)? {
                n_bytes += read.data.len();
                batch.push((id, read));
            }
            if batch.len() >= MAX_FILES || n_bytes >= MAX_BYTES {
                self.write_contents(std::mem::take(&mut batch))?;
                n_bytes = 0;
            }
        }
        self.write_contents(batch)
    }

    fn import_changed_file(&mut self, id: &FileId, read: DiskFileContent) -> Result<()> {
        match self.compare_read(id, read)? {
            Some(read) => self.write_contents(vec![(id.clone(), read)]),
            None => Ok(()),
        }
    }

    /// Reads an object whose stamp changed; returns it if its bytes changed, too.
    fn read_if_changed(&mut self, id: &FileId) -> Result<Option<DiskFileContent>> {
        let Some(kind) = self.state.get(id).map(|node| node.kind) else { return Ok(None) };
        if self.missing.contains_key(id) {
            return Ok(None);
        }
        let path = self.state.path(id);
        if kind == FileKind::Directory {
            if let Ok(Some(facts)) = self.facts(&path) {
                self.import_attributes(id, DiskStamp::of(&facts))?;
            }
            return Ok(None);
        }
        match self.read(&path, kind) {
            Some(read) => self.compare_read(id, read),
            None => Ok(None),
        }
    }

    fn compare_read(
        &mut self,
        id: &FileId,
        read: DiskFileContent,
    ) -> Result<Option<DiskFileContent>> {
        let Some(node) = self.state.get(id) else { return Ok(None) };
        let path = self.state.path(id);
        if read.hash == node.hash {
            self.emptied.remove(id);
            self.note_open(id, &read, false);
            self.import_attributes(id, read.stamp)?;
            return Ok(None);
        }
        if node.kind == FileKind::Symlink {
            // The target identifies a link: another target is another link.
            self.trash(id)?;
            self.later.insert(path, true);
            return Ok(None);
        }
        let (size, hash) = (node.stamp.size, node.hash);
        if self.is_half_written(&path, &read, size, hash) {
            if self.merge_locked(id, false)? {
                self.held_back_disk.remove(&path);
            }
            return Ok(None);
        }
        self.note_open(id, &read, true);
        if read.data.is_empty() && size > 0 {
            let since = *self.emptied.entry(id.clone()).or_insert_with(Instant::now);
            if since.elapsed() < self.options.grace {
                return Ok(None);
            }
        }
        self.emptied.remove(id);
        Ok(Some(read))
    }

    /// Imports permission bits and time of an object whose bytes are unchanged.
    fn import_attributes(&mut self, id: &FileId, stamp: DiskStamp) -> Result<()> {
        let Some(node) = self.state.get(id) else { return Ok(()) };
        let old = node.stamp;
        let (is_file, path) = (node.kind == FileKind::File, path_by_id(id));
        let mode = (stamp.mode != old.mode && node.kind != FileKind::Symlink).then_some(stamp.mode);
        let mtime = (is_file && stamp.mtime_ns != old.mtime_ns).then_some(stamp.mtime_ms());
        let mut done = Ok(());
        if self.object(id)?.is_some() {
            if let Some(mode) = mode {
                done = done.and(block_on_call(self.fs.chmod(&path, mode)));
            }
            if let Some(mtime) = mtime {
                done = done.and(block_on_call(self.fs.utimes(&path, Millis(mtime))));
            }
        }
        if let Err(error) = done {
            let path = self.state.path(id);
            self.record_workspace_failure(&path, &error);
        }
        if mode.is_some() || mtime.is_some() {
            self.n_done += 1;
            self.report.to_workspace.touched += 1;
            self.dirty_work.insert(id.clone());
        }
        self.state.update(id, |node| {
            node.stamp = stamp;
            node.work.mode = mode.unwrap_or(node.work.mode);
            node.work.mtime_ms = mtime.unwrap_or(node.work.mtime_ms);
        });
        self.note_racy(id, &stamp);
        Ok(())
    }

    /// Writes contents into the workspace, after recording the intents.
    pub(super) fn write_contents(&mut self, batch: Vec<(FileId, DiskFileContent)>) -> Result<()> {
        let mut intents = Vec::new();
        let mut writable = Vec::with_capacity(batch.len());
        for (id, read) in batch {
            if std::str::from_utf8(&read.data).is_ok() {
                let written = match self.workspace.nodes().n_written_by(&id, &self.actor) {
                    Ok(written) => written,
                    Err(error) => {
                        // A document that cannot be read does not keep others from being written.
                        let path = self.state.path(&id);
                        self.note_unread(&id, &path, &error);
                        continue;
                    }
                };
                let bytes: Arc<[u8]> = read.data[..].into();
                let intent = WriteIntent::Ingest { hash: read.hash, bytes, written };
                intents.push((id.clone(), intent));
            }
            writable.push((id, read));
        }
        self.database.record_intents(&intents)?;
        crate::crash_points::point("intended-ingest");
        let mut settled = Vec::new();
        for (id, read) in writable {
            self.write_one(&id, read)?;
            settled.push(id);
        }
        crate::crash_points::point("ingested");
        self.commit(&settled)
    }

    fn write_one(&mut self, id: &FileId, read: DiskFileContent) -> Result<()> {
        let Some(node) = self.state.get(id).cloned() else { return Ok(()) };
        let path = self.state.path(id);
        let before = match self.object(id)? {
            Some(object) => Some(object),
            None if self.restore_from_trash(id)? => self.object(id)?,
            None => None,
        };
        let Some(before) = before else {
            // It was purged from the trash: it is imported as a new file.
            self.forget(id);
            self.later.insert(path, true);
            return Ok(());
        };
        let is_known =
            before.version.as_ref().is_some_and(|token| token.as_str() == node.work.version);
        match self.write_bytes(&node, &read, is_known) {
            Ok(()) => self.record_written(&node, &path, read),
            Err(error) => {
                self.schedule_comparison(id);
                self.record_workspace_failure(&path, &error);
                Ok(())
            }
        }
    }

    fn write_bytes(
        &mut self,
        node: &MirrorNode,
        read: &DiskFileContent,
        is_known: bool,
    ) -> Result<(), FsError> {
        let mode = Some(read.stamp.mode).filter(|mode| *mode != node.stamp.mode);
        // The base of a save by a program that cannot have read the current bytes is what was there
        // before.
        let unread = self.unread.base_of_save(&node.id, &read.data);
        let base = base_of(unread.as_ref().unwrap_or(&node.base));
        // Each save is a version of its own, so that the content it removed can be found again,
        // however soon the next save came. Clocks of filesystems tick every few milliseconds, so
        // the label contains the hash as well as the time.
        let hash = read.hash.to_string();
        let label = Some(format_smolstr!("save {} {}", read.stamp.mtime_ms(), &hash[..8]));
        let options = WriteOptions {
            create: CreateMode::Never,
            base,
            mode,
            mtime: Some(Millis(read.stamp.mtime_ms())),
            author: Some(ChangeAuthor { actor: self.actor.clone(), label }),
            follow: false,
            ..WriteOptions::default()
        };
        let path = path_by_id(&node.id);
        let written = block_on_call(self.fs.write(&path, read.data.clone(), &options));
        match written {
            Err(error) if error.code == FsCode::ESTALE => {
                // The content is not text, or its base cannot be found again: the workspace's
                // content stays in the versions.
                let options = WriteOptions { base: None, ..options };
                block_on_call(self.fs.write(&path, read.data.clone(), &options))?;
                if !is_known {
                    self.notify_event(&self.state.path(&node.id), NoticeReason::Unmerged);
                }
                Ok(())
            }
            written => written.map(drop),
        }
    }

    /// Records the result of an edit: the disk shows the workspace's version, or bytes that were
    /// merged into it.
    fn record_written(
        &mut self,
        node: &MirrorNode,
        path: &Path,
        read: DiskFileContent,
    ) -> Result<()> {
        let id = &node.id;
        self.unread.note_saved(id);
        self.n_done += 1;
        self.report.to_workspace.written += 1;
        self.clear_skipped(path);
        let held = self.workspace.nodes().read_durable(id).ok();
        let mut work = node.work.clone();
        work.mtime_ms = read.stamp.mtime_ms();
        if read.stamp.mode != node.stamp.mode {
            work.mode = read.stamp.mode;
        }
        let base = match held {
            Some(held) if held.data == read.data => {
                work.version = held.version.as_str().into();
                EditBase::Version(held.base)
            }
            held => {
                self.report.n_merged += u64::from(held.is_some());
                work.version = SmolStr::default();
                EditBase::Bytes(read.data.to_vec().into())
            }
        };
        self.dirty_work.insert(id.clone());
        self.state.update(id, |node| {
            (node.stamp, node.hash) = (read.stamp, read.hash);
            (node.work, node.base) = (work, base);
        });
        self.note_racy(id, &read.stamp);
        Ok(())
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
