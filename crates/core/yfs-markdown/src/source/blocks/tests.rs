//! Documents that change block by block, beside the same documents rendered whole.

use proptest::prelude::*;

use super::RenderedBlocks;
use crate::{
    parse::parse,
    schema::SchemaProfile,
    source::{remember, render_checked},
    tree::{MarkdownNode, TreeElement},
};

const BLOCKS: [&str; 22] = [
    "A paragraph.",
    "Another *one*, of\ntwo lines.",
    "Setext\n======",
    "# Title #",
    "## Part",
    "- one\n- two",
    "* one\n* two",
    "+ one\n\n  more\n+ two",
    "1. one\n2. two",
    "3) three\n7) seven",
    "> quoted\n> twice",
    ">quoted\nlazily",
    "```rust\nlet x;\n```",
    "~~~\ncode\n~~~",
    "    indented",
    "| a | b |\n| --- | --- |\n| c | d |",
    "|a|b|\n|-|-|",
    "***",
    "---",
    "<div>\nhtml\n</div>",
    "<!-- a\n\ncomment -->",
    "[x]: /defined",
];

fn blocks() -> impl Strategy<Value = Vec<(usize, usize)>> {
    proptest::collection::vec((0..BLOCKS.len(), 0..12_usize), 1..14)
}

fn file(blocks: &[(usize, usize)]) -> String {
    let mut text = String::new();
    for (block, gap) in blocks {
        text.push_str(BLOCKS[*block]);
        text.push_str(match gap {
            0 => "\n",
            1 => "\n\n\n",
            2 => "\n \n",
            _ => "\n\n",
        });
    }
    text
}

/// Replaces blocks, and compares with the whole document rendered at once.
fn check(
    text: &str,
    edits: &[(usize, usize, usize, usize)],
    profile: SchemaProfile,
) -> Result<usize, TestCaseError> {
    let (mut document, map) = remember(text, profile);
    let whole = render_checked(&document, &map, profile);
    let Some(mut rendered) = RenderedBlocks::new(&document, &map, profile) else { return Ok(0) };
    prop_assert_eq!(rendered.text(), &whole.text);
    let mut n_replaced = 0;
    for (at, n_gone, block, kind) in edits {
        let n_blocks = document.children.len();
        let start = at % (n_blocks + 1);
        let end = (start + n_gone).min(n_blocks);
        let come: Vec<MarkdownNode> = match kind {
            0 => Vec::new(),
            1 => vec![TreeElement::new("paragraph").into()],
            2 => {
                let typed =
                    MarkdownNode::text(format!("typed {block} words - # [x] *"), Vec::new());
                vec![TreeElement::new("paragraph").with_children(vec![typed]).into()]
            }
            _ => parse(BLOCKS[block % BLOCKS.len()], profile).children,
        };
        let around = rendered.around(start..end);
        let mut window = document.children[around.start..start].to_vec();
        window.extend(come.iter().cloned());
        window.extend_from_slice(&document.children[end..around.end]);
        document.children.splice(start..end, come);
        let whole = render_checked(&document, &map, profile);
        let before = rendered.clone();
        if rendered.replace(&map, profile, start..end, window) {
            n_replaced += 1;
            prop_assert_eq!(rendered.text(), &whole.text);
            prop_assert_eq!(rendered.is_exact(), whole.is_exact);
            prop_assert_eq!(rendered.n_blocks(), document.children.len());
        } else {
            prop_assert_eq!(rendered.text(), before.text());
            let Some(again) = RenderedBlocks::new(&document, &map, profile) else { break };
            prop_assert_eq!(again.text(), &whole.text);
            rendered = again;
        }
    }
    Ok(n_replaced)
}

#[test]
fn a_letter_in_a_paragraph_costs_no_whole_rendering() {
    let text = file(&[(0, 9), (4, 9), (1, 9), (5, 9), (12, 9), (1, 9), (0, 9)]);
    for at in 0..7 {
        let n_replaced =
            check(&text, &[(at, 1, 0, 2)], SchemaProfile::Gfm).expect("they are equal");
        assert_eq!(n_replaced, 1, "block {at}");
    }
}

proptest! {
    #[test]
    fn blocks_are_written_as_in_the_whole(
        blocks in blocks(),
        edits in proptest::collection::vec(
            (0..16_usize, 0..3_usize, 0..40_usize, 0..5_usize),
            1..8,
        ),
    ) {
        let text = file(&blocks);
        check(&text, &edits, SchemaProfile::Gfm)?;
        check(&text, &edits, SchemaProfile::CommonMark)?;
    }
}
