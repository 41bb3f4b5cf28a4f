//! The settlements of a document and what was computed from them, kept until the document changes.

use std::sync::OnceLock;

use yrs::{IdSet, Map as _, ReadTxn as _};

use super::{
    CONVERSIONS,
    root_comparison::RootComparison,
    settlement::{ConversionSettlement, SettlementList},
};
use crate::content::replica::ContentReplica;

/// The register of conversions: the root `Y.Map("fs:conv")`.
#[derive(Debug, Default)]
pub(in crate::content) struct ConversionHistory {
    /// All settlements, read on first use.
    settlements: OnceLock<SettlementList>,
    /// The merged text of the file and its concurrent settlements, computed on first use; `None`
    /// without any.
    merged_text: OnceLock<Option<String>>,
    /// Whether late edits are to be merged, computed on first use.
    has_late_edits: OnceLock<bool>,
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
        RootComparison { replica, settlements: self.settlements(replica), redacted }
    }

    /// Returns the text of the file merged with all concurrent settlements; `None` without any.
    pub(in crate::content) fn text_with_concurrent(
        &self,
        replica: &ContentReplica,
        redacted: &IdSet,
    ) -> Option<String> {
        let merge = || {
            let settlements = self.settlements(replica);
            let is_merged = settlements.has_concurrent() && replica.gate.health().is_ok();
            let merged = is_merged.then(|| self.comparison(replica, redacted).merged_text().ok());
            merged.flatten().flatten().map(|merged| merged.text)
        };
        self.merged_text.get_or_init(merge).clone()
    }

    /// Reports whether there are edits of one root that the current root lacks.
    pub(in crate::content) fn has_late_edits(
        &self,
        replica: &ContentReplica,
        redacted: &IdSet,
    ) -> bool {
        let find = || {
            let merged = self.comparison(replica, redacted).merged_text();
            merged.is_ok_and(|merged| merged.is_some())
        };
        Self::is_begun(replica) && *self.has_late_edits.get_or_init(find)
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
