//! The patterns of `find -name`: POSIX `fnmatch`, as a regular expression.

use regex::{Regex, RegexBuilder};

/// Compiles a pattern: `*` and `?` match any characters, slashes and leading dots included.
pub(crate) fn fnmatch(pattern: &str, ignore_case: bool) -> Result<Regex, String> {
    let mut expression = String::from(r"\A(?:");
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            '[' => {
                let rest: String = chars.clone().collect();
                match class(&rest) {
                    Some((class, n_chars)) => {
                        expression.push_str(&class);
                        chars.by_ref().take(n_chars).for_each(drop);
                    }
                    None => expression.push_str(r"\["),
                }
            }
            '\\' => push_literal(&mut expression, chars.next().unwrap_or('\\')),
            char => push_literal(&mut expression, char),
        }
    }
    expression.push_str(r")\z");
    let mut builder = RegexBuilder::new(&expression);
    let regex = builder.dot_matches_new_line(true).case_insensitive(ignore_case).build();
    regex.map_err(|_| format!("invalid pattern '{pattern}'"))
}

fn push_literal(expression: &mut String, char: char) {
    expression.push_str(&regex::escape(char.encode_utf8(&mut [0; 4])));
}

/// Translates a bracket expression, given the text after its `[`. Returns its regular expression
/// and its length in characters, or none if no `]` ends it.
fn class(rest: &str) -> Option<(String, usize)> {
    let chars: Vec<char> = rest.chars().collect();
    let mut class = String::from("[");
    let mut at = 0;
    if matches!(chars.first(), Some('!' | '^')) {
        class.push('^');
        at = 1;
    }
    let first = at;
    loop {
        match *chars.get(at)? {
            ']' if at > first => break,
            '[' if chars.get(at + 1) == Some(&':') => {
                let end =
                    (at + 2..chars.len()).find(|end| chars[*end..].starts_with(&[':', ']']))?;
                class.extend(&chars[at..end + 2]);
                at = end + 2;
            }
            '-' if at > first && chars.get(at + 1).is_some_and(|next| *next != ']') => {
                class.push('-');
                at += 1;
            }
            '\\' => {
                push_literal(&mut class, *chars.get(at + 1)?);
                at += 2;
            }
            char => {
                // In a class `&&`, `--` and `~~` are operators of the regex crate.
                if char.is_alphanumeric() || char == '_' {
                    class.push(char);
                } else {
                    class.push_str(&format!(r"\x{{{:x}}}", u32::from(char)));
                }
                at += 1;
            }
        }
    }
    class.push(']');
    Some((class, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_fnmatch_does() {
        let cases = [
            ("*.rs", "main.rs", true),
            ("*", ".hidden", true),
            ("*", "a/b", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]x]", "]", true),
            ("[[:digit:]]*", "7up", true),
            ("[", "[", true),
            ("a{b,c}", "ab", false),
            ("a{b,c}", "a{b,c}", true),
            (r"\*", "*", true),
            (r"\*", "x", false),
            ("[a&&b]", "&", true),
            ("é*", "eté", false),
            ("é*", "étude", true),
        ];
        for (pattern, text, expected) in cases {
            let matches = fnmatch(pattern, false).unwrap().is_match(text);
            assert_eq!(matches, expected, "{pattern} on {text}");
        }
        assert!(fnmatch("README*", true).unwrap().is_match("readme.md"));
        assert!(fnmatch("[z-a]", false).is_err());
    }
}
