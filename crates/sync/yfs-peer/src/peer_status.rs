//! What is known of each peer, for people and programs of other processes.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
};

use serde::{Deserialize, Serialize};
use yfs::{Workspace, replica::ForkReport};
use yfs_engine::id::FileId;
use yfs_store::{DocName, Seq, Store};

use crate::{membership::PeerMembership, peer_error::PeerError, peer_key::PeerId};

/// The setting with the list.
const STATUS_SETTING: &str = "peer.status";

/// How many positions of the log are read to count what a peer does not have. The count costs this
/// much at most, however long a peer was away.
const MAX_COUNTED: u64 = 10_000;

/// The greatest length of a reason in the list, in characters.
const REASON_LEN: usize = 200;

/// What is known of one peer. Times are milliseconds since the Unix epoch.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerStatus {
    /// Its id, as 64 hexadecimal digits.
    pub id: String,
    /// The name that a person gave to it, or for which its ticket was made.
    pub name: Option<String>,
    /// What it may do: `read` or `write`.
    pub rights: Option<String>,
    /// When its certificate expires.
    pub expires: Option<i64>,
    /// Whether there is a connection.
    pub connected: bool,
    /// Whether the last connection goes through a relay.
    pub relayed: bool,
    /// The address at the other end of the last connection: of the peer, or of the relay.
    pub address: Option<SocketAddr>,
    /// Whether this side made the connection.
    pub dialed: bool,
    /// Whether both sides have everything, as far as this side knows.
    pub in_step: bool,
    /// The number of documents that changed here since the peer had everything; null if that is
    /// not known.
    pub behind: Option<u64>,
    /// Whether `behind` counts the last 10,000 updates only, because the peer was away for longer.
    pub behind_at_least: bool,
    /// When the last connection ended, or the current one began.
    pub last_seen: Option<i64>,
    /// The bytes of messages that were sent to it.
    pub bytes_sent: u64,
    /// The bytes of messages that were received from it.
    pub bytes_received: u64,
    /// The number of its updates that were refused; they are in the quarantine.
    pub refused: u64,
    /// The number of files for which it sent other content under ids that items have here: it
    /// forked its log, or passed on what another one had forked.
    pub forked: u64,
    /// How often it violated the protocol or its rights.
    pub faults: u64,
    /// Why the last connection failed or ended.
    pub error: Option<String>,
    /// Whether it is blocked.
    pub blocked: bool,
    /// The position in this store's log up to which the peer had everything.
    #[serde(rename = "reached", skip_serializing_if = "Option::is_none")]
    pub(crate) reached: Option<u64>,
}

/// Reads the list that the process that connects has written.
///
/// Reports every peer as disconnected unless such a process `is_running`.
pub fn read_status(workspace: &Workspace, is_running: bool) -> Result<Vec<PeerStatus>, PeerError> {
    if !PeerMembership::is_shared(workspace)? {
        return Ok(Vec::new());
    }
    let member = PeerMembership::of(workspace)?;
    let mut list = stored_status(workspace)?;
    for contact in member.contacts()? {
        let id = contact.peer.to_string();
        if !list.iter().any(|known| known.id == id) {
            list.push(PeerStatus { id, ..PeerStatus::default() });
        }
    }
    let contacts = member.contacts()?;
    let forks = workspace.replication().forks()?;
    for id in forks.iter().flat_map(|fork| &fork.peers) {
        if !list.iter().any(|known| known.id == *id) {
            list.push(PeerStatus { id: id.clone(), ..PeerStatus::default() });
        }
    }
    let mut listed = Vec::new();
    for mut status in list {
        let Ok(peer) = status.id.parse::<PeerId>() else { continue };
        let note = member.note(peer)?;
        if note.is_forgotten {
            continue;
        }
        let contact = contacts.iter().find(|contact| contact.peer == peer);
        let certificate = contact.and_then(|contact| contact.certificate());
        let label = contact.and_then(|contact| contact.label().map(str::to_owned));
        status.name = note.name.or(label).or(status.name);
        status.blocked = note.is_blocked;
        if let Some(certificate) = certificate {
            let blocks = member.blocks()?;
            status.blocked |= blocks.iter().any(|block| certificate.is_target_of(block));
        }
        let names = |fork: &&ForkReport| fork.peers.contains(&status.id);
        let forked: BTreeSet<&FileId> = forks.iter().filter(names).map(|fork| &fork.doc).collect();
        status.forked = forked.len() as u64;
        status.connected &= is_running;
        status.in_step &= status.connected;
        listed.push(status);
    }
    count_behind(&**workspace.store(), &mut listed, MAX_COUNTED)?;
    Ok(listed)
}

/// Sets how many documents changed here since each peer had everything, as far as `max_counted`
/// positions of the log back.
fn count_behind(
    store: &dyn Store,
    list: &mut [PeerStatus],
    max_counted: u64,
) -> Result<(), PeerError> {
    let head = store.head()?.0;
    // A store that was restored from a copy may have another log at the position.
    let reached = |status: &PeerStatus| match status.in_step {
        true => Some(head),
        false => status.reached.filter(|reached| *reached <= head),
    };
    let furthest = head.saturating_sub(max_counted);
    let oldest = list.iter().filter_map(reached).min().unwrap_or(head).max(furthest);
    let changed = changed_since(store, Seq(oldest))?;
    for status in list {
        let at = reached(status);
        let n_later = |at: u64| changed.values().filter(|last| last.0 > at).count() as u64;
        status.behind = at.map(n_later);
        status.behind_at_least = at.is_some_and(|at| at < furthest);
        status.reached = None;
    }
    Ok(())
}

/// Returns the documents with records after a position, and the last of each.
fn changed_since(store: &dyn Store, mut after: Seq) -> Result<BTreeMap<DocName, Seq>, PeerError> {
    let mut changed = BTreeMap::new();
    while store.head()? > after {
        let page = store.tail(after, &|_, _| false)?;
        let reload = page.reload.into_iter().filter(|notice| !notice.forgotten);
        changed.extend(reload.map(|notice| (notice.doc, notice.upto)));
        changed.extend(page.touched.into_iter().map(|touched| (touched.doc, touched.head)));
        if !page.more {
            break;
        }
        after = page.upto;
    }
    Ok(changed)
}

/// Writes the list.
pub(crate) fn write_status(workspace: &Workspace, list: &[PeerStatus]) -> Result<(), PeerError> {
    let text = serde_json::to_vec(list).expect("strings and numbers are JSON");
    Ok(workspace.store().set_meta(STATUS_SETTING, &text)?)
}

/// Reads the list as it was written.
pub(crate) fn stored_status(workspace: &Workspace) -> Result<Vec<PeerStatus>, PeerError> {
    let stored = workspace.store().get_meta(STATUS_SETTING)?;
    Ok(stored.and_then(|stored| serde_json::from_slice(&stored).ok()).unwrap_or_default())
}

/// Returns the text of a reason, without control characters.
pub(crate) fn reason_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    let printable = |char: char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char };
    text.chars().take(REASON_LEN).map(printable).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use yfs_engine::time::Millis;
    use yfs_store::{AppendBatch, MemoryStore, UpdateLog};

    use super::*;

    fn away_since(reached: u64) -> PeerStatus {
        PeerStatus { reached: Some(reached), ..PeerStatus::default() }
    }

    #[test]
    fn a_peer_that_was_away_for_long_costs_no_more_than_the_last_updates() {
        let store = MemoryStore::new();
        let n_logged = Cell::new(0);
        let log = |n: u64| {
            for _ in 0..n {
                let doc = DocName::parse(&format!("doc-{}", n_logged.get() % 10)).unwrap();
                store.append(AppendBatch::one(doc, vec![1], Millis(1))).unwrap();
                n_logged.set(n_logged.get() + 1);
            }
        };
        log(100);
        let mut list = [away_since(95), away_since(80), away_since(10), PeerStatus::default()];
        count_behind(&store, &mut list, 20).unwrap();
        let counts = list.map(|status| (status.behind, status.behind_at_least));
        let expected = [(Some(5), false), (Some(10), false), (Some(10), true), (None, false)];
        assert_eq!(counts, expected);

        let mut list = [away_since(0)];
        count_behind(&store, &mut list, 3).unwrap();
        let [status] = list;
        assert_eq!((status.behind, status.behind_at_least), (Some(3), true));
    }
}
