//! Lists with any markers, beside each other and separated by lines that are in no tree: such a
//! file comes back byte for byte, and a word that changes elsewhere changes no other line.

use proptest::prelude::*;
use yfs_markdown::{
    schema::SchemaProfile,
    source::{remember, render},
    tree::{MarkdownNode, TreeElement},
};

/// A word that occurs once in each text.
const WORD: &str = "elsewhere";

fn replace_word(element: &mut TreeElement, by: &str) {
    for child in &mut element.children {
        match child {
            MarkdownNode::Element(element) => replace_word(element, by),
            MarkdownNode::Text(run) => run.text = run.text.replace(WORD, by),
        }
    }
}

/// Compares the bytes of a file before and after it was a tree, and after a word changed.
fn check(text: &str) {
    for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
        let (mut document, map) = remember(text, profile);
        assert_eq!(render(&document, &map, profile), text, "unchanged, in {profile:?}");
        replace_word(&mut document, "there");
        let changed = text.replace(WORD, "there");
        assert_eq!(render(&document, &map, profile), changed, "changed, in {profile:?}");
    }
}

#[test]
fn lists_around_a_definition_keep_their_markers() {
    for text in [
        "* a\n\n[x]: y\n\n* b\n",
        "* a\n[x]: y\n\n* b\n",
        "* a\n\n[x]: y\n\n* b\n\n[z]: y\n\n* c\n\nelsewhere\n",
        "- a\n\n[x]: y\n\n- b\n",
        "+ a\n\n[x]: y\n\n* b\n\n[z]: y\n\n- c\n",
        "1) a\n\n[x]: y\n\n1) b\n\nelsewhere\n",
        "1. a\n\n[x]: y\n\n1. b\n",
        "> * a\n>\n> [x]: y\n>\n> * b\n\nelsewhere\n",
        "- one\n\n  * a\n\n  [x]: y\n\n  * b\n",
        "* a\n* b\n\n<!-- c -->\n\n* c\n\n***\n\n* d\n\nelsewhere\n",
    ] {
        check(text);
    }
}

/// The gap between `b c` and `g` is as usual, as is the one between the rule and `g`; other gaps
/// beside each of the three are not.
#[test]
fn equal_items_of_several_lists_keep_the_lines_between_them() {
    check(concat!(
        "- *d*\n\n***\n\n* g\n\n  h\n* b c\n* g\n\n  h\n\n",
        "+ *d*\n<!-- comment -->\n-   g\n\n    h\n-   b c\n\n\n# Words elsewhere\n",
    ));
}

/// One to three items of one list.
fn list() -> impl Strategy<Value = String> {
    let marker =
        prop::sample::select(vec!["-", "*", "+", "1.", "1)", "2.", "7)", "-  ", " *", "  +"]);
    let item =
        prop::sample::select(vec!["a", "b c", "*d*", "[x]", "1986\\. e", "[ ] f", "g\n\n%h"]);
    (marker, prop::collection::vec(item, 1..4), any::<bool>()).prop_map(|(marker, items, loose)| {
        let rest = " ".repeat(marker.len() + 1);
        let lines = items.iter().map(|item| format!("{marker} {}\n", item.replace('%', &rest)));
        lines.collect::<Vec<_>>().join(if loose { "\n" } else { "" })
    })
}

/// Lines between two blocks.
fn separator() -> impl Strategy<Value = String> {
    let separators = [
        "\n",
        "\n\n",
        "\n[x]: y\n\n",
        "[x]: /url 'title'\n",
        "\n[x]: y\n[z]: y\n\n\n",
        "\n***\n\n",
        "\n- - -\n\n",
        "\n---\n",
        "___\n",
        "\n<!-- comment -->\n\n",
        "<!-- comment -->\n",
        "\n<!-- two\nlines -->\n",
        "\n",
        "",
        "\nwords\n\n",
        "\n# h\n\n",
        "\n    code\n\n",
    ];
    prop::sample::select(separators.to_vec()).prop_map(str::to_owned)
}

fn document() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec((list(), separator()), 1..6);
    let wrapper = prop::sample::select(vec!["", "", "> ", "  "]);
    (parts, wrapper, any::<bool>(), any::<bool>()).prop_map(
        |(parts, wrapper, is_first, is_open)| {
            let body: String = parts.into_iter().map(|(list, between)| list + &between).collect();
            let lines =
                body.lines().map(|line| format!("{wrapper}{line}").trim_end().to_owned() + "\n");
            let body: String = lines.collect();
            let mut text = match is_first {
                true => format!("Words {WORD} and here.\n\n{body}"),
                false => format!("{body}\n# Words {WORD}\n"),
            };
            if is_open {
                text.truncate(text.trim_end().len());
            }
            text
        },
    )
}

/// Returns a configuration with `n_cases` cases, or with the number in `PROPTEST_CASES` if that
/// variable is set.
fn config(n_cases: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let is_set = std::env::var_os("PROPTEST_CASES").is_some();
    if is_set { config } else { ProptestConfig { cases: n_cases, ..config } }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn files_of_lists_come_back(text in document()) {
        check(&text);
    }
}
