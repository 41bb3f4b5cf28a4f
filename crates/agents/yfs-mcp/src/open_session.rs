//! What a client gets to see: the session behind its connection, and who decides on it.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use thiserror::Error;
use yfs_agent::{AgentSession, ToolCatalog, ToolDefinition};
use yfs_types::path::VPath;
use yfs_vfs::FileSystem;

use crate::profile::McpProfile;

/// A decider on what a client sees. One opener may serve many clients.
#[async_trait]
pub trait SessionOpener: Send + Sync + fmt::Debug {
    /// Opens the session of a client, before its first call.
    async fn open_session(&self, client: &ClientIdentity) -> Result<OpenedSession, SessionRefusal>;

    /// Returns whether the directories that the client names as its roots replace those of the
    /// opener. They are then asked for before a session is opened.
    fn wants_roots(&self) -> bool {
        false
    }

    /// Returns the profile by which the server presents itself.
    fn profile(&self) -> McpProfile {
        McpProfile::default()
    }

    /// Returns the directories that the client may use, if they are not all of the filesystem: the
    /// instructions for the model name them.
    fn directories(&self) -> &[VPath] {
        &[]
    }

    /// Returns the name of the client's credential. A session is used only by requests with the
    /// credential that opened it.
    fn credential(&self) -> &str {
        ""
    }
}

/// The properties that a client states about itself.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientIdentity {
    /// The name of the client's program.
    pub name: Option<String>,
    /// The version of that program.
    pub version: Option<String>,
    /// The header `User-Agent` of its requests, over HTTP.
    pub user_agent: Option<String>,
    /// Whether the connection has no session, so that the opener must find the client's session
    /// again at each request.
    pub is_stateless: bool,
    /// The URIs of the client's roots, if the opener wants them and the client has any.
    pub roots: Vec<String>,
}

/// The session of a client.
#[derive(Debug, Clone)]
pub struct OpenedSession {
    /// The session.
    pub agent: AgentSession,
    /// The tools.
    pub tools: Arc<ToolCatalog>,
    /// Whether the client is offered only tools that read.
    pub is_read_only: bool,
    /// The trees whose files are resources.
    pub trees: Vec<WatchedTree>,
}

/// A tree whose files are resources, and whose changes are reported.
#[derive(Debug, Clone)]
pub struct WatchedTree {
    /// The path of the tree's root in the session's filesystem.
    pub at: VPath,
    /// The tree as a filesystem of its own, in which changes are read.
    pub fs: Arc<dyn FileSystem>,
    /// The directory of the tree that the client may see.
    pub visible: VPath,
}

/// A client that gets no session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SessionRefusal(pub String);

/// An opener with one session, for a server with one client.
#[derive(Debug)]
pub struct FixedSession {
    session: OpenedSession,
}

impl OpenedSession {
    /// Makes a session in which all of the filesystem is resources.
    pub fn new(agent: AgentSession, profile: McpProfile) -> Self {
        Self::with_directories(agent, profile, &[VPath::root()])
    }

    /// Makes a session in which the files of some directories are resources. The reference tools
    /// name these directories as the allowed ones.
    pub fn with_directories(
        agent: AgentSession,
        profile: McpProfile,
        directories: &[VPath],
    ) -> Self {
        agent.set_roots(directories);
        let tree = |visible: &VPath| {
            let (fs, visible) = (agent.fs().clone(), visible.clone());
            WatchedTree { at: VPath::root(), fs, visible }
        };
        let trees = directories.iter().map(tree).collect();
        Self { agent, tools: profile.catalog(), is_read_only: false, trees }
    }

    /// Reads the changes of other trees.
    #[must_use]
    pub fn watching(self, trees: Vec<WatchedTree>) -> Self {
        Self { trees, ..self }
    }

    /// Offers only tools that read.
    #[must_use]
    pub fn read_only(self, is_read_only: bool) -> Self {
        Self { is_read_only, ..self }
    }

    /// Returns the tools that the client is offered.
    pub fn offered_tools(&self) -> impl Iterator<Item = &ToolDefinition> {
        let offered = self.tools.definitions_for(&self.agent);
        offered.filter(|tool| tool.annotations.read_only || !self.is_read_only)
    }
}

impl WatchedTree {
    /// Returns the path in the session's filesystem of a path in the tree that the client may see.
    pub(crate) fn visible_path(&self, inner: &VPath) -> Option<VPath> {
        if inner.starts_with(&self.visible) { self.outer_path(inner) } else { None }
    }

    /// Returns the path in the session's filesystem of a path in the tree.
    pub fn outer_path(&self, inner: &VPath) -> Option<VPath> {
        match self.at.is_root() {
            true => Some(inner.clone()),
            false if inner.is_root() => Some(self.at.clone()),
            false => VPath::parse(&format!("{}{}", self.at.as_str(), inner.as_str())).ok(),
        }
    }
}

impl FixedSession {
    /// Makes the opener.
    pub fn new(agent: AgentSession, profile: McpProfile) -> Self {
        Self { session: OpenedSession::new(agent, profile) }
    }
}

#[async_trait]
impl SessionOpener for FixedSession {
    async fn open_session(&self, _: &ClientIdentity) -> Result<OpenedSession, SessionRefusal> {
        Ok(self.session.clone())
    }
}
