//! Paths with the text that the user typed: tools print paths below an operand with its prefix as
//! typed.

use std::borrow::Cow;

use yfs_engine::path::VPath;

/// A path, and the text that the user typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypedPath {
    /// The text that the user typed.
    pub(crate) typed: String,
    /// The parsed path.
    pub(crate) path: VPath,
}

impl TypedPath {
    /// Pairs a text with its path.
    pub(crate) fn new(typed: &str, path: VPath) -> Self {
        Self { typed: typed.to_owned(), path }
    }

    /// Returns the root, for commands without an operand.
    pub(crate) fn root() -> Self {
        Self::new("/", VPath::root())
    }

    /// Returns the text to print for a path at or below this one.
    pub(crate) fn below<'a>(&'a self, path: &'a VPath) -> Cow<'a, str> {
        // Searches print the path of each file.
        if self.typed == self.path.as_str() {
            return Cow::Borrowed(path.as_str());
        }
        match path.relative_to(&self.path) {
            Some("") => Cow::Borrowed(&self.typed),
            Some(rest) => Cow::Owned([self.typed.trim_end_matches('/'), "/", rest].concat()),
            None => Cow::Borrowed(path.as_str()),
        }
    }

    /// Returns the last component as typed: `.` for `.`, and `/` for the root.
    pub(crate) fn name(&self) -> &str {
        let typed = self.typed.trim_end_matches('/');
        if typed.is_empty() { "/" } else { typed.rsplit('/').next().unwrap_or(typed) }
    }

    /// Reports whether the typed text ends with a slash, and is more than slashes.
    pub(crate) fn has_trailing_slash(&self) -> bool {
        self.typed.ends_with('/') && !self.typed.trim_end_matches('/').is_empty()
    }

    /// Reports whether the last component as typed is `.` or `..`.
    pub(crate) fn names_dots(&self) -> bool {
        matches!(self.name(), "." | "..")
    }

    /// Returns the path of a name in this directory.
    pub(crate) fn join(&self, name: &str) -> Self {
        let typed = format!("{}/{name}", self.typed.trim_end_matches('/'));
        Self { typed, path: self.path.join(name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_has_the_typed_prefix() {
        let cases = [
            (".", ".", "/a/b", "./a/b"),
            ("/", "/", "/a/b", "/a/b"),
            ("a", "a", "/a/b", "a/b"),
            ("a/", "a", "/a/b", "a/b"),
            ("a/../a", "a", "/a", "a/../a"),
            ("a/..", "..", "/b", "a/../b"),
        ];
        for (typed, name, path, expected) in cases {
            let shown = TypedPath::new(typed, VPath::parse(typed).unwrap());
            assert_eq!(shown.name(), name, "{typed}");
            assert_eq!(shown.below(&VPath::parse(path).unwrap()), expected, "{typed} {path}");
        }
    }
}
