//! The conformance suite, and tests of the limits, which the suite cannot see.

use std::sync::Arc;

use bytes::Bytes;
use yfs_conformance::file_system::{self as conformance, BackendCapabilities, script};
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::{
    ChangeAuthor, ChangesOptions, FileSystem, MemoryFs, TextReplacement, WriteOptions,
    memory::MemoryLimits,
};

fn limited(limits: MemoryLimits) -> Arc<dyn FileSystem> {
    Arc::new(MemoryFs::with(Arc::new(|| Millis(1_000)), limits))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    let make = async || Arc::new(MemoryFs::new()) as Arc<dyn FileSystem>;
    let report = conformance::run(make, BackendCapabilities::ALL).await;
    report.assert();
    assert!(report.passed.len() > 150, "{report}");
}

#[tokio::test]
async fn space_is_counted_and_given_back() {
    let fs = limited(MemoryLimits { max_bytes: 10, ..MemoryLimits::default() });
    let script = "
        write /a 123456
        write /b 12345 !! ENOSPC
        write /d/b 12345 !! ENOSPC
        append /a 12345 !! ENOSPC
        cp /a /b !! ENOSPC
        write /b 1234
        append /b 5 !! ENOSPC
        edit /b 1 12 !! ENOSPC
        write /a 12
        append /b 5678
        rm /b
        write /b 12345678
        mv /a /b
        write /c 12345678
        cp /b /c
        totals / => 2 0 4";
    script::check(&fs, script).await.unwrap();
}

#[tokio::test]
async fn files_are_limited() {
    let fs = limited(MemoryLimits { max_file_len: 4, ..MemoryLimits::default() });
    let script = "
        write /a 1234
        write /a 12345 !! EFBIG
        append /a 5 !! EFBIG
        edit /a 1 12 !! EFBIG
        write /d/b 12345 !! EFBIG";
    script::check(&fs, script).await.unwrap();
}

#[tokio::test]
async fn cursor_is_lost_when_the_log_has_gone_on() {
    let fs = limited(MemoryLimits { max_changes: 2, ..MemoryLimits::default() });
    let cursor = fs.cursor().await.unwrap();
    script::check(&fs, "write /a 1\nwrite /b 2").await.unwrap();
    let options = ChangesOptions::default();
    assert_eq!(fs.changes(&cursor, &options).await.unwrap().events.len(), 2);
    script::check(&fs, "write /c 3").await.unwrap();
    assert!(fs.changes(&cursor, &options).await.unwrap_err().is_cursor_lost());
}

#[tokio::test]
async fn changes_name_their_actor() {
    use yfs_types::actor::{Actor, ActorKind};

    let fs = limited(MemoryLimits::default());
    let cursor = fs.cursor().await.unwrap();
    let path = VPath::parse("/a").unwrap();
    let actor = Actor::new(ActorKind::Agent, "x");
    let author = Some(ChangeAuthor { actor: actor.clone(), label: None, step: None });
    let options = WriteOptions { author: author.clone(), ..WriteOptions::default() };
    fs.write(&path, Bytes::from_static(b"x"), &options).await.unwrap();
    fs.edit(&path, &TextReplacement { author, ..TextReplacement::once("x", "y") }).await.unwrap();
    let changes = fs.changes(&cursor, &ChangesOptions::default()).await.unwrap();
    assert!(changes.events.iter().all(|change| change.actor.as_ref() == Some(&actor)));
}
