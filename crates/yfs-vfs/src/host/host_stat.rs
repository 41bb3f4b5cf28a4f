//! The host's attributes of one object.

use rustix::{
    fd::AsFd,
    fs::{AtFlags, FileType, Mode, Statx, StatxFlags, StatxTimestamp, statx},
    io::Errno,
    path::Arg,
};
use yfs_types::{hash::ContentHash, id::FileId, time::Millis};

use crate::stat::{DirEntry, FileKind, SYMLINK_MODE, Stat, VersionToken, mime_of};

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

impl HostStat {
    /// Returns the attributes of a name in a directory.
    pub(super) fn at(dir: impl AsFd, name: impl Arg) -> Result<Self, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        statx(dir, name, flags, mask).map(|statx| Self::new(&statx))
    }

    /// Returns the attributes of an open object.
    pub(super) fn of(file: impl AsFd) -> Result<Self, Errno> {
        let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        statx(file, c"", AtFlags::EMPTY_PATH, mask).map(|statx| Self::new(&statx))
    }

    fn new(statx: &Statx) -> Self {
        let kind = match FileType::from_raw_mode(statx.stx_mode.into()) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Symlink,
            _ => FileKind::Other,
        };
        let has_size = matches!(kind, FileKind::File | FileKind::Symlink);
        let device = u64::from(statx.stx_dev_major) << 32 | u64::from(statx.stx_dev_minor);
        Self {
            kind,
            size: if has_size { statx.stx_size } else { 0 },
            mtime_ns: nanoseconds(&statx.stx_mtime),
            changed_ns: nanoseconds(&statx.stx_ctime),
            created_ns: nanoseconds(&statx.stx_btime),
            mode: match kind {
                FileKind::Symlink => SYMLINK_MODE,
                _ => Mode::from_raw_mode(statx.stx_mode.into()).bits() & 0o7777,
            },
            n_links: statx.stx_nlink,
            owner: (statx.stx_uid, statx.stx_gid),
            place: (device, statx.stx_ino),
        }
    }

    /// Returns the identity: a hash of the inode and its creation time, because inode numbers are
    /// reused.
    pub(super) fn id(&self) -> FileId {
        let mut bytes = Vec::with_capacity(32);
        bytes.extend_from_slice(&self.place.0.to_le_bytes());
        bytes.extend_from_slice(&self.place.1.to_le_bytes());
        bytes.extend_from_slice(&self.created_ns.to_le_bytes());
        let hash = ContentHash::of(&bytes);
        let (half, _) = hash.as_bytes().split_at(16);
        FileId::from_bytes(half.try_into().expect("sixteen of thirty-two bytes"))
    }

    /// Returns the version of a file's content. It is as precise as the host's clock.
    pub(super) fn version(&self) -> VersionToken {
        let (device, inode) = self.place;
        VersionToken::new(format!("{device:x}-{inode:x}-{:x}-{:x}", self.mtime_ns, self.size))
    }

    pub(super) fn mtime(&self) -> Millis {
        millis(self.mtime_ns)
    }

    pub(super) fn stat(&self, name: &str, size: u64) -> Stat {
        let mut stat = Stat::new(self.id(), self.kind);
        (stat.size, stat.mode, stat.n_links) = (size, self.mode, self.n_links);
        (stat.mtime, stat.created) = (self.mtime(), millis(self.created_ns));
        if self.kind == FileKind::File {
            stat.mime = Some(mime_of(name));
            stat.version = Some(self.version());
        }
        stat
    }

    pub(super) fn entry(&self, name: &str, size: u64) -> DirEntry {
        let mut entry = DirEntry::new(name, self.id(), self.kind);
        (entry.size, entry.mode, entry.mtime) = (size, self.mode, self.mtime());
        entry
    }
}

fn nanoseconds(time: &StatxTimestamp) -> i128 {
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

fn millis(nanoseconds: i128) -> Millis {
    Millis(nanoseconds.div_euclid(1_000_000) as i64)
}
