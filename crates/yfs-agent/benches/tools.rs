//! The cost of a tool call above the call of the filesystem: `cargo bench -p yfs-agent`.

use std::{hint::black_box, sync::Arc, time::Duration};

use criterion::{
    BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use yfs::{SealedDirectory, Workspace, WorkspaceOptions};
use yfs_agent::{
    AgentSession, CallContext, DeepAgentsProfile, ToolCatalog, ToolVocabulary,
    audit::{AuditDirectoryLimits, DirectoryAuditSink},
};
use yfs_types::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_vfs::{FileSystem, FileSystemExt, MemoryFs, TextReplacement};

/// A file of this many lines of 40 bytes is read and edited.
const N_LINES: usize = 100;

fn agent() -> Actor {
    Actor::new(ActorKind::Agent, "bench")
}

fn call(
    runtime: &Runtime,
    catalog: &ToolCatalog,
    session: &AgentSession,
    name: &str,
    input: &Value,
) {
    let called = catalog.call_tool(session, name, input.clone(), CallContext::default());
    let reply = runtime.block_on(called).expect("a tool");
    assert!(!black_box(reply).is_error);
}

fn measure(group: &mut BenchmarkGroup<'_, WallTime>, fs: &Arc<dyn FileSystem>) {
    let runtime = Runtime::new().expect("a runtime");
    let directory = tempfile::tempdir().expect("a directory");
    let limits = AuditDirectoryLimits::default();
    let sink = DirectoryAuditSink::open(&SealedDirectory::plain(directory.path()), limits)
        .expect("a sink");
    let catalog = ToolCatalog::new(&[ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing)]);
    let catalog = catalog.expect("names differ");
    let plain = AgentSession::builder(fs.clone(), agent()).build();
    let audited = AgentSession::builder(fs.clone(), agent()).audit(Arc::new(sink)).build();
    let path: VPath = "/f".parse().expect("a path");
    let text = "0123456789 0123456789 0123456789 012345\n".repeat(N_LINES) + "flag on\n";
    runtime.block_on(fs.write_text(&path, &text)).expect("written");
    let read = json!({"file_path": "/f", "limit": 1_000});
    let edit = json!({"file_path": "/f", "old_string": "flag on", "new_string": "flag on"});
    let replacement = TextReplacement::once("flag on", "flag on");
    group.bench_function("read/vfs", |b| b.iter(|| runtime.block_on(fs.read(&path))));
    group.bench_function("read/tool", |b| {
        b.iter(|| call(&runtime, &catalog, &plain, "read_file", &read));
    });
    group.bench_function("read/tool with audit", |b| {
        b.iter(|| call(&runtime, &catalog, &audited, "read_file", &read));
    });
    group.bench_function("edit/vfs", |b| b.iter(|| runtime.block_on(fs.edit(&path, &replacement))));
    group.bench_function("edit/tool", |b| {
        b.iter(|| call(&runtime, &catalog, &plain, "edit_file", &edit));
    });
    group.bench_function("edit/tool with audit", |b| {
        b.iter(|| call(&runtime, &catalog, &audited, "edit_file", &edit));
    });
}

fn tools(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("memory");
    group.measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(300));
    measure(&mut group, &(Arc::new(MemoryFs::new()) as Arc<dyn FileSystem>));
    group.finish();
    let mut group = criterion.benchmark_group("workspace");
    group.measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(300));
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    measure(&mut group, &(Arc::new(workspace.fs_for(agent())) as Arc<dyn FileSystem>));
    group.finish();
}

criterion_group!(benches, tools);
criterion_main!(benches);
