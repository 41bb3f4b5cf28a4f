//! A store that is full for a while.

use std::{fs, sync::Arc};

use yfs::{Workspace, WorkspaceOptions};
use yfs_conformance::{FaultStore, StoreFault};
use yfs_store::{MemoryStore, StoreError};

use crate::support::Pair;

/// The name on disk does not change again, so no scan finds the move.
#[test]
fn a_rename_that_met_a_full_store_is_tried_again() {
    let store = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
    let mut pair = Pair::apart();
    pair.workspace = Workspace::create(store.clone(), WorkspaceOptions::default()).unwrap();
    pair.start();
    pair.put("old.txt", "text\n");
    pair.check();
    let id = pair.id("/old.txt");
    store.fail(StoreFault::Append, 0, StoreError::Full { action: "append" });
    fs::rename(pair.at("old.txt"), pair.at("new.txt")).unwrap();
    pair.wait("the rename", |pair| pair.read("/new.txt") == "text\n");
    pair.check();
    assert_eq!((pair.id("/new.txt"), pair.read("/old.txt")), (id, "(ENOENT)".into()));
}
