//! The texts of these tools: listings, numbered lines, and files after a change.

use std::collections::HashMap;

use yfs_types::path::VPath;
use yfs_vfs::{
    FileKind, WalkEntry,
    edit::{FittedPassage, fit_passages},
};

use crate::{
    tool_outcome::ToolFailure,
    vocabulary::shared::{in_units, numbered},
};

/// The lines that are shown before and after a change.
const SNIPPET_LINES: usize = 2;

/// Returns the entries down to two levels. A directory has the size of all files below it.
pub(super) fn listing(text: &str, entries: &[WalkEntry], path: &VPath) -> String {
    let mut sizes: HashMap<&str, u64> = HashMap::new();
    for item in entries {
        let relative = item.path.relative_to(path).unwrap_or_default();
        let ends = relative.match_indices('/').take(2).map(|(at, _)| at);
        for end in ends.chain([0]) {
            *sizes.entry(&relative[..end]).or_default() += item.entry.size;
        }
    }
    let size_below = |relative: &str| sizes.get(relative).copied().unwrap_or_default();
    let mut lines = vec![
        format!(
            "Here're the files and directories up to 2 levels deep in {text}, excluding hidden \
             items:"
        ),
        format!("{}\t{text}", short_size(size_below(""))),
    ];
    for item in entries {
        let relative = item.path.relative_to(path).unwrap_or_default();
        if relative.matches('/').count() >= 2 {
            continue;
        }
        let is_directory = item.entry.kind == FileKind::Directory;
        let size = if is_directory { size_below(relative) } else { item.entry.size };
        let slash = if is_directory { "/" } else { "" };
        let above = text.trim_end_matches('/');
        lines.push(format!("{}\t{above}/{relative}{slash}", short_size(size)));
    }
    lines.join("\n")
}

/// Returns a size as `4.5K`, with a decimal only if it is not whole.
fn short_size(n_bytes: u64) -> String {
    match in_units(n_bytes, &["B", "K", "M", "G"]) {
        (size, unit) if size.fract() == 0.0 => format!("{size}{unit}"),
        (size, unit) => format!("{size:.1}{unit}"),
    }
}

/// Returns lines with their numbers, from the `first` to the `last`, counted from 1.
pub(super) fn lines_between(lines: &[&str], first: usize, last: usize) -> String {
    let shown = lines.get(first - 1..last.min(lines.len())).unwrap_or_default();
    numbered(first as u64, shown, '\t')
}

/// Replaces a text that must occur once. Returns the lines around it, with their numbers.
pub(super) fn replaced_with_snippet(
    content: &str,
    old: &str,
    new: &str,
    path: &str,
) -> Result<(String, String), ToolFailure> {
    let refuse =
        |reason: &str| Err(ToolFailure::refused(format!("No replacement was performed{reason}")));
    let not_found = |old: &str| format!(", old_str `{old}` did not appear verbatim in {path}.");
    if old.is_empty() {
        return refuse(", old_str is empty.");
    }
    let fitted = fit_passages(content, old, new);
    let [FittedPassage { old: fitted_old, new }] = &fitted[..] else {
        return match fitted.is_empty() {
            true => refuse(&not_found(old)),
            false => refuse(". old_str occurs with different line ends."),
        };
    };
    let found: Vec<usize> = content.match_indices(&**fitted_old).map(|(at, _)| at).collect();
    let line_at = |at: usize| content[..at].matches('\n').count() + 1;
    match found[..] {
        [] => refuse(&not_found(fitted_old)),
        [at] => {
            let changed = content.replacen(&**fitted_old, new, 1);
            let lines: Vec<&str> = changed.split('\n').collect();
            let line = line_at(at);
            let first = line.saturating_sub(SNIPPET_LINES).max(1);
            let snippet = lines_between(&lines, first, line + SNIPPET_LINES);
            Ok((changed, snippet))
        }
        _ => {
            let lines: Vec<String> = found.iter().map(|at| line_at(*at).to_string()).collect();
            refuse(&format!(
                ". Multiple occurrences of old_str `{fitted_old}` in lines: {}. Please ensure it \
                 is unique",
                lines.join(", ")
            ))
        }
    }
}

/// Returns a text with further lines after one of its lines. No other byte changes: the new lines
/// end as their neighbor does, and a file without a line end at its end stays one.
pub(super) fn inserted_after(content: &str, line: usize, inserted: &str) -> String {
    let mut before: usize = content.split_inclusive('\n').take(line).map(str::len).sum();
    if line == 0 && content.starts_with('\u{FEFF}') {
        before = '\u{FEFF}'.len_utf8();
    }
    let (before, after) = content.split_at(before);
    let neighbor = before.split_inclusive('\n').next_back().filter(|line| line.ends_with('\n'));
    let neighbor = neighbor.or_else(|| content.split_inclusive('\n').next());
    let end = if neighbor.is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
    let inserted = inserted.trim_end_matches(['\r', '\n']);
    let inserted = inserted.replace("\r\n", "\n").replace('\n', end);
    match before.is_empty() || before.ends_with(['\n', '\u{FEFF}']) {
        true => format!("{before}{inserted}{end}{after}"),
        false => format!("{before}{end}{inserted}{after}"),
    }
}
