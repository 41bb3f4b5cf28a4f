//! The rows of the log, as far as the index needs them.

use rusqlite::Connection;
use yfs_types::time::Millis;

use super::{super::log_head::checksum, KIND_UPDATE};
use crate::HandleOrigin;

/// The fields of one row of the log that the index needs.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct IndexRow {
    pub(in super::super) seq: u64,
    pub(in super::super) doc: u32,
    pub(in super::super) kind: i64,
    pub(in super::super) own: bool,
    /// The handle that appended the row; for a marker, the handle that appended the record that it
    /// reaches.
    pub(in super::super) origin: HandleOrigin,
    pub(in super::super) len: u32,
    /// For a marker, the position up to which records were removed.
    pub(in super::super) reaches: u64,
    /// Whether the row is readable. The data of updates is checked when it is read.
    pub(in super::super) sound: bool,
}

/// Reads the rows after a position.
pub(super) fn read_rows(
    connection: &Connection,
    after: u64,
    own: HandleOrigin,
) -> rusqlite::Result<Vec<IndexRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, doc, kind, origin, len, at, crc, CASE kind WHEN 0 THEN NULL ELSE data END
         FROM log WHERE seq > ?1 ORDER BY seq",
    )?;
    let rows = statement.query_map([after.cast_signed()], |row| {
        let number = |column| row.get_ref(column).map(|value| value.as_i64().unwrap_or(-1));
        let (doc, len) = (u32::try_from(number(1)?), u32::try_from(number(4)?));
        let (kind, origin) = (number(2)?, HandleOrigin(number(3)?.cast_unsigned()));
        let mut found = IndexRow {
            seq: number(0)?.cast_unsigned(),
            doc: doc.unwrap_or(0),
            kind,
            own: origin == own,
            origin,
            len: len.unwrap_or(0),
            reaches: 0,
            sound: doc.is_ok() && len.is_ok(),
        };
        if kind != KIND_UPDATE {
            let data = row.get_ref(7)?.as_blob().unwrap_or_default();
            let crc = checksum(found.doc, kind, origin, Millis(number(5)?), data);
            let number_at = |at: usize| {
                let bytes = data.get(at..at + 8)?;
                bytes.try_into().ok().map(u64::from_le_bytes)
            };
            found.reaches = number_at(0).unwrap_or(0);
            // Stores of formats 1 and 2 did not record the handle.
            found.origin = HandleOrigin(number_at(8).unwrap_or(0));
            found.sound &= matches!(data.len(), 8 | 16) && i64::from(crc) == number(6)?;
        }
        Ok(found)
    })?;
    rows.collect()
}
