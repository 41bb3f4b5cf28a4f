//! Merges the updates of a content document into one state without erased content.

use std::borrow::Cow;

use super::ContentDoc;
use crate::{
    gate::{
        DocRole, GateLimits, GateRejection, MergedUpdate, ParkedTotals, RootIx, StateChange,
        UpdateSource, merge,
    },
    id::ClientId,
};

/// The merge of updates, without erased content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedMerge {
    /// The state: one update with everything that was absorbed.
    pub state: Vec<u8>,
    /// Whether each of the updates is in the state.
    pub absorbed: Vec<bool>,
    /// Updates that must stay, by their index, without erased content.
    pub rewritten: Vec<(usize, Vec<u8>)>,
    /// The changes of each of the updates, encoded: see
    /// [`Version::before`](super::Version::before).
    pub changes: Vec<Vec<u8>>,
    /// Whether there are redaction records.
    pub has_redactions: bool,
    /// What waits in the updates that stay.
    pub parked: ParkedTotals,
    /// The updates with content that does not belong into its list: see
    /// [`MergedUpdate::misplaced`].
    pub misplaced: Vec<Vec<u8>>,
}

/// Merges a snapshot and updates of a content document into one state, as
/// [`gate::merge`](crate::gate::merge) does, and erases what redactions name.
///
/// # Errors
///
/// As [`gate::merge`](crate::gate::merge). Then nothing may be replaced.
pub fn compact(
    snapshot: Option<&[u8]>,
    updates: &[Vec<u8>],
) -> Result<RedactedMerge, GateRejection> {
    let merged = merge(DocRole::Content, snapshot, updates)?;
    let changes = merged.changes.iter().map(StateChange::encode).collect();
    let name = RootIx::Redactions.name().as_bytes();
    if !merged.state.windows(name.len()).any(|bytes| bytes == name) {
        let MergedUpdate { state, absorbed, parked, misplaced, .. } = merged;
        return Ok(RedactedMerge {
            state,
            absorbed,
            rewritten: Vec::new(),
            changes,
            has_redactions: false,
            parked,
            misplaced,
        });
    }
    let id = crate::id::FileId::from_bytes([0; 16]);
    let mut doc = ContentDoc::new(&id, ClientId::from_random(0), GateLimits::default());
    doc.receive(&merged.state, UpdateSource::Store)?;
    let kept = (0..).zip(updates).zip(&merged.absorbed).filter(|(_, absorbed)| !**absorbed);
    let rewritten =
        kept.filter_map(|((place, update), _)| match doc.redactions().strip_update(update) {
            Cow::Owned(update) => Some((place, update)),
            Cow::Borrowed(_) => None,
        });
    Ok(RedactedMerge {
        rewritten: rewritten.collect(),
        state: doc.gate().encode_state(),
        absorbed: merged.absorbed,
        changes,
        has_redactions: doc.redactions().n_records() > 0,
        parked: merged.parked,
        misplaced: merged.misplaced,
    })
}
