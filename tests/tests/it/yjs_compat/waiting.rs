//! What real Yjs sends while some of it still waits: all of it is read, logged once, and loads
//! again.

use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng, seq::SliceRandom};
use serde_json::json;
use yfs_engine::gate::{DocRole, GatedDoc, UpdateSource};
use yfs_tests::node::{Yjs, to_hex};
use yrs::{GetString, ReadTxn};

use super::gated;

const CLIENTS: [&str; 3] = ["a", "b", "c"];

fn text_of(doc: &GatedDoc) -> String {
    doc.read(|txn| txn.get_text("text").map(|text| text.get_string(txn))).unwrap_or_default()
}

/// Lets three clients type, some of it received out of order, and returns what they wrote and what
/// they sent.
fn history(yjs: &mut Yjs, rng: &mut ChaCha8Rng) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    for (doc, client) in CLIENTS.iter().zip(1..) {
        yjs.make(doc, client, false);
    }
    let (mut written, mut sent): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let doc = CLIENTS[rng.random_range(0..3)];
        match rng.random_range(0..6) {
            0..3 => {
                let edits =
                    json!({ "doc": doc, "seed": rng.random_range(0..1 << 30), "n_edits": 2 });
                written.extend(yjs.change("random_edits", edits));
            }
            3 | 4 if !written.is_empty() => {
                yjs.apply(doc, &written[rng.random_range(0..written.len())]);
            }
            _ => sent.push(yjs.encode(doc)),
        }
    }
    sent.extend(CLIENTS.map(|doc| yjs.encode(doc)));
    (written, sent)
}

#[test]
fn states_of_clients_that_wait_for_each_other_are_read_as_yjs_reads_them() {
    let mut yjs = Yjs::start();
    for seed in 0..80 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (written, mut sent) = history(&mut yjs, &mut rng);
        sent.shuffle(&mut rng);
        yjs.make("whole", 99, false);
        let mut doc = gated(DocRole::Content, 7);
        let mut log = Vec::new();
        for update in &sent {
            yjs.apply("whole", update);
            if doc.receive(update, UpdateSource::Wire).unwrap().brought_new {
                log.push(update);
            }
            // Not only at the end: what Yjs shows, we show.
            assert_eq!(text_of(&doc), yjs.text("whole"), "seed {seed}");
        }
        assert!(doc.parked().is_empty(), "seed {seed}");
        for update in &written {
            assert!(!doc.check(update, UpdateSource::Wire).unwrap(), "seed {seed}");
        }

        // The log gives the same again, and a client that syncs with what was loaded.
        let mut again = gated(DocRole::Content, 8);
        log.shuffle(&mut rng);
        for update in log {
            again.receive(update, UpdateSource::Store).unwrap();
        }
        yjs.make("fresh", 100, false);
        let state = again.encode_diff(&yjs.state_vector("fresh")).unwrap();
        assert!(!yjs.apply("fresh", &state), "seed {seed}");
        assert_eq!(yjs.text("fresh"), yjs.text("whole"), "seed {seed}");
        assert_eq!(to_hex(&again.state_vector()), to_hex(&doc.state_vector()), "seed {seed}");
        for doc in CLIENTS.into_iter().chain(["whole", "fresh"]) {
            yjs.call("drop", json!({ "doc": doc }));
        }
    }
}
