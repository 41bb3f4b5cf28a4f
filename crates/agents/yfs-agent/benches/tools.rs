//! The cost of a tool call above the call of the filesystem: `cargo bench -p yfs-agent`.

use std::{cell::Cell, hint::black_box, sync::Arc, time::Duration};

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

/// The files that are edited in turn: an edit costs more with each earlier one of its file.
const N_EDITED: usize = 1_000;

/// An edit of one word.
struct Edit {
    path: VPath,
    replacement: TextReplacement,
    /// The arguments of the tool.
    input: Value,
}

impl Edit {
    /// Returns an edit of a file, and the one that takes it back.
    fn there_and_back(file: usize) -> [Self; 2] {
        [("on", "off"), ("off", "on")].map(|(old, new)| {
            let (path, old, new) =
                (format!("/{file}"), format!("flag {old}"), format!("flag {new}"));
            Self {
                path: path.parse().expect("a path"),
                replacement: TextReplacement::once(&old, &new),
                input: json!({"file_path": path, "old_string": old, "new_string": new}),
            }
        })
    }
}

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
    let edits: Vec<Edit> = (0..N_EDITED).flat_map(Edit::there_and_back).collect();
    for edit in &edits {
        runtime.block_on(fs.write_text(&edit.path, &text)).expect("written");
    }
    let n_edits = Cell::new(0);
    let next = || &edits[n_edits.replace(n_edits.get() + 1) % edits.len()];
    group.bench_function("read/vfs", |b| b.iter(|| runtime.block_on(fs.read(&path))));
    group.bench_function("read/tool", |b| {
        b.iter(|| call(&runtime, &catalog, &plain, "read_file", &read));
    });
    group.bench_function("read/tool with audit", |b| {
        b.iter(|| call(&runtime, &catalog, &audited, "read_file", &read));
    });
    group.bench_function("edit/vfs", |b| {
        b.iter(|| {
            let Edit { path, replacement, .. } = next();
            runtime.block_on(fs.edit(path, replacement)).expect("edited")
        });
    });
    group.bench_function("edit/tool", |b| {
        b.iter(|| call(&runtime, &catalog, &plain, "edit_file", &next().input));
    });
    group.bench_function("edit/tool with audit", |b| {
        b.iter(|| call(&runtime, &catalog, &audited, "edit_file", &next().input));
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
