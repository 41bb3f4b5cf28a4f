//! Being told of changes in the folder.
//!
//! Each directory that is mirrored is watched by itself, so that what is left out (`node_modules`, `.git`)
//! costs nothing. What is told is a hint where to look, never what happened: a directory that moved keeps
//! its watch under the old name until it is watched anew, and is looked through then.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use notify::{
    EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};

/// What the host tells.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// Something may be another at these paths, relative to the folder.
    Paths(Vec<PathBuf>),
    /// Something was missed: look at everything.
    Missed,
}

/// The watches on a folder.
#[derive(Debug)]
pub(crate) struct DirectoryWatch {
    inner: RecommendedWatcher,
    folder: PathBuf,
    watched: HashSet<PathBuf>,
    /// Whether the host refused a watch.
    pub(crate) is_incomplete: bool,
}

impl DirectoryWatch {
    /// Begins to watch a folder, of which nothing is watched yet.
    pub(crate) fn new(
        folder: &Path,
        tell: impl Fn(WatchEvent) + Send + 'static,
    ) -> notify::Result<Self> {
        let root = folder.to_owned();
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
                tell(WatchEvent::Paths(event.paths.into_iter().filter_map(relative).collect()));
            }
        })?;
        let (folder, watched) = (folder.to_owned(), HashSet::new());
        Ok(Self { inner, folder, watched, is_incomplete: false })
    }

    /// Watches a directory, anew if it is watched already.
    pub(crate) fn watch(&mut self, dir: &Path) {
        let path = self.folder.join(dir);
        if self.watched.remove(dir) {
            // It may be another directory that is there now.
            self.inner.unwatch(&path).ok();
        }
        match self.inner.watch(&path, RecursiveMode::NonRecursive) {
            Ok(()) => drop(self.watched.insert(dir.to_owned())),
            Err(error) if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => {
                self.is_incomplete = true;
            }
            // It went meanwhile; whoever looks next finds out.
            Err(_) => (),
        }
    }

    /// Tells whether a directory is watched.
    pub(crate) fn is_watched(&self, dir: &Path) -> bool {
        self.watched.contains(dir)
    }

    /// Stops watching a directory and all below it.
    pub(crate) fn forget(&mut self, dir: &Path) {
        let gone: Vec<PathBuf> =
            self.watched.iter().filter(|it| it.starts_with(dir)).cloned().collect();
        for dir in gone {
            self.inner.unwatch(&self.folder.join(&dir)).ok();
            self.watched.remove(&dir);
        }
    }
}
