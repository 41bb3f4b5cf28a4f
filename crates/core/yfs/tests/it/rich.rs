//! Markdown files: rich text for editors, bytes for all other programs, and conversions by
//! renaming.

use std::sync::Arc;

use crate::support::handles::{Pair, append, at, cat, create, ls, now, put};
use yfs::{DocPort, Workspace, WorkspaceOptions, workspace::conflicts::ConflictKind};
use yfs_engine::{
    content::{ContentDoc, RunAuthor},
    gate::{GateLimits, UpdateSource},
    id::{ClientId, FileId},
    kind::{ContentRoot, FileCategory, SchemaProfile},
    time::Millis,
};
use yfs_store::{DocName, LocalState, MemoryStore, SqliteStore};
use yfs_vfs::{CopyOptions, FileSystem, MoveOptions, TextReplacement, VersionBase, WriteOptions};

const FILE: &str = "---\ntitle: 'x' # y\n---\nTitle\n=====\n\n* one\n* two\n";

/// Makes a peer that has the file open over the wire.
fn open(port: &DocPort, client: u64, kind: ContentRoot) -> ContentDoc {
    let client = ClientId::new(client).expect("53 bits");
    let mut doc = ContentDoc::new(port.guid(), client, GateLimits::default());
    doc.set_kind(kind);
    let all = port.diff(&doc.gate().state_vector()).expect("a state");
    doc.receive(&all, UpdateSource::Wire).expect("taken");
    doc
}

fn ada() -> RunAuthor {
    RunAuthor::new("human:ada".parse().expect("an actor"), Millis(1))
}

fn id_of(workspace: &Workspace, path: &str) -> FileId {
    workspace.documents().info(&at(path)).expect("a document").guid
}

fn port(workspace: &Workspace, path: &str) -> DocPort {
    workspace.documents().port(id_of(workspace, path).as_str()).expect("a port")
}

fn mv(workspace: &Workspace, from: &str, to: &str) {
    now(workspace.fs().mv(&at(from), &at(to), &MoveOptions::default())).expect("moved");
}

fn kind(workspace: &Workspace, path: &str) -> Option<ContentRoot> {
    workspace.documents().info(&at(path)).expect("a document").kind
}

const RICH: ContentRoot = ContentRoot::Rich(SchemaProfile::Gfm);

#[test]
fn a_file_is_the_same_to_the_byte_and_in_size() {
    let Pair { a, b, _dir } = Pair::new();
    put(&a, "/plan.md", FILE);
    assert_eq!(cat(&b, "/plan.md"), FILE);
    assert_eq!(now(b.fs().stat(&at("/plan.md"))).expect("there").size, FILE.len() as u64);
    append(&b, "/plan.md", "* three\n");
    let edit = TextReplacement::once("two", "2");
    assert_eq!(now(a.fs().edit(&at("/plan.md"), &edit)).expect("edited").n_replaced, 1);
    let both = FILE.replace("two", "2") + "* three\n";
    assert_eq!(cat(&b, "/plan.md"), both);
    assert_eq!(now(b.fs().stat(&at("/plan.md"))).expect("there").size, both.len() as u64);
    let info = b.documents().info(&at("/plan.md")).expect("a document");
    assert_eq!(
        (info.category, info.kind, info.root()),
        (FileCategory::RichText, Some(RICH), Some("richtext"))
    );
    assert!(open(&port(&b, "/plan.md"), 9, RICH).text() == both);
}

#[test]
fn an_empty_file_has_a_paragraph_to_type_in() {
    let workspace = create();
    put(&workspace, "/new.md", "");
    assert_eq!(cat(&workspace, "/new.md"), "");
    let doc = open(&port(&workspace, "/new.md"), 9, RICH);
    let tree = doc.gate().read(|txn| yfs_engine::rich::read(txn, SchemaProfile::Gfm));
    assert_eq!(tree.to_string(), "doc(paragraph)");
}

#[test]
fn an_editor_and_a_writer_of_files_change_it_at_once() {
    let workspace = create();
    put(&workspace, "/plan.md", "# Plan\n\nOne.\n\nTwo.\n");
    let read = now(workspace.fs().read(&at("/plan.md"))).expect("read");
    let port = port(&workspace, "/plan.md");
    let mut editor = open(&port, 9, RICH);
    let typed = editor.edit("One.", "One, typed.", false, &ada()).expect("edited").update;
    port.receive(&typed.expect("an update")).expect("taken");
    let size = now(workspace.fs().stat(&at("/plan.md"))).expect("there").size;
    assert_eq!(size, "# Plan\n\nOne, typed.\n\nTwo.\n".len() as u64);
    let options =
        WriteOptions { base: Some(VersionBase::Version(read.version)), ..WriteOptions::default() };
    now(workspace.fs().write(
        &at("/plan.md"),
        "# Plan\n\nOne.\n\nTwo, written.\n".into(),
        &options,
    ))
    .expect("written");
    assert_eq!(cat(&workspace, "/plan.md"), "# Plan\n\nOne, typed.\n\nTwo, written.\n");
}

#[test]
fn renaming_converts_in_the_same_step() {
    let Pair { a, b, _dir } = Pair::new();
    put(&a, "/plan.md", FILE);
    let guid = id_of(&a, "/plan.md");
    mv(&a, "/plan.md", "/plan.txt");
    assert_eq!(
        (cat(&b, "/plan.txt"), kind(&b, "/plan.txt")),
        (FILE.to_owned(), Some(ContentRoot::Text))
    );
    let doc = open(&port(&b, "/plan.txt"), 9, ContentRoot::Text);
    assert_eq!((doc.conversion().current_root(), doc.text()), (ContentRoot::Text, FILE.to_owned()));
    append(&b, "/plan.txt", "more\n");
    mv(&b, "/plan.txt", "/again.md");
    assert_eq!(cat(&a, "/again.md"), FILE.to_owned() + "more\n");
    assert_eq!(open(&port(&a, "/again.md"), 10, RICH).conversion().current_root(), RICH);
    assert_eq!(id_of(&a, "/again.md"), guid);
    assert_eq!(a.conflicts().expect("listed"), []);
}

#[test]
fn copying_and_moving_over_keep_to_the_name_of_the_target() {
    let workspace = create();
    put(&workspace, "/a.md", FILE);
    put(&workspace, "/b.txt", "old\n");
    let copy = |from: &str, to: &str| {
        now(workspace.fs().cp(&at(from), &at(to), &CopyOptions::default())).expect("copied");
    };
    copy("/a.md", "/c.txt");
    copy("/a.md", "/b.txt");
    copy("/c.txt", "/d.md");
    for path in ["/a.md", "/b.txt", "/c.txt", "/d.md"] {
        assert_eq!(cat(&workspace, path), FILE, "{path}");
        let kind = kind(&workspace, path).expect("it holds text");
        assert_eq!(
            open(&port(&workspace, path), 9, kind).conversion().current_root(),
            kind,
            "{path}"
        );
    }
    put(&workspace, "/c.txt", "new\n");
    mv(&workspace, "/c.txt", "/a.md");
    assert_eq!(cat(&workspace, "/a.md"), "new\n");
    assert_eq!(open(&port(&workspace, "/a.md"), 9, RICH).conversion().current_root(), RICH);
    assert_eq!(ls(&workspace), "/a.md /b.txt /d.md");
}

#[test]
fn blobs_and_rich_text_change_into_each_other() {
    let workspace = create();
    put(&workspace, "/a.md", FILE);
    let bytes = vec![0xff, 0xfe, 0];
    let write = |data: Vec<u8>| {
        now(workspace.fs().write(&at("/a.md"), data.into(), &WriteOptions::default()))
    };
    write(bytes.clone()).expect("written");
    assert_eq!(now(workspace.fs().read(&at("/a.md"))).expect("read").data[..], bytes);
    assert_eq!(kind(&workspace, "/a.md"), None);
    mv(&workspace, "/a.md", "/b.txt");
    mv(&workspace, "/b.txt", "/c.md");
    put(&workspace, "/c.md", FILE);
    assert_eq!(cat(&workspace, "/c.md"), FILE);
    assert_eq!(open(&port(&workspace, "/c.md"), 9, RICH).text(), FILE);
}

/// A file from before there was rich text, or after a peer renamed it without converting it.
#[test]
fn markdown_that_is_kept_as_text_is_read_and_converted_when_an_editor_opens_it() {
    let Pair { a, b, _dir } = Pair::new();
    put(&a, "/text.txt", FILE);
    // Only the row is renamed.
    let main = a.documents().port(a.id().as_str()).expect("the main document");
    let renamed = rename_row(&a, &id_of(&a, "/text.txt"), "plain.md");
    main.receive(&renamed).expect("taken");
    assert_eq!(cat(&a, "/plain.md"), FILE);
    assert_eq!(cat(&b, "/plain.md"), FILE);
    assert_eq!(a.conflicts().expect("listed")[0].kind, ConflictKind::Unsettled);
    // Opening it for an editor converts it, with the same result in every process.
    let (here, there) = (port(&a, "/plain.md"), port(&b, "/plain.md"));
    let (here, there) = (open(&here, 9, RICH), open(&there, 10, RICH));
    assert_eq!((here.conversion().current_root(), here.text()), (RICH, FILE.to_owned()));
    assert_eq!((there.conversion().current_root(), there.text()), (RICH, FILE.to_owned()));
    assert_eq!(a.conflicts().expect("listed"), []);
}

/// Returns the update with which another peer gives a file another name.
fn rename_row(workspace: &Workspace, id: &FileId, name: &str) -> Vec<u8> {
    use yfs_engine::{
        main_doc::MainDoc,
        table::{RowChanges, RowWrite, WriterIds},
    };
    let [rows, cells, meta] = [901, 902, 903].map(|id| ClientId::new(id).expect("53 bits"));
    let mut peer =
        MainDoc::new(workspace.id(), WriterIds { rows, cells, meta }, GateLimits::default());
    let main = workspace.documents().port(workspace.id().as_str()).expect("the main document");
    let all = main.diff(&peer.state_vector()).expect("a state");
    peer.receive(&all, UpdateSource::Wire).expect("taken");
    let changes = RowChanges { name: Some(name.into()), ..RowChanges::default() };
    let write = RowWrite::Update { id: id.clone(), changes };
    peer.plan(&[write], Millis(1)).expect("planned")
}

#[test]
fn a_doubled_body_is_shown_and_repaired() {
    let workspace = create();
    put(&workspace, "/a.md", "# One\n\nTwo *three*.\n");
    put(&workspace, "/b.md", "# One\n");
    // A settled file is checked again after it was written.
    assert_eq!(workspace.conflicts().expect("listed"), []);
    let port = port(&workspace, "/a.md");
    let mut plain =
        ContentDoc::new(port.guid(), ClientId::new(5).expect("53 bits"), GateLimits::default());
    plain.set_kind(RICH);
    let update = plain.write("# One\n\nTwo *three*.\n", None, &ada()).expect("written").update;
    port.receive(&update.expect("an update")).expect("taken");
    assert_eq!(cat(&workspace, "/a.md").matches("# One").count(), 2);
    for _ in 0..2 {
        let conflicts = workspace.conflicts().expect("listed");
        let found: Vec<_> =
            conflicts.iter().map(|conflict| (conflict.kind, conflict.path.as_str())).collect();
        assert_eq!(found, [(ConflictKind::Doubled, "/a.md")]);
    }
    assert!(workspace.maintenance().repair(&at("/a.md")).expect("repaired"));
    assert!(!workspace.maintenance().repair(&at("/a.md")).expect("nothing to do"));
    assert_eq!(cat(&workspace, "/a.md"), "# One\n\nTwo *three*.\n");
    assert_eq!(workspace.conflicts().expect("listed"), []);
}

/// The result of a check is kept beside the log for the next check; files of several writers are
/// loaded for it once.
#[test]
fn what_was_found_settled_is_kept_until_it_is_written() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("workspace.db");
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let store = Arc::new(SqliteStore::create_new(&file).expect("a store"));
    let a = Workspace::create(store.clone(), options.clone()).expect("a workspace");
    let b = Workspace::open_at(&file, options).expect("a second handle");
    put(&a, "/one.md", FILE);
    put(&a, "/two.md", FILE);
    append(&b, "/two.md", "* three\n");
    put(&a, "/three.txt", FILE);
    let names = ["/one.md", "/two.md", "/three.txt"].map(|path| DocName::from(&id_of(&a, path)));
    let are_settled = || {
        let facts = store.doc_facts(&names).expect("facts");
        facts.iter().map(|fact| fact.is_some_and(|fact| fact.hash.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(are_settled(), [true, false, true], "the writer of a new file knows its form");
    assert_eq!(a.conflicts().expect("listed"), []);
    assert_eq!(are_settled(), [true; 3]);
    append(&a, "/one.md", "* three\n");
    append(&a, "/three.txt", "* three\n");
    assert_eq!(are_settled(), [false, true, true]);
    assert_eq!(now(b.fs().stat(&at("/two.md"))).expect("there").size, FILE.len() as u64 + 8);
}

/// An editor that was offline continues in the form that a file had before its name changed.
#[test]
fn late_work_is_listed_whatever_the_file_is_called() {
    for (before, after) in [("/a.md", "/a.txt"), ("/a.txt", "/a.md")] {
        let workspace = create();
        put(&workspace, before, "One.\n\nTwo.\n");
        assert_eq!(workspace.conflicts().expect("listed"), []);
        let old_kind = kind(&workspace, before).expect("a text");
        let mut editor = open(&port(&workspace, before), 9, old_kind);
        mv(&workspace, before, after);
        assert_eq!(workspace.conflicts().expect("listed"), []);
        let typed = editor.edit("One", "One, late", false, &ada()).expect("edited").update;
        port(&workspace, after).receive(&typed.expect("an update")).expect("taken");
        let conflicts = workspace.conflicts().expect("listed");
        let listed: Vec<_> =
            conflicts.iter().map(|conflict| (conflict.kind, conflict.path.as_str())).collect();
        assert_eq!(listed, [(ConflictKind::Unsettled, after)]);
        assert!(workspace.maintenance().repair(&at(after)).expect("repaired"));
        assert_eq!(cat(&workspace, after), "One, late.\n\nTwo.\n");
        assert_eq!(workspace.conflicts().expect("listed"), []);
    }
}

/// A tool saves a file, with the file's time, beside an editor that types on in the form from
/// before the rename. The process that received the typing merges it when the file rests.
#[test]
fn late_work_is_merged_although_a_save_set_the_time_of_the_file() {
    for (before, after) in [("/a.md", "/a.txt"), ("/a.txt", "/a.md")] {
        let workspace = create();
        put(&workspace, before, "One.\n\nTwo.\n");
        let old_kind = kind(&workspace, before).expect("a text");
        let mut editor = open(&port(&workspace, before), 9, old_kind);
        mv(&workspace, before, after);
        let typed = editor.edit("One", "One, late", false, &ada()).expect("edited").update;
        port(&workspace, after).receive(&typed.expect("an update")).expect("taken");
        let base = Some(VersionBase::Content("One.\n\nTwo.\n".into()));
        let saved = WriteOptions { base, mtime: Some(Millis(1)), ..WriteOptions::default() };
        now(workspace.fs().write(&at(after), "One.\n\nTwo, saved.\n".into(), &saved))
            .expect("written");
        workspace.flush().expect("flushed");
        assert_eq!(cat(&workspace, after), "One, late.\n\nTwo, saved.\n");
        assert_eq!(workspace.conflicts().expect("listed"), []);
    }
}

/// The reference implementation keeps bytes in a root that no reader of yfs shows.
#[test]
fn bytes_of_the_reference_implementation_are_listed() {
    let workspace = create();
    put(&workspace, "/a.txt", "");
    // The update that Yjs encodes of a `Y.Map` with the bytes ff fe under `content`, in
    // `Y.Array("timeline")`.
    let update =
        b"\x01\x02\x07\x00\x07\x01\x08timeline\x01\x23\x00\x07\x00\x07content\x02\xff\xfe\x00";
    port(&workspace, "/a.txt").receive(update).expect("taken");
    let conflicts = workspace.conflicts().expect("listed");
    let listed: Vec<_> =
        conflicts.iter().map(|conflict| (conflict.kind, conflict.path.as_str())).collect();
    assert_eq!(listed, [(ConflictKind::Unsettled, "/a.txt")]);
}

/// A word that was typed into a deleted block is recorded with the update that brought it.
#[test]
fn words_that_were_set_aside_outlive_the_process() {
    let store = Arc::new(MemoryStore::new());
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let workspace = Workspace::create(store.clone(), options.clone()).expect("a workspace");
    put(&workspace, "/a.md", "One.\n\nTwo.\n");
    let port = port(&workspace, "/a.md");
    let mut editor = open(&port, 9, RICH);
    put(&workspace, "/a.md", "One.\n");
    let typed = editor.edit("Two", "Two typed", false, &ada()).expect("edited").update;
    port.receive(&typed.expect("an update")).expect("taken");
    // Another process reads the log, though this one never ran its upkeep.
    let other = Workspace::open(store, options).expect("it opens");
    let conflicts = other.conflicts().expect("listed");
    assert!(conflicts.iter().any(|conflict| conflict.detail.contains("typed")), "{conflicts:?}");
}

/// A word that was typed into a block that a save moved is in the block, for all processes.
#[test]
fn words_that_followed_their_block_are_no_conflict() {
    let store = Arc::new(MemoryStore::new());
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let workspace = Workspace::create(store.clone(), options.clone()).expect("a workspace");
    put(&workspace, "/a.md", "One block.\n\nTwo blocks.\n\nThree.\n");
    let port = port(&workspace, "/a.md");
    let mut editor = open(&port, 9, RICH);
    put(&workspace, "/a.md", "Two blocks.\n\nThree.\n\nOne block.\n");
    let typed = editor.edit("One", "One typed", false, &ada()).expect("edited").update;
    port.receive(&typed.expect("an update")).expect("taken");
    let other = Workspace::open(store, options).expect("it opens");
    for workspace in [&workspace, &other] {
        assert_eq!(cat(workspace, "/a.md"), "Two blocks.\n\nThree.\n\nOne typed block.\n");
        assert_eq!(workspace.conflicts().expect("listed"), []);
    }
}

#[test]
fn a_document_is_found_by_its_id_as_by_its_path() {
    let workspace = create();
    put(&workspace, "/d/a.md", FILE);
    put(&workspace, "/d/b.txt", FILE);
    now(workspace.fs().write(&at("/d/c.md"), vec![0xff].into(), &WriteOptions::default()))
        .expect("written");
    for path in ["/d/a.md", "/d/b.txt", "/d/c.md"] {
        let by_path = workspace.documents().info(&at(path)).expect("there");
        assert_eq!(workspace.documents().info_of(&by_path.guid), Some(by_path), "{path}");
    }
    let directory = now(workspace.fs().stat(&at("/d"))).expect("there").id;
    assert_eq!(workspace.documents().info_of(&directory), None);
}

#[test]
fn the_profile_is_chosen_kept_and_changed() {
    let store = Arc::new(MemoryStore::new());
    let options =
        WorkspaceOptions { profile: SchemaProfile::CommonMark, ..WorkspaceOptions::default() };
    let workspace = Workspace::create(store.clone(), options).expect("a workspace");
    put(&workspace, "/a.md", FILE);
    put(&workspace, "/b.txt", FILE);
    workspace.close().expect("closed");
    let workspace = Workspace::open(store, WorkspaceOptions::default()).expect("opened");
    assert_eq!(workspace.profile(), SchemaProfile::CommonMark);
    let profile = |workspace: &Workspace| {
        open(&port(workspace, "/a.md"), 9, RICH).conversion().evident_profile()
    };
    assert_eq!(profile(&workspace), Some(SchemaProfile::CommonMark));
    let report = workspace
        .maintenance()
        .convert_profile(SchemaProfile::Gfm, &mut |_, _| ())
        .expect("converted");
    assert_eq!((report.n_files, report.n_converted), (1, 1));
    assert_eq!(
        (workspace.profile(), profile(&workspace)),
        (SchemaProfile::Gfm, Some(SchemaProfile::Gfm))
    );
    assert_eq!(cat(&workspace, "/a.md"), FILE);
    let again = workspace
        .maintenance()
        .convert_profile(SchemaProfile::Gfm, &mut |_, _| ())
        .expect("converted");
    assert_eq!(again.n_converted, 0);
}

/// A rename and a copy decide as a write does.
#[test]
fn text_that_is_too_heavy_for_rich_text_is_kept_by_reference_under_a_markdown_name() {
    let Pair { a, b, _dir } = Pair::new();
    let heavy = "x\n".repeat(150_000);
    put(&a, "/list.txt", &heavy);
    put(&a, "/old.md", "# Old\n");
    assert_eq!(kind(&a, "/list.txt"), Some(ContentRoot::Text));
    let cp = CopyOptions { replace: true, ..CopyOptions::default() };
    for path in ["/copy.md", "/old.md"] {
        now(a.fs().cp(&at("/list.txt"), &at(path), &cp)).expect("copied");
    }
    mv(&a, "/list.txt", "/list.md");
    for path in ["/copy.md", "/old.md", "/list.md"] {
        assert_eq!(kind(&a, path), None, "{path}");
        assert!(cat(&b, path) == heavy, "{path}");
    }
    put(&a, "/list.md", "# Short\n");
    assert_eq!(kind(&b, "/list.md"), Some(RICH));
    mv(&a, "/copy.md", "/copy.txt");
    assert!(cat(&b, "/copy.txt") == heavy);
    mv(&a, "/copy.txt", "/list.md");
    assert_eq!((kind(&a, "/list.md"), cat(&b, "/list.md") == heavy), (None, true));
}
