//! `yfs peer share`: invites a peer, and connects the workspace with its peers.

use std::{path::Path, time::Duration};

use yfs_engine::id::FileId;
use yfs_peer::{
    DirectoryShares, MAX_LABEL_LEN, PeerError, PeerMembership, PeerNode, PeerRights, PeerTicket,
    TicketRequest, issue_ticket, note_ticket_of_share,
};

use crate::{
    commands::{
        mirror,
        peer::{
            peer_run::{PeerNetworkArgs, PeerRun, PeerRunScope},
            share_code::{self, JoinCodeArgs, OfferedCode},
        },
    },
    discover,
    prelude::*,
    settings,
};

const HELP: &str = "\
The command prints a ticket. Any person who has it can join with `yfs peer join TICKET DIR`, so send
it as you would send a password. The command then keeps running: it connects the workspace with all
its peers, and keeps the directory of the workspace synchronized if `yfs mirror` or `yfs peer join`
made it. If another process does so already, it prints the ticket and ends.

With --code it prints a join code instead, such as 7-amber-falcon, which is short enough to say:
the other person runs `yfs peer join CODE DIR` in the same network, or with --relay and the same
relay, or with --at and one of the addresses that are printed. The code gives a ticket for one peer,
once, within 10 minutes. The first attempt with wrong words ends it. Its number has 4 digits if a
relay brings the two together: the relay learns neither words nor ticket.

The connection is direct and encrypted, from this machine to the other, without a server. One
of the two must be able to reach the other, by the local network or by a port that a router
forwards. Else name a relay that both reach with --relay: `yfs peer relay` is one. No relay is
contacted unless it was named, here, in a ticket or by `yfs config peer-relays`. While the command
runs, the machines in the local network see that a peer of yfs is there, and the other peers of the
workspace find it; --no-lan prevents both. Peers that can't reach each other also meet through a
third peer that both reach.

The first store that shares a workspace is its owner: only there can tickets be made and peers be
blocked.

With --path the peer gets one directory as a workspace of its own, with the whole history of
its files, and no name or content of others. The command keeps both equal; `yfs peer share` and
`yfs peer join` resume it after a restart. The directory may be renamed and moved. A file that is
moved out of it goes to the trash of the peer.

Examples:
  yfs peer share                                       a ticket that allows to write, without an end
  yfs peer share --read-only --expires 7d --for ben
  yfs peer share --once                                admits one peer, while this command runs
  yfs peer share --listen 192.168.1.5:4700 --lan-only
  yfs peer share --code                                a code of words
  yfs peer share --code --relay relay.example.com      a code for a person behind another router
  yfs peer share --qr                                  the ticket as a QR code as well
  yfs peer share --relay relay.example.com             for peers behind routers
  yfs peer share --path /docs                          one directory

JSON: {ticket, ticket_id, peer, addresses, relays, rights, expires, once}, with --code {code,
code_addresses, code_expires} instead of ticket, with --path also {path}; then one line
{peer, sent, received, new} each time a peer and this side have the same.";

/// Invite a peer, and connect the workspace with its peers without a server
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ShareArgs {
    /// The peer receives the workspace, and its changes are refused by all peers
    #[arg(long)]
    read_only: bool,
    /// The end of the ticket and of the memberships that it gives, such as 7d or 12h
    #[arg(long, value_name = "AGE", value_parser = parse_time::parse_duration)]
    expires: Option<Duration>,
    /// Share this directory only: the peer gets nothing else of the workspace
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// The ticket admits one peer
    #[arg(long)]
    once: bool,
    /// For whom the ticket is, as `yfs peer ls` shows it
    #[arg(long = "for", value_name = "NAME", default_value = "")]
    label: String,
    #[command(flatten)]
    code: JoinCodeArgs,
    /// Print the ticket as a QR code, too, for a terminal with a dark background
    #[arg(long, conflicts_with = "code")]
    qr: bool,
    #[command(flatten)]
    network: PeerNetworkArgs,
    #[command(flatten)]
    policy: mirror::MirrorPolicyArgs,
}

/// What is shared.
struct SharedPart<'s> {
    workspace: &'s Workspace,
    file: &'s Path,
    /// The directory, if it is a part of a workspace.
    path: Option<&'s VPath>,
    scope: PeerRunScope<'s>,
}

/// Runs `yfs peer share`.
pub(crate) async fn run(args: ShareArgs, context: &mut CommandContext) -> Result {
    let request = request(&args)?;
    let path = args.path.as_deref().map(|path| context.path(path)).transpose()?;
    let path = path.map(|typed| typed.path).filter(|path| !path.is_root());
    let file = context.file()?;
    let workspace = context.open_at(&file, settings::following(context.actor()))?;
    let result = match &path {
        Some(path) => share_part(&args, &workspace, &file, path, request, context).await,
        None => {
            let scope = PeerRunScope::Workspace(&args.network);
            let part = SharedPart { workspace: &workspace, file: &file, path: None, scope };
            share(&args, part, request, context).await
        }
    };
    let flushed = workspace.flush();
    workspace.close()?;
    flushed?;
    result
}

/// Shares a directory of a workspace.
async fn share_part(
    args: &ShareArgs,
    origin: &Workspace,
    origin_file: &Path,
    path: &VPath,
    request: TicketRequest,
    context: &mut CommandContext,
) -> Result {
    let directory = directory_at(origin, path, context)?;
    if !args.read_only && !PeerMembership::may_write(origin)? {
        return Err(CommandError::usage(
            "this store may only read the workspace, so what peers of the share write could not be \
             passed on: use --read-only",
        ));
    }
    let shares = DirectoryShares::of(origin, &discover::store_dir(origin_file));
    let (file, workspace) = shares.open_or_create(&directory)?;
    let scope = PeerRunScope::Directory(&shares, &file, origin_file);
    let part = SharedPart { workspace: &workspace, file: &file.file, path: Some(path), scope };
    let result = share(args, part, request, context).await;
    let flushed = workspace.flush();
    workspace.close()?;
    flushed?;
    result
}

/// Returns the directory at a path.
fn directory_at(origin: &Workspace, path: &VPath, context: &CommandContext) -> Result<FileId> {
    let (entry, _) = origin.fs_for(context.actor()).entry(path, Op::Open)?;
    if entry.kind != FileKind::Directory {
        let message = format!("{path}: only a directory can be shared; move the file into one");
        return Err(CommandError::other(message));
    }
    Ok(entry.id)
}

/// Offers a ticket, and connects a workspace unless another process does.
async fn share(
    args: &ShareArgs,
    part: SharedPart<'_>,
    request: TicketRequest,
    context: &mut CommandContext,
) -> Result {
    let SharedPart { workspace, file, scope, .. } = part;
    PeerMembership::of(workspace)?.found()?;
    let options = match part.path {
        Some(_) => args.network.options_of_share(file)?,
        None => args.network.options(file)?,
    };
    match PeerNode::start(workspace, options) {
        Ok(node) => {
            let offered = offer(args, &part, request, context).await;
            let run = PeerRun { workspace, file, policy: args.policy, is_once: false, scope };
            let result = match offered {
                Ok(offered) => {
                    let _reporting = offered.map(OfferedCode::report_in_background);
                    run.run(&node, context).await
                }
                Err(failure) => Err(failure),
            };
            node.stop().await;
            result
        }
        Err(PeerError::AlreadyRunning) => match offer(args, &part, request, context).await {
            Ok(Some(offered)) => offered.wait(context).await,
            Ok(None) => Ok(()),
            Err(failure) => Err(failure),
        },
        Err(error) => Err(error.into()),
    }
}

fn request(args: &ShareArgs) -> Result<TicketRequest> {
    if args.label.len() > MAX_LABEL_LEN || args.label.chars().any(char::is_control) {
        return Err(CommandError::usage("the name of --for is too long"));
    }
    let expires = args.expires.map(|age| {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Millis(parse_time::now().0.saturating_add(age))
    });
    Ok(TicketRequest {
        rights: if args.read_only { PeerRights::Read } else { PeerRights::Write },
        expires,
        is_once: args.once,
        label: args.label.clone(),
    })
}

/// Prints a ticket, or offers a code that gives it.
async fn offer(
    args: &ShareArgs,
    part: &SharedPart<'_>,
    request: TicketRequest,
    context: &mut CommandContext,
) -> Result<Option<OfferedCode>> {
    let is_once = request.is_once || args.code.is_wanted();
    let ticket = issue_ticket(part.workspace, TicketRequest { is_once, ..request })?;
    if part.path.is_some() {
        note_ticket_of_share(part.workspace, ticket.signed.grant.id)?;
    }
    let offered = if args.code.is_wanted() {
        Some(args.code.offer(part.workspace, &ticket, &args.network, context).await?)
    } else {
        None
    };
    print(&ticket, part.path, offered.as_ref(), context)?;
    if args.qr && !context.out.json {
        context.out.line(&share_code::qr_code(&ticket)?)?;
    }
    context.out.flush()?;
    let id = ticket.signed.grant.id;
    context.remark(&format!("ticket {id}; to withdraw it: yfs peer block {id}"));
    Ok(offered)
}

fn print(
    ticket: &PeerTicket,
    path: Option<&VPath>,
    offered: Option<&OfferedCode>,
    context: &mut CommandContext,
) -> Result {
    if !context.out.json {
        let text = offered.map_or_else(|| ticket.to_string(), |offered| offered.code.to_string());
        return context.out.line(&text);
    }
    let grant = &ticket.signed.grant;
    let mut value = json!({
        "ticket_id": grant.id.to_string(),
        "peer": ticket.host.to_string(),
        "addresses": ticket.addresses,
        "relays": ticket.relays.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "rights": if grant.rights == PeerRights::Write { "write" } else { "read" },
        "expires": grant.expires.map(|at| at.0),
        "once": grant.is_once,
    });
    if let Some(path) = path {
        value["path"] = path.as_str().into();
    }
    match offered {
        Some(offered) => offered.describe(&mut value),
        None => value["ticket"] = ticket.to_string().into(),
    }
    context.out.json_line(&value)
}
