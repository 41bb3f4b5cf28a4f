//! Creating, removing and moving on the host's disk.

use std::{ffi::CString, sync::Arc};

use rustix::{
    fd::{AsRawFd, OwnedFd},
    fs::{
        AtFlags, CWD, Dir, Mode, OFlags, chmodat, openat, renameat, symlinkat, unlinkat, utimensat,
    },
};
use yfs_types::{path::VPath, time::Millis};

use super::{
    HostStat,
    host_lookup::{HostDisk, HostEntry, HostError, HostFinalLink, HostLookup, open_dir_at},
    write::{forget, make_dir_at, mtime_only, rename_new, timespec},
};
use crate::{
    error::FsCode,
    options::{MkdirOptions, MoveOptions, RemoveOptions},
    path_components::check_target,
    stat::{DEFAULT_DIRECTORY_MODE, FileKind},
};

impl HostDisk {
    pub(super) fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), HostError> {
        let _writing = self.writing.lock();
        let missing = match self.lookup(path, HostFinalLink::Keep)? {
            HostLookup::There(_) if options.recursive => {
                let there = self.find(path, HostFinalLink::Follow);
                let there = there.is_ok_and(|place| place.facts.kind == FileKind::Directory);
                return if there { Ok(()) } else { Err(FsCode::EEXIST.into()) };
            }
            HostLookup::There(_) => return Err(FsCode::EEXIST.into()),
            HostLookup::Missing(missing) => missing,
        };
        let spot = self.make_parents(missing, options.recursive)?;
        let mode = options.mode.map_or(DEFAULT_DIRECTORY_MODE, |mode| mode & 0o7777);
        spot.keep_if(make_dir_at(&spot.dir, &spot.name, mode))
    }

    pub(super) fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), HostError> {
        if path.is_root() {
            return Err(FsCode::EBUSY.into());
        }
        let _writing = self.writing.lock();
        let place = match self.find(path, HostFinalLink::Keep) {
            Err(fail)
                if options.force && matches!(fail.code(), FsCode::ENOENT | FsCode::ENOTDIR) =>
            {
                return Ok(());
            }
            found => found?,
        };
        match place.facts.kind {
            FileKind::Directory if options.recursive => self.remove_tree(&place),
            FileKind::Directory => Ok(unlinkat(&place.dir, &place.name, AtFlags::REMOVEDIR)?),
            _ => Ok(unlinkat(&place.dir, &place.name, AtFlags::empty())?),
        }
    }

    /// Hides a tree under a temporary name, then removes it. If removing fails, the tree is renamed
    /// back.
    fn remove_tree(&self, place: &HostEntry) -> Result<(), HostError> {
        let hidden = self.temporary_name();
        renameat(&place.dir, &place.name, &place.dir, &hidden)?;
        remove_below(&place.dir, &hidden).inspect_err(|_| {
            forget(rename_new(&place.dir, &hidden, &place.dir, &place.name));
        })
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
        let _writing = self.writing.lock();
        let source = self.find(from, HostFinalLink::Keep)?;
        match self.lookup(to, HostFinalLink::Keep)? {
            HostLookup::There(dest) if dest.path == source.path => Ok(()),
            HostLookup::There(dest) => {
                self.check_replace(&source, &dest, options.replace)?;
                if source.facts.place == dest.facts.place {
                    // Two names of one file: POSIX would keep both.
                    return Ok(unlinkat(&source.dir, &source.name, AtFlags::empty())?);
                }
                Ok(renameat(&source.dir, &source.name, &dest.dir, &dest.name)?)
            }
            HostLookup::Missing(missing) => {
                if missing.names.len() > 1 && !options.parents {
                    return Err(FsCode::ENOENT.into());
                }
                let within = missing.path.starts_with(&source.path);
                if source.facts.kind == FileKind::Directory && within {
                    return Err(FsCode::EINVAL.into());
                }
                let spot = self.make_parents(missing, options.parents)?;
                let moved = match options.replace {
                    true => renameat(&source.dir, &source.name, &spot.dir, &spot.name),
                    false => rename_new(&source.dir, &source.name, &spot.dir, &spot.name),
                };
                spot.keep_if(moved.map_err(HostError::from))
            }
        }
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
        let _writing = self.writing.lock();
        let missing = match self.lookup(path, HostFinalLink::Keep)? {
            HostLookup::There(_) => return Err(FsCode::EEXIST.into()),
            HostLookup::Missing(missing) => missing,
        };
        let target = self.target_to_host(target)?;
        let spot = self.make_parents(missing, true)?;
        spot.keep_if(symlinkat(&target, &spot.dir, &spot.name).map_err(HostError::from))
    }

    pub(super) fn utimes(&self, path: &VPath, mtime: Millis) -> Result<(), HostError> {
        let _writing = self.writing.lock();
        let place = self.find(path, HostFinalLink::Follow)?;
        let times = mtime_only(timespec(mtime));
        Ok(utimensat(&place.dir, &place.name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub(super) fn chmod(&self, path: &VPath, mode: u32) -> Result<(), HostError> {
        let _writing = self.writing.lock();
        let place = self.find(path, HostFinalLink::Follow)?;
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

/// Removes a directory and everything below it, depth first, without following links.
pub(super) fn remove_below(dir: &Arc<OwnedFd>, name: &CString) -> Result<(), HostError> {
    let opened = Arc::new(open_dir_at(dir, name)?);
    let mut stack = vec![(dir.clone(), name.clone(), children(&opened)?, opened)];
    while let Some((dir, name, left, opened)) = stack.last_mut() {
        match left.pop() {
            None => {
                unlinkat(&*dir, &*name, AtFlags::REMOVEDIR)?;
                stack.pop();
            }
            Some((child, true)) => {
                let below = Arc::new(open_dir_at(&*opened, &child)?);
                let parent = opened.clone();
                stack.push((parent, child, children(&below)?, below));
            }
            Some((child, false)) => unlinkat(&*opened, &child, AtFlags::empty())?,
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
            let is_directory = HostStat::at(&fd, name)?.kind == FileKind::Directory;
            names.push((name.to_owned(), is_directory));
        }
    }
    Ok(names)
}
