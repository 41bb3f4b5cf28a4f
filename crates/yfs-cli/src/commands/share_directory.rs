//! The shares of single directories: where their stores are, and what keeps them equal with the
//! workspace.
//!
//! Each is a workspace of its own, in `shares/ID/workspace.db` beside the workspace that has the
//! directory. Its store names the directory, so a share is found again after a rename.

use std::{
    fs, io,
    net::SocketAddr,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use yfs::{
    DirectoryShare, ShareStep, SharedDirectory, Workspace, WorkspaceError, WorkspaceOptions,
    clock::{IdSource as _, RandomIds},
};
use yfs_engine::{id::FileId, path::VPath};
use yfs_peer::{PeerError, PeerNode, PeerOptions, TicketId};
use yfs_vfs::{FileKind, Op};

use crate::{
    commands::peer_run::{PeerNetworkArgs, lock_dir},
    context::CommandContext,
    discover,
    errors::{CommandError, Result},
    settings, workspace_key,
};

/// The subdirectory that contains the shares, beside the workspace.
const DIR: &str = "shares";

/// The prefix of the setting of the workspace that names the share of a directory.
const SHARE_SETTING: &str = "share.of.";

/// How often a share is checked that no record woke.
const CHECK_EVERY: Duration = Duration::from_secs(10);

/// How often a share is checked while files wait for their bytes, or after a failure.
const TRY_EVERY: Duration = Duration::from_secs(2);

/// How many times as long as the last comparison of rows took none follows, and the longest such
/// time: so that edits in a large directory do not keep the process busy. Contents are passed on
/// meanwhile.
const ROWS_REST: u32 = 20;
const MAX_ROWS_REST: Duration = Duration::from_secs(2);

/// A share of a directory of the workspace.
pub(crate) struct FoundShare {
    /// The file of its workspace.
    pub(crate) file: PathBuf,
    /// The directory.
    pub(crate) directory: FileId,
}

/// The shares that a process keeps equal with their directories, until they are stopped.
#[derive(Default)]
pub(crate) struct RunningShares {
    shares: Vec<RunningShare>,
}

struct RunningShare {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
    /// What connects it with its peers, if this process resumed it.
    connections: Option<(PeerNode, Workspace)>,
}

/// Returns the directory at a path.
pub(crate) fn directory_at(
    workspace: &Workspace,
    path: &VPath,
    context: &CommandContext,
) -> Result<FileId> {
    let (entry, _) = workspace.fs_for(context.actor()).entry(path, Op::Open)?;
    if entry.kind != FileKind::Directory {
        let message = format!("{path}: only a directory can be shared; move the file into one");
        return Err(CommandError::other(message));
    }
    Ok(entry.id)
}

/// Lists the shares of the workspace in a file.
pub(crate) fn find_all(
    file: &Path,
    workspace: &Workspace,
    context: &mut CommandContext,
) -> Result<Vec<FoundShare>> {
    let mut found = Vec::new();
    for file in share_files(file)? {
        let opened = workspace_key::open_at(&file, settings::reading(context.actor()));
        let Ok(share) = opened else {
            context.remark(&format!("{}: cannot open this share", file.display()));
            continue;
        };
        let shared = SharedDirectory::of(&share)?;
        share.close()?;
        if let Some(shared) = shared.filter(|shared| shared.origin == *workspace.id()) {
            found.push(FoundShare { file, directory: shared.directory });
        }
    }
    Ok(found)
}

fn share_files(file: &Path) -> Result<Vec<PathBuf>> {
    let dir = lock_dir(file).join(DIR);
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| CommandError::host(&dir, &error))?,
    };
    let files = entries.filter_map(|entry| Some(entry.ok()?.path().join(discover::FILE)));
    let mut files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    files.sort();
    Ok(files)
}

/// Opens the share of a directory, which is created the first time.
pub(crate) fn open_or_create(
    file: &Path,
    workspace: &Workspace,
    directory: &FileId,
    context: &mut CommandContext,
) -> Result<(PathBuf, Workspace)> {
    let known = find_all(file, workspace, context)?;
    if let Some(share) = known.into_iter().find(|share| share.directory == *directory) {
        let opened = context.open_at(&share.file, settings::following(context.actor()))?;
        return Ok((share.file, opened));
    }
    let key = workspace_key::key_of_open(workspace)?;
    let options = WorkspaceOptions {
        key,
        profile: workspace.profile(),
        ..settings::following(context.actor())
    };
    // The name is stored first, so that two processes make one share.
    let store = workspace.store();
    let setting = format!("{SHARE_SETTING}{directory}");
    let name = RandomIds.file_id().to_string();
    let stored = store.init_meta(&setting, name.as_bytes()).map_err(WorkspaceError::from)?;
    let stored = String::from_utf8(stored).ok().filter(|name| is_share_name(name));
    // A share that was removed by hand is made again.
    let dir = lock_dir(file).join(DIR).join(stored.unwrap_or(name));
    let share_file = dir.join(discover::FILE);
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir);
    made.map_err(|error| CommandError::host(&dir, &error))?;
    let share = match Workspace::create_at(&share_file, options) {
        Err(_) if share_file.is_file() => {
            context.open_at(&share_file, settings::following(context.actor()))?
        }
        created => created?,
    };
    SharedDirectory { origin: workspace.id().clone(), directory: directory.clone() }
        .assign(&share)?;
    Ok((share_file, share))
}

/// Notes that a ticket is one for this share, so that it can be withdrawn by its id.
pub(crate) fn note_ticket(share: &Workspace, ticket: TicketId) -> Result {
    let now = crate::parse_time::now();
    let noted = share.store().note_first_seen(&[&ticket_key(ticket)], now);
    Ok(noted.map_err(WorkspaceError::from)?)
}

/// Reports whether a ticket is one for this share.
pub(crate) fn has_ticket(share: &Workspace, ticket: TicketId) -> Result<bool> {
    let seen = share.store().first_seen(&ticket_key(ticket)).map_err(WorkspaceError::from)?;
    Ok(seen.is_some())
}

fn ticket_key(ticket: TicketId) -> String {
    format!("share.ticket.{ticket}")
}

fn is_share_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl RunningShare {
    fn start(
        workspace: &Workspace,
        share: &Workspace,
        notices: &mpsc::UnboundedSender<String>,
    ) -> Result<Self> {
        let share = DirectoryShare::open(workspace, share)?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(keep_equal(share, stopped, notices.clone()));
        Ok(Self { stop, task, connections: None })
    }
}

async fn keep_equal(
    mut share: DirectoryShare,
    mut stopped: oneshot::Receiver<()>,
    notices: mpsc::UnboundedSender<String>,
) {
    let (mut last_notice, mut rows_due) = (None, Instant::now());
    loop {
        let begun = Instant::now();
        let with_rows = begun >= rows_due;
        let stepped = tokio::task::spawn_blocking(move || {
            let step = if with_rows { share.step() } else { share.step_contents() };
            let path = share.path().ok().flatten();
            (share, step, path)
        });
        let Ok((returned, step, path)) = stepped.await else {
            notices.send("a shared directory: the process that keeps it equal failed".into()).ok();
            return;
        };
        share = returned;
        let name = path.map_or_else(|| "a shared directory".to_owned(), |path| path.to_string());
        let notice = match &step {
            Ok(step) if step.is_paused => {
                Some("a shared directory is in the trash: nothing is passed on".to_owned())
            }
            Ok(_) => None,
            Err(error) => Some(format!("{name}: {error}")),
        };
        if let Some(notice) = notice.iter().find(|notice| Some(*notice) != last_notice.as_ref()) {
            notices.send(notice.clone()).ok();
        }
        last_notice = notice;
        let is_busy = |step: &ShareStep| step.n_rows + step.n_contents > 0 || step.is_unfinished;
        let at_most = match &step {
            Ok(step) if is_busy(step) => Duration::ZERO,
            Ok(step) if step.n_waiting == 0 => CHECK_EVERY,
            _ => TRY_EVERY,
        };
        let at_most = match with_rows {
            true => {
                rows_due = Instant::now() + MAX_ROWS_REST.min(begun.elapsed() * ROWS_REST);
                at_most
            }
            false => at_most.min(rows_due.saturating_duration_since(Instant::now())),
        };
        tokio::select! {
            _ = &mut stopped => return,
            () = share.wait(at_most) => {}
        }
    }
}

impl RunningShares {
    /// Begins to keep one share equal with its directory. Failures go to `notices`.
    pub(crate) fn start(
        workspace: &Workspace,
        share: &Workspace,
        notices: &mpsc::UnboundedSender<String>,
    ) -> Result<Self> {
        Ok(Self { shares: vec![RunningShare::start(workspace, share, notices)?] })
    }

    /// Resumes all shares of a workspace that no other process runs, and connects them.
    pub(crate) fn resume_all(
        file: &Path,
        workspace: &Workspace,
        network: &PeerNetworkArgs,
        notices: &mpsc::UnboundedSender<String>,
        context: &mut CommandContext,
    ) -> Result<Self> {
        let mut running = Self::default();
        for found in find_all(file, workspace, context)? {
            let resumed = running.resume(&found, workspace, network, notices, context);
            if let Err(failure) = resumed {
                context.remark(&format!("{}: {}", found.file.display(), failure.message()));
            }
        }
        Ok(running)
    }

    fn resume(
        &mut self,
        found: &FoundShare,
        workspace: &Workspace,
        network: &PeerNetworkArgs,
        notices: &mpsc::UnboundedSender<String>,
        context: &mut CommandContext,
    ) -> Result {
        let share = context.open_at(&found.file, settings::following(context.actor()))?;
        let options = network.options(&found.file)?;
        // The port that was named is that of the workspace.
        let listen = SocketAddr::new(options.listen.ip(), 0);
        let node = match PeerNode::start(&share, PeerOptions { listen, ..options }) {
            Err(PeerError::AlreadyRunning) => return Ok(share.close()?),
            node => node?,
        };
        let mut running = RunningShare::start(workspace, &share, notices)?;
        running.connections = Some((node, share));
        self.shares.push(running);
        if let Some(path) = workspace.nodes().path_of(&found.directory)? {
            context.remark(&format!("{path} is shared with its peers"));
        }
        Ok(())
    }

    /// Ends the work after the steps that are under way.
    pub(crate) async fn stop(self) -> Result {
        for RunningShare { stop, task, connections } in self.shares {
            stop.send(()).ok();
            task.await.ok();
            if let Some((node, share)) = connections {
                node.stop().await;
                let flushed = share.flush();
                share.close()?;
                flushed?;
            }
        }
        Ok(())
    }
}
