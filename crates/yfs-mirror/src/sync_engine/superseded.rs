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
use yfs_engine::{hash::ContentHash, id::FileId, time::Millis};
use yfs_vfs::{
    ChangeAuthor, CreateMode, FileKind, FileSystem, FsCode, WriteOptions,
    host::confined_dir::{ConfinedDir, ConfinedRoot, open_file_facts, read_open_file},
};

use super::{
    MirrorEngine, block_on_call, crash_recovery::base_of, is_absent, open_files::is_extension,
    path_by_id, replace_file::MAX_COMPARED,
};
use crate::{
    error::{MirrorError, Result},
    lease::OpenWriters,
    mirror_state::{
        DiskStamp, EditBase, MirrorNode,
        database::DIR,
        superseded::{PendingEdit, SupersededFile},
    },
    report::NoticeReason,
};

/// The subdirectory of [`DIR`] with the superseded files.
pub(crate) const SUPERSEDED: &str = "superseded";

/// The minimum time that a superseded file is kept: while the mirror runs, and when it synchronizes
/// once.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_ONCE: Duration = Duration::from_millis(50);

/// The minimum time that it is kept since its last change if the host cannot report whether a
/// program has it open.
const LINGER_UNKNOWN: Duration = Duration::from_secs(10 * 60);

/// The first and the longest interval between two reads of a file that a program has open.
const POLL_FIRST: Duration = Duration::from_millis(250);
const POLL_LAST: Duration = Duration::from_secs(5);

/// The maximum rate, in bytes per second, at which files are read to find changes that raise no
/// event.
const POLL_RATE: u64 = 16 << 20;

/// The schedule of reading a file whose changes raise no event.
#[derive(Debug, Clone, Copy)]
pub(super) struct InodePoll {
    pub(super) next: Instant,
    interval: Duration,
}

/// The schedule of checking a superseded file.
#[derive(Debug, Clone)]
pub(super) struct SupersededCheck {
    /// When it lost its name, or last changed.
    since: Instant,
    poll: InodePoll,
    /// Its length and modification time when its bytes were known; none if later bytes could have
    /// the same.
    seen: Option<(u64, i64)>,
}

impl Default for InodePoll {
    fn default() -> Self {
        Self { next: Instant::now(), interval: POLL_FIRST }
    }
}

impl InodePoll {
    /// Schedules the next read: soon after a change, and less often the longer the file is
    /// unchanged.
    pub(super) fn set_next(&mut self, is_changed: bool, size: u64) {
        let by_size = Duration::from_millis(size.saturating_mul(1_000) / POLL_RATE);
        let doubled = if is_changed { POLL_FIRST } else { self.interval * 2 };
        self.interval = doubled.min(POLL_LAST).max(by_size);
        self.next = Instant::now() + self.interval;
    }
}

impl Default for SupersededCheck {
    fn default() -> Self {
        let poll = InodePoll { next: Instant::now(), interval: POLL_FIRST };
        Self { since: Instant::now(), poll, seen: None }
    }
}

impl SupersededCheck {
    /// Schedules the file for the next pass.
    pub(super) fn make_due(&mut self) {
        self.poll.next = Instant::now();
    }
}

impl MirrorEngine {
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
        dir.rename_new(name, &open_dir(&self.root)?, OsStr::new(&kept))?;
        crate::crash_points::point("superseded");
        self.state.put_superseded(&kept, SupersededFile::of(node));
        let is_known = node.stamp.size > MAX_COMPARED && !self.racy.contains(&node.id);
        let seen = is_known.then_some((node.stamp.size, node.stamp.mtime_ns));
        let poll = InodePoll { next: Instant::now() + self.linger(), interval: POLL_FIRST };
        self.superseded.insert(kept, SupersededCheck { since: Instant::now(), poll, seen });
        Ok(())
    }

    fn check_superseded_at(&mut self, name: String, next: Instant) {
        self.superseded.entry(name).or_default().poll.next = next;
    }

    fn linger(&self) -> Duration {
        if self.is_once { LINGER_ONCE } else { LINGER }
    }

    /// Notes that a superseded file may have changed.
    pub(crate) fn touch_superseded(&mut self, name: &OsStr) {
        let Some(check) = name.to_str().and_then(|name| self.superseded.get_mut(name)) else {
            return;
        };
        check.poll.next = Instant::now();
    }

    /// Returns when the next superseded file is due.
    pub(super) fn next_superseded(&self) -> Option<Instant> {
        self.superseded.values().map(|check| check.poll.next).min()
    }

    /// Reports whether a superseded file must still be checked before the mirror may end.
    pub(super) fn is_superseding(&self) -> bool {
        let since = |check: &SupersededCheck| check.since.elapsed() < LINGER_ONCE;
        self.is_once && self.superseded.values().any(since)
    }

    /// Imports what arrived in superseded files, and removes those that no program can write to.
    pub(super) fn check_superseded(&mut self) -> Result<()> {
        let now = Instant::now();
        let due = self.superseded.iter().filter(|(_, check)| check.poll.next <= now);
        let due: Vec<String> = due.map(|(name, _)| name.clone()).collect();
        for name in due {
            let dir = match open_dir(&self.root) {
                Ok(dir) => dir,
                Err(error) => {
                    self.record_disk_failure(&superseded_path(&name), &error);
                    return Ok(());
                }
            };
            if let Err(error) = self.check_superseded_file(&dir, &name)? {
                self.superseded.entry(name.clone()).or_default().poll.set_next(false, 0);
                if is_absent(&error) {
                    self.forget_superseded(&name);
                } else if error.kind() != io::ErrorKind::WouldBlock {
                    self.skip(&superseded_path(&name), NoticeReason::Failed(error.to_string()));
                }
            }
        }
        Ok(())
    }

    fn forget_superseded(&mut self, name: &str) {
        self.superseded.remove(name);
        self.state.remove_superseded(name);
        self.report.skipped.remove(&superseded_path(name));
    }

    fn check_superseded_file(&mut self, dir: &ConfinedDir, name: &str) -> Result<io::Result<()>> {
        let Some(known) = self.state.superseded().get(name).cloned() else {
            self.superseded.remove(name);
            return Ok(Ok(()));
        };
        let file = match dir.open_file(OsStr::new(name), false) {
            Ok(file) => file,
            Err(error) => return Ok(Err(error)),
        };
        let writers = OpenWriters::of(&file);
        let seen = self.superseded.get(name).and_then(|check| check.seen);
        if let (Some(seen), true) = (seen, writers.is_none()) {
            let stamp = match open_file_facts(&file) {
                Ok(facts) => DiskStamp::of(&facts),
                Err(error) => return Ok(Err(error)),
            };
            if seen == (stamp.size, stamp.mtime_ns) {
                return Ok(self.keep_superseded(dir, name, &writers, &stamp));
            }
        }
        let (data, facts) = match read_open_file(&file, self.options.max_file_len) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let (stamp, hash) = (DiskStamp::of(&facts), ContentHash::of(&data));
        if hash != known.hash {
            let is_news = !writers.is_some() || is_extension(&data, known.size, known.hash);
            if !is_news && self.must_wait(&stamp, false) {
                let next = Instant::now() + super::open_files::CHECK;
                self.check_superseded_at(name.to_owned(), next);
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
        let linger = self.linger();
        let check = self.superseded.entry(name.to_owned()).or_default();
        let kept = check.since.elapsed();
        let is_done = match writers {
            OpenWriters::None(_) => kept >= linger,
            OpenWriters::Some => false,
            OpenWriters::Unknown => kept >= LINGER_UNKNOWN,
        };
        if is_done {
            dir.remove_file(OsStr::new(name))?;
            self.note_closed(stamp);
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
        if self.object(&id)?.is_none() && !self.restore_from_trash(&id)? {
            // The object was purged from the trash: the bytes become a new file.
            let kept = self.rename_to_recovered(dir, OsStr::new(name), Path::new(""));
            match kept {
                Ok(()) => self.forget_superseded(name),
                Err(error) => self.record_disk_failure(&superseded_path(name), &error),
            }
            return Ok(());
        }
        let written = match self.workspace.nodes().n_written_by(&id, &self.actor) {
            Ok(written) => written,
            Err(error) => {
                let path = superseded_path(name);
                self.skip(&path, NoticeReason::Unreadable(error.to_string()));
                self.superseded.entry(name.to_owned()).or_default().poll.set_next(false, 0);
                return Ok(());
            }
        };
        known.edit = Some(PendingEdit { bytes: data.into(), written });
        self.state.put_superseded(name, known.clone());
        self.commit(&[])?;
        crate::crash_points::point("intended-superseded");
        let label = format_smolstr!(
            "late {} {}",
            stamp.mtime_ms(),
            &ContentHash::of(data).to_string()[..8]
        );
        let options = WriteOptions {
            create: CreateMode::Never,
            base: base_of(&known.base),
            mtime: Some(Millis(stamp.mtime_ms())),
            author: Some(ChangeAuthor { actor: self.actor.clone(), label: Some(label) }),
            follow: false,
            ..WriteOptions::default()
        };
        let path = path_by_id(&id);
        let mut done = block_on_call(self.fs.write(&path, data.to_vec().into(), &options));
        if done.as_ref().is_err_and(|error| error.code == FsCode::ESTALE) {
            // Bytes cannot be merged: the last ones written are current, the others stay in the
            // versions.
            let options = WriteOptions { base: None, ..options };
            done = block_on_call(self.fs.write(&path, data.to_vec().into(), &options));
            self.notify_event(&self.state.path(&id), NoticeReason::Unmerged);
        }
        known.edit = None;
        let check = self.superseded.entry(name.to_owned()).or_default();
        check.since = Instant::now();
        check.poll.set_next(true, stamp.size);
        match done {
            Ok(_) => {
                crate::crash_points::point("ingested-superseded");
                (known.hash, known.size) = (ContentHash::of(data), data.len() as u64);
                let held =
                    self.workspace.nodes().read_durable(&id).ok().filter(|held| held.data == data);
                known.base = held.map_or(EditBase::Bytes(data.into()), |content| {
                    EditBase::Version(content.base)
                });
                self.n_done += 1;
                self.report.to_workspace.written += 1;
                self.dirty_work.insert(id);
            }
            Err(error) => {
                let path = superseded_path(name);
                self.skip(&path, NoticeReason::Failed(error.to_string()));
            }
        }
        self.state.put_superseded(name, known);
        self.commit(&[])
    }

    /// Registers the superseded files that an earlier mirror kept, before anything else is
    /// recovered.
    pub(super) fn recover_superseded(&mut self) -> Result<()> {
        let host = |source| MirrorError::Host { action: "open", path: PathBuf::from(DIR), source };
        let dir = open_dir(&self.root).map_err(host)?;
        let names = dir.names().map_err(host)?;
        let names: Vec<String> =
            names.into_iter().filter_map(|name| name.into_string().ok()).collect();
        for name in &names {
            if self.state.superseded().contains_key(name) {
                continue;
            }
            let id = name.rsplit_once('-').and_then(|(id, _)| FileId::parse(id).ok());
            let node = id.as_ref().and_then(|id| self.state.get(id));
            match node.filter(|node| node.kind == FileKind::File).cloned() {
                // It lost its name after the state was last written.
                Some(node) => self.state.put_superseded(name, SupersededFile::of(&node)),
                None => {
                    self.rename_to_recovered(&dir, OsStr::new(name), Path::new(""))
                        .map_err(host)?;
                }
            }
        }
        let known: Vec<String> = self.state.superseded().keys().cloned().collect();
        for name in known {
            let Some(mut file) = self.state.superseded().get(&name).cloned() else { continue };
            if !names.contains(&name) {
                self.state.remove_superseded(&name);
                continue;
            }
            if let Some(edit) = file.edit.take() {
                let is_there = self.object(&file.id)?.is_some();
                let now = self.workspace.nodes().n_written_by(&file.id, &self.actor);
                if is_there && now.is_ok_and(|now| now > edit.written) {
                    (file.hash, file.size) =
                        (ContentHash::of(&edit.bytes), edit.bytes.len() as u64);
                    file.base = EditBase::Bytes(edit.bytes);
                }
                self.state.put_superseded(&name, file);
            }
            self.superseded.insert(name, SupersededCheck::default());
        }
        Ok(())
    }
}

/// Opens the directory of superseded files. Creates it if it is missing.
pub(super) fn open_dir(root: &ConfinedRoot) -> io::Result<ConfinedDir> {
    let dir = root.dir(Path::new(DIR))?;
    let name = OsStr::new(SUPERSEDED);
    match dir.enter(name) {
        Err(error) if is_absent(&error) => {
            dir.make_dir(name, 0o700)?;
            dir.enter(name)
        }
        entered => entered,
    }
}

fn superseded_path(name: &str) -> PathBuf {
    Path::new(DIR).join(SUPERSEDED).join(name)
}
