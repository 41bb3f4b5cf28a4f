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

/// The result of a call.
pub type Result<T> = std::result::Result<T, CheckpointError>;
