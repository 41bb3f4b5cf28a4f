//! Lists the names of a tree, directory by directory.

use futures::{StreamExt, stream};
use yfs_engine::{
    id::FileId,
    main_doc::MainDoc,
    path::{MAX_PATH_LEN, VPath},
    table::{ListedChild, ListedKind},
    tree::FinalLink,
};
use yfs_vfs::{
    DirectoryListing, DirectoryStream, FileKind, FsCode, FsError, Op, WalkOptions,
    work_meter::count_objects,
};

use super::walk::TreeLister;

/// A walk in progress.
struct DirectoryWalk {
    root: VPath,
    options: WalkOptions,
    /// The directory that is listed first.
    first: Option<Option<FileId>>,
    /// The directories whose entries are being listed, the deepest last.
    open: Vec<OpenDirectory>,
    n_found: usize,
}

/// A directory that was listed. Each has its path once, since peers nest directories deeply and
/// make many in each.
struct OpenDirectory {
    path: VPath,
    /// The directories in it that are still to be listed, the next one last.
    rest: Vec<Subdirectory>,
}

/// A directory in another.
struct Subdirectory {
    id: FileId,
    name: Box<str>,
    /// Its path, if it is not that of the directory and the name.
    other_path: Option<VPath>,
}

impl TreeLister<'_> {
    /// Lists a tree. No lock is held between two directories.
    pub(super) fn walk_directories(
        &self,
        path: &VPath,
        options: &WalkOptions,
    ) -> DirectoryStream<'static> {
        let first = self.refresh_if_unfollowed(Op::Walk);
        let first = first.and_then(|()| self.begin_directory_walk(path, options));
        let fs = self.fs.clone();
        let listings = stream::unfold(Some(first), move |walk| {
            let next = match walk {
                None => None,
                Some(Err(error)) => Some((Err(error), None)),
                Some(Ok(mut walk)) => match walk.next(&fs.state.main.read()) {
                    None => None,
                    Some(Err(error)) => Some((Err(error), None)),
                    Some(Ok(listing)) => Some((Ok(listing), Some(Ok(walk)))),
                },
            };
            std::future::ready(next)
        });
        listings.boxed()
    }

    fn begin_directory_walk(
        &self,
        path: &VPath,
        options: &WalkOptions,
    ) -> Result<DirectoryWalk, FsError> {
        let main = self.state.main.read();
        let node = self.resolve(&main, Op::Walk, path, FinalLink::Yes)?;
        if !node.is_directory() {
            return Err(FsError::new(FsCode::ENOTDIR, Op::Walk, path));
        }
        let (root, options) = (path.clone(), options.clone());
        let first = Some(node.id().cloned());
        Ok(DirectoryWalk { root, options, first, open: Vec::new(), n_found: 0 })
    }
}

impl DirectoryWalk {
    fn next(&mut self, main: &MainDoc) -> Option<Result<DirectoryListing, FsError>> {
        let (directory, path) = self.next_directory()?;
        let (listing, rest) = list(main, directory.as_ref(), path, &self.options);
        count_objects(listing.len() as u64);
        self.n_found += listing.len();
        if self.n_found > self.options.max_entries {
            return Some(Err(FsError::new(FsCode::EFBIG, Op::Walk, &self.root)));
        }
        if self.open.len() + 1 < self.options.max_depth && !rest.is_empty() {
            self.open.push(OpenDirectory { path: listing.path().clone(), rest });
        }
        Some(Ok(listing))
    }

    /// Returns the directory that is listed next, and its path.
    fn next_directory(&mut self) -> Option<(Option<FileId>, VPath)> {
        if let Some(first) = self.first.take() {
            return Some((first, self.root.clone()));
        }
        while let Some(open) = self.open.last_mut() {
            if let Some(Subdirectory { id, name, other_path }) = open.rest.pop() {
                return Some((Some(id), other_path.unwrap_or_else(|| open.path.join(&name))));
            }
            self.open.pop();
        }
        None
    }
}

/// Lists a directory. Also returns the directories in it, in reverse order.
fn list(
    main: &MainDoc,
    directory: Option<&FileId>,
    path: VPath,
    options: &WalkOptions,
) -> (DirectoryListing, Vec<Subdirectory>) {
    let prefix_len = if path.is_root() { 1 } else { path.as_str().len() + 1 };
    let mut listing = DirectoryListing::new(path);
    let mut subdirectories = Vec::new();
    main.for_each_listed(directory, |ListedChild { id, name, kind }| {
        if !options.hidden && name.starts_with('.') {
            return;
        }
        let kind = match kind {
            ListedKind::File { .. } | ListedKind::Blob { .. } => FileKind::File,
            ListedKind::Directory => FileKind::Directory,
            ListedKind::Link => FileKind::Symlink,
        };
        // As in other walks, a path that would be too long is that by the id.
        let is_long = prefix_len + name.len() > MAX_PATH_LEN;
        let id = (is_long || kind == FileKind::Directory).then(|| FileId::parse(id).ok()).flatten();
        let other_path = id.as_ref().filter(|_| is_long).and_then(|id| main.tree().path_of(id));
        match &other_path {
            Some(other) => listing.push_at(other.clone(), name, kind),
            None => listing.push(name, kind),
        }
        if let Some(id) = id.filter(|_| kind == FileKind::Directory) {
            subdirectories.push(Subdirectory { id, name: name.into(), other_path });
        }
    });
    subdirectories.reverse();
    (listing, subdirectories)
}

#[cfg(test)]
mod tests {
    use yfs_vfs::{FileSystem, FileSystemExt, MkdirOptions, WalkEntry};

    use super::*;
    use crate::eager_disk::{EagerDisk, path};

    /// Deeper than paths reach, directories are made below their ids.
    #[tokio::test]
    async fn paths_that_would_be_too_long_are_those_by_id() {
        let disk = EagerDisk::new();
        let fs = disk.open().fs();
        let mut at = VPath::root();
        for _ in 0..20 {
            let child = at.join(&"d".repeat(250));
            fs.mkdir(&child, &MkdirOptions::default()).await.expect("made");
            let id = fs.stat(&child).await.expect("found").id;
            at = path(&format!("/.id/{id}"));
        }
        let options = WalkOptions::default();
        let walked = fs.walk(&VPath::root(), &options).await.expect("listed");
        let mut expected = walked.into_iter().map(|WalkEntry { path, .. }| path);
        let mut listings = fs.lister().walk_directories(&VPath::root(), &options);
        let mut n_by_id = 0;
        while let Some(listing) = listings.next().await {
            let listing = listing.expect("listed");
            for at in 0..listing.len() {
                let path = listing.path_of(at).expect("an entry").into_owned();
                n_by_id += usize::from(path.as_str().starts_with("/.id/"));
                assert_eq!(Some(path), expected.next());
            }
        }
        assert_eq!(expected.next(), None);
        assert!(n_by_id > 2, "{n_by_id}");
    }
}
