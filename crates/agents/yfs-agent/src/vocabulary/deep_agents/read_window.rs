//! The text of a read file: a header with the place, then the lines as they are in the file.

use yfs_vfs::LinePage;

/// The most characters of one reply: 20,000 tokens of 4 characters.
pub(super) const MAX_CHARS: usize = 80_000;

/// A window of lines, ready to show.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReadWindow {
    /// The header and the lines.
    pub(super) text: String,
    /// The number of lines that are shown whole.
    pub(super) n_lines: usize,
    /// Where to read on: the offset of a line, and the characters of it to skip.
    pub(super) next: Option<(u64, usize)>,
}

/// Returns a page as text of at most [`MAX_CHARS`] characters. `skipped` is the number of
/// characters of the first line that the caller has already read.
pub(super) fn format_window(page: &LinePage, skipped: usize, notices: &[String]) -> ReadWindow {
    let first = page.offset + 1;
    let total = page.n_total.map_or(String::new(), |total| format!(" of {total}"));
    let assemble = |fields: String, body: &str, notices: &[String]| {
        let mut parts: Vec<&str> = notices.iter().map(String::as_str).collect();
        let header = format!("@@ {fields} @@");
        parts.extend([header.as_str(), body]);
        parts.join("\n")
    };
    let mut lines = page.lines.clone();
    if let Some(line) = lines.first_mut() {
        *line = line.chars().skip(skipped).collect();
    }
    let mut last = page.offset + lines.len() as u64;
    let next = page.next_offset.map(|offset| (offset, 0));
    let mut fields = format!("lines {first}-{last}{total}");
    if let Some((offset, _)) = next {
        fields.push_str(&format!(" | next offset {offset}"));
    }
    let whole = assemble(fields, &lines.join("\n"), notices);
    if whole.chars().count() < MAX_CHARS {
        return ReadWindow { text: whole, n_lines: lines.len(), next };
    }
    let mut notices = notices.to_vec();
    notices.push(TRUNCATED.to_owned());
    let fields = |last: u64| {
        format!("lines {first}-{last}{total} | next offset {last} | truncated due to size")
    };
    let reserved = assemble(fields(last), "", &notices).chars().count();
    let mut n_chars = 0;
    let fitting = lines.iter().take_while(|line| {
        n_chars += line.chars().count() + 1;
        reserved + n_chars <= MAX_CHARS + 1
    });
    let n_lines = fitting.count();
    if n_lines > 0 {
        last = page.offset + n_lines as u64;
        let text = assemble(fields(last), &lines[..n_lines].join("\n"), &notices);
        return ReadWindow { text, n_lines, next: Some((last, 0)) };
    }
    // Not even the first line fits: show its beginning.
    let line = lines.first().map_or("", String::as_str);
    let n_all = skipped + line.chars().count();
    let fields = |shown: usize| {
        let read = skipped + shown;
        format!(
            "lines {first}-{first}{total} | truncated mid-line | {read} of {n_all} chars | \
             next char_offset {read}"
        )
    };
    let reserved = assemble(fields(n_all), "", &notices).chars().count();
    let n_shown = MAX_CHARS.saturating_sub(reserved);
    let shown: String = line.chars().take(n_shown).collect();
    let text = assemble(fields(n_shown), &shown, &notices);
    ReadWindow { text, n_lines: 0, next: Some((page.offset, skipped + n_shown)) }
}

const TRUNCATED: &str = "[Output was truncated due to size limits. Read on from the offset in the \
    header; of a line that is too long, from the char_offset.]";
