//! Compares the trees of this crate with those of prosemirror-markdown and Milkdown.

use crate::golden::examples;
use crate::json::{equal, to_json};
use expect_test::{Expect, expect};
use yfs_markdown::{
    parse::{parse, parse_like_editors},
    schema::{SchemaProfile, check},
    tree::{MarkdownNode, TextMark, TreeElement},
    write::write,
};

/// Counts equal trees by source, and lists the CommonMark examples that differ.
fn check_equality(profile: SchemaProfile, expected: Expect) {
    let mut lines = Vec::new();
    let mut differing = Vec::new();
    let groups = [("commonmark", "cm-"), ("gfm", "gfm-"), ("extensions", "gfmx-")];
    let examples = examples(profile);
    for (name, prefix) in groups {
        let group: Vec<_> =
            examples.iter().filter(|example| example.id.starts_with(prefix)).collect();
        let mut n_equal = 0;
        for example in &group {
            let ours = parse_like_editors(&example.markdown, profile);
            let theirs = serde_json::from_str(&example.document).expect("the fixture is JSON");
            if equal(&to_json(&ours), &theirs) {
                n_equal += 1;
            } else {
                differing.push(example.id.as_str());
            }
        }
        lines.push(format!("{name} {n_equal}/{}", group.len()));
    }
    lines.push(differing.join(" "));
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn trees_are_those_of_prosemirror_markdown() {
    check_equality(
        SchemaProfile::CommonMark,
        expect![[r#"
        commonmark 651/652
        gfm 24/24
        extensions 28/28
        cm-491"#]],
    );
}

#[test]
fn trees_are_those_of_milkdown() {
    check_equality(
        SchemaProfile::Gfm,
        expect![[r#"
        commonmark 639/652
        gfm 11/24
        extensions 21/28
        cm-39 cm-173 cm-317 cm-320 cm-335 cm-337 cm-602 cm-606 cm-608 cm-611 cm-612 cm-640 cm-641 gfm-202 gfm-204 gfm-621 gfm-622 gfm-623 gfm-624 gfm-625 gfm-626 gfm-627 gfm-628 gfm-629 gfm-630 gfm-631 gfmx-8 gfmx-9 gfmx-15 gfmx-19 gfmx-20 gfmx-24 gfmx-25"#]],
    );
}

#[test]
fn editors_can_build_what_we_store() {
    for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
        for example in examples(profile) {
            let tree = parse(&example.markdown, profile);
            assert_eq!(check(&tree, profile), Ok(()), "{}: {tree}", example.id);
        }
    }
}

fn check_parse(text: &str, commonmark: Expect, gfm: Expect) {
    commonmark.assert_eq(&parse(text, SchemaProfile::CommonMark).to_string());
    gfm.assert_eq(&parse(text, SchemaProfile::Gfm).to_string());
}

/// Content that this crate keeps and the editors' parsers lose.
#[test]
fn we_keep_what_editors_would_lose() {
    check_parse(
        "a\nb",
        expect![[r#"doc(paragraph("a\nb"))"#]],
        expect![[r#"doc(paragraph("a" hardbreak{isInline=true} "b"))"#]],
    );
    check_parse(
        "![a\nb](c)",
        expect![[r#"doc(paragraph(image{src="c" alt="a b"}))"#]],
        expect![[r#"doc(paragraph(image{src="c" alt="a b" title=""}))"#]],
    );
    check_parse(
        "*a _b_ c*",
        expect![[r#"doc(paragraph(em:"a b c"))"#]],
        expect![[
            r#"doc(paragraph(emphasis{marker="*"}:"a " emphasis{marker="_"}:"b" emphasis{marker="*"}:" c"))"#
        ]],
    );
    check_parse(
        "0. a\n\n\n   b",
        expect![[
            r#"doc(ordered_list{order=0 tight=false}(list_item(paragraph("a") paragraph("b"))))"#
        ]],
        expect![[
            r#"doc(ordered_list{order=0 spread=false}(list_item{label="0." listType="ordered" spread=true}(paragraph("a") paragraph("b"))))"#
        ]],
    );
    check_parse(
        "a  \nb\n=",
        expect![[r#"doc(heading{level=1}("a b"))"#]],
        expect![[r#"doc(heading{id="a-b" level=1}("a" hardbreak{isInline=false} "b"))"#]],
    );
    check_parse(
        "``` js  x\n```",
        expect![[r#"doc(code_block{params="js  x"})"#]],
        expect![[r#"doc(code_block{language="js  x"})"#]],
    );
    check_parse(
        "x<br>y <b>*z*</b>",
        expect![[r#"doc(paragraph("x<br>y <b>" em:"z" "</b>"))"#]],
        expect![[
            r#"doc(paragraph("x" html{value="<br>"} "y " html{value="<b>"} emphasis{marker="*"}:"z" html{value="</b>"}))"#
        ]],
    );
    check_parse(
        "|a|\n|-|\n|b\\|c|",
        expect![[r#"doc(paragraph("|a|\n|-|\n|b\\|c|"))"#]],
        expect![[
            r#"doc(table(table_header_row(table_header{colspan=1 rowspan=1}(paragraph("a"))) table_row(table_cell{colspan=1 rowspan=1}(paragraph("b|c")))))"#
        ]],
    );
    check_parse(
        "[a](/ä%20\"b)",
        expect![[r#"doc(paragraph(link{href="/ä%20\"b"}:"a"))"#]],
        expect![[r#"doc(paragraph(link{href="/ä%20\"b"}:"a"))"#]],
    );
}

/// As Milkdown writes them on the first edit: else it would write.
#[test]
fn headings_and_items_are_labelled() {
    let text = "# A b\n\n## a  *B*\n\n#\n\nA\nb\n===\n\n3. x\n4. y\n   - [ ] z";
    let tree = parse(text, SchemaProfile::Gfm);
    expect![[r#"doc(heading{id="a-b" level=1}("A b") heading{id="a-b-#2" level=2}("a  " emphasis{marker="*"}:"B") heading{id="" level=1} heading{id="a-b-#3" level=1}("A" hardbreak{isInline=true} "b") ordered_list{order=3 spread=false}(list_item{label="3." listType="ordered" spread=false}(paragraph("x")) list_item{label="4." listType="ordered" spread=false}(paragraph("y") bullet_list{spread=false}(list_item{label="•" listType="bullet" spread=false checked=false}(paragraph("z"))))))"#]].assert_eq(&tree.to_string());
}

/// Milkdown would give the row its cells.
#[test]
fn a_table_that_is_all_head_has_cells_below() {
    let expected = expect![[
        r#"doc(table(table_header_row(table_header{colspan=1 rowspan=1 alignment="left"}(paragraph("a"))) table_row(table_cell{colspan=1 rowspan=1 alignment="left"}(paragraph))))"#
    ]];
    for text in ["|a|\n|:-|", "|a|\n|:-|\n||"] {
        expected.assert_eq(&parse(text, SchemaProfile::Gfm).to_string());
    }
    let tree = parse("|a|\n|:-|\n||", SchemaProfile::Gfm);
    assert_eq!(write(&tree, SchemaProfile::Gfm), "| a |\n| :-- |\n");
}

#[test]
fn elements_that_editors_would_delete_are_reported() {
    let check = |element: TreeElement, profile, expected: &str| {
        let document = TreeElement::new("doc").with_children(vec![element.into()]);
        let violation = check(&document, profile).expect_err("it was accepted");
        assert_eq!(violation.to_string(), expected);
    };
    let text = |marks| vec![MarkdownNode::text("x", marks)];
    let (pm, gfm) = (SchemaProfile::CommonMark, SchemaProfile::Gfm);
    check(TreeElement::new("hr"), pm, "the profile has no element \"hr\"");
    check(
        TreeElement::new("paragraph").with_children(text(vec![TextMark::new("emphasis")])),
        pm,
        "the profile has no mark \"emphasis\"",
    );
    check(
        TreeElement::new("heading").with("level", "2"),
        pm,
        "attribute \"level\" of \"heading\" is missing or of another type",
    );
    check(
        TreeElement::new("paragraph").with_children(vec![TreeElement::new("image").into()]),
        pm,
        "attribute \"src\" of \"image\" is missing or of another type",
    );
    check(
        TreeElement::new("paragraph").with_children(text(vec![TextMark::new("link")])),
        gfm,
        "attribute \"href\" of \"link\" is missing or of another type",
    );
    check(TreeElement::new("blockquote"), gfm, "\"blockquote\" has children that it must not have");
    check(
        TreeElement::new("heading").with_children(vec![TreeElement::new("hard_break").into()]),
        pm,
        "\"heading\" has children that it must not have",
    );
    check(
        TreeElement::new("code_block").with_children(text(vec![TextMark::new("strong")])),
        gfm,
        "\"code_block\" has children that it must not have",
    );
    let item = TreeElement::new("list_item").with_children(vec![TreeElement::new("hr").into()]);
    let list = TreeElement::new("bullet_list").with_children(vec![item.into()]);
    check(list, gfm, "\"list_item\" has children that it must not have");
}
