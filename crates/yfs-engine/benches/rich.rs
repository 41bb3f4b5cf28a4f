//! What it costs to write and read a file of rich text, by its size.
//!
//! Besides the times, prints how many bytes updates take.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::{hint::black_box, time::Duration};

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{Author, Base, ContentDoc},
    gate::{Limits, Source},
    id::{ClientId, FileId},
    kind::{ContentKind, Profile},
    time::Millis,
};

const SIZES: [(&str, usize); 4] = [("5KB", 14), ("50KB", 140), ("500KB", 1_400), ("5MB", 14_000)];

const SECTION: &str = "\
## A heading of a section

Some words that *say* something, and `more` of them, with [a link](https://example.org/a?b=c) to
somewhere else. They go on for a second line.

- one item
- another item with **strong** words

| name | value |
|------|-------|
| one  |     1 |

```rust
fn main() {}
```

";

fn text(n_sections: usize) -> String {
    let sections = (0..n_sections).map(|n| SECTION.replace("section", &format!("section {n}")));
    format!(
        "---\ntitle: 'A file'  # of many\ntags: [a, b]\n---\n\n{}",
        sections.collect::<String>()
    )
}

fn author() -> Author {
    Author::new(Actor::new(ActorKind::Agent, "reviewer-3"), Millis(1_795_296_141_108))
}

fn doc(client: u64) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
    let client = ClientId::new((1 << 51) + client).unwrap();
    let mut doc = ContentDoc::new(&id, client, Limits::default());
    doc.set_kind(ContentKind::Rich(Profile::Gfm));
    doc
}

fn written(text: &str) -> ContentDoc {
    let mut doc = doc(1);
    assert!(doc.write(text, None, &author()).unwrap().update.is_some());
    doc
}

fn copy(from: &ContentDoc, client: u64) -> ContentDoc {
    let mut doc = doc(client);
    doc.receive(&from.gate().encode_state(), Source::Store).unwrap();
    doc
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rich");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    for (name, n_sections) in SIZES {
        let old = text(n_sections);
        let words = format!("section {}\n\nSome nouns", n_sections / 2);
        let new = old.replacen(&format!("section {}\n\nSome words", n_sections / 2), &words, 1);
        assert_ne!(old, new);
        let state = written(&old);
        println!(
            "{name}: {} bytes of text, {} of state",
            old.len(),
            state.gate().encode_state().len()
        );
        let update = copy(&state, 2).write(&new, None, &author()).unwrap().update.unwrap();
        let again = {
            let mut doc = copy(&state, 2);
            doc.write(&new, None, &author()).unwrap();
            doc.write(&old, None, &author()).unwrap().update.unwrap()
        };
        println!("{name}: one word, {} bytes, then {}", update.len(), again.len());
        group.bench_function(BenchmarkId::new("create", name), |bencher| {
            bencher.iter(|| black_box(written(&old)));
        });
        group.bench_function(BenchmarkId::new("read", name), |bencher| {
            let fresh = || copy(&state, 2);
            bencher.iter_batched_ref(fresh, |doc| black_box(doc.text()), BatchSize::LargeInput);
        });
        let version = state.version();
        let fresh = || {
            let mut doc = copy(&state, 2);
            black_box(doc.text());
            doc.append("More.\n", &author()).unwrap();
            black_box(doc.text());
            doc
        };
        group.bench_function(BenchmarkId::new("write_one_word", name), |bencher| {
            let new = format!("{new}More.\n");
            let write = |doc: &mut ContentDoc| doc.write(&new, None, &author()).unwrap();
            bencher.iter_batched_ref(fresh, write, BatchSize::LargeInput);
        });
        group.bench_function(BenchmarkId::new("write_one_word_stale", name), |bencher| {
            let base = Base::Version(&version);
            let write = |doc: &mut ContentDoc| doc.write(&new, Some(base), &author()).unwrap();
            bencher.iter_batched_ref(fresh, write, BatchSize::LargeInput);
        });
    }
    let blocks = "A paragraph with *some* words in it.\n\n".repeat(27_000);
    group.bench_function("create/27000 blocks", |bencher| {
        bencher.iter(|| black_box(written(&blocks)));
    });
    group.finish();
}

criterion_group!(rich, benches);
criterion_main!(rich);
