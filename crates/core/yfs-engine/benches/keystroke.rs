//! Measures the CPU time of one keystroke, one append and one edit, by the size of the file.
//!
//! A *keystroke* is an update of one letter that arrives, after which the text is read. An *append*
//! adds a line at the end, an *edit* replaces a word in the middle, each with the text read after.
//! Times are milliseconds of CPU, the median of several. Run with `cargo bench -p yfs-engine
//! --bench keystroke`.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{ContentDoc, RunAuthor},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::{ContentRoot, SchemaProfile},
    time::Millis,
};

const SIZES: [usize; 4] = [20_000, 200_000, 1_000_000, 4_000_000];
const N_TIMES: usize = 15;

fn main() {
    println!("| file | size | first read | keystroke | append | edit |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (name, kind) in [("md", ContentRoot::Rich(SchemaProfile::Gfm)), ("txt", ContentRoot::Text)]
    {
        for size in SIZES {
            let mut ours = document(1, kind);
            let text = file(size);
            if let Err(error) = ours.write(&text, None, &author()) {
                println!("| {name} | {size} | {error} | | | |");
                continue;
            }
            let mut theirs = document(2, kind);
            theirs.receive(&ours.gate().encode_state(), UpdateSource::Store).expect("an update");
            let first = median(1, || {
                black_box(theirs.text());
            });
            let mut at = theirs.text().len() / 2;
            let mut updates = Vec::new();
            for _ in 0..N_TIMES {
                at = theirs.text()[at..].find("lorem").map_or(0, |found| at + found + 1);
                let typed = theirs.replace_range(at..at, "x", &author()).expect("it can be typed");
                updates.extend(typed.update);
            }
            let mut waiting = updates.into_iter();
            let keystroke = median(N_TIMES, || {
                let update = waiting.next().expect("there are as many");
                ours.receive(&update, UpdateSource::Wire).expect("an update");
                black_box(ours.text());
            });
            let append = median(N_TIMES, || {
                black_box(
                    ours.append("one more line\n", &author()).expect("it can be added").update,
                );
                black_box(ours.text());
            });
            let mut n_edits = 0;
            let edit = median(N_TIMES, || {
                n_edits += 1;
                let (old, new) = (format!("unique{n_edits:04}"), format!("changed{n_edits}"));
                let edited = ours.edit(&old, &new, false, &author()).expect("it is there");
                black_box(edited.update);
                black_box(ours.text());
            });
            println!("| {name} | {size} | {first:.2} | {keystroke:.2} | {append:.2} | {edit:.2} |");
        }
    }
}

fn document(client: u64, kind: ContentRoot) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").expect("an id");
    let mut doc = ContentDoc::new(&id, ClientId::from_random(client), GateLimits::default());
    doc.set_kind(kind);
    doc
}

fn author() -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Human, "bench"), Millis(1_000))
}

/// Returns headings, paragraphs and lists whose words repeat at intervals.
fn file(size: usize) -> String {
    let (mut text, mut number) = (String::new(), 0);
    while text.len() < size {
        number += 1;
        text.push_str(&format!(
            "## Part {number}\n\nlorem ipsum unique{number:04} dolor *sit* amet, \
             consectetur `adipiscing` elit.\n\
             Sed do eiusmod tempor [incididunt](https://example.org/{number}) ut labore.\n\n\
             - one lorem {number}\n- two **ipsum** {number}\n\n"
        ));
    }
    text
}

/// Returns the median of several times in milliseconds of CPU.
fn median(n_times: usize, mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..n_times)
        .map(|_| {
            let begun = cpu();
            run();
            cpu() - begun
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the milliseconds of CPU that this process has used.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    1e3 * time.tv_sec as f64 + time.tv_nsec as f64 / 1e6
}
