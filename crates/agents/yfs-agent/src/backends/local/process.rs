//! Running one process of the host under limits.
//!
//! The process leads a group of its own. The group is killed when the process has ended or exceeds
//! a limit, before the process is reaped, so that its number cannot belong to another group by
//! then. A program that leaves the group, with `setsid`, is out of reach.

use std::{
    io::{self, PipeReader},
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{io::AsyncReadExt, net::unix::pipe, task, time};

use crate::execute::{CommandOutput, ExecuteError, ExecuteOptions};

/// The bytes that are read at once.
const READ_LEN: usize = 16 * 1024;

/// A running process. Dropping it kills its group.
#[derive(Debug)]
struct ProcessGroup {
    child: Child,
    group: Pid,
    is_reaped: bool,
}

/// The output so far.
#[derive(Debug)]
struct BoundedOutput {
    bytes: Vec<u8>,
    max_len: usize,
    truncated: bool,
}

/// The end of the wait for a process.
#[derive(Debug)]
enum ProcessEnd {
    Exited,
    TimedOut,
    Cancelled,
}

/// Runs a process to its end. Its input is empty, and both of its outputs are one pipe.
pub(in crate::backends) async fn run_process(
    mut command: Command,
    options: &ExecuteOptions,
    own_limit: Duration,
) -> Result<CommandOutput, ExecuteError> {
    let limit = options.timeout.unwrap_or(own_limit);
    let (reader, writer) = io::pipe().map_err(ExecuteError::failed)?;
    let second = writer.try_clone().map_err(ExecuteError::failed)?;
    command.stdin(Stdio::null()).stdout(writer).stderr(second).process_group(0);
    let child = command.spawn().map_err(ExecuteError::failed)?;
    // Closes this process's ends of the pipe.
    drop(command);
    let mut group = ProcessGroup::new(child)?;
    let mut output =
        BoundedOutput { bytes: Vec::new(), max_len: options.max_output_bytes, truncated: false };
    let mut reader = async_reader(reader).map_err(ExecuteError::failed)?;
    let end = {
        let reading = async {
            output.read_all(&mut reader).await;
            // A process that closed its output still runs.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = options.cancel.cancelled() => ProcessEnd::Cancelled,
            () = time::sleep(limit) => ProcessEnd::TimedOut,
            () = reading => ProcessEnd::Exited,
            () = wait_for_exit(group.group) => ProcessEnd::Exited,
        }
    };
    let status = group.kill().map_err(ExecuteError::failed)?;
    // What is left in the pipe. All writers are gone, unless one left the group.
    output.drain(&reader);
    let code = match end {
        ProcessEnd::Exited => status.code(),
        _ => None,
    };
    let result = output.into_output(code);
    match end {
        ProcessEnd::Exited => Ok(result),
        ProcessEnd::TimedOut => Err(ExecuteError::TimedOut { limit, partial: result }),
        ProcessEnd::Cancelled => Err(ExecuteError::Cancelled { partial: result }),
    }
}

fn async_reader(reader: PipeReader) -> io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(OwnedFd::from(reader))
}

/// Waits until a process has ended, and leaves it to be reaped.
async fn wait_for_exit(pid: Pid) {
    let wait = move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::Pid(pid), options) {
                Err(rustix::io::Errno::INTR) => continue,
                _ => return,
            }
        }
    };
    // An error means that the runtime is shutting down.
    task::spawn_blocking(wait).await.ok();
}

impl ProcessGroup {
    fn new(child: Child) -> Result<Self, ExecuteError> {
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = id.ok_or_else(|| ExecuteError::failed(io::Error::other("bad process id")))?;
        Ok(Self { child, group, is_reaped: false })
    }

    /// Kills the group and reaps its leader.
    fn kill(&mut self) -> io::Result<std::process::ExitStatus> {
        // An error means that no process of the group is left but the one to reap.
        kill_process_group(self.group, Signal::KILL).ok();
        let status = self.child.wait()?;
        self.is_reaped = true;
        Ok(status)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.is_reaped {
            // There is no caller left to report an error to.
            self.kill().ok();
        }
    }
}

impl BoundedOutput {
    async fn read_all(&mut self, reader: &mut pipe::Receiver) {
        let mut buffer = [0; READ_LEN];
        while let Ok(n_read @ 1..) = reader.read(&mut buffer).await {
            self.push(&buffer[..n_read]);
        }
    }

    /// Reads what is in the pipe now; no more than a pipe holds, so that a writer that is out of
    /// reach cannot keep this going.
    fn drain(&mut self, reader: &pipe::Receiver) {
        let mut buffer = [0; READ_LEN];
        for _ in 0..64 {
            match rustix::io::read(reader, &mut buffer) {
                Ok(n_read @ 1..) => self.push(&buffer[..n_read]),
                _ => return,
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = self.max_len.saturating_sub(self.bytes.len());
        self.truncated |= bytes.len() > room;
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn into_output(self, exit_code: Option<i32>) -> CommandOutput {
        let Self { bytes, max_len, mut truncated } = self;
        let mut output = String::from_utf8_lossy(&bytes).into_owned();
        if output.len() > max_len {
            // U+FFFD is longer than the byte that it stands for.
            output.truncate(output.floor_char_boundary(max_len));
            truncated = true;
        }
        CommandOutput { output, exit_code, truncated }
    }
}
