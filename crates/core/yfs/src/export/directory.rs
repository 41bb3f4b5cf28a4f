//! Writing files and links into a directory of the host. Each appears whole: it is written under a
//! temporary name and renamed.
//!
//! Nothing is written outside of the directory; [`ConfinedRoot`] sees to that.

use std::{
    ffi::OsStr,
    io,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::io::Errno;
use yfs_engine::{path::VPath, table::BlobRef};
use yfs_vfs::{
    DirEntry, FileKind,
    confined_dir::{ConfinedDir, ConfinedRoot, CreationAttributes, MountPolicy},
    reserved_names::TEMPORARY,
};

use crate::{WorkspaceFs, import::SkipReason};

/// The permission bits of a new directory until its content is written.
const NEW_DIRECTORY_MODE: u32 = 0o755;

/// The number of the next temporary file, so that threads use different names.
static NEXT_TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// The target of an export.
#[derive(Debug, Clone)]
pub(super) struct ExportDirectory {
    root: ConfinedRoot,
}

/// A content that is read from the store while it is written.
#[derive(Debug)]
pub(super) struct LargeContent<'a> {
    pub(super) fs: &'a WorkspaceFs,
    pub(super) path: &'a VPath,
    pub(super) blob: BlobRef,
}

/// The outcome of writing a file or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileWriteOutcome {
    /// It was written.
    Written,
    /// It existed already and was equal.
    Unchanged,
}

/// Returns the attributes of an entry.
pub(super) fn attributes_of(entry: &DirEntry) -> CreationAttributes {
    CreationAttributes { mode: entry.mode, mtime: entry.mtime }
}

impl ExportDirectory {
    /// Opens a directory, creating it if it is missing.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        Ok(Self { root: ConfinedRoot::open(path, MountPolicy::AllDevices)? })
    }

    /// Creates a directory; reports whether it was missing.
    pub(super) fn make_dir(&self, relative: &Path) -> Result<bool, SkipReason> {
        let (dir, name) = self.open_parent(relative)?;
        match dir.make_dir(name, NEW_DIRECTORY_MODE) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match dir.enter(name) {
                Ok(_) => Ok(false),
                Err(_) => Err(SkipReason::InTheWay),
            },
            Err(error) => Err(skip_reason(&error)),
        }
    }

    /// Sets mode and time of a directory.
    pub(super) fn set_dir(
        &self,
        relative: &Path,
        attributes: CreationAttributes,
    ) -> Result<(), SkipReason> {
        let (dir, name) = self.open_parent(relative)?;
        let opened = dir.enter(name);
        opened
            .and_then(|dir| dir.set_own_attributes(attributes))
            .map_err(|error| skip_reason(&error))
    }

    /// Writes a file, which appears whole.
    pub(super) fn write_file(
        &self,
        relative: &Path,
        data: &[u8],
        attributes: CreationAttributes,
        force: bool,
    ) -> Result<FileWriteOutcome, SkipReason> {
        let (dir, name) = self.open_parent(relative)?;
        let is_equal = |size: u64| has_content(&dir, name, data, size);
        if let Some(unchanged) = check_existing(&dir, name, is_equal, attributes, force)? {
            return Ok(unchanged);
        }
        place_object(&dir, name, force, |temporary| {
            dir.make_file(temporary, data, attributes, false)
        })
    }

    /// Writes a file that is not held in memory; it appears whole.
    pub(super) fn write_large_file(
        &self,
        relative: &Path,
        content: &LargeContent<'_>,
        attributes: CreationAttributes,
        force: bool,
    ) -> Result<FileWriteOutcome, SkipReason> {
        let (dir, name) = self.open_parent(relative)?;
        let is_equal = |size: u64| size == content.blob.size && content.is_in(&dir, name);
        if let Some(unchanged) = check_existing(&dir, name, is_equal, attributes, force)? {
            return Ok(unchanged);
        }
        place_object(&dir, name, force, |temporary| {
            let private = CreationAttributes { mode: 0o600, ..attributes };
            dir.make_file(temporary, b"", private, false)?;
            let mut file = dir.open_file(temporary, true)?;
            content
                .fs
                .reader()
                .copy_blob(content.path, content.blob, &mut file)
                .map_err(io::Error::other)?;
            dir.set_attributes(temporary, attributes)
        })
    }

    /// Makes a symbolic link.
    pub(super) fn write_link(
        &self,
        relative: &Path,
        target: &str,
        force: bool,
    ) -> Result<FileWriteOutcome, SkipReason> {
        let (dir, name) = self.open_parent(relative)?;
        match dir.make_link(target.as_bytes(), name) {
            Ok(()) => return Ok(FileWriteOutcome::Written),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
            Err(error) => return Err(skip_reason(&error)),
        }
        let there = dir.facts(name).map_err(|error| skip_reason(&error))?;
        match there.map(|facts| facts.kind) {
            Some(FileKind::Symlink) => {
                let existing = dir.read_link(name).map_err(|error| skip_reason(&error))?;
                if existing == target.as_bytes() {
                    return Ok(FileWriteOutcome::Unchanged);
                }
            }
            Some(FileKind::Directory) => return Err(SkipReason::InTheWay),
            _ => (),
        }
        if !force {
            return Err(SkipReason::Exists);
        }
        place_object(&dir, name, true, |temporary| dir.make_link(target.as_bytes(), temporary))
    }

    /// Opens the parent directory of the last component of a path.
    fn open_parent<'p>(&self, relative: &'p Path) -> Result<(ConfinedDir, &'p OsStr), SkipReason> {
        let above = relative.parent().unwrap_or(Path::new(""));
        let name = relative.file_name().ok_or(SkipReason::InTheWay)?;
        let dir = self.root.dir(above).map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => SkipReason::InTheWay,
            _ => skip_reason(&error),
        })?;
        Ok((dir, name))
    }
}

impl LargeContent<'_> {
    /// Reports whether a file of the directory has this content.
    fn is_in(&self, dir: &ConfinedDir, name: &OsStr) -> bool {
        let file = dir.open_file(name, false);
        file.is_ok_and(|mut file| {
            let equal = self.fs.reader().has_streamed_content(self.path, &mut file);
            matches!(equal, Ok(Ok(true)))
        })
    }
}

/// Checks that a file may be written under a name. Returns the outcome if there is nothing to
/// write, because a file of this content is there, whose attributes are set.
fn check_existing(
    dir: &ConfinedDir,
    name: &OsStr,
    is_equal: impl FnOnce(u64) -> bool,
    attributes: CreationAttributes,
    force: bool,
) -> Result<Option<FileWriteOutcome>, SkipReason> {
    let there = dir.facts(name).map_err(|error| skip_reason(&error))?;
    match there.map(|facts| (facts.kind, facts.size)) {
        None => Ok(None),
        Some((FileKind::File, size)) if is_equal(size) => {
            let set = dir.set_attributes(name, attributes);
            set.map(|()| Some(FileWriteOutcome::Unchanged)).map_err(|error| skip_reason(&error))
        }
        Some((FileKind::Directory, _)) => Err(SkipReason::InTheWay),
        Some(_) if !force => Err(SkipReason::Exists),
        Some(_) => Ok(None),
    }
}

/// Makes an object under a temporary name, and renames it; without `force`, only if the name is
/// free. On failure, removes it again.
fn place_object(
    dir: &ConfinedDir,
    name: &OsStr,
    force: bool,
    make: impl FnOnce(&OsStr) -> io::Result<()>,
) -> Result<FileWriteOutcome, SkipReason> {
    let temporary = temporary_name();
    let temporary = OsStr::new(&temporary);
    let made = make(temporary).map_err(|error| skip_reason(&error));
    let placed = made.and_then(|()| rename_temporary(dir, temporary, name, force));
    if placed.is_err() {
        // The temporary object may not exist.
        dir.remove_file(temporary).ok();
    }
    placed.map(|()| FileWriteOutcome::Written)
}

/// Renames a temporary object; without `force`, only if the name is free.
fn rename_temporary(
    dir: &ConfinedDir,
    temporary: &OsStr,
    name: &OsStr,
    force: bool,
) -> Result<(), SkipReason> {
    let renamed = if force {
        dir.rename_over(temporary, name)
    } else {
        match dir.rename_new(temporary, dir, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(SkipReason::Exists);
            }
            // Some filesystems have neither such a rename nor hard links.
            Err(error) if lacks_hard_links(&error) => dir.rename_over(temporary, name),
            renamed => renamed,
        }
    };
    renamed.map_err(|error| skip_reason(&error))
}

fn lacks_hard_links(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS))
}

fn has_content(dir: &ConfinedDir, name: &OsStr, data: &[u8], size: u64) -> bool {
    size == data.len() as u64 && dir.read(name, size).is_ok_and(|(existing, _)| existing == data)
}

fn temporary_name() -> String {
    let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
    // A mirror never imports the prefix: a process that was killed leaves no file for others.
    format!("{TEMPORARY}export-{}-{number}", std::process::id())
}

fn skip_reason(error: &io::Error) -> SkipReason {
    match Errno::from_io_error(error) {
        Some(Errno::NAMETOOLONG | Errno::ILSEQ | Errno::INVAL) => {
            SkipReason::BadName(error.to_string())
        }
        _ => SkipReason::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use yfs_engine::time::Millis;

    use super::*;

    const PLAIN: CreationAttributes = CreationAttributes { mode: 0o644, mtime: Millis(0) };

    #[test]
    fn an_export_writes_nothing_through_a_link() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(outside.path(), inside.path().join("link")).unwrap();
        fs::write(inside.path().join("file"), "file").unwrap();
        let directory = ExportDirectory::open(inside.path()).unwrap();
        for relative in ["link/a", "link/sub/a", "file/a", "missing/a"] {
            let written = directory.write_file(Path::new(relative), b"a", PLAIN, true);
            assert_eq!(written, Err(SkipReason::InTheWay), "{relative}");
            let linked = directory.write_link(Path::new(relative), "b", true);
            assert_eq!(linked, Err(SkipReason::InTheWay), "{relative}");
            assert_eq!(
                directory.make_dir(Path::new(relative)),
                Err(SkipReason::InTheWay),
                "{relative}"
            );
        }
        assert_eq!(directory.make_dir(Path::new("link")), Err(SkipReason::InTheWay));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_export_replaces_only_what_it_may() {
        let folder = tempfile::tempdir().unwrap();
        let directory = ExportDirectory::open(folder.path()).unwrap();
        assert_eq!(directory.make_dir(Path::new("dir")), Ok(true));
        assert_eq!(directory.make_dir(Path::new("dir")), Ok(false));
        let write = |name: &str, data: &[u8], force| {
            directory.write_file(Path::new(name), data, PLAIN, force)
        };
        assert_eq!(write("dir/a", b"one", false), Ok(FileWriteOutcome::Written));
        assert_eq!(write("dir/a", b"one", false), Ok(FileWriteOutcome::Unchanged));
        assert_eq!(write("dir/a", b"two", false), Err(SkipReason::Exists));
        assert_eq!(write("dir", b"two", true), Err(SkipReason::InTheWay));
        assert_eq!(write("dir/a", b"two", true), Ok(FileWriteOutcome::Written));
        assert_eq!(directory.write_link(Path::new("dir/a"), "b", false), Err(SkipReason::Exists));
        assert_eq!(
            directory.write_link(Path::new("dir/a"), "b", true),
            Ok(FileWriteOutcome::Written)
        );
        assert_eq!(
            directory.write_link(Path::new("dir/a"), "b", true),
            Ok(FileWriteOutcome::Unchanged)
        );
        assert_eq!(write("dir/a", b"three", true), Ok(FileWriteOutcome::Written));
        let long = "x".repeat(300);
        assert!(matches!(write(&long, b"", false), Err(SkipReason::BadName(_))));
        let names: Vec<_> = fs::read_dir(folder.path().join("dir")).unwrap().collect();
        assert_eq!(names.len(), 1, "no temporary file is left: {names:?}");
        assert_eq!(fs::read(folder.path().join("dir/a")).unwrap(), b"three");
    }
}
