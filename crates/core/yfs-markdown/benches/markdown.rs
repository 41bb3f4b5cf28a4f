//! Measures parsing and writing, in bytes of text per second.
//!
//! The text is all examples of CommonMark and GFM, and the documents of this repository.

#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::{fs, hint::black_box, path::Path, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use yfs_markdown::{
    parse::parse,
    schema::SchemaProfile,
    source::{remember, render},
    write::write,
};

/// Returns prose, lists, tables and code, as people write them.
fn documents() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut text = String::new();
    for folder in ["docs", "docs/format", "docs/decisions", "."] {
        let mut files: Vec<_> =
            fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in
            files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md"))
        {
            text.push_str(&fs::read_to_string(file).unwrap());
            text.push_str("\n\n");
        }
    }
    text
}

/// Returns the examples of the specifications: everything at once.
fn examples() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/markdown/gfm.jsonl");
    let lines = fs::read_to_string(path).unwrap();
    let mut text = String::new();
    for line in lines.lines() {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        text.push_str(json["md"].as_str().unwrap());
        text.push_str("\n\n");
    }
    text
}

fn benches(criterion: &mut Criterion) {
    let documents = documents();
    let texts = [
        ("5KB", documents[..5000].to_owned()),
        ("documents", documents),
        ("examples", examples()),
        ("27000 blocks", "A paragraph with *some* words in it.\n\n".repeat(27_000)),
    ];
    for profile in [SchemaProfile::CommonMark, SchemaProfile::Gfm] {
        for (name, text) in &texts {
            let mut group = criterion.benchmark_group(format!("{profile:?}/{name}"));
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.sample_size(10).measurement_time(Duration::from_secs(2));
            let (document, map) = remember(text, profile);
            group.bench_function("parse", |bencher| {
                bencher.iter(|| parse(black_box(text), profile));
            });
            group.bench_function("write", |bencher| {
                bencher.iter(|| write(black_box(&document), profile));
            });
            group.bench_function("remember", |bencher| {
                bencher.iter(|| remember(black_box(text), profile));
            });
            group.bench_function("render", |bencher| {
                bencher.iter(|| render(black_box(&document), &map, profile));
            });
        }
    }
}

criterion_group!(markdown, benches);
criterion_main!(markdown);
