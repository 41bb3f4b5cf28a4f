//! Tests of the permissions: conformance, attempts to evade rules, questions, and listings.

mod directories;
mod evasion;
mod listing;
mod questions;
mod races;
mod rules;

use std::sync::Arc;

use yfs::{Workspace, WorkspaceOptions};
use yfs_conformance::file_system::{self as conformance, BackendCapabilities};
use yfs_vfs::{FileSystem, HostFs, MemoryFs};

use super::{
    AccessKind::{Read, Write},
    PermissionRule, PermissionRules, PermittedFs,
    RuleMode::{self, Allow, Deny, Interrupt},
};

/// Compiles rules, one a line: `MODE ACCESS PATTERN`, where ACCESS is `r`, `w` or `rw`.
fn compile(text: &str) -> PermissionRules {
    let rules = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        let [mode, access, path] = words[..] else { panic!("three words: {line}") };
        let mode = match mode {
            "allow" => Allow,
            "deny" => Deny,
            "ask" => Interrupt,
            _ => panic!("a mode: {mode}"),
        };
        let operations = match access {
            "r" => vec![Read],
            "w" => vec![Write],
            _ => vec![Read, Write],
        };
        PermissionRule::new(mode, &operations, path)
    });
    PermissionRules::new(rules).expect("the rules are well formed")
}

fn permitted(inner: Arc<dyn FileSystem>, rules: &str) -> Arc<PermittedFs> {
    Arc::new(PermittedFs::new(inner, compile(rules)).unwrap())
}

/// What rules say of one path, for a test's output.
struct AccessRow<'a>(&'a PermissionRules, yfs_types::path::VPath);

impl std::fmt::Display for AccessRow<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(rules, path) = self;
        let (read, write) = (rules.mode_at(Read, path), rules.mode_at(Write, path));
        write!(f, "{path} read {read:?}, write {write:?}")
    }
}

/// Rules that restrict other paths than those of the suite, so that every call takes the long way.
const ELSEWHERE: &str = "
    deny rw /never/{a,b}/**
    deny r /**/*.never";

#[tokio::test(flavor = "multi_thread")]
async fn a_permitted_memory_conforms() {
    for rules in ["", ELSEWHERE] {
        let make = async || permitted(Arc::new(MemoryFs::new()), rules) as Arc<dyn FileSystem>;
        conformance::run(make, BackendCapabilities::ALL).await.assert();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permitted_workspace_conforms() {
    let make = async || {
        let store = Arc::new(yfs_store::MemoryStore::new());
        let workspace = Workspace::create(store, WorkspaceOptions::default());
        let fs = workspace.expect("a new workspace").fs();
        permitted(Arc::new(fs), ELSEWHERE) as Arc<dyn FileSystem>
    };
    let caps = BackendCapabilities { merges: true, ..BackendCapabilities::ALL };
    conformance::run(make, caps).await.assert();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permitted_directory_conforms() {
    let directories = std::sync::Mutex::new(Vec::new());
    let make = async || {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let fs = HostFs::open(directory.path()).expect("the directory exists");
        directories.lock().expect("no test panicked").push(directory);
        permitted(Arc::new(fs), ELSEWHERE) as Arc<dyn FileSystem>
    };
    let caps = BackendCapabilities {
        metadata: false,
        keeps_identity: false,
        clamps_links: false,
        normalizes_names: false,
        ..BackendCapabilities::ALL
    };
    conformance::run(make, caps).await.assert();
}
