//! The settlements of a document and what was computed from them, kept until the document changes.

use std::sync::OnceLock;

use yrs::{IdSet, Map as _, ReadTxn as _};

use super::{
    CONVERSIONS,
    root_comparison::RootComparison,
    settlement::{ConversionSettlement, SettlementList, is_rich},
};
use crate::{content::replica::ContentReplica, id::ClientId, kind::ContentRoot};

/// The register of conversions: the root `Y.Map("fs:conv")`.
#[derive(Debug, Default)]
pub(in crate::content) struct ConversionHistory {
    /// All settlements, read on first use.
    settlements: OnceLock<SettlementList>,
    /// The text of the file with all late edits merged, computed on first use; `None` without any.
    merged_text: OnceLock<Option<String>>,
}

impl ConversionHistory {
    /// Drops all that was computed, after the document changed.
    pub(in crate::content) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Reports whether the document was ever converted.
    pub(in crate::content) fn is_begun(replica: &ContentReplica) -> bool {
        replica.gate.has_root(CONVERSIONS)
    }

    /// Returns all settlements.
    pub(in crate::content) fn settlements(&self, replica: &ContentReplica) -> &SettlementList {
        self.settlements.get_or_init(|| read_settlements(replica))
    }

    /// Returns the comparison of the roots without the `redacted` items.
    pub(in crate::content) fn comparison<'a>(
        &'a self,
        replica: &'a ContentReplica,
        redacted: &'a IdSet,
    ) -> RootComparison<'a> {
        let settlements = self.settlements(replica);
        RootComparison { replica, settlements, redacted, is_rich_beside_text: None }
    }

    /// Reports which root is current, `true` for rich text, if both hold content, no settlement
    /// compared them, and all clients of the document recorded their authors. A writer of yfs that
    /// knew the other root would have settled the document, so such roots were begun by writers
    /// that did not know each other's work. A peer that follows only the reference implementation
    /// leaves an old copy in the other root when it converts, and records no author.
    pub(in crate::content) fn is_rich_beside_text(
        &self,
        replica: &ContentReplica,
        wanted: ContentRoot,
        is_author: impl Fn(ClientId) -> bool,
    ) -> Option<bool> {
        let are_separate = replica.has_text()
            && replica.has_rich()
            && self.settlements(replica).last().is_none()
            && replica.version().clocks().all(|(client, _)| is_author(client));
        are_separate.then(|| is_rich(wanted))
    }

    /// Returns the text of the file with all edits merged that its current root lacks; `None`
    /// without any.
    pub(in crate::content) fn merged_text(&self, comparison: RootComparison<'_>) -> Option<&str> {
        let replica = comparison.replica;
        let may_have = Self::is_begun(replica) || comparison.has_separate_roots();
        if !may_have || replica.gate.health().is_err() {
            return None;
        }
        let merge = || comparison.merged_text().ok().flatten().map(|merged| merged.text);
        self.merged_text.get_or_init(merge).as_deref()
    }
}

fn read_settlements(replica: &ContentReplica) -> SettlementList {
    if !ConversionHistory::is_begun(replica) {
        return SettlementList::default();
    }
    let mut all = replica.gate.read(|txn| {
        let Some(map) = txn.get_map(CONVERSIONS) else { return Vec::new() };
        map.iter(txn)
            .filter_map(|(key, value)| ConversionSettlement::parse(replica, key, &value))
            .collect::<Vec<_>>()
    });
    // A peer may have listed anything.
    all.retain(|settlement| replica.check_clocks(&settlement.from).is_ok());
    all.sort_by_key(|settlement| (settlement.number, settlement.client));
    SettlementList { all }
}
