//! Forks are found, and what honest writers do is not taken for one.

use proptest::prelude::*;
use yrs::{ReadTxn, StateVector, Transact, merge_updates_v1};

use super::*;
use crate::{
    gate::{
        UpdateSource,
        random_edits::{doc, edit, exchange},
    },
    id::FileId,
};

fn gated(role: DocRole) -> GatedDoc {
    let id = FileId::from_bytes([7; 16]);
    GatedDoc::new(&id, role, ClientId::from_random(3), GateLimits::default())
}

/// Receives updates as one message; returns what is forked in each.
fn receive(doc: &mut GatedDoc, updates: &[&[u8]]) -> Vec<Option<ForkedItems>> {
    if doc.role == DocRole::Content {
        doc.expect_updates(updates);
    }
    let mut forks = Vec::new();
    for update in updates {
        let fork = doc.find_fork(update);
        let rest = fork.as_ref().map_or_else(|| vec![update.to_vec()], |fork| fork.rest.clone());
        for part in rest {
            doc.receive(&part, UpdateSource::Wire).unwrap();
        }
        forks.push(fork);
    }
    if doc.role == DocRole::Content {
        doc.expect_updates(&[]);
    }
    forks
}

/// Returns the updates of two writers who exchange some of their work, and some states.
fn history(steps: &[(usize, u8, u32, bool)]) -> Vec<Vec<u8>> {
    let docs = [doc(7), doc(1 << 40)];
    let mut updates = Vec::new();
    for (who, kind, at, shares) in steps {
        updates.push(edit(&docs[*who], *kind, *at));
        if *shares {
            exchange(&docs[*who], &docs[1 - who]);
        }
        if at.is_multiple_of(5) {
            let state = docs[*who].transact();
            updates.push(state.encode_state_as_update_v1(&StateVector::default()));
        }
    }
    updates
}

fn steps() -> impl Strategy<Value = Vec<(usize, u8, u32, bool)>> {
    let step = (0..2_usize, any::<u8>(), any::<u32>(), any::<bool>());
    prop::collection::vec(step, 1..30)
}

/// Writes one text in the place of another of the same length.
fn replace(update: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = update.windows(from.len()).position(|bytes| bytes == from).expect("it is there");
    [&update[..at], to, &update[at + to.len()..]].concat()
}

proptest! {
    /// Whatever honest writers do, and in whichever order, as often and merged as their updates
    /// arrive: nothing is taken for a fork.
    #[test]
    fn honest_histories_have_no_forks(
        steps in steps(),
        order in prop::collection::vec((any::<u32>(), 1..4_usize, any::<bool>()), 1..40),
        is_main in any::<bool>(),
    ) {
        let updates = history(&steps);
        let mut doc = gated(if is_main { DocRole::Main } else { DocRole::Content });
        for (first, len, merges) in order {
            let first = first as usize % updates.len();
            let some = &updates[first..(first + len).min(updates.len())];
            let merged = merge_updates_v1(some).unwrap();
            let message: Vec<&[u8]> = match merges {
                true => vec![&merged],
                false => some.iter().map(Vec::as_slice).collect(),
            };
            let forks = receive(&mut doc, &message);
            prop_assert!(forks.iter().all(Option::is_none), "{forks:?}");
            let own = doc.encode_state();
            let forks = receive(&mut doc, &[&own]);
            prop_assert!(forks.iter().all(Option::is_none), "{forks:?}");
        }
    }

    /// One letter that differs is found wherever it is, alone, merged with others, or with new work
    /// behind it, which is not lost.
    #[test]
    fn one_other_letter_is_found(steps in steps(), behind in steps(), merges in any::<bool>()) {
        let [writer, other] = [doc(9), doc(11)];
        for (who, kind, at, _) in &steps {
            edit([&writer, &other][*who], *kind, *at);
            exchange(&other, &writer);
        }
        edit(&writer, 1, 3);
        let left = writer.transact().encode_state_as_update_v1(&StateVector::default());
        let mut document = gated(DocRole::Content);
        receive(&mut document, &[&left]);
        let (seen, n_known) = (writer.transact().state_vector(), document.state_vector());
        for (_, kind, at, _) in &behind {
            edit(&writer, 7 + kind % 3, *at);
        }
        let news = writer.transact().encode_state_as_update_v1(&seen);
        // The last of these texts is alive.
        let at = left.windows(6).rposition(|bytes| bytes == b"longer");
        let Some(at) = at else { return Ok(()) };
        let mut right = left.clone();
        right[at] = b'L';
        let message = if merges {
            vec![merge_updates_v1([&right, &news]).unwrap()]
        } else {
            vec![right, news]
        };
        let message: Vec<&[u8]> = message.iter().map(Vec::as_slice).collect();
        let is_dead = {
            let mut honest = gated(DocRole::Content);
            receive(&mut honest, &[&left]);
            honest.read(|txn| !yrs::GetString::get_string(
                &txn.get_text("text").unwrap(), txn).contains("longer"))
        };
        let forks = receive(&mut document, &message);
        prop_assert!(is_dead || forks[0].is_some());
        let has_news = document.state_vector() != n_known;
        prop_assert!(behind.is_empty() || has_news);
    }
}

#[test]
fn a_row_with_other_content_is_found() {
    let writer = doc(9);
    let update = edit(&writer, 5, 0);
    let forked = replace(&update, b"\x77\x01x", b"\x77\x01y");
    let mut document = gated(DocRole::Main);
    assert_eq!(receive(&mut document, &[&update, &update]), [None, None]);
    let found = receive(&mut document, &[&forked]).remove(0).unwrap();
    let client = ClientId::new(9).unwrap();
    assert_eq!(found.ranges, [IdRange { client, start: 0, len: 1 }]);
    assert_eq!(found.update, forked);
    // It is found among the items that arrived after the first comparison, too.
    let later = edit(&writer, 5, 0);
    let later_forked = replace(&later, b"\x77\x01x", b"\x77\x01y");
    assert_eq!(receive(&mut document, &[&later]), [None]);
    let found = receive(&mut document, &[&later_forked]).remove(0).unwrap();
    assert_eq!(found.ranges, [IdRange { client, start: 1, len: 1 }]);
}

#[test]
fn the_same_text_at_another_place_is_found() {
    let writer = doc(9);
    let (first, second) = (edit(&writer, 1, 0), edit(&writer, 0, 3));
    let mut document = gated(DocRole::Content);
    receive(&mut document, &[&first, &second]);
    // The left neighbor of the second is the third letter; in the fork, it is the second one.
    let forked = replace(&second, &[0xc4, 9, 2, 9, 3], &[0xc4, 9, 1, 9, 2]);
    assert_eq!(receive(&mut document, &[&second]), [None]);
    assert!(receive(&mut document, &[&forked])[0].is_some());
}

/// A writer deletes what it forked: nothing differs any more, and nothing is reported.
#[test]
fn deleted_items_are_not_compared() {
    let writer = doc(9);
    let first = edit(&writer, 1, 0);
    let forked = replace(&first, b"longer", b"LONGER");
    let deletion = {
        let mut txn = writer.transact_mut();
        let text = yrs::WriteTxn::get_or_insert_text(&mut txn, "text");
        yrs::Text::remove_range(&text, &mut txn, 0, 6);
        txn.encode_update_v1()
    };
    let mut document = gated(DocRole::Content);
    let found = receive(&mut document, &[&first, &forked]).remove(1).unwrap();
    assert!(document.has_living(&found.ranges));
    let merged = merge_updates_v1([&forked, &deletion]).unwrap();
    assert_eq!(receive(&mut document, &[&merged]), [None]);
    assert_eq!(receive(&mut document, &[&forked]), [None]);
    assert!(!document.has_living(&[IdRange { len: 6, ..found.ranges[0] }]));
}

/// Yjs puts U+FFFD in the place of the halves of a character that it cuts.
#[test]
fn halves_of_characters_are_equal_to_what_stands_for_them() {
    let whole: Vec<u16> = "😀".encode_utf16().collect();
    assert!(whole.iter().all(|unit| is_same_unit(*unit, 0xfffd) && is_same_unit(0xfffd, *unit)));
    assert!(!is_same_unit(whole[0], whole[1]) && !is_same_unit(0xfffd, u16::from(b'x')));
}

/// Two updates of one message under the same ids.
#[test]
fn updates_of_one_message_are_compared() {
    let writer = doc(9);
    let first = edit(&writer, 1, 0);
    let forked = replace(&first, b"longer", b"LONGER");
    assert!(share_items(&[&first, &forked]));
    assert!(!share_items(&[&first, &edit(&writer, 1, 0)]));
    let mut document = gated(DocRole::Content);
    let forks = receive(&mut document, &[&first, &forked]);
    assert!(forks[0].is_none() && forks[1].is_some());
}
