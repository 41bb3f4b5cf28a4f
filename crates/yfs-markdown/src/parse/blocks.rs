//! Block events to elements, on a stack of our own: no recursion, whatever the input nests.

use std::{collections::HashMap, ops::Range};

use pulldown_cmark::{Alignment, CodeBlockKind, Event, OffsetIter, Options, Parser, Tag, TagEnd};

use super::{
    Mode, Span,
    inline::{Inline, is_line_break},
    mask::Masked,
    spread::is_spread,
};
use crate::{
    outline::empty_row,
    schema::Profile,
    tree::{Element, MAX_DEPTH, Node, Value, push_inline},
};

/// What is being built.
#[derive(Debug)]
enum Block {
    Document,
    /// `implicit`: pulldown-cmark announces no paragraph in tight items.
    Paragraph {
        implicit: bool,
    },
    Heading(u8),
    Quote,
    List {
        start: Option<u64>,
        items: Vec<Item>,
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

/// What a list must know of its items.
#[derive(Debug)]
struct Item {
    range: Range<usize>,
    begins_tight: bool,
    /// Whether any paragraph in it is tight; nothing if it has no paragraph.
    is_tight: Option<bool>,
    is_spread: bool,
}

#[derive(Debug)]
struct Frame {
    block: Block,
    range: Range<usize>,
    /// Where its children begin among the nodes of the builder, and their spans among the spans.
    first: usize,
    /// Which of the spans are paragraphs, and whether these are tight. Kept for items.
    paragraphs: Vec<(usize, bool)>,
    /// The text of code and HTML.
    text: String,
}

struct Builder<'a> {
    mode: Mode,
    masked: &'a Masked<'a>,
    inline: Inline<'a>,
    stack: Vec<Frame>,
    /// The finished children of all open blocks, outermost first. So each list of children is allocated once, as long as it is.
    nodes: Vec<Node>,
    /// Their spans.
    spans: Vec<Span>,
    /// How many containers are open that are too deep to be built.
    n_ignored: usize,
    n_by_heading_id: HashMap<String, usize>,
}

/// Builds the document.
pub(super) fn build(text: &str, mode: Mode) -> (Element, Span) {
    let no_html = mode.strict && mode.profile == Profile::CommonMark;
    let masked = Masked::new(text, no_html);
    let options = match mode.profile {
        Profile::CommonMark => Options::empty(),
        Profile::Gfm => {
            Options::ENABLE_TABLES
                | Options::ENABLE_FOOTNOTES
                | Options::ENABLE_STRIKETHROUGH
                | Options::ENABLE_TASKLISTS
        }
    };
    let events = Parser::new_ext(&masked.text, options).into_offset_iter();
    Builder {
        mode,
        masked: &masked,
        inline: Inline::new(mode, &masked),
        stack: vec![Frame::new(Block::Document, 0..masked.text.len(), 0)],
        nodes: Vec::new(),
        spans: Vec::new(),
        n_ignored: 0,
        n_by_heading_id: HashMap::new(),
    }
    .run(events)
}

impl Frame {
    fn new(block: Block, range: Range<usize>, first: usize) -> Self {
        Self { block, range, first, paragraphs: Vec::new(), text: String::new() }
    }
}

impl<'a> Builder<'a> {
    fn run(mut self, events: OffsetIter<'a>) -> (Element, Span) {
        for (event, range) in events {
            match event {
                Event::Start(tag) if !is_inline(&tag) => self.start(tag, range),
                Event::End(tag) if !is_inline_end(tag) => self.end(tag),
                Event::Rule => {
                    self.end_implicit();
                    let name = if self.is_gfm() { "hr" } else { "horizontal_rule" };
                    self.add(Element::new(name).into(), Span { range, children: Vec::new() });
                }
                Event::TaskListMarker(is_checked) => self.task(is_checked),
                Event::Html(text) | Event::Text(text) if self.is_verbatim() => {
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
        (Element::new("doc").holding(children), Span { range, children: spans })
    }

    fn is_gfm(&self) -> bool {
        self.mode.profile == Profile::Gfm
    }

    fn top(&mut self) -> &mut Frame {
        self.stack.last_mut().expect("the document is at the bottom until the end")
    }

    fn is_verbatim(&mut self) -> bool {
        matches!(self.top().block, Block::Code { .. } | Block::Html)
    }

    fn task(&mut self, is_checked: bool) {
        let item = self.stack.iter_mut().rev().take(2).find_map(|frame| match &mut frame.block {
            Block::Item { checked } => Some(checked),
            _ => None,
        });
        if let Some(checked) = item {
            *checked = Some(is_checked);
        }
    }

    fn inline_event(&mut self, event: Event<'a>, range: Range<usize>) {
        let is_text_block = matches!(
            self.top().block,
            Block::Paragraph { .. } | Block::Heading(_) | Block::Cell { .. }
        );
        if !is_text_block {
            let block = Block::Paragraph { implicit: true };
            self.push(block, range.clone());
        }
        let top = self.top();
        if matches!(top.block, Block::Paragraph { implicit: true }) {
            top.range.end = top.range.end.max(range.end);
        }
        self.inline.event(event, range);
    }

    fn end_implicit(&mut self) {
        if matches!(self.top().block, Block::Paragraph { implicit: true }) {
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
            Tag::BlockQuote(_) => Block::Quote,
            Tag::List(start) => Block::List { start, items: Vec::new() },
            Tag::Item => Block::Item { checked: None },
            Tag::FootnoteDefinition(label) => Block::Footnote(label.into_string()),
            Tag::Table(alignments) => Block::Table(alignments),
            Tag::TableHead => Block::Row { is_head: true },
            Tag::TableRow => Block::Row { is_head: false },
            _ => {
                let is_head = matches!(self.top().block, Block::Row { is_head: true });
                Block::Cell { is_head }
            }
        };
        self.push(block, range);
    }

    fn start_leaf(&mut self, tag: Tag<'a>, range: Range<usize>) {
        let block = match tag {
            Tag::Heading { level, .. } => Block::Heading(level as u8),
            Tag::CodeBlock(kind) => {
                let info = match kind {
                    CodeBlockKind::Fenced(_) if self.mode.strict && !self.is_gfm() => {
                        self.raw_info(range.start)
                    }
                    CodeBlockKind::Fenced(info) => info.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                Block::Code { info }
            }
            Tag::HtmlBlock => Block::Html,
            _ => Block::Paragraph { implicit: false },
        };
        self.push(block, range);
    }

    /// The info string as written, which is what prosemirror-markdown keeps.
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

    fn push(&mut self, block: Block, range: Range<usize>) {
        self.stack.push(Frame::new(block, range, self.nodes.len()));
    }

    /// How many children the block on top has.
    fn n_children(&mut self) -> usize {
        self.nodes.len() - self.top().first
    }

    fn add(&mut self, node: Node, span: Span) {
        self.nodes.push(node);
        self.spans.push(span);
    }

    /// Finishes the block on top and adds it to the one below.
    fn close(&mut self) {
        let frame = self.stack.pop().expect("whoever closes has opened");
        let children: Vec<Node> = self.nodes.drain(frame.first..).collect();
        let spans: Vec<Span> = self.spans.drain(frame.first..).collect();
        let range = frame.range;
        let leaf = |range| Span { range, children: Vec::new() };
        match frame.block {
            Block::Document => {}
            Block::Paragraph { implicit } => {
                let content = self.inline.take();
                let index = self.n_children();
                self.top().paragraphs.push((index, implicit));
                self.add(Element::new("paragraph").holding(content).into(), leaf(range));
            }
            Block::Heading(level) => {
                let content = self.inline.take();
                if let Some(heading) = self.heading(level, content) {
                    self.add(heading.into(), leaf(range));
                }
            }
            Block::Code { info } => {
                let code = self.code(&info, &frame.text);
                self.add(code.into(), leaf(range));
            }
            Block::Html => {
                let paragraph = self.html(&frame.text);
                self.add(paragraph.into(), leaf(range));
            }
            Block::Quote => {
                let (children, spans) = filled(children, spans, range.start);
                let quote = Element::new("blockquote").holding(children);
                self.add(quote.into(), Span { range, children: spans });
            }
            Block::Footnote(label) => {
                let (children, spans) = filled(children, spans, range.start);
                let note = Element::new("footnote_definition").with("label", label.as_str());
                self.add(note.holding(children).into(), Span { range, children: spans });
            }
            Block::Item { checked } => {
                self.close_item(checked, range, (children, spans), &frame.paragraphs);
            }
            Block::List { start, items } => {
                let list = self.list(start, &items).holding(children);
                self.add(list.into(), Span { range, children: spans });
            }
            Block::Cell { is_head } => {
                let content = self.inline.take();
                self.close_cell(is_head, content, range);
            }
            Block::Row { is_head } => {
                let name = if is_head { "table_header_row" } else { "table_row" };
                self.add(Element::new(name).holding(children).into(), leaf(range));
            }
            Block::Table(_) => {
                let (mut children, mut spans) = (children, spans);
                if let [Node::Element(head)] = children.as_slice() {
                    let row = match self.mode.strict {
                        // Milkdown gives it cells on the first edit.
                        true => Element::new("table_row"),
                        false => empty_row(head),
                    };
                    children.push(row.into());
                    spans.push(leaf(range.end..range.end));
                }
                let table = Element::new("table").holding(children);
                self.add(table.into(), Span { range, children: spans });
            }
        }
    }

    fn heading(&mut self, level: u8, content: Vec<Node>) -> Option<Element> {
        let level = f64::from(level);
        if self.is_gfm() {
            let id = if self.mode.strict { String::new() } else { self.heading_id(&content) };
            let heading = Element::new("heading").with("id", id.as_str()).with("level", level);
            return Some(heading.holding(content));
        }
        let has_break = content.iter().any(|node| node.name() == "hard_break");
        let content = match has_break {
            // prosemirror-markdown cannot build it, and so drops the heading.
            true if self.mode.strict => return None,
            true => without_breaks(content),
            false => content,
        };
        Some(Element::new("heading").with("level", level).holding(content))
    }

    /// The id that Milkdown writes on the first edit. Numbered where an earlier heading has the same.
    fn heading_id(&mut self, content: &[Node]) -> String {
        let mut text = String::new();
        for node in content {
            match node {
                Node::Text(run) => text.push_str(&run.text),
                Node::Element(element) if element.name == "hardbreak" => text.push('\n'),
                Node::Element(_) => {}
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

    fn code(&self, info: &str, text: &str) -> Element {
        let info = self.masked.restore(info);
        let code = Element::new("code_block");
        let code = match self.is_gfm() {
            true if self.mode.strict => {
                code.with("language", info.split_whitespace().next().unwrap_or_default())
            }
            true => code.with("language", &*info),
            false => code.with("params", &*info),
        };
        let text = self.masked.restore(text.strip_suffix('\n').unwrap_or(text));
        let mut children = Vec::new();
        push_inline(&mut children, Node::text(text, Vec::new()));
        code.holding(children)
    }

    fn html(&self, text: &str) -> Element {
        let html = self.masked.restore(text.trim_end_matches('\n'));
        let paragraph = Element::new("paragraph");
        match self.mode.profile {
            Profile::Gfm if self.mode.strict && is_line_break(&html) => paragraph,
            Profile::Gfm => {
                let html = Element::new("html").with("value", &*html);
                paragraph.holding(vec![html.into()])
            }
            Profile::CommonMark => {
                let mut children = Vec::new();
                push_inline(&mut children, Node::text(html, Vec::new()));
                paragraph.holding(children)
            }
        }
    }

    fn close_item(
        &mut self,
        checked: Option<bool>,
        range: Range<usize>,
        (children, spans): (Vec<Node>, Vec<Span>),
        paragraphs: &[(usize, bool)],
    ) {
        let is_spread = is_spread(&self.masked.text, spans.iter().map(|span| span.range.clone()));
        let facts = Item {
            range: range.clone(),
            begins_tight: paragraphs.first() == Some(&(0, true)),
            is_tight: paragraphs.iter().map(|(_, is_tight)| *is_tight).reduce(|a, b| a || b),
            is_spread,
        };
        let (mut children, mut spans) = filled(children, spans, range.start);
        let is_gfm = self.is_gfm();
        let Block::List { start, items } = &mut self.top().block else { return };
        let index = items.len() as u64;
        items.push(facts);
        let mut item = Element::new("list_item");
        if is_gfm {
            let label = start.map(|start| format!("{}.", start.saturating_add(index)));
            item = item
                .with("label", label.as_deref().unwrap_or("•"))
                .with("listType", if start.is_some() { "ordered" } else { "bullet" })
                .with("spread", is_spread)
                .with("checked", checked.map_or(Value::Null, Value::Bool));
            if children[0].name() != "paragraph" {
                children.insert(0, Element::new("paragraph").into());
                let at = spans[0].range.start;
                spans.insert(0, Span { range: at..at, children: Vec::new() });
            }
        }
        self.add(item.holding(children).into(), Span { range, children: spans });
    }

    fn list(&self, start: Option<u64>, items: &[Item]) -> Element {
        let is_spread =
            || is_spread(&self.masked.text, items.iter().map(|item| item.range.clone()));
        let list = match start {
            None => Element::new("bullet_list"),
            // prosemirror-markdown makes 1 of 0.
            Some(0) if self.mode.strict && !self.is_gfm() => {
                Element::new("ordered_list").with("order", 1.0)
            }
            Some(start) => Element::new("ordered_list").with("order", start as f64),
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

    fn close_cell(&mut self, is_head: bool, content: Vec<Node>, range: Range<usize>) {
        let column = self.n_children();
        let alignment = self.stack.iter().rev().nth(1).and_then(|frame| match &frame.block {
            Block::Table(alignments) => alignments.get(column).copied(),
            _ => None,
        });
        let alignment = match alignment {
            Some(Alignment::Left) => Value::from("left"),
            Some(Alignment::Center) => Value::from("center"),
            Some(Alignment::Right) => Value::from("right"),
            _ => Value::Null,
        };
        let cell = Element::new(if is_head { "table_header" } else { "table_cell" })
            .with("colspan", 1.0)
            .with("rowspan", 1.0)
            .with("colwidth", Value::Null)
            .with("alignment", alignment)
            .holding(vec![Element::new("paragraph").holding(content).into()]);
        self.add(cell.into(), Span { range, children: Vec::new() });
    }
}

/// What must hold a block holds an empty paragraph, where no text stands for one.
fn filled(mut children: Vec<Node>, mut spans: Vec<Span>, at: usize) -> (Vec<Node>, Vec<Span>) {
    if children.is_empty() {
        children.push(Element::new("paragraph").into());
        spans.push(Span { range: at..at, children: Vec::new() });
    }
    (children, spans)
}

fn is_blank_to_javascript(it: char) -> bool {
    it == '\u{feff}' || it != '\u{85}' && it.is_whitespace()
}

fn without_breaks(content: Vec<Node>) -> Vec<Node> {
    let mut kept = Vec::new();
    for node in content {
        match node {
            Node::Element(element) if element.name == "hard_break" => {
                push_inline(&mut kept, Node::text(" ", element.marks));
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
