//! Compiled patterns: a list of alternatives, each a list of components.
//!
//! Matching goes down a path component by component and keeps the set of positions in the pattern
//! where it may be. Its cost is therefore bounded by the product of the lengths of path and
//! pattern, and a directory that cannot hold a match is recognized before it is listed.

use globset::{GlobBuilder, GlobMatcher};
use thiserror::Error;
use yfs_types::path::VPath;

use super::GlobQuery;
use crate::error::{FsCode, FsError, Op};

/// The most alternatives that the braces of a pattern may expand to.
const MAX_ALTERNATIVES: usize = 1_000;

/// The greatest length of a pattern, in bytes.
const MAX_PATTERN_LEN: usize = 16 * 1024;

/// A compiled pattern. [`GlobQuery`] documents the syntax.
#[derive(Debug, Clone)]
pub struct GlobPattern {
    alternatives: Vec<GlobAlternative>,
    hidden: bool,
}

/// The reason why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadPattern {
    /// The pattern is empty or only slashes.
    #[error("the pattern is empty")]
    Empty,
    /// The pattern is longer than 16 KiB.
    #[error("the pattern is longer than 16 KiB")]
    TooLong,
    /// A component is `..`.
    #[error("the pattern contains the component '..'")]
    GoesUp,
    /// A brace is unbalanced.
    #[error("the pattern has an unbalanced brace")]
    Braces,
    /// The braces expand to more than 1,000 patterns.
    #[error("the braces of the pattern expand to more than 1,000 patterns")]
    TooManyAlternatives,
    /// A component is malformed.
    #[error("malformed pattern: {0}")]
    Component(String),
}

#[derive(Debug, Clone)]
struct GlobAlternative {
    components: Vec<GlobComponent>,
    /// Whether it is matched against paths from `/`, not from the root of the search.
    absolute: bool,
    directories_only: bool,
}

#[derive(Debug, Clone)]
enum GlobComponent {
    /// `**`: any number of components.
    Any,
    /// One component.
    One {
        matcher: GlobMatcher,
        /// Whether it matches hidden names explicitly.
        hidden: bool,
    },
}

/// For each alternative, the indices of the components that may come next, in order.
pub(super) type States = Vec<Vec<usize>>;

impl GlobPattern {
    /// Compiles a pattern.
    pub fn new(text: &str, hidden: bool, ignore_case: bool) -> Result<Self, BadPattern> {
        if text.len() > MAX_PATTERN_LEN {
            return Err(BadPattern::TooLong);
        }
        let expanded = expand_braces(text)?;
        let alternatives = expanded.iter().map(|text| GlobAlternative::new(text, ignore_case));
        Ok(Self { alternatives: alternatives.collect::<Result<_, _>>()?, hidden })
    }

    pub(super) fn for_query(query: &GlobQuery) -> Result<Self, FsError> {
        Self::new(&query.pattern, query.hidden, query.ignore_case).map_err(|error| {
            FsError::new(FsCode::EINVAL, Op::Glob, &query.pattern).caused_by(error)
        })
    }

    /// Reports whether a search that begins at `root` finds a path.
    pub fn is_match(&self, root: &VPath, path: &VPath, is_directory: bool) -> bool {
        let Some(below) = path.relative_to(root) else { return false };
        let names = below.split('/').filter(|name| !name.is_empty());
        let states = names.fold(self.start(root), |states, name| self.advance(&states, name));
        !below.is_empty() && self.accepts(&states, is_directory)
    }

    /// Reports whether a path below `dir` could match, whatever objects there are.
    pub fn may_match_below(&self, dir: &VPath) -> bool {
        let start = self.start(&VPath::root());
        let states = dir.components().fold(start, |states, name| self.advance(&states, name));
        self.goes_on(&states)
    }

    /// Returns the states in the directory where a search begins.
    pub(super) fn start(&self, root: &VPath) -> States {
        let start = |alternative: &GlobAlternative| {
            let mut states = alternative.close([0].into());
            if alternative.absolute {
                for name in root.components() {
                    // A search that begins in a hidden directory includes that directory.
                    states = alternative.advance(&states, name, true);
                }
            }
            states
        };
        self.alternatives.iter().map(start).collect()
    }

    /// Returns the states after one more name.
    pub(super) fn advance(&self, states: &States, name: &str) -> States {
        let both = self.alternatives.iter().zip(states);
        both.map(|(alternative, states)| alternative.advance(states, name, self.hidden)).collect()
    }

    /// Reports whether there may be matches below.
    pub(super) fn goes_on(&self, states: &States) -> bool {
        let mut both = self.alternatives.iter().zip(states);
        both.any(|(alternative, states)| {
            states.iter().any(|state| *state < alternative.components.len())
        })
    }

    /// Reports whether the names so far are a match.
    pub(super) fn accepts(&self, states: &States, is_directory: bool) -> bool {
        let mut both = self.alternatives.iter().zip(states);
        both.any(|(alternative, states)| {
            let at_end = states.last() == Some(&alternative.components.len());
            at_end && (is_directory || !alternative.directories_only)
        })
    }

    /// Reports whether the pattern matches directories only.
    pub(super) fn directories_only(&self) -> bool {
        self.alternatives.iter().all(|alternative| alternative.directories_only)
    }
}

impl GlobAlternative {
    fn new(text: &str, ignore_case: bool) -> Result<Self, BadPattern> {
        let absolute = text.starts_with('/');
        let directories_only = text.ends_with('/');
        let names: Vec<&str> =
            text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        let mut components = Vec::new();
        if !absolute && names.len() == 1 && names[0] != "**" {
            components.push(GlobComponent::Any);
        }
        for name in &names {
            components.push(GlobComponent::new(name, ignore_case)?);
        }
        // `a/**` matches everything below `a`, but not `a`.
        match components.last() {
            None => return Err(BadPattern::Empty),
            Some(GlobComponent::Any) => components.push(GlobComponent::new("*", ignore_case)?),
            Some(GlobComponent::One { .. }) => (),
        }
        Ok(Self { components, absolute, directories_only })
    }

    fn advance(&self, states: &[usize], name: &str, hidden: bool) -> Vec<usize> {
        let shown = hidden || !name.starts_with('.');
        let mut next = Vec::new();
        for &state in states {
            match self.components.get(state) {
                Some(GlobComponent::Any) if shown => next.push(state),
                Some(GlobComponent::One { matcher, hidden })
                    if (shown || *hidden) && matcher.is_match(name) =>
                {
                    next.push(state + 1);
                }
                _ => (),
            }
        }
        self.close(next)
    }

    /// Adds the states that are reached because `**` may match no component.
    fn close(&self, states: Vec<usize>) -> Vec<usize> {
        let mut closed: Vec<usize> = Vec::with_capacity(states.len() + 1);
        for mut state in states {
            loop {
                if closed.last().is_none_or(|last| *last < state) {
                    closed.push(state);
                }
                match self.components.get(state) {
                    Some(GlobComponent::Any) => state += 1,
                    _ => break,
                }
            }
        }
        closed
    }
}

impl GlobComponent {
    fn new(text: &str, ignore_case: bool) -> Result<Self, BadPattern> {
        match text {
            "**" => return Ok(Self::Any),
            ".." => return Err(BadPattern::GoesUp),
            _ => (),
        }
        let mut builder = GlobBuilder::new(text);
        builder.literal_separator(true).backslash_escape(true).case_insensitive(ignore_case);
        let glob = builder.build().map_err(|error| BadPattern::Component(error.to_string()))?;
        Ok(Self::One { matcher: glob.compile_matcher(), hidden: text.starts_with('.') })
    }
}

/// Returns the patterns that a pattern with braces expands to, in order, each once.
fn expand_braces(text: &str) -> Result<Vec<String>, BadPattern> {
    let mut expanded = Vec::new();
    let mut pending = vec![text.to_owned()];
    while let Some(text) = pending.pop() {
        if expanded.len() + pending.len() >= MAX_ALTERNATIVES {
            return Err(BadPattern::TooManyAlternatives);
        }
        match first_braces(&text)? {
            None if expanded.contains(&text) => (),
            None => expanded.push(text),
            Some((start, end, choices)) => {
                let choices = choices.into_iter().rev();
                pending.extend(
                    choices.map(|choice| format!("{}{choice}{}", &text[..start], &text[end..])),
                );
            }
        }
    }
    Ok(expanded)
}

/// The start and end of a pair of braces, and its alternatives.
type Braces<'a> = (usize, usize, Vec<&'a str>);

/// Returns the first outermost pair of braces.
fn first_braces(text: &str) -> Result<Option<Braces<'_>>, BadPattern> {
    let (mut depth, mut start, mut choice_start) = (0, 0, 0);
    let mut choices = Vec::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => {
                chars.next();
            }
            // In a class a brace is literal. `[]` and `[!]` begin a class that holds `]`.
            '[' => {
                let rest = &text[at + 1..];
                let skipped = rest.len() - rest.trim_start_matches(['!', '^']).len();
                let after = rest.get(skipped + 1..).unwrap_or_default();
                if let Some(end) = after.find(']') {
                    let past = at + 1 + skipped + 1 + end;
                    while chars.clone().next().is_some_and(|(next, _)| next <= past) {
                        chars.next();
                    }
                }
            }
            '{' => {
                depth += 1;
                if depth == 1 {
                    (start, choice_start) = (at, at + 1);
                }
            }
            ',' if depth == 1 => {
                choices.push(&text[choice_start..at]);
                choice_start = at + 1;
            }
            '}' => {
                depth -= 1;
                if depth < 0 {
                    return Err(BadPattern::Braces);
                }
                if depth == 0 {
                    choices.push(&text[choice_start..at]);
                    return Ok(Some((start, at + 1, choices)));
                }
            }
            _ => (),
        }
    }
    if depth == 0 { Ok(None) } else { Err(BadPattern::Braces) }
}
