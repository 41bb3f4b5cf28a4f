//! The directory on disk: its handle, the names that it can store, its ignore rules, its watches.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use yfs_vfs::{
    confined_dir::{ConfinedRoot, CreationAttributes, HostStat, MountPolicy},
    name_escaping::HostRules,
};

use crate::{
    error::{MirrorError, Result, is_absent},
    held_rules::HeldRules,
    ignores::{EntryRules, IgnoreRules},
    mirror_state::database::DIR,
    watch::DirectoryWatch,
};

/// A mirrored directory.
pub(super) struct MirroredDirectory {
    /// Its absolute path without links.
    pub(super) path: PathBuf,
    pub(super) root: ConfinedRoot,
    pub(super) rules: HostRules,
    pub(super) ignores: IgnoreRules,
    /// The rules that the directory had before other writers changed them.
    pub(super) held: HeldRules,
    /// The watches of its subdirectories; none if the mirror does not watch.
    pub(super) watch: Option<DirectoryWatch>,
}

impl MirroredDirectory {
    /// Opens a directory. Without `rules`, probes which names the host can store.
    pub(super) fn open(
        path: PathBuf,
        rules: Option<HostRules>,
        ignores: &[String],
        held: HeldRules,
    ) -> io::Result<Self> {
        let root = ConfinedRoot::open(&path, MountPolicy::OneDevice)?;
        let rules = match rules {
            Some(rules) => rules,
            None => probe_host_rules(&root)?,
        };
        let ignores = IgnoreRules::new(ignores);
        Ok(Self { path, root, rules, ignores, held, watch: None })
    }

    /// Fails if the whole directory was unmounted or deleted: its files do not count as missing
    /// then.
    pub(super) fn check_exists(&self) -> Result<()> {
        match self.root.root().facts(OsStr::new(DIR)) {
            Ok(Some(_)) => Ok(()),
            _ if self.is_at_path() => Err(MirrorError::StateGone(self.path.clone())),
            _ => Err(MirrorError::Gone(self.path.clone())),
        }
    }

    /// Reports whether the path still has the directory that was opened.
    fn is_at_path(&self) -> bool {
        let there = ConfinedRoot::open(&self.path, MountPolicy::OneDevice)
            .and_then(|there| there.root().own_facts());
        let own = self.root.root().own_facts();
        there.is_ok_and(|there| own.is_ok_and(|own| own.place == there.place))
    }

    /// Returns the host's metadata of a path, or none if the path or a directory above it does not
    /// exist.
    pub(super) fn facts(&self, path: &Path) -> io::Result<Option<HostStat>> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return self.root.root().own_facts().map(Some);
        };
        let found = self.root.dir(dir).and_then(|dir| dir.facts(name));
        match found {
            Err(error) if is_absent(&error) => Ok(None),
            found => found,
        }
    }

    /// Reports whether the ignore rules exclude a path.
    pub(super) fn is_ignored(&mut self, path: &Path, is_dir: bool) -> bool {
        self.ignores.is_ignored(&self.root, path, is_dir)
    }

    /// Returns the ignore rules for the entries of a directory that they do not exclude.
    pub(super) fn entry_rules(&mut self, dir: &Path) -> EntryRules {
        self.ignores.entry_rules(&self.root, dir)
    }

    /// Reports whether the host reports changes in a directory, or the mirror watches none.
    pub(super) fn is_watched(&self, path: &Path) -> bool {
        self.watch.as_ref().is_none_or(|watch| watch.is_watched(path))
    }

    /// Watches a directory, or renews its watch.
    pub(super) fn watch(&mut self, path: &Path) {
        if let Some(watch) = &mut self.watch {
            watch.watch(path);
        }
    }

    /// Records that the watches of a directory and of all below it may be gone.
    pub(super) fn note_moved(&mut self, path: &Path) {
        if let Some(watch) = &mut self.watch {
            watch.note_moved(path);
        }
    }

    /// Stops watching a directory and all directories below it.
    pub(super) fn unwatch(&mut self, path: &Path) {
        if let Some(watch) = &mut self.watch {
            watch.forget(path);
        }
    }
}

/// Determines which names the host can store.
fn probe_host_rules(root: &ConfinedRoot) -> io::Result<HostRules> {
    let dir = root.dir(Path::new(DIR))?;
    let upper = dir.facts(OsStr::new("MIRROR.LOCK"))?;
    let mark = OsStr::new("mirror-\u{e9}");
    let attributes = CreationAttributes { mode: 0o600, mtime: Default::default() };
    dir.remove_file(mark).ok();
    dir.make_file(mark, b"", attributes, false)?;
    let twin = dir.facts(OsStr::new("mirror-e\u{301}"));
    dir.remove_file(mark)?;
    let (folds_case, folds_unicode) = (upper.is_some(), twin?.is_some());
    Ok(HostRules { folds_case, folds_unicode, windows: false })
}
