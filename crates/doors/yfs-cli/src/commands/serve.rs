//! `yfs serve`: serves a directory to Yjs clients.

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    pin::pin,
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Handle;
use yfs::{ImportOptions, WorkspaceError, WorkspaceOptions, workspace::conflicts::ConflictReport};
use yfs_engine::actor::{Actor, ActorKind};
use yfs_mirror::Mirror;
use yfs_server::{
    ServeOptions, Server,
    access::{AccessGrant, TokenKeys},
    serve::DEFAULT_PORT,
};

use crate::{
    commands::{import, init, mirror},
    discover, json_query_runner,
    prelude::*,
    progress::CommandProgress,
    settings,
    stop_signal::wait_for_signal,
};

/// The key of the store's setting with the state of the directory's import.
const IMPORT_KEY: &str = "serve.import";
/// The key of the store's setting with the address of the server.
const URL_KEY: &str = "serve.url";
const UNFINISHED: &[u8] = b"unfinished";
const FINISHED: &[u8] = b"finished";

/// The time that the command waits at its end for pending changes to reach the disk.
const MIRROR_STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval at which the command checks whether the mirror has ended.
const MIRROR_CHECK_INTERVAL: Duration = Duration::from_millis(500);

const HELP: &str = "\
If DIR has no workspace, one is created from its files. While the server runs, the files in DIR and
the workspace are synchronized as by `yfs mirror`: an edit in an editor reaches the disk within a
moment, and the reverse. Changes made in DIR since the last run are imported at the start. Other
commands can use the workspace meanwhile. Ctrl-C stops the server.

Clients authenticate with a token: as `Authorization: Bearer`, as `?token=`, or in the message of
Hocuspocus. The command prints the token of the owner, which does not change; `yfs token` creates
others.

Examples:
  yfs serve .
  yfs serve yfs-demo --port 0               any free port
  yfs serve . --open                        no tokens; for this machine only
  yfs serve . --host 0.0.0.0                other machines, behind an https proxy
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:4680/api/tree

JSON: one object as soon as the server listens: {url, sync, collab, workspace, token, link}.";

/// Serve a directory to Yjs clients
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ServeArgs {
    /// The directory to serve; default: that of the workspace found from here upwards
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The port to listen on; 0 for any free port
    #[arg(short, long, default_value_t = DEFAULT_PORT)]
    port: u16,
    /// The address to listen on; 0.0.0.0 for all networks
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Do not synchronize the files in DIR: edits change only the workspace
    #[arg(long)]
    no_mirror: bool,
    #[command(flatten)]
    policy: mirror::MirrorPolicyArgs,
    /// Require no token; allowed only on loopback addresses
    #[arg(long)]
    open: bool,
    /// Also accept browsers from this origin, such as https://example.com; may be repeated
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// The name of the person who runs the server: the author of what the owner's token changes,
    /// and of saves in DIR; default: the user name
    #[arg(long, value_name = "NAME", conflicts_with = "actor")]
    name: Option<String>,
    /// The maximum number of connections
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    max_connections: usize,
}

/// Serves until the process receives a signal to stop.
pub(crate) async fn run(args: ServeArgs, context: &mut CommandContext) -> Result {
    if let Some(name) = &args.name {
        context.globals.actor = Some(Actor::new(ActorKind::Human, name.trim()));
    }
    // The port is bound first, so that nothing is created if it is in use.
    let options = ServeOptions {
        host: args.host,
        port: args.port,
        open: args.open,
        origins: args.origins.clone(),
        max_connections: args.max_connections,
        json_query: json_query_runner(),
        store_dir: store_dir(&args, context),
        ..ServeOptions::default()
    };
    let server = Server::bind(&options).await?;
    raise_file_limit();
    let workspace = open(&args, context)?;
    let mirror = match directory_to_mirror(&args, context)? {
        Some(directory) => {
            let options = mirror::options(args.policy, &workspace)?;
            let started = Mirror::start(&workspace, &directory, options, &Handle::current());
            Some(started.map_err(mirror::mirror_failure)?)
        }
        None => {
            mirror::check_damage(&workspace)?;
            None
        }
    };
    // Before the announcement: its reader may stop the server at once.
    let stopped = wait_for_signal();
    announce(&args, &workspace, server.address(), context)?;
    let served = serve(server, &workspace, mirror.as_ref(), stopped, context).await;
    note_url(&workspace, "")?;
    if let Some(mirror) = mirror {
        // Pending changes reach the disk; the next mirror applies the rest.
        tokio::time::timeout(MIRROR_STOP_TIMEOUT, mirror.settled()).await.ok();
        mirror.stop()?;
    }
    served?;
    workspace.flush()?;
    workspace.close()?;
    context.remark("stopped");
    Ok(())
}

/// Serves until the process receives a signal to stop, or the mirror fails.
async fn serve(
    server: Server,
    workspace: &Workspace,
    mirror: Option<&Mirror>,
    stopped: impl Future<Output = ()> + Send + 'static,
    context: &mut CommandContext,
) -> Result {
    let mut conflicts = server.conflicts();
    let mut serving = pin!(server.run(workspace.clone(), stopped));
    let mut notices = mirror.map(Mirror::notices);
    let mut next_notice = async || match &mut notices {
        Some(notices) => notices.recv().await,
        None => std::future::pending().await,
    };
    let mut checks = tokio::time::interval(MIRROR_CHECK_INTERVAL);
    loop {
        tokio::select! {
            served = &mut serving => return Ok(served?),
            Ok(notice) = next_notice() => mirror::print_notice(&notice, context)?,
            Ok(conflict) = conflicts.recv() => print_conflict(&conflict, context)?,
            // `Mirror::stop` then returns the reason.
            _ = checks.tick() => if mirror.is_some_and(Mirror::has_ended) { return Ok(()) },
        }
    }
}

/// Prints a conflict that a replica's changes caused.
fn print_conflict(conflict: &ConflictReport, context: &mut CommandContext) -> Result {
    if context.out.json {
        context.out.json_line(&json!({
            "path": conflict.path,
            "conflict": conflict.kind.as_str(),
            "why": conflict.detail,
        }))?;
        return context.out.flush();
    }
    let path = context.out.safe(&conflict.path).into_owned();
    context.remark(&format!("{path}: {} (see `yfs conflicts`)", conflict.detail));
    Ok(())
}

/// Returns the directory of the store that is served.
fn store_dir(args: &ServeArgs, context: &CommandContext) -> Option<PathBuf> {
    let file = match &args.dir {
        Some(dir) => discover::file_below(dir),
        None => context.file().ok()?,
    };
    Some(discover::store_dir(&file))
}

/// Returns the directory to synchronize with the workspace: the named one, or the one that contains
/// the workspace.
fn directory_to_mirror(args: &ServeArgs, context: &CommandContext) -> Result<Option<PathBuf>> {
    if args.no_mirror {
        return Ok(None);
    }
    match &args.dir {
        Some(dir) => Ok(Some(dir.clone())),
        None => Ok(mirror::mirrored_directory(&context.file()?).map(Path::to_owned)),
    }
}

/// Prints the addresses of the server and the token.
fn announce(
    args: &ServeArgs,
    workspace: &Workspace,
    address: SocketAddr,
    context: &mut CommandContext,
) -> Result {
    let (url, ws) = (format!("http://{address}/"), format!("ws://{address}"));
    note_url(workspace, &url)?;
    let id = workspace.id().to_string();
    let keys = TokenKeys::of(workspace.store().clone());
    let token = match args.open {
        true => None,
        false => Some(keys.issue(&AccessGrant::owner(context.actor()))?),
    };
    if context.out.json {
        context.out.json_line(&json!({
            "url": url,
            "sync": format!("{ws}/sync"),
            "collab": format!("{ws}/collab"),
            "workspace": id,
            "token": token,
            "link": link(&url, token.as_deref()),
        }))?;
    } else {
        if !address.ip().is_loopback() {
            context.remark(
                "warning: connections over http are not encrypted: others on the network can read \
                 tokens and contents; let other machines connect through an https proxy",
            );
        }
        context.out.line(&format!("serving {url}"))?;
        context.out.line(&format!("  editor      {}", link(&url, token.as_deref())))?;
        context.out.line(&format!("  files       {url}api/tree"))?;
        let room = format!("room {id} (the files table) or a file's id");
        context.out.line(&format!("  y-websocket {ws}/sync, {room}"))?;
        context.out.line(&format!("  Hocuspocus  {ws}/collab"))?;
        context.out.line(&format!("  WebDAV      {url}dav/"))?;
        let token = token.as_deref().unwrap_or("not required");
        context.out.line(&format!("  token       {token}"))?;
    }
    context.out.flush()
}

/// Notes where the workspace is served, so that `yfs token new` prints links; nowhere if empty.
fn note_url(workspace: &Workspace, url: &str) -> Result {
    let noted = workspace.store().set_meta(URL_KEY, url.as_bytes());
    Ok(noted.map_err(WorkspaceError::from)?)
}

/// Returns where the workspace is served, as the last server noted it.
pub(crate) fn noted_url(workspace: &Workspace) -> Result<Option<String>> {
    let noted = workspace.store().get_meta(URL_KEY).map_err(WorkspaceError::from)?;
    let url = noted.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(url.filter(|url| !url.is_empty()))
}

/// Returns the link that opens the web editor. The token is in the fragment, which a browser sends
/// to no server.
pub(crate) fn link(url: &str, token: Option<&str>) -> String {
    token.map_or_else(|| url.to_owned(), |token| format!("{url}#token={token}"))
}

/// Raises the limit of open files as far as the system allows: each connection needs one.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // If the limit cannot be raised, the server accepts fewer connections.
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).ok();
}

/// Opens the workspace of the directory. Creates it from the directory's content if there is none.
fn open(args: &ServeArgs, context: &mut CommandContext) -> Result<Workspace> {
    let options = settings::following(context.actor());
    let file = match &args.dir {
        None => context.file()?,
        // The workspace is kept outside of the directory.
        Some(_) if context.globals.workspace.is_some() => context.file()?,
        Some(dir) => {
            let meta = dir.metadata().map_err(|error| CommandError::host(dir, &error))?;
            if !meta.is_dir() {
                return Err(CommandError::other(format!("{}: Not a directory", dir.display())));
            }
            let file = discover::file_below(dir);
            if !file.is_file() {
                return create_and_import(dir, &file, options, args.policy.max_size(), context);
            }
            file
        }
    };
    let workspace = context.open_at(&file, options)?;
    let is_complete = is_import_complete(&workspace)?;
    if let (Some(dir), false) = (&args.dir, is_complete) {
        context.remark("resuming an interrupted import");
        import_directory(&workspace, dir, args.policy.max_size(), context)?;
    }
    Ok(workspace)
}

/// Creates a workspace, and imports the content of its directory.
fn create_and_import(
    dir: &Path,
    file: &Path,
    options: WorkspaceOptions,
    max_file_len: u64,
    context: &mut CommandContext,
) -> Result<Workspace> {
    let workspace = init::create(file, options, false)?;
    set_import_complete(&workspace, false)?;
    import_directory(&workspace, dir, max_file_len, context)?;
    Ok(workspace)
}

/// Reports whether the import of the directory is complete.
fn is_import_complete(workspace: &Workspace) -> Result<bool> {
    let state = workspace.store().get_meta(IMPORT_KEY).map_err(WorkspaceError::from)?;
    Ok(state.is_none_or(|state| state != UNFINISHED))
}

/// Records whether the import of the directory is complete.
fn set_import_complete(workspace: &Workspace, complete: bool) -> Result {
    let state = if complete { FINISHED } else { UNFINISHED };
    Ok(workspace.store().set_meta(IMPORT_KEY, state).map_err(WorkspaceError::from)?)
}

/// Imports the content of a directory.
fn import_directory(
    workspace: &Workspace,
    dir: &Path,
    max_file_len: u64,
    context: &mut CommandContext,
) -> Result {
    let bar = CommandProgress::new(&context.globals, "importing");
    let options =
        ImportOptions { max_file_len, ignores: settings::ignores(), ..ImportOptions::default() };
    let report =
        workspace.import(dir, &VPath::root(), &options, &|at| bar.set(at.n_done, at.n_total));
    drop(bar);
    let report = report?;
    for skipped in &report.skipped {
        context.remark(&format!("{}: skipped: {}", skipped.path, skipped.why));
    }
    workspace.flush()?;
    set_import_complete(workspace, true)?;
    context.remark(&format!("new workspace: {}", import::summary(&report)));
    Ok(())
}
