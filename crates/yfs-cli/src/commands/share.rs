//! `yfs share`: invites a peer, and connects the workspace with its peers.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use yfs::Workspace;
use yfs_engine::time::Millis;
use yfs_peer::{
    MAX_LABEL_LEN, PeerError, PeerMembership, PeerNode, PeerRights, TicketRequest, issue_ticket,
};

use crate::{
    commands::{
        mirror,
        peer_run::{PeerNetworkArgs, PeerRun},
    },
    context::CommandContext,
    errors::{CommandError, Result},
    parse_time, settings,
};

const HELP: &str = "\
The command prints a ticket. Any person who has it can join with `yfs join TICKET DIR`, so send it
as you would send a password. The command then keeps running: it connects the workspace with all its
peers, and keeps the directory of the workspace synchronized if `yfs mirror` or `yfs join` made it.
If another process does so already, it prints the ticket and ends.

The connection is direct and encrypted, from this machine to the other, without a server. One
of the two must be able to reach the other, by the local network or by a port that a router
forwards. Else name a relay that both reach with --relay: `yfs relay` is one. No relay is
contacted unless it was named, here or in a ticket. While the command runs, the machines in the
local network see that a peer of yfs is there, and the other peers of the workspace find it;
--no-lan prevents both. Peers that can't reach each other also meet through a third peer that
both reach.

The first store that shares a workspace is its owner: only there can tickets be made and peers be
blocked.

Examples:
  yfs share                                       a ticket that allows to write, without an end
  yfs share --read-only --expires 7d --for ben
  yfs share --once                                admits one peer, while this command runs
  yfs share --listen 192.168.1.5:4700 --lan-only
  yfs share --relay relay.example.com             for peers behind routers

JSON: {ticket, ticket_id, peer, addresses, relays, rights, expires, once}, then one line
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
    /// Share a part of the workspace only: not possible yet, see `yfs token`
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// The ticket admits one peer
    #[arg(long)]
    once: bool,
    /// For whom the ticket is, as `yfs peers` shows it
    #[arg(long = "for", value_name = "NAME", default_value = "")]
    label: String,
    #[command(flatten)]
    network: PeerNetworkArgs,
    #[command(flatten)]
    policy: mirror::MirrorPolicyArgs,
}

/// Runs `yfs share`.
pub(crate) async fn run(args: ShareArgs, context: &mut CommandContext) -> Result {
    if args.path.as_deref().is_some_and(|path| path != "/") {
        return Err(CommandError::usage(
            "a peer has the whole workspace: its main document names every file. To give access \
             to a part, run `yfs serve` and `yfs token new --path`",
        ));
    }
    let request = request(&args)?;
    let file = context.file()?;
    let workspace = context.open_at(&file, settings::following(context.actor()))?;
    PeerMembership::of(&workspace)?.found()?;
    let result = match PeerNode::start(&workspace, args.network.options(&file)) {
        Ok(node) => {
            let printed = print_ticket(&workspace, request, context);
            let run =
                PeerRun { workspace: &workspace, file: &file, policy: args.policy, is_once: false };
            let result = match printed {
                Ok(()) => run.run(&node, context).await,
                failure => failure,
            };
            node.stop().await;
            result
        }
        Err(PeerError::AlreadyRunning) => print_ticket(&workspace, request, context),
        Err(error) => Err(error.into()),
    };
    let flushed = workspace.flush();
    workspace.close()?;
    flushed?;
    result
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

fn print_ticket(
    workspace: &Workspace,
    request: TicketRequest,
    context: &mut CommandContext,
) -> Result {
    let ticket = issue_ticket(workspace, request)?;
    let grant = &ticket.signed.grant;
    if context.out.json {
        context.out.json_line(&json!({
            "ticket": ticket.to_string(),
            "ticket_id": grant.id.to_string(),
            "peer": ticket.host.to_string(),
            "addresses": ticket.addresses,
            "relays": ticket.relays.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "rights": if grant.rights == PeerRights::Write { "write" } else { "read" },
            "expires": grant.expires.map(|at| at.0),
            "once": grant.is_once,
        }))?;
    } else {
        context.out.line(&ticket.to_string())?;
    }
    context.out.flush()?;
    context.remark(&format!("ticket {}; to withdraw it: yfs peers block {}", grant.id, grant.id));
    Ok(())
}
