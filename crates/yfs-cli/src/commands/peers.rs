//! `yfs peers`: lists the peers of the workspace, and names, blocks or forgets them.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, Subcommand};
use serde_json::Value;
use tokio::time::timeout;
use yfs::Workspace;
use yfs_engine::time::Millis;
use yfs_peer::{
    BlockTarget, LocalPresence, PeerId, PeerMembership, PeerNote, PeerStatus, is_running,
    read_status,
};
use yfs_server::{peer_json, presence_json};
use yfs_wire::{PeerPresenceJson, rfc3339};

use crate::{
    commands::{
        peer_run::lock_dir,
        share_directory::{FoundShare, find_all, has_ticket},
    },
    context::CommandContext,
    errors::{CommandError, Result},
    format_text::sentence_size,
    settings,
};

/// How long the process that connects the peers may take to list who is there.
const PRESENCE_WITHIN: Duration = Duration::from_secs(5);

const HELP: &str = "\
Below each peer are the files that are open in editors at its server, and the names that the
editors show.

NAME is the name that `rename` gave, the one for which the ticket was made, or the beginning of an
id (4 digits or more).

A block withdraws the rights of a key, or of a ticket and all keys that joined with it. It spreads
to all peers, and cannot be withdrawn; the peer keeps what it has received. Only the owner's store
can make one; elsewhere, `block` ends the connections of this store only, and `unblock` allows them
again.

Examples:
  yfs peers
  yfs peers ls --json
  yfs peers rename 3f9a21 ben
  yfs peers block ben
  yfs peers block 0a1b2c3d4e5f60718293a4b5        a ticket, by the id that `share` prints
  yfs peers unblock ben
  yfs peers forget ben                            until it connects again

JSON: one object per line: {id, name, rights, expires, connected, via, address, dialed, in_step,
behind, behind_at_least, last_seen, bytes_sent, bytes_received, refused, forked, faults, error,
blocked, presence: [{peer, id, path, editors}]}; times are milliseconds; via is direct or relayed,
and if relayed, address is that of the relay; peers of a shared directory also have its path; behind
is the number of documents that changed here since the peer had everything (behind_at_least: within
the last 10,000 updates); forked is the number of files that the peer sent with other content under
the same ids (`yfs conflicts`).";

/// List the peers of the workspace, and name, block or forget them
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PeersArgs {
    /// The subcommand.
    #[command(subcommand)]
    action: Option<PeersAction>,
}

/// The subcommands of `yfs peers`.
#[derive(Debug, Subcommand)]
enum PeersAction {
    /// List the peers (the default)
    Ls,
    /// Give a name to a peer
    Rename {
        /// The peer
        peer: String,
        /// Its new name
        name: String,
    },
    /// Block a peer or a ticket
    Block {
        /// The peer, or the id of a ticket
        #[arg(value_name = "NAME")]
        target: String,
    },
    /// Allow connections with a peer that only this store blocked
    Unblock {
        /// The peer
        #[arg(value_name = "NAME")]
        peer: String,
    },
    /// Do not list a peer, and do not connect with it, until it connects itself
    Forget {
        /// The peer
        #[arg(value_name = "NAME")]
        peer: String,
    },
}

/// A workspace whose peers the command lists or changes: the found one, or a share of one of its
/// directories.
struct PeerGroup {
    file: PathBuf,
    workspace: Workspace,
    /// The path of the directory, of a share.
    path: Option<String>,
}

/// Runs `yfs peers`.
pub(crate) async fn run(args: PeersArgs, context: &mut CommandContext) -> Result {
    let file = context.file()?;
    let workspace = context.writable()?;
    let shares = open_shares(&file, &workspace, context)?;
    let whole = PeerGroup { file, workspace, path: None };
    let groups: Vec<&PeerGroup> = std::iter::once(&whole).chain(&shares).collect();
    let result = run_on(args.action.unwrap_or(PeersAction::Ls), &groups, context).await;
    for share in shares {
        share.workspace.close()?;
    }
    result
}

fn open_shares(
    file: &Path,
    workspace: &Workspace,
    context: &mut CommandContext,
) -> Result<Vec<PeerGroup>> {
    let mut shares = Vec::new();
    for FoundShare { file, directory } in find_all(file, workspace, context)? {
        let path = workspace.nodes().path_of(&directory)?;
        let path = path.map_or_else(|| format!("/.id/{directory}"), |path| path.to_string());
        let share = context.open_at(&file, settings::one_shot(context.actor()))?;
        shares.push(PeerGroup { file, workspace: share, path: Some(path) });
    }
    Ok(shares)
}

async fn run_on(
    action: PeersAction,
    groups: &[&PeerGroup],
    context: &mut CommandContext,
) -> Result {
    match action {
        PeersAction::Ls => {
            for group in groups {
                let dir = lock_dir(&group.file);
                let is_running = is_running(&dir);
                let list = read_status(&group.workspace, is_running)?;
                let mut presence = Vec::new();
                if is_running {
                    presence = read_presence(&dir, &group.workspace, context).await;
                }
                print_list(&list, group.path.as_deref(), &presence, context)?;
            }
            Ok(())
        }
        PeersAction::Rename { peer, name } => {
            let (member, peer) = find_member(groups, &peer)?;
            Ok(member.rename(peer, &name)?)
        }
        PeersAction::Block { target } => block(groups, &target, context),
        PeersAction::Unblock { peer } => change_note(groups, &peer, |note| note.is_blocked = false),
        PeersAction::Forget { peer } => change_note(groups, &peer, |note| note.is_forgotten = true),
    }
}

/// Finds a peer among those of the workspace, or else of its shares.
fn find_member(groups: &[&PeerGroup], text: &str) -> Result<(PeerMembership, PeerId)> {
    let mut found = Vec::new();
    let mut failure = None;
    for group in groups {
        if group.path.is_some() && !PeerMembership::is_shared(&group.workspace)? {
            continue;
        }
        let member = PeerMembership::of(&group.workspace)?;
        match member.find_peer(text) {
            // A whole id is found in any group; it is that of the one that has the peer.
            Ok(peer) if groups.len() == 1 || is_known(&member, peer)? => found.push((member, peer)),
            Ok(_) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match (found.pop(), found.is_empty()) {
        (Some(found), true) => Ok(found),
        (Some(_), false) => {
            Err(CommandError::usage("peers of several workspaces have this name: use the id"))
        }
        (None, _) => match failure {
            Some(error) => Err(error.into()),
            None => Err(CommandError::other(format!("{text}: no peer has this id"))),
        },
    }
}

fn is_known(member: &PeerMembership, peer: PeerId) -> Result<bool> {
    let contacts = member.contacts()?;
    Ok(peer == member.id() || contacts.iter().any(|contact| contact.peer == peer))
}

fn change_note(groups: &[&PeerGroup], text: &str, change: impl Fn(&mut PeerNote)) -> Result {
    let (member, peer) = find_member(groups, text)?;
    let mut note = member.note(peer)?;
    change(&mut note);
    Ok(member.set_note(peer, &note)?)
}

fn block(groups: &[&PeerGroup], target: &str, context: &mut CommandContext) -> Result {
    let whole = groups.first().expect("the workspace is one of the groups");
    let whole = PeerMembership::of(&whole.workspace)?;
    if let Some(ticket) = whole.find_ticket(target) {
        for group in groups.iter().filter(|group| group.path.is_some()) {
            if has_ticket(&group.workspace, ticket)? {
                let member = PeerMembership::of(&group.workspace)?;
                return Ok(member.block(BlockTarget::Ticket(ticket))?);
            }
        }
        return Ok(whole.block(BlockTarget::Ticket(ticket))?);
    }
    let (member, peer) = find_member(groups, target)?;
    if peer == member.id() {
        return Err(CommandError::usage("this is the id of this workspace's store"));
    }
    if member.is_owner()? {
        return Ok(member.block(BlockTarget::Peer(peer))?);
    }
    let note = PeerNote { is_blocked: true, ..member.note(peer)? };
    member.set_note(peer, &note)?;
    context.remark("blocked here only: other peers follow the blocks of the owner's store");
    Ok(())
}

/// Asks the process that connects the peers who has which file open. Without an answer the peers
/// are listed all the same.
async fn read_presence(
    dir: &Path,
    workspace: &Workspace,
    context: &mut CommandContext,
) -> Vec<PeerPresenceJson> {
    let ask = async { LocalPresence::connect(dir, workspace.id()).await?.read_all().await };
    let reason = match timeout(PRESENCE_WITHIN, ask).await {
        Ok(Ok(editors)) => {
            let describe = |of: &yfs_peer::RemotePresence| {
                presence_json(workspace, of.peer, &of.doc, &of.editor_states())
            };
            return editors.iter().map(describe).collect();
        }
        // It has just ended, or the directory has no socket.
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "no answer".to_owned(),
    };
    context.remark(&format!("the editors at the peers are not known: {reason}"));
    Vec::new()
}

fn to_json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("strings and numbers are JSON")
}

fn print_list(
    list: &[PeerStatus],
    path: Option<&str>,
    presence: &[PeerPresenceJson],
    context: &mut CommandContext,
) -> Result {
    for status in list {
        let of_peer = presence.iter().filter(|open| open.peer == status.id);
        if context.out.json {
            let mut value = to_json(peer_json(status));
            value["presence"] = of_peer.map(to_json).collect();
            if let Some(path) = path {
                value["path"] = path.into();
            }
            context.out.json_line(&value)?;
            continue;
        }
        let name = status.name.as_deref().map(|name| context.out.safe(name).into_owned());
        let state = if status.blocked {
            "blocked".to_owned()
        } else if status.connected {
            let step = if status.in_step { "in step" } else { "exchanging" };
            format!("{}, {step}", if status.relayed { "relayed" } else { "direct" })
        } else {
            "away".to_owned()
        };
        let address = status.address.map_or_else(|| "-".to_owned(), |address| address.to_string());
        let mut line = format!(
            "{}  {:<16}  {:<5}  {state:<19}  {address}  sent {}, received {}",
            &status.id[..10.min(status.id.len())],
            name.as_deref().unwrap_or("-"),
            status.rights.as_deref().unwrap_or("-"),
            sentence_size(status.bytes_sent),
            sentence_size(status.bytes_received),
        );
        if let Some(behind) = status.behind.filter(|behind| *behind > 0) {
            let least = if status.behind_at_least { "at least " } else { "" };
            line += &format!("; {least}{behind} documents behind");
        }
        if let Some(last_seen) = status.last_seen.filter(|_| !status.connected) {
            line += &format!("; last seen {}", rfc3339(Millis(last_seen)));
        }
        if status.refused + status.faults > 0 {
            line += &format!("; {} updates refused, {} faults", status.refused, status.faults);
        }
        if status.forked > 0 {
            line += &format!("; other content of {} files: see `yfs conflicts`", status.forked);
        }
        if let Some(error) = status.error.as_deref().filter(|_| !status.connected) {
            line += &format!("; {}", context.out.safe(error));
        }
        if let Some(path) = path {
            line += &format!("; of {}", context.out.safe(path));
        }
        context.out.line(&line)?;
        for open in of_peer {
            let path = open.path.as_deref().unwrap_or(&open.id);
            let names = open.editors.iter().map(|name| name.as_deref().unwrap_or("-"));
            let names: Vec<&str> = names.collect();
            let line = format!("  {path}: {}", names.join(", "));
            let line = context.out.safe(&line).into_owned();
            context.out.line(&line)?;
        }
    }
    Ok(())
}
