//! What passes have observed and what is due: the work list that the scanner, the importers and the
//! appliers share, and the operations that change it together with the state.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use smol_str::SmolStr;
use yfs::WorkspaceError;
use yfs_engine::{hash::ContentHash, id::FileId};
use yfs_vfs::{
    FileKind, FsError,
    confined_dir::{ConfinedDir, ConfinedRoot},
};

use super::{
    deleted_files::DeletedFiles, mirror_context::MirrorContext,
    superseded_schedule::SupersededSchedule,
};
use crate::{
    error::Result,
    layout_plan::parked_name,
    mirror_state::{DiskStamp, MirrorNode},
    options::MirrorOptions,
    report::NoticeReason,
};

/// The maximum age of a timestamp at which a further change may still get the same timestamp.
const RACY: Duration = Duration::from_millis(20);

/// The interval at which the engine requests bytes that have not arrived.
const ABSENT_RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// How often the engine checks whether a person accepted the rules of other writers.
const ACCEPTANCE_POLL: Duration = Duration::from_secs(1);

/// The number of retries after a failure.
const MAX_RETRIES: u32 = 5;

/// The observations of a pass that its later steps need, and the work that is due: in this pass,
/// or, if no step of it could do the work, in the next.
#[derive(Default)]
pub(super) struct SyncPass {
    /// The paths on disk to scan, and for each whether to scan everything below it as well.
    pub(super) disk: BTreeMap<PathBuf, bool>,
    /// The paths on disk to scan in the next pass.
    pub(super) later: BTreeMap<PathBuf, bool>,
    /// The objects of the workspace to compare with the state.
    pub(super) work: HashSet<FileId>,
    /// Whether all others are to be compared as well.
    pub(super) all_work: bool,
    /// Objects that were not at their path on disk.
    pub(super) missing: HashMap<FileId, Absence>,
    /// Files that became empty, and since when: editors truncate a file before they write it.
    pub(super) emptied: HashMap<FileId, Instant>,
    /// Objects that moved on disk, and not yet in the workspace.
    pub(super) moved: HashSet<FileId>,
    /// Objects that moved on disk to the name of an object that is missing, and that may be on its
    /// way to another name. They wait until it appears there, or counts as deleted.
    pub(super) waiting: HashSet<FileId>,
    /// Objects recorded so soon after a change that they may change again with the same timestamps.
    pub(super) racy: HashSet<FileId>,
    /// Files whose hash is known and whose bytes have not arrived, and when they were last
    /// requested.
    absent: HashMap<FileId, Instant>,
    /// Objects whose move could not be written to the workspace, as in a full store, and when that
    /// was last tried.
    pub(super) failed_moves: HashMap<FileId, Instant>,
    /// How often each object was moved out of the way since the last full scan.
    pub(super) n_parked: HashMap<FileId, u32>,
    /// Temporary files that no operation uses any more.
    pub(super) strays: Vec<PathBuf>,
    pub(super) superseded: SupersededSchedule,
    pub(super) deleted: DeletedFiles,
    /// Whether files of rules may have changed on disk.
    pub(super) has_new_rules: bool,
}

/// The absence of an object from its path on disk.
#[derive(Debug)]
pub(super) struct Absence {
    pub(super) since: Instant,
    /// Where a file is meanwhile, if an editor that is about to save it may have put it there.
    pub(super) backup: Option<PathBuf>,
}

impl Absence {
    /// Returns when the absence is no longer taken for a step of a save.
    fn end(&self, options: &MirrorOptions) -> Instant {
        let is_kept = self.backup.is_some();
        self.since + if is_kept { options.save_pause } else { options.grace }
    }
}

impl SyncPass {
    /// Notes that an object on disk may have changed.
    pub(super) fn touch_disk(&mut self, path: PathBuf, all_below: bool) {
        self.note_rules(&path);
        *self.disk.entry(path).or_default() |= all_below;
    }

    /// Reports whether an object moved on disk, and not yet in the workspace.
    pub(super) fn is_moving(&self, id: &FileId) -> bool {
        self.moved.contains(id) || self.waiting.contains(id)
    }

    /// Reports whether an object has been missing for less than the grace period, so that it may
    /// still appear elsewhere.
    pub(super) fn may_appear(&self, context: &MirrorContext, id: &FileId) -> bool {
        let absence = self.missing.get(id);
        absence.is_some_and(|absence| context.clock.now() < absence.end(&context.options))
    }

    /// Returns the objects that have been missing for so long that they count as deleted.
    pub(super) fn missing_for_good(&self, context: &MirrorContext) -> Vec<FileId> {
        let now = context.clock.now();
        let due = self.missing.iter().filter(|(_, absence)| absence.end(&context.options) <= now);
        due.map(|(id, _)| id.clone()).collect()
    }

    /// Reports whether the disk has no change that waits for a pass.
    pub(super) fn is_disk_quiet(&self) -> bool {
        self.disk.is_empty()
            && self.later.is_empty()
            && self.missing.is_empty()
            && self.emptied.is_empty()
            && self.moved.is_empty()
            && self.waiting.is_empty()
    }

    /// Reports whether no change waits for a pass.
    pub(super) fn is_quiet(&self) -> bool {
        let is_work_quiet = self.work.is_empty() && !self.all_work;
        self.is_disk_quiet() && is_work_quiet && !self.superseded.must_wait()
    }

    /// Returns when the next pass is due, if the host's watcher reports nothing.
    pub(super) fn next_due(&self, context: &MirrorContext) -> Option<Instant> {
        let options = &context.options;
        let absences = self.missing.values().map(|absence| absence.end(options));
        let waits = absences.chain(self.emptied.values().map(|since| *since + options.grace));
        let is_disk_due = !(self.disk.is_empty() && self.later.is_empty());
        let is_due = is_disk_due || self.all_work || !self.work.is_empty();
        let asked = self.absent.values().chain(self.failed_moves.values());
        let asked = asked.map(|asked| *asked + ABSENT_RETRY_INTERVAL);
        let again = is_due.then(|| Instant::now() + context.options.quiet);
        // A person may accept the rules of others.
        let is_holding = !context.directory.held.is_empty();
        let again = again.into_iter().chain(is_holding.then(|| Instant::now() + ACCEPTANCE_POLL));
        let held_back = context.open_files.next_due().chain(self.superseded.next_due());
        waits.chain(asked).chain(again).chain(held_back).min()
    }

    /// Schedules the files whose bytes had not arrived for another attempt, and the moves that
    /// could not be written.
    pub(super) fn reschedule_absent(&mut self) {
        let due = self.absent.extract_if(|_, asked| asked.elapsed() >= ABSENT_RETRY_INTERVAL);
        self.work.extend(due.map(|(id, _)| id));
        let due = self.failed_moves.extract_if(|_, tried| tried.elapsed() >= ABSENT_RETRY_INTERVAL);
        self.moved.extend(due.map(|(id, _)| id));
    }

    /// Notes why the workspace cannot return the content of a file. The file on disk stays as it
    /// is.
    pub(super) fn note_unread(
        &mut self,
        context: &mut MirrorContext,
        id: &FileId,
        path: &Path,
        error: &WorkspaceError,
    ) {
        if !context.workspace.nodes().get(id).is_ok_and(|object| object.is_some()) {
            return;
        }
        self.absent.insert(id.clone(), Instant::now());
        let why = match error.is_absent_blob() {
            true => NoticeReason::Absent,
            false => NoticeReason::Unreadable(error.to_string()),
        };
        context.reporter.skip(path, why);
    }

    /// Notes that an operation on disk failed, and schedules up to 5 retries.
    pub(super) fn record_disk_failure(
        &mut self,
        context: &mut MirrorContext,
        path: &Path,
        error: &io::Error,
    ) {
        self.retry(context, path, MAX_RETRIES);
        context.reporter.skip(path, NoticeReason::Failed(error.to_string()));
    }

    /// Notes that an operation in the workspace failed, and schedules up to 5 retries.
    pub(super) fn record_workspace_failure(
        &mut self,
        context: &mut MirrorContext,
        path: &Path,
        error: &FsError,
    ) {
        self.retry(context, path, MAX_RETRIES);
        context.reporter.skip(path, NoticeReason::Failed(error.to_string()));
    }

    /// Schedules a path for another scan, unless it has been scheduled `limit` times.
    pub(super) fn retry(&mut self, context: &mut MirrorContext, path: &Path, limit: u32) {
        if context.reporter.count_failure(path) <= limit {
            self.later.insert(path.to_owned(), true);
        }
    }

    /// Records whether a timestamp is so recent that another change may get the same.
    pub(super) fn note_racy(&mut self, id: &FileId, stamp: &DiskStamp) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let age = now.as_nanos().saturating_sub(u128::try_from(stamp.changed_ns).unwrap_or(0));
        if age < RACY.as_nanos() {
            self.racy.insert(id.clone());
        } else {
            self.racy.remove(id);
        }
    }

    /// Reports whether the object under a name has the bytes that the state records for a node.
    pub(super) fn is_recorded(
        &self,
        options: &MirrorOptions,
        dir: &ConfinedDir,
        name: &OsStr,
        node: &MirrorNode,
    ) -> io::Result<bool> {
        let Some(facts) = dir.facts(name)? else { return Ok(false) };
        let stamp = DiskStamp::of(&facts);
        let is_same = stamp.is_same_inode(&node.stamp)
            && (stamp.size, stamp.mtime_ns) == (node.stamp.size, node.stamp.mtime_ns);
        if is_same && !self.racy.contains(&node.id) {
            return Ok(true);
        }
        let data = match facts.kind {
            FileKind::Symlink => dir.read_link(name)?,
            FileKind::File => match dir.read(name, options.max_file_len) {
                Ok((data, _)) => data,
                Err(_) => return Ok(false),
            },
            _ => return Ok(false),
        };
        Ok(ContentHash::of(&data) == node.hash)
    }

    /// Schedules the workspace's content for a comparison, whatever its version.
    pub(super) fn schedule_comparison(&mut self, context: &mut MirrorContext, id: &FileId) {
        context.state.update(id, |node| node.work.version = SmolStr::default());
        self.work.insert(id.clone());
    }

    /// Handles changed rules: paths below the directory may be included or excluded now, on both
    /// sides.
    pub(super) fn reread_rules(&mut self, context: &mut MirrorContext, dir: &Path) {
        context.directory.ignores.forget(dir);
        self.disk.insert(dir.to_owned(), true);
        let Some(directory) = context.state.directory(dir) else { return };
        // What cannot be listed now is listed in the next full scan.
        let below = context.workspace.nodes().objects(directory.as_ref()).unwrap_or_default();
        self.work.extend(below.into_iter().map(|object| object.id));
    }

    /// Notes that an object is at another path on disk.
    pub(super) fn relocate(&mut self, context: &mut MirrorContext, id: &FileId, path: &Path) {
        let old = context.state.path(id);
        self.relocate_from(context, id, old, path);
    }

    /// Notes that objects are at other paths on disk, which may be those of each other.
    pub(super) fn relocate_all(
        &mut self,
        context: &mut MirrorContext,
        moves: BTreeMap<FileId, PathBuf>,
    ) {
        let with_old = |(id, path)| (context.state.path(&id), id, path);
        let moves: Vec<(PathBuf, FileId, PathBuf)> = moves.into_iter().map(with_old).collect();
        for (old, id, path) in moves {
            self.relocate_from(context, &id, old, &path);
        }
    }

    fn relocate_from(
        &mut self,
        context: &mut MirrorContext,
        id: &FileId,
        old: PathBuf,
        path: &Path,
    ) {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
        let Some(parent) = context.state.directory(above) else { return };
        context.directory.unwatch(&old);
        context.directory.ignores.forget(&old);
        context.directory.ignores.forget(path);
        context.directory.held.rename(&old, path);
        context.state.update(id, |node| (node.parent, node.name) = (parent, name.to_owned()));
        self.missing.remove(id);
        self.moved.insert(id.clone());
        // A different object may have the old path now.
        self.disk.insert(old, true);
    }

    /// Notes that an object is not at its path. It may appear elsewhere, or come back.
    ///
    /// An excluded object does not count as missing: it stays in the workspace.
    pub(super) fn note_missing(&mut self, context: &mut MirrorContext, id: FileId) {
        let is_dir = context.state.get(&id).is_some_and(|node| node.kind == FileKind::Directory);
        if context.directory.held.has_excluded(&id)
            || context.directory.is_ignored(&context.state.path(&id), is_dir)
        {
            return;
        }
        let since = context.clock.now();
        self.missing.entry(id).or_insert(Absence { since, backup: None });
    }

    /// Notes that a missing file is under the name of a backup. Reports whether it waits there for
    /// an editor that creates the file anew; if not, it was renamed.
    pub(super) fn hold_backup(
        &mut self,
        context: &mut MirrorContext,
        id: &FileId,
        path: &Path,
    ) -> bool {
        self.note_missing(context, id.clone());
        let Some(absence) = self.missing.get_mut(id) else { return false };
        absence.backup = Some(path.to_owned());
        context.clock.now() < absence.end(&context.options)
    }

    /// Schedules the scan of backups whose file was not created anew in time.
    pub(super) fn release_backups(&mut self, context: &MirrorContext) {
        let now = context.clock.now();
        let due = self.missing.values().filter(|absence| absence.end(&context.options) <= now);
        let due: Vec<PathBuf> = due.filter_map(|absence| absence.backup.clone()).collect();
        due.into_iter().for_each(|path| self.touch_disk(path, false));
        self.deleted.forget_old(now, context.options.save_pause);
    }

    /// Notes that an object is at its path. What is at the path of its backup is another object.
    pub(super) fn note_present(&mut self, id: &FileId) {
        let absence = self.missing.remove(id);
        if let Some(backup) = absence.and_then(|absence| absence.backup) {
            self.touch_disk(backup, false);
        }
    }

    /// Notes that a different object took the place of an object.
    pub(super) fn forget_location(&mut self, context: &mut MirrorContext, id: &FileId) {
        context.directory.unwatch(&context.state.path(id));
        context.state.update(id, |node| node.name = parked_name(id));
        self.note_missing(context, id.clone());
    }

    /// Forgets an object and all its content.
    pub(super) fn forget(&mut self, context: &mut MirrorContext, id: &FileId) {
        context.directory.unwatch(&context.state.path(id));
        let below = context.state.below(Some(id));
        for id in below.iter().rev().chain([id]) {
            context.state.remove(id);
            self.missing.remove(id);
            self.emptied.remove(id);
            self.moved.remove(id);
            self.waiting.remove(id);
            self.racy.remove(id);
            context.open_files.forget(id);
            context.unread.forget(id);
        }
    }

    /// Moves an object into the workspace's trash, with all its content.
    pub(super) fn trash(&mut self, context: &mut MirrorContext, id: &FileId) -> Result<()> {
        context.workspace.trash_object(id)?;
        context.reporter.count_workspace(|counts| counts.deleted += 1);
        self.forget(context, id);
        Ok(())
    }

    /// Restores a deleted object in the workspace. Returns whether it was in the trash.
    pub(super) fn restore_from_trash(
        &mut self,
        context: &mut MirrorContext,
        id: &FileId,
    ) -> Result<bool> {
        let is_restored = context.workspace.restore_object(id);
        if is_restored {
            context.reporter.count_workspace(|counts| counts.created += 1);
            if context.state.get(id).is_some() {
                context.reporter.notify_event(&context.state.path(id), NoticeReason::Restored);
            }
            let below = context.workspace.nodes().objects(Some(id))?;
            self.work.extend(below.into_iter().map(|object| object.id));
            self.work.insert(id.clone());
        }
        Ok(is_restored)
    }

    /// Renames a file whose bytes are in no version to a free name in a directory of the mirror,
    /// where the next scan finds and imports it.
    pub(super) fn rename_to_recovered(
        &mut self,
        root: &ConfinedRoot,
        dir: &ConfinedDir,
        name: &OsStr,
        above: &Path,
    ) -> io::Result<()> {
        let to = root.dir(above)?;
        for number in 1..1_000 {
            let new = format!("recovered ({number})");
            match dir.rename_new(name, &to, OsStr::new(&new)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
                renamed => {
                    self.later.insert(above.join(new), true);
                    return renamed;
                }
            }
        }
        Ok(())
    }
}
