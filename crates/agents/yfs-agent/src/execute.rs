//! Running commands: the trait behind an agent's `execute` tool.
//!
//! An executor runs one command line and returns what it printed. Its limits hold while the command
//! runs: output beyond the limit is discarded as it is read, and a command that exceeds its time is
//! ended together with every process that it started.

use std::{error::Error, fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use thiserror::Error;
use yfs_vfs::{CallScope, CancellationToken};

/// The number of bytes of output that [`ExecuteOptions::default`] keeps.
pub(crate) const DEFAULT_MAX_OUTPUT: usize = 100_000;

/// A runner of command lines in the syntax of a POSIX shell.
///
/// # Contract
///
/// - A command that ran to its end is `Ok`, whatever its exit code.
/// - [`CommandOutput::output`] holds at most [`ExecuteOptions::max_output_bytes`] bytes, cut at a
///   character; `truncated` reports that the command printed more.
/// - After [`ExecuteError::TimedOut`], [`ExecuteError::Cancelled`], or the drop of the future,
///   nothing of the command runs any longer. Changes that it made before remain.
#[async_trait]
pub trait CommandExecutor: Send + Sync + Debug {
    /// Runs a command line to its end.
    async fn execute(
        &self,
        command: &str,
        options: &ExecuteOptions,
    ) -> Result<CommandOutput, ExecuteError>;
}

/// The limits of one command.
#[derive(Debug, Clone)]
pub struct ExecuteOptions {
    /// Ends the command after this time; the executor's own limit applies if absent.
    pub timeout: Option<Duration>,
    /// The number of bytes of output to keep.
    pub max_output_bytes: usize,
    /// Ends the command when triggered.
    pub cancel: CancellationToken,
    /// The call that the command is for, if the files ask a person: what is approved for once
    /// counts for all of the command.
    pub scope: Option<CallScope>,
}

/// The result of a command.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// The standard output and the standard error, in the order in which they were read. Bytes that
    /// are not UTF-8 appear as U+FFFD.
    pub output: String,
    /// The exit code, or `None` if a signal ended the command.
    pub exit_code: Option<i32>,
    /// Whether the command printed more than `output` holds.
    pub truncated: bool,
}

/// The failure of an execution. A command that ran and failed is an `Ok` with its exit code.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The command exceeded its time and was ended.
    #[error("the command did not end within {limit:?}")]
    TimedOut {
        /// The time that it had.
        limit: Duration,
        /// The output until then, without an exit code.
        partial: CommandOutput,
    },
    /// The caller cancelled the command, which was ended.
    #[error("the command was cancelled")]
    Cancelled {
        /// The output until then, without an exit code.
        partial: CommandOutput,
    },
    /// The backend runs no commands.
    #[error("this backend runs no commands")]
    Unsupported,
    /// A policy rejected the command before it ran.
    #[error("the command is not allowed: {0}")]
    Refused(String),
    /// The executor failed: the command could not be started, or its output could not be read.
    #[error("cannot run the command")]
    Failed(#[source] Arc<dyn Error + Send + Sync>),
}

impl Default for ExecuteOptions {
    fn default() -> Self {
        Self {
            timeout: None,
            max_output_bytes: DEFAULT_MAX_OUTPUT,
            cancel: CancellationToken::new(),
            scope: None,
        }
    }
}

impl ExecuteError {
    /// Makes the error of an executor that failed.
    pub fn failed(source: impl Error + Send + Sync + 'static) -> Self {
        Self::Failed(Arc::new(source))
    }
}
