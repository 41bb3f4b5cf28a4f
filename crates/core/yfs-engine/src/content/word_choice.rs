//! The choice of a person between words that several writers put into the place of one.

use super::{ContentError, RunAuthor, SeparatedWords, document::ContentDoc};

/// Ends one group of [separated words](ContentDoc::separated_words): keeps the one at an index, or
/// all of them as they stand if `keep` is `None`. Of several groups with these words, it is the
/// one at `place` or the next one. Returns no update if there is none.
///
/// # Errors
///
/// As [`ContentDoc::write`].
pub fn choose_word(
    doc: &mut ContentDoc,
    place: usize,
    words: &[String],
    keep: Option<usize>,
    author: &RunAuthor,
) -> Result<Vec<Vec<u8>>, ContentError> {
    let groups = doc.separated_words()?;
    let is_meant = |group: &&SeparatedWords| group.words == words;
    let group = groups.iter().skip(place).find(is_meant);
    let Some(group) = group.or_else(|| groups.iter().rfind(is_meant)) else {
        return Ok(Vec::new());
    };
    let text = doc.text();
    let all = group.words.join(" ");
    let range = group.at..group.at + all.len();
    // With edits in both roots, the text that is read has the words elsewhere.
    if text.get(range.clone()) != Some(&*all) {
        return Ok(Vec::new());
    }
    let with = |kept: &str| {
        let mut text = text.clone();
        text.replace_range(range.clone(), kept);
        text
    };
    let written = match keep {
        Some(index) => {
            let kept = &group.words[index.min(group.words.len() - 1)];
            vec![doc.write(&with(kept), None, author)?.update]
        }
        // The blanks of the rule make room for blanks of the author.
        None => {
            let without = doc.write(&with(&group.words.concat()), None, author)?.update;
            vec![without, doc.write(&with(&all), None, author)?.update]
        }
    };
    Ok(written.into_iter().flatten().collect())
}
