//! Tests of version 2 against the output of yrs, and against invalid bytes.

use proptest::prelude::*;
use yrs::{
    Any, Array as _, Doc, Map as _, ReadTxn as _, StateVector, Text as _, Transact as _,
    WriteTxn as _, XmlElementPrelim, XmlFragment as _, XmlTextPrelim,
    updates::decoder::Decode as _,
};

use super::{super::GateLimits, from_v2};

/// A document with every kind of content that yrs writes, and its state in both versions.
fn states() -> (Vec<u8>, Vec<u8>) {
    let doc = Doc::with_client_id(1 << 40);
    let text = doc.get_or_insert_text("text");
    for _ in 0..50 {
        let mut txn = doc.transact_mut();
        // Each has ASCII in front, so that every index is between two characters.
        text.insert(&mut txn, 0, "abcdefgh😀é");
        let formats = [("bold".into(), Any::from(true)), ("link".into(), Any::from("x\"y"))];
        text.format(&mut txn, 2, 3, formats.into_iter().collect());
        text.insert_embed(&mut txn, 4, Any::from(vec![1.5, 2.0]));
        text.remove_range(&mut txn, 1, 2);
    }
    let mut txn = doc.transact_mut();
    let array = txn.get_or_insert_array("array");
    let values =
        [Any::Null, Any::from(7), Any::from("x"), Any::from(false), Any::from(1_i64 << 60)];
    array.insert_range(&mut txn, 0, values);
    array.insert(&mut txn, 1, Any::Buffer([0, 255].as_slice().into()));
    let map = txn.get_or_insert_map("map");
    for n in 0..10 {
        map.insert(&mut txn, format!("key{}", n % 3), n);
    }
    let fragment = txn.get_or_insert_xml_fragment("richtext");
    for _ in 0..3 {
        let paragraph = fragment.push_back(&mut txn, XmlElementPrelim::empty("paragraph"));
        paragraph.push_back(&mut txn, XmlTextPrelim::new("words"));
    }
    let all = StateVector::default();
    (txn.encode_state_as_update_v1(&all), txn.encode_state_as_update_v2(&all))
}

#[test]
fn an_update_of_version_2_is_rewritten_as_what_it_says() {
    let (v1, v2) = states();
    let limits = GateLimits::default();
    assert_eq!(from_v2(&v1, &limits), Ok(None));
    let rewritten = from_v2(&v2, &limits).expect("it can be read").expect("it is version 2");
    let read = |bytes: &[u8]| {
        let doc = Doc::with_client_id(1);
        let mut txn = doc.transact_mut();
        txn.apply_update(yrs::Update::decode_v1(bytes).expect("version 1")).expect("applied");
        txn.encode_state_as_update_v1(&StateVector::default())
    };
    assert_eq!(rewritten.len(), v1.len());
    assert_eq!(read(&rewritten).len(), read(&v1).len());
}

#[test]
fn a_run_that_never_ends_is_refused() {
    // Columns whose last values are repeated for ever, and 2^53 structs of them.
    let mut bytes = vec![0, 0, 1, 5, 0, 0, 1, 0, 0, 0, 0];
    bytes.extend([11, 0x41, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
    bytes.extend([1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]);
    let limits = GateLimits { message_bytes: 1 << 20, ..GateLimits::default() };
    assert!(from_v2(&bytes, &limits).is_err());
}

proptest! {
    #[test]
    fn bytes_that_are_none_are_refused_or_read(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (_, mut v2) = states();
        for (at, byte) in flips {
            let at = at.index(v2.len());
            v2[at] = byte;
        }
        let limits = GateLimits { message_bytes: 1 << 20, ..GateLimits::default() };
        from_v2(&v2, &limits).ok();
    }
}
