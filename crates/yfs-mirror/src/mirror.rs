//! A mirror, as whoever runs one holds it.

use std::{
    path::Path,
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{broadcast, oneshot},
    task::AbortHandle,
};
use yfs::{Workspace, WorkspaceFs};
use yfs_vfs::{ChangeCursor, ChangesOptions, FileSystem};

use crate::{
    error::{MirrorError, Result},
    mirror_worker::{self, MirrorWorker, WorkerMessage},
    options::MirrorOptions,
    report::{MirrorNotice, MirrorReport},
    sync_engine::{MirrorEngine, Notify},
};

/// How many notices wait for whoever listens.
const BACKLOG: usize = 1_024;

/// How long one question for changes of the workspace stays open.
const WAIT: Duration = Duration::from_millis(500);

/// A folder and a workspace that are kept in step, for as long as this is held.
///
/// It holds a thread, which does the work, and a task on the caller's runtime, which tells it what changed in
/// the workspace. Dropping it ends both; what was not brought over yet is when the next mirror begins.
#[derive(Debug)]
pub struct Mirror {
    messages: Sender<WorkerMessage>,
    thread: Option<JoinHandle<Result<MirrorReport>>>,
    follower: AbortHandle,
    notices: broadcast::Sender<MirrorNotice>,
}

impl Mirror {
    /// Begins to keep a folder, which is made if it is missing, and a workspace in step.
    ///
    /// It returns once nobody else can mirror the folder; [`settled`](Self::settled) tells when both sides
    /// have met. Nothing of the folder is overwritten or deleted when they first meet.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Busy`] while another mirror has the folder; [`MirrorError::OtherWorkspace`] if it was a
    /// mirror of another workspace.
    pub fn start(
        workspace: &Workspace,
        folder: &Path,
        options: MirrorOptions,
        handle: &Handle,
    ) -> Result<Self> {
        let (notices, _) = broadcast::channel(BACKLOG);
        let told = notices.clone();
        let notify: Notify = Box::new(move |notice: &MirrorNotice| {
            // Nobody need listen.
            told.send(notice.clone()).ok();
        });
        let engine = MirrorEngine::open(workspace, folder, options.clone(), notify)?;
        let (messages, inbox) = mpsc::channel();
        let fs = workspace.fs();
        let cursor = futures::executor::block_on(fs.cursor())?;
        let follower = handle.spawn(follow(fs, cursor, messages.clone())).abort_handle();
        let mut worker = MirrorWorker::new(engine, inbox, options);
        worker.watch(messages.clone());
        let host = |source| MirrorError::Host {
            action: "start a thread for",
            path: folder.to_owned(),
            source,
        };
        let thread = thread::Builder::new()
            .name("yfs-mirror".to_owned())
            .spawn(move || worker.run())
            .map_err(host)?;
        Ok(Self { messages, thread: Some(thread), follower, notices })
    }

    /// Brings a folder and a workspace together once, and returns what that took.
    ///
    /// It waits where something must be missing for a while to be believed; call it where waiting is allowed.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn once(
        workspace: &Workspace,
        folder: &Path,
        options: MirrorOptions,
    ) -> Result<MirrorReport> {
        mirror_worker::once(MirrorEngine::open(workspace, folder, options, Box::new(|_| ()))?)
    }

    /// Waits until both sides are quiet, and equal as far as they are to be; returns what was done so far.
    ///
    /// Everything is looked at for that, so it is for tests and for whoever is about to leave.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Stopped`] if the mirror ended meanwhile; [`stop`](Self::stop) says why.
    pub async fn settled(&self) -> Result<MirrorReport> {
        let (answer, settled) = oneshot::channel();
        self.messages.send(WorkerMessage::Settle(answer)).map_err(|_| MirrorError::Stopped)?;
        settled.await.map_err(|_| MirrorError::Stopped)?
    }

    /// Returns what was done so far, and what is left alone.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Stopped`] if the mirror ended.
    pub async fn report(&self) -> Result<MirrorReport> {
        let (answer, report) = oneshot::channel();
        self.messages.send(WorkerMessage::Report(answer)).map_err(|_| MirrorError::Stopped)?;
        report.await.map_err(|_| MirrorError::Stopped)
    }

    /// Returns what the owner of the folder may want to know, from now on.
    pub fn notices(&self) -> broadcast::Receiver<MirrorNotice> {
        self.notices.subscribe()
    }

    /// Tells whether the mirror ended by itself; [`stop`](Self::stop) says why.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the mirror, and returns what it did.
    ///
    /// # Errors
    ///
    /// Why it ended, if it did so by itself.
    pub fn stop(mut self) -> Result<MirrorReport> {
        self.end().unwrap_or(Err(MirrorError::Stopped))
    }

    fn end(&mut self) -> Option<Result<MirrorReport>> {
        self.follower.abort();
        // It may have ended by itself.
        self.messages.send(WorkerMessage::Stop).ok();
        let thread = self.thread.take()?;
        Some(thread.join().unwrap_or(Err(MirrorError::Stopped)))
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        // Nobody is left to tell; what failed is tried again by the next mirror.
        self.end();
    }
}

/// Tells the worker what changed in the workspace, until nobody listens or the workspace closes.
async fn follow(fs: WorkspaceFs, mut cursor: ChangeCursor, messages: Sender<WorkerMessage>) {
    loop {
        let options = ChangesOptions { wait: Some(WAIT), ..ChangesOptions::default() };
        let told = match fs.changes(&cursor, &options).await {
            Ok(changes) => {
                cursor = changes.next;
                let ids: Vec<_> = changes.events.into_iter().map(|change| change.id).collect();
                if ids.is_empty() {
                    continue;
                }
                messages.send(WorkerMessage::Work(ids))
            }
            Err(error) if error.is_cursor_lost() => match fs.cursor().await {
                Ok(now) => {
                    cursor = now;
                    messages.send(WorkerMessage::WorkMissed)
                }
                Err(_) => return,
            },
            Err(_) => return,
        };
        if told.is_err() {
            return;
        }
    }
}
