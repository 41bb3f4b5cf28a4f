//! The changes of a mirrored directory that the next exchange imports first.

use std::{
    collections::{BTreeSet, HashSet},
    path::{Path, PathBuf},
};

use yfs::{DifferenceKind, DirectoryComparison, DirectoryDifference, ImportOptions, Workspace};

use crate::{
    commands::mirrored_sides::{ChangedSide, MirroredSides},
    errors::Result,
    settings,
};

/// Lists the changes that were made in a directory since it was mirrored: paths, renames as
/// `from -> to`, removals and changed permission bits. None while a mirror is running, which has
/// imported them.
pub(super) fn list(workspace: &Workspace, directory: &Path) -> Result<BTreeSet<String>> {
    let Some(sides) = MirroredSides::read(workspace, directory)? else {
        return Ok(BTreeSet::new());
    };
    let (max_file_len, ignores) = (settings::max_size(), settings::ignores());
    let options = ImportOptions { max_file_len, ignores, ..ImportOptions::default() };
    let found = DirectoryComparison::new(workspace, directory, &options)?.differences;
    let renames: Vec<(PathBuf, &DirectoryDifference)> =
        found.iter().filter_map(|found| Some((sides.former_path(found)?, found))).collect();
    let is_in_rename: HashSet<&Path> =
        renames.iter().flat_map(|(from, to)| [from.as_path(), sides.relative(to)]).collect();
    let renamed = renames.iter().map(|(from, to)| format!("/{} -> {}", from.display(), to.path));
    let others = found.iter().filter(|found| {
        !is_in_rename.contains(sides.relative(found)) && sides.side_of(found) == ChangedSide::Disk
    });
    let others = others.map(|found| match found.kind {
        DifferenceKind::Removed => format!("{} (removed)", found.path),
        _ => found.path.to_string(),
    });
    let modes = sides.changed_modes();
    let modes = modes.map(|(path, mode)| format!("/{} (mode {mode:o})", path.display()));
    Ok(renamed.chain(others).chain(modes).collect())
}
