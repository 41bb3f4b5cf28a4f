//! The order of names in lists: as `localeCompare` of JavaScript orders them, for the characters
//! that names mostly have.

use std::cmp::Ordering;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// The punctuation and symbols of ASCII in their order; digits and letters follow.
const SYMBOLS: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// Compares two names: first the letters, then their accents, then their case, small letters first.
pub(super) fn compare_names(a: &str, b: &str) -> Ordering {
    let letters = |name: &str| -> Vec<(usize, char)> {
        let base = name.nfd().filter(|character| !is_combining_mark(*character));
        base.flat_map(char::to_lowercase).map(|character| (rank_of(character), character)).collect()
    };
    let accents = |name: &str| -> String { name.nfd().flat_map(char::to_lowercase).collect() };
    let case = |name: &str| -> Vec<bool> { name.chars().map(char::is_uppercase).collect() };
    letters(a)
        .cmp(&letters(b))
        .then_with(|| accents(a).cmp(&accents(b)))
        .then_with(|| case(a).cmp(&case(b)))
}

fn rank_of(character: char) -> usize {
    match character {
        character if character.is_whitespace() => 0,
        character if character.is_ascii_digit() => 100,
        character if character.is_alphabetic() => 101,
        character => SYMBOLS.find(character).map_or(99, |at| at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_as_by_a_reader() {
        let mut names =
            ["Zed", "abc", "[br]", ".dot", "b", "B", "a", "uni-é", "unie", "1", "sp ace", "_x"];
        names.sort_by(|a, b| compare_names(a, b));
        let expected =
            ["_x", ".dot", "[br]", "1", "a", "abc", "b", "B", "sp ace", "uni-é", "unie", "Zed"];
        assert_eq!(names, expected);
    }
}
