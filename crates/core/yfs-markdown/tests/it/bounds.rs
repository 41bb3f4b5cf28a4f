//! Hostile texts: no stack overflow, no quadratic time, trees of bounded depth.

use std::time::Instant;

use crate::hostile;
use yfs_markdown::{
    parse::parse,
    schema::SchemaProfile,
    source::{remember, render},
    tree::{MAX_DEPTH, MarkdownNode, TreeElement},
    write::write,
};

fn depth(element: &TreeElement) -> usize {
    let children = element.children.iter().filter_map(MarkdownNode::as_element).map(depth);
    1 + children.max().unwrap_or_default()
}

#[test]
fn trees_are_of_bounded_depth() {
    for (name, text) in hostile::texts(20_000) {
        for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
            let tree = parse(&text, profile);
            assert!(depth(&tree) <= MAX_DEPTH, "{name} in {profile:?}");
        }
    }
}

/// Parsers that are not linear take far longer than this for a text of this length.
/// `YFS_TEXT_BYTES` makes texts longer, for release builds.
#[test]
fn no_text_takes_long() {
    let n_bytes = std::env::var("YFS_TEXT_BYTES").ok().and_then(|text| text.parse().ok());
    let n_bytes = n_bytes.unwrap_or(30_000);
    for (name, text) in hostile::texts(n_bytes) {
        for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
            let start = Instant::now();
            let (document, map) = remember(&text, profile);
            assert!(render(&document, &map, profile) == text, "{name} in {profile:?}");
            let canonical = write(&document, profile);
            render(&parse(&canonical, profile), &map, profile);
            let seconds = start.elapsed().as_secs_f64();
            println!("{seconds:.3} s for {name} in {profile:?}, {} bytes", text.len());
            assert!(seconds < 120.0 + 4e-6 * n_bytes as f64, "{name} in {profile:?}: {seconds} s");
        }
    }
}

#[test]
fn markers_beyond_the_limit_are_text() {
    let text = format!("{}> - end", "> ".repeat(300));
    let tree = parse(&text, SchemaProfile::CommonMark);
    let expected = format!("{}> - end", "> ".repeat(300 - yfs_markdown::parse::MAX_MARKERS));
    assert_eq!(tree.plain_text(), expected);
    let rule = format!("{}\n", "- ".repeat(1000));
    assert_eq!(parse(&rule, SchemaProfile::CommonMark).to_string(), "doc(horizontal_rule)");
}
