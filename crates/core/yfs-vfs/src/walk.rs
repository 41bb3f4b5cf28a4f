//! Listing trees, over any filesystem.

use futures::stream;
use yfs_types::path::VPath;

use crate::{
    directory_listing::DirectoryListing,
    error::{FsCode, FsError, Op},
    file_system::FileSystem,
    file_system_ext::FileSystemExt,
    options::WalkOptions,
    stat::{DirEntry, FileKind, WalkEntry},
    stream::DirectoryStream,
    work_meter::count_objects,
};

/// Lists a tree by listing its directories one after the other. See
/// [`FileSystem::walk_batches`].
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

/// Lists the directories of a tree. See [`FileSystem::walk_directories`].
pub fn walk_directories<'a, F: FileSystem + ?Sized>(
    fs: &'a F,
    path: &'a VPath,
    options: &'a WalkOptions,
) -> DirectoryStream<'a> {
    let walk = DirectoryWalk { root: path, options, pending: vec![(path.clone(), 1)], n_found: 0 };
    Box::pin(stream::unfold(walk, move |mut walk| async move {
        let listed = walk.next(fs).await?;
        if listed.is_err() {
            walk.pending.clear();
        }
        Some((listed, walk))
    }))
}

/// A walk over directories in progress.
struct DirectoryWalk<'a> {
    root: &'a VPath,
    options: &'a WalkOptions,
    /// The directories that are still to be listed, the next one last, and their levels.
    pending: Vec<(VPath, usize)>,
    n_found: usize,
}

impl DirectoryWalk<'_> {
    /// Lists the next directory.
    async fn next<F: FileSystem + ?Sized>(
        &mut self,
        fs: &F,
    ) -> Option<Result<DirectoryListing, FsError>> {
        let (dir, depth) = self.pending.pop()?;
        let max_entries = usize::MAX;
        let options =
            WalkOptions { max_depth: 1, kinds_only: true, max_entries, ..self.options.clone() };
        let found = match fs.walk(&dir, &options).await {
            Err(error) if depth > 1 && vanished(&error) => Vec::new(),
            Err(error) => return Some(Err(error)),
            Ok(found) => found,
        };
        self.n_found += found.len();
        if self.n_found > self.options.max_entries {
            return Some(Err(FsError::new(FsCode::EFBIG, Op::Walk, self.root)));
        }
        if depth < self.options.max_depth {
            let below = found.iter().rev().filter(|item| item.entry.kind == FileKind::Directory);
            self.pending.extend(below.map(|item| (item.path.clone(), depth + 1)));
        }
        let mut listing = DirectoryListing::new(dir);
        for WalkEntry { path, entry } in found {
            if path == listing.path().join(&entry.name) {
                listing.push(&entry.name, entry.kind);
            } else {
                listing.push_at(path, &entry.name, entry.kind);
            }
        }
        Some(Ok(listing))
    }
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
