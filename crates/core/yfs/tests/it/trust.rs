//! Ways to lose, double or hide work that acceptance tests found, each as a story.

use std::{
    path::Path,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::support::damage::damage;
use crate::support::handles::{append, at, cat, create, now, put, two_processes, until_equal};
use yfs::{
    Workspace, WorkspaceError, WorkspaceOptions, replica::ReplicaUpdate,
    workspace::redact::RedactionScope,
};
use yfs_conformance::{FaultStore, StoreFault};
use yfs_engine::{
    Any,
    content::{ContentDoc, RunAuthor},
    gate::{GateLimits, UpdateBuilder, UpdateSource},
    hash::ContentHash,
    id::{ClientId, FileId, ItemId},
    time::Millis,
};
use yfs_store::{DocName, MemoryStore, SqliteStore, Store, StoreError, UpdateLog};
use yfs_vfs::{
    CopyOptions, CreateMode, FileSystem, FsCode, FsError, MkdirOptions, MoveOptions, RemoveOptions,
    VersionBase, VersionToken, WriteOptions,
};

/// How long a test waits for an expected event before it fails. The results do not depend on it.
const WATCHDOG: Duration = Duration::from_secs(120);

/// An editor that has a document open and follows it.
struct Follower {
    doc: ContentDoc,
    updates: yfs::subscription::Subscription,
    port: yfs::DocPort,
}

impl Follower {
    fn open(workspace: &Workspace, path: &str) -> Self {
        let id = id_of(workspace, path);
        let port = workspace.documents().port(id.as_str()).expect("a port");
        let mut doc =
            ContentDoc::new(&id, ClientId::new(77).expect("an id"), GateLimits::default());
        let updates = port.subscribe();
        let state = port.diff(&doc.gate().state_vector()).expect("a state");
        doc.receive(&state, UpdateSource::Wire).expect("a state that can be read");
        Self { doc, updates, port }
    }

    /// Returns the text after all updates that the subscription has delivered.
    fn text(&mut self) -> String {
        while let Some(update) = self.updates.try_recv() {
            self.doc.receive(&update, UpdateSource::Wire).expect("an update that can be read");
        }
        self.doc.text()
    }
}

fn id_of(workspace: &Workspace, path: &str) -> FileId {
    now(workspace.fs().stat(&at(path))).expect("a file").id
}

fn rm(workspace: &Workspace, path: &str) {
    now(workspace.fs().rm(&at(path), &RemoveOptions::default())).expect("removed");
}

#[test]
fn a_follower_gets_what_others_log_whatever_is_in_memory() {
    let (here, there, _dir) = two_processes();
    put(&here, "/f.txt", "start\n");
    until_equal(&here, &there, &["/f.txt"]);
    let mut follower = Follower::open(&here, "/f.txt");
    // Conditional writes here; the log rejects those for which another process was faster.
    thread::scope(|scope| {
        for writer in 0..2 {
            scope.spawn(|| (0..100).for_each(|n| append(&there, "/f.txt", &format!("{n}\n"))));
            let here = &here;
            scope.spawn(move || {
                for n in 0..100 {
                    let read = now(here.fs().read(&at("/f.txt"))).expect("read");
                    let mine = [&read.data[..], format!("{writer}.{n}\n").as_bytes()].concat();
                    let base = Some(VersionBase::Version(read.version));
                    let options = WriteOptions { base, ..WriteOptions::default() };
                    now(here.fs().write(&at("/f.txt"), mine.into(), &options)).expect("merged");
                }
            });
        }
    });
    assert_eq!(cat(&here, "/f.txt").lines().count(), 401);
    let begun = Instant::now();
    while follower.text() != cat(&here, "/f.txt") {
        assert!(begun.elapsed() < WATCHDOG, "the follower stays behind");
        thread::yield_now();
    }
    drop(follower.port);
}

#[test]
fn a_follower_gets_what_others_log_after_a_write_of_ours_failed() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    let faults =
        Arc::new(FaultStore::new(Arc::new(SqliteStore::create_new(&file).expect("a store"))));
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let a = Workspace::create(faults.clone(), options.clone()).expect("a workspace");
    let b = Workspace::open_at(&file, options).expect("a second handle");
    put(&a, "/f.txt", "start\n");
    let mut follower = Follower::open(&a, "/f.txt");
    append(&b, "/f.txt", "theirs\n");
    // The failed append leaves the document ahead of the log, so that it is evicted.
    faults.fail(StoreFault::Append, 0, StoreError::Full { action: "append" });
    let failed = now(a.fs().append(&at("/f.txt"), "lost\n".into(), &WriteOptions::default()));
    assert_eq!(failed.expect_err("the disk is full").code, FsCode::ENOSPC);
    faults.fail(StoreFault::Append, u64::MAX, StoreError::Full { action: "append" });
    assert_eq!(cat(&a, "/f.txt"), "start\ntheirs\n");
    append(&a, "/f.txt", "ours\n");
    a.catch_up().expect("caught up");
    assert_eq!(follower.text(), "start\ntheirs\nours\n");
}

#[test]
fn what_was_acknowledged_while_closing_survives_the_next_writer_of_its_ids() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    put(
        &Workspace::create_at(&file, WorkspaceOptions::default()).expect("a workspace"),
        "/f.txt",
        "",
    );
    // Three processes close while they write, and the others reuse their ids.
    let acknowledged: Vec<String> = thread::scope(|scope| {
        let processes = [0, 1, 2].map(|process| {
            let file = &file;
            scope.spawn(move || (0..25).flat_map(|round| live(file, process, round)).collect())
        });
        let done = processes.into_iter().map(|process| process.join().expect("no panic"));
        done.flat_map(|lines: Vec<String>| lines).collect()
    });
    let text = cat(
        &Workspace::open_at(&file, WorkspaceOptions::default()).expect("a workspace"),
        "/f.txt",
    );
    for mark in &acknowledged {
        assert_eq!(text.matches(mark.as_str()).count(), 1, "{mark}");
    }
}

/// Opens a workspace, closes it while two threads write to it, and returns what was acknowledged.
fn live(file: &Path, process: usize, round: usize) -> Vec<String> {
    let workspace = Workspace::open_at(file, WorkspaceOptions::default()).expect("a workspace");
    let begun = Barrier::new(3);
    thread::scope(|scope| {
        let writers = [0, 1].map(|writer| {
            let (fs, begun) = (workspace.fs(), &begun);
            scope.spawn(move || {
                begun.wait();
                let marks = (0..).map(|n| format!("<{process}.{round}.{writer}.{n}>"));
                let written = |mark: &String| {
                    let data = mark.clone().into();
                    now(fs.append(&at("/f.txt"), data, &WriteOptions::default())).is_ok()
                };
                marks.take_while(written).collect::<Vec<_>>()
            })
        });
        begun.wait();
        workspace.clone().close().expect("closed");
        writers.into_iter().flat_map(|writer| writer.join().expect("no panic")).collect()
    })
}

#[test]
fn emptying_the_trash_removes_nothing_that_is_being_written() {
    let (here, there, _dir) = two_processes();
    let is_over = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let expiring = scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                there.trash().expire(Duration::ZERO).expect("expired");
            }
        });
        let writers = [0, 1].map(|writer| {
            let here = &here;
            scope.spawn(move || {
                let files = (0..60).map(|n| {
                    let (path, bytes) = (format!("/{writer}-{n}"), (writer, n));
                    let text = format!("text {bytes:?}").into_bytes();
                    let data = if n % 2 == 0 { text } else { [b"\xff", &text[..]].concat() };
                    let options = WriteOptions::default();
                    now(here.fs().write(&at(&path), data.clone().into(), &options))
                        .expect("written");
                    (path, data)
                });
                files.collect::<Vec<_>>()
            })
        });
        let written: Vec<_> =
            writers.into_iter().flat_map(|writer| writer.join().expect("no panic")).collect();
        is_over.store(true, Ordering::Release);
        expiring.join().expect("no panic");
        written
    });
    for workspace in [&here, &there] {
        for (path, data) in &written {
            let content = now(workspace.fs().read(&at(path))).expect(path);
            assert_eq!(content.data, data, "{path}");
        }
    }
}

#[test]
fn an_update_that_arrives_twice_is_logged_once() {
    let (here, there) = (create(), Arc::new(MemoryStore::new()));
    put(&here, "/f.txt", "one\n");
    let (id, main) =
        (id_of(&here, "/f.txt"), here.documents().port(here.id().as_str()).expect("a port"));
    let there = Workspace::create_replica(there, here.id(), WorkspaceOptions::default())
        .expect("a replica");
    let arrive = |doc: &FileId, update: Vec<u8>| {
        let arrival = ReplicaUpdate { doc: doc.clone(), update, is_new: true };
        there.replication().receive(&[arrival]).expect("taken").n_new
    };
    let empty = [0];
    let rows = main.diff(&empty).expect("rows");
    assert_eq!([arrive(here.id(), rows.clone()), arrive(here.id(), rows)], [1, 0]);
    let content =
        here.documents().port(id.as_str()).expect("a port").diff(&empty).expect("a state");
    assert_eq!([arrive(&id, content.clone()), arrive(&id, content)], [1, 0]);
    let before =
        here.documents().port(id.as_str()).expect("a port").state_vector().expect("a state vector");
    append(&here, "/f.txt", "two\n");
    let edit = here.documents().port(id.as_str()).expect("a port").diff(&before).expect("an edit");
    assert_eq!([arrive(&id, edit.clone()), arrive(&id, edit)], [1, 0]);
    assert_eq!(cat(&there, "/f.txt"), "one\ntwo\n");
}

#[test]
fn what_is_written_during_a_move_to_another_workspace_moves_as_well() {
    for round in 0..10 {
        let (here, there) = (create(), create());
        put(&here, "/d/a.txt", "start\n");
        // A large blob, so that the move takes a while.
        let large = vec![0xff; 4 << 20];
        now(here.fs().write(&at("/d/z.bin"), large.into(), &WriteOptions::default())).expect("put");
        let begun = Barrier::new(2);
        let written = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                begun.wait();
                let mut written = Vec::new();
                let options = WriteOptions { create: CreateMode::Never, ..Default::default() };
                for n in 0.. {
                    let line = format!("line {n}\n");
                    let data = line.clone().into();
                    match now(here.fs().append(&at("/d/a.txt"), data, &options)) {
                        Ok(_) => written.push(line),
                        Err(error) if error.code == FsCode::ENOENT => break,
                        Err(error) => panic!("{error}"),
                    }
                }
                written
            });
            begun.wait();
            here.move_to(&at("/d"), &there, &at("/d")).expect("moved");
            writer.join().expect("no panic")
        });
        let expected: String = ["start\n".to_owned()].into_iter().chain(written).collect();
        assert_eq!(cat(&there, "/d/a.txt"), expected, "round {round}");
    }
}

#[test]
fn what_moved_away_and_back_is_read_as_it_came_back() {
    let (here, there) = (create(), create());
    put(&here, "/a.txt", "one\n");
    // The document stays in memory here.
    let mut follower = Follower::open(&here, "/a.txt");
    here.move_to(&at("/a.txt"), &there, &at("/a.txt")).expect("moved");
    append(&there, "/a.txt", "two\n");
    there.move_to(&at("/a.txt"), &here, &at("/a.txt")).expect("moved back");
    assert_eq!(cat(&here, "/a.txt"), "one\ntwo\n");
    assert_eq!(follower.text(), "one\ntwo\n");
    append(&here, "/a.txt", "three\n");
    assert_eq!(cat(&here, "/a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_move_to_a_full_workspace_fails() {
    let here = create();
    let large = vec![0xff; 1 << 20];
    now(here.fs().write(&at("/z.bin"), large.into(), &WriteOptions::default())).expect("written");
    let faults = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
    let there =
        Workspace::create(faults.clone(), WorkspaceOptions::default()).expect("a workspace");
    faults.fail(StoreFault::Blob, 0, StoreError::Full { action: "put a blob" });
    assert!(here.move_to(&at("/z.bin"), &there, &at("/z.bin")).is_err());
    assert_eq!(crate::support::handles::ls(&here), "/z.bin");
}

#[test]
fn what_a_process_did_is_seen_by_the_next_call_of_every_other() {
    let (here, there, _dir) = two_processes();
    for round in 0..200 {
        let text = format!("round {round}");
        put(&here, "/f.txt", &text);
        assert_eq!(cat(&there, "/f.txt"), text);
        rm(&there, "/f.txt");
        // Not a word of it may end in the trash.
        append(&here, "/f.txt", &text);
        assert_eq!(cat(&there, "/f.txt"), text, "round {round}");
        rm(&here, "/f.txt");
        assert!(now(there.fs().read(&at("/f.txt"))).is_err());
    }
}

#[test]
fn reading_again_what_was_evicted_costs_no_budget() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    let store =
        Arc::new(FaultStore::new(Arc::new(SqliteStore::create_new(&file).expect("a store"))));
    let workspace =
        Workspace::create(store.clone(), WorkspaceOptions::default()).expect("a workspace");
    put(&workspace, "/f.txt", &"x".repeat(100_000));
    cat(&workspace, "/f.txt");
    append(&workspace, "/f.txt", "y");
    let (_, before) = workspace.documents().usage();
    for _ in 0..50 {
        store.fail(StoreFault::Append, 0, StoreError::Full { action: "append" });
        let refused =
            now(workspace.fs().append(&at("/f.txt"), "z".into(), &WriteOptions::default()));
        assert_eq!(refused.expect_err("full").code, FsCode::ENOSPC);
        store.fail(StoreFault::Append, u64::MAX, StoreError::Full { action: "append" });
        append(&workspace, "/f.txt", "y");
    }
    let (_, after) = workspace.documents().usage();
    assert!(after < before * 2, "{before} bytes became {after}");
}

#[test]
fn a_file_whose_log_is_damaged_is_edited_under_a_fresh_client_id() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("workspace.db");
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let workspace = Workspace::create_at(&file, options.clone()).expect("a workspace");
    put(&workspace, "/f.txt", "base/");
    append(&workspace, "/f.txt", "AAAA");
    let id = id_of(&workspace, "/f.txt");
    // A peer that has all of it.
    let state =
        workspace.documents().port(id.as_str()).expect("a port").diff(&[0]).expect("a state");
    let mut peer = ContentDoc::new(&id, ClientId::new(5).expect("an id"), GateLimits::default());
    peer.receive(&state, UpdateSource::Wire).expect("a state that can be read");
    workspace.close().expect("closed");
    damage(&file, b"AAAA");
    let workspace = Workspace::open_at(&file, options).expect("a workspace");
    workspace.maintenance().set_damage_aside().expect("set aside");
    assert_eq!(cat(&workspace, "/f.txt"), "base/");
    append(&workspace, "/f.txt", "BBBB");
    let port = workspace.documents().port(id.as_str()).expect("a port");
    let news = port.diff(&peer.gate().state_vector()).expect("news");
    peer.receive(&news, UpdateSource::Wire).expect("news that can be read");
    let known = port.state_vector().expect("a state vector");
    port.receive(&peer.gate().encode_diff(&known).expect("news")).expect("accepted");
    let text = cat(&workspace, "/f.txt");
    assert_eq!(text, peer.text());
    assert!(text.contains("AAAA") && text.contains("BBBB"), "{text}");
}

#[test]
fn a_label_of_an_editor_is_kept_with_its_first_update() {
    let workspace = create();
    put(&workspace, "/f.txt", "start\n");
    let id = id_of(&workspace, "/f.txt");
    let port = workspace
        .documents()
        .port(id.as_str())
        .expect("a port")
        .acting_for("human:ada".parse().expect("an actor"));
    let mut editor = ContentDoc::new(&id, ClientId::new(9).expect("an id"), GateLimits::default());
    editor.receive(&port.diff(&[0]).expect("a state"), UpdateSource::Wire).expect("read");
    let author = RunAuthor::new("human:ada".parse().expect("an actor"), Millis(1));
    let typed = editor.append("typed\n", &author).expect("typed").update.expect("an update");
    port.receive(&typed).expect("accepted");
    assert!(port.has_update(&typed).expect("checked"));
    assert_eq!(cat(&workspace, "/f.txt"), "start\ntyped\n");
}

#[test]
fn a_confined_filesystem_never_leaves_its_directory() {
    let workspace = create();
    put(&workspace, "/secret.txt", "secret");
    put(&workspace, "/pub/a.txt", "public");
    let confined = workspace.fs().confined_to(at("/pub"));
    now(confined.symlink("/", &at("/pub/d"))).expect("a link may say anything");
    let is_over = AtomicBool::new(false);
    let moves = MoveOptions { parents: false, ..MoveOptions::default() };
    let copies = CopyOptions { parents: false, ..CopyOptions::default() };
    thread::scope(|scope| {
        let renaming = scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                now(confined.mv(&at("/pub/d"), &at("/pub/e"), &moves)).expect("renamed");
                now(confined.mv(&at("/pub/e"), &at("/pub/d"), &moves)).expect("renamed");
            }
        });
        for _ in 0..300 {
            let through = at("/pub/d/secret.txt");
            assert!(now(confined.read(&through)).is_err());
            let copied = now(confined.cp(&through, &at("/pub/out"), &copies));
            assert!(copied.is_err());
            let options = WriteOptions { parents: false, ..WriteOptions::default() };
            let evil = now(confined.write(&at("/pub/d/evil.txt"), "evil".into(), &options));
            assert!(evil.is_err(), "{evil:?}");
            assert!(now(confined.mv(&at("/pub/a.txt"), &at("/pub/d/a.txt"), &moves)).is_err());
        }
        is_over.store(true, Ordering::Release);
        renaming.join().expect("no panic");
    });
    // The directory itself cannot be moved away, and nothing beside it can be reached.
    assert!(now(confined.mv(&at("/pub"), &at("/other"), &moves)).is_err());
    assert!(now(confined.rm(&at("/pub"), &RemoveOptions::default())).is_err());
    assert!(now(confined.stat(&at("/secret.txt"))).is_err());
    assert_eq!(cat(&workspace, "/secret.txt"), "secret");
    assert_eq!(crate::support::handles::ls(&workspace), "/pub /pub/a.txt /pub/d /secret.txt");
    now(confined.write(&at("/pub/new/b.txt"), "b".into(), &WriteOptions::default())).expect("made");
    assert_eq!(cat(&workspace, "/pub/new/b.txt"), "b");
}

#[test]
fn what_an_editor_types_in_a_file_that_moved_away_is_a_conflict() {
    let (here, there) = (create(), create());
    put(&here, "/d/a.txt", "start\n");
    put(&here, "/d/b.txt", "start\n");
    let mut editor = Follower::open(&here, "/d/a.txt");
    here.move_to(&at("/d"), &there, &at("/d")).expect("moved");
    assert_eq!(here.conflicts().expect("conflicts").len(), 0);
    let author = RunAuthor::new("human:ada".parse().expect("an actor"), Millis(1));
    let typed = editor.doc.append("late\n", &author).expect("typed").update.expect("an update");
    editor.port.receive(&typed).expect("accepted");
    let conflicts = here.conflicts().expect("conflicts");
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    assert_eq!(conflicts[0].kind.as_str(), "late");
    assert!(conflicts[0].detail.contains("to workspace"), "{conflicts:?}");
}

#[test]
fn a_confined_filesystem_reads_no_versions_outside() {
    let workspace = create();
    put(&workspace, "/secret.txt", "secret");
    put(&workspace, "/pub/a.txt", "public");
    let confined = workspace.fs().confined_to(at("/pub"));
    now(confined.symlink("../secret.txt", &at("/pub/link"))).expect("a link may say anything");
    let denied = |error: WorkspaceError| match error {
        WorkspaceError::Fs(error) => error.code,
        error => panic!("{error}"),
    };
    for path in ["/pub/link", "/secret.txt"] {
        let path = at(path);
        assert_eq!(confined.versions(&path).map_err(denied), Err(FsCode::EACCES));
        assert_eq!(confined.version_content(&path, 1).map_err(denied), Err(FsCode::EACCES));
        assert_eq!(confined.document(&path).map_err(denied), Err(FsCode::EACCES));
    }
    assert_eq!(confined.versions(&at("/pub/a.txt")).expect("versions").len(), 1);
    assert_eq!(confined.version_content(&at("/pub/a.txt"), 1).expect("content"), "public");
}

/// Paths that are outside of `/pub` or lead there.
const LEADING_OUTSIDE: [&str; 18] = [
    "/private",
    "/none",
    "/private/deep/known.md",
    "/private/deep/other.md",
    "/private/x/y",
    "/pub/out/deep",
    "/pub/out/none",
    "/pub/out/deep/known.md",
    "/pub/out/deep/other.md",
    "/pub/out/deep/known.md/x",
    "/pub/out/x/y",
    "/private/loop/x",
    "/pub/out/loop/x",
    "/pub/to-known",
    "/pub/to-other",
    "/pub/to-loop",
    "/pub/to-back",
    "/pub/to-own",
];

/// A call whose path leads outside is refused alike whether or not an object is there.
#[test]
fn a_confined_filesystem_does_not_say_what_exists_outside() {
    let workspace = create();
    put(&workspace, "/private/deep/known.md", "secret");
    put(&workspace, "/pub/a.txt", "public");
    let confined = workspace.fs().confined_to(at("/pub"));
    for (target, link) in [
        ("../private", "/pub/out"),
        ("/private/deep/known.md", "/pub/to-known"),
        ("/private/deep/other.md", "/pub/to-other"),
        ("/private/loop", "/pub/to-loop"),
        ("../private/../pub/a.txt", "/pub/to-own"),
        ("/private/back", "/pub/to-back"),
    ] {
        now(confined.symlink(target, &at(link))).expect("a link may say anything");
    }
    for (target, link) in [("loop", "/private/loop"), ("../pub/to-back", "/private/back")] {
        now(workspace.fs().symlink(target, &at(link))).expect("linked");
    }
    let never = WriteOptions { create: CreateMode::Never, ..WriteOptions::default() };
    let new = WriteOptions { create: CreateMode::New, ..WriteOptions::default() };
    let moves = MoveOptions::default();
    let removes = RemoveOptions::default();
    let code = |result: Result<(), FsError>| result.map_err(|error| error.code).err();
    let stored = |error: WorkspaceError| match error {
        WorkspaceError::Fs(error) => error,
        error => panic!("{error}"),
    };
    for path in LEADING_OUTSIDE {
        let path = &at(path);
        let is_link = path.as_str().starts_with("/pub/to-");
        let mut seen = vec![
            ("read", code(now(confined.read(path)).map(drop))),
            ("stat", code(now(confined.stat(path)).map(drop))),
            ("readdir", code(now(confined.readdir(path)).map(drop))),
            ("realpath", code(now(confined.realpath(path)).map(drop))),
            ("write", code(now(confined.write(path, "x".into(), &never)).map(drop))),
            ("mkdir", code(now(confined.mkdir(&path.join("d"), &MkdirOptions::default())))),
            ("versions", code(confined.versions(path).map(drop).map_err(stored))),
            ("blame", code(confined.blame(path).map(drop).map_err(stored))),
        ];
        if !is_link {
            let (taken, free) = (at("/pub/a.txt"), at("/pub/free"));
            seen.extend([
                ("lstat", code(now(confined.lstat(path)).map(drop))),
                ("create", code(now(confined.write(path, "x".into(), &new)).map(drop))),
                ("rm", code(now(confined.rm(path, &removes)))),
                ("symlink", code(now(confined.symlink("a", path)))),
                ("mv", code(now(confined.mv(path, &free, &moves)))),
                ("mv to", code(now(confined.mv(&taken, path, &moves)))),
                ("cp", code(now(confined.cp(path, &free, &CopyOptions::default())))),
                ("cp to", code(now(confined.cp(&taken, path, &CopyOptions::default())))),
            ]);
        }
        for (call, code) in seen {
            assert_eq!(code, Some(FsCode::EACCES), "{call} {path}");
        }
    }
    assert_eq!(cat(&workspace, "/private/deep/known.md"), "secret");
    assert_eq!(code(now(confined.read(&at("/pub/none"))).map(drop)), Some(FsCode::ENOENT));
    now(confined.symlink("self", &at("/pub/self"))).expect("a link may say anything");
    assert_eq!(code(now(confined.read(&at("/pub/self"))).map(drop)), Some(FsCode::ELOOP));
    assert_eq!(code(now(confined.read(&at("/pub/a.txt/x"))).map(drop)), Some(FsCode::ENOTDIR));
}

/// Returns an update that lists a blob as a version: the element with the clock `clock` of client
/// 9.
fn listing(hash: &str, clock: u32, origin: Option<u32>) -> Vec<u8> {
    let id = |clock| ItemId::new(ClientId::new(9).expect("an id"), clock);
    let members = [("hash", Any::from(hash)), ("size", Any::from(6.0)), ("at", Any::from(1.0))];
    let members = members.map(|(key, value)| (key.to_owned(), value));
    let version = Any::Map(Arc::new(members.into_iter().collect()));
    let mut update = UpdateBuilder::new();
    update.array_run(id(clock), origin.map(id), None, "fs:blobs", &[version]);
    update.finish()
}

#[test]
fn a_peer_that_may_not_read_every_blob_opens_none_by_its_hash() {
    let workspace = create();
    now(workspace.fs().write(&at("/secret"), (&[0xff, 0][..]).into(), &WriteOptions::default()))
        .expect("written");
    let hash = ContentHash::of(&[0xff, 0]).to_string();
    put(&workspace, "/pub.txt", "public\n");
    let versions = || workspace.history().versions(&at("/pub.txt")).expect("versions").len();
    let id = id_of(&workspace, "/pub.txt");
    let port = || workspace.documents().port(id.as_str()).expect("a port");
    assert_eq!(versions(), 1);
    // At once, and after it waited for the items that it refers to.
    let confined = port().without_blobs();
    confined.receive(&listing(&hash, 1, Some(0))).expect("accepted, to wait");
    confined.receive(&listing(&hash, 0, None)).expect("accepted");
    assert_eq!(versions(), 1);
    port().receive(&listing(&hash, 2, None)).expect("accepted");
    assert_eq!(versions(), 2);
    confined.receive(&listing(&hash, 3, None)).expect("accepted");
    assert_eq!(versions(), 2);
}

/// Writes with the content that was read as the base, and returns the new text.
fn write_from(workspace: &Workspace, version: &VersionToken, text: &str) -> String {
    let options = WriteOptions {
        base: Some(VersionBase::Version(version.clone())),
        ..WriteOptions::default()
    };
    let text = text.to_owned();
    now(workspace.fs().write(&at("/f.md"), text.into(), &options)).expect("merged");
    cat(workspace, "/f.md")
}

/// Copies the store of a workspace.
fn back_up(file: &Path, copy: &Path) {
    let store = SqliteStore::open(file).expect("opened");
    store.backup(copy, &mut |_, _| ()).expect("copied");
}

fn version_of(workspace: &Workspace, path: &str) -> VersionToken {
    now(workspace.fs().read(&at(path))).expect("read").version
}

#[test]
fn a_version_merges_after_compaction_as_before() {
    let dir = tempfile::tempdir().expect("a directory");
    // Only the test compacts.
    let options = || WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let open = |name: &str, n_compactions: usize| {
        let file = dir.path().join(name);
        let workspace = Workspace::create_at(&file, options()).expect("a workspace");
        put(&workspace, "/f.md", "# Title\n\nfirst *paragraph*\n\nsecond paragraph\n");
        let mut read = Vec::new();
        for n in 0..40 {
            let text = cat(&workspace, "/f.md");
            read.push((version_of(&workspace, "/f.md"), text.clone()));
            match n % 4 {
                0 => put(&workspace, "/f.md", &text.replace('o', "oo")),
                1 => put(&workspace, "/f.md", &text.replace("oo", "o")),
                _ => append(&workspace, "/f.md", &format!("\nline {n}\n")),
            }
            if n % 9 < n_compactions {
                workspace.maintenance().compact(&mut |_, _| ()).expect("compacted");
            }
        }
        workspace.close().expect("closed");
        let workspace = Workspace::open_at(&file, options()).expect("opened again");
        (workspace, read)
    };
    let (before, after) = (open("before.db", 0), open("after.db", 1));
    after.0.maintenance().compact(&mut |_, _| ()).expect("compacted");
    for n in [39, 20, 3, 0] {
        let (version, text) = &after.1[n];
        let text = text.replace("paragraph", &format!("paragraph from {n}"));
        let expected = write_from(&before.0, &before.1[n].0, &text);
        let merged = write_from(&after.0, version, &text);
        assert_eq!(merged, expected, "version {n}");
        assert!(merged.contains("line 39") && merged.contains("from 39"), "{merged}");
    }
}

#[test]
fn a_version_from_before_a_backup_was_put_back_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let (file, copy) = (dir.path().join("w.db"), dir.path().join("copy.db"));
    let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).expect("a workspace");
    put(&workspace, "/f.md", "one\ntwo\n");
    back_up(&file, &copy);
    let in_copy = version_of(&workspace, "/f.md");
    append(&workspace, "/f.md", "three\n");
    append(&workspace, "/f.md", "four\n");
    let lost = version_of(&workspace, "/f.md");
    workspace.close().expect("closed");

    // The same positions of the log are given to other records.
    let workspace = Workspace::open_at(&copy, WorkspaceOptions::default()).expect("opened");
    append(&workspace, "/f.md", "drei\n");
    append(&workspace, "/f.md", "vier\n");
    append(&workspace, "/f.md", "five\n");
    for _ in 0..2 {
        let base = Some(VersionBase::Version(lost.clone()));
        let options = WriteOptions { base, ..WriteOptions::default() };
        let written = now(workspace.fs().write(&at("/f.md"), "one\n".into(), &options));
        assert_eq!(written.expect_err("another text").code, FsCode::ESTALE);
        workspace.maintenance().compact(&mut |_, _| ()).expect("compacted");
    }
    assert_eq!(write_from(&workspace, &in_copy, "ONE\ntwo\n"), "ONE\ntwo\ndrei\nvier\nfive\n");
}

#[test]
fn an_expected_version_of_another_history_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let (file, copy) = (dir.path().join("w.db"), dir.path().join("copy.db"));
    let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).expect("a workspace");
    put(&workspace, "/f.md", "one\n");
    back_up(&file, &copy);
    append(&workspace, "/f.md", "two\n");
    let lost = version_of(&workspace, "/f.md");
    let workspace = Workspace::open_at(&copy, WorkspaceOptions::default()).expect("opened");
    append(&workspace, "/f.md", "zwei\n");
    let options = WriteOptions { expected_version: Some(lost), ..WriteOptions::default() };
    let written = now(workspace.fs().write(&at("/f.md"), "one\n".into(), &options));
    assert_eq!(written.expect_err("another text").code, FsCode::ESTALE);
    assert_eq!(cat(&workspace, "/f.md"), "one\nzwei\n");
}

#[test]
fn a_version_that_was_redacted_is_refused_as_a_base() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("w.db");
    let workspace = Workspace::create_at(&file, WorkspaceOptions::default()).expect("a workspace");
    put(&workspace, "/f.md", "key: 7f3kSECRETd9\n");
    let version = version_of(&workspace, "/f.md");
    put(&workspace, "/f.md", "key: -\n");
    workspace.maintenance().compact(&mut |_, _| ()).expect("compacted");
    put(&workspace, "/f.md", "key: -\nmore\n");
    let clean = version_of(&workspace, "/f.md");
    append(&workspace, "/f.md", "end\n");
    workspace.history().redact(&at("/f.md"), RedactionScope::History, None).expect("redacted");
    let base = Some(VersionBase::Version(version));
    let options = WriteOptions { base, ..WriteOptions::default() };
    let written = now(workspace.fs().write(&at("/f.md"), "key: 7f3kSECRETd9\n".into(), &options));
    assert_eq!(written.expect_err("it would come back").code, FsCode::ESTALE);
    assert_eq!(write_from(&workspace, &clean, "key: +\nmore\n"), "key: +\nmore\nend\n");
}

#[test]
fn a_record_that_waits_names_no_later_text() {
    let workspace = create();
    put(&workspace, "/f.txt", "one\n");
    let mut peer = Follower::open(&workspace, "/f.txt");
    let by = RunAuthor::new("human:ana".parse().expect("an actor"), Millis(1));
    let edits: Vec<Vec<u8>> = ["one\ntwo\n", "one\ntwo\nthree\n"]
        .iter()
        .map(|text| peer.doc.write(text, None, &by).expect("typed").update.expect("an update"))
        .collect();
    // The second update waits for the first, and stays in the log when later records are compacted.
    peer.port.receive(&edits[1]).expect("logged");
    let read = version_of(&workspace, "/f.txt");
    append(&workspace, "/f.txt", "later\n");
    workspace.maintenance().compact(&mut |_, _| ()).expect("compacted");
    let options =
        WriteOptions { base: Some(VersionBase::Version(read)), ..WriteOptions::default() };
    now(workspace.fs().write(&at("/f.txt"), "ONE\n".into(), &options)).expect("merged");
    assert_eq!(cat(&workspace, "/f.txt"), "ONE\nlater\n");
}

#[test]
fn what_is_kept_of_old_versions_is_bounded() {
    let store = Arc::new(MemoryStore::new());
    let workspace =
        Workspace::create(store.clone(), WorkspaceOptions::default()).expect("a workspace");
    put(&workspace, "/f.txt", "one\n");
    let first = version_of(&workspace, "/f.txt");
    for _ in 0..2 {
        (0..40).for_each(|n| append(&workspace, "/f.txt", &format!("{n}\n")));
        let big = "x".repeat(100);
        // Deletions everywhere take the most room.
        let text = cat(&workspace, "/f.txt").replace('\n', &format!("{big}\n"));
        put(&workspace, "/f.txt", &text);
        workspace.maintenance().compact(&mut |_, _| ()).expect("compacted");
    }
    let name = DocName::from(&id_of(&workspace, "/f.txt"));
    let history = store.load_history(&name).expect("loaded");
    let n_bytes: usize = history.past_heads.iter().map(|past| past.change.len()).sum();
    assert!(history.past_heads.len() > 80 && n_bytes < 16_384, "{n_bytes}");
    let base = Some(VersionBase::Version(first));
    let options = WriteOptions { base, ..WriteOptions::default() };
    now(workspace.fs().write(&at("/f.txt"), "ONE\n".into(), &options)).expect("merged");
    assert!(cat(&workspace, "/f.txt").starts_with("ONE"));
}

#[test]
fn a_read_and_a_stat_look_at_the_log_once() {
    let store = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
    let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
    let workspace = Workspace::create(store.clone(), options).expect("a workspace");
    let (fs, bytes) = (workspace.fs(), &b"\xff\xfe"[..]);
    put(&workspace, "/f.txt", "text\n");
    now(fs.write(&at("/f.bin"), bytes.into(), &WriteOptions::default())).expect("written");
    for path in ["/f.txt", "/f.bin"] {
        now(fs.read(&at(path))).expect("read");
        let before = store.n_head_reads();
        now(fs.read(&at(path))).expect("read");
        assert_eq!(store.n_head_reads() - before, 1, "reading {path}");
        now(fs.stat(&at(path))).expect("stat");
        assert_eq!(store.n_head_reads() - before, 2, "stat of {path}");
        fs.version(&at(path)).expect("a version");
        assert_eq!(store.n_head_reads() - before, 3, "version of {path}");
    }
}

#[test]
fn a_call_after_the_close_says_that_the_workspace_is_closed() {
    let workspace = create();
    let fs = workspace.fs();
    put(&workspace, "/f.txt", "text");
    workspace.close().expect("closed");
    let error = now(fs.append(&at("/f.txt"), "more".into(), &WriteOptions::default()));
    let error = error.expect_err("the workspace is closed");
    let cause = WorkspaceError::cause_of(&error);
    assert!(matches!(cause, Some(WorkspaceError::Closed)), "{error:?}");
}
