//! Replacing text inside a file: find and splice, in one step that nothing comes between.

use thiserror::Error;

use crate::{options::ChangeAuthor, stat::VersionToken};

/// The greatest number of places that an [`EditRefusal::Ambiguous`] lists.
const MAX_LISTED: usize = 20;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextReplacement {
    /// The text to find, exactly; not empty.
    pub old: String,
    /// What takes its place.
    pub new: String,
    /// Whether every occurrence is replaced; without it, `old` must occur exactly once.
    pub all: bool,
    /// Refuse with `ESTALE` unless the file's version is this one.
    pub expected_version: Option<VersionToken>,
    /// On whose behalf; without it, that of whoever holds the filesystem.
    pub author: Option<ChangeAuthor>,
}

/// What an edit did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditOutcome {
    /// How many occurrences were replaced.
    pub n_replaced: usize,
    /// The version that the edit made, if the caller named the version that it edited; see
    /// [`Written::version`](crate::WriteOutcome::version).
    pub version: Option<VersionToken>,
}

/// Why an edit was refused; the code is `EINVAL`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditRefusal {
    /// The text to find is empty.
    #[error("the text to replace is empty")]
    EmptyOld,
    /// The text to find is not in the file.
    #[error("the text to replace was not found")]
    NotFound,
    /// The text to find is there more than once.
    #[error("the text to replace was found multiple times ({n_found}), in lines {}", listed(.lines))]
    Ambiguous {
        /// How often.
        n_found: usize,
        /// The lines where the first occurrences begin, from 1.
        lines: Vec<usize>,
    },
    /// The file is not UTF-8 text.
    #[error("the file is not text")]
    NotText,
}

/// Writes each line once.
fn listed(lines: &[usize]) -> String {
    let mut lines = lines.to_vec();
    lines.dedup();
    lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

impl TextReplacement {
    /// Replaces the only occurrence of `old`.
    pub fn once(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self { old: old.into(), new: new.into(), all: false, expected_version: None, author: None }
    }

    /// Replaces every occurrence of `old`.
    pub fn all(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self { all: true, ..Self::once(old, new) }
    }

    /// Returns the text after the edit, and how many occurrences were replaced.
    ///
    /// Occurrences do not overlap and are found from the left.
    pub fn apply(&self, text: &str) -> Result<(String, usize), EditRefusal> {
        let n_found = self.count(text)?;
        Ok((text.replace(&self.old, &self.new), n_found))
    }

    /// Returns how many occurrences would be replaced.
    pub fn count(&self, text: &str) -> Result<usize, EditRefusal> {
        if self.old.is_empty() {
            return Err(EditRefusal::EmptyOld);
        }
        match text.matches(&self.old).count() {
            0 => Err(EditRefusal::NotFound),
            n_found if n_found > 1 && !self.all => {
                let places = text.match_indices(&self.old).take(MAX_LISTED);
                let line = |at: usize| text[..at].matches('\n').count() + 1;
                let lines = places.map(|(at, _)| line(at)).collect();
                Err(EditRefusal::Ambiguous { n_found, lines })
            }
            n_found => Ok(n_found),
        }
    }
}
