//! A tool session: one agent's use of a filesystem.
//!
//! A session knows its actor and what the agent has read. A whole-file write is therefore a change
//! of what the agent saw, and changes that others made since are kept.
//!
//! # Invariants
//!
//! - A write of a file that the agent has read names that content as its base. Where the backend
//!   cannot merge, the session merges the texts; where it cannot either, the call fails and
//!   changes nothing.
//! - Only content that a tool returned, or that the agent sent, counts as read.
//! - In a session that several programs share, a write is a change of the read that it differs
//!   least from.

mod merged_write;
mod read_memory;
mod shared_reads;
mod text_merge;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use smol_str::SmolStr;
use yfs_artifacts::{AnalysisMemory, DerivedShelf};
use yfs_types::{actor::Actor, path::VPath};
use yfs_vfs::{ChangeCursor, FileSystem, FsError};

pub(crate) use self::{merged_write::MergedWrite, read_memory::RememberedRead};
pub use self::{
    merged_write::{WriteConflict, WriteFailure},
    read_memory::ReadMemoryLimits,
    text_merge::MergeConflict,
};
use self::{read_memory::ReadMemory, text_merge::merge_texts};
use crate::{
    audit::AuditSink, execute::CommandExecutor, history::FileHistory, json_query::JsonQueryRunner,
    path_locks::PathLocks, work_budget::WorkShare,
};

/// Makes the methods that return the parts of a session.
macro_rules! parts {
    ($($(#[$doc:meta])* $vis:vis $part:ident: $type:ty;)*) => {
        $($(#[$doc])* $vis fn $part(&self) -> &$type { &self.state.$part })*
    };
}

/// Makes the methods that return the parts of a session that it may lack.
macro_rules! optional_parts {
    ($($(#[$doc:meta])* $vis:vis $part:ident: $type:ty;)*) => {
        $($(#[$doc])* $vis fn $part(&self) -> Option<&$type> { self.state.$part.as_ref() })*
    };
}

/// Makes the methods that set the parts of a session.
macro_rules! setters {
    ($($(#[$doc:meta])* $part:ident: $type:ty => $value:expr;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $part(mut self, $part: $type) -> Self {
            self.state.$part = $value;
            self
        }
    )*};
}

/// One agent's use of a filesystem. Clones are handles of one session.
#[derive(Clone)]
pub struct AgentSession {
    state: Arc<SessionState>,
}

/// The parts of an [`AgentSession`].
#[derive(Debug)]
pub struct AgentSessionBuilder {
    state: SessionState,
}

struct SessionState {
    id: SmolStr,
    actor: Actor,
    fs: Arc<dyn FileSystem>,
    executor: Option<Arc<dyn CommandExecutor>>,
    history: Option<Arc<dyn FileHistory>>,
    audit: Option<Arc<dyn AuditSink>>,
    json_query: Option<JsonQueryRunner>,
    /// The share of the caller in the budget of heavy work; without one, all that there is.
    work_share: Option<WorkShare>,
    /// The analyses of files that the session's tools have made.
    analyses: Arc<AnalysisMemory>,
    shelf: Option<Arc<dyn DerivedShelf>>,
    access: Option<Arc<dyn AccessPreparer>>,
    locks: Arc<PathLocks>,
    limits: SessionLimits,
    roots: RwLock<Arc<[VPath]>>,
    home: Option<VPath>,
    memory: Mutex<ReadMemory>,
    /// The position in the log of changes up to which the agent has received them.
    cursor: Mutex<Option<ChangeCursor>>,
}

/// A step before a tool takes locks and writes several files.
///
/// A filesystem that may ask a person must come with one: the person is asked here, and not while
/// other agents wait for the locks.
#[async_trait]
pub trait AccessPreparer: Send + Sync + fmt::Debug {
    /// Obtains the permission to write at all of the paths, and to remove what is there.
    async fn prepare_writes(&self, paths: &[VPath]) -> Result<(), FsError>;
}

/// The limits of a session's tools. Sizes are in bytes unless a name says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    /// The largest file that a tool reads or changes as a whole.
    pub max_file_len: u64,
    /// The largest image, sound or document that a reply contains.
    pub max_media_len: u64,
    /// The most characters in the list that a tool returns.
    pub max_list_chars: usize,
    /// The directory below which large results are kept, as a path.
    pub artifacts_root: SmolStr,
    /// What the session remembers of what the agent read.
    pub memory: ReadMemoryLimits,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            max_file_len: 10 << 20,
            max_media_len: 5 << 20,
            max_list_chars: 80_000,
            artifacts_root: SmolStr::new_static("/"),
            memory: ReadMemoryLimits::default(),
        }
    }
}

impl AgentSession {
    /// Begins a session of `actor` over any filesystem. The filesystem should write on behalf of
    /// the same actor.
    pub fn builder(fs: Arc<dyn FileSystem>, actor: Actor) -> AgentSessionBuilder {
        let limits = SessionLimits::default();
        let memory = Mutex::new(ReadMemory::new(limits.memory, false));
        AgentSessionBuilder {
            state: SessionState {
                id: SmolStr::new_static("session"),
                actor,
                fs,
                executor: None,
                history: None,
                audit: None,
                json_query: None,
                work_share: None,
                analyses: Arc::default(),
                shelf: None,
                access: None,
                locks: Arc::default(),
                limits,
                roots: RwLock::new(Arc::new([VPath::root()])),
                home: None,
                memory,
                cursor: Mutex::default(),
            },
        }
    }

    parts! {
        /// Returns the session's id.
        pub id: SmolStr;
        /// Returns the actor on whose behalf the session works.
        pub actor: Actor;
        /// Returns the filesystem, without the session's memory and audit.
        pub fs: Arc<dyn FileSystem>;
        /// Returns the locks of paths.
        pub locks: Arc<PathLocks>;
        /// Returns the limits of the session's tools.
        pub limits: SessionLimits;
        pub(crate) analyses: Arc<AnalysisMemory>;
        pub(crate) memory: Mutex<ReadMemory>;
        pub(crate) cursor: Mutex<Option<ChangeCursor>>;
    }

    optional_parts! {
        /// Returns the runner of commands, if the session has one.
        pub executor: Arc<dyn CommandExecutor>;
        /// Returns the history of files, if the backend has one.
        pub history: Arc<dyn FileHistory>;
        /// Returns the receiver of audit records, if the session has one.
        pub audit: Arc<dyn AuditSink>;
        /// Returns the runner of queries of JSON, if the session has one.
        pub json_query: JsonQueryRunner;
        /// Returns the directory that `~` stands for in the paths of the reference tools.
        pub home: VPath;
        pub(crate) work_share: WorkShare;
        pub(crate) shelf: Arc<dyn DerivedShelf>;
    }

    /// Returns the directories that the reference tools access and list as allowed.
    pub fn roots(&self) -> Arc<[VPath]> {
        self.state.roots.read().clone()
    }

    /// Replaces these directories, as a client does that changes its roots. They narrow what the
    /// filesystem allows, and never widen it.
    pub fn set_roots(&self, roots: &[VPath]) {
        *self.state.roots.write() = roots.into();
    }

    pub(crate) async fn prepare_writes(&self, paths: &[VPath]) -> Result<(), FsError> {
        match &self.state.access {
            Some(access) => access.prepare_writes(paths).await,
            None => Ok(()),
        }
    }
}

impl fmt::Debug for AgentSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}

impl fmt::Debug for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("AgentSession");
        out.field("id", &self.id).field("actor", &self.actor).field("fs", &self.fs);
        out.finish_non_exhaustive()
    }
}

impl AgentSessionBuilder {
    setters! {
        /// Sets the session's id, which labels its changes and its audit records.
        id: impl Into<SmolStr> => id.into();
        /// Replaces the filesystem, for example by the same one behind permissions.
        fs: Arc<dyn FileSystem> => fs;
        /// Sets the runner of commands; without one there is no `execute` tool.
        executor: Arc<dyn CommandExecutor> => Some(executor);
        /// Sets the history of files; without one the tools of history are absent.
        history: Arc<dyn FileHistory> => Some(history);
        /// Sets the receiver of audit records.
        audit: Arc<dyn AuditSink> => Some(audit);
        /// Sets the runner of queries of JSON; without one there is no `query` tool.
        json_query: JsonQueryRunner => Some(json_query);
        /// Sets the share of the caller in the budget of heavy work, such as statistics. Queries
        /// have that of their runner.
        work_share: WorkShare => Some(work_share);
        /// Sets where statistics of files are kept for later sessions. It must be of the same files
        /// as the filesystem, which decides whether the agent may have those of a file.
        shelf: Arc<dyn DerivedShelf> => Some(shelf);
        /// Sets what obtains permissions before locks are taken.
        access: Arc<dyn AccessPreparer> => Some(access);
        /// Shares the locks of paths with other sessions over the same filesystem.
        locks: Arc<PathLocks> => locks;
        /// Sets the directory that `~` stands for in the paths of the reference tools.
        home: Option<VPath> => home;
    }

    /// Sets whether several programs may share the session, because nothing distinguishes them.
    ///
    /// Each write is then a change of the read that it differs least from, and the reads of one
    /// program are no base for the writes of another.
    #[must_use]
    pub fn shared(self, is_shared: bool) -> Self {
        self.state.memory.lock().is_shared = is_shared;
        self
    }

    /// Sets the limits of the session's tools.
    #[must_use]
    pub fn limits(mut self, limits: SessionLimits) -> Self {
        let is_shared = self.state.memory.lock().is_shared;
        self.state.memory = Mutex::new(ReadMemory::new(limits.memory, is_shared));
        self.state.limits = limits;
        self
    }

    /// Makes the session.
    pub fn build(self) -> AgentSession {
        AgentSession { state: Arc::new(self.state) }
    }
}
