//! The trigrams of a text: three bytes in a row, after case folding, in a space of fixed size.
//!
//! # Invariants
//!
//! - Text and pattern are folded by the same function, character by character. So if a pattern
//!   matches a character, it matches one with the same folded form, whatever its case.
//! - A trigram does not reach across a newline: no match does.

/// The number of buckets into which trigrams are hashed. With a fixed number, a text of many
/// different characters takes no more room than one of few.
pub(super) const N_BUCKETS: usize = 1 << 18;

/// Returns the canonical form of a character: all that differ from it by case only have the same.
pub(super) fn fold_char(c: char) -> char {
    match c {
        '\0'..='\x7f' => c.to_ascii_lowercase(),
        // Kana, Han and Hangul have no case.
        '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => c,
        // Two spellings of one character, neither with a single upper case.
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        _ => {
            let upper = only(c.to_uppercase()).unwrap_or(c);
            only(upper.to_lowercase()).unwrap_or(upper)
        }
    }
}

/// Returns the one character of an iterator; `None` if there are several.
fn only(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next();
    if chars.next().is_some() { None } else { first }
}

/// Appends the folded form of some bytes. What is not UTF-8 stays as it is.
pub(super) fn fold_into(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.is_ascii() {
        out.extend(bytes.iter().map(u8::to_ascii_lowercase));
        return;
    }
    for chunk in bytes.utf8_chunks() {
        let mut encoded = [0; 4];
        for c in chunk.valid().chars() {
            if c.is_ascii() {
                out.push((c as u8).to_ascii_lowercase());
            } else {
                out.extend_from_slice(fold_char(c).encode_utf8(&mut encoded).as_bytes());
            }
        }
        out.extend_from_slice(chunk.invalid());
    }
}

/// Calls a function with the bucket of each trigram of a folded text.
pub(super) fn for_each_trigram(folded: &[u8], mut each: impl FnMut(u32)) {
    let (mut value, mut n_bytes) = (0_u32, 0_u32);
    for byte in folded {
        if *byte == b'\n' {
            n_bytes = 0;
            continue;
        }
        value = (value << 8 | u32::from(*byte)) & 0xff_ffff;
        n_bytes += 1;
        if n_bytes >= 3 {
            each(value.wrapping_mul(0x9e37_79b1) >> (32 - N_BUCKETS.trailing_zeros()));
        }
    }
}

/// A set of buckets, which is filled from texts and emptied again and again.
#[derive(Debug)]
pub(super) struct BucketSet {
    seen: Box<[u64]>,
    buckets: Vec<u32>,
    folded: Vec<u8>,
}

impl BucketSet {
    pub(super) fn new() -> Self {
        let seen = vec![0; N_BUCKETS / 64].into_boxed_slice();
        Self { seen, buckets: Vec::new(), folded: Vec::new() }
    }

    /// Adds the trigrams of a text.
    pub(super) fn add_text(&mut self, text: &[u8]) {
        let Self { seen, buckets, folded } = self;
        folded.clear();
        fold_into(folded, text);
        for_each_trigram(folded, |bucket| {
            let word = &mut seen[bucket as usize / 64];
            let bit = 1 << (bucket % 64);
            if *word & bit == 0 {
                *word |= bit;
                buckets.push(bucket);
            }
        });
        // One large file must not keep its memory.
        folded.shrink_to(1 << 20);
    }

    /// Returns the buckets, in no order.
    pub(super) fn buckets(&self) -> &[u32] {
        &self.buckets
    }

    pub(super) fn clear(&mut self) {
        for bucket in self.buckets.drain(..) {
            self.seen[bucket as usize / 64] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

    use super::*;

    /// Unicode, simple case folding: the rule that patterns without case follow.
    #[test]
    fn characters_that_differ_by_case_only_have_one_folded_form() {
        for c in '\0'..=char::MAX {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
            class.case_fold_simple();
            let forms = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            for form in forms {
                assert_eq!(fold_char(form), fold_char(c), "{form:?} and {c:?}");
            }
        }
    }
}
