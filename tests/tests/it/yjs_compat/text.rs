//! Text with emoji, combining characters and line ends of all sorts, edited on both sides.

use std::cell::RefCell;

use proptest::prelude::*;
use serde_json::json;
use yfs_engine::gate::{DocRole, GatedDoc};
use yfs_tests::node::{Yjs, from_hex, to_hex};
use yrs::{GetString, ReadTxn, Snapshot, Text, WriteTxn, updates::encoder::Encode};

use super::{gated, receive, runner, sync};

const WORDS: &[&str] =
    &["plain ", "naïve ", "😀", "👩‍👩‍👧‍👦", "\r\n", "\n", "e\u{301}", "東京", "\u{feff}", "\u{10ffff}"];

fn text(doc: &GatedDoc) -> String {
    doc.read(|txn| txn.get_text("text").map(|text| text.get_string(txn)).unwrap_or_default())
}

/// Inserts a word, or deletes a few characters, at a place between 0 and 1.
fn edit(doc: &mut GatedDoc, place: f64, word: Option<&str>) -> Option<Vec<u8>> {
    let content = text(doc);
    let boundaries: Vec<u32> = content
        .char_indices()
        .map(|(at, _)| at)
        .chain([content.len()])
        .map(|at| content[..at].encode_utf16().count() as u32)
        .collect();
    let from = (place * boundaries.len() as f64) as usize % boundaries.len();
    let to = (from + 3).min(boundaries.len() - 1);
    let edit = |txn: &mut yrs::TransactionMut<'_>| {
        let text = txn.get_or_insert_text("text");
        match word {
            Some(word) => text.insert(txn, boundaries[from], word),
            None if to > from => {
                text.remove_range(txn, boundaries[from], boundaries[to] - boundaries[from]);
            }
            None => {}
        }
    };
    doc.edit(edit).1
}

#[derive(Debug, Clone)]
enum Step {
    Ours { place: f64, word: Option<usize> },
    Theirs { seed: u32, n_edits: u32 },
    Sync,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ours = (0.0..1.0f64, prop::option::weighted(0.7, 0..WORDS.len()))
        .prop_map(|(place, word)| Step::Ours { place, word });
    let theirs = (any::<u32>(), 1..4u32).prop_map(|(seed, n_edits)| Step::Theirs { seed, n_edits });
    prop::collection::vec(prop_oneof![4 => ours, 4 => theirs, 1 => Just(Step::Sync)], 1..30)
}

#[test]
fn both_sides_type_and_agree() {
    let yjs = RefCell::new(Yjs::start());
    let result = runner(60).run(&steps(), |steps| {
        let yjs = &mut *yjs.borrow_mut();
        yjs.make("theirs", 5, false);
        let mut ours = gated(DocRole::Content, 1 << 50);
        let mut to_them: Vec<Vec<u8>> = Vec::new();
        let mut to_us: Vec<Vec<u8>> = Vec::new();
        for step in steps {
            match step {
                Step::Ours { place, word } => {
                    to_them.extend(edit(&mut ours, place, word.map(|word| WORDS[word])));
                }
                Step::Theirs { seed, n_edits } => to_us.extend(yjs.change(
                    "random_edits",
                    json!({ "doc": "theirs", "seed": seed, "n_edits": n_edits }),
                )),
                Step::Sync => {
                    for update in to_us.drain(..) {
                        receive(&mut ours, &update);
                    }
                    for update in to_them.drain(..) {
                        prop_assert!(!yjs.apply("theirs", &update));
                    }
                    prop_assert_eq!(text(&ours), yjs.text("theirs"));
                }
            }
        }
        sync(yjs, "theirs", &mut ours);
        prop_assert_eq!(text(&ours), yjs.text("theirs"));
        yjs.make("fresh", 6, false);
        yjs.apply("fresh", &ours.encode_state());
        prop_assert_eq!(text(&ours), yjs.text("fresh"));
        let mut loaded = gated(DocRole::Content, 7);
        receive(&mut loaded, &yjs.encode("theirs"));
        prop_assert_eq!(text(&loaded), text(&ours));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// A snapshot taken here names the same text there, and the other way round.
#[test]
fn snapshots_mean_the_same() {
    let mut yjs = Yjs::start();
    yjs.make("theirs", 5, false);
    let mut ours = gated(DocRole::Content, 7);
    let mut taken = Vec::new();
    for round in 0..12u32 {
        edit(&mut ours, f64::from(round) / 12.0, Some(WORDS[round as usize % WORDS.len()]));
        sync(&mut yjs, "theirs", &mut ours);
        yjs.change("random_edits", json!({ "doc": "theirs", "seed": round, "n_edits": 4 }));
        edit(&mut ours, 0.2, None);
        sync(&mut yjs, "theirs", &mut ours);
        let here: Snapshot = ours.read(|txn| txn.snapshot());
        let there = yjs.call("snapshot", json!({ "doc": "theirs" }));
        let same = json!({ "a": to_hex(&here.encode_v1()), "b": there });
        assert_eq!(yjs.call("same_snapshot", same), true, "in round {round}");
        taken.push((here.encode_v1(), from_hex(there.as_str().unwrap()), text(&ours)));
    }
    for (here, there, expected) in &taken {
        for snapshot in [here, there] {
            let at = json!({ "doc": "theirs", "snapshot": to_hex(snapshot) });
            assert_eq!(yjs.call("text_at", at), **expected);
        }
    }
}

/// JavaScript can insert into the middle of an emoji. Yjs then shows two replacement characters,
/// and so must we, or refuse; nothing may break.
#[test]
fn an_emoji_split_by_javascript_does_no_harm() {
    let mut yjs = Yjs::start();
    yjs.make("theirs", 5, false);
    let mut ours = gated(DocRole::Content, 7);
    let mut updates = yjs.change("insert", json!({ "doc": "theirs", "at": 0, "text": "a😀b" }));
    updates.extend(yjs.change("insert", json!({ "doc": "theirs", "at": 2, "text": "x" })));
    updates.extend(yjs.change("delete", json!({ "doc": "theirs", "at": 1, "len": 1 })));
    for update in updates {
        receive(&mut ours, &update);
    }
    assert_eq!(text(&ours), yjs.text("theirs"));
    sync(&mut yjs, "theirs", &mut ours);
    let mut loaded = gated(DocRole::Content, 8);
    receive(&mut loaded, &yjs.encode("theirs"));
    assert_eq!(text(&loaded), text(&ours));
}
