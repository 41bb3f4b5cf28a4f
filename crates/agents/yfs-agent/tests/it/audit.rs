//! Every call of a tool and every change of a file leaves a record.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use expect_test::{Expect, expect};
use parking_lot::Mutex;
use serde_json::{Value, json};
use yfs::{SealedDirectory, UnlockKey, Workspace, WorkspaceOptions};
use yfs_agent::{
    AgentSession, CallContext, DeepAgentsProfile, ToolCatalog, ToolVocabulary,
    audit::{
        AuditDirectoryLimits, AuditQuery, AuditRecord, AuditSink, DirectoryAuditSink,
        select_audit_records,
    },
};
use yfs_agent_workspace::{audit_directory_of, open_workspace_audit};
use yfs_types::actor::{Actor, ActorKind};
use yfs_vfs::{
    FileSystem, FsError, MemoryFs,
    guarded_fs::{FsGuard, GuardedCall, GuardedFs},
};

/// Tells the process that the test below starts which directory to write to.
const CHILD_DIRECTORY: &str = "YFS_TEST_AUDIT_DIRECTORY";

#[derive(Debug, Default)]
struct RecordsInMemory(Mutex<Vec<AuditRecord>>);

impl RecordsInMemory {
    fn select(&self, query: &AuditQuery) -> Vec<AuditRecord> {
        let records = self.0.lock();
        let selected = records.iter().rev().filter(|record| record.is_selected_by(query));
        let limit = query.limit.unwrap_or(usize::MAX);
        let mut selected: Vec<_> = selected.take(limit).cloned().collect();
        selected.reverse();
        selected
    }
}

impl AuditSink for RecordsInMemory {
    fn record(&self, record: AuditRecord) {
        self.0.lock().push(record);
    }
}

fn session(sink: Arc<dyn AuditSink>) -> AgentSession {
    session_over(Arc::new(MemoryFs::new()), sink)
}

fn session_over(fs: Arc<dyn FileSystem>, sink: Arc<dyn AuditSink>) -> AgentSession {
    let actor = Actor::new(ActorKind::Agent, "bob");
    AgentSession::builder(fs, actor).id("s1").audit(sink).build()
}

async fn call(session: &AgentSession, name: &str, arguments: Value) {
    let replacing = ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing);
    let catalog = ToolCatalog::new(&[replacing, ToolVocabulary::FileTools]).expect("names differ");
    let context = CallContext { call_id: Some("c1".into()), ..CallContext::default() };
    catalog.call_tool(session, name, arguments, context).await.expect("a tool");
}

/// Returns a record as a line, without times, durations and digests.
fn line_of(record: &AuditRecord) -> String {
    let files = record.files.iter().map(|file| {
        let version = |version: &Option<String>| match version {
            Some(_) => "v",
            None => "-",
        };
        format!(" {} {}{}", file.path, version(&file.before), version(&file.after))
    });
    let (tool, operation) = (record.tool.as_deref(), record.operation.as_deref());
    let (actor, session) = (&record.actor, &record.session);
    let what = operation.map_or(String::new(), |operation| format!("/{operation}"));
    let outcome = serde_json::to_value(&record.outcome).expect("plain data");
    let (tool, call) = (tool.unwrap_or("-"), record.call_id.as_deref().unwrap_or("-"));
    format!("{actor} {session} {call} {tool}{what} {outcome}{}\n", files.collect::<String>())
}

fn check(records: &[AuditRecord], expected: Expect) {
    expected.assert_eq(&records.iter().map(line_of).collect::<String>());
}

#[tokio::test]
async fn calls_and_changes_are_recorded() {
    let sink = Arc::new(RecordsInMemory::default());
    let session = session(sink.clone());
    call(&session, "write_file", json!({"file_path": "/a", "content": "one"})).await;
    let edit = |old| json!({"file_path": "/a", "old_string": old, "new_string": "1"});
    call(&session, "edit_file", edit("one")).await;
    call(&session, "edit_file", edit("none")).await;
    call(&session, "read_file", json!({"file_path": "/a"})).await;
    call(&session, "fs_move", json!({"source": "/a", "destination": "/b"})).await;
    call(&session, "delete", json!({"file_path": "/b"})).await;
    call(&session, "delete", json!({"file": "/b"})).await;
    check(
        &sink.select(&AuditQuery::default()),
        expect![[r#"
            agent:bob s1 c1 write_file/write {"result":"done"} /a -v
            agent:bob s1 c1 write_file {"result":"done"} /a -v
            agent:bob s1 c1 edit_file/edit {"result":"done"} /a vv
            agent:bob s1 c1 edit_file {"result":"done"} /a vv
            agent:bob s1 c1 edit_file/edit {"reason":"EINVAL","result":"failed"} /a vv
            agent:bob s1 c1 edit_file {"reason":"Error: String not found in file: 'none'","result":"failed"}
            agent:bob s1 c1 read_file {"result":"done"} /a vv
            agent:bob s1 c1 fs_move/rename {"result":"done"} /a v- /b -v
            agent:bob s1 c1 fs_move {"result":"done"} /a v- /b -v
            agent:bob s1 c1 delete/rm {"result":"done"} /b v-
            agent:bob s1 c1 delete {"result":"done"} /b v-
            agent:bob s1 c1 delete {"reason":"Error: invalid arguments for delete: unknown field `file`, expected `file_path`","result":"failed"}
        "#]],
    );
    let failed = AuditQuery { failed: Some(true), ..AuditQuery::default() };
    check(
        &sink.select(&failed),
        expect![[r#"
        agent:bob s1 c1 edit_file/edit {"reason":"EINVAL","result":"failed"} /a vv
        agent:bob s1 c1 edit_file {"reason":"Error: String not found in file: 'none'","result":"failed"}
        agent:bob s1 c1 delete {"reason":"Error: invalid arguments for delete: unknown field `file`, expected `file_path`","result":"failed"}
    "#]],
    );
    let moved = AuditQuery { tool: Some("fs_move".into()), limit: Some(1), ..failed.clone() };
    check(
        &sink.select(&AuditQuery { failed: None, ..moved }),
        expect![[r#"
        agent:bob s1 c1 fs_move {"result":"done"} /a v- /b -v
    "#]],
    );
    let edits = AuditQuery { tool: Some("edit_file".into()), ..AuditQuery::default() };
    let edits = sink.select(&edits).into_iter();
    let digests: Vec<_> = edits.filter_map(|record| record.arguments_digest).collect();
    assert_eq!(digests.len(), 2);
    assert_ne!(digests[0], digests[1]);
}

/// Lets no write come to its end.
#[derive(Debug)]
struct EndlessWrites;

#[async_trait::async_trait]
impl FsGuard for EndlessWrites {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        if call.writes {
            std::future::pending::<()>().await;
        }
        Ok(None)
    }
}

#[test]
fn a_dropped_call_is_recorded() {
    let sink = Arc::new(RecordsInMemory::default());
    let fs = GuardedFs::new(Arc::new(MemoryFs::new()), EndlessWrites);
    let session = session_over(Arc::new(fs), sink.clone());
    let catalog = ToolCatalog::new(&[ToolVocabulary::FileTools]).expect("names differ");
    let arguments = json!({"path": "/a", "content": "x"});
    let mut called =
        Box::pin(catalog.call_tool(&session, "fs_write", arguments, CallContext::default()));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(called.as_mut().poll(&mut context).is_pending());
    assert_eq!(sink.select(&AuditQuery::default()), []);
    drop(called);
    check(
        &sink.select(&AuditQuery::default()),
        expect![[r#"
        agent:bob s1 - fs_write/write {"result":"abandoned"} /a --
        agent:bob s1 - fs_write {"result":"abandoned"} /a --
    "#]],
    );
}

fn record_at(at_ms: i64, path: &str) -> AuditRecord {
    let value = json!({
        "at_ms": at_ms, "actor": "agent:bob", "session": "s1", "call_id": null, "tool": "fs_write",
        "operation": null, "arguments_digest": null, "outcome": {"result": "done"},
        "duration_us": 1, "files": [{"path": path, "before": null, "after": "1"}],
    });
    serde_json::from_value(value).expect("a record")
}

fn times(directory: &Path, query: &AuditQuery) -> Vec<i64> {
    let selected =
        select_audit_records(&SealedDirectory::plain(directory), query).expect("readable");
    selected.records.iter().map(|record| record.at_ms).collect()
}

#[test]
fn records_are_selected_by_path_and_time_across_writers() {
    let directory = tempfile::tempdir().expect("a directory");
    let limits = AuditDirectoryLimits::default();
    let open = || {
        DirectoryAuditSink::open(&SealedDirectory::plain(directory.path()), limits).expect("opened")
    };
    let (one, two) = (open(), open());
    for at in [1, 3, 5] {
        one.record(record_at(at, "/docs/a"));
        two.record(record_at(at + 1, "/docsx/b"));
    }
    one.flush().expect("flushed");
    let all = AuditQuery::default();
    assert_eq!(times(directory.path(), &all), [1, 2, 3, 4, 5, 6]);
    let below = |path: &str| AuditQuery { below: Some(path.into()), ..AuditQuery::default() };
    assert_eq!(times(directory.path(), &below("/docs")), [1, 3, 5]);
    assert_eq!(times(directory.path(), &below("/")), [1, 2, 3, 4, 5, 6]);
    let since = AuditQuery { since_ms: Some(3), until_ms: Some(5), ..AuditQuery::default() };
    assert_eq!(times(directory.path(), &since), [3, 4]);
    let latest = AuditQuery { limit: Some(2), ..AuditQuery::default() };
    assert_eq!(times(directory.path(), &latest), [5, 6]);
    assert_eq!(times(directory.path(), &AuditQuery { limit: Some(0), ..latest }), [0_i64; 0]);
}

#[test]
fn the_directory_stays_bounded_and_damage_is_counted() {
    let directory = tempfile::tempdir().expect("a directory");
    let limits = AuditDirectoryLimits { max_file_len: 1_000, max_total_len: 5_000 };
    let sink = DirectoryAuditSink::open(&SealedDirectory::plain(directory.path()), limits)
        .expect("opened");
    for at in 0..1_000 {
        sink.record(record_at(at, "/a"));
    }
    assert_eq!(sink.n_lost(), 0);
    let files = || {
        std::fs::read_dir(directory.path()).expect("listed").map(|entry| entry.expect("an entry"))
    };
    let total: u64 = files().map(|entry| entry.metadata().expect("metadata").len()).sum();
    assert!(total < 7_000, "{total} bytes");
    let kept = times(directory.path(), &AuditQuery::default());
    assert_eq!(kept.last(), Some(&999));
    let newest = files().map(|entry| entry.path()).max().expect("a file");
    let mut file = std::fs::OpenOptions::new().append(true).open(newest).expect("opened");
    file.write_all(b"{\"at_ms\": 5, \"act").expect("written");
    let selected =
        select_audit_records(&SealedDirectory::plain(directory.path()), &AuditQuery::default());
    assert_eq!(selected.expect("readable").n_damaged, 1);
}

#[test]
fn sealed_records_are_read_with_their_key_and_in_their_place() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("workspace.db");
    let key = Some(Arc::new(UnlockKey::from_key_file(vec![1; 32]).expect("a key")));
    let options = WorkspaceOptions { key, ..WorkspaceOptions::default() };
    let workspace = Workspace::create_at(&path, options).expect("created");
    let sink = open_workspace_audit(&workspace).expect("opened").expect("there is a directory");
    for at in 0..10 {
        sink.record(record_at(at, "/marzipan"));
    }
    let records = audit_directory_of(&workspace).expect("a directory");
    let file = std::fs::read_dir(records.path()).expect("listed").next().expect("a file");
    let file = file.expect("an entry").path();
    let text = std::fs::read_to_string(&file).expect("read");
    assert!(!text.contains("marzipan") && !text.contains("at_ms"));
    let count = |directory: &SealedDirectory| {
        let selected = select_audit_records(directory, &AuditQuery::default()).expect("readable");
        (selected.records.len(), selected.n_damaged)
    };
    assert_eq!(count(&records), (10, 0));
    assert_eq!(count(&SealedDirectory::plain(records.path())), (0, 10));
    // Two lines change places; all are as long.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(3, 4);
    std::fs::write(&file, lines.join("\n") + "\n").expect("written");
    assert_eq!(count(&records), (8, 2));
}

/// Runs in a process of its own, started by the next test.
#[test]
fn writes_until_it_is_killed() {
    let Ok(directory) = env::var(CHILD_DIRECTORY) else { return };
    let limits = AuditDirectoryLimits::default();
    let sink = DirectoryAuditSink::open(&SealedDirectory::plain(Path::new(&directory)), limits)
        .expect("opened");
    for at in 0.. {
        sink.record(record_at(at, "/a"));
        let mut out = std::io::stderr();
        writeln!(out, "recorded {at}").expect("the parent reads");
    }
}

#[test]
fn records_survive_a_kill() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut child = Command::new(env::current_exe().expect("this program"))
        .args(["--exact", "audit::writes_until_it_is_killed", "--nocapture"])
        .env(CHILD_DIRECTORY, directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let output = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut recorded = output
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("recorded ")?.parse::<i64>().ok());
    let last = recorded.find(|at| *at >= 200).expect("it records");
    child.kill().expect("killed");
    child.wait().expect("ended");
    let kept = times(directory.path(), &AuditQuery::default());
    assert!(kept.len() as i64 > last, "{} of {last}", kept.len());
    assert!(kept.iter().copied().eq(0..kept.len() as i64));
}
