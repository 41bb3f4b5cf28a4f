//! The tests and actions of `find`, and their evaluation.

use regex::Regex;
use yfs_engine::time::Millis;
use yfs_vfs::{FileKind, WalkEntry};

use crate::{
    context::{CommandContext, Fs},
    errors::Result,
};

/// A parsed command line of `find`.
#[derive(Debug)]
pub(crate) struct FindPlan {
    /// The expression.
    pub(crate) root: FindExpression,
    /// The maximum depth of the search.
    pub(crate) max_depth: Option<usize>,
    /// The minimum depth of the entries to test.
    pub(crate) min_depth: usize,
    /// Whether the content of a directory comes before the directory.
    pub(crate) depth_first: bool,
    /// The current time, for tests of age.
    pub(crate) now: Millis,
}

/// A part of an expression.
#[derive(Debug)]
pub(crate) enum FindExpression {
    /// True if all are; evaluated in order, until one is false.
    And(Vec<Self>),
    /// True if one is; evaluated in order, until one is true.
    Or(Vec<Self>),
    /// True if the part is false.
    Not(Box<Self>),
    /// A test of an object.
    Test(FindTest),
    /// An action; true.
    Action(FindAction),
    /// Does not descend into the directory; true.
    Prune,
    /// Ends the search; true.
    Quit,
}

/// A test of an object.
#[derive(Debug)]
pub(crate) enum FindTest {
    /// Always has this result.
    Constant(bool),
    /// Whether the name matches.
    Name(Regex),
    /// Whether the path, as printed, matches.
    Path(Regex),
    /// Whether the object is of one of these kinds.
    Kind(Vec<FileKind>),
    /// Whether the size is in the range, in units of so many bytes, rounded up.
    Size(NumberRange, u64),
    /// Whether the file or directory is empty.
    Empty,
    /// Whether the age is in the range, in units of so many milliseconds, rounded down (or up, for
    /// minutes).
    Age(NumberRange, i64),
    /// Whether the object changed after the object at this path did, and the time of that change,
    /// once it is known.
    Newer(String, Option<Millis>),
    /// Whether the object changed after this time.
    NewerThan(Millis),
    /// Whether the object has these bits: exactly, all of them (`-`), or any of them (`/`).
    Mode(char, u32),
}

/// A number to compare with: `+5` is more than 5, `-5` is less, `5` is exactly 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberRange {
    /// More than this.
    Above(u64),
    /// Less than this.
    Below(u64),
    /// Exactly this.
    Exactly(u64),
}

/// An action on a matching object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FindAction {
    /// Print the path.
    Print,
    /// Print the path, terminated by NUL.
    Print0,
    /// Move the object to the trash.
    Delete,
}

/// An object to evaluate the expression for.
#[derive(Debug)]
pub(crate) struct FindCandidate<'a> {
    /// The path, as it is printed.
    pub(crate) shown: &'a str,
    /// The entry of the object.
    pub(crate) item: &'a WalkEntry,
    /// Whether the object is a directory with content.
    pub(crate) has_children: bool,
}

/// The result of the expression for an object.
#[derive(Debug, Default)]
pub(crate) struct FindVerdict {
    /// The actions to perform, in order.
    pub(crate) actions: Vec<FindAction>,
    /// Whether the search skips the content of the object.
    pub(crate) prunes: bool,
    /// Whether the search ends.
    pub(crate) quits: bool,
}

/// The end of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FindOutcome {
    /// All objects were tested.
    Done,
    /// `-quit` ended it.
    Quit,
}

impl FindPlan {
    /// Reports whether the search may delete objects.
    pub(crate) fn deletes(&self) -> bool {
        self.root.any(&|node| matches!(node, FindExpression::Action(FindAction::Delete)))
    }

    /// Reads the times of the files that tests compare with.
    pub(crate) async fn resolve(&mut self, fs: &Fs, context: &CommandContext) -> Result {
        let mut paths = Vec::new();
        self.root.each_test(&mut |test| {
            if let FindTest::Newer(path, _) = test {
                paths.push(path.clone());
            }
        });
        let mut times = Vec::with_capacity(paths.len());
        for path in paths {
            times.push(fs.stat(&context.path(&path)?.path).await?.mtime);
        }
        let mut times = times.into_iter();
        self.root.each_test(&mut |test| {
            if let FindTest::Newer(_, time) = test {
                *time = times.next();
            }
        });
        Ok(())
    }

    /// Evaluates the expression for an object.
    pub(crate) fn evaluate(&self, candidate: &FindCandidate<'_>) -> FindVerdict {
        let mut verdict = FindVerdict::default();
        self.eval(&self.root, candidate, &mut verdict);
        verdict
    }

    // Recursive, but no deeper than the nesting limit of the parser.
    fn eval(
        &self,
        node: &FindExpression,
        candidate: &FindCandidate<'_>,
        verdict: &mut FindVerdict,
    ) -> bool {
        match node {
            FindExpression::And(nodes) => {
                nodes.iter().all(|node| !verdict.quits && self.eval(node, candidate, verdict))
            }
            FindExpression::Or(nodes) => {
                nodes.iter().any(|node| verdict.quits || self.eval(node, candidate, verdict))
            }
            FindExpression::Not(node) => !self.eval(node, candidate, verdict),
            FindExpression::Test(test) => test.holds(candidate, self.now),
            FindExpression::Action(action) => {
                verdict.actions.push(*action);
                true
            }
            FindExpression::Prune => {
                verdict.prunes = true;
                true
            }
            FindExpression::Quit => {
                verdict.quits = true;
                true
            }
        }
    }
}

impl FindExpression {
    /// Reports whether a condition holds for a part of the expression.
    pub(crate) fn any(&self, is_so: &dyn Fn(&Self) -> bool) -> bool {
        is_so(self)
            || match self {
                Self::And(nodes) | Self::Or(nodes) => nodes.iter().any(|node| node.any(is_so)),
                Self::Not(node) => node.any(is_so),
                _ => false,
            }
    }

    fn each_test(&mut self, f: &mut dyn FnMut(&mut FindTest)) {
        match self {
            Self::And(nodes) | Self::Or(nodes) => {
                for node in nodes {
                    node.each_test(f);
                }
            }
            Self::Not(node) => node.each_test(f),
            Self::Test(test) => f(test),
            _ => (),
        }
    }
}

impl FindTest {
    fn holds(&self, candidate: &FindCandidate<'_>, now: Millis) -> bool {
        let entry = &candidate.item.entry;
        match self {
            Self::Constant(value) => *value,
            Self::Name(regex) => regex.is_match(&entry.name),
            Self::Path(regex) => regex.is_match(candidate.shown),
            Self::Kind(kinds) => kinds.contains(&entry.kind),
            Self::Size(range, unit) => range.contains(entry.size.div_ceil(*unit)),
            Self::Empty => match entry.kind {
                FileKind::Directory => !candidate.has_children,
                FileKind::File => entry.size == 0,
                _ => false,
            },
            Self::Age(range, unit) => {
                let age = now.0.saturating_sub(entry.mtime.0).div_euclid(*unit);
                range.contains(u64::try_from(age).unwrap_or(0))
            }
            Self::Newer(_, time) => time.is_some_and(|time| entry.mtime > time),
            Self::NewerThan(time) => entry.mtime > *time,
            Self::Mode(sign, bits) => match sign {
                '-' => entry.mode & bits == *bits,
                '/' => *bits == 0 || entry.mode & bits != 0,
                _ => entry.mode == *bits,
            },
        }
    }
}

impl NumberRange {
    /// Reports whether a number is in the range.
    pub(crate) fn contains(self, number: u64) -> bool {
        match self {
            Self::Above(limit) => number > limit,
            Self::Below(limit) => number < limit,
            Self::Exactly(expected) => number == expected,
        }
    }
}
