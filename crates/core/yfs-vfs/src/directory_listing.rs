//! The names in a directory, in one piece of memory.

use std::{borrow::Cow, collections::BTreeMap};

use yfs_types::path::VPath;

use crate::stat::FileKind;

/// The names and kinds of the entries of one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryListing {
    path: VPath,
    names: String,
    /// The end of each name in `names`, and the kind.
    entries: Vec<(usize, FileKind)>,
    /// The entries whose path is not that of the directory and the name, by their number.
    other_paths: BTreeMap<usize, VPath>,
}

impl DirectoryListing {
    /// Makes the listing of an empty directory.
    pub fn new(path: VPath) -> Self {
        Self { path, names: String::new(), entries: Vec::new(), other_paths: BTreeMap::new() }
    }

    /// Appends an entry.
    pub fn push(&mut self, name: &str, kind: FileKind) {
        self.names.push_str(name);
        self.entries.push((self.names.len(), kind));
    }

    /// Appends an entry with a path that is not that of the directory and the name.
    pub fn push_at(&mut self, path: VPath, name: &str, kind: FileKind) {
        self.other_paths.insert(self.entries.len(), path);
        self.push(name, kind);
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &VPath {
        &self.path
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Reports whether the directory is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the name and kind of an entry.
    pub fn get(&self, at: usize) -> Option<(&str, FileKind)> {
        let &(end, kind) = self.entries.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.entries[before].0);
        Some((&self.names[start..end], kind))
    }

    /// Returns the names and kinds of all entries.
    pub fn iter(&self) -> impl Iterator<Item = (&str, FileKind)> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Returns the path of an entry, if it is not that of the directory and the name.
    pub fn other_path(&self, at: usize) -> Option<&VPath> {
        if self.other_paths.is_empty() { None } else { self.other_paths.get(&at) }
    }

    /// Returns the path of an entry.
    pub fn path_of(&self, at: usize) -> Option<Cow<'_, VPath>> {
        let (name, _) = self.get(at)?;
        let joined = || Cow::Owned(self.path.join(name));
        Some(self.other_path(at).map_or_else(joined, Cow::Borrowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_the_path_of_the_directory_and_their_name_or_another() {
        let path = |text| VPath::parse(text).unwrap();
        let mut listing = DirectoryListing::new(path("/a"));
        assert!(listing.is_empty());
        listing.push("b", FileKind::File);
        listing.push_at(path("/.id/x"), "é", FileKind::Directory);
        listing.push("c", FileKind::Symlink);
        let names: Vec<_> = listing.iter().collect();
        let kinds = [FileKind::File, FileKind::Directory, FileKind::Symlink];
        assert!(names.into_iter().eq(["b", "é", "c"].into_iter().zip(kinds)));
        let paths: Vec<_> = (0..4).map(|at| listing.path_of(at).map(Cow::into_owned)).collect();
        let expected = [Some(path("/a/b")), Some(path("/.id/x")), Some(path("/a/c")), None];
        assert_eq!(paths, expected);
    }
}
