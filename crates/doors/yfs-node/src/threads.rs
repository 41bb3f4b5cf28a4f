//! The threads of a workspace.

use yfs::clock::{Clock, SystemClock};
use yfs_engine::actor::Actor;
use yfs_threads::{BadTemplate, NamespaceStrategy, NamespaceTemplate, Threads};
use yfs_wire::{ThreadOpening, ThreadRequest, UnixMillis};

use crate::{prelude::*, thread_files::NativeThread};

/// The threads of a workspace, on behalf of an actor.
#[derive(Debug)]
#[napi]
pub struct NativeThreads {
    access: ThreadAccess,
}

/// How a call finds the threads of a workspace that may be closed meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct ThreadAccess {
    slot: WorkspaceSlot,
    actor: Actor,
    label: Option<String>,
    strategy: NamespaceStrategy,
}

impl ThreadAccess {
    pub(crate) fn new(
        slot: WorkspaceSlot,
        actor: Option<&str>,
        label: Option<String>,
        strategy: Option<&str>,
    ) -> napi::Result<Self> {
        let actor = match actor {
            Some(actor) => message::actor(actor)?,
            None => slot.actor().clone(),
        };
        let name = strategy.unwrap_or("thread_id");
        let strategy = match NamespaceStrategy::parse(name) {
            Err(BadTemplate::Unknown) => {
                NamespaceTemplate::parse(name).map(NamespaceStrategy::Custom)
            }
            parsed => parsed,
        };
        let strategy = strategy
            .map_err(|problem| error::invalid(&format!("a namespace ({problem})"), name))?;
        slot.get()?;
        Ok(Self { slot, actor, label, strategy })
    }

    /// Returns the threads, unless the workspace is closed.
    pub(crate) fn threads(&self) -> napi::Result<Threads> {
        let threads = Threads::open(&self.slot.get()?).acting_for(self.actor.clone());
        let threads = threads.with_strategy(self.strategy.clone());
        Ok(match &self.label {
            Some(label) => threads.labelled(label),
            None => threads,
        })
    }

    pub(crate) fn slot(&self) -> &WorkspaceSlot {
        &self.slot
    }
}

#[napi]
impl NativeThreads {
    pub(crate) fn new(access: ThreadAccess) -> Self {
        Self { access }
    }

    /// Serves a request for threads.
    #[napi]
    pub fn call(&self, request: String) -> napi::Result<OwnedFuture<String>> {
        let request: ThreadRequest = message::request(&request)?;
        let threads = self.access.threads()?;
        Ok(OwnedFuture::calling(async move || {
            let served = request.serve::<UnixMillis>(&threads, SystemClock.now()).await;
            served.map(|served| message::json(&served))
        }))
    }

    /// Opens a thread, or makes it.
    #[napi]
    pub fn open(&self, opening: String) -> napi::Result<OwnedFuture<NativeThread>> {
        let opening: ThreadOpening = message::request(&opening)?;
        let (threads, access) = (self.access.threads()?, self.access.clone());
        Ok(OwnedFuture::calling(async move || {
            let opened = opening.open(&threads).await;
            opened.map(|thread| NativeThread::new(access, &thread))
        }))
    }
}
