//! `yfs peer ls`: lists the peers of the workspace.

use std::{io::ErrorKind, path::Path, time::Duration};

use tokio::time::timeout;
use yfs_peer::{LocalPresence, PeerGroups, PeerStatus};
use yfs_server::{peer_json, presence_json};
use yfs_wire::{PeerPresenceJson, rfc3339};

use crate::{commands::peer::named_peers::open_peers, format_text::sentence_size, prelude::*};

/// How long the process that connects the peers may take to list who is there.
const PRESENCE_WITHIN: Duration = Duration::from_secs(5);

const HELP: &str = "\
Below each peer are the files that are open in editors at its server, and the names that the
editors show.

Examples:
  yfs peer ls
  yfs peer ls --json

JSON: one object per line: {id, name, rights, expires, connected, via, address, dialed, in_step,
behind, behind_at_least, last_seen, bytes_sent, bytes_received, refused, forked, faults, error,
blocked, path, presence: [{peer, id, path, editors}]}; times are milliseconds; via is direct or
relayed, and if relayed, address is that of the relay; path is that of the shared directory, or
null; behind is the number of documents that changed here since the peer had everything
(behind_at_least: within the last 10,000 updates); forked is the number of files that the peer sent
with other content under the same ids (`yfs conflicts`).";

/// List the peers of the workspace and of its shared directories
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PeerLsArgs {}

/// Lists the peers.
pub(crate) async fn run(_: PeerLsArgs, context: &mut CommandContext) -> Result {
    let groups = open_peers(PeerGroups::open_to_read, context)?;
    let listed = print_groups(&groups, context).await;
    groups.close()?;
    listed
}

async fn print_groups(groups: &PeerGroups, context: &mut CommandContext) -> Result {
    for group in groups.iter() {
        let mut presence = Vec::new();
        if let Some(dir) = group.store_dir.as_deref().filter(|_| group.is_running()) {
            presence = read_presence(dir, &group.workspace, context).await;
        }
        print_list(&group.status()?, group.path.as_deref(), &presence, context)?;
    }
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
            let mut value = to_json(peer_json(status, path));
            value["presence"] = of_peer.map(to_json).collect();
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
            context.out.safe_line(&line)?;
        }
    }
    Ok(())
}
