//! Moves and copies over existing files: one transaction, whatever happens around it.

use std::{
    sync::{Arc, Barrier},
    thread,
};

use crate::support::handles::{
    Pair, append, at, cat, create, ls, now, put, two_processes, until_equal,
};
use expect_test::expect;
use yfs::{Workspace, WorkspaceOptions, workspace::conflicts::ConflictKind};
use yfs_conformance::{FaultStore, StoreFault};
use yfs_engine::{
    content::{ContentDoc, RunAuthor},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    time::Millis,
};
use yfs_store::{MemoryStore, StoreError};
use yfs_vfs::{
    ChangeCursor, ChangesOptions, CopyOptions, FileSystem, FsCode, FsError, MoveOptions,
    RemoveOptions, WriteOptions,
};

/// The error of the faulty store of these tests.
const FULL: StoreError = StoreError::Full { action: "append" };

/// An editor in another process that has a file open.
struct Editor {
    id: FileId,
    doc: ContentDoc,
}

impl Editor {
    fn open(workspace: &Workspace, id: &FileId) -> Self {
        let client = ClientId::new(77).expect("a client id");
        let mut doc = ContentDoc::new(id, client, GateLimits::default());
        let port = workspace.documents().port(id.as_str()).expect("a port");
        let all = port.diff(&doc.gate().state_vector()).expect("a state");
        doc.receive(&all, UpdateSource::Wire).expect("taken");
        Self { id: id.clone(), doc }
    }

    /// Types at the end, and returns the update to send.
    fn type_text(&mut self, text: &str) -> Vec<u8> {
        let author = RunAuthor::new("human:ada".parse().expect("an actor"), Millis(1));
        self.doc.append(text, &author).expect("typed").update.expect("an update")
    }
}

fn on_faults() -> (Arc<FaultStore>, Workspace) {
    let faults = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
    let workspace =
        Workspace::create(faults.clone(), WorkspaceOptions::default()).expect("a workspace");
    (faults, workspace)
}

fn mv(workspace: &Workspace, from: &str, to: &str) -> Result<(), FsError> {
    now(workspace.fs().mv(&at(from), &at(to), &MoveOptions::default()))
}

fn cp(workspace: &Workspace, from: &str, to: &str) -> Result<(), FsError> {
    let options = CopyOptions { recursive: true, ..CopyOptions::default() };
    now(workspace.fs().cp(&at(from), &at(to), &options))
}

fn put_bytes(workspace: &Workspace, path: &str, data: &'static [u8]) {
    now(workspace.fs().write(&at(path), data.into(), &WriteOptions::default())).expect("written");
}

fn bytes(workspace: &Workspace, path: &str) -> Vec<u8> {
    now(workspace.fs().read(&at(path))).expect("read").data.to_vec()
}

fn id_of(workspace: &Workspace, path: &str) -> FileId {
    now(workspace.fs().stat(&at(path))).expect("there").id
}

#[test]
fn one_append_moves_over_a_file_whatever_the_two_hold() {
    let sorts: [&[u8]; 2] = [b"text\n", b"\xff\x00bytes"];
    for (over, under) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let (faults, workspace) = on_faults();
        put_bytes(&workspace, "/s", sorts[over]);
        put_bytes(&workspace, "/t", sorts[under]);
        append(&workspace, "/t", "more");
        let id = id_of(&workspace, "/t");
        faults.fail(StoreFault::Append, 1, FULL);
        mv(&workspace, "/s", "/t").unwrap();
        assert_eq!((bytes(&workspace, "/t"), ls(&workspace)), (sorts[over].into(), "/t".into()));
        assert_eq!(id_of(&workspace, "/t"), id);
        let size = now(workspace.fs().stat(&at("/t"))).unwrap().size;
        assert_eq!(size, sorts[over].len() as u64);
        let next = now(workspace.fs().append(&at("/t"), "x".into(), &WriteOptions::default()));
        assert_eq!(next.unwrap_err().code, FsCode::ENOSPC, "it took one append");
    }
}

#[test]
fn one_append_makes_bytes_of_a_text_and_a_text_of_bytes() {
    let sorts: [&[u8]; 2] = [b"text\n", b"\xff\x00bytes"];
    for (old, new) in [(0, 1), (1, 0), (1, 1)] {
        let (faults, workspace) = on_faults();
        put_bytes(&workspace, "/a", sorts[old]);
        let before = now(workspace.fs().stat(&at("/a"))).unwrap();
        let write = |data: &'static [u8]| {
            now(workspace.fs().write(&at("/a"), data.into(), &WriteOptions::default()))
        };
        faults.fail(StoreFault::Append, 0, FULL);
        assert_eq!(write(sorts[new]).unwrap_err().code, FsCode::ENOSPC);
        assert_eq!(now(workspace.fs().stat(&at("/a"))).unwrap(), before);
        faults.fail(StoreFault::Append, 1, FULL);
        let written = write(sorts[new]).unwrap();
        let read = now(workspace.fs().read(&at("/a"))).unwrap();
        assert_eq!((&read.data[..], Some(&read.version)), (sorts[new], written.version.as_ref()));
        assert_eq!(write(b"x").unwrap_err().code, FsCode::ENOSPC, "it took one append");
        let again = Workspace::open(faults.clone(), WorkspaceOptions::default()).unwrap();
        assert_eq!(bytes(&again, "/a"), sorts[new]);
    }
}

#[test]
fn one_append_copies_a_directory_over_another() {
    let (faults, workspace) = on_faults();
    put(&workspace, "/a/one", "new 1");
    put(&workspace, "/a/two", "new 2");
    put(&workspace, "/a/three", "new 3");
    put(&workspace, "/b/one", "old 1");
    put_bytes(&workspace, "/b/two", b"\xff\x00");
    put(&workspace, "/b/four", "stays");
    faults.fail(StoreFault::Append, 1, FULL);
    cp(&workspace, "/a", "/b").unwrap();
    expect!["/a /a/one /a/three /a/two /b /b/four /b/one /b/three /b/two"]
        .assert_eq(&ls(&workspace));
    assert_eq!(cat(&workspace, "/b/one"), "new 1");
    assert_eq!(cat(&workspace, "/b/two"), "new 2");
    assert_eq!(cat(&workspace, "/b/three"), "new 3");
    let refused = now(workspace.fs().mkdir(&at("/c"), &yfs_vfs::MkdirOptions::default()));
    assert_eq!(refused.unwrap_err().code, FsCode::ENOSPC, "it took one append");
}

#[test]
fn a_failing_append_changes_nothing() {
    for call in [mv, cp] {
        let (faults, workspace) = on_faults();
        put(&workspace, "/s", "new\n");
        put(&workspace, "/t", "old\n");
        let id = id_of(&workspace, "/t");
        let port = workspace.documents().port(id.as_str()).unwrap();
        let mut follower = port.subscribe();
        let (cursor, vector) =
            (now(workspace.fs().cursor()).unwrap(), port.state_vector().unwrap());
        faults.fail(StoreFault::Append, 0, FULL);
        assert_eq!(call(&workspace, "/s", "/t").unwrap_err().code, FsCode::ENOSPC);

        assert_eq!(ls(&workspace), "/s /t");
        assert_eq!(
            (cat(&workspace, "/s"), cat(&workspace, "/t")),
            ("new\n".into(), "old\n".into())
        );
        assert_eq!(port.state_vector().unwrap(), vector);
        assert!(follower.try_recv().is_none());
        assert!(workspace.trash().list().unwrap().is_empty());
        let changes = now(workspace.fs().changes(&cursor, &ChangesOptions::default())).unwrap();
        assert_eq!(changes.events, []);

        // The next edit goes to the logged state, also for a process that loads the document again.
        append(&workspace, "/t", "more\n");
        call(&workspace, "/s", "/t").unwrap();
        append(&workspace, "/t", "end\n");
        let again = Workspace::open(faults.clone(), WorkspaceOptions::default()).unwrap();
        assert_eq!(cat(&again, "/t"), "new\nend\n");
        assert_eq!(cat(&workspace, "/t"), "new\nend\n");
    }
}

#[test]
fn who_has_the_target_open_gets_one_update_and_keeps_what_they_type() {
    let workspace = create();
    put(&workspace, "/s", "one\ntwo\nTHREE\n");
    put(&workspace, "/t", "one\ntwo\nthree\n");
    let mut ada = Editor::open(&workspace, &id_of(&workspace, "/t"));
    let port = workspace.documents().port(ada.id.as_str()).unwrap();
    let mut follower = port.subscribe();
    let typed = ada.type_text("typed\n");
    mv(&workspace, "/s", "/t").unwrap();
    let update = follower.try_recv().expect("an update");
    assert!(follower.try_recv().is_none());
    ada.doc.receive(&update, UpdateSource::Wire).unwrap();
    assert_eq!(ada.doc.text(), "one\ntwo\nTHREE\ntyped\n");
    port.receive(&typed).unwrap();
    assert_eq!(cat(&workspace, "/t"), "one\ntwo\nTHREE\ntyped\n");
}

#[test]
fn what_is_typed_in_the_source_until_it_goes_is_in_the_target() {
    let workspace = create();
    put(&workspace, "/s", "draft\n");
    put(&workspace, "/t", "old\n");
    assert_eq!(cat(&workspace, "/s"), "draft\n");
    let mut ada = Editor::open(&workspace, &id_of(&workspace, "/s"));
    let typed = ada.type_text("typed\n");
    workspace.documents().port(ada.id.as_str()).unwrap().receive(&typed).unwrap();
    mv(&workspace, "/s", "/t").unwrap();
    assert_eq!(cat(&workspace, "/t"), "draft\ntyped\n");
}

#[test]
fn what_another_process_logged_in_the_source_is_in_the_target() {
    let (here, there, _dir) = two_processes();
    for round in 0..20 {
        put(&here, "/s", "first\n");
        put(&here, "/t", "old\n");
        until_equal(&here, &there, &["/s", "/t"]);
        append(&there, "/s", "second\n");
        // Whether or not the first process has applied that.
        mv(&here, "/s", "/t").unwrap();
        assert_eq!(cat(&here, "/t"), "first\nsecond\n", "round {round}");
    }
}

#[test]
fn of_two_processes_that_replace_one_file_each_does_so_whole() {
    let (here, there, _dir) = two_processes();
    for round in 0..20 {
        let texts = [&here, &there].map(|workspace| {
            let name = if std::ptr::eq(workspace, &here) { "a" } else { "b" };
            let text = format!("by {name} in round {round}\n").repeat(20);
            put(workspace, &format!("/{name}"), &text);
            (format!("/{name}"), text)
        });
        put(&here, "/t", &format!("before round {round}\n"));
        until_equal(&here, &there, &["/t", "/a", "/b"]);
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            for (workspace, (from, _)) in [&here, &there].into_iter().zip(&texts) {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    mv(workspace, from, "/t").unwrap();
                });
            }
        });
        until_equal(&here, &there, &["/t"]);
        assert_eq!(ls(&here), "/t");
        let left = cat(&here, "/t");
        assert!(texts.iter().any(|(_, text)| *text == left), "round {round}: {left}");
    }
    let trash = here.trash().list().unwrap();
    assert_eq!(trash.len(), 40, "every source is in the trash");
}

/// Shows the changes since, in order of their paths.
fn changes_since(workspace: &Workspace, since: &ChangeCursor) -> String {
    let changes = now(workspace.fs().changes(since, &ChangesOptions::default())).expect("changes");
    let shown = changes.events.iter().map(|event| {
        let actor = event.actor.as_ref().map_or("no actor".into(), ToString::to_string);
        format!("{:?} {} by {actor}", event.kind, event.path)
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort();
    shown.join(", ")
}

#[test]
fn a_change_is_reported_once_here_and_in_another_process() {
    for (call, expected) in [
        (
            mv as fn(&Workspace, &str, &str) -> Result<(), FsError>,
            expect![[r#"
                here: Changed /t by system:, Removed /s by system:
                there: Changed /t by no actor, Removed /s by no actor"#]],
        ),
        (
            cp,
            expect![[r#"
            here: Changed /t by system:
            there: Changed /t by no actor"#]],
        ),
    ] {
        let Pair { a, b, .. } = &Pair::new();
        put(a, "/s", "longer than before\n");
        put(a, "/t", "old\n");
        assert_eq!(cat(b, "/t"), "old\n");
        let since = [a, b].map(|workspace| now(workspace.fs().cursor()).unwrap());
        call(a, "/s", "/t").unwrap();
        expected.assert_eq(&format!(
            "here: {}\nthere: {}",
            changes_since(a, &since[0]),
            changes_since(b, &since[1])
        ));
        assert_eq!(cat(b, "/t"), "longer than before\n");
    }
}

#[test]
fn an_edit_that_comes_too_late_is_reported_as_a_conflict() {
    let workspace = create();
    put(&workspace, "/s", "draft\n");
    put(&workspace, "/t", "old\n");
    let mut ada = Editor::open(&workspace, &id_of(&workspace, "/s"));
    mv(&workspace, "/s", "/t").unwrap();
    assert_eq!(workspace.conflicts().unwrap(), []);
    let typed = ada.type_text("typed offline\n");
    workspace.documents().port(ada.id.as_str()).unwrap().receive(&typed).unwrap();
    let conflicts = workspace.conflicts().unwrap();
    let shown =
        conflicts.iter().map(|conflict| format!("{} {}", conflict.kind.as_str(), conflict.detail));
    expect!["late changed after it was moved over /t, which lacks that"]
        .assert_eq(&shown.collect::<Vec<_>>().join(", "));
    assert_eq!(conflicts[0].id, ada.id);
    assert_eq!(cat(&workspace, "/t"), "draft\n");

    workspace.trash().restore(&ada.id, Some(&at("/late"))).unwrap();
    assert_eq!(cat(&workspace, "/late"), "draft\ntyped offline\n");
    append(&workspace, "/late", "and on\n");
    assert_eq!(workspace.conflicts().unwrap(), []);
    now(workspace.fs().rm(&at("/late"), &RemoveOptions::default())).unwrap();
    assert_eq!(workspace.conflicts().unwrap(), [], "it was removed on purpose");
}

#[test]
fn a_writer_that_finds_the_source_gone_begins_again() {
    let workspace = create();
    for round in 0..50 {
        put(&workspace, "/s", "");
        put(&workspace, "/t", "old\n");
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                append(&workspace, "/s", "line\n");
            });
            barrier.wait();
            mv(&workspace, "/s", "/t").unwrap();
        });
        let new = now(workspace.fs().read(&at("/s"))).map(|content| content.data.to_vec());
        let left = new.unwrap_or_else(|_| bytes(&workspace, "/t"));
        assert_eq!(left, b"line\n", "round {round}");
        now(workspace.fs().rm(&at("/s"), &RemoveOptions::default())).ok();
    }
    assert_eq!(workspace.conflicts().unwrap(), []);
}

/// A text with a person who types into it, and a program that replaces it by bytes.
struct TextAndBytes {
    workspace: Workspace,
    editor: Editor,
    path: &'static str,
}

impl TextAndBytes {
    fn new(path: &'static str) -> Self {
        let workspace = create();
        put_bytes(&workspace, path, b"base\n");
        let info = workspace.documents().info(&at(path)).expect("a document");
        let mut editor = Editor::open(&workspace, &info.guid);
        editor.doc.set_kind(info.kind.expect("a text"));
        Self { workspace, editor, path }
    }

    fn deliver(&self, update: &[u8]) {
        let port = self.workspace.documents().port(self.editor.id.as_str()).expect("a port");
        port.receive(update).expect("taken");
    }

    fn put_bytes(&self, data: &'static [u8]) {
        put_bytes(&self.workspace, self.path, data);
    }

    fn details(&self) -> Vec<String> {
        let conflicts = self.workspace.conflicts().expect("a list");
        let ids = [self.editor.id.clone()].into();
        let of_file = self.workspace.replication().content_conflicts(&ids);
        assert_eq!(of_file.expect("a list"), conflicts);
        let detail = |conflict: yfs::workspace::conflicts::ConflictReport| {
            assert_eq!((conflict.kind, &*conflict.path), (ConflictKind::Blob, self.path));
            conflict.detail
        };
        conflicts.into_iter().map(detail).collect()
    }
}

/// A program replaces a text by bytes while a person types into it: the words are only in the
/// versions of the file, and the list of conflicts says so.
#[test]
fn words_typed_into_a_file_that_becomes_bytes_are_a_conflict() {
    for path in ["/a.txt", "/a.md"] {
        let mut case = TextAndBytes::new(path);
        let before = case.editor.type_text("\nbefore\n");
        case.deliver(&before);
        case.put_bytes(b"bin\0\x01\x02\xff");
        assert_eq!(case.details(), [""; 0], "the program had read all of it");
        let typed = case.editor.type_text("\nTYPED\n");
        case.deliver(&typed);
        let details = case.details();
        let [detail] = details.as_slice() else { panic!("{details:?}") };
        assert!(detail.starts_with("\"TYPED\" was typed"), "{detail}");
        let (_, number) = detail.rsplit_once(&format!("yfs versions restore '{path}' ")).unwrap();
        let number = number.parse().expect("a number");
        case.workspace.history().restore_version(&at(path), number).expect("restored");
        assert_eq!(cat(&case.workspace, path), "base\n\nbefore\n\nTYPED\n");
        assert_eq!(case.details(), [""; 0]);
        case.put_bytes(b"bin\0\x01\x02\xff");
        assert_eq!(case.details(), [""; 0], "the program had read all of it");
    }
}

/// The words were typed before the bytes arrived, at a replica that was not connected.
#[test]
fn words_that_arrive_after_bytes_are_a_conflict_until_a_person_accepts_the_bytes() {
    let mut case = TextAndBytes::new("/a.txt");
    let typed = case.editor.type_text("OFFLINE\n");
    case.put_bytes(b"\xff\0");
    case.deliver(&typed);
    assert_eq!(case.details().len(), 1);
    assert!(case.workspace.maintenance().keep_word(&at("/a.txt"), 0).expect("resolved"));
    assert_eq!(case.details(), [""; 0]);
    assert_eq!(bytes(&case.workspace, "/a.txt"), b"\xff\0");
    assert!(!case.workspace.maintenance().keep_word(&at("/a.txt"), 0).expect("nothing left"));
    // Another program has seen the next words.
    let typed = case.editor.type_text("MORE\n");
    case.deliver(&typed);
    assert!(case.details()[0].starts_with("\"MORE\" was typed"));
    case.put_bytes(b"\xfe\0");
    assert_eq!(case.details(), [""; 0]);
}

/// The command in the line is one that a shell takes.
#[test]
fn the_command_of_a_conflict_names_a_path_with_an_apostrophe() {
    let mut case = TextAndBytes::new("/it's.txt");
    let typed = case.editor.type_text("TYPED\n");
    case.put_bytes(b"\xff\0");
    case.deliver(&typed);
    assert!(case.details()[0].contains(r"restore '/it'\''s.txt' "), "{:?}", case.details());
}

/// The new content of a write was logged before the mode, type, metadata and time of the same
/// write: others read it with the old ones, and a failure between kept that.
#[test]
fn a_write_is_logged_with_its_mode_type_metadata_and_time_or_not_at_all() {
    for (old, new) in [("one", "two"), ("\0", "\0\0"), ("one", "\0"), ("\0", "two")] {
        let (faults, workspace) = on_faults();
        put_bytes(&workspace, "/f", old.as_bytes());
        let before = now(workspace.fs().stat(&at("/f"))).expect("there");
        let options = WriteOptions {
            mode: Some(0o600),
            mime: Some("text/x-test".into()),
            metadata: serde_json::json!({ "n": 1 }).as_object().cloned(),
            mtime: Some(Millis(7)),
            ..WriteOptions::default()
        };
        let write = || now(workspace.fs().write(&at("/f"), new.into(), &options));
        faults.fail(StoreFault::Append, 0, FULL);
        write().expect_err("the store is full");
        assert_eq!(now(workspace.fs().stat(&at("/f"))).expect("there"), before);
        assert_eq!(bytes(&workspace, "/f"), old.as_bytes());

        faults.fail(StoreFault::Append, 1, FULL);
        write().expect("one append");
        assert_eq!(bytes(&workspace, "/f"), new.as_bytes());
        let stat = now(workspace.fs().stat(&at("/f"))).expect("there");
        assert_eq!((stat.mode, stat.mtime), (0o600, Millis(7)), "{old:?} {new:?}");
        assert_eq!(stat.mime.as_deref(), Some("text/x-test"));
        assert_eq!(stat.metadata["n"], 1);
    }
}
