//! Applying hunks to a text: where their lines are, and the text after.
//!
//! # Invariants
//!
//! - Lines that no hunk removes keep all their bytes, also where the patch spells them differently.
//! - A file without a line end at its end stays one, and a byte order mark stays.
//! - New lines end as the lines beside them do.

use super::envelope::{HunkLine, PatchHunk};
use crate::tool_outcome::ToolFailure;

/// The mark at the beginning of some files.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// The change of consecutive lines of a file.
struct LineChange<'a> {
    start: usize,
    end: usize,
    lines: &'a [HunkLine],
}

/// Returns the text after all hunks.
pub(super) fn apply_hunks(
    text: &str,
    hunks: &[PatchHunk],
    path: &str,
) -> Result<String, ToolFailure> {
    let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
    let (mark, text) = text.split_at(mark);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let plain: Vec<&str> = lines.iter().map(|line| without_end(line)).collect();
    let mut changes = Vec::new();
    let mut at = 0;
    for hunk in hunks {
        if let Some(header) = &hunk.header {
            let found = find_lines(&plain, &[header], at, false);
            let missing = || ToolFailure::refused(format!("cannot find '{header}' in {path}"));
            at = found.ok_or_else(missing)? + 1;
        }
        let change = find_hunk(&plain, hunk, at, path)?;
        at = change.end;
        changes.push(change);
    }
    changes.sort_by_key(|change| change.start);
    Ok(format!("{mark}{}", changed_lines(&lines, &changes, text)))
}

/// Returns the place of a hunk, from a line on.
fn find_hunk<'a>(
    plain: &[&str],
    hunk: &'a PatchHunk,
    from: usize,
    path: &str,
) -> Result<LineChange<'a>, ToolFailure> {
    let mut lines = &hunk.lines[..];
    let old_of = |lines: &'a [HunkLine]| lines.iter().filter_map(HunkLine::old).collect::<Vec<_>>();
    let mut old = old_of(lines);
    if old.is_empty() {
        // New lines follow the line that the hunk names; without one, they are at the end.
        let names_place = hunk.header.is_some() && !hunk.at_end;
        let start = if names_place { from } else { plain.len() };
        return Ok(LineChange { start, end: start, lines });
    }
    let mut found = find_lines(plain, &old, from, hunk.at_end);
    if found.is_none() && old.last().is_some_and(|line| line.is_empty()) {
        // The blank line at the end stands for the line end of the last line.
        let is_old = |line: &HunkLine| line.old().is_some();
        let last = lines.iter().rposition(is_old).unwrap_or_default();
        let is_blank = |line: &HunkLine| matches!(line, HunkLine::Added(text) if text.is_empty());
        let n_added = lines[last + 1..].iter().filter(|line| is_blank(line)).count();
        if last + 1 + n_added == lines.len() {
            lines = &lines[..last];
            old = old_of(lines);
            found = find_lines(plain, &old, from, hunk.at_end);
        }
    }
    let Some(start) = found else {
        let expected: Vec<&str> = old_of(&hunk.lines);
        let text = format!("cannot find these lines in {path}:\n{}", expected.join("\n"));
        return Err(ToolFailure::Refused(text));
    };
    Ok(LineChange { start, end: start + old.len(), lines })
}

/// Returns the lines of a file after changes in their order.
fn changed_lines(lines: &[&str], changes: &[LineChange<'_>], text: &str) -> String {
    let mut changed: Vec<String> = Vec::new();
    let mut next = 0;
    for change in changes {
        let start = change.start.max(next);
        changed.extend(lines[next..start].iter().map(|line| (*line).to_owned()));
        let mut at = start;
        for line in change.lines {
            match line {
                HunkLine::Context(_) => {
                    changed.extend(lines.get(at).map(|line| (*line).to_owned()));
                    at += 1;
                }
                HunkLine::Removed(_) => at += 1,
                HunkLine::Added(added) => changed.push(format!("{added}{}", end_at(lines, at))),
            }
        }
        next = change.end.max(next);
    }
    changed.extend(lines[next..].iter().map(|line| (*line).to_owned()));
    let has_end = text.is_empty() || text.ends_with('\n');
    let n_changed = changed.len();
    for (number, line) in changed.iter_mut().enumerate() {
        let is_last = number + 1 == n_changed;
        if is_last && !has_end {
            line.truncate(without_end(line).len());
        } else if !line.ends_with('\n') {
            line.push_str(end_at(lines, lines.len()));
        }
    }
    changed.concat()
}

/// Returns the line end beside a position: that of the line before it, or else of the line there.
fn end_at(lines: &[&str], at: usize) -> &'static str {
    let beside = at.checked_sub(1).into_iter().chain([at]).filter_map(|at| lines.get(at));
    // A last line without an end ends as the one above it.
    let above = lines.iter().rev();
    let mut ended = beside.chain(above).filter(|line| line.ends_with('\n'));
    match ended.next() {
        Some(line) if line.ends_with("\r\n") => "\r\n",
        _ => "\n",
    }
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Finds lines from a position on: first exactly, then without the space at their ends, then
/// without the space around them, then with plain punctuation.
fn find_lines<W: AsRef<str>>(
    lines: &[&str],
    wanted: &[W],
    from: usize,
    at_end: bool,
) -> Option<usize> {
    if wanted.is_empty() || wanted.len() > lines.len() {
        return None;
    }
    let last = lines.len() - wanted.len();
    let from = if at_end && last >= from { last } else { from };
    let forms: [fn(&str) -> String; 4] = [
        ToOwned::to_owned,
        |line| line.trim_end().to_owned(),
        |line| line.trim().to_owned(),
        |line| plain_punctuation(line.trim()),
    ];
    forms.iter().find_map(|form| {
        let wanted: Vec<String> = wanted.iter().map(|line| form(line.as_ref())).collect();
        let is_at = |start: &usize| {
            let there = lines[*start..].iter().zip(&wanted);
            there.into_iter().all(|(line, wanted)| form(line) == *wanted)
        };
        (from..=last).find(is_at)
    })
}

/// Returns a text with typewriter quotes, dashes and spaces.
fn plain_punctuation(text: &str) -> String {
    let plain = |character| match character {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        character => character,
    };
    text.chars().map(plain).collect()
}
