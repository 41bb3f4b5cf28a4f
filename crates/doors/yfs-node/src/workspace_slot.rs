//! Where the objects of a workspace find it, until it is closed.

use std::{
    any::Any,
    fmt,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use yfs::{Session, Workspace};
use yfs_agent_workspace::WorkspaceShelf;
use yfs_artifacts::{AnalysisMemory, KeptAnalyses};
use yfs_engine::{actor::Actor, path::VPath};
use yfs_vfs::{ChunkStream, FileSystem, FsError, Op};

use crate::error;

/// A workspace that may have been closed. Clones are the same place.
#[derive(Debug, Clone)]
pub(crate) struct WorkspaceSlot {
    /// On whose behalf the workspace was opened.
    actor: Actor,
    opened: Arc<Mutex<Option<OpenedWorkspace>>>,
}

/// A workspace that is open, and what its objects have read.
#[derive(Debug)]
struct OpenedWorkspace {
    workspace: Workspace,
    /// Sessions, streams and stores, held here alone, so that closing lets go of them: the objects
    /// of JavaScript may stay.
    kept: Vec<Arc<dyn Any + Send + Sync>>,
    /// The analyses of files that were made or read.
    analyses: Arc<AnalysisMemory>,
}

/// A stream that calls on several threads may read, one after the other.
pub(crate) struct SharedStream(pub(crate) Mutex<ChunkStream>);

impl fmt::Debug for SharedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedStream").finish_non_exhaustive()
    }
}

impl WorkspaceSlot {
    pub(crate) fn new(workspace: Workspace, actor: Actor) -> Self {
        let opened = OpenedWorkspace { workspace, kept: Vec::new(), analyses: Arc::default() };
        Self { actor, opened: Arc::new(Mutex::new(Some(opened))) }
    }

    /// Returns the workspace, unless it is closed.
    pub(crate) fn get(&self) -> napi::Result<Workspace> {
        let opened = self.lock();
        opened.as_ref().map(|opened| opened.workspace.clone()).ok_or_else(error::closed)
    }

    /// Takes the workspace out; no object finds it from now on.
    pub(crate) fn take(&self) -> Option<Workspace> {
        self.lock().take().map(|opened| opened.workspace)
    }

    /// Opens a session on behalf of an actor, with a label on what it does.
    pub(crate) fn open_session(
        &self,
        actor: Option<Actor>,
        label: Option<&str>,
    ) -> napi::Result<Weak<Session>> {
        let session = self.get()?.session(actor.unwrap_or_else(|| self.actor.clone()));
        self.keep(match label {
            Some(label) => session.labelled(label),
            None => session,
        })
    }

    /// Keeps a session, a stream or a store until it is released or the workspace is closed.
    pub(crate) fn keep<T: Any + Send + Sync>(&self, value: T) -> napi::Result<Weak<T>> {
        let value = Arc::new(value);
        let kept = Arc::downgrade(&value);
        self.lock().as_mut().ok_or_else(error::closed)?.kept.push(value);
        Ok(kept)
    }

    /// Lets go of what was kept.
    pub(crate) fn release<T>(&self, released: &Weak<T>) {
        let released = self.lock().as_mut().and_then(|opened| {
            let is_released = |kept: &Arc<dyn Any + Send + Sync>| {
                Arc::as_ptr(kept).cast::<()>() == released.as_ptr().cast::<()>()
            };
            let found = opened.kept.iter().position(is_released);
            found.map(|index| opened.kept.swap_remove(index))
        });
        // Outside of the lock: it may be the last that holds the workspace.
        drop(released);
    }

    /// Returns the analyses of the files that `fs` shows: as they are kept, or made.
    pub(crate) fn analyses(&self, fs: Arc<dyn FileSystem>) -> napi::Result<KeptAnalyses> {
        let opened = self.lock();
        let opened = opened.as_ref().ok_or_else(error::closed)?;
        let shelf = Arc::new(WorkspaceShelf::new(opened.workspace.clone()));
        Ok(KeptAnalyses::new(fs).with_memory(opened.analyses.clone()).with_shelf(shelf))
    }

    /// Returns the actor for whom the workspace was opened.
    pub(crate) fn actor(&self) -> &Actor {
        &self.actor
    }

    fn lock(&self) -> MutexGuard<'_, Option<OpenedWorkspace>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts the error of an operation of the filesystem.
pub(crate) fn lifted<T>(result: Result<T, FsError>) -> napi::Result<T> {
    result.map_err(error::of)
}

/// Returns the value of an operation that is synchronous at heart: it is ready when it is first
/// polled.
pub(crate) fn at_once<T>(future: impl Future<Output = Result<T, FsError>>) -> napi::Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => lifted(result),
        Poll::Pending => unreachable!("a workspace answers at once"),
    }
}

/// Reads a path.
pub(crate) fn path(op: Op, text: &str) -> napi::Result<VPath> {
    VPath::parse(text).map_err(|error| error::bad_path(op, text, error))
}
