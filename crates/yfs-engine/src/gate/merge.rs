//! Merging the updates of a document into one, for compaction.

use super::{
    GateRejection,
    canonical::canonical,
    change::StateChange,
    doc::GatedDoc,
    limits::GateLimits,
    role::{DocRole, UpdateSource},
};
use crate::id::{ClientId, FileId};

/// Updates that were merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedUpdate {
    /// The state: an update that says everything that was absorbed.
    pub state: Vec<u8>,
    /// Which of the updates are in the state, whole. Of the others something waits or was refused,
    /// and they must be kept.
    pub absorbed: Vec<bool>,
    /// What each of the updates changed when its turn came.
    pub changes: Vec<StateChange>,
}

/// Merges a snapshot and updates into one state, and verifies it: in an empty document the state
/// gives the same state vector, the same deletions and the same content.
///
/// # Errors
///
/// If the snapshot was refused, or the state did not stand the test. Then nothing may be replaced.
pub fn merge(
    role: DocRole,
    snapshot: Option<&[u8]>,
    updates: &[Vec<u8>],
) -> Result<MergedUpdate, GateRejection> {
    let mut doc = new_doc(role);
    if let Some(snapshot) = snapshot {
        load(&mut doc, snapshot)?;
    }
    let mut absorbed = Vec::with_capacity(updates.len());
    let mut changes = Vec::with_capacity(updates.len());
    for update in updates {
        let received = match doc.receive(update, UpdateSource::Store) {
            Err(refusal @ GateRejection::Poisoned { .. }) => return Err(refusal),
            received => received,
        };
        absorbed.push(received.is_ok());
        changes.push(received.map_or_else(|_| StateChange::default(), StateChange::of));
    }
    // Some of an update may wait still, or have been refused when what it waited for was there.
    for (update, absorbed) in updates.iter().zip(&mut absorbed) {
        *absorbed = *absorbed && doc.holds_all(update);
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
    Ok(MergedUpdate { state, absorbed, changes })
}

fn new_doc(role: DocRole) -> GatedDoc {
    let guid = FileId::from_bytes([0; 16]);
    GatedDoc::new(&guid, role, ClientId::from_random(0), GateLimits::default())
}

fn load(doc: &mut GatedDoc, state: &[u8]) -> Result<(), GateRejection> {
    let received = doc.receive(state, UpdateSource::Store)?;
    if received.parked {
        return Err(GateRejection::Poisoned {
            reason: "the merged state is incomplete".to_owned(),
        });
    }
    Ok(())
}
