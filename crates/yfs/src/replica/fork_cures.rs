//! Forks of client ids of this store: it was set back while it ran, so ids were used twice
//! ([decision 88](../../../../docs/decisions/0088-a-store-cures-forks-of-its-own-ids.md)).
//!
//! The store gives up all ids that it reused, and writes what both sides wrote under them anew.

use std::collections::BTreeSet;

use yfs_engine::{
    content::{ContentDoc, ForkCure},
    gate::IdRange,
    id::{ClientId, FileId, ItemId},
};
use yfs_store::{REUSED_WRITERS, WriterClaim, add_reused};

use crate::{
    commit::{MainChange, StructureAccess, Transaction},
    error::Result,
    replica::forks::ForkReport,
    state::WorkspaceState,
    workspace::fresh_writer_ids,
};

/// The client ids that this store may have used twice.
#[derive(Debug, Default)]
pub(super) struct OwnClients {
    clients: BTreeSet<ClientId>,
    /// The forks that were found before, of any client.
    reports: Vec<ForkReport>,
}

impl OwnClients {
    /// Returns the first forked item of each of the clients.
    pub(super) fn forks_in(&self, ranges: &[IdRange]) -> Vec<ItemId> {
        let mut forks: Vec<ItemId> = Vec::new();
        for range in ranges.iter().filter(|range| self.clients.contains(&range.client)) {
            match forks.iter_mut().find(|fork| fork.client == range.client) {
                Some(fork) => fork.clock = fork.clock.min(range.start),
                None => forks.push(ItemId::new(range.client, range.start)),
            }
        }
        forks
    }

    /// Returns the forked items of a document, from the first to the last of each client.
    pub(super) fn known_forks(&self, id: &FileId) -> Vec<IdRange> {
        let reports = self.reports.iter().filter(|report| report.doc == *id);
        reports.filter_map(ForkReport::span).collect()
    }

    /// Plans the cure of a document whose updates have other content of items of these clients, or
    /// depend on such items; `None` if there is nothing to cure.
    ///
    /// The document must [expect](ContentDoc::expect_updates) the updates.
    pub(super) fn plan_cure(
        &self,
        state: &WorkspaceState,
        doc: &ContentDoc,
        updates: &[&[u8]],
    ) -> Option<ForkCure> {
        let mut used = self.clients.iter().filter(|client| doc.gate().clock_of(**client) > 0);
        used.next()?;
        let found = updates.iter().filter_map(|update| doc.find_fork(update));
        let ranges: Vec<IdRange> = found.flat_map(|fork| fork.ranges).collect();
        let forks = self.forks_in(&ranges);
        // What is deleted already was cured.
        if forks.is_empty() || !doc.gate().has_living(&ranges) {
            return None;
        }
        // A document that cannot be cured is reported, as one of another writer is.
        doc.plan_fork_cure(&forks, updates, &state.author_now()).ok().flatten()
    }

    /// Plans the cure of what arrived after the first one, from peers that did not have that.
    pub(super) fn plan_late_cure(
        &self,
        state: &WorkspaceState,
        id: &FileId,
        doc: &ContentDoc,
    ) -> Option<ForkCure> {
        let mut ranges = self.known_forks(id);
        ranges.retain(|range| self.clients.contains(&range.client));
        if ranges.is_empty() || doc.gate().has_living(&ranges) {
            return None;
        }
        doc.plan_late_cure(&ranges, &state.author_now()).ok().flatten()
    }
}

impl WorkspaceState {
    /// Returns the client ids that this store may have used twice.
    pub(super) fn own_clients(&self) -> Result<OwnClients> {
        let list = self.store.get_meta(REUSED_WRITERS)?.unwrap_or_default();
        let ids = list.chunks_exact(8).filter_map(|id| id.first_chunk().copied());
        let ids = ids.filter_map(|id| ClientId::new(u64::from_le_bytes(id)).ok());
        let mut clients: BTreeSet<ClientId> = ids.collect();
        clients.extend(self.claim.lock().iter().flat_map(ids_of));
        Ok(OwnClients { clients, reports: self.forks()? })
    }

    /// Writes under new client ids from now on, and uses none again that this store has used.
    ///
    /// The caller must have locked no document.
    pub(super) fn give_up_clients(&self) -> Result<()> {
        let claim: Option<WriterClaim> = self.claim.lock().take();
        if let Some(claim) = &claim {
            let ids = ids_of(claim);
            let known = self.store.get_meta(REUSED_WRITERS)?.unwrap_or_default();
            self.store.set_meta(REUSED_WRITERS, &add_reused(&known, &ids))?;
            let mut main = self.main.write();
            main.set_writer(fresh_writer_ids(&self.options));
            main.give_up_clients(&ids);
        }
        // Those that others released were claimed as often.
        while self.store.claim_writer()?.reused {}
        if claim.is_some() {
            self.documents.set_client(self.options.ids.client_id());
        }
        Ok(())
    }

    /// Writes the rows of both sides of a fork anew, and deletes the forked ones.
    pub(super) fn cure_rows(&self, rows: &yfs_engine::main_doc::ForkedRows) -> Result<()> {
        self.commit(StructureAccess::Change, None, |main| {
            let update = main.plan_fork_cure(rows)?;
            Ok(Transaction { main: MainChange::Local(update), ..Transaction::of(()) })
        })?;
        Ok(())
    }
}

fn ids_of(claim: &WriterClaim) -> [ClientId; 4] {
    [claim.rows, claim.cells, claim.meta, claim.content]
}
