//! Where the objects of a workspace find it, until it is closed.

use std::sync::{Arc, PoisonError, RwLock};

use napi::bindgen_prelude::spawn_blocking;
use tokio::runtime::Handle;
use yfs::{Workspace, WorkspaceFs};
use yfs_engine::{actor::Actor, path::VPath};
use yfs_vfs::Op;

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

/// Runs what may take long on another thread.
pub(crate) async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> napi::Result<T> + Send + 'static,
) -> napi::Result<T> {
    spawn_blocking(work).await.map_err(|panic| error::died(&panic))?
}

/// Awaits what is synchronous at heart, on a thread that may block.
pub(crate) fn now<T>(future: impl Future<Output = Result<T, yfs_vfs::FsError>>) -> napi::Result<T> {
    Handle::current().block_on(future).map_err(|error| error::of_fs(&error))
}

/// Reads a path.
pub(crate) fn path(op: Op, text: &str) -> napi::Result<VPath> {
    VPath::parse(text).map_err(|error| error::bad_path(op, text, error))
}
