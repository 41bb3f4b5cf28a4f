//! `GET /api/peers`, and the metrics of peers. `yfs peer share` and `yfs peer join` connect the
//! workspace; the server reports what they have stored.

use yfs::Workspace;
use yfs_engine::{id::FileId, time::Millis};
use yfs_peer::{PeerError, PeerGroups, PeerId, PeerMembership, PeerStatus, is_running};
use yfs_wire::{PeerJson, PeerList, PeerPresenceJson};

use crate::{
    metrics::{PeerLabel, ServerMetrics, to_gauge},
    prelude::*,
};

/// The greatest length of the name of an editor, in characters.
const MAX_USER_NAME_LEN: usize = 64;

/// Answers `GET /api/peers`.
pub(crate) async fn peers(caller: RequestCaller) -> Result {
    caller.needs_whole()?;
    let list = apart(async { read_peers(&caller.app) }).await.map_err(problem_of)?;
    Ok(Json(list).into_response())
}

/// Describes a peer of the workspace, or of the shared directory at a path.
pub fn peer_json(status: &PeerStatus, path: Option<&str>) -> PeerJson {
    let time = |ms: i64| Millis(ms).into();
    PeerJson {
        id: status.id.clone(),
        name: status.name.clone(),
        rights: status.rights.clone(),
        expires: status.expires.map(time),
        connected: status.connected,
        via: if status.relayed { "relayed" } else { "direct" },
        address: status.address.map(|address| address.to_string()),
        dialed: status.dialed,
        in_step: status.in_step,
        behind: status.behind,
        behind_at_least: status.behind_at_least,
        last_seen: status.last_seen.map(time),
        bytes_sent: status.bytes_sent,
        bytes_received: status.bytes_received,
        refused: status.refused,
        forked: status.forked,
        faults: status.faults,
        error: status.error.clone(),
        blocked: status.blocked,
        path: path.map(str::to_owned),
    }
}

fn read_peers(app: &ServerState) -> std::result::Result<PeerList, PeerError> {
    let running = app.store_dir.as_deref().is_some_and(is_running);
    let is_shared = PeerMembership::is_shared(&app.workspace)?;
    let id = is_shared.then(|| PeerMembership::of(&app.workspace)).transpose()?;
    let groups = PeerGroups::open_to_read(&app.workspace, app.store_dir.as_deref())?;
    let mut peers = Vec::new();
    for group in groups.iter() {
        let path = group.path.as_deref();
        peers.extend(group.status()?.iter().map(|status| peer_json(status, path)));
    }
    groups.close()?;
    let id = id.map(|member| member.id().to_string());
    Ok(PeerList { id, running, peers, presence: read_presence(app) })
}

/// Describes the editors of other peers.
fn read_presence(app: &ServerState) -> Vec<PeerPresenceJson> {
    let editors = app.rooms.remote_editors();
    let describe = |((peer, doc), states): ((PeerId, FileId), Vec<String>)| {
        presence_json(&app.workspace, peer, &doc, &states)
    };
    editors.into_iter().map(describe).collect()
}

/// Describes the editors with these states at a document on the servers of a peer.
pub fn presence_json(
    workspace: &Workspace,
    peer: PeerId,
    doc: &FileId,
    states: &[String],
) -> PeerPresenceJson {
    PeerPresenceJson {
        peer: peer.to_string(),
        path: workspace.nodes().path_of(doc).ok().flatten().map(|path| path.to_string()),
        id: doc.to_string(),
        editors: states.iter().map(|state| user_name(state)).collect(),
    }
}

/// Returns the name in the state of an editor, where the editors of ProseMirror, CodeMirror and
/// others have it.
fn user_name(state: &str) -> Option<String> {
    let state: serde_json::Value = serde_json::from_str(state).ok()?;
    let name = state.get("user")?.get("name")?.as_str()?;
    Some(name.chars().take(MAX_USER_NAME_LEN).collect())
}

/// Sets the metrics of all peers.
pub(crate) fn count_peers(app: &ServerState, metrics: &ServerMetrics) -> Result<()> {
    let list = read_peers(app).map_err(problem_of)?;
    let families = &metrics.peers;
    families.clear();
    for peer in &list.peers {
        let label = PeerLabel { peer: peer.id.clone() };
        families.connected.get_or_create(&label).set(peer.connected.into());
        families.in_step.get_or_create(&label).set(peer.in_step.into());
        if let Some(behind) = peer.behind {
            families.behind.get_or_create(&label).set(to_gauge(behind));
        }
        if let Some(last_seen) = peer.last_seen {
            families.last_seen.get_or_create(&label).set(last_seen.0 / 1000);
        }
        families.sent_bytes.get_or_create(&label).set(to_gauge(peer.bytes_sent));
        families.received_bytes.get_or_create(&label).set(to_gauge(peer.bytes_received));
        families.refused.get_or_create(&label).set(to_gauge(peer.refused));
        families.forked.get_or_create(&label).set(to_gauge(peer.forked));
        families.faults.get_or_create(&label).set(to_gauge(peer.faults));
    }
    Ok(())
}

fn problem_of(error: PeerError) -> HttpProblem {
    match error {
        PeerError::Store(error) => error.into(),
        PeerError::Workspace(error) => error.into(),
        error => HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}
