//! The threads of a workspace.

use std::{collections::BTreeMap, time::Duration};

use napi_derive::napi;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use yfs::clock::{Clock, SystemClock};
use yfs_engine::actor::Actor;
use yfs_threads::{
    NamespaceStrategy, NamespaceTemplate, RetentionPolicy, RetentionReport, Thread, ThreadContext,
    ThreadError, ThreadInfo, Threads,
};

use crate::{
    error, message, owned_future::OwnedFuture, thread_files::NativeThread,
    workspace_slot::WorkspaceSlot,
};

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

/// The rules of a retention.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct RetentionOptions {
    max_age_ms: Option<f64>,
    max_bytes: Option<f64>,
    archived: bool,
    dry_run: bool,
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
        let strategy = match strategy {
            None | Some("thread_id") => NamespaceStrategy::ThreadId,
            Some("task_id") => NamespaceStrategy::TaskId,
            Some("flat") => NamespaceStrategy::Flat,
            Some(template) => {
                let parsed = NamespaceTemplate::parse(template).map_err(|problem| {
                    error::invalid(&format!("a namespace ({problem})"), template)
                })?;
                NamespaceStrategy::Custom(parsed)
            }
        };
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

    /// Runs a call on another thread.
    fn ask<T: Send + 'static, F: Future<Output = Result<T, ThreadError>>>(
        &self,
        call: impl FnOnce(Threads) -> F + Send + 'static,
    ) -> napi::Result<OwnedFuture<T>> {
        let threads = self.threads()?;
        Ok(OwnedFuture::blocking(move || {
            let done = Handle::current().block_on(call(threads));
            done.map_err(|error| error::of_threads(&error))
        }))
    }

    fn open<F: Future<Output = Result<Thread, ThreadError>>>(
        &self,
        call: impl FnOnce(Threads) -> F + Send + 'static,
    ) -> napi::Result<OwnedFuture<NativeThread>> {
        let (threads, access) = (self.threads()?, self.clone());
        Ok(OwnedFuture::blocking(move || {
            let opened = Handle::current().block_on(call(threads));
            let opened = opened.map_err(|error| error::of_threads(&error))?;
            Ok(NativeThread::new(access, &opened))
        }))
    }
}

#[napi]
impl NativeThreads {
    pub(crate) fn new(access: ThreadAccess) -> Self {
        Self { access }
    }

    /// Opens a thread, or makes it.
    #[napi]
    pub fn thread(&self, id: String) -> napi::Result<OwnedFuture<NativeThread>> {
        self.access.open(async move |threads: Threads| threads.thread(&id).await)
    }

    /// Opens the thread that values lead to, or makes it.
    #[napi]
    pub fn thread_for(&self, values: String) -> napi::Result<OwnedFuture<NativeThread>> {
        let values: BTreeMap<String, String> = serde_json::from_str(&values)
            .map_err(|_| error::invalid("an object of texts", &values))?;
        let with = |context: ThreadContext, (name, value)| context.with(name, value);
        let context = values.into_iter().fold(ThreadContext::default(), with);
        self.access.open(async move |threads: Threads| threads.thread_for(&context).await)
    }

    /// Makes a thread that must not exist.
    #[napi]
    pub fn create(&self, id: String) -> napi::Result<OwnedFuture<NativeThread>> {
        self.access.open(async move |threads: Threads| threads.create(&id).await)
    }

    /// Opens a thread that must exist.
    #[napi]
    pub fn existing(&self, id: String) -> napi::Result<OwnedFuture<NativeThread>> {
        self.access.open(async move |threads: Threads| threads.existing(&id).await)
    }

    /// Forks a thread.
    #[napi]
    pub fn fork(&self, from: String, to: String) -> napi::Result<OwnedFuture<NativeThread>> {
        self.access.open(async move |threads: Threads| threads.fork(&from, &to).await)
    }

    /// Restores a thread from the trash.
    #[napi]
    pub fn restore(&self, id: String) -> napi::Result<OwnedFuture<NativeThread>> {
        self.access.open(async move |threads: Threads| threads.restore(&id).await)
    }

    #[napi]
    pub fn list(&self, archived: bool) -> napi::Result<OwnedFuture<String>> {
        self.access.ask(async move |threads: Threads| {
            let infos = threads.list(archived).await?;
            Ok(infos.iter().map(describe).collect::<Value>().to_string())
        })
    }

    #[napi]
    pub fn info(&self, id: String) -> napi::Result<OwnedFuture<String>> {
        self.access
            .ask(async move |threads: Threads| Ok(describe(&threads.info(&id).await?).to_string()))
    }

    #[napi]
    pub fn archive(&self, id: String) -> napi::Result<OwnedFuture<String>> {
        self.access.ask(async move |threads: Threads| {
            let at = threads.archive(&id, SystemClock.now()).await?;
            Ok(json!({ "id": id, "archivedMs": at.0 }).to_string())
        })
    }

    #[napi]
    pub fn unarchive(&self, id: String) -> napi::Result<OwnedFuture<String>> {
        self.access.ask(async move |threads: Threads| {
            threads.unarchive(&id).await?;
            Ok(json!({ "id": id, "archivedMs": null }).to_string())
        })
    }

    #[napi]
    pub fn delete(&self, id: String) -> napi::Result<OwnedFuture<()>> {
        self.access.ask(async move |threads: Threads| threads.delete(&id).await)
    }

    #[napi]
    pub fn prune(&self, options: String) -> napi::Result<OwnedFuture<String>> {
        let given: RetentionOptions = serde_json::from_str(&options)
            .map_err(|_| error::invalid("the rules of a retention", &options))?;
        let policy = RetentionPolicy {
            max_age: given.max_age_ms.map(|age| Duration::from_millis(age as u64)),
            max_bytes: given.max_bytes.map(|bytes| bytes as u64),
            archived: given.archived,
            dry_run: given.dry_run,
        };
        self.access.ask(async move |threads: Threads| {
            Ok(describe_retention(&threads.prune(&policy, SystemClock.now()).await?).to_string())
        })
    }
}

fn describe(info: &ThreadInfo) -> Value {
    json!({
        "id": info.id,
        "path": info.path.as_str(),
        "createdMs": info.created.0,
        "changedMs": info.changed.0,
        "archivedMs": info.archived.map(|at| at.0),
        "forkedFrom": info.forked_from,
        "fileCount": info.totals.n_files,
        "directoryCount": info.totals.n_directories,
        "totalSize": info.totals.n_bytes,
    })
}

fn describe_retention(report: &RetentionReport) -> Value {
    let removed = report.removed.iter().map(|thread| {
        let mut described = describe(&thread.info);
        described["reason"] = thread.reason.name().into();
        described
    });
    let removed: Value = removed.collect();
    json!({ "removed": removed, "kept": report.n_kept, "keptSize": report.kept_bytes })
}
