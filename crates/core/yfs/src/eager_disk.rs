//! For tests: a store on disk, and handles that make what is derived from it at every close.

use std::path::{Path, PathBuf};

use yfs_engine::{
    actor::{Actor, ActorKind},
    path::VPath,
};

use crate::{Session, Workspace, WorkspaceOptions};

/// A store on disk.
pub(crate) struct EagerDisk {
    directory: tempfile::TempDir,
}

impl EagerDisk {
    pub(crate) fn new() -> Self {
        let disk = Self { directory: tempfile::tempdir().expect("a directory") };
        Workspace::create_at(&disk.file(), options()).expect("created").close().expect("closed");
        disk
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("workspace.db")
    }

    pub(crate) fn open(&self) -> Workspace {
        Workspace::open_at(&self.file(), options()).expect("opened")
    }

    /// Returns the directory of a map that is derived from the log.
    pub(crate) fn derived(&self, name: &str) -> PathBuf {
        self.directory.path().join("workspace-db.derived").join(name)
    }
}

/// Options under which every change makes a checkpoint due.
pub(crate) fn options() -> WorkspaceOptions {
    WorkspaceOptions { checkpoint_after: 1, ..WorkspaceOptions::one_shot(ana()) }
}

pub(crate) fn session(workspace: &Workspace) -> Session {
    workspace.session(ana())
}

pub(crate) fn path(text: &str) -> VPath {
    VPath::parse(text).expect("a path")
}

fn ana() -> Actor {
    Actor::new(ActorKind::Agent, "ana")
}
