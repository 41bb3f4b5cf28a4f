//! What kind of content a file has: by its first bytes, and by its name where they leave it open.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use yfs_types::utf16::Utf16Order;

use crate::{
    json_lexer::{JsonEvent, JsonLexer, valid_prefix},
    table_dialect::{TableDialect, TableHint, detect_table},
    text_hints::{config_by_name, extension_of, language_of},
};

/// The bytes from which the type of a content is detected.
pub const HEAD_LEN: usize = 64 * 1024;

/// The type of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DetectedContent {
    /// The media type.
    pub media_type: String,
    /// The kind of its statistics.
    pub kind: ContentKind,
    /// The encoding, if the content is text.
    pub encoding: Option<&'static Encoding>,
}

/// The kind of a content, which decides the shape of its statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ContentKind {
    /// JSON: one value.
    Json,
    /// JSON values one after the other.
    JsonLines,
    /// A table of text.
    Csv(TableDialect),
    /// HTML.
    Html,
    /// Markdown.
    Markdown,
    /// Other text.
    Text,
    /// Not text.
    Binary,
}

/// Detects the type of a content from its first [`HEAD_LEN`] bytes and its name. `is_whole` says
/// that the bytes are the whole content.
///
/// The content decides where it can. The name decides between kinds that any text may be: code with
/// commas is no table, and a text named `.md` is markdown.
pub(crate) fn detect_content(head: &[u8], name: &str, is_whole: bool) -> DetectedContent {
    let binary = |media_type: &str| DetectedContent {
        media_type: media_type.to_owned(),
        kind: ContentKind::Binary,
        encoding: None,
    };
    if let Some(media_type) = binary_type(head) {
        return binary(media_type);
    }
    let Some(encoding) = detect_encoding(head, is_whole) else {
        return binary("application/octet-stream");
    };
    let (text, _) = encoding.decode_with_bom_removal(head);
    let kind = match detect_text(&text, name, is_whole) {
        Some((kind, media_type)) => (kind, media_type.to_owned()),
        None => (ContentKind::Text, text_type(name, &text).to_owned()),
    };
    DetectedContent { media_type: kind.1, kind: kind.0, encoding: Some(encoding) }
}

/// Decodes a whole text in the encoding that `detect_content` finds. Returns `None` for bytes
/// that are no text, or are not valid in that encoding.
pub fn decode_text(content: &[u8]) -> Option<Cow<'_, str>> {
    let (head, is_whole) = head_of(content);
    let mut encoding = detect_encoding(head, is_whole)?;
    if encoding == UTF_8 && valid_prefix(content).len() < content.len() {
        // Behind the head stands the first character that is not ASCII.
        let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
        detector.feed(content, true);
        encoding = detector.guess(None, chardetng::Utf8Detection::Allow);
    }
    let (text, had_errors) = encoding.decode_with_bom_removal(content);
    (!had_errors).then_some(text)
}

/// Returns the extension that files of a media type have, with its dot.
pub fn extension_for(media_type: &str) -> &'static str {
    match media_type {
        "application/json" => ".json",
        "application/x-ndjson" => ".jsonl",
        "text/csv" => ".csv",
        "text/tab-separated-values" => ".tsv",
        "text/html" => ".html",
        "text/markdown" => ".md",
        "text/xml" => ".xml",
        "image/svg+xml" => ".svg",
        "application/yaml" => ".yaml",
        "application/toml" => ".toml",
        "application/pdf" => ".pdf",
        "application/zip" => ".zip",
        "application/gzip" => ".gz",
        "application/x-tar" => ".tar",
        "application/wasm" => ".wasm",
        "application/vnd.sqlite3" => ".sqlite",
        "application/vnd.apache.parquet" => ".parquet",
        "image/png" => ".png",
        "image/jpeg" => ".jpg",
        "image/gif" => ".gif",
        "image/webp" => ".webp",
        "audio/wav" | "audio/x-wav" => ".wav",
        "audio/mpeg" => ".mp3",
        other if other.starts_with("text/") => ".txt",
        _ => ".bin",
    }
}

/// Returns the media type of a content that its first bytes prove to be no text.
fn binary_type(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(b"PAR1") {
        return Some("application/vnd.apache.parquet");
    }
    if head.get(257..262) == Some(b"ustar") {
        return Some("application/x-tar");
    }
    let found = infer::get(head)?;
    // Text formats are found by other signs, after decoding.
    let is_text = matches!(found.matcher_type(), infer::MatcherType::Text)
        || found.mime_type() == "application/rtf";
    match (is_text, found.mime_type()) {
        (true, _) => None,
        (false, "application/x-executable") => Some("application/x-elf"),
        (false, media_type) => Some(media_type),
    }
}

/// Returns the encoding of a text, or `None` for bytes that are none.
fn detect_encoding(head: &[u8], is_whole: bool) -> Option<&'static Encoding> {
    match Utf16Order::detect(head) {
        Some(Utf16Order::LittleEndian) => return Some(UTF_16LE),
        Some(Utf16Order::BigEndian) => return Some(UTF_16BE),
        None if head.starts_with(b"\xEF\xBB\xBF") => return Some(UTF_8),
        None => (),
    }
    let n_control =
        head.iter().filter(|byte| matches!(byte, 1..=6 | 14..=26 | 28..=31 | 127)).count();
    if head.contains(&0) || n_control * 50 > head.len() {
        return None;
    }
    let valid_len = valid_prefix(head).len();
    // The last character of the head may be cut.
    if valid_len == head.len() || (!is_whole && head.len() - valid_len < 4) {
        return Some(UTF_8);
    }
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(head, is_whole);
    Some(detector.guess(None, chardetng::Utf8Detection::Allow))
}

fn detect_text(text: &str, name: &str, is_whole: bool) -> Option<(ContentKind, &'static str)> {
    let trimmed = text.trim_start();
    let extension = extension_of(name).unwrap_or_default();
    let is_code = language_of(name, text).is_some();
    if let Some(kind) = detect_json(trimmed, &extension, is_whole, is_code) {
        let media_type = match kind {
            ContentKind::Json => "application/json",
            _ => "application/x-ndjson",
        };
        return Some((kind, media_type));
    }
    if is_code {
        return None;
    }
    let is_markdown = matches!(extension.as_str(), "md" | "markdown" | "mdown" | "mkd" | "mdx");
    if begins_like_html(trimmed) && !is_markdown {
        return Some((ContentKind::Html, "text/html"));
    }
    match extension.as_str() {
        "html" | "htm" | "xhtml" if trimmed.contains('<') => {
            return Some((ContentKind::Html, "text/html"));
        }
        _ if is_markdown => return Some((ContentKind::Markdown, "text/markdown")),
        "log" => return None,
        "csv" => return detect_csv(text, is_whole, TableHint::Csv),
        "tsv" | "tab" => return detect_csv(text, is_whole, TableHint::Tsv),
        _ => (),
    }
    if trimmed.starts_with("<?xml") || config_by_name(name).is_some() {
        return None;
    }
    if looks_like_markdown(text) {
        return Some((ContentKind::Markdown, "text/markdown"));
    }
    detect_csv(text, is_whole, TableHint::Unknown)
}

fn detect_csv(text: &str, is_whole: bool, hint: TableHint) -> Option<(ContentKind, &'static str)> {
    let dialect = detect_table(text, is_whole, hint)?;
    let has_tabs = dialect.delimiter == b'\t';
    let media_type = if has_tabs { "text/tab-separated-values" } else { "text/csv" };
    Some((ContentKind::Csv(dialect), media_type))
}

/// Detects the dialect of a table that a file has, as statistics of the file read it. Returns
/// `None` for bytes that are no text.
pub fn table_dialect_of(content: &[u8], hint: TableHint) -> Option<TableDialect> {
    let (head, is_whole) = head_of(content);
    let encoding = detect_encoding(head, is_whole)?;
    let (text, _) = encoding.decode_with_bom_removal(head);
    detect_table(&text, is_whole, hint)
}

/// Returns the bytes from which the type of a whole content is detected, and whether they are all.
fn head_of(content: &[u8]) -> (&[u8], bool) {
    (&content[..content.len().min(HEAD_LEN)], content.len() <= HEAD_LEN)
}

fn is_json_extension(extension: &str) -> bool {
    matches!(extension, "json" | "jsonl" | "ndjson" | "geojson" | "ipynb")
}

/// Returns why the head of a text is no JSON, although its name is one of JSON.
pub(crate) fn find_json_fault(head: &str, name: &str, is_whole: bool) -> Option<String> {
    let extension = extension_of(name).filter(|extension| is_json_extension(extension))?;
    if is_whole && head.trim().is_empty() {
        return (extension != "jsonl" && extension != "ndjson").then(|| "not JSON: empty".into());
    }
    let mut lexer = JsonLexer::default();
    lexer.push(head.as_bytes(), &mut |_| ()).err().map(|error| error.to_string())
}

/// Returns the kind of JSON that a text is: its head has no error, and more than one value or one
/// that is an array or object.
fn detect_json(text: &str, extension: &str, is_whole: bool, is_code: bool) -> Option<ContentKind> {
    let is_named = is_json_extension(extension) || extension == "map";
    let is_lines = matches!(extension, "jsonl" | "ndjson");
    if text.is_empty() || is_code || !(is_named || text.starts_with(['{', '['])) {
        return None;
    }
    let (mut lexer, mut depth, mut n_values, mut n_events) = (JsonLexer::default(), 0_usize, 0, 0);
    let mut receive = |event: JsonEvent<'_>| {
        n_events += 1;
        match event {
            JsonEvent::BeginArray | JsonEvent::BeginObject => depth += 1,
            JsonEvent::EndArray | JsonEvent::EndObject => depth -= 1,
            _ => (),
        }
        let is_value = !matches!(event, JsonEvent::Key(_));
        let is_begin = matches!(event, JsonEvent::BeginArray | JsonEvent::BeginObject);
        n_values += usize::from(is_value && depth == 0 && !is_begin);
    };
    lexer.push(text.as_bytes(), &mut receive).ok()?;
    if is_whole {
        let ended = lexer.finish(&mut receive);
        // A named file that ends early is JSON with an error, which its statistics report.
        if ended.is_err() && !is_named {
            return None;
        }
    }
    // Brackets around few words are no sign of JSON.
    if !is_named && !is_whole && n_events < 2 {
        return None;
    }
    let is_several = n_values > 1 || (n_values == 1 && depth > 0);
    Some(if is_lines || is_several { ContentKind::JsonLines } else { ContentKind::Json })
}

fn begins_like_html(text: &str) -> bool {
    let mut rest = text;
    // Comments and an XML declaration may precede the type.
    for _ in 0..8 {
        let end = match rest {
            _ if rest.starts_with("<!--") => "-->",
            _ if rest.starts_with("<?xml") => "?>",
            _ => break,
        };
        match rest.split_once(end) {
            Some((_, after)) => rest = after.trim_start(),
            None => return false,
        }
    }
    let starts = |word: &str| {
        let begin = rest.get(..word.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(word))
            && !rest[word.len()..].starts_with(|char: char| char.is_ascii_alphanumeric())
    };
    let elements = ["<html", "<head", "<body", "<!doctype html", "<title", "<meta", "<div", "<h1"];
    elements.iter().any(|element| starts(element))
}

/// Reports whether a text has several signs of markdown that other texts rarely have.
fn looks_like_markdown(text: &str) -> bool {
    let (mut n_headings, mut n_fences, mut n_links, mut n_items) = (0, 0, 0, 0);
    for line in text.lines().take(500) {
        let is_heading = line.starts_with('#') && {
            let level = line.bytes().take_while(|byte| *byte == b'#').count();
            level <= 6 && line[level..].starts_with(' ')
        };
        n_headings += usize::from(is_heading);
        n_fences += usize::from(line.starts_with("```"));
        n_links += usize::from(line.contains("]("));
        n_items += usize::from(line.starts_with("- ") || line.starts_with("* "));
    }
    let begins = text.trim_start().starts_with("# ");
    let n_signs = usize::from(n_fences >= 2) + usize::from(n_links > 0) + usize::from(n_items > 1);
    (begins && (n_signs > 0 || n_headings > 1)) || (n_headings > 0 && n_signs > 1)
}

/// Returns the media type of other text.
fn text_type(name: &str, text: &str) -> &'static str {
    let trimmed = text.trim_start();
    if trimmed.starts_with("<svg") || (trimmed.starts_with("<?xml") && text.contains("<svg")) {
        return "image/svg+xml";
    }
    if trimmed.starts_with("<?xml") {
        return "text/xml";
    }
    match extension_of(name).unwrap_or_default().as_str() {
        "xml" => "text/xml",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "js" | "mjs" | "cjs" => "text/javascript",
        "css" => "text/css",
        _ => "text/plain",
    }
}
