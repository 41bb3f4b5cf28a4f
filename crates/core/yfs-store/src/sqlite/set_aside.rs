//! Sets damaged records aside, so that the rest of a document can be used again.

use rusqlite::Connection;
use yfs_types::time::Millis;

use super::{
    compact::delete_records,
    doc_values::read_snapshot_if_damaged,
    log::{SqliteLog, read_record_bytes},
    quarantine,
    seal::ValueSeal,
    store_error::store_error,
};
use crate::{DamagedRecord, DocName, StoreError, StoredDocument, quarantine::RefusedUpdate};

const SET_ASIDE: &str = "set damaged records aside";

impl SqliteLog {
    pub(super) fn set_aside_damaged(&self, name: &DocName, at: Millis) -> Result<u64, StoreError> {
        let StoredDocument { damaged, .. } = self.load(name)?;
        let Some(number) = self.with_index(|index| index.find(name))? else { return Ok(0) };
        if damaged.is_empty() {
            return Ok(0);
        }
        let moved = self.shared.write(SET_ASIDE, |tx| {
            let moved = move_to_quarantine(tx, &self.shared.seal, number, name, &damaged, at);
            moved.map_err(store_error(SET_ASIDE))
        })?;
        self.with_index(|index| index.drop_records(number, |seq| moved.contains(&seq)))?;
        Ok(damaged.len() as u64)
    }
}

/// Moves the bytes that are left of damaged records, and of a damaged snapshot, to the quarantine.
/// Returns the positions of the records. The client ids that wait for reuse are dropped: a damaged
/// record may have been written under one of them, with unknown clocks.
fn move_to_quarantine(
    tx: &Connection,
    seal: &ValueSeal,
    number: u32,
    name: &DocName,
    damaged: &[DamagedRecord],
    at: Millis,
) -> rusqlite::Result<Vec<u64>> {
    let mut moved = Vec::new();
    for DamagedRecord { seq, reason, .. } in damaged {
        let Some(data) = read_record_bytes(tx, number, *seq)? else { continue };
        let reason = format!("record {seq}: {reason}");
        quarantine::add(tx, seal, &RefusedUpdate::new(name.as_str(), &data, &reason, at))?;
        // As if it were large, so that a body is deleted whatever the damaged length is.
        delete_records(tx, number, &[(seq.0, u32::MAX)])?;
        moved.push(seq.0);
    }
    if let Some(data) = read_snapshot_if_damaged(tx, seal, number, name)? {
        let reason = "a snapshot whose hash is wrong";
        quarantine::add(tx, seal, &RefusedUpdate::new(name.as_str(), &data, reason, at))?;
        for table in ["snapshot", "snapshot_body"] {
            tx.execute(&format!("DELETE FROM {table} WHERE doc = ?1"), [number])?;
        }
    }
    tx.execute("DELETE FROM fact WHERE doc = ?1", [number])?;
    tx.execute("DELETE FROM past_head WHERE doc = ?1", [number])?;
    tx.execute("DELETE FROM released", [])?;
    Ok(moved)
}
