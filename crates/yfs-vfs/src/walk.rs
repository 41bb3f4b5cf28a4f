//! Listing and summing up trees, over any filesystem.

use yfs_types::path::VPath;

use crate::{
    error::{FsCode, FsError, Op},
    file_system::FileSystem,
    options::WalkOptions,
    stat::{DirEntry, FileKind, TreeTotals, WalkEntry},
    work_meter::count_objects,
};

/// Lists a tree by listing its directories one after the other. See [`FileSystem::walk`].
pub async fn walk<F: FileSystem + ?Sized>(
    fs: &F,
    path: &VPath,
    options: &WalkOptions,
) -> Result<Vec<WalkEntry>, FsError> {
    let mut found = Vec::new();
    // The entries that are still to be listed, last first, so that a directory precedes its
    // content.
    let mut pending: Vec<(WalkEntry, usize)> = Vec::new();
    let first = fs.readdir(path).await.map_err(|error| error.during(Op::Walk))?;
    push(&mut pending, path, first, 1, options);
    while let Some((item, depth)) = pending.pop() {
        if found.len() >= options.max_entries {
            return Err(FsError::new(FsCode::EFBIG, Op::Walk, path));
        }
        if item.entry.kind == FileKind::Directory && depth < options.max_depth {
            match fs.readdir(&item.path).await {
                Ok(below) => push(&mut pending, &item.path, below, depth + 1, options),
                Err(error) if vanished(&error) => continue,
                Err(error) => return Err(error.during(Op::Walk)),
            }
            // The directory itself is pushed to `found` before its content, which is popped later.
        }
        found.push(item);
    }
    Ok(found)
}

/// Returns the totals of a tree. See [`FileSystem::totals`].
pub async fn totals<F: FileSystem + ?Sized>(fs: &F, path: &VPath) -> Result<TreeTotals, FsError> {
    let stat = fs.stat(path).await.map_err(|error| error.during(Op::Totals))?;
    if !stat.is_directory() {
        let n_files = u64::from(stat.is_file());
        return Ok(TreeTotals { n_files, n_directories: 0, n_bytes: stat.size * n_files });
    }
    let entries = fs.walk(path, &WalkOptions::default()).await;
    let entries = entries.map_err(|error| error.during(Op::Totals))?;
    let mut totals = TreeTotals::default();
    for WalkEntry { entry, .. } in &entries {
        match entry.kind {
            FileKind::File => {
                totals.n_files += 1;
                totals.n_bytes += entry.size;
            }
            FileKind::Directory => totals.n_directories += 1,
            FileKind::Symlink | FileKind::Other => (),
        }
    }
    Ok(totals)
}

/// Reports whether an error means that an object vanished between listing and reading it.
pub(crate) fn vanished(error: &FsError) -> bool {
    matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR)
}

fn push(
    pending: &mut Vec<(WalkEntry, usize)>,
    dir: &VPath,
    entries: Vec<DirEntry>,
    depth: usize,
    options: &WalkOptions,
) {
    count_objects(entries.len() as u64);
    let wanted = |entry: &DirEntry| options.hidden || !entry.name.starts_with('.');
    let entries = entries.into_iter().rev().filter(wanted);
    pending.extend(entries.map(|entry| (WalkEntry::new(dir.join(&entry.name), entry), depth)));
}
