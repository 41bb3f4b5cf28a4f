//! The name of the program that made a request, for the log.

use std::fs;

use smol_str::{SmolStr, format_smolstr};

use crate::read_log::process_of;

/// A program that writes.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    /// The label of what it changes.
    pub(crate) label: SmolStr,
    pub(crate) process: u32,
}

impl Writer {
    /// Returns the program of a thread.
    pub(crate) fn of(thread: u32) -> Self {
        Self { label: label_of(thread), process: process_of(thread) }
    }
}

/// Returns the label of what a process changes: `via` and the name of its program, as `proc(5)`
/// describes `/proc/[pid]/comm`. The kernel itself, which writes back mapped memory, is process 0.
pub(crate) fn label_of(pid: u32) -> SmolStr {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    match name.trim_end() {
        "" => SmolStr::new_static("via mount"),
        name => format_smolstr!("via {name}"),
    }
}
