//! Creating, removing and moving on the host's disk.

use std::{ffi::CString, sync::Arc};

use rustix::{
    fd::{AsRawFd, OwnedFd},
    fs::{
        AtFlags, CWD, Dir, Mode, OFlags, chmodat, openat, renameat, symlinkat, unlinkat, utimensat,
    },
    io::Errno,
};
use yfs_types::{path::VPath, time::Millis};

use super::{
    HostStat,
    host_lookup::{
        HostDisk, HostEntry, HostError, HostFinalLink, HostLookup, HostMissingPath, open_dir_at,
        temporary_name,
    },
    inode_locks::HeldLocks,
    write::{forget, make_dir_at, make_parents, mtime_only, raced_if_gone, rename_new, timespec},
};
use crate::{
    error::FsCode,
    options::{MkdirOptions, MoveOptions, RemoveOptions},
    path_components::check_target,
    stat::{DEFAULT_DIRECTORY_MODE, FileKind},
};

/// How often removing a directory begins again because other programs create files in it.
const MAX_REMOVALS: usize = 1_000;

impl HostDisk {
    pub(super) fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), HostError> {
        self.retrying(|| {
            let (found, _held) = self.lookup_locked(path, HostFinalLink::Keep)?;
            let missing = match found {
                HostLookup::There(_) if options.recursive => {
                    let there = self.find(path, HostFinalLink::Follow);
                    let there = there.is_ok_and(|place| place.facts.kind == FileKind::Directory);
                    return if there { Ok(()) } else { Err(FsCode::EEXIST.into()) };
                }
                HostLookup::There(_) => return Err(FsCode::EEXIST.into()),
                HostLookup::Missing(missing) => missing,
            };
            let spot = make_parents(missing, options.recursive)?;
            let mode = options.mode.map_or(DEFAULT_DIRECTORY_MODE, |mode| mode & 0o7777);
            let made = match make_dir_at(&spot.dir, &spot.name, mode) {
                Err(HostError::Host(Errno::EXIST)) if options.recursive => Err(HostError::Raced),
                made => made.map_err(raced_if_gone),
            };
            spot.keep_if(made)
        })
    }

    pub(super) fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), HostError> {
        if path.is_root() {
            return Err(FsCode::EBUSY.into());
        }
        let (place, held) = match self.find_locked(path, HostFinalLink::Keep) {
            Err(fail)
                if options.force && matches!(fail.code(), FsCode::ENOENT | FsCode::ENOTDIR) =>
            {
                return Ok(());
            }
            found => found?,
        };
        match place.facts.kind {
            FileKind::Directory if options.recursive => remove_tree(&place, held),
            FileKind::Directory => Ok(unlinkat(&place.dir, &place.name, AtFlags::REMOVEDIR)?),
            _ => Ok(unlinkat(&place.dir, &place.name, AtFlags::empty())?),
        }
    }

    pub(super) fn mv(
        &self,
        from: &VPath,
        to: &VPath,
        options: &MoveOptions,
    ) -> Result<(), HostError> {
        if from.is_root() || to.is_root() {
            return Err(FsCode::EBUSY.into());
        }
        self.retrying(|| {
            let (source, found, _held) = self.lookup_move_locked(from, to)?;
            match found {
                HostLookup::There(dest) => self.move_over(&source, &dest, options),
                HostLookup::Missing(missing) => move_to(&source, missing, options),
            }
        })
    }

    fn move_over(
        &self,
        source: &HostEntry,
        dest: &HostEntry,
        options: &MoveOptions,
    ) -> Result<(), HostError> {
        if dest.path == source.path {
            return Ok(());
        }
        self.check_replace(source, dest, options.replace)?;
        if source.facts.place == dest.facts.place {
            // Two names of one file: POSIX would keep both.
            return Ok(unlinkat(&source.dir, &source.name, AtFlags::empty())?);
        }
        Ok(renameat(&source.dir, &source.name, &dest.dir, &dest.name)?)
    }

    /// Checks that `source` may replace `dest`. The host makes most of these checks too, but not
    /// the one for a directory's ancestors.
    pub(super) fn check_replace(
        &self,
        source: &HostEntry,
        dest: &HostEntry,
        replace: bool,
    ) -> Result<(), HostError> {
        let directory = FileKind::Directory;
        let fail = match (source.facts.kind == directory, dest.facts.kind == directory) {
            _ if !replace => FsCode::EEXIST,
            (true, _) if dest.path.starts_with(&source.path) => FsCode::EINVAL,
            (true, false) => FsCode::ENOTDIR,
            (false, true) => FsCode::EISDIR,
            (true, true) if !self.list(dest)?.is_empty() => FsCode::ENOTEMPTY,
            _ => return Ok(()),
        };
        Err(fail.into())
    }

    pub(super) fn symlink(&self, target: &str, path: &VPath) -> Result<(), HostError> {
        check_target(target)?;
        let target = self.target_to_host(target)?;
        self.retrying(|| {
            let (found, _held) = self.lookup_locked(path, HostFinalLink::Keep)?;
            let HostLookup::Missing(missing) = found else { return Err(FsCode::EEXIST.into()) };
            let spot = make_parents(missing, true)?;
            let made = symlinkat(&target, &spot.dir, &spot.name);
            spot.keep_if(made.map_err(|error| raced_if_gone(error.into())))
        })
    }

    pub(super) fn utimes(&self, path: &VPath, mtime: Millis) -> Result<(), HostError> {
        let (place, _held) = self.find_locked(path, HostFinalLink::Follow)?;
        let times = mtime_only(timespec(mtime));
        Ok(utimensat(&place.dir, &place.name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub(super) fn chmod(&self, path: &VPath, mode: u32) -> Result<(), HostError> {
        let (place, _held) = self.find_locked(path, HostFinalLink::Follow)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&place.dir, &place.name, flags, Mode::empty())?;
        if HostStat::of(&fd)?.kind == FileKind::Symlink {
            // A link replaced the object after the lookup.
            return Err(FsCode::EACCES.into());
        }
        // A descriptor without read permission can be changed only by its name in /proc, which
        // always refers to the open object.
        let name = format!("/proc/self/fd/{}", fd.as_raw_fd());
        Ok(chmodat(CWD, name, Mode::from_raw_mode(mode), AtFlags::empty())?)
    }
}

/// Moves an object to a free name. If another program takes the name, the caller begins again.
fn move_to(
    source: &HostEntry,
    missing: HostMissingPath,
    options: &MoveOptions,
) -> Result<(), HostError> {
    if missing.names.len() > 1 && !options.parents {
        return Err(FsCode::ENOENT.into());
    }
    let within = missing.path.starts_with(&source.path);
    if source.facts.kind == FileKind::Directory && within {
        return Err(FsCode::EINVAL.into());
    }
    let spot = make_parents(missing, options.parents)?;
    let moved = match rename_new(&source.dir, &source.name, &spot.dir, &spot.name) {
        Err(Errno::EXIST) if options.replace => Err(HostError::Raced),
        moved => moved.map_err(|error| raced_if_gone(error.into())),
    };
    spot.keep_if(moved)
}

/// Hides a tree under a temporary name, then removes it, which takes no locks. If removing fails,
/// the tree is renamed back.
fn remove_tree(place: &HostEntry, held: HeldLocks<'_>) -> Result<(), HostError> {
    let hidden = temporary_name();
    renameat(&place.dir, &place.name, &place.dir, &hidden)?;
    drop(held);
    remove_below(&place.dir, &hidden).inspect_err(|_| {
        forget(rename_new(&place.dir, &hidden, &place.dir, &place.name));
    })
}

/// Removes a directory and everything below it, depth first, without following links. Calls that
/// began before the tree was hidden may still write to it.
pub(super) fn remove_below(dir: &Arc<OwnedFd>, name: &CString) -> Result<(), HostError> {
    let opened = Arc::new(open_dir_at(dir, name)?);
    let mut stack = vec![(dir.clone(), name.clone(), children(&opened)?, opened)];
    let mut n_repeated = 0;
    while let Some((dir, name, left, opened)) = stack.last_mut() {
        match left.pop() {
            None => match unlinkat(&*dir, &*name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY) if n_repeated < MAX_REMOVALS => {
                    n_repeated += 1;
                    *left = children(opened)?;
                }
                removed => {
                    removed?;
                    stack.pop();
                }
            },
            Some((child, true)) => match open_dir_at(&*opened, &child) {
                // A directory that a failed call had created, and removed itself.
                Err(HostError::Host(Errno::NOENT)) => (),
                below => {
                    let (below, parent) = (Arc::new(below?), opened.clone());
                    stack.push((parent, child, children(&below)?, below));
                }
            },
            Some((child, false)) => match unlinkat(&*opened, &child, AtFlags::empty()) {
                // A temporary file that got its final name.
                Err(Errno::NOENT) => (),
                removed => removed?,
            },
        }
    }
    Ok(())
}

/// Returns the names in a directory, each with whether it is a directory.
fn children(dir: &OwnedFd) -> Result<Vec<(CString, bool)>, HostError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat(dir, c".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for item in Dir::read_from(&fd)? {
        let item = item?;
        let name = item.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            match HostStat::at(&fd, name) {
                Err(Errno::NOENT) => (),
                facts => {
                    let is_directory = facts?.kind == FileKind::Directory;
                    names.push((name.to_owned(), is_directory));
                }
            }
        }
    }
    Ok(names)
}
