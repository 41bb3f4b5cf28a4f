//! A directory of the host, confined: nothing is written outside of it.
//!
//! Every component is opened relative to its parent and must be a directory, not a link. The
//! checked object is the one that is used, even if the directory changes meanwhile.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::OwnedFd,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{self, AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT},
    io::Errno,
};
use yfs_engine::time::Millis;
use yfs_vfs::DirEntry;

use crate::import::SkipReason;

/// The number of the next temporary file, so that threads use different names.
static NEXT_TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// An open directory.
#[derive(Debug)]
pub(super) struct ExportDirectory {
    root: OwnedFd,
}

/// The attributes of an object besides its content.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExportAttributes {
    mode: u32,
    mtime: Millis,
}

/// The outcome of writing a file or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileWriteOutcome {
    /// It was written.
    Written,
    /// It existed already and was equal.
    Unchanged,
}

impl ExportAttributes {
    /// Returns the attributes of an entry.
    pub(super) fn of(entry: &DirEntry) -> Self {
        Self { mode: entry.mode, mtime: entry.mtime }
    }

    fn mode(self) -> Mode {
        // Write access to a workspace must not allow making set-user-id programs here.
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

impl ExportDirectory {
    /// Opens a directory, creating it if it is missing.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let root = fs::openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { root })
    }

    /// Opens the same directory once more.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { root: self.root.try_clone()? })
    }

    /// Creates a directory; reports whether it was missing.
    pub(super) fn make_dir(&self, relative: &str) -> Result<bool, SkipReason> {
        let (dir, name) = self.open_parent(relative)?;
        match fs::mkdirat(&dir, name, Mode::from_raw_mode(0o755)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => match open_directory(&dir, name) {
                Ok(_) => Ok(false),
                Err(_) => Err(SkipReason::InTheWay),
            },
            Err(error) => Err(skip_reason(error)),
        }
    }

    /// Sets mode and time of a directory.
    pub(super) fn set_dir(
        &self,
        relative: &str,
        attributes: ExportAttributes,
    ) -> Result<(), SkipReason> {
        let (dir, name) = self.open_parent(relative)?;
        let dir = open_directory(&dir, name).map_err(skip_reason)?;
        fs::fchmod(&dir, attributes.mode()).map_err(skip_reason)?;
        fs::futimens(&dir, &attributes.times()).map_err(skip_reason)
    }

    /// Writes a file, which appears whole.
    pub(super) fn write_file(
        &self,
        relative: &str,
        data: &[u8],
        attributes: ExportAttributes,
        force: bool,
    ) -> Result<FileWriteOutcome, SkipReason> {
        let (dir, name) = self.open_parent(relative)?;
        match fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile if has_content(&dir, name, data, stat.st_size as u64) => {
                    return self
                        .set_file(&dir, name, attributes)
                        .map(|()| FileWriteOutcome::Unchanged);
                }
                FileType::Directory => return Err(SkipReason::InTheWay),
                _ if !force => return Err(SkipReason::Exists),
                _ => (),
            },
            Err(Errno::NOENT) => (),
            Err(error) => return Err(skip_reason(error)),
        }
        let temporary = temporary_name();
        let written = write_temporary(&dir, &temporary, data, attributes);
        let placed = written.and_then(|()| rename_temporary(&dir, &temporary, name, force));
        if placed.is_err() {
            // The temporary file may not exist.
            fs::unlinkat(&dir, &temporary, AtFlags::empty()).ok();
        }
        placed.map(|()| FileWriteOutcome::Written)
    }

    /// Makes a symbolic link.
    pub(super) fn write_link(
        &self,
        relative: &str,
        target: &str,
        force: bool,
    ) -> Result<FileWriteOutcome, SkipReason> {
        let (dir, name) = self.open_parent(relative)?;
        match fs::symlinkat(target, &dir, name) {
            Ok(()) => return Ok(FileWriteOutcome::Written),
            Err(Errno::EXIST) => (),
            Err(error) => return Err(skip_reason(error)),
        }
        let stat = fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).map_err(skip_reason)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let existing = fs::readlinkat(&dir, name, Vec::new()).map_err(skip_reason)?;
                if existing.to_bytes() == target.as_bytes() {
                    return Ok(FileWriteOutcome::Unchanged);
                }
            }
            FileType::Directory => return Err(SkipReason::InTheWay),
            _ => (),
        }
        if !force {
            return Err(SkipReason::Exists);
        }
        let temporary = temporary_name();
        fs::symlinkat(target, &dir, &temporary).map_err(skip_reason)?;
        rename_temporary(&dir, &temporary, name, true).map(|()| FileWriteOutcome::Written)
    }

    fn set_file(
        &self,
        dir: &OwnedFd,
        name: &str,
        attributes: ExportAttributes,
    ) -> Result<(), SkipReason> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(dir, name, flags, Mode::empty()).map_err(skip_reason)?;
        fs::fchmod(&file, attributes.mode()).map_err(skip_reason)?;
        fs::futimens(&file, &attributes.times()).map_err(skip_reason)
    }

    /// Opens the parent directory of the last component of a path.
    fn open_parent<'p>(&self, relative: &'p str) -> Result<(OwnedFd, &'p str), SkipReason> {
        let (dirs, name) = relative.rsplit_once('/').unwrap_or(("", relative));
        let mut dir =
            self.root.try_clone().map_err(|error| SkipReason::Failed(error.to_string()))?;
        for component in dirs.split('/').filter(|component| !component.is_empty()) {
            dir = open_directory(&dir, component).map_err(|error| match error {
                Errno::NOTDIR | Errno::LOOP | Errno::NOENT => SkipReason::InTheWay,
                error => skip_reason(error),
            })?;
        }
        Ok((dir, name))
    }
}

fn open_directory(dir: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(dir, name, flags, Mode::empty())
}

fn has_content(dir: &OwnedFd, name: &str, data: &[u8], size: u64) -> bool {
    if size != data.len() as u64 {
        return false;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let Ok(file) = fs::openat(dir, name, flags, Mode::empty()) else { return false };
    let mut existing = Vec::with_capacity(data.len());
    // One byte more, to detect a file that grew.
    let limit = data.len() as u64 + 1;
    File::from(file).take(limit).read_to_end(&mut existing).is_ok() && existing == data
}

fn write_temporary(
    dir: &OwnedFd,
    name: &str,
    data: &[u8],
    attributes: ExportAttributes,
) -> Result<(), SkipReason> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = fs::openat(dir, name, flags, Mode::from_raw_mode(0o600)).map_err(skip_reason)?;
    let mut file = File::from(file);
    file.write_all(data).map_err(|error| SkipReason::Failed(error.to_string()))?;
    fs::fchmod(&file, attributes.mode()).map_err(skip_reason)?;
    fs::futimens(&file, &attributes.times()).map_err(skip_reason)
}

/// Renames a temporary file; without `force`, only if the name is free.
fn rename_temporary(
    dir: &OwnedFd,
    temporary: &str,
    name: &str,
    force: bool,
) -> Result<(), SkipReason> {
    if force {
        return fs::renameat(dir, temporary, dir, name).map_err(skip_reason);
    }
    // A hard link fails on every system if the name exists; the temporary name is removed
    // afterwards.
    match fs::linkat(dir, temporary, dir, name, AtFlags::empty()) {
        Ok(()) => fs::unlinkat(dir, temporary, AtFlags::empty()).map_err(skip_reason),
        Err(Errno::EXIST) => Err(SkipReason::Exists),
        // Some filesystems have no hard links.
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => {
            fs::renameat(dir, temporary, dir, name).map_err(skip_reason)
        }
        Err(error) => Err(skip_reason(error)),
    }
}

fn temporary_name() -> String {
    let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
    format!(".yfs-export-{}-{number}", std::process::id())
}

fn skip_reason(error: Errno) -> SkipReason {
    match error {
        Errno::NAMETOOLONG | Errno::ILSEQ | Errno::INVAL => {
            SkipReason::BadName(io::Error::from(error).to_string())
        }
        error => SkipReason::Failed(io::Error::from(error).to_string()),
    }
}
