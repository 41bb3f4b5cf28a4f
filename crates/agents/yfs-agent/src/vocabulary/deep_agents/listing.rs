//! Lists of paths and matches, in the form that deepagents gives them.

use yfs_vfs::GrepResult;

use super::searches::GrepOutputMode;

/// The end of a list that was cut.
const TRUNCATION_GUIDANCE: &str =
    "... [results truncated, try being more specific with your parameters]";

/// Returns paths as a Python list, cut at `max_chars` characters.
pub(super) fn format_paths<'a>(paths: impl Iterator<Item = &'a str>, max_chars: usize) -> String {
    let budget = max_chars.saturating_sub(TRUNCATION_GUIDANCE.len() + 4);
    let (mut shown, mut used) = (Vec::new(), 0);
    for path in paths {
        let literal = python_literal(path);
        used += literal.chars().count() + 2;
        if used > budget {
            shown.push(python_literal(TRUNCATION_GUIDANCE));
            break;
        }
        shown.push(literal);
    }
    match shown.is_empty() {
        true => "No files found".to_owned(),
        false => format!("[{}]", shown.join(", ")),
    }
}

/// Returns matches in an output mode, cut at `max_chars` characters.
pub(super) fn format_matches(found: &GrepResult, mode: GrepOutputMode, max_chars: usize) -> String {
    if found.files.is_empty() {
        return "No matches found".to_owned();
    }
    let mut files: Vec<_> = found.files.iter().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut lines = Vec::new();
    for file in files {
        match mode {
            GrepOutputMode::FilesWithMatches => lines.push(file.path.to_string()),
            GrepOutputMode::Count => lines.push(format!("{}: {}", file.path, file.n_matches)),
            GrepOutputMode::Content => {
                lines.push(format!("{}:", file.path));
                let shown = file.lines.iter();
                lines.extend(shown.map(|line| format!("  {}: {}", line.number, line.text)));
            }
        }
    }
    cut_text(lines.join("\n"), max_chars)
}

fn cut_text(text: String, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text;
    }
    let n_kept = max_chars.saturating_sub(TRUNCATION_GUIDANCE.len() + 1);
    let kept: String = text.chars().take(n_kept).collect();
    format!("{kept}\n{TRUNCATION_GUIDANCE}")
}

/// Returns a text as Python's `repr` does, for the characters that paths contain.
fn python_literal(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push(quote);
    for character in text.chars() {
        match character {
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            character if character == quote => literal.extend(['\\', character]),
            character if character.is_ascii_control() => {
                literal.push_str(&format!("\\x{:02x}", u32::from(character)));
            }
            character => literal.push(character),
        }
    }
    literal.push(quote);
    literal
}

/// Returns a note if a literal pattern without a match looks like a regular expression.
pub(super) fn regex_note(pattern: &str) -> Option<&'static str> {
    let escapes = |text: &str| {
        let mut characters = text.chars();
        let mut previous = characters.next();
        characters.any(|character| {
            let is_escape = previous == Some('\\') && r".wWdDsSbB(){}[]|+*?^$".contains(character);
            previous = Some(character);
            is_escape
        })
    };
    let looks_like_regex = pattern.contains('|')
        || pattern.contains(".*")
        || pattern.contains(".+")
        || escapes(pattern);
    looks_like_regex.then_some(
        "Note: grep matches literal text, not regex, so characters like `|`, `.*`, and `\\.` are \
         searched verbatim. Search for the literal text you need instead; for `|` alternation, run \
         a separate search per alternative.",
    )
}
