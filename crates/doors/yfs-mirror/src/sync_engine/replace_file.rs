//! Replacing the bytes of files on disk, without losing bytes that are not in the workspace.
//!
//! The mirror writes the new file beside the old one, records the intent, and exchanges the two
//! atomically, while a lease keeps writers out of the old one. It keeps the old file until no
//! program can write to it (`superseded`). It leaves a file alone that a program has open for
//! writing until the file rests (`open_files`), and writes a file in place that programs lock
//! (`locked`).

use std::{fs::File, io, path::Path};

use yfs::workspace::nodes::{DurableContent, TreeNode};
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::{
    FileKind,
    confined_dir::{ConfinedDir, CreationAttributes, open_file_facts},
};

use super::{
    locked::LockedFileMerger, mirror_context::MirrorContext, superseded::SupersededKeeper,
    sync_pass::SyncPass,
};
use crate::{
    error::{Result, is_absent},
    ignores::IgnoreRules,
    layout_plan::parked_name,
    lease::{OpenWriters, ProgramLocks},
    mirror_state::{DiskStamp, EditBase, MirrorNode, database::WriteIntent},
    unread::NewText,
};

/// The length in bytes above which a file is compared with the state by length and time, if those
/// are reliable.
pub(super) const MAX_COMPARED: u64 = 1 << 20;

/// A new file that is about to replace another.
struct PreparedReplacement {
    node: MirrorNode,
    object: TreeNode,
    dir: ConfinedDir,
    held: DurableContent,
    hash: ContentHash,
    /// The inode of the new file.
    stamp: DiskStamp,
}

/// Replaces the bytes of files on disk.
pub(super) struct FileReplacer<'a> {
    context: &'a mut MirrorContext,
    pass: &'a mut SyncPass,
    /// Temporary files that turned out not to be needed, and the objects they were made for.
    unused: Vec<(ConfinedDir, FileId)>,
}

impl<'a> FileReplacer<'a> {
    pub(super) fn new(context: &'a mut MirrorContext, pass: &'a mut SyncPass) -> Self {
        Self { context, pass, unused: Vec::new() }
    }

    /// Replaces the content of files by that in the workspace.
    pub(super) fn replace(&mut self, objects: &[TreeNode]) -> Result<()> {
        let mut prepared = Vec::with_capacity(objects.len());
        for object in objects {
            let Some(node) = self.context.state.get(&object.id).cloned() else { continue };
            let path = self.context.state.path(&object.id);
            match self.prepare(object, node, &path)? {
                Ok(Some(one)) => prepared.push(one),
                Ok(None) => (),
                Err(error) if is_absent(&error) => {
                    self.pass.later.insert(path, true);
                }
                Err(error) => self.pass.record_disk_failure(self.context, &path, &error),
            }
        }
        let intents: Vec<(FileId, WriteIntent)> =
            prepared.iter().map(PreparedReplacement::intent).collect();
        self.context.database.record_intents(&intents)?;
        crate::crash_points::point("intended-replace");
        let mut settled = Vec::with_capacity(prepared.len());
        for one in prepared {
            let path = self.context.state.path(&one.node.id);
            settled.push(one.node.id.clone());
            match self.exchange(&one, &path) {
                Ok(()) => (),
                Err(error) if is_absent(&error) => {
                    self.unused.push((one.dir, one.node.id.clone()));
                    self.pass.later.insert(path, true);
                    self.pass.work.insert(one.node.id);
                }
                Err(error) => {
                    self.unused.push((one.dir, one.node.id));
                    self.pass.record_disk_failure(self.context, &path, &error);
                }
            }
        }
        crate::crash_points::point("replaced");
        self.context.commit(&settled)?;
        // Only now: recovery takes a missing temporary file as a sign that the exchange was
        // completed.
        for (dir, id) in std::mem::take(&mut self.unused) {
            dir.remove_file(&parked_name(&id)).ok();
        }
        Ok(())
    }

    /// Creates the new file beside the old one; returns none if their bytes are equal.
    fn prepare(
        &mut self,
        object: &TreeNode,
        node: MirrorNode,
        path: &Path,
    ) -> Result<io::Result<Option<PreparedReplacement>>> {
        let held = match self.context.workspace.nodes().read_durable(&object.id) {
            Ok(held) => held,
            Err(error) => {
                self.pass.note_unread(self.context, &object.id, path, &error);
                return Ok(Ok(None));
            }
        };
        let hash = ContentHash::of(&held.data);
        if hash == node.hash {
            self.context.state.update(&object.id, |node| {
                node.work.version = held.version.as_str().into();
                node.base = EditBase::Version(held.base);
            });
            return Ok(Ok(None));
        }
        let (dir, is_free) = match self.open_replaced(&node, path) {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        if !is_free {
            let mut locked = LockedFileMerger { context: self.context, pass: self.pass };
            if locked.merge(&node.id, true)? {
                self.context.open_files.release_object(&node.id);
            }
            return Ok(Ok(None));
        }
        let mode = match node.work.mode == object.mode {
            true => node.stamp.mode,
            false => self.context.mode_for(path, object.mode, node.stamp.mode),
        };
        let attributes = CreationAttributes { mode, mtime: object.mtime };
        let sync = self.context.options.sync;
        let temporary = parked_name(&node.id);
        dir.remove_file(&temporary).ok();
        let made = dir.make_file(&temporary, &held.data, attributes, sync);
        let made = made.and_then(|()| dir.facts(&temporary)?.ok_or(io::ErrorKind::NotFound.into()));
        let object = object.clone();
        Ok(made.map(|facts| {
            let stamp = DiskStamp::of(&facts);
            Some(PreparedReplacement { node, object, dir, held, hash, stamp })
        }))
    }

    /// Opens the directory of a file, and reports whether the file may be replaced.
    fn open_replaced(&mut self, node: &MirrorNode, path: &Path) -> io::Result<(ConfinedDir, bool)> {
        let dir = self.context.directory.root.dir(path.parent().unwrap_or(Path::new("")))?;
        let old = open_known(&dir, node)?;
        let locks = ProgramLocks::try_acquire(&old, false);
        let is_free = self.may_replace(&node.id, &old, &OpenWriters::of(&old), locks.as_ref())?;
        Ok((dir, is_free))
    }

    /// Reports whether an open file may be replaced; if not, schedules another attempt.
    fn may_replace(
        &mut self,
        id: &FileId,
        old: &File,
        writers: &OpenWriters<'_>,
        locks: Option<&ProgramLocks<'_>>,
    ) -> io::Result<bool> {
        let stamp = DiskStamp::of(&open_file_facts(old)?);
        if !writers.is_some() && locks.is_some() {
            self.context.open_files.note_closed(&stamp);
            return Ok(true);
        }
        let must_wait =
            self.context.open_files.must_wait(&self.context.options, &stamp, locks.is_none());
        if must_wait {
            self.context.open_files.hold_back_object(id);
        }
        Ok(!must_wait)
    }

    fn exchange(&mut self, one: &PreparedReplacement, path: &Path) -> io::Result<()> {
        let (node, dir) = (&one.node, &one.dir);
        let (name, temporary) = (&node.name, parked_name(&node.id));
        let old = open_known(dir, node)?;
        let locks = ProgramLocks::try_acquire(&old, false);
        let writers = self.context.lease_file(Some(&node.id), &old);
        if !self.may_replace(&node.id, &old, &writers, locks.as_ref())? {
            self.unused.push((dir.clone(), node.id.clone()));
            return Ok(());
        }
        if !self.holds_recorded(one, &old, &writers)? {
            self.unused.push((dir.clone(), node.id.clone()));
            self.news_on_disk(&node.id, path);
            return Ok(());
        }
        match dir.exchange(&temporary, name) {
            Ok(()) => {
                crate::crash_points::point("exchanged");
                let there = dir.facts(&temporary)?.ok_or(io::ErrorKind::NotFound)?;
                if there.kind != FileKind::File {
                    // An object of another kind took the name in the last moment.
                    return self.change_back(one, path);
                }
                let mut keeper = SupersededKeeper { context: self.context, pass: self.pass };
                if let Err(error) = keeper.supersede(dir, &temporary, node) {
                    // The old file keeps its name, as the state says. A later pass retries.
                    self.pass.record_disk_failure(self.context, path, &error);
                    return self.change_back(one, path);
                }
            }
            // Some filesystems cannot exchange names.
            Err(error) if cannot(&error) => dir.rename_over(&temporary, name)?,
            Err(error) => return Err(error),
        }
        drop((writers, locks));
        self.finish_exchange(one, path)
    }

    /// Reports whether a file has the bytes in the state, and starts to watch for readers of the
    /// new one.
    fn holds_recorded(
        &mut self,
        one: &PreparedReplacement,
        old: &File,
        writers: &OpenWriters<'_>,
    ) -> io::Result<bool> {
        let (node, dir) = (&one.node, &one.dir);
        let facts = open_file_facts(old)?;
        if dir.facts(&node.name)?.is_none_or(|there| there.place != facts.place) {
            return Ok(false);
        }
        if facts.size > MAX_COMPARED {
            self.context.unread.forget(&node.id);
            return self.pass.is_recorded(&self.context.options, dir, &node.name, node);
        }
        // A file that changes while it is read has new content as well.
        let Ok((data, _)) = self.context.read_open(Some(&node.id), old, writers) else {
            return Ok(false);
        };
        let new = dir.open_file(&parked_name(&node.id), false)?;
        let base = EditBase::Version(one.held.base.clone());
        let text = NewText { data: &one.held.data, base, file: &new };
        self.context.unread.will_write(&node.id, (&data, &node.base), text);
        Ok(ContentHash::of(&data) == node.hash)
    }

    /// Records what is on disk after the exchange.
    fn finish_exchange(&mut self, one: &PreparedReplacement, path: &Path) -> io::Result<()> {
        let (node, dir, name) = (&one.node, &one.dir, &one.node.name);
        if self.context.options.sync {
            dir.sync()?;
        }
        let facts = dir.facts(name)?.ok_or(io::ErrorKind::NotFound)?;
        let now = DiskStamp::of(&facts);
        let is_ours = now.is_same_inode(&one.stamp)
            && (now.size, now.mtime_ns) == (one.stamp.size, one.stamp.mtime_ns);
        self.context.state.update(&node.id, |node| {
            node.stamp = if is_ours { now } else { one.stamp };
            node.hash = one.hash;
            node.base = EditBase::Version(one.held.base.clone());
            node.work.version = one.held.version.as_str().into();
            (node.work.mode, node.work.mtime_ms) = (one.object.mode, one.object.mtime.0);
        });
        if is_ours {
            self.pass.note_racy(&node.id, &now);
        } else {
            self.news_on_disk(&node.id, path);
        }
        self.context.reporter.count_directory(|counts| counts.written += 1);
        self.context.reporter.clear_skipped_unless_executable(path);
        if IgnoreRules::is_rules(name) {
            self.pass.reread_rules(self.context, path.parent().unwrap_or(Path::new("")));
        }
        Ok(())
    }

    /// Undoes an exchange with an object that is not a file.
    fn change_back(&mut self, one: &PreparedReplacement, path: &Path) -> io::Result<()> {
        let temporary = parked_name(&one.node.id);
        one.dir.exchange(&temporary, &one.node.name)?;
        let back = one.dir.facts(&temporary)?.map(|facts| DiskStamp::of(&facts));
        let is_ours = back.is_some_and(|back| {
            back.is_same_inode(&one.stamp)
                && (back.size, back.mtime_ns) == (one.stamp.size, one.stamp.mtime_ns)
        });
        if is_ours {
            self.unused.push((one.dir.clone(), one.node.id.clone()));
        } else {
            // Another program wrote to the new file while it had the name.
            self.pass.strays.push(path.with_file_name(temporary));
        }
        self.news_on_disk(&one.node.id, path);
        Ok(())
    }

    /// Schedules an object whose bytes on disk are new for import, and then for the result of the
    /// merge.
    fn news_on_disk(&mut self, id: &FileId, path: &Path) {
        self.pass.racy.insert(id.clone());
        self.pass.later.insert(path.to_owned(), true);
        self.pass.work.insert(id.clone());
    }
}

impl PreparedReplacement {
    fn intent(&self) -> (FileId, WriteIntent) {
        let intent = WriteIntent::Replace {
            temporary: parked_name(&self.node.id).to_string_lossy().into_owned(),
            hash: self.hash,
            version: self.held.version.as_str().to_owned(),
            base: self.held.base.clone(),
        };
        (self.node.id.clone(), intent)
    }
}

/// Opens the file of a node.
fn open_known(dir: &ConfinedDir, node: &MirrorNode) -> io::Result<File> {
    dir.open_file(&node.name, false).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => io::ErrorKind::NotFound.into(),
        _ => error,
    })
}

fn cannot(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
