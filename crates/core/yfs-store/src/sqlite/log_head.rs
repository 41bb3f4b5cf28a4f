//! The end of the log, and the checksums of its rows.

use rusqlite::{Connection, OptionalExtension};
use yfs_types::time::Millis;

use crate::HandleOrigin;

/// Returns the last position that was given, in the view of a transaction.
pub(super) fn head(connection: &Connection) -> rusqlite::Result<u64> {
    let mut statement =
        connection.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'log'")?;
    let head: Option<i64> = statement.query_row([], |row| row.get(0)).optional()?;
    Ok(head.unwrap_or(0).cast_unsigned())
}

/// Returns a number that changes whenever another connection has committed.
pub(super) fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// Returns the checksum of a row of the log.
pub(super) fn checksum(
    number: u32,
    kind: i64,
    origin: HandleOrigin,
    at: Millis,
    data: &[u8],
) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&[kind as u8]);
    hasher.update(&origin.0.to_le_bytes());
    hasher.update(&at.0.to_le_bytes());
    hasher.update(data);
    hasher.finalize()
}
