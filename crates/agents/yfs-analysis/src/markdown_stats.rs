//! The statistics of markdown.
//!
//! # Cost
//!
//! A text of up to [`MAX_PIECE_LEN`] bytes is parsed as a whole. A longer one is parsed in pieces
//! that end at a blank line outside code fences, so links by reference that are defined in another
//! piece do not count; without such a line, pieces end at the limit.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::file_stats::MarkdownStats;

/// The most bytes that are parsed at once.
const MAX_PIECE_LEN: usize = 4 << 20;

/// The most headings that are listed.
const MAX_HEADINGS: usize = 1_024;

/// The most bytes of a heading.
const MAX_HEADING_LEN: usize = 1_024;

/// The pass over a markdown text.
#[derive(Debug, Default)]
pub(crate) struct MarkdownPass {
    piece: String,
    n_pieces: usize,
    stats: MarkdownStats,
    has_more_headings: bool,
}

impl MarkdownPass {
    pub(crate) fn push(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let mut n_taken = (MAX_PIECE_LEN - self.piece.len()).min(rest.len());
            while !rest.is_char_boundary(n_taken) {
                n_taken -= 1;
            }
            if n_taken == 0 {
                self.parse_piece(false);
                continue;
            }
            self.piece.push_str(&rest[..n_taken]);
            rest = &rest[n_taken..];
        }
    }

    pub(crate) fn finish(mut self, notes: &mut Vec<String>) -> MarkdownStats {
        self.parse_piece(true);
        if self.n_pieces > 1 {
            notes.push(format!(
                "parsed in {} pieces: links by reference between them do not count",
                self.n_pieces
            ));
        }
        if self.has_more_headings {
            notes.push(format!("only the first {MAX_HEADINGS} headings are listed"));
        }
        self.stats
    }

    fn parse_piece(&mut self, is_last: bool) {
        let end = if is_last { self.piece.len() } else { piece_end(&self.piece) };
        let rest = self.piece.split_off(end);
        let piece = std::mem::replace(&mut self.piece, rest);
        if self.n_pieces == 0 {
            self.stats.front_matter = front_matter_format(&piece).map(ToOwned::to_owned);
        }
        self.n_pieces += 1;
        self.count(&piece);
    }

    fn count(&mut self, piece: &str) {
        let mut options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        options |= Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES;
        if self.n_pieces == 1 {
            options |= Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
            options |= Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
        }
        let mut heading: Option<(String, usize)> = None;
        let mut is_hidden = false;
        // Whether the last text ended within a word.
        let mut is_in_word = false;
        for event in Parser::new_ext(piece, options) {
            match event {
                Event::Start(tag) => {
                    is_in_word &= is_inline(&tag);
                    is_hidden |= matches!(tag, Tag::CodeBlock(_) | Tag::MetadataBlock(_));
                    if let Tag::Heading { level, .. } = tag {
                        heading = Some((String::new(), level as usize));
                    }
                    self.count_tag(&tag);
                }
                Event::End(TagEnd::CodeBlock | TagEnd::MetadataBlock(_)) => is_hidden = false,
                Event::End(TagEnd::Heading(_)) => {
                    is_in_word = false;
                    self.stats.headings.extend(heading.take());
                    self.has_more_headings |= self.stats.headings.len() > MAX_HEADINGS;
                    self.stats.headings.truncate(MAX_HEADINGS);
                }
                Event::End(end) => is_in_word &= is_inline_end(end),
                Event::Text(text) | Event::Code(text) if !is_hidden => {
                    if let Some((heading, _)) = &mut heading
                        && heading.len() + text.len() <= MAX_HEADING_LEN
                    {
                        heading.push_str(&text);
                    }
                    let starts_in_word = !text.starts_with(char::is_whitespace);
                    let n_words = text.split_whitespace().count();
                    let is_joined = is_in_word && starts_in_word && n_words > 0;
                    self.stats.word_count += n_words - usize::from(is_joined);
                    is_in_word =
                        !text.ends_with(char::is_whitespace) && (n_words > 0 || is_in_word);
                }
                Event::SoftBreak | Event::HardBreak | Event::Rule => {
                    is_in_word = false;
                    if let Some((heading, _)) = &mut heading {
                        heading.push(' ');
                    }
                }
                _ => (),
            }
        }
    }

    fn count_tag(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.stats.code_blocks += 1;
            }
            Tag::Link { .. } => self.stats.links += 1,
            Tag::Image { .. } => self.stats.images += 1,
            Tag::Table(_) => self.stats.tables += 1,
            Tag::List(_) => self.stats.lists += 1,
            _ => (),
        }
    }
}

fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
    )
}

fn is_inline_end(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
    )
}

/// Returns the format of the block at the beginning of a document that holds its metadata.
pub(crate) fn front_matter_format(text: &str) -> Option<&'static str> {
    let (fence, format) = match text.as_bytes() {
        [b'-', b'-', b'-', b'\n' | b'\r', ..] => ("---", "YAML"),
        [b'+', b'+', b'+', b'\n' | b'\r', ..] => ("+++", "TOML"),
        _ => return None,
    };
    text.lines().skip(1).any(|line| line.trim_end() == fence).then_some(format)
}

/// Returns the end of the last blank line outside code fences in the second half of a text, or the
/// end of the text.
fn piece_end(text: &str) -> usize {
    let (mut fence, mut found, mut at) = (None, None, 0);
    for line in text.split_inclusive('\n') {
        at += line.len();
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) if trimmed.is_empty() && at > text.len() / 2 => found = Some(at),
            _ => (),
        }
    }
    found.unwrap_or(text.len())
}
