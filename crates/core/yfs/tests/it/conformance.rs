//! A workspace passes the public conformance suite for filesystems.

use std::sync::Arc;

use yfs::{Workspace, WorkspaceOptions};
use yfs_conformance::file_system::{self as conformance, BackendCapabilities};
use yfs_store::{MemoryStore, SqliteStore, Store};
use yfs_vfs::FileSystem;

const CAPABILITIES: BackendCapabilities =
    BackendCapabilities { merges: true, ..BackendCapabilities::ALL };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_memory() {
    let make = async || workspace(Arc::new(MemoryStore::new()));
    conformance::run(make, CAPABILITIES).await.assert();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_one_sqlite_file() {
    let dir = tempfile::tempdir().unwrap();
    let number = std::sync::atomic::AtomicUsize::new(0);
    let make = async || {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let file = dir.path().join(format!("{number}.db"));
        workspace(Arc::new(SqliteStore::create_new(&file).unwrap()))
    };
    conformance::run(make, CAPABILITIES).await.assert();
}

fn workspace(store: Arc<dyn Store>) -> Arc<dyn FileSystem> {
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    Arc::new(workspace.fs())
}
