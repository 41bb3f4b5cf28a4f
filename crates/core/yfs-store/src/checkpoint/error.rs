//! The errors of a checkpoint.

use std::io;

use thiserror::Error;

/// The reason why a checkpoint did not answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// Bytes fail their check; the text names the part. The map must be derived again.
    #[error("the checkpoint is damaged: {0}")]
    Damaged(&'static str),
    /// Another version of the program wrote the files. The map must be derived again.
    #[error("the checkpoint has another format")]
    Foreign,
    /// The newest version is not the one that the changes are made from.
    #[error("another process has written the checkpoint")]
    Stale,
    /// The operating system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl CheckpointError {
    /// Reports whether the files of the version before are the reason, so that a version that has
    /// nothing of it can be written.
    pub fn is_of_files(&self) -> bool {
        match self {
            Self::Damaged(_) | Self::Foreign => true,
            Self::Io(error) => {
                matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof)
            }
            Self::Stale => false,
        }
    }
}

/// The result of a call.
pub type Result<T> = std::result::Result<T, CheckpointError>;
