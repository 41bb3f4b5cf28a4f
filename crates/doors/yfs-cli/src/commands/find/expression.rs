//! The tests and actions of `find`, and their evaluation.

use regex::Regex;
use yfs_engine::id::FileId;
use yfs_vfs::WalkEntry;

use super::{exec_command::ExecCommand, print_format::PrintFormat};
use crate::prelude::*;

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
    /// Whether the whole path, as printed, matches.
    PathRegex(Regex),
    /// Whether the object is a link whose target matches.
    Target(Regex),
    /// Whether the object is of one of these kinds.
    Kind(Vec<FileKind>),
    /// Whether what the object refers to is of one of these kinds; a dangling link is a link.
    KindFollowed(Vec<FileKind>),
    /// Whether the object is the one at this path, and the id of that one, once it is known.
    SameFile(String, Option<FileId>),
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
    /// Whether the object, or what a link refers to, has any of these bits. A dangling link has
    /// none.
    ModeFollowed(u32),
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FindAction {
    /// Print the path.
    Print,
    /// Print the path, terminated by NUL.
    Print0,
    /// Print what the format says.
    Printf(PrintFormat),
    /// Print mode, size, time and path.
    Ls,
    /// Move the object to the trash.
    Delete,
    /// Run a command for the object, or for many at once.
    Exec(ExecCommand),
}

/// An object to evaluate the expression for.
#[derive(Debug)]
pub(crate) struct FindCandidate<'a> {
    /// The path, as it is printed.
    pub(crate) shown: &'a str,
    /// The entry of the object.
    pub(crate) item: &'a WalkEntry,
    /// The path of the operand, as typed, that the object is below.
    pub(crate) root: &'a str,
    /// The number of directories between that operand and the object.
    pub(crate) depth: usize,
    /// Whether the object is a directory with content.
    pub(crate) has_children: bool,
    /// The target, if the object is a link and the plan [needs](FindPlan::reads_links) it.
    pub(crate) link: Option<LinkDetails>,
}

/// What a link refers to.
#[derive(Debug)]
pub(crate) struct LinkDetails {
    /// The target, as the link states it.
    pub(crate) target: String,
    /// The kind and the id of the object that the link refers to; none if it is missing.
    pub(crate) referent: Option<(FileKind, FileId)>,
    /// The permission bits of what it refers to; none for a dangling link.
    pub(crate) mode: Option<u32>,
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

    /// Reports whether an action may change the tree that is searched.
    pub(crate) fn changes_files(&self) -> bool {
        self.root.any(&|node| match node {
            FindExpression::Action(action) => {
                matches!(action, FindAction::Delete | FindAction::Exec(_))
            }
            _ => false,
        })
    }

    /// Reports whether all objects are printed, without any test. Evaluating that for each costs
    /// more than the listing.
    pub(crate) fn prints_all(&self) -> bool {
        matches!(self.root, FindExpression::Action(FindAction::Print))
            && self.max_depth.is_none()
            && self.min_depth == 0
            && !self.depth_first
    }

    /// Reports whether a test or an action needs the targets of links.
    pub(crate) fn reads_links(&self) -> bool {
        self.root.any(&|node| match node {
            FindExpression::Test(test) => {
                matches!(
                    test,
                    FindTest::Target(_) | FindTest::KindFollowed(_) | FindTest::ModeFollowed(_)
                )
            }
            FindExpression::Action(FindAction::Printf(format)) => format.reads_links(),
            FindExpression::Action(FindAction::Ls) => true,
            _ => false,
        })
    }

    /// Reports whether a test or an action needs sizes or times.
    pub(crate) fn reads_sizes(&self) -> bool {
        self.root.any(&|node| match node {
            FindExpression::Test(test) => matches!(
                test,
                FindTest::Size(..)
                    | FindTest::Empty
                    | FindTest::Age(..)
                    | FindTest::Newer(..)
                    | FindTest::NewerThan(_)
            ),
            FindExpression::Action(action) => {
                matches!(action, FindAction::Printf(_) | FindAction::Ls)
            }
            _ => false,
        })
    }

    /// Reports whether a test needs modes. Actions that do need [sizes](Self::reads_sizes), too.
    pub(crate) fn reads_modes(&self) -> bool {
        self.root.any(&|node| {
            matches!(node, FindExpression::Test(FindTest::Mode(..) | FindTest::ModeFollowed(_)))
        })
    }

    /// Reads the times and ids of the files that tests compare with.
    pub(crate) async fn resolve(&mut self, fs: &Fs, context: &CommandContext) -> Result {
        let mut paths = Vec::new();
        self.root.each_test(&mut |test| {
            if let FindTest::Newer(path, _) | FindTest::SameFile(path, _) = test {
                paths.push(path.clone());
            }
        });
        let mut found = Vec::with_capacity(paths.len());
        for path in paths {
            let stat = fs.stat(&context.path(&path)?.path).await?;
            found.push((stat.mtime, stat.id));
        }
        let mut found = found.into_iter();
        self.root.each_test(&mut |test| match test {
            FindTest::Newer(_, time) => *time = found.next().map(|(time, _)| time),
            FindTest::SameFile(_, id) => *id = found.next().map(|(_, id)| id),
            _ => (),
        });
        Ok(())
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

impl FindCandidate<'_> {
    /// Returns the kind of what the object refers to; a dangling link is a link.
    pub(crate) fn kind_followed(&self) -> FileKind {
        let referent = self.link.as_ref().and_then(|link| link.referent.as_ref());
        referent.map_or(self.item.entry.kind, |(kind, _)| *kind)
    }
}

impl FindTest {
    /// Reports whether the test holds for an object.
    pub(crate) fn holds(&self, candidate: &FindCandidate<'_>, now: Millis) -> bool {
        let entry = &candidate.item.entry;
        match self {
            Self::Constant(value) => *value,
            Self::Name(regex) => regex.is_match(&entry.name),
            Self::Path(regex) | Self::PathRegex(regex) => regex.is_match(candidate.shown),
            Self::Target(regex) => {
                candidate.link.as_ref().is_some_and(|link| regex.is_match(&link.target))
            }
            Self::Kind(kinds) => kinds.contains(&entry.kind),
            Self::KindFollowed(kinds) => kinds.contains(&candidate.kind_followed()),
            Self::SameFile(_, id) => id.as_ref() == Some(&entry.id),
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
            Self::ModeFollowed(bits) => {
                let mode = match &candidate.link {
                    Some(link) => link.mode.unwrap_or_default(),
                    None => entry.mode,
                };
                mode & bits != 0
            }
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
