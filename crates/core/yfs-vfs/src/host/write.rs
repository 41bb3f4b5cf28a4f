//! Writing to the host's disk: a temporary file beside the target, then a rename.
//!
//! A call that changes a file looks it up, examines it and replaces it under the lock of its
//! directory, so other callers of this filesystem, in any process, wait. Other programs take no
//! such lock: a call that computed the new content from the old one compares the file with what it
//! read just before the rename, and begins again if they differ. The same comparison is what is
//! left on a filesystem without locks.

use std::{
    ffi::CString,
    fs::File,
    io::{self, Write},
    os::unix::fs::FileExt,
    sync::Arc,
};

use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{
        AtFlags, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_OMIT, Uid, fchmod,
        fchown, ftruncate, futimens, linkat, mkdirat, openat, renameat, renameat_with, unlinkat,
    },
    io::Errno,
};
use yfs_types::{path::VPath, time::Millis};

use super::{
    HostStat,
    host_lookup::{
        HostDisk, HostEntry, HostError, HostFinalLink, HostLookup, HostMissingPath, c_string,
        next_mtime, open_dir_at, temporary_name,
    },
    read::{check_file, open_place},
};
use crate::{
    edit::{EditOutcome, EditRefusal, TextReplacement},
    error::FsCode,
    file_system::WriteOutcome,
    options::{CreateMode, VersionBase, WriteOptions},
    path_components::check_name,
    stat::{DEFAULT_DIRECTORY_MODE, DEFAULT_FILE_MODE, FileKind, VersionToken},
};

/// A name in a directory for a new object, and the parents that were created for it.
#[derive(Debug)]
pub(super) struct NewFileSlot {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) name: CString,
    made: Vec<(Arc<OwnedFd>, CString)>,
}

/// The attributes of a new file, besides its content.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewFileAttributes {
    pub(super) mode: u32,
    pub(super) mtime: Timespec,
    /// The user and group, set if the host allows it.
    pub(super) owner: Option<(u32, u32)>,
}

/// What a file must still be when its content is replaced. Programs that take no locks may have
/// changed it since it was examined.
#[derive(Debug, Clone, Copy)]
pub(super) enum FileExpectation<'a> {
    Nothing,
    Version(&'a VersionToken),
    Content(&'a [u8]),
}

impl HostDisk {
    pub(super) fn write(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, HostError> {
        let follow = options.follow && options.create != CreateMode::New;
        let last = if follow { HostFinalLink::Follow } else { HostFinalLink::Keep };
        self.retrying(|| {
            let (found, _held) = self.lookup_locked(path, last)?;
            match found {
                HostLookup::There(_) if options.create == CreateMode::New => {
                    Err(FsCode::EEXIST.into())
                }
                HostLookup::There(place) => {
                    self.write_existing(&place, data, options).map_err(raced_if_gone)
                }
                HostLookup::Missing(missing) => self.create(missing, data, options),
            }
        })
    }

    fn write_existing(
        &self,
        place: &HostEntry,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, HostError> {
        if place.facts.kind == FileKind::Symlink {
            check_no_base(options)?;
            let attributes = attributes_for(options, DEFAULT_FILE_MODE, None);
            let facts = replace(place, data, attributes, FileExpectation::Nothing)?;
            return Ok(written(&facts, true));
        }
        check_file(&place.facts)?;
        let version = place.facts.version();
        check_version(Some(version.clone()), options)?;
        let expectation = match &options.base {
            Some(VersionBase::Version(base)) if *base != version => {
                return Err(FsCode::ESTALE.into());
            }
            Some(VersionBase::Content(base)) => FileExpectation::Content(base),
            None if options.expected_version.is_none() => FileExpectation::Nothing,
            _ => FileExpectation::Version(&version),
        };
        let attributes = attributes_for(options, place.facts.mode, Some(place.facts.owner));
        let replaced = expectation
            .check(place)
            .and_then(|()| self.replace_content(place, data, attributes, expectation));
        match replaced {
            // The caller has to merge.
            Err(HostError::Raced) => Err(FsCode::ESTALE.into()),
            replaced => Ok(written(&replaced?, false)),
        }
    }

    pub(super) fn append(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, HostError> {
        let is_new = options.create == CreateMode::New;
        let last = if is_new { HostFinalLink::Keep } else { HostFinalLink::Follow };
        self.retrying(|| {
            let (found, _held) = self.lookup_locked(path, last)?;
            match found {
                HostLookup::There(_) if is_new => Err(FsCode::EEXIST.into()),
                HostLookup::There(place) => {
                    check_file(&place.facts)?;
                    check_version(Some(place.facts.version()), options)?;
                    let facts = append_in_place(&place, data)?;
                    Ok(written(&facts, false).appended(options))
                }
                HostLookup::Missing(missing) => {
                    let options = WriteOptions { base: None, ..options.clone() };
                    self.create(missing, data, &options)
                }
            }
        })
    }

    pub(super) fn edit(
        &self,
        path: &VPath,
        edit: &TextReplacement,
    ) -> Result<EditOutcome, HostError> {
        self.retrying(|| {
            let (place, _held) = self.find_locked(path, HostFinalLink::Follow)?;
            let mut opened = open_place(&place)?;
            let facts = opened.facts;
            if edit.expected_version.as_ref().is_some_and(|version| *version != facts.version()) {
                return Err(FsCode::ESTALE.into());
            }
            let mut before = Vec::new();
            io::Read::read_to_end(&mut opened.file, &mut before)?;
            let not_text = |_| HostError::Edit(EditRefusal::NotText);
            let text = std::str::from_utf8(&before).map_err(not_text)?;
            let (text, n_replaced) = edit.apply(text).map_err(HostError::Edit)?;
            let owner = Some(facts.owner);
            let attributes = NewFileAttributes { mode: facts.mode, mtime: next_mtime(), owner };
            let expectation = FileExpectation::Content(&before);
            let facts = self.replace_content(&place, text.as_bytes(), attributes, expectation)?;
            let version = edit.expected_version.is_some().then(|| facts.version());
            Ok(EditOutcome { n_replaced, version })
        })
    }

    /// Creates a file. If another program creates it meanwhile, the caller begins again.
    fn create(
        &self,
        missing: HostMissingPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, HostError> {
        if options.create == CreateMode::Never {
            return Err(FsCode::ENOENT.into());
        }
        check_no_base(options)?;
        let spot = make_parents(missing, options.parents)?;
        let attributes = attributes_for(options, DEFAULT_FILE_MODE, None);
        let temporary = fill_temporary(&spot.dir, data, attributes);
        let placed = temporary.and_then(|(name, facts)| {
            place_temporary(&spot.dir, &name, &spot.name, false)?;
            Ok(facts)
        });
        let placed = match placed {
            Err(fail) if fail.code() == FsCode::EEXIST && options.create != CreateMode::New => {
                Err(HostError::Raced)
            }
            Err(fail) => Err(raced_if_gone(fail)),
            placed => placed,
        };
        Ok(written(&spot.keep_if(placed)?, true))
    }

    /// Replaces the content of a file, or fails with [`HostError::Raced`] if it is not what is
    /// expected.
    pub(super) fn replace_content(
        &self,
        place: &HostEntry,
        data: &[u8],
        attributes: NewFileAttributes,
        expectation: FileExpectation<'_>,
    ) -> Result<HostStat, HostError> {
        match self.keeps_hard_links && place.facts.n_links > 1 {
            true => overwrite_in_place(place, data, attributes, expectation),
            false => replace(place, data, attributes, expectation),
        }
    }
}

impl FileExpectation<'_> {
    /// Fails with [`HostError::Raced`] if the file is not what is expected.
    fn check(self, place: &HostEntry) -> Result<(), HostError> {
        let is_same = match self {
            Self::Nothing => true,
            Self::Version(version) => {
                matches!(HostStat::at(&place.dir, &place.name), Ok(facts)
                    if facts.kind == FileKind::File && facts.version() == *version)
            }
            Self::Content(content) => {
                let mut now = Vec::new();
                let opened = open_place(place);
                opened.is_ok_and(|mut opened| {
                    io::Read::read_to_end(&mut opened.file, &mut now).is_ok() && now == content
                })
            }
        };
        if is_same { Ok(()) } else { Err(HostError::Raced) }
    }
}

/// Overwrites a file, so that its other names show the new content. If that fails, the old
/// content is written back.
fn overwrite_in_place(
    place: &HostEntry,
    data: &[u8],
    attributes: NewFileAttributes,
    expectation: FileExpectation<'_>,
) -> Result<HostStat, HostError> {
    let mut before = Vec::new();
    let opened = open_place(place)?;
    io::Read::read_to_end(&mut { opened.file }, &mut before)?;
    let flags =
        OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(&place.dir, &place.name, flags, Mode::empty())?);
    check_file(&HostStat::of(&file)?)?;
    expectation.check(place)?;
    let fill = |data: &[u8]| -> io::Result<()> {
        file.write_all_at(data, 0)?;
        Ok(ftruncate(&file, data.len() as u64)?)
    };
    if let Err(error) = fill(data) {
        forget(fill(&before));
        return Err(error.into());
    }
    finish(&file, NewFileAttributes { owner: None, ..attributes })?;
    Ok(HostStat::of(&file)?)
}

/// Replaces an object by a file with this content, or fails with [`HostError::Raced`] if the object
/// is not what is expected.
fn replace(
    place: &HostEntry,
    data: &[u8],
    attributes: NewFileAttributes,
    expectation: FileExpectation<'_>,
) -> Result<HostStat, HostError> {
    let (temporary, facts) = fill_temporary(&place.dir, data, attributes)?;
    if let Err(fail) = expectation.check(place) {
        forget(unlinkat(&place.dir, &temporary, AtFlags::empty()));
        return Err(fail);
    }
    place_temporary(&place.dir, &temporary, &place.name, true)?;
    Ok(facts)
}

fn fill_temporary(
    dir: &OwnedFd,
    data: &[u8],
    attributes: NewFileAttributes,
) -> Result<(CString, HostStat), HostError> {
    make_temporary(dir, attributes, |file| file.write_all(data))
}

/// Creates a temporary file, which listings leave out, and fills it. A failure leaves no file
/// behind.
pub(super) fn make_temporary(
    dir: &OwnedFd,
    attributes: NewFileAttributes,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(CString, HostStat), HostError> {
    let name = temporary_name();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(dir, &name, flags, Mode::RUSR | Mode::WUSR)?);
    let filled = fill(&mut file).map_err(HostError::from).and_then(|()| {
        finish(&file, attributes)?;
        Ok(HostStat::of(&file)?)
    });
    match filled {
        Ok(facts) => Ok((name, facts)),
        Err(fail) => {
            forget(unlinkat(dir, &name, AtFlags::empty()));
            Err(fail)
        }
    }
}

fn append_in_place(place: &HostEntry, data: &[u8]) -> Result<HostStat, HostError> {
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    let mut file = File::from(openat(&place.dir, &place.name, flags, Mode::empty())?);
    let before = HostStat::of(&file)?;
    check_file(&before)?;
    if let Err(error) = file.write_all(data) {
        forget(ftruncate(&file, before.size));
        return Err(error.into());
    }
    futimens(&file, &mtime_only(next_mtime()))?;
    Ok(HostStat::of(&file)?)
}

/// Creates the missing directories, all but the last name.
pub(super) fn make_parents(
    missing: HostMissingPath,
    parents: bool,
) -> Result<NewFileSlot, HostError> {
    let HostMissingPath { dir, names, .. } = missing;
    if names.len() > 1 && !parents {
        return Err(FsCode::ENOENT.into());
    }
    names.iter().try_for_each(|name| check_name(name))?;
    let (last, above) = names.split_last().expect("at least one name is missing");
    let mut spot = NewFileSlot { dir, name: c_string(last.as_bytes())?, made: Vec::new() };
    for name in above {
        let made = c_string(name.as_bytes()).and_then(|name| spot.make_dir(name));
        if let Err(fail) = made {
            return spot.keep_if(Err(raced_if_gone(fail)));
        }
    }
    Ok(spot)
}

fn attributes_for(
    options: &WriteOptions,
    mode: u32,
    owner: Option<(u32, u32)>,
) -> NewFileAttributes {
    let mode = options.mode.map_or(mode, |mode| mode & 0o7777);
    let mtime = options.mtime.map_or_else(next_mtime, timespec);
    NewFileAttributes { mode, mtime, owner }
}

/// Returns [`HostError::Raced`] for an object that was found and is gone: another program has
/// removed it, or a directory above it. The operation looks it up again.
pub(super) fn raced_if_gone(fail: HostError) -> HostError {
    if fail.code() == FsCode::ENOENT { HostError::Raced } else { fail }
}

impl NewFileSlot {
    /// Creates a directory in the last one created, unless another process created it already.
    fn make_dir(&mut self, name: CString) -> Result<(), HostError> {
        match make_dir_at(&self.dir, &name, DEFAULT_DIRECTORY_MODE) {
            Ok(()) => self.made.push((self.dir.clone(), name.clone())),
            Err(HostError::Host(Errno::EXIST)) => (),
            Err(fail) => return Err(fail),
        }
        self.dir = Arc::new(open_dir_at(&self.dir, &name)?);
        Ok(())
    }

    /// Removes the created parents if `result`, the operation that they were created for, is an
    /// error.
    pub(super) fn keep_if<T>(&self, result: Result<T, HostError>) -> Result<T, HostError> {
        if result.is_err() {
            for (dir, name) in self.made.iter().rev() {
                forget(unlinkat(dir, name, AtFlags::REMOVEDIR));
            }
        }
        result
    }
}

/// Creates a directory with exactly these permission bits.
pub(super) fn make_dir_at(dir: &OwnedFd, name: &CString, mode: u32) -> Result<(), HostError> {
    mkdirat(dir, name, Mode::RWXU)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = openat(dir, name, flags, Mode::empty())?;
    Ok(fchmod(&made, Mode::from_raw_mode(mode))?)
}

/// Renames a finished temporary file to its final name.
pub(super) fn place_temporary(
    dir: &OwnedFd,
    temporary: &CString,
    name: &CString,
    replace: bool,
) -> Result<(), HostError> {
    let placed = if replace {
        renameat(dir, temporary, dir, name)
    } else {
        rename_new(dir, temporary, dir, name)
    };
    placed.map_err(|error| {
        forget(unlinkat(dir, temporary, AtFlags::empty()));
        // Another object, which the rename cannot replace, took the name meanwhile.
        error.into()
    })
}

/// Renames an object. `EEXIST` if the new name is taken.
pub(super) fn rename_new(
    from: impl AsFd,
    old: &CString,
    to: impl AsFd,
    new: &CString,
) -> Result<(), Errno> {
    match renameat_with(&from, old, &to, new, RenameFlags::NOREPLACE) {
        // The host's filesystem lacks the flag. A hard link is as exclusive, but only for files.
        Err(Errno::INVAL | Errno::NOSYS) => {
            if HostStat::at(&from, old)?.kind != FileKind::Directory {
                linkat(&from, old, &to, new, AtFlags::empty())?;
                return unlinkat(&from, old, AtFlags::empty());
            }
            match HostStat::at(&to, new) {
                Err(Errno::NOENT) => renameat(&from, old, &to, new),
                there => there.and(Err(Errno::EXIST)),
            }
        }
        result => result,
    }
}

fn finish(file: &File, attributes: NewFileAttributes) -> Result<(), HostError> {
    if let Some((user, group)) = attributes.owner {
        let now = HostStat::of(file)?.owner;
        if now != (user, group) {
            // Only root may change the owner; otherwise the writer's user owns the new file.
            forget(fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group))));
        }
    }
    fchmod(file, Mode::from_raw_mode(attributes.mode))?;
    Ok(futimens(file, &mtime_only(attributes.mtime))?)
}

/// Ignores the result of a cleanup: the caller reports the error that made it necessary.
pub(super) fn forget<T, E>(result: Result<T, E>) {
    drop(result);
}

pub(super) fn timespec(time: Millis) -> Timespec {
    let nanoseconds = time.0.rem_euclid(1_000) * 1_000_000;
    Timespec { tv_sec: time.0.div_euclid(1_000), tv_nsec: nanoseconds }
}

pub(super) fn mtime_only(mtime: Timespec) -> Timestamps {
    let omitted = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    Timestamps { last_access: omitted, last_modification: mtime }
}

fn written(facts: &HostStat, created: bool) -> WriteOutcome {
    WriteOutcome::new(facts.id(), facts.version(), facts.size, created)
}

fn check_version(current: Option<VersionToken>, options: &WriteOptions) -> Result<(), HostError> {
    let expected = options.expected_version.is_some();
    let differs = expected && options.expected_version != current;
    if differs { Err(FsCode::ESTALE.into()) } else { Ok(()) }
}

fn check_no_base(options: &WriteOptions) -> Result<(), HostError> {
    check_version(None, options)?;
    if options.base.is_some() { Err(FsCode::ESTALE.into()) } else { Ok(()) }
}
