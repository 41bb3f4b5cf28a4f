//! Inline HTML in text (CommonMark 6.6), for the profile that keeps it as text.

/// Returns the ranges of inline HTML in the text, in order.
pub(super) fn tags(text: &str) -> Vec<(usize, usize)> {
    let last = |end: &str| text.rfind(end).unwrap_or(0);
    let ends = [last("-->"), last("?>"), last("]]>"), last(">")];
    let mut found = Vec::new();
    let mut from = 0;
    for (start, _) in text.match_indices('<') {
        if start < from {
            continue;
        }
        if let Some(length) = tag(&text[start..], ends.map(|end| end > start)) {
            found.push((start, start + length));
            from = start + length;
        }
    }
    found
}

/// Returns the length of the HTML that the text begins with. `ends` holds which ends occur at all,
/// so that no search runs to the end of the text in vain.
fn tag(text: &str, ends: [bool; 4]) -> Option<usize> {
    let bytes = text.as_bytes();
    let [has_comment, has_instruction, has_cdata, has_end] = ends;
    let up_to = |end: &str| text.find(end).map(|at| at + end.len());
    if !has_end {
        return None;
    }
    if text.starts_with("<!--") {
        return has_comment.then(|| text[4..].find("-->").map(|at| at + 7)).flatten();
    }
    if text.starts_with("<?") {
        return has_instruction.then(|| up_to("?>")).flatten();
    }
    if text.starts_with("<![CDATA[") {
        return has_cdata.then(|| up_to("]]>")).flatten();
    }
    if text.starts_with("<!") && bytes.get(2)?.is_ascii_alphabetic() {
        return up_to(">");
    }
    let is_closing = bytes.get(1) == Some(&b'/');
    let mut at = if is_closing { 2 } else { 1 };
    if !bytes.get(at)?.is_ascii_alphabetic() {
        return None;
    }
    at += length_of(&bytes[at..], |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_closing {
        at += length_of(&bytes[at..], |byte| byte.is_ascii_whitespace());
        return (bytes.get(at) == Some(&b'>')).then_some(at + 1);
    }
    loop {
        let n_blanks = length_of(&bytes[at..], |byte| byte.is_ascii_whitespace());
        let next = at + n_blanks;
        match bytes.get(next)? {
            b'>' => return Some(next + 1),
            b'/' => return (bytes.get(next + 1) == Some(&b'>')).then_some(next + 2),
            _ if n_blanks == 0 => return None,
            _ => at = attribute(text, next)?,
        }
    }
}

/// Returns the end of the attribute that begins at `at`.
fn attribute(text: &str, mut at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let first = *bytes.get(at)?;
    if !(first.is_ascii_alphabetic() || first == b'_' || first == b':') {
        return None;
    }
    at += length_of(&bytes[at..], |byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte));
    let equals = at + length_of(&bytes[at..], |byte| byte.is_ascii_whitespace());
    if bytes.get(equals) != Some(&b'=') {
        return Some(at);
    }
    let value = equals + 1 + length_of(&bytes[equals + 1..], |byte| byte.is_ascii_whitespace());
    match *bytes.get(value)? {
        quote @ (b'"' | b'\'') => Some(value + 2 + text[value + 1..].find(char::from(quote))?),
        _ => {
            let is_plain = |byte: u8| !byte.is_ascii_whitespace() && !b"\"'=<>`".contains(&byte);
            let length = length_of(&bytes[value..], is_plain);
            (length > 0).then_some(value + length)
        }
    }
}

fn length_of(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_part(**byte)).count()
}
