//! Edits of the reference server: exact text, or else lines that differ only in their indentation.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::vocabulary::shared::{ToolFailure, unified_diff};

/// One replacement.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct ExactEdit {
    /// Text to search for - must match exactly.
    #[serde(rename = "oldText")]
    old: String,
    /// Text to replace with.
    #[serde(rename = "newText")]
    new: String,
}

/// Returns the text after all edits, with the line endings that it had.
pub(super) fn apply_exact_edits(text: &str, edits: &[ExactEdit]) -> Result<String, ToolFailure> {
    let n_newlines = text.matches('\n').count();
    let is_dos = n_newlines > 0 && text.matches("\r\n").count() == n_newlines;
    let mut changed = if is_dos { normalize(text) } else { text.to_owned() };
    // A text with both line endings is edited as it is.
    let is_mixed = !is_dos && text.contains("\r\n");
    for edit in edits {
        let (old, new) = match is_mixed {
            true => (edit.old.clone(), edit.new.clone()),
            false => (normalize(&edit.old), normalize(&edit.new)),
        };
        changed = apply_edit(&changed, &old, &new, &edit.old)?;
    }
    Ok(if is_dos { changed.replace('\n', "\r\n") } else { changed })
}

fn normalize(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn apply_edit(text: &str, old: &str, new: &str, typed: &str) -> Result<String, ToolFailure> {
    if old.is_empty() {
        return Err(ToolFailure::refused("oldText is empty"));
    }
    match text.matches(old).count() {
        0 => apply_by_lines(text, old, new, typed),
        1 => Ok(text.replacen(old, new, 1)),
        n_found => Err(ambiguous(n_found, typed)),
    }
}

fn ambiguous(n_found: usize, typed: &str) -> ToolFailure {
    ToolFailure::refused(format!(
        "The text to replace occurs {n_found} times; make it unique by more of its lines:\n{typed}"
    ))
}

/// Replaces the lines that equal those of `old` but for the space around them. The new lines are
/// indented as the file is.
fn apply_by_lines(text: &str, old: &str, new: &str, typed: &str) -> Result<String, ToolFailure> {
    let old_lines: Vec<&str> = old.split('\n').collect();
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
    for (number, line) in new.split('\n').enumerate() {
        // A line beyond the replaced ones is shifted as the last of them is.
        let replaced = number.min(old_lines.len() - 1);
        let (there, typed) =
            (indentation_of(lines[at + replaced]), indentation_of(old_lines[replaced]));
        changed.push(shift_line(line, there, typed));
    }
    changed.extend(lines[at + old_lines.len()..].iter().map(|line| (*line).to_owned()));
    Ok(changed.join("\n"))
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
