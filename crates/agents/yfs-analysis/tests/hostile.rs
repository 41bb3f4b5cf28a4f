//! Hostile contents: bounded memory, clear notes, no panic.
//!
//! One test, because it counts the memory of the whole process.
#![expect(unsafe_code, reason = "an allocator that counts")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use yfs_analysis::{ContentAnalysis, ContentAnalyzer, FileStats, PreviewLimit};

/// The memory that an analysis may take.
const MAX_MEMORY: usize = 64 << 20;

struct CountingAllocator;

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let current = CURRENT.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(current, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CURRENT.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Analyzes a content that is a piece repeated between a beginning and an end, in chunks.
fn analyze_repeated(
    name: &str,
    begin: &str,
    piece: &str,
    count: usize,
    end: &str,
) -> ContentAnalysis {
    let before = CURRENT.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut analyzer = ContentAnalyzer::new(name);
    analyzer.push(begin.as_bytes());
    let n_at_once = (64 * 1024 / piece.len()).max(1);
    let block = piece.repeat(n_at_once);
    for _ in 0..count / n_at_once {
        analyzer.push(block.as_bytes());
    }
    for _ in 0..count % n_at_once {
        analyzer.push(piece.as_bytes());
    }
    analyzer.push(end.as_bytes());
    let analysis = analyzer.finish();
    for limit in [0, 100, 10_000] {
        assert!(analysis.preview(PreviewLimit::Characters(limit)).chars().count() <= limit);
    }
    let peak = PEAK.load(Ordering::Relaxed) - before;
    assert!(peak <= MAX_MEMORY, "{name}: {peak} bytes");
    analysis
}

#[test]
fn memory_is_bounded() {
    json();
    tables();
    others();
}

fn json() {
    let mb = 1 << 20;
    let line = analyze_repeated(
        "line.json",
        "{\"a\": [",
        r#"{"k": "value", "n": 12345}, "#,
        4 * mb,
        "0]}",
    );
    let FileStats::Json(stats) = &line.stats else { panic!("JSON") };
    assert_eq!(stats.cardinality_estimates["a.*.n"], 1);
    assert!(line.size > 100 << 20);
    let text = analyze_repeated("string.json", "{\"a\": \"", "text", 25 * mb, "\"}");
    assert_eq!(text.notes, Vec::<String>::new());
    let deep = analyze_repeated("deep.json", "", "[", 100_000, &"]".repeat(100_000));
    let FileStats::Json(stats) = &deep.stats else { panic!("JSON") };
    assert_eq!(stats.nested_depth, 100_000);
    let deeper = analyze_repeated("deeper.json", "", "{\"a\":[", 2 * mb, "");
    assert!(deeper.notes[0].contains("nested too deeply"), "{:?}", deeper.notes);
    let keys: String = (0..200_000).map(|key| format!("\"k{key}\": {{\"x\": {key}}}, ")).collect();
    let keys = analyze_repeated("keys.json", "{", &keys, 1, "\"end\": 0}");
    assert!(keys.notes[0].contains("4096 paths"), "{:?}", keys.notes);
    let key = analyze_repeated("key.json", "{\"", "key", 10 * mb, "\": 1}");
    assert_eq!(key.notes, Vec::<String>::new());
    let number = analyze_repeated("number.json", "[1", "0", 10 * mb, "]");
    assert_eq!(number.notes, Vec::<String>::new());
}

fn tables() {
    let row = |columns: usize| (0..columns).map(|at| format!("c{at},")).collect::<String>() + "\n";
    let wide = analyze_repeated("wide.csv", &row(1_000_000), &row(1_000_000), 3, "");
    let FileStats::Csv(stats) = &wide.stats else { panic!("a table") };
    assert_eq!((stats.columns, stats.headers.len()), (1_000_001, 4_096));
    assert!(wide.notes[0].contains("4096 of 1000001 columns"), "{:?}", wide.notes);
    let rows: String = (0..50_000).map(|at| format!("{at},{},x\n", at * 7)).collect();
    let long = analyze_repeated("long.csv", "id,n,x\n", &rows, 100, "");
    let FileStats::Csv(stats) = &long.stats else { panic!("a table") };
    assert_eq!(stats.rows, 5_000_000);
    let error = (stats.cardinality_per_column[0] as f64 / 50_000.0 - 1.0).abs();
    assert!(error < 4.0 * yfs_analysis::RELATIVE_ERROR, "{error}");
    // Every column has many values, so every sketch is at its largest.
    let many: String = (0..1_500)
        .map(|row| (0..4_096).map(|at| format!("{},", row * 4_096 + at)).collect::<String>() + "\n")
        .collect();
    analyze_repeated("sketches.csv", "", &many, 1, "");
    let quote = analyze_repeated("quote.csv", "a,b\n1,\"", "no end, ", 4 << 20, "");
    let FileStats::Csv(stats) = &quote.stats else { panic!("a table") };
    assert_eq!(stats.rows, 1);
}

fn others() {
    let mb = 1 << 20;
    analyze_repeated("tag.html", "<html><a href='", "x", 50 * mb, "'>");
    analyze_repeated("attributes.html", "<html><a ", "a=b ", 10 * mb, ">");
    analyze_repeated("headings.html", "<html>", "<h1>x</h1>", 2 * mb, "");
    analyze_repeated("line.md", "# a\n", "word ", 4 * mb, "");
    analyze_repeated("quotes.md", "# a\n", "> ", 200_000, "x");
    analyze_repeated("brackets.md", "# a\n", "[", 100_000, "");
    analyze_repeated("line.txt", "", "word ", 20 * mb, "");
    analyze_repeated("functions.py", "", "def function_of_some_name():\n", 500_000, "");
    let zip = "PK\u{3}\u{4}";
    let lying = "PK\u{1}\u{2}\0\0\0\0\0\0\0\0\0\0\0\0";
    let end = format!("PK\u{5}\u{6}\0\0\0\0{}\0\0", "\u{7f}".repeat(12));
    analyze_repeated("bomb.zip", zip, lying, mb, &end);
    analyze_repeated("bomb.tar", "", "\0\0\0\0\u{7f}", 10 * mb, "");
    analyze_repeated("lying.parquet", "PAR1", "\u{19}\u{7f}", 10 * mb, "\u{7f}\u{7f}\0\0PAR1");
    analyze_repeated("lying.wasm", "\0asm\u{1}\0\0\0", "\u{1}\u{7f}", 10 * mb, "");
    analyze_repeated("half.pdf", "%PDF-1.4 ", "/Type /Page ", 4 * mb, "");
    let cut = analyze_repeated("invalid.txt", "", "words and words. ", 5_000, "");
    assert_eq!(cut.notes, Vec::<String>::new());
    let mut invalid = ContentAnalyzer::new("invalid.txt");
    invalid.push("words and words. ".repeat(5_000).as_bytes());
    invalid.push(b"\xff\xfe\xed\xa0\x80");
    assert!(invalid.finish().notes[0].contains("not UTF-8"));
    let mut utf16 = ContentAnalyzer::new("");
    utf16.push(b"\xff\xfe\x00\xd8a");
    assert!(utf16.finish().notes[0].contains("not UTF-16LE"));
}
