//! Threads: made, found, listed, forked, archived, deleted, expired; and kept apart.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use expect_test::{Expect, expect};
use yfs::{Workspace, WorkspaceOptions, clock::Clock};
use yfs_conformance::file_system::{self as conformance, BackendCapabilities};
use yfs_store::{BlobStore, MemoryStore, SqliteStore};
use yfs_threads::{
    NamespaceStrategy, NamespaceTemplate, RemovalReason, RetentionPolicy, ThreadContext,
    ThreadError, Threads,
};
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::{
    CopyOptions, FileSystem, FileSystemExt, FsCode, GlobQuery, GrepQuery, MoveOptions,
    RemoveOptions, WriteOptions,
    work_meter::{WorkMeter, metered},
};

fn path(text: &str) -> VPath {
    VPath::parse(text).unwrap()
}

fn workspace() -> Workspace {
    Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default()).unwrap()
}

async fn write(threads: &Threads, id: &str, at: &str, data: &str) {
    let files = threads.thread(id).await.unwrap().files();
    files.write_file(at, data.to_owned().into(), None, None).await.unwrap();
}

async fn read(threads: &Threads, id: &str, at: &str) -> Option<String> {
    let files = threads.thread(id).await.unwrap().files();
    let data = files.read_file(at).await.unwrap()?;
    Some(String::from_utf8(data.to_vec()).unwrap())
}

async fn ids(threads: &Threads, archived: bool) -> Vec<String> {
    threads.list(archived).await.unwrap().into_iter().map(|info| info.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_passes_the_suite_for_filesystems() {
    let make = async || Threads::open(&workspace()).thread("t").await.unwrap().fs();
    let capabilities = BackendCapabilities { merges: true, ..BackendCapabilities::ALL };
    conformance::run(make, capabilities).await.assert();
}

#[tokio::test]
async fn a_thread_survives_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("w.db");
    let first = Workspace::create_at(&file, WorkspaceOptions::default()).unwrap();
    write(&Threads::open(&first), "t", "/notes/a.txt", "first").await;
    // Another process has it open at the same time.
    let second = Workspace::open_at(&file, WorkspaceOptions::default()).unwrap();
    assert_eq!(read(&Threads::open(&second), "t", "notes/a.txt").await.as_deref(), Some("first"));
    write(&Threads::open(&second), "t", "/notes/b.txt", "second").await;
    first.catch_up().unwrap();
    assert_eq!(read(&Threads::open(&first), "t", "/notes/b.txt").await.as_deref(), Some("second"));
    first.close().unwrap();
    second.close().unwrap();
    let third = Workspace::open_at(&file, WorkspaceOptions::default()).unwrap();
    assert_eq!(read(&Threads::open(&third), "t", "/notes/b.txt").await.as_deref(), Some("second"));
}

/// Each attempt to reach the other thread, and its answer.
#[tokio::test]
async fn nothing_of_another_thread_is_reached() {
    let workspace = workspace();
    let threads = Threads::open(&workspace);
    write(&threads, "other", "/secret.txt", "the needle").await;
    write(&threads, "mine", "/own.txt", "mine").await;
    let other = threads.existing("other").await.unwrap();
    other.fs().rm(&path("/secret.txt"), &RemoveOptions::default()).await.unwrap();
    let removed = other.rooted().removed().unwrap()[0].id.clone();
    write(&threads, "other", "/secret.txt", "the needle").await;
    let secret = other.fs().stat(&path("/secret.txt")).await.unwrap().id;
    let thread = threads.existing("mine").await.unwrap();
    let (fs, files) = (thread.fs(), thread.files());
    let cursor = fs.cursor().await.unwrap();
    write(&threads, "other", "/secret.txt", "the needle, changed").await;

    let names = [
        "/secret.txt",
        "/../other/secret.txt",
        "/../../threads/other/secret.txt",
        "/threads/other/secret.txt",
        &format!("/.id/{secret}"),
        &format!("/../../.id/{secret}"),
        "other/secret.txt",
        "//threads//other/secret.txt",
    ];
    let missing = |result: Result<(), yfs_vfs::FsError>, what: &str| {
        assert_eq!(result.unwrap_err().code, FsCode::ENOENT, "{what}");
    };
    for name in names {
        let at = path(name);
        missing(fs.read(&at).await.map(drop), name);
        missing(fs.stat(&at).await.map(drop), name);
        missing(fs.rm(&at, &RemoveOptions::default()).await, name);
        missing(fs.cp(&at, &path("/copy"), &CopyOptions::default()).await, name);
        missing(fs.mv(&at, &path("/moved"), &MoveOptions::default()).await, name);
        assert!(thread.rooted().versions(&at).is_err(), "{name}");
        assert!(thread.rooted().version_content(&at, 1).is_err(), "{name}");
        assert_eq!(files.read_file(name).await.unwrap(), None, "{name}");
        assert_eq!(files.stat_file(name).await.unwrap(), None, "{name}");
        // The same names as targets of links, made here or by the owner of the workspace.
        let link = path(&format!("/link-{}", name.replace('/', "_")));
        fs.symlink(name, &link).await.unwrap();
        missing(fs.read(&link).await.map(drop), name);
        fs.rm(&link, &RemoveOptions::default()).await.unwrap();
        let below = path(&format!("/threads/mine{link}"));
        workspace.fs().symlink(name, &below).await.unwrap();
        missing(fs.read(&link).await.map(drop), name);
        missing(fs.readdir(&link).await.map(drop), name);
        fs.rm(&link, &RemoveOptions::default()).await.unwrap();
    }
    // Copies and moves to there end inside.
    fs.cp(&path("/own.txt"), &path("/../other/planted.txt"), &CopyOptions::default())
        .await
        .unwrap();
    assert!(fs.stat(&path("/other/planted.txt")).await.is_ok());
    assert_eq!(other.fs().readdir(&VPath::root()).await.unwrap().len(), 1);
    // Searches and changes.
    for root in ["/", "/other"] {
        let query = GrepQuery { root: path(root), hidden: true, ..GrepQuery::literal("needle") };
        assert!(fs.grep(&query).await.unwrap().files.is_empty());
    }
    assert!(fs.glob(&GlobQuery::new("**/secret*")).await.unwrap().entries.is_empty());
    let page = fs.changes(&cursor, &Default::default()).await.unwrap();
    let about = |event: &yfs_vfs::FileChange| event.id == secret;
    assert!(!page.events.is_empty() && !page.events.iter().any(about), "{page:?}");
    // The trash.
    assert!(thread.rooted().removed().unwrap().iter().all(|entry| entry.id != removed));
    assert!(thread.rooted().restore(&removed, None).is_err());
    assert!(thread.rooted().restore(&removed, Some(&path("/stolen"))).is_err());
    // What was in the other thread is still there, and nothing else.
    let all = workspace.fs();
    let now = all.read(&path("/threads/other/secret.txt")).await.unwrap().data;
    assert_eq!(&now[..], b"the needle, changed");
}

#[tokio::test]
async fn ids_that_are_none_make_nothing() {
    let workspace = workspace();
    let threads = Threads::open(&workspace);
    for bad in ["", ".", "..", "a/b", "/", "../x", "a*b", "a?", "x\u{7}", "x\u{0}"] {
        assert!(matches!(threads.thread(bad).await, Err(ThreadError::Id(_))), "{bad:?}");
        assert!(matches!(threads.fork("a", bad).await, Err(ThreadError::Id(_))), "{bad:?}");
        assert!(matches!(threads.delete(bad).await, Err(ThreadError::Id(_))), "{bad:?}");
    }
    assert!(workspace.fs().readdir(&VPath::root()).await.unwrap().is_empty());
}

#[tokio::test]
async fn strategies_share_a_directory_without_sharing_a_tree() {
    let workspace = workspace();
    let context = ThreadContext::of_thread("t").with("task_id", "job").with("agent", "t");
    let template = NamespaceTemplate::parse("{agent}/{thread_id}").unwrap();
    let strategies = [
        NamespaceStrategy::ThreadId,
        NamespaceStrategy::TaskId,
        NamespaceStrategy::Flat,
        NamespaceStrategy::Custom(template),
    ];
    for (number, strategy) in strategies.iter().enumerate() {
        let threads = Threads::open(&workspace).with_strategy(strategy.clone());
        let files = threads.thread_for(&context).await.unwrap().files();
        assert!(files.find_files("**").await.unwrap().is_empty(), "{strategy:?}");
        files.write_file("/file", number.to_string().into(), None, None).await.unwrap();
    }
    let listed = |strategy: &NamespaceStrategy| {
        let threads = Threads::open(&workspace).with_strategy(strategy.clone());
        async move { ids(&threads, false).await }
    };
    // Thread and task ids share one form, so their trees lie side by side.
    assert_eq!(listed(&strategies[0]).await, ["job", "t"]);
    assert_eq!(listed(&strategies[2]).await, ["shared"]);
    assert_eq!(listed(&strategies[3]).await, ["t/t"]);
}

#[tokio::test]
async fn a_fork_has_the_files_and_shares_the_contents() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::create_new(&directory.path().join("w.db")).unwrap());
    let workspace = Workspace::create(store.clone(), WorkspaceOptions::default()).unwrap();
    let threads = Threads::open(&workspace);
    let files = threads.thread("a").await.unwrap().files();
    let image: Vec<u8> =
        (0..1_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let metadata = serde_json::json!({ "width": 10 }).as_object().cloned();
    files.write_file("/i/photo.jpg", image.clone().into(), None, metadata).await.unwrap();
    files.write_file("/notes.txt", "notes".into(), None, None).await.unwrap();
    files.thread().fs().symlink("/i/photo.jpg", &path("/l")).await.unwrap();
    let n_blob_bytes = || store.blobs().unwrap().iter().map(|blob| blob.size).sum::<u64>();
    let before = n_blob_bytes();

    let fork = threads.fork("a", "b").await.unwrap().files();
    assert_eq!(n_blob_bytes(), before, "no blob is written again");
    assert_eq!(fork.read_file("/l").await.unwrap().unwrap(), image, "links lead inside the fork");
    assert_eq!(fork.stat_file("/i/photo.jpg").await.unwrap().unwrap().width, Some(10));
    assert_eq!(threads.info("b").await.unwrap().forked_from.as_deref(), Some("a"));
    // Each is written without the other.
    fork.write_file("/notes.txt", "changed".into(), None, None).await.unwrap();
    fork.unlink_file("/i/photo.jpg").await.unwrap();
    assert_eq!(read(&threads, "a", "/notes.txt").await.as_deref(), Some("notes"));
    assert!(files.stat_file("/i/photo.jpg").await.unwrap().is_some());
    assert!(matches!(threads.fork("a", "b").await, Err(ThreadError::Exists(_))));
    assert!(matches!(threads.fork("a", "a").await, Err(ThreadError::Exists(_))));
    assert!(matches!(threads.fork("none", "c").await, Err(ThreadError::Missing(_))));
    assert_eq!(ids(&threads, true).await, ["a", "b"]);
}

#[tokio::test]
async fn an_archived_thread_is_read_only_and_not_listed() {
    let workspace = workspace();
    let threads = Threads::open(&workspace);
    write(&threads, "t", "/a", "text").await;
    let open = threads.thread("t").await.unwrap();
    assert_eq!(threads.archive("t", Millis(1_000)).await.unwrap(), Millis(1_000));
    assert_eq!(threads.archive("t", Millis(2_000)).await.unwrap(), Millis(1_000));
    let refused = open.fs().write(&path("/a"), "x".into(), &WriteOptions::default()).await;
    assert_eq!(refused.unwrap_err().code, FsCode::EROFS);
    let files = open.files();
    assert!(files.write_file_from("/b", &mut &b"x"[..], None, None).await.is_err());
    assert!(files.patch_metadata("/a", &Default::default()).await.is_err());
    assert_eq!(read(&threads, "t", "/a").await.as_deref(), Some("text"));
    assert!(ids(&threads, false).await.is_empty());
    assert_eq!(ids(&threads, true).await, ["t"]);
    // A fork of it is not archived.
    threads.fork("t", "again").await.unwrap();
    write(&threads, "again", "/a", "more").await;
    threads.unarchive("t").await.unwrap();
    write(&threads, "t", "/a", "writable").await;
    assert!(matches!(threads.archive("none", Millis(0)).await, Err(ThreadError::Missing(_))));
}

/// Counts the objects that a call lists.
#[derive(Debug, Default)]
struct ObjectCount(AtomicI64);

impl WorkMeter for ObjectCount {
    fn count_objects(&self, n_objects: u64) {
        self.0.fetch_add(n_objects as i64, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn archiving_a_thread_lists_no_file_and_describing_it_lists_each_once() {
    let workspace = workspace();
    let threads = Threads::open(&workspace);
    for number in 0..20 {
        write(&threads, "t", &format!("/f{number}"), "text").await;
    }
    for (at, is_archived) in [(Some(Millis(1)), true), (None, false)] {
        let count = Arc::new(ObjectCount::default());
        metered(count.clone(), threads.set_archived("t", at)).await.unwrap();
        assert_eq!(count.0.swap(0, Ordering::Relaxed), 0);
        let info = metered(count.clone(), threads.info("t")).await.unwrap();
        assert_eq!(info.archived.is_some(), is_archived);
        assert_eq!(count.0.load(Ordering::Relaxed), 20);
    }
    let count = Arc::new(ObjectCount::default());
    let archived = metered(count.clone(), threads.archive("t", Millis(2))).await.unwrap();
    assert_eq!((archived, count.0.swap(0, Ordering::Relaxed)), (Millis(2), 0));
    // A list without archived threads lists none of their files.
    assert!(metered(count.clone(), threads.list(false)).await.unwrap().is_empty());
    assert!(count.0.swap(0, Ordering::Relaxed) < 20);
    assert_eq!(metered(count.clone(), threads.list(true)).await.unwrap().len(), 1);
    assert!(count.0.swap(0, Ordering::Relaxed) >= 20);
    metered(count.clone(), threads.unarchive("t")).await.unwrap();
    assert_eq!(count.0.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_deleted_thread_is_in_the_trash() {
    // Both threads are deleted in one millisecond.
    let clock = Arc::new(ManualClock::default());
    let options = WorkspaceOptions { clock, ..WorkspaceOptions::default() };
    let workspace = Workspace::create(Arc::new(MemoryStore::new()), options).unwrap();
    let threads = Threads::open(&workspace);
    write(&threads, "t", "/a", "first").await;
    let open = threads.thread("t").await.unwrap();
    threads.delete("t").await.unwrap();
    assert!(threads.find("t").await.unwrap().is_none());
    assert_eq!(open.files().read_file("/a").await.unwrap(), None);
    assert!(open.files().write_file("/a", "x".into(), None, None).await.is_err());
    assert!(matches!(threads.delete("t").await, Err(ThreadError::Missing(_))));
    // A new thread with the id is another one.
    write(&threads, "t", "/b", "second").await;
    assert_eq!(read(&threads, "t", "/a").await, None);
    assert!(matches!(threads.restore("t").await, Err(ThreadError::Exists(_))));
    threads.delete("t").await.unwrap();
    threads.restore("t").await.unwrap();
    assert_eq!(read(&threads, "t", "/b").await.as_deref(), Some("second"));
}

/// A clock that a test sets.
#[derive(Debug, Default)]
struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::Relaxed))
    }
}

async fn check_retention(policy: RetentionPolicy, expected: Expect) {
    let clock = Arc::new(ManualClock::default());
    let options = WorkspaceOptions { clock: clock.clone(), ..WorkspaceOptions::default() };
    let workspace = Workspace::create(Arc::new(MemoryStore::new()), options).unwrap();
    let threads = Threads::open(&workspace);
    for (id, at, size) in [
        ("kept", 500, 50),
        ("old", 1_000, 100),
        ("empty", 2_000, 0),
        ("big", 5_000, 1_000),
        ("new", 9_000, 10),
    ] {
        clock.0.store(at, Ordering::Relaxed);
        write(&threads, id, "/f", &"x".repeat(size)).await;
    }
    threads.archive("kept", Millis(1)).await.unwrap();
    let now = Millis(9_000);
    let dry = threads.prune(&RetentionPolicy { dry_run: true, ..policy }, now).await.unwrap();
    assert_eq!(ids(&threads, true).await.len(), 5, "a dry run deletes nothing");
    let report = threads.prune(&policy, now).await.unwrap();
    assert_eq!(report, dry);
    let removed =
        report.removed.iter().map(|thread| format!("{}: {}", thread.info.id, thread.reason.name()));
    let removed: Vec<String> = removed.collect();
    let left = ids(&threads, true).await.join(" ");
    let (n_kept, bytes) = (report.n_kept, report.kept_bytes);
    expected
        .assert_eq(&format!("{}; {n_kept} with {bytes} bytes stay: {left}", removed.join(", ")));
    for thread in &report.removed {
        threads.restore(&thread.info.id).await.unwrap();
    }
    assert_eq!(ids(&threads, true).await.len(), 5);
}

#[tokio::test]
async fn retention_deletes_by_size_and_by_age() {
    let none = RetentionPolicy::default();
    check_retention(none, expect!["; 4 with 1110 bytes stay: big empty kept new old"]).await;
    let size = RetentionPolicy { max_bytes: Some(1_050), ..none };
    check_retention(size, expect!["old: size; 3 with 1010 bytes stay: big empty kept new"]).await;
    let all = RetentionPolicy { max_bytes: Some(0), archived: true, ..none };
    check_retention(
        all,
        expect!["kept: size, old: size, big: size, new: size; 1 with 0 bytes stay: empty"],
    )
    .await;
    let age = RetentionPolicy { max_age: Some(Duration::from_secs(4)), ..none };
    check_retention(age, expect!["old: age, empty: age; 2 with 1010 bytes stay: big kept new"])
        .await;
    let both = RetentionPolicy { max_bytes: Some(500), ..age };
    check_retention(
        both,
        expect!["old: age, empty: age, big: size; 1 with 10 bytes stay: kept new"],
    )
    .await;
}

#[tokio::test]
async fn retention_deletes_by_age() {
    let workspace = workspace();
    let threads = Threads::open(&workspace);
    write(&threads, "t", "/f", "x").await;
    let changed = threads.info("t").await.unwrap().changed;
    let policy = RetentionPolicy { max_age: Some(Duration::from_secs(60)), ..Default::default() };
    let kept = threads.prune(&policy, Millis(changed.0 + 60_000)).await.unwrap();
    assert_eq!((kept.removed.len(), kept.n_kept), (0, 1));
    let gone = threads.prune(&policy, Millis(changed.0 + 60_001)).await.unwrap();
    assert_eq!((gone.removed.len(), gone.n_kept), (1, 0));
    assert_eq!(gone.removed[0].reason, RemovalReason::Age);
    assert!(threads.list(true).await.unwrap().is_empty());
}

#[tokio::test]
async fn calls_that_are_confined_to_a_thread_do_not_delete_it_by_retention() {
    let threads = Threads::open(&workspace());
    write(&threads, "t", "/f", "x").await;
    let policy = RetentionPolicy { max_bytes: Some(0), ..RetentionPolicy::default() };
    for scope in ["/threads/t", "/threads/t/f", "/docs"] {
        let confined = threads.clone().confined_to(VPath::parse(scope).unwrap());
        let refused = confined.prune(&policy, Millis(0)).await.unwrap_err();
        assert!(
            matches!(&refused, ThreadError::Fs(error) if error.code == FsCode::EACCES),
            "{scope}: {refused}"
        );
    }
    assert_eq!(ids(&threads, true).await, ["t"]);
    let confined = threads.clone().confined_to(VPath::parse("/threads").unwrap());
    assert_eq!(confined.prune(&policy, Millis(0)).await.unwrap().removed.len(), 1);
}
