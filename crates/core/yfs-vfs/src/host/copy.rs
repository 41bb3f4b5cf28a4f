//! Copying on the host's disk: first a plan, which may be rejected, then the copies.
//!
//! A tree that is copied to a free name is created under a hidden name and renamed, so that it
//! appears atomically. A merge into an existing directory appears file by file.

use std::{ffi::CString, io};

use rustix::{
    fd::OwnedFd,
    fs::{
        AtFlags, Dir, Mode, OFlags, Timespec, fchmod, futimens, openat, readlinkat, symlinkat,
        unlinkat, utimensat,
    },
    io::Errno,
};
use yfs_types::path::VPath;

use super::{
    HostStat,
    host_lookup::{
        HostDisk, HostEntry, HostError, HostFinalLink, HostLookup, HostMissingPath, open_dir_at,
        temporary_name,
    },
    read::{is_temporary, open_at},
    tree::remove_below,
    write::{
        NewFileAttributes, forget, make_dir_at, make_parents, make_temporary, mtime_only,
        place_temporary, raced_if_gone, rename_new,
    },
};
use crate::{error::FsCode, options::CopyOptions, stat::FileKind, work_meter::WorkMeter};

/// The greatest depth of a tree to copy; a deeper tree is `ENAMETOOLONG`.
const MAX_DEPTH: usize = 1_024;

/// One object to copy, as it was before the copying began.
struct CopyItem {
    name: CString,
    facts: HostStat,
    below: Vec<Self>,
}

/// One name in an open directory.
type At<'a> = (&'a OwnedFd, &'a CString);

/// Whether other programs see what is copied while it is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyTarget {
    /// A tree under a hidden name, which is renamed when it is complete.
    Hidden,
    /// An existing object, in which files are replaced one by one.
    Visible,
}

/// One copy of a tree.
struct CopyRun<'a> {
    disk: &'a HostDisk,
    target: CopyTarget,
    meter: Option<&'a dyn WorkMeter>,
}

impl HostDisk {
    pub(super) fn cp(
        &self,
        from: &VPath,
        to: &VPath,
        options: &CopyOptions,
        meter: Option<&dyn WorkMeter>,
    ) -> Result<(), HostError> {
        self.retrying(|| {
            let source = self.find(from, HostFinalLink::Keep)?;
            match source.facts.kind {
                FileKind::Directory if !options.recursive => return Err(FsCode::EISDIR.into()),
                FileKind::Other => return Err(FsCode::EINVAL.into()),
                _ => (),
            }
            match self.lookup(to, HostFinalLink::Keep)? {
                HostLookup::There(dest) if dest.path.starts_with(&source.path) => {
                    Err(FsCode::EINVAL.into())
                }
                HostLookup::There(_) if !options.replace => Err(FsCode::EEXIST.into()),
                HostLookup::There(dest) => {
                    let item = plan(&source, Some((&dest.dir, &dest.name)))?;
                    let dest = (&*dest.dir, &dest.name);
                    let run = CopyRun { disk: self, target: CopyTarget::Visible, meter };
                    run.copy(&item, &source.dir, dest).map_err(raced_if_gone)
                }
                HostLookup::Missing(missing) => {
                    self.copy_to_free_name(&source, missing, options, meter)
                }
            }
        })
    }

    fn copy_to_free_name(
        &self,
        source: &HostEntry,
        missing: HostMissingPath,
        options: &CopyOptions,
        meter: Option<&dyn WorkMeter>,
    ) -> Result<(), HostError> {
        if missing.names.len() > 1 && !options.parents {
            return Err(FsCode::ENOENT.into());
        }
        if missing.path.starts_with(&source.path) {
            return Err(FsCode::EINVAL.into());
        }
        let item = plan(source, None)?;
        let hidden = temporary_name();
        let spot = make_parents(missing, options.parents)?;
        let run = CopyRun { disk: self, target: CopyTarget::Hidden, meter };
        let copied = run.copy(&item, &source.dir, (&spot.dir, &hidden)).and_then(|()| {
            let _held = self.lock_directory(&spot.dir)?;
            match rename_new(&spot.dir, &hidden, &spot.dir, &spot.name) {
                Err(Errno::EXIST) if options.replace => Err(HostError::Raced),
                renamed => Ok(renamed?),
            }
        });
        let copied = copied.map_err(|fail| {
            match item.facts.kind {
                FileKind::Directory => forget(remove_below(&spot.dir, &hidden)),
                _ => forget(unlinkat(&spot.dir, &hidden, AtFlags::empty())),
            }
            raced_if_gone(fail)
        });
        spot.keep_if(copied)
    }
}

impl CopyRun<'_> {
    /// Copies one object with everything below it; merges into an existing directory.
    fn copy(
        &self,
        item: &CopyItem,
        source: &OwnedFd,
        (dir, name): At<'_>,
    ) -> Result<(), HostError> {
        if let Some(meter) = self.meter {
            meter.count_objects(1);
        }
        let facts = &item.facts;
        let mtime = timespec_of(facts.mtime_ns);
        match facts.kind {
            FileKind::Directory => self.copy_directory(item, source, (dir, name)),
            FileKind::Symlink => {
                let link = readlinkat(source, &item.name, Vec::new())?;
                let temporary = temporary_name();
                symlinkat(&link, dir, &temporary)?;
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                forget(utimensat(dir, &temporary, &mtime_only(mtime), flags));
                self.place_copy(dir, &temporary, name)
            }
            FileKind::File => {
                let mut opened = open_at(source, &item.name, facts)?;
                let attributes = NewFileAttributes { mode: facts.mode, mtime, owner: None };
                let (temporary, _) = make_temporary(dir, attributes, |file| {
                    io::copy(&mut opened.file, file).map(drop)
                })?;
                self.place_copy(dir, &temporary, name)
            }
            FileKind::Other => Err(FsCode::EINVAL.into()),
        }
    }

    fn place_copy(
        &self,
        dir: &OwnedFd,
        temporary: &CString,
        name: &CString,
    ) -> Result<(), HostError> {
        let _held = match self.target {
            CopyTarget::Hidden => None,
            CopyTarget::Visible => {
                let held = self.disk.lock_directory(dir);
                Some(held.inspect_err(|_| forget(unlinkat(dir, temporary, AtFlags::empty())))?)
            }
        };
        place_temporary(dir, temporary, name, true)
    }

    fn copy_directory(
        &self,
        item: &CopyItem,
        source: &OwnedFd,
        (dir, name): At<'_>,
    ) -> Result<(), HostError> {
        let made = match make_dir_at(dir, name, 0o700) {
            Ok(()) => true,
            Err(HostError::Host(Errno::EXIST)) => false,
            Err(fail) => return Err(fail),
        };
        let opened = openat(dir, name, DIRECTORY, Mode::empty())?;
        let source = open_dir_at(source, &item.name)?;
        for child in &item.below {
            self.copy(child, &source, (&opened, &child.name))?;
        }
        if made {
            fchmod(&opened, Mode::from_raw_mode(item.facts.mode))?;
            // Last, because creating entries changes the directory's time.
            futimens(&opened, &mtime_only(timespec_of(item.facts.mtime_ns)))?;
        }
        Ok(())
    }
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Lists the objects to copy. Fails if an object would replace one of another kind.
fn plan(source: &HostEntry, dest: Option<At<'_>>) -> Result<CopyItem, HostError> {
    let (name, facts) = (source.name.clone(), source.facts.clone());
    plan_item((&source.dir, name), facts, dest, 0)
}

fn plan_item(
    (dir, name): (&OwnedFd, CString),
    facts: HostStat,
    dest: Option<At<'_>>,
    depth: usize,
) -> Result<CopyItem, HostError> {
    if depth > MAX_DEPTH {
        return Err(FsCode::ENAMETOOLONG.into());
    }
    let dest = check_kinds(facts.kind, dest)?;
    if facts.kind != FileKind::Directory {
        return Ok(CopyItem { name, facts, below: Vec::new() });
    }
    let opened = openat(dir, &name, DIRECTORY, Mode::empty())?;
    let onto = dest.map(|(dir, name)| open_dir_at(dir, name)).transpose()?;
    let mut names = Vec::new();
    for item in Dir::read_from(&opened)? {
        let name = item?.file_name().to_owned();
        let special = matches!(name.to_bytes(), b"." | b"..") || is_temporary(name.to_bytes());
        names.extend((!special).then_some(name));
    }
    names.sort();
    let mut below = Vec::new();
    for child in names {
        let facts = match HostStat::at(&opened, &child) {
            Err(Errno::NOENT) => continue,
            facts => facts?,
        };
        // Objects that only a host has are not copied.
        if facts.kind != FileKind::Other {
            let dest = onto.as_ref().map(|onto| (onto, child.clone()));
            let dest = dest.as_ref().map(|(onto, name)| (*onto, name));
            below.push(plan_item((&opened, child), facts, dest, depth + 1)?);
        }
    }
    Ok(CopyItem { name, facts, below })
}

/// Rejects a directory onto another kind and the reverse; returns the existing destination.
fn check_kinds(kind: FileKind, dest: Option<At<'_>>) -> Result<Option<At<'_>>, HostError> {
    let Some((dir, name)) = dest else { return Ok(None) };
    let there = match HostStat::at(dir, name) {
        Err(Errno::NOENT) => return Ok(None),
        there => there?.kind,
    };
    match (kind == FileKind::Directory, there == FileKind::Directory) {
        (true, false) => Err(FsCode::ENOTDIR.into()),
        (false, true) => Err(FsCode::EISDIR.into()),
        _ => Ok(Some((dir, name))),
    }
}

fn timespec_of(nanoseconds: i128) -> Timespec {
    Timespec {
        tv_sec: nanoseconds.div_euclid(1_000_000_000) as i64,
        tv_nsec: nanoseconds.rem_euclid(1_000_000_000) as i64,
    }
}
