//! Where the objects of a workspace find it, until it is closed.

use std::{
    fmt,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use yfs::{Session, Workspace};
use yfs_engine::{actor::Actor, path::VPath};
use yfs_vfs::{ChunkStream, FsError, Op};

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
    /// Held here alone, so that closing lets go of them: the objects of JavaScript may stay.
    sessions: Vec<Arc<Session>>,
    /// The streams that are read, held here alone for the same reason.
    streams: Vec<Arc<SharedStream>>,
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
        let opened = OpenedWorkspace { workspace, sessions: Vec::new(), streams: Vec::new() };
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
        self.keep_session(match label {
            Some(label) => session.labelled(label),
            None => session,
        })
    }

    /// Keeps a session until it is released or the workspace is closed.
    pub(crate) fn keep_session(&self, session: Session) -> napi::Result<Weak<Session>> {
        let session = Arc::new(session);
        let kept = Arc::downgrade(&session);
        self.lock().as_mut().ok_or_else(error::closed)?.sessions.push(session);
        Ok(kept)
    }

    /// Lets go of a session.
    pub(crate) fn release_session(&self, session: &Weak<Session>) {
        let released = self.lock().as_mut().and_then(|opened| {
            let is_released = |kept: &Arc<Session>| Arc::as_ptr(kept) == session.as_ptr();
            let found = opened.sessions.iter().position(is_released);
            found.map(|index| opened.sessions.swap_remove(index))
        });
        // Outside of the lock: it may be the last that holds the workspace.
        drop(released);
    }

    /// Returns the actor for whom the workspace was opened.
    pub(crate) fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Keeps a stream until it is released or the workspace is closed.
    pub(crate) fn keep_stream(&self, stream: ChunkStream) -> napi::Result<Weak<SharedStream>> {
        let stream = Arc::new(SharedStream(Mutex::new(stream)));
        let kept = Arc::downgrade(&stream);
        self.lock().as_mut().ok_or_else(error::closed)?.streams.push(stream);
        Ok(kept)
    }

    /// Lets go of a stream.
    pub(crate) fn release_stream(&self, stream: &Weak<SharedStream>) {
        let released = self.lock().as_mut().and_then(|opened| {
            let is_released = |kept: &Arc<SharedStream>| Arc::as_ptr(kept) == stream.as_ptr();
            let found = opened.streams.iter().position(is_released);
            found.map(|index| opened.streams.swap_remove(index))
        });
        drop(released);
    }

    fn lock(&self) -> MutexGuard<'_, Option<OpenedWorkspace>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts the error of an operation of the filesystem.
pub(crate) fn lifted<T>(result: Result<T, FsError>) -> napi::Result<T> {
    result.map_err(|error| error::of_fs(&error))
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
