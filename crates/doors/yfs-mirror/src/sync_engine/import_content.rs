//! Importing contents from the disk into the workspace: edits of known files.
//!
//! An edit is written with the bytes that the disk last showed as its base, so that the text that
//! others wrote meanwhile stays. Before the write the mirror records the bytes and how much it had
//! written to the document before. After a crash, recovery finds out from this record whether the
//! write was completed, and does not repeat it.

use std::{
    collections::{BTreeSet, HashSet},
    ffi::OsStr,
    io,
    path::Path,
    sync::Arc,
};

use smol_str::{SmolStr, format_smolstr};
use yfs::workspace::nodes::TreeNode;
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::{FileKind, FsError};

use super::{
    disk_file_content::DiskFileContent,
    locked::LockedFileMerger,
    mirror_context::MirrorContext,
    sync_pass::SyncPass,
    workspace_access::{DiskEdit, EditOutcome},
};
use crate::{
    error::{Result, is_absent},
    mirror_state::{DiskStamp, EditBase, MirrorNode, database::WriteIntent},
    report::NoticeReason,
};

/// The maximum number of new files that one transaction creates.
pub(super) const MAX_FILES: usize = 500;

/// The maximum number of bytes that are read before they are written.
pub(super) const MAX_BYTES: usize = 16 << 20;

/// Imports contents.
pub(super) struct ContentImporter<'a> {
    pub(super) context: &'a mut MirrorContext,
    pub(super) pass: &'a mut SyncPass,
}

impl ContentImporter<'_> {
    /// Reads a file or the target of a link. Returns none if it does not exist, or cannot be
    /// imported now.
    pub(super) fn read(&mut self, path: &Path, kind: FileKind) -> Option<DiskFileContent> {
        match self.try_read(path, kind) {
            Ok(read) => Some(read),
            Err(error) if is_absent(&error) => {
                self.pass.later.insert(path.to_owned(), true);
                None
            }
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::FBIG.raw_os_error()) => {
                let is_mirrored = self.context.state.at_path(path).is_some();
                let why = if is_mirrored { NoticeReason::Outgrown } else { NoticeReason::TooLarge };
                self.context.reporter.skip(path, why);
                None
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // A program is writing the file, so more changes follow.
                self.pass.later.insert(path.to_owned(), true);
                None
            }
            Err(error) => {
                self.pass.record_disk_failure(self.context, path, &error);
                None
            }
        }
    }

    fn try_read(&mut self, path: &Path, kind: FileKind) -> io::Result<DiskFileContent> {
        let name = path.file_name().unwrap_or(OsStr::new("."));
        let dir = self.context.directory.root.dir(path.parent().unwrap_or(Path::new("")))?;
        let (data, facts, has_writer) = match kind {
            FileKind::Symlink => {
                let text = dir.read_link(name)?;
                let facts = dir.facts(name)?.ok_or(io::ErrorKind::NotFound)?;
                (text, facts, false)
            }
            _ => {
                let file = dir.open_file(name, false)?;
                let id = self.context.state.at_path(path).map(|node| node.id.clone());
                let writers = self.context.lease_file(id.as_ref(), &file);
                let (data, facts) = self.context.read_open(id.as_ref(), &file, &writers)?;
                (data, facts, writers.is_some())
            }
        };
        let hash = ContentHash::of(&data);
        Ok(DiskFileContent { data: data.into(), hash, stamp: DiskStamp::of(&facts), has_writer })
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

    pub(super) fn import_changed_file(&mut self, id: &FileId, read: DiskFileContent) -> Result<()> {
        match self.compare_read(id, read)? {
            Some(read) => self.write_contents(vec![(id.clone(), read)]),
            None => Ok(()),
        }
    }

    /// Reads an object whose stamp changed; returns it if its bytes changed, too.
    fn read_if_changed(&mut self, id: &FileId) -> Result<Option<DiskFileContent>> {
        let Some(kind) = self.context.state.get(id).map(|node| node.kind) else { return Ok(None) };
        if self.pass.missing.contains_key(id) {
            return Ok(None);
        }
        let path = self.context.state.path(id);
        if kind == FileKind::Directory {
            if let Ok(Some(facts)) = self.context.directory.facts(&path) {
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
        let Some(node) = self.context.state.get(id) else { return Ok(None) };
        let path = self.context.state.path(id);
        if read.hash == node.hash {
            self.pass.emptied.remove(id);
            self.note_open(id, &read, false);
            self.import_attributes(id, read.stamp)?;
            return Ok(None);
        }
        if node.kind == FileKind::Symlink {
            // The target identifies a link: another target is another link.
            self.pass.trash(self.context, id)?;
            self.pass.later.insert(path, true);
            return Ok(None);
        }
        let (size, hash) = (node.stamp.size, node.hash);
        if self.is_half_written(&path, &read, size, hash) {
            let mut locked = LockedFileMerger { context: self.context, pass: self.pass };
            if locked.merge(id, false)? {
                self.context.open_files.release_path(&path);
            }
            return Ok(None);
        }
        self.note_open(id, &read, true);
        if read.data.is_empty() && size > 0 {
            let now = self.context.clock.now();
            let since = *self.pass.emptied.entry(id.clone()).or_insert(now);
            if now < since + self.context.options.grace {
                return Ok(None);
            }
        }
        self.pass.emptied.remove(id);
        Ok(Some(read))
    }

    /// Reports whether the bytes read may be an incomplete save, as in [`OpenFileTracker`].
    ///
    /// [`OpenFileTracker`]: super::open_files::OpenFileTracker
    pub(super) fn is_half_written(
        &mut self,
        path: &Path,
        read: &DiskFileContent,
        size: u64,
        hash: ContentHash,
    ) -> bool {
        let MirrorContext { open_files, options, .. } = &mut *self.context;
        open_files.is_half_written(options, path, read, size, hash)
    }

    /// Schedules further reads of a file that a program has open for writing.
    pub(super) fn note_open(&mut self, id: &FileId, read: &DiskFileContent, is_changed: bool) {
        if self.context.open_files.note_read(id, read, is_changed) {
            self.pass.racy.insert(id.clone());
        }
    }

    /// Imports permission bits and time of an object whose bytes are unchanged.
    fn import_attributes(&mut self, id: &FileId, stamp: DiskStamp) -> Result<()> {
        let Some(node) = self.context.state.get(id) else { return Ok(()) };
        let old = node.stamp;
        let is_file = node.kind == FileKind::File;
        let mode = (stamp.mode != old.mode && node.kind != FileKind::Symlink).then_some(stamp.mode);
        let mtime = (is_file && stamp.mtime_ns != old.mtime_ns).then_some(stamp.mtime_ms());
        let is_there = self.context.workspace.object(id)?.is_some();
        if is_there && let Err(error) = self.context.workspace.set_attributes(id, mode, mtime) {
            let path = self.context.state.path(id);
            self.pass.record_workspace_failure(self.context, &path, &error);
        }
        if mode.is_some() || mtime.is_some() {
            self.context.reporter.count_workspace(|counts| counts.touched += 1);
            self.pass.work.insert(id.clone());
        }
        self.context.state.update(id, |node| {
            node.stamp = stamp;
            node.work.mode = mode.unwrap_or(node.work.mode);
            node.work.mtime_ms = mtime.unwrap_or(node.work.mtime_ms);
        });
        self.pass.note_racy(id, &stamp);
        Ok(())
    }

    /// Writes contents into the workspace, after recording the intents.
    pub(super) fn write_contents(&mut self, batch: Vec<(FileId, DiskFileContent)>) -> Result<()> {
        let mut intents = Vec::new();
        let mut writable = Vec::with_capacity(batch.len());
        for (id, read) in batch {
            if std::str::from_utf8(&read.data).is_ok() {
                let written = match self.context.workspace.n_written(&id) {
                    Ok(written) => written,
                    Err(error) => {
                        // A document that cannot be read does not keep others from being written.
                        let path = self.context.state.path(&id);
                        self.pass.note_unread(self.context, &id, &path, &error);
                        continue;
                    }
                };
                let bytes: Arc<[u8]> = read.data[..].into();
                let intent = WriteIntent::Ingest { hash: read.hash, bytes, written };
                intents.push((id.clone(), intent));
            }
            writable.push((id, read));
        }
        self.context.database.record_intents(&intents)?;
        crate::crash_points::point("intended-ingest");
        let mut settled = Vec::new();
        for (id, read) in writable {
            self.write_one(&id, read)?;
            settled.push(id);
        }
        crate::crash_points::point("ingested");
        self.context.commit(&settled)
    }

    fn write_one(&mut self, id: &FileId, read: DiskFileContent) -> Result<()> {
        let Some(node) = self.context.state.get(id).cloned() else { return Ok(()) };
        let path = self.context.state.path(id);
        let before = match self.context.workspace.object(id)? {
            Some(object) => Some(object),
            None if self.pass.restore_from_trash(self.context, id)? => {
                self.context.workspace.object(id)?
            }
            None => None,
        };
        let Some(before) = before else {
            // It was purged from the trash: it is imported as a new file.
            self.pass.forget(self.context, id);
            self.pass.later.insert(path, true);
            return Ok(());
        };
        let is_known =
            before.version.as_ref().is_some_and(|token| token.as_str() == node.work.version);
        if !is_known && self.match_known_content(&node, &before, &read)? {
            return Ok(());
        }
        match self.write_bytes(&node, &read, is_known) {
            Ok(is_told) => self.record_written(&node, &path, read, is_told),
            Err(error) => {
                self.pass.schedule_comparison(self.context, id);
                self.pass.record_workspace_failure(self.context, &path, &error);
                Ok(())
            }
        }
    }

    /// Records that the disk has a version of the workspace, if that is so. Then nothing is merged.
    ///
    /// The state may be older than the disk and the workspace, which agreed on later content: after
    /// a power cut, or if its database is damaged, it lacks its last records.
    fn match_known_content(
        &mut self,
        node: &MirrorNode,
        object: &TreeNode,
        read: &DiskFileContent,
    ) -> Result<bool> {
        let access = &self.context.workspace;
        let Some(known) = access.find_known_content(&node.id, &read.data, &node.base)? else {
            return Ok(false);
        };
        self.pass.work.insert(node.id.clone());
        self.context.state.update(&node.id, |node| {
            node.hash = read.hash;
            node.base = known.base;
            node.work.version = known.version;
            // Attributes that both sides have are no change.
            let old = node.stamp;
            node.stamp = read.stamp;
            if read.stamp.mode == object.mode {
                node.work.mode = object.mode;
            } else {
                node.stamp.mode = old.mode;
            }
            if read.stamp.mtime_ms() == object.mtime.0 {
                node.work.mtime_ms = object.mtime.0;
            } else {
                node.stamp.mtime_ns = old.mtime_ns;
            }
        });
        self.import_attributes(&node.id, read.stamp)?;
        Ok(true)
    }

    /// Writes what was read from the disk. Returns whether a notice says how it was merged.
    fn write_bytes(
        &mut self,
        node: &MirrorNode,
        read: &DiskFileContent,
        is_known: bool,
    ) -> Result<bool, FsError> {
        let mode = Some(read.stamp.mode).filter(|mode| *mode != node.stamp.mode);
        let origin = self.context.unread.origin_of_save(&node.id, &read.data);
        // Each save is a version of its own, so that the content it removed can be found again,
        // however soon the next save came. Clocks of filesystems tick every few milliseconds, so
        // the label contains the hash as well as the time.
        let hash = read.hash.to_string();
        let label = format_smolstr!("save {} {}", read.stamp.mtime_ms(), &hash[..8]);
        let written = self.context.workspace.write_edit(DiskEdit {
            id: &node.id,
            data: read.data.clone(),
            base: origin.base.as_ref().unwrap_or(&node.base),
            mode,
            mtime_ms: read.stamp.mtime_ms(),
            label: label.clone(),
        })?;
        if !origin.lost.is_empty() {
            self.report_lost_words(&node.id, &label, &origin.lost);
        }
        let why = match written {
            EditOutcome::Replaced if !is_known => NoticeReason::Unmerged,
            EditOutcome::Overlapped(by) => NoticeReason::Overlapped(by),
            _ => return Ok(false),
        };
        let path = self.context.state.path(&node.id);
        self.context.reporter.notify_event(&path, why);
        Ok(true)
    }

    /// Reports that a save took out words of others, unless others wrote them again meanwhile.
    fn report_lost_words(&mut self, id: &FileId, label: &str, words: &BTreeSet<String>) {
        let Ok(held) = self.context.workspace.nodes().read_durable(id) else { return };
        let text = String::from_utf8_lossy(&held.data);
        let left: HashSet<&str> = text.split_whitespace().collect();
        let lost = words.iter().map(String::as_str).filter(|word| !left.contains(word));
        let lost: Vec<&str> = lost.collect();
        if lost.is_empty() {
            return;
        }
        let path = self.context.state.path(id);
        let why = match self.context.workspace.note_lost_words(id, label, &lost) {
            Ok(()) => NoticeReason::TookOut(lost.len()),
            Err(error) => NoticeReason::Failed(error.to_string()),
        };
        self.context.reporter.notify_event(&path, why);
    }

    /// Records the result of an edit: the disk shows the workspace's version, or bytes that were
    /// merged into it.
    fn record_written(
        &mut self,
        node: &MirrorNode,
        path: &Path,
        read: DiskFileContent,
        is_told: bool,
    ) -> Result<()> {
        let id = &node.id;
        self.context.reporter.count_workspace(|counts| counts.written += 1);
        self.context.reporter.clear_skipped(path);
        let held = self.context.workspace.nodes().read_durable(id).ok();
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
                work.version = SmolStr::default();
                if held.is_some() {
                    self.note_merged(id, path, is_told)?;
                }
                self.base_of_merged(node, &read.data)?
            }
        };
        self.pass.work.insert(id.clone());
        self.context.unread.note_saved(id, &read.data, &base);
        self.context.state.update(id, |node| {
            (node.stamp, node.hash) = (read.stamp, read.hash);
            (node.work, node.base) = (work, base);
        });
        self.pass.note_racy(id, &read.stamp);
        Ok(())
    }

    /// Counts a save that was merged with changes of others, and says so if their words meet.
    fn note_merged(&mut self, id: &FileId, path: &Path, is_told: bool) -> Result<()> {
        self.context.reporter.report.n_merged += 1;
        if is_told {
            return Ok(());
        }
        for what in self.context.workspace.describe_conflicts(id)? {
            self.context.reporter.notify_event(path, NoticeReason::Mixed(what));
        }
        Ok(())
    }

    /// Returns the base of the next save of a file whose bytes were merged: the version that has
    /// them, if there is one.
    fn base_of_merged(&self, node: &MirrorNode, data: &[u8]) -> Result<EditBase> {
        let version = match &node.base {
            EditBase::Version(earlier) => {
                self.context.workspace.nodes().find_base_after(&node.id, data, earlier)?
            }
            EditBase::Bytes(_) | EditBase::Unknown => None,
        };
        Ok(version.map_or_else(|| EditBase::Bytes(data.to_vec().into()), EditBase::Version))
    }
}
