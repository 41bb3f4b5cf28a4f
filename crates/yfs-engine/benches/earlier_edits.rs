//! Measures an edit of a file that was edited many times before.
//!
//! An edit notes the state of the document that it found. The cost of that must not grow with the
//! number of earlier edits. Edits in random places also show the walk of yrs over the pieces of the
//! text; edits at its beginning do not.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::time::Instant;

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{ContentDoc, RunAuthor},
    gate::GateLimits,
    id::{ClientId, FileId},
    time::Millis,
};

/// The numbers of earlier edits.
const EARLIER: [usize; 4] = [0, 1_000, 10_000, 20_000];

/// The number of edits that are measured.
const MEASURED: usize = 1_000;

fn text(kilobytes: usize) -> String {
    (0..kilobytes * 25).map(|n| format!("line {n:5} of a text with many words in it\n")).collect()
}

/// Replaces two characters by others, which nearly always leaves a deleted range.
fn edit(doc: &mut ContentDoc, random: &mut ChaCha8Rng, len: usize, by: &RunAuthor) {
    let at = random.random_range(0..len - 1);
    let new = random.random_range(1_000..10_000_u32).to_string();
    let _written = doc.replace_range(at..at + 2, &new[2..], by).unwrap();
}

fn main() {
    // A test run only checks that it works.
    let is_test = std::env::args().any(|argument| argument == "--test");
    let by = RunAuthor::new(Actor::new(ActorKind::Agent, "reviewer"), Millis(1_795_296_141_108));
    for (kilobytes, is_random) in [(10, true), (100, true), (10, false)] {
        let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
        let client = ClientId::new((1 << 51) + 1).unwrap();
        let mut doc = ContentDoc::new(&id, client, GateLimits::default());
        let text = text(kilobytes);
        let _written = doc.write(&text, None, &by).unwrap();
        let places = if is_random { text.len() } else { 2 };
        let (mut random, mut n_edits) = (ChaCha8Rng::seed_from_u64(7), 0);
        for earlier in if is_test { &EARLIER[..1] } else { &EARLIER } {
            while n_edits < *earlier {
                edit(&mut doc, &mut random, places, &by);
                n_edits += 1;
            }
            let begun = Instant::now();
            (0..MEASURED).for_each(|_| edit(&mut doc, &mut random, places, &by));
            n_edits += MEASURED;
            let each = begun.elapsed() / MEASURED as u32;
            let where_to = if is_random { "anywhere" } else { "at the start" };
            println!("{kilobytes} KB, {earlier} earlier edits {where_to}: {each:.1?} an edit");
        }
    }
}
