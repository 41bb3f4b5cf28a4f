//! The words that two texts have in common, and that each has once.

use std::ops::Range;

use hashbrown::HashMap;

use crate::content::diff::longest_increasing;

/// Returns the longest row of words that are in the same order in both texts, and once in each: the
/// range of each in the old text and in the new one.
pub(super) fn unique_words(old: &str, new: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let (in_old, in_new) = (words_once(old), words_once(new));
    let both = in_old.iter().filter_map(|(word, at)| {
        let new_at = in_new.get(word).copied().flatten()?;
        Some((at.as_ref().copied()?, new_at))
    });
    let mut pairs: Vec<(usize, usize)> = both.collect();
    pairs.sort_unstable();
    let len = |at: usize| word_len(&old[at..]);
    let row = longest_increasing(&pairs).into_iter();
    row.map(|(at, new_at)| (at..at + len(at), new_at..new_at + len(at))).collect()
}

/// Returns where each word of a text begins; `None` if it occurs several times.
fn words_once(text: &str) -> HashMap<&str, Option<usize>> {
    let (mut words, mut at) = (HashMap::new(), 0);
    while at < text.len() {
        let len = word_len(&text[at..]);
        if len > 0 {
            let place = words.entry(&text[at..at + len]);
            place.and_modify(|place| *place = None).or_insert(Some(at));
        }
        let rest = &text[at + len..];
        at += len + rest.find(char::is_alphanumeric).unwrap_or(rest.len());
    }
    words
}

/// Returns the length of the word that a text begins with, in bytes.
fn word_len(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len())
}
