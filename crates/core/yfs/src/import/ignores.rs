//! Which paths of a directory of the host are left out: by patterns of the caller, by the ignore
//! files of the directory, and by the names of files that editors leave behind.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::File,
    io::Read,
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use yfs_vfs::ignore_rules::{
    IgnoreRuleList, IgnoreVerdict, MAX_RULES_LEN, RULE_FILES, is_leftover, is_valid_line,
};

use super::ImportOptions;

/// Checks a pattern for [`ImportOptions::ignores`](super::ImportOptions::ignores).
///
/// # Errors
///
/// Fails with a description if it is no pattern of a `.gitignore` file.
pub fn check_ignore_pattern(pattern: &str) -> Result<(), String> {
    let is_valid = is_valid_line(pattern);
    is_valid.then_some(()).ok_or_else(|| format!("invalid pattern '{pattern}'"))
}

impl ImportOptions {
    /// Returns the rules of [`ignores`](Self::ignores), for paths relative to the directory; none
    /// without [`gitignore`](Self::gitignore).
    pub(super) fn ignore_rules(&self) -> IgnoreRuleList {
        ignore_rules(if self.gitignore { &self.ignores } else { &[] })
    }
}

/// Returns the rules of patterns, for paths relative to a directory. Invalid ones are left out.
pub fn ignore_rules(patterns: &[String]) -> IgnoreRuleList {
    IgnoreRuleList::parse(patterns.join("\n").as_bytes())
}

/// The rules for an import, each file read when it is first needed.
#[derive(Debug)]
pub(super) struct ImportIgnores {
    root: PathBuf,
    of_options: IgnoreRuleList,
    /// The directories whose ignore files apply, from the root of the repository on; none without
    /// [`ImportOptions::gitignore`].
    top: Option<PathBuf>,
    of_dirs: Mutex<HashMap<PathBuf, Option<Arc<IgnoreRuleList>>>>,
}

impl ImportIgnores {
    /// Prepares the import of a directory. In a repository the ignore files above count, too.
    pub(super) fn new(root: &Path, options: &ImportOptions) -> Self {
        let repository = root.ancestors().find(|dir| dir.join(".git").exists());
        Self {
            root: root.to_owned(),
            of_options: options.ignore_rules(),
            top: options.gitignore.then(|| repository.unwrap_or(root).to_owned()),
            of_dirs: Mutex::default(),
        }
    }

    /// Returns whether the rules include or exclude an object in a directory that they do not
    /// exclude; none if no rule matches.
    pub(super) fn verdict(&self, path: &Path, is_dir: bool) -> Option<IgnoreVerdict> {
        if self.of_options.excludes(relative(path, &self.root), is_dir) {
            return Some(IgnoreVerdict::Excluded);
        }
        let top = self.top.as_ref()?;
        for dir in path.ancestors().skip(1) {
            let rules = self.rules_of(dir);
            let verdict = rules.and_then(|rules| rules.verdict(relative(path, dir), is_dir));
            if verdict.is_some() || dir == top {
                return verdict;
            }
        }
        None
    }

    /// Reports whether a file is one that editors leave behind, and no rule includes it.
    pub(super) fn is_leftover(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().as_bytes();
        self.top.is_some() && is_leftover(name) && self.verdict(path, false).is_none()
    }

    fn rules_of(&self, dir: &Path) -> Option<Arc<IgnoreRuleList>> {
        let mut known = self.of_dirs.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(dir.to_owned()).or_insert_with(|| read_rules(dir)).clone()
    }
}

fn relative<'a>(path: &'a Path, dir: &Path) -> &'a [u8] {
    path.strip_prefix(dir).unwrap_or(path).as_os_str().as_bytes()
}

fn read_rules(dir: &Path) -> Option<Arc<IgnoreRuleList>> {
    let mut list = IgnoreRuleList::default();
    for file in [".git/info/exclude"].iter().chain(&RULE_FILES) {
        list.add_text(&read_rule_file(&dir.join(OsStr::new(file))).unwrap_or_default());
    }
    (!list.is_empty()).then(|| Arc::new(list))
}

/// Reads a file with rules. As in git, a link is none.
fn read_rule_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let file = File::options().read(true).custom_flags(flags.cast_signed()).open(path)?;
    let meta = file.metadata()?;
    let mut text = Vec::new();
    if meta.is_file() && meta.len() <= MAX_RULES_LEN {
        file.take(MAX_RULES_LEN).read_to_end(&mut text)?;
    }
    Ok(text)
}
