//! Measures edits of a content document, by the size of its text.
//!
//! Besides the times, prints how many bytes the update of a one-word change takes.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{ContentBase, ContentDoc, RunAuthor, diff::diff},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::{ContentRoot, SchemaProfile},
    time::Millis,
};

const SIZES: [(&str, usize); 4] = [("1KB", 1), ("10KB", 10), ("100KB", 100), ("1MB", 1000)];

fn text(kilobytes: usize) -> String {
    (0..kilobytes * 25).map(|n| format!("line {n:5} of a text with many words in it\n")).collect()
}

fn changed(text: &str, word: &str) -> String {
    let at = text.len() / 2 + text[text.len() / 2..].find("words").unwrap();
    format!("{}{word}{}", &text[..at], &text[at + "words".len()..])
}

fn author() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Agent, "reviewer-3"), Millis(1_795_296_141_108))
}

fn doc(client: u64) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
    ContentDoc::new(&id, ClientId::new((1 << 51) + client).unwrap(), GateLimits::default())
}

/// Returns a document that another client wrote in one piece.
fn fresh(text: &str) -> ContentDoc {
    let mut first = doc(1);
    let _update = first.write(text, None, &author()).unwrap().update;
    copy(&first, 2)
}

/// Returns a document that two writers changed in 2,000 places.
fn aged(text: &str) -> ContentDoc {
    let (mut a, mut b) = (fresh(text), doc(3));
    b.receive(&a.gate().encode_state(), UpdateSource::Store).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for n in 0..2000 {
        let (writer, reader) = if n % 2 == 0 { (&mut a, &mut b) } else { (&mut b, &mut a) };
        let at = random.random_range(0..text.len());
        let update = writer.replace_range(at..at + 1, "+-", &author()).unwrap().update;
        update.map(|update| reader.receive(&update, UpdateSource::Wire).unwrap());
    }
    copy(&a, 2)
}

/// Returns a document that was renamed to markdown and back, and then typed into in 2,000 places.
fn converted(text: &str) -> ContentDoc {
    let mut doc = fresh(text);
    for kind in [ContentRoot::Rich(SchemaProfile::Gfm), ContentRoot::Text] {
        doc.set_kind(kind);
        doc.convert().unwrap();
    }
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for _ in 0..2000 {
        let at = random.random_range(0..text.len());
        let _update = doc.replace_range(at..at, "+", &author()).unwrap().update;
    }
    copy(&doc, 2)
}

fn copy(from: &ContentDoc, client: u64) -> ContentDoc {
    let mut doc = doc(client);
    doc.receive(&from.gate().encode_state(), UpdateSource::Store).unwrap();
    doc
}

fn writes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("write_one_word");
    for (name, kilobytes) in SIZES {
        let old = text(kilobytes);
        let all = [("fresh", fresh(&old)), ("aged", aged(&old)), ("converted", converted(&old))];
        for (age, mut doc) in all {
            let now = doc.text();
            let texts = ["bananas", "words"].map(|word| now.replacen("text", word, 1));
            let sizes = texts.each_ref().map(|new| {
                doc.write(new, None, &author()).unwrap().update.map_or(0, |update| update.len())
            });
            println!("{name} {age}: updates of {sizes:?} bytes");
            let mut n = 0;
            group.bench_function(BenchmarkId::new(age, name), |bencher| {
                bencher.iter(|| {
                    n += 1;
                    black_box(doc.write(&texts[n % 2], None, &author()).unwrap())
                });
            });
        }
    }
    group.finish();
}

fn pieces(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pieces");
    group.sample_size(20);
    for (name, kilobytes) in SIZES {
        let old = text(kilobytes);
        let doc = fresh(&old);
        let read = doc.version();
        let again = || {
            let mut doc = copy(&doc, 4);
            let _update = doc.append("another person's\n", &author()).unwrap().update;
            doc
        };
        let needle = format!("line {:5} of", kilobytes * 12);
        group.bench_function(BenchmarkId::new("append", name), |bencher| {
            let append = |doc: &mut ContentDoc| doc.append("a line\n", &author()).unwrap();
            bencher.iter_batched_ref(again, append, BatchSize::SmallInput);
        });
        group.bench_function(BenchmarkId::new("edit", name), |bencher| {
            let edit = |doc: &mut ContentDoc| doc.edit(&needle, "new", false, &author()).unwrap();
            bencher.iter_batched_ref(again, edit, BatchSize::SmallInput);
        });
        let new = changed(&old, "bananas");
        group.bench_function(BenchmarkId::new("write_stale_base", name), |bencher| {
            let base = ContentBase::Version(&read);
            let write = |doc: &mut ContentDoc| doc.write(&new, Some(base), &author()).unwrap();
            bencher.iter_batched_ref(again, write, BatchSize::SmallInput);
        });
    }
    group.finish();
}

fn reads(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reads");
    for (name, kilobytes) in SIZES {
        let old = text(kilobytes);
        let mut doc = fresh(&old);
        let version = doc.version();
        let _update = doc.append("more\n", &author()).unwrap().update;
        group.bench_function(BenchmarkId::new("text", name), |b| b.iter(|| black_box(doc.text())));
        group.bench_function(BenchmarkId::new("text_at", name), |bencher| {
            bencher.iter(|| black_box(doc.text_at(&version).unwrap()));
        });
        let new = changed(&old, "bananas");
        group.bench_function(BenchmarkId::new("diff_one_word", name), |bencher| {
            bencher.iter(|| black_box(diff(&old, &new)));
        });
    }
    group.finish();
}

criterion_group!(benches, writes, pieces, reads);
criterion_main!(benches);
