//! Markdown to Yjs and back, beside the editors' own pipelines on the same texts, in MB of text per
//! second of CPU.
//!
//! *Write* makes an update of a text, *read* the text of a document that is loaded, *load* a
//! document of an update. Our pipeline also stores the notation of the text, verifies what it
//! writes, and loads through the gate; the others do none of this.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::{hint::black_box, path::Path, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use yfs_engine::{
    gate::{DocRole, GateLimits, GatedDoc, UpdateSource},
    id::{ClientId, FileId},
    rich,
};
use yfs_markdown::{
    front_matter::split,
    schema::SchemaProfile,
    source::{SourceMap, remember, render},
};
use yfs_tests::{markdown, node::run_script};

const SIZES: [usize; 3] = [5_000, 50_000, 500_000];
/// How long each is run, after as long for caches.
const MEASURED: Duration = Duration::from_secs(1);

/// Seconds of CPU.
struct Times {
    write: f64,
    read: f64,
    load: f64,
}

/// Returns markdown that people wrote, one file after the other: the handbook, the documents of
/// this repository, Node packages.
fn corpus() -> String {
    let mut files = markdown::of_repository();
    let is_handbook = |path: &Path| path.components().any(|part| part.as_os_str() == "handbook");
    files.sort_by_key(|file| !is_handbook(&file.path));
    files.extend(markdown::of_node_packages());
    let bodies = files.iter().map(|file| format!("{}\n\n", split(&file.text).body.trim_end()));
    bodies.collect()
}

/// As much of the text as is about so long, in whole blocks.
fn beginning(text: &str, size: usize) -> &str {
    let end = (size..text.len()).find(|at| text.as_bytes()[*at..].starts_with(b"\n\n"));
    &text[..end.map_or(text.len(), |end| end + 1)]
}

fn write(text: &str, profile: SchemaProfile) -> (Vec<u8>, SourceMap) {
    let (document, map) = remember(split(text).body, profile);
    (rich::encode(&document, ClientId::from_random(3)), map)
}

fn load(update: &[u8]) -> GatedDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").expect("it is an id");
    let reader = ClientId::from_random(7);
    let mut doc = GatedDoc::new(&id, DocRole::Content, reader, GateLimits::default());
    doc.receive(update, UpdateSource::Wire).expect("it was just encoded");
    doc
}

fn read(doc: &GatedDoc, map: &SourceMap, profile: SchemaProfile) -> String {
    let document = doc.read(|txn| rich::read(txn, profile));
    render(&document, map, profile)
}

fn ours(text: &str, profile: SchemaProfile) -> Times {
    let (update, map) = write(text, profile);
    let doc = load(&update);
    assert_eq!(read(&doc, &map, profile), text, "it comes back");
    Times {
        write: time(|| black_box(write(text, profile))),
        read: time(|| black_box(read(&doc, &map, profile))),
        load: time(|| black_box(load(&update))),
    }
}

fn theirs(texts: &[&str], profile: SchemaProfile) -> Vec<Times> {
    let lines: String = texts.iter().map(|text| format!("{}\n", json!(text))).collect();
    let name = if profile == SchemaProfile::Gfm { "gfm" } else { "commonmark" };
    let output = run_script("editors/bench.mjs", &[name], lines.as_bytes());
    let lines = String::from_utf8(output).expect("it prints JSON");
    let times = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("it prints JSON");
        let seconds = |name: &str| line[name].as_f64().expect("it prints seconds");
        Times { write: seconds("write"), read: seconds("read"), load: seconds("load") }
    });
    times.collect()
}

fn time<T>(mut task: impl FnMut() -> T) -> f64 {
    run(&mut task);
    run(&mut task)
}

/// Runs it for a while, and returns the mean CPU time, in seconds.
fn run<T>(task: &mut impl FnMut() -> T) -> f64 {
    let before = cpu();
    let mut n_runs = 0_u32;
    while n_runs == 0 || cpu() - before < MEASURED {
        task();
        n_runs += 1;
    }
    (cpu() - before).as_secs_f64() / f64::from(n_runs)
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn main() {
    let corpus = corpus();
    let texts = SIZES.map(|size| beginning(&corpus, size));
    println!(
        "| pipeline | text, bytes | write, MB/s | yfs | ratio | read | yfs | ratio | load | yfs \
         | ratio |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (name, profile) in
        [("prosemirror-markdown", SchemaProfile::CommonMark), ("Milkdown", SchemaProfile::Gfm)]
    {
        for (text, theirs) in texts.iter().zip(theirs(&texts, profile)) {
            let ours = ours(text, profile);
            let speed = |seconds: f64| text.len() as f64 / seconds / 1e6;
            let figures =
                [(theirs.write, ours.write), (theirs.read, ours.read), (theirs.load, ours.load)];
            let figures = figures.map(|(theirs, ours)| {
                format!("{:.2} | {:.1} | {:.1}", speed(theirs), speed(ours), theirs / ours)
            });
            println!("| {name} | {} | {} |", text.len(), figures.join(" | "));
        }
    }
}
