//! The handle by which a caller runs a mirror.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{broadcast, oneshot},
    task::AbortHandle,
};
use yfs::{Workspace, WorkspaceFs};
use yfs_engine::actor::{Actor, ActorKind};
use yfs_vfs::{ChangeCursor, ChangesOptions, FileSystem};

use crate::{
    error::{MirrorError, Result},
    mirror_state::database::MirrorDatabase,
    mirror_worker::{self, MirrorWorker, WorkerMessage},
    options::MirrorOptions,
    pending_deletions::PendingDeletions,
    pending_rules,
    report::{MirrorNotice, MirrorReport},
    sync_engine::{self, MirrorEngine, Notify},
    witness,
};

/// The number of notices that wait for a slow subscriber.
const BACKLOG: usize = 1_024;

/// How long one request for changes of the workspace stays open.
const WAIT: Duration = Duration::from_millis(500);

/// A running mirror, which synchronizes a directory with a workspace until it is dropped.
///
/// It owns a thread, which does the work, and a task on the caller's runtime, which reports changes
/// of the workspace to that thread. Dropping it ends both. The next mirror applies the changes that
/// were not applied yet.
#[derive(Debug)]
pub struct Mirror {
    messages: Sender<WorkerMessage>,
    thread: Option<JoinHandle<Result<MirrorReport>>>,
    follower: AbortHandle,
    notices: broadcast::Sender<MirrorNotice>,
    /// The receiver of the first subscriber, which has the notices since the start.
    first_receiver: Mutex<Option<broadcast::Receiver<MirrorNotice>>>,
}

impl Mirror {
    /// Starts to synchronize a directory with a workspace. Creates the directory if it is missing.
    ///
    /// Returns as soon as this mirror has locked the directory; [`settled`](Self::settled) waits
    /// until both sides are equal. The first synchronization overwrites and deletes nothing in the
    /// directory.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Busy`] while another mirror has the directory;
    /// [`MirrorError::OtherWorkspace`] if it was a mirror of another workspace.
    pub fn start(
        workspace: &Workspace,
        directory: &Path,
        options: MirrorOptions,
        handle: &Handle,
    ) -> Result<Self> {
        let (notices, first_receiver) = broadcast::channel(BACKLOG);
        let sender = notices.clone();
        let notify: Notify = Box::new(move |notice: &MirrorNotice| {
            // Fails if there is no subscriber.
            sender.send(notice.clone()).ok();
        });
        let engine = MirrorEngine::open(workspace, directory, options.clone(), notify)?;
        let (messages, inbox) = mpsc::channel();
        let fs = workspace.fs();
        let cursor = futures::executor::block_on(fs.cursor())?;
        let follower = handle.spawn(forward_changes(fs, cursor, messages.clone())).abort_handle();
        let mut worker = MirrorWorker::new(engine, inbox, options);
        worker.watch(messages.clone());
        let host = |source| MirrorError::Host {
            action: "start a thread for",
            path: directory.to_owned(),
            source,
        };
        let thread = thread::Builder::new()
            .name("yfs-mirror".to_owned())
            .spawn(move || worker.run())
            .map_err(host)?;
        let first_receiver = Mutex::new(Some(first_receiver));
        Ok(Self { messages, thread: Some(thread), follower, notices, first_receiver })
    }

    /// Synchronizes a directory and a workspace once, and returns a report of the changes.
    ///
    /// Blocks for [`MirrorOptions::grace`] before it treats a missing file as deleted, so call it
    /// from a thread that may block.
    ///
    /// # Errors
    ///
    /// The same as [`start`](Self::start); [`MirrorError::MassDeletion`] if most files of the
    /// directory would be deleted, and the options do not confirm that.
    pub fn once(
        workspace: &Workspace,
        directory: &Path,
        options: MirrorOptions,
    ) -> Result<MirrorReport> {
        mirror_worker::once(MirrorEngine::open(workspace, directory, options, Box::new(|_| ()))?)
    }

    /// Reports whether a workspace has all that the mirror of a directory agreed on with it. A
    /// workspace that was repaired or replaced by a backup may lack records that a replica still
    /// has; it should get them back before the directory is imported, since the mirror would take
    /// what they wrote for new edits.
    ///
    /// It is so for a directory that another mirror has open, which checked it.
    ///
    /// # Errors
    ///
    /// The same as [`start`](Self::start).
    pub fn is_proven(workspace: &Workspace, directory: &Path) -> Result<bool> {
        match sync_engine::is_proven(workspace, directory) {
            Err(MirrorError::Busy(_)) => Ok(true),
            is_proven => is_proven,
        }
    }

    /// Reports whether a workspace lacks records that a mirror of a directory synchronized: an
    /// older copy was put back, or its last records were lost. The next mirror merges both sides.
    ///
    /// Takes no lock and writes nothing. Without a mirror, or if the mirror's files cannot be read,
    /// nothing is known, and the answer is no.
    pub fn lacks_records(workspace: &Workspace, directory: &Path) -> bool {
        witness::lacks_records(workspace, directory)
    }

    /// Reports whether another mirror synchronizes a directory with a workspace now.
    ///
    /// # Errors
    ///
    /// The same as [`start`](Self::start), except [`MirrorError::Busy`].
    pub fn is_running(workspace: &Workspace, directory: &Path) -> Result<bool> {
        match sync_engine::is_proven(workspace, directory) {
            Err(MirrorError::Busy(_)) => Ok(true),
            checked => checked.map(|_| false),
        }
    }

    /// Returns the actor of the changes that a mirror takes from a directory; `None` if the
    /// directory was never mirrored.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Database`] if the mirror's memory cannot be read.
    pub fn actor_of(directory: &Path) -> Result<Option<Actor>> {
        let name = MirrorDatabase::known_actor_name(directory)?;
        Ok(name.map(|name| Actor::new(ActorKind::Mirror, &name)))
    }

    /// Returns the mass deletion in a directory that waits for a confirmation.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Host`] if the mirror's files cannot be read.
    pub fn pending_deletions(directory: &Path) -> Result<Option<PendingDeletions>> {
        PendingDeletions::read(directory)
    }

    /// Confirms the mass deletion that waits in a directory. A running mirror makes it within a
    /// second, and otherwise the next one does. Reports whether there was one.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Host`] if the mirror's files cannot be read or written.
    pub fn confirm_deletions(directory: &Path) -> Result<bool> {
        let pending = PendingDeletions::read(directory)?;
        pending.map(|pending| pending.confirm(directory)).transpose()?;
        Ok(pending.is_some())
    }

    /// Accepts the rules of other writers that wait in a directory, because they include files that
    /// were excluded. A running mirror imports the files within seconds, and otherwise the next one
    /// does. Reports whether any rules waited.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Host`] if the mirror's files cannot be read or written.
    pub fn accept_rules(directory: &Path) -> Result<bool> {
        pending_rules::accept(directory)
    }

    /// Waits until both sides are quiet and equal, except for skipped paths. Returns the report so
    /// far.
    ///
    /// This scans both sides completely. It is meant for tests and for callers that are about to
    /// exit.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Stopped`] if the mirror ended meanwhile; [`stop`](Self::stop) returns the
    /// reason. [`MirrorError::MassDeletion`] while a deletion waits for a confirmation.
    pub async fn settled(&self) -> Result<MirrorReport> {
        let (answer, settled) = oneshot::channel();
        self.messages.send(WorkerMessage::Settle(answer)).map_err(|_| MirrorError::Stopped)?;
        settled.await.map_err(|_| MirrorError::Stopped)?
    }

    /// Returns the report so far.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Stopped`] if the mirror ended.
    pub async fn report(&self) -> Result<MirrorReport> {
        let (answer, report) = oneshot::channel();
        self.messages.send(WorkerMessage::Report(answer)).map_err(|_| MirrorError::Stopped)?;
        report.await.map_err(|_| MirrorError::Stopped)
    }

    /// Subscribes to the notices for the owner of the directory: the first caller from the start,
    /// later ones from now on.
    pub fn notices(&self) -> broadcast::Receiver<MirrorNotice> {
        let first = self.first_receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.unwrap_or_else(|| self.notices.subscribe())
    }

    /// Reports whether the mirror ended by itself; [`stop`](Self::stop) returns the reason.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the mirror, and returns its report.
    ///
    /// # Errors
    ///
    /// The error that ended the mirror, if it ended by itself.
    pub fn stop(mut self) -> Result<MirrorReport> {
        self.end().unwrap_or(Err(MirrorError::Stopped))
    }

    fn end(&mut self) -> Option<Result<MirrorReport>> {
        self.follower.abort();
        // Fails if the mirror ended by itself.
        self.messages.send(WorkerMessage::Stop).ok();
        let thread = self.thread.take()?;
        Some(thread.join().unwrap_or(Err(MirrorError::Stopped)))
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        // There is no caller to return an error to. The next mirror retries failed changes.
        self.end();
    }
}

/// Sends the changes of the workspace to the worker, until the worker ends or the workspace closes.
async fn forward_changes(
    fs: WorkspaceFs,
    mut cursor: ChangeCursor,
    messages: Sender<WorkerMessage>,
) {
    loop {
        let options = ChangesOptions { wait: Some(WAIT), ..ChangesOptions::default() };
        let sent = match fs.changes(&cursor, &options).await {
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
        if sent.is_err() {
            return;
        }
    }
}
