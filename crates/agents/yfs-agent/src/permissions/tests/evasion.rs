//! Attempts to reach what the rules deny. None may succeed on any backend.
//!
//! Each attempt is a script. Afterwards no output may hold a secret, and what was locked must be
//! what it was.

use std::sync::Arc;

use yfs::{Workspace, WorkspaceOptions};
use yfs_conformance::file_system::script;
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FileSystemExt, HostFs, MemoryFs, WalkOptions};

use super::permitted;

/// The rules. No broker answers, so `ask` refuses.
const RULES: &str = "
    deny rw /secret
    deny rw /secret/**
    deny r /drop/**
    deny w /locked/**
    deny rw /**/{*.key,.env*}
    deny rw /caf\u{e9}/**
    ask rw /ask/**
    ask r /asked/**
    deny r /**/*.hushed
    allow rw /mixed/ok/**
    deny rw /mixed/**";

/// The tree. Every file that may not be read holds `TOPSECRET`, and has `hush` in its name if its
/// name may not be listed.
const TREE: &str = "
    write /secret/hush TOPSECRET
    write /secret/d/hush2 TOPSECRET
    write /drop/hush3 TOPSECRET
    write /drop/d/hush4 TOPSECRET
    write /ask/asked TOPSECRET
    write /asked/file TOPSECRET
    write /deep/in/x.hushed TOPSECRET
    write /locked/cfg LOCKED
    write /locked/d/cfg2 LOCKED
    write /pub/note note
    write /pub/hush5.key TOPSECRET
    write /pub/.env-hush6 TOPSECRET
    write /caf\u{e9}/hush7 TOPSECRET
    write /mixed/ok/fine fine
    write /mixed/hush8 TOPSECRET
    ln ../secret /pub/old-link
    ln /secret/hush /pub/old-file-link
    ln old-file-link /pub/old-chain
    ln /locked /pub/old-locked";

/// The attempts, separated by blank lines. Some must be refused, others find nothing.
const ATTEMPTS: &str = include_str!("attempts.txt");

#[derive(Debug)]
struct TestBackend {
    name: &'static str,
    fs: Arc<dyn FileSystem>,
    _directory: Option<tempfile::TempDir>,
}

async fn backends() -> Vec<TestBackend> {
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let host = HostFs::open(directory.path()).expect("the directory exists");
    let backends = vec![
        TestBackend { name: "memory", fs: Arc::new(MemoryFs::new()), _directory: None },
        TestBackend { name: "workspace", fs: Arc::new(workspace.fs()), _directory: None },
        TestBackend { name: "host", fs: Arc::new(host), _directory: Some(directory) },
    ];
    for backend in &backends {
        script::check(&backend.fs, TREE).await.expect("the tree is made");
    }
    backends
}

fn attempts() -> Vec<&'static str> {
    let blocks = ATTEMPTS.split("\n\n").map(str::trim);
    blocks.filter(|block| !block.is_empty()).collect()
}

/// Runs the lines of an attempt and returns the violations.
async fn violations(backend: &TestBackend, attempt: &str) -> Vec<String> {
    let fs = permitted(backend.fs.clone(), RULES);
    let mut runner = script::ScriptRunner::new(fs);
    let mut found = Vec::new();
    for line in attempt.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let outcome = runner.run(line).await.unwrap_or_else(|why| panic!("{line}: {why}"));
        match outcome {
            // A successful edit confirms a guess of the content.
            Ok(_) if line.starts_with("edit") => found.push(format!("`{line}` succeeded")),
            Ok(output) if output.contains("TOPSECRET") || output.contains("hush") => {
                found.push(format!("`{line}` printed {output}"));
            }
            _ => (),
        }
    }
    found.extend(seen_by_another_session(backend).await);
    for (path, content) in [("/locked/cfg", "LOCKED"), ("/locked/d/cfg2", "LOCKED")] {
        let now = backend.fs.read_to_string(&path.parse().expect("a path")).await;
        if now.as_deref().ok() != Some(content) {
            found.push(format!("{path} is {now:?}"));
        }
    }
    for path in ["/secret/hush", "/secret/d/hush2", "/pub/hush5.key", "/mixed/hush8", "/ask/asked"]
    {
        let now = backend.fs.read_to_string(&path.parse().expect("a path")).await;
        if now.as_deref().ok() != Some("TOPSECRET") {
            found.push(format!("{path} is {now:?}"));
        }
    }
    found
}

/// Returns what a session that begins after an attempt may read of the secrets. It does not know
/// where objects were before.
async fn seen_by_another_session(backend: &TestBackend) -> Vec<String> {
    let fs = permitted(backend.fs.clone(), RULES);
    let mut found = Vec::new();
    let entries = fs.walk(&VPath::root(), &WalkOptions::default()).await;
    for entry in entries.expect("the root is listed") {
        let path = entry.path;
        let content = fs.read(&path).await.map(|content| content.data).unwrap_or_default();
        if path.as_str().contains("hush") || content.windows(9).any(|word| word == b"TOPSECRET") {
            found.push(format!("another session sees {path}"));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn no_attempt_gets_through() {
    let attempts = attempts();
    assert!(attempts.len() >= 60, "there are {} attempts", attempts.len());
    let mut failures = Vec::new();
    for attempt in &attempts {
        for backend in backends().await {
            let found = violations(&backend, attempt).await;
            let shown =
                found.into_iter().map(|why| format!("{}: {attempt}\n  {why}", backend.name));
            failures.extend(shown);
        }
    }
    assert!(failures.is_empty(), "{} got through:\n{}", failures.len(), failures.join("\n"));
}

/// The same attempts must be able to succeed: without rules they reach the secret or the lock.
#[tokio::test(flavor = "multi_thread")]
async fn without_rules_the_attempts_would_succeed() {
    let mut harmless = Vec::new();
    for attempt in attempts() {
        let mut has_worked = false;
        for backend in backends().await {
            let open = permitted(backend.fs.clone(), "");
            let mut runner = script::ScriptRunner::new(open);
            let mut printed = String::new();
            for line in attempt.lines().filter(|line| !line.trim_start().starts_with('#')) {
                let outcome = runner.run(line).await.unwrap_or_else(|why| panic!("{line}: {why}"));
                has_worked |= outcome.is_ok() && line.starts_with("edit");
                printed.push_str(&outcome.unwrap_or_default());
            }
            let locked = backend.fs.read_to_string(&"/locked/cfg".parse().expect("a path")).await;
            let below = backend.fs.exists(&"/locked/d/cfg2".parse().expect("a path")).await;
            let secret = backend.fs.read_to_string(&"/secret/hush".parse().expect("a path")).await;
            let seen = seen_by_another_session(&backend).await;
            has_worked |= !seen.is_empty()
                || printed.contains("TOPSECRET")
                || printed.contains("hush")
                || !below
                || locked.ok().as_deref() != Some("LOCKED")
                || secret.ok().as_deref() != Some("TOPSECRET");
        }
        if !has_worked && !attempt.contains("# may find nothing") {
            harmless.push(attempt);
        }
    }
    assert!(harmless.is_empty(), "these prove nothing:\n{}", harmless.join("\n\n"));
}

/// A refused call says the same whether or not there is an object.
#[tokio::test(flavor = "multi_thread")]
async fn errors_do_not_tell_what_exists() {
    for backend in backends().await {
        script::check(&backend.fs, "ln /secret/none /pub/n\nln /secret/hush /pub/y").await.unwrap();
        script::check(&backend.fs, "ln /secret/none/../../pub/note /pub/u").await.unwrap();
        script::check(&backend.fs, "ln /secret/d/../../pub/note /pub/v").await.unwrap();
        let fs = permitted(backend.fs.clone(), RULES) as Arc<dyn FileSystem>;
        for pair in [["/secret/hush", "/secret/none"], ["/pub/y", "/pub/n"], ["/pub/v", "/pub/u"]] {
            let mut errors = Vec::new();
            for path in pair {
                let path = path.parse().expect("a path");
                let mut shown = vec![fs.read(&path).await.map(drop)];
                shown.push(fs.stat(&path).await.map(drop));
                shown.push(fs.realpath(&path).await.map(drop));
                shown.push(fs.readdir(&path).await.map(drop));
                shown.push(fs.append(&path, "x".into(), &Default::default()).await.map(drop));
                shown.push(fs.chmod(&path, 0).await);
                let shown = shown.into_iter().map(|result| {
                    let error = result.expect_err("every call is refused");
                    error.to_string().replace(path.as_str(), "PATH")
                });
                errors.push(shown.collect::<Vec<_>>());
            }
            assert_eq!(errors[0], errors[1], "{}: {pair:?}", backend.name);
        }
    }
}
