//! Forked logs: files for which a peer sent other content under the ids that items have here.
//!
//! A writer that gives two peers different changes under the same numbers makes them differ for
//! good. What arrived second is kept in the quarantine and not logged. The store keeps a list of
//! what is forked and of the peers that sent it, one report for each file and writer.
//!
//! A peer that is listed may only have passed on what it was given itself: both of two honest peers
//! list the other one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use yfs_engine::{
    content::ids_of_writer,
    gate::{ForkedItems, IdRange},
    id::{ClientId, FileId},
    time::Millis,
};
use yfs_store::{DocName, WriterClaim};

use super::receive::ReceivedUpdates;
use crate::{
    Replication,
    core::WorkspaceCore,
    error::Result,
    state::WorkspaceState,
    workspace::conflict_report::{ConflictKind, ConflictReport},
};

/// The setting with the list.
const FORKS_SETTING: &str = "replica.forks";

/// The most reports that are kept; the oldest makes room.
const MAX_REPORTS: usize = 256;

/// The most peers that are named in a report.
const MAX_PEERS: usize = 16;

/// The most ranges of items in a report.
const MAX_RANGES: usize = 64;

/// The most updates of one message that are kept in the quarantine as forked.
const MAX_KEPT: usize = 64;

/// The most ids of this process that are compared with forked ones: a text that this process edited
/// under more has 16 million edits by it.
const MAX_OWN_IDS: usize = 4096;

/// The length of the beginning of a peer's id in a text, in characters.
const SHORT_ID_LEN: usize = 10;

/// A file for which peers sent other content than it has here, by items of one writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkReport {
    /// The file; the workspace itself for rows of files.
    pub doc: FileId,
    /// The items that differ; the first 64 ranges. All are of one client id.
    pub items: Vec<IdRange>,
    /// When it was found out.
    pub at: Millis,
    /// The ids of the peers that sent it, if they are known; the first 16. Each may only have
    /// passed it on.
    pub peers: Vec<String>,
}

/// A forked update that has arrived.
#[derive(Debug)]
pub(super) struct ForkArrival {
    pub(super) doc: FileId,
    pub(super) fork: ForkedItems,
}

impl Replication<'_> {
    /// Lists the files for which peers sent other content under the ids that items have here, also
    /// those that do not differ any more. At most 256.
    pub fn forks(&self) -> Result<Vec<ForkReport>> {
        self.state.check_open()?;
        forks(self.state)
    }

    /// Lists the files that have other content elsewhere under the ids that items have here, now:
    /// no exchange makes them equal.
    pub fn forked_files(&self) -> Result<Vec<ConflictReport>> {
        self.state.check_open()?;
        fork_conflicts(self.state)
    }

    /// Adds forked updates to the list and to the quarantine.
    pub(super) fn report_forks(
        &self,
        arrivals: Vec<ForkArrival>,
        sender: Option<&str>,
        received: &mut ReceivedUpdates,
    ) -> Result<()> {
        if arrivals.is_empty() {
            return Ok(());
        }
        let (mut reports, now) = (forks(self.state)?, self.state.now());
        let (before, mut n_kept, mut new) = (reports.clone(), 0, BTreeSet::new());
        for ForkArrival { doc, fork } in arrivals {
            let mut is_new = false;
            for (client, items) in by_client(&fork.ranges) {
                if add_report(&mut reports, &doc, client, &items, (sender, now)) {
                    is_new = true;
                    new.insert(client);
                }
            }
            if is_new && n_kept < MAX_KEPT {
                n_kept += 1;
                let (name, reason) = (DocName::from(&doc), describe_arrival(&fork, sender));
                self.state.store.quarantine(&name, &fork.update, &reason, now)?;
            }
            received.forked.insert(doc);
        }
        // Before the reports are stored: a fork that was reported is not new the next time.
        if !new.is_empty() {
            give_up_clients(self.state, &new)?;
        }
        if reports != before {
            let excess = reports.len().saturating_sub(MAX_REPORTS);
            reports.drain(..excess);
            let list: Vec<Value> = reports.iter().map(to_json).collect();
            let text = Value::from(list).to_string();
            self.state.store.set_meta(FORKS_SETTING, text.as_bytes())?;
        }
        Ok(())
    }
}

/// Gives up client ids that may have been used twice, once a peer has other items under some:
/// the store may have been set back while it ran, and no check of claims finds that out. All
/// released ids are discarded, and those of this process are not released. If they are among
/// the forked ones, it writes under others from now on.
///
/// The caller must have locked no document.
fn give_up_clients(state: &WorkspaceState, forked: &BTreeSet<ClientId>) -> Result<()> {
    let claim: Option<WriterClaim> = state.claim.lock().take();
    while state.store.claim_writer()?.reused {}
    let own = claim.map(|claim| {
        let of_content = ids_of_writer(claim.content).take(MAX_OWN_IDS);
        of_content.chain([claim.rows, claim.cells, claim.meta])
    });
    if own.into_iter().flatten().any(|client| forked.contains(&client)) {
        state.main.write().set_writer(state.options.fresh_writer_ids());
        state.documents.set_client(state.options.ids.client_id());
    }
    Ok(())
}

fn forks(core: &WorkspaceCore) -> Result<Vec<ForkReport>> {
    let stored = core.store.get_meta(FORKS_SETTING)?.unwrap_or_default();
    let Ok(Value::Array(list)) = serde_json::from_slice(&stored) else {
        return Ok(Vec::new());
    };
    Ok(list.iter().filter_map(from_json).collect())
}

/// Returns the items of a file that are forked, whether they are still part of it or not.
pub(crate) fn forked_items(core: &WorkspaceCore, id: &FileId) -> Result<Vec<IdRange>> {
    let reports = forks(core)?.into_iter().filter(|report| report.doc == *id);
    Ok(reports.flat_map(|report| report.items).collect())
}

/// Lists the files that have forked items now.
pub(crate) fn fork_conflicts(core: &WorkspaceCore) -> Result<Vec<ConflictReport>> {
    let mut conflicts = Vec::new();
    for report in forks(core)? {
        let is_main = report.doc == core.id;
        let differs = if is_main {
            core.main.read().doc().has_living(&report.items)
        } else {
            core.is_file(&report.doc)
                && core
                    .documents
                    .acquire(&report.doc)
                    .with(|loaded| loaded.doc.gate().has_living(&report.items))?
        };
        if !differs {
            continue;
        }
        let path = if is_main {
            "/".to_owned()
        } else {
            crate::workspace::conflict_report::path_of(&core.main.read(), &report.doc)
        };
        let detail = describe_difference(&report, is_main);
        conflicts.push(ConflictReport { kind: ConflictKind::Forked, id: report.doc, path, detail });
    }
    Ok(conflicts)
}

/// Adds the items of one client to the list; reports whether any of them is new there.
fn add_report(
    reports: &mut Vec<ForkReport>,
    doc: &FileId,
    client: ClientId,
    items: &[IdRange],
    (sender, at): (Option<&str>, Millis),
) -> bool {
    let is_same = |report: &&mut ForkReport| {
        report.doc == *doc && report.items.first().is_some_and(|range| range.client == client)
    };
    let Some(report) = reports.iter_mut().find(is_same) else {
        let peers = sender.map(str::to_owned).into_iter().collect();
        reports.push(ForkReport { doc: doc.clone(), items: items.to_vec(), at, peers });
        return true;
    };
    if let Some(sender) = sender
        && report.peers.len() < MAX_PEERS
        && !report.peers.iter().any(|known| known == sender)
    {
        report.peers.push(sender.to_owned());
    }
    let mut is_new = false;
    for range in items {
        let is_known = report
            .items
            .iter()
            .any(|known| known.start <= range.start && range.end() <= known.end());
        if !is_known && report.items.len() < MAX_RANGES {
            report.items.push(*range);
            is_new = true;
        }
    }
    is_new
}

fn by_client(ranges: &[IdRange]) -> BTreeMap<ClientId, Vec<IdRange>> {
    let mut clients: BTreeMap<ClientId, Vec<IdRange>> = BTreeMap::new();
    for range in ranges {
        clients.entry(range.client).or_default().push(*range);
    }
    clients
}

/// Returns the reason in the quarantine.
fn describe_arrival(fork: &ForkedItems, sender: Option<&str>) -> String {
    let from = sender.map_or(String::new(), |id| format!("from peer {}: ", short(id)));
    let what = fork.ranges.first().map_or(String::new(), describe_items);
    format!("{from}a forked log: {what} are other items here")
}

fn describe_items(range: &IdRange) -> String {
    let IdRange { client, start, .. } = range;
    format!("items {start} to {} of client {client}", range.end() - 1)
}

fn describe_difference(report: &ForkReport, is_main: bool) -> String {
    let n_items: u64 = report.items.iter().map(|range| u64::from(range.len)).sum();
    let what = match (is_main, n_items) {
        (true, _) => format!("{n_items} entries of the files table"),
        (false, 1) => "1 character or value".to_owned(),
        (false, _) => format!("{n_items} characters or values"),
    };
    let writer = report.items.first().map_or(String::new(), |range| range.client.to_string());
    let peers: Vec<&str> = report.peers.iter().map(|id| short(id)).collect();
    let from = match peers.as_slice() {
        [] => "another replica".to_owned(),
        peers => format!("peer {}", peers.join(", ")),
    };
    format!(
        "{from} sent {what} of writer {writer} that are others here: the writer forked its log, or \
         its store was restored; what was sent is in the quarantine"
    )
}

fn short(id: &str) -> &str {
    id.get(..SHORT_ID_LEN).unwrap_or(id)
}

fn to_json(report: &ForkReport) -> Value {
    let items = report.items.iter().map(|range| json!([range.start, range.len]));
    json!({
        "doc": report.doc.as_str(),
        "client": report.items.first().map_or(0, |range| range.client.get()),
        "items": items.collect::<Vec<_>>(),
        "at": report.at.0,
        "peers": report.peers,
    })
}

fn from_json(value: &Value) -> Option<ForkReport> {
    let client = ClientId::new(value["client"].as_u64()?).ok()?;
    let read_range = |range: &Value| {
        let start = u32::try_from(range[0].as_u64()?).ok()?;
        let len = u32::try_from(range[1].as_u64()?).ok().filter(|len| *len > 0)?;
        start.checked_add(len)?;
        Some(IdRange { client, start, len })
    };
    let items: Option<Vec<IdRange>> = value["items"].as_array()?.iter().map(read_range).collect();
    let peers = value["peers"].as_array()?.iter();
    Some(ForkReport {
        doc: FileId::parse(value["doc"].as_str()?).ok()?,
        items: items.filter(|items| !items.is_empty())?,
        at: Millis(value["at"].as_i64()?),
        peers: peers.filter_map(|peer| peer.as_str().map(str::to_owned)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use yfs_engine::{
        actor::{Actor, ActorKind},
        content::ids_of_writer,
        id::ClientId,
    };
    use yfs_store::MemoryStore;

    use super::give_up_clients;
    use crate::{Workspace, WorkspaceOptions};

    #[test]
    fn a_fork_under_a_later_id_of_this_process_gives_up_all_of_its_ids() {
        for (nth, gives_up) in [(0, true), (1, true), (200, true), (5000, false)] {
            let options = WorkspaceOptions::one_shot(Actor::new(ActorKind::Human, "ada"));
            let store = Arc::new(MemoryStore::new());
            let workspace = Workspace::create(store, options).expect("a workspace");
            let state = &workspace.state;
            let first = state.documents.client();
            let forked: BTreeSet<ClientId> = ids_of_writer(first).skip(nth).take(1).collect();
            give_up_clients(state, &forked).expect("given up");
            assert_eq!(state.documents.client() != first, gives_up, "{nth}");
        }
    }
}
