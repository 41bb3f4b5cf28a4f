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
    let n_chars_of = |text: &str| text.chars().count();
    let mut lines = page.lines.clone();
    if let Some(line) = lines.first_mut() {
        *line = line.chars().skip(skipped).collect();
    }
    let last = page.offset + lines.len() as u64;
    let next = page.next_offset.map(|offset| (offset, 0));
    let more = next.map_or(String::new(), |(offset, _)| format!(" | next offset {offset}"));
    let whole = assemble(format!("lines {first}-{last}{total}{more}"), &lines.join("\n"), notices);
    if n_chars_of(&whole) < MAX_CHARS {
        return ReadWindow { text: whole, n_lines: lines.len(), next };
    }
    let notices = [notices, &[TRUNCATED.to_owned()]].concat();
    let cut = |last: u64, body: &str| {
        let fields =
            format!("lines {first}-{last}{total} | next offset {last} | truncated due to size");
        assemble(fields, body, &notices)
    };
    let mut n_chars = n_chars_of(&cut(last, ""));
    let fitting = lines.iter().take_while(|line| {
        n_chars += n_chars_of(line) + 1;
        n_chars <= MAX_CHARS + 1
    });
    let n_lines = fitting.count();
    if n_lines > 0 {
        let last = page.offset + n_lines as u64;
        let text = cut(last, &lines[..n_lines].join("\n"));
        return ReadWindow { text, n_lines, next: Some((last, 0)) };
    }
    // Not even the first line fits: show its beginning.
    let line = lines.first().map_or("", String::as_str);
    let n_all = skipped + n_chars_of(line);
    let cut = |n_shown: usize, body: &str| {
        let read = skipped + n_shown;
        let fields = format!(
            "lines {first}-{first}{total} | truncated mid-line | {read} of {n_all} chars | \
             next char_offset {read}"
        );
        assemble(fields, body, &notices)
    };
    let n_shown = MAX_CHARS.saturating_sub(n_chars_of(&cut(n_all, "")));
    let shown: String = line.chars().take(n_shown).collect();
    let text = cut(n_shown, &shown);
    ReadWindow { text, n_lines: 0, next: Some((page.offset, skipped + n_shown)) }
}

const TRUNCATED: &str = "[Output was truncated due to size limits. Read on from the offset in the \
    header; of a line that is too long, from the char_offset.]";
