//! The tests and actions of `find`, and how they are put together.

use regex::Regex;
use yfs_engine::time::Millis;
use yfs_vfs::{FileKind, WalkEntry};

use crate::{
    context::{CommandContext, Fs},
    errors::Result,
};

/// What `find` was asked to do.
#[derive(Debug)]
pub(crate) struct FindPlan {
    /// The expression.
    pub(crate) root: FindExpression,
    /// How deep to look.
    pub(crate) max_depth: Option<usize>,
    /// From which depth on to look.
    pub(crate) min_depth: usize,
    /// Whether what a directory holds comes before it.
    pub(crate) depth_first: bool,
    /// What the time is, for tests of age.
    pub(crate) now: Millis,
}

/// A part of an expression.
#[derive(Debug)]
pub(crate) enum FindExpression {
    /// All of them, in order, until one is false.
    And(Vec<Self>),
    /// All of them, in order, until one is true.
    Or(Vec<Self>),
    /// The contrary.
    Not(Box<Self>),
    /// A question about an object.
    Test(FindTest),
    /// Something to do; true.
    Action(FindAction),
    /// Not to look below; true.
    Prune,
    /// To end; true.
    Quit,
}

/// A question about an object.
#[derive(Debug)]
pub(crate) enum FindTest {
    /// Always this.
    Constant(bool),
    /// Whether the name matches.
    Name(Regex),
    /// Whether the path, as printed, matches.
    Path(Regex),
    /// Whether it is of one of these kinds.
    Kind(Vec<FileKind>),
    /// How many units of so many bytes it takes, rounded up.
    Size(NumberRange, u64),
    /// Whether it holds nothing.
    Empty,
    /// How many units of so many milliseconds old it is, rounded down (or up, for minutes).
    Age(NumberRange, i64),
    /// Whether it changed after this path did, and when that was, once it is known.
    Newer(String, Option<Millis>),
    /// Whether it changed after this time.
    NewerThan(Millis),
    /// Whether it has these bits: exactly, all of them (`-`), or any of them (`/`).
    Mode(char, u32),
}

/// A number to compare with: `+5` is more, `-5` is less, `5` is exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberRange {
    /// More than this.
    Above(u64),
    /// Less than this.
    Below(u64),
    /// This.
    Exactly(u64),
}

/// Something to do with what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FindAction {
    /// Print the path.
    Print,
    /// Print the path with a NUL behind.
    Print0,
    /// Move it to the trash.
    Delete,
}

/// An object to be judged.
#[derive(Debug)]
pub(crate) struct FindCandidate<'a> {
    /// Its path, as it is printed.
    pub(crate) shown: &'a str,
    /// What is there.
    pub(crate) item: &'a WalkEntry,
    /// Whether something lies below it.
    pub(crate) has_children: bool,
}

/// What is to be done about an object.
#[derive(Debug, Default)]
pub(crate) struct FindVerdict {
    /// What to do, in order.
    pub(crate) actions: Vec<FindAction>,
    /// Whether not to look below it.
    pub(crate) prunes: bool,
    /// Whether to end.
    pub(crate) quits: bool,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FindOutcome {
    /// Everything was looked at.
    Done,
    /// `-quit`.
    Quit,
}

impl FindPlan {
    /// Tells whether something may be removed.
    pub(crate) fn deletes(&self) -> bool {
        self.root.any(&|node| matches!(node, FindExpression::Action(FindAction::Delete)))
    }

    /// Looks up the files that tests compare with.
    pub(crate) async fn resolve(&mut self, fs: &Fs, context: &CommandContext) -> Result {
        let mut wanted = Vec::new();
        self.root.each_test(&mut |test| {
            if let FindTest::Newer(path, _) = test {
                wanted.push(path.clone());
            }
        });
        let mut times = Vec::with_capacity(wanted.len());
        for path in wanted {
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

    /// Judges an object.
    pub(crate) fn judge(&self, candidate: &FindCandidate<'_>) -> FindVerdict {
        let mut verdict = FindVerdict::default();
        self.eval(&self.root, candidate, &mut verdict);
        verdict
    }

    // Recursive, but no deeper than the parser let it become.
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
    /// Tells whether a part of the expression is so.
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
    /// Tells whether a number is in the range.
    pub(crate) fn contains(self, number: u64) -> bool {
        match self {
            Self::Above(limit) => number > limit,
            Self::Below(limit) => number < limit,
            Self::Exactly(wanted) => number == wanted,
        }
    }
}
