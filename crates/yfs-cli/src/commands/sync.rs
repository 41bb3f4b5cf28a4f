//! `yfs sync`: exchanges changes with a server.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use yfs::{Workspace, WorkspaceOptions};
use yfs_mirror::{Mirror, MirrorError};
use yfs_replica::{
    ExchangeProgress as Exchanged,
    client::{ConnectionEvent, RemoteServer},
    follow_lock::FollowLock,
};

use crate::{
    commands::{mirror, serve::told_to_end},
    context::CommandContext,
    errors::{CommandError, Result},
    format_text::amount,
    progress::CommandProgress,
};

const HELP: &str = "\
Both sides have everything afterwards, the files of a cloned or served directory included. What was changed
on both is merged, as if both had been connected; nobody's work is lost. Without a URL it is the server that the workspace was cloned from, or synced with
last. With --watch it stays, sends and receives changes as they are made, and connects again when the line
breaks, until Ctrl-C; a second one for the same workspace and server is refused.

Examples:
  yfs sync
  yfs sync http://localhost:4680 --token yfs_...
  yfs sync --watch

Exit status: 1 if the server cannot be reached or refuses. JSON: {sent, received, new, bytes_sent,
bytes_received, blobs, refused}; with --watch one such object whenever both have everything.";

/// The arguments of `yfs sync`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SyncArgs {
    /// The URL of the server, as `yfs serve` prints it
    url: Option<String>,
    /// A token for the whole workspace
    #[arg(long, env = "YFS_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Keep running, and exchange changes as they are made
    #[arg(long)]
    watch: bool,
    /// Accept executable bits, and files that tools obey unasked, from the other side
    #[arg(long)]
    trust: bool,
}

/// Runs `yfs sync`.
pub(crate) async fn run(args: SyncArgs, context: &mut CommandContext) -> Result {
    let options = if args.watch {
        WorkspaceOptions { actor: context.actor(), ..WorkspaceOptions::default() }
    } else {
        WorkspaceOptions::one_shot(context.actor())
    };
    let file = context.file()?;
    let workspace = context.open_at(&file, options)?;
    let remote = remote(&args, &workspace)?;
    let folder = mirror::mirrored(&file);
    let done = if args.watch {
        let dir = file.parent().expect("a file is in a directory");
        let _lock = FollowLock::acquire(dir, &remote).map_err(anyhow::Error::from)?;
        watch(&args, &remote, &workspace, folder, context).await
    } else {
        once(&args, &remote, &workspace, folder, context).await
    };
    let flushed = workspace.flush();
    workspace.close()?;
    flushed?;
    done
}

fn remote(args: &SyncArgs, workspace: &Workspace) -> Result<RemoteServer> {
    let remote = match &args.url {
        Some(url) => {
            Some(RemoteServer::parse(url, args.token.as_deref()).map_err(anyhow::Error::from)?)
        }
        None => RemoteServer::of(workspace).map_err(anyhow::Error::from)?,
    };
    let nowhere = || CommandError::usage("say which server: yfs sync URL");
    remote.ok_or_else(nowhere)
}

/// Exchanges everything once: imports the directory first, and writes received changes to it.
async fn once(
    args: &SyncArgs,
    remote: &RemoteServer,
    workspace: &Workspace,
    folder: Option<&Path>,
    context: &mut CommandContext,
) -> Result {
    if let Some(folder) = folder {
        mirror::meet(workspace, folder, args.trust, context)?;
    }
    let progress = exchange(remote, workspace, context).await?;
    if let Some(folder) = folder {
        mirror::meet(workspace, folder, args.trust, context)?;
    }
    tell(&progress, context)
}

/// Keeps the workspace in step with the server, and the directory with the workspace unless another
/// process does.
async fn watch(
    args: &SyncArgs,
    remote: &RemoteServer,
    workspace: &Workspace,
    folder: Option<&Path>,
    context: &mut CommandContext,
) -> Result {
    let options = mirror::options(args.trust);
    let start = |folder| Mirror::start(workspace, folder, options, &Handle::current());
    let mirror = match folder.map(start) {
        Some(Err(MirrorError::Busy(_))) | None => None,
        Some(started) => Some(started.map_err(anyhow::Error::from)?),
    };
    let done = tokio::select! {
        ended = follow(remote, workspace, context) => ended,
        () = told_to_end() => Ok(()),
    };
    if let Some(mirror) = mirror {
        mirror.stop().map_err(anyhow::Error::from)?;
    }
    done
}

/// Exchanges everything once, and shows progress.
pub(crate) async fn exchange(
    remote: &RemoteServer,
    workspace: &Workspace,
    context: &mut CommandContext,
) -> Result<Exchanged> {
    let bar = CommandProgress::new(&context.globals, "syncing");
    let on_step = |it: &Exchanged| bar.set(it.n_received + it.n_sent, it.n_received + it.n_sent);
    let done = remote.sync(workspace, on_step).await;
    drop(bar);
    let progress = done?;
    remote.keep(workspace).map_err(anyhow::Error::from)?;
    for refused in &progress.refused {
        context.fail(&CommandError::other(format!("refused {refused}")));
    }
    let n_silent = progress.n_refused.saturating_sub(progress.refused.len() as u64);
    if n_silent > 0 {
        context.fail(&CommandError::other(format!("refused {n_silent} more")));
    }
    if progress.n_lacking > 0 {
        context.remark(&format!("{} blobs are on neither side", progress.n_lacking));
    }
    context.remark(&format!(
        "{} updates received, {} new; {} sent; {} and {} transferred",
        progress.n_received,
        progress.n_new,
        progress.n_sent,
        amount(progress.bytes_received),
        amount(progress.bytes_sent),
    ));
    Ok(progress)
}

async fn follow(
    remote: &RemoteServer,
    workspace: &Workspace,
    context: &mut CommandContext,
) -> Result {
    let mut kept = false;
    let mut lost: Result = Ok(());
    let on_event = |event: ConnectionEvent<'_>| match event {
        ConnectionEvent::InStep(progress) => {
            if !std::mem::replace(&mut kept, true) {
                context.remark(&format!("in step with {}", remote.url()));
                lost = remote.keep(workspace).map_err(|error| anyhow::Error::from(error).into());
            }
            // If the reader of the output is gone, the end of the command reports it.
            if context.out.json {
                context.out.json_line(&shown(progress)).and_then(|()| context.out.flush()).ok();
            }
        }
        ConnectionEvent::Broken(error, rest) => {
            kept = false;
            context.remark(&format!("{error}; trying again in {:.1} s", rest.as_secs_f64()));
        }
    };
    let Err(error) = remote.follow(workspace, on_event).await;
    lost?;
    Err(error.into())
}

fn tell(progress: &Exchanged, context: &mut CommandContext) -> Result {
    if context.out.json { context.out.json_line(&shown(progress)) } else { Ok(()) }
}

fn shown(progress: &Exchanged) -> Value {
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
