//! Escapes characters that have a meaning in markdown.

use super::inline::EscapeCare;
use crate::{parse::is_autolink, schema::SchemaProfile};

/// The context of a piece of text, which decides where backslashes are needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct EscapeContext {
    pub(super) profile: SchemaProfile,
    pub(super) care: EscapeCare,
    pub(super) in_cell: bool,
    /// Whether it begins a line.
    pub(super) begins_line: bool,
    /// Whether it begins its block.
    pub(super) begins_block: bool,
    /// Whether it begins an item, where `[ ]` would be a box.
    pub(super) begins_item: bool,
    /// Whether it ends a line.
    pub(super) ends_line: bool,
    /// The character written before.
    pub(super) before: Option<char>,
    /// The character that will follow; `None` at the end of the block.
    pub(super) after: Option<char>,
    /// Whether more inline content follows, on this line or not.
    pub(super) is_followed: bool,
    /// Whether a link follows.
    pub(super) link_follows: bool,
}

/// Appends text, escaped so that it stands for itself. Blanks at the end of a block are left out:
/// markdown does not show them, and a person who has just typed one does not expect a reference.
pub(super) fn escape(text: &str, around: &EscapeContext, out: &mut String) {
    let ends_block = around.ends_line && !around.is_followed;
    let text = if ends_block { text.trim_end_matches(BLANKS) } else { text };
    let start = if around.begins_line { begin_line(text, around, out) } else { 0 };
    let end = match around.ends_line && !around.in_cell {
        true => text.trim_end_matches(BLANKS).len().max(start),
        false => text.len(),
    };
    let mut brackets = None;
    let mut from = start;
    for at in start..end {
        let byte = text.as_bytes()[at];
        if !may_have_meaning(byte) {
            continue;
        }
        if byte == b'\n' {
            out.push_str(&text[from..at]);
            out.push_str("&#10;");
            from = at + 1;
            continue;
        }
        let before = text[..at].chars().next_back().or(around.before);
        let after = text[at + 1..].chars().next().or(around.after);
        let place = CharPosition { before, after, at, n: text.len(), rest: &text[at..] };
        let brackets = || *brackets.get_or_insert_with(|| BracketIndex::new(text));
        if needs_backslash(char::from(byte), &place, brackets, around) {
            out.push_str(&text[from..at]);
            out.push('\\');
            from = at;
        }
    }
    out.push_str(&text[from..end]);
    text[end..].chars().for_each(|character| out.push_str(reference(character)));
}

/// The characters that markdown leaves out at the edges of a line.
const BLANKS: [char; 2] = [' ', '\t'];

/// Appends the start of a line: blanks would vanish there, and some characters open a block.
/// Returns the number of bytes appended from the text.
fn begin_line(text: &str, around: &EscapeContext, out: &mut String) -> usize {
    let n_blanks = text.len() - text.trim_start_matches(BLANKS).len();
    if n_blanks > 0 {
        text[..n_blanks].chars().for_each(|character| out.push_str(reference(character)));
        return n_blanks;
    }
    let Some(at) = opener(text, around) else { return 0 };
    out.push_str(&text[..at]);
    out.push('\\');
    out.push_str(&text[at..=at]);
    at + 1
}

fn reference(blank: char) -> &'static str {
    if blank == '\t' { "&#9;" } else { "&#32;" }
}

/// Reports whether [`needs_backslash`] must check a character, or it is a line break.
fn may_have_meaning(byte: u8) -> bool {
    matches!(
        byte,
        b'\\' | b'`' | b'*' | b'_' | b'[' | b']' | b'<' | b'&' | b'~' | b'|' | b'!' | b'\n'
    )
}

/// One character in its text.
struct CharPosition<'a> {
    before: Option<char>,
    after: Option<char>,
    /// Its place, in bytes.
    at: usize,
    /// The length of the text, in bytes.
    n: usize,
    /// The text from the character on.
    rest: &'a str,
}

/// The last place of some sequences, so that no check scans the rest of the text.
#[derive(Debug, Clone, Copy)]
struct BracketIndex {
    last_target: Option<usize>,
    last_close: Option<usize>,
    is_definition: bool,
}

impl BracketIndex {
    fn new(text: &str) -> Self {
        let last_target = text.rfind("](").max(text.rfind("]["));
        let is_definition = text.starts_with('[') && text.contains("]:");
        Self { last_target, last_close: text.rfind(']'), is_definition }
    }
}

/// Reports whether a character, one of those that [`may_have_meaning`], has a meaning here.
fn needs_backslash(
    character: char,
    place: &CharPosition<'_>,
    mut brackets: impl FnMut() -> BracketIndex,
    around: &EscapeContext,
) -> bool {
    let all = around.care == EscapeCare::Full;
    let is_space = |neighbor: Option<char>| neighbor.is_none_or(char::is_whitespace);
    let is_word = |neighbor: Option<char>| neighbor.is_some_and(char::is_alphanumeric);
    let is_alone = is_space(place.before) && is_space(place.after);
    let is_gfm = around.profile == SchemaProfile::Gfm;
    match character {
        '\\' if !is_gfm && place.after == Some('|') => false,
        '\\' => {
            all || place
                .after
                .is_none_or(|character| character.is_ascii_punctuation() || character == '\n')
        }
        '`' => true,
        '*' => all || !is_alone,
        '_' => all || !(is_alone || is_word(place.before) && is_word(place.after)),
        '[' => {
            let brackets = brackets();
            let at = place.at;
            all || (around.care == EscapeCare::Brackets)
                || brackets.last_target.is_some_and(|target| at < target)
                || place.rest.starts_with("[^")
                || place.at == 0 && around.begins_line && brackets.is_definition
                || around.is_followed && brackets.last_close.is_none_or(|close| close < at)
                || around.link_follows
        }
        ']' => {
            all || matches!(place.after, Some('(' | '['))
                || place.at + 1 == place.n && around.is_followed
        }
        '<' if !is_gfm => all || is_autolink(place.rest),
        '<' => {
            all || place.after.is_none_or(|character| {
                character.is_ascii_alphabetic() || "/!?*".contains(character)
            })
        }
        '&' => all || is_entity(place.rest),
        '~' => is_gfm && (all || !is_alone),
        '|' => around.in_cell,
        '!' => all && place.after == Some('['),
        _ => false,
    }
}

/// Returns the character of a line, counted from its start, that needs a backslash so that the line
/// opens no block.
fn opener(line: &str, around: &EscapeContext) -> Option<usize> {
    let bytes = line.as_bytes();
    let is_blank = |at: usize| match bytes.get(at) {
        Some(byte) => matches!(byte, b' ' | b'\t'),
        None => around.ends_line,
    };
    let all = |kept: &[u8]| bytes.iter().all(|byte| kept.contains(byte));
    let count = |marker: u8| bytes.iter().filter(|byte| **byte == marker).count();
    let opens = match *bytes.first()? {
        b'#' => {
            let n_marks = bytes.iter().take_while(|byte| **byte == b'#').count();
            n_marks <= 6 && is_blank(n_marks)
        }
        b'>' => true,
        marker @ (b'-' | b'+' | b'*') => {
            let is_line = around.ends_line && all(&[marker, b' ', b'\t']);
            let is_underline = marker == b'-' && !around.begins_block;
            is_blank(1) || is_line && (is_underline || marker != b'+' && count(marker) >= 3)
        }
        b'_' => around.ends_line && all(b"_ \t") && count(b'_') >= 3,
        b'=' => !around.begins_block && around.ends_line && all(b"= \t"),
        b'~' => line.starts_with("~~~"),
        b'|' | b':' => {
            !around.begins_block
                && around.profile == SchemaProfile::Gfm
                && all(b"|:- ")
                && count(b'-') > 0
        }
        b'[' => {
            let boxed =
                ["[ ]", "[x]", "[X]"].iter().find_map(|box_text| line.strip_prefix(box_text));
            let is_box = boxed.is_some_and(|rest| rest.starts_with([' ', '\t']) || rest.is_empty());
            is_box && around.begins_item && around.profile == SchemaProfile::Gfm
                || around.begins_block && line.contains("]:")
        }
        byte if byte.is_ascii_digit() => {
            let n_digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let is_marker = n_digits <= 9
                && matches!(bytes.get(n_digits), Some(b'.' | b')'))
                && is_blank(n_digits + 1);
            return is_marker.then_some(n_digits);
        }
        _ => false,
    };
    opens.then_some(0)
}

/// Reports whether the text begins with a character reference.
fn is_entity(text: &str) -> bool {
    let end = text.bytes().take(40).position(|byte| byte == b';');
    let Some(name) = end.and_then(|end| text.get(1..end)) else { return false };
    let Some(number) = name.strip_prefix('#') else {
        return !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    };
    match number.strip_prefix(['x', 'X']) {
        Some(hex) => !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

fn has_entity(text: &str) -> bool {
    text.match_indices('&').any(|(at, _)| is_entity(&text[at..]))
}

/// Returns a code span that holds the text.
pub(super) fn code_span(code: &str) -> String {
    let mut runs = code.split(|character| character != '`').map(str::len).collect::<Vec<_>>();
    runs.sort_unstable();
    runs.dedup();
    let length = (1..).find(|length| runs.binary_search(length).is_err()).unwrap_or(1);
    let fence = "`".repeat(length);
    let has_blanks = code.starts_with(' ') && code.ends_with(' ');
    let needs_blanks = code.starts_with('`')
        || code.ends_with('`')
        || has_blanks && !code.trim_matches(' ').is_empty();
    let blank = if needs_blanks { " " } else { "" };
    format!("{fence}{blank}{code}{blank}{fence}")
}

/// Returns the destination of a link or image.
pub(super) fn destination(target: &str) -> String {
    let mut depth = 0_i64;
    let mut is_balanced = true;
    for character in target.chars() {
        depth += i64::from(character == '(') - i64::from(character == ')');
        is_balanced &= depth >= 0;
    }
    let escaped = match has_entity(target) {
        true => target.replace('&', "\\&"),
        false => target.to_owned(),
    };
    let has_blank =
        target.contains(|character: char| character.is_whitespace() || character.is_control());
    if has_blank || target.starts_with('<') || !is_balanced || depth != 0 {
        if target.contains('\n') {
            return escaped.replace('\n', "%0A").replace(' ', "%20");
        }
        let inner = target.replace('\\', "\\\\").replace('<', "\\<").replace('>', "\\>");
        let inner = if has_entity(target) { inner.replace('&', "\\&") } else { inner };
        return format!("<{inner}>");
    }
    let mut written = String::with_capacity(escaped.len());
    let mut chars = target.chars().peekable();
    while let Some(character) = chars.next() {
        let is_meant = character == '\\' && chars.peek().is_none_or(char::is_ascii_punctuation);
        if is_meant || character == '&' && escaped.len() > target.len() {
            written.push('\\');
        }
        written.push(character);
    }
    written
}

/// Returns a title with the blank before it, or nothing.
pub(super) fn title(title: &str) -> String {
    if title.is_empty() {
        return String::new();
    }
    let escaped = title.replace('\\', "\\\\").replace('"', "\\\"");
    let escaped = if has_entity(&escaped) { escaped.replace('&', "\\&") } else { escaped };
    format!(" \"{escaped}\"")
}

/// Returns an image's alternative text.
pub(super) fn label(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        if "[]\\`*_<&!~".contains(character) {
            written.push('\\');
        }
        push_line_break(&mut written, character);
    }
    written
}

/// Appends a character, and a line break as a reference.
fn push_line_break(out: &mut String, character: char) {
    match character {
        '\n' => out.push_str("&#10;"),
        character => out.push(character),
    }
}

/// Returns an info string.
pub(super) fn info(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let text = text.trim_matches([' ', '\t']);
    for (at, character) in text.char_indices() {
        let after = text[at..].chars().nth(1);
        let is_meant =
            character == '\\' && after.is_none_or(|character| character.is_ascii_punctuation());
        if is_meant || character == '&' && is_entity(&text[at..]) {
            written.push('\\');
        }
        push_line_break(&mut written, character);
    }
    written
}

/// Reports whether a link may be written as `<uri>`.
pub(super) fn is_uri(target: &str) -> bool {
    let Some((scheme, _)) = target.split_once(':') else { return false };
    (2..=32).contains(&scheme.len())
        && scheme.starts_with(|character: char| character.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|character| character.is_ascii_alphanumeric() || b"+.-".contains(&character))
        && !target
            .contains(|character: char| "<> \n\t".contains(character) || character.is_control())
}
