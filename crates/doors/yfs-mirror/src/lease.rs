//! Detection of programs that may still write to a file, and leases that keep new writers out.
//!
//! A read lease (`F_SETLEASE`) is granted only while no process has the file open for writing,
//! mapped files included. While it is held, each process that opens the file for writing waits in
//! `open`. So a granted lease means that the bytes are complete and stay as they are until the
//! lease is dropped. Where the filesystem has no leases, or the file belongs to another user, the
//! mirror searches `/proc` instead.

#![expect(unsafe_code, reason = "no library wraps F_SETLEASE and F_OFD_SETLK")]

use std::{
    cell::RefCell,
    collections::HashSet,
    fs::{self, File},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, MetadataExt},
    },
    time::{Duration, Instant},
};

use rustix::fs::{FlockOperation, flock, makedev};

/// Of Linux's `fcntl.h`; not in `libc`.
const F_SETSIG: libc::c_int = 10;

/// The time of a search of all processes, and the device and inode of each file that they write to.
type InodeSearch = (Instant, HashSet<(u64, u64)>);

/// How long the result of a search is valid.
const SEARCH_AGE: Duration = Duration::from_millis(100);

/// Whether processes have a file open for writing.
#[derive(Debug)]
pub(crate) enum OpenWriters<'a> {
    /// No process has, and none will while the lease is held.
    None(FileLease<'a>),
    /// At least one process has.
    Some,
    /// The host cannot report it; the search of `/proc` found none.
    Unknown,
}

/// A lease that keeps writers out. Dropping it lets them in.
#[derive(Debug)]
pub(crate) struct FileLease<'a> {
    file: &'a File,
    /// Whether the lease keeps readers out, too.
    is_exclusive: bool,
}

/// Locks that cooperating programs respect, held by the mirror. Dropping it releases them.
#[derive(Debug)]
pub(crate) struct ProgramLocks<'a>(&'a File);

impl OpenWriters<'_> {
    /// Determines whether processes have a file open for writing. The file must be open only for
    /// reading.
    pub(crate) fn of(file: &File) -> OpenWriters<'_> {
        if let Some(lease) = FileLease::acquire(file, libc::F_RDLCK) {
            return OpenWriters::None(lease);
        }
        let is_refused = io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock;
        match is_refused || is_open_for_writing(file) {
            true => OpenWriters::Some,
            false => OpenWriters::Unknown,
        }
    }

    /// Does the same, and keeps readers out as well if no other process has the file open at all.
    pub(crate) fn alone(file: &File) -> OpenWriters<'_> {
        let lease = FileLease::acquire(file, libc::F_WRLCK);
        lease.map_or_else(|| Self::of(file), OpenWriters::None)
    }

    /// Reports whether a process has the file open for writing.
    pub(crate) fn is_some(&self) -> bool {
        matches!(self, OpenWriters::Some)
    }

    /// Reports whether it is certain that no process has the file open for writing.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, OpenWriters::None(_))
    }

    /// Reports whether no process can read the file while the lease is held.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, OpenWriters::None(lease) if lease.is_exclusive)
    }
}

impl<'a> FileLease<'a> {
    fn acquire(file: &'a File, kind: libc::c_int) -> Option<Self> {
        let fd = file.as_raw_fd();
        // The kernel sends a signal when it breaks a lease. SIGURG is ignored by default, SIGIO
        // would end the process. SAFETY: these calls take an open descriptor and an integer, and
        // access no memory.
        let leased = unsafe {
            libc::fcntl(fd, F_SETSIG, libc::SIGURG) == 0
                && libc::fcntl(fd, libc::F_SETLEASE, kind) == 0
        };
        leased.then_some(Self { file, is_exclusive: kind == libc::F_WRLCK })
    }
}

impl Drop for FileLease<'_> {
    fn drop(&mut self) {
        // SAFETY: as above. Closing the file releases the lease as well.
        unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
    }
}

impl ProgramLocks<'_> {
    /// Acquires both kinds of locks, `flock` and `fcntl`, unless another process holds one. The
    /// `fcntl` lock is shared if the file is open only for reading.
    pub(crate) fn try_acquire(file: &File, is_writable: bool) -> Option<ProgramLocks<'_>> {
        flock(file, FlockOperation::NonBlockingLockExclusive).ok()?;
        let locks = ProgramLocks(file);
        let kind = if is_writable { libc::F_WRLCK } else { libc::F_RDLCK };
        set_record_lock(file, kind).then_some(locks)
    }
}

impl Drop for ProgramLocks<'_> {
    fn drop(&mut self) {
        set_record_lock(self.0, libc::F_UNLCK);
        // Closing the file releases it as well.
        flock(self.0, FlockOperation::NonBlockingUnlock).ok();
    }
}

/// Sets a lock on a whole file that belongs to this descriptor, not to the process.
fn set_record_lock(file: &File, kind: i32) -> bool {
    let lock = libc::flock {
        l_type: i16::try_from(kind).expect("kinds of locks are small numbers"),
        l_whence: 0,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open, and the structure lives until the call returns.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) == 0 }
}

/// Reports whether a process holds or awaits an `flock` or `fcntl` lock on an inode.
pub(crate) fn is_locked(file: &File) -> bool {
    let (Ok(meta), Ok(locks)) = (file.metadata(), fs::read_to_string("/proc/locks")) else {
        return false;
    };
    let suffix = format!(":{}", meta.ino());
    let is_here = |line: &str| {
        let is_lock = line.contains("FLOCK") || line.contains("POSIX") || line.contains("OFDLCK");
        is_lock && line.split_whitespace().any(|word| word.ends_with(&suffix))
    };
    locks.lines().any(is_here)
}

/// Searches the processes of the same user for one that has a file open, or mapped, for writing.
/// Reuses a result for [`SEARCH_AGE`], because the mirror reads many files in sequence.
fn is_open_for_writing(file: &File) -> bool {
    thread_local! {
        static FOUND: RefCell<Option<InodeSearch>> = const { RefCell::new(None) };
    }
    let Ok(meta) = file.metadata() else { return false };
    FOUND.with_borrow_mut(|found| {
        let is_fresh = |(since, _): &InodeSearch| since.elapsed() < SEARCH_AGE;
        if !found.as_ref().is_some_and(is_fresh) {
            *found = Some((Instant::now(), written_inodes()));
        }
        found.as_ref().is_some_and(|(_, inodes)| inodes.contains(&(meta.dev(), meta.ino())))
    })
}

/// Returns the device and inode of each file that a process has open, or mapped, for writing.
fn written_inodes() -> HashSet<(u64, u64)> {
    let mut inodes = HashSet::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if process.file_name().to_str().is_none_or(|name| name.parse::<u32>().is_err()) {
            continue;
        }
        let process = process.path();
        for open in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
            let info = fs::read_to_string(process.join("fdinfo").join(open.file_name()));
            if info.is_ok_and(|info| opened_for_writing(&info))
                && let Ok(meta) = fs::metadata(open.path())
                && meta.is_file()
            {
                inodes.insert((meta.dev(), meta.ino()));
            }
        }
        let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
        inodes.extend(maps.lines().filter_map(mapped_for_writing));
    }
    inodes
}

/// Reports whether `fdinfo` shows write access.
fn opened_for_writing(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|text| i64::from_str_radix(text.trim(), 8).ok());
    flags.is_some_and(|flags| flags & i64::from(libc::O_ACCMODE) != i64::from(libc::O_RDONLY))
}

/// Returns the device and inode in a line of `maps` that shows shared writable memory.
fn mapped_for_writing(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_whitespace().skip(1);
    let access = words.next().filter(|access| access.starts_with("rw") && access.ends_with('s'));
    let (_offset, device, inode) = (access.and(words.next())?, words.next()?, words.next()?);
    let (major, minor) = device.split_once(':')?;
    let hex = |text| u32::from_str_radix(text, 16).ok();
    Some((makedev(hex(major)?, hex(minor)?), inode.parse().ok()?))
}

/// Writes other bytes to an open file, in the same inode: writes from the first difference on, and
/// truncates the rest.
///
/// # Errors
///
/// The error of the host; the file then holds a prefix of the new bytes, and the rest of the old
/// ones.
pub(crate) fn overwrite(file: &File, old: &[u8], new: &[u8]) -> io::Result<()> {
    let n_same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    file.write_all_at(&new[n_same..], n_same as u64)?;
    match new.len() < old.len() {
        true => file.set_len(new.len() as u64),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_lease_is_granted_when_no_writer_is_left() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let reader = File::open(file.path()).unwrap();
        assert!(OpenWriters::of(&reader).is_some());
        let meta = reader.metadata().unwrap();
        let is_found = || written_inodes().contains(&(meta.dev(), meta.ino()));
        assert!(is_found(), "this process has it open");
        file.write_all(b"x").unwrap();
        let path = file.into_temp_path();
        assert!(OpenWriters::of(&reader).is_none());
        assert!(OpenWriters::alone(&reader).is_alone());
        let second = File::open(&path).unwrap();
        assert!(OpenWriters::alone(&reader).is_none() && !OpenWriters::alone(&reader).is_alone());
        drop(second);
        assert!(!is_found());
        let writer = File::options().write(true).open(&path).unwrap();
        assert!(OpenWriters::of(&reader).is_some());
        drop(writer);
        assert!(OpenWriters::of(&reader).is_none());
    }

    #[test]
    fn shared_memory_is_found_in_the_maps_of_a_process() {
        let line = "7f0000000000-7f0000001000 rw-s 00000000 fe:01 1234 /tmp/a b.txt";
        assert_eq!(mapped_for_writing(line), Some((makedev(0xfe, 1), 1_234)));
        assert_eq!(mapped_for_writing(&line.replace("rw-s", "rw-p")), None);
        assert_eq!(mapped_for_writing(&line.replace("rw-s", "r--s")), None);
    }

    #[test]
    fn locks_of_programs_are_seen_and_respected() {
        let file = tempfile::tempfile().unwrap();
        let other = File::options()
            .read(true)
            .write(true)
            .open(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let other = other.unwrap();
        assert!(!is_locked(&file));
        let taken = ProgramLocks::try_acquire(&file, true).unwrap();
        assert!(is_locked(&other) && ProgramLocks::try_acquire(&other, true).is_none());
        drop(taken);
        let taken = ProgramLocks::try_acquire(&other, true).unwrap();
        assert!(ProgramLocks::try_acquire(&file, true).is_none());
        drop(taken);
        assert!(!is_locked(&file));
    }
}
