//! Leaves that resemble each other in one file, some in unusual notation: the file comes back byte
//! for byte.

use proptest::{collection::vec, prelude::*, sample::select};
use yfs_markdown::{
    schema::SchemaProfile,
    source::{remember, render},
};

fn check(text: &str) {
    for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
        let (document, map) = remember(text, profile);
        assert_eq!(render(&document, &map, profile), text, "in {profile:?}");
    }
}

/// The second leaf is like the first and gets a record, though it is as usual. Then the third is
/// like the second.
#[test]
fn a_usual_leaf_is_not_written_like_another_usual_one() {
    check("2 \\* 3 _one_\n\n2 * 3 *one*\n\n# \\* *one*\n\n");
}

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "one", "two", "three", "four", "*one*", "_one_", "**two**", "__two__", "\\_one", "a_b",
    "2 * 3", "2 \\* 3", "\\*", "[x]", "\\[x\\]", "[ ]", "\\[ \\]", "`one`", "``one``", "&amp;",
    "\\!", "three\nfour", "one\\\ntwo", "one  \ntwo", "[two](u)", "[two](<u>)", "<!-- one -->",
];

const STARTS: &[&str] =
    &["", "", "", "# ", "## ", "- ", "* ", "- a\n\n  ", "> ", ">", "1. ", "1) ", "- [ ] "];

/// Text that is longer than what one record may say of several leaves.
fn long_end() -> String {
    " and much more".repeat(20)
}

/// A leaf of a few words, some in notation that a writer without memory does not use.
fn leaf() -> impl Strategy<Value = String> {
    let ends = select(vec![String::new(), String::new(), String::new(), long_end()]);
    (select(STARTS), vec(select(WORDS), 1..5), ends)
        .prop_map(|(start, words, end)| format!("{start}{}{end}\n", words.join(" ")))
}

/// Leaves, some of them twice.
fn document() -> impl Strategy<Value = String> {
    let gaps = select(vec!["\n", "\n", "\n", "\n\n", "", "\n[x]: y\n\n"]);
    vec((leaf(), gaps, any::<bool>()), 1..10).prop_map(|parts| {
        let once = parts.iter().map(|(leaf, gap, _)| [leaf, *gap].concat());
        let again = parts.iter().filter(|part| part.2).map(|(leaf, gap, _)| [leaf, *gap].concat());
        once.chain(again).collect()
    })
}

proptest! {
    #[test]
    fn similar_leaves_come_back(text in document()) {
        check(&text);
    }
}
