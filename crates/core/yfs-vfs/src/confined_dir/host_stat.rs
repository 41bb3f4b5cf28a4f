//! The host's attributes of one object.

use rustix::{
    fd::AsFd,
    fs::{AtFlags, FileType, Mode},
    io::Errno,
    path::Arg,
};

use crate::stat::{FileKind, SYMLINK_MODE};

/// The host's attributes of one object, without following a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostStat {
    /// The kind of the object.
    pub kind: FileKind,
    /// The length in bytes; for a link, the length of the target that the host stores.
    pub size: u64,
    /// The time of the last content change, in nanoseconds since 1970.
    pub mtime_ns: i128,
    /// The time of the last change of content or attributes, by the host's clock, in nanoseconds
    /// since 1970.
    pub changed_ns: i128,
    /// The time of creation, in nanoseconds since 1970; 0 if the host does not report it.
    pub created_ns: i128,
    /// Permission bits.
    pub mode: u32,
    /// The number of hard links.
    pub n_links: u32,
    /// The user and the group.
    pub owner: (u32, u32),
    /// Device and inode.
    pub place: (u64, u64),
}

#[cfg(target_os = "linux")]
impl HostStat {
    /// Returns the attributes of a name in a directory.
    pub(crate) fn at(dir: impl AsFd, name: impl Arg) -> Result<Self, Errno> {
        use rustix::fs::{StatxFlags, statx};

        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        statx(dir, name, flags, mask).map(|statx| Self::from_statx(&statx))
    }

    /// Returns the attributes of an open object.
    pub(crate) fn of(file: impl AsFd) -> Result<Self, Errno> {
        use rustix::fs::{StatxFlags, statx};

        let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        statx(file, c"", AtFlags::EMPTY_PATH, mask).map(|statx| Self::from_statx(&statx))
    }

    fn from_statx(statx: &rustix::fs::Statx) -> Self {
        let nanoseconds = |time: &rustix::fs::StatxTimestamp| {
            i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
        };
        let raw_mode = statx.stx_mode.into();
        let kind = kind_of(FileType::from_raw_mode(raw_mode));
        let device = u64::from(statx.stx_dev_major) << 32 | u64::from(statx.stx_dev_minor);
        Self {
            kind,
            size: size_of(kind, statx.stx_size),
            mtime_ns: nanoseconds(&statx.stx_mtime),
            changed_ns: nanoseconds(&statx.stx_ctime),
            created_ns: nanoseconds(&statx.stx_btime),
            mode: mode_of(kind, Mode::from_raw_mode(raw_mode).bits()),
            n_links: statx.stx_nlink,
            owner: (statx.stx_uid, statx.stx_gid),
            place: (device, statx.stx_ino),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl HostStat {
    /// Returns the attributes of a name in a directory.
    pub(crate) fn at(dir: impl AsFd, name: impl Arg) -> Result<Self, Errno> {
        rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Self::from_stat(&stat))
    }

    /// Returns the attributes of an open object.
    pub(crate) fn of(file: impl AsFd) -> Result<Self, Errno> {
        rustix::fs::fstat(file).map(|stat| Self::from_stat(&stat))
    }

    fn from_stat(stat: &rustix::fs::Stat) -> Self {
        let kind = kind_of(FileType::from_raw_mode(stat.st_mode));
        Self {
            kind,
            size: size_of(kind, stat.st_size as u64),
            mtime_ns: stat.st_mtime as i128 * 1_000_000_000 + stat.st_mtime_nsec as i128,
            changed_ns: stat.st_ctime as i128 * 1_000_000_000 + stat.st_ctime_nsec as i128,
            created_ns: 0,
            mode: mode_of(kind, Mode::from_raw_mode(stat.st_mode).bits() as u32),
            n_links: stat.st_nlink as u32,
            owner: (stat.st_uid, stat.st_gid),
            place: (stat.st_dev as u64, stat.st_ino as u64),
        }
    }
}

fn kind_of(file_type: FileType) -> FileKind {
    match file_type {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Other,
    }
}

fn size_of(kind: FileKind, size: u64) -> u64 {
    if matches!(kind, FileKind::File | FileKind::Symlink) { size } else { 0 }
}

fn mode_of(kind: FileKind, bits: u32) -> u32 {
    if kind == FileKind::Symlink { SYMLINK_MODE } else { bits & 0o7777 }
}
