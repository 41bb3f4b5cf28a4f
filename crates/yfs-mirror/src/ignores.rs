//! What is left out because `.gitignore` and `.yfsignore` files say so.
//!
//! As git has it: the files of a directory speak of what is below it, the innermost that has a rule decides,
//! and nothing can be taken in again below a directory that is left out. `.yfsignore` goes before `.gitignore`
//! in the same directory. `.git/info/exclude` counts as if it stood in the folder itself.

use std::{
    collections::HashMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use yfs_vfs::host::confined_dir::ConfinedRoot;

/// The files that say what is left out; later ones go before earlier ones.
const FILES: [&str; 2] = [".gitignore", ".yfsignore"];

/// Larger ones are not read.
const MAX_LEN: u64 = 1 << 20;

/// The rules of all directories, read when they are first asked for.
#[derive(Debug, Default)]
pub(crate) struct IgnoreRules {
    of_dirs: HashMap<PathBuf, Option<Arc<Gitignore>>>,
}

impl IgnoreRules {
    /// Tells whether a path holds rules.
    pub(crate) fn is_rules(name: &OsStr) -> bool {
        FILES.iter().any(|file| name == *file)
    }

    /// Forgets the rules of a directory and of all below it, which may have moved.
    pub(crate) fn forget(&mut self, dir: &Path) {
        self.of_dirs.retain(|known, _| !known.starts_with(dir));
    }

    /// Tells whether something is left out, by itself or by a directory above it.
    pub(crate) fn is_ignored(&mut self, root: &ConfinedRoot, path: &Path, is_dir: bool) -> bool {
        let mut ancestors: Vec<&Path> = path.ancestors().collect();
        // From the outermost in; the last is the empty path of the folder itself.
        ancestors.pop();
        ancestors.iter().rev().any(|at| self.is_matched(root, at, is_dir || *at != path))
    }

    fn is_matched(&mut self, root: &ConfinedRoot, path: &Path, is_dir: bool) -> bool {
        for dir in path.ancestors().skip(1) {
            let Some(rules) = self.rules(root, dir) else { continue };
            let relative = path.strip_prefix(dir).unwrap_or(path);
            match rules.matched(relative, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => (),
            }
        }
        false
    }

    fn rules(&mut self, root: &ConfinedRoot, dir: &Path) -> Option<Arc<Gitignore>> {
        if let Some(known) = self.of_dirs.get(dir) {
            return known.clone();
        }
        let read = read(root, dir).map(Arc::new);
        self.of_dirs.insert(dir.to_owned(), read.clone());
        read
    }
}

fn read(root: &ConfinedRoot, dir: &Path) -> Option<Gitignore> {
    // Paths are asked relative to the directory.
    let mut builder = GitignoreBuilder::new("");
    let mut any = false;
    let mut add = |dir: &Path, name: &str| {
        let text = root.dir(dir).and_then(|dir| dir.read(OsStr::new(name), MAX_LEN));
        let Ok((text, _)) = text else { return };
        any = true;
        for line in String::from_utf8_lossy(&text).lines() {
            // A line that is no pattern says nothing.
            builder.add_line(None, line).ok();
        }
    };
    if dir.as_os_str().is_empty() {
        add(Path::new(".git/info"), "exclude");
    }
    FILES.iter().for_each(|file| add(dir, file));
    if any { builder.build().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn rules_count_as_in_git() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".gitignore", "*.log\n/build/\n!keep.log\nsecret\n");
        write(".yfsignore", "!secret\nlocal\n");
        write("sub/.gitignore", "!*.log\n/only\n");
        write("build/.gitignore", "!*\n");
        let root = ConfinedRoot::open(folder.path()).unwrap();
        let mut ignores = IgnoreRules::default();
        for (path, is_dir, expected) in [
            ("a.log", false, true),
            ("keep.log", false, false),
            ("build", true, true),
            ("build", false, false),
            ("build/x", false, true),
            ("sub/build", true, false),
            ("sub/a.log", false, false),
            ("sub/only", false, true),
            ("sub/deep/only", false, false),
            ("secret", false, false),
            ("sub/local", true, true),
        ] {
            let ignored = ignores.is_ignored(&root, Path::new(path), is_dir);
            assert_eq!(ignored, expected, "{path}");
        }
    }
}
