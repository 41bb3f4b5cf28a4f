//! Edits of a text that was edited many times before: their cost, and the order of its items beside
//! that of yrs.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

use super::{author, doc};
use crate::{
    content::{ContentDoc, item_spans::plain_spans},
    gate::UpdateSource,
    id::ItemId,
    steps,
};

const TEXT: &str = "A text with some words, and one 🦀 that takes two code units.\n";

/// The ids of the text, one by one, as yrs has them.
fn units_of_yrs(doc: &mut ContentDoc) -> Vec<ItemId> {
    let now = doc.version();
    let (_, spans) = plain_spans(&mut doc.replica.gate, &now);
    let units = spans.iter().flat_map(|span| (0..span.n_units).map(|n| span.item_behind(n)));
    units.collect()
}

fn check_order(doc: &mut ContentDoc) {
    if let Some(units) = doc.replica.gate.order.ordered_units() {
        assert_eq!(units, units_of_yrs(doc));
    }
}

/// Replaces some characters at a random place; returns the update.
fn edit(doc: &mut ContentDoc, random: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let text = doc.text();
    let start = text.floor_char_boundary(random.random_range(0..=text.len()));
    let end = (start + random.random_range(0..6)).min(text.len());
    let new = ["", "x", "one", "🦀", "é and more"][random.random_range(0..5)];
    let range = start..text.floor_char_boundary(end.max(start));
    doc.replace_range(range, new, &author("ana")).unwrap().update
}

/// The steps of an edit after many others, which were made at one place or anywhere.
fn steps_after(n_edits: usize, is_anywhere: bool) -> usize {
    let mut doc = doc(1);
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let _written = doc.write(&TEXT.repeat(20), None, &author("ana")).unwrap();
    let mut edit = || {
        let at = if is_anywhere { random.random_range(0..19) * TEXT.len() + 5 } else { 40 };
        let _written = doc.replace_range(at..at + 1, "y", &author("ana"));
        let _written = doc.replace_range(at..at + 1, "z", &author("ana"));
    };
    (0..n_edits).for_each(|_| edit());
    steps::of(edit)
}

#[test]
fn an_edit_takes_the_same_steps_after_any_number_of_earlier_edits() {
    for is_anywhere in [false, true] {
        let counted = [50, 800].map(|n_edits| steps_after(n_edits, is_anywhere));
        for n_steps in counted {
            assert!((1..40).contains(&n_steps), "{counted:?}, {is_anywhere}");
        }
    }
}

#[test]
fn an_edit_that_arrives_keeps_the_order_and_costs_no_walk() {
    let (mut own, mut other) = (doc(1), doc(2));
    let first = own.write(&TEXT.repeat(20), None, &author("ana")).unwrap().update.unwrap();
    let _received = other.receive(&first, UpdateSource::Wire).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(6);
    for _ in 0..200 {
        if let Some(update) = edit(&mut own, &mut random) {
            let _received = other.receive(&update, UpdateSource::Wire).unwrap();
        }
        std::mem::swap(&mut own, &mut other);
    }
    let update = edit(&mut own, &mut random).unwrap();
    let mut receive = || drop(other.receive(&update, UpdateSource::Wire).unwrap());
    let n_steps = steps::of(&mut receive);
    assert!(n_steps < 10, "{n_steps}");
    assert!(other.replica.gate.order.ordered_units().is_some());
    assert!(other.replica.knows_plain_text(), "the text is read again");
    assert_eq!(other.text(), own.text());
    check_order(&mut other);
}

#[test]
fn a_text_with_an_embed_is_edited_as_before() {
    let mut doc = doc(1);
    let _written = doc.write(TEXT, None, &author("ana")).unwrap();
    let (_, _) = doc.replica.edit(|txn| {
        let text = yrs::WriteTxn::get_or_insert_text(txn, "text");
        yrs::Text::insert_embed(&text, txn, 7, yrs::Any::from(true));
    });
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for _ in 0..20 {
        edit(&mut doc, &mut random);
    }
    assert_eq!(doc.replica.gate.order.ordered_units(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Replicas edit at the same time, and updates arrive late, twice, and in any order: the order
    /// of the items is always that of yrs, in every replica, and so is the text.
    #[test]
    fn the_order_is_that_of_yrs(seed: u64, n_replicas in 2..4_usize) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut docs: Vec<ContentDoc> = (0..n_replicas).map(|n| doc(n as u64)).collect();
        let mut network: Vec<Vec<Vec<u8>>> = vec![Vec::new(); n_replicas];
        let first = docs[0].write(TEXT, None, &author("ana")).unwrap().update.unwrap();
        network[1..].iter_mut().for_each(|queue| queue.push(first.clone()));
        for _ in 0..60 {
            let nth = random.random_range(0..n_replicas);
            if random.random_bool(0.5) {
                let update = match random.random_bool(0.2) {
                    true => docs[nth].append("end", &author("ana")).unwrap().update,
                    false => edit(&mut docs[nth], &mut random),
                };
                for (other, queue) in network.iter_mut().enumerate() {
                    queue.extend(update.clone().filter(|_| other != nth));
                }
            } else if !network[nth].is_empty() {
                let at = random.random_range(0..network[nth].len());
                let update = network[nth][at].clone();
                if random.random_bool(0.8) {
                    network[nth].remove(at);
                }
                let _received = docs[nth].receive(&update, UpdateSource::Wire).unwrap();
            }
            check_order(&mut docs[nth]);
        }
        for (doc, queue) in docs.iter_mut().zip(&network) {
            for update in queue {
                let _received = doc.receive(update, UpdateSource::Wire).unwrap();
            }
            check_order(doc);
        }
        let texts: Vec<String> = docs.iter().map(ContentDoc::text).collect();
        prop_assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    }
}
