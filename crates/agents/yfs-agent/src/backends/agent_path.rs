//! Paths as models write them.

use thiserror::Error;
use yfs_types::path::{PathError, VPath};

/// The reason why a text is not a path for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadAgentPath {
    /// The path has a component `..`. It is refused, not resolved, because the model that writes it
    /// usually believes to be in another directory.
    #[error("the path {0:?} contains '..'")]
    GoesUp(String),
    /// The path begins with `~`.
    #[error("the path {0:?} begins with '~'")]
    Home(String),
    /// The path names a drive, such as `C:`, or has backslashes.
    #[error("the path {0:?} is a Windows path")]
    Windows(String),
    /// The path is relative, and only absolute ones are accepted.
    #[error("the path {0:?} is not absolute")]
    Relative(String),
    /// The text is not a path.
    #[error("{text:?} is not a path")]
    Malformed {
        /// The text.
        text: String,
        /// The reason.
        #[source]
        source: PathError,
    },
}

/// Parses an absolute path of a virtual filesystem. `//` and `.` are folded; a path that could mean
/// a place outside is refused.
pub fn parse_agent_path(text: &str) -> Result<VPath, BadAgentPath> {
    let rejected = || text.to_owned();
    let names = || text.split('/').filter(|name| !name.is_empty() && *name != ".");
    if text.contains('\\') || names().next().is_some_and(is_drive) {
        return Err(BadAgentPath::Windows(rejected()));
    }
    if names().any(|name| name == "..") {
        return Err(BadAgentPath::GoesUp(rejected()));
    }
    if names().next().is_some_and(|name| name.starts_with('~')) {
        return Err(BadAgentPath::Home(rejected()));
    }
    if !text.starts_with('/') && !text.is_empty() {
        return Err(BadAgentPath::Relative(rejected()));
    }
    VPath::parse(text).map_err(|source| BadAgentPath::Malformed { text: rejected(), source })
}

/// Reports whether a name is that of a drive: a letter and a colon, whatever follows.
pub(super) fn is_drive(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && bytes.next() == Some(b':')
}
