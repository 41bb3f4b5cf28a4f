//! The lines of one leaf, without what containers put before them.

use super::{
    escape,
    inline::{Care, Context, inline},
};
use crate::{
    outline::Leaf,
    schema::Profile,
    tree::{Element, Node},
};

/// Returns the lines of a leaf. Empty paragraphs have none.
pub(crate) fn body(leaf: &Leaf<'_>, profile: Profile, care: Care) -> Vec<String> {
    let element = leaf.element;
    let context = Context { profile, care, in_cell: false, begins_item: leaf.begins_item };
    let mut lines = match element.name.as_str() {
        "heading" => heading(element, context),
        "code_block" => code(element),
        "horizontal_rule" | "hr" if leaf.begins_item => vec!["***".to_owned()],
        "horizontal_rule" | "hr" => vec!["---".to_owned()],
        "table_header_row" => {
            let marks = cells(element).map(|cell| match cell.text_attribute("alignment") {
                "left" => ":--",
                "center" => ":-:",
                "right" => "--:",
                _ => "---",
            });
            let marks = marks.collect::<Vec<_>>().join(" | ");
            vec![row(element, context), format!("| {marks} |")]
        }
        "table_row" => vec![row(element, context)],
        _ => paragraph(element, context),
    };
    if let Some(is_checked) = leaf.checked {
        let mark = if is_checked { "[x] " } else { "[ ] " };
        match lines.first_mut() {
            Some(first) => first.insert_str(0, mark),
            None => lines.push(mark.to_owned()),
        }
    }
    lines
}

fn lines(text: &str) -> Vec<String> {
    match text.is_empty() {
        true => Vec::new(),
        false => text.split('\n').map(ToOwned::to_owned).collect(),
    }
}

fn paragraph(element: &Element, context: Context) -> Vec<String> {
    if let [Node::Element(html)] = element.children.as_slice()
        && html.name == "html"
    {
        return lines(html.text_attribute("value"));
    }
    // A block of HTML that is kept as text.
    if let [Node::Text(text)] = element.children.as_slice()
        && context.profile == Profile::CommonMark
        && context.care < Care::Other
        && text.marks.is_empty()
        && text.text.starts_with('<')
    {
        return lines(&text.text);
    }
    lines(&inline(&element.children, context))
}

fn heading(element: &Element, context: Context) -> Vec<String> {
    let level = element.attribute("level").and_then(crate::tree::Value::as_number).unwrap_or(1.0);
    let level = level.clamp(1.0, 6.0) as usize;
    let text = inline(&element.children, context);
    if text.contains('\n') && level <= 2 {
        let mut lines = lines(&text);
        lines.push(if level == 1 { "===" } else { "---" }.to_owned());
        return lines;
    }
    let text = text.replace("\\\n", " ").replace('\n', " ");
    // After the marks, nothing opens a block.
    let is_needless = ["\\#", "\\-", "\\+", "\\>"].iter().any(|it| text.starts_with(it));
    let mut text = if is_needless { text[1..].to_owned() } else { text };
    let core = text.trim_end_matches('#').len();
    if core < text.len() && (core == 0 || text[..core].ends_with(' ')) {
        text.insert(text.len() - 1, '\\');
    }
    let marks = "#".repeat(level);
    vec![if text.is_empty() { marks } else { format!("{marks} {text}") }]
}

fn code(element: &Element) -> Vec<String> {
    let text = element.plain_text();
    let name = if element.attribute("params").is_some() { "params" } else { "language" };
    let info = escape::info(element.text_attribute(name));
    let marker = if info.contains('`') { '~' } else { '`' };
    let longest = text.split(|it| it != marker).map(str::len).max().unwrap_or_default();
    let fence = marker.to_string().repeat(longest.max(2) + 1);
    let mut written = vec![format!("{fence}{info}")];
    written.extend(lines(&text));
    written.push(fence);
    written
}

fn cells(row: &Element) -> impl Iterator<Item = &Element> {
    row.children.iter().filter_map(Node::as_element)
}

fn row(element: &Element, context: Context) -> String {
    let context = Context { in_cell: true, ..context };
    let texts = cells(element).map(|cell| {
        let paragraph = cell.children.first().and_then(Node::as_element);
        paragraph.map(|it| inline(&it.children, context)).unwrap_or_default()
    });
    format!("| {} |", texts.collect::<Vec<_>>().join(" | "))
}
