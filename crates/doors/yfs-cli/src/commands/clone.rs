//! `yfs clone`: copies a workspace from a server.

use std::path::{Path, PathBuf};

use yfs::{WorkspaceError, WorkspaceOptions};
use yfs_replica::{ExchangeProgress, client::RemoteServer};

use crate::{
    commands::{mirror, sync},
    discover,
    prelude::*,
    settings, workspace_key,
};

/// The key of the store's setting with the state of the files in the directory of a clone.
const FILES_KEY: &str = "clone.files";
const UNFINISHED: &[u8] = b"unfinished";
const FINISHED: &[u8] = b"finished";

const HELP: &str = "\
DIR gets a workspace with all files and their history, and the files themselves. `yfs mirror`,
`yfs serve` and `yfs sync` keep files and workspace synchronized. The clone works without the
server; `yfs sync` exchanges the changes of both sides. If a clone is interrupted, `yfs sync`
completes it.

Existing files in DIR are not overwritten or deleted. A file with the path and content of a
file of the workspace is matched with it. One with different content gets a number, as in
`plan (1).md`, beside the file of the workspace, and the command names it. All others are added.

The token is stored in the workspace file, so that `yfs sync` needs no --token. Any user who can
read that file can use the token.

Examples:
  yfs clone http://localhost:4680 notes --token yfs_...
  YFS_TOKEN=yfs_... yfs clone https://files.example.com notes
  cd notes && yfs ls && yfs sync

JSON: {workspace, dir, received, bytes_received, blobs}.";

/// Copy a workspace from a server
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CloneArgs {
    /// The URL of the server, as `yfs serve` prints it
    url: String,
    /// The directory, which is created if it is missing; it must not contain a workspace
    dir: PathBuf,
    /// A token that grants access to the whole workspace
    #[arg(long, env = "YFS_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Refuse a server with more than SIZE of names and directories, now and in later `yfs sync`
    /// [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    main_limit: Option<u64>,
    /// Stop when what the server sends takes more than SIZE of memory, now and in later `yfs sync`.
    /// Each message and each update counts 256 bytes besides [default: 1.5G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory_limit: Option<u64>,
    /// Copy only the workspace, and write no files to DIR
    #[arg(long)]
    no_files: bool,
    /// Encrypt the clone's workspace, as `yfs init --encrypt` does
    #[arg(long)]
    encrypt: bool,
    #[command(flatten)]
    policy: mirror::MirrorPolicyArgs,
}

/// Runs `yfs clone`.
pub(crate) async fn run(args: CloneArgs, context: &mut CommandContext) -> Result {
    let file = discover::file_below(&args.dir);
    if file.exists() {
        let message = format!(
            "{}: the directory contains a workspace already; to update it, run `yfs sync`",
            args.dir.display()
        );
        return Err(CommandError::other(message));
    }
    let mut remote = RemoteServer::parse(&args.url, args.token.as_deref())?;
    if let Some(limit) = args.main_limit {
        remote = remote.with_main_limit(limit);
    }
    if let Some(limit) = args.memory_limit {
        remote = remote.with_memory_limit(limit);
    }
    // The server is asked first, so that nothing is created if it does not respond.
    let id = remote.workspace_id().await?;
    let workspace = create_replica(&file, &id, args.encrypt, context)?;
    if args.encrypt {
        workspace_key::remark_on_key_beside(&file, None, context);
    }
    remote.keep(&workspace)?;
    set_complete(&workspace, args.no_files)?;
    let fetched = fetch(&args, &remote, &workspace, context).await;
    let flushed = workspace.flush();
    workspace.close()?;
    flushed?;
    let progress = fetched?;
    if context.out.json {
        return context.out.json_line(&json!({
            "workspace": id.to_string(),
            "dir": args.dir.display().to_string(),
            "received": progress.n_received,
            "bytes_received": progress.bytes_received,
            "blobs": progress.n_blobs,
        }));
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
    if !args.no_files && mirror::synchronize_once(workspace, &args.dir, args.policy, context)? {
        sync::exchange(remote, workspace, context).await?;
    }
    set_complete(workspace, true)?;
    Ok(progress)
}

/// Records whether the files of the clone were written.
pub(crate) fn set_complete(workspace: &Workspace, is_complete: bool) -> Result {
    let state = if is_complete { FINISHED } else { UNFINISHED };
    Ok(workspace.store().set_meta(FILES_KEY, state).map_err(WorkspaceError::from)?)
}

/// Reports whether a workspace is a clone of one that others have.
pub(crate) fn is_clone(workspace: &Workspace) -> Result<bool> {
    Ok(workspace.store().get_meta(FILES_KEY).map_err(WorkspaceError::from)?.is_some())
}

/// Returns the directory whose files an interrupted clone did not write, or not all of them.
pub(crate) fn unfinished_directory<'f>(
    workspace: &Workspace,
    file: &'f Path,
) -> Result<Option<&'f Path>> {
    let state = workspace.store().get_meta(FILES_KEY).map_err(WorkspaceError::from)?;
    let is_unfinished = state.is_some_and(|state| state == UNFINISHED);
    let around = file.parent().filter(|dir| dir.ends_with(discover::DIR));
    Ok(around.and_then(Path::parent).filter(|_| is_unfinished))
}

/// Creates an empty replica of a workspace.
fn create_replica(
    file: &Path,
    id: &yfs_engine::id::WorkspaceId,
    encrypt: bool,
    context: &mut CommandContext,
) -> Result<Workspace> {
    let key = workspace_key::key_of_new(encrypt)?;
    if let Some(parent) = file.parent() {
        discover::make_dir(parent).map_err(|error| CommandError::host(parent, &error))?;
    }
    let options = WorkspaceOptions { key, ..settings::one_shot(context.actor()) };
    Ok(Workspace::create_replica_at(file, id, options)?)
}
