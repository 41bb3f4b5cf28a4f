//! Converting the host's attributes to those of the filesystem contract.

use yfs_types::{hash::ContentHash, id::FileId, time::Millis};

use super::HostStat;
use crate::stat::{DirEntry, FileKind, Stat, VersionToken, mime_of};

impl HostStat {
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

fn millis(nanoseconds: i128) -> Millis {
    Millis(nanoseconds.div_euclid(1_000_000) as i64)
}
