//! A workspace with a shared directory, the share, and what tests do with them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use yfs_engine::{
    actor::{Actor, ActorKind},
    gate::GateLimits,
    id::FileId,
    path::VPath,
    time::Millis,
};
use yfs_store::{MemoryStore, Store};
use yfs_vfs::{FsError, MkdirOptions, MoveOptions, RemoveOptions, WalkOptions, WriteOptions};

use crate::{
    DirectoryShare, Session, ShareStep, SharedDirectory, Workspace, WorkspaceOptions, clock::Clock,
    error::Result,
};

/// A clock that all workspaces of a test share, and that some read wrongly.
#[derive(Debug)]
pub(super) struct SkewedClock {
    shared: Arc<AtomicI64>,
    skew: i64,
}

/// Both sides of a share.
pub(super) struct ShareStage {
    pub(super) origin: Workspace,
    pub(super) share: Workspace,
    pub(super) ana: Session,
    pub(super) ben: Session,
    pub(super) bridge: Option<DirectoryShare>,
}

/// What a side shows: contents by path; links and directories as texts.
pub(super) type ShownTree = BTreeMap<String, String>;

impl Clock for SkewedClock {
    fn now(&self) -> Millis {
        Millis(self.shared.fetch_add(1, Ordering::Relaxed) + self.skew)
    }
}

pub(super) fn at(path: &str) -> VPath {
    VPath::parse(path).expect("a path")
}

/// Makes workspaces whose clocks run together, the share's ahead by `skew` milliseconds.
fn options(shared: &Arc<AtomicI64>, skew: i64, name: &str) -> WorkspaceOptions {
    WorkspaceOptions {
        actor: Actor::new(ActorKind::Human, name),
        follow: false,
        search_index: false,
        clock: Arc::new(SkewedClock { shared: shared.clone(), skew }),
        ..WorkspaceOptions::default()
    }
}

impl ShareStage {
    /// Makes a workspace with `/docs`, which is shared, and `/private`.
    pub(super) fn new() -> Self {
        Self::with_skew(0)
    }

    pub(super) fn with_skew(skew: i64) -> Self {
        Self::with(skew, GateLimits::default(), Arc::new(MemoryStore::new()))
    }

    /// Both gates accept messages within these limits.
    pub(super) fn with_limits(limits: GateLimits) -> Self {
        Self::with(0, limits, Arc::new(MemoryStore::new()))
    }

    /// The workspace with the directory is in this store.
    pub(super) fn with_origin_in(store: Arc<dyn Store>) -> Self {
        Self::with(0, GateLimits::default(), store)
    }

    /// Opens an older copy of the origin instead of it.
    pub(super) fn put_back_origin(&mut self, store: Arc<dyn Store>) {
        self.bridge = None;
        let options = WorkspaceOptions { follow: false, ..WorkspaceOptions::default() };
        self.origin = Workspace::open(store, options).expect("opened");
        self.ana = self.origin.session(Actor::new(ActorKind::Human, "ana"));
        self.restart();
    }

    fn with(skew: i64, limits: GateLimits, store: Arc<dyn Store>) -> Self {
        let time = Arc::new(AtomicI64::new(1_700_000_000_000));
        let create = |store, options: WorkspaceOptions| {
            Workspace::create(store, WorkspaceOptions { limits, ..options })
        };
        let origin = create(store, options(&time, 0, "ana")).expect("a workspace");
        let share =
            create(Arc::new(MemoryStore::new()), options(&time, skew, "ben")).expect("a workspace");
        let ana = origin.session(Actor::new(ActorKind::Human, "ana"));
        let ben = share.session(Actor::new(ActorKind::Human, "ben"));
        let stage = Self { origin, share, ana, ben, bridge: None };
        stage.ana.mkdir(&at("/docs"), &MkdirOptions::default()).expect("made");
        stage.ana.mkdir(&at("/private"), &MkdirOptions::default()).expect("made");
        let directory = stage.id_in_origin("/docs");
        let shared = SharedDirectory { origin: stage.origin.id().clone(), directory };
        shared.assign(&stage.share).expect("assigned");
        stage.restarted()
    }

    /// Begins to keep both sides equal again, as after the end of a process.
    pub(super) fn restarted(mut self) -> Self {
        self.restart();
        self
    }

    pub(super) fn restart(&mut self) {
        self.bridge = None;
        self.bridge = Some(DirectoryShare::open(&self.origin, &self.share).expect("opened"));
    }

    pub(super) fn bridge(&mut self) -> &mut DirectoryShare {
        self.bridge.as_mut().expect("it runs")
    }

    pub(super) fn step(&mut self) -> ShareStep {
        self.bridge().step().expect("a step")
    }

    /// Takes steps until nothing is left to pass on.
    pub(super) fn settle(&mut self) {
        for _ in 0..20 {
            let step = self.step();
            if step.n_rows + step.n_contents == 0 {
                return;
            }
        }
        panic!("the two sides never agree");
    }

    pub(super) fn id_in_origin(&self, path: &str) -> FileId {
        id_at(&self.origin, path)
    }

    pub(super) fn id_in_share(&self, path: &str) -> FileId {
        id_at(&self.share, path)
    }

    /// Fails unless the share shows what the directory shows.
    pub(super) fn check_equal(&self) {
        assert_eq!(shown(&self.ana, "/docs"), shown(&self.ben, "/"), "directory, then share");
    }

    /// Returns all bytes of the share that its peers receive.
    pub(super) fn received_by_peers(&self) -> Vec<u8> {
        let store = self.share.store();
        let mut bytes = Vec::new();
        for doc in store.documents().expect("documents") {
            let stored = store.load(&doc.doc).expect("loaded");
            bytes.extend(doc.doc.as_str().as_bytes());
            bytes.extend(stored.snapshot.unwrap_or_default());
            stored.updates.iter().for_each(|record| bytes.extend(&record.data));
        }
        for blob in store.blobs().expect("blobs") {
            store.copy_blob(&blob.hash, &mut bytes).expect("a blob");
        }
        bytes
    }

    /// Reports whether peers receive a text.
    pub(super) fn reveals(&self, text: &str) -> bool {
        self.received_by_peers().windows(text.len()).any(|bytes| bytes == text.as_bytes())
    }
}

fn id_at(workspace: &Workspace, path: &str) -> FileId {
    let main = workspace.state.main.read();
    let node = main.tree().lookup(&at(path)).expect("the path exists");
    node.id().expect("not the root").clone()
}

pub(super) fn put(session: &Session, path: &str, text: &str) {
    session.write(&at(path), text.as_bytes(), &WriteOptions::default()).expect("written");
}

pub(super) fn text_of(session: &Session, path: &str) -> String {
    let read = session.read(&at(path)).expect("read");
    String::from_utf8_lossy(&read.data).into_owned()
}

pub(super) fn mv(session: &Session, from: &str, to: &str) -> Result<(), FsError> {
    session.mv(&at(from), &at(to), &MoveOptions::default())
}

pub(super) fn rm(session: &Session, path: &str) -> Result<(), FsError> {
    session.rm(&at(path), &RemoveOptions { recursive: true, ..RemoveOptions::default() })
}

pub(super) fn mkdir(session: &Session, path: &str) -> Result<(), FsError> {
    session.mkdir(&at(path), &MkdirOptions { recursive: true, ..MkdirOptions::default() })
}

/// Returns everything below a directory.
pub(super) fn shown(session: &Session, directory: &str) -> ShownTree {
    let entries = session.walk(&at(directory), &WalkOptions::default()).expect("walked");
    let mut tree = ShownTree::new();
    for entry in entries {
        let path = entry.path.as_str().to_owned();
        let inside = path.strip_prefix(directory.trim_end_matches('/')).unwrap_or(&path).to_owned();
        let content = match entry.entry.kind {
            yfs_vfs::FileKind::Directory => "directory".to_owned(),
            yfs_vfs::FileKind::Symlink => {
                format!("link {}", session.readlink(&entry.path).expect("a target"))
            }
            _ => text_of(session, &path),
        };
        let stat = session.lstat(&entry.path).expect("a stat");
        tree.insert(inside, format!("{:o} {content:?}", stat.mode));
    }
    tree.remove("");
    tree.remove("/");
    tree
}

/// Returns the store of a workspace.
pub(super) fn store_of(workspace: &Workspace) -> &Arc<dyn Store> {
    workspace.store()
}
