//! A workspace and its mount.

use std::{
    fs,
    io::{Write, stderr},
    path::PathBuf,
    sync::Arc,
    thread,
    time::Duration,
};

use tempfile::TempDir;
use yfs::{Session, Workspace, WorkspaceOptions};
use yfs_mount::{Mount, MountError, MountOptions};
use yfs_store::MemoryStore;
use yfs_types::{actor::Actor, path::VPath};

/// A workspace and its mounts. They end with it.
#[derive(Debug)]
pub(crate) struct Mounted {
    pub(crate) workspace: Workspace,
    mounts: Vec<Mount>,
    directory: TempDir,
}

/// Parses an actor.
pub(crate) fn actor(text: &str) -> Actor {
    text.parse().expect("an actor")
}

/// Parses a path.
pub(crate) fn path(text: &str) -> VPath {
    VPath::parse(text).expect("a path")
}

/// Waits until a condition holds, which others bring about.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}: did not happen in a minute");
}

impl Mounted {
    /// Mounts a new workspace; none where that is impossible.
    pub(crate) fn new() -> Option<Self> {
        let store = Arc::new(MemoryStore::new());
        let options = WorkspaceOptions { follow: true, ..WorkspaceOptions::default() };
        let workspace = Workspace::create(store, options).expect("a workspace");
        let directory = tempfile::tempdir().expect("a directory");
        let mut mounted = Self { workspace, mounts: Vec::new(), directory };
        mounted.mount("human:ana").then_some(mounted)
    }

    /// Mounts the workspace once more, and returns whether that is possible.
    pub(crate) fn mount(&mut self, who: &str) -> bool {
        let number = self.mounts.len();
        let at = self.directory.path().join(format!("mount-{number}"));
        fs::create_dir(&at).expect("a directory");
        let options = MountOptions::new(actor(who), self.unsaved());
        match Mount::new(&self.workspace, &at, options) {
            Ok(mount) => {
                self.mounts.push(mount);
                true
            }
            Err(error @ (MountError::NoFuse(_) | MountError::Host { .. })) => {
                // Not by a macro: its output is kept from the log of a test that passes.
                writeln!(stderr(), "a test of the mount was left out: {error}").expect("stderr");
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The directory of what could not be written.
    pub(crate) fn unsaved(&self) -> PathBuf {
        self.directory.path().join("unsaved")
    }

    /// A path in a mount.
    pub(crate) fn at(&self, mount: usize, name: &str) -> PathBuf {
        self.mounts[mount].directory().join(name)
    }

    /// A path in the first mount.
    pub(crate) fn here(&self, name: &str) -> PathBuf {
        self.at(0, name)
    }

    /// A session of another writer.
    pub(crate) fn other(&self) -> Session {
        self.workspace.session(actor("human:ben"))
    }

    /// The text of a file in the workspace.
    pub(crate) fn text(&self, name: &str) -> String {
        let data = self.other().read(&path(name)).expect("a file").data;
        String::from_utf8(data.to_vec()).expect("a text")
    }
}
