//! The artifact store: thresholds, references, damage, a store that cannot be written, cleanup.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use expect_test::expect;
use serde_json::{Value, json};
use yfs::{Workspace, WorkspaceOptions};
use yfs_agent_workspace::WorkspacePast;
use yfs_artifacts::{
    ArtifactError, ArtifactIds, ArtifactOptions, CleanupPolicy, FileMetadata,
    FileSystemArtifactStore, FileSystemOps, FileSystemStore, NamespaceStrategy, StoredResult,
};
use yfs_conformance::{FsFault, fault_fs};
use yfs_store::MemoryStore;
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::{FileSystem, FileSystemExt, FsCode, MemoryFs, MoveOptions, Op, WriteOptions};

fn ids(call: &str) -> ArtifactIds {
    ArtifactIds {
        thread_id: "t".to_owned(),
        task_id: "k".to_owned(),
        tool_call_id: call.to_owned(),
    }
}

fn path(text: &str) -> VPath {
    text.parse().expect("a path")
}

fn large(seed: &str) -> Value {
    json!(format!("{seed} {}", "words and more words. ".repeat(1_000)))
}

fn store_in(fs: Arc<dyn FileSystem>) -> FileSystemArtifactStore {
    let options = ArtifactOptions { root: path("/artifacts"), ..ArtifactOptions::development() };
    FileSystemArtifactStore::new(FileSystemStore::new(fs, options))
}

fn reference(stored: &StoredResult) -> &FileMetadata {
    stored.content.get_file_metadata().expect("the result became a file")
}

#[tokio::test]
async fn thresholds_count_bytes_and_tokens() {
    let options = ArtifactOptions { token_threshold: Some(100), ..ArtifactOptions::development() };
    let store =
        FileSystemArtifactStore::new(FileSystemStore::new(Arc::new(MemoryFs::new()), options));
    for (result, is_file) in [
        (json!("a".repeat(400)), false),
        (json!("a".repeat(401)), true),
        // 300 bytes, and 100 characters.
        (json!("日".repeat(400)), false),
        (json!(null), false),
    ] {
        let stored = store.store(result.clone(), &ids("1")).await.unwrap();
        assert_eq!(stored.content.get_file_metadata().is_some(), is_file, "{result}");
    }
    let store = store_in(Arc::new(MemoryFs::new()));
    for (len, is_file) in [(10 * 1024, false), (10 * 1024 + 1, true)] {
        let stored = store.store(json!("a".repeat(len)), &ids("1")).await.unwrap();
        assert_eq!(stored.content.get_file_metadata().is_some(), is_file, "{len}");
    }
}

#[tokio::test]
async fn equal_results_are_stored_once() {
    let store = store_in(Arc::new(MemoryFs::new()));
    for _ in 0..3 {
        store.store(large("a"), &ids("1")).await.unwrap();
    }
    store.store(json!(1), &ids("2")).await.unwrap();
    let metrics = store.metrics();
    assert_eq!((metrics.n_stored, metrics.n_deduplicated, metrics.n_direct), (3, 2, 1));
}

#[tokio::test]
async fn a_file_has_the_reference_that_was_returned() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    let store = store_in(fs.clone());
    let stored = store.store(large("a"), &ids("1")).await.unwrap();
    let metadata = reference(&stored);
    let at = store.files().path_now(metadata).await.unwrap();
    assert_eq!(at, path("/artifacts/t/tool_call_1.txt"));
    assert_eq!(&store.files().reference_at(&at).await.unwrap(), metadata);

    fs.mkdir(&path("/kept"), &yfs_vfs::MkdirOptions::default()).await.unwrap();
    fs.mv(&at, &path("/kept/b.txt"), &MoveOptions::default()).await.unwrap();
    let at = store.files().path_now(metadata).await.unwrap();
    assert_eq!(at, path("/kept/b.txt"));
    assert_eq!(&store.files().reference_at(&at).await.unwrap(), metadata);

    // A file that was not stored has a reference only below the root.
    for (at, expected) in [("/artifacts/x.csv", Some("x.csv")), ("/x.csv", None)] {
        fs.write(&path(at), "a,b\n1,2\n".into(), &WriteOptions::default()).await.unwrap();
        let found = store.files().reference_at(&path(at)).await;
        assert_eq!(found.ok().map(|found| found.relative_path).as_deref(), expected);
    }
}

#[tokio::test]
async fn a_reference_survives_moves_and_edits() {
    let workspace =
        Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default()).unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(workspace.fs());
    let options = ArtifactOptions { root: path("/artifacts"), ..ArtifactOptions::development() };
    let files = FileSystemStore::new(fs.clone(), options);
    let files = files.with_past(Arc::new(WorkspacePast::new(workspace.clone())));
    let store = FileSystemArtifactStore::new(files);
    let stored = store.store(large("first"), &ids("1")).await.unwrap();
    let metadata = reference(&stored);
    let content = store.resolve(metadata).await.unwrap();

    let moved = path("/reports/kept.txt");
    fs.mv(&path("/artifacts/t/tool_call_1.txt"), &moved, &MoveOptions::default()).await.unwrap();
    assert_eq!(store.resolve(metadata).await.unwrap(), content);
    // Another file takes the old name.
    fs.write_text(&path("/artifacts/t/tool_call_1.txt"), "another").await.unwrap();
    assert_eq!(store.resolve(metadata).await.unwrap(), content);
    // The file is edited: the reference is to the version that was stored.
    fs.write_text(&moved, "edited").await.unwrap();
    assert_eq!(store.resolve(metadata).await.unwrap(), content);
    assert_eq!(fs.read_to_string(&moved).await.unwrap(), "edited");

    fs.rm_all(&moved).await.unwrap();
    fs.rm_all(&path("/artifacts/t/tool_call_1.txt")).await.unwrap();
    let error = store.resolve(metadata).await.unwrap_err();
    expect![[r#"the artifact /artifacts/t/tool_call_1.txt is not available: it was removed, or is in another store. Look in the trash (`yfs trash ls`), or call the tool again"#]].assert_eq(&error.to_string());
    assert_eq!(store.metrics().n_resolved, 4);
    assert_eq!(store.metrics().n_missing, 1);
}

/// `yfs artifact get PATH` returned a changed artifact without a word.
#[tokio::test]
async fn a_path_alone_is_verified_by_the_hash_of_the_stored_content() {
    let workspace =
        Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default()).unwrap();
    let memory: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    for (fs, past) in [
        (
            Arc::new(workspace.fs()) as Arc<dyn FileSystem>,
            Some(WorkspacePast::new(workspace.clone())),
        ),
        (memory, None),
    ] {
        let options =
            ArtifactOptions { root: path("/artifacts"), ..ArtifactOptions::development() };
        let has_past = past.is_some();
        let files = FileSystemStore::new(fs.clone(), options);
        let files = match past {
            Some(past) => files.with_past(Arc::new(past)),
            None => files,
        };
        let stored = files.store_file(&ids("1"), "the result".into()).await.unwrap();
        let by_path = FileMetadata::at_path(stored.relative_path.clone(), None);
        let read = files.read_verified(&by_path).await.unwrap();
        assert_eq!((&read.data[..], read.is_earlier), (&b"the result"[..], false));
        let at = path("/artifacts/t/tool_call_1.txt");
        fs.write_text(&at, "another").await.unwrap();
        match (has_past, files.read_verified(&by_path).await) {
            (true, read) => {
                let read = read.unwrap();
                assert_eq!((&read.data[..], read.is_earlier), (&b"the result"[..], true));
                assert_eq!(files.read_file(&by_path).await.unwrap(), "the result");
            }
            (false, read) => {
                let error = read.unwrap_err();
                assert!(matches!(error, ArtifactError::Corrupt { .. }), "{error}");
            }
        }
        // Stored again under the same ids, the new result is the stored one.
        files.store_file(&ids("1"), "a second result".into()).await.unwrap();
        assert_eq!(files.read_file(&by_path).await.unwrap(), "a second result");
        // A file that was not stored has no hash.
        fs.write_text(&path("/artifacts/t/own.txt"), "own").await.unwrap();
        let own = FileMetadata::at_path("t/own.txt".to_owned(), None);
        assert_eq!(files.read_file(&own).await.unwrap(), "own");
    }
}

#[tokio::test]
async fn a_corrupt_file_is_reported() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    let store = store_in(fs.clone());
    let stored = store.store(large("a"), &ids("1")).await.unwrap();
    fs.write_text(&path("/artifacts/t/tool_call_1.txt"), "damaged").await.unwrap();
    let error = store.resolve(reference(&stored)).await.unwrap_err();
    assert!(matches!(error, ArtifactError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("yfs versions ls /artifacts/t/tool_call_1.txt"));
    assert_eq!(store.metrics().n_corrupt, 1);
}

#[tokio::test]
async fn references_name_no_file_outside() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    fs.write_text(&path("/secret"), "secret").await.unwrap();
    let store = store_in(fs);
    let stored = store.store(large("a"), &ids("1")).await.unwrap();
    for relative in ["../secret", "/secret", "", "t/../../secret", "t//x", "."] {
        let mut metadata = reference(&stored).clone();
        metadata.relative_path = relative.to_owned();
        metadata.checksum = None;
        let error = store.resolve(&metadata).await.unwrap_err();
        assert!(matches!(error, ArtifactError::BadReference(_)), "{relative}: {error}");
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_written_is_a_warning() {
    let inner: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    let faulty = Arc::new(fault_fs(inner.clone()));
    faulty.guard().inject(FsFault::every(Op::Write, FsCode::ENOSPC));
    let store = store_in(faulty.clone());
    let first = store.store(large("first"), &ids("1")).await.unwrap();
    let warning = first.warning.clone().unwrap();
    assert!(warning.contains("ENOSPC"), "{warning}");
    assert_eq!(store.metrics().n_pending, 1);
    // It is there all the same.
    assert_eq!(store.resolve_value(reference(&first)).await.unwrap(), large("first"));
    let second = store.store(large("second"), &ids("2")).await.unwrap();
    assert!(second.warning.is_some());
    assert_eq!(store.metrics().n_pending, 2);
    faulty.guard().clear_faults();
    let third = store.store(large("third"), &ids("3")).await.unwrap();
    assert_eq!(third.warning, None);
    assert_eq!(store.metrics().n_pending, 0);
    for (call, seed) in [("1", "first"), ("2", "second"), ("3", "third")] {
        let stored = path(&format!("/artifacts/t/tool_call_{call}.txt"));
        assert_eq!(json!(inner.read_to_string(&stored).await.unwrap()), large(seed));
    }
}

#[tokio::test]
async fn a_result_that_does_not_fit_in_memory_stays_a_value() {
    let faulty = Arc::new(fault_fs(Arc::new(MemoryFs::new())));
    faulty.guard().inject(FsFault::every(Op::Write, FsCode::EROFS));
    let options = ArtifactOptions { max_pending_bytes: 100, ..ArtifactOptions::development() };
    let store = FileSystemArtifactStore::new(FileSystemStore::new(faulty, options));
    let stored = store.store(large("a"), &ids("1")).await.unwrap();
    assert!(stored.warning.is_some());
    assert_eq!(stored.content.result(), large("a"));
}

#[tokio::test]
async fn cleanup_removes_the_oldest() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
    let options = ArtifactOptions {
        root: path("/artifacts"),
        namespace_strategy: NamespaceStrategy::ThreadId,
        ..ArtifactOptions::development()
    };
    let files = FileSystemStore::new(fs.clone(), options);
    let write = async |name: &str, len: usize, at: i64| {
        let options = WriteOptions { mtime: Some(Millis(at)), ..WriteOptions::default() };
        fs.write(&path(name), Bytes::from(vec![b'a'; len]), &options).await.unwrap();
    };
    for (at, thread) in ["a", "b", "c", "d"].into_iter().enumerate() {
        write(&format!("/artifacts/{thread}/x.txt"), 100, 1_000 * at as i64).await;
    }
    write("/other.txt", 100, 0).await;
    let shown = async |policy: CleanupPolicy, dry_run: bool| {
        let report = files.clean_up(&policy, Millis(10_000), dry_run).await.unwrap();
        let removed = report.removed.iter().map(|file| format!("{} {:?}", file.path, file.reason));
        format!("{} {}", removed.collect::<Vec<_>>().join(", "), report.freed_bytes)
    };
    let by_age = CleanupPolicy {
        max_age: Some(Duration::from_millis(8_500)),
        kept_directories: BTreeSet::from(["a".to_owned()]),
        ..CleanupPolicy::default()
    };
    let by_bytes = CleanupPolicy { max_total_bytes: Some(250), ..CleanupPolicy::default() };
    let by_number = CleanupPolicy { max_files: Some(3), ..CleanupPolicy::default() };
    expect!["/artifacts/b/x.txt Age 100"].assert_eq(&shown(by_age.clone(), true).await);
    expect!["/artifacts/a/x.txt TotalBytes, /artifacts/b/x.txt TotalBytes 200"]
        .assert_eq(&shown(by_bytes, true).await);
    expect!["/artifacts/a/x.txt NumberOfFiles 100"].assert_eq(&shown(by_number, true).await);
    assert_eq!(fs.totals(&VPath::root()).await.unwrap().n_files, 5);
    expect!["/artifacts/b/x.txt Age 100"].assert_eq(&shown(by_age, false).await);
    assert!(!fs.exists(&path("/artifacts/b")).await);
    assert_eq!(fs.totals(&VPath::root()).await.unwrap().n_files, 4);
}

#[tokio::test]
async fn any_id_is_a_name() {
    let files = FileSystemStore::new(Arc::new(MemoryFs::new()), ArtifactOptions::development());
    let mut paths = BTreeSet::new();
    let strange = ["a/b", "a%2Fb", "..", ".", "a b", "a\0b", "*?", "é", "\u{7f}", "a\nb", "C:\\x"];
    let long = "x".repeat(1_000);
    let other_long = format!("{}y", "x".repeat(999));
    for id in strange.into_iter().chain([long.as_str(), other_long.as_str()]) {
        let ids = ArtifactIds { thread_id: id.to_owned(), ..ids(id) };
        let metadata = files.store_file(&ids, Bytes::from(id.to_owned())).await.unwrap();
        assert_eq!(files.read_file(&metadata).await.unwrap(), id.as_bytes());
        assert!(paths.insert(metadata.relative_path.clone()), "{id} has a path of its own");
    }
    let empty = ArtifactIds { thread_id: String::new(), ..ids("1") };
    assert!(files.store_file(&empty, Bytes::new()).await.is_err());
    for template in ["{file_id}/x", "{thread}/{file_id}", "../{file_id}", "{thread_id/{file_id}"] {
        let strategy = NamespaceStrategy::Custom(template.to_owned());
        assert!(strategy.relative_path(&ids("1"), "f").is_err(), "{template}");
    }
}
