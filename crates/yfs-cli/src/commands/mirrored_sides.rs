//! On which side of a mirrored directory a difference came about: on disk, or in the workspace.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use yfs::{DifferenceKind, DirectoryDifference, Workspace};
use yfs_engine::path::VPath;
use yfs_mirror::{
    MirrorError,
    mirror_state::{
        DiskStamp, MirrorNode, MirrorState,
        database::{CIPHER, MirrorDatabase},
    },
};

use crate::{commands::mirror, errors::Result};

/// The side that changed since both were equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangedSide {
    Disk,
    Workspace,
}

/// A directory, and what it was when it and the workspace last agreed.
pub(crate) struct MirroredSides<'a> {
    directory: &'a Path,
    state: MirrorState,
}

impl ChangedSide {
    /// Returns its name in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Workspace => "workspace",
        }
    }
}

impl<'a> MirroredSides<'a> {
    /// Reads what a mirror remembers of a directory; `None` while a mirror is running.
    pub(crate) fn read(workspace: &Workspace, directory: &'a Path) -> Result<Option<Self>> {
        let cipher = workspace.store().cipher(CIPHER);
        match MirrorDatabase::open(directory, workspace.id(), cipher) {
            Err(MirrorError::Busy(_)) => Ok(None),
            Ok((_, state)) => Ok(Some(Self { directory, state })),
            Err(error) => Err(mirror::mirror_failure(error)),
        }
    }

    /// Returns the side that made a difference. If both changed a file, it is the disk, whose
    /// change is imported first.
    pub(crate) fn side_of(&self, found: &DirectoryDifference) -> ChangedSide {
        let node = self.state.at_path(&relative(&found.path));
        let is_of_disk = match found.kind {
            DifferenceKind::Added => node.is_none(),
            DifferenceKind::Removed => node.is_some(),
            DifferenceKind::Changed | DifferenceKind::Retyped => {
                !node.is_some_and(|node| is_unchanged(&node.stamp, &found.host))
            }
        };
        if is_of_disk { ChangedSide::Disk } else { ChangedSide::Workspace }
    }

    /// Returns the nodes by their inodes. A mirrored directory is on one device.
    pub(crate) fn by_inode(&self) -> HashMap<u64, &MirrorNode> {
        self.state.nodes().map(|node| (node.stamp.place.1, node)).collect()
    }

    /// Returns the path from which a file that is new on disk was moved.
    pub(crate) fn former_path(
        &self,
        by_inode: &HashMap<u64, &MirrorNode>,
        found: &DirectoryDifference,
    ) -> Option<PathBuf> {
        let meta = found.host.symlink_metadata().ok()?;
        // Inode numbers are reused.
        let node = by_inode.get(&meta.ino())?;
        let is_same = node.stamp.created_ns == created_ns(&meta);
        let from = self.state.path(&node.id);
        let is_gone = self.directory.join(&from).symlink_metadata().is_err();
        (found.kind == DifferenceKind::Added && is_same && is_gone).then_some(from)
    }

    /// Returns the paths whose permission bits were changed on disk, with the new bits.
    pub(crate) fn changed_modes(&self) -> impl Iterator<Item = (PathBuf, u32)> {
        self.state.nodes().filter_map(|node| {
            let path = self.state.path(&node.id);
            let meta = fs::symlink_metadata(self.directory.join(&path)).ok()?;
            let is_changed = !meta.is_symlink() && (meta.mode() ^ node.stamp.mode) & 0o777 != 0;
            is_changed.then(|| (path, meta.mode() & 0o777))
        })
    }
}

/// Returns the path below the directory.
pub(crate) fn relative(path: &VPath) -> PathBuf {
    path.as_str().trim_start_matches('/').into()
}

/// Returns when an inode was made; 0 where the system does not report it, as in a [`DiskStamp`].
fn created_ns(meta: &fs::Metadata) -> i64 {
    let created = meta.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    created.map_or(0, |at| i64::try_from(at.as_nanos()).unwrap_or_default())
}

fn is_unchanged(stamp: &DiskStamp, host: &Path) -> bool {
    host.symlink_metadata().is_ok_and(|meta| {
        let mtime_ns = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
        (meta.len(), mtime_ns) == (stamp.size, stamp.mtime_ns)
    })
}
