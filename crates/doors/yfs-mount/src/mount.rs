//! A mounted workspace, from its beginning to its end.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, mpsc},
    thread,
    time::Duration,
};

use fuser::{BackgroundSession, Config, MountOption, Notifier, Session, SessionACL};
use rustix::mount::{UnmountFlags, unmount};
use thiserror::Error;
use yfs::{Workspace, WorkspaceFs};
use yfs_types::{id::FileId, path::VPath};
use yfs_vfs::Op;

use crate::{
    filesystem::KernelCalls,
    handles::Handles,
    invalidation::{self, Notice},
    node_table::NodeTable,
    node_times::NodeTimes,
    options::MountOptions,
    read_log::ReadLog,
};

/// How often the writes of programs that keep their files open are looked through.
const TICK: Duration = Duration::from_millis(100);

/// A workspace that is mounted at a directory. It is unmounted when this is dropped.
#[derive(Debug)]
pub struct Mount {
    session: Option<BackgroundSession>,
    tree: Arc<MountedTree>,
    directory: PathBuf,
}

/// A workspace cannot be mounted or unmounted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MountError {
    /// `/dev/fuse` is missing, or may not be opened.
    #[error("FUSE is not available here: {0}")]
    NoFuse(#[source] io::Error),
    /// The host refuses to mount or unmount.
    #[error("{}: {source}", directory.display())]
    Host {
        /// The directory.
        directory: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// What the answers to all calls of the kernel are made of.
#[derive(Debug)]
pub(crate) struct MountedTree {
    pub(crate) fs: WorkspaceFs,
    pub(crate) options: MountOptions,
    pub(crate) nodes: NodeTable,
    pub(crate) times: NodeTimes,
    pub(crate) handles: Handles,
    pub(crate) read_log: ReadLog,
    pub(crate) notices: mpsc::Sender<Notice>,
    pub(crate) kernel: OnceLock<Notifier>,
    /// Wakes the thread that applies the writes of programs that keep their files open.
    pending: mpsc::SyncSender<()>,
}

impl Mount {
    /// Mounts a workspace at a directory, which must exist.
    ///
    /// # Errors
    ///
    /// If there is no FUSE, or the host refuses: only root, and users for whom `fusermount3` is
    /// installed, may mount.
    pub fn new(
        workspace: &Workspace,
        directory: &Path,
        options: MountOptions,
    ) -> Result<Self, MountError> {
        let device = Path::new("/dev/fuse");
        if let Err(error) = std::fs::metadata(device) {
            return Err(MountError::NoFuse(error));
        }
        let host = |source| MountError::Host { directory: directory.to_owned(), source };
        let (notices, to_pass) = mpsc::channel();
        let (pending, woken) = mpsc::sync_channel(1);
        let tree = Arc::new(MountedTree {
            fs: workspace.fs_for(options.actor.clone()),
            nodes: NodeTable::default(),
            times: NodeTimes::default(),
            handles: Handles::default(),
            read_log: ReadLog::default(),
            kernel: OnceLock::new(),
            options,
            notices,
            pending,
        });
        let config = config(&tree.options);
        let calls = KernelCalls { tree: tree.clone() };
        let session = Session::new(calls, directory, &config).map_err(host)?;
        let session = session.spawn().map_err(host)?;
        tree.kernel.set(session.notifier()).ok();
        invalidation::spawn_notifier(session.notifier(), to_pass);
        invalidation::spawn_follower(&tree);
        spawn_quiet_writer(&tree, woken);
        Ok(Self { session: Some(session), tree, directory: directory.to_owned() })
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reports whether the directory was unmounted by others.
    pub fn has_ended(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.guard.is_finished())
    }

    /// Unmounts the workspace. What programs have written is applied first. If a program still
    /// uses the directory, the directory goes away at once, and what the program has open fails
    /// from then on.
    ///
    /// # Errors
    ///
    /// If the host fails.
    pub fn unmount(mut self) -> Result<(), MountError> {
        self.end().map_err(|source| MountError::Host { directory: self.directory.clone(), source })
    }

    fn end(&mut self) -> io::Result<()> {
        self.apply_all();
        let Some(session) = self.session.take() else { return Ok(()) };
        match session.umount_and_join() {
            // A process that another thread has just started has the files open until it runs its
            // program, so this is no fault of a caller.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                Ok(unmount(&self.directory, UnmountFlags::DETACH)?)
            }
            ended => ended,
        }
    }

    fn apply_all(&self) {
        for file in self.tree.handles.files() {
            self.tree.apply_or_rescue(&mut file.lock());
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // There is no caller to get the error.
        self.end().ok();
    }
}

impl MountedTree {
    /// Returns the workspace.
    pub(crate) fn workspace(&self) -> Workspace {
        self.fs.workspace()
    }

    /// Returns the id that stands for the root in lists.
    pub(crate) fn workspace_root(&self) -> FileId {
        self.fs
            .entry(&VPath::root(), Op::Stat)
            .map_or_else(|_| FileId::from_bytes([0; 16]), |(entry, _)| entry.id)
    }

    /// Tells the thread of pending writes that there are some.
    pub(crate) fn note_pending(&self) {
        // If it is full, the thread is about to run.
        self.pending.try_send(()).ok();
    }
}

fn config(options: &MountOptions) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(options.source.clone()),
        MountOption::Subtype("yfs".to_owned()),
        MountOption::DefaultPermissions,
        MountOption::NoDev,
        MountOption::NoSuid,
    ];
    if options.is_read_only {
        config.mount_options.push(MountOption::RO);
    }
    config.acl = if options.allows_others { SessionACL::All } else { SessionACL::Owner };
    config.n_threads = Some(options.n_threads.max(2));
    config.clone_fd = true;
    config
}

/// Starts the thread that applies what programs wrote that keep their files open and have paused.
fn spawn_quiet_writer(tree: &Arc<MountedTree>, woken: mpsc::Receiver<()>) {
    let weak = Arc::downgrade(tree);
    let run = move || {
        while woken.recv().is_ok() {
            let mut is_pending = true;
            while is_pending {
                thread::sleep(TICK);
                let Some(tree) = weak.upgrade() else { return };
                is_pending = tree.apply_due();
            }
        }
    };
    let builder = thread::Builder::new().name("yfs-mount-apply".to_owned());
    builder.spawn(run).expect("the system has room for a thread");
}

impl MountedTree {
    /// Applies what is due, and reports whether anything is pending still.
    fn apply_due(&self) -> bool {
        let now = std::time::Instant::now();
        let mut is_pending = false;
        for file in self.handles.files() {
            let mut state = file.lock();
            if state.is_due(now) {
                // If it fails, the program gets the error when it closes the file.
                self.apply(&mut state).ok();
            }
            is_pending |= state.pending_size().is_some();
        }
        is_pending
    }
}
