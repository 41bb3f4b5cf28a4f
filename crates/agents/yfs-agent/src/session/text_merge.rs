//! Merging two changes of a text by lines, for backends that cannot merge.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};
use thiserror::Error;

/// The time after which a comparison of two texts stops refining.
const MAX_DIFF_TIME: Duration = Duration::from_secs(2);

/// Two changes of the same lines, which cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("both changed lines {first_line} to {last_line} of the text that was read")]
pub struct MergeConflict {
    /// The first line of the base that both changed, counted from 1.
    pub first_line: usize,
    /// The last line of the base that both changed.
    pub last_line: usize,
}

/// A replacement of lines of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineChange {
    start: usize,
    end: usize,
    lines: Vec<String>,
}

/// Returns `base` with both changes: the one to `theirs` and the one to `ours`.
///
/// # Errors
///
/// Fails if both changed the same lines in different ways, or lines that touch.
pub(super) fn merge_texts(base: &str, theirs: &str, ours: &str) -> Result<String, MergeConflict> {
    let base_lines: Vec<&str> = base.split_inclusive('\n').collect();
    let mut theirs = line_changes(&base_lines, theirs).into_iter().peekable();
    let mut ours = line_changes(&base_lines, ours).into_iter().peekable();
    let (mut merged, mut at) = (String::new(), 0);
    loop {
        let change = match (theirs.peek(), ours.peek()) {
            (None, None) => break,
            (Some(their), Some(our)) if their == our => {
                theirs.next();
                ours.next()
            }
            (Some(their), Some(our)) if their.start <= our.end && our.start <= their.end => {
                let (start, end) = (their.start.min(our.start), their.end.max(our.end));
                return Err(MergeConflict { first_line: start + 1, last_line: end.max(start + 1) });
            }
            (Some(their), Some(our)) if their.start < our.start => theirs.next(),
            (Some(_), None) => theirs.next(),
            (_, Some(_)) => ours.next(),
        };
        let Some(change) = change else { break };
        merged.extend(base_lines[at..change.start].iter().copied());
        merged.extend(change.lines);
        at = change.end;
    }
    merged.extend(base_lines[at..].iter().copied());
    Ok(merged)
}

fn line_changes(base: &[&str], text: &str) -> Vec<LineChange> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut changes: Vec<LineChange> = Vec::new();
    // Beyond the deadline the changes become coarser, and still lead to the same text.
    let deadline = Instant::now().checked_add(MAX_DIFF_TIME);
    for op in capture_diff_slices_deadline(Algorithm::Myers, base, &lines, deadline) {
        if op.tag() == DiffTag::Equal {
            continue;
        }
        let (old, new) = (op.old_range(), op.new_range());
        let added = lines[new].iter().map(|line| (*line).to_owned());
        match changes.last_mut().filter(|last| last.end == old.start) {
            Some(last) => {
                last.end = old.end;
                last.lines.extend(added);
            }
            None => {
                changes.push(LineChange { start: old.start, end: old.end, lines: added.collect() });
            }
        }
    }
    changes
}
