//! The statistics of any content under any name: the same in pieces as in one, and previews within
//! their limits. This runs the parsers of JSON, tables, HTML, logs, code and binary headers.

use yfs_analysis::{ContentAnalyzer, PreviewLimit, analyze};

use super::FuzzInput;

const NAMES: [&str; 12] = [
    "a.json", "a.jsonl", "a.csv", "a.html", "a.md", "a.log", "a.py", "a.toml", "a.txt", "a.zip",
    "a.pdf", "",
];

/// A byte for the name, one for the length of pieces, the content.
pub const SEEDS: &[&[u8]] = &[
    b"\x00\x07{\"a\": [{\"b\": 1.5e3, \"c\": \"\\ud83d\\ude00\\ud800\"}, null, true], \"d\": {}}",
    b"\x01\x03{\"a\": 1}\n{\"a\": null, \"b\": [1]}\n{\"a\"",
    b"\x02\x05a;b\n\"x\"\"y\n\";2026-11-26\n1.5;\n;;\n",
    b"\x03\x02<!doctype html><html lang=en><title>A &amp; B</title><h1>x</h1><a href='/'>l</a><!--",
    b"\x04\x09---\nt: 1\n---\n# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x](y)\n\n```\nc\n```\n",
    b"\x05\x0b2026-11-26T08:00:00Z ERROR x\n2026-11-26T08:00:01Z INFO y\n",
    b"\x06\x04def f(x):\n    return x\nclass A:\n    def g(self): pass\n",
    b"\x07\x01[a]\nb = 1\n",
    b"\x08\x06\xff\xfea\x00b\x00\n\x00\x00\xd8",
    b"\x08\x06caf\xe9 na\xefve\n",
    b"\x09\x10PK\x03\x04....................PK\x01\x02\x14\x00\x14\x00\x01\x00\x08\x00........\
      \x10\x00\x00\x00\xff\xff\xff\x7f\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00aPK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00\x2f\x00\x00\x00\x18\x00\x00\x00\
      \x00\x00",
    b"\x0a\x08%PDF-1.7\n1 0 obj << /Type /Pages /Count 3 >> /Type /Page /Title (x)\n%%EOF",
    b"\x0b\x05\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03name\x00\x03\x00\x00\x00\x00\x00\x10\x00\
      \x00\x00",
    b"\x0b\x05\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x03\x02\x01\x00\x00\x7f",
    b"\x0b\x0d\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00\x01\x00\
      \x00\x00",
    b"\x0b\x09RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00\x44\xac\x00\x00\x10\xb1\
      \x02\x00\x04\x00\x10\x00data\xff\xff\xff\x7f",
    b"\x0b\x09fLaC\x80\x00\x00\x22\x10\x00\x10\x00\x00\x00\x00\x00\x00\x00\x0a\xc4\x42\xf0\x00\x00",
    b"\x0b\x09ID3\x04\x00\x00\x00\x00\x00\x0a\x00\x00\x00\x00\xff\xfb\x90\x64\x00\x00\x00\x00",
    b"\x0b\x09OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\
      \x00\x00\x01\x1e\x01vorbis\x00\x00\x00\x00\x02\x44\xac\x00\x00",
    b"\x0b\x40SQLite format 3\x00\x10\x00\x02\x02\x00\x40\x20\x20\x00\x00\x00\x01\x00\x00\x00\x02",
    b"\x0b\x07\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\xff\xff\xff\xff\x00\x00\x00\x01\x08\x06\x00\
      \x00",
    b"\x0b\x20PAR1\x15\x02\x19\x3c\x48\x01r\x15\x04\x00\x15\x04\x25\x02\x18\x02id\x00\x15\x0c\x25\
      \x02\x18\x01s\x25\x00\x00\x16\x06\x19\x1c\x19\x1c\x3c\x15\x04\x35\x02\x00\x00\x16\x10\x00\x00\
      \x2e\x00\x00\x00PAR1",
];

/// Runs the case.
pub fn run(bytes: &[u8]) {
    let mut input = FuzzInput(bytes);
    let name = NAMES[usize::from(input.take_byte()) % NAMES.len()];
    let piece_len = usize::from(input.take_byte()).max(1);
    let content = input.0;
    let whole = analyze(name, content);
    let mut analyzer = ContentAnalyzer::new(name);
    for piece in content.chunks(piece_len) {
        analyzer.push(piece);
    }
    let streamed = analyzer.finish();
    assert_eq!(whole.media_type, streamed.media_type);
    assert_eq!(whole.stats, streamed.stats);
    assert_eq!(whole.notes, streamed.notes);
    for limit in [0, 40, 4_000] {
        let preview = whole.preview(PreviewLimit::Characters(limit));
        assert!(preview.chars().count() <= limit);
        assert_eq!(preview, streamed.preview(PreviewLimit::Characters(limit)));
    }
}
