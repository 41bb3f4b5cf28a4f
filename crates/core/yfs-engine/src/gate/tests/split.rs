//! Updates that are split into parts: the parts bring the same, and none of them waits.

use proptest::prelude::*;
use yrs::{
    Array as _, Doc, OffsetKind, Options, ReadTxn as _, Text as _, Transact as _, WriteTxn as _,
    XmlElementPrelim, XmlFragment as _, XmlTextPrelim,
};

use super::{decode, doc, id, rows};
use crate::{
    gate::{
        DocRole, GatedDoc, SplitSize, UpdateBuilder, UpdateSource,
        canonical::{CanonicalState, canonical},
        split,
    },
    id::ItemId,
};

fn peer(client: u64) -> Doc {
    let mut options = Options::with_client_id(yrs::ClientID::new(client));
    (options.offset_kind, options.skip_gc) = (OffsetKind::Utf16, true);
    Doc::with_options(options)
}

fn state(doc: &Doc, since: &yrs::StateVector) -> Vec<u8> {
    doc.transact().encode_state_as_update_v1(since)
}

/// Makes one of a few kinds of changes.
fn change(doc: &Doc, action: usize, number: u32) {
    let mut txn = doc.transact_mut();
    match action {
        0 => {
            let text = txn.get_or_insert_text("text");
            let at = number % (text.len(&txn) + 1);
            text.insert(&mut txn, at, "some wörds ");
        }
        1 => {
            let text = txn.get_or_insert_text("text");
            let len = text.len(&txn);
            if len > 3 {
                text.remove_range(&mut txn, number % (len - 3), 3);
            }
        }
        2 => {
            let list = txn.get_or_insert_array("list");
            let values = (0..number % 9).map(|nth| format!("value {nth} of {number}"));
            list.insert_range(&mut txn, 0, values.collect::<Vec<_>>());
        }
        3 => {
            let list = txn.get_or_insert_array("list");
            if list.len(&txn) > 0 {
                let at = number % list.len(&txn);
                list.remove_range(&mut txn, at, 1);
            }
        }
        _ => {
            let rich = txn.get_or_insert_xml_fragment("richtext");
            let at = number % (rich.len(&txn) + 1);
            let block = rich.insert(&mut txn, at, XmlElementPrelim::empty("paragraph"));
            block.push_back(&mut txn, XmlTextPrelim::new("a paragraph"));
        }
    }
}

/// Applies the parts one after another, and returns the document's state.
#[track_caller]
fn apply(before: &[u8], parts: &[Vec<u8>]) -> CanonicalState {
    let mut receiver = doc(DocRole::Content, 1);
    receiver.receive(before, UpdateSource::Wire).expect("it is an update");
    for part in parts {
        let received = receiver.receive(part, UpdateSource::Wire).expect("it is an update");
        assert!(!received.parked && received.refused.is_empty(), "{received:?}");
    }
    canonical_state(&receiver)
}

fn canonical_state(doc: &GatedDoc) -> CanonicalState {
    canonical(DocRole::Content, &doc.encode_state()).expect("a state")
}

proptest! {
    #[test]
    fn the_parts_bring_the_same_and_none_waits(
        steps in prop::collection::vec((0..4_usize, 0..6_usize, 0..1000_u32), 1..120),
        middle in 0..100_usize,
        bytes in 1..400_usize,
        structs in 1..40_usize,
    ) {
        let docs: Vec<Doc> = (0..4).map(|nth| peer(10 + nth)).collect();
        let mut before = Vec::from([0, 0]);
        let mut known = yrs::StateVector::default();
        for (nth, (who, action, number)) in steps.iter().enumerate() {
            match action {
                5 => {
                    let other = state(&docs[*number as usize % docs.len()], &Default::default());
                    docs[*who].transact_mut().apply_update(decode(&other)).expect("an update");
                }
                action => change(&docs[*who], *action, *number),
            }
            if nth == middle {
                before = state(&docs[*who], &Default::default());
                known = docs[*who].transact().state_vector();
            }
        }
        let all = peer(99);
        for doc in &docs {
            let all_of_it = state(doc, &Default::default());
            all.transact_mut().apply_update(decode(&all_of_it)).expect("an update");
        }
        let size = SplitSize { bytes, structs };
        let (none, whole, since) =
            ([0, 0], state(&all, &Default::default()), state(&all, &known));
        let expected = apply(&none, std::slice::from_ref(&whole));
        for (before, update) in [(&none[..], &whole), (&before, &since)] {
            let parts = split(DocRole::Content, update, size).expect("parts");
            prop_assert_eq!(&apply(before, &parts), &expected);
        }
    }
}

#[test]
fn parts_are_as_small_as_asked_and_a_long_run_is_divided() {
    let values: Vec<String> =
        (0..1000).map(|nth| format!("the value of number {nth:04}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let update = rows(7, 0, &values);
    let parts = split(DocRole::Main, &update, SplitSize { bytes: 1000, structs: 10 }).unwrap();
    assert!(parts.len() >= update.len() / 1000, "{}", parts.len());
    assert!(parts.iter().all(|part| part.len() < 1100));
    let mut receiver = doc(DocRole::Main, 1);
    for part in &parts {
        assert!(!receiver.receive(part, UpdateSource::Wire).unwrap().parked);
    }
    let mut whole = doc(DocRole::Main, 1);
    whole.receive(&update, UpdateSource::Wire).unwrap();
    assert_eq!(receiver.encode_state(), whole.encode_state());
}

#[test]
fn a_small_update_stays_as_it_is() {
    let update = rows(7, 3, &["a", "b"]);
    let size = SplitSize { bytes: 1000, structs: 10 };
    assert_eq!(split(DocRole::Main, &update, size).unwrap(), [update]);
}

/// The clocks between two runs of one client are known to the receiver.
#[test]
fn a_gap_in_the_clocks_of_a_client_stays_one() {
    let parts = [rows(7, 0, &["a"]), rows(7, 1, &["b", "c"]), rows(7, 3, &["d", "e"])];
    let merged = yrs::merge_updates_v1([&parts[0], &parts[2]]).unwrap();
    let size = SplitSize { bytes: 1, structs: 1 };
    let split = split(DocRole::Main, &merged, size).unwrap();
    let mut receiver = doc(DocRole::Main, 1);
    for part in std::iter::once(&parts[0]).chain([&parts[1]]).chain(&split) {
        assert!(!receiver.receive(part, UpdateSource::Wire).unwrap().parked);
    }
    assert_eq!(receiver.state_vector(), [1, 7, 5]);
}

#[test]
fn the_rows_of_a_main_document_are_deleted_last() {
    let mut update = UpdateBuilder::new();
    let value = |nth: u32| [format!("row {nth}").as_str().into()];
    for nth in 0..4 {
        let origin: Option<ItemId> = (nth > 0).then(|| id(7, nth - 1));
        update.array_run(id(7, nth), origin, None, "table:files", &value(nth));
    }
    update.delete(id(7, 0));
    let size = SplitSize { bytes: 1, structs: 1 };
    let parts = split(DocRole::Main, &update.finish(), size).unwrap();
    let n_deletes =
        |part: &Vec<u8>| super::parse(part, &Default::default(), true).unwrap().deletes.len();
    assert_eq!(parts.iter().map(n_deletes).collect::<Vec<_>>(), [0, 0, 0, 1]);
}
