//! Options for opening a workspace.

use std::{path::Path, sync::Arc, time::Duration};

use yfs_engine::{
    actor::{Actor, ActorKind},
    gate::GateLimits,
    kind::{DEFAULT_PROFILE, SchemaProfile},
    step::StepId,
    table::WriterIds,
};
use yfs_store::{StoreError, UnlockKey, read_key_file};

use crate::{
    clock::{Clock, IdSource, RandomIds, SystemClock},
    document_provider::DocumentProvider,
    error::WorkspaceError,
};

/// Options for opening a workspace.
#[derive(Debug, Clone)]
pub struct WorkspaceOptions {
    /// The actor of changes that name no other.
    pub actor: Actor,
    /// The step that all changes are part of that name no other, so that they are undone together:
    /// that of a program that makes one step. Without one, each call is a step.
    pub step: Option<StepId>,
    /// The schema for the rich text of a new workspace; an existing one has its own.
    pub profile: SchemaProfile,
    /// Whether the workspace is only read. A reader claims no client ids and writes nothing.
    pub read_only: bool,
    /// Whether a thread follows the records of other processes. Without it, each call reads the log
    /// first.
    pub follow: bool,
    /// The bytes of content documents that stay in memory, those of editors that are connected
    /// included.
    pub doc_budget: u64,
    /// The bytes of plain text that are cached for reading and searching.
    pub text_budget: u64,
    /// The limits of the gate.
    pub limits: GateLimits,
    /// The number of changes of rows after which a checkpoint is made, so that the next opening
    /// does not read them.
    pub checkpoint_after: u64,
    /// The number of rows that the workspace keeps in memory while no call uses them, if it has a
    /// checkpoint.
    pub row_budget: u64,
    /// Whether an index for searches in contents is used and kept up.
    pub search_index: bool,
    /// How long a file must be idle before its size and time are written to its row.
    pub stat_idle: Duration,
    /// The key of an encrypted store that is opened or created by its path. A store that is created
    /// with a key is encrypted.
    pub key: Option<Arc<UnlockKey>>,
    /// Called for each content document that is loaded.
    pub provider: Option<Arc<dyn DocumentProvider>>,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// The source of ids.
    pub ids: Arc<dyn IdSource>,
}

/// The number of changes of rows after which a command makes a checkpoint. Every later command
/// reads the rows after the last one: 256 cost it 1.5 ms, and a checkpoint of them costs 2 ms.
const ONE_SHOT_AFTER: u64 = 256;

/// The budget of one command for content documents, in bytes. It seldom returns to one.
const ONE_SHOT_DOC_BUDGET: u64 = 64 << 20;

/// The budget of one command for plain text, in bytes.
const ONE_SHOT_TEXT_BUDGET: u64 = 32 << 20;

impl Default for WorkspaceOptions {
    fn default() -> Self {
        Self {
            actor: Actor::new(ActorKind::System, ""),
            step: None,
            profile: DEFAULT_PROFILE,
            read_only: false,
            follow: true,
            doc_budget: 256 << 20,
            text_budget: 256 << 20,
            limits: GateLimits::default(),
            checkpoint_after: 1024,
            row_budget: 1 << 15,
            search_index: true,
            stat_idle: Duration::from_secs(5),
            key: None,
            provider: None,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
        }
    }
}

impl WorkspaceOptions {
    /// Returns options for one command, without background threads.
    pub fn one_shot(actor: Actor) -> Self {
        Self {
            actor,
            follow: false,
            checkpoint_after: ONE_SHOT_AFTER,
            doc_budget: ONE_SHOT_DOC_BUDGET,
            text_budget: ONE_SHOT_TEXT_BUDGET,
            ..Self::default()
        }
    }

    /// Returns options for reading only.
    pub fn reading() -> Self {
        Self { read_only: true, follow: false, ..Self::default() }
    }

    /// Returns random ids, under which no record was written.
    pub(crate) fn fresh_writer_ids(&self) -> WriterIds {
        let random = || self.ids.client_id();
        WriterIds { rows: random(), cells: random(), meta: random() }
    }

    /// Sets the key to the bytes of a key file.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::Host`] if the file cannot be read, and with
    /// [`StoreError::Key`] if it has fewer than 32 bytes or more than 1 MiB.
    pub fn with_key_file(self, file: &Path) -> Result<Self, WorkspaceError> {
        let bytes = read_key_file(file).map_err(|source| WorkspaceError::Host {
            action: "read",
            path: file.to_owned(),
            source,
        })?;
        let key = UnlockKey::from_key_file(bytes);
        let key = key.map_err(|source| StoreError::Key { path: file.to_owned(), source })?;
        Ok(Self { key: Some(Arc::new(key)), ..self })
    }
}
