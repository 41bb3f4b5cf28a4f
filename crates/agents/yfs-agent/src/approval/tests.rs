//! Tests of the approval of directories.

use std::os::unix::fs::PermissionsExt;

use expect_test::expect;
use tokio::sync::Notify;
use yfs_vfs::{FileSystem, FileSystemExt, MemoryFs};

use super::*;
use crate::permissions::{AccessKind, PermissionRule, PermissionRules, PermittedFs, RuleMode};

/// An asker with prepared answers, which waits for the test before each.
#[derive(Debug)]
struct PreparedAsker {
    answers: Mutex<Vec<DirectoryAnswer>>,
    asked: Mutex<Vec<VPath>>,
    began: Notify,
    gate: Option<Notify>,
}

impl PreparedAsker {
    fn new(answers: &[DirectoryAnswer], waits: bool) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.iter().rev().copied().collect()),
            asked: Mutex::default(),
            began: Notify::new(),
            gate: waits.then(Notify::new),
        })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().iter().map(ToString::to_string).collect()
    }
}

#[async_trait]
impl DirectoryAsker for PreparedAsker {
    async fn ask(&self, question: DirectoryQuestion) -> DirectoryAnswer {
        self.asked.lock().push(question.directory);
        self.began.notify_one();
        if let Some(gate) = &self.gate {
            gate.notified().await;
        }
        let answer = self.answers.lock().pop();
        answer.expect("the asker is asked no more than it has answers")
    }
}

/// Approvals whose file is never written.
fn without_file(asker: Arc<PreparedAsker>) -> DirectoryApprovals {
    DirectoryApprovals::open(asker, "/no/such/approvals.json").expect("the file need not exist")
}

fn parse(path: &str) -> VPath {
    path.parse().expect("a path")
}

#[tokio::test]
async fn an_approval_covers_the_directories_below_and_outlives_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("approvals.json");
    let asker = PreparedAsker::new(
        &[DirectoryAnswer::Yes, DirectoryAnswer::Session, DirectoryAnswer::No],
        false,
    );
    let approvals = DirectoryApprovals::open(asker.clone(), &file).unwrap();
    assert!(approvals.request(&parse("/a")).await);
    assert!(approvals.request(&parse("/a/b/c")).await);
    assert!(approvals.request(&parse("/s")).await);
    assert!(!approvals.request(&parse("/ab")).await);
    assert_eq!(asker.asked(), ["/a", "/s", "/ab"]);

    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let content = std::fs::read_to_string(&file).unwrap();
    expect![[r#"
        {
          "version": 1,
          "directories": [
            "/a"
          ]
        }
    "#]]
    .assert_eq(&content);

    let later = DirectoryApprovals::open(PreparedAsker::new(&[], false), &file).unwrap();
    assert!(later.is_approved(&parse("/a/x")) && !later.is_approved(&parse("/s")));
    assert!(later.revoke(&parse("/a")).unwrap());
    assert!(!later.revoke(&parse("/a")).unwrap());
    assert!(!later.is_approved(&parse("/a/x")));
    assert!(DirectoryApprovals::open(asker, &file).unwrap().grants().is_empty());
}

#[tokio::test]
async fn processes_that_share_a_file_keep_each_other_s_approvals() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("approvals.json");
    let open = || {
        let asker = PreparedAsker::new(&[DirectoryAnswer::Yes], false);
        DirectoryApprovals::open(asker, &file).unwrap()
    };
    let (one, two) = (open(), open());
    let (a, b) = (parse("/a"), parse("/b"));
    let (first, second) = futures::join!(one.request(&a), two.request(&b));
    assert!(first && second);
    let kept: Vec<_> = open().grants().into_iter().map(|grant| grant.directory).collect();
    assert_eq!(kept, [a, b]);
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("approvals.json");
    for damage in [
        "",
        "{",
        "[]",
        r#"{"version":2,"directories":[]}"#,
        r#"{"version":1,"directories":["/a/../b"]}"#,
        r#"{"version":1,"directories":["a"]}"#,
        r#"{"version":1,"directories":[],"more":1}"#,
    ] {
        std::fs::write(&file, damage).unwrap();
        let asker = PreparedAsker::new(&[], false);
        let error = DirectoryApprovals::open(asker, &file).unwrap_err();
        assert!(matches!(error, GrantFileError::Damaged { .. }), "{damage}: {error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), damage);
    }
    // Damage after the start: the approval holds for the session, and the file stays as it is.
    std::fs::remove_file(&file).unwrap();
    let asker = PreparedAsker::new(&[DirectoryAnswer::Yes], false);
    let approvals = DirectoryApprovals::open(asker, &file).unwrap();
    std::fs::write(&file, "{").unwrap();
    assert!(approvals.request(&parse("/a")).await);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
    assert!(approvals.revoke(&parse("/a")).is_err());
    assert!(approvals.is_approved(&parse("/a")));
}

#[tokio::test]
async fn concurrent_requests_share_one_question() {
    let asker = PreparedAsker::new(&[DirectoryAnswer::Session], true);
    let approvals = without_file(asker.clone());
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let approvals = approvals.clone();
            let directory = if number % 2 == 0 { "/a" } else { "/a/b" };
            tokio::spawn(async move {
                // Those about the directory below arrive when the question is open.
                while number % 2 == 1 && approvals.shared.state.lock().open.is_empty() {
                    tokio::task::yield_now().await;
                }
                approvals.request(&parse(directory)).await
            })
        })
        .collect();
    asker.began.notified().await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    asker.gate.as_ref().unwrap().notify_one();
    for task in tasks {
        assert!(task.await.unwrap());
    }
    assert_eq!(asker.asked(), ["/a"]);
}

#[tokio::test]
async fn a_cancelled_caller_leaves_the_question_to_the_others() {
    let asker = PreparedAsker::new(&[DirectoryAnswer::Session], true);
    let approvals = without_file(asker.clone());
    let request = |approvals: DirectoryApprovals| {
        tokio::spawn(async move { approvals.request(&parse("/a")).await })
    };
    let first = request(approvals.clone());
    asker.began.notified().await;
    let second = request(approvals.clone());
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    asker.gate.as_ref().unwrap().notify_one();
    assert!(second.await.unwrap());
    assert_eq!(asker.asked(), ["/a"]);
}

#[tokio::test]
async fn an_asker_that_panics_refuses_and_the_next_caller_asks_again() {
    let asker = PreparedAsker::new(&[], false);
    let approvals = without_file(asker.clone());
    assert!(!approvals.request(&parse("/a")).await);
    asker.answers.lock().push(DirectoryAnswer::Session);
    assert!(approvals.request(&parse("/a")).await);
}

#[tokio::test]
async fn a_refusal_above_is_no_answer_about_a_directory_below() {
    let asker = PreparedAsker::new(&[DirectoryAnswer::No, DirectoryAnswer::Session], true);
    let approvals = without_file(asker.clone());
    let request = |directory: &'static str| {
        let approvals = approvals.clone();
        tokio::spawn(async move { approvals.request(&parse(directory)).await })
    };
    let above = request("/a");
    asker.began.notified().await;
    let below = request("/a/b");
    asker.gate.as_ref().unwrap().notify_one();
    assert!(!above.await.unwrap());
    asker.began.notified().await;
    asker.gate.as_ref().unwrap().notify_one();
    assert!(below.await.unwrap());
    assert_eq!(asker.asked(), ["/a", "/a/b"]);
}

#[tokio::test]
async fn every_directory_needs_an_approval() {
    let inner = Arc::new(MemoryFs::new());
    for path in ["/proj/a", "/proj/d/b", "/other/c"] {
        inner.write_text(&parse(path), "x").await.unwrap();
    }
    let asker = PreparedAsker::new(&[DirectoryAnswer::Session, DirectoryAnswer::No], false);
    let approvals = without_file(asker.clone());
    let access = [AccessKind::Read, AccessKind::Write];
    let rule = PermissionRule::new(RuleMode::Interrupt, &access, "/**");
    let fs = PermittedFs::new(inner, PermissionRules::new([rule]).unwrap())
        .unwrap()
        .with_broker(Arc::new(approvals));
    assert!(fs.read(&parse("/proj/a")).await.is_ok());
    assert!(fs.read(&parse("/proj/d/b")).await.is_ok());
    assert!(fs.write_text(&parse("/proj/new"), "x").await.is_ok());
    // The question is about the place where a path leads, not about its spelling.
    fs.symlink("/other/c", &parse("/proj/link")).await.unwrap();
    assert!(fs.read(&parse("/proj/link")).await.is_err());
    assert_eq!(asker.asked(), ["/proj", "/other"]);
}
