//! A tree as the flat list of its leaves, in the order of a file: one run of lines per leaf.
//!
//! A *leaf* is a block with lines of its own: paragraph, heading, code, rule, row of a table. A
//! *container* puts a prefix before each line of its content: quote, item, footnote. Lists and
//! tables are neither; they show in their items and rows. Empty paragraphs beside other blocks have
//! no lines, and so are left out.

use std::ops::Range;

use crate::{
    parse::BlockSpan,
    tree::{AttributeValue, MarkdownNode, TextMark, TreeElement},
};

/// A tree, flat.
#[derive(Debug, Default)]
pub(crate) struct TreeOutline<'a> {
    pub(crate) leaves: Vec<OutlineLeaf<'a>>,
    pub(crate) containers: Vec<OutlineContainer<'a>>,
    pub(crate) lists: Vec<OutlineList>,
    /// The blocks of the document.
    blocks: &'a [MarkdownNode],
}

/// A block with lines of its own.
#[derive(Debug)]
pub(crate) struct OutlineLeaf<'a> {
    pub(crate) element: &'a TreeElement,
    /// The innermost container around it.
    pub(crate) container: Option<usize>,
    /// The check box of the item that it begins.
    pub(crate) checked: Option<bool>,
    /// Whether it begins an item.
    pub(crate) begins_item: bool,
    /// Whether a blank line stands before it by default.
    pub(crate) blank_before: bool,
    /// Whether it would have another meaning without one.
    pub(crate) stands_apart: bool,
    /// The index of its block in the document.
    pub(crate) top: usize,
    /// The range of its block in the text; empty if no text is known.
    pub(crate) range: Range<usize>,
}

/// The kind of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContainerKind {
    Quote,
    Item {
        /// The list that it is an item of.
        list: usize,
        index: usize,
    },
    Footnote,
}

/// A block that puts a prefix before the lines of its content.
#[derive(Debug)]
pub(crate) struct OutlineContainer<'a> {
    pub(crate) kind: ContainerKind,
    pub(crate) element: &'a TreeElement,
    pub(crate) parent: Option<usize>,
    /// The first leaf in it.
    pub(crate) first_leaf: usize,
    /// Its range in the text; empty if no text is known.
    pub(crate) range: Range<usize>,
}

/// A list.
#[derive(Debug)]
pub(crate) struct OutlineList {
    /// Its first number, if it is ordered.
    pub(crate) start: Option<u64>,
    /// Whether it needs another marker than the list right before it.
    pub(crate) is_alternate: bool,
    /// The list right before it, if it is of the same kind.
    pub(crate) before: Option<usize>,
}

struct OutlineWalk<'a> {
    outline: TreeOutline<'a>,
    container: Option<usize>,
    checked: Option<bool>,
    begins_item: bool,
    blank_before: bool,
    stands_apart: bool,
    top: usize,
}

impl<'a> TreeOutline<'a> {
    /// Lists the leaves of a document.
    pub(crate) fn new(document: &'a TreeElement) -> Self {
        Self::of(document, None)
    }

    /// Lists the leaves of a document that was read from a text.
    pub(crate) fn with_spans(document: &'a TreeElement, root: &BlockSpan) -> Self {
        Self::of(document, Some(root))
    }

    fn of(document: &'a TreeElement, root: Option<&BlockSpan>) -> Self {
        let mut walk = OutlineWalk {
            outline: Self { blocks: &document.children, ..Self::default() },
            container: None,
            checked: None,
            begins_item: false,
            blank_before: false,
            stands_apart: false,
            top: 0,
        };
        walk.blocks(&document.children, root, false, true);
        walk.outline
    }

    /// Returns the blocks of the document.
    pub(crate) fn document(&self) -> &'a [MarkdownNode] {
        self.blocks
    }

    /// Returns the containers around a leaf, outermost first.
    pub(crate) fn chain(&self, leaf: usize) -> Vec<usize> {
        let mut chain = Vec::new();
        let mut container = self.leaves[leaf].container;
        while let Some(index) = container {
            chain.push(index);
            container = self.containers[index].parent;
        }
        chain.reverse();
        chain
    }
}

impl<'a> OutlineWalk<'a> {
    fn blocks(
        &mut self,
        children: &'a [MarkdownNode],
        span: Option<&BlockSpan>,
        is_tight: bool,
        is_root: bool,
    ) {
        let blocks = children.iter().enumerate();
        let blocks = blocks.filter_map(|(at, node)| Some((at, node.as_element()?)));
        let all_empty =
            children.iter().filter_map(MarkdownNode::as_element).all(is_empty_paragraph);
        let keeps_first = all_empty || self.checked.is_some();
        let mut before: Option<(&TreeElement, Option<usize>)> = None;
        for (at, element) in blocks {
            if is_root {
                self.top = at;
            }
            if is_empty_paragraph(element) && !(at == 0 && keeps_first) {
                continue;
            }
            if let Some((before, _)) = before {
                self.stands_apart = must_stand_apart(before, element);
                self.blank_before = !is_tight || self.stands_apart;
            }
            let list_before = before.filter(|(before, _)| before.name == element.name);
            let list_before = list_before.and_then(|(_, list)| list);
            let list = self.block(element, child(span, at), list_before);
            before = Some((element, list));
        }
    }

    /// Adds a block and its content. Returns the index of its list.
    fn block(
        &mut self,
        element: &'a TreeElement,
        span: Option<&BlockSpan>,
        list_before: Option<usize>,
    ) -> Option<usize> {
        match element.name.as_str() {
            "blockquote" => self.container(ContainerKind::Quote, element, span, false),
            "footnote_definition" => self.container(ContainerKind::Footnote, element, span, false),
            "bullet_list" | "ordered_list" => return Some(self.list(element, span, list_before)),
            "table" => {
                let n_rows = element.children.len();
                for (at, row) in element.children.iter().enumerate() {
                    let row = row.as_element().filter(|row| at == 0 || !is_filler(row, n_rows));
                    if let Some(row) = row {
                        self.leaf(row, child(span, at));
                    }
                }
            }
            _ => self.leaf(element, span),
        }
        None
    }

    fn leaf(&mut self, element: &'a TreeElement, span: Option<&BlockSpan>) {
        self.outline.leaves.push(OutlineLeaf {
            element,
            container: self.container,
            checked: self.checked.take(),
            begins_item: std::mem::take(&mut self.begins_item),
            blank_before: std::mem::take(&mut self.blank_before),
            stands_apart: std::mem::take(&mut self.stands_apart),
            top: self.top,
            range: range(span),
        });
    }

    fn container(
        &mut self,
        kind: ContainerKind,
        element: &'a TreeElement,
        span: Option<&BlockSpan>,
        is_tight: bool,
    ) {
        let parent = self.container;
        self.container = Some(self.outline.containers.len());
        let first_leaf = self.outline.leaves.len();
        let range = range(span);
        self.outline.containers.push(OutlineContainer { kind, element, parent, first_leaf, range });
        self.blocks(&element.children, span, is_tight, false);
        if self.outline.leaves.len() == first_leaf {
            // It has no content with lines, but a line of its own.
            self.leaf(element, span);
        }
        self.container = parent;
    }

    fn list(
        &mut self,
        element: &'a TreeElement,
        span: Option<&BlockSpan>,
        before: Option<usize>,
    ) -> usize {
        let list = self.outline.lists.len();
        let is_alternate = before.is_some_and(|before| !self.outline.lists[before].is_alternate);
        let order = element.attribute("order").and_then(AttributeValue::as_number).unwrap_or(1.0);
        let start =
            (element.name == "ordered_list").then_some(order.clamp(0.0, 999_999_999.0) as u64);
        self.outline.lists.push(OutlineList { start, is_alternate, before });
        let flag = |element: &TreeElement, name: &str| {
            element.attribute(name).and_then(AttributeValue::as_bool)
        };
        // One profile has `tight` on the list, the other `spread` on list and item.
        let tight = flag(element, "tight");
        let is_spread = flag(element, "spread").unwrap_or(tight == Some(false));
        let items = element.children.iter().filter_map(MarkdownNode::as_element);
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.blank_before = is_spread;
            }
            let is_tight = tight.unwrap_or_else(|| flag(item, "spread") == Some(false));
            self.checked = flag(item, "checked");
            self.begins_item = true;
            self.container(ContainerKind::Item { list, index }, item, child(span, index), is_tight);
            self.checked = None;
        }
        list
    }
}

fn child(span: Option<&BlockSpan>, at: usize) -> Option<&BlockSpan> {
    span.and_then(|span| span.children.get(at))
}

fn range(span: Option<&BlockSpan>) -> Range<usize> {
    span.map(|span| span.range.clone()).unwrap_or_default()
}

/// Reports whether a paragraph has no text that markdown can show: nothing, or blanks.
pub(crate) fn is_empty_paragraph(element: &TreeElement) -> bool {
    let is_blank = |node: &MarkdownNode| {
        let MarkdownNode::Text(run) = node else { return false };
        let is_code = |mark: &TextMark| matches!(mark.name.as_str(), "code" | "inlineCode");
        run.text.chars().all(|character| matches!(character, ' ' | '\t'))
            && !run.marks.iter().any(is_code)
    };
    element.name == "paragraph" && element.children.iter().all(is_blank)
}

/// Makes the row below the head of a table that has no other: schemas require one.
pub(crate) fn empty_row(head: &TreeElement) -> TreeElement {
    let cells = head.children.iter().filter_map(MarkdownNode::as_element).map(|cell| {
        let paragraph = TreeElement::new("paragraph").into();
        let (name, attributes) = ("table_cell".into(), cell.attributes.clone());
        TreeElement { name, attributes, children: vec![paragraph], marks: Vec::new() }.into()
    });
    TreeElement::new("table_row").with_children(cells.collect())
}

/// Reports whether a row of a table of `n_rows` only exists because tables must have one below
/// their head.
fn is_filler(row: &TreeElement, n_rows: usize) -> bool {
    let is_empty = |cell: &MarkdownNode| {
        cell.as_element().is_some_and(|cell| cell.children.iter().all(is_empty_block))
    };
    row.children.is_empty() || n_rows == 2 && row.children.iter().all(is_empty)
}

fn is_empty_block(node: &MarkdownNode) -> bool {
    node.as_element().is_some_and(is_empty_paragraph)
}

/// Reports whether the two would have another meaning without a blank line between.
fn must_stand_apart(before: &TreeElement, after: &TreeElement) -> bool {
    let is_list =
        |element: &TreeElement| matches!(element.name.as_str(), "bullet_list" | "ordered_list");
    let begins_empty = || {
        let item = after.children.first().and_then(MarkdownNode::as_element);
        item.and_then(|item| item.children.first())
            .is_none_or(|first| first.as_element().is_none_or(is_empty_paragraph))
    };
    let begins_elsewhere = || {
        after
            .attribute("order")
            .and_then(AttributeValue::as_number)
            .is_some_and(|order| order != 1.0)
    };
    match (before.name.as_str(), after.name.as_str()) {
        ("table", _) | (_, "table") => true,
        ("paragraph", "paragraph" | "horizontal_rule" | "hr") => true,
        ("paragraph", _) if is_list(after) => {
            begins_empty() || begins_elsewhere() || is_html(before)
        }
        ("paragraph", _) => is_html(before),
        ("blockquote", "blockquote" | "paragraph") => true,
        (_, "paragraph") => is_list(before) || before.name == "footnote_definition",
        _ => false,
    }
}

fn is_html(paragraph: &TreeElement) -> bool {
    match paragraph.children.first() {
        Some(MarkdownNode::Text(text)) => text.text.starts_with('<'),
        Some(MarkdownNode::Element(element)) => element.name == "html",
        None => false,
    }
}
