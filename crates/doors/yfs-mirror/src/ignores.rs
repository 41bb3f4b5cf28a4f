//! The rules of `.gitignore` and `.yfsignore` files, which exclude paths from mirroring.
//!
//! The semantics are those of git ([`yfs_vfs::ignore_rules`]): the files of a directory apply to
//! the paths below it, the innermost file with a matching rule decides, and no rule includes a path
//! below an excluded directory again. `.yfsignore` takes precedence over `.gitignore` in the same
//! directory. `.git/info/exclude` counts as a file of the mirrored directory itself.

use std::{
    collections::HashMap,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use yfs::import::ignores::ignore_rules;
use yfs_vfs::{
    confined_dir::ConfinedRoot,
    ignore_rules::{IgnoreRuleList, IgnoreVerdict, MAX_RULES_LEN, RULE_FILES, is_leftover},
};

use crate::held_rules::RuleTexts;

/// The file of git that applies to the whole directory, below all others.
const GIT_EXCLUDE: &str = ".git/info/exclude";

/// The rules of all directories, each read when it is first needed.
#[derive(Debug)]
pub(crate) struct IgnoreRules {
    /// The patterns of the options, which no file overrides.
    of_options: IgnoreRuleList,
    of_dirs: HashMap<PathBuf, Option<Arc<IgnoreRuleList>>>,
}

/// The rules for the entries of a directory that is not excluded itself.
#[derive(Debug)]
pub(crate) struct EntryRules {
    /// The directories with rules, the innermost first.
    of_dirs: Vec<(PathBuf, Arc<IgnoreRuleList>)>,
}

/// A directory that is about to move.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirectoryMove<'a> {
    pub(crate) old: &'a Path,
    pub(crate) new: &'a Path,
}

impl IgnoreRules {
    /// Makes the rules with the patterns of the mirror's options.
    pub(crate) fn new(patterns: &[String]) -> Self {
        Self { of_options: ignore_rules(patterns), of_dirs: HashMap::new() }
    }

    /// Reports whether a name is that of a file with rules.
    pub(crate) fn is_rules(name: &OsStr) -> bool {
        RULE_FILES.iter().any(|file| name == *file)
    }

    /// Forgets the rules of a directory and of all directories below it, which may have moved.
    pub(crate) fn forget(&mut self, dir: &Path) {
        self.of_dirs.retain(|known, _| !known.starts_with(dir));
    }

    /// Reports whether a path is excluded, by its own name or by a directory above it.
    pub(crate) fn is_ignored(&mut self, root: &ConfinedRoot, path: &Path, is_dir: bool) -> bool {
        outermost_first(path).any(|at| {
            let rules = self.entry_rules(root, at.parent().unwrap_or(Path::new("")));
            self.is_entry_ignored(&rules, at, is_dir || at != path)
        })
    }

    /// Returns the rules for the entries of a directory that is not excluded.
    pub(crate) fn entry_rules(&mut self, root: &ConfinedRoot, dir: &Path) -> EntryRules {
        let rules = |dir: &Path| Some((dir.to_owned(), self.rules_of(root, dir)?));
        EntryRules { of_dirs: dir.ancestors().filter_map(rules).collect() }
    }

    /// Reports whether an entry of a directory that is not excluded is itself excluded.
    pub(crate) fn is_entry_ignored(&self, rules: &EntryRules, path: &Path, is_dir: bool) -> bool {
        self.verdict(rules, path, is_dir) == Some(IgnoreVerdict::Excluded)
    }

    /// Reports whether an entry is a file that editors leave behind, and no rule includes it.
    pub(crate) fn is_leftover(&mut self, root: &ConfinedRoot, path: &Path, is_dir: bool) -> bool {
        let name = path.file_name().unwrap_or_default();
        if is_dir || !is_leftover(name.as_bytes()) {
            return false;
        }
        let rules = self.entry_rules(root, path.parent().unwrap_or(Path::new("")));
        self.verdict(&rules, path, is_dir).is_none()
    }

    /// Reports whether an entry below a directory, at the relative path `below`, is excluded once
    /// the directory has moved, with the files of rules in it.
    pub(crate) fn is_ignored_after(
        &mut self,
        root: &ConfinedRoot,
        DirectoryMove { old, new }: DirectoryMove<'_>,
        below: &Path,
        is_dir: bool,
    ) -> bool {
        outermost_first(below).any(|at| {
            let inner = at.ancestors().skip(1).map(|dir| (old.join(dir), new.join(dir)));
            let outer = new.ancestors().skip(1).map(|dir| (dir.to_owned(), dir.to_owned()));
            let of_dirs = inner
                .chain(outer)
                .filter_map(|(on_disk, dir)| Some((dir, self.rules_of(root, &on_disk)?)));
            let rules = EntryRules { of_dirs: of_dirs.collect() };
            self.is_entry_ignored(&rules, &new.join(at), is_dir || at != below)
        })
    }

    fn verdict(&self, rules: &EntryRules, path: &Path, is_dir: bool) -> Option<IgnoreVerdict> {
        if self.of_options.excludes(path.as_os_str().as_bytes(), is_dir) {
            return Some(IgnoreVerdict::Excluded);
        }
        rules.of_dirs.iter().find_map(|(dir, rules)| {
            let relative = path.strip_prefix(dir).unwrap_or(path);
            rules.verdict(relative.as_os_str().as_bytes(), is_dir)
        })
    }

    /// Returns the rules of a directory, which it reads on the first call.
    fn rules_of(&mut self, root: &ConfinedRoot, dir: &Path) -> Option<Arc<IgnoreRuleList>> {
        if let Some(known) = self.of_dirs.get(dir) {
            return known.clone();
        }
        let mut list = IgnoreRuleList::default();
        read_texts(root, dir, |_, text| list.add_text(&text));
        let read = (!list.is_empty()).then(|| Arc::new(list));
        self.of_dirs.insert(dir.to_owned(), read.clone());
        read
    }
}

/// Returns the texts of the files of rules in directories.
pub(crate) fn texts_of(root: &ConfinedRoot, dirs: impl Iterator<Item = PathBuf>) -> RuleTexts {
    let mut texts = RuleTexts::new();
    for dir in dirs {
        read_texts(root, &dir, |path, text| drop(texts.insert(path, text)));
    }
    texts
}

/// Reads the files of rules of a directory, in the order of their precedence.
fn read_texts(root: &ConfinedRoot, dir: &Path, mut add: impl FnMut(PathBuf, Vec<u8>)) {
    let of_git = dir.as_os_str().is_empty().then_some(GIT_EXCLUDE);
    for file in of_git.into_iter().chain(RULE_FILES) {
        let path = dir.join(file);
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { continue };
        if let Ok((text, _)) = root.dir(above).and_then(|dir| dir.read(name, MAX_RULES_LEN)) {
            add(path, text);
        }
    }
}

/// Returns a path and the directories above it, the outermost first, without the empty path.
pub(crate) fn outermost_first(path: &Path) -> impl Iterator<Item = &Path> {
    let mut ancestors: Vec<&Path> = path.ancestors().collect();
    ancestors.retain(|at| !at.as_os_str().is_empty());
    ancestors.into_iter().rev()
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
