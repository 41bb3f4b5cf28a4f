//! What a pattern requires of a text: trigrams that every match contains.
//!
//! The rules are those of Russ Cox's code search: a literal requires its trigrams, a sequence all
//! that its parts require, and an alternation what one of its branches requires. A part that can be
//! too many things requires nothing.

use std::collections::BTreeSet;

use regex_syntax::{
    ParserBuilder,
    hir::{Class, Hir, HirKind, Repetition},
};
use yfs_vfs::GrepQuery;

use super::trigrams::{fold_char, fold_into, for_each_trigram};

/// The greatest number of strings that a sequence of literals and small classes may be.
const MAX_STRINGS: usize = 32;

/// The greatest number of characters in a class that is spelled out.
const MAX_CLASS: usize = 64;

/// The greatest number of trigrams that are looked up for one string.
const MAX_PER_STRING: usize = 12;

/// The greatest number of trigrams that are looked up for a pattern.
const MAX_TRIGRAMS: usize = 512;

/// The greatest number of copies of a repeated part that are spelled out.
const MAX_COPIES: u32 = 4;

/// What a text must contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TrigramQuery {
    /// Nothing.
    Any,
    /// The trigrams of all these buckets.
    All(Vec<u32>),
    /// What all of these require.
    And(Vec<Self>),
    /// What one of these requires.
    Or(Vec<Self>),
}

impl TrigramQuery {
    /// Returns what a query requires of every file with a match.
    pub(super) fn of(query: &GrepQuery) -> Self {
        if query.invert || query.unmatched_files {
            return Self::Any;
        }
        let escaped = query.literal.then(|| regex_syntax::escape(&query.pattern));
        let mut parser = ParserBuilder::new();
        parser.utf8(false).case_insensitive(query.ignore_case).multi_line(true);
        let parsed = parser.build().parse(escaped.as_deref().unwrap_or(&query.pattern));
        let Ok(hir) = parsed else { return Self::Any };
        let mut required = PatternReader::default();
        required.read(&hir);
        let required = required.finish();
        if required.n_trigrams() > MAX_TRIGRAMS { Self::Any } else { required }
    }

    fn n_trigrams(&self) -> usize {
        match self {
            Self::Any => 0,
            Self::All(buckets) => buckets.len(),
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::n_trigrams).sum(),
        }
    }

    fn and(mut parts: Vec<Self>) -> Self {
        parts.retain(|part| *part != Self::Any);
        match parts.len() {
            0 => Self::Any,
            1 => parts.remove(0),
            _ => Self::And(parts),
        }
    }

    fn or(mut parts: Vec<Self>) -> Self {
        match parts.len() {
            1 => parts.remove(0),
            _ if parts.contains(&Self::Any) => Self::Any,
            _ => Self::Or(parts),
        }
    }

    fn of_string(folded: &[u8]) -> Self {
        let mut buckets = Vec::new();
        for_each_trigram(folded, |bucket| buckets.push(bucket));
        if buckets.len() > MAX_PER_STRING {
            let last = buckets.len() - 1;
            let at = |n: usize| buckets[n * last / (MAX_PER_STRING - 1)];
            buckets = (0..MAX_PER_STRING).map(at).collect();
        }
        if buckets.is_empty() { Self::Any } else { Self::All(buckets) }
    }
}

/// Reads the parts of a pattern from left to right.
#[derive(Debug)]
struct PatternReader {
    /// Folded strings that begin at the last part that can be too many things, and end here. A
    /// match has one of them.
    strings: Vec<Vec<u8>>,
    /// What was required before.
    required: Vec<TrigramQuery>,
    /// Whether the strings are the whole pattern so far.
    is_exact: bool,
}

impl Default for PatternReader {
    fn default() -> Self {
        Self { strings: vec![Vec::new()], required: Vec::new(), is_exact: true }
    }
}

impl PatternReader {
    fn read(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) if std::str::from_utf8(&literal.0).is_ok() => {
                let mut folded = Vec::new();
                fold_into(&mut folded, &literal.0);
                self.append(&[folded]);
            }
            HirKind::Literal(_) => self.skip(),
            HirKind::Class(class) => match strings_of(class) {
                Some(strings) => self.append(&strings),
                None => self.skip(),
            },
            HirKind::Repetition(repetition) => self.read_repetition(repetition),
            HirKind::Capture(capture) => self.read(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.read(part)),
            HirKind::Alternation(branches) => {
                let branches = branches.iter().map(|branch| {
                    let mut reader = Self::default();
                    reader.read(branch);
                    reader
                });
                self.read_branches(branches.collect());
            }
        }
    }

    fn read_repetition(&mut self, repetition: &Repetition) {
        if (repetition.min, repetition.max) == (0, Some(1)) {
            let mut once = Self::default();
            once.read(&repetition.sub);
            return self.read_branches(vec![once, Self::default()]);
        }
        let n_copies = repetition.min.min(MAX_COPIES);
        (0..n_copies).for_each(|_| self.read(&repetition.sub));
        if repetition.max != Some(n_copies) {
            self.skip();
        }
    }

    fn read_branches(&mut self, branches: Vec<Self>) {
        if branches.iter().all(|branch| branch.is_exact) {
            let strings: BTreeSet<_> = branches.iter().flat_map(|branch| &branch.strings).collect();
            if strings.len() <= MAX_STRINGS {
                let strings: Vec<_> = strings.into_iter().cloned().collect();
                return self.append(&strings);
            }
        }
        self.skip();
        let branches = branches.into_iter().map(Self::finish).collect();
        self.required.push(TrigramQuery::or(branches));
    }

    /// Continues with one of some strings.
    fn append(&mut self, next: &[Vec<u8>]) {
        if self.strings.len() * next.len() > MAX_STRINGS {
            self.skip();
            // After a part that is skipped, any string may begin.
            if next.len() <= MAX_STRINGS {
                self.strings = next.to_vec();
            }
            return;
        }
        let pairs =
            self.strings.iter().flat_map(|before| next.iter().map(move |next| (before, next)));
        self.strings = pairs.map(|(before, next)| [&before[..], next].concat()).collect();
    }

    /// Continues with a part that can be anything.
    fn skip(&mut self) {
        let strings = std::mem::replace(&mut self.strings, vec![Vec::new()]);
        self.required.push(required_by(&strings));
        self.is_exact = false;
    }

    fn finish(mut self) -> TrigramQuery {
        self.required.push(required_by(&self.strings));
        TrigramQuery::and(self.required)
    }
}

fn required_by(strings: &[Vec<u8>]) -> TrigramQuery {
    TrigramQuery::or(strings.iter().map(|string| TrigramQuery::of_string(string)).collect())
}

/// Returns the folded strings that a class matches; `None` if there are too many.
fn strings_of(class: &Class) -> Option<Vec<Vec<u8>>> {
    let chars: Vec<char> = match class {
        Class::Unicode(class) => {
            let chars = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            chars.take(MAX_CLASS + 1).collect()
        }
        // Bytes that are not ASCII are parts of characters, which folding may replace.
        Class::Bytes(class) if class.is_ascii() => {
            let bytes = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            bytes.map(char::from).take(MAX_CLASS + 1).collect()
        }
        Class::Bytes(_) => return None,
    };
    if chars.len() > MAX_CLASS {
        return None;
    }
    let folded: BTreeSet<char> = chars.into_iter().map(fold_char).collect();
    let strings = folded.into_iter().map(|c| c.to_string().into_bytes());
    Some(strings.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(pattern: &str, ignore_case: bool, text: &str) -> bool {
        let query = TrigramQuery::of(&GrepQuery { ignore_case, ..GrepQuery::new(pattern) });
        let mut folded = Vec::new();
        fold_into(&mut folded, text.as_bytes());
        let mut buckets = BTreeSet::new();
        for_each_trigram(&folded, |bucket| {
            buckets.insert(bucket);
        });
        holds(&query, &buckets)
    }

    fn holds(query: &TrigramQuery, buckets: &BTreeSet<u32>) -> bool {
        match query {
            TrigramQuery::Any => true,
            TrigramQuery::All(all) => all.iter().all(|bucket| buckets.contains(bucket)),
            TrigramQuery::And(parts) => parts.iter().all(|part| holds(part, buckets)),
            TrigramQuery::Or(parts) => parts.iter().any(|part| holds(part, buckets)),
        }
    }

    #[test]
    fn a_pattern_requires_the_trigrams_of_its_literals() {
        for (pattern, text, expected) in [
            ("harbour", "the Harbour master", true),
            ("harbour", "the harbor", false),
            ("(dog|cat)fish", "a catfish", true),
            ("(dog|cat)fish", "a catfight", false),
            (r"fn \w+\(self", "fn name(self", true),
            (r"fn \w+\(self", "fn name(other", false),
            ("colou?rful", "colorful", true),
            ("colou?rful", "colonel", false),
            ("(abc){2}", "xabcabcx", true),
            ("(abc){2}", "xabcx", false),
            ("(abc)+d", "abcd", true),
            ("[xy]abc", "yabc", true),
            ("[xy]abc", "zabc", false),
            ("x*", "", true),
            ("ab", "", true),
            ("Größe", "GRÖßE", true),
            (r"(?-u:\xC3)abc", "abc", true),
        ] {
            assert_eq!(is_found(pattern, false, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn folding_finds_every_case_of_a_character() {
        for (pattern, text) in
            [("straße", "STRAẞE"), ("ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ"), ("kelvins", "\u{212a}elvin\u{17f}")]
        {
            assert!(is_found(pattern, true, text), "{pattern} {text}");
            assert!(!is_found(pattern, true, "another text"), "{pattern}");
        }
    }
}
