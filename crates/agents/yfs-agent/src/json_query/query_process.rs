//! The caller's side: starts the process, feeds it, reads what it writes, ends it.

use std::{
    io::{self, Read, Write},
    process::{Child, Command, Stdio},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use yfs_vfs::CancellationToken;

use super::{
    JsonQuery, JsonQueryError, JsonQueryOutput, JsonQueryRunner,
    worker_protocol::{EXIT_DONE, EXIT_FAILED, EXIT_TRUNCATED, QueryRequest},
};
use crate::work_budget::{WorkCost, WorkShare};

/// The most bytes of a reason that is reported.
const MAX_REASON_LEN: u64 = 2_000;

/// Ends a process when dropped.
///
/// The thread that reads the output holds the child as well, and reaps it; it locks it only after
/// the output has ended, so this never waits for the query.
struct KillOnDrop(Arc<Mutex<Child>>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.0.lock().kill().ok();
    }
}

impl JsonQueryRunner {
    /// Runs a query over a document.
    ///
    /// # Errors
    ///
    /// See [`JsonQueryError`].
    pub async fn run(
        &self,
        query: JsonQuery,
        document: Bytes,
        cancel: &CancellationToken,
    ) -> Result<JsonQueryOutput, JsonQueryError> {
        let cost = WorkCost::of_bytes(self.limits.max_memory);
        let _permit = tokio::select! {
            permit = WorkShare::admit_within(self.share.as_ref(), cost) => permit,
            () = cancel.cancelled() => return Err(JsonQueryError::Cancelled),
        };
        let request = QueryRequest {
            query,
            cpu_seconds: self.limits.cpu_time.as_secs(),
            max_memory: self.limits.max_memory,
            max_output_len: self.limits.max_output_len,
        };
        let mut first_line =
            serde_json::to_vec(&request).map_err(|error| JsonQueryError::Process(error.into()))?;
        first_line.push(b'\n');
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(JsonQueryError::Process)?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let child = Arc::new(Mutex::new(child));
        let killer = KillOnDrop(child.clone());
        let (sender, receiver) = oneshot::channel();
        // Ends when the process has read the document or is gone.
        thread::spawn(move || {
            if let Some(mut stdin) = stdin {
                // A process that fails early does not read its input.
                stdin.write_all(&first_line).and_then(|()| stdin.write_all(&document)).ok();
            }
        });
        let max_len = self.limits.max_output_len as u64;
        let finished = end_after(self.limits.wall_time, child.clone());
        // Ends when the process is gone: by itself, by its limits, or by `killer`.
        thread::spawn(move || {
            let read = read_output(&child, stdout, stderr, max_len);
            drop(finished);
            // The caller may have been dropped.
            sender.send(read).ok();
        });
        let read = tokio::select! {
            read = receiver => read,
            () = cancel.cancelled() => return Err(JsonQueryError::Cancelled),
        };
        drop(killer);
        read.map_err(|_| JsonQueryError::Process(io::ErrorKind::BrokenPipe.into()))?
    }
}

/// Ends a process that runs for longer than a time. The thread that waits ends with the returned
/// sender. It needs no timer of the caller's runtime, which may be shut down while a query runs.
fn end_after(limit: Duration, child: Arc<Mutex<Child>>) -> mpsc::Sender<()> {
    let (finished, wait) = mpsc::channel();
    thread::spawn(move || {
        if wait.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
            child.lock().kill().ok();
        }
    });
    finished
}

fn read_output(
    child: &Mutex<Child>,
    stdout: Option<impl Read>,
    stderr: Option<impl Read>,
    max_len: u64,
) -> Result<JsonQueryOutput, JsonQueryError> {
    let (mut output, mut reason) = (Vec::new(), Vec::new());
    let pipes = stdout.zip(stderr);
    let pipes = pipes.ok_or_else(|| JsonQueryError::Process(io::ErrorKind::BrokenPipe.into()));
    let (stdout, stderr) = pipes?;
    stdout.take(max_len).read_to_end(&mut output).map_err(JsonQueryError::Process)?;
    stderr.take(MAX_REASON_LEN).read_to_end(&mut reason).map_err(JsonQueryError::Process)?;
    let status = child.lock().wait().map_err(JsonQueryError::Process)?;
    let text = String::from_utf8_lossy(&output).into_owned();
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(EXIT_DONE) => Ok(JsonQueryOutput { text, truncated: false }),
        Some(EXIT_TRUNCATED) => Ok(JsonQueryOutput { text, truncated: true }),
        Some(EXIT_FAILED) => {
            Err(JsonQueryError::Failed(String::from_utf8_lossy(&reason).into_owned()))
        }
        _ => Err(JsonQueryError::Exceeded),
    }
}
