//! Characters that stand in for others while pulldown-cmark reads, so that it sees text in them.
//!
//! Two uses. A line with hundreds of container markers (`> > > >`) would nest as deep as it is
//! long: past [`MAX_MARKERS`], the next marker is masked, and so the rest of the line is text. And
//! the editors' CommonMark pipeline runs with HTML switched off: there every `<` that opens no
//! autolink is masked.

use std::borrow::Cow;

/// The greatest number of containers that one line may open.
pub const MAX_MARKERS: usize = 256;

/// The characters that open a container, in the order of their masks.
const MARKERS: &[char] = &['>', '-', '+', '*', '.', ')', '<'];

/// A text to be parsed in place of another, and the way back.
#[derive(Debug)]
pub(super) struct MaskedText<'a> {
    pub(super) text: Cow<'a, str>,
    /// The first of the characters that stand in for [`MARKERS`], if any was needed.
    base: Option<u32>,
}

impl<'a> MaskedText<'a> {
    /// Masks markers that would nest too deep, and all HTML if `no_html`.
    pub(super) fn new(text: &'a str, no_html: bool) -> Self {
        let mut places = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            places.extend(marker_beyond_limit(line).map(|place| at + place));
            at += line.len();
        }
        if no_html {
            places.extend(openers_of_html(text));
            places.sort_unstable();
            places.dedup();
        }
        if places.is_empty() {
            return Self { text: Cow::Borrowed(text), base: None };
        }
        let Some(base) = unused(text) else {
            return Self { text: Cow::Borrowed(text), base: None };
        };
        let mut masked = String::with_capacity(text.len() + 2 * places.len());
        let mut from = 0;
        for place in places {
            masked.push_str(&text[from..place]);
            let marker = text[place..].chars().next().unwrap_or_default();
            let index = MARKERS.iter().position(|other| *other == marker);
            let stand_in = index.and_then(|index| char::from_u32(base + index as u32));
            masked.push(stand_in.unwrap_or(marker));
            from = place + marker.len_utf8();
        }
        masked.push_str(&text[from..]);
        Self { text: Cow::Owned(masked), base: Some(base) }
    }

    /// Reports whether any character stands in for another.
    pub(super) fn is_masked(&self) -> bool {
        self.base.is_some()
    }

    /// Puts the original characters back.
    pub(super) fn restore<'b>(&self, text: &'b str) -> Cow<'b, str> {
        let Some(base) = self.base else { return Cow::Borrowed(text) };
        let original = |character: char| {
            let index = (character as u32).checked_sub(base)?;
            MARKERS.get(index as usize).copied()
        };
        match text.chars().any(|character| original(character).is_some()) {
            true => {
                text.chars().map(|character| original(character).unwrap_or(character)).collect()
            }
            false => Cow::Borrowed(text),
        }
    }
}

/// Returns the first of a few consecutive private characters that do not occur in the text.
fn unused(text: &str) -> Option<u32> {
    let n_masks = MARKERS.len() as u32;
    let mut is_used = vec![false; (0xf8ff - 0xe000) / MARKERS.len() + 1];
    for character in text.chars().filter(|character| ('\u{e000}'..='\u{f8ff}').contains(character))
    {
        is_used[((character as u32 - 0xe000) / n_masks) as usize] = true;
    }
    // The last group may reach past the private characters.
    is_used.pop();
    is_used.iter().position(|is_used| !is_used).map(|group| 0xe000 + group as u32 * n_masks)
}

/// Returns the place of the first marker past the limit on this line.
fn marker_beyond_limit(line: &str) -> Option<usize> {
    // Each container takes at least two bytes, except quotes.
    if line.len() <= MAX_MARKERS {
        return None;
    }
    let bytes = line.as_bytes();
    let is_blank = |at: usize| bytes.get(at).is_none_or(u8::is_ascii_whitespace);
    let (mut at, mut n_markers) = (0, 0);
    loop {
        while bytes.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            at += 1;
        }
        let n_digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let marker = at + if n_digits <= 9 { n_digits } else { 0 };
        let is_marker = match bytes.get(marker)? {
            b'>' => n_digits == 0,
            b'-' | b'+' | b'*' => n_digits == 0 && is_blank(marker + 1),
            b'.' | b')' => n_digits > 0 && is_blank(marker + 1),
            _ => false,
        };
        if !is_marker || is_rule(&bytes[at..]) {
            return None;
        }
        n_markers += 1;
        if n_markers > MAX_MARKERS {
            return Some(marker);
        }
        at = marker + 1;
        // The rest of the line is a rule or not, however far in: one more check is enough.
        if n_markers == 1 && is_rule(&bytes[at..]) {
            return None;
        }
    }
}

/// Reports whether the rest of a line is a thematic break. Stops at the first byte that cannot be
/// part of one.
fn is_rule(rest: &[u8]) -> bool {
    let marker = rest.iter().copied().find(|byte| !byte.is_ascii_whitespace()).unwrap_or(b' ');
    matches!(marker, b'-' | b'*')
        && rest.iter().all(|byte| *byte == marker || byte.is_ascii_whitespace())
        && rest.iter().filter(|byte| **byte == marker).count() >= 3
}

/// Returns the places of each `<` that begins neither an autolink nor the destination of a link.
fn openers_of_html(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for (at, _) in text.match_indices('<') {
        let n_backslashes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        let before = text[..at].trim_end_matches([' ', '\t', '\n']);
        let is_destination = before.ends_with("](") || before.ends_with("]:");
        if n_backslashes % 2 == 0 && !is_destination && !is_autolink(&text[at..]) {
            found.push(at);
        }
    }
    found
}

/// Reports whether the text begins with an autolink (CommonMark 6.5), `<` included.
pub(crate) fn is_autolink(text: &str) -> bool {
    let rest = text.strip_prefix('<').unwrap_or_default();
    let Some(end) = rest.find(['>', '<', ' ', '\n', '\t']) else { return false };
    let inner = &rest[..end];
    if !rest[end..].starts_with('>') {
        return false;
    }
    if let Some((scheme, _)) = inner.split_once(':') {
        let is_first = scheme.starts_with(|character: char| character.is_ascii_alphabetic());
        let rest =
            scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
        if is_first && rest && (2..=32).contains(&scheme.len()) {
            return true;
        }
    }
    let Some((local, domain)) = inner.split_once('@') else { return false };
    let is_local =
        |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|label| label.is_ascii_alphanumeric() || label == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    !local.is_empty() && local.bytes().all(is_local) && domain.split('.').all(is_label)
}
