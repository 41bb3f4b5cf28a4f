//! POSIX basic and Emacs expressions, translated to the syntax of the regex crate.

/// A syntax of regular expressions in which a backslash makes some characters special.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegexDialect {
    /// POSIX basic expressions with GNU's extensions, as `grep -G` takes them.
    Basic,
    /// Emacs expressions, as GNU `find -regex` takes them.
    Emacs,
}

impl RegexDialect {
    /// Returns the characters that are special without a backslash, and literal with one. The
    /// regex crate treats them so, too.
    fn special(self) -> &'static str {
        match self {
            Self::Basic => ".*^$[]",
            Self::Emacs => ".*+?^$[]",
        }
    }

    /// Returns the characters that are special with a backslash, and literal without one.
    fn special_if_escaped(self) -> &'static str {
        match self {
            Self::Basic => "(){}|+?",
            Self::Emacs => "()|",
        }
    }
}

/// Translates a pattern. The result may be invalid, as the pattern may be.
pub(crate) fn translate(pattern: &str, dialect: RegexDialect) -> String {
    let mut expression = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    // Whether an expression starts here, so that `*` is literal and `^` is an anchor.
    let mut at_start = true;
    while let Some(char) = chars.next() {
        let was_start = std::mem::replace(&mut at_start, false);
        match char {
            '\\' => match chars.next() {
                Some(next) if dialect.special_if_escaped().contains(next) => {
                    expression.push(next);
                    at_start = matches!(next, '(' | '|');
                }
                Some(next) => expression.extend(['\\', next]),
                None => expression.push_str(r"\\"),
            },
            '[' => push_class(&mut expression, &mut chars),
            '*' if was_start => expression.push_str(r"\*"),
            '^' => {
                expression.push_str(if was_start { "^" } else { r"\^" });
                at_start = was_start;
            }
            '$' => {
                let mut rest = chars.clone();
                let ends = match rest.next() {
                    None => true,
                    Some('\\') => matches!(rest.next(), Some(')' | '|')),
                    Some(_) => false,
                };
                expression.push_str(if ends { "$" } else { r"\$" });
            }
            char if dialect.special().contains(char) && char != ']' => expression.push(char),
            char => expression.push_str(&regex::escape(char.encode_utf8(&mut [0; 4]))),
        }
    }
    expression
}

/// Copies a bracket expression after its `[`. A backslash in it is literal.
fn push_class(expression: &mut String, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    expression.push('[');
    if chars.next_if_eq(&'^').is_some() {
        expression.push('^');
    }
    let mut is_first = true;
    while let Some(char) = chars.next() {
        match char {
            ']' if !is_first => {
                expression.push(']');
                return;
            }
            '[' if chars.peek() == Some(&':') => {
                expression.push('[');
                // A named class ends with `:]`.
                for char in chars.by_ref() {
                    expression.push(char);
                    if expression.ends_with(":]") {
                        break;
                    }
                }
            }
            '-' => expression.push('-'),
            // In a class `&&`, `--` and `~~` are operators of the regex crate.
            char if char.is_alphanumeric() || char == '_' => expression.push(char),
            char => expression.push_str(&format!(r"\x{{{:x}}}", u32::from(char))),
        }
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_makes_characters_special() {
        let cases = [
            ("a(b)|c+", r"a\(b\)\|c\+"),
            (r"\(a\|b\)\{2\}x\+y\?", "(a|b){2}x+y?"),
            ("*a*", r"\*a*"),
            ("^a^$b$", r"^a\^\$b$"),
            (r"\(^*a$\)", r"(^\*a$)"),
            (r"[]\.[:digit:]-]\.", r"[\x{5d}\x{5c}\x{2e}[:digit:]-]\."),
            (r"[^a-z/]*", r"[^a-z\x{2f}]*"),
            (r"\", r"\\"),
        ];
        for (pattern, expected) in cases {
            let translated = translate(pattern, RegexDialect::Basic);
            assert_eq!(translated, expected, "{pattern}");
            assert!(regex::Regex::new(&translated).is_ok(), "{translated}");
        }
        assert_eq!(translate(r".*/\(a\|b\)+{1}", RegexDialect::Emacs), r".*/(a|b)+\{1\}");
    }
}
