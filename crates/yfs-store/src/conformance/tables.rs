//! Cases about the local tables.

use yfs_engine::{hash::ContentHash, time::Millis};

use super::{Case, Open, batch, doc, join};
use crate::{DocFact, Seq};

pub(super) const CASES: &[Case] = &[
    ("a fact holds until its document is written", facts),
    ("a fact that comes with a batch holds as of that batch", facts_in_batches),
    ("things are first seen once", first_seen),
    ("settings are kept", meta),
    ("what was refused is kept", quarantine),
    ("client ids are handed out once, and again when given back", claims),
];

fn fact(upto: Seq, size: u64) -> DocFact {
    DocFact { upto, size, hash: Some(ContentHash::of(&size.to_le_bytes())) }
}

fn facts(open: &Open) {
    let (here, there) = (open(), open());
    let head = here.append(batch("a", "one")).expect("append").last;
    let names = [doc("unknown"), doc("a")];
    assert_eq!(here.doc_facts(&names).expect("facts"), [None, None]);
    let known = fact(head, 3);
    here.set_doc_facts(&[(doc("a"), known)]).expect("set");
    there.append(batch("b", "elsewhere")).expect("append");
    here.compact(&doc("a"), &join).expect("compact");
    assert_eq!(there.doc_facts(&names).expect("facts"), [None, Some(known)]);
    there.append(batch("a", "two")).expect("append");
    for store in [&here, &there, &open()] {
        assert_eq!(store.doc_facts(&names).expect("facts"), [None, None]);
    }
    let stale = fact(head, 3);
    here.set_doc_facts(&[(doc("a"), stale)]).expect("set");
    assert_eq!(here.doc_facts(&names).expect("facts"), [None, None]);
}

fn facts_in_batches(open: &Open) {
    let (here, there) = (open(), open());
    let with_fact = |data: &str, upto: Seq, size: u64| {
        let mut batch = batch("a", data);
        batch.facts = vec![(doc("a"), fact(upto, size))];
        batch
    };
    let first = here.append(with_fact("one", Seq::ZERO, 3)).expect("append").last;
    let expected = Some(fact(first, 3));
    assert_eq!(there.doc_facts(&[doc("a")]).expect("facts"), [expected]);
    let second = there.append(with_fact("two", first, 6)).expect("append").last;
    let expected = Some(fact(second, 6));
    assert_eq!(here.doc_facts(&[doc("a")]).expect("facts"), [expected]);
    // This one was computed without the second record.
    here.append(with_fact("three", first, 8)).expect("append");
    assert_eq!(here.doc_facts(&[doc("a")]).expect("facts"), [None]);
}

fn first_seen(open: &Open) {
    let (here, there) = (open(), open());
    here.note_first_seen(&["x", "y"], Millis(5)).expect("note");
    there.note_first_seen(&["y", "z"], Millis(9)).expect("note");
    let seen = |key| here.first_seen(key).expect("seen");
    assert_eq!([seen("x"), seen("y")], [Some(Millis(5)); 2]);
    assert_eq!([seen("z"), seen("other")], [Some(Millis(9)), None]);
    there.clear_first_seen(&["x"]).expect("clear");
    assert_eq!(seen("x"), None);
}

fn meta(open: &Open) {
    let (here, there) = (open(), open());
    assert_eq!(here.get_meta("workspace").expect("get"), None);
    assert_eq!(here.init_meta("workspace", b"one").expect("init"), b"one");
    assert_eq!(there.init_meta("workspace", b"two").expect("init"), b"one");
    there.set_meta("workspace", b"three").expect("set");
    assert_eq!(here.get_meta("workspace").expect("get"), Some(b"three".to_vec()));
}

fn quarantine(open: &Open) {
    let store = open();
    store.quarantine(&doc("a"), b"bad", "because", Millis(5)).expect("quarantine");
    store.quarantine(&doc("b"), b"worse", "why not", Millis(4)).expect("quarantine");
    let kept = open().quarantined().expect("quarantined");
    let seen: Vec<_> =
        kept.iter().map(|kept| (kept.doc.as_str(), kept.reason.as_str(), kept.at)).collect();
    assert_eq!(seen, [("a", "because", Millis(5)), ("b", "why not", Millis(4))]);
    assert_eq!(kept[1].update, b"worse");
    assert_eq!(store.head().expect("head"), Seq::ZERO, "it is not in the log");
}

fn claims(open: &Open) {
    let (here, there) = (open(), open());
    let mine = here.claim_writer().expect("claim");
    let theirs = there.claim_writer().expect("claim");
    let mut ids =
        [&mine, &theirs].map(|claim| [claim.rows, claim.cells, claim.meta, claim.content]);
    assert!(!mine.reused && !theirs.reused);
    let mut all = ids.concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 8, "all ids differ");
    here.release_writer(mine).expect("release");
    let again = there.claim_writer().expect("claim");
    if again.reused {
        assert_eq!([again.rows, again.cells, again.meta, again.content], ids[0]);
    }
    let another = open().claim_writer().expect("claim");
    assert!(!another.reused, "nothing was given back");
    ids[0] = [another.rows, another.cells, another.meta, another.content];
    assert_ne!(ids[0], [again.rows, again.cells, again.meta, again.content]);
}
