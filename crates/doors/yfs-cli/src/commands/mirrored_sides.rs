//! On which side of a mirrored directory a difference came about: on disk, or in the workspace.

use std::path::{Path, PathBuf};

use yfs::{DifferenceKind, DirectoryDifference, Workspace};
use yfs_mirror::{
    MirrorError,
    mirror_state::{
        DiskStamp, MirrorState,
        database::{CIPHER, MirrorDatabase},
    },
};
use yfs_vfs::{
    FileKind,
    confined_dir::{ConfinedRoot, HostStat, MountPolicy},
};

use crate::{commands::mirror, errors::Result};

/// The side that changed since both were equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangedSide {
    Disk,
    Workspace,
}

/// A directory, and what it was when it and the workspace last agreed.
pub(crate) struct MirroredSides {
    path: PathBuf,
    root: ConfinedRoot,
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

impl MirroredSides {
    /// Reads what a mirror remembers of a directory; `None` while a mirror is running.
    pub(crate) fn read(workspace: &Workspace, directory: &Path) -> Result<Option<Self>> {
        let cipher = workspace.store().cipher(CIPHER);
        match MirrorDatabase::open(directory, workspace.id(), cipher) {
            Err(MirrorError::Busy(_)) => Ok(None),
            Ok((_, state)) => {
                let root = ConfinedRoot::open(directory, MountPolicy::OneDevice)?;
                Ok(Some(Self { path: directory.to_owned(), root, state }))
            }
            Err(error) => Err(mirror::mirror_failure(error)),
        }
    }

    /// Returns the side that made a difference. If both changed a file, it is the disk, whose
    /// change is imported first.
    pub(crate) fn side_of(&self, found: &DirectoryDifference) -> ChangedSide {
        let node = self.state.at_path(self.relative(found));
        let is_of_disk = match found.kind {
            DifferenceKind::Added => node.is_none(),
            DifferenceKind::Removed => node.is_some(),
            DifferenceKind::Changed | DifferenceKind::Retyped => {
                let now = self.facts(self.relative(found)).map(|facts| DiskStamp::of(&facts));
                node.zip(now).is_none_or(|(node, now)| {
                    (node.stamp.size, node.stamp.mtime_ns) != (now.size, now.mtime_ns)
                })
            }
        };
        if is_of_disk { ChangedSide::Disk } else { ChangedSide::Workspace }
    }

    /// Returns the path from which a file that is new on disk was moved.
    pub(crate) fn former_path(&self, found: &DirectoryDifference) -> Option<PathBuf> {
        if found.kind != DifferenceKind::Added {
            return None;
        }
        let now = DiskStamp::of(&self.facts(self.relative(found))?);
        // Inode numbers are reused.
        let node = self.state.at_place(now.place).filter(|node| node.stamp.is_same_inode(&now))?;
        let from = self.state.path(&node.id);
        self.facts(&from).is_none().then_some(from)
    }

    /// Returns the paths whose permission bits were changed on disk, with the new bits.
    pub(crate) fn changed_modes(&self) -> impl Iterator<Item = (PathBuf, u32)> {
        self.state.nodes().filter_map(|node| {
            let path = self.state.path(&node.id);
            let facts = self.facts(&path)?;
            let is_changed =
                facts.kind != FileKind::Symlink && (facts.mode ^ node.stamp.mode) & 0o777 != 0;
            is_changed.then_some((path, facts.mode & 0o777))
        })
    }

    /// Returns the path of a difference, relative to the directory. Its names are those on disk.
    pub(crate) fn relative<'a>(&self, found: &'a DirectoryDifference) -> &'a Path {
        found.host.strip_prefix(&self.path).unwrap_or(&found.host)
    }

    fn facts(&self, path: &Path) -> Option<HostStat> {
        self.root.dir(path.parent()?).ok()?.facts(path.file_name()?).ok()?
    }
}
