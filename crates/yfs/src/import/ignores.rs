//! Patterns of paths to leave out that the caller gives, beside those of files in the directory.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::ImportOptions;

/// Checks a pattern for [`ImportOptions::ignores`](super::ImportOptions::ignores).
///
/// # Errors
///
/// Fails with a description if it is no pattern of a `.gitignore` file.
pub fn check_ignore_pattern(pattern: &str) -> Result<(), String> {
    let added = GitignoreBuilder::new("").add_line(None, pattern).map(drop);
    added.map_err(|error| format!("invalid pattern '{pattern}': {error}"))
}

impl ImportOptions {
    /// Returns the rules of [`ignores`](Self::ignores), for paths relative to the directory; none
    /// without [`gitignore`](Self::gitignore).
    pub(super) fn ignore_rules(&self) -> Gitignore {
        ignore_rules(if self.gitignore { &self.ignores } else { &[] })
    }
}

/// Returns the rules of patterns, for paths relative to a directory. Invalid ones are left out.
pub fn ignore_rules(patterns: &[String]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        builder.add_line(None, pattern).ok();
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
