//! The attributes of objects, as the kernel takes them.

use std::time::Duration;

use fuser::{FileAttr, FileType, INodeNo};
use yfs_types::time::Millis;
use yfs_vfs::{DirEntry, FileKind};

use crate::node_times::{KnownTimes, system_time};

/// How long the kernel may keep names and attributes: until they are invalidated.
pub(crate) const LASTING: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the kernel may keep the attributes of a file that is open.
pub(crate) const NEVER: Duration = Duration::ZERO;

/// The unit of `st_blocks`, in bytes (POSIX, `<sys/stat.h>`).
const BLOCK_BYTES: u64 = 512;

/// The size of a read that is advised, in bytes.
const ADVISED_READ_BYTES: u32 = 128 << 10;

/// Returns the attributes of an object.
pub(crate) fn attributes(
    number: INodeNo,
    entry: &DirEntry,
    created: Millis,
    known: KnownTimes,
    owner: (u32, u32),
) -> FileAttr {
    let stored = system_time(entry.mtime);
    let modified = match known.modified {
        // What others changed later is newer than what is known.
        Some(modified) if modified >= stored || is_same_millisecond(modified, entry.mtime) => {
            modified
        }
        _ => stored,
    };
    FileAttr {
        ino: number,
        size: entry.size,
        blocks: entry.size.div_ceil(BLOCK_BYTES),
        atime: known.accessed.unwrap_or(modified),
        mtime: modified,
        ctime: known.changed.map_or(modified, |changed| changed.max(modified)),
        crtime: system_time(created),
        kind: file_type(entry.kind),
        perm: u16::try_from(entry.mode & 0o7777).unwrap_or(0),
        // As other filesystems do that do not count subdirectories.
        nlink: 1,
        uid: owner.0,
        gid: owner.1,
        rdev: 0,
        blksize: ADVISED_READ_BYTES,
        flags: 0,
    }
}

fn is_same_millisecond(time: std::time::SystemTime, millis: Millis) -> bool {
    crate::node_times::millis(time) == millis
}

/// Returns the type of an object.
pub(crate) fn file_type(kind: FileKind) -> FileType {
    match kind {
        FileKind::Directory => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
        _ => FileType::RegularFile,
    }
}
