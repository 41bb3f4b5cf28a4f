//! The root on the host's disk, and the lookup that turns a path into one name in an open
//! directory.

use std::{
    ffi::CString,
    hash::{BuildHasher, RandomState},
    io,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use parking_lot::{Mutex, RwLock};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{Mode, OFlags, ResolveFlags, Timespec, openat, openat2, readlinkat},
    io::Errno,
};
use smol_str::SmolStr;
use yfs_types::{name::MAX_NAME_LEN, path::VPath};

use super::{
    HostStat,
    inode_locks::{LOCK_TIMEOUT, LockFailure},
    names::{TEMPORARY, from_host, to_host},
    scan::ChangeScanner,
};
use crate::{
    edit::EditRefusal,
    error::{FsCode, FsError, Op},
    path_components::{NameComparison, PendingComponents},
    stat::FileKind,
};

/// The flags with which a directory is opened to act on its content.
const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The last modification time given to a file by this process, in nanoseconds. Times only increase,
/// so that no two writes of one file have the same version.
static LAST_MTIME_NS: AtomicI64 = AtomicI64::new(0);

/// The number of names given to temporary files by this process.
static N_TEMPORARIES: AtomicU64 = AtomicU64::new(0);

/// Distinguishes this process from others that have the same number, in other containers.
static PROCESS_NONCE: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

/// The root, and the state that operations share.
pub(super) struct HostDisk {
    pub(super) root: Arc<OwnedFd>,
    /// The path of the root on the host, without a slash at its end. It only resolves the targets
    /// of links; no file is opened by it.
    root_path: Vec<u8>,
    /// Whether the kernel has `openat2`, as far as it is known.
    pub(super) has_openat2: Arc<AtomicBool>,
    /// Locked exclusively by the scan for changes, and shared by operations of this filesystem
    /// that change the tree. Locked after the locks of inodes.
    pub(super) changing: Arc<RwLock<()>>,
    /// The longest time that an operation waits for the locks of inodes.
    pub(super) lock_timeout: Duration,
    pub(super) scanner: Arc<Mutex<ChangeScanner>>,
    /// Whether lookups follow links; see [`FsView::WithoutLinks`](crate::FsView).
    follows_links: bool,
    /// Whether a write changes a file with several hard links in place.
    pub(super) keeps_hard_links: bool,
}

/// The handling of a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostFinalLink {
    Follow,
    Keep,
}

/// An existing object: one name in an open directory.
#[derive(Debug, Clone)]
pub(super) struct HostEntry {
    pub(super) dir: Arc<OwnedFd>,
    /// Its name there; `.` for the root.
    pub(super) name: CString,
    /// The path without any symbolic link.
    pub(super) path: VPath,
    pub(super) facts: HostStat,
}

/// A path whose last components do not exist.
#[derive(Debug)]
pub(super) struct HostMissingPath {
    pub(super) dir: Arc<OwnedFd>,
    /// The path of `dir`, without any symbolic link.
    pub(super) path: VPath,
    /// The missing names, at least one.
    pub(super) names: Vec<SmolStr>,
}

#[derive(Debug)]
pub(super) enum HostLookup {
    There(HostEntry),
    Missing(HostMissingPath),
}

/// The reason of a failure, without the path, which the caller knows.
#[derive(Debug)]
pub(super) enum HostError {
    Code(FsCode),
    Host(Errno),
    Edit(EditRefusal),
    Locked(LockFailure),
    /// Another program changed what the operation had found. The operation begins again, so no
    /// caller gets this.
    Raced,
}

impl HostDisk {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let root_path = root.canonicalize()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = Arc::new(rustix::fs::open(&root_path, flags, Mode::empty())?);
        let bytes = root_path.as_os_str().as_bytes();
        let root_path = bytes.strip_suffix(b"/").unwrap_or(bytes).to_owned();
        Ok(Self {
            root,
            root_path,
            has_openat2: Arc::new(AtomicBool::new(true)),
            changing: Arc::default(),
            lock_timeout: LOCK_TIMEOUT,
            scanner: Arc::new(Mutex::new(ChangeScanner::new())),
            follows_links: true,
            keeps_hard_links: false,
        })
    }

    /// Returns a handle to the same directory that follows no link.
    pub(super) fn without_links(&self) -> Self {
        Self { follows_links: false, ..self.handle() }
    }

    /// Returns a handle to the same directory whose writes keep hard links.
    pub(super) fn keeping_hard_links(&self) -> Self {
        Self { keeps_hard_links: true, ..self.handle() }
    }

    fn handle(&self) -> Self {
        Self {
            root: self.root.clone(),
            root_path: self.root_path.clone(),
            has_openat2: self.has_openat2.clone(),
            changing: self.changing.clone(),
            lock_timeout: self.lock_timeout,
            scanner: self.scanner.clone(),
            follows_links: self.follows_links,
            keeps_hard_links: self.keeps_hard_links,
        }
    }

    /// Returns the object at a path, or `ENOENT`.
    pub(super) fn find(&self, path: &VPath, last: HostFinalLink) -> Result<HostEntry, HostError> {
        match self.lookup(path, last)? {
            HostLookup::There(place) => Ok(place),
            HostLookup::Missing(_) => Err(FsCode::ENOENT.into()),
        }
    }

    pub(super) fn lookup(
        &self,
        path: &VPath,
        last: HostFinalLink,
    ) -> Result<HostLookup, HostError> {
        match self.lookup_at_once(path, last)? {
            Some(found) => Ok(found),
            None => self.walk(path, last),
        }
    }

    /// Opens the parent with one kernel call, if the path has no links.
    fn lookup_at_once(
        &self,
        path: &VPath,
        last: HostFinalLink,
    ) -> Result<Option<HostLookup>, HostError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Some(HostLookup::There(self.root_place()?)));
        };
        if !self.has_openat2.load(Ordering::Relaxed) || path.as_str().contains('\\') {
            return Ok(None);
        }
        let dir = if parent.is_root() {
            self.root.clone()
        } else {
            let resolve =
                ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let relative = &parent.as_str()[1..];
            match openat2(&self.root, relative, DIRECTORY, Mode::empty(), resolve) {
                Ok(dir) => Arc::new(dir),
                Err(error) => {
                    if error == Errno::NOSYS {
                        self.has_openat2.store(false, Ordering::Relaxed);
                    }
                    // The walk finds the exact error.
                    return Ok(None);
                }
            }
        };
        check_len(name)?;
        let c_name = c_string(name.as_bytes())?;
        match HostStat::at(&dir, &c_name) {
            Ok(facts) if facts.kind == FileKind::Symlink && last == HostFinalLink::Follow => {
                Ok(None)
            }
            Ok(facts) => {
                let path = path.clone();
                Ok(Some(HostLookup::There(HostEntry { dir, name: c_name, path, facts })))
            }
            Err(Errno::NOENT) => {
                let names = vec![SmolStr::new(name)];
                Ok(Some(HostLookup::Missing(HostMissingPath { dir, path: parent, names })))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Walks from the root, one component at a time, and resolves links itself.
    fn walk(&self, path: &VPath, last: HostFinalLink) -> Result<HostLookup, HostError> {
        let mut pending = PendingComponents::new(path, NameComparison::Exact);
        let root = self.root_place()?;
        // The directories from the root to the current one, each with its open descriptor.
        let mut stack = vec![(self.root.clone(), root)];
        let mut leaf: Option<HostEntry> = None;
        while let Some(component) = pending.next() {
            if leaf.is_some() {
                return Err(FsCode::ENOTDIR.into());
            }
            let (dir, at) = stack.last().expect("the root is never left");
            match component.name.as_str() {
                "." => continue,
                // A normalized path has no `..`, so this one comes from a link that leads outside.
                ".." if stack.len() == 1 => return Err(FsCode::EACCES.into()),
                ".." => {
                    stack.pop();
                    continue;
                }
                name => check_len(name)?,
            }
            let (dir, at) = (dir.clone(), at.path.clone());
            let host_name = to_host(&component.name);
            let host_name = host_name.map(|name| c_string(&name)).transpose()?;
            let facts =
                host_name.as_ref().map_or(Err(Errno::NOENT), |name| HostStat::at(&dir, name));
            let facts = match facts {
                Err(Errno::NOENT) => {
                    let names = pending.missing(component)?;
                    return Ok(HostLookup::Missing(HostMissingPath { dir, path: at, names }));
                }
                facts => facts?,
            };
            let name = host_name.expect("there are facts, so there is a name");
            let path = at.join(&component.name);
            match facts.kind {
                FileKind::Symlink if last == HostFinalLink::Follow || !pending.is_empty() => {
                    if !self.follows_links {
                        return Err(FsCode::ELOOP.into());
                    }
                    let target = self.target(&dir, &name)?.ok_or(FsCode::EACCES)?;
                    if pending.follow(&target)? {
                        stack.truncate(1);
                    }
                }
                FileKind::Directory => {
                    let opened = Arc::new(openat(&dir, &name, DIRECTORY, Mode::empty())?);
                    stack.push((opened, HostEntry { dir, name, path, facts }));
                }
                _ => leaf = Some(HostEntry { dir, name, path, facts }),
            }
        }
        let (_, top) = stack.pop().expect("the root is never left");
        Ok(HostLookup::There(leaf.unwrap_or(top)))
    }

    fn root_place(&self) -> Result<HostEntry, HostError> {
        let facts = HostStat::at(&self.root, c".")?;
        Ok(HostEntry { dir: self.root.clone(), name: c".".into(), path: VPath::root(), facts })
    }

    /// Returns the target of a link as a path of this filesystem, or `None` if it leads outside.
    pub(super) fn target(
        &self,
        dir: &OwnedFd,
        name: &CString,
    ) -> Result<Option<String>, HostError> {
        let bytes = readlinkat(dir, name, Vec::new())?.into_bytes();
        Ok(self.target_of_host(&bytes))
    }

    fn target_of_host(&self, bytes: &[u8]) -> Option<String> {
        let show = |bytes: &[u8]| {
            let names: Vec<SmolStr> = bytes.split(|byte| *byte == b'/').map(from_host).collect();
            names.join("/")
        };
        if !bytes.starts_with(b"/") {
            return Some(show(bytes));
        }
        let rest = bytes.strip_prefix(&self.root_path[..])?;
        match rest {
            [] => Some("/".to_owned()),
            [b'/', ..] => Some(show(rest)),
            // Another directory, whose name has the name of the root as a prefix.
            _ => None,
        }
    }

    /// Returns the target that the host stores for a link of this filesystem.
    pub(super) fn target_to_host(&self, target: &str) -> Result<CString, HostError> {
        let mut bytes = if target.starts_with('/') { self.root_path.clone() } else { Vec::new() };
        let names = target.split('/').map(|name| to_host(name).unwrap_or(name.as_bytes().into()));
        bytes.extend_from_slice(&names.collect::<Vec<_>>().join(&b'/'));
        c_string(&bytes)
    }

    /// Returns the size to report: for a link, the length of its target in this filesystem.
    pub(super) fn size(
        &self,
        dir: &OwnedFd,
        name: &CString,
        facts: &HostStat,
    ) -> Result<u64, HostError> {
        if facts.kind != FileKind::Symlink {
            return Ok(facts.size);
        }
        Ok(self.target(dir, name)?.map_or(facts.size, |target| target.len() as u64))
    }
}

/// Returns a new name for a temporary file.
pub(super) fn temporary_name() -> CString {
    let number = N_TEMPORARIES.fetch_add(1, Ordering::Relaxed);
    let name = format!("{TEMPORARY}{}-{:x}-{number}", std::process::id(), *PROCESS_NONCE);
    CString::new(name).expect("no NUL in numbers")
}

/// Returns a modification time for a change made now, later than all earlier ones.
pub(super) fn next_mtime() -> Timespec {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = since_epoch.map_or(0, |elapsed| elapsed.as_nanos() as i64);
    let later = |last: i64| Some(now.max(last.saturating_add(1)));
    let order = Ordering::Relaxed;
    let last = LAST_MTIME_NS.fetch_update(order, order, later).unwrap_or(0);
    let time = now.max(last.saturating_add(1));
    Timespec { tv_sec: time / 1_000_000_000, tv_nsec: time % 1_000_000_000 }
}

impl HostEntry {
    /// Opens the object as a directory.
    pub(super) fn open_dir(&self, flags: OFlags) -> Result<OwnedFd, HostError> {
        let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.dir, &self.name, flags, Mode::empty())?)
    }
}

impl HostError {
    pub(super) fn on(self, op: Op, path: impl AsRef<str>) -> FsError {
        match self {
            Self::Code(code) => FsError::new(code, op, path),
            Self::Host(errno) => FsError::io(op, path, errno.into()),
            Self::Edit(refusal) => FsError::new(FsCode::EINVAL, op, path).caused_by(refusal),
            Self::Locked(failure) => FsError::new(FsCode::EBUSY, op, path).caused_by(failure),
            Self::Raced => {
                let failure = LockFailure::KeepsChanging;
                FsError::new(FsCode::EBUSY, op, path).caused_by(failure)
            }
        }
    }

    pub(super) fn code(&self) -> FsCode {
        match self {
            Self::Code(code) => *code,
            Self::Host(errno) => FsCode::of_errno(errno.raw_os_error()),
            Self::Edit(_) => FsCode::EINVAL,
            Self::Locked(_) | Self::Raced => FsCode::EBUSY,
        }
    }
}

impl From<FsCode> for HostError {
    fn from(code: FsCode) -> Self {
        Self::Code(code)
    }
}

impl From<Errno> for HostError {
    fn from(errno: Errno) -> Self {
        Self::Host(errno)
    }
}

impl From<io::Error> for HostError {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => Self::Host(errno),
            None => Self::Code(FsCode::of_io(&error)),
        }
    }
}

/// Opens a directory in another one, to act on its content.
pub(super) fn open_dir_at(dir: impl AsFd, name: &CString) -> Result<OwnedFd, HostError> {
    Ok(openat(dir, name, DIRECTORY, Mode::empty())?)
}

pub(super) fn c_string(bytes: &[u8]) -> Result<CString, HostError> {
    CString::new(bytes).map_err(|_| FsCode::EINVAL.into())
}

fn check_len(name: &str) -> Result<(), HostError> {
    if name.len() > MAX_NAME_LEN { Err(FsCode::ENAMETOOLONG.into()) } else { Ok(()) }
}
