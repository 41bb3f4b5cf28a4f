//! The merge of a document's records into a snapshot.

use yfs_engine::{
    content,
    gate::{DocRole, ParkedTotals, merge},
};
use yfs_store::{LogRecord, MergeError, MergedSnapshot};

/// What a merge found besides the merged state.
pub(super) struct MergeFindings {
    /// Whether the document has records of redacted content.
    pub(super) has_redactions: bool,
    /// What waits in the records that stay.
    pub(super) parked: ParkedTotals,
    /// The updates with content that does not belong into its list.
    pub(super) misplaced: Vec<Vec<u8>>,
}

/// Merges records.
pub(super) fn merge_records(
    role: DocRole,
    snapshot: Option<&[u8]>,
    records: &[LogRecord],
) -> Result<(MergedSnapshot, MergeFindings), MergeError> {
    let updates: Vec<Vec<u8>> = records.iter().map(|record| record.data.clone()).collect();
    if role == DocRole::Main {
        let merged = merge(role, snapshot, &updates)?;
        let (state, absorbed) = (merged.state, merged.absorbed);
        return Ok((
            MergedSnapshot { state, absorbed, rewritten: Vec::new(), changes: Vec::new() },
            MergeFindings {
                has_redactions: false,
                parked: merged.parked,
                misplaced: merged.misplaced,
            },
        ));
    }
    let compacted = content::compact(snapshot, &updates)?;
    let content::RedactedMerge { state, absorbed, rewritten, changes, .. } = compacted;
    let content::RedactedMerge { has_redactions, parked, misplaced, .. } = compacted;
    Ok((
        MergedSnapshot { state, absorbed, rewritten, changes },
        MergeFindings { has_redactions, parked, misplaced },
    ))
}
