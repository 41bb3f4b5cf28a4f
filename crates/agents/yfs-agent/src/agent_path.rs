//! Paths as agents write them: absolute, without `..`, `~` and drive letters
//! (`docs/spec/agent-backends.md`).

use thiserror::Error;
use yfs_types::path::{PathError, VPath};

/// The reason why a text is not a path that an agent may use.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum AgentPathError {
    /// A component is `..`, or the path begins with `~`.
    #[error("Path traversal not allowed: {0}")]
    Traversal(String),
    /// The path begins with a drive letter.
    #[error(
        "Windows absolute paths are not supported: {0}. \
         Please use virtual paths starting with / (e.g., /workspace/file.txt)"
    )]
    Drive(String),
    /// The text is no path at all.
    #[error("invalid path {text:?}: {reason}")]
    Malformed {
        /// The text.
        text: String,
        /// The reason.
        #[source]
        reason: PathError,
    },
}

/// Returns the path that an agent wrote. A path without a leading slash begins at the root;
/// repeated slashes and `.` are folded, and a backslash separates as a slash does.
///
/// # Errors
///
/// Fails for every path that could lead outside: see [`AgentPathError`].
pub(crate) fn parse_agent_path(text: &str) -> Result<VPath, AgentPathError> {
    let mut components = text.split(['/', '\\']);
    if components.any(|component| component == "..") || text.starts_with('~') {
        return Err(AgentPathError::Traversal(text.to_owned()));
    }
    let mut start = text.bytes();
    if start.next().is_some_and(|first| first.is_ascii_alphabetic()) && start.next() == Some(b':') {
        return Err(AgentPathError::Drive(text.to_owned()));
    }
    let slashed = text.replace('\\', "/");
    let malformed = |reason| AgentPathError::Malformed { text: text.to_owned(), reason };
    VPath::root().resolve(&slashed).map_err(malformed)
}
