//! The statistics of any content under any name: the same in pieces as in one, and previews within
//! their limits. This runs the parsers of JSON, tables, HTML, logs, code and binary headers.

#![no_main]

use libfuzzer_sys::fuzz_target;
use yfs_analysis::{ContentAnalyzer, PreviewLimit, analyze};

const NAMES: [&str; 12] = [
    "a.json", "a.jsonl", "a.csv", "a.html", "a.md", "a.log", "a.py", "a.toml", "a.txt", "a.zip",
    "a.pdf", "",
];

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (name, piece_len, content) = input;
    let name = NAMES[usize::from(name) % NAMES.len()];
    let whole = analyze(name, content);
    let mut analyzer = ContentAnalyzer::new(name);
    for piece in content.chunks(usize::from(piece_len).max(1)) {
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
});
