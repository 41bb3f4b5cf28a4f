//! Applying hunks to a text: where their lines are, and the text after.

use super::{ToolFailure, envelope::PatchHunk};

/// Returns the text after all hunks. The last line gets a newline; line endings stay.
pub(super) fn apply_hunks(
    text: &str,
    hunks: &[PatchHunk],
    path: &str,
) -> Result<String, ToolFailure> {
    let n_newlines = text.matches('\n').count();
    let is_dos = n_newlines > 0 && text.matches("\r\n").count() == n_newlines;
    let normalized = if is_dos { text.replace("\r\n", "\n") } else { text.to_owned() };
    let mut lines: Vec<&str> = normalized.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    let mut replacements: Vec<(usize, usize, &[String])> = Vec::new();
    let mut at = 0;
    for hunk in hunks {
        if let Some(header) = &hunk.header {
            let found = find_lines(&lines, std::slice::from_ref(header), at, false);
            let missing = || ToolFailure::refused(format!("cannot find '{header}' in {path}"));
            at = found.ok_or_else(missing)? + 1;
        }
        if hunk.old.is_empty() {
            replacements.push((lines.len(), lines.len(), &hunk.new));
            continue;
        }
        let (mut old, mut new) = (&hunk.old[..], &hunk.new[..]);
        let mut found = find_lines(&lines, old, at, hunk.at_end);
        if found.is_none() && old.last().is_some_and(String::is_empty) {
            // The blank line at the end stands for the newline of the last line.
            old = &old[..old.len() - 1];
            new =
                if new.last().is_some_and(String::is_empty) { &new[..new.len() - 1] } else { new };
            found = find_lines(&lines, old, at, hunk.at_end);
        }
        let Some(start) = found else {
            let expected = hunk.old.join("\n");
            let text = format!("cannot find these lines in {path}:\n{expected}");
            return Err(ToolFailure::Refused(text));
        };
        at = start + old.len();
        replacements.push((start, at, new));
    }
    let mut changed = String::with_capacity(text.len());
    let mut next = 0;
    replacements.sort_by_key(|(start, _, _)| *start);
    for (start, end, new) in replacements {
        let kept = lines[next.min(start)..start].iter().copied();
        for line in kept.chain(new.iter().map(String::as_str)) {
            changed.push_str(line);
            changed.push('\n');
        }
        next = end;
    }
    for line in &lines[next..] {
        changed.push_str(line);
        changed.push('\n');
    }
    Ok(if is_dos { changed.replace('\n', "\r\n") } else { changed })
}

/// Finds lines from a position on: first exactly, then without the space at their ends, then
/// without the space around them, then with plain punctuation.
fn find_lines(lines: &[&str], wanted: &[String], from: usize, at_end: bool) -> Option<usize> {
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
        let wanted: Vec<String> = wanted.iter().map(|line| form(line)).collect();
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
