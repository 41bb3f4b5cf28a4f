//! Edits of the reference server: exact text, or else lines that differ only in their indentation.

use schemars::JsonSchema;
use serde::Deserialize;
use yfs_vfs::EditRefusal;

use crate::{
    tool_outcome::ToolFailure,
    vocabulary::shared::{replaced_once, unified_diff},
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct ExactEdit {
    /// Text to search for - must match exactly
    #[serde(rename = "oldText")]
    old: String,
    /// Text to replace with
    #[serde(rename = "newText")]
    new: String,
}

/// Returns the text after all edits, with the line endings that it had.
pub(super) fn apply_exact_edits(text: &str, edits: &[ExactEdit]) -> Result<String, ToolFailure> {
    let mut changed = text.to_owned();
    for edit in edits {
        changed = apply_edit(&changed, edit)?;
    }
    Ok(changed)
}

fn normalize(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn apply_edit(text: &str, edit: &ExactEdit) -> Result<String, ToolFailure> {
    match replaced_once(text, &edit.old, &edit.new) {
        Ok(changed) => Ok(changed),
        Err(EditRefusal::NotFound) => {
            apply_by_lines(text, &normalize(&edit.old), &normalize(&edit.new), &edit.old)
        }
        Err(EditRefusal::Ambiguous { n_found, .. }) => Err(ambiguous(n_found, &edit.old)),
        Err(_) => Err(ToolFailure::refused("oldText is empty")),
    }
}

fn ambiguous(n_found: usize, typed: &str) -> ToolFailure {
    ToolFailure::refused(format!(
        "The text to replace occurs {n_found} times; make it unique by more of its lines:\n{typed}"
    ))
}

/// Replaces the lines that equal those of `old` but for the space around them. The new lines are
/// indented as the file is, and end as its lines do. Lines that `old` and `new` have in common keep
/// all their bytes.
fn apply_by_lines(text: &str, old: &str, new: &str, typed: &str) -> Result<String, ToolFailure> {
    let mark = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    let (mark, text) = text.split_at(mark);
    let old_lines: Vec<&str> = old.trim_start_matches('\u{FEFF}').split('\n').collect();
    let lines: Vec<&str> = text.split('\n').collect();
    let is_equal = |window: &[&str]| {
        window.iter().zip(&old_lines).all(|(line, old)| line.trim() == old.trim())
    };
    let mut found = lines.windows(old_lines.len()).enumerate();
    let Some((at, _)) = found.find(|(_, window)| is_equal(window)) else {
        return Err(ToolFailure::refused(format!("Could not find exact match for edit:\n{typed}")));
    };
    let n_more = found.filter(|(_, window)| is_equal(window)).count();
    if n_more > 0 {
        return Err(ambiguous(n_more + 1, typed));
    }
    let mut changed: Vec<String> = lines[..at].iter().map(|line| (*line).to_owned()).collect();
    let new_lines: Vec<&str> = new.trim_start_matches('\u{FEFF}').split('\n').collect();
    for (number, (line, kept)) in
        new_lines.iter().zip(kept_lines(&old_lines, &new_lines)).enumerate()
    {
        if let Some(kept) = kept {
            changed.push(lines[at + kept].to_owned());
            continue;
        }
        // A line beyond the replaced ones is shifted as the last of them is.
        let replaced = number.min(old_lines.len() - 1);
        let line_there = lines[at + replaced];
        let (there, typed) = (indentation_of(line_there), indentation_of(old_lines[replaced]));
        let end = if line_there.ends_with('\r') { "\r" } else { "" };
        changed.push(shift_line(line, there, typed) + end);
    }
    changed.extend(lines[at + old_lines.len()..].iter().map(|line| (*line).to_owned()));
    Ok(format!("{mark}{}", changed.join("\n")))
}

/// Returns for each new line the number of the old line that it is, if it is one.
fn kept_lines(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    let mut kept = vec![None; new.len()];
    for op in similar::capture_diff_slices(similar::Algorithm::Myers, old, new) {
        if let similar::DiffOp::Equal { old_index, new_index, len } = op {
            for number in 0..len {
                kept[new_index + number] = Some(old_index + number);
            }
        }
    }
    kept
}

/// Returns a line with the indentation of the file where the caller typed another.
fn shift_line(line: &str, there: &str, typed: &str) -> String {
    let own = indentation_of(line);
    match own.strip_prefix(typed) {
        _ if line.trim().is_empty() => line.to_owned(),
        Some(further) => format!("{there}{further}{}", line.trim_start()),
        None => {
            let n_less = typed.len().saturating_sub(own.len());
            let n_kept = there.len().saturating_sub(n_less);
            format!("{}{}", there.get(..n_kept).unwrap_or(there), line.trim_start())
        }
    }
}

fn indentation_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Returns the difference as a fenced block, as the reference server prints it.
pub(super) fn fenced_diff(old: &str, new: &str, path: &str) -> String {
    let names = (format!("{path}\toriginal"), format!("{path}\tmodified"));
    let diff = unified_diff(&normalize(old), &normalize(new), (&names.0, &names.1), 4);
    let line = "=".repeat(67);
    let header = match diff.is_empty() {
        true => format!("--- {}\n+++ {}\n", names.0, names.1),
        false => String::new(),
    };
    let mut fence = "```".to_owned();
    while diff.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}diff\nIndex: {path}\n{line}\n{header}{diff}{fence}\n\n")
}
