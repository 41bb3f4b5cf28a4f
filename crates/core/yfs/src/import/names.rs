//! The paths that imported objects get in the workspace.
//!
//! A name that the workspace cannot hold gets a spelling there, as in a mirrored directory. So does
//! each but one of the names of a directory that Unicode takes for one: the name in normal form
//! keeps it, or else the first.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use hashbrown::{HashMap, HashSet};
use ignore::DirEntry;
use smol_str::SmolStr;
use yfs_engine::{
    name::{NameError, NodeName},
    path::VPath,
};
use yfs_vfs::name_escaping::{HostRules, is_spelling};

/// The destinations of the objects of an import, each directory before its entries.
pub(super) struct ImportNames<'e> {
    /// The destinations of the directories.
    directories: HashMap<PathBuf, VPath>,
    /// The paths on the host, if any of them has a name that the workspace spells in another way.
    on_host: HashSet<&'e Path>,
    /// The destinations of such objects.
    taken: HashSet<VPath>,
}

impl<'e> ImportNames<'e> {
    /// Prepares the import of `entries` from `root` to `to`.
    pub(super) fn new(root: &Path, to: &VPath, entries: &'e [DirEntry]) -> Self {
        let is_odd = entries.iter().any(|entry| own_name(entry.file_name()).is_none());
        let on_host =
            if is_odd { entries.iter().map(DirEntry::path).collect() } else { HashSet::new() };
        let directories = HashMap::from_iter([(root.to_owned(), to.clone())]);
        Self { directories, on_host, taken: HashSet::new() }
    }

    /// Returns the destination of an entry, or why it has none; `None` if its directory has none.
    /// Remembers that of a directory for its entries. `is_there` reports whether the workspace has
    /// an object at a path.
    pub(super) fn destination(
        &mut self,
        path: &Path,
        is_directory: bool,
        is_there: &dyn Fn(&VPath) -> bool,
    ) -> Option<Result<VPath, NameError>> {
        let (above, name) = path.parent().zip(path.file_name())?;
        let parent = self.directories.get(above)?.clone();
        let name = match own_name(name) {
            Some(name) => Some(name),
            None => self.spell(above, &parent, name, is_there),
        };
        let Some(name) = name else {
            let error = NameError::Invalid(path.file_name()?.display().to_string());
            return Some(Err(error));
        };
        let to = parent.join(&name);
        if is_directory {
            self.directories.insert(path.to_owned(), to.clone());
        }
        Some(Ok(to))
    }

    /// Returns the name in the workspace for a name of the host that is not its own.
    fn spell(
        &mut self,
        above: &Path,
        parent: &VPath,
        host: &OsStr,
        is_there: &dyn Fn(&VPath) -> bool,
    ) -> Option<SmolStr> {
        let rules = HostRules::default();
        // The spelling that an earlier import or a mirror gave it.
        let spelt = rules.to_workspace(host, &|name| !is_spelling(name));
        let spelt = spelt.filter(|name| is_there(&parent.join(name)));
        let is_taken = |name: &str| {
            name != host && self.on_host.contains(&*above.join(name))
                || self.taken.contains(&parent.join(name))
        };
        let name = spelt.or_else(|| rules.to_workspace(host, &is_taken))?;
        self.taken.insert(parent.join(&name));
        Some(name)
    }
}

/// Returns the name of a host's object if the workspace has the same: in normal form, and no
/// spelling of another name.
fn own_name(host: &OsStr) -> Option<SmolStr> {
    let text = host.to_str().filter(|text| !is_spelling(text) && !text.starts_with("%_"))?;
    let name = NodeName::new(text).ok()?;
    (name.as_str() == text).then(|| name.to_smol_str())
}
