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
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{AnchorSide, ContentDoc, MAX_RUN_MS, RunAuthor, compact},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    time::Millis,
};

const SIZES: [(usize, usize); 3] = [(1_000, 20), (10_000, 200), (10_000, 2_000)];

fn main() {
    println!(
        "| measure |{}",
        row(SIZES.map(|(edits, runs)| format!("{edits} edits, {runs} runs")))
    );
    println!("|---|{}", row(SIZES.map(|_| "---:".to_owned())));
    let measured = SIZES.map(|(n_edits, n_runs)| measure(n_edits, n_runs));
    for (nth, (name, _)) in measured[0].iter().enumerate() {
        let figures = measured.each_ref().map(|figures| figure(figures[nth].1));
        println!("| {name} |{}", row(figures));
    }
}

fn measure(n_edits: usize, n_runs: usize) -> Vec<(&'static str, f64)> {
    let (mut doc, updates, whole) = edited(n_edits, n_runs);
    let (one_run, ..) = edited(n_edits, 1);
    let state = doc.gate().encode_state();
    let without = one_run.gate().encode_state().len();
    let mut figures = vec![
        ("document, KB", state.len() as f64 / 1e3),
        ("the same in one run, KB", without as f64 / 1e3),
        ("bytes a run", (state.len() - without) as f64 / n_runs as f64),
        ("bytes a run with whole snapshots", whole as f64 / n_runs as f64),
    ];
    let timeline = doc.timeline().versions();
    assert_eq!(timeline.len(), n_runs);
    let middle = timeline.len() / 2;
    figures.push(("list the versions, ms", ms(|| drop(doc.timeline().versions()))));
    figures.push(("find one in the middle, ms", ms(|| drop(doc.timeline().version(middle)))));
    let version = doc.timeline().version(middle).expect("it is listed");
    figures.push(("read it, ms", ms(|| drop(doc.text_at(&version).expect("it is whole")))));
    let author = author(n_edits, 1);
    figures.push(("begin a run with an edit, ms", {
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
fn edited(n_edits: usize, n_runs: usize) -> (ContentDoc, Vec<Vec<u8>>, usize) {
    let id = FileId::parse("0pvpappn8hn4dcp").expect("an id");
    let client = |n: u64| ClientId::new((1 << 51) + n).expect("a client id");
    let mut docs = [1, 2].map(|n| ContentDoc::new(&id, client(n), GateLimits::default()));
    let text: String =
        (0..1_000).map(|n| format!("line {n:4} of a text with many words in it.\n")).collect();
    let first = docs[0].append(&text, &author(0, 0)).expect("written").update.expect("an update");
    docs[1].receive(&first, UpdateSource::Wire).expect("it is sound");
    let (mut updates, mut whole, mut state) = (vec![first], 0, 88_172_645_463_325_252_u64);
    for nth in 0..n_edits {
        let run = nth * n_runs / n_edits;
        let begins = nth > 0 && run != (nth - 1) * n_runs / n_edits;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let [a, b] = &mut docs;
        let (writer, other) = if run.is_multiple_of(2) { (a, b) } else { (b, a) };
        whole += if begins { writer.version().encode().len() } else { 0 };
        let at = state as usize % (text.len() - 8);
        let edit = writer.replace_range(at..at + 4, "word", &author(nth, run));
        if let Some(update) = edit.expect("it can be edited").update {
            other.receive(&update, UpdateSource::Wire).expect("it is sound");
            updates.push(update);
        }
    }
    let [doc, _] = docs;
    (doc, updates, whole)
}

fn author(nth: usize, run: usize) -> RunAuthor {
    let name = if run.is_multiple_of(2) { "ada" } else { "reviewer-3" };
    // All edits of a run have the same time; runs are far enough apart to be separate.
    let at = Millis(1_795_296_141_108 + run as i64 * MAX_RUN_MS + i64::from(nth == usize::MAX));
    RunAuthor::new(Actor::new(ActorKind::Agent, name), at)
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
