//! Random edits with yrs, for property tests.

use yrs::{
    Any, Array, ArrayPrelim, ClientID, Doc, GetString, Map, OffsetKind, Options, ReadTxn, Text,
    Transact, Update, WriteTxn, XmlElementPrelim, XmlFragment, updates::decoder::Decode,
};

/// Makes an empty document that collects garbage.
pub(super) fn doc(client: u64) -> Doc {
    let mut options = Options::with_client_id(ClientID::new(client));
    options.offset_kind = OffsetKind::Utf16;
    options.cleanup_formatting = false;
    Doc::with_options(options)
}

/// Applies an update.
pub(super) fn apply(doc: &Doc, update: &[u8]) {
    let update = Update::decode_v1(update).expect("an update");
    doc.transact_mut().apply_update(update).expect("a complete update");
}

/// Makes one of several kinds of edits, and returns the update.
pub(super) fn edit(doc: &Doc, kind: u8, at: u32) -> Vec<u8> {
    let mut txn = doc.transact_mut();
    let text = txn.get_or_insert_text("text");
    let len = text.get_string(&txn).encode_utf16().count() as u32;
    let place = at % (len + 1);
    let array = txn.get_or_insert_array("values");
    let n_values = array.len(&txn);
    let own = format!("key {} {at}", doc.client_id());
    let value = Any::from_json(r#"{"b":[1,2.5,null,true],"a":"x","c":{"d":-7,"e":1e300}}"#);
    let value = value.expect("JSON");
    match kind % 10 {
        0 => text.insert(&mut txn, place, "x"),
        1 => text.insert(&mut txn, place, "longer é 漢 text"),
        2 if len > 0 => {
            let first = at % len;
            text.remove_range(&mut txn, first, (at / 7 % 5 + 1).min(len - first));
        }
        3 if len > 0 => {
            let first = at % len;
            let marks = [("bold".into(), true.into()), ("link".into(), value)];
            let mut marks: yrs::types::Attrs = marks.into_iter().collect();
            marks.remove(if at.is_multiple_of(2) { "bold" } else { "none" });
            text.format(&mut txn, first, (at / 7 % 5 + 1).min(len - first), marks);
        }
        4 => drop(text.insert_embed(&mut txn, place, value)),
        5 => drop(array.insert(&mut txn, at % (n_values + 1), value)),
        6 if n_values > 0 => array.remove(&mut txn, at % n_values),
        7 => {
            txn.get_or_insert_map("map").insert(&mut txn, own, value);
        }
        8 => {
            let root = txn.get_or_insert_xml_fragment("xml");
            let n = root.len(&txn);
            root.insert(&mut txn, at % (n + 1), XmlElementPrelim::empty("p"));
        }
        _ => drop(array.insert(&mut txn, at % (n_values + 1), ArrayPrelim::from([1, 2, 3]))),
    }
    txn.encode_update_v1()
}

/// Gives one document what another one has.
pub(super) fn exchange(from: &Doc, to: &Doc) {
    let news = from.transact().encode_state_as_update_v1(&to.transact().state_vector());
    apply(to, &news);
}
