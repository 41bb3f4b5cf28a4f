//! The cost of history: bytes of the log, and the time to list versions, read one, blame and
//! redact.
//!
//! A text of 50 KB is edited in random places, one word at a time, by two actors in turn. Run with
//! `cargo bench -p yfs --bench history`.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

#[path = "support/measure.rs"]
#[expect(dead_code, reason = "not every bench needs all of it")]
mod measure;

use measure::thread_cpu;
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{AnchorSide, ContentDoc, RunAuthor, compact},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    time::Millis,
};

const SIZES: [usize; 3] = [100, 1_000, 10_000];

fn main() {
    println!("| measure |{}", row(SIZES.map(|n_edits| format!("{n_edits} edits"))));
    println!("|---|{}", row(SIZES.map(|_| "---:".to_owned())));
    let measured = SIZES.map(measure);
    for (nth, (name, _)) in measured[0].iter().enumerate() {
        let figures = measured.each_ref().map(|figures| figure(figures[nth].1));
        println!("| {name} |{}", row(figures));
    }
}

fn measure(n_edits: usize) -> Vec<(&'static str, f64)> {
    let (mut doc, updates, whole) = edited(n_edits);
    let state = doc.gate().encode_state();
    let logged: usize = updates.iter().skip(1).map(Vec::len).sum();
    let mut figures = vec![
        ("document, KB", state.len() as f64 / 1e3),
        ("bytes a version in the log", logged as f64 / n_edits as f64),
        ("bytes a version in the document", (state.len() - 50_000) as f64 / n_edits as f64),
        ("bytes a version with whole snapshots", whole as f64 / n_edits as f64),
    ];
    let timeline = doc.timeline().versions();
    assert!(timeline.len() >= n_edits, "{} versions", timeline.len());
    let middle = timeline.len() / 2;
    figures.push(("list the versions, ms", ms(|| drop(doc.timeline().versions()))));
    figures.push(("find one in the middle, ms", ms(|| drop(doc.timeline().version(middle)))));
    let version = doc.timeline().version(middle).expect("it is listed");
    figures.push(("read it, ms", ms(|| drop(doc.text_at(&version).expect("it is whole")))));
    let author = author(n_edits);
    figures.push(("edit, ms", {
        let start = thread_cpu();
        drop(doc.replace_range(0..0, "x", &author).expect("it can be edited"));
        (thread_cpu() - start).as_secs_f64() * 1e3
    }));
    figures.push(("blame, ms", ms(|| drop(doc.blame()))));
    figures.push(("anchor, ms", ms(|| drop(doc.anchor(25_000, AnchorSide::Right)))));
    let anchor = doc.anchor(25_000, AnchorSide::Right).expect("it is a place");
    figures.push(("resolve an anchor, ms", ms(|| drop(doc.resolve(&anchor)))));
    figures.push(("compact, ms", once(|| drop(compact(None, &updates).expect("they merge")))));
    let erasable = doc.erasable(None).expect("it is sound");
    figures.push(("redact all history, ms", {
        let start = thread_cpu();
        drop(doc.redact(&erasable, &author).expect("it can be erased"));
        (thread_cpu() - start).as_secs_f64() * 1e3
    }));
    figures.push(("document after that, KB", doc.gate().encode_state().len() as f64 / 1e3));
    figures
}

/// Makes a document with a history. Returns it, its updates, and the size that whole snapshots
/// would have taken.
fn edited(n_edits: usize) -> (ContentDoc, Vec<Vec<u8>>, usize) {
    let id = FileId::parse("0pvpappn8hn4dcp").expect("an id");
    let client = |n: u64| ClientId::new((1 << 51) + n).expect("a client id");
    let mut docs = [1, 2].map(|n| ContentDoc::new(&id, client(n), GateLimits::default()));
    let text: String =
        (0..1_000).map(|n| format!("line {n:4} of a text with many words in it.\n")).collect();
    let first = docs[0].append(&text, &author(0)).expect("written").update.expect("an update");
    docs[1].receive(&first, UpdateSource::Wire).expect("it is sound");
    let (mut updates, mut whole) = (vec![first], 0);
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for nth in 0..n_edits {
        let [a, b] = &mut docs;
        let (writer, other) = if nth.is_multiple_of(2) { (a, b) } else { (b, a) };
        whole += writer.version().encode().len();
        let at = random.random_range(0..text.len() - 8);
        let edit = writer.replace_range(at..at + 4, "word", &author(nth));
        if let Some(update) = edit.expect("it can be edited").update {
            other.receive(&update, UpdateSource::Wire).expect("it is sound");
            updates.push(update);
        }
    }
    let [doc, _] = docs;
    (doc, updates, whole)
}

fn author(nth: usize) -> RunAuthor {
    let name = if nth.is_multiple_of(2) { "ada" } else { "reviewer-3" };
    RunAuthor::new(Actor::new(ActorKind::Agent, name), Millis(1_795_296_141_108 + nth as i64))
}

/// Returns the least CPU time of five calls.
fn ms(mut f: impl FnMut()) -> f64 {
    let times = (0..5).map(|_| once(&mut f));
    times.fold(f64::INFINITY, f64::min)
}

fn once(mut f: impl FnMut()) -> f64 {
    let start = thread_cpu();
    f();
    (thread_cpu() - start).as_secs_f64() * 1e3
}

fn figure(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn row(cells: [String; SIZES.len()]) -> String {
    cells.map(|cell| format!(" {cell} |")).concat()
}
