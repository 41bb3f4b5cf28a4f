//! Honest updates, made with yrs.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use yrs::{
    Any, Array, ArrayPrelim, ClientID, Doc, Map, MapPrelim, OffsetKind, Options, ReadTxn,
    StateVector, Text, Transact, Update, Xml, XmlElementPrelim, XmlFragment, XmlTextPrelim,
    merge_updates_v1, types::Attrs, updates::decoder::Decode,
};

/// Honest updates: texts with marks, maps, arrays, XML, nested types, and merged ones with holes.
pub(crate) fn corpus() -> Vec<Vec<u8>> {
    let mut updates = Vec::new();
    for skip_gc in [true, false] {
        let docs = [1001, 2002].map(|client| {
            Doc::with_options(Options {
                client_id: ClientID::new(client),
                skip_gc,
                offset_kind: OffsetKind::Utf16,
                ..Options::default()
            })
        });
        let mut rng = ChaCha8Rng::seed_from_u64(42);
        for round in 0..24 {
            change(&docs[round % 2], round, &mut rng);
            if round % 6 == 5 {
                let states = [0, 1].map(|nth: usize| docs[nth].transact().state_vector());
                for nth in 0..2 {
                    let diff = docs[nth].transact().encode_diff_v1(&states[1 - nth]);
                    let update = Update::decode_v1(&diff).unwrap();
                    docs[1 - nth].transact_mut().apply_update(update).unwrap();
                    updates.push(diff);
                }
                updates.push(docs[0].transact().encode_diff_v1(&StateVector::default()));
                if let [.., old, _, _, new, _, _] = &updates[..] {
                    updates.push(merge_updates_v1([old, new]).unwrap());
                }
            }
        }
    }
    updates
}

fn change(doc: &Doc, round: usize, rng: &mut ChaCha8Rng) {
    let text = doc.get_or_insert_text("text");
    let table = doc.get_or_insert_array("table:files");
    let array = doc.get_or_insert_array("arr");
    let map = doc.get_or_insert_map("map");
    let xml = doc.get_or_insert_xml_fragment("xml");
    let mut txn = doc.transact_mut();
    let len = text.len(&txn);
    text.insert(&mut txn, rng.random_range(0..=len), "héllo 😀 wörld");
    if len > 30 {
        text.remove_range(&mut txn, 3, 4);
        text.format(&mut txn, 5, 6, Attrs::from([("bold".into(), true.into())]));
    }
    let row =
        HashMap::from([("k".to_owned(), Any::from(round as f64)), ("v".into(), "abc".into())]);
    table.push_back(&mut txn, Any::from(row.clone()));
    if table.len(&txn) > 4 {
        table.remove(&mut txn, 1);
    }
    array.push_back(&mut txn, Any::from(row));
    array.push_front(&mut txn, MapPrelim::from([("q", round as i32)]));
    map.insert(&mut txn, format!("key{}", round % 7), round as f64);
    map.insert(&mut txn, "nested", ArrayPrelim::from([1, 2, 3]));
    if round % 8 == 3 {
        map.insert(&mut txn, "document", Doc::new());
    }
    if round.is_multiple_of(5) {
        map.remove(&mut txn, "key3");
    }
    let element = xml.push_back(&mut txn, XmlElementPrelim::empty("paragraph"));
    element.insert_attribute(&mut txn, "level", 3_i64);
    let inner = element.push_back(&mut txn, XmlTextPrelim::new("para text"));
    let mark = Any::from(HashMap::<String, Any>::new());
    inner.format(&mut txn, 0, 4, Attrs::from([("em".into(), mark)]));
    if xml.len(&txn) > 5 {
        xml.remove_range(&mut txn, 0, 2);
    }
}
