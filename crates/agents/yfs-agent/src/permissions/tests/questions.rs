//! Rules that ask.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Notify;
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FileSystemExt, FsCode, MemoryFs, MoveOptions, RemoveOptions};

use super::{
    super::{ApprovalBroker, ApprovalDecision, ApprovalRequest},
    PermittedFs, compile,
};

/// A broker with prepared answers, which remembers the questions.
#[derive(Debug, Default)]
struct ScriptedBroker {
    answers: Mutex<Vec<ApprovalDecision>>,
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl ApprovalBroker for ScriptedBroker {
    async fn decide(&self, request: &ApprovalRequest) -> ApprovalDecision {
        let below = if request.is_subtree { " and below" } else { "" };
        let shown = format!("{:?} {} ({}){below}", request.access, request.path, request.op);
        self.asked.lock().push(shown);
        self.answers.lock().pop().unwrap_or(ApprovalDecision::Refuse)
    }
}

fn parse(path: &str) -> VPath {
    path.parse().expect("a path")
}

async fn setup(rules: &str, answers: &[ApprovalDecision]) -> (PermittedFs, Arc<ScriptedBroker>) {
    let inner = Arc::new(MemoryFs::new());
    for path in ["/ask/a", "/ask/d/b", "/free/c"] {
        inner.write_text(&parse(path), path).await.unwrap();
    }
    let broker = Arc::new(ScriptedBroker::default());
    *broker.answers.lock() = answers.iter().rev().copied().collect();
    (PermittedFs::new(inner, compile(rules)).unwrap().with_broker(broker.clone()), broker)
}

#[tokio::test]
async fn an_approval_for_once_is_for_one_call() {
    let (fs, broker) = setup("ask r /ask/**", &[ApprovalDecision::Once]).await;
    assert!(fs.read(&parse("/ask/a")).await.is_ok());
    let error = fs.read(&parse("/ask/a")).await.unwrap_err();
    assert_eq!(error.to_string(), "EACCES: permission denied, open '/ask/a'");
    assert_eq!(*broker.asked.lock(), ["Read /ask/a (open)", "Read /ask/a (open)"]);
}

#[tokio::test]
async fn an_approval_for_the_session_moves_with_the_file() {
    let (fs, broker) = setup("ask r /ask/**", &[ApprovalDecision::Session]).await;
    assert!(fs.read(&parse("/ask/a")).await.is_ok());
    fs.mv(&parse("/ask/a"), &parse("/free/a"), &MoveOptions::default()).await.unwrap();
    assert!(fs.read(&parse("/free/a")).await.is_ok());
    assert_eq!(broker.asked.lock().len(), 1);
    // Another file at the same path asks again.
    fs.write_text(&parse("/ask/a"), "new").await.unwrap();
    assert!(fs.read(&parse("/ask/a")).await.is_err());
}

#[tokio::test]
async fn a_rule_asks_wherever_the_file_was_moved() {
    let (fs, broker) = setup("ask r /ask/**", &[ApprovalDecision::Once]).await;
    fs.mv(&parse("/ask/a"), &parse("/free/a"), &MoveOptions::default()).await.unwrap();
    assert!(fs.read(&parse("/free/a")).await.is_err());
    assert_eq!(*broker.asked.lock(), ["Read /ask/a (rename)", "Read /free/a (open)"]);
}

#[tokio::test]
async fn a_move_asks_once_for_an_object_that_may_not_be_read_or_changed() {
    let (fs, broker) = setup("ask rw /ask/**", &[ApprovalDecision::Once]).await;
    let moved = async |to: &str| fs.mv(&parse("/ask/a"), &parse(to), &MoveOptions::default()).await;
    moved("/free/a").await.unwrap();
    assert_eq!(*broker.asked.lock(), ["Write /ask/a (rename)"]);
}

#[tokio::test]
async fn a_recursive_removal_asks_once_for_all_below() {
    let (fs, broker) = setup("ask w /ask/**", &[ApprovalDecision::Once]).await;
    let options = RemoveOptions { recursive: true, force: false };
    fs.rm(&parse("/ask"), &options).await.unwrap();
    assert_eq!(*broker.asked.lock(), ["Write /ask (rm) and below"]);
}

#[tokio::test]
async fn a_search_asks_no_question_and_reads_nothing_that_needs_one() {
    let (fs, broker) = setup("ask r /ask/**", &[ApprovalDecision::Once; 9]).await;
    let found = fs.grep(&yfs_vfs::GrepQuery::new(".")).await.unwrap();
    let paths: Vec<_> = found.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!((paths, found.n_unreadable), (vec!["/free/c"], 0));
    let found = fs.glob(&yfs_vfs::GlobQuery::new("**")).await.unwrap();
    let paths: Vec<_> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["/ask/a", "/free/c"]);
    assert!(broker.asked.lock().is_empty());
}

/// A broker that waits until the test lets it answer.
#[derive(Debug, Default)]
struct SlowBroker {
    asked: Notify,
    answer: Notify,
}

#[async_trait]
impl ApprovalBroker for SlowBroker {
    async fn decide(&self, _: &ApprovalRequest) -> ApprovalDecision {
        self.asked.notify_one();
        self.answer.notified().await;
        ApprovalDecision::Once
    }
}

#[tokio::test]
async fn no_lock_is_held_while_a_person_decides() {
    let (fs, _) = setup("ask r /ask/**", &[]).await;
    let broker = Arc::new(SlowBroker::default());
    let fs = fs.with_broker(broker.clone());
    let reader = tokio::spawn({
        let fs = fs.clone();
        async move { fs.read(&parse("/ask/a")).await.map(|content| content.data) }
    });
    broker.asked.notified().await;
    // A move needs the lock exclusively.
    fs.mv(&parse("/free/c"), &parse("/free/d"), &MoveOptions::default()).await.unwrap();
    broker.answer.notify_one();
    assert_eq!(&reader.await.unwrap().unwrap()[..], b"/ask/a");
}

#[tokio::test]
async fn an_approval_never_applies_to_another_object() {
    let (fs, _) = setup("ask r /ask/**\ndeny r /secret/**", &[]).await;
    fs.inner.write_text(&parse("/secret/s"), "s").await.unwrap();
    fs.symlink("/ask/a", &parse("/free/link")).await.unwrap();
    let broker = Arc::new(SlowBroker::default());
    let fs = fs.with_broker(broker.clone());
    let reader = tokio::spawn({
        let fs = fs.clone();
        async move { fs.read(&parse("/free/link")).await.map(drop) }
    });
    broker.asked.notified().await;
    fs.rm(&parse("/free/link"), &RemoveOptions::default()).await.unwrap();
    fs.symlink("/secret/s", &parse("/free/link")).await.unwrap();
    broker.answer.notify_one();
    assert_eq!(reader.await.unwrap().unwrap_err().code, FsCode::EACCES);
}
