//! Random texts from pieces that have a meaning in markdown.

use proptest::{collection::vec, prelude::*, sample::select};
use yfs_markdown::{
    front_matter::{self, patch, split},
    parse::parse,
    schema::{SchemaProfile, check},
    source::{SourceMap, remember, render},
    tree::{MarkdownNode, TreeElement},
    tree_equality::same,
    write::write,
};

#[rustfmt::skip]
const PARTS: &[&str] = &[
    "a", "b c", "word", "*", "**", "_", "__", "`", "``", "```", "~~~", "~~", "~", "[", "]", "(",
    ")", "](u)", "![", "]: /u", "[a]: /u\n", "[a]", "<", "<b>", "</b>", "<!--", "-->", "<div>",
    "&amp;", "&", "\\", "\n", "\n", "\n\n", "\n\n\n", " ", "  ", "   ", "    ", "\t", "- ", "* ",
    "+ ", "1. ", "2) ", "10. ", "> ", ">", "# ", "## ", "#", "---", "***", "===", "|", "|-|-|\n",
    "| a | b |\n", "[ ] ", "[x] ", "[^1]", "[^1]: ", "é", "\u{a0}", "!", "\"", "'", "http://x.y",
    "<http://x.y>", ":", "\r\n", "\r", "\0", "- - ", "\\\n", "  \n", "&#10;", "\u{feff}", "😀",
];

fn text() -> impl Strategy<Value = String> {
    vec(select(PARTS), 0..30).prop_map(|parts| parts.concat())
}

fn profile() -> impl Strategy<Value = SchemaProfile> {
    select(vec![SchemaProfile::CommonMark, SchemaProfile::Gfm])
}

/// Puts a word into the run of text at an index, counted around.
fn edit(element: &mut TreeElement, index: &mut usize) -> bool {
    element.children.iter_mut().any(|child| match child {
        MarkdownNode::Element(element) => edit(element, index),
        MarkdownNode::Text(run) if *index == 0 => {
            let at = run.text.char_indices().nth(run.text.chars().count() / 2);
            run.text.insert_str(at.map_or(0, |(at, _)| at), "new");
            true
        }
        MarkdownNode::Text(_) => {
            *index -= 1;
            false
        }
    })
}

fn assert_means(text: &str, document: &TreeElement, profile: SchemaProfile) {
    let read = parse(text, profile);
    let meant = parse(&write(document, profile), profile);
    assert!(same(&read, document) || same(&read, &meant), "{text:?} reads {read}, not {document}");
}

proptest! {
    #[test]
    fn bytes_come_back(text in text(), profile in profile()) {
        let (document, map) = remember(&text, profile);
        prop_assert_eq!(check(&document, profile), Ok(()));
        let entries = map.entries();
        let again = SourceMap::from_entries(entries.iter().map(|(k, v)| (k.as_str(), v.as_str())));
        prop_assert_eq!(&again, &map);
        prop_assert_eq!(render(&document, &again, profile), text);
    }

    #[test]
    fn what_is_served_means_the_tree(
        text in text(),
        other in text(),
        index in 0..20_usize,
        profile in profile(),
    ) {
        let (mut document, map) = remember(&text, profile);
        let (_, stale) = remember(&format!("{text}\n\n{other}"), profile);
        assert_means(&render(&document, &stale, profile), &document, profile);
        let mut index = index;
        while !edit(&mut document, &mut index) && index > 0 {
            index /= 2;
        }
        assert_means(&render(&document, &map, profile), &document, profile);
        assert_means(&render(&document, &stale, profile), &document, profile);
    }

    /// Entries of another under the same keys: any result of merging two people's changes.
    #[test]
    fn merged_memories_do_no_harm(one in text(), two in text(), profile in profile()) {
        let (document, ours) = remember(&one, profile);
        let (_, theirs) = remember(&two, profile);
        let (ours, theirs) = (ours.entries(), theirs.entries());
        let swapped = ours.keys().zip(theirs.values()).chain(&theirs);
        let map = SourceMap::from_entries(swapped.map(|(k, v)| (k.as_str(), v.as_str())));
        assert_means(&render(&document, &map, profile), &document, profile);
    }

    #[test]
    fn front_matter_comes_back(yaml in vec(select(vec![
        "a", "b", ": ", ":", "\n", "\n  ", "- ", "[", "]", "{", "}", ", ", "'", "\"", "# c", "|",
        ">", "1", "1.5", "true", "~", "&x ", "*x", "!t ", "\r\n", "\\n", "é", "2026-01-01", "?",
        "---", "...", "\t", "0x1F", " ",
    ]), 0..24), body in text()) {
        let text = format!("---\n{}\n---\n{body}", yaml.concat());
        let file = split(&text);
        if let Some(front) = file.front {
            let parts = [front.open, front.yaml, front.close, file.body];
            prop_assert_eq!(parts.concat(), text.as_str());
            if let Ok(mapping) = front_matter::read(front.yaml) {
                prop_assert_eq!(patch(front.yaml, &mapping.entries), front.yaml);
                let mut changed = mapping.entries.clone();
                if let Some(last) = changed.last_mut() {
                    last.1 = "new: value".into();
                }
                changed.push(("other".into(), true.into()));
                let patched = patch(front.yaml, &changed);
                let again = front_matter::read(&patched).expect("what is written can be read");
                prop_assert!(front_matter::same_entries(&again.entries, &changed), "{patched:?}");
            }
        } else {
            prop_assert_eq!(file.body, text.as_str());
        }
    }
}
