//! The thread on which one command runs.
//!
//! The interpreter runs on one task and checks its limits between steps, but a builtin may compute
//! for long without a pause. So each command has a thread of its own with a large stack. When the
//! time is over or the caller is gone, the files are revoked first, so that nothing that still runs
//! can change anything, and the interpreter then stops at its next step.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use bashkit::{Bash, Error, ExecOptions};
use tokio::{runtime, sync::oneshot, time};
use yfs_agent::ExecuteError;
use yfs_vfs::CancellationToken;

use crate::{output_sink::OutputSink, shell_fs::ShellFs};

/// The stack of the thread: nested functions and subshells recurse on it.
const STACK_LEN: usize = 64 * 1024 * 1024;

/// The end of a command.
#[derive(Debug)]
pub(crate) enum ShellEnd {
    /// It ran to its end.
    Finished {
        exit_code: i32,
    },
    /// It could not be parsed, or exceeded a limit other than the time.
    Refused {
        reason: String,
    },
    TimedOut,
    Cancelled,
}

/// Stops a command when it is dropped.
struct StopOnDrop<'a> {
    fs: &'a ShellFs,
    token: Arc<AtomicBool>,
    stopped: CancellationToken,
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.fs.revoke();
        self.token.store(true, Ordering::SeqCst);
        self.stopped.cancel();
    }
}

pub(crate) async fn run_on_thread(
    bash: Bash,
    command: &str,
    sink: &OutputSink,
    fs: &Arc<ShellFs>,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<ShellEnd, ExecuteError> {
    let stopped = CancellationToken::new();
    let (sender, receiver) = oneshot::channel();
    let stop = StopOnDrop { fs, token: bash.cancellation_token(), stopped: stopped.clone() };
    let (command, sink) = (command.to_owned(), sink.clone());
    let run = move || {
        // The receiver is gone if the caller is.
        sender.send(run_blocking(bash, &command, &sink, &stopped)).ok();
    };
    let builder = thread::Builder::new().name("yfs-shell".to_owned()).stack_size(STACK_LEN);
    builder.spawn(run).map_err(ExecuteError::failed)?;
    let end = tokio::select! {
        biased;
        () = cancel.cancelled() => Ok(ShellEnd::Cancelled),
        () = time::sleep(limit) => Ok(ShellEnd::TimedOut),
        ended = receiver => match ended {
            Ok(ended) => ended.map_err(ExecuteError::failed),
            Err(_) => Err(ExecuteError::failed(io::Error::other("the interpreter panicked"))),
        },
    };
    drop(stop);
    end
}

fn run_blocking(
    mut bash: Bash,
    command: &str,
    sink: &OutputSink,
    stopped: &CancellationToken,
) -> io::Result<ShellEnd> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let streamed = sink.clone();
    let options = ExecOptions::new().streaming(Box::new(move |stdout, stderr| {
        streamed.push(stdout.as_bytes());
        streamed.push(stderr.as_bytes());
    }));
    let end = runtime.block_on(async {
        tokio::select! {
            biased;
            () = stopped.cancelled() => ShellEnd::Cancelled,
            ran = bash.exec_with_options(command, options) => match ran {
                Ok(result) => {
                    if result.stdout_truncated || result.stderr_truncated {
                        sink.mark_truncated();
                    }
                    ShellEnd::Finished { exit_code: result.exit_code }
                }
                Err(error) => end_of_error(&error),
            },
        }
    });
    // Work of the files that still waits must not keep the thread.
    runtime.shutdown_background();
    Ok(end)
}

fn end_of_error(error: &Error) -> ShellEnd {
    match error {
        Error::Cancelled => ShellEnd::Cancelled,
        Error::ResourceLimit(bashkit::LimitExceeded::Timeout(_)) => ShellEnd::TimedOut,
        error => ShellEnd::Refused { reason: error.to_string() },
    }
}
