//! Cases about the local tables.

use yfs_types::{hash::ContentHash, time::Millis};

use super::{Case, Open, batch, doc, join};
use yfs_store::{DocFact, ParkedNote, Seq};

pub(super) const CASES: &[Case] = &[
    ("a fact holds until its document is written", facts),
    ("a fact that comes with a batch holds as of that batch", facts_in_batches),
    ("the first sight of a key is recorded once", first_seen),
    ("settings are kept", meta),
    ("secrets are kept", secrets),
    ("rejected updates are kept", quarantine),
    ("a repeated update is kept once and counted", refused_again),
    ("the quarantine stays within its limits", quarantine_limits),
    ("documents in which updates wait are noted", parked),
    ("client ids are claimed once, and again after a release", claims),
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
    // This fact was computed without the second record.
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

fn secrets(open: &Open) {
    let (here, there) = (open(), open());
    assert_eq!(here.init_secret("server.key", b"one").expect("init"), b"one");
    assert_eq!(there.init_secret("server.key", b"two").expect("init"), b"one");
    there.set_secret("server.key", b"three").expect("set");
    assert_eq!(here.init_secret("server.key", b"four").expect("init"), b"three");
    assert_eq!(here.init_secret("other", b"five").expect("init"), b"five");
    assert_eq!(here.get_meta("server.key").expect("get"), None, "it is no setting");
}

fn quarantine(open: &Open) {
    let store = open();
    store.quarantine(&doc("a"), b"bad", "because", Millis(5)).expect("quarantine");
    store.quarantine(&doc("b"), b"worse", "why not", Millis(4)).expect("quarantine");
    let kept = open().quarantined().expect("quarantined");
    let seen: Vec<_> = kept
        .iter()
        .map(|kept| (kept.doc.as_str(), kept.reason.as_str(), kept.first_at, kept.len))
        .collect();
    assert_eq!(seen, [("a", "because", Millis(5), 3), ("b", "why not", Millis(4), 5)]);
    assert!(kept[1].is_kept);
    let update = |number| open().quarantined_update(number).expect("read");
    assert_eq!(update(kept[1].number), Some(b"worse".to_vec()));
    assert_eq!(store.head().expect("head"), Seq::ZERO, "it is not in the log");
    let stats = store.stats().expect("stats");
    assert_eq!((stats.n_quarantined, stats.n_refused, stats.quarantine_bytes), (2, 2, 8));

    assert_eq!(store.drop_quarantined(Some(99)).expect("drop"), 0);
    assert_eq!(store.drop_quarantined(Some(kept[1].number)).expect("drop"), 1);
    assert_eq!(open().quarantined().expect("quarantined"), kept[..1]);
    assert_eq!(update(kept[1].number), None);
    store.quarantine(&doc("b"), b"worse", "why not", Millis(6)).expect("quarantine");
    let again = open().quarantined().expect("quarantined")[1].number;
    assert!(again > kept[1].number, "a number is not given twice");
    assert_eq!(store.drop_quarantined(None).expect("drop"), 2);
    assert_eq!(open().quarantined().expect("quarantined"), []);
}

fn refused_again(open: &Open) {
    let (here, there) = (open(), open());
    for at in 1..=50 {
        let store = if at % 2 == 0 { &here } else { &there };
        store.quarantine(&doc("a"), &[7; 100_000], "because", Millis(at)).expect("quarantine");
    }
    here.quarantine(&doc("b"), &[7; 100_000], "elsewhere", Millis(60)).expect("quarantine");
    let kept = here.quarantined().expect("quarantined");
    assert_eq!(kept.len(), 2, "of another document it is another update");
    assert_eq!((kept[0].n_times, kept[1].n_times), (50, 1));
    assert_eq!((kept[0].first_at, kept[0].last_at), (Millis(1), Millis(50)));
    let stats = there.stats().expect("stats");
    assert_eq!((stats.n_refused, stats.quarantine_bytes), (51, 200_000));
}

fn quarantine_limits(open: &Open) {
    let store = open();
    let refuse = |name: &str, update: &[u8], at: i64| {
        store.quarantine(&doc(name), update, "because", Millis(at)).expect("quarantine");
    };
    // Limit per document: the update with the oldest refusal is dropped.
    let large: Vec<Vec<u8>> = (0..4_u8).map(|at| vec![at; 5 << 20]).collect();
    refuse("b", b"another document", 1);
    for (at, update) in large[..3].iter().enumerate() {
        refuse("a", update, at as i64 + 2);
    }
    refuse("a", &large[0], 9);
    refuse("a", &large[3], 10);
    let kept = store.quarantined().expect("quarantined");
    let times: Vec<_> = kept.iter().map(|kept| kept.last_at.0).collect();
    assert_eq!(times, [1, 9, 4, 10], "the second was refused longest ago");
    assert_eq!(store.stats().expect("stats").n_quarantine_dropped, 1);

    // An update that is too large is listed, and displaces no other.
    refuse("a", &vec![9; 17 << 20], 11);
    let kept = store.quarantined().expect("quarantined");
    assert_eq!((kept.len(), kept[4].is_kept, kept[4].len), (5, false, 17 << 20));
    assert_eq!(store.quarantined_update(kept[4].number).expect("read"), None);

    // Limit in total.
    for number in 0..6_u8 {
        refuse(&format!("c{number}"), &vec![number; 15 << 20], 20 + i64::from(number));
    }
    let stats = store.stats().expect("stats");
    assert!(stats.quarantine_bytes <= 64 << 20, "{stats:?}");
    assert!(stats.quarantine_bytes > 45 << 20, "{stats:?}");

    // Small updates count as well.
    for number in 0..300_u32 {
        refuse("d", &number.to_le_bytes(), 30);
    }
    let n_small = store.quarantined().expect("quarantined");
    let n_small = n_small.iter().filter(|kept| kept.doc == doc("d")).count();
    assert!((200..=256).contains(&n_small), "{n_small}");

    // Updates that were last refused a month ago are dropped.
    const MONTH_MS: i64 = 31 * 24 * 60 * 60 * 1000;
    refuse("e", b"much later", MONTH_MS);
    assert_eq!(store.quarantined().expect("quarantined").len(), 1);
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

fn parked(open: &Open) {
    let (here, there) = (open(), open());
    assert_eq!(here.parked().expect("a list"), []);
    let note = |name: &str, n_updates| ParkedNote {
        doc: doc(name),
        n_updates,
        n_bytes: 1 << 40,
        since: Millis(-7),
        author: "Ada Lovelace".to_owned(),
    };
    let sorted = |store: &dyn yfs_store::Store| {
        let mut notes = store.parked().expect("a list");
        notes.sort_by(|a, b| a.doc.cmp(&b.doc));
        notes
    };
    let (a, b) = (note("a", 1), note("b", u64::MAX));
    here.note_parked(&a.doc, Some(&a)).expect("noted");
    there.note_parked(&b.doc, Some(&b)).expect("noted");
    assert_eq!(sorted(&*here), [a.clone(), b.clone()]);
    let more = ParkedNote { author: String::new(), ..note("a", 2) };
    there.note_parked(&more.doc, Some(&more)).expect("noted");
    assert_eq!(sorted(&*open()), [more, b.clone()]);
    here.note_parked(&doc("a"), None).expect("forgotten");
    here.note_parked(&doc("unknown"), None).expect("nothing to forget");
    assert_eq!(sorted(&*there), [b]);
}
