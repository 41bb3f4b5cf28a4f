//! Cuts a text into lines, clauses, words and clusters.

use unicode_normalization::char::is_combining_mark;

/// How coarsely a text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenLevel {
    /// After every newline.
    Line,
    /// After every character that ends a phrase in prose, code or data.
    Clause,
    /// Runs of letters and digits, runs of blanks, and every other cluster by itself. A number with
    /// points, colons or hyphens between its digits is one word: a version, a date, an address; and
    /// so is a number with its sign or with the sign of its unit, as in `-5`, `5%` and `$5`.
    /// Scripts that do not put blanks between words are cut into clusters.
    Word,
    /// What a reader takes for one character, roughly: a code point and the marks, joiners and
    /// modifiers that belong to it.
    Cluster,
}

/// The pieces of a text, which together are the text.
#[derive(Debug, Clone)]
pub(super) struct TokenList<'a> {
    rest: &'a str,
    /// The character before the rest; `None` at the beginning.
    last: Option<char>,
    level: TokenLevel,
}

#[derive(PartialEq, Eq)]
enum CharClass {
    Word,
    Blank,
    Single,
}

impl<'a> TokenList<'a> {
    pub(super) fn new(text: &'a str, level: TokenLevel) -> Self {
        Self { rest: text, last: None, level }
    }

    fn next_len(&self) -> usize {
        let after = |end: fn(u8) -> bool| {
            self.rest.bytes().position(end).map_or(self.rest.len(), |at| at + 1)
        };
        match self.level {
            TokenLevel::Line => after(|byte| byte == b'\n'),
            TokenLevel::Clause => after(|byte| b"\n,;.:(){}[]<>".contains(&byte)),
            TokenLevel::Word => self.next_word_len(),
            TokenLevel::Cluster => cluster_len(self.rest),
        }
    }

    fn next_word_len(&self) -> usize {
        let Some(first) = self.rest.chars().next() else { return 0 };
        let mut class = class_of(first);
        let mut end = cluster_len(self.rest);
        if let Some(len) = self.signs_len() {
            (class, end) = (CharClass::Word, len);
        }
        let goes_on = |next| class != CharClass::Single && class_of(next) == class;
        loop {
            while self.rest[end..].chars().next().is_some_and(goes_on) {
                end += cluster_len(&self.rest[end..]);
            }
            let (word, rest) = self.rest.split_at(end);
            if class != CharClass::Word || !joins_digits(word, rest) {
                let unit = rest.chars().next().filter(|next| is_unit_of(word, *next));
                return end + unit.map_or(0, char::len_utf8);
            }
            end += 1;
        }
    }

    /// Returns the length of the signs with which the rest begins, if they are those of a number,
    /// and not operators or a hyphen between words.
    fn signs_len(&self) -> Option<usize> {
        let unsigned = self.rest.strip_prefix(['-', '+']).unwrap_or(self.rest);
        let digits = unsigned.strip_prefix(CURRENCIES).unwrap_or(unsigned);
        let begins_word =
            |last| class_of(last) != CharClass::Word && !")]-+".contains(last) && !is_unit(last);
        let is_sign = digits.len() < self.rest.len()
            && digits.starts_with(|char: char| char.is_ascii_digit())
            && self.last.is_none_or(begins_word);
        is_sign.then(|| self.rest.len() - digits.len())
    }
}

/// Signs of units that stand before or behind a number.
const CURRENCIES: [char; 4] = ['$', '\u{20ac}', '\u{a3}', '\u{a5}'];

fn is_unit(c: char) -> bool {
    CURRENCIES.contains(&c) || matches!(c, '%' | '\u{2030}' | '\u{b0}')
}

/// Reports whether a character is the sign of the unit of the number with which a text ends.
fn is_unit_of(text: &str, sign: char) -> bool {
    is_unit(sign) && text.ends_with(|char: char| char.is_ascii_digit())
}

/// Reports whether a digit, one of `.`, `:` and `-`, and a digit follow each other.
fn joins_digits(left: &str, right: &str) -> bool {
    let right = right.as_bytes();
    left.ends_with(|char: char| char.is_ascii_digit())
        && right.first().is_some_and(|byte| b".:-".contains(byte))
        && right.get(1).is_some_and(u8::is_ascii_digit)
}

/// Reports whether two texts that follow each other would read as one word.
pub(super) fn reads_as_one_word(left: &str, right: &str) -> bool {
    let (Some(last), Some(first)) = (left.chars().next_back(), right.chars().next()) else {
        return false;
    };
    belongs(last, first)
        || class_of(last) == CharClass::Word && class_of(first) == CharClass::Word
        || joins_digits(left, right)
        || is_unit_of(left, first)
        || is_unit(last) && first.is_ascii_digit()
        || left.strip_suffix(['.', ':', '-']).is_some_and(|rest| {
            rest.ends_with(|char: char| char.is_ascii_digit()) && first.is_ascii_digit()
        })
}

impl<'a> Iterator for TokenList<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (token, rest) = self.rest.split_at(self.next_len());
        self.rest = rest;
        self.last = token.chars().next_back().or(self.last);
        (!token.is_empty()).then_some(token)
    }
}

/// Moves `at` back to where a cluster begins.
pub(super) fn cluster_start(text: &str, mut at: usize) -> usize {
    while is_inside_cluster(text, at) {
        at = text.floor_char_boundary(at - 1);
    }
    at
}

/// Moves `at` forward to where a cluster ends.
pub(super) fn cluster_end(text: &str, mut at: usize) -> usize {
    while is_inside_cluster(text, at) {
        at = text.ceil_char_boundary(at + 1);
    }
    at
}

fn is_inside_cluster(text: &str, at: usize) -> bool {
    let (left, right) = (text[..at].chars().next_back(), text[at..].chars().next());
    matches!((left, right), (Some(left), Some(right)) if belongs(left, right))
}

fn cluster_len(text: &str) -> usize {
    let mut chars = text.char_indices();
    let Some((_, mut left)) = chars.next() else { return 0 };
    for (at, right) in chars {
        if !belongs(left, right) {
            return at;
        }
        left = right;
    }
    text.len()
}

/// Reports whether two neighboring code points are part of one cluster.
///
/// Errs on the side of keeping together: a row of flags counts as one, CR and LF do not.
fn belongs(left: char, right: char) -> bool {
    const JOINER: char = '\u{200d}';
    if right < '\u{300}' && left < '\u{300}' {
        return false;
    }
    let is_flag = |c: char| ('\u{1f1e6}'..='\u{1f1ff}').contains(&c);
    left == JOINER
        || right == JOINER
        || matches!(right, '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
        || matches!(right, '\u{e0020}'..='\u{e007f}')
        || is_flag(left) && is_flag(right)
        || is_combining_mark(right)
}

fn class_of(c: char) -> CharClass {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => CharClass::Word,
        ' ' | '\t' => CharClass::Blank,
        // From here on scripts that are written without blanks.
        '\u{2e80}'.. => CharClass::Single,
        _ if c.is_alphanumeric() => CharClass::Word,
        _ => CharClass::Single,
    }
}
