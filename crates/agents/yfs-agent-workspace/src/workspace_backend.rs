//! A workspace as the files of an agent.

use std::sync::Arc;

use yfs::{Workspace, WorkspaceFs};
use yfs_agent::{AgentSession, AgentSessionBuilder, backends::AgentBackend};
use yfs_types::actor::Actor;
use yfs_vfs::FileSystem;

use crate::{WorkspaceHistory, WorkspaceShelf};

/// A workspace of yfs, on behalf of an actor.
#[derive(Debug, Clone)]
pub struct WorkspaceBackend {
    fs: Arc<WorkspaceFs>,
}

impl WorkspaceBackend {
    /// Makes a backend whose changes are those of `actor`, with a label such as a session.
    pub fn new(workspace: &Workspace, actor: Actor, label: &str) -> Self {
        Self { fs: Arc::new(workspace.fs_for(actor).labelled(label)) }
    }
}

impl AgentBackend for WorkspaceBackend {
    fn fs(&self) -> Arc<dyn FileSystem> {
        self.fs.clone()
    }
}

/// Begins a session over a workspace, with its history and its statistics of files. The session's
/// id is the label of its changes.
pub fn session_over(workspace: &Workspace, actor: Actor, id: &str) -> AgentSessionBuilder {
    let fs = workspace.fs_for(actor.clone()).labelled(id);
    let history = Arc::new(WorkspaceHistory::new(workspace.clone()));
    let shelf = Arc::new(WorkspaceShelf::new(workspace.clone()));
    AgentSession::builder(Arc::new(fs), actor).id(id).history(history).shelf(shelf)
}
