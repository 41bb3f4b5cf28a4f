//! The facts that files which are not text state of themselves.
//!
//! Every number comes from a header, which may lie: numbers are reported and never used to allocate
//! or to loop. Compressed data is not decompressed.
//!
//! # Cost
//!
//! The first [`MAX_HEAD_LEN`] and the last [`MAX_TAIL_LEN`] bytes; of Parquet, whose description is
//! at the end, the last 4 MiB.

mod archives;
mod databases;
mod media;
mod parquet;
mod programs;
mod thrift;

use std::collections::HashMap;

use crate::file_stats::BinaryStats;

/// The bytes of the beginning that are examined at once.
const MAX_HEAD_LEN: usize = 256 * 1024;

/// The bytes of the end that are examined: directories of archives and tables are there.
const MAX_TAIL_LEN: usize = 256 * 1024;

/// The media type of Parquet.
const PARQUET: &str = "application/vnd.apache.parquet";

/// The facts, by name.
type HeaderFacts = HashMap<String, String>;

/// The pass over a content that is not text.
#[derive(Debug)]
pub(crate) struct BinaryPass {
    media_type: String,
    head: Vec<u8>,
    /// The end of the content; up to twice as long as `max_tail_len`.
    tail: Vec<u8>,
    max_tail_len: usize,
    size: u64,
    stream: Option<StreamFacts>,
}

/// What is counted while the content passes.
#[derive(Debug)]
enum StreamFacts {
    Tar(archives::TarScanner),
    Wasm(programs::WasmScanner),
    Pdf(media::PdfScanner),
}

impl BinaryPass {
    pub(crate) fn new(media_type: &str) -> Self {
        let stream = match media_type {
            "application/x-tar" => Some(StreamFacts::Tar(archives::TarScanner::default())),
            "application/wasm" => Some(StreamFacts::Wasm(programs::WasmScanner::default())),
            "application/pdf" => Some(StreamFacts::Pdf(media::PdfScanner::default())),
            _ => None,
        };
        let max_tail_len = match media_type {
            // With its length and the mark at the end.
            PARQUET => parquet::MAX_FOOTER_LEN + 8,
            _ => MAX_TAIL_LEN,
        };
        let media_type = media_type.to_owned();
        Self { media_type, head: Vec::new(), tail: Vec::new(), max_tail_len, size: 0, stream }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.size += chunk.len() as u64;
        let n_free = MAX_HEAD_LEN - self.head.len();
        self.head.extend_from_slice(&chunk[..chunk.len().min(n_free)]);
        let last = &chunk[chunk.len().saturating_sub(self.max_tail_len)..];
        if self.tail.len() + last.len() > 2 * self.max_tail_len {
            let n_old = self.tail.len().saturating_sub(self.max_tail_len);
            self.tail.drain(..n_old);
        }
        self.tail.extend_from_slice(last);
        match &mut self.stream {
            Some(StreamFacts::Tar(scanner)) => scanner.push(chunk),
            Some(StreamFacts::Wasm(scanner)) => scanner.push(chunk),
            Some(StreamFacts::Pdf(scanner)) => scanner.push(chunk),
            None => (),
        }
    }

    pub(crate) fn finish(self, notes: &mut Vec<String>) -> BinaryStats {
        let tail = &self.tail[self.tail.len().saturating_sub(self.max_tail_len)..];
        let (head, size) = (&self.head[..], self.size);
        let mut facts = HeaderFacts::new();
        match self.stream {
            Some(StreamFacts::Tar(scanner)) => scanner.describe(&mut facts, notes),
            Some(StreamFacts::Wasm(scanner)) => scanner.describe(&mut facts, notes),
            Some(StreamFacts::Pdf(scanner)) => scanner.describe(head, &mut facts),
            None => (),
        }
        let media_type = self.media_type.as_str();
        let described = match media_type {
            _ if media_type.starts_with("image/") => {
                media::describe_image(media_type, head, &mut facts)
            }
            _ if media_type.starts_with("audio/") => {
                media::describe_audio(media_type, head, size, &mut facts)
            }
            "application/gzip" => archives::describe_gzip(head, tail, &mut facts),
            "application/x-elf" => programs::describe_elf(head, &mut facts),
            "application/vnd.sqlite3" => databases::describe_sqlite(head, size, &mut facts),
            PARQUET => parquet::describe_parquet(tail, size, &mut facts, notes),
            _ if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") => {
                archives::describe_zip(tail, size, &mut facts)
            }
            _ => Some(()),
        };
        if described.is_none() {
            notes.push(format!("the headers are not those of {}", self.media_type));
        }
        BinaryStats { format: format_name(&self.media_type, head), metadata: facts }
    }
}

/// Returns the name of a format, for example `PNG`.
fn format_name(media_type: &str, head: &[u8]) -> String {
    let known = match media_type {
        "application/octet-stream" => "unknown",
        "application/x-elf" => "ELF",
        "application/vnd.sqlite3" => "SQLite",
        PARQUET => "Parquet",
        "application/gzip" => "gzip",
        "application/zip" => "ZIP",
        "application/x-tar" => "tar",
        "application/wasm" => "WebAssembly",
        "image/webp" => "WebP",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    match infer::get(head) {
        Some(found) => found.extension().to_ascii_uppercase(),
        None => "unknown".to_owned(),
    }
}

fn set(facts: &mut HeaderFacts, name: &str, value: impl ToString) {
    facts.insert(name.to_owned(), value.to_string());
}

/// Returns a text from a header, without its padding; long and strange ones are cut.
fn clean_text(bytes: &[u8]) -> String {
    const MAX_CHARS: usize = 200;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    text.chars().filter(|char| !char.is_control()).take(MAX_CHARS).collect::<String>()
}

fn u16_le(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_le(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn u16_be(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_be(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
