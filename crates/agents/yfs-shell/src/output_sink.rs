//! The output of a command, bounded as it is written.

use std::sync::Arc;

use parking_lot::Mutex;
use yfs_agent::CommandOutput;

/// The output of a command so far. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct OutputSink {
    state: Arc<Mutex<OutputState>>,
    max_len: usize,
}

#[derive(Debug, Default)]
struct OutputState {
    bytes: Vec<u8>,
    truncated: bool,
}

impl OutputSink {
    pub(crate) fn new(max_len: usize) -> Self {
        Self { state: Arc::default(), max_len }
    }

    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        let room = self.max_len.saturating_sub(state.bytes.len());
        state.truncated |= bytes.len() > room;
        state.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Records that the interpreter discarded output.
    pub(crate) fn mark_truncated(&self) {
        self.state.lock().truncated = true;
    }

    pub(crate) fn output(&self, exit_code: Option<i32>) -> CommandOutput {
        let state = self.state.lock();
        let mut output = String::from_utf8_lossy(&state.bytes).into_owned();
        let is_long = output.len() > self.max_len;
        if is_long {
            // U+FFFD is longer than the byte that it stands for.
            output.truncate(output.floor_char_boundary(self.max_len));
        }
        CommandOutput { output, exit_code, truncated: state.truncated || is_long }
    }
}
