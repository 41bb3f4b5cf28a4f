//! What can go wrong with an artifact.

use std::path::PathBuf;

use thiserror::Error;
use yfs_types::path::VPath;
use yfs_vfs::FsError;

use crate::config::NamespaceError;

/// A failure of the artifact store.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The ids or the template give no path.
    #[error("cannot name the artifact")]
    Namespace(#[from] NamespaceError),
    /// The directory of the host cannot be created or opened.
    #[error("cannot open the directory {}", path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The path of a reference is malformed.
    #[error("{0:?} is not the path of an artifact")]
    BadReference(String),
    /// The file is at no path, and no file says that it was there.
    #[error(
        "the artifact {path} is not available: it was removed, or is in another store. Look in \
         the trash (`yfs trash ls`), or call the tool again"
    )]
    Missing {
        /// Where it was.
        path: VPath,
    },
    /// The content is not the one that was stored, and no version of it is.
    #[error(
        "the artifact {path} was changed or is damaged: its BLAKE3 hash begins with {found}, not \
         {expected}. Restore a version (`yfs versions ls {path}`), or call the tool again"
    )]
    Corrupt {
        /// Where it is.
        path: VPath,
        /// The hash of the reference.
        expected: String,
        /// The hash of the content.
        found: String,
    },
    /// The filesystem failed.
    #[error("cannot access the artifact")]
    Fs(#[from] FsError),
    /// The content is not JSON.
    #[error("the artifact is not JSON")]
    Json(#[from] serde_json::Error),
    /// The template is malformed or failed.
    #[error("cannot render the template")]
    Template(#[source] Box<dyn std::error::Error + Send + Sync>),
}
