//! A workspace whose clock moves on each time that it is read, and that counts loaded documents.
#![allow(dead_code, clippy::allow_attributes, reason = "not every test needs all of it")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicUsize, Ordering},
};

use yfs::{DocumentProvider, Workspace, WorkspaceOptions, clock::Clock};
use yfs_engine::{id::FileId, time::Millis};

/// A clock that moves on by a second each time that it is read.
#[derive(Debug, Default)]
pub(crate) struct StepClock(AtomicI64);

impl Clock for StepClock {
    fn now(&self) -> Millis {
        Millis(self.0.fetch_add(1000, Ordering::Relaxed))
    }
}

/// Counts the documents that are loaded.
#[derive(Debug, Default)]
pub(crate) struct LoadCounter(AtomicUsize);

impl DocumentProvider for LoadCounter {
    fn attach(&self, _: &FileId) -> Box<dyn Send> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::new(())
    }
}

/// A workspace in a file, with a clock of its own.
pub(crate) struct TestWorkspace {
    clock: Arc<StepClock>,
    directory: tempfile::TempDir,
}

impl LoadCounter {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl TestWorkspace {
    pub(crate) fn create() -> (Self, Workspace) {
        let own =
            Self { clock: Arc::new(StepClock::default()), directory: tempfile::tempdir().unwrap() };
        let file = own.directory.path().join("workspace.db");
        let workspace = Workspace::create_at(&file, own.options(None)).unwrap();
        (own, workspace)
    }

    fn options(&self, loads: Option<Arc<LoadCounter>>) -> WorkspaceOptions {
        WorkspaceOptions {
            follow: false,
            clock: self.clock.clone(),
            provider: loads.map(|loads| -> Arc<dyn DocumentProvider> { loads }),
            ..WorkspaceOptions::default()
        }
    }

    /// Opens the workspace again, with nothing in memory.
    pub(crate) fn reopen(&self, loads: &Arc<LoadCounter>) -> Workspace {
        let file = self.directory.path().join("workspace.db");
        Workspace::open_at(&file, self.options(Some(loads.clone()))).unwrap()
    }

    /// Returns the time, which moves on.
    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }
}
