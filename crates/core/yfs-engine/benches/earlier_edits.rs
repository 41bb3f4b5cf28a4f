//! Measures an edit of a file that was edited many times before, and opening such a file.
//!
//! The cost of an edit must not grow with the number of earlier edits. An edit is made as the
//! workspace makes it: the text is read, two characters are replaced, the text is read again.
//! `tests/benches/earlier_edits.mjs` measures the same of Yjs.
//!
//! Arguments are numbers of earlier edits; the default is 1,000 to 40,000. `WRITERS=Hundred`
//! measures a hundred clients only; they write one after another, in one document.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::{collections::HashSet, time::Duration};

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use rustix::time::{ClockId, clock_gettime};
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{ContentDoc, RunAuthor},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    time::Millis,
};

/// The numbers of earlier edits.
const EARLIER: [usize; 4] = [1_000, 10_000, 20_000, 40_000];

/// The number of edits that are measured.
const MEASURED: usize = 500;

/// The size of the text.
const KILOBYTES: usize = 100;

/// Who writes.
#[derive(Debug, Clone, Copy)]
enum Writers {
    /// One client.
    One,
    /// A hundred clients, one after another.
    Hundred,
    /// Two clients that get each other's edits at once.
    Two,
}

/// Returns the CPU time of this thread.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn new_doc(nth: usize) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
    ContentDoc::new(&id, client(nth), GateLimits::default())
}

fn client(nth: usize) -> ClientId {
    ClientId::new((1 << 51) + nth as u64).unwrap()
}

/// Replaces two characters by others, which nearly always leaves a deleted range.
fn edit(doc: &mut ContentDoc, random: &mut ChaCha8Rng, by: &RunAuthor) -> Vec<u8> {
    let len = doc.text().len();
    let at = random.random_range(0..len - 1);
    let new = random.random_range(1_000..10_000_u32).to_string();
    let written = doc.replace_range(at..at + 2, &new[2..], by).unwrap();
    assert_eq!(doc.text().len(), len);
    written.update.unwrap_or_default()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // A test run only checks that it works.
    let is_test = arguments.iter().any(|argument| argument == "--test");
    let mut earlier: Vec<usize> = arguments.iter().filter_map(|n| n.parse().ok()).collect();
    if earlier.is_empty() {
        earlier = if is_test { vec![100] } else { EARLIER.to_vec() };
    }
    let by = RunAuthor::new(Actor::new(ActorKind::Agent, "reviewer"), Millis(1_795_296_141_108));
    let only = std::env::var("WRITERS").unwrap_or_default();
    for writers in [Writers::One, Writers::Hundred, Writers::Two] {
        if !only.is_empty() && format!("{writers:?}") != only {
            continue;
        }
        let (mut doc, mut other) = (new_doc(1), new_doc(2));
        let text: String = (0..KILOBYTES * 25)
            .map(|n| format!("line {n:5} of a text with many words in it\n"))
            .collect();
        let first = doc.write(&text, None, &by).unwrap().update.unwrap();
        let _received = other.receive(&first, UpdateSource::Wire).unwrap();
        let (mut random, mut n_edits, mut n_writers) = (ChaCha8Rng::seed_from_u64(7), 0, 2);
        let last = *earlier.last().unwrap();
        for &earlier in &earlier {
            let mut run = |doc: &mut ContentDoc, other: &mut ContentDoc| {
                let update = edit(doc, &mut random, &by);
                if matches!(writers, Writers::Two) && !update.is_empty() {
                    let _received = other.receive(&update, UpdateSource::Wire).unwrap();
                    std::mem::swap(doc, other);
                }
            };
            while n_edits < earlier {
                if matches!(writers, Writers::Hundred) && n_edits * 100 / last > n_writers - 2 {
                    n_writers += 1;
                    doc.write_text_as(client(n_writers));
                }
                run(&mut doc, &mut other);
                n_edits += 1;
            }
            let begun = cpu();
            (0..MEASURED).for_each(|_| run(&mut doc, &mut other));
            n_edits += MEASURED;
            let each = (cpu() - begun) / MEASURED as u32;
            let memory = resident_mb();
            let (encode, open, bytes) = open(&doc);
            println!("{writers:?}, {earlier} earlier edits: {each:.1?} an edit");
            println!("  encode {encode:.1?}, open {open:.1?}, {bytes} bytes, {memory:.0} MB");
            let begun = cpu();
            let n_versions = doc.timeline().versions().len();
            let versions = cpu() - begun;
            let ids: HashSet<_> = doc.log().entries().iter().map(|entry| entry.client).collect();
            println!("  list {n_versions} versions {versions:.1?}, {} client ids", ids.len());
        }
    }
}

/// Returns the resident memory of this process in MB.
fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}

/// Opens a document from its state; returns the times to encode the state and to open it, and its
/// size.
fn open(doc: &ContentDoc) -> (Duration, Duration, usize) {
    let begun = cpu();
    let state = doc.gate().encode_state();
    let encode = cpu() - begun;
    let begun = cpu();
    let mut opened = new_doc(9_999);
    let _received = opened.receive(&state, UpdateSource::Store).unwrap();
    assert_eq!(opened.text(), doc.text());
    (encode, cpu() - begun, state.len())
}
