//! Paths inside a workspace: absolute, with `/` between names, normalized as text alone.
//!
//! `std::path` is used only for the host's disk; all other code uses this type.

use std::fmt;

use thiserror::Error;

/// The greatest length of a path, in bytes (POSIX `PATH_MAX`).
pub const MAX_PATH_LEN: usize = 4096;

/// The number of links that one look-up follows (as in Linux).
pub const MAX_LINKS: usize = 40;

/// An absolute path without `.`, `..`, empty components or a final slash.
///
/// Invariant: begins with `/`; at most [`MAX_PATH_LEN`] bytes; no NUL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VPath(String);

/// The error of a text that is not a path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path is empty. POSIX: `ENOENT`.
    #[error("the path is empty")]
    Empty,
    /// The path holds a NUL. POSIX: `EINVAL`.
    #[error("the path contains a NUL character")]
    Nul,
    /// The path is longer than [`MAX_PATH_LEN`] bytes. POSIX: `ENAMETOOLONG`.
    #[error("the path has {0} bytes; the maximum is {MAX_PATH_LEN}")]
    TooLong(usize),
}

impl VPath {
    /// Returns `/`.
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// Normalizes `text`. A relative path starts at `/`, and `..` at `/` stays there.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Self::root().resolve(text)
    }

    /// Normalizes `text`, which is relative to this path unless it begins with `/`.
    pub fn resolve(&self, text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.contains('\0') {
            return Err(PathError::Nul);
        }
        let mut path = if text.starts_with('/') { String::new() } else { self.0.clone() };
        if path == "/" {
            path.clear();
        }
        for component in text.split('/') {
            match component {
                "" | "." => (),
                ".." => path.truncate(path.rfind('/').unwrap_or(0)),
                name => {
                    path.push('/');
                    path.push_str(name);
                }
            }
        }
        if path.len() > MAX_PATH_LEN {
            return Err(PathError::TooLong(path.len()));
        }
        if path.is_empty() {
            path.push('/');
        }
        Ok(Self(path))
    }

    /// Appends one component, which must not be empty or hold a slash.
    pub fn join(&self, name: &str) -> Self {
        debug_assert!(!name.is_empty() && !name.contains('/'), "not a component: {name:?}");
        let base = if self.is_root() { "" } else { &self.0 };
        // Walks call it for each entry; `format!` takes several times as long.
        let mut path = String::with_capacity(base.len() + 1 + name.len());
        path.push_str(base);
        path.push('/');
        path.push_str(name);
        Self(path)
    }

    /// Returns the path of the parent directory, or `None` for `/`.
    pub fn parent(&self) -> Option<Self> {
        let at = self.0.rfind('/').filter(|_| !self.is_root())?;
        Some(if at == 0 { Self::root() } else { Self(self.0[..at].to_owned()) })
    }

    /// Returns the last component, or `None` for `/`.
    pub fn file_name(&self) -> Option<&str> {
        self.0.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// Returns the components from the root down.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|component| !component.is_empty())
    }

    /// Reports whether this is `/`.
    pub fn is_root(&self) -> bool {
        self.0 == "/"
    }

    /// Reports whether this is `ancestor` or lies below it.
    pub fn starts_with(&self, ancestor: &Self) -> bool {
        ancestor.is_root()
            || self
                .0
                .strip_prefix(&ancestor.0)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the part after `ancestor`, without a leading slash, or `None` if `ancestor` is not
    /// above.
    pub fn relative_to(&self, ancestor: &Self) -> Option<&str> {
        if !self.starts_with(ancestor) {
            return None;
        }
        let skipped = if ancestor.is_root() { 0 } else { ancestor.0.len() };
        Some(self.0[skipped..].trim_start_matches('/'))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for VPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for VPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

impl fmt::Display for VPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for VPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
