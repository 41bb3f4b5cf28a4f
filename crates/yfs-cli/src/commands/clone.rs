//! `yfs clone`: copies a workspace from another machine.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use yfs::{Workspace, WorkspaceOptions};
use yfs_replica::{ExchangeProgress, client::RemoteServer};

use crate::{
    commands::{mirror, sync},
    context::CommandContext,
    discover,
    errors::{CommandError, Result},
};

const HELP: &str = "\
The directory gets a workspace of its own with all files and their history, and the files themselves, which
`yfs mirror`, `yfs serve` and `yfs sync` keep in step. It works without the server; `yfs sync` exchanges what
changed on either side since. An interrupted clone is finished by `yfs sync`.

If DIR holds files already, nothing of it is overwritten or deleted: a file that is in the workspace with the
same path and content is that file, one with another content is an edit of it, and the rest is new.

The token is kept in the workspace, so that `yfs sync` needs none: whoever can read the file can use it.

Examples:
  yfs clone http://localhost:4680 notes --token yfs_...
  YFS_TOKEN=yfs_... yfs clone https://files.example.com notes
  cd notes && yfs ls && yfs sync

JSON: {workspace, dir, received, bytes_received, blobs}.";

/// The arguments of `yfs clone`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CloneArgs {
    /// The URL of the server, as `yfs serve` prints it
    url: String,
    /// The directory; it is created if it is missing, and must not contain a workspace
    dir: PathBuf,
    /// A token for the whole workspace
    #[arg(long, env = "YFS_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Copy only the workspace, and write no files to DIR
    #[arg(long)]
    no_files: bool,
    /// Accept executable bits, and files that tools obey unasked
    #[arg(long)]
    trust: bool,
}

/// Runs `yfs clone`.
pub(crate) async fn run(args: CloneArgs, context: &mut CommandContext) -> Result {
    let file = discover::file_below(&args.dir);
    if file.exists() {
        let dir = args.dir.display();
        return Err(CommandError::other(format!(
            "{dir}: there is a workspace already; see yfs sync"
        )));
    }
    let remote =
        RemoteServer::parse(&args.url, args.token.as_deref()).map_err(anyhow::Error::from)?;
    // First of all, so that nothing is created if the server does not respond.
    let id = remote.workspace_id().await?;
    let workspace = make(&file, &id, context)?;
    remote.keep(&workspace).map_err(anyhow::Error::from)?;
    let done = fetch(&args, &remote, &workspace, context).await;
    let flushed = workspace.flush();
    workspace.close()?;
    flushed?;
    let progress = done?;
    if context.out.json {
        let value = json!({
            "workspace": id.to_string(),
            "dir": args.dir.display().to_string(),
            "received": progress.n_received,
            "bytes_received": progress.bytes_received,
            "blobs": progress.n_blobs,
        });
        return context.out.json_line(&value);
    }
    Ok(())
}

/// Receives the whole workspace, and writes its files to the directory. Sends the files that were
/// in the directory to the server.
async fn fetch(
    args: &CloneArgs,
    remote: &RemoteServer,
    workspace: &Workspace,
    context: &mut CommandContext,
) -> Result<ExchangeProgress> {
    let progress = sync::exchange(remote, workspace, context).await?;
    if !args.no_files && mirror::meet(workspace, &args.dir, args.trust, context)? {
        sync::exchange(remote, workspace, context).await?;
    }
    Ok(progress)
}

fn make(
    file: &Path,
    id: &yfs_engine::id::WorkspaceId,
    context: &mut CommandContext,
) -> Result<Workspace> {
    if let Some(parent) = file.parent() {
        discover::make_dir(parent).map_err(|error| CommandError::host(parent, &error))?;
    }
    let options = WorkspaceOptions::one_shot(context.actor());
    Ok(Workspace::create_replica_at(file, id, options)?)
}
