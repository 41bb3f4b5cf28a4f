//! Converts block events to elements, on an explicit stack: no recursion at any depth of input.

use std::{collections::HashMap, ops::Range};

use pulldown_cmark::{Alignment, CodeBlockKind, Event, OffsetIter, Options, Parser, Tag, TagEnd};

use super::{
    BlockSpan, ParseMode,
    inline::{InlineCollector, is_line_break},
    loose_lists::is_spread,
    masked_text::MaskedText,
    trace::InlineTrace,
};
use crate::{
    outline::empty_row,
    schema::SchemaProfile,
    tree::{AttributeValue, MAX_DEPTH, MarkdownNode, TreeElement, push_inline},
};

/// The element that is being built.
#[derive(Debug)]
enum OpenBlock {
    Document,
    /// `implicit`: pulldown-cmark announces no paragraph in tight items.
    Paragraph {
        implicit: bool,
    },
    Heading(u8),
    Quote,
    List {
        start: Option<u64>,
        items: Vec<ListItemState>,
    },
    Item {
        checked: Option<bool>,
    },
    Code {
        info: String,
    },
    Html,
    Footnote(String),
    Table(Vec<Alignment>),
    Row {
        is_head: bool,
    },
    Cell {
        is_head: bool,
    },
}

/// The properties of items that a list needs.
#[derive(Debug)]
struct ListItemState {
    range: Range<usize>,
    begins_tight: bool,
    /// Whether any paragraph in it is tight; `None` if it has no paragraph.
    is_tight: Option<bool>,
    is_spread: bool,
}

#[derive(Debug)]
struct BlockFrame {
    block: OpenBlock,
    range: Range<usize>,
    /// The index of its first child among the nodes of the builder; the same for spans.
    first: usize,
    /// Which of the spans are paragraphs, and whether these are tight. Kept for items.
    paragraphs: Vec<(usize, bool)>,
    /// The text of code and HTML.
    text: String,
}

struct TreeBuilder<'a> {
    mode: ParseMode,
    masked: &'a MaskedText<'a>,
    inline: InlineCollector<'a>,
    stack: Vec<BlockFrame>,
    /// The finished children of all open blocks, outermost first. So each list of children is
    /// allocated once, in its final length.
    nodes: Vec<MarkdownNode>,
    /// Their spans.
    spans: Vec<BlockSpan>,
    /// The number of open containers that are too deep to be built.
    n_ignored: usize,
    n_by_heading_id: HashMap<String, usize>,
}

/// Builds the document.
pub(super) fn build(text: &str, mode: ParseMode) -> (TreeElement, BlockSpan) {
    let no_html = mode.strict && mode.profile == SchemaProfile::CommonMark;
    let masked = MaskedText::new(text, no_html);
    let (document, root, _) = builder(mode, &masked).run(events(mode, &masked));
    (document, root)
}

/// Builds the document, and notes the place of each character.
pub(super) fn build_traced(
    text: &str,
    mode: ParseMode,
) -> Option<(TreeElement, Vec<Range<usize>>)> {
    let masked = MaskedText::new(text, false);
    if masked.is_masked() {
        return None;
    }
    let mut builder = builder(mode, &masked);
    builder.inline.trace = Some(InlineTrace::default());
    let (document, _, trace) = builder.run(events(mode, &masked));
    Some((document, trace?.places))
}

fn events<'a>(mode: ParseMode, masked: &'a MaskedText<'_>) -> OffsetIter<'a> {
    let options = match mode.profile {
        SchemaProfile::CommonMark => Options::empty(),
        SchemaProfile::Gfm => {
            Options::ENABLE_TABLES
                | Options::ENABLE_FOOTNOTES
                | Options::ENABLE_STRIKETHROUGH
                | Options::ENABLE_TASKLISTS
        }
    };
    Parser::new_ext(&masked.text, options).into_offset_iter()
}

fn builder<'a>(mode: ParseMode, masked: &'a MaskedText<'a>) -> TreeBuilder<'a> {
    TreeBuilder {
        mode,
        masked,
        inline: InlineCollector::new(mode, masked),
        stack: vec![BlockFrame::new(OpenBlock::Document, 0..masked.text.len(), 0)],
        nodes: Vec::new(),
        spans: Vec::new(),
        n_ignored: 0,
        n_by_heading_id: HashMap::new(),
    }
}

impl BlockFrame {
    fn new(block: OpenBlock, range: Range<usize>, first: usize) -> Self {
        Self { block, range, first, paragraphs: Vec::new(), text: String::new() }
    }
}

impl<'a> TreeBuilder<'a> {
    fn run(mut self, events: OffsetIter<'a>) -> (TreeElement, BlockSpan, Option<InlineTrace>) {
        for (event, range) in events {
            match event {
                Event::Start(tag) if !is_inline(&tag) => self.start(tag, range),
                Event::End(tag) if !is_inline_end(tag) => self.end(tag),
                Event::Rule => {
                    self.end_implicit();
                    let name = if self.is_gfm() { "hr" } else { "horizontal_rule" };
                    self.add(
                        TreeElement::new(name).into(),
                        BlockSpan { range, children: Vec::new() },
                    );
                }
                Event::TaskListMarker(is_checked) => self.task(is_checked),
                Event::Html(text) | Event::Text(text) if self.is_verbatim() => {
                    self.trace_verbatim(&text, range);
                    self.top().text.push_str(&text);
                }
                event => self.inline_event(event, range),
            }
        }
        while self.stack.len() > 1 {
            self.close();
        }
        let range = self.top().range.clone();
        let (children, spans) = filled(self.nodes, self.spans, range.end);
        let document = TreeElement::new("doc").with_children(children);
        (document, BlockSpan { range, children: spans }, self.inline.trace)
    }

    /// Notes the text of code or HTML. A block of HTML may be one element.
    fn trace_verbatim(&mut self, text: &str, range: Range<usize>) {
        let is_element = self.is_gfm() && matches!(self.top().block, OpenBlock::Html);
        let is_first = self.top().text.is_empty();
        let Some(trace) = &mut self.inline.trace else { return };
        match (is_element, is_first) {
            (false, _) => trace.verbatim(&self.masked.text, text, range),
            (true, true) => trace.element(range),
            (true, false) => trace.extend_last(range.end),
        }
    }

    /// Removes the places of line ends behind a block of HTML, which may be one element.
    fn trim_html_trace(&mut self, text: &str) {
        if !self.is_gfm() {
            self.trim_trace(text.len() - text.trim_end_matches('\n').len());
        }
    }

    /// Removes the places of line ends that the tree leaves out.
    fn trim_trace(&mut self, n_characters: usize) {
        if let Some(trace) = &mut self.inline.trace {
            trace.places.truncate(trace.places.len().saturating_sub(n_characters));
        }
    }

    fn is_gfm(&self) -> bool {
        self.mode.profile == SchemaProfile::Gfm
    }

    fn top(&mut self) -> &mut BlockFrame {
        self.stack.last_mut().expect("the document is at the bottom until the end")
    }

    fn is_verbatim(&mut self) -> bool {
        matches!(self.top().block, OpenBlock::Code { .. } | OpenBlock::Html)
    }

    fn task(&mut self, is_checked: bool) {
        let item = self.stack.iter_mut().rev().take(2).find_map(|frame| match &mut frame.block {
            OpenBlock::Item { checked } => Some(checked),
            _ => None,
        });
        if let Some(checked) = item {
            *checked = Some(is_checked);
        }
    }

    fn inline_event(&mut self, event: Event<'a>, range: Range<usize>) {
        let is_text_block = matches!(
            self.top().block,
            OpenBlock::Paragraph { .. } | OpenBlock::Heading(_) | OpenBlock::Cell { .. }
        );
        if !is_text_block {
            let block = OpenBlock::Paragraph { implicit: true };
            self.push(block, range.clone());
        }
        let top = self.top();
        if matches!(top.block, OpenBlock::Paragraph { implicit: true }) {
            top.range.end = top.range.end.max(range.end);
        }
        self.inline.event(event, range);
    }

    fn end_implicit(&mut self) {
        if matches!(self.top().block, OpenBlock::Paragraph { implicit: true }) {
            self.close();
        }
    }

    /// Begins a block. Containers that would be too deep are counted and left out.
    fn start(&mut self, tag: Tag<'a>, range: Range<usize>) {
        self.end_implicit();
        // Counted down to an inline element in the text block in it.
        let levels = match &tag {
            Tag::Item | Tag::TableHead | Tag::TableRow | Tag::TableCell => 0,
            Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) => 3,
            Tag::List(_) => 4,
            Tag::Table(_) => 5,
            _ => return self.start_leaf(tag, range),
        };
        if self.n_ignored > 0 || self.stack.len() + levels > MAX_DEPTH {
            self.n_ignored += 1;
            return;
        }
        let block = match tag {
            Tag::BlockQuote(_) => OpenBlock::Quote,
            Tag::List(start) => OpenBlock::List { start, items: Vec::new() },
            Tag::Item => OpenBlock::Item { checked: None },
            Tag::FootnoteDefinition(label) => OpenBlock::Footnote(label.into_string()),
            Tag::Table(alignments) => OpenBlock::Table(alignments),
            Tag::TableHead => OpenBlock::Row { is_head: true },
            Tag::TableRow => OpenBlock::Row { is_head: false },
            _ => {
                let is_head = matches!(self.top().block, OpenBlock::Row { is_head: true });
                if let Some(trace) = &mut self.inline.trace {
                    trace.cell(&self.masked.text, &range);
                }
                OpenBlock::Cell { is_head }
            }
        };
        self.push(block, range);
    }

    fn start_leaf(&mut self, tag: Tag<'a>, range: Range<usize>) {
        let block = match tag {
            Tag::Heading { level, .. } => OpenBlock::Heading(level as u8),
            Tag::CodeBlock(kind) => {
                let info = match kind {
                    CodeBlockKind::Fenced(_) if self.mode.strict && !self.is_gfm() => {
                        self.raw_info(range.start)
                    }
                    CodeBlockKind::Fenced(info) => info.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                OpenBlock::Code { info }
            }
            Tag::HtmlBlock => OpenBlock::Html,
            _ => OpenBlock::Paragraph { implicit: false },
        };
        self.push(block, range);
    }

    /// Returns the info string as written, which prosemirror-markdown keeps.
    fn raw_info(&self, at: usize) -> String {
        let line = self.masked.text[at..].lines().next().unwrap_or_default().trim_start();
        let fence = line.chars().next().unwrap_or('`');
        line.trim_start_matches(fence).to_owned()
    }

    fn end(&mut self, tag: TagEnd) {
        let is_leaf = matches!(
            tag,
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::HtmlBlock
        );
        if !is_leaf {
            self.end_implicit();
            if self.n_ignored > 0 {
                self.n_ignored -= 1;
                return;
            }
        }
        if self.stack.len() > 1 {
            self.close();
        }
    }

    fn push(&mut self, block: OpenBlock, range: Range<usize>) {
        self.stack.push(BlockFrame::new(block, range, self.nodes.len()));
    }

    /// Returns the number of children of the block on top.
    fn n_children(&mut self) -> usize {
        self.nodes.len() - self.top().first
    }

    fn add(&mut self, node: MarkdownNode, span: BlockSpan) {
        self.nodes.push(node);
        self.spans.push(span);
    }

    /// Finishes the block on top and adds it to the one below.
    fn close(&mut self) {
        let frame = self.stack.pop().expect("each close follows its open");
        let children: Vec<MarkdownNode> = self.nodes.drain(frame.first..).collect();
        let spans: Vec<BlockSpan> = self.spans.drain(frame.first..).collect();
        let range = frame.range;
        let leaf = |range| BlockSpan { range, children: Vec::new() };
        match frame.block {
            OpenBlock::Document => {}
            OpenBlock::Paragraph { implicit } => {
                let content = self.inline.finish_block();
                let index = self.n_children();
                self.top().paragraphs.push((index, implicit));
                self.add(TreeElement::new("paragraph").with_children(content).into(), leaf(range));
            }
            OpenBlock::Heading(level) => {
                let content = self.inline.finish_block();
                if let Some(heading) = self.heading(level, content) {
                    self.add(heading.into(), leaf(range));
                }
            }
            OpenBlock::Code { info } => {
                self.trim_trace(usize::from(frame.text.ends_with('\n')));
                let code = self.code(&info, &frame.text);
                self.add(code.into(), leaf(range));
            }
            OpenBlock::Html => {
                self.trim_html_trace(&frame.text);
                let paragraph = self.html(&frame.text);
                self.add(paragraph.into(), leaf(range));
            }
            OpenBlock::Quote => {
                let (children, spans) = filled(children, spans, range.start);
                let quote = TreeElement::new("blockquote").with_children(children);
                self.add(quote.into(), BlockSpan { range, children: spans });
            }
            OpenBlock::Footnote(label) => {
                let (children, spans) = filled(children, spans, range.start);
                let note = TreeElement::new("footnote_definition").with("label", label.as_str());
                self.add(note.with_children(children).into(), BlockSpan { range, children: spans });
            }
            OpenBlock::Item { checked } => {
                self.close_item(checked, range, (children, spans), &frame.paragraphs);
            }
            OpenBlock::List { start, items } => {
                let list = self.list(start, &items).with_children(children);
                self.add(list.into(), BlockSpan { range, children: spans });
            }
            OpenBlock::Cell { is_head } => {
                let content = self.inline.finish_block();
                self.close_cell(is_head, content, range);
            }
            OpenBlock::Row { is_head } => {
                let name = if is_head { "table_header_row" } else { "table_row" };
                self.add(TreeElement::new(name).with_children(children).into(), leaf(range));
            }
            OpenBlock::Table(_) => {
                let (mut children, mut spans) = (children, spans);
                if let [MarkdownNode::Element(head)] = children.as_slice() {
                    let row = match self.mode.strict {
                        // Milkdown gives it cells on the first edit.
                        true => TreeElement::new("table_row"),
                        false => empty_row(head),
                    };
                    children.push(row.into());
                    spans.push(leaf(range.end..range.end));
                }
                let table = TreeElement::new("table").with_children(children);
                self.add(table.into(), BlockSpan { range, children: spans });
            }
        }
    }

    fn heading(&mut self, level: u8, content: Vec<MarkdownNode>) -> Option<TreeElement> {
        let level = f64::from(level);
        if self.is_gfm() {
            let id = if self.mode.strict { String::new() } else { self.heading_id(&content) };
            let heading = TreeElement::new("heading").with("id", id.as_str()).with("level", level);
            return Some(heading.with_children(content));
        }
        let has_break = content.iter().any(|node| node.name() == "hard_break");
        let content = match has_break {
            // prosemirror-markdown cannot build it, and so drops the heading.
            true if self.mode.strict => return None,
            true => without_breaks(content),
            false => content,
        };
        Some(TreeElement::new("heading").with("level", level).with_children(content))
    }

    /// Returns the id that Milkdown writes on the first edit. It is numbered if an earlier heading
    /// has the same.
    fn heading_id(&mut self, content: &[MarkdownNode]) -> String {
        let mut text = String::new();
        for node in content {
            match node {
                MarkdownNode::Text(run) => text.push_str(&run.text),
                MarkdownNode::Element(element) if element.name == "hardbreak" => text.push('\n'),
                MarkdownNode::Element(_) => {}
            }
        }
        let lower = text.to_lowercase();
        let words = lower.split(is_blank_to_javascript).filter(|word| !word.is_empty());
        let id = words.collect::<Vec<_>>().join("-");
        if id.is_empty() {
            return id;
        }
        let n_before = self.n_by_heading_id.entry(id.clone()).or_default();
        *n_before += 1;
        if *n_before > 1 { format!("{id}-#{n_before}") } else { id }
    }

    fn code(&self, info: &str, text: &str) -> TreeElement {
        let info = self.masked.restore(info);
        let code = TreeElement::new("code_block");
        let code = match self.is_gfm() {
            true if self.mode.strict => {
                code.with("language", info.split_whitespace().next().unwrap_or_default())
            }
            true => code.with("language", &*info),
            false => code.with("params", &*info),
        };
        let text = self.masked.restore(text.strip_suffix('\n').unwrap_or(text));
        let mut children = Vec::new();
        push_inline(&mut children, MarkdownNode::text(text, Vec::new()));
        code.with_children(children)
    }

    fn html(&self, text: &str) -> TreeElement {
        let html = self.masked.restore(text.trim_end_matches('\n'));
        let paragraph = TreeElement::new("paragraph");
        match self.mode.profile {
            SchemaProfile::Gfm if self.mode.strict && is_line_break(&html) => paragraph,
            SchemaProfile::Gfm => {
                let html = TreeElement::new("html").with("value", &*html);
                paragraph.with_children(vec![html.into()])
            }
            SchemaProfile::CommonMark => {
                let mut children = Vec::new();
                push_inline(&mut children, MarkdownNode::text(html, Vec::new()));
                paragraph.with_children(children)
            }
        }
    }

    fn close_item(
        &mut self,
        checked: Option<bool>,
        range: Range<usize>,
        (children, spans): (Vec<MarkdownNode>, Vec<BlockSpan>),
        paragraphs: &[(usize, bool)],
    ) {
        let is_spread = is_spread(&self.masked.text, spans.iter().map(|span| span.range.clone()));
        let facts = ListItemState {
            range: range.clone(),
            begins_tight: paragraphs.first() == Some(&(0, true)),
            is_tight: paragraphs.iter().map(|(_, is_tight)| *is_tight).reduce(|a, b| a || b),
            is_spread,
        };
        let (mut children, mut spans) = filled(children, spans, range.start);
        let is_gfm = self.is_gfm();
        let OpenBlock::List { start, items } = &mut self.top().block else { return };
        let index = items.len() as u64;
        items.push(facts);
        let mut item = TreeElement::new("list_item");
        if is_gfm {
            let label = start.map(|start| format!("{}.", start.saturating_add(index)));
            item = item
                .with("label", label.as_deref().unwrap_or("•"))
                .with("listType", if start.is_some() { "ordered" } else { "bullet" })
                .with("spread", is_spread)
                .with("checked", checked.map_or(AttributeValue::Null, AttributeValue::Bool));
            if children[0].name() != "paragraph" {
                children.insert(0, TreeElement::new("paragraph").into());
                let at = spans[0].range.start;
                spans.insert(0, BlockSpan { range: at..at, children: Vec::new() });
            }
        }
        self.add(item.with_children(children).into(), BlockSpan { range, children: spans });
    }

    fn list(&self, start: Option<u64>, items: &[ListItemState]) -> TreeElement {
        let is_spread =
            || is_spread(&self.masked.text, items.iter().map(|item| item.range.clone()));
        let list = match start {
            None => TreeElement::new("bullet_list"),
            // prosemirror-markdown makes 1 of 0.
            Some(0) if self.mode.strict && !self.is_gfm() => {
                TreeElement::new("ordered_list").with("order", 1.0)
            }
            Some(start) => TreeElement::new("ordered_list").with("order", start as f64),
        };
        if self.is_gfm() {
            return list.with("spread", is_spread());
        }
        if self.mode.strict {
            return list.with("tight", items.first().is_some_and(|item| item.begins_tight));
        }
        let has_tight = items.iter().filter_map(|item| item.is_tight).reduce(|a, b| a || b);
        let is_tight =
            has_tight.unwrap_or_else(|| !is_spread() && !items.iter().any(|item| item.is_spread));
        list.with("tight", is_tight)
    }

    fn close_cell(&mut self, is_head: bool, content: Vec<MarkdownNode>, range: Range<usize>) {
        let column = self.n_children();
        let alignment = self.stack.iter().rev().nth(1).and_then(|frame| match &frame.block {
            OpenBlock::Table(alignments) => alignments.get(column).copied(),
            _ => None,
        });
        let alignment = match alignment {
            Some(Alignment::Left) => AttributeValue::from("left"),
            Some(Alignment::Center) => AttributeValue::from("center"),
            Some(Alignment::Right) => AttributeValue::from("right"),
            _ => AttributeValue::Null,
        };
        let cell = TreeElement::new(if is_head { "table_header" } else { "table_cell" })
            .with("colspan", 1.0)
            .with("rowspan", 1.0)
            .with("colwidth", AttributeValue::Null)
            .with("alignment", alignment)
            .with_children(vec![TreeElement::new("paragraph").with_children(content).into()]);
        self.add(cell.into(), BlockSpan { range, children: Vec::new() });
    }
}

/// Fills an element that must contain a block, but has no text for one, with an empty paragraph.
fn filled(
    mut children: Vec<MarkdownNode>,
    mut spans: Vec<BlockSpan>,
    at: usize,
) -> (Vec<MarkdownNode>, Vec<BlockSpan>) {
    if children.is_empty() {
        children.push(TreeElement::new("paragraph").into());
        spans.push(BlockSpan { range: at..at, children: Vec::new() });
    }
    (children, spans)
}

fn is_blank_to_javascript(character: char) -> bool {
    character == '\u{feff}' || character != '\u{85}' && character.is_whitespace()
}

fn without_breaks(content: Vec<MarkdownNode>) -> Vec<MarkdownNode> {
    let mut kept = Vec::new();
    for node in content {
        match node {
            MarkdownNode::Element(element) if element.name == "hard_break" => {
                push_inline(&mut kept, MarkdownNode::text(" ", element.marks));
            }
            node => push_inline(&mut kept, node),
        }
    }
    kept
}

fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::Link { .. }
            | Tag::Image { .. }
    )
}

fn is_inline_end(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Link
            | TagEnd::Image
    )
}
