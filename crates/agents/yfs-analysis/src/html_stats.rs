//! The statistics of HTML.

use crate::{
    file_stats::HtmlStats,
    html_scanner::{HtmlEvent, HtmlScanner, HtmlTag},
};

/// The most headings that are listed.
const MAX_HEADINGS: usize = 1_024;

/// The most characters of a title or heading.
const MAX_HEADING_CHARS: usize = 300;

/// The most bytes of the text that a preview shows.
const MAX_SNIPPET_LEN: usize = 8 * 1024;

/// The pass over an HTML text.
#[derive(Debug, Default)]
pub(crate) struct HtmlPass {
    scanner: HtmlScanner,
    collector: HtmlCollector,
}

#[derive(Debug, Default)]
struct HtmlCollector {
    stats: HtmlStats,
    /// The title, or the heading and its level, whose text is being read.
    title: Option<CollapsedText>,
    heading: Option<(CollapsedText, usize)>,
    /// The element whose text is no content.
    hidden_in: Option<&'static str>,
    content: CollapsedText,
    has_more_headings: bool,
}

/// A text in which runs of white space are one space; its beginning, and its length.
#[derive(Debug, Default)]
struct CollapsedText {
    text: String,
    n_chars: usize,
    /// Whether a space precedes the next character.
    is_space_due: bool,
}

impl CollapsedText {
    fn add(&mut self, text: &str, max_len: usize) {
        for char in text.chars() {
            if char.is_whitespace() {
                self.is_space_due = self.n_chars > 0;
                continue;
            }
            if std::mem::take(&mut self.is_space_due) {
                self.put(' ', max_len);
            }
            self.put(char, max_len);
        }
    }

    fn put(&mut self, char: char, max_len: usize) {
        self.n_chars += 1;
        if self.text.len() < max_len {
            self.text.push(char);
        }
    }

    fn into_heading(self) -> String {
        match self.text.char_indices().nth(MAX_HEADING_CHARS) {
            Some((end, _)) => format!("{}…", &self.text[..end]),
            None => self.text,
        }
    }
}

impl HtmlPass {
    pub(crate) fn push(&mut self, text: &str) {
        let collector = &mut self.collector;
        self.scanner.push(text, &mut |event| collector.add(event));
    }

    /// Ends the pass, and returns the beginning of the text as well.
    pub(crate) fn finish(mut self, notes: &mut Vec<String>) -> (HtmlStats, String) {
        let collector = &mut self.collector;
        self.scanner.finish(&mut |event| collector.add(event));
        self.collector.end_heading();
        let mut stats = self.collector.stats;
        if let Some(title) = self.collector.title {
            stats.title = Some(title.into_heading());
        }
        if self.collector.has_more_headings {
            notes.push(format!("only the first {MAX_HEADINGS} headings are listed"));
        }
        stats.main_content_length = self.collector.content.n_chars;
        (stats, self.collector.content.text)
    }
}

impl HtmlCollector {
    fn add(&mut self, event: HtmlEvent<'_>) {
        match event {
            HtmlEvent::StartTag(tag) => self.begin_element(tag),
            HtmlEvent::EndTag(name) => self.end_element(name),
            HtmlEvent::Text(text) => self.add_text(text),
        }
    }

    fn begin_element(&mut self, tag: &HtmlTag) {
        match tag.name.as_str() {
            "html" => {
                let language = tag.attribute("lang").filter(|language| !language.is_empty());
                self.stats.language =
                    self.stats.language.take().or(language.map(ToOwned::to_owned));
            }
            "a" => self.stats.link_count += usize::from(tag.attribute("href").is_some()),
            "img" => self.stats.image_count += 1,
            "script" => {
                self.stats.script_tags += 1;
                self.hidden_in = Some("script");
            }
            "style" => self.hidden_in = Some("style"),
            "title" => {
                self.hidden_in = Some("title");
                if self.title.is_none() && self.stats.title.is_none() {
                    self.title = Some(CollapsedText::default());
                }
            }
            "meta" => {
                let name = tag.attribute("name").unwrap_or_default();
                if name.eq_ignore_ascii_case("description") && self.stats.meta_description.is_none()
                {
                    self.stats.meta_description = tag.attribute("content").map(ToOwned::to_owned);
                }
            }
            name => {
                if let Some(level) = heading_level(name) {
                    self.end_heading();
                    self.heading = Some((CollapsedText::default(), level));
                }
            }
        }
    }

    fn end_element(&mut self, name: &str) {
        if self.hidden_in == Some(name) {
            self.hidden_in = None;
        }
        if name == "title"
            && let Some(title) = self.title.take()
        {
            self.stats.title = Some(title.into_heading());
        }
        if heading_level(name).is_some() {
            self.end_heading();
        }
    }

    fn end_heading(&mut self) {
        let Some((text, level)) = self.heading.take() else { return };
        match self.stats.headings.len() < MAX_HEADINGS {
            true => self.stats.headings.push((text.into_heading(), level)),
            false => self.has_more_headings = true,
        }
    }

    fn add_text(&mut self, text: &str) {
        const MAX_HEADING_LEN: usize = 4 * MAX_HEADING_CHARS + 4;
        if self.hidden_in.is_some() {
            if let (Some("title"), Some(title)) = (self.hidden_in, &mut self.title) {
                title.add(text, MAX_HEADING_LEN);
            }
            return;
        }
        if let Some((heading, _)) = &mut self.heading {
            heading.add(text, MAX_HEADING_LEN);
        }
        self.content.add(text, MAX_SNIPPET_LEN);
    }
}

fn heading_level(name: &str) -> Option<usize> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(usize::from(level - b'0')),
        _ => None,
    }
}
