//! Previews: what a content looks like, in a given number of characters, bytes or tokens.

use std::{collections::BTreeMap, io};

use serde::{Deserialize, Serialize};
use serde_json::{Value, ser::Formatter};

use crate::{
    describe::schema_words,
    file_stats::{CsvStats, FileStats},
    json_sample::{SAMPLE_LIMITS, SampleLimits, prune},
    text_stats::push_prefix,
    tokens::{estimate_tokens, token_budget_chars},
};

/// The bytes of the beginning of a text that a preview can show.
const MAX_HEAD_LEN: usize = 16 * 1024;

/// The bytes of its end.
const MAX_TAIL_LEN: usize = 4 * 1024;

/// A preview shorter than this shows no end.
const MIN_CHARS_WITH_TAIL: usize = 500;

/// The longest preview that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviewLimit {
    /// In characters.
    Characters(usize),
    /// In bytes of UTF-8.
    Bytes(usize),
    /// In tokens, by the estimate of [`estimate_tokens`].
    Tokens(usize),
}

impl Default for PreviewLimit {
    /// `docs/spec/artifacts.md`: 300 characters.
    fn default() -> Self {
        Self::Characters(300)
    }
}

/// The parts of a content that a preview shows; at most 1 MiB, mostly less than 20 KiB.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContentPreview {
    /// The beginning of the text.
    head: String,
    /// The end of the text, if the head is not the whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tail: String,
    /// The number of characters of the text.
    n_chars: usize,
    /// The number of newlines in the text.
    n_newlines: usize,
    /// The beginning of the document, of JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sample: Option<Value>,
}

/// Keeps the beginning and the end of a text that passes.
#[derive(Debug, Default)]
pub(crate) struct TextEnds {
    head: String,
    /// The last bytes; up to twice as many as needed.
    tail: String,
    n_chars: usize,
    n_newlines: usize,
    is_cut: bool,
}

impl TextEnds {
    pub(crate) fn push(&mut self, text: &str) {
        self.n_chars += if text.is_ascii() { text.len() } else { text.chars().count() };
        self.n_newlines += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let mut rest = text;
        if !self.is_cut {
            let n_before = self.head.len();
            push_prefix(&mut self.head, text, MAX_HEAD_LEN);
            rest = &text[self.head.len() - n_before..];
            self.is_cut = !rest.is_empty();
        }
        // A character more: the end must not depend on where earlier ends were cut.
        let max_len = MAX_TAIL_LEN + 4;
        self.tail.push_str(&rest[start_of_tail(rest, max_len)..]);
        if self.tail.len() > 2 * max_len {
            self.tail.drain(..start_of_tail(&self.tail, max_len));
        }
    }
}

/// Returns where the last characters of a text begin that have at most `max_len` bytes.
fn start_of_tail(text: &str, max_len: usize) -> usize {
    let mut start = text.len().saturating_sub(max_len);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    start
}

impl ContentPreview {
    pub(crate) fn of(mut ends: TextEnds) -> Self {
        ends.tail.drain(..start_of_tail(&ends.tail, MAX_TAIL_LEN));
        let TextEnds { head, tail, n_chars, n_newlines, .. } = ends;
        Self { head, tail, n_chars, n_newlines, sample: None }
    }

    /// Shows a document instead of its text.
    pub(crate) fn set_sample(&mut self, sample: Value) {
        self.head.clear();
        self.tail.clear();
        self.sample = Some(sample);
    }

    /// Shows another text instead.
    pub(crate) fn set_text(&mut self, head: String, n_chars: usize) {
        *self = Self { head, n_chars, ..Self::default() };
    }

    /// Returns the preview of a content with these statistics.
    pub fn render(&self, stats: &FileStats, limit: PreviewLimit) -> String {
        let shown = match stats {
            FileStats::Json(_) | FileStats::JsonArray(_) => self.render_json(stats, limit),
            FileStats::Csv(stats) => render_table(stats, limit),
            FileStats::Html(stats) => {
                let title =
                    stats.title.as_ref().map_or(String::new(), |title| format!("{title}\n"));
                let n_left = limit.chars().saturating_sub(title.chars().count());
                format!("{title}{}", cut_chars(&self.head, n_left.max(1), self.n_chars))
            }
            FileStats::Binary(stats) => {
                let facts: BTreeMap<_, _> = stats.metadata.iter().collect();
                let facts = facts.iter().map(|(name, value)| format!("{name}: {value}"));
                let facts = facts.collect::<Vec<_>>().join(", ");
                if facts.is_empty() {
                    stats.format.clone()
                } else {
                    format!("{}: {facts}", stats.format)
                }
            }
            FileStats::Markdown(_) | FileStats::Text(_) => self.render_text(limit),
        };
        limit.cut(shown)
    }

    fn render_json(&self, stats: &FileStats, limit: PreviewLimit) -> String {
        let Some(sample) = &self.sample else { return self.render_text(limit) };
        match stats {
            FileStats::JsonArray(array) => {
                let schema = array.element_schema.as_ref().map(schema_words).unwrap_or_default();
                let head = format!("{} elements {schema}", array.length);
                render_rows(sample, &cut_chars(&head, limit.chars() / 2, 0), array.length, limit)
            }
            FileStats::Json(json) if json.is_array => {
                let length = json.array_length.unwrap_or(0);
                render_rows(sample, &format!("{length} elements"), length, limit)
            }
            _ => {
                let levels = [(5, 64, 120, 6), (3, 64, 60, 5), (2, 24, 40, 4), (1, 12, 24, 4)];
                let mut shown = String::new();
                for (n_elements, n_members, n_chars, depth) in levels {
                    let limits =
                        SampleLimits { n_elements, n_members, n_chars, depth, ..SAMPLE_LIMITS };
                    shown = spaced_json(&prune(sample, limits));
                    if limit.fits(&shown) {
                        break;
                    }
                }
                shown
            }
        }
    }

    fn render_text(&self, limit: PreviewLimit) -> String {
        let max_chars = limit.chars();
        let is_whole = self.head.chars().count() == self.n_chars;
        if is_whole && self.n_chars <= max_chars {
            return self.head.clone();
        }
        let end = if self.tail.is_empty() { &self.head } else { &self.tail };
        if max_chars < MIN_CHARS_WITH_TAIL || self.n_newlines < 4 {
            return cut_chars(&self.head, max_chars, self.n_chars);
        }
        // Room for the line between the parts.
        let n_shown = max_chars - 60;
        let head = whole_lines_of_head(&self.head, n_shown * 2 / 3);
        let tail = whole_lines_of_tail(end, n_shown / 3);
        let n_lines = self.n_newlines.saturating_add(usize::from(!end.ends_with('\n')));
        let n_omitted = n_lines.saturating_sub(head.lines().count() + tail.lines().count());
        format!("{head}... [{n_omitted} lines omitted] ...\n{tail}")
    }
}

impl PreviewLimit {
    /// Returns the greatest number of characters that the limit can allow.
    fn chars(self) -> usize {
        match self {
            Self::Characters(limit) | Self::Bytes(limit) => limit,
            Self::Tokens(limit) => token_budget_chars(limit),
        }
    }

    fn fits(self, text: &str) -> bool {
        match self {
            Self::Characters(limit) => text.chars().count() <= limit,
            Self::Bytes(limit) => text.len() <= limit,
            Self::Tokens(limit) => estimate_tokens(text) <= limit,
        }
    }

    /// Cuts a text that does not fit, and shows that by an ellipsis.
    fn cut(self, text: String) -> String {
        if self.fits(&text) {
            return text;
        }
        let mut shown = match self {
            Self::Bytes(limit) => {
                let mut kept = String::new();
                push_prefix(&mut kept, &text, limit.saturating_sub('…'.len_utf8()));
                kept
            }
            _ => first_chars(&text, self.chars().saturating_sub(1)).to_owned(),
        };
        if self.chars() >= '…'.len_utf8() {
            shown.push('…');
        }
        shown
    }
}

/// Returns the beginning of a text in at most `max_chars`, with an ellipsis if that is not all of
/// `n_chars`.
fn cut_chars(text: &str, max_chars: usize, n_chars: usize) -> String {
    let n_kept = text.chars().count();
    if n_kept <= max_chars && n_kept >= n_chars {
        return text.to_owned();
    }
    format!("{}…", first_chars(text, max_chars.saturating_sub(1)))
}

/// Returns the first characters of a text.
fn first_chars(text: &str, n_chars: usize) -> &str {
    match text.char_indices().nth(n_chars) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

fn whole_lines_of_head(text: &str, max_chars: usize) -> String {
    let shown = first_chars(text, max_chars);
    match shown.rfind('\n') {
        Some(end) if end * 2 > shown.len() => shown[..=end].to_owned(),
        // One long line.
        _ => format!("{shown}…\n"),
    }
}

fn whole_lines_of_tail(text: &str, max_chars: usize) -> String {
    let n_skipped = text.chars().count().saturating_sub(max_chars);
    let shown = &text[first_chars(text, n_skipped).len()..];
    match shown.find('\n') {
        Some(start) if start * 2 < shown.len() => shown[start + 1..].to_owned(),
        _ => format!("…{shown}"),
    }
}

/// Returns the elements of an array, one per line, as many as fit.
fn render_rows(sample: &Value, head: &str, length: usize, limit: PreviewLimit) -> String {
    let elements = sample.as_array().map(Vec::as_slice).unwrap_or_default();
    let n_rows = elements.len().min(length).min(SAMPLE_LIMITS.n_rows);
    let mut shown = format!("{head}\n");
    let mut n_shown = 0;
    for element in &elements[..n_rows] {
        let row = spaced_json(element);
        let rest = length - n_shown - 1;
        let candidate = format!("{shown}{row}\n");
        let end = if rest > 0 { format!("… {rest} more") } else { String::new() };
        if !limit.fits(&format!("{candidate}{end}")) {
            break;
        }
        shown = candidate;
        n_shown += 1;
    }
    if n_shown == 0 && n_rows > 0 {
        // A part of the first element shows more than its absence.
        shown.push_str(&spaced_json(&elements[0]));
        return shown;
    }
    match length - n_shown {
        0 => (),
        rest => shown.push_str(&format!("… {rest} more")),
    }
    shown.trim_end().to_owned()
}

fn render_table(stats: &CsvStats, limit: PreviewLimit) -> String {
    let mut shown = csv_line(&stats.headers);
    let mut n_shown = 0;
    for row in &stats.sample_values {
        let candidate = format!("{shown}\n{}", csv_line(row));
        if !limit.fits(&format!("{candidate}\n… {} more rows", stats.rows)) {
            break;
        }
        shown = candidate;
        n_shown += 1;
    }
    match stats.rows.saturating_sub(n_shown) {
        0 => shown,
        rest => format!("{shown}\n… {rest} more rows"),
    }
}

fn csv_line(values: &[String]) -> String {
    let quoted = values.iter().map(|value| match value.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value.clone(),
    });
    quoted.collect::<Vec<_>>().join(",")
}

/// Writes JSON on one line, with a space after each comma and colon.
struct SpacedFormatter;

impl Formatter for SpacedFormatter {
    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Returns a value as JSON on one line.
pub(crate) fn spaced_json(value: &Value) -> String {
    let mut written = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut written, SpacedFormatter);
    value.serialize(&mut serializer).expect("a value with string keys can be written to memory");
    String::from_utf8(written).expect("JSON is UTF-8")
}
