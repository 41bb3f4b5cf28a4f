//! Transactions that other processes overtake: how many documents they load again.

use std::{cell::Cell, sync::Arc};

use yfs_conformance::FaultStore;
use yfs_engine::{
    actor::{Actor, ActorKind},
    content::{ContentDoc, RunAuthor},
    id::FileId,
    path::VPath,
    table::RowChanges,
    time::Millis,
};
use yfs_store::{DocName, MemoryStore, UpdateLog};
use yfs_vfs::{FileSystem, MkdirOptions, WriteOptions};

use crate::{Workspace, WorkspaceOptions, content::Updates, error::Result};

/// A file, and two handles of its store. The first counts what it loads.
struct TwoHandles {
    store: Arc<FaultStore>,
    here: Workspace,
    there: Workspace,
    file: FileId,
}

fn path() -> VPath {
    VPath::parse("/log.md").expect("a path")
}

fn actor() -> Actor {
    Actor::new(ActorKind::Agent, "ana")
}

fn append(doc: &mut ContentDoc, line: &str) -> Result<Updates> {
    let author = RunAuthor::new(actor(), Millis(1_000));
    Ok(doc.append(line, &author)?.update.into_iter().collect())
}

impl TwoHandles {
    /// Makes a file that both handles have in memory.
    fn new() -> Self {
        let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
        let memory = MemoryStore::new();
        let there = Arc::new(memory.another_handle());
        let store = Arc::new(FaultStore::new(Arc::new(memory)));
        let here = Workspace::create(store.clone(), options.clone()).expect("a workspace");
        let there = Workspace::open(there, options).expect("a second handle");
        let written = now(here.fs().write(&path(), "one\n".into(), &WriteOptions::default()));
        let scene = Self { store, here, there, file: written.expect("written").id };
        for workspace in [&scene.there, &scene.here] {
            now(workspace.fs().append(&path(), "two\n".into(), &WriteOptions::default()))
                .expect("appended");
        }
        scene.here.state.catch_up().expect("tailed");
        scene
    }

    fn other_makes_directory(&self, name: &str) {
        let path = VPath::parse(name).expect("a path");
        now(self.there.fs().mkdir(&path, &MkdirOptions::default())).expect("made");
    }

    fn other_appends(&self, line: &str) {
        let line = line.to_owned();
        now(self.there.fs().append(&path(), line.into(), &WriteOptions::default()))
            .expect("appended");
    }

    fn lines(&self, workspace: &Workspace) -> String {
        let data = now(workspace.fs().read(&path())).expect("read").data;
        String::from_utf8(data.to_vec()).expect("text")
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("a call of a workspace waited"),
    }
}

#[test]
fn an_edit_whose_path_may_have_moved_loads_nothing() {
    let scene = TwoHandles::new();
    let (before, n_plans, n_edits) = (scene.store.n_loads(), Cell::new(0), Cell::new(0));
    let overtaken = |_: &_| {
        n_plans.set(n_plans.get() + 1);
        if n_plans.get() <= 20 {
            scene.other_makes_directory(&format!("/d{}", n_plans.get()));
        }
        Ok(())
    };
    let edit = |doc: &mut ContentDoc| {
        n_edits.set(n_edits.get() + 1);
        append(doc, "three\n")
    };
    let state = &scene.here.state;
    state
        .edit_found(&scene.file, &actor(), None, &RowChanges::default(), overtaken, edit)
        .expect("edited");
    assert_eq!((n_plans.get(), n_edits.get()), (21, 1), "plans and edits");
    assert_eq!(scene.store.n_loads() - before, 0, "loads");
    assert_eq!(scene.lines(&scene.here), "one\ntwo\ntwo\nthree\n");
    assert_eq!(scene.lines(&scene.there), scene.lines(&scene.here));
}

#[test]
fn an_edit_of_a_content_that_others_changed_loads_nothing() {
    let scene = TwoHandles::new();
    let before = scene.store.n_loads();
    let head = scene.store.doc_head(&DocName::from(&scene.file)).expect("a head");
    let edit = |_: &mut ContentDoc| panic!("a change that cannot be logged was made");
    let state = &scene.here.state;
    scene.other_appends("three\n");
    let refused = state.edit_found(
        &scene.file,
        &actor(),
        Some(head),
        &RowChanges::default(),
        |_| Ok(()),
        edit,
    );
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(scene.store.n_loads() - before, 0, "loads");
    assert_eq!(scene.lines(&scene.here), "one\ntwo\ntwo\nthree\n");
}

#[test]
fn an_edit_that_is_logged_after_others_reads_the_tail() {
    let scene = TwoHandles::new();
    let before = scene.store.n_loads();
    let state = &scene.here.state;
    for number in 0..20 {
        let edit = |doc: &mut ContentDoc| {
            scene.other_appends(&format!("there {number}\n"));
            append(doc, &format!("here {number}\n"))
        };
        let edited =
            state.edit_found(&scene.file, &actor(), None, &RowChanges::default(), |_| Ok(()), edit);
        let edited = edited.expect("edited");
        assert!(edited.is_overtaken);
        let text = edited.text.expect("a text");
        assert!(text.contains(&format!("there {number}\n")), "{text}");
    }
    assert_eq!(scene.store.n_loads() - before, 0, "loads");
    let lines = scene.lines(&scene.here);
    assert_eq!(lines.lines().count(), 43, "{lines}");
    assert_eq!(scene.lines(&scene.there), lines);
}
