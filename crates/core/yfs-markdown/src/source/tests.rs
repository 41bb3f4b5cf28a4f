//! The memory, entry by entry, and the effect of changes.

use expect_test::{Expect, expect};

use super::{SourceMap, key::LeafKey, remember, render};
use crate::{
    outline::TreeOutline,
    schema::SchemaProfile,
    tree::{MarkdownNode, TreeElement},
};

fn check_entries(text: &str, expected: Expect) {
    let (_, map) = remember(text, SchemaProfile::Gfm);
    let shown = map.entries().into_values().collect::<Vec<_>>().join("--\n");
    expected.assert_eq(&shown);
}

/// Replaces a word wherever it stands in the tree, and shows the lines that differ in the file.
fn check_change(text: &str, word: &str, by: &str, expected: Expect) {
    let shown = [SchemaProfile::CommonMark, SchemaProfile::Gfm].map(|profile| {
        let (mut document, map) = remember(text, profile);
        assert_eq!(render(&document, &map, profile), text, "unchanged, in {profile:?}");
        replace(&mut document, word, by);
        let again = render(&document, &map, profile);
        let (old, new): (Vec<_>, Vec<_>) = (text.lines().collect(), again.lines().collect());
        let mut shown = String::new();
        old.iter()
            .filter(|line| !new.contains(line))
            .for_each(|line| shown += &format!("-{line}\n"));
        new.iter()
            .filter(|line| !old.contains(line))
            .for_each(|line| shown += &format!("+{line}\n"));
        shown
    });
    assert_eq!(shown[0], shown[1]);
    expected.assert_eq(&shown[0]);
}

fn replace(element: &mut TreeElement, word: &str, by: &str) {
    for child in &mut element.children {
        match child {
            MarkdownNode::Element(element) => replace(element, word, by),
            MarkdownNode::Text(text) => text.text = text.text.replace(word, by),
        }
    }
}

#[test]
fn usual_style_is_not_remembered() {
    let text = "# Title\n\nWords *and* words\nwrapped.\n\n- one\n- two\n\n1. one\n2. two\n";
    check_entries(text, expect![""]);
}

#[test]
fn what_differs_is_remembered_leaf_by_leaf() {
    check_entries(
        "* one\n* two\n",
        expect![[r#"
            0 1 * |  
            aone
            --
            0 1 * |  
            atwo
            --
            1 lf like"#]],
    );
    check_entries(
        "a\n\n\n\n[x]: /y\n\nb [x]",
        expect![[r#"
            0 5 
            a
            a
            a
            a[x]: /y
            a
            --
            0 1 
            ab [x]
            --
            1 lf open defs like"#]],
    );
    check_entries(
        "> a\n>b\n",
        expect![[r#"
            0 2 > |>
            aa
            ab
            --
            1 lf like"#]],
    );
    check_entries(
        "same\n***\nother\n\n---\nsame\n",
        expect![[r#"
            46146 0 
            --
            45395 0 
            --
            46908 = 
            --
            8823 0 
            --
            13080 1 
            a***
            45331 = 
            --
            1 lf like"#]],
    );
}

const NOTES: &str = "\
Title\r
=====\r
See [the *guide*][guide],  and_so on\r
wrapped \\* here\r
\r
\r
 *  apples\r
 *  pears\r
     1)  one\r
     2)  two\r
\r
 *  plums\r
\r
[guide]: <https://example.org/a b> 'Guide'\r
\r
>quoted\r
>  and more\r
> > deeper\r
\r
~~~ rust ~~~\r
\tlet tide = 1;\r
~~~\r
***\r
last";

#[test]
fn a_change_touches_the_lines_of_its_leaf() {
    check_change(
        NOTES,
        "Title",
        "Name",
        expect![[r#"
        -Title
        -=====
        +# Name
    "#]],
    );
    check_change(
        NOTES,
        "guide",
        "map",
        expect![[r#"
            -See [the *guide*][guide],  and_so on
            +See [the *map*][guide],  and_so on
        "#]],
    );
    check_change(
        NOTES,
        "apples",
        "figs",
        expect![[r#"
        - *  apples
        + *  figs
    "#]],
    );
    check_change(
        NOTES,
        "pears",
        "figs",
        expect![[r#"
        - *  pears
        + *  figs
    "#]],
    );
    check_change(
        NOTES,
        "two",
        "three",
        expect![[r#"
        -     2)  two
        +     2)  three
    "#]],
    );
}

/// A file is renamed to `.md` while a person types: the blank that was typed last is the one before
/// the next word. It stayed behind all that was typed later.
#[test]
fn a_blank_at_the_end_is_the_one_before_what_is_typed_next() {
    check_change(
        "first \n\nLast\n",
        "first",
        "first and more",
        expect![[r#"
        -first 
        +first and more
    "#]],
    );
    check_change(
        "first \n\nLast\n",
        "first",
        "first!",
        expect![[r#"
        -first 
        +first! 
    "#]],
    );
}

#[test]
fn a_change_in_lists_and_quotes_touches_one_line() {
    check_change(
        NOTES,
        "plums",
        "figs",
        expect![[r#"
        - *  plums
        + *  figs
    "#]],
    );
    check_change(
        NOTES,
        "quoted",
        "said",
        expect![[r#"
            ->quoted
            +>said
        "#]],
    );
    check_change(
        NOTES,
        "deeper",
        "down",
        expect![[r#"
        -> > deeper
        +> > down
    "#]],
    );
    check_change(
        NOTES,
        "last",
        "end",
        expect![[r#"
        -last
        +end
    "#]],
    );
}

#[test]
fn a_box_is_ticked_in_its_line() {
    let text = "* [ ]  one\n* [x]  _two_\n\n\n* [ ] three\n";
    let (mut document, map) = remember(text, SchemaProfile::Gfm);
    let MarkdownNode::Element(list) = &mut document.children[0] else { panic!("a list") };
    let MarkdownNode::Element(item) = &mut list.children[1] else { panic!("an item") };
    let checked = item.attributes.iter_mut().find(|(name, _)| name == "checked");
    checked.expect("items have it").1 = false.into();
    let again = render(&document, &map, SchemaProfile::Gfm);
    assert_eq!(again, text.replace("* [x]  _two_", "* [ ] _two_"));
}

#[test]
fn items_come_and_go_without_a_trace_in_others() {
    let text = "3)  three\n4)  four\n5)  five\n";
    let (document, map) = remember(text, SchemaProfile::CommonMark);
    let change = |change: &dyn Fn(&mut Vec<MarkdownNode>)| {
        let mut document = document.clone();
        let MarkdownNode::Element(list) = &mut document.children[0] else { panic!("a list") };
        change(&mut list.children);
        render(&document, &map, SchemaProfile::CommonMark)
    };
    let new = || {
        let text = MarkdownNode::text("new", Vec::new());
        let paragraph = TreeElement::new("paragraph").with_children(vec![text]);
        MarkdownNode::from(TreeElement::new("list_item").with_children(vec![paragraph.into()]))
    };
    expect![[r#"
        3)  three
        4)  new
        5)  four
        6)  five
    "#]]
    .assert_eq(&change(&|items| items.insert(1, new())));
    expect![[r#"
        3)  new
        4)  three
        5)  four
        6)  five
    "#]]
    .assert_eq(&change(&|items| items.insert(0, new())));
    expect![[r#"
        3)  four
        5)  five
    "#]]
    .assert_eq(&change(&|items| drop(items.remove(0))));
    expect![[r#"
        3)  five
        4)  four
        3)  three
    "#]]
    .assert_eq(&change(&|items| items.swap(0, 2)));
}

/// Fails unless a word that is replaced in the tree is all that changes in the text.
fn check_only_change(text: &str, word: &str, by: &str) {
    assert_eq!(text.matches(word).count(), 1, "{word} in {text}");
    for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
        let (mut document, map) = remember(text, profile);
        assert_eq!(render(&document, &map, profile), text, "unchanged, in {profile:?}");
        replace(&mut document, word, by);
        let again = render(&document, &map, profile);
        assert_eq!(again, text.replace(word, by), "in {profile:?}");
    }
}

/// An edited item was counted: `10.` after `2.` became `3.`.
#[test]
fn an_edited_item_keeps_its_number() {
    for numbers in [[1, 2, 10], [1, 2, 1], [5, 4, 3], [1, 1, 1], [0, 1, 2], [1, 1, 2]] {
        for gap in ["", "\n"] {
            let words = numbers.iter().zip(["ape", "cat", "dog"]);
            let lines = words.map(|(number, word)| format!("{number}. {word}\n{gap}"));
            let text = format!("# Text\n\n{}", lines.collect::<String>());
            let text = format!("{}\n", text.trim_end());
            for word in ["ape", "cat", "dog"] {
                check_only_change(&text, word, &format!("{word}s"));
            }
        }
    }
    check_only_change("01. ape\n02. cat\n03. dog\n", "cat", "cats");
}

/// The words of a template included those of targets that are none, and of references to
/// characters, so that leaves of one or two words had no template.
#[test]
fn a_leaf_of_few_words_keeps_its_notation() {
    check_only_change("&amp; x\n", "x", "xZ");
    check_only_change("k &copy; x\n", "k", "kZ");
    check_only_change("&lt;b&gt; x\n", "b", "Zb");
    check_only_change("![i](j =10x20) k\n", "k", "kZ");
    check_only_change("![i](j =10x20) k\n", "![", "!Z[");
    check_only_change("[a](<b c> \"t\") [x](y\\)z) ![i](j =10x20)\n", "j =", "jZ =");
}

/// A row may have more cells than its table. They are not shown, and went with an edit of the row.
#[test]
fn cells_beyond_the_last_column_stay_when_the_row_is_edited() {
    let table = "| a | b |\n|---|---|\n| x | y | z |\n";
    check_only_change(table, "x", "xZ");
    check_only_change(table, "y", "Zy");
}

/// The blank before a link and its text are deleted. The link stayed as `[](/p)`, without text.
#[test]
fn a_link_goes_with_its_text() {
    for link in ["[postmortem](/p)", "**[postmortem](/p)**", "![](/i)[x](/p)"] {
        let text = format!("Read one {link} and write.\n");
        let (mut document, map) = remember(&text, SchemaProfile::Gfm);
        let MarkdownNode::Element(paragraph) = &mut document.children[0] else { panic!("one") };
        paragraph.children.drain(1..paragraph.children.len() - 1);
        let MarkdownNode::Text(first) = &mut paragraph.children[0] else { panic!("a text") };
        first.text = "Read one".into();
        let again = render(&document, &map, SchemaProfile::Gfm);
        assert_eq!(again, "Read one and write.\n", "{text}");
    }
}

/// An item whose whole text was replaced has no template: it was counted.
#[test]
fn an_item_with_another_text_keeps_its_number() {
    let lists: &[&[u64]] =
        &[&[1, 1], &[7, 7], &[0, 0], &[3, 9], &[1, 2, 10], &[5, 4, 3], &[1, 1, 1], &[7, 8, 9]];
    for (numbers, indent) in lists.iter().zip(["", "", "- a\n\n  ", "> "].into_iter().cycle()) {
        for gap in ["", "\n"] {
            let rest = indent.replace("- a\n\n", "");
            let words = numbers.iter().zip(["ape", "cat", "dog"]);
            let lines = words.map(|(number, word)| format!("{rest}{number}. {word}\n"));
            let lines: Vec<String> = lines.collect();
            let gap = if gap.is_empty() { "" } else { &format!("{}\n", rest.trim_end()) };
            let first = if indent.starts_with('-') { "- a\n\n" } else { "" };
            let text = first.to_owned() + &lines.join(gap);
            for word in &["ape", "cat", "dog"][..numbers.len()] {
                check_only_change(&text, word, "quux");
            }
        }
    }
}

/// A row with fewer cells than its table got the missing ones.
#[test]
fn a_row_with_fewer_cells_gets_none_when_it_is_edited() {
    for row in ["| q |", "|q|", "q", "| q", "q |", "|  q  |", "| q |  "] {
        for by in ["qZ", "Zq", "zebra", "two words"] {
            for around in ["", "| rest | of |\n", "| rest |\n"] {
                let head = "| alpha | beta |\n|---|---|\n";
                check_only_change(&format!("{head}{around}{row}\n"), "q", by);
                check_only_change(&format!("{head}{row}\n{around}"), "q", by);
            }
        }
    }
}

#[test]
fn only_what_changed_is_written_again() {
    let (_, old) = remember("* one\n* two\n\n_a_\n", SchemaProfile::CommonMark);
    let (_, new) = remember("* one\n* three\n\n_a_\n", SchemaProfile::CommonMark);
    let changes = old.changes(&new);
    let set = changes.iter().filter(|(_, value)| value.is_some()).count();
    assert_eq!((set, changes.len() - set), (1, 1));
    let entries = new.entries();
    let again = SourceMap::from_entries(entries.iter().map(|(k, v)| (k.as_str(), v.as_str())));
    assert_eq!(again, new);
}

#[test]
fn garbled_entries_are_not_remembered() {
    let garbled = [
        ("style", "9 crlf strange"),
        ("lAAAAAAAAAAA", "x"),
        ("lAAAAAAAAAAB", "0 99999999999999999999 \n"),
        ("lAAAAAAAAAAC", "0 3 \naone\n"),
        ("lAAAAAAAAAAD", "0 1 [x]|\naone\n"),
        ("lAAAAAAAAAA", "0 1 \naone\n"),
        ("lé", "0 1 \naone\n"),
        ("gé0000000000000000000000", "0 1 \naone\n"),
        ("", ""),
    ];
    let map = SourceMap::from_entries(garbled);
    let entries = map.entries();
    assert_eq!(entries.into_iter().collect::<Vec<_>>(), [("style".into(), "1 crlf".to_owned())]);
}

/// One entry must not be written again and again.
#[test]
fn no_memory_makes_a_long_text_of_a_short_one() {
    let text = "- a\n\n---\n\n".repeat(2000);
    let (document, map) = remember(&text, SchemaProfile::Gfm);
    let long = format!("0 1 \na{}\n", "-".repeat(1 << 20));
    let wide = format!("0 = {0}|{0}\n", " ".repeat(1 << 20));
    let keys = LeafKey::of_leaves(&TreeOutline::new(&document));
    let texts = keys.iter().map(|key| format!("l{}", key.to_text()));
    for (key, value) in texts.flat_map(|key| [(key.clone(), &long), (key, &wide)]).take(4) {
        let hostile = SourceMap::from_entries([(key.as_str(), value.as_str())]);
        let text = render(&document, &hostile, SchemaProfile::Gfm);
        assert!(text.len() < map.len() + (3 << 20), "{} bytes", text.len());
    }
}

#[test]
fn long_leaves_come_back_however_often() {
    let leaf = format!("* {}\n* b\n\n\n", "_word_ ".repeat(100));
    let text = leaf.repeat(5);
    let (document, map) = remember(&text, SchemaProfile::CommonMark);
    assert_eq!(render(&document, &map, SchemaProfile::CommonMark), text);
}
