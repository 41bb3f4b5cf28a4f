//! Replacing text inside a file: find and replace as one atomic step.
//!
//! Clients write `\n` for the line ends that they read, and some write `\r\n`. So the text to find
//! and the text that replaces it get the line ends of the file, unless the caller means others.

use std::borrow::Cow;

use thiserror::Error;

use crate::{options::ChangeAuthor, stat::VersionToken};

/// The mark at the beginning of some files.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

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
        let (passages, n_found) = self.fit(text)?;
        let mut edited = Cow::Borrowed(text);
        for passage in &passages {
            edited = edited.replace(&*passage.old, &passage.new).into();
        }
        Ok((edited.into_owned(), n_found))
    }

    /// Returns the passages to replace, with the line ends of the file, and the number of their
    /// occurrences. There is more than one only if occurrences differ in their line ends.
    pub fn fit(&self, text: &str) -> Result<(Vec<FittedPassage>, usize), EditRefusal> {
        if self.old.is_empty() {
            return Err(EditRefusal::EmptyOld);
        }
        let passages = fit_passages(text, &self.old, &self.new);
        let places = passages.iter().flat_map(|passage| text.match_indices(&passage.old));
        let mut places: Vec<usize> = places.map(|(at, _)| at).collect();
        match places.len() {
            0 => Err(EditRefusal::NotFound),
            n_found if n_found > 1 && !self.all => {
                places.sort_unstable();
                let line = |at: &usize| text[..*at].matches('\n').count() + 1;
                let lines = places.iter().take(MAX_LISTED).map(line).collect();
                Err(EditRefusal::Ambiguous { n_found, lines })
            }
            n_found => Ok((passages, n_found)),
        }
    }
}

/// A text to find exactly, and the text that replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittedPassage {
    /// The text to find.
    pub old: String,
    /// The text that replaces it.
    pub new: String,
}

/// The line ends of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    None,
    Unix,
    Dos,
    Mixed,
}

impl LineEnds {
    fn of(text: &str) -> Self {
        let n_ends = text.matches('\n').count();
        match text.matches("\r\n").count() {
            0 if n_ends == 0 => Self::None,
            0 => Self::Unix,
            n_dos if n_dos == n_ends => Self::Dos,
            _ => Self::Mixed,
        }
    }

    /// Returns a text with these line ends, if they are of one kind.
    fn of_text(self, text: &str) -> String {
        match self {
            Self::None | Self::Mixed => text.to_owned(),
            Self::Unix => text.replace("\r\n", "\n"),
            Self::Dos => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        }
    }
}

/// Returns the passages that `old` and `new` are in a text. They are found in the text, or `old`
/// occurs nowhere in any form.
///
/// - In a text with `\r\n` only, `\n` stands for it, unless `old` has a `\r` of its own.
/// - In a text with `\n` only, `\r\n` in `old` stands for it, and so in `new`, unless `old` has a
///   `\n`: it is found as it is, so that the caller means what `new` says.
/// - In a text with both, an exact occurrence comes first; else a line end stands for either.
/// - A byte order mark before `old` counts only if it is found.
pub fn fit_passages(text: &str, old: &str, new: &str) -> Vec<FittedPassage> {
    let passage = |old: String, new: String| vec![FittedPassage { old, new }];
    let exact = || passage(old.to_owned(), new.to_owned());
    let ends = LineEnds::of(text);
    let fitted = match ends {
        LineEnds::Dos if !old.contains('\r') => passage(ends.of_text(old), ends.of_text(new)),
        LineEnds::Unix | LineEnds::None if old.contains("\r\n") => {
            passage(LineEnds::Unix.of_text(old), LineEnds::Unix.of_text(new))
        }
        LineEnds::Unix if !old.contains(['\r', '\n']) && LineEnds::of(new) == LineEnds::Dos => {
            passage(old.to_owned(), ends.of_text(new))
        }
        LineEnds::Mixed => fit_mixed(text, old, new),
        _ => exact(),
    };
    let is_found = fitted.iter().any(|passage| text.contains(&passage.old));
    match old.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) if !is_found && !rest.is_empty() => {
            fit_passages(text, rest, new.strip_prefix(BYTE_ORDER_MARK).unwrap_or(new))
        }
        _ => fitted,
    }
}

/// Returns the length of lines at the beginning of a text, whatever their ends, or `None`.
fn len_of_lines(text: &str, lines: &[String]) -> Option<usize> {
    let mut rest = text;
    for (number, line) in lines.iter().enumerate() {
        if number > 0 {
            rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
        }
        rest = rest.strip_prefix(&**line)?;
    }
    Some(text.len() - rest.len())
}

/// Finds a passage in a text with both line ends.
fn fit_mixed(text: &str, old: &str, new: &str) -> Vec<FittedPassage> {
    let passage = |old: &str, new: String| FittedPassage { old: old.to_owned(), new };
    if let Some(at) = text.find(old) {
        let is_line = !old.contains(['\r', '\n']);
        // The new lines end as the line does that they are in.
        let after = text[at..].split_inclusive('\n').next().unwrap_or_default();
        let ends = match LineEnds::of(after) {
            LineEnds::None => {
                LineEnds::of(text[..at].split_inclusive('\n').next_back().unwrap_or(""))
            }
            ends => ends,
        };
        let new = if is_line { ends.of_text(new) } else { new.to_owned() };
        return vec![passage(old, new)];
    }
    let lines: Vec<&str> = old.split('\n').collect();
    let own_line = |line: &'_ str| line.strip_suffix('\r').unwrap_or(line).to_owned();
    let (last, before) = lines.split_last().expect("a split has a part");
    let mut lines: Vec<String> = before.iter().map(|line| own_line(line)).collect();
    lines.push((*last).to_owned());
    let mut passages: Vec<FittedPassage> = Vec::new();
    let mut next = 0;
    for (at, _) in text.match_indices(&*lines[0]) {
        let Some(len) = len_of_lines(&text[at..], &lines).filter(|_| at >= next) else { continue };
        let found = &text[at..at + len];
        next = at + len;
        if passages.iter().any(|passage| passage.old == found) {
            continue;
        }
        let ends = match LineEnds::of(found) {
            LineEnds::Mixed => LineEnds::of(found.split_inclusive('\n').next().unwrap_or("")),
            ends => ends,
        };
        passages.push(passage(found, ends.of_text(new)));
    }
    passages
}
