//! Inspects JSON texts without recursion.
//!
//! Formats, embeds and old arrays hold JSON as strings, which yrs parses with a recursive parser.
//! JavaScript writes half a character as an escape such as `\ud83d`, which that parser refuses.

use std::borrow::Cow;

/// Returns how deeply arrays and objects are nested in a JSON text.
pub(crate) fn depth(text: &str) -> usize {
    let (mut deepest, mut depth) = (0_usize, 0_usize);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

/// Reports whether a JSON text holds escapes of surrogates, whole or half characters.
pub(crate) fn has_surrogates(text: &str) -> bool {
    text.contains("\\ud") || text.contains("\\uD")
}

/// Replaces halves of characters by U+FFFD.
pub(crate) fn without_halves(text: &str) -> Cow<'_, str> {
    if !has_surrogates(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let len = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push('\u{fffd}');
                rest = &escape[6..];
                continue;
            }
            // An escape is a backslash and at least one character, which may be a backslash.
            _ => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        out.push_str(&escape[..len]);
        rest = &escape[len..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Reads the UTF-16 unit of an escape at the start of a text.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{depth, without_halves};

    #[test]
    fn halves_of_characters_are_replaced() {
        for (text, clean) in [
            (r#""plain""#, r#""plain""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#"{"a\ud83d":"\ude00"}"#, "{\"a\u{fffd}\":\"\u{fffd}\"}"),
            (r#""\\ud83d\n\ud83d\ud83d\ude00""#, "\"\\\\ud83d\\n\u{fffd}\\ud83d\\ude00\""),
        ] {
            assert_eq!(without_halves(text), clean);
            assert!(serde_json::from_str::<serde_json::Value>(&without_halves(text)).is_ok());
        }
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        for (text, levels) in [("1", 0), ("[]", 1), (r#"["[\"[",{"]":[]}]"#, 3), ("[[]", 2)] {
            assert_eq!(depth(text), levels, "{text}");
        }
    }
}
