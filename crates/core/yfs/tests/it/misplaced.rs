//! Content in lists that it does not belong into: text between the paragraphs of an editor.

use std::sync::Arc;

use crate::support::handles::{at, cat, now, put};
use yfs::{Workspace, WorkspaceError, WorkspaceOptions, replica::ReplicaUpdate};
use yfs_engine::{gate::GateRejection, id::FileId, time::Millis};
use yfs_store::{AppendBatch, DocName, MemoryStore, UpdateLog};
use yfs_vfs::{FileSystem, FileSystemExt, GrepQuery};

/// An emoji in `getText('richtext')`, by client 666.
const EMOJI: &[u8] = b"\x01\x01\x9a\x05\x00\x04\x01\x08richtext\x04\xf0\x9f\x98\x80\x00";

/// What the same client then writes into the array `app`.
const LATER: &[u8] = b"\x01\x01\x9a\x05\x02\x08\x01\x03app\x01\x77\x01v\x00";

fn options() -> WorkspaceOptions {
    WorkspaceOptions { follow: false, ..WorkspaceOptions::default() }
}

/// Creates a workspace whose log has the emoji, as versions before the check accepted it.
fn attacked() -> (Arc<MemoryStore>, FileId) {
    let store = Arc::new(MemoryStore::new());
    let workspace = Workspace::create(store.clone(), options()).expect("a workspace");
    put(&workspace, "/v.md", "# hi\n");
    put(&workspace, "/o.txt", "other\n");
    let id = now(workspace.fs().stat(&at("/v.md"))).expect("a file").id;
    let id = FileId::parse(&id.to_string()).expect("an id");
    workspace.close().expect("closed");
    let updates = vec![(DocName::from(&id), EMOJI.to_vec())];
    store.append(AppendBatch::new(updates, Millis(2_000_000_000_000))).expect("appended");
    (store, id)
}

#[test]
fn a_log_with_text_between_paragraphs_is_read_found_and_repaired() {
    let (store, id) = attacked();
    let workspace = Workspace::open(store, options()).expect("it opens");
    assert_eq!(cat(&workspace, "/v.md"), "# hi\n");
    assert_eq!(workspace.conflicts().expect("listed"), []);
    assert!(workspace.history().blame(&at("/v.md")).is_ok());
    let grep = GrepQuery::new("hi");
    assert_eq!(now(workspace.fs().grep(&grep)).expect("searched").n_matches, 1);
    put(&workspace, "/v.md", "# hi\n\nmore 😀\n");
    assert_eq!(cat(&workspace, "/v.md"), "# hi\n\nmore 😀\n");

    let maintenance = workspace.maintenance();
    let found = maintenance.misplaced_contents().expect("searched");
    let described: Vec<_> = found.iter().map(|found| (&found.id, found.n_items)).collect();
    assert_eq!(described, [(&id, 2)]);
    assert_eq!(maintenance.set_misplaced_aside().expect("repaired"), found);
    assert_eq!(maintenance.misplaced_contents().expect("searched"), []);
    let kept = workspace.store().quarantined().expect("a quarantine");
    assert_eq!(kept.len(), 1, "the characters can still be read by a person");
    assert_eq!(cat(&workspace, "/v.md"), "# hi\n\nmore 😀\n");
}

#[test]
fn the_usual_compaction_sets_it_aside_as_well() {
    let (store, _) = attacked();
    let workspace = Workspace::open(store, options()).expect("it opens");
    workspace.maintenance().compact(&mut |_, _| {}).expect("compacted");
    assert_eq!(workspace.maintenance().misplaced_contents().expect("searched"), []);
    assert_eq!(workspace.store().quarantined().expect("a quarantine").len(), 1);
    assert_eq!(cat(&workspace, "/v.md"), "# hi\n");
}

#[test]
fn an_editor_is_refused_and_a_replica_passes_on_the_rest() {
    let (store, id) = attacked();
    let old = Workspace::open(store, options()).expect("it opens");
    old.maintenance().set_misplaced_aside().expect("repaired");
    drop(old);
    let workspace = Workspace::create(Arc::new(MemoryStore::new()), options()).expect("created");
    put(&workspace, "/v.md", "# hi\n");
    let own = now(workspace.fs().stat(&at("/v.md"))).expect("a file").id.to_string();
    let port = workspace.documents().port(&own).expect("a port");
    let refused = port.receive(EMOJI).expect_err("it does not belong there");
    assert!(matches!(
        refused,
        WorkspaceError::Refused(GateRejection::WrongContent { content: "text", .. })
    ));
    let doc = FileId::parse(&own).expect("an id");
    let arrival =
        |update: &[u8]| ReplicaUpdate { doc: doc.clone(), update: update.to_vec(), is_new: true };
    let received = workspace.replication().receive(&[arrival(EMOJI), arrival(LATER)]);
    let received = received.expect("received");
    assert_eq!((received.refused.len(), received.n_new), (1, 2));
    assert_eq!(workspace.maintenance().misplaced_contents().expect("searched"), []);
    assert_eq!(cat(&workspace, "/v.md"), "# hi\n");
    // Nothing waits for what was left out.
    assert!(port.parked().expect("read").is_empty());
    assert_ne!(doc, id);
}
