//! Watching the directory for changes.
//!
//! Each mirrored subdirectory has a watch of its own, so that excluded ones (`node_modules`,
//! `.git`) cost nothing. An event is a hint where to scan, never a description of the change: a
//! directory that moved keeps its watch under the old name until it is watched again, and is
//! scanned then.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use notify::{
    EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, ModifyKind},
};

/// An event of the host's watcher.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// Objects at these paths, relative to the directory, may have changed.
    Paths(Vec<PathBuf>),
    /// These may have moved or gone, so that the host's watcher no longer watches them.
    Moved(Vec<PathBuf>),
    /// Events were lost: everything must be scanned.
    Missed,
}

/// The watches on a directory.
#[derive(Debug)]
pub(crate) struct DirectoryWatch {
    inner: RecommendedWatcher,
    directory: PathBuf,
    watched: HashSet<PathBuf>,
    /// Whether the host rejected a watch.
    pub(crate) is_incomplete: bool,
}

impl DirectoryWatch {
    /// Creates a watcher of a directory. No subdirectory is watched yet.
    pub(crate) fn new(
        directory: &Path,
        tell: impl Fn(WatchEvent) + Send + 'static,
    ) -> notify::Result<Self> {
        let root = directory.to_owned();
        let inner = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return tell(WatchEvent::Missed) };
            if event.need_rescan() {
                return tell(WatchEvent::Missed);
            }
            let is_news = match event.kind {
                EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
                EventKind::Access(_) => false,
                _ => true,
            };
            if is_news {
                let relative = |path: PathBuf| path.strip_prefix(&root).map(Path::to_owned).ok();
                let has_moved = matches!(
                    event.kind,
                    EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
                );
                let paths = event.paths.into_iter().filter_map(relative).collect();
                tell(if has_moved { WatchEvent::Moved(paths) } else { WatchEvent::Paths(paths) });
            }
        })?;
        let (directory, watched) = (directory.to_owned(), HashSet::new());
        Ok(Self { inner, directory, watched, is_incomplete: false })
    }

    /// Watches a directory, or renews its watch.
    pub(crate) fn watch(&mut self, dir: &Path) {
        let path = self.directory.join(dir);
        if self.watched.remove(dir) {
            // A different directory may have the path now.
            self.inner.unwatch(&path).ok();
        }
        match self.inner.watch(&path, RecursiveMode::NonRecursive) {
            Ok(()) => drop(self.watched.insert(dir.to_owned())),
            Err(error) if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => {
                self.is_incomplete = true;
            }
            // The directory disappeared meanwhile; the next scan notices.
            Err(_) => (),
        }
    }

    /// Reports whether a directory is watched.
    pub(crate) fn is_watched(&self, dir: &Path) -> bool {
        self.watched.contains(dir)
    }

    /// Records that the host's watcher may have dropped the watches of a directory and all below:
    /// it does so when the directory moves, also if that has come back since.
    pub(crate) fn note_moved(&mut self, dir: &Path) {
        if self.watched.contains(dir) {
            self.forget(dir);
        }
    }

    /// Stops watching a directory and all directories below it.
    pub(crate) fn forget(&mut self, dir: &Path) {
        let gone: Vec<PathBuf> =
            self.watched.iter().filter(|path| path.starts_with(dir)).cloned().collect();
        for dir in gone {
            self.inner.unwatch(&self.directory.join(&dir)).ok();
            self.watched.remove(&dir);
        }
    }
}
