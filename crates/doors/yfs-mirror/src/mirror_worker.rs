//! The thread that does a mirror's work, and the messages that it receives.
//!
//! It receives messages from the host's watcher, from a task that follows the workspace, and from
//! the [`Mirror`](crate::Mirror) handle. It collects changes until both sides are quiet and then
//! makes a pass. It ends when the handle stops it, when the workspace closes or when the directory
//! disappears.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;
use yfs::WorkspaceError;
use yfs_engine::id::FileId;

use crate::{
    error::{MirrorError, Result},
    mirror_state::database::DIR,
    options::MirrorOptions,
    report::MirrorReport,
    sync_engine::{MirrorEngine, PassOutcome, SUPERSEDED},
    watch::{DirectoryWatch, WatchEvent},
};

/// How often the worker checks whether a person confirmed a mass deletion.
const CONFIRMATION_POLL: Duration = Duration::from_millis(500);

/// The delay after a failed pass.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The maximum number of rounds of a settle request; after that it returns with changes left.
const MAX_ROUNDS: usize = 200;

/// Where a settle request is answered.
type SettleAnswer = oneshot::Sender<Result<MirrorReport>>;

/// A message to the worker thread.
pub(crate) enum WorkerMessage {
    /// A report of the host's watcher.
    Disk(WatchEvent),
    /// Ids of objects that changed in the workspace.
    Work(Vec<FileId>),
    /// Changes of the workspace were missed.
    WorkMissed,
    /// A request to reply when both sides are quiet and equal.
    Settle(SettleAnswer),
    /// A request for the report so far.
    Report(oneshot::Sender<MirrorReport>),
    /// A request to end.
    Stop,
}

/// The state of the worker thread.
pub(crate) struct MirrorWorker {
    engine: MirrorEngine,
    messages: Receiver<WorkerMessage>,
    options: MirrorOptions,
    /// Whether the worker scans everything periodically, because the host cannot watch all
    /// directories.
    polls: bool,
    /// Whether the request to end has arrived, which may be while a settle request is served.
    is_stopped: bool,
    /// The settle requests that are not answered yet.
    settling: Vec<SettleAnswer>,
}

impl MirrorWorker {
    pub(crate) fn new(
        engine: MirrorEngine,
        messages: Receiver<WorkerMessage>,
        options: MirrorOptions,
    ) -> Self {
        Self { engine, messages, options, polls: false, is_stopped: false, settling: Vec::new() }
    }

    /// Starts to watch the directory. Each subdirectory is watched from its first scan on.
    pub(crate) fn watch(&mut self, messages: Sender<WorkerMessage>) {
        let send = move |event| {
            // Fails if the mirror has ended.
            messages.send(WorkerMessage::Disk(event)).ok();
        };
        match DirectoryWatch::new(self.engine.directory(), send) {
            Ok(mut watch) => {
                watch.watch(&Path::new(DIR).join(SUPERSEDED));
                self.engine.set_watch(watch);
            }
            Err(_) => self.polls = true,
        }
    }

    /// Works until it receives a stop request or fails for good.
    pub(crate) fn run(mut self) -> Result<MirrorReport> {
        self.run_passes()?;
        Ok(self.engine.into_report())
    }

    fn run_passes(&mut self) -> Result<()> {
        self.engine.recover()?;
        self.engine.touch_all()?;
        let mut due = Some(Instant::now());
        let mut rescan = Instant::now() + self.options.rescan;
        let mut first_news: Option<Instant> = None;
        loop {
            let wait = due.map_or(rescan, |due| due.min(rescan));
            let message =
                self.messages.recv_timeout(wait.saturating_duration_since(Instant::now()));
            match message {
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(message @ (WorkerMessage::Settle(_) | WorkerMessage::Stop)) => {
                    self.handle_message(message)?;
                    self.settle()?;
                    due = Some(Instant::now());
                }
                Ok(message @ WorkerMessage::Report(_)) => self.handle_message(message)?,
                Ok(message) => {
                    self.handle_message(message)?;
                    let first = *first_news.get_or_insert_with(Instant::now);
                    let quiet = Instant::now() + self.options.quiet;
                    due = Some(quiet.min(first + self.options.patience));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let is_news = first_news.take().is_some();
                    if Instant::now() >= rescan {
                        rescan = Instant::now() + self.options.rescan;
                        self.engine.allow_contests();
                        self.engine.touch_all()?;
                    }
                    due = match !is_news && self.engine.must_wait_for_person()? {
                        true => Some(Instant::now() + CONFIRMATION_POLL),
                        false => self.pass()?,
                    };
                }
            }
            if self.is_stopped {
                return Ok(());
            }
            self.note_unwatched();
            if self.polls && due.is_none() {
                due = Some(Instant::now() + self.options.poll);
                self.engine.touch_all()?;
            }
        }
    }

    fn handle_message(&mut self, message: WorkerMessage) -> Result<()> {
        match message {
            WorkerMessage::Disk(WatchEvent::Moved(paths)) => {
                paths.iter().for_each(|path| self.engine.note_moved(path));
                self.touch_disk(paths);
            }
            WorkerMessage::Disk(WatchEvent::Paths(paths)) => self.touch_disk(paths),
            WorkerMessage::Work(ids) => ids.into_iter().for_each(|id| self.engine.touch_work(id)),
            WorkerMessage::Disk(WatchEvent::Missed) | WorkerMessage::WorkMissed => {
                self.engine.touch_all()?;
            }
            WorkerMessage::Report(answer) => drop(answer.send(self.engine.report().clone())),
            WorkerMessage::Stop => self.is_stopped = true,
            WorkerMessage::Settle(answer) => self.settling.push(answer),
        }
        Ok(())
    }

    /// Records that objects on the disk may have changed.
    fn touch_disk(&mut self, paths: Vec<PathBuf>) {
        for path in paths {
            match path.strip_prefix(Path::new(DIR).join(SUPERSEDED)) {
                Ok(name) => self.engine.touch_superseded(name.as_os_str()),
                Err(_) if is_ours(&path) => (),
                Err(_) => self.engine.touch_disk(path, false),
            }
        }
    }

    /// Serves the settle requests, also those that arrive meanwhile: each is answered after a run
    /// that began when the request was there. If the worker ends first, the caller sees that the
    /// answer was dropped.
    fn settle(&mut self) -> Result<()> {
        while !self.is_stopped && !self.settling.is_empty() {
            let answers = std::mem::take(&mut self.settling);
            let settled = self.run_until_equal();
            if self.is_stopped {
                return Ok(());
            }
            let settled = match settled {
                Err(MirrorError::MassDeletion { n_deleted, n_files }) => Err((n_deleted, n_files)),
                settled => Ok(settled?),
            };
            for answer in answers {
                let settled = settled.clone().map_err(|(n_deleted, n_files)| {
                    MirrorError::MassDeletion { n_deleted, n_files }
                });
                // Fails if the caller no longer waits.
                answer.send(settled).ok();
            }
        }
        Ok(())
    }

    /// Makes a pass. Returns when the next pass is due if no message arrives.
    fn pass(&mut self) -> Result<Option<Instant>> {
        match self.engine.pass() {
            Ok(PassOutcome { next, .. }) => Ok(next),
            // The directory's changes were imported. The notices say how to confirm the deletion.
            Err(MirrorError::MassDeletion { .. }) => Ok(Some(Instant::now() + CONFIRMATION_POLL)),
            Err(error) if is_final(&error) => Err(error),
            Err(_) => {
                self.engine.touch_all()?;
                Ok(Some(Instant::now() + RETRY_DELAY))
            }
        }
    }

    /// Works until both sides are quiet and equal, except for skipped paths.
    fn run_until_equal(&mut self) -> Result<MirrorReport> {
        for _ in 0..MAX_ROUNDS {
            while let Ok(message) = self.messages.try_recv() {
                self.handle_message(message)?;
            }
            self.engine.touch_all()?;
            let mut did = false;
            for _ in 0..MAX_ROUNDS {
                let passed = self.engine.pass()?;
                did |= passed.did;
                let Some(next) = passed.next.filter(|_| !self.engine.is_quiet()) else { break };
                if self.is_stopped {
                    break;
                }
                let wait = next.saturating_duration_since(Instant::now());
                match self.messages.recv_timeout(wait) {
                    Ok(message) => self.handle_message(message)?,
                    Err(RecvTimeoutError::Timeout) => (),
                    Err(RecvTimeoutError::Disconnected) => return Err(MirrorError::Stopped),
                }
            }
            if !did || self.is_stopped {
                break;
            }
        }
        Ok(self.engine.report().clone())
    }

    fn note_unwatched(&mut self) {
        if self.engine.is_watch_incomplete() && !self.polls {
            self.polls = true;
            self.engine.note_unwatched();
        }
    }
}

/// Synchronizes both sides once, without watching.
pub(crate) fn once(mut engine: MirrorEngine) -> Result<MirrorReport> {
    engine.set_once();
    engine.recover()?;
    for _ in 0..MAX_ROUNDS {
        engine.touch_all()?;
        let mut did = false;
        for _ in 0..MAX_ROUNDS {
            let passed = engine.pass()?;
            did |= passed.did;
            let Some(next) = passed.next.filter(|_| !engine.is_quiet()) else { break };
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        if !did {
            break;
        }
    }
    Ok(engine.into_report())
}

/// Reports whether a path belongs to yfs or git, whose files are not mirrored.
fn is_ours(path: &Path) -> bool {
    let first = path.components().next();
    first.is_some_and(|name| name.as_os_str() == ".yfs" || name.as_os_str() == ".git")
}

/// Reports whether a retry is useless after this error.
fn is_final(error: &MirrorError) -> bool {
    matches!(
        error,
        MirrorError::Gone(_)
            | MirrorError::StateGone(_)
            | MirrorError::Stopped
            | MirrorError::Workspace(WorkspaceError::Closed | WorkspaceError::ReadOnly)
    )
}
