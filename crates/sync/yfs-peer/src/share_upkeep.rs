//! The work that keeps shares of directories equal with the directories.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{sync::oneshot, task::JoinHandle};
use yfs::{DirectoryShare, ShareStep, Workspace};
use yfs_engine::id::FileId;

use crate::{
    directory_shares::{DirectoryShareFile, DirectoryShares},
    membership::PeerMembership,
    peer_error::PeerError,
    peer_node::{PeerNode, PeerOptions},
};

/// How often a share is checked that no record woke.
const CHECK_EVERY: Duration = Duration::from_secs(10);

/// How often a share is checked while files wait for their bytes, or after a failure.
const TRY_EVERY: Duration = Duration::from_secs(2);

/// How many times as long as the last comparison of rows took none follows, and the longest such
/// time: so that edits in a large directory do not keep the process busy. Contents are passed on
/// meanwhile.
const ROWS_REST: u32 = 20;
const MAX_ROWS_REST: Duration = Duration::from_secs(2);

/// Gets what a person should know of a share: that it is connected, paused, or fails. The same is
/// reported once.
pub type ShareReport = Arc<dyn Fn(&FileId, String) + Send + Sync>;

/// The shares that a process keeps equal with their directories, until they are stopped or dropped.
#[derive(Debug, Default)]
pub struct RunningShares {
    shares: Vec<RunningShare>,
}

#[derive(Debug)]
struct RunningShare {
    directory: FileId,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
    /// What connects it with its peers, if that is done here.
    connections: Option<(PeerNode, Workspace)>,
}

/// Waits for records of both sides, and passes them on.
struct ShareUpkeep {
    share: Option<DirectoryShare>,
    directory: FileId,
    report: ShareReport,
    last_notice: Option<String>,
    rows_due: Instant,
}

impl RunningShare {
    fn start(
        origin: &Workspace,
        share: &Workspace,
        directory: &FileId,
        report: &ShareReport,
    ) -> Result<Self, PeerError> {
        let upkeep = ShareUpkeep {
            share: Some(DirectoryShare::open(origin, share)?),
            directory: directory.clone(),
            report: report.clone(),
            last_notice: None,
            rows_due: Instant::now(),
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(upkeep.run(stopped));
        Ok(Self { directory: directory.clone(), stop, task, connections: None })
    }

    async fn stop(self) -> Result<(), PeerError> {
        let Self { stop, task, connections, .. } = self;
        stop.send(()).ok();
        task.await.ok();
        if let Some((node, share)) = connections {
            node.stop().await;
            let flushed = share.flush();
            share.close()?;
            flushed?;
        }
        Ok(())
    }
}

impl ShareUpkeep {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        while let Some(at_most) = self.step().await {
            let Some(share) = &mut self.share else { return };
            tokio::select! {
                _ = &mut stopped => return,
                () = share.wait(at_most) => {}
            }
        }
    }

    /// Makes one step, and returns the time after which another one is due; `None` if the work
    /// failed for good.
    async fn step(&mut self) -> Option<Duration> {
        let mut share = self.share.take()?;
        let begun = Instant::now();
        let with_rows = begun >= self.rows_due;
        let stepped = tokio::task::spawn_blocking(move || {
            let step = if with_rows { share.step() } else { share.step_contents() };
            let path = share.path().ok().flatten();
            (share, step, path)
        });
        let Ok((share, step, path)) = stepped.await else {
            let notice = "a shared directory: the task that keeps it equal failed";
            (self.report)(&self.directory, notice.to_owned());
            return None;
        };
        self.share = Some(share);
        self.notice(match &step {
            Ok(step) if step.is_paused => {
                Some("a shared directory is in the trash: nothing is passed on".to_owned())
            }
            Ok(_) => None,
            Err(error) => {
                let path = path.map(|path| path.to_string());
                Some(format!("{}: {error}", path.as_deref().unwrap_or("a shared directory")))
            }
        });
        let is_busy = |step: &ShareStep| step.n_rows + step.n_contents > 0 || step.is_unfinished;
        let at_most = match &step {
            Ok(step) if is_busy(step) => Duration::ZERO,
            Ok(step) if step.n_waiting == 0 => CHECK_EVERY,
            _ => TRY_EVERY,
        };
        if with_rows {
            self.rows_due = Instant::now() + MAX_ROWS_REST.min(begun.elapsed() * ROWS_REST);
            return Some(at_most);
        }
        Some(at_most.min(self.rows_due.saturating_duration_since(Instant::now())))
    }

    fn notice(&mut self, notice: Option<String>) {
        if let Some(new) = notice.iter().find(|notice| Some(*notice) != self.last_notice.as_ref()) {
            (self.report)(&self.directory, new.clone());
        }
        self.last_notice = notice;
    }
}

impl RunningShares {
    /// Begins to keep one share equal with its directory.
    pub fn start(
        shares: &DirectoryShares,
        file: &DirectoryShareFile,
        share: &Workspace,
        report: &ShareReport,
    ) -> Result<Self, PeerError> {
        let running = RunningShare::start(shares.origin(), share, &file.directory, report)?;
        Ok(Self { shares: vec![running] })
    }

    /// Resumes all shares that no other process runs, and connects them. The options are those of
    /// the workspace; each share has its own port.
    pub fn resume_all(
        shares: &DirectoryShares,
        options: &PeerOptions,
        report: &ShareReport,
    ) -> Result<Self, PeerError> {
        let mut running = Self::default();
        let found = shares.find()?;
        for file in &found.shares {
            let resumed = shares.open(file).and_then(|share| {
                running.connect(shares, file, share, options, report)?;
                Ok(format!("{} is shared with its peers", shares.path_of(&file.directory)?))
            });
            let notice = match resumed {
                Err(PeerError::AlreadyRunning) => continue,
                Ok(notice) => notice,
                Err(error) => format!("{}: {error}", file.file.display()),
            };
            report(&file.directory, notice);
        }
        for (file, error) in found.unreadable {
            let notice = format!("{}: cannot open this share: {error}", file.display());
            report(shares.origin().id(), notice);
        }
        Ok(running)
    }

    /// Connects a share with its peers, and keeps it equal with its directory.
    ///
    /// # Errors
    ///
    /// Fails with [`PeerError::AlreadyRunning`] if another process does.
    pub fn connect(
        &mut self,
        shares: &DirectoryShares,
        file: &DirectoryShareFile,
        share: Workspace,
        options: &PeerOptions,
        report: &ShareReport,
    ) -> Result<(), PeerError> {
        // The port that was named is that of the workspace.
        let options = PeerOptions {
            listen: SocketAddr::new(options.listen.ip(), 0),
            lock_dir: Some(file.dir().to_owned()),
            ..options.clone()
        };
        PeerMembership::of(&share)?.found()?;
        let node = PeerNode::start(&share, options)?;
        let mut running = RunningShare::start(shares.origin(), &share, &file.directory, report)?;
        running.connections = Some((node, share));
        self.shares.push(running);
        Ok(())
    }

    /// Reports whether the share of a directory is kept equal with it.
    pub fn has(&self, directory: &FileId) -> bool {
        self.shares.iter().any(|share| share.directory == *directory)
    }

    /// Ends the work after the steps that are under way.
    pub async fn stop(self) -> Result<(), PeerError> {
        let mut result = Ok(());
        for share in self.shares {
            result = result.and(share.stop().await);
        }
        result
    }
}
