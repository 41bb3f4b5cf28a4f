//! Tests of content documents, case by case. Random scripts over several replicas are in
//! [`replicas`].

mod aside;
mod before;
mod earlier_edits;
mod history;
mod last_run;
mod least_edits;
mod many_edits;
mod moved;
mod reference;
mod replicas;
mod saves;
mod saves_beside_typing;
mod sides;
mod single;

use expect_test::expect;
use proptest::prelude::*;
use rand::{RngExt, rngs::ChaCha8Rng};
use yrs::{
    Any, Array as _, ClientID, Doc, GetString, OffsetKind, Options, ReadTxn, Text, Transact,
    Update,
    updates::{
        decoder::Decode,
        encoder::{Encoder, EncoderV1},
    },
};

use super::{
    ByteClassification, ContentBase, ContentDoc, ContentError, DEFAULT_TEXT_BYTES, MAX_TEXT_BYTES,
    NewBlob, RunAuthor, Version, classify, diff::tests::awkward_text,
};
use crate::{
    actor::{Actor, ActorKind},
    gate::{GateLimits, UpdateSource},
    hash::ContentHash,
    id::{ClientId, FileId, ItemId},
    time::Millis,
};

/// As large as random ids usually are, so that sizes are honest.
const BIG: u64 = (1 << 51) + 12345;

fn client(n: u64) -> ClientId {
    ClientId::new(BIG + n).unwrap()
}

fn doc(n: u64) -> ContentDoc {
    let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
    ContentDoc::new(&id, client(n), GateLimits::default())
}

fn author(name: &str) -> RunAuthor {
    RunAuthor::new(Actor::new(ActorKind::Agent, name), Millis(1_795_296_141_108))
}

/// Returns an author at a time, in milliseconds.
fn at(name: &str, ms: i64) -> RunAuthor {
    RunAuthor { at: Millis(1_795_296_141_108 + ms), ..author(name) }
}

/// Returns the texts of all versions.
fn texts(doc: &ContentDoc) -> Vec<String> {
    let all = 0..doc.timeline().versions().len();
    all.map(|nth| doc.text_at(&doc.timeline().version(nth).unwrap()).unwrap()).collect()
}

/// Returns one of these.
fn pick<T: Copy>(random: &mut ChaCha8Rng, from: &[T]) -> T {
    from[random.random_range(0..from.len())]
}

fn doc_with(n: u64, text: &str) -> ContentDoc {
    let mut doc = doc(n);
    doc.write(text, None, &author("first")).unwrap().update.unwrap();
    doc
}

/// Another replica of `from`.
fn replica(n: u64, from: &ContentDoc) -> ContentDoc {
    let mut doc = doc(n);
    doc.receive(&from.gate().encode_state(), UpdateSource::Store).unwrap();
    doc
}

/// Exchanges all updates that either lacks.
fn sync(a: &mut ContentDoc, b: &mut ContentDoc) {
    let to_b = a.gate().encode_diff(&b.gate().state_vector()).unwrap();
    let to_a = b.gate().encode_diff(&a.gate().state_vector()).unwrap();
    a.receive(&to_a, UpdateSource::Wire).unwrap();
    b.receive(&to_b, UpdateSource::Wire).unwrap();
    assert_eq!(a.text(), b.text());
    assert_eq!(a.log().entries(), b.log().entries());
    assert_eq!(a.blobs().versions(), b.blobs().versions());
}

fn raw(n: u64) -> Doc {
    Doc::with_options(Options {
        client_id: ClientID::new(BIG + n),
        offset_kind: OffsetKind::Utf16,
        skip_gc: true,
        ..Options::default()
    })
}

fn ten_kb() -> String {
    (0..256).map(|n| format!("line {n:3} of a text with many lines in it\n")).collect()
}

#[test]
fn a_word_changed_takes_few_bytes() {
    let old = ten_kb();
    let mut doc = doc_with(1, &old);
    let new = old.replace("line 123 of a text", "line 123 of a novel");
    let mut other = replica(2, &doc);
    let first = other.write(&new, None, &author("reviewer-3")).unwrap().update.unwrap();
    assert!(first.len() <= 120, "the first edit of a writer, with its entry: {}", first.len());
    let next = other.write(&old, None, &author("reviewer-3")).unwrap().update.unwrap();
    assert!(next.len() <= 140, "a later edit, with its entry and what was deleted: {}", next.len());
    doc.receive(&first, UpdateSource::Wire).unwrap();
    assert_eq!(doc.text(), new);
    doc.receive(&next, UpdateSource::Wire).unwrap();
    assert_eq!(doc.text(), old);
}

#[test]
fn what_changes_nothing_is_no_update() {
    let mut doc = doc_with(1, "a\n");
    let before = doc.gate().encode_state();
    let reader = author("reader");
    assert_eq!(doc.write("a\n", None, &reader).unwrap().update, None);
    assert_eq!(doc.append("", &reader).unwrap().update, None);
    assert_eq!(doc.edit("a", "a", false, &reader).unwrap().update, None);
    assert_eq!(doc.replace_range(0..1, "a", &reader).unwrap().update, None);
    assert_eq!(doc.gate().encode_state(), before);
    assert_eq!(self::doc(2).write("", None, &reader).unwrap().update, None);
}

#[test]
fn opening_and_reading_write_nothing() {
    let old = doc_with(1, "a😀\n");
    let opened = replica(2, &old);
    let state = opened.gate().encode_state();
    assert_eq!(opened.gate().state_vector(), old.gate().state_vector());
    let version = opened.version();
    assert_eq!(opened.text_at(&version).unwrap(), "a😀\n");
    assert_eq!((opened.text().len(), opened.replica.plain_len_utf16()), (6, 4));
    assert_eq!((opened.log().entries().len(), opened.blobs().versions().len()), (1, 0));
    assert_eq!(opened.gate().encode_state(), state);
    assert_eq!(doc(3).text(), "");
    assert_eq!(doc(3).gate().encode_state(), [0, 0]);
}

#[test]
fn edits_of_pieces() {
    let mut doc = doc_with(1, "one two two 😀 three\n");
    let me = author("me");
    assert_eq!(doc.edit("", "x", false, &me), Err(ContentError::EmptyPattern));
    assert_eq!(doc.edit("four", "x", false, &me), Err(ContentError::NotFound));
    assert_eq!(doc.edit("two", "x", false, &me), Err(ContentError::NotUnique { n_matches: 2 }));
    assert_eq!(doc.edit("two", "2", true, &me).unwrap().n_replaced, 2);
    assert_eq!(doc.edit("😀 three", "😁 3", false, &me).unwrap().n_replaced, 1);
    assert_eq!(doc.text(), "one 2 2 😁 3\n");
    let range = ContentError::BadRange { start: 9, end: 10, len: 15 };
    assert_eq!(doc.replace_range(9..10, "x", &me), Err(range));
    assert!(doc.replace_range(16..17, "x", &me).is_err());
    doc.replace_range(8..12, "ok", &me).unwrap().update.unwrap();
    assert_eq!(doc.text(), "one 2 2 ok 3\n");
    doc.append("four", &me).unwrap().update.unwrap();
    assert_eq!(doc.text(), "one 2 2 ok 3\nfour");
}

#[test]
fn many_changes_are_one_pass() {
    let text =
        |word: &str| (0..3000).map(|n| format!("{n} {word} 😀 {}\n", n % 7)).collect::<String>();
    let mut doc = doc_with(1, &text("old"));
    let mut other = replica(2, &doc);
    let update = doc.write(&text("new"), None, &author("me")).unwrap().update.unwrap();
    assert_eq!(doc.text(), text("new"));
    other.receive(&update, UpdateSource::Wire).unwrap();
    assert_eq!(other.text(), text("new"));
    assert_eq!(doc.edit("new", "newer", true, &author("me")).unwrap().n_replaced, 3000);
    assert_eq!(doc.text(), text("newer"));
}

#[test]
fn concurrent_appends_are_both_there() {
    let mut a = doc_with(1, "log\n");
    let mut b = replica(2, &a);
    a.append("from a\n", &author("a")).unwrap().update.unwrap();
    b.append("from b\n", &author("b")).unwrap().update.unwrap();
    sync(&mut a, &mut b);
    assert!(["log\nfrom a\nfrom b\n", "log\nfrom b\nfrom a\n"].contains(&&*a.text()));
}

#[test]
fn twenty_agents_at_once_keep_twenty_edits() {
    let original: String = (0..40).map(|n| format!("item {n}: todo\n")).collect();
    let mut human = doc_with(100, &original);
    let base = human.version();
    let mut agents: Vec<_> = (0..20).map(|n| replica(n, &human)).collect();
    let typed = human.text().find("item 7").unwrap() + "item 7".len();
    human.replace_range(typed..typed, " (I am typing)", &author("human")).unwrap().update.unwrap();
    for (n, agent) in agents.iter_mut().enumerate() {
        let name = format!("agent-{n}");
        let new = original.replace(&format!("item {n}: todo"), &format!("item {n}: done by {n}"));
        let written = agent.write(&new, Some(ContentBase::Version(&base)), &author(&name)).unwrap();
        human.receive(&written.update.unwrap(), UpdateSource::Wire).unwrap();
    }
    let text = human.text();
    for n in 0..20 {
        assert!(text.contains(&format!(": done by {n}\n")), "{text}");
    }
    assert!(text.contains("item 7 (I am typing): done by 7\n"), "{text}");
    assert_eq!(text.lines().count(), 40);
    let names: std::collections::BTreeSet<_> =
        human.log().entries().into_iter().map(|e| e.actor.name).collect();
    assert_eq!(names.len(), 22, "{names:?}");
}

/// The same through one document: twenty agents of one process read, then each writes the text that
/// it read with its own change.
#[test]
fn twenty_writers_of_one_process_keep_twenty_edits() {
    let original: String = (0..20).map(|n| format!("item {n}: todo\n")).collect();
    let mut doc = doc_with(1, &original);
    let read = (doc.version(), doc.text());
    for n in 0..20 {
        let new = read.1.replace(&format!("item {n}: todo"), &format!("item {n}: done"));
        let name = format!("agent-{n}");
        let written = doc.write(&new, Some(ContentBase::Version(&read.0)), &author(&name)).unwrap();
        assert_eq!(written.overlaps, []);
    }
    assert_eq!(doc.text(), original.replace("todo", "done"));
    assert_eq!(doc.text_at(&read.0).unwrap(), original);
}

#[test]
fn a_base_may_be_a_text() {
    let mut doc = doc_with(1, "a\nb\nc\n");
    doc.write("a\nb\nc\nd\n", None, &author("x")).unwrap().update.unwrap();
    let written =
        doc.write("A\nb\nc\n", Some(ContentBase::Text("a\nb\nc\n")), &author("y")).unwrap();
    assert_eq!(written.overlaps, []);
    assert_eq!(doc.text(), "A\nb\nc\nd\n");
}

#[test]
fn who_wrote_what() {
    let mut doc = doc(1);
    doc.replica.ids.set_max_edits(usize::MAX);
    let at = |name, ms| RunAuthor { at: Millis(ms), ..author(name) };
    doc.append("one ", &at("ada", 1000)).unwrap().update.unwrap();
    doc.append("two ", &at("ada", 2000)).unwrap().update.unwrap();
    doc.append("three ", &at("bob", 3000)).unwrap().update.unwrap();
    doc.append("four ", &at("bob", 4000).with_label("task 7")).unwrap().update.unwrap();
    doc.append("five ", &at("bob", 5000).with_label("task 7")).unwrap().update.unwrap();
    doc.append("six ", &at("bob", 6000).with_label("task 7")).unwrap().update.unwrap();
    doc.edit_registers().attribute(client(9), 5, &at("browser", 1)).unwrap().unwrap();
    let show = |doc: &ContentDoc| {
        let entries = doc.log().entries().into_iter().map(|e| {
            let client = e.client.get() - BIG;
            format!(
                "{client} {}..{:?} {} {} {:?} {}\n",
                e.from, e.to, e.actor, e.at.0, e.label, e.claimed
            )
        });
        entries.collect::<String>()
    };
    expect![[r#"
        1 0..Some(5) agent:ada 1000 None false
        1 5..Some(10) agent:ada 2000 None false
        1 10..Some(17) agent:bob 3000 None false
        1 17..Some(23) agent:bob 4000 Some("task 7") false
        1 23..Some(29) agent:bob 5000 Some("task 7") false
        1 29..None agent:bob 6000 Some("task 7") false
        9 5..None agent:browser 1 None true
    "#]]
    .assert_eq(&show(&doc));
    let who = |n, clock| {
        doc.log().who(ItemId::new(client(n), clock)).map(|author| author.actor.name.to_string())
    };
    assert_eq!(who(1, 1).as_deref(), Some("ada"));
    assert_eq!(who(1, 15).as_deref(), Some("bob"));
    assert_eq!((who(9, 4), who(9, 5).as_deref()), (None, Some("browser")));
    assert_eq!(show(&replica(2, &doc)), show(&doc));

    // A process that opens the document again under the same client id begins a run as well.
    let mut again = replica(1, &doc);
    again.append("seven ", &at("bob", 6001).with_label("task 7")).unwrap().update.unwrap();
    assert_eq!(again.log().entries().len(), doc.log().entries().len() + 1);
}

#[test]
fn every_own_edit_has_an_author() {
    let mut doc = doc_with(1, "abc\n");
    for name in ["x", "y", "x"] {
        doc.write(&format!("{name} {}", doc.text()), None, &author(name)).unwrap().update.unwrap();
    }
    doc.edit_registers()
        .add_blob_version(
            &NewBlob { hash: ContentHash::of(b""), size: 0, mime: None },
            &author("x"),
        )
        .unwrap();
    for clock in 0..doc.gate().clock_of(client(1)) {
        assert!(doc.log().who(ItemId::new(client(1), clock)).is_some(), "{clock}");
    }
}

#[test]
fn versions_of_blobs_conflict_when_neither_saw_the_other() {
    let blob = |content: &[u8]| NewBlob {
        hash: ContentHash::of(content),
        size: content.len() as u64,
        mime: Some("image/png".into()),
    };
    let at = |ms| RunAuthor { at: Millis(ms), ..author("x") };
    let mut a = doc(1);
    a.edit_registers().add_blob_version(&blob(b"one"), &at(1)).unwrap().unwrap();
    let mut b = replica(2, &a);
    a.edit_registers().add_blob_version(&blob(b"two"), &at(2)).unwrap().unwrap();
    b.edit_registers().add_blob_version(&blob(b"three"), &at(3)).unwrap().unwrap();
    assert_eq!(b.blobs().heads().len(), 1);
    sync(&mut a, &mut b);
    let hashes =
        |blobs: Vec<super::BlobVersion>| blobs.into_iter().map(|v| v.hash).collect::<Vec<_>>();
    assert_eq!(hashes(a.blobs().heads()), [ContentHash::of(b"two"), ContentHash::of(b"three")]);
    // The content of an older version, again: it is a new version all the same, and settles the
    // conflict.
    a.edit_registers().add_blob_version(&blob(b"one"), &at(4)).unwrap().unwrap();
    sync(&mut a, &mut b);
    assert_eq!(hashes(b.blobs().heads()), [ContentHash::of(b"one")]);
    assert_eq!(b.blobs().versions().len(), 4);
    assert_eq!(b.blobs().versions()[3].at, Millis(4));
    assert_eq!(b.blobs().versions()[3].replaces.len(), 2);
}

/// Peers of earlier versions do not record what they knew of the text; others may record anything.
#[test]
fn words_beside_bytes_are_listed_if_the_writer_of_the_bytes_said_what_it_knew() {
    let listed = |knew: Option<&[u8]>| {
        let mut doc = doc_with(1, "read.\n");
        let known = doc.gate().state_vector();
        let knew = knew.unwrap_or(&known).to_vec();
        assert!(doc.append(" TYPED", &author("x")).unwrap().update.is_some());
        let hash = ContentHash::of(b"").to_string();
        let entry = [("hash", Any::from(hash)), ("size", Any::from(0.0))];
        let entry = entry.into_iter().chain([("knew", Any::Buffer(knew.into()))]);
        let entry: std::collections::HashMap<_, _> =
            entry.map(|(key, value)| (key.to_owned(), value)).collect();
        let peer = Doc::with_client_id(7);
        peer.get_or_insert_array("fs:blobs").push_back(&mut peer.transact_mut(), Any::from(entry));
        let state = peer.transact().encode_state_as_update_v1(&Default::default());
        doc.receive(&state, UpdateSource::Wire).unwrap();
        assert_eq!(doc.blobs().heads().len(), 1);
        doc.typed_beside_bytes().unwrap()
    };
    assert_eq!(listed(None), ["TYPED"]);
    assert_eq!(listed(Some(&[0])), ["read.", "TYPED"]);
    for unreadable in [&[][..], &[1], &[0xff; 20], &[0; 4097]] {
        assert_eq!(listed(Some(unreadable)), [""; 0], "{unreadable:?}");
    }
}

#[test]
fn a_version_from_elsewhere_does_no_harm() {
    let mut doc = doc_with(1, "a😀b\n");
    let version = doc.version();
    let decoded = Version::decode(&version.encode()).unwrap();
    assert_eq!(decoded, version);
    doc.append("more", &author("x")).unwrap().update.unwrap();
    assert_eq!(doc.text_at(&decoded).unwrap(), "a😀b\n");
    doc.write("a😀b!\n", Some(ContentBase::Version(&decoded)), &author("y"))
        .unwrap()
        .update
        .unwrap();
    assert_eq!(doc.text(), "a😀b!\nmore");

    // The version has more items than the document.
    let behind = self::doc(2);
    let unknown = ContentError::UnknownVersion { client: client(1), wanted: 6, known: 0 };
    assert_eq!(behind.text_at(&version), Err(unknown));

    // The version ends in the middle of an emoji: clock 0 is the entry, 1 is `a`, 2 and 3 the
    // emoji.
    let mut bytes = vec![0, 1];
    crate::lib0::write_var_uint(&mut bytes, client(1).get());
    bytes.push(3);
    let cut = Version::decode(&bytes).unwrap();
    assert!(doc.text_at(&cut).unwrap().starts_with('a'));
    doc.write("ax", Some(ContentBase::Version(&cut)), &author("z")).unwrap().update.unwrap();
    assert!(doc.text().contains("😀b!\nmore"), "{:?}", doc.text());

    // An empty version, clocks of zero, deletions of missing items, and junk.
    assert_eq!(doc.text_at(&Version::decode(&[0, 0]).unwrap()).unwrap(), "");
    let zero = Version::decode(&[1, 5, 1, 0, 9, 1, 5, 0]).unwrap();
    assert_eq!(zero.encode(), [0, 0]);
    assert!(Version::decode(&[]).is_err());
    assert!(Version::decode(&[0xff, 0xff, 0xff, 0x7f, 0]).is_err());
    assert!(Version::decode(&[0, 0, 0]).is_err());
}

#[test]
fn what_is_not_text_stays_where_it_is() {
    let peer = raw(5);
    let text = peer.get_or_insert_text("text");
    {
        let mut txn = peer.transact_mut();
        text.insert(&mut txn, 0, "one two");
        text.insert_embed(&mut txn, 3, Any::Bool(true));
        text.insert_embed(&mut txn, 0, Any::from(7.5));
    }
    let mut doc = doc(1);
    doc.receive(&peer.transact().encode_diff_v1(&yrs::StateVector::default()), UpdateSource::Wire)
        .unwrap();
    assert_eq!(doc.text(), "one two");
    doc.write("1 two three", None, &author("x")).unwrap().update.unwrap();
    assert_eq!(doc.text(), "1 two three");
    doc.write("", None, &author("x")).unwrap().update.unwrap();
    assert_eq!((doc.text().as_str(), doc.replica.plain_len_utf16()), ("", 2));
    doc.write("new", None, &author("x")).unwrap().update.unwrap();
    assert_eq!(doc.text(), "new");
}

#[test]
fn text_that_is_too_large_is_refused_and_changes_nothing() {
    let mut doc = doc_with(1, "a");
    let state = doc.gate().encode_state();
    let large = "x".repeat(DEFAULT_TEXT_BYTES + 1);
    let limit = DEFAULT_TEXT_BYTES;
    let refused = |len| ContentError::TooLarge { len, limit };
    assert!(doc.write(&large, None, &author("x")) == Err(refused(large.len())));
    assert!(doc.append(&large[1..], &author("x")) == Err(refused(large.len())));
    assert!(doc.edit("a", &large, false, &author("x")) == Err(refused(large.len())));
    assert!(doc.gate().encode_state() == state);
    let appended = doc.append(&large[2..], &author("x")).is_ok();
    assert!(appended && doc.text().len() == DEFAULT_TEXT_BYTES);
}

#[test]
fn a_text_that_a_peer_wrote_with_a_higher_limit_is_edited_and_stays_text() {
    let limits = GateLimits { text_bytes: 100, ..GateLimits::default() };
    let id = FileId::parse("0pvpappn8hn4dcp").unwrap();
    let new = || ContentDoc::new(&id, client(1), limits);
    let mut doc = new();
    doc.write(&"x".repeat(100), None, &author("x")).unwrap().update.unwrap();
    let limit = 100;
    assert_eq!(doc.append("y", &author("x")), Err(ContentError::TooLarge { len: 101, limit }));
    let peer = doc_with(2, &"x".repeat(200));
    let mut doc = new();
    doc.receive(&peer.gate().encode_state(), UpdateSource::Wire).unwrap();
    doc.append("y", &author("x")).unwrap().update.unwrap();
    doc.edit("xy", "xyz", false, &author("x")).unwrap().update.unwrap();
    assert_eq!(doc.text().len(), 202);
    let limit = MAX_TEXT_BYTES;
    let huge = "x".repeat(limit);
    assert_eq!(
        doc.append(&huge, &author("x")),
        Err(ContentError::TooLarge { len: limit + 202, limit })
    );
}

#[test]
fn bytes_are_text_or_a_blob() {
    assert_eq!(
        classify(b"\xef\xbb\xbfab\r\n", DEFAULT_TEXT_BYTES),
        ByteClassification::Text("\u{feff}ab\r\n")
    );
    // A tar of texts is UTF-8 with NULs; a PDF may be plain ASCII.
    for binary in [&b"a\0b\n"[..], b"%PDF-1.4\n1 0 obj\n", b"!<arch>\ndebian-binary   "] {
        assert_eq!(classify(binary, DEFAULT_TEXT_BYTES), ByteClassification::Blob);
    }
    let tar = ["a".repeat(257), "ustar".to_owned()].concat();
    assert_eq!(classify(tar.as_bytes(), DEFAULT_TEXT_BYTES), ByteClassification::Blob);
    assert_eq!(classify(b"", DEFAULT_TEXT_BYTES), ByteClassification::Text(""));
    assert_eq!(classify(b"\xff\xfe", DEFAULT_TEXT_BYTES), ByteClassification::Blob);
    assert_eq!(
        classify(&vec![b'a'; DEFAULT_TEXT_BYTES + 1], DEFAULT_TEXT_BYTES),
        ByteClassification::Blob
    );
}

#[test]
fn the_reference_implementation_is_read() {
    let bytes = include_bytes!("../../../../../fixtures/reference-wire/spec-era-a.txt.v1.bin");
    let mut doc = doc(1);
    doc.receive(bytes, UpdateSource::Store).unwrap();
    expect!["again"].assert_eq(&doc.text());
    let size = doc.text().len();
    doc.append("!", &author("x")).unwrap().update.unwrap();
    assert_eq!(doc.text().len(), size + 1);
}

/// A write merges as if it had been made on a copy of the document as it was, under another client.
#[test]
fn a_rebased_write_says_what_a_fork_would_have_said() {
    let original = "fn main() {\n    let a = 1;\n    let b = 2;\n    print(a, b);\n}\n";
    let new = "fn main() {\n    let a = 10;\n    let b = 2;\n    let c = 3;\n    print(a);\n}\n";
    let mut doc = doc_with(1, original);
    let version = doc.version();
    doc.edit("let b = 2", "let bb = 22", false, &author("human")).unwrap().update.unwrap();
    doc.edit("fn main", "// Hi.\nfn main", false, &author("human")).unwrap().update.unwrap();

    let merged = {
        let live = raw(3);
        live.transact_mut()
            .apply_update(Update::decode_v1(&doc.gate().encode_state()).unwrap())
            .unwrap();
        let mut encoder = EncoderV1::new();
        live.transact().encode_state_from_snapshot(version.snapshot(), &mut encoder).unwrap();
        let mut fork = self::doc(4);
        fork.receive(&encoder.to_vec(), UpdateSource::Store).unwrap();
        assert_eq!(fork.text(), original);
        let update = fork.write(new, None, &author("agent")).unwrap().update.unwrap();
        live.transact_mut().apply_update(Update::decode_v1(&update).unwrap()).unwrap();
        let txn = live.transact();
        txn.get_text("text").unwrap().get_string(&txn)
    };
    let written = doc.write(new, Some(ContentBase::Version(&version)), &author("agent")).unwrap();
    assert_eq!(doc.text(), merged);
    assert_eq!(written.overlaps, []);
}

proptest! {
    #![proptest_config(crate::tests::property_config(300))]

    #[test]
    fn what_was_written_is_what_is_read(texts in proptest::collection::vec(awkward_text(), 1..6)) {
        let (mut doc, mut other) = (doc(1), doc(2));
        let mut versions = vec![(doc.version(), String::new())];
        for (n, text) in texts.iter().enumerate() {
            // Alternately at either replica, with and without a base.
            let (writer, reader) = match n % 2 {
                0 => (&mut doc, &mut other),
                _ => (&mut other, &mut doc),
            };
            let version = writer.version();
            let base = (n % 3 != 0).then_some(ContentBase::Version(&version));
            let written = writer.write(text, base, &author("x")).unwrap();
            prop_assert_eq!(&writer.text(), text);
            prop_assert_eq!(written.overlaps, vec![]);
            if let Some(update) = written.update {
                reader.receive(&update, UpdateSource::Wire).unwrap();
            }
            prop_assert_eq!(&reader.text(), text);
            versions.push((writer.version(), text.clone()));
        }
        for (version, text) in versions {
            prop_assert_eq!(&doc.text_at(&version).unwrap(), &text);
            let decoded = Version::decode(&version.encode()).unwrap();
            prop_assert_eq!(doc.text_at(&decoded).unwrap(), text);
        }
    }

    /// Whatever was typed meanwhile, a base given as a version, as decoded bytes, or as a text
    /// unlike the current one, leads to a text; and both replicas to the same.
    #[test]
    fn any_base_will_do(
        base in awkward_text(),
        now in awkward_text(),
        new in awkward_text(),
        kind in 0..3,
    ) {
        let mut doc = doc_with(1, &format!("{base}."));
        let version = doc.version();
        let _update = doc.write(&now, None, &author("x")).unwrap().update;
        let decoded = Version::decode(&version.encode()).unwrap();
        let base = match kind {
            0 => ContentBase::Version(&version),
            1 => ContentBase::Version(&decoded),
            _ => ContentBase::Text(&base),
        };
        let mut other = replica(2, &doc);
        let written = doc.write(&new, Some(base), &author("y")).unwrap();
        for overlap in &written.overlaps {
            prop_assert!(doc.text().is_char_boundary(overlap.at));
        }
        if let Some(update) = written.update {
            other.receive(&update, UpdateSource::Wire).unwrap();
        }
        prop_assert_eq!(other.text(), doc.text());
    }

    #[test]
    fn no_bytes_are_a_version_that_panics(bytes in proptest::collection::vec(0u8..12, 0..24)) {
        if let Ok(version) = Version::decode(&bytes) {
            let (id, client) = (FileId::parse("x").unwrap(), ClientId::new(1).unwrap());
            let mut doc = ContentDoc::new(&id, client, GateLimits::default());
            doc.write("a😀b", None, &author("x")).unwrap().update.unwrap();
            doc.write("a😀c😀", None, &author("x")).unwrap().update.unwrap();
            let _text = doc.text_at(&version);
            let _written = doc.write("a😀", Some(ContentBase::Version(&version)), &author("y"));
            prop_assert!(doc.gate().health().is_ok());
        }
    }
}
