//! Patches of several files at once, beside each other and beside plain edits: what was reported as
//! done stays, also if a patch has to be taken back.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use async_trait::async_trait;
use serde_json::{Value, json};
use yfs::{Workspace, WorkspaceOptions};
use yfs_agent::{AgentSession, CallContext, ToolCatalog, ToolReply, ToolVocabulary};
use yfs_types::{
    actor::{Actor, ActorKind},
    path::VPath,
};
use yfs_vfs::{
    FileSystem, FileSystemExt, FsCode, FsError, HostFs, MemoryFs, Op, TextReplacement,
    guarded_fs::{FsGuard, GuardedCall, GuardedFs},
};

const N_AGENTS: usize = 20;
const N_ROUNDS: usize = 5;

fn path(text: &str) -> VPath {
    text.parse().expect("a path")
}

fn agent(name: &str) -> Actor {
    Actor::new(ActorKind::Agent, name)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime")
}

/// Calls a tool in a session of its own, as another client does.
fn call(fs: &Arc<dyn FileSystem>, name: &str, tool: &str, arguments: Value) -> ToolReply {
    let vocabularies = [ToolVocabulary::Beyond, ToolVocabulary::FileTools];
    let catalog = ToolCatalog::new(&vocabularies).expect("the names differ");
    let session = AgentSession::builder(fs.clone(), agent(name)).id(name).build();
    let called = catalog.call_tool(&session, tool, arguments, CallContext::default());
    runtime().block_on(called).expect("a tool")
}

fn write(fs: &Arc<dyn FileSystem>, at: &str, text: &str) {
    runtime().block_on(fs.write_text(&path(at), text)).expect("written");
}

fn read(fs: &Arc<dyn FileSystem>, at: &str) -> String {
    runtime().block_on(fs.read_to_string(&path(at))).expect("text")
}

fn lines(word: &str) -> String {
    (0..N_AGENTS).map(|number| format!("line {number:02} {word}\n")).collect()
}

fn patch_of(files: &[&str], number: usize) -> Value {
    let mut patch = String::from("*** Begin Patch\n");
    for file in files {
        patch.push_str(&format!(
            "*** Update File: {file}\n@@\n-line {number:02} open\n+line {number:02} done\n"
        ));
    }
    json!({ "patch": patch + "*** End Patch" })
}

/// Runs `work` on one thread for each agent.
fn for_all_agents(work: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for number in 0..N_AGENTS {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
}

/// Runs a race on a workspace, on memory, and on a directory that each agent opens itself.
fn race(work: impl Fn(usize, &Arc<dyn FileSystem>, usize) + Sync, files: &[&str], open: &str) {
    for round in 0..N_ROUNDS {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Arc::new(yfs_store::MemoryStore::new());
        let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
        let memory: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
        let backends: [&(dyn Fn(usize) -> Arc<dyn FileSystem> + Sync); 3] = [
            &|number| Arc::new(workspace.fs_for(agent(&format!("agent-{number}")))),
            &|_| memory.clone(),
            &|_| Arc::new(HostFs::open(dir.path()).expect("a directory")),
        ];
        for (backend, open_fs) in backends.into_iter().enumerate() {
            let fs = open_fs(0);
            files.iter().for_each(|file| write(&fs, &format!("/{file}"), open));
            for_all_agents(|number| work(round, &open_fs(number), number));
            for file in files {
                let text = read(&fs, &format!("/{file}"));
                assert_eq!(text, lines("done"), "{file}, backend {backend}, round {round}");
            }
        }
    }
}

/// Twenty clients patch two files, half of them in the other order.
#[test]
fn patches_of_two_files_by_twenty_clients_are_all_kept() {
    let patch = |_: usize, fs: &Arc<dyn FileSystem>, number: usize| {
        let files = if number.is_multiple_of(2) { ["p", "q"] } else { ["q", "p"] };
        let reply = call(fs, &number.to_string(), "apply_patch", patch_of(&files, number));
        assert!(!reply.is_error, "{}", reply.joined_text());
    };
    race(patch, &["p", "q"], &lines("open"));
}

/// Half of the clients patch both files, the others edit one after the other.
#[test]
fn edits_beside_patches_are_all_kept() {
    let change = |_: usize, fs: &Arc<dyn FileSystem>, number: usize| {
        let name = number.to_string();
        if number.is_multiple_of(2) {
            let reply = call(fs, &name, "apply_patch", patch_of(&["p", "q"], number));
            assert!(!reply.is_error, "{}", reply.joined_text());
            return;
        }
        for file in ["/q", "/p"] {
            let (old, new) = (format!("line {number:02} open"), format!("line {number:02} done"));
            let arguments = json!({ "path": file, "old_text": old, "new_text": new });
            let reply = call(fs, &name, "fs_edit", arguments);
            assert!(!reply.is_error, "{}", reply.joined_text());
        }
    };
    race(change, &["p", "q"], &lines("open"));
}

/// Before the first write to a file: another writer changes files, and the write may fail.
struct Interruption {
    at: &'static str,
    others: Box<dyn Fn() + Send + Sync>,
    code: Option<FsCode>,
    is_done: AtomicBool,
}

impl fmt::Debug for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interruption").field("at", &self.at).finish_non_exhaustive()
    }
}

#[async_trait]
impl FsGuard for Interruption {
    async fn check_call(&self, call: &GuardedCall<'_>) -> Result<Option<FsError>, FsError> {
        let is_write = call.op == Op::Write && call.path == Some(self.at);
        if !is_write || self.is_done.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        thread::scope(|scope| scope.spawn(&self.others).join()).expect("the others write");
        self.code.map_or(Ok(None), |code| Err(call.refused(code)))
    }
}

/// Applies a patch of `/p`, `/q` and the new file `/n`. Before it writes `/q`, others act. Returns
/// the reply and the texts of the three files.
fn interrupted(
    fs: Arc<dyn FileSystem>,
    code: Option<FsCode>,
    others: impl Fn(&Arc<dyn FileSystem>) + Send + Sync + 'static,
) -> (ToolReply, [Option<String>; 3]) {
    for file in ["/p", "/q"] {
        write(&fs, file, "one\ntwo\nthree\nfour\n");
    }
    let others_fs = fs.clone();
    let guard = Interruption {
        at: "/q",
        others: Box::new(move || others(&others_fs)),
        code,
        is_done: AtomicBool::new(false),
    };
    let guarded: Arc<dyn FileSystem> = Arc::new(GuardedFs::new(fs.clone(), guard));
    let patch = "*** Begin Patch\n*** Update File: p\n@@\n-one\n+1\n*** Add File: n\n+n\n\
        *** Update File: q\n@@\n-one\n+1\n*** End Patch";
    let reply = call(&guarded, "ada", "apply_patch", json!({ "patch": patch }));
    let texts = ["/p", "/q", "/n"].map(|file| {
        let text = runtime().block_on(fs.read_if_exists(&path(file))).expect("read");
        text.map(|text| String::from_utf8_lossy(&text).into_owned())
    });
    (reply, texts)
}

fn edit(fs: &Arc<dyn FileSystem>, at: &str, old: &str, new: &str) {
    runtime().block_on(fs.edit(&path(at), &TextReplacement::once(old, new))).expect("edited");
}

fn backends() -> Vec<Arc<dyn FileSystem>> {
    let store = Arc::new(yfs_store::MemoryStore::new());
    let workspace = Workspace::create(store, WorkspaceOptions::default()).expect("a workspace");
    vec![Arc::new(workspace.fs_for(agent("ada"))), Arc::new(MemoryFs::new())]
}

/// The disk is full in the middle of a patch, after another writer has edited the file that the
/// patch has written already: the patch goes, the edit stays.
#[test]
fn a_patch_that_is_taken_back_leaves_the_work_of_others() {
    for fs in backends() {
        let (reply, texts) = interrupted(fs, Some(FsCode::ENOSPC), |fs| {
            edit(fs, "/p", "four", "4, by a person");
        });
        assert!(reply.is_error);
        let [p, q, n] = texts;
        assert_eq!(p.as_deref(), Some("one\ntwo\nthree\n4, by a person\n"));
        assert_eq!(q.as_deref(), Some("one\ntwo\nthree\nfour\n"));
        assert_eq!(n, None);
        assert!(reply.joined_text().contains("ENOSPC"), "{}", reply.joined_text());
    }
}

/// The same, and another writer has added to the file that the patch created: the file stays, and
/// the reply says so.
#[test]
fn a_created_file_that_others_changed_is_not_removed() {
    for fs in backends() {
        let (reply, texts) = interrupted(fs, Some(FsCode::ENOSPC), |fs| {
            edit(fs, "/n", "n\n", "n\nby a person\n");
        });
        let [p, _, n] = texts;
        assert_eq!(p.as_deref(), Some("one\ntwo\nthree\nfour\n"));
        assert_eq!(n.as_deref(), Some("n\nby a person\n"));
        let text = reply.joined_text();
        assert!(text.ends_with("1 of 2 changes could not be taken back: /n"), "{text}");
    }
}

/// Others edit the files in the middle of a patch: where the hunks still apply, the patch goes on;
/// where they do not, it is taken back.
#[test]
fn hunks_are_applied_to_what_others_wrote_meanwhile() {
    for fs in backends() {
        let (reply, texts) = interrupted(fs, None, |fs| {
            edit(fs, "/q", "four", "4");
            edit(fs, "/p", "four", "4");
        });
        assert!(!reply.is_error, "{}", reply.joined_text());
        let [p, q, n] = texts;
        assert_eq!(p.as_deref(), Some("1\ntwo\nthree\n4\n"));
        assert_eq!(q.as_deref(), Some("1\ntwo\nthree\n4\n"));
        assert_eq!(n.as_deref(), Some("n\n"));
    }
    for fs in backends() {
        let (reply, texts) = interrupted(fs, None, |fs| {
            edit(fs, "/q", "one", "ONE");
            edit(fs, "/p", "four", "4");
        });
        assert!(reply.joined_text().contains("cannot find these lines in /q"));
        let [p, q, n] = texts;
        assert_eq!(p.as_deref(), Some("one\ntwo\nthree\n4\n"));
        assert_eq!(q.as_deref(), Some("ONE\ntwo\nthree\nfour\n"));
        assert_eq!(n, None);
    }
}
