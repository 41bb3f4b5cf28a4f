//! Where the objects of a workspace find it, until it is closed.

use std::{
    pin::pin,
    sync::{Arc, PoisonError, RwLock},
    task::{Context, Poll, Waker},
};

use tokio::runtime::Handle;
use yfs::{Workspace, WorkspaceFs};
use yfs_engine::{actor::Actor, path::VPath};
use yfs_vfs::{FsError, Op};

use crate::error;

/// A workspace that may have been closed. Clones are the same place.
#[derive(Debug, Clone)]
pub(crate) struct Slot(Arc<RwLock<Option<Workspace>>>);

/// On whose behalf calls are made.
#[derive(Debug, Clone)]
pub(crate) struct Behalf {
    pub(crate) actor: Option<Actor>,
    pub(crate) label: Option<String>,
}

impl Slot {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self(Arc::new(RwLock::new(Some(workspace))))
    }

    /// Returns the workspace, unless it is closed.
    pub(crate) fn get(&self) -> napi::Result<Workspace> {
        let slot = self.0.read().unwrap_or_else(PoisonError::into_inner);
        slot.clone().ok_or_else(error::closed)
    }

    /// Takes the workspace out; nobody finds it from now on.
    pub(crate) fn take(&self) -> Option<Workspace> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the workspace's filesystem on behalf of somebody.
    pub(crate) fn fs(&self, behalf: &Behalf) -> napi::Result<WorkspaceFs> {
        let workspace = self.get()?;
        let fs = match &behalf.actor {
            Some(actor) => workspace.fs_for(actor.clone()),
            None => workspace.fs(),
        };
        Ok(match &behalf.label {
            Some(label) => fs.labelled(label),
            None => fs,
        })
    }
}

/// Waits for an operation of the filesystem, on a thread that may block.
pub(crate) fn now<T>(future: impl Future<Output = Result<T, FsError>>) -> napi::Result<T> {
    Handle::current().block_on(future).map_err(|error| error::of_fs(&error))
}

/// Returns the value of an operation that is synchronous at heart: it is ready when it is first polled.
pub(crate) fn at_once<T>(future: impl Future<Output = Result<T, FsError>>) -> napi::Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result.map_err(|error| error::of_fs(&error)),
        Poll::Pending => unreachable!("a workspace answers at once"),
    }
}

/// Reads a path.
pub(crate) fn path(op: Op, text: &str) -> napi::Result<VPath> {
    VPath::parse(text).map_err(|error| error::bad_path(op, text, error))
}
