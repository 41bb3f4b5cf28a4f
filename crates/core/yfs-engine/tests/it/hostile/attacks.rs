//! The attacks, as bytes.

use yfs_engine::{
    gate::{
        DocRole, GateLimits, GateRejection, GatedDoc, ReceiveOutcome, UpdateBuilder, UpdateSource,
    },
    id::{ClientId, FileId, ItemId},
    lib0::{write_string, write_var_uint},
};
use yrs::{GetString, ReadTxn, Text, WriteTxn};

/// An attack, and its expected outcome.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// A part of the process's output: `ok`, `parked`, or `refused` with a code.
    pub(crate) expected: &'static str,
}

/// The attacks. Those with a dot are files of the corpus.
pub(crate) fn all() -> Vec<Attack> {
    let attack = |(name, expected)| Attack { name, expected };
    [
        ("abort-nested-any-array-100k.bin", "refused 4422"),
        ("bad-utf8.bin", "refused 4400"),
        ("deleted-len-max.bin", "refused 4413"),
        ("gc-len-overflow.bin", "refused 44"),
        ("hang-11-8318.bin", "main"),
        ("hang-22-16943.bin", "main"),
        ("hang-eacute-in-array-12.bin", "main ok"),
        ("hang-emoji-in-array-14.bin", "main ok"),
        ("issue415-21.bin", "refused 4400"),
        ("oom-nested-any-map-5x2e26.bin", "refused 4400"),
        ("panic-main.rs_54.bin", "main"),
        ("text-in-table", "main refused 4415"),
        ("values-in-text", "content refused 4415"),
        ("nested-any", "refused 4422"),
        ("nested-any-of-an-application", "ok"),
        ("nested-any-in-rows", "main refused 4422"),
        ("nested-any-in-front-matter", "content refused 4422"),
        ("nested-any-in-rich-text", "content refused 4415"),
        ("nested-json", "refused 4422"),
        ("nested-json-array", "refused 4422"),
        ("nested-xml", "refused 4422"),
        ("nested-xml-in-messages", "refused 4422"),
        ("gc-overflow", "refused 4413"),
        ("skip-huge", "refused 4413"),
        ("clock-far-ahead", "refused 4413"),
        ("clock-jump", "refused 4413"),
        ("client-of-64-bits", "refused 4400"),
        ("client-of-64-bits-deleted", "refused 4400"),
        ("own-client", "refused 4403"),
        ("length-of-any", "refused 4400"),
        ("length-of-map", "refused 4400"),
        ("number-of-structs", "refused 4400"),
        ("number-of-clients", "refused 4400"),
        ("number-of-deletes", "refused 4400"),
        ("delete-everything", "parked"),
        ("delete-past-the-end", "refused 4413"),
        ("empty-runs", "ok"),
        ("empty-items", "ok"),
        ("empty-gc", "refused 4400"),
        ("run-twice", "refused 4400"),
        ("trailing-bytes", "refused 4400"),
        ("own-parent", "refused 4400"),
        ("parent-is-the-known-part", "ok"),
        ("own-origin", "refused 4400"),
        ("circle", "refused 4400"),
        ("parent-is-text", "refused 4400"),
        ("between-two-lists", "refused 4400"),
        ("left-of-an-entry", "refused 4400"),
        ("unknown-kind", "refused 4400"),
        ("unknown-type", "refused 4400"),
        ("invalid-json", "refused 4400"),
        ("old-json-array", "ok"),
        ("document-in-main", "main refused 4415"),
        ("chain-of-clients", "ok"),
        ("many-clients", "refused 4413"),
        ("fewer-clients", "ok"),
        ("parked-storm", "parked"),
        ("parked-from-store", "ok"),
        ("unsorted-deletes", "ok"),
        ("state-vectors", "ok"),
        ("splits", "main"),
        ("conflicts", "main"),
        ("one-key", "refused 4413"),
    ]
    .map(attack)
    .into()
}

/// Runs an attack against documents of both roles, and uses the documents afterwards.
pub(crate) fn run(name: &str) {
    match name {
        "!abort" => return overflow(0),
        "!panic" => panic!("as requested"),
        "!memory" => return drop(std::hint::black_box(vec![1_u8; 8 << 30])),
        "!hang" => loop {
            std::thread::yield_now();
        },
        "state-vectors" => return state_vectors(),
        _ => {}
    }
    for role in [DocRole::Main, DocRole::Content] {
        for source in [UpdateSource::Wire, UpdateSource::Store] {
            let mut doc = doc(role, 7);
            let outcome = feed(&mut doc, messages(name), source);
            let name = if role == DocRole::Main { "main" } else { "content" };
            println!("{name} {outcome} from {source:?}");
            use_it(&mut doc, role);
        }
    }
}

#[expect(unconditional_recursion, reason = "it is to overflow the stack")]
fn overflow(depth: u64) {
    overflow(std::hint::black_box(depth + 1));
    std::hint::black_box(depth);
}

pub(crate) fn doc(role: DocRole, client: u64) -> GatedDoc {
    let guid = FileId::parse("guid").unwrap();
    GatedDoc::new(&guid, role, ClientId::new(client).unwrap(), GateLimits::default())
}

fn feed(doc: &mut GatedDoc, messages: Vec<Vec<u8>>, source: UpdateSource) -> String {
    let mut outcome = "ok".to_owned();
    for message in messages {
        match doc.receive(&message, source) {
            Ok(ReceiveOutcome { parked: true, .. }) => outcome = "parked".to_owned(),
            Ok(_) => outcome = "ok".to_owned(),
            Err(refusal @ GateRejection::Poisoned { .. }) => panic!("{refusal}"),
            Err(refusal) => outcome = format!("refused {}: {refusal}", refusal.code()),
        }
    }
    outcome
}

/// Reads a document, edits it, encodes it and loads it again.
pub(crate) fn use_it(doc: &mut GatedDoc, role: DocRole) {
    let text = doc.read(|txn| txn.get_text("text").map(|text| text.get_string(txn)));
    std::hint::black_box(text);
    let (_, update) = doc.edit(|txn| {
        let text = txn.get_or_insert_text("text");
        let len = text.len(txn);
        text.insert(txn, len / 2, "zz");
        if len > 4 {
            text.remove_range(txn, 1, 2);
        }
    });
    doc.health().unwrap();
    let state = doc.encode_state();
    let mut copy = self::doc(role, 8);
    let received = copy.receive(&state, UpdateSource::Store).unwrap();
    assert!(!received.parked, "the state is incomplete");
    assert!(!copy.receive(&update.unwrap(), UpdateSource::Wire).unwrap().parked);
    assert_eq!(copy.state_vector(), doc.state_vector());
    assert!(copy.encode_diff(&doc.state_vector()).is_ok());
    assert!(copy.encode_diff(&[0]).is_ok());
}

/// Writes an update by hand.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn number(mut self, number: u64) -> Self {
        write_var_uint(&mut self.0, number);
        self
    }

    fn string(mut self, text: &str) -> Self {
        write_string(&mut self.0, text);
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Begins an update with one client.
    fn one(client: u64, clock: u64, n_structs: u64) -> Self {
        Self::default().number(1).number(n_structs).number(client).number(clock)
    }

    /// Begins an item in a root.
    fn item(self, kind: u8, root: &str) -> Self {
        self.bytes(&[kind]).number(1).string(root)
    }

    fn id(self, client: u64, clock: u64) -> Self {
        self.number(client).number(clock)
    }

    /// Ends an update without deletions.
    fn end(self) -> Vec<u8> {
        self.number(0).0
    }
}

fn one(client: u64, clock: u64, n_structs: u64) -> Bytes {
    Bytes::one(client, clock, n_structs)
}

fn messages(name: &str) -> Vec<Vec<u8>> {
    if name.ends_with(".bin") {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/hostile-updates/");
        return vec![std::fs::read(format!("{root}{name}")).unwrap()];
    }
    large(name).or_else(|| small(name)).or_else(|| linked(name)).or_else(|| many(name)).unwrap()
}

fn small(name: &str) -> Option<Vec<Vec<u8>>> {
    let text = |bytes: Bytes| bytes.item(4, "text").string("a").end();
    Some(vec![match name {
        "text-in-table" => one(5, 0, 1).item(4, "table:files").string("é").end(),
        "values-in-text" => one(5, 0, 1).item(8, "text").number(1).bytes(&[126]).end(),
        "gc-overflow" => one(5, u64::from(u32::MAX) - 1, 1).bytes(&[0]).number(10).end(),
        "skip-huge" => text(one(5, 0, 2).bytes(&[10]).number(u64::from(u32::MAX) - 5)),
        "clock-far-ahead" => text(one(5, u64::from(u32::MAX) - 10, 1)),
        "clock-jump" => {
            let jump = one(5, 0, 1).item(1, "text").number(1 << 30).end();
            return Some(vec![text(one(5, 0, 1)), jump]);
        }
        "client-of-64-bits" => text(one(u64::MAX, 0, 1)),
        "client-of-64-bits-deleted" => {
            Bytes::default().number(0).number(1).number(1 << 53).number(1).number(0).number(1).0
        }
        "own-client" => text(one(7, 0, 1)),
        "length-of-any" => one(5, 0, 1).item(8, "arr").number(u64::from(u32::MAX)).0,
        "length-of-map" => {
            one(5, 0, 1).item(8, "arr").number(1).bytes(&[118]).number(1 << 26).bytes(&[0]).0
        }
        "number-of-structs" => Bytes::default().number(1).number(u64::from(u32::MAX)).id(5, 0).0,
        "number-of-clients" => Bytes::default().number(u64::from(u32::MAX)).0,
        "number-of-deletes" => {
            Bytes::default().number(0).number(1).number(5).number(u64::from(u32::MAX)).0
        }
        "delete-everything" => {
            let begin = Bytes::default().number(0).number(1).number(5).number(1);
            begin.number(0).number((1 << 31) - 1).0
        }
        "delete-past-the-end" => {
            let begin = Bytes::default().number(0).number(1).number(5).number(1);
            begin.number(0).number(u64::from(u32::MAX)).0
        }
        "empty-items" => {
            let items = one(5, 0, 4).item(4, "text").string("").item(1, "text").number(0);
            items.item(8, "text").number(0).item(4, "text").string("a").end()
        }
        "empty-gc" => one(5, 0, 1).bytes(&[0, 0]).end(),
        "run-twice" => {
            let run = |bytes: Bytes| bytes.number(1).id(5, 0).item(4, "text").string("a");
            run(run(Bytes::default().number(2))).end()
        }
        "trailing-bytes" => [text(one(5, 0, 1)), vec![0]].concat(),
        "unknown-kind" => one(5, 0, 1).item(11, "text").number(0).end(),
        "unknown-type" => one(5, 0, 1).item(7, "text").number(7).end(),
        "invalid-json" => one(5, 0, 1).item(5, "text").string("{").end(),
        "old-json-array" => {
            let json = one(5, 0, 1).item(2, "old").number(3).string("undefined");
            json.string("[1,{\"a\":null}]").string("\"é\"").end()
        }
        "unsorted-deletes" => {
            let items = one(5, 0, 1).item(4, "text").string("abcdefghij").number(3);
            let first = items.number(5).number(3).id(7, 2).id(1, 3).id(2, 3);
            first.number(5).number(1).id(6, 1).number(5).number(0).0
        }
        _ => return None,
    }])
}

/// A number that is too many.
const MANY: usize = 100_000;

/// Updates that nest.
fn large(name: &str) -> Option<Vec<Vec<u8>>> {
    let nested = "[".repeat(MANY) + &"]".repeat(MANY);
    Some(vec![match name {
        "nested-any" => {
            let arrays = [117, 1].repeat(MANY);
            one(5, 0, 1).item(8, "arr").number(1).bytes(&arrays).bytes(&[126]).end()
        }
        "nested-any-of-an-application" => {
            let maps = [118, 1, 1, b'a'].repeat(1000);
            one(5, 0, 1).item(8, "app").number(1).bytes(&maps).bytes(&[126]).end()
        }
        "nested-any-in-rows" | "nested-any-in-rich-text" => {
            let root = if name.ends_with("rows") { "table:files" } else { "richtext" };
            let maps = [118, 1, 1, b'a'].repeat(65);
            one(5, 0, 1).item(8, root).number(1).bytes(&maps).bytes(&[126]).end()
        }
        "nested-any-in-front-matter" => {
            let maps = [118, 1, 1, b'a'].repeat(65);
            let key = one(5, 0, 1).item(0x28, "frontmatter").string("key").number(1);
            key.bytes(&maps).bytes(&[126]).end()
        }
        "nested-json" => one(5, 0, 1).item(5, "text").string(&nested).end(),
        "nested-json-array" => one(5, 0, 1).item(2, "arr").number(1).string(&nested).end(),
        "nested-xml" => {
            let mut bytes = one(5, 0, MANY as u64).item(7, "x").bytes(&[3]).string("p");
            for clock in 1..MANY as u64 {
                bytes = bytes.bytes(&[7, 0]).id(5, clock - 1).bytes(&[3]).string("p");
            }
            bytes.end()
        }
        "nested-xml-in-messages" => {
            let mut messages = vec![one(5, 0, 1).item(7, "x").bytes(&[3]).string("p").end()];
            for clock in 1..200 {
                let item = one(5, clock, 1).bytes(&[7, 0]).id(5, clock - 1);
                messages.push(item.bytes(&[3]).string("p").end());
            }
            messages.truncate(129);
            return Some(messages);
        }
        _ => return crowded(name),
    }])
}

/// Updates that hold many small things.
fn crowded(name: &str) -> Option<Vec<Vec<u8>>> {
    Some(vec![match name {
        "empty-runs" => {
            let mut bytes = Bytes::default().number(MANY as u64 + 1);
            for client in 0..MANY as u64 {
                bytes = bytes.number(0).id(1_000_000 - client, 0);
            }
            bytes.number(1).id(5, 0).item(4, "text").string("a").end()
        }
        "many-clients" | "fewer-clients" => {
            let n_clients = if name == "many-clients" { MANY as u64 } else { 5000 };
            let mut bytes = Bytes::default().number(n_clients);
            for client in 0..n_clients {
                bytes = bytes.number(1).id(1_000_000 - client, 0);
                bytes = bytes.item(4, "text").string("a");
            }
            bytes.end()
        }
        // Each client continues the next lower one, and yrs begins with the highest.
        "chain-of-clients" => {
            let mut bytes = Bytes::default().number(MANY as u64);
            for client in (1..MANY as u64).rev() {
                bytes = bytes.number(1).id(client + 100, 0).bytes(&[0x84]).id(client + 99, 0);
                bytes = bytes.string("a");
            }
            bytes.number(1).id(100, 0).item(4, "text").string("a").end()
        }
        // A long text, and as many splits of it as there is room for.
        "splits" => {
            let long = "a".repeat(1 << 20);
            let bytes = one(5, 0, 1).item(4, "text").string(&long).number(1).number(5);
            let mut bytes = bytes.number(5000);
            for at in 0..5000 {
                bytes = bytes.id(at * 200, 1);
            }
            bytes.0
        }
        // Entries of a map that all claim to be the first of their key.
        "one-key" => {
            let mut bytes = one(5, 0, MANY as u64);
            for _ in 0..MANY {
                bytes = bytes.item(0x28, "m").string("k").number(1).bytes(&[126]);
            }
            bytes.end()
        }
        // Items that all claim to be at the front of a long list, before its end.
        "conflicts" => {
            let mut bytes = one(5, 0, MANY as u64).item(4, "text").string("a");
            for _ in 1..MANY {
                bytes = bytes.bytes(&[0x44]).id(5, 0).string("a");
            }
            bytes.end()
        }
        _ => return None,
    }])
}

/// Updates whose items refer to the wrong items.
fn linked(name: &str) -> Option<Vec<Vec<u8>>> {
    Some(vec![match name {
        "own-parent" => one(5, 0, 1).bytes(&[7, 0]).id(5, 0).bytes(&[1]).end(),
        "own-origin" => one(5, 0, 1).bytes(&[0x84]).id(5, 0).string("a").end(),
        "circle" => {
            let run = |bytes: Bytes, client, other| {
                bytes.number(1).id(client, 0).bytes(&[0x84]).id(other, 0).string("a")
            };
            run(run(Bytes::default().number(2), 6, 5), 5, 6).end()
        }
        "parent-is-text" => {
            let text = one(5, 0, 2).item(4, "text").string("a");
            text.bytes(&[8, 0]).id(5, 0).number(1).bytes(&[126]).end()
        }
        "between-two-lists" => {
            let lists = one(5, 0, 3).item(4, "a").string("a").item(4, "b").string("b");
            lists.bytes(&[0xc4]).id(5, 0).id(5, 1).string("c").end()
        }
        "left-of-an-entry" => {
            let entry = one(5, 0, 2).item(0x28, "m").string("k").number(1).bytes(&[126]);
            entry.bytes(&[0x48]).id(5, 0).number(1).bytes(&[126]).end()
        }
        // A document in a type that is deleted: yrs uses it after it freed its item.
        "document-in-main" => {
            let tree = one(5, 0, 2).item(7, "list").bytes(&[0]).bytes(&[9, 0]).id(5, 0);
            tree.string("guid").bytes(&[118, 0]).number(1).number(5).number(1).id(0, 1).0
        }
        _ => return None,
    }])
}

/// Many messages.
fn many(name: &str) -> Option<Vec<Vec<u8>>> {
    let row = |clock: u32| {
        let client = ClientId::new(5).unwrap();
        let origin = clock.checked_sub(1).map(|clock| ItemId::new(client, clock));
        let mut update = UpdateBuilder::new();
        let id = ItemId::new(client, clock);
        update.array_run(id, origin, None, "table:files", &["a".into()]);
        update.finish()
    };
    match name {
        // The document holds the first value; the two name it as the type that they are in.
        "parent-is-the-known-part" => Some(vec![
            one(5, 0, 1).item(8, "x").number(1).bytes(&[125, 1]).end(),
            one(5, 0, 1).bytes(&[8, 0]).id(5, 0).number(2).bytes(&[125, 1, 125, 1]).end(),
        ]),
        "parked-storm" => Some((1..=5000).rev().map(row).collect()),
        "parked-from-store" => Some((0..=5000).rev().map(row).collect()),
        _ => None,
    }
}

fn state_vectors() {
    let doc = doc(DocRole::Main, 7);
    for (bytes, is_good) in [
        (Bytes::default().number(0), true),
        (Bytes::default().number(2).id(7, 0).id(8, 5), true),
        (Bytes::default().number(1).id(7, u64::from(u32::MAX)), true),
        (Bytes::default().number(1).id(1 << 53, 1), false),
        (Bytes::default().number(1).id(7, 1 << 32), false),
        (Bytes::default().number(u64::from(u32::MAX)), false),
        (Bytes::default(), false),
    ] {
        assert_eq!(doc.encode_diff(&bytes.0).is_ok(), is_good, "{:?}", bytes.0);
    }
    println!("ok");
}
