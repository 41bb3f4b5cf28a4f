//! What several vocabularies need.

use std::{fmt::Display, time::Duration};

use similar::TextDiff;
use yfs_types::path::VPath;
use yfs_vfs::{FsError, LinePage, MoveOptions, RemoveOptions, TextReplacement};

use crate::{agent_path::parse_agent_path, tool_call::ToolCall, tool_outcome::ToolFailure};

/// Returns a failure as `Error: ...`.
pub(super) fn as_error(failure: ToolFailure) -> String {
    format!("Error: {failure}")
}

/// Returns the message of a failure.
pub(super) fn as_message(failure: ToolFailure) -> String {
    failure.to_string()
}

/// Returns the path that an agent wrote.
pub(super) fn path_of(text: &str) -> Result<VPath, ToolFailure> {
    Ok(parse_agent_path(text)?)
}

/// Returns the text of a file. `path` is what the failure calls it.
pub(super) fn text_of<'a>(path: &str, data: &'a [u8]) -> Result<&'a str, ToolFailure> {
    let not_text = |_| ToolFailure::refused(format!("{path} is not UTF-8 text"));
    std::str::from_utf8(data).map_err(not_text)
}

/// Returns the first lines of a page exactly as in the file: pages joined are the file.
pub(super) fn exact_lines(page: &LinePage, n_lines: usize) -> String {
    let mut content = page.lines[..n_lines].join("\n");
    if n_lines > 0 && (n_lines < page.lines.len() || page.ends_with_newline) {
        content.push('\n');
    }
    content
}

/// Returns lines with their numbers, beginning with `first`.
pub(super) fn numbered(first: u64, lines: &[impl Display], separator: char) -> String {
    let rows = (first..).zip(lines).map(|(number, line)| format!("{number:>6}{separator}{line}"));
    rows.collect::<Vec<_>>().join("\n")
}

/// Returns a number of bytes in the largest unit of 1,024 to the power of the unit's position that
/// it reaches.
pub(super) fn in_units<'a>(n_bytes: u64, units: &[&'a str]) -> (f64, &'a str) {
    let unit = (n_bytes.max(1).ilog2() as usize / 10).min(units.len() - 1);
    (n_bytes as f64 / (1_u64 << (10 * unit)) as f64, units[unit])
}

/// Removes a file, or a directory with all its content.
pub(super) async fn remove(call: &ToolCall, path: &VPath, recursive: bool) -> Result<(), FsError> {
    call.fs().rm(path, &RemoveOptions { recursive, force: false }).await
}

/// Moves a file or directory to a path at which there is nothing.
pub(super) async fn rename(
    call: &ToolCall,
    from: &VPath,
    to: &VPath,
    parents: bool,
) -> Result<(), FsError> {
    call.fs().mv(from, to, &MoveOptions { replace: false, parents }).await
}

/// Replaces a text that must occur exactly once.
pub(super) fn replaced_once(
    text: &str,
    old: &str,
    new: &str,
) -> Result<String, yfs_vfs::EditRefusal> {
    TextReplacement::once(old, new).apply(text).map(|(text, _)| text)
}

/// Returns a unified diff; empty if the texts are equal.
pub(super) fn unified_diff(old: &str, new: &str, names: (&str, &str), context: usize) -> String {
    let mut config = TextDiff::configure();
    let diff = config.timeout(Duration::from_secs(2)).diff_lines(old, new);
    let mut unified = diff.unified_diff();
    unified.context_radius(context).header(names.0, names.1).to_string()
}
