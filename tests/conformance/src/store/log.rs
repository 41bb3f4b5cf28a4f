//! Cases about the log.

use std::time::Duration;

use yfs_types::time::Millis;

use super::{Case, Open, batch, doc, join, join_unless, tail_of, text};
use yfs_store::{AppendBatch, CompactionOutcome, DocHead, DocHistory, Seq, Store, StoreError};

/// How long a report of an append may take. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) const CASES: &[Case] = &[
    ("a new store is empty", new_is_empty),
    ("appended records are loaded and tailed by all handles", append_load_tail),
    ("every call counts the appends of other handles", no_handle_lags),
    ("a batch is one step in the log", batches_are_whole),
    ("documents of one record are loaded together", single_records),
    ("a conditional append sees the appends of others", conditional_append),
    ("own records are no conflict", own_records_do_not_count),
    ("the receipt reports that a writer was overtaken", overtaken_writers_are_reported),
    ("the tail reports documents that were not selected", tail_wanted),
    ("a long tail comes in pages", tail_pages),
    ("compaction keeps records that it did not absorb", compact_keeps_parked),
    ("a tailing handle behind a compaction must reload", compact_and_tail),
    ("a compaction of kept records hides no earlier one", compact_of_what_stayed),
    ("a compaction moves no head", compact_moves_no_head),
    ("the time of a position is that of the next record there is", times_of_positions),
    ("a compaction keeps the heads that it covers", compact_keeps_heads),
    ("no head of a forgotten document is kept", forget_drops_heads),
    ("a failed merge changes nothing", compact_failure),
    ("one of two concurrent compactions wins", compact_race),
    ("positions are never given twice", seqs_are_never_reused),
    ("a forgotten document is empty and can be written again", forget),
    ("waiting ends when another handle appends", wait),
    ("statistics add up", stats),
    ("a closed store refuses", close),
];

fn new_is_empty(open: &Open) {
    let store = open();
    assert_eq!(store.head().expect("head"), Seq::ZERO);
    let loaded = store.load(&doc("a")).expect("load");
    assert_eq!((loaded.snapshot, loaded.updates, loaded.upto), (None, vec![], Seq::ZERO));
    let tail = tail_of(&*store, Seq::ZERO);
    assert!(tail.records.is_empty() && tail.reload.is_empty() && !tail.more);
    assert_eq!(store.documents().expect("documents"), []);
    assert!(!store.wait(Seq::ZERO, Duration::ZERO).expect("wait"));
    assert_eq!(store.check().expect("check").problems, []);
}

fn append_load_tail(open: &Open) {
    let (here, there) = (open(), open());
    assert_ne!(here.origin(), there.origin());
    let first = here.append(batch("a", "one")).expect("append");
    let second = there.append(batch("a", "two")).expect("append");
    let other = here.append(batch("b", "three")).expect("append");
    assert!(Seq::ZERO < first.last && first.last < second.first && second.last < other.first);
    for store in [&here, &there, &open()] {
        let loaded = store.load(&doc("a")).expect("load");
        assert_eq!(text(&loaded), "onetwo");
        assert_eq!((loaded.head.seq, loaded.upto), (second.last, other.last));
        assert_eq!(store.doc_head(&doc("a")).expect("head").seq, second.last);
        let origins: Vec<_> = loaded.updates.iter().map(|record| record.origin).collect();
        assert_eq!(origins, [here.origin(), there.origin()]);
        assert!(loaded.updates.iter().all(|record| record.at == Millis(1000)));

        let tail = tail_of(&**store, first.last);
        let data: Vec<_> = tail.records.iter().map(|record| record.data.as_slice()).collect();
        assert_eq!(data, [b"two".as_slice(), b"three"]);
        assert_eq!((tail.upto, tail.head, tail.more), (other.last, other.last, false));
        assert_eq!(tail_of(&**store, tail.upto).records, []);
    }
}

fn no_handle_lags(open: &Open) {
    let (here, there) = (open(), open());
    let mut writers = [&here, &there].into_iter().cycle();
    for round in 1..=200 {
        let name = if round % 3 == 0 { "b" } else { "a" };
        let writer = writers.next().expect("it never ends");
        let written = writer.append(batch(name, "x")).expect("append").last;
        for reader in [&here, &there] {
            assert_eq!(reader.doc_head(&doc(name)).expect("head").seq, written, "round {round}");
            assert_eq!(reader.head().expect("head"), written, "round {round}");
            let stats = reader.doc_stats(&doc(name)).expect("stats").expect("it was written");
            assert_eq!(stats.head, written, "round {round}");
        }
        if round % 50 == 0 {
            writer.compact(&doc("a"), &join).expect("compact");
            assert_eq!(here.head().expect("head"), there.head().expect("head"));
            assert!(here.head().expect("head") > written, "a compaction can be noticed");
        }
    }
}

fn batches_are_whole(open: &Open) {
    let store = open();
    let large = vec![7; 100_000];
    let updates = vec![(doc("a"), large.clone()), (doc("b"), vec![]), (doc("a"), vec![1])];
    let written = store.append(AppendBatch::new(updates, Millis(1)).synced()).expect("append");
    assert_eq!(written.last.0 - written.first.0, 2);
    let loaded = open().load(&doc("a")).expect("load");
    let data: Vec<_> = loaded.updates.iter().map(|record| record.data.clone()).collect();
    assert_eq!(data, [large, vec![1]]);
    assert!(open().load(&doc("b")).expect("load").updates[0].data.is_empty());

    let nothing = store.append(AppendBatch::new(vec![], Millis(1))).expect("append");
    assert_eq!((nothing.first, nothing.last), (written.last, written.last));
}

fn single_records(open: &Open) {
    let (here, there) = (open(), open());
    for (name, data) in [("one", "1"), ("two", "1"), ("merged", "1"), ("forgotten", "1")] {
        here.append(batch(name, data)).expect("append");
    }
    here.append(AppendBatch::new(vec![(doc("large"), vec![7; 100_000])], Millis(1)))
        .expect("append");
    there.append(batch("two", "2")).expect("append");
    here.compact(&doc("merged"), &join).expect("compact");
    let head = here.doc_head(&doc("forgotten")).expect("head").seq;
    here.forget(&doc("forgotten"), head).expect("forget");
    let names = ["two", "one", "merged", "large", "never", "forgotten", "one"].map(doc);
    for store in [&here, &there, &open()] {
        let records = store.load_single(&names).expect("load");
        let lengths: Vec<_> =
            records.iter().map(|found| found.as_ref().map(|found| found.data.len())).collect();
        assert_eq!(lengths, [None, Some(1), None, Some(100_000), None, None, Some(1)]);
        for (name, record) in names.iter().zip(records).filter(|(_, record)| record.is_some()) {
            assert_eq!(store.load(name).expect("load").updates, record.as_slice());
        }
    }
}

fn conditional_append(open: &Open) {
    let (here, there) = (open(), open());
    let first = there.append(batch("a", "one")).expect("append");
    let late = batch("a", "two").expecting(doc("a"), Seq::ZERO);
    let Err(StoreError::HeadMoved { doc: moved, head }) = here.append(late) else {
        panic!("another handle was faster");
    };
    assert_eq!((moved, head), (doc("a"), first.last));
    assert_eq!(text(&here.load(&doc("a")).expect("load")), "one");

    there.append(batch("b", "elsewhere")).expect("append");
    let timely = batch("a", "two").expecting(doc("a"), first.last);
    here.append(timely).expect("nothing happened to the document itself");
    let other = batch("c", "three").expecting(doc("a"), first.last);
    assert!(there.append(other).is_err(), "the condition may concern another document");
    let one_of_two =
        batch("c", "three").expecting(doc("a"), first.last).expecting(doc("b"), Seq(9));
    assert!(there.append(one_of_two).is_err(), "all conditions must hold");
    assert_eq!(here.doc_head(&doc("c")).expect("head").seq, Seq::ZERO);

    // Records that compaction removed still count as appended.
    let last = here.append(batch("a", "three")).expect("append");
    here.compact(&doc("a"), &join).expect("compact");
    let late = batch("a", "four").expecting(doc("a"), first.last);
    assert!(matches!(open().append(late), Err(StoreError::HeadMoved { .. })));
    let timely = batch("a", "four").expecting(doc("a"), last.last);
    open().append(timely).expect("nothing happened since");
}

fn own_records_do_not_count(open: &Open) {
    let (here, there) = (open(), open());
    here.append(batch("a", "one")).expect("append");
    here.append(batch("a", "two").expecting(doc("a"), Seq::ZERO)).expect("they are own records");
    let late = batch("a", "three").expecting(doc("a"), Seq::ZERO);
    assert!(matches!(there.append(late), Err(StoreError::HeadMoved { .. })));
}

fn overtaken_writers_are_reported(open: &Open) {
    let (here, there) = (open(), open());
    let first = here.append(batch("a", "one").watching(doc("a"), Seq::ZERO)).expect("append");
    let own = here.append(batch("a", "two").watching(doc("a"), Seq::ZERO)).expect("append");
    assert!(!first.overtaken && !own.overtaken, "own records are known");
    let late = there.append(batch("a", "three").watching(doc("a"), first.last)).expect("taken");
    assert!(late.overtaken);
    let timely = there.append(batch("a", "four").watching(doc("a"), own.last)).expect("append");
    assert!(!timely.overtaken);
    let other = there.append(batch("b", "five").watching(doc("b"), Seq::ZERO)).expect("append");
    assert!(!other.overtaken, "what happens to another document does not count");
    assert!(here.append(batch("a", "six").watching(doc("a"), own.last)).expect("taken").overtaken);
}

fn tail_wanted(open: &Open) {
    let (here, there) = (open(), open());
    here.append(batch("a", "one")).expect("append");
    let b = there.append(batch("b", "two")).expect("append");
    let a = here.append(batch("a", "three")).expect("append");
    let own = here.origin();
    let tail =
        here.tail(Seq::ZERO, &|name, origin| *name == doc("b") && origin != own).expect("tail");
    assert_eq!(tail.records.len(), 1);
    let touched: Vec<_> = tail
        .touched
        .iter()
        .map(|touched| (touched.doc.clone(), touched.head, touched.own))
        .collect();
    assert_eq!(touched, [(doc("b"), b.last, false), (doc("a"), a.last, true)]);
}

fn tail_pages(open: &Open) {
    let store = open();
    let updates = (0..20_u8).map(|at| (doc("a"), vec![at; 1 << 20]));
    let written = store.append(AppendBatch::new(updates.collect(), Millis(1))).expect("append");
    let (mut after, mut n_pages, mut seen) = (Seq::ZERO, 0, vec![]);
    loop {
        let tail = tail_of(&*store, after);
        seen.extend(tail.records.iter().map(|record| record.data[0]));
        assert_eq!(tail.touched.len(), 1);
        assert!(tail.upto > after, "a page leads on");
        after = tail.upto;
        n_pages += 1;
        if !tail.more {
            break;
        }
    }
    assert_eq!((after, n_pages > 1), (written.last, true));
    assert_eq!(seen, (0..20).collect::<Vec<u8>>());
}

fn compact_keeps_parked(open: &Open) {
    let store = open();
    for data in ["one", "parked", "two"] {
        store.append(batch("a", data)).expect("append");
    }
    store.append(batch("b", "other")).expect("append");
    let park = |snapshot: Option<&[u8]>, records: &[_]| {
        join_unless(snapshot, records, |data| data == b"parked")
    };
    let done = store.compact(&doc("a"), &park).expect("compact");
    let sizes =
        CompactionOutcome::Done { n_absorbed: 2, n_kept: 1, bytes_before: 6, bytes_after: 6 };
    assert_eq!(done, sizes);
    for store in [&store, &open()] {
        let loaded = store.load(&doc("a")).expect("load");
        assert_eq!(text(&loaded), "onetwoparked");
        assert_eq!(text(&store.load(&doc("b")).expect("load")), "other");
    }
    store.append(batch("a", "three")).expect("append");
    assert_eq!(text(&open().load(&doc("a")).expect("load")), "onetwoparkedthree");
    open().compact(&doc("a"), &join).expect("compact");
    assert_eq!(text(&store.load(&doc("a")).expect("load")), "onetwoparkedthree");
    assert_eq!(store.compact(&doc("a"), &join).expect("compact"), CompactionOutcome::Nothing);
    assert_eq!(store.check().expect("check").problems, []);
}

fn compact_and_tail(open: &Open) {
    let (here, there, fresh) = (open(), open(), open());
    let first = here.append(batch("a", "one")).expect("append");
    here.append(batch("a", "two")).expect("append");
    here.append(batch("b", "other")).expect("append");
    let up_to_date = tail_of(&*there, Seq::ZERO).upto;
    here.compact(&doc("a"), &join).expect("compact");
    assert!(there.wait(up_to_date, PATIENCE).expect("wait"), "it can be noticed");
    assert_eq!(tail_of(&*there, up_to_date).reload, [], "who has seen all need not reload");
    for store in [&here, &there, &fresh] {
        let behind = tail_of(&**store, first.last);
        let names: Vec<_> = behind.reload.iter().map(|reload| reload.doc.as_str()).collect();
        assert_eq!(names, ["a"]);
        assert!(!behind.reload[0].forgotten);
        assert_eq!(text(&store.load(&doc("a")).expect("load")), "onetwo");
        assert!(store.load(&doc("a")).expect("load").upto >= behind.reload[0].upto);
    }
    let after = tail_of(&*there, first.last).upto;
    assert_eq!(tail_of(&*there, after).reload, [], "once is enough");
}

fn compact_of_what_stayed(open: &Open) {
    let (here, there) = (open(), open());
    let parked = here.append(batch("a", "parked")).expect("append").last;
    let last = here.append(batch("a", "two")).expect("append").last;
    assert_eq!(tail_of(&*there, Seq::ZERO).upto, last);
    let park = |snapshot: Option<&[u8]>, records: &[_]| {
        join_unless(snapshot, records, |data| data == b"parked")
    };
    here.compact(&doc("a"), &park).expect("compact");
    here.compact(&doc("a"), &join).expect("compact");
    for store in [&here, &there, &open()] {
        let reload = tail_of(&**store, parked).reload;
        assert_eq!(reload.len(), 1, "a tailer that has not seen the second record must reload");
        assert_eq!(reload[0].upto, last);
        let loaded = store.load(&doc("a")).expect("load");
        assert_eq!((text(&loaded).as_str(), loaded.head.seq), ("twoparked", last));
    }
}

fn compact_keeps_heads(open: &Open) {
    let (here, there) = (open(), open());
    let by = |store: &dyn Store, data: &str| {
        let seq = store.append(batch("a", data)).expect("append").last;
        DocHead { seq, origin: store.origin() }
    };
    let heads = |store: &dyn Store| {
        let DocHistory { loaded, past_heads } = store.load_history(&doc("a")).expect("history");
        assert_eq!(Some(loaded.clone()), store.load(&doc("a")).ok());
        let kept = past_heads.into_iter().map(|past| (past.head, past.change));
        (loaded.snapshot_upto, kept.collect::<Vec<_>>())
    };
    let known = |head: DocHead, change: &str| (head, change.as_bytes().to_vec());
    let (one, parked) = (by(&*here, "one"), by(&*there, "parked"));
    assert_eq!(heads(&*here), (Seq::ZERO, vec![]));
    let park = |snapshot: Option<&[u8]>, records: &[_]| {
        join_unless(snapshot, records, |data| data == b"parked")
    };
    here.compact(&doc("a"), &park).expect("compact");
    let mut expected = vec![known(one, "one"), known(parked, "")];
    for store in [&here, &there, &open()] {
        assert_eq!(heads(&**store), (parked.seq, expected.clone()));
        assert_eq!(store.doc_head(&doc("a")).expect("head"), parked, "there appended it");
        assert_eq!(store.tailed_doc_head(&doc("a")).expect("head"), parked);
    }
    let two = by(&*there, "two");
    there.compact(&doc("a"), &park).expect("compact");
    expected.push(known(two, "two"));
    assert_eq!(heads(&*here), (two.seq, expected));
    // The parked record is merged now, so earlier heads can no longer be identified.
    let three = by(&*here, "three");
    here.compact(&doc("a"), &join).expect("compact");
    for store in [&here, &there, &open()] {
        assert_eq!(heads(&**store), (three.seq, vec![known(three, "three")]));
        assert_eq!(store.load(&doc("a")).expect("load").head, three);
    }
}

fn forget_drops_heads(open: &Open) {
    let store = open();
    store.append(batch("a", "one")).expect("append");
    store.compact(&doc("a"), &join).expect("compact");
    let head = store.doc_head(&doc("a")).expect("head");
    store.forget(&doc("a"), head.seq).expect("forget");
    let history = open().load_history(&doc("a")).expect("history");
    assert_eq!((history.past_heads, history.loaded.snapshot_upto), (vec![], Seq::ZERO));
    assert_eq!(open().doc_head(&doc("a")).expect("head"), head);
}

fn compact_moves_no_head(open: &Open) {
    let (here, there) = (open(), open());
    let written = here.append(batch("a", "one")).expect("append");
    assert_eq!(there.doc_head(&doc("a")).expect("head").seq, written.last);
    here.compact(&doc("a"), &join).expect("compact");
    for store in [&here, &there, &open()] {
        assert_eq!(store.doc_head(&doc("a")).expect("head").seq, written.last);
        assert_eq!(store.load(&doc("a")).expect("load").head.seq, written.last);
        let timely = batch("b", "x").expecting(doc("a"), written.last);
        store.append(timely).expect("a compaction is not news");
    }
}

fn times_of_positions(open: &Open) {
    let (here, there) = (open(), open());
    let append = |name: &str, at| {
        let batch = AppendBatch::one(doc(name), b"one".to_vec(), Millis(at));
        here.append(batch).expect("append").last
    };
    let (first, second, last) = (append("a", 1000), append("b", 2000), append("c", 3000));
    here.compact(&doc("b"), &join).expect("compact");
    for store in [&here, &there, &open()] {
        let times = [first, second, last].map(|position| store.time_at(position).expect("time"));
        assert_eq!(times, [Some(Millis(1000)), Some(Millis(3000)), Some(Millis(3000))]);
        assert_eq!(store.time_at(Seq(last.0 + 1)).expect("time"), None);
    }
}

fn compact_failure(open: &Open) {
    let store = open();
    store.append(batch("a", "one")).expect("append");
    let result = store.compact(&doc("a"), &|_, _| Err("no".into()));
    assert!(matches!(result, Err(StoreError::Merge { .. })));
    assert_eq!(text(&store.load(&doc("a")).expect("load")), "one");
}

fn compact_race(open: &Open) {
    let (here, there) = (open(), open());
    here.append(batch("a", "one")).expect("append");
    here.append(batch("a", "two")).expect("append");
    let raced = here
        .compact(&doc("a"), &|snapshot, records| {
            there.append(batch("a", "three")).expect("append");
            there.compact(&doc("a"), &join).expect("compact");
            join(snapshot, records)
        })
        .expect("compact");
    assert_eq!(raced, CompactionOutcome::Raced);
    // An append alone is no race: it stays in the log.
    here.append(batch("a", "four")).expect("append");
    let done = here
        .compact(&doc("a"), &|snapshot, records| {
            there.append(batch("a", "five")).expect("append");
            join(snapshot, records)
        })
        .expect("compact");
    assert!(matches!(done, CompactionOutcome::Done { n_absorbed: 1, n_kept: 1, .. }), "{done:?}");
    for store in [&here, &there, &open()] {
        assert_eq!(text(&store.load(&doc("a")).expect("load")), "onetwothreefourfive");
    }
}

fn seqs_are_never_reused(open: &Open) {
    let store = open();
    let mut last = Seq::ZERO;
    for _ in 0..5 {
        let written = open().append(batch("a", "one")).expect("append");
        assert!(written.first > last, "a position was given twice");
        last = written.last;
        store.compact(&doc("a"), &join).expect("compact");
        let written = open().append(batch("a", "one")).expect("append");
        assert!(written.first > last, "a position was given twice");
        last = written.last;
        store.forget(&doc("a"), last).expect("forget");
    }
}

fn forget(open: &Open) {
    let (here, there) = (open(), open());
    let first = here.append(batch("a", "one")).expect("append").last;
    here.compact(&doc("a"), &join).expect("compact");
    let last = here.append(batch("a", "two")).expect("append");
    here.append(batch("b", "other")).expect("append");
    assert_eq!(text(&there.load(&doc("a")).expect("load")), "onetwo");
    let stale = there.forget(&doc("a"), first).expect_err("it was written since");
    assert!(matches!(stale, StoreError::HeadMoved { head, .. } if head == last.last), "{stale:?}");
    assert_eq!(text(&there.load(&doc("a")).expect("load")), "onetwo", "nothing was removed");
    assert_eq!(here.forget(&doc("a"), last.last).expect("forget"), 6);
    assert_eq!(here.forget(&doc("nothing"), Seq::ZERO).expect("forget"), 0);
    for store in [&here, &there, &open()] {
        assert_eq!(text(&store.load(&doc("a")).expect("load")), "");
        assert_eq!(store.doc_head(&doc("a")).expect("head").seq, last.last);
        let reload = tail_of(&**store, Seq::ZERO).reload;
        assert!(reload.iter().any(|reload| reload.doc == doc("a") && reload.forgotten));
        assert_eq!(text(&store.load(&doc("b")).expect("load")), "other");
    }
    there.append(batch("a", "again")).expect("append");
    assert_eq!(text(&here.load(&doc("a")).expect("load")), "again");
}

fn wait(open: &Open) {
    let (here, there) = (open(), open());
    let head = here.append(batch("a", "one")).expect("append").last;
    assert!(there.wait(Seq::ZERO, PATIENCE).expect("wait"));
    assert!(!there.wait(head, Duration::from_millis(30)).expect("wait"));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| there.wait(head, PATIENCE).expect("wait"));
        here.append(batch("a", "two")).expect("append");
        assert!(waiting.join().expect("it does not panic"));
    });
}

fn stats(open: &Open) {
    let (here, there) = (open(), open());
    here.append(batch("a", "12345")).expect("append");
    there.append(batch("a", &"x".repeat(1000))).expect("append");
    here.compact(&doc("a"), &join).expect("compact");
    let head = there.append(batch("a", "678")).expect("append").last;
    for store in [&here, &there, &open()] {
        let found = store.doc_stats(&doc("a")).expect("stats").expect("it was written");
        assert_eq!((found.n_records, found.bytes, found.snapshot_bytes), (1, 3, 1005));
        assert_eq!(found.head, head);
        assert_eq!(store.documents().expect("documents"), [found]);
        assert_eq!(store.doc_stats(&doc("b")).expect("stats"), None);
        let sum = store.stats().expect("stats");
        assert_eq!((sum.n_docs, sum.n_records, sum.record_bytes), (1, 1, 3));
        assert_eq!((sum.snapshot_bytes, sum.head), (1005, head));
        assert!(sum.file_bytes > 0);
    }
}

fn close(open: &Open) {
    let (here, there) = (open(), open());
    here.append(batch("a", "one")).expect("append");
    here.close().expect("close");
    assert!(matches!(here.append(batch("a", "two")), Err(StoreError::Closed)));
    assert!(matches!(here.load(&doc("a")), Err(StoreError::Closed)));
    assert!(matches!(here.wait(Seq::ZERO, Duration::ZERO), Err(StoreError::Closed)));
    there.append(batch("a", "three")).expect("others go on");
}
