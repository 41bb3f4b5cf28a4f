//! A directory of the host and everything beneath it. Lookup, step by step or by the kernel, never
//! follows a link and never leaves the directory.
//!
//! The object that is checked is the object that is used, whatever other processes do meanwhile: a
//! path only ever resolves to an open [`ConfinedDir`], and every operation acts on one name in it.
//! Names are bytes, as on the host. The mirror and the export write through it.

mod host_stat;

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Component, Path},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::{
    fd::OwnedFd,
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_OMIT,
        fchmod, fsync, futimens, linkat, mkdirat, openat, readlinkat, renameat, renameat_with,
        symlinkat, unlinkat,
    },
    io::Errno,
};
use yfs_types::time::Millis;

pub use self::host_stat::HostStat;
use crate::stat::FileKind;

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Whether lookup enters directories on which another device is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountPolicy {
    /// Lookup stays on the device of the root.
    OneDevice,
    /// Lookup enters what is mounted beneath the root.
    AllDevices,
}

/// A directory, and everything beneath it.
#[derive(Debug, Clone)]
pub struct ConfinedRoot {
    root: Arc<OwnedFd>,
    device: u64,
    mounts: MountPolicy,
    /// Whether the kernel has `openat2`, as far as it is known.
    has_openat2: Arc<AtomicBool>,
}

/// An open directory.
#[derive(Debug, Clone)]
pub struct ConfinedDir {
    fd: Arc<OwnedFd>,
}

/// The attributes of a new object, besides its content.
#[derive(Debug, Clone, Copy)]
pub struct CreationAttributes {
    /// Permission bits; the set-user-id, set-group-id and sticky bits are ignored.
    pub mode: u32,
    /// The modification time.
    pub mtime: Millis,
}

impl CreationAttributes {
    fn mode(self) -> Mode {
        // A user of a workspace must not be able to create set-user-id programs on this host.
        Mode::from_raw_mode(self.mode & 0o777)
    }

    fn times(self) -> Timestamps {
        let seconds = self.mtime.0.div_euclid(1_000);
        let nanos = self.mtime.0.rem_euclid(1_000) * 1_000_000;
        Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: seconds, tv_nsec: nanos },
        }
    }
}

impl ConfinedRoot {
    /// Opens a directory; `path` may be a link to it.
    pub fn open(path: &Path, mounts: MountPolicy) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, path, flags, Mode::empty())?;
        let device = HostStat::of(&root)?.place.0;
        let has_openat2 = Arc::new(AtomicBool::new(cfg!(target_os = "linux")));
        Ok(Self { root: Arc::new(root), device, mounts, has_openat2 })
    }

    /// Returns the directory itself.
    pub fn root(&self) -> ConfinedDir {
        ConfinedDir { fd: self.root.clone() }
    }

    /// Reports whether an object is on the same device as the directory itself.
    pub fn is_here(&self, facts: &HostStat) -> bool {
        facts.place.0 == self.device
    }

    /// Opens a directory beneath, by a path relative to this one.
    ///
    /// # Errors
    ///
    /// The error of the host; among others if a component is a link, or on another device.
    pub fn dir(&self, relative: &Path) -> io::Result<ConfinedDir> {
        if relative.as_os_str().is_empty() {
            return Ok(self.root());
        }
        if self.has_openat2.load(Ordering::Relaxed) {
            match self.open_at_once(relative) {
                Err(Errno::NOSYS) => self.has_openat2.store(false, Ordering::Relaxed),
                opened => return Ok(ConfinedDir { fd: Arc::new(opened?) }),
            }
        }
        let mut dir = self.root();
        for component in relative.components() {
            let Component::Normal(name) = component else { return Err(Errno::XDEV.into()) };
            dir = dir.enter(name)?;
            let stays = || Ok::<_, io::Error>(HostStat::of(&dir.fd)?.place.0 == self.device);
            if self.mounts == MountPolicy::OneDevice && !stays()? {
                return Err(Errno::XDEV.into());
            }
        }
        Ok(dir)
    }

    /// Opens a directory with one call of the kernel.
    #[cfg(target_os = "linux")]
    fn open_at_once(&self, relative: &Path) -> Result<OwnedFd, Errno> {
        use rustix::fs::{ResolveFlags, openat2};

        let confined =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let resolve = match self.mounts {
            MountPolicy::OneDevice => confined | ResolveFlags::NO_XDEV,
            MountPolicy::AllDevices => confined,
        };
        openat2(&self.root, relative, DIRECTORY, Mode::empty(), resolve)
    }

    #[cfg(not(target_os = "linux"))]
    fn open_at_once(&self, _relative: &Path) -> Result<OwnedFd, Errno> {
        Err(Errno::NOSYS)
    }
}

impl ConfinedDir {
    /// Opens a directory in this one; a link is an error.
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let fd = openat(&self.fd, name, DIRECTORY, Mode::empty())?;
        Ok(Self { fd: Arc::new(fd) })
    }

    /// Returns the attributes of the directory itself.
    pub fn own_facts(&self) -> io::Result<HostStat> {
        Ok(HostStat::of(&self.fd)?)
    }

    /// Returns the attributes of the object with a name, without following a link; `None` if
    /// missing.
    pub fn facts(&self, name: &OsStr) -> io::Result<Option<HostStat>> {
        match HostStat::at(&self.fd, name) {
            Ok(facts) => Ok(Some(facts)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the names in the directory, in no particular order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        // `Dir` opens a separate descriptor, because reading moves its position.
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let name = entry?.file_name().to_bytes().to_owned();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// Opens a file without following a link; `writable` opens it for writing as well.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it is not a regular file.
    pub fn open_file(&self, name: &OsStr, writable: bool) -> io::Result<File> {
        // Nonblocking, because opening a fifo that replaced the file would block the caller.
        let access = if writable { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&self.fd, name, flags, Mode::empty())?);
        match HostStat::of(&file)?.kind {
            FileKind::File => Ok(file),
            _ => Err(Errno::INVAL.into()),
        }
    }

    /// Returns the content and attributes of a file of at most `max_len` bytes.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it is not a file; `EFBIG` if it is larger; `EAGAIN` if it changed during the
    /// read.
    pub fn read(&self, name: &OsStr, max_len: u64) -> io::Result<(Vec<u8>, HostStat)> {
        read_open_file(&self.open_file(name, false)?, max_len)
    }

    /// Returns the target of a link.
    pub fn read_link(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        Ok(readlinkat(&self.fd, name, Vec::new())?.into_bytes())
    }

    /// Creates a directory.
    pub fn make_dir(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        Ok(mkdirat(&self.fd, name, Mode::from_raw_mode(mode & 0o777))?)
    }

    /// Creates a link with this target.
    pub fn make_link(&self, target: &[u8], name: &OsStr) -> io::Result<()> {
        Ok(symlinkat(OsStr::from_bytes(target), &self.fd, name)?)
    }

    /// Creates a file, whose name must be free; with `sync`, its bytes survive a power failure. If
    /// it cannot be completed, as on a full disk, it is removed again.
    pub fn make_file(
        &self,
        name: &OsStr,
        data: &[u8],
        attributes: CreationAttributes,
        sync: bool,
    ) -> io::Result<()> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::from_raw_mode(0o600))?;
        let mut file = File::from(fd);
        let mut complete = || {
            file.write_all(data)?;
            fchmod(&file, attributes.mode())?;
            futimens(&file, &attributes.times())?;
            if sync {
                fsync(&file)?;
            }
            Ok(())
        };
        let completed: io::Result<()> = complete();
        if completed.is_err() {
            // The first error is the one to report.
            self.remove_file(name).ok();
        }
        completed
    }

    /// Sets permission bits and modification time of the directory itself.
    pub fn set_own_attributes(&self, attributes: CreationAttributes) -> io::Result<()> {
        fchmod(&self.fd, attributes.mode())?;
        Ok(futimens(&self.fd, &attributes.times())?)
    }

    /// Sets permission bits and modification time of a file or directory.
    pub fn set_attributes(&self, name: &OsStr, attributes: CreationAttributes) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.fd, name, flags, Mode::empty())?;
        fchmod(&file, attributes.mode())?;
        Ok(futimens(&file, &attributes.times())?)
    }

    /// Sets the permission bits of a file or directory, and keeps its modification time.
    pub fn set_mode(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.fd, name, flags, Mode::empty())?;
        Ok(fchmod(&file, Mode::from_raw_mode(mode & 0o777))?)
    }

    /// Renames an object to a name that must be free.
    ///
    /// # Errors
    ///
    /// `EEXIST` if the name is taken.
    pub fn rename_new(&self, from: &OsStr, to_dir: &Self, to: &OsStr) -> io::Result<()> {
        match renameat_with(&self.fd, from, &to_dir.fd, to, RenameFlags::NOREPLACE) {
            // Some filesystems lack this flag; there a hard link fails if the name exists.
            Err(Errno::INVAL | Errno::NOSYS) => self.rename_by_link(from, to_dir, to),
            done => Ok(done?),
        }
    }

    fn rename_by_link(&self, from: &OsStr, to_dir: &Self, to: &OsStr) -> io::Result<()> {
        let is_dir = FileType::from_raw_mode(
            rustix::fs::statat(&self.fd, from, AtFlags::SYMLINK_NOFOLLOW)?.st_mode,
        ) == FileType::Directory;
        if !is_dir {
            linkat(&self.fd, from, &to_dir.fd, to, AtFlags::empty())?;
            return Ok(unlinkat(&self.fd, from, AtFlags::empty())?);
        }
        if to_dir.facts(to)?.is_some() {
            return Err(Errno::EXIST.into());
        }
        Ok(renameat(&self.fd, from, &to_dir.fd, to)?)
    }

    /// Exchanges two names of this directory atomically.
    ///
    /// # Errors
    ///
    /// `EINVAL` or `ENOSYS` if the filesystem does not support it; `ENOENT` if one of them is
    /// missing.
    pub fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<()> {
        Ok(renameat_with(&self.fd, one, &self.fd, other, RenameFlags::EXCHANGE)?)
    }

    /// Renames an object, and replaces an existing object with that name.
    pub fn rename_over(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.fd, from, &self.fd, to)?)
    }

    /// Removes a file or link.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes an empty directory.
    pub fn remove_dir(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Syncs the directory: earlier renames, creations and removals in it then survive a power
    /// failure.
    pub fn sync(&self) -> io::Result<()> {
        Ok(fsync(&self.fd)?)
    }
}

/// Reads an open file from its beginning, like [`ConfinedDir::read`].
///
/// # Errors
///
/// As [`ConfinedDir::read`].
pub fn read_open_file(mut file: &File, max_len: u64) -> io::Result<(Vec<u8>, HostStat)> {
    let before = HostStat::of(file)?;
    if before.size > max_len {
        return Err(Errno::FBIG.into());
    }
    file.seek(SeekFrom::Start(0))?;
    let mut data = Vec::with_capacity(usize::try_from(before.size).unwrap_or_default());
    file.take(max_len.saturating_add(1)).read_to_end(&mut data)?;
    if data.len() as u64 > max_len {
        return Err(Errno::FBIG.into());
    }
    let after = HostStat::of(file)?;
    let is_same = (before.size, before.mtime_ns) == (after.size, after.mtime_ns);
    if !is_same || after.size != data.len() as u64 {
        return Err(Errno::AGAIN.into());
    }
    Ok((data, after))
}

/// Returns the attributes of an open file.
///
/// # Errors
///
/// The error of the host.
pub fn open_file_facts(file: &File) -> io::Result<HostStat> {
    Ok(HostStat::of(file)?)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, thread};

    use super::*;

    fn open(path: &Path) -> io::Result<ConfinedRoot> {
        ConfinedRoot::open(path, MountPolicy::OneDevice)
    }

    /// A thread swaps a directory for a link that leads outside, as fast as it can.
    #[test]
    fn nothing_is_opened_through_a_link_whatever_happens_meanwhile() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "secret").unwrap();
        fs::create_dir_all(inside.path().join("real/sub")).unwrap();
        symlink(outside.path(), inside.path().join("link")).unwrap();
        let swapped = open(inside.path()).unwrap().root();
        let walked = open(inside.path()).unwrap();
        for has_openat2 in [true, false] {
            walked.has_openat2.store(has_openat2, Ordering::Relaxed);
            thread::scope(|scope| {
                let swapper = scope.spawn(|| {
                    for _ in 0..5_000 {
                        swapped.exchange(OsStr::new("real"), OsStr::new("link")).unwrap();
                    }
                });
                let attributes = CreationAttributes { mode: 0o644, mtime: Millis(0) };
                while !swapper.is_finished() {
                    let Ok(dir) = walked.dir(Path::new("real")) else { continue };
                    assert!(dir.facts(OsStr::new("secret")).unwrap().is_none(), "outside");
                    dir.make_file(OsStr::new("new"), b"new", attributes, false).unwrap();
                    dir.remove_file(OsStr::new("new")).unwrap();
                }
            });
        }
        assert!(walked.dir(Path::new("..")).is_err() && walked.dir(Path::new("/")).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_that_is_taken_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        fs::write(folder.path().join("b"), "b").unwrap();
        let dir = open(folder.path()).unwrap().root();
        let (a, b) = (OsStr::new("a"), OsStr::new("b"));
        let refused = dir.rename_new(a, &dir, b).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert!(dir.rename_by_link(a, &dir, b).is_err());
        dir.rename_by_link(a, &dir, OsStr::new("c")).unwrap();
        assert_eq!(dir.read(OsStr::new("c"), 1).unwrap().0, b"a");
        assert!(dir.read(b, 0).is_err(), "larger than asked for");
        assert!(dir.facts(a).unwrap().is_none());
    }
}
