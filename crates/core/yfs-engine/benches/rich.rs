//! Measures writing and reading a file of rich text, by its size: CPU time, median and least of
//! several rounds, and bytes of updates. `cargo bench -p yfs-engine --bench rich -- read/50KB`
//! repeats one of them for a profiler.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::{hint::black_box, time::Duration};

use rustix::time::{ClockId, clock_gettime};

use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{ContentBase, ContentDoc, RunAuthor},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::{ContentRoot, SchemaProfile},
    time::Millis,
};

const SIZES: [(&str, usize); 4] = [("5KB", 14), ("50KB", 140), ("500KB", 1_400), ("5MB", 14_000)];

const SECTION: &str = "\
## A heading of a section

Some words that *say* one thing, and `more` of them, and [a link](https://example.org/a?b=c) to
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

fn author() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Agent, "reviewer-3"), Millis(1_795_296_141_108))
}

fn doc_of(client: u64) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
    let client = ClientId::new((1 << 51) + client).unwrap();
    let mut doc = ContentDoc::new(&id, client, GateLimits::default());
    doc.set_kind(ContentRoot::Rich(SchemaProfile::Gfm));
    doc
}

fn written(text: &str) -> ContentDoc {
    let mut doc = doc_of(1);
    assert!(doc.write(text, None, &author()).unwrap().update.is_some());
    doc
}

fn copy(from: &ContentDoc, client: u64) -> ContentDoc {
    let mut doc = doc_of(client);
    doc.receive(&from.gate().encode_state(), UpdateSource::Store).unwrap();
    doc
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// The benchmark that the command line selects, if any.
struct Bench {
    only: Option<String>,
}

impl Bench {
    /// Times `run` on the values that `prepare` makes, and prints the median and the least time in
    /// milliseconds.
    fn time<T, R>(&self, name: &str, prepare: impl Fn() -> T, run: impl Fn(&mut T) -> R) {
        let n_rounds = match &self.only {
            Some(only) if only != name => return,
            Some(_) => 3_000,
            None => 15,
        };
        let mut times = Vec::with_capacity(n_rounds);
        for _ in 0..n_rounds {
            let mut prepared = prepare();
            let begun = cpu();
            let result = run(&mut prepared);
            times.push(cpu().saturating_sub(begun));
            black_box(result);
        }
        times.sort_unstable();
        let [median, least] =
            [times[n_rounds / 2], times[0]].map(|duration| duration.as_secs_f64() * 1e3);
        println!("{name}: {median:.3} ms, at least {least:.3}");
    }
}

fn main() {
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let bench = Bench { only };
    for (name, n_sections) in SIZES {
        if bench.only.as_ref().is_some_and(|only| only.rsplit('/').next() != Some(name)) {
            continue;
        }
        let old = text(n_sections);
        let middle = format!("section {}\n\nSome words", n_sections / 2);
        let new = old.replacen(&middle, &middle.replace("words", "nouns"), 1);
        assert_ne!(old, new);
        let state = written(&old);
        let mut doc = copy(&state, 2);
        let first = doc.write(&new, None, &author()).unwrap().update.unwrap();
        let second = doc.write(&old, None, &author()).unwrap().update.unwrap();
        println!(
            "{name}: {} bytes of text, {} of state; one word is {} bytes, {} within a run",
            old.len(),
            state.gate().encode_state().len(),
            first.len(),
            second.len()
        );
        bench.time(&format!("create/{name}"), || (), |()| written(&old));
        bench.time(
            &format!("load/{name}"),
            || state.gate().encode_state(),
            |update| {
                let mut doc = doc_of(2);
                doc.receive(update, UpdateSource::Store).unwrap();
                doc
            },
        );
        bench.time(&format!("read/{name}"), || copy(&state, 2), |doc| doc.text());
        let version = state.version();
        let later = || {
            let mut doc = copy(&state, 2);
            black_box(doc.text());
            assert!(doc.append("More.\n", &author()).unwrap().update.is_some());
            doc
        };
        let longer = format!("{new}More.\n");
        bench.time(&format!("one word/{name}"), later, |doc| {
            doc.write(&longer, None, &author()).unwrap()
        });
        bench.time(&format!("one word, stale/{name}"), later, |doc| {
            doc.write(&new, Some(ContentBase::Version(&version)), &author()).unwrap()
        });
    }
    let blocks = "A paragraph with *some* words in it.\n\n".repeat(27_000);
    bench.time("create/27000 blocks", || (), |()| written(&blocks));
}
