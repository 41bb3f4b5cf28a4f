//! Walks over a tree.

use futures::{StreamExt, stream};
use yfs_engine::{
    id::FileId,
    main_doc::MainDoc,
    path::{MAX_PATH_LEN, VPath},
    table::{ListedChild, ListedKind},
    tree::FinalLink,
};
use yfs_vfs::{
    DirEntry, FileKind, FsCode, FsError, Op, WalkEntry, WalkOptions, WalkStream,
    work_meter::count_objects,
};

use super::{convert_types::fs_error, read::row_entry};

/// The number of entries in a batch of [`TreeLister::walk_batches`]. A larger one would be mapped
/// from the operating system and given back each time.
const BATCH_LEN: usize = 512;

/// The number of entries of a directory for which there is room at once. Directories are nested as
/// deep as peers want, and each that is open has this room.
const USUAL_LEN: usize = 16;

/// A walk in progress.
struct TreeWalk {
    root: VPath,
    options: WalkOptions,
    /// The directories that are open, the deepest last: what is left of each, and its path.
    open: Vec<(std::vec::IntoIter<(DirEntry, bool)>, VPath)>,
    n_found: usize,
}

/// What a walk found, and whether each is a text that is to be measured.
#[derive(Default)]
struct WalkFindings {
    entries: Vec<WalkEntry>,
    texts: Vec<bool>,
}

fs_part! {
    /// The calls that list trees.
    TreeLister, lister
}

impl TreeLister<'_> {
    pub(crate) fn walk(
        &self,
        path: &VPath,
        options: &WalkOptions,
    ) -> Result<Vec<WalkEntry>, FsError> {
        self.refresh_if_unfollowed(Op::Walk)?;
        let mut found = WalkFindings::default();
        {
            let main = self.state.main.read();
            let mut walk = self.begin_walk(&main, path, options)?;
            found.entries.reserve(walk.n_next());
            walk.go_on(&main, usize::MAX, &mut found)?;
        }
        count_objects(found.entries.len() as u64);
        self.measured(path, found)
    }

    /// Lists a tree in batches, or at once. No lock is held between two batches.
    pub(super) fn walk_batches(&self, path: &VPath, options: &WalkOptions) -> WalkStream<'static> {
        if options.at_once {
            return stream::iter([self.walk(path, options)]).boxed();
        }
        let first = self.refresh_if_unfollowed(Op::Walk);
        let first = first.and_then(|()| self.begin_walk(&self.state.main.read(), path, options));
        let fs = self.fs.clone();
        let batches = stream::unfold(Some(first), move |walk| {
            let batch = match walk {
                None => None,
                Some(Err(error)) => Some((Err(error), None)),
                Some(Ok(walk)) => fs.lister().next_batch(walk),
            };
            std::future::ready(batch)
        });
        batches.boxed()
    }

    /// Returns a batch, and the walk unless it is over.
    #[expect(clippy::type_complexity, reason = "the form that `unfold` asks for")]
    fn next_batch(
        &self,
        mut walk: TreeWalk,
    ) -> Option<(Result<Vec<WalkEntry>, FsError>, Option<Result<TreeWalk, FsError>>)> {
        let entries = Vec::with_capacity(BATCH_LEN);
        let mut found = WalkFindings { entries, ..WalkFindings::default() };
        if let Err(error) = walk.go_on(&self.state.main.read(), BATCH_LEN, &mut found) {
            return Some((Err(error), None));
        }
        if found.entries.is_empty() {
            return None;
        }
        count_objects(found.entries.len() as u64);
        match self.measured(&walk.root, found) {
            Ok(entries) => Some((Ok(entries), Some(Ok(walk)))),
            Err(error) => Some((Err(error), None)),
        }
    }

    fn begin_walk(
        &self,
        main: &MainDoc,
        path: &VPath,
        options: &WalkOptions,
    ) -> Result<TreeWalk, FsError> {
        let node = self.resolve(main, Op::Walk, path, FinalLink::Yes)?;
        if !node.is_directory() {
            return Err(FsError::new(FsCode::ENOTDIR, Op::Walk, path));
        }
        let open = vec![(entries_in(main, node.id(), options), path.clone())];
        Ok(TreeWalk { root: path.clone(), options: options.clone(), open, n_found: 0 })
    }

    /// Sets the lengths and times that come from contents.
    fn measured(&self, path: &VPath, mut found: WalkFindings) -> Result<Vec<WalkEntry>, FsError> {
        if !found.texts.is_empty() {
            let entries = found.entries.iter_mut().map(|found| &mut found.entry);
            let measured = self.state.measure_all(entries.zip(&found.texts));
            measured.map_err(|error| fs_error(error, Op::Walk, path))?;
        }
        Ok(found.entries)
    }
}

impl TreeWalk {
    /// Returns how many entries there are next in one directory.
    fn n_next(&self) -> usize {
        self.open.last().map_or(0, |(entries, _)| entries.len())
    }

    /// Finds the next entries, at most `n`.
    fn go_on(&mut self, main: &MainDoc, n: usize, found: &mut WalkFindings) -> Result<(), FsError> {
        let measures = self.options.measured && !self.options.kinds_only;
        while found.entries.len() < n
            && let Some((entries, at)) = self.open.last_mut()
        {
            let Some((entry, is_text)) = entries.next() else {
                self.open.pop();
                continue;
            };
            if self.n_found >= self.options.max_entries {
                return Err(FsError::new(FsCode::EFBIG, Op::Walk, &self.root));
            }
            let child_path = path_below(main, at, &entry);
            if entry.kind == FileKind::Directory && self.open.len() < self.options.max_depth {
                let below = entries_in(main, Some(&entry.id), &self.options);
                self.open.push((below, child_path.clone()));
            }
            self.n_found += 1;
            found.entries.push(WalkEntry::new(child_path, entry));
            found.texts.extend(measures.then_some(is_text));
        }
        Ok(())
    }
}

/// Returns the entries of a directory that a walk lists, and whether each is a text.
fn entries_in(
    main: &MainDoc,
    directory: Option<&FileId>,
    options: &WalkOptions,
) -> std::vec::IntoIter<(DirEntry, bool)> {
    let mut entries = Vec::with_capacity(USUAL_LEN);
    if options.kinds_only {
        main.for_each_listed(directory, |child| {
            if (options.hidden || !child.name.starts_with('.'))
                && let Some(entry) = kind_entry(&child)
            {
                entries.push((entry, false));
            }
        });
        return entries.into_iter();
    }
    main.for_each_child(directory, |id, name, row| {
        if options.hidden || !name.starts_with('.') {
            entries.push(row_entry(id, name, &row));
        }
    });
    entries.into_iter()
}

/// Returns the entry of a listing of kinds.
fn kind_entry(child: &ListedChild<'_>) -> Option<DirEntry> {
    let (kind, size) = match child.kind {
        ListedKind::File { size } | ListedKind::Blob { size } => (FileKind::File, size),
        ListedKind::Directory => (FileKind::Directory, 0),
        ListedKind::Link => (FileKind::Symlink, 0),
    };
    let mut entry = DirEntry::new(child.name, FileId::parse(child.id).ok()?, kind);
    entry.size = size;
    Some(entry)
}

/// Returns the path of an entry of the directory at `at`.
///
/// Rows of peers nest directories as deep as they want. Whole paths of all of them would take
/// memory that grows with the square of the depth, so long ones are `/.id/{id}`.
fn path_below(main: &MainDoc, at: &VPath, entry: &DirEntry) -> VPath {
    let joined = at.join(&entry.name);
    if joined.as_str().len() <= MAX_PATH_LEN {
        return joined;
    }
    main.tree().path_of(&entry.id).unwrap_or(joined)
}
