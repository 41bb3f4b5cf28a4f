//! The rules of `.gitignore` and `.yfsignore` files, which exclude paths from mirroring.
//!
//! The semantics are those of git: the files of a directory apply to the paths below it, the
//! innermost file with a matching rule decides, and no rule includes a path below an excluded
//! directory again. `.yfsignore` takes precedence over `.gitignore` in the same directory.
//! `.git/info/exclude` counts as a file of the mirrored directory itself.

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
use yfs::import::ignores::ignore_rules;
use yfs_vfs::confined_dir::ConfinedRoot;

/// The names of files with rules; later ones take precedence over earlier ones.
const FILES: [&str; 2] = [".gitignore", ".yfsignore"];

/// The maximum length of such a file, in bytes. Longer ones are not read.
const MAX_LEN: u64 = 1 << 20;

/// The rules of all directories, each read when it is first needed.
#[derive(Debug)]
pub(crate) struct IgnoreRules {
    /// The patterns of the options, which no file overrides.
    of_options: Gitignore,
    of_dirs: HashMap<PathBuf, Option<Arc<Gitignore>>>,
}

/// The rules for the entries of a directory that is not excluded itself.
#[derive(Debug)]
pub(crate) struct EntryRules {
    /// The directories with rules, the innermost first.
    of_dirs: Vec<(PathBuf, Arc<Gitignore>)>,
}

impl IgnoreRules {
    /// Makes the rules with the patterns of the mirror's options.
    pub(crate) fn new(patterns: &[String]) -> Self {
        Self { of_options: ignore_rules(patterns), of_dirs: HashMap::new() }
    }

    /// Reports whether a name is that of a file with rules.
    pub(crate) fn is_rules(name: &OsStr) -> bool {
        FILES.iter().any(|file| name == *file)
    }

    /// Forgets the rules of a directory and of all directories below it, which may have moved.
    pub(crate) fn forget(&mut self, dir: &Path) {
        self.of_dirs.retain(|known, _| !known.starts_with(dir));
    }

    /// Reports whether a path is excluded, by its own name or by a directory above it.
    pub(crate) fn is_ignored(&mut self, root: &ConfinedRoot, path: &Path, is_dir: bool) -> bool {
        let mut ancestors: Vec<&Path> = path.ancestors().collect();
        // From the outermost directory inwards. The last ancestor is the empty path of the mirrored
        // directory itself.
        ancestors.pop();
        ancestors.iter().rev().any(|at| self.is_matched(root, at, is_dir || *at != path))
    }

    /// Returns the rules for the entries of a directory that is not excluded.
    pub(crate) fn entry_rules(&mut self, root: &ConfinedRoot, dir: &Path) -> EntryRules {
        let rules = |dir: &Path| Some((dir.to_owned(), self.read_rules(root, dir)?));
        EntryRules { of_dirs: dir.ancestors().filter_map(rules).collect() }
    }

    /// Reports whether an entry of a directory that is not excluded is itself excluded.
    pub(crate) fn is_entry_ignored(&self, rules: &EntryRules, path: &Path, is_dir: bool) -> bool {
        if self.of_options.matched(path, is_dir).is_ignore() {
            return true;
        }
        for (dir, rules) in &rules.of_dirs {
            let relative = path.strip_prefix(dir).unwrap_or(path);
            match rules.matched(relative, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => (),
            }
        }
        false
    }

    fn is_matched(&mut self, root: &ConfinedRoot, path: &Path, is_dir: bool) -> bool {
        let rules = self.entry_rules(root, path.parent().unwrap_or(Path::new("")));
        self.is_entry_ignored(&rules, path, is_dir)
    }

    /// Returns the rules of a directory, which it reads on the first call.
    fn read_rules(&mut self, root: &ConfinedRoot, dir: &Path) -> Option<Arc<Gitignore>> {
        if let Some(known) = self.of_dirs.get(dir) {
            return known.clone();
        }
        let read = read(root, dir).map(Arc::new);
        self.of_dirs.insert(dir.to_owned(), read.clone());
        read
    }
}

fn read(root: &ConfinedRoot, dir: &Path) -> Option<Gitignore> {
    // The builder matches paths relative to the directory.
    let mut builder = GitignoreBuilder::new("");
    let mut has_rules = false;
    let mut add = |dir: &Path, name: &str| {
        let text = root.dir(dir).and_then(|dir| dir.read(OsStr::new(name), MAX_LEN));
        let Ok((text, _)) = text else { return };
        has_rules = true;
        for line in String::from_utf8_lossy(&text).lines() {
            // Invalid patterns are ignored.
            builder.add_line(None, line).ok();
        }
    };
    if dir.as_os_str().is_empty() {
        add(Path::new(".git/info"), "exclude");
    }
    FILES.iter().for_each(|file| add(dir, file));
    if has_rules { builder.build().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use yfs_vfs::confined_dir::MountPolicy;

    use super::*;

    #[test]
    fn rules_count_as_in_git() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".gitignore", "*.log\n/build/\n!keep.log\nsecret\n!kept.tmp\n");
        write(".yfsignore", "!secret\nlocal\n");
        write("sub/.gitignore", "!*.log\n/only\n");
        write("build/.gitignore", "!*\n");
        let root = ConfinedRoot::open(directory.path(), MountPolicy::OneDevice).unwrap();
        let mut ignores = IgnoreRules::new(&["/cache/".into(), "*.tmp".into()]);
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
            ("cache/x", false, true),
            ("sub/cache/x", false, false),
            ("kept.tmp", false, true),
        ] {
            let ignored = ignores.is_ignored(&root, Path::new(path), is_dir);
            assert_eq!(ignored, expected, "{path}");
            let above = Path::new(path).parent().unwrap();
            if above.as_os_str().is_empty() || !ignores.is_ignored(&root, above, true) {
                let rules = ignores.entry_rules(&root, above);
                let ignored = ignores.is_entry_ignored(&rules, Path::new(path), is_dir);
                assert_eq!(ignored, expected, "{path} as an entry");
            }
        }
    }
}
