//! `yfs peer join`: makes a clone of a peer's workspace, and connects it with its peers.

use std::{
    io::{BufRead, Read},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use yfs::{WorkspaceOptions, replica::BlobPolicy};
use yfs_peer::{JoinCode, JoinCodeError, JoinCodeSearch, PeerMembership, PeerNode, PeerTicket};

use crate::{
    commands::{
        clone, mirror,
        peer::peer_run::{PeerNetworkArgs, PeerRun, PeerRunScope},
    },
    discover,
    prelude::*,
    settings, workspace_key,
};

const HELP: &str = "\
DIR gets a workspace with all files and their history, and the files themselves, as with `yfs
clone`. The command then keeps running: it exchanges changes with all peers as they are made, and
keeps the files synchronized. Without TICKET it connects the workspace of the current directory
again.

TICKET may be a join code, as `yfs peer share --code` prints it: the peer is searched at the relay
of --relay or of the setting peer-relays, then in the local network, or called at the address of
--at. A wrong code is of no use afterwards.

Existing files in DIR are not overwritten or deleted. A file with the path and content of a
file of the workspace is matched with it. One with different content gets a number, as in
`plan (1).md`, beside the file of the workspace, and the command names it. All others are added.
With a ticket that only reads, they stay here.

If the ticket names a relay, a peer that can't be reached directly is reached through it;
--no-relay prevents that.

Examples:
  yfs peer join yfspeer_... notes
  yfs peer join 7-amber-falcon notes
  yfs peer join 4711-amber-falcon notes --relay relay.example.com
  yfs peer join - notes < ticket.txt                   not in the list of processes
  cd notes && yfs peer join                            continue after a restart
  yfs peer join yfspeer_... notes --blobs wanted       without past versions of binary files
  yfs peer join yfspeer_... notes --no-wait            exit once everything was received

JSON: {received, bytes_received, blobs} for the first exchange, then one line
{peer, sent, received, new} each time a peer and this side have the same.";

/// The ticket that stands for one that is not among the arguments.
const FROM_ELSEWHERE: &str = "-";

/// The variable with that ticket.
const TICKET_VARIABLE: &str = "YFS_TICKET";

/// The longest line of standard input that is read.
const MAX_TICKET_LEN: u64 = 64 << 10;

/// Copy the workspace of a peer, and stay connected with its peers
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct JoinArgs {
    /// The ticket or the join code, as `yfs peer share` prints it; `-` for standard input
    /// or YFS_TICKET
    ticket: Option<String>,
    /// The directory, which is created if it is missing; it must not contain a workspace
    dir: Option<PathBuf>,
    /// Where the peer offers the join code; without it, relays and the local network are searched
    #[arg(long, value_name = "HOST:PORT", requires = "ticket")]
    at: Option<String>,
    /// Which binary files to fetch, now and later [default: all]
    #[arg(long, value_name = "WHICH")]
    blobs: Option<BlobChoice>,
    /// Copy only the workspace, and write no files to DIR
    #[arg(long, requires = "ticket")]
    no_files: bool,
    /// Encrypt the copy's workspace, as `yfs init --encrypt` does
    #[arg(long, requires = "ticket")]
    encrypt: bool,
    /// Exit once a peer and this side have everything
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    network: PeerNetworkArgs,
    #[command(flatten)]
    policy: mirror::MirrorPolicyArgs,
}

/// Which binary contents are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BlobChoice {
    /// Those of all files and their past versions
    All,
    /// Those of the files as they are now
    Wanted,
    /// None: binary files cannot be read here
    None,
}

/// Runs `yfs peer join`.
pub(crate) async fn run(args: JoinArgs, context: &mut CommandContext) -> Result {
    let (file, workspace) = match (&args.ticket, &args.dir) {
        (Some(_), None) => {
            let message = "a ticket needs a directory: `yfs peer join TICKET DIR`";
            return Err(CommandError::usage(message));
        }
        (Some(ticket), Some(dir)) => {
            hide_ticket(ticket);
            let file = discover::file_below(dir);
            check_is_free(&file, dir)?;
            let ticket = ticket_or_other(ticket)?;
            let ticket = read_ticket(&ticket, &args).await?;
            (file.clone(), create(&ticket, &file, &args, context)?)
        }
        _ => {
            let file = context.file()?;
            let options = settings::following(context.actor());
            (file.clone(), context.open_at(&file, options)?)
        }
    };
    if let Some(choice) = args.blobs {
        workspace.replication().set_blob_policy(match choice {
            BlobChoice::All => BlobPolicy::All,
            BlobChoice::Wanted => BlobPolicy::Current,
            BlobChoice::None => BlobPolicy::None,
        })?;
    }
    let result = connect(&args, &workspace, &file, context).await;
    let flushed = workspace.flush();
    workspace.close()?;
    flushed?;
    result
}

async fn connect(
    args: &JoinArgs,
    workspace: &Workspace,
    file: &Path,
    context: &mut CommandContext,
) -> Result {
    let node = PeerNode::start(workspace, args.network.options(file)?)?;
    let scope = PeerRunScope::Workspace(&args.network);
    let run = PeerRun { workspace, file, policy: args.policy, is_once: args.no_wait, scope };
    let result = run.run(&node, context).await;
    node.stop().await;
    result
}

/// Refuses a directory that contains a workspace.
fn check_is_free(file: &Path, dir: &Path) -> Result {
    if file.exists() {
        let message = format!(
            "{}: the directory contains a workspace already; to connect it again, run \
             `yfs peer join` there without a ticket",
            dir.display()
        );
        return Err(CommandError::other(message));
    }
    Ok(())
}

/// Starts the command again without the ticket among its arguments, which all users of the machine
/// can list as long as the command runs. A ticket is a password; a join code is one guess.
fn hide_ticket(ticket: &str) {
    let is_ticket = !JoinCode::is_like(ticket) && ticket.parse::<PeerTicket>().is_ok();
    if ticket == FROM_ELSEWHERE || !is_ticket {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let arguments = std::env::args_os().map(|argument| match argument == ticket {
        true => FROM_ELSEWHERE.into(),
        false => argument,
    });
    let mut arguments = arguments.collect::<Vec<std::ffi::OsString>>().into_iter();
    let mut command = std::process::Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    // If it fails, the command goes on as it is.
    drop(command.args(arguments).env(TICKET_VARIABLE, ticket).exec());
}

/// Returns a ticket, which may be in the environment or come from standard input.
fn ticket_or_other(ticket: &str) -> Result<String> {
    if ticket != FROM_ELSEWHERE {
        return Ok(ticket.to_owned());
    }
    if let Some(ticket) = std::env::var(TICKET_VARIABLE).ok().filter(|ticket| !ticket.is_empty()) {
        return Ok(ticket.trim().to_owned());
    }
    let mut line = String::new();
    std::io::stdin().lock().take(MAX_TICKET_LEN).read_line(&mut line)?;
    match line.trim() {
        "" => Err(CommandError::usage("standard input has no ticket")),
        ticket => Ok(ticket.to_owned()),
    }
}

/// Reads a ticket, or gets it with a join code.
async fn read_ticket(text: &str, args: &JoinArgs) -> Result<PeerTicket> {
    if !JoinCode::is_like(text) {
        if args.at.is_some() {
            return Err(CommandError::usage("--at is for a join code; a ticket has its addresses"));
        }
        return Ok(text.parse()?);
    }
    let of_code = |error: JoinCodeError| CommandError::Other(error.into());
    let code: JoinCode = text.parse().map_err(of_code)?;
    let options = args.network.peer_options()?;
    let mut relays = options.relays;
    relays.extend(options.default_relays);
    if options.is_lan_only || options.is_relay_off {
        relays.clear();
    }
    if args.at.is_none() && relays.is_empty() && !options.is_lan_searched {
        return Err(CommandError::usage(
            "without the local network, a join code needs --relay HOST:PORT or --at HOST:PORT",
        ));
    }
    let search = JoinCodeSearch {
        at: args.at.clone(),
        relays,
        is_lan_searched: options.is_lan_searched,
        interface: options.listen.ip(),
        is_lan_only: options.is_lan_only,
    };
    code.redeem(&search).await.map_err(of_code)
}

/// Creates an empty replica that is a member of the ticket's group.
fn create(
    ticket: &PeerTicket,
    file: &Path,
    args: &JoinArgs,
    context: &mut CommandContext,
) -> Result<Workspace> {
    let key = workspace_key::key_of_new(args.encrypt)?;
    if let Some(parent) = file.parent() {
        discover::make_dir(parent).map_err(|error| CommandError::host(parent, &error))?;
    }
    let options = WorkspaceOptions { key, ..settings::following(context.actor()) };
    let id = &ticket.signed.grant.workspace;
    let workspace = Workspace::create_replica_at(file, id, options)?;
    if args.encrypt {
        workspace_key::remark_on_key_beside(file, None, context);
    }
    PeerMembership::of(&workspace)?.join(ticket)?;
    clone::set_complete(&workspace, args.no_files)?;
    Ok(workspace)
}
