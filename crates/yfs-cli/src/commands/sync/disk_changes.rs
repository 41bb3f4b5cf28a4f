//! The changes of a mirrored directory that the next exchange imports first.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use yfs::{DifferenceKind, DirectoryComparison, DirectoryDifference, ImportOptions, Workspace};
use yfs_engine::path::VPath;
use yfs_mirror::{
    MirrorError,
    mirror_state::{
        DiskStamp, MirrorNode, MirrorState,
        database::{CIPHER, MirrorDatabase},
    },
};

use crate::{commands::mirror, errors::Result, settings};

/// Lists the changes that were made in a directory since it was mirrored: paths, renames as
/// `from -> to`, removals and changed permission bits. None while a mirror is running, which has
/// imported them.
pub(super) fn list(workspace: &Workspace, directory: &Path) -> Result<BTreeSet<String>> {
    let cipher = workspace.store().cipher(CIPHER);
    let (database, state) = match MirrorDatabase::open(directory, workspace.id(), cipher) {
        Err(MirrorError::Busy(_)) => return Ok(BTreeSet::new()),
        opened => opened.map_err(mirror::mirror_failure)?,
    };
    let (max_file_len, ignores) = (settings::max_size(), settings::ignores());
    let options = ImportOptions { max_file_len, ignores, ..ImportOptions::default() };
    let found = DirectoryComparison::new(workspace, directory, &options)?.differences;
    drop(database);
    // A mirrored directory is on one device.
    let by_inode = state.nodes().map(|node| (node.stamp.place.1, node)).collect();
    let changes = DiskChanges { directory, state: &state, by_inode };
    let renames: Vec<(PathBuf, &DirectoryDifference)> =
        found.iter().filter_map(|found| Some((changes.former_path(found)?, found))).collect();
    let is_renamed = |path: &Path| renames.iter().any(|(from, _)| from == path);
    let renamed = renames.iter().map(|(from, to)| format!("/{} -> {}", from.display(), to.path));
    let others = found.iter().filter(|found| {
        !is_renamed(&relative(&found.path)) && !renames.iter().any(|(_, to)| to.path == found.path)
    });
    let others = others.filter_map(|found| changes.describe(found));
    Ok(renamed.chain(others).chain(changes.modes()).collect())
}

/// A directory, and what it was when it and the workspace last agreed.
struct DiskChanges<'a> {
    directory: &'a Path,
    state: &'a MirrorState,
    by_inode: HashMap<u64, &'a MirrorNode>,
}

impl DiskChanges<'_> {
    /// Returns the path from which a new file was moved.
    fn former_path(&self, found: &DirectoryDifference) -> Option<PathBuf> {
        let meta = found.host.symlink_metadata().ok()?;
        let node = self.by_inode.get(&meta.ino())?;
        let from = self.state.path(&node.id);
        let is_gone = self.directory.join(&from).symlink_metadata().is_err();
        (found.kind == DifferenceKind::Added && is_gone).then_some(from)
    }

    /// Describes a difference if it is a change of the directory, and not of the workspace.
    fn describe(&self, found: &DirectoryDifference) -> Option<String> {
        let node = self.state.at_path(&relative(&found.path));
        match found.kind {
            DifferenceKind::Added => node.is_none().then(|| found.path.to_string()),
            DifferenceKind::Removed => node.map(|_| format!("{} (removed)", found.path)),
            DifferenceKind::Changed | DifferenceKind::Retyped => {
                let is_same = node.is_some_and(|node| is_unchanged(&node.stamp, &found.host));
                (!is_same).then(|| found.path.to_string())
            }
        }
    }

    /// Describes the changed permission bits.
    fn modes(&self) -> impl Iterator<Item = String> {
        self.state.nodes().filter_map(|node| {
            let path = self.state.path(&node.id);
            let meta = fs::symlink_metadata(self.directory.join(&path)).ok()?;
            let is_changed = !meta.is_symlink() && (meta.mode() ^ node.stamp.mode) & 0o777 != 0;
            is_changed.then(|| format!("/{} (mode {:o})", path.display(), meta.mode() & 0o777))
        })
    }
}

fn relative(path: &VPath) -> PathBuf {
    path.as_str().trim_start_matches('/').into()
}

fn is_unchanged(stamp: &DiskStamp, host: &Path) -> bool {
    host.symlink_metadata().is_ok_and(|meta| {
        let mtime_ns = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
        (meta.len(), mtime_ns) == (stamp.size, stamp.mtime_ns)
    })
}
