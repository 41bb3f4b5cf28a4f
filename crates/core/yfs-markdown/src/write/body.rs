//! The lines of one leaf, without the prefixes of containers.

use super::{
    escape,
    inline::{BlockContext, EscapeCare, inline, push_inline},
};
use crate::{
    outline::OutlineLeaf,
    schema::SchemaProfile,
    tree::{MarkdownNode, TreeElement},
};

/// Returns the lines of a leaf, separated by `\n`. Empty paragraphs have none, and no leaf has a
/// single empty one.
pub(crate) fn body(leaf: &OutlineLeaf<'_>, profile: SchemaProfile, care: EscapeCare) -> String {
    let element = leaf.element;
    let context = BlockContext { profile, care, in_cell: false, begins_item: leaf.begins_item };
    let mut text = match element.name.as_str() {
        "heading" => heading(element, context),
        "code_block" => code(element),
        "horizontal_rule" | "hr" if leaf.begins_item => "***".to_owned(),
        "horizontal_rule" | "hr" => "---".to_owned(),
        "table_header_row" => {
            let marks = cells(element).map(|cell| match cell.text_attribute("alignment") {
                "left" => ":--",
                "center" => ":-:",
                "right" => "--:",
                _ => "---",
            });
            let marks = marks.collect::<Vec<_>>().join(" | ");
            format!("{}\n| {marks} |", row(element, context))
        }
        "table_row" => row(element, context),
        _ => paragraph(element, context),
    };
    if let Some(is_checked) = leaf.checked {
        text.insert_str(0, if is_checked { "[x] " } else { "[ ] " });
    }
    text
}

/// Returns the lines of a result of [`body`].
pub(crate) fn lines(body: &str) -> impl Iterator<Item = &str> {
    body.split('\n').filter(|_| !body.is_empty())
}

fn paragraph(element: &TreeElement, context: BlockContext) -> String {
    if let [MarkdownNode::Element(html)] = element.children.as_slice()
        && html.name == "html"
    {
        return html.text_attribute("value").to_owned();
    }
    // A block of HTML that is kept as text.
    if let [MarkdownNode::Text(text)] = element.children.as_slice()
        && context.profile == SchemaProfile::CommonMark
        && context.care < EscapeCare::Other
        && text.marks.is_empty()
        && text.text.starts_with('<')
    {
        return text.text.clone();
    }
    inline(&element.children, context)
}

fn heading(element: &TreeElement, context: BlockContext) -> String {
    let level =
        element.attribute("level").and_then(crate::tree::AttributeValue::as_number).unwrap_or(1.0);
    let level = level.clamp(1.0, 6.0) as usize;
    let mut text = inline(&element.children, context);
    if text.contains('\n') {
        if level <= 2 {
            text.push_str(if level == 1 { "\n===" } else { "\n---" });
            return text;
        }
        text = text.replace("\\\n", " ").replace('\n', " ");
    }
    // After the marks, nothing opens a block.
    let is_needless = ["\\#", "\\-", "\\+", "\\>"].iter().any(|sign| text.starts_with(sign));
    if is_needless {
        text.remove(0);
    }
    let core = text.trim_end_matches('#').len();
    if core < text.len() && (core == 0 || text[..core].ends_with(' ')) {
        text.insert(text.len() - 1, '\\');
    }
    let marks = &"######"[..level];
    if text.is_empty() { marks.to_owned() } else { format!("{marks} {text}") }
}

fn code(element: &TreeElement) -> String {
    let text = element.plain_text();
    let name = if element.attribute("params").is_some() { "params" } else { "language" };
    let info = escape::info(element.text_attribute(name));
    let marker = if info.contains('`') { '~' } else { '`' };
    let longest =
        text.split(|character| character != marker).map(str::len).max().unwrap_or_default();
    let fence = marker.to_string().repeat(longest.max(2) + 1);
    match text.is_empty() {
        true => format!("{fence}{info}\n{fence}"),
        false => format!("{fence}{info}\n{text}\n{fence}"),
    }
}

fn cells(row: &TreeElement) -> impl Iterator<Item = &TreeElement> {
    row.children.iter().filter_map(MarkdownNode::as_element)
}

fn row(element: &TreeElement, context: BlockContext) -> String {
    let context = BlockContext { in_cell: true, ..context };
    let mut text = String::from("|");
    for (at, cell) in cells(element).enumerate() {
        text.push_str(if at > 0 { " | " } else { " " });
        if let Some(paragraph) = cell.children.first().and_then(MarkdownNode::as_element) {
            push_inline(&paragraph.children, context, &mut text);
        }
    }
    text.push_str(if text.len() > 1 { " |" } else { "  |" });
    text
}
