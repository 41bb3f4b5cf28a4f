//! Formatting of text for terminals: escaped names, sizes, counts.

use std::{
    borrow::Cow,
    fmt::{self, Write},
};

/// A text from an untrusted source, displayed without the characters that control a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EscapedText<'a>(&'a str);

impl<'a> EscapedText<'a> {
    /// Wraps a text.
    pub(crate) fn new(text: &'a str) -> Self {
        Self(text)
    }
}

impl fmt::Display for EscapedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            if controls_terminal(char) {
                write!(f, "{}", char.escape_default())?;
            } else {
                f.write_char(char)?;
            }
        }
        Ok(())
    }
}

/// Reports whether a character moves the cursor, changes colors or changes the direction of text.
pub(crate) fn controls_terminal(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}'
            | '\u{200f}' | '\u{61c}')
}

/// Escapes what controls a terminal in JSON, which has such characters only within strings: the
/// value stays the same.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(controls_terminal) {
        return json.into();
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        match controls_terminal(char) {
            true => write!(escaped, "\\u{:04x}", u32::from(char)).expect("a string takes all"),
            false => escaped.push(char),
        }
    }
    escaped.into()
}

/// Escapes what controls a terminal in text of several lines that may have colors.
pub(crate) fn escape_lines(text: &str) -> String {
    let escaped = text.chars().map(|char| match char {
        '\n' | '\t' => char.to_string(),
        _ if controls_terminal(char) => char.escape_default().to_string(),
        _ => char.to_string(),
    });
    escaped.collect()
}

/// Formats a number of bytes as `ls -h` and `du -h` do: `0`, `812`, `1.5K`, `12M`, always rounded
/// up.
pub(crate) fn human_size(n_bytes: u64) -> String {
    const UNITS: [&str; 6] = ["K", "M", "G", "T", "P", "E"];
    if n_bytes < 1024 {
        return n_bytes.to_string();
    }
    let mut unit: u128 = 1024;
    for name in UNITS {
        let tenths = (u128::from(n_bytes) * 10).div_ceil(unit);
        if tenths < 100 {
            return format!("{}.{}{name}", tenths / 10, tenths % 10);
        }
        let whole = u128::from(n_bytes).div_ceil(unit);
        if whole < 1024 {
            return format!("{whole}{name}");
        }
        unit *= 1024;
    }
    unreachable!("2^64 bytes are 16 exbibytes")
}

/// Formats a number of bytes for a sentence: `812 bytes`, `1.5K`.
pub(crate) fn sentence_size(n_bytes: u64) -> String {
    let size = human_size(n_bytes);
    if n_bytes < 1024 { format!("{size} bytes") } else { size }
}

/// Parses a number of bytes: `512`, `10K`, `1M`, `2G`, also with the suffix `iB` or `B`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit.to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1_u64 << 40,
        _ => return Err(format!("invalid size '{text}'")),
    };
    let number: u64 = number.parse().map_err(|_| format!("invalid size '{text}'"))?;
    number.checked_mul(unit).ok_or_else(|| format!("size '{text}' is too large"))
}

/// Formats a count with its noun: `1 file`, `2 files`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names with the C1 control CSI or marks of direction reached the terminal by `--json`.
    #[test]
    fn json_for_a_terminal_has_no_controls_and_the_same_value() {
        let value = serde_json::json!({ "path": "a\u{9b}31m\u{202e}b\u{7f}\u{200f}\u{61c}é\n" });
        let json = value.to_string();
        let escaped = escape_json(&json);
        assert_eq!(escaped, r#"{"path":"a\u009b31m\u202eb\u007f\u200f\u061cé\n"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        assert_eq!(escape_lines("a\u{9b}b\n"), "a\\u{9b}b\n");
    }

    #[test]
    fn sizes_are_those_of_ls() {
        let cases: &[(u64, &str)] = &[
            (0, "0"),
            (1023, "1023"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (10_240, "10K"),
            (10_241, "11K"),
            (1024 * 1024 - 1, "1.0M"),
            (1 << 40, "1.0T"),
            (u64::MAX, "16E"),
        ];
        for (n_bytes, text) in cases {
            assert_eq!(human_size(*n_bytes), *text, "{n_bytes}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(parse_size("512"), Ok(512));
        assert_eq!(parse_size("2k"), Ok(2048));
        assert_eq!(parse_size("3MiB"), Ok(3 << 20));
        for bad in ["", "k", "-1", "1x", "99999999999T"] {
            assert!(parse_size(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        let escaped = EscapedText::new("a\u{1b}[31m\u{202e}é").to_string();
        assert_eq!(escaped, "a\\u{1b}[31m\\u{202e}é");
    }
}
