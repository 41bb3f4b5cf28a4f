//! Options that the Node package passes.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use serde::Deserialize;
use yfs::{ImportOptions, WorkspaceOptions};
use yfs_engine::kind::profile_named;
use yfs_types::{actor::Actor, path::VPath};
use yfs_vfs::{GlobQuery, GrepQuery};

/// The greatest number of bytes of a matching line that are returned by default.
const MAX_LINE_LEN: usize = 2_000;

/// How a workspace is opened.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(rename = "OpenOptions", optional_fields))]
pub struct OpenOptionsJson {
    /// The author of changes: `human:ada`, `agent:reviewer`.
    pub actor: Option<String>,
    /// Whether to create the workspace if there is no file; true by default.
    pub create: Option<bool>,
    /// The schema of rich text of a new workspace.
    #[cfg_attr(feature = "schema", ts(optional, type = "'gfm' | 'commonmark'"))]
    pub profile: Option<String>,
    /// Whether changes are rejected.
    pub read_only: Option<bool>,
    /// Whether changes of other processes are watched in the background; true by default.
    #[cfg_attr(feature = "schema", ts(skip))]
    pub follow: Option<bool>,
    /// The bytes of unused documents that stay in memory.
    pub doc_budget: Option<f64>,
    /// The bytes of plain text that are cached for reading and searching.
    pub text_budget: Option<f64>,
    /// The passphrase of an encrypted workspace. A workspace that is created with one is encrypted.
    #[cfg_attr(feature = "schema", ts(optional, type = "string"))]
    pub passphrase: Option<SecretText>,
    /// The path of the key file of an encrypted workspace, with 32 random bytes or more. A
    /// workspace that is created with one is encrypted.
    pub key_file: Option<PathBuf>,
}

/// A text that `Debug` does not print.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// Returns the text.
    pub fn reveal(self) -> String {
        self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(..)")
    }
}

/// Which paths to find.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(rename = "GlobQuery", optional_fields))]
pub struct GlobQueryJson {
    /// The pattern.
    #[cfg_attr(feature = "schema", ts(skip))]
    pub pattern: String,
    /// The directory to search; by default the root.
    pub root: Option<String>,
    /// Whether names that begin with a dot are found.
    pub hidden: Option<bool>,
    /// Whether upper and lower case are equal.
    pub ignore_case: Option<bool>,
    /// Whether directories are found.
    pub directories: Option<bool>,
    /// The greatest number of paths.
    pub limit: Option<f64>,
}

/// Which lines to find.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(rename = "GrepQuery", optional_fields))]
pub struct GrepQueryJson {
    /// The pattern.
    #[cfg_attr(feature = "schema", ts(skip))]
    pub pattern: String,
    /// The directory or file to search; by default the root.
    pub root: Option<String>,
    /// Whether the pattern is plain text.
    pub literal: Option<bool>,
    /// Whether upper and lower case are equal.
    pub ignore_case: Option<bool>,
    /// Whether only whole words match.
    pub whole_word: Option<bool>,
    /// Whether files are searched whose names begin with a dot.
    pub hidden: Option<bool>,
    /// Globs of the paths to search.
    pub include: Option<Vec<String>>,
    /// Globs of the paths to skip.
    pub exclude: Option<Vec<String>>,
    /// The number of lines of context before a match.
    pub before: Option<f64>,
    /// The number of lines of context after a match.
    pub after: Option<f64>,
    /// The greatest number of lines per file.
    pub max_per_file: Option<f64>,
    /// The greatest number of lines.
    pub max_total: Option<f64>,
    /// The greatest number of bytes of a line that are returned.
    pub max_line_length: Option<f64>,
    /// Whether an index may choose the files to read; true by default. The lines are the same.
    pub use_index: Option<bool>,
    /// The time after which the search ends, in milliseconds.
    pub timeout_ms: Option<f64>,
}

/// How a directory is imported.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(ts_rs::TS), ts(rename = "ImportOptions", optional_fields))]
pub struct ImportOptionsJson {
    /// Whether files are skipped that `.gitignore` names; true by default.
    pub gitignore: Option<bool>,
    /// Whether names that begin with a dot are imported; true by default.
    pub hidden: Option<bool>,
    /// The size in bytes from which files are skipped.
    pub max_file_size: Option<f64>,
}

impl OpenOptionsJson {
    /// Returns the options of a workspace without its key, or the name and value of a field that is
    /// not valid.
    pub fn options(self) -> Result<WorkspaceOptions, (&'static str, String)> {
        let mut options = WorkspaceOptions::default();
        if let Some(actor) = self.actor {
            options.actor = Actor::from_str(&actor).map_err(|_| ("actor", actor))?;
        }
        if let Some(profile) = self.profile {
            options.profile = profile_named(&profile).ok_or(("profile", profile))?;
        }
        options.read_only = self.read_only.unwrap_or_default();
        options.follow = !options.read_only && self.follow.unwrap_or(true);
        options.doc_budget = self.doc_budget.map_or(options.doc_budget, whole);
        options.text_budget = self.text_budget.map_or(options.text_budget, whole);
        Ok(options)
    }
}

impl GlobQueryJson {
    /// Returns the query below a root.
    pub fn query(self, root: Option<VPath>) -> GlobQuery {
        let mut query = GlobQuery::new(self.pattern);
        query.root = root.unwrap_or(query.root);
        query.hidden = self.hidden.unwrap_or_default();
        query.ignore_case = self.ignore_case.unwrap_or_default();
        query.directories = self.directories.unwrap_or_default();
        query.limit = self.limit.map_or(usize::MAX, size);
        query
    }
}

impl GrepQueryJson {
    /// Returns the query below a root.
    pub fn query(self, root: Option<VPath>) -> GrepQuery {
        let mut query = GrepQuery::new(self.pattern);
        query.root = root.unwrap_or(query.root);
        query.literal = self.literal.unwrap_or_default();
        query.ignore_case = self.ignore_case.unwrap_or_default();
        query.whole_word = self.whole_word.unwrap_or_default();
        query.hidden = self.hidden.unwrap_or_default();
        query.include = self.include.unwrap_or_default();
        query.exclude = self.exclude.unwrap_or_default();
        query.before = self.before.map_or(0, size);
        query.after = self.after.map_or(0, size);
        query.max_per_file = self.max_per_file.map_or(usize::MAX, size);
        query.max_total = self.max_total.map_or(usize::MAX, size);
        query.max_line_len = self.max_line_length.map_or(MAX_LINE_LEN, size);
        query.use_index = self.use_index.unwrap_or(true);
        query.timeout = self.timeout_ms.map(|limit| Duration::from_millis(whole(limit)));
        query
    }
}

impl From<ImportOptionsJson> for ImportOptions {
    fn from(given: ImportOptionsJson) -> Self {
        let default = Self::default();
        Self {
            gitignore: given.gitignore.unwrap_or(true),
            hidden: given.hidden.unwrap_or(true),
            max_file_len: given.max_file_size.map_or(default.max_file_len, whole),
            ..default
        }
    }
}

/// Converts a JavaScript number, rounded down; a negative one is 0.
fn whole(number: f64) -> u64 {
    number as u64
}

fn size(number: f64) -> usize {
    number as usize
}
