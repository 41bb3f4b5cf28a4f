//! Converts inline events to runs of text and inline elements, with the open marks.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};
use smol_str::SmolStr;

use super::{ParseMode, masked_text::MaskedText, trace::InlineTrace};
use crate::{
    schema::SchemaProfile,
    tree::{AttributeValue, MarkdownNode, TextMark, TreeElement},
};

/// The state that an end of an inline tag restores.
#[derive(Debug)]
struct OpenInline {
    name: &'static str,
    /// The mark of that name that was open before: marks are a set.
    hidden: Option<TextMark>,
}

/// An image whose alternative text is being read.
#[derive(Debug)]
struct OpenImage {
    source: String,
    title: String,
    alternative: String,
    /// The number of open images, this one included.
    depth: usize,
    /// Whether the part that an editor would use as the text has been read.
    is_done: bool,
    range: Range<usize>,
}

/// Collects the inline content of one text block after the other.
#[derive(Debug)]
pub(super) struct InlineCollector<'a> {
    mode: ParseMode,
    masked: &'a MaskedText<'a>,
    marks: Vec<TextMark>,
    open: Vec<OpenInline>,
    image: Option<OpenImage>,
    children: Vec<MarkdownNode>,
    /// The places of all characters and elements so far, if they are asked for.
    pub(super) trace: Option<InlineTrace>,
}

impl<'a> InlineCollector<'a> {
    pub(super) fn new(mode: ParseMode, masked: &'a MaskedText<'a>) -> Self {
        let (marks, open, children) = (Vec::new(), Vec::new(), Vec::new());
        Self { mode, masked, marks, open, image: None, children, trace: None }
    }

    /// Ends the block and returns its content.
    pub(super) fn finish_block(&mut self) -> Vec<MarkdownNode> {
        self.marks.clear();
        self.open.clear();
        self.image = None;
        // Exactly as long as it is: most blocks hold one run.
        self.children.drain(..).collect()
    }

    /// Handles an inline event that begins at `at` of the masked text.
    pub(super) fn event(&mut self, event: Event<'_>, at: Range<usize>) {
        if self.image.is_some() {
            self.event_in_image(event, &at);
            return;
        }
        match event {
            Event::Text(text) => self.text(&text, at),
            Event::Code(code) => {
                let masked = self.masked;
                let name = if self.is_gfm() { "inlineCode" } else { "code" };
                self.push_mark(name, TextMark::new(name));
                self.push_code(&masked.restore(&code), at);
                self.pop_mark();
            }
            Event::SoftBreak => self.soft_break(at),
            Event::HardBreak => {
                let hard = match self.is_gfm() {
                    true => TreeElement::new("hardbreak").with("isInline", false),
                    false => TreeElement::new("hard_break"),
                };
                self.element(hard, at);
            }
            Event::InlineHtml(html) | Event::Html(html) => self.html(&html, at),
            Event::FootnoteReference(label) => {
                let label = SmolStr::new(&label);
                self.element(
                    TreeElement::new("footnote_reference")
                        .with("label", AttributeValue::String(label)),
                    at,
                );
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text, at),
            Event::Start(tag) => self.start(tag, at),
            Event::End(TagEnd::Image) => {}
            Event::End(_) => self.pop_mark(),
            _ => {}
        }
    }

    fn is_gfm(&self) -> bool {
        self.mode.profile == SchemaProfile::Gfm
    }

    fn text(&mut self, text: &str, range: Range<usize>) {
        let at = range.start;
        let is_escaped_bar = text.starts_with('|')
            && at > 0
            && self.masked.text.as_bytes()[at - 1] == b'\\'
            && !self.is_gfm()
            && !self.mode.strict;
        // In a table that this profile keeps as text, the backslash carries meaning.
        if is_escaped_bar {
            self.push("\\", at - 1..at);
        }
        let masked = self.masked;
        self.push(&masked.restore(text), range);
    }

    /// Adds text under the open marks, to the run before if that has the same.
    fn push(&mut self, text: &str, range: Range<usize>) {
        if let Some(trace) = &mut self.trace {
            trace.text(&self.masked.text, text, range);
        }
        self.push_untraced(text);
    }

    fn push_code(&mut self, code: &str, range: Range<usize>) {
        if let Some(trace) = &mut self.trace {
            trace.code(&self.masked.text, code, range);
        }
        self.push_untraced(code);
    }

    fn push_untraced(&mut self, text: &str) {
        match self.children.last_mut() {
            Some(MarkdownNode::Text(last)) if last.marks == self.marks => last.text.push_str(text),
            _ if text.is_empty() => {}
            _ => self.children.push(MarkdownNode::text(text, self.marks.clone())),
        }
    }

    fn soft_break(&mut self, at: Range<usize>) {
        match (self.mode.profile, self.mode.strict) {
            (SchemaProfile::Gfm, _) => {
                self.element(TreeElement::new("hardbreak").with("isInline", true), at);
            }
            (SchemaProfile::CommonMark, strict) => {
                self.push(if strict { " " } else { "\n" }, at);
            }
        }
    }

    fn html(&mut self, html: &str, at: Range<usize>) {
        match self.mode.profile {
            SchemaProfile::Gfm if self.mode.strict && is_line_break(html) => {}
            SchemaProfile::Gfm => {
                let value = AttributeValue::string(html);
                self.element(TreeElement::new("html").with("value", value), at);
            }
            SchemaProfile::CommonMark => self.push(html, at),
        }
    }

    fn element(&mut self, mut element: TreeElement, at: Range<usize>) {
        if let Some(trace) = &mut self.trace {
            trace.element(at);
        }
        element.marks.clone_from(&self.marks);
        self.children.push(element.into());
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        let marker = match self.masked.text.as_bytes().get(range.start) {
            Some(b'_') => "_",
            _ => "*",
        };
        match tag {
            Tag::Emphasis if self.is_gfm() => {
                self.push_mark("emphasis", TextMark::new("emphasis").with("marker", marker));
            }
            Tag::Emphasis => self.push_mark("em", TextMark::new("em")),
            Tag::Strong if self.is_gfm() => {
                self.push_mark("strong", TextMark::new("strong").with("marker", marker));
            }
            Tag::Strong => self.push_mark("strong", TextMark::new("strong")),
            Tag::Strikethrough => self.push_mark("strike_through", TextMark::new("strike_through")),
            Tag::Link { link_type, dest_url, title, .. } => {
                let is_bare_mail = link_type == LinkType::Email && !dest_url.starts_with("mailto:");
                let target = self.target(&dest_url);
                let target = if is_bare_mail { format!("mailto:{target}") } else { target };
                let title = self.masked.restore(&title);
                let title = if title.is_empty() {
                    AttributeValue::Null
                } else {
                    AttributeValue::string(&*title)
                };
                let link = TextMark::new("link").with("href", target.as_str()).with("title", title);
                self.push_mark("link", link);
            }
            Tag::Image { dest_url, title, .. } => {
                self.image = Some(OpenImage {
                    source: self.target(&dest_url),
                    title: self.masked.restore(&title).into_owned(),
                    alternative: String::new(),
                    depth: 1,
                    is_done: false,
                    range,
                });
            }
            _ => self.push_mark("", TextMark::new("")),
        }
    }

    /// Returns the destination of a link as the profile keeps it.
    fn target(&self, destination: &str) -> String {
        let target = self.masked.restore(destination);
        match (self.mode.profile, self.mode.strict) {
            (SchemaProfile::CommonMark, true) => normalise_link(&target),
            _ => target.into_owned(),
        }
    }

    /// Opens a mark. The empty name stands for none.
    fn push_mark(&mut self, name: &'static str, mark: TextMark) {
        let at = self.marks.iter().position(|open| open.name == name);
        let hidden = at.map(|at| self.marks.remove(at));
        if !name.is_empty() {
            let rank = self.mode.profile.rank(name);
            let ranks = self.marks.iter().map(|open| self.mode.profile.rank(&open.name));
            let at = ranks.take_while(|open_rank| *open_rank < rank).count();
            self.marks.insert(at, mark);
        }
        self.open.push(OpenInline { name, hidden });
    }

    /// Closes the mark that was opened last. Editors then have none of that name.
    fn pop_mark(&mut self) {
        let Some(OpenInline { name, hidden }) = self.open.pop() else { return };
        let Some(at) = self.marks.iter().position(|open| open.name == name) else { return };
        match hidden {
            Some(mark) if !self.mode.strict => self.marks[at] = mark,
            _ => drop(self.marks.remove(at)),
        }
    }

    fn event_in_image(&mut self, event: Event<'_>, at: &Range<usize>) {
        let Some(image) = &mut self.image else { return };
        let is_editor_of_commonmark =
            self.mode.strict && self.mode.profile == SchemaProfile::CommonMark;
        let soft = if self.mode.strict { "\n" } else { " " };
        match event {
            Event::End(TagEnd::Image) if image.depth == 1 => self.finish_image(),
            Event::End(TagEnd::Image) => image.depth -= 1,
            Event::Start(Tag::Image { .. }) => {
                if is_editor_of_commonmark && image.alternative.is_empty() && !image.is_done {
                    let label = self.masked.text[at.clone()].trim_start_matches("![");
                    image.alternative = label.split("](").next().unwrap_or_default().to_owned();
                }
                image.depth += 1;
                image.is_done = true;
            }
            // The first token alone.
            Event::Text(text) if is_editor_of_commonmark && !image.is_done => {
                image.alternative.push_str(&text);
            }
            Event::Text(_) if is_editor_of_commonmark => {}
            Event::Code(code) if is_editor_of_commonmark => {
                if !image.is_done && image.alternative.is_empty() {
                    image.alternative.push_str(&code);
                }
                image.is_done = true;
            }
            _ if is_editor_of_commonmark => image.is_done = true,
            Event::Text(text) | Event::Code(text) => image.alternative.push_str(&text),
            Event::SoftBreak | Event::HardBreak => image.alternative.push_str(soft),
            _ => {}
        }
    }

    fn finish_image(&mut self) {
        let Some(image) = self.image.take() else { return };
        let alternative = self.masked.restore(&image.alternative).into_owned();
        let or_null = |text: &str| match text.is_empty() {
            true => AttributeValue::Null,
            false => AttributeValue::string(text),
        };
        let element = TreeElement::new("image").with("src", image.source.as_str());
        let element = match self.mode.profile {
            SchemaProfile::CommonMark => {
                element.with("alt", or_null(&alternative)).with("title", or_null(&image.title))
            }
            SchemaProfile::Gfm => {
                let title = match self.mode.strict {
                    true => or_null(&image.title),
                    false => AttributeValue::string(&image.title),
                };
                element.with("alt", alternative.as_str()).with("title", title)
            }
        };
        self.element(element, image.range);
    }
}

/// Reports whether this is a `<br>`, which Milkdown drops when it reads.
pub(super) fn is_line_break(html: &str) -> bool {
    matches!(html.trim(), "<br />" | "<br>" | "<br >" | "<br/>")
}

/// Percent-encodes as `normalizeLink` of markdown-it does, without its changes to host names.
fn normalise_link(target: &str) -> String {
    use std::fmt::Write as _;

    const KEPT: &str = ";/?:@&=+$,-_.!~*'()#";
    let mut encoded = String::with_capacity(target.len());
    let bytes = target.as_bytes();
    for (at, character) in target.char_indices() {
        let is_hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
        let is_escape = character == '%' && is_hex(at + 1) && is_hex(at + 2);
        if is_escape || character.is_ascii_alphanumeric() || KEPT.contains(character) {
            encoded.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                write!(encoded, "%{byte:02X}").expect("a String takes all that is written");
            }
        }
    }
    encoded
}
