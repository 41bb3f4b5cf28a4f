//! Keeping inodes that lost their name to a newer one until no program can write to them, and
//! importing what still arrives there.
//!
//! A shell that opened a file for `>>` before the mirror replaced it appends to the old inode. So
//! the mirror moves the old inode to `.yfs/superseded`, and the state gets a row with the content
//! that it had. Different content is an edit of that, and merges. The mirror removes the inode once
//! no process has it open for writing and 1 s (50 ms if it synchronizes once) has passed, in which
//! any `open` under way must have ended. An inode that a crash left behind is found by its name,
//! which begins with the id of its object.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use smol_str::format_smolstr;
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::{
    FileKind, FsError,
    confined_dir::{ConfinedDir, open_file_facts, read_open_file},
};

use super::{
    mirror_context::MirrorContext,
    open_files::{CHECK, is_extension},
    replace_file::MAX_COMPARED,
    superseded_directory::{open_dir, superseded_path},
    sync_pass::SyncPass,
    workspace_access::{DiskEdit, EditOutcome},
};
use crate::{
    error::{MirrorError, Result, is_absent},
    lease::OpenWriters,
    mirror_state::{
        DiskStamp, EditBase, MirrorNode,
        database::DIR,
        superseded::{PendingEdit, SupersededFile},
    },
    report::NoticeReason,
};

/// The minimum time that it is kept since its last change if the host cannot report whether a
/// program has it open.
const LINGER_UNKNOWN: Duration = Duration::from_secs(10 * 60);

/// Keeps inodes that lost their name, and imports what arrives there.
pub(super) struct SupersededKeeper<'a> {
    pub(super) context: &'a mut MirrorContext,
    pub(super) pass: &'a mut SyncPass,
}

impl SupersededKeeper<'_> {
    /// Moves a file, which a node had until now, from its directory to the superseded files.
    ///
    /// # Errors
    ///
    /// The error of the host; the file then stays where it is.
    pub(super) fn supersede(
        &mut self,
        dir: &ConfinedDir,
        name: &OsStr,
        node: &MirrorNode,
    ) -> io::Result<()> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let kept = format!("{}-{:x}", node.id, since.as_nanos());
        dir.rename_new(name, &open_dir(&self.context.directory.root)?, OsStr::new(&kept))?;
        crate::crash_points::point("superseded");
        self.context.state.put_superseded(&kept, SupersededFile::of(node));
        let is_known = node.stamp.size > MAX_COMPARED && !self.pass.racy.contains(&node.id);
        let seen = is_known.then_some((node.stamp.size, node.stamp.mtime_ns));
        self.pass.superseded.add(kept, seen);
        Ok(())
    }

    /// Imports what arrived in superseded files, and removes those that no program can write to.
    pub(super) fn check_superseded(&mut self) -> Result<()> {
        for name in self.pass.superseded.due() {
            let dir = match open_dir(&self.context.directory.root) {
                Ok(dir) => dir,
                Err(error) => {
                    self.pass.record_disk_failure(self.context, &superseded_path(&name), &error);
                    return Ok(());
                }
            };
            if let Err(error) = self.check_superseded_file(&dir, &name)? {
                self.pass.superseded.check_of(&name).poll.set_next(false, 0);
                if is_absent(&error) {
                    self.forget_superseded(&name);
                } else if error.kind() != io::ErrorKind::WouldBlock {
                    self.context
                        .reporter
                        .skip(&superseded_path(&name), NoticeReason::Failed(error.to_string()));
                }
            }
        }
        Ok(())
    }

    fn forget_superseded(&mut self, name: &str) {
        self.pass.superseded.checks.remove(name);
        self.context.state.remove_superseded(name);
        self.context.reporter.report.skipped.remove(&superseded_path(name));
    }

    fn check_superseded_file(&mut self, dir: &ConfinedDir, name: &str) -> Result<io::Result<()>> {
        let Some(known) = self.context.state.superseded().get(name).cloned() else {
            self.pass.superseded.checks.remove(name);
            return Ok(Ok(()));
        };
        let file = match dir.open_file(OsStr::new(name), false) {
            Ok(file) => file,
            Err(error) => return Ok(Err(error)),
        };
        let writers = OpenWriters::of(&file);
        let seen = self.pass.superseded.checks.get(name).and_then(|check| check.seen);
        if let (Some(seen), true) = (seen, writers.is_none()) {
            let stamp = match open_file_facts(&file) {
                Ok(facts) => DiskStamp::of(&facts),
                Err(error) => return Ok(Err(error)),
            };
            if seen == (stamp.size, stamp.mtime_ns) {
                return Ok(self.keep_superseded(dir, name, &writers, &stamp));
            }
        }
        let (data, facts) = match read_open_file(&file, self.context.options.max_file_len) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let (stamp, hash) = (DiskStamp::of(&facts), ContentHash::of(&data));
        if hash != known.hash {
            let is_news = !writers.is_some() || is_extension(&data, known.size, known.hash);
            if !is_news && self.context.open_files.must_wait(&self.context.options, &stamp, false) {
                let next = Instant::now() + CHECK;
                self.pass.superseded.check_of(name).poll.next = next;
                return Ok(Ok(()));
            }
            drop(writers);
            return self.write_superseded(dir, name, known, &data, &stamp).map(Ok);
        }
        Ok(self.keep_superseded(dir, name, &writers, &stamp))
    }

    /// Removes a superseded file whose bytes are known if no program can write to it; otherwise
    /// schedules another check.
    fn keep_superseded(
        &mut self,
        dir: &ConfinedDir,
        name: &str,
        writers: &OpenWriters<'_>,
        stamp: &DiskStamp,
    ) -> io::Result<()> {
        let linger = self.pass.superseded.linger();
        let check = self.pass.superseded.check_of(name);
        let kept = check.since.elapsed();
        let is_done = match writers {
            OpenWriters::None(_) => kept >= linger,
            OpenWriters::Some => false,
            OpenWriters::Unknown => kept >= LINGER_UNKNOWN,
        };
        if is_done {
            dir.remove_file(OsStr::new(name))?;
            self.context.open_files.note_closed(stamp);
            self.forget_superseded(name);
        } else if writers.is_none() {
            check.poll.next = check.since + linger;
        } else {
            check.poll.set_next(false, stamp.size);
        }
        Ok(())
    }

    /// Writes the content of a superseded file into the workspace, as an edit of its known content.
    fn write_superseded(
        &mut self,
        dir: &ConfinedDir,
        name: &str,
        mut known: SupersededFile,
        data: &[u8],
        stamp: &DiskStamp,
    ) -> Result<()> {
        let id = known.id.clone();
        if self.context.workspace.object(&id)?.is_none()
            && !self.pass.restore_from_trash(self.context, &id)?
        {
            // The object was purged from the trash: the bytes become a new file.
            let kept = self.pass.rename_to_recovered(
                &self.context.directory.root,
                dir,
                OsStr::new(name),
                Path::new(""),
            );
            match kept {
                Ok(()) => self.forget_superseded(name),
                Err(error) => {
                    self.pass.record_disk_failure(self.context, &superseded_path(name), &error);
                }
            }
            return Ok(());
        }
        let access = &self.context.workspace;
        if let Some(content) = access.find_known_content(&id, data, &known.base)? {
            // The state was older than the file: it is no edit.
            (known.hash, known.size) = (ContentHash::of(data), data.len() as u64);
            known.base = content.base;
            self.pass.superseded.check_of(name).poll.set_next(true, stamp.size);
            self.context.state.put_superseded(name, known);
            return self.context.commit(&[]);
        }
        let written = match self.context.workspace.n_written(&id) {
            Ok(written) => written,
            Err(error) => {
                let path = superseded_path(name);
                self.context.reporter.skip(&path, NoticeReason::Unreadable(error.to_string()));
                self.pass.superseded.check_of(name).poll.set_next(false, 0);
                return Ok(());
            }
        };
        known.edit = Some(PendingEdit { bytes: data.into(), written });
        self.context.state.put_superseded(name, known.clone());
        self.context.commit(&[])?;
        crate::crash_points::point("intended-superseded");
        let done = self.write_late_edit(&known, data, stamp);
        known.edit = None;
        let check = self.pass.superseded.check_of(name);
        check.since = Instant::now();
        check.poll.set_next(true, stamp.size);
        match done {
            Ok(()) => {
                crate::crash_points::point("ingested-superseded");
                (known.hash, known.size) = (ContentHash::of(data), data.len() as u64);
                let held = self.context.workspace.nodes().read_durable(&id).ok();
                let held = held.filter(|held| held.data == data);
                known.base = held.map_or(EditBase::Bytes(data.into()), |content| {
                    EditBase::Version(content.base)
                });
                self.context.reporter.count_workspace(|counts| counts.written += 1);
                self.pass.work.insert(id);
            }
            Err(error) => {
                let path = superseded_path(name);
                self.context.reporter.skip(&path, NoticeReason::Failed(error.to_string()));
            }
        }
        self.context.state.put_superseded(name, known);
        self.context.commit(&[])
    }

    /// Writes bytes that arrived in a superseded file into the workspace.
    fn write_late_edit(
        &mut self,
        known: &SupersededFile,
        data: &[u8],
        stamp: &DiskStamp,
    ) -> Result<(), FsError> {
        let hash = ContentHash::of(data).to_string();
        let written = self.context.workspace.write_edit(DiskEdit {
            id: &known.id,
            data: data.to_vec().into(),
            base: &known.base,
            mode: None,
            mtime_ms: stamp.mtime_ms(),
            label: format_smolstr!("late {} {}", stamp.mtime_ms(), &hash[..8]),
        })?;
        if written == EditOutcome::Replaced {
            let path = self.context.state.path(&known.id);
            self.context.reporter.notify_event(&path, NoticeReason::Unmerged);
        }
        Ok(())
    }

    /// Registers a superseded file that the state does not know, if its content is a version of the
    /// object. Reports whether it is.
    fn register_known(
        &mut self,
        dir: &ConfinedDir,
        name: &str,
        id: Option<&FileId>,
    ) -> Result<bool> {
        let Some(id) = id else { return Ok(false) };
        if self.context.workspace.object(id)?.is_none() {
            return Ok(false);
        }
        let Ok((data, _)) = dir.read(OsStr::new(name), self.context.options.max_file_len) else {
            return Ok(false);
        };
        let Some(base) = self.context.workspace.nodes().find_base(id, &data)? else {
            return Ok(false);
        };
        let file = SupersededFile {
            id: id.clone(),
            size: data.len() as u64,
            hash: ContentHash::of(&data),
            base: EditBase::Version(base),
            edit: None,
        };
        self.context.state.put_superseded(name, file);
        Ok(true)
    }

    /// Registers the superseded files that an earlier mirror kept, before anything else is
    /// recovered.
    pub(super) fn recover_superseded(&mut self) -> Result<()> {
        let host = |source| MirrorError::Host { action: "open", path: PathBuf::from(DIR), source };
        let dir = open_dir(&self.context.directory.root).map_err(host)?;
        let names = dir.names().map_err(host)?;
        let names: Vec<String> =
            names.into_iter().filter_map(|name| name.into_string().ok()).collect();
        for name in &names {
            if self.context.state.superseded().contains_key(name) {
                continue;
            }
            let id = name.rsplit_once('-').and_then(|(id, _)| FileId::parse(id).ok());
            let node = id.as_ref().and_then(|id| self.context.state.get(id));
            match node.filter(|node| node.kind == FileKind::File).cloned() {
                // It lost its name after the state was last written.
                Some(node) => self.context.state.put_superseded(name, SupersededFile::of(&node)),
                None if self.register_known(&dir, name, id.as_ref())? => {}
                None => {
                    self.pass
                        .rename_to_recovered(
                            &self.context.directory.root,
                            &dir,
                            OsStr::new(name),
                            Path::new(""),
                        )
                        .map_err(host)?;
                }
            }
        }
        let known: Vec<String> = self.context.state.superseded().keys().cloned().collect();
        for name in known {
            let Some(mut file) = self.context.state.superseded().get(&name).cloned() else {
                continue;
            };
            if !names.contains(&name) {
                self.context.state.remove_superseded(&name);
                continue;
            }
            if let Some(edit) = file.edit.take() {
                let is_there = self.context.workspace.still_has(&file.id)?;
                let now = self.context.workspace.n_written(&file.id);
                if is_there && now.is_ok_and(|now| now > edit.written) {
                    (file.hash, file.size) =
                        (ContentHash::of(&edit.bytes), edit.bytes.len() as u64);
                    file.base = EditBase::Bytes(edit.bytes);
                }
                self.context.state.put_superseded(&name, file);
            }
            self.pass.superseded.check_of(&name);
        }
        Ok(())
    }
}
