//! Which files of a tree a context describes: by patterns, ignore files and sizes.

use std::collections::HashMap;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use yfs_types::path::VPath;
use yfs_vfs::{
    FileKind, FileSystem, FileSystemExt, FsCode, FsError, WalkEntry, WalkOptions,
    ignore_rules::{IgnoreRuleList, IgnoreVerdict, MAX_RULES_LEN, RULE_FILES},
};

/// The most entries of a tree.
const MAX_ENTRIES: usize = 2_000_000;

/// The files that are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSelection {
    /// The files and directories to begin with.
    pub paths: Vec<VPath>,
    /// Patterns as in `.gitignore`: a file must match one; all files if empty.
    pub include: Vec<String>,
    /// Patterns as in `.gitignore` of files and directories that are left out.
    pub exclude: Vec<String>,
    /// Whether names that begin with a dot are included.
    pub hidden: bool,
    /// Whether files that `.gitignore` and `.yfsignore` name are included.
    pub ignored: bool,
    /// The size above which a file is only counted, in bytes.
    pub max_file_size: u64,
}

/// A file that was selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedFile {
    /// Its path.
    pub path: VPath,
    /// Its size, in bytes.
    pub size: u64,
    /// Whether it is larger than [`FileSelection::max_file_size`].
    pub is_too_large: bool,
}

/// A pattern is malformed.
#[derive(Debug, thiserror::Error)]
#[error("{pattern:?} is not a pattern")]
pub(crate) struct SelectionPatternError {
    pattern: String,
    #[source]
    source: ignore::Error,
}

impl Default for FileSelection {
    fn default() -> Self {
        Self {
            paths: vec![VPath::root()],
            include: Vec::new(),
            exclude: Vec::new(),
            hidden: false,
            ignored: false,
            max_file_size: 64 << 20,
        }
    }
}

impl FileSelection {
    /// Returns the selected files, in the order of their paths, each once.
    ///
    /// # Errors
    ///
    /// Fails for a malformed pattern (`EINVAL`), or if a path cannot be listed.
    pub async fn select(&self, fs: &dyn FileSystem) -> Result<Vec<SelectedFile>, FsError> {
        let invalid = |error| FsError::bare(FsCode::EINVAL, yfs_vfs::Op::Walk).caused_by(error);
        let include = compile(&self.include).map_err(invalid)?;
        let exclude = compile(&self.exclude).map_err(invalid)?;
        let mut selected = Vec::new();
        for path in &self.paths {
            let stat = fs.stat(path).await?;
            if !stat.is_directory() {
                // A file that is named is wanted, whatever the rules say.
                selected.extend(stat.is_file().then(|| self.file(path.clone(), stat.size)));
                continue;
            }
            let options =
                WalkOptions { hidden: true, max_entries: MAX_ENTRIES, ..WalkOptions::default() };
            let entries = fs.walk(path, &options).await?;
            let rules = match self.ignored {
                true => HashMap::new(),
                false => read_rules(fs, &entries).await?,
            };
            let mut skipped: Option<VPath> = None;
            for WalkEntry { path: found, entry, .. } in entries {
                if skipped.as_ref().is_some_and(|above| found.starts_with(above)) {
                    continue;
                }
                let is_directory = entry.kind == FileKind::Directory;
                let is_left_out = (!self.hidden && entry.name.starts_with('.'))
                    || exclude.matched(relative(&found, path), is_directory).is_ignore()
                    || is_ignored(&rules, &found, is_directory);
                if is_left_out {
                    skipped = is_directory.then_some(found);
                    continue;
                }
                let is_included =
                    || include.is_empty() || is_matched(&include, relative(&found, path));
                if entry.kind == FileKind::File && is_included() {
                    selected.push(self.file(found, entry.size));
                }
            }
        }
        selected.sort_by(|one, other| one.path.cmp(&other.path));
        selected.dedup_by(|one, other| one.path == other.path);
        Ok(selected)
    }

    fn file(&self, path: VPath, size: u64) -> SelectedFile {
        SelectedFile { path, size, is_too_large: size > self.max_file_size }
    }
}

fn relative<'a>(path: &'a VPath, root: &VPath) -> &'a str {
    path.relative_to(root).unwrap_or_default()
}

/// Reports whether a path, or a directory above it, matches.
fn is_matched(patterns: &Gitignore, path: &str) -> bool {
    patterns.matched_path_or_any_parents(path, false).is_ignore()
}

fn compile(patterns: &[String]) -> Result<Gitignore, SelectionPatternError> {
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        builder
            .add_line(None, pattern)
            .map_err(|source| SelectionPatternError { pattern: pattern.clone(), source })?;
    }
    builder.build().map_err(|source| SelectionPatternError { pattern: patterns.join(" "), source })
}

/// Returns the rules of each directory that has some.
async fn read_rules(
    fs: &dyn FileSystem,
    entries: &[WalkEntry],
) -> Result<HashMap<VPath, IgnoreRuleList>, FsError> {
    let mut lists: HashMap<VPath, IgnoreRuleList> = HashMap::new();
    // Siblings come in the order of their names, so the later file of rules comes later.
    for WalkEntry { path, entry, .. } in entries {
        let is_rules = RULE_FILES.contains(&entry.name.as_str()) && entry.kind == FileKind::File;
        let Some(directory) = path.parent().filter(|_| is_rules && entry.size <= MAX_RULES_LEN)
        else {
            continue;
        };
        let Some(content) = fs.read_if_exists(path).await? else { continue };
        lists.entry(directory).or_default().add_text(&content);
    }
    Ok(lists)
}

fn is_ignored(rules: &HashMap<VPath, IgnoreRuleList>, path: &VPath, is_directory: bool) -> bool {
    if rules.is_empty() {
        return false;
    }
    let mut directory = path.parent();
    while let Some(above) = directory {
        let verdict = rules
            .get(&above)
            .and_then(|found| found.verdict(relative(path, &above).as_bytes(), is_directory));
        if let Some(verdict) = verdict {
            return verdict == IgnoreVerdict::Excluded;
        }
        directory = above.parent();
    }
    false
}
