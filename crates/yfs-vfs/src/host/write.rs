//! Writing to the host's disk: beside the place, then renamed into it.

use std::{
    ffi::CString,
    fs::File,
    io::{self, Write},
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
use yfs_engine::{path::VPath, time::Millis};

use super::{
    disk::{Disk, Fail, Found, Last, Missing, Place, c_string, open_dir_at},
    facts::Facts,
    read::{check_file, open_place},
};
use crate::{
    edit::{Edit, EditRefusal, Edited},
    error::FsCode,
    file_system::Written,
    links::check_name,
    options::{Base, Create, WriteOptions},
    stat::{DEFAULT_DIRECTORY_MODE, DEFAULT_FILE_MODE, FileKind, VersionToken},
};

/// A name in a directory that something is to get, and the parents that were made for it.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) name: CString,
    made: Vec<(Arc<OwnedFd>, CString)>,
}

/// What a new file gets beside its content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looks {
    pub(super) mode: u32,
    pub(super) mtime: Timespec,
    /// Whose it is to be, if the host allows it.
    pub(super) owner: Option<(u32, u32)>,
}

impl Disk {
    pub(super) fn write(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<Written, Fail> {
        let _writing = self.writing.lock();
        let follow = options.follow && options.create != Create::New;
        let found = self.lookup(path, if follow { Last::Follow } else { Last::Keep })?;
        match found {
            Found::There(_) if options.create == Create::New => Err(FsCode::EEXIST.into()),
            Found::There(place) => {
                if place.facts.kind == FileKind::Symlink {
                    check_no_base(options)?;
                    let looks = self.looks(options, DEFAULT_FILE_MODE, None);
                    let facts = self.replace(&place.dir, &place.name, data, looks)?;
                    return Ok(written(&facts, true));
                }
                check_file(&place.facts)?;
                self.check_base(&place, options)?;
                let owner = Some(place.facts.owner);
                let looks = self.looks(options, place.facts.mode, owner);
                let facts = self.replace(&place.dir, &place.name, data, looks)?;
                Ok(written(&facts, false))
            }
            Found::Missing(missing) => self.create(missing, data, options),
        }
    }

    pub(super) fn append(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<Written, Fail> {
        let _writing = self.writing.lock();
        let last = if options.create == Create::New { Last::Keep } else { Last::Follow };
        match self.lookup(path, last)? {
            Found::There(_) if options.create == Create::New => Err(FsCode::EEXIST.into()),
            Found::There(place) => {
                check_file(&place.facts)?;
                check_version(Some(place.facts.version()), options)?;
                let facts = self.append_in_place(&place, data)?;
                Ok(written(&facts, false).appended(options))
            }
            Found::Missing(missing) => {
                let options = WriteOptions { base: None, ..options.clone() };
                self.create(missing, data, &options)
            }
        }
    }

    pub(super) fn edit(&self, path: &VPath, edit: &Edit) -> Result<Edited, Fail> {
        let _writing = self.writing.lock();
        let place = self.find(path, Last::Follow)?;
        let opened = open_place(&place)?;
        let facts = opened.facts;
        if edit.expected_version.as_ref().is_some_and(|version| *version != facts.version()) {
            return Err(FsCode::ESTALE.into());
        }
        let text = io::read_to_string(opened.file).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => Fail::Edit(EditRefusal::NotText),
            _ => error.into(),
        })?;
        let (text, n_replaced) = edit.apply(&text).map_err(Fail::Edit)?;
        let owner = Some(facts.owner);
        let looks = Looks { mode: facts.mode, mtime: self.next_mtime(), owner };
        let facts = self.replace(&place.dir, &place.name, text.as_bytes(), looks)?;
        let version = edit.expected_version.is_some().then(|| facts.version());
        Ok(Edited { n_replaced, version })
    }

    fn create(
        &self,
        missing: Missing,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<Written, Fail> {
        if options.create == Create::Never {
            return Err(FsCode::ENOENT.into());
        }
        check_no_base(options)?;
        let spot = self.make_parents(missing, options.parents)?;
        let looks = self.looks(options, DEFAULT_FILE_MODE, None);
        let temporary = self.fill_temporary(&spot.dir, data, looks);
        let placed = temporary.and_then(|(name, facts)| {
            let replace = options.create != Create::New;
            place_temporary(&spot.dir, &name, &spot.name, replace)?;
            Ok(facts)
        });
        Ok(written(&spot.keep_if(placed)?, true))
    }

    /// Puts content in the place of what a directory holds under a name.
    pub(super) fn replace(
        &self,
        dir: &OwnedFd,
        name: &CString,
        data: &[u8],
        looks: Looks,
    ) -> Result<Facts, Fail> {
        let (temporary, facts) = self.fill_temporary(dir, data, looks)?;
        place_temporary(dir, &temporary, name, true)?;
        Ok(facts)
    }

    fn fill_temporary(
        &self,
        dir: &OwnedFd,
        data: &[u8],
        looks: Looks,
    ) -> Result<(CString, Facts), Fail> {
        self.make_temporary(dir, looks, |file| file.write_all(data))
    }

    /// Makes a file that nobody sees yet. A failure leaves nothing behind.
    pub(super) fn make_temporary(
        &self,
        dir: &OwnedFd,
        looks: Looks,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(CString, Facts), Fail> {
        let name = self.temporary_name();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(dir, &name, flags, Mode::RUSR | Mode::WUSR)?);
        let filled = fill(&mut file).map_err(Fail::from).and_then(|()| {
            finish(&file, looks)?;
            Ok(Facts::of(&file)?)
        });
        match filled {
            Ok(facts) => Ok((name, facts)),
            Err(fail) => {
                forget(unlinkat(dir, &name, AtFlags::empty()));
                Err(fail)
            }
        }
    }

    fn append_in_place(&self, place: &Place, data: &[u8]) -> Result<Facts, Fail> {
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let mut file = File::from(openat(&place.dir, &place.name, flags, Mode::empty())?);
        let before = Facts::of(&file)?;
        check_file(&before)?;
        if let Err(error) = file.write_all(data) {
            forget(ftruncate(&file, before.size));
            return Err(error.into());
        }
        futimens(&file, &mtime_only(self.next_mtime()))?;
        Ok(Facts::of(&file)?)
    }

    /// Makes what is missing but the last name.
    pub(super) fn make_parents(&self, missing: Missing, parents: bool) -> Result<Spot, Fail> {
        let Missing { dir, names, .. } = missing;
        if names.len() > 1 && !parents {
            return Err(FsCode::ENOENT.into());
        }
        names.iter().try_for_each(|name| check_name(name))?;
        let (last, above) = names.split_last().expect("something is missing");
        let mut spot = Spot { dir, name: c_string(last.as_bytes())?, made: Vec::new() };
        for name in above {
            let made = c_string(name.as_bytes()).and_then(|name| spot.make_dir(name));
            if let Err(fail) = made {
                return spot.keep_if(Err(fail));
            }
        }
        Ok(spot)
    }

    fn looks(&self, options: &WriteOptions, mode: u32, owner: Option<(u32, u32)>) -> Looks {
        let mode = options.mode.map_or(mode, |mode| mode & 0o7777);
        let mtime = options.mtime.map_or_else(|| self.next_mtime(), timespec);
        Looks { mode, mtime, owner }
    }

    fn check_base(&self, place: &Place, options: &WriteOptions) -> Result<(), Fail> {
        let version = place.facts.version();
        check_version(Some(version.clone()), options)?;
        let holds = match &options.base {
            None => true,
            Some(Base::Version(base)) => *base == version,
            Some(Base::Content(base)) => {
                let mut data = Vec::new();
                io::Read::read_to_end(&mut open_place(place)?.file, &mut data)?;
                *base == data
            }
        };
        if holds { Ok(()) } else { Err(FsCode::ESTALE.into()) }
    }
}

impl Spot {
    /// Makes a directory in the last one made, unless somebody else did.
    fn make_dir(&mut self, name: CString) -> Result<(), Fail> {
        match make_dir_at(&self.dir, &name, DEFAULT_DIRECTORY_MODE) {
            Ok(()) => self.made.push((self.dir.clone(), name.clone())),
            Err(Fail::Host(Errno::EXIST)) => (),
            Err(fail) => return Err(fail),
        }
        self.dir = Arc::new(open_dir_at(&self.dir, &name)?);
        Ok(())
    }

    /// Takes the parents away again if what they were made for failed.
    pub(super) fn keep_if<T>(&self, result: Result<T, Fail>) -> Result<T, Fail> {
        if result.is_err() {
            for (dir, name) in self.made.iter().rev() {
                forget(unlinkat(dir, name, AtFlags::REMOVEDIR));
            }
        }
        result
    }
}

/// Makes a directory with exactly these permission bits.
pub(super) fn make_dir_at(dir: &OwnedFd, name: &CString, mode: u32) -> Result<(), Fail> {
    mkdirat(dir, name, Mode::RWXU)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = openat(dir, name, flags, Mode::empty())?;
    Ok(fchmod(&made, Mode::from_raw_mode(mode))?)
}

/// Gives a finished file its name.
pub(super) fn place_temporary(
    dir: &OwnedFd,
    temporary: &CString,
    name: &CString,
    replace: bool,
) -> Result<(), Fail> {
    let placed = if replace {
        renameat(dir, temporary, dir, name)
    } else {
        rename_new(dir, temporary, dir, name)
    };
    placed.map_err(|error| {
        forget(unlinkat(dir, temporary, AtFlags::empty()));
        // Something that is no file came there meanwhile.
        error.into()
    })
}

/// Renames, unless something is there.
pub(super) fn rename_new(
    from: impl AsFd,
    old: &CString,
    to: impl AsFd,
    new: &CString,
) -> Result<(), Errno> {
    match renameat_with(&from, old, &to, new, RenameFlags::NOREPLACE) {
        // The host's filesystem lacks it. A link is as exclusive, but only for files.
        Err(Errno::INVAL | Errno::NOSYS) => {
            linkat(&from, old, &to, new, AtFlags::empty())?;
            unlinkat(&from, old, AtFlags::empty())
        }
        result => result,
    }
}

fn finish(file: &File, looks: Looks) -> Result<(), Fail> {
    if let Some((user, group)) = looks.owner {
        let now = Facts::of(file)?.owner;
        if now != (user, group) {
            // Only root may give files away; others keep what they write.
            forget(fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group))));
        }
    }
    fchmod(file, Mode::from_raw_mode(looks.mode))?;
    Ok(futimens(file, &mtime_only(looks.mtime))?)
}

/// Drops the outcome of cleaning up: what is reported is why it was needed.
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

fn written(facts: &Facts, created: bool) -> Written {
    Written::new(facts.id(), facts.version(), facts.size, created)
}

fn check_version(current: Option<VersionToken>, options: &WriteOptions) -> Result<(), Fail> {
    let expected = options.expected_version.is_some();
    let differs = expected && options.expected_version != current;
    if differs { Err(FsCode::ESTALE.into()) } else { Ok(()) }
}

fn check_no_base(options: &WriteOptions) -> Result<(), Fail> {
    check_version(None, options)?;
    if options.base.is_some() { Err(FsCode::ESTALE.into()) } else { Ok(()) }
}
