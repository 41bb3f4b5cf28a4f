//! How a workspace is opened.

use std::{sync::Arc, time::Duration};

use yfs_engine::{
    actor::{Actor, ActorKind},
    gate::GateLimits,
    kind::{DEFAULT_PROFILE, SchemaProfile},
};

use crate::{
    clock::{Clock, IdSource, RandomIds, SystemClock},
    documents::DocumentProvider,
};

/// How a workspace is opened.
#[derive(Debug, Clone)]
pub struct WorkspaceOptions {
    /// On whose behalf changes are made that name nobody.
    pub actor: Actor,
    /// Which schema the rich text of a workspace keeps that is made; one that is there has its own.
    pub profile: SchemaProfile,
    /// Whether only reading is meant. A reader claims no client ids and leaves no trace.
    pub read_only: bool,
    /// Whether a thread follows what other processes log. Without it, each call looks first.
    pub follow: bool,
    /// How many bytes of content documents stay in memory while nobody holds them.
    pub doc_budget: u64,
    /// How many bytes of plain text are kept for reading and searching.
    pub text_budget: u64,
    /// What the gate lets through.
    pub limits: GateLimits,
    /// How long a file must rest before its size and time are written to its row.
    pub stat_idle: Duration,
    /// Called for each content document that is loaded.
    pub provider: Option<Arc<dyn DocumentProvider>>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub ids: Arc<dyn IdSource>,
}

impl Default for WorkspaceOptions {
    fn default() -> Self {
        Self {
            actor: Actor::new(ActorKind::System, ""),
            profile: DEFAULT_PROFILE,
            read_only: false,
            follow: true,
            doc_budget: 64 << 20,
            text_budget: 256 << 20,
            limits: GateLimits::default(),
            stat_idle: Duration::from_secs(5),
            provider: None,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
        }
    }
}

impl WorkspaceOptions {
    /// For one command: nothing runs in the background.
    pub fn one_shot(actor: Actor) -> Self {
        Self { actor, follow: false, ..Self::default() }
    }

    /// For reading only.
    pub fn reading() -> Self {
        Self { read_only: true, follow: false, ..Self::default() }
    }
}
