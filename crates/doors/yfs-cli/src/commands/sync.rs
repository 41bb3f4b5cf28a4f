//! `yfs sync`: exchanges changes with a server.

mod disk_changes;
mod preview;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Mutex, PoisonError},
};

use tokio::{runtime::Handle, sync::broadcast::error::RecvError};
use yfs_engine::id::FileId;
use yfs_mirror::{Mirror, MirrorError};
use yfs_replica::{
    ExchangeProgress as Exchanged,
    client::{ConnectionEvent, RemoteServer},
    follow_lock::FollowLock,
};

use crate::{
    commands::{clone, mirror},
    format_text::sentence_size,
    prelude::*,
    progress::CommandProgress,
    settings,
    stop_signal::wait_for_signal,
};

/// The most files that are listed because their changes are not sent.
const MAX_LISTED: usize = 20;

const HELP: &str = "\
Afterwards both sides have all changes. The files of a cloned or served directory are synchronized
too. Concurrent changes are merged; none are lost. Without a URL, the server is the one that the
workspace was cloned from or last synchronized with.

With --watch, the command keeps running, exchanges changes as they are made, and reconnects after a
failure, until Ctrl-C. A second `yfs sync --watch` for the same workspace and server fails.

Examples:
  yfs sync
  yfs sync http://localhost:4680 --token yfs_...
  yfs sync --watch
  yfs sync --dry-run

With --dry-run, nothing changes here or on the server: the changes of the server are received into a
temporary copy of the workspace. What changed in the directory since it was mirrored is listed
as well: `yfs sync` imports it before it sends.

If a clone was interrupted, the command completes it. With a token that only reads, changes of this
side stay here: the command lists their files and exits with 1.

Exit status: 1 if the server is not reachable or rejects the connection, if changes stay here,
or if a file has other content elsewhere that no exchange makes equal (`yfs admin repair --help`).

JSON: {sent, received, new, bytes_sent, bytes_received, blobs, refused};
with --watch one such object each time both sides are synchronized; with --dry-run {receive: [PATH],
send: [PATH]}.";

/// Exchange changes with a server
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SyncArgs {
    /// The URL of the server, as `yfs serve` prints it
    url: Option<String>,
    /// A token that grants access to the whole workspace
    #[arg(long, env = "YFS_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Refuse a server with more than SIZE of names and directories [default: 256M, or without
    /// URL the last limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    main_limit: Option<u64>,
    /// Stop when what the server sends takes more than SIZE of memory, now and in later `yfs sync`.
    /// Each message and each update counts 256 bytes besides [default: 1.5G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory_limit: Option<u64>,
    /// Keep running, and exchange changes as they are made
    #[arg(long)]
    watch: bool,
    /// Only print what would be exchanged
    #[arg(short = 'n', long, conflicts_with = "watch")]
    dry_run: bool,
    #[command(flatten)]
    policy: mirror::MirrorPolicyArgs,
}

/// Runs `yfs sync`.
pub(crate) async fn run(args: SyncArgs, context: &mut CommandContext) -> Result {
    let options = if args.watch {
        settings::following(context.actor())
    } else {
        settings::one_shot(context.actor())
    };
    if args.dry_run {
        return preview::run(&args, context).await;
    }
    let file = context.file()?;
    let workspace = context.open_at(&file, options)?;
    let remote = find_remote(&args, &workspace)?;
    let unfinished = clone::unfinished_directory(&workspace, &file)?;
    let directory = unfinished.or_else(|| mirror::mirrored_directory(&file));
    if let Some(directory) = directory {
        let is_unfinished = unfinished.is_some();
        complete_workspace(&args, &remote, &workspace, directory, is_unfinished, context).await?;
    }
    let result = if args.watch {
        let dir = file.parent().expect("a file is in a directory");
        let _lock = FollowLock::acquire(dir, &remote)?;
        sync_continuously(&args, &remote, &workspace, directory, context).await
    } else {
        sync_once(&args, &remote, &workspace, directory, context).await
    };
    let flushed = workspace.flush();
    workspace.close()?;
    flushed?;
    result
}

/// Returns the named server, or the one that the workspace remembers.
fn find_remote(args: &SyncArgs, workspace: &Workspace) -> Result<RemoteServer> {
    let remote = match &args.url {
        Some(url) => Some(RemoteServer::parse(url, args.token.as_deref())?),
        None => RemoteServer::of(workspace)?,
    };
    let limited = |mut remote: RemoteServer| {
        if let Some(limit) = args.main_limit {
            remote = remote.with_main_limit(limit);
        }
        match args.memory_limit {
            Some(limit) => remote.with_memory_limit(limit),
            None => remote,
        }
    };
    remote.map(limited).ok_or_else(|| {
        CommandError::usage("the workspace has no server yet; pass its URL: yfs sync URL")
    })
}

/// Asks the server for records that the workspace lacks before the directory is imported, which
/// would take their text for new edits: the rest of an interrupted clone, or what was lost when the
/// workspace was repaired or replaced by a backup.
async fn complete_workspace(
    args: &SyncArgs,
    remote: &RemoteServer,
    workspace: &Workspace,
    directory: &Path,
    is_unfinished: bool,
    context: &mut CommandContext,
) -> Result {
    if is_unfinished {
        context.remark("completing an interrupted clone");
    } else if Mirror::is_proven(workspace, directory).map_err(mirror::mirror_failure)? {
        return Ok(());
    } else {
        mirror::check_damage(workspace)?;
        context.remark("the workspace lacks records that it had; the server is asked first");
    }
    exchange(remote, workspace, context).await?;
    if is_unfinished {
        mirror::synchronize_once(workspace, directory, args.policy, context)?;
        clone::set_complete(workspace, true)?;
    }
    Ok(())
}

/// Exchanges everything once: imports the directory first, and writes received changes to it.
async fn sync_once(
    args: &SyncArgs,
    remote: &RemoteServer,
    workspace: &Workspace,
    directory: Option<&Path>,
    context: &mut CommandContext,
) -> Result {
    if let Some(directory) = directory {
        mirror::synchronize_once(workspace, directory, args.policy, context)?;
    }
    let progress = exchange(remote, workspace, context).await?;
    report_conflicts(workspace, &progress, context)?;
    if let Some(directory) = directory {
        mirror::synchronize_once(workspace, directory, args.policy, context)?;
    }
    print_progress(&progress, context)
}

/// Keeps the workspace synchronized with the server, and the directory with the workspace unless
/// another process mirrors it.
async fn sync_continuously(
    args: &SyncArgs,
    remote: &RemoteServer,
    workspace: &Workspace,
    directory: Option<&Path>,
    context: &mut CommandContext,
) -> Result {
    let options = mirror::options(args.policy, workspace)?;
    let start = |directory| Mirror::start(workspace, directory, options, &Handle::current());
    let mirror = match directory.map(start) {
        Some(Err(MirrorError::Busy(_))) | None => None,
        Some(started) => Some(started?),
    };
    // Both the connection and the mirror print, one at a time.
    let context = Mutex::new(context);
    let result = tokio::select! {
        failure = follow(remote, workspace, &context) => failure,
        failure = print_notices(mirror.as_ref(), &context) => failure,
        () = wait_for_signal() => Ok(()),
    };
    if let Some(mirror) = mirror {
        mirror.stop()?;
    }
    result
}

/// Exchanges everything once, and shows progress.
pub(crate) async fn exchange(
    remote: &RemoteServer,
    workspace: &Workspace,
    context: &mut CommandContext,
) -> Result<Exchanged> {
    let bar = CommandProgress::new(&context.globals, "syncing");
    let on_step = |progress: &Exchanged| {
        let n_exchanged = progress.n_received + progress.n_sent;
        bar.set(n_exchanged, n_exchanged);
    };
    let exchanged = remote.sync(workspace, on_step).await;
    drop(bar);
    let progress = exchanged?;
    remote.keep(workspace)?;
    for refused in &progress.refused {
        context.fail(&CommandError::other(format!("rejected: {refused}")));
    }
    let n_unlisted = progress.n_refused.saturating_sub(progress.refused.len() as u64);
    if n_unlisted > 0 {
        context.fail(&CommandError::other(format!("rejected: {n_unlisted} more updates")));
    }
    if progress.n_lacking > 0 {
        context.remark(&format!("{} blobs are missing on both sides", progress.n_lacking));
    }
    for message in forked_files(workspace, context)?.into_values() {
        context.fail(&CommandError::other(message));
    }
    report_unsent(workspace, &progress, context)?;
    context.remark(&format!(
        "{} updates received, {} new; {} sent; {} and {} transferred",
        progress.n_received,
        progress.n_new,
        progress.n_sent,
        sentence_size(progress.bytes_received),
        sentence_size(progress.bytes_sent),
    ));
    Ok(progress)
}

/// Returns a message for each file that has other content under the same ids elsewhere, by path:
/// such files differ, and no later exchange makes them equal.
fn forked_files(
    workspace: &Workspace,
    context: &CommandContext,
) -> Result<BTreeMap<String, String>> {
    let mut messages = BTreeMap::new();
    for file in workspace.replication().forked_files()? {
        let is_main = file.id == *workspace.id();
        let path = context.out.safe(&file.path).into_owned();
        let message = match is_main {
            true => "the table of files has other entries elsewhere under the same ids; `yfs \
                     conflicts` says more"
                .to_owned(),
            false => format!(
                "{path} has other content elsewhere under the same ids; `yfs admin repair` of it \
                 on both sides, before they meet again, keeps the words of both"
            ),
        };
        messages.insert(path, message);
    }
    Ok(messages)
}

/// Reports the received files whose contents are in conflict.
fn report_conflicts(
    workspace: &Workspace,
    progress: &Exchanged,
    context: &mut CommandContext,
) -> Result {
    for conflict in workspace.replication().content_conflicts(&progress.changed)? {
        let path = context.out.safe(&conflict.path).into_owned();
        context.remark(&format!("{path}: {} (see `yfs conflicts`)", conflict.detail));
    }
    Ok(())
}

/// Reports the files whose changes stay here because the token does not allow to write.
fn report_unsent(
    workspace: &Workspace,
    progress: &Exchanged,
    context: &mut CommandContext,
) -> Result {
    let main = workspace.id().as_str();
    // A change of a content changes its row as well.
    let is_listed = |guid: &&String| *guid != main || progress.unsent.len() == 1;
    let mut paths = Vec::new();
    for guid in progress.unsent.iter().filter(is_listed) {
        let id = FileId::parse(guid).ok().filter(|_| guid != main);
        let path = id.map(|id| workspace.nodes().path_of(&id)).transpose()?.flatten();
        let elsewhere = if guid == main { "names and directories" } else { "a deleted file" };
        paths.push(path.map_or_else(|| elsewhere.to_owned(), |path| path.to_string()));
    }
    for what in paths.iter().take(MAX_LISTED) {
        let message = format!("{what}: changed here only; the token does not allow to send it");
        context.fail(&CommandError::other(message));
    }
    let n_unlisted = paths.len().saturating_sub(MAX_LISTED);
    if n_unlisted > 0 {
        context.fail(&CommandError::other(format!("{n_unlisted} more files changed here only")));
    }
    Ok(())
}

/// Prints the notices of a mirror, until printing fails.
pub(crate) async fn print_notices(
    mirror: Option<&Mirror>,
    context: &Mutex<&mut CommandContext>,
) -> Result {
    let mut notices = mirror.map(Mirror::notices);
    loop {
        match &mut notices {
            Some(receiver) => match receiver.recv().await {
                Ok(notice) => {
                    let mut context = context.lock().unwrap_or_else(PoisonError::into_inner);
                    mirror::print_notice(&notice, &mut context)?;
                }
                Err(RecvError::Lagged(_)) => (),
                // The mirror ended. Its reason is returned when it is stopped.
                Err(RecvError::Closed) => notices = None,
            },
            None => std::future::pending().await,
        }
    }
}

/// Exchanges changes until a failure that a retry cannot mend.
async fn follow(
    remote: &RemoteServer,
    workspace: &Workspace,
    context: &Mutex<&mut CommandContext>,
) -> Result {
    let mut is_remembered = false;
    let mut remembered: Result = Ok(());
    let mut reported = BTreeSet::new();
    let on_event = |event: ConnectionEvent<'_>| {
        let mut context = context.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            ConnectionEvent::InStep(progress) => {
                if !std::mem::replace(&mut is_remembered, true) {
                    context.remark(&format!("synchronized with {}", remote.url()));
                    remembered = remote.keep(workspace).map_err(CommandError::from);
                }
                // A conflict that cannot be read now is in the list of `yfs conflicts`.
                report_conflicts(workspace, progress, &mut context).ok();
                for (path, message) in forked_files(workspace, &context).unwrap_or_default() {
                    if reported.insert(path) {
                        context.remark(&message);
                    }
                }
                // If the reader of the output is gone, the end of the command reports it.
                if context.out.json {
                    context
                        .out
                        .json_line(&progress_json(progress))
                        .and_then(|()| context.out.flush())
                        .ok();
                }
            }
            ConnectionEvent::Broken(error, delay) => {
                is_remembered = false;
                context.remark(&format!("{error}; reconnecting in {:.1} s", delay.as_secs_f64()));
            }
        }
    };
    let Err(error) = remote.follow(workspace, on_event).await;
    remembered?;
    Err(error.into())
}

/// Prints the result of an exchange as JSON, if JSON is requested.
fn print_progress(progress: &Exchanged, context: &mut CommandContext) -> Result {
    if context.out.json { context.out.json_line(&progress_json(progress)) } else { Ok(()) }
}

fn progress_json(progress: &Exchanged) -> Value {
    json!({
        "sent": progress.n_sent,
        "received": progress.n_received,
        "new": progress.n_new,
        "bytes_sent": progress.bytes_sent,
        "bytes_received": progress.bytes_received,
        "blobs": progress.n_blobs,
        "refused": progress.refused,
    })
}
