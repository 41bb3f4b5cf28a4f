//! Replacing text inside a file: find and replace as one atomic step.

use thiserror::Error;

use crate::{options::ChangeAuthor, stat::VersionToken};

/// The most lines that an [`EditRefusal::Ambiguous`] lists.
const MAX_LISTED: usize = 20;

/// A replacement of text in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextReplacement {
    /// The text to find, exactly; not empty.
    pub old: String,
    /// The text that replaces it.
    pub new: String,
    /// Whether every occurrence is replaced; if not, `old` must occur exactly once.
    pub all: bool,
    /// Fails the edit with `ESTALE` unless the file has this version.
    pub expected_version: Option<VersionToken>,
    /// The author of the change; the owner of the filesystem handle if absent.
    pub author: Option<ChangeAuthor>,
}

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditOutcome {
    /// The number of occurrences that were replaced.
    pub n_replaced: usize,
    /// The version that the edit made, if the caller named the version that it edited; see
    /// [`WriteOutcome::version`](crate::WriteOutcome::version).
    pub version: Option<VersionToken>,
}

/// The reason why an edit was rejected; the error code is `EINVAL`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditRefusal {
    /// The text to find is empty.
    #[error("the text to replace is empty")]
    EmptyOld,
    /// The text to find is not in the file.
    #[error("the text to replace was not found")]
    NotFound,
    /// The text to find occurs more than once.
    #[error(
        "the text to replace occurs {n_found} times, in lines {}; \
         it must occur once, unless all occurrences are replaced",
        format_lines(.lines)
    )]
    Ambiguous {
        /// The number of occurrences.
        n_found: usize,
        /// The lines where the first occurrences begin, counted from 1.
        lines: Vec<usize>,
    },
    /// The file is not UTF-8 text.
    #[error("the file is not UTF-8 text")]
    NotText,
}

/// Returns the line numbers as text, each once.
fn format_lines(lines: &[usize]) -> String {
    let mut lines = lines.to_vec();
    lines.dedup();
    lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

impl TextReplacement {
    /// Makes a replacement of the only occurrence of `old`.
    pub fn once(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self { old: old.into(), new: new.into(), all: false, expected_version: None, author: None }
    }

    /// Makes a replacement of every occurrence of `old`.
    pub fn all(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self { all: true, ..Self::once(old, new) }
    }

    /// Returns the text after the edit, and the number of replaced occurrences.
    ///
    /// Occurrences do not overlap and are found from the left.
    pub fn apply(&self, text: &str) -> Result<(String, usize), EditRefusal> {
        let n_found = self.count(text)?;
        Ok((text.replace(&self.old, &self.new), n_found))
    }

    /// Returns the number of occurrences that the edit would replace.
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
