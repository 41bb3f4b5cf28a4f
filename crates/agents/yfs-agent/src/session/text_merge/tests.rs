//! Merging by lines: examples, and laws over random texts.

use expect_test::{Expect, expect};
use proptest::{collection::vec, prelude::*};

use super::merge_texts;

/// Merges texts in which `|` stands for a newline.
fn check(base: &str, theirs: &str, ours: &str, expected: Expect) {
    let [base, theirs, ours] = [base, theirs, ours].map(|text| text.replace('|', "\n"));
    let merged = merge_texts(&base, &theirs, &ours);
    let shown = merged.map_or_else(|error| error.to_string(), |text| text.replace('\n', "|"));
    expected.assert_eq(&shown);
}

#[test]
fn changes_of_different_lines_are_merged() {
    check("a|b|c|d|", "A|b|c|d|", "a|b|c|D|", expect!["A|b|c|D|"]);
    check("a|b|c|", "a|c|", "a|b|c|d|", expect!["a|c|d|"]);
    check("a|b|c|", "a|x|b|c|", "a|b|c|", expect!["a|x|b|c|"]);
    check("a|b", "a|b|c", "A|b", expect!["both changed lines 1 to 2 of the text that was read"]);
    check("a|b|", "x|b|", "x|b|", expect!["x|b|"]);
    check("", "", "new", expect!["new"]);
}

#[test]
fn changes_of_the_same_lines_are_conflicts() {
    check(
        "a|b|c|",
        "a|x|c|",
        "a|y|c|",
        expect!["both changed lines 2 to 2 of the text that was read"],
    );
    check("a|b|c|", "a|", "a|b|C|", expect!["both changed lines 2 to 3 of the text that was read"]);
    check(
        "a|b|",
        "a|x|b|",
        "a|y|b|",
        expect!["both changed lines 2 to 2 of the text that was read"],
    );
}

/// Texts of few different lines, so that changes often meet.
fn text() -> impl Strategy<Value = String> {
    vec(prop_oneof!["a\n", "b\n", "c\n", "\n"], 0..12).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn one_change_alone_is_the_result(base in text(), changed in text()) {
        prop_assert_eq!(merge_texts(&base, &changed, &base), Ok(changed.clone()));
        prop_assert_eq!(merge_texts(&base, &base, &changed), Ok(changed.clone()));
        prop_assert_eq!(merge_texts(&base, &changed, &changed), Ok(changed));
    }

    #[test]
    fn merging_is_symmetric(base in text(), theirs in text(), ours in text()) {
        prop_assert_eq!(merge_texts(&base, &theirs, &ours), merge_texts(&base, &ours, &theirs));
    }
}
