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
    known: Mutex<KnownRules>,
}

/// The rules that bind the entries of a directory: those of its ignore files and of the directories
/// above, the nearest first, each with the length of the path that its patterns begin after.
type RuleChain = Arc<[(usize, Arc<IgnoreRuleList>)]>;

/// The rules of the directories that were met, and of the last one, since a scan lists a directory
/// as a whole.
#[derive(Debug, Default)]
struct KnownRules {
    last: Option<(PathBuf, RuleChain)>,
    of_dirs: HashMap<PathBuf, RuleChain>,
}

impl ImportIgnores {
    /// Prepares the import of a directory. In a repository the ignore files above count, too.
    pub(super) fn new(root: &Path, options: &ImportOptions) -> Self {
        let repository = root.ancestors().find(|dir| dir.join(".git").exists());
        Self {
            root: root.to_owned(),
            of_options: options.ignore_rules(),
            top: options.gitignore.then(|| repository.unwrap_or(root).to_owned()),
            known: Mutex::default(),
        }
    }

    /// Returns whether the rules include or exclude an object in a directory that they do not
    /// exclude; none if no rule matches.
    pub(super) fn verdict(&self, path: &Path, is_dir: bool) -> Option<IgnoreVerdict> {
        if self.of_options.excludes(relative(path, &self.root), is_dir) {
            return Some(IgnoreVerdict::Excluded);
        }
        let top = self.top.as_ref()?;
        let bytes = path.as_os_str().as_bytes();
        let rules = self.rules_below(path.parent()?, top);
        rules.iter().find_map(|(start, rules)| rules.verdict(&bytes[*start..], is_dir))
    }

    /// Reports whether a file is one that editors leave behind, and no rule includes it.
    pub(super) fn is_leftover(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().as_bytes();
        self.top.is_some() && is_leftover(name) && self.verdict(path, false).is_none()
    }

    /// Returns the rules that bind the entries of a directory.
    fn rules_below(&self, dir: &Path, top: &Path) -> RuleChain {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((last, rules)) = &known.last
            && last == dir
        {
            return rules.clone();
        }
        let rules = known.rules_below(dir, top);
        known.last = Some((dir.to_owned(), rules.clone()));
        rules
    }
}

impl KnownRules {
    fn rules_below(&mut self, dir: &Path, top: &Path) -> RuleChain {
        let mut missing = Vec::new();
        let mut rules = RuleChain::default();
        for above in dir.ancestors() {
            if let Some(known) = self.of_dirs.get(above) {
                rules = known.clone();
                break;
            }
            missing.push(above);
            if above == top {
                break;
            }
        }
        for dir in missing.into_iter().rev() {
            let own = read_rules(dir);
            if !own.is_empty() {
                let start = dir.join("").as_os_str().len();
                rules = [(start, Arc::new(own))].into_iter().chain(rules.iter().cloned()).collect();
            }
            self.of_dirs.insert(dir.to_owned(), rules.clone());
        }
        rules
    }
}

fn relative<'a>(path: &'a Path, dir: &Path) -> &'a [u8] {
    path.strip_prefix(dir).unwrap_or(path).as_os_str().as_bytes()
}

fn read_rules(dir: &Path) -> IgnoreRuleList {
    let mut list = IgnoreRuleList::default();
    for file in [".git/info/exclude"].iter().chain(&RULE_FILES) {
        list.add_text(&read_rule_file(&dir.join(OsStr::new(file))).unwrap_or_default());
    }
    list
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
