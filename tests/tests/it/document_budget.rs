//! Content documents stay in memory as far as the budget allows, also those that others follow: a
//! document that was unloaded misses no update, and is what it was when it is used again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use futures::FutureExt;
use yfs::{DocPort, Workspace, WorkspaceOptions, subscription::Subscription};
use yfs_engine::path::VPath;
use yfs_store::MemoryStore;
use yfs_vfs::{FileSystem, FileSystemExt, WriteOptions};
use yrs::{Doc, GetString, ReadTxn, StateVector, Text, Transact, Update, updates::decoder::Decode};

const N_FILES: usize = 300;

/// The budget of the pool, in bytes: a few documents.
const BUDGET: u64 = 100_000;

fn create() -> Workspace {
    let options =
        WorkspaceOptions { doc_budget: BUDGET, follow: false, ..WorkspaceOptions::default() };
    Workspace::create(Arc::new(MemoryStore::new()), options).unwrap()
}

fn now<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().unwrap()
}

fn path(number: usize) -> VPath {
    VPath::parse(&format!("/f{number}.txt")).unwrap()
}

/// An editor that is connected: its copy of the document, and the updates that it has not applied.
struct Editor {
    port: DocPort,
    updates: Subscription,
    doc: Doc,
}

impl Editor {
    fn connect(workspace: &Workspace, number: usize) -> Self {
        let id = now(workspace.fs().stat(&path(number))).unwrap().id;
        let port = workspace.documents().port(&id.to_string()).unwrap();
        let updates = port.subscribe();
        let doc = Doc::with_client_id(1_000 + number as u64);
        let editor = Self { port, updates, doc };
        let state = editor.port.diff(&[0]).unwrap();
        editor.apply(&state);
        editor
    }

    fn apply(&self, update: &[u8]) {
        let update = Update::decode_v1(update).unwrap();
        self.doc.transact_mut().apply_update(update).unwrap();
    }

    fn type_line(&self, line: &str) {
        let text = self.doc.get_or_insert_text("text");
        let update = {
            let mut txn = self.doc.transact_mut();
            text.push(&mut txn, line);
            txn.encode_update_v1()
        };
        self.port.receive(&update).unwrap();
    }

    fn text(&mut self) -> String {
        while let Some(update) = self.updates.try_recv() {
            self.apply(&update);
        }
        let text = self.doc.get_or_insert_text("text");
        text.get_string(&self.doc.transact())
    }
}

#[test]
fn followed_documents_are_unloaded_and_miss_nothing() {
    let workspace = create();
    for number in 0..N_FILES {
        now(workspace.fs().create_new(&path(number), "first\n".into())).unwrap();
    }
    let mut editors: Vec<Editor> =
        (0..N_FILES).map(|number| Editor::connect(&workspace, number)).collect();
    let (n_loaded, bytes) = workspace.documents().usage();
    assert!(bytes <= BUDGET, "{bytes} bytes");
    assert!(0 < n_loaded && n_loaded < N_FILES / 2, "{n_loaded} documents are in memory");
    // Typed by the editors, and written by a program; both reach documents that are not in memory.
    for (number, editor) in editors.iter().enumerate() {
        editor.type_line("typed\n");
        now(workspace.fs().append(&path(number), "appended\n".into(), &WriteOptions::default()))
            .unwrap();
    }
    for (number, editor) in editors.iter_mut().enumerate() {
        let text = String::from_utf8(now(workspace.fs().read(&path(number))).unwrap().data.into());
        assert_eq!(text.unwrap(), "first\ntyped\nappended\n");
        assert_eq!(editor.text(), "first\ntyped\nappended\n", "what the editor was sent");
        let state = editor.port.state_vector().unwrap();
        let own = editor.doc.transact().state_vector();
        assert_eq!(StateVector::decode_v1(&state).unwrap(), own);
    }
    let (_, bytes) = workspace.documents().usage();
    assert!(bytes <= BUDGET, "{bytes} bytes");
}

#[test]
fn a_handle_keeps_its_document_in_memory() {
    let workspace = create();
    for number in 0..N_FILES {
        now(workspace.fs().create_new(&path(number), "x\n".into())).unwrap();
    }
    let handle = workspace.documents().acquire(&path(0)).unwrap();
    let copy = handle.clone();
    drop(handle);
    let use_all = || {
        for number in 1..N_FILES {
            drop(workspace.documents().acquire(&path(number)).unwrap());
        }
    };
    use_all();
    assert!(workspace.documents().peek(&path(0)).unwrap().is_some(), "it is held");
    drop(copy);
    use_all();
    assert!(workspace.documents().peek(&path(0)).unwrap().is_none(), "it is not held any longer");
    let (n_loaded, bytes) = workspace.documents().usage();
    assert!(bytes <= BUDGET && n_loaded < N_FILES / 2, "{n_loaded} documents, {bytes} bytes");
}
