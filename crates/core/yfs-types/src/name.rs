//! Names of files and directories that a local write may store.
//!
//! Names that peers stored are never rejected. Those that are not [`NodeName`]s are displayed
//! escaped.

use std::{borrow::Borrow, fmt};

use smol_str::SmolStr;
use thiserror::Error;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The greatest length of a name, in bytes (POSIX `NAME_MAX` on common filesystems).
pub const MAX_NAME_LEN: usize = 255;

/// A name that may be stored.
///
/// Invariant: 1 to [`MAX_NAME_LEN`] bytes in Unicode normalization form C, none of them `/`, `\` or
/// NUL, and not `.` or `..` (`docs/spec/filesystem.md`, "Name validation").
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(SmolStr);

/// The error of a text that is not a name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty, `.` or `..`, or holds `/`, `\` or NUL. POSIX: `EINVAL`.
    #[error("invalid name {0:?}")]
    Invalid(String),
    /// The name is longer than [`MAX_NAME_LEN`] bytes. POSIX: `ENAMETOOLONG`.
    #[error("the name has {0} bytes; the maximum is {MAX_NAME_LEN}")]
    TooLong(usize),
}

impl NodeName {
    /// Checks a name and converts it to normalization form C.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if text.is_empty() || text == "." || text == ".." || text.contains(['/', '\\', '\0']) {
            return Err(NameError::Invalid(text.chars().take(MAX_NAME_LEN).collect()));
        }
        let name = if is_nfc(text) { SmolStr::new(text) } else { text.nfc().collect() };
        if name.len() > MAX_NAME_LEN { Err(NameError::TooLong(name.len())) } else { Ok(Self(name)) }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name as a shared string.
    pub fn to_smol_str(&self) -> SmolStr {
        self.0.clone()
    }
}

/// Splits a name into the part before its extension, and the extension with its dot.
///
/// The split is at the last dot that is not the first character, so `.gitignore` has no extension.
pub fn split_extension(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(at) if at > 0 => name.split_at(at),
        _ => (name, ""),
    }
}

impl Borrow<str> for NodeName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
