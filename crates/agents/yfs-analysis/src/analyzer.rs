//! The pass over a content: detects its type from its beginning, then feeds the right statistics.

use encoding_rs::{CoderResult, Decoder, UTF_8};

use crate::{
    binary_stats::BinaryPass,
    content_type::{ContentKind, DetectedContent, HEAD_LEN, detect_content, find_json_fault},
    csv_stats::CsvPass,
    file_stats::FileStats,
    html_stats::HtmlPass,
    json_stats::JsonPass,
    markdown_stats::MarkdownPass,
    preview::{ContentPreview, PreviewLimit, TextEnds},
    text_stats::TextPass,
};

/// The bytes that are decoded at once.
const BLOCK_LEN: usize = 64 * 1024;

/// What a content is: its type, its statistics, and what a preview needs.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentAnalysis {
    /// The media type.
    pub media_type: String,
    /// The size, in bytes.
    pub size: u64,
    /// The statistics.
    pub stats: FileStats,
    /// What the statistics leave out, and what is wrong with the content, for people.
    pub notes: Vec<String>,
    /// The parts of the content that a preview shows.
    pub preview: ContentPreview,
}

/// A pass over one content, which arrives in chunks of any length.
///
/// The result does not depend on where the chunks end.
#[derive(Debug)]
pub struct ContentAnalyzer {
    name: String,
    size: u64,
    /// The beginning, until it is long enough to detect the type.
    head: Vec<u8>,
    pass: Option<ContentPass>,
}

/// The pass, when the type is known.
#[derive(Debug)]
struct ContentPass {
    detected: DetectedContent,
    decoder: Option<TextDecoder>,
    ends: TextEnds,
    kind: KindPass,
    /// Why the content is no JSON, although its name says so.
    json_fault: Option<String>,
}

#[derive(Debug)]
enum KindPass {
    Json(Box<JsonPass>),
    Csv(Box<CsvPass>),
    Html(Box<HtmlPass>),
    Markdown(Box<MarkdownPass>),
    Text(Box<TextPass>),
    Binary(Box<BinaryPass>),
}

/// Turns bytes into text.
struct TextDecoder {
    decoder: Decoder,
    block: String,
    has_errors: bool,
}

impl std::fmt::Debug for TextDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextDecoder").field("has_errors", &self.has_errors).finish_non_exhaustive()
    }
}

impl ContentAnalyzer {
    /// Begins a pass over the content of a file with this name; an empty name says nothing.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), size: 0, head: Vec::new(), pass: None }
    }

    /// Adds the next chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.size += chunk.len() as u64;
        if let Some(pass) = &mut self.pass {
            pass.push(chunk, false);
            return;
        }
        let n_free = HEAD_LEN - self.head.len();
        if chunk.len() <= n_free {
            self.head.extend_from_slice(chunk);
            return;
        }
        self.head.extend_from_slice(&chunk[..n_free]);
        let mut pass = ContentPass::new(&self.name, &self.head, false);
        pass.push(&std::mem::take(&mut self.head), false);
        pass.push(&chunk[n_free..], false);
        self.pass = Some(pass);
    }

    /// Ends the pass.
    pub fn finish(self) -> ContentAnalysis {
        match self.pass {
            Some(pass) => pass.finish(&self.name, self.size),
            None => {
                let mut pass = ContentPass::new(&self.name, &self.head, true);
                pass.push(&self.head, false);
                pass.finish(&self.name, self.size)
            }
        }
    }
}

/// Analyzes a content that is in memory.
pub fn analyze(name: &str, content: &[u8]) -> ContentAnalysis {
    let mut analyzer = ContentAnalyzer::new(name);
    analyzer.push(content);
    analyzer.finish()
}

impl ContentAnalysis {
    /// Returns a preview of at most the given length.
    pub fn preview(&self, limit: PreviewLimit) -> String {
        self.preview.render(&self.stats, limit)
    }
}

impl ContentPass {
    fn new(name: &str, head: &[u8], is_whole: bool) -> Self {
        let detected = detect_content(head, name, is_whole);
        let decoder = detected.encoding.map(|encoding| TextDecoder {
            decoder: encoding.new_decoder_with_bom_removal(),
            block: String::new(),
            has_errors: false,
        });
        let mut json_fault = None;
        let kind = match detected.kind {
            ContentKind::Json | ContentKind::JsonLines => KindPass::Json(Box::new(JsonPass::new())),
            ContentKind::Csv(dialect) => KindPass::Csv(Box::new(CsvPass::new(dialect))),
            ContentKind::Html => KindPass::Html(Box::default()),
            ContentKind::Markdown => KindPass::Markdown(Box::default()),
            ContentKind::Text => {
                let encoding = detected.encoding.unwrap_or(UTF_8);
                let (text, _) = encoding.decode_with_bom_removal(head);
                json_fault = find_json_fault(&text, name, is_whole);
                KindPass::Text(Box::new(TextPass::new(name, &text, encoding.name())))
            }
            ContentKind::Binary => {
                KindPass::Binary(Box::new(BinaryPass::new(&detected.media_type)))
            }
        };
        Self { detected, decoder, ends: TextEnds::default(), kind, json_fault }
    }

    fn push(&mut self, chunk: &[u8], is_last: bool) {
        let Self { decoder, ends, kind, .. } = self;
        let Some(decoder) = decoder else {
            if let KindPass::Binary(pass) = kind {
                pass.push(chunk);
            }
            return;
        };
        decoder.decode(chunk, is_last, |text| {
            ends.push(text);
            match kind {
                KindPass::Json(pass) => pass.push(text),
                KindPass::Csv(pass) => pass.push(text),
                KindPass::Html(pass) => pass.push(text),
                KindPass::Markdown(pass) => pass.push(text),
                KindPass::Text(pass) => pass.push(text),
                KindPass::Binary(_) => (),
            }
        });
    }

    fn finish(mut self, name: &str, size: u64) -> ContentAnalysis {
        self.push(&[], true);
        let mut notes = Vec::new();
        let mut preview = ContentPreview::of(self.ends);
        if let (Some(encoding), Some(TextDecoder { has_errors: true, .. })) =
            (self.detected.encoding, &self.decoder)
        {
            notes.push(format!("some bytes are not {}; they count as U+FFFD", encoding.name()));
        }
        notes.extend(self.json_fault.map(|fault| format!("{fault}; described as text")));
        let stats = match self.kind {
            KindPass::Json(pass) => {
                let is_lines =
                    self.detected.kind == ContentKind::JsonLines && !name.ends_with(".json");
                let findings = pass.finish(is_lines);
                notes.extend(findings.notes);
                preview.set_sample(findings.sample);
                findings.stats
            }
            KindPass::Csv(pass) => FileStats::Csv(pass.finish(&mut notes)),
            KindPass::Html(pass) => {
                let (stats, text) = pass.finish(&mut notes);
                preview.set_text(text, stats.main_content_length);
                FileStats::Html(stats)
            }
            KindPass::Markdown(pass) => FileStats::Markdown(pass.finish(&mut notes)),
            KindPass::Text(pass) => FileStats::Text(pass.finish(&mut notes)),
            KindPass::Binary(pass) => FileStats::Binary(pass.finish(&mut notes)),
        };
        ContentAnalysis { media_type: self.detected.media_type, size, stats, notes, preview }
    }
}

impl TextDecoder {
    fn decode(&mut self, chunk: &[u8], is_last: bool, mut receive: impl FnMut(&str)) {
        let needed = self.decoder.max_utf8_buffer_length(BLOCK_LEN).unwrap_or(4 * BLOCK_LEN);
        self.block.reserve(needed.saturating_sub(self.block.capacity()));
        let mut rest = chunk;
        loop {
            let part = &rest[..rest.len().min(BLOCK_LEN)];
            let is_end = is_last && part.len() == rest.len();
            let (result, n_read, had_errors) =
                self.decoder.decode_to_string(part, &mut self.block, is_end);
            self.has_errors |= had_errors;
            receive(&self.block);
            self.block.clear();
            rest = &rest[n_read..];
            if rest.is_empty() && result == CoderResult::InputEmpty {
                return;
            }
        }
    }
}
