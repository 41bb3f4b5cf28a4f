//! Merges the updates of a document into one, for compaction.

use super::{
    GateRejection,
    canonical::canonical,
    change::StateChange,
    doc::{GatedDoc, ReceiveOutcome},
    limits::GateLimits,
    parked::ParkedTotals,
    role::{DocRole, UpdateSource},
};
use crate::id::{ClientId, FileId};

/// The merge of several updates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedUpdate {
    /// The state: one update with everything that was absorbed.
    pub state: Vec<u8>,
    /// Whether each of the updates is completely in the state. The others have parts that wait or
    /// were rejected, and must be kept.
    pub absorbed: Vec<bool>,
    /// The changes of each of the updates when it was applied.
    pub changes: Vec<StateChange>,
    /// What waits in the others.
    pub parked: ParkedTotals,
    /// Those of the snapshot and the updates with content that does not belong into its list. The
    /// state does not have that content.
    pub misplaced: Vec<Vec<u8>>,
}

/// Merges a snapshot and updates into one state, and verifies it: in an empty document the state
/// gives the same state vector, the same deletions and the same content.
///
/// # Errors
///
/// If the snapshot was rejected, or the verification failed. Then nothing may be replaced.
pub fn merge(
    role: DocRole,
    snapshot: Option<&[u8]>,
    updates: &[Vec<u8>],
) -> Result<MergedUpdate, GateRejection> {
    let mut doc = new_doc(role);
    let mut misplaced = Vec::new();
    if let Some(snapshot) = snapshot
        && !load(&mut doc, snapshot)?.misplaced.is_empty()
    {
        misplaced.push(snapshot.to_vec());
    }
    let mut absorbed = Vec::with_capacity(updates.len());
    let mut changes = Vec::with_capacity(updates.len());
    for update in updates {
        let received = match doc.receive(update, UpdateSource::Store) {
            Err(refusal @ GateRejection::Poisoned { .. }) => return Err(refusal),
            received => received,
        };
        if received.as_ref().is_ok_and(|received| !received.misplaced.is_empty()) {
            misplaced.push(update.clone());
        }
        absorbed.push(received.is_ok());
        changes.push(received.map_or_else(|_| StateChange::default(), StateChange::of));
    }
    // Some of an update may still wait, or have been rejected when the missing items arrived.
    for (update, absorbed) in updates.iter().zip(&mut absorbed) {
        *absorbed = *absorbed && doc.contains_update(update);
    }
    let state = doc.encode_state();
    let mut copy = new_doc(role);
    load(&mut copy, &state)?;
    let again = copy.encode_state();
    if copy.state_vector() != doc.state_vector()
        || canonical(role, &state)? != canonical(role, &again)?
    {
        return Err(GateRejection::Poisoned { reason: "the merged state differs".to_owned() });
    }
    let parked = doc.parked().totals();
    Ok(MergedUpdate { state, absorbed, changes, parked, misplaced })
}

fn new_doc(role: DocRole) -> GatedDoc {
    let guid = FileId::from_bytes([0; 16]);
    GatedDoc::new(&guid, role, ClientId::from_random(0), GateLimits::default())
}

fn load(doc: &mut GatedDoc, state: &[u8]) -> Result<ReceiveOutcome, GateRejection> {
    let received = doc.receive(state, UpdateSource::Store)?;
    if received.parked {
        return Err(GateRejection::Poisoned {
            reason: "the merged state is incomplete".to_owned(),
        });
    }
    Ok(received)
}
