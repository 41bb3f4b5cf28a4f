//! Features of a workspace beyond a filesystem: trash, versions, conflicts, moves to other
//! workspaces, several handles.

use std::{sync::Arc, time::Duration};

use crate::support::handles::{
    Pair, append, at, cat, create, ls, now, put, two_processes, until_equal,
};
use crate::support::step_clock::{LoadCounter, TestWorkspace};
use expect_test::expect;
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::{actor::Actor, id::FileId};
use yfs_store::{MemoryStore, SqliteStore, Store};
use yfs_vfs::{
    CopyOptions, FileSystem, FsCode, MoveOptions, RemoveOptions, TextReplacement, VersionBase,
    WriteOptions,
};

#[test]
fn trash_brings_back_a_directory_with_all_that_is_in_it() {
    let workspace = create();
    put(&workspace, "/a/b/one.txt", "1");
    put(&workspace, "/a/two.txt", "2");
    rm(&workspace, "/a");
    assert_eq!(ls(&workspace), "");
    let trash = workspace.trash().list().unwrap();
    assert_eq!((trash.len(), trash[0].n_hidden, trash[0].original.as_str()), (1, 3, "/a"));
    workspace.trash().restore(&trash[0].id, None).unwrap();
    expect!["/a /a/b /a/b/one.txt /a/two.txt"].assert_eq(&ls(&workspace));
    assert_eq!(cat(&workspace, "/a/b/one.txt"), "1");
}

#[test]
fn what_was_purged_goes_after_its_retention_and_not_before() {
    let workspace = create();
    put(&workspace, "/a/one.txt", "1");
    rm(&workspace, "/a");
    let id = workspace.trash().list().unwrap()[0].id.clone();
    assert_eq!(workspace.trash().purge(std::slice::from_ref(&id)).unwrap(), 2);
    assert!(workspace.trash().list().unwrap().is_empty());
    let kept = workspace.trash().expire(Duration::from_secs(3600)).unwrap();
    assert_eq!(kept.n_rows, 0);
    let gone = workspace.trash().expire(Duration::ZERO).unwrap();
    assert_eq!((gone.n_rows, gone.n_documents), (2, 1));
    assert_eq!(workspace.maintenance().stats().unwrap().n_files, 0);
}

#[test]
fn emptying_the_trash_loads_no_document_while_rows_name_all_blobs() {
    let (own, workspace) = TestWorkspace::create();
    for number in 0..20 {
        put(&workspace, &format!("/{number}.txt"), "text");
    }
    let (bytes, options) = (bytes::Bytes::from_static(b"\xff"), WriteOptions::default());
    now(workspace.fs().write(&at("/a.bin"), bytes, &options)).unwrap();
    put(&workspace, "/gone.txt", "1");
    rm(&workspace, "/gone.txt");
    let id = workspace.trash().list().unwrap()[0].id.clone();
    workspace.trash().purge(&[id]).unwrap();
    workspace.close().unwrap();

    let loads = Arc::<LoadCounter>::default();
    let workspace = own.reopen(&loads);
    let gone = workspace.trash().expire(Duration::ZERO).unwrap();
    assert_eq!((gone.n_rows, loads.count()), (1, 0), "rows, and documents loaded");
    assert_eq!(&now(workspace.fs().read(&at("/a.bin"))).unwrap().data[..], b"\xff");

    rm(&workspace, "/a.bin");
    let id = workspace.trash().list().unwrap()[0].id.clone();
    workspace.trash().purge(&[id]).unwrap();
    for _ in 0..3 {
        workspace.trash().expire(Duration::ZERO).unwrap();
    }
    assert!(workspace.store().blobs().unwrap().is_empty());
}

#[test]
fn restoring_reverses_a_purge() {
    let workspace = create();
    put(&workspace, "/a/one.txt", "1");
    rm(&workspace, "/a");
    let id = workspace.trash().list().unwrap()[0].id.clone();
    workspace.trash().purge(std::slice::from_ref(&id)).unwrap();
    workspace.trash().restore(&id, None).unwrap();
    assert_eq!(workspace.trash().expire(Duration::ZERO).unwrap().n_rows, 0);
    assert_eq!(cat(&workspace, "/a/one.txt"), "1");
}

#[test]
fn a_file_in_the_trash_is_read_where_it_is() {
    let workspace = create();
    put(&workspace, "/a/one.txt", "1");
    put(&workspace, "/two.bin", "2\0\u{1}");
    let id = |path| now(workspace.fs().stat(&at(path))).unwrap().id;
    let [directory, one, two] = ["/a", "/a/one.txt", "/two.bin"].map(id);
    assert!(workspace.trash().content(&one).is_err(), "it is no file in the trash");
    rm(&workspace, "/a");
    rm(&workspace, "/two.bin");
    assert_eq!(&*workspace.trash().content(&one).unwrap(), b"1");
    assert_eq!(&*workspace.trash().content(&two).unwrap(), b"2\0\x01");
    assert!(workspace.trash().content(&directory).is_err());
    assert_eq!(workspace.trash().list().unwrap().len(), 2);
}

#[test]
fn unknown_ids_and_visible_files_are_refused_by_the_trash() {
    let workspace = create();
    put(&workspace, "/a.txt", "1");
    let id = now(workspace.fs().stat(&at("/a.txt"))).unwrap().id;
    assert!(workspace.trash().restore(&id, None).is_err());
    assert!(workspace.trash().purge(&[id]).is_err());
    assert!(workspace.trash().restore(&FileId::parse("unknown").unwrap(), None).is_err());
    assert_eq!(cat(&workspace, "/a.txt"), "1");
}

#[test]
fn every_actor_leaves_a_version_that_can_be_read_and_restored() {
    let workspace = create();
    let by = |actor: &str| workspace.fs_for(actor.parse::<Actor>().unwrap());
    let write = |actor, text: &'static str| {
        now(by(actor).write(&at("/a.txt"), text.into(), &WriteOptions::default())).unwrap();
    };
    write("human:ada", "first\n");
    write("agent:bot", "first\nsecond\n");
    write("human:ada", "third\n");
    let versions = workspace.history().versions(&at("/a.txt")).unwrap();
    let shown: Vec<String> = versions
        .iter()
        .map(|version| {
            let content =
                workspace.history().version_content(&at("/a.txt"), version.number).unwrap();
            let actor = version.actor.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{} {actor} {:?}", version.number, String::from_utf8_lossy(&content))
        })
        .collect();
    expect![[r#"
        1 human:ada "first\n"
        2 agent:bot "first\nsecond\n"
        3 human:ada "third\n""#]]
    .assert_eq(&shown.join("\n"));
    workspace.history().restore_version(&at("/a.txt"), 2).unwrap();
    assert_eq!(cat(&workspace, "/a.txt"), "first\nsecond\n");
    assert!(workspace.history().version_content(&at("/a.txt"), 99).is_err());
}

#[test]
fn a_stale_base_merges_with_what_others_wrote() {
    let workspace = create();
    put(&workspace, "/a.txt", "one\ntwo\nthree\n");
    let read = now(workspace.fs().read(&at("/a.txt"))).unwrap();
    now(workspace.fs().edit(&at("/a.txt"), &TextReplacement::once("one", "ONE"))).unwrap();
    let options =
        WriteOptions { base: Some(VersionBase::Version(read.version)), ..WriteOptions::default() };
    let text = "one\ntwo\nTHREE\n";
    now(workspace.fs().write(&at("/a.txt"), text.into(), &options)).unwrap();
    assert_eq!(cat(&workspace, "/a.txt"), "ONE\ntwo\nTHREE\n");
}

/// Each word of a conflict has its writer, and each place is settled by itself.
#[test]
fn words_in_conflict_have_writers_and_are_settled_one_by_one() {
    for path in ["/a.txt", "/a.md"] {
        let workspace = create();
        put(&workspace, path, "one 30 a\n\ntwo 30 b\n");
        let read = now(workspace.fs().read(&at(path))).unwrap();
        let [ana, ben] = ["human:ana", "human:ben"]
            .map(|actor| workspace.fs_for(actor.parse::<Actor>().unwrap()));
        let write = |fs: &yfs::WorkspaceFs, text: &'static str| {
            let base = Some(VersionBase::Version(read.version.clone()));
            let options = WriteOptions { base, ..WriteOptions::default() };
            now(fs.write(&at(path), text.into(), &options)).unwrap();
        };
        write(&ana, "one 45 a\n\ntwo 45 b\n");
        write(&ben, "one 60 a\n\ntwo 60 b\n");
        let listed = ana.word_conflicts(&at(path)).unwrap();
        let [first, second] = listed.as_slice() else { panic!("{listed:?}") };
        assert_eq!((first.line, second.line), (1, 3));
        for word in first.words.iter().chain(&second.words) {
            let writer = if word.text == "45" { "human:ana" } else { "human:ben" };
            assert_eq!(word.actors, [writer.parse::<Actor>().unwrap()], "{word:?}");
        }
        let texts: Vec<String> = second.words.iter().map(|word| word.text.clone()).collect();
        assert!(!ben.settle_words(&at(path), 0, &["7".to_owned(), "8".to_owned()], None).unwrap());
        assert!(ben.settle_words(&at(path), 1, &texts, None).unwrap());
        let left = ana.word_conflicts(&at(path)).unwrap();
        assert_eq!(left.as_slice(), std::slice::from_ref(first));
        assert!(ben.settle_words(&at(path), 0, &texts, Some(0)).unwrap());
        assert_eq!(ana.word_conflicts(&at(path)).unwrap(), []);
        let [kept, both] = [texts[0].clone(), texts.join(" ")];
        assert_eq!(cat(&workspace, path), format!("one {kept} a\n\ntwo {both} b\n"));
    }
}

#[test]
fn a_base_whose_text_was_not_seen_overwrites_none() {
    let workspace = create();
    let write = |data: &'static [u8], options: &WriteOptions| {
        now(workspace.fs().write(&at("/a.txt"), data.into(), options))
    };
    write(b"one", &WriteOptions::default()).unwrap();
    write(b"\xff\xfe", &WriteOptions::default()).unwrap();
    let read = now(workspace.fs().read(&at("/a.txt"))).unwrap();
    write(b"two", &WriteOptions::default()).unwrap();
    for base in [VersionBase::Version(read.version), VersionBase::Content(read.data)] {
        let options = WriteOptions { base: Some(base), ..WriteOptions::default() };
        assert_eq!(write(b"", &options).unwrap_err().code, FsCode::ESTALE);
        assert_eq!(cat(&workspace, "/a.txt"), "two");
    }
}

#[test]
fn a_base_without_content_overwrites_nothing_even_after_compaction() {
    let workspace = create();
    put(&workspace, "/a.txt", "");
    let read = now(workspace.fs().read(&at("/a.txt"))).unwrap();
    append(&workspace, "/a.txt", "one\n");
    workspace.maintenance().compact(&mut |_, _| ()).unwrap();
    let options =
        WriteOptions { base: Some(VersionBase::Version(read.version)), ..WriteOptions::default() };
    now(workspace.fs().write(&at("/a.txt"), "two\n".into(), &options)).unwrap();
    let text = cat(&workspace, "/a.txt");
    assert!(text == "one\ntwo\n" || text == "two\none\n", "{text:?}");
}

#[test]
fn an_expected_version_that_has_passed_is_refused_and_changes_nothing() {
    let workspace = create();
    put(&workspace, "/a.txt", "one");
    let version = now(workspace.fs().stat(&at("/a.txt"))).unwrap().version;
    append(&workspace, "/a.txt", " two");
    let options = WriteOptions { expected_version: version, ..WriteOptions::default() };
    let error = now(workspace.fs().write(&at("/a.txt"), "x".into(), &options)).unwrap_err();
    assert_eq!(error.code, FsCode::ESTALE);
    assert_eq!(cat(&workspace, "/a.txt"), "one two");
}

#[test]
fn saving_by_rename_keeps_the_identity_of_the_file() {
    let workspace = create();
    put(&workspace, "/notes.md", "old text\n");
    let id = now(workspace.fs().stat(&at("/notes.md"))).unwrap().id;
    put(&workspace, "/notes.tmp", "new text\n");
    now(workspace.fs().mv(&at("/notes.tmp"), &at("/notes.md"), &MoveOptions::default())).unwrap();
    assert_eq!(now(workspace.fs().stat(&at("/notes.md"))).unwrap().id, id);
    assert_eq!(cat(&workspace, "/notes.md"), "new text\n");
    assert_eq!(ls(&workspace), "/notes.md");
}

#[test]
fn a_directory_moves_to_another_workspace_with_its_ids_and_history() {
    let (here, there) = (create(), create());
    put(&here, "/a/one.txt", "first\n");
    let fs = here.fs_for("agent:bot".parse().unwrap());
    now(fs.write(&at("/a/one.txt"), "second\n".into(), &WriteOptions::default())).unwrap();
    now(here.fs().write(&at("/a/b.bin"), vec![0xff, 0].into(), &WriteOptions::default())).unwrap();
    let id = now(here.fs().stat(&at("/a/one.txt"))).unwrap().id;
    here.move_to(&at("/a"), &there, &at("/came")).unwrap();
    assert_eq!(ls(&here), "");
    assert_eq!(ls(&there), "/came /came/b.bin /came/one.txt");
    assert_eq!(now(there.fs().stat(&at("/came/one.txt"))).unwrap().id, id);
    let first = there.history().version_content(&at("/came/one.txt"), 1).unwrap();
    assert_eq!(&first[..], b"first\n");
    assert_eq!(&now(there.fs().read(&at("/came/b.bin"))).unwrap().data[..], [0xff, 0]);
    there.move_to(&at("/came"), &here, &at("/back")).unwrap();
    assert_eq!(cat(&here, "/back/one.txt"), "second\n");
}

#[test]
fn moving_onto_an_object_in_another_workspace_changes_nothing() {
    let (here, there) = (create(), create());
    put(&here, "/a.txt", "a");
    put(&there, "/b.txt", "b");
    assert!(here.move_to(&at("/a.txt"), &there, &at("/b.txt")).is_err());
    assert!(here.move_to(&at("/a.txt"), &there, &at("/no/b.txt")).is_err());
    assert_eq!((ls(&here), ls(&there)), ("/a.txt".to_owned(), "/b.txt".to_owned()));
}

#[test]
fn two_handles_on_one_store_see_each_other() {
    let pair = Pair::new();
    put(&pair.a, "/a.txt", "from a\n");
    append(&pair.b, "/a.txt", "from b\n");
    append(&pair.a, "/a.txt", "again a\n");
    for workspace in [&pair.a, &pair.b] {
        assert_eq!(cat(workspace, "/a.txt"), "from a\nfrom b\nagain a\n");
    }
    now(pair.b.fs().mv(&at("/a.txt"), &at("/c.txt"), &MoveOptions::default())).unwrap();
    assert_eq!(ls(&pair.a), "/c.txt");
}

#[test]
fn a_call_that_changes_nothing_passes_over_nothing_of_others() {
    let (here, there, _dir) = two_processes();
    let copy = || now(here.fs().cp(&at("/y"), &at("/z"), &CopyOptions::default())).unwrap();
    put(&here, "/y", "the same");
    copy();
    copy();
    for _ in 0..10 {
        put(&here, "/x", "first\n");
        until_equal(&here, &there, &["/x", "/z"]);
        append(&there, "/x", "second\n");
        copy();
        until_equal(&here, &there, &["/x"]);
    }
}

#[test]
fn only_one_of_two_handles_creates_a_file() {
    let pair = Pair::new();
    let options = WriteOptions { create: yfs_vfs::CreateMode::New, ..WriteOptions::default() };
    now(pair.a.fs().write(&at("/x"), "a".into(), &options)).unwrap();
    let error = now(pair.b.fs().write(&at("/x"), "b".into(), &options)).unwrap_err();
    assert_eq!(error.code, FsCode::EEXIST);
    assert_eq!(cat(&pair.b, "/x"), "a");
}

#[test]
fn compaction_by_one_handle_loses_nothing_for_the_other() {
    let pair = Pair::new();
    for number in 0..30 {
        append(if number % 2 == 0 { &pair.a } else { &pair.b }, "/log", &format!("{number}\n"));
    }
    pair.a.maintenance().compact(&mut |_, _| ()).unwrap();
    append(&pair.b, "/log", "after\n");
    pair.b.maintenance().compact(&mut |_, _| ()).unwrap();
    let expected: String = (0..30).map(|number| format!("{number}\n")).collect();
    assert_eq!(cat(&pair.a, "/log"), format!("{expected}after\n"));
}

#[test]
fn a_store_holds_one_workspace() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    assert!(Workspace::open(store.clone(), WorkspaceOptions::default()).is_err());
    Workspace::create(store.clone(), WorkspaceOptions::default()).unwrap();
    assert!(Workspace::create(store, WorkspaceOptions::default()).is_err());
}

#[test]
fn a_reader_gets_an_error_when_it_writes() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("w.db");
    let writer = Workspace::create(
        Arc::new(SqliteStore::create_new(&file).unwrap()),
        WorkspaceOptions::default(),
    )
    .unwrap();
    put(&writer, "/a", "text");
    let head = writer.store().head().unwrap();
    let reader = Workspace::open_at(&file, WorkspaceOptions::reading()).unwrap();
    assert_eq!(cat(&reader, "/a"), "text");
    let error =
        now(reader.fs().append(&at("/a"), "x".into(), &WriteOptions::default())).unwrap_err();
    assert_eq!(error.code, FsCode::EROFS);
    drop(reader);
    assert_eq!(writer.store().head().unwrap(), head);
}

fn rm(workspace: &Workspace, path: &str) {
    let options = RemoveOptions { recursive: true, force: false };
    now(workspace.fs().rm(&at(path), &options)).expect("removed");
}

#[test]
fn documents_are_kept_while_a_handle_is_held() {
    let workspace = create();
    put(&workspace, "/a.txt", "one");
    let documents = workspace.documents();
    assert_eq!(&*documents.load_and_cache(&at("/a.txt")).unwrap(), "one");
    let handle = documents.acquire(&at("/a.txt")).unwrap();
    assert!(documents.peek(&at("/a.txt")).unwrap().is_some());
    assert_eq!(documents.usage().0, 1);
    append(&workspace, "/a.txt", " two");
    assert_eq!(&*documents.load_and_cache(&at("/a.txt")).unwrap(), "one two");
    drop(handle);
    assert!(documents.load_and_cache(&at("/missing")).is_err());
}

/// A mirror reads every content when it begins.
#[test]
fn contents_that_are_read_once_for_a_copy_leave_no_document_in_memory() {
    let workspace = create();
    for number in 0..20 {
        put(&workspace, &format!("/{number}.md"), &format!("- {number}\n"));
    }
    let objects = workspace.nodes().objects(None).unwrap();
    assert_eq!(objects.len(), 20);
    for object in &objects {
        let held = workspace.nodes().read_durable(&object.id).unwrap();
        let name = object.name.strip_suffix(".md").unwrap();
        assert_eq!(held.data, format!("- {name}\n").as_bytes());
    }
    assert_eq!(workspace.documents().usage(), (0, 0));
    // One that is in use stays.
    let editor = workspace.documents().port(objects[0].id.as_str()).unwrap();
    workspace.nodes().read_durable(&objects[0].id).unwrap();
    assert_eq!(workspace.documents().usage().0, 1);
    drop(editor);
}
