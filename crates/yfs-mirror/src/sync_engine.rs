//! The mirror's engine: one thread that makes one pass after another, each over the objects that
//! may have changed.
//!
//! A pass scans the disk (`scan_disk`), imports changes into the workspace (`import_structure`
//! imports names and directories, `import_new_files` and `import_changed_files` import contents,
//! `import_deletions` imports deletions), and then applies the workspace to the disk
//! (`apply_to_disk`). A later pass retries what fails; `recover` completes operations that a crash
//! interrupted.

mod crash_recovery;
mod disk_applier;
mod import_content;
mod import_deletions;
mod import_structure;
mod locked;
mod open_files;
mod replace_file;
mod scanner;
mod superseded;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsStr,
    future::Future,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use smol_str::{SmolStr, format_smolstr};
use yfs::{Workspace, WorkspaceError, WorkspaceFs, workspace::nodes::TreeNode};
use yfs_engine::{actor::Actor, id::FileId, name::split_extension, path::VPath};
use yfs_vfs::{
    FileSystem, FsError, MoveOptions,
    host::{
        HostStat,
        confined_dir::{ConfinedDir, ConfinedRoot},
    },
};

pub(crate) use self::superseded::SUPERSEDED;
use self::{
    open_files::OpenFileWait,
    superseded::{InodePoll, SupersededCheck},
};
use crate::{
    error::{MirrorError, Result},
    mirror_state::{
        DiskStamp, MirrorState,
        database::{DIR, MirrorDatabase},
    },
    name_escaping::HostRules,
    options::MirrorOptions,
    report::{MirrorNotice, MirrorReport, NoticeReason},
    unread::UnreadTexts,
    watch::DirectoryWatch,
};

/// The maximum age of a timestamp at which a further change may still get the same timestamp.
const RACY: Duration = Duration::from_millis(20);

/// The interval at which the engine requests bytes that have not arrived.
const ABSENT_RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The maximum number of notices about completed events in a report.
const MAX_NOTICES: usize = 1_000;

/// A callback for notices to the owner of the directory.
pub(crate) type Notify = Box<dyn Fn(&MirrorNotice) + Send>;

/// The state of a mirror and everything that its passes use.
pub(crate) struct MirrorEngine {
    workspace: Workspace,
    fs: WorkspaceFs,
    /// The actor of changes that the mirror makes in the workspace.
    actor: Actor,
    directory: PathBuf,
    root: ConfinedRoot,
    database: MirrorDatabase,
    state: MirrorState,
    ignores: crate::ignores::IgnoreRules,
    rules: HostRules,
    options: MirrorOptions,
    /// Whether the state was empty when the mirror started.
    is_first: bool,
    pub(crate) report: MirrorReport,
    notify: Notify,
    pub(crate) watch: Option<DirectoryWatch>,
    /// The paths on disk to scan, and for each whether to scan everything below it as well.
    dirty_disk: BTreeMap<PathBuf, bool>,
    /// The paths on disk to scan in the next pass.
    later: BTreeMap<PathBuf, bool>,
    /// The objects of the workspace to compare with the state.
    dirty_work: HashSet<FileId>,
    /// Objects that were not at their path on disk, and since when.
    missing: HashMap<FileId, Instant>,
    /// Files that became empty, and since when: editors truncate a file before they write it.
    emptied: HashMap<FileId, Instant>,
    /// Files whose hash is known and whose bytes have not arrived, and when they were last
    /// requested.
    absent: HashMap<FileId, Instant>,
    /// Objects that moved on disk, and not yet in the workspace.
    moved: HashSet<FileId>,
    /// Objects recorded so soon after a change that they may change again with the same timestamps.
    racy: HashSet<FileId>,
    /// The number of failures by path. A failed operation is retried in a later pass.
    failed: HashMap<PathBuf, u32>,
    /// Temporary files that no operation uses any more.
    strays: Vec<PathBuf>,
    /// Temporary files that turned out not to be needed, and the objects they were made for.
    unused: Vec<(ConfinedDir, FileId)>,
    /// Files that programs have open for writing, by inode.
    waits: HashMap<(u64, u64), OpenFileWait>,
    /// Objects left alone for now because a program has them open for writing, and when they are
    /// checked again.
    held_back_disk: BTreeMap<PathBuf, Instant>,
    held_back_work: HashMap<FileId, Instant>,
    /// Files that were read while a program had them open for writing.
    open_files: HashMap<FileId, InodePoll>,
    /// When superseded files are checked, by name.
    superseded: HashMap<String, SupersededCheck>,
    /// Texts that no program has read yet.
    unread: UnreadTexts,
    /// Whether the mirror synchronizes both sides once and then ends.
    pub(crate) is_once: bool,
    /// The number of changes made on either side.
    n_done: u64,
}

/// The result of a pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassOutcome {
    /// When the next pass is due if no message arrives.
    pub(crate) next: Option<Instant>,
    /// Whether the pass changed either side.
    pub(crate) did: bool,
}

impl MirrorEngine {
    /// Opens a directory for a workspace. Nothing is scanned yet.
    pub(crate) fn open(
        workspace: &Workspace,
        directory: &Path,
        options: MirrorOptions,
        notify: Notify,
    ) -> Result<Self> {
        let host =
            |source| MirrorError::Host { action: "open", path: directory.to_owned(), source };
        std::fs::create_dir_all(directory).map_err(host)?;
        let directory = directory.canonicalize().map_err(host)?;
        let (database, state) = MirrorDatabase::open(&directory, workspace.id())?;
        let root = ConfinedRoot::open(&directory).map_err(host)?;
        superseded::open_dir(&root).map_err(host)?;
        let rules = match options.host {
            Some(rules) => rules,
            None => probe_host_rules(&root).map_err(host)?,
        };
        let actor = match options.actor.name.is_empty() {
            true => Actor::new(options.actor.kind, &database.actor_name()?),
            false => options.actor.clone(),
        };
        let is_first = state.is_empty();
        Ok(Self {
            workspace: workspace.clone(),
            fs: workspace.fs_for(actor.clone()),
            actor,
            directory,
            root,
            database,
            state,
            ignores: crate::ignores::IgnoreRules::default(),
            rules,
            options,
            is_first,
            report: MirrorReport::default(),
            notify,
            watch: None,
            dirty_disk: BTreeMap::new(),
            later: BTreeMap::new(),
            dirty_work: HashSet::new(),
            missing: HashMap::new(),
            emptied: HashMap::new(),
            absent: HashMap::new(),
            moved: HashSet::new(),
            racy: HashSet::new(),
            failed: HashMap::new(),
            strays: Vec::new(),
            unused: Vec::new(),
            waits: HashMap::new(),
            held_back_disk: BTreeMap::new(),
            held_back_work: HashMap::new(),
            open_files: HashMap::new(),
            superseded: HashMap::new(),
            unread: UnreadTexts::new(),
            is_once: false,
            n_done: 0,
        })
    }

    /// Returns the directory as an absolute path without links.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Notes that an object on disk may have changed.
    pub(crate) fn touch_disk(&mut self, path: PathBuf, all_below: bool) {
        *self.dirty_disk.entry(path).or_default() |= all_below;
    }

    /// Notes that an object in the workspace may have changed.
    pub(crate) fn touch_work(&mut self, id: FileId) {
        self.dirty_work.insert(id);
    }

    /// Notes that everything may have changed.
    pub(crate) fn touch_all(&mut self) -> Result<()> {
        self.ignores.forget(Path::new(""));
        // The next pass records the failures that persist.
        self.report.skipped.retain(|_, why| !matches!(why, NoticeReason::Failed(_)));
        self.touch_disk(PathBuf::new(), true);
        self.dirty_work
            .extend(self.workspace.nodes().objects(None)?.into_iter().map(|object| object.id));
        self.dirty_work.extend(self.state.nodes().map(|node| node.id.clone()));
        self.racy.extend(std::mem::take(&mut self.emptied).into_keys());
        // Files that were superseded a moment ago may have changed, too.
        self.superseded.values_mut().for_each(SupersededCheck::make_due);
        Ok(())
    }

    /// Reports whether no change waits for a pass.
    pub(crate) fn is_quiet(&self) -> bool {
        self.dirty_disk.is_empty()
            && self.later.is_empty()
            && self.dirty_work.is_empty()
            && self.missing.is_empty()
            && self.emptied.is_empty()
            && self.moved.is_empty()
            && self.held_back_disk.is_empty()
            && self.held_back_work.is_empty()
            && !self.is_superseding()
    }

    /// Makes a pass: scans the objects that may have changed, and synchronizes both sides.
    pub(crate) fn pass(&mut self) -> Result<PassOutcome> {
        let before = self.n_done;
        self.check_root()?;
        self.reschedule_absent();
        self.check_superseded()?;
        let seen = self.scan_disk()?;
        self.clean_up_strays()?;
        self.import_structure(seen.directories, seen.arrived)?;
        self.import_new_files(seen.fresh)?;
        self.import_changed_files(seen.changed)?;
        self.import_deletions()?;
        self.commit(&[])?;
        self.apply_to_disk()?;
        self.commit(&[])?;
        let soon = |since: &Instant| *since + self.options.grace;
        let waits = self.missing.values().chain(self.emptied.values()).map(soon);
        let is_due =
            !(self.dirty_disk.is_empty() && self.later.is_empty() && self.dirty_work.is_empty());
        let asked = self.absent.values().map(|asked| *asked + ABSENT_RETRY_INTERVAL);
        let again = is_due.then(|| Instant::now() + self.options.quiet);
        let held_back = self.next_of_open_files().chain(self.next_superseded());
        let next = waits.chain(asked).chain(again).chain(held_back).min();
        Ok(PassOutcome { next, did: self.n_done != before })
    }

    /// Schedules the files whose bytes had not arrived for another attempt.
    fn reschedule_absent(&mut self) {
        let due: Vec<FileId> = self
            .absent
            .iter()
            .filter(|(_, asked)| asked.elapsed() >= ABSENT_RETRY_INTERVAL)
            .map(|(id, _)| id.clone())
            .collect();
        for id in due {
            self.absent.remove(&id);
            self.dirty_work.insert(id);
        }
    }

    /// Notes why the workspace cannot return the content of a file. The file on disk stays as it
    /// is.
    fn note_unread(&mut self, id: &FileId, path: &Path, error: &WorkspaceError) {
        if !self.workspace.nodes().get(id).is_ok_and(|object| object.is_some()) {
            return;
        }
        self.absent.insert(id.clone(), Instant::now());
        let why = match error.is_absent_blob() {
            true => NoticeReason::Absent,
            false => NoticeReason::Unreadable(error.to_string()),
        };
        self.skip(path, why);
    }

    fn commit(&mut self, settled: &[FileId]) -> Result<()> {
        self.database.commit(&mut self.state, settled)
    }

    /// Fails if the whole directory was unmounted or deleted: its files do not count as missing
    /// then.
    fn check_root(&self) -> Result<()> {
        let marker = self.root.root().facts(OsStr::new(DIR));
        match marker {
            Ok(Some(_)) => Ok(()),
            _ => Err(MirrorError::Gone(self.directory.clone())),
        }
    }

    /// Records why an object is skipped, and notifies the subscribers once per reason.
    fn skip(&mut self, path: &Path, why: NoticeReason) {
        if self.report.skipped.get(path) != Some(&why) {
            (self.notify)(&MirrorNotice { path: path.to_owned(), why: why.clone() });
            self.report.skipped.insert(path.to_owned(), why);
        }
    }

    /// Notifies the subscribers of a completed event.
    fn notify_event(&mut self, path: &Path, why: NoticeReason) {
        let notice = MirrorNotice { path: path.to_owned(), why };
        (self.notify)(&notice);
        if self.report.notices.len() < MAX_NOTICES {
            self.report.notices.push(notice);
        }
    }

    fn clear_skipped(&mut self, path: &Path) {
        self.report.skipped.remove(path);
        self.failed.remove(path);
    }

    /// Notes that an operation on disk failed, and schedules up to 5 retries.
    fn record_disk_failure(&mut self, path: &Path, error: &std::io::Error) {
        self.retry(path, 5);
        self.skip(path, NoticeReason::Failed(error.to_string()));
    }

    /// Returns the object with an id in the workspace.
    fn object(&self, id: &FileId) -> Result<Option<TreeNode>> {
        Ok(self.workspace.nodes().get(id)?)
    }

    /// Records whether a timestamp is so recent that another change may get the same.
    fn note_racy(&mut self, id: &FileId, stamp: &DiskStamp) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let age = now.as_nanos().saturating_sub(u128::try_from(stamp.changed_ns).unwrap_or(0));
        if age < RACY.as_nanos() {
            self.racy.insert(id.clone());
        } else {
            self.racy.remove(id);
        }
    }

    /// Moves an object in the workspace to a name that is free there.
    fn move_in_workspace(
        &mut self,
        id: &FileId,
        parent: Option<&FileId>,
        name: &str,
    ) -> Result<(), FsError> {
        let options = MoveOptions { replace: false, parents: false };
        block_on_call(self.fs.mv(&path_by_id(id), &path_in_directory(parent, name), &options))
    }

    /// Returns a numbered variant of a name that is free in a directory of the workspace.
    fn free_name(&self, parent: Option<&FileId>, name: &str) -> Result<SmolStr> {
        let (base, extension) = split_extension(name);
        for number in 1.. {
            let name = format_smolstr!("{base} ({number}){extension}");
            if self.workspace.nodes().child(parent, &name)?.is_none() {
                return Ok(name);
            }
        }
        Ok(name.into())
    }

    /// Restores a deleted object in the workspace. Returns whether it was in the trash.
    fn restore_from_trash(&mut self, id: &FileId) -> Result<bool> {
        let revived = self.workspace.trash().restore(id, None).is_ok();
        if revived {
            self.n_done += 1;
            self.report.to_workspace.created += 1;
            self.dirty_work.extend(
                self.workspace.nodes().objects(Some(id))?.into_iter().map(|object| object.id),
            );
            self.dirty_work.insert(id.clone());
        }
        Ok(revived)
    }

    /// Returns the host's metadata of a path, or none if the path or a directory above it does not
    /// exist.
    fn facts(&self, path: &Path) -> std::io::Result<Option<HostStat>> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return self.root.root().own_facts().map(Some);
        };
        let found = self.root.dir(dir).and_then(|dir| dir.facts(name));
        match found {
            Err(error) if is_absent(&error) => Ok(None),
            found => found,
        }
    }
}

/// Reports whether an error means that an object does not exist, or has become another kind of
/// object.
fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    let is_loop = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) || is_loop
}

/// Waits for a call on the workspace, which completes at once.
fn block_on_call<T>(call: impl Future<Output = T>) -> T {
    futures::executor::block_on(call)
}

/// Returns the path of an object by its id, independent of its name.
fn path_by_id(id: &FileId) -> VPath {
    VPath::parse(&format!("/.id/{id}")).expect("ids are names")
}

/// Returns the path of a name in a directory.
fn path_in_directory(parent: Option<&FileId>, name: &str) -> VPath {
    parent.map_or_else(VPath::root, path_by_id).join(name)
}

/// Determines which names the host can store.
fn probe_host_rules(root: &ConfinedRoot) -> std::io::Result<HostRules> {
    let dir = root.dir(Path::new(DIR))?;
    let upper = dir.facts(OsStr::new("MIRROR.LOCK"))?;
    let mark = OsStr::new("mirror-\u{e9}");
    let attributes =
        yfs_vfs::host::confined_dir::CreationAttributes { mode: 0o600, mtime: Default::default() };
    dir.remove_file(mark).ok();
    dir.make_file(mark, b"", attributes, false)?;
    let twin = dir.facts(OsStr::new("mirror-e\u{301}"));
    dir.remove_file(mark)?;
    let (folds_case, folds_unicode) = (upper.is_some(), twin?.is_some());
    Ok(HostRules { folds_case, folds_unicode, windows: false })
}
