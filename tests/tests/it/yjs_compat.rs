//! Real Yjs decides compatibility: it reads what we write, and we read what it writes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod anchors;
mod bytes;
mod carried;
mod content;
mod order;
mod reference;
mod rows;
mod table;
mod text;
mod waiting;

use proptest::test_runner::{Config, TestRunner};
use yfs_engine::{
    gate::{DocRole, GateLimits, GatedDoc, UpdateSource},
    id::{ClientId, FileId, ItemId},
};
use yfs_tests::node::{Yjs, to_hex};

fn gated(role: DocRole, client: u64) -> GatedDoc {
    // No file of a workspace has the id of its main document.
    let guid = if role == DocRole::Main { "spec0era0main00" } else { "0pvpappn8hn4dcp" };
    let guid = FileId::parse(guid).unwrap();
    GatedDoc::new(&guid, role, ClientId::new(client).unwrap(), GateLimits::default())
}

fn item(client: u64, clock: u32) -> ItemId {
    ItemId::new(ClientId::new(client).unwrap(), clock)
}

/// Takes in what a peer on the wire sent, which must be complete.
fn receive(doc: &mut GatedDoc, update: &[u8]) {
    let received = doc.receive(update, UpdateSource::Wire);
    let received = received.unwrap_or_else(|refusal| panic!("{refusal}: {}", to_hex(update)));
    assert!(!received.parked, "it waits for other updates: {}", to_hex(update));
}

/// Syncs both ways by state vectors, as a connection begins.
fn sync(yjs: &mut Yjs, name: &str, doc: &mut GatedDoc) {
    let theirs = yjs.encode_diff(name, &doc.state_vector());
    let ours = doc.encode_diff(&yjs.state_vector(name)).unwrap();
    assert!(!yjs.apply(name, &ours), "Yjs waits for other updates of ours");
    receive(doc, &theirs);
    assert_eq!(to_hex(&doc.state_vector()), to_hex(&yjs.state_vector(name)));
}

/// Makes a runner of `cases` random cases, or of as many as `PROPTEST_CASES` says.
fn runner(cases: u32) -> TestRunner {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    TestRunner::new(config)
}
