//! Written text reads back as the same tree.

use crate::golden::examples;
use expect_test::{Expect, expect};
use yfs_markdown::{parse::parse, schema::SchemaProfile, tree_equality::same, write::write};

fn check_examples(profile: SchemaProfile, expected: Expect) {
    let mut lines = Vec::new();
    // Marks on breaks and images, which Yjs does not keep.
    let mut n_marks_moved = 0;
    let mut differing = Vec::new();
    let examples = examples(profile);
    for (name, prefix) in [("commonmark", "cm-"), ("gfm", "gfm-"), ("extensions", "gfmx-")] {
        let group: Vec<_> =
            examples.iter().filter(|example| example.id.starts_with(prefix)).collect();
        let mut n_equal = 0;
        for example in &group {
            let tree = parse(&example.markdown, profile);
            let text = write(&tree, profile);
            let again = parse(&text, profile);
            let is_same = same(&again, &tree);
            if is_same && again != tree {
                n_marks_moved += 1;
            }
            if is_same {
                n_equal += 1;
            } else {
                differing.push(example.id.as_str());
            }
        }
        lines.push(format!("{name} {n_equal}/{}", group.len()));
    }
    lines.push(format!("marks on elements differ in {n_marks_moved}"));
    lines.push(differing.join(" "));
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn commonmark_reads_back() {
    check_examples(
        SchemaProfile::CommonMark,
        expect![[r#"
        commonmark 652/652
        gfm 24/24
        extensions 28/28
        marks on elements differ in 0
    "#]],
    );
}

#[test]
fn gfm_reads_back() {
    check_examples(
        SchemaProfile::Gfm,
        expect![[r#"
        commonmark 652/652
        gfm 24/24
        extensions 28/28
        marks on elements differ in 1
    "#]],
    );
}
