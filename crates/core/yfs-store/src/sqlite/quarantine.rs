//! Rejected updates, each kept once, within limits.

use rusqlite::{Connection, OptionalExtension, Row};
use yfs_types::time::Millis;

use super::{
    local::SqliteLocal,
    seal::{ValuePlace, ValueSeal},
    store_error::store_error,
};
use crate::{
    DocName, QuarantinedUpdate, StoreError, StoreStats,
    quarantine::{MAX_AGE_MS, MAX_BYTES, MAX_DOC_BYTES, RefusedUpdate},
};

const ADD: &str = "quarantine an update";
const READ: &str = "read the quarantine";
const DROP: &str = "drop updates from quarantine";

/// Creates the table. `data` is the last column, so that listing does not read it.
pub(super) const TABLE: &str = "
CREATE TABLE quarantine (
    n INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, doc TEXT NOT NULL,
    first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, times INTEGER NOT NULL,
    size INTEGER NOT NULL, len INTEGER NOT NULL, reason TEXT NOT NULL, data BLOB) STRICT;
";

/// Creates the index that enforces the limits without reading the updates; since format 3.
pub(super) const INDEX: &str = "
CREATE INDEX quarantine_age ON quarantine (doc, last_at, n, size);
";

/// Sums the sizes of a document's updates, or of all.
const SUM: &str = "SELECT coalesce(sum(size), 0) FROM quarantine WHERE ?1 IS NULL OR doc = ?1";

/// Lists the updates of a document, or of all, from the oldest, without the newest.
const OLDEST: &str = "
SELECT n, size FROM quarantine WHERE (?1 IS NULL OR doc = ?1) AND n <> ?2 ORDER BY last_at, n";

/// The setting that counts the updates that were dropped because of a limit.
const DROPPED_KEY: &str = "store:quarantine-dropped";

impl SqliteLocal {
    pub(super) fn quarantine(
        &self,
        doc: &DocName,
        update: &[u8],
        reason: &str,
        at: Millis,
    ) -> Result<(), StoreError> {
        let refused = RefusedUpdate::new(doc.as_str(), update, reason, at);
        self.shared.write(ADD, |tx| add(tx, &self.shared.seal, &refused).map_err(store_error(ADD)))
    }

    pub(super) fn quarantined(&self) -> Result<Vec<QuarantinedUpdate>, StoreError> {
        if !self.shared.has_quarantine {
            return Ok(Vec::new());
        }
        let reader = self.shared.reader()?;
        let read = || -> rusqlite::Result<Vec<Option<QuarantinedUpdate>>> {
            let mut statement = reader.prepare(
                "SELECT n, doc, first_at, last_at, times, len, data IS NOT NULL, reason,
                 hash
                 FROM quarantine ORDER BY n",
            )?;
            let rows = statement.query_map([], |row| {
                let doc = row.get_ref(1)?.as_str().ok().and_then(|doc| DocName::parse(doc).ok());
                // An entry with an invalid name belongs to no document; dropping all entries drops
                // it.
                let Some(doc) = doc else { return Ok(None) };
                Ok(Some(QuarantinedUpdate {
                    number: row.get::<_, i64>(0)?.cast_unsigned(),
                    doc,
                    first_at: Millis(row.get(2)?),
                    last_at: Millis(row.get(3)?),
                    n_times: row.get::<_, i64>(4)?.cast_unsigned(),
                    len: row.get::<_, i64>(5)?.cast_unsigned(),
                    is_kept: row.get(6)?,
                    reason: self.open_reason(row)?,
                }))
            })?;
            rows.collect()
        };
        Ok(read().map_err(store_error(READ))?.into_iter().flatten().collect())
    }

    /// Reads the reason of a row of the list.
    fn open_reason(&self, row: &Row<'_>) -> rusqlite::Result<String> {
        let (reason, key) = (row.get(7)?, row.get(8)?);
        let reason = self.shared.seal.open_text(ValuePlace::RejectionReason(&key), reason);
        Ok(reason.unwrap_or_else(|| "the reason cannot be decrypted".to_owned()))
    }

    pub(super) fn quarantined_update(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        if !self.shared.has_quarantine {
            return Ok(None);
        }
        let reader = self.shared.reader()?;
        let find = "SELECT data, hash FROM quarantine WHERE n = ?1";
        let found: Option<(Option<Vec<u8>>, [u8; 32])> = reader
            .query_row(find, [number.cast_signed()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(store_error(READ))?;
        let Some((Some(data), key)) = found else { return Ok(None) };
        let opened = self.shared.seal.open(ValuePlace::RejectedUpdate(&key), data);
        let damaged =
            || StoreError::Corrupt { action: READ, detail: "it cannot be decrypted".to_owned() };
        opened.map(Some).ok_or_else(damaged)
    }

    pub(super) fn drop_quarantined(&self, number: Option<u64>) -> Result<u64, StoreError> {
        self.shared.write(DROP, |tx| {
            let n_dropped = match number {
                Some(number) => {
                    tx.execute("DELETE FROM quarantine WHERE n = ?1", [number.cast_signed()])
                }
                None => tx.execute("DELETE FROM quarantine", []),
            };
            n_dropped.map(|n| n as u64).map_err(store_error(DROP))
        })
    }

    /// Adds the sums of the quarantine to `stats`.
    pub(super) fn count_quarantined(&self, stats: &mut StoreStats) -> Result<(), StoreError> {
        if !self.shared.has_quarantine {
            return Ok(());
        }
        let reader = self.shared.reader()?;
        let sql = "SELECT count(*), coalesce(sum(times), 0),
                   coalesce(sum(CASE WHEN data IS NULL THEN 0 ELSE len END), 0) FROM quarantine";
        let count = || -> rusqlite::Result<[i64; 4]> {
            let [n, times, bytes] =
                reader.query_row(sql, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
            Ok([n, times, bytes, n_dropped(&reader)?])
        };
        let [n, times, bytes, dropped] =
            count().map_err(store_error(READ))?.map(i64::cast_unsigned);
        stats.n_quarantined = n;
        stats.n_refused = times;
        stats.quarantine_bytes = bytes;
        stats.n_quarantine_dropped = dropped;
        Ok(())
    }
}

/// Adds a rejected update, or counts it once more, and drops entries that are too old or over a
/// limit.
pub(super) fn add(
    tx: &Connection,
    seal: &ValueSeal,
    refused: &RefusedUpdate<'_>,
) -> rusqlite::Result<()> {
    let RefusedUpdate { key, doc, update, reason, at } = refused;
    let key = seal.stored_hash(key);
    let again = "UPDATE quarantine SET times = times + 1, last_at = max(last_at, ?2)
                 WHERE hash = ?1";
    if tx.prepare_cached(again)?.execute((&key, at.0))? > 0 {
        return Ok(());
    }
    let insert = "INSERT INTO quarantine
                  (hash, doc, first_at, last_at, times, size, len, reason, data)
                  VALUES (?1, ?2, ?3, ?3, 1, ?4, ?5, ?6, ?7)";
    let (size, len) = (refused.size().cast_signed(), update.len() as i64);
    let place = ValuePlace::RejectedUpdate(&key);
    let data = refused.is_kept().then(|| seal.seal(place, update));
    let reason = seal.seal_text(ValuePlace::RejectionReason(&key), reason);
    let new = tx.prepare_cached(insert)?.insert((
        &key,
        doc,
        at.0,
        size,
        len,
        reason.as_ref(),
        data.as_deref(),
    ))?;
    let old = at.0.saturating_sub(MAX_AGE_MS);
    tx.prepare_cached("DELETE FROM quarantine WHERE last_at < ?1")?.execute([old])?;
    let n_dropped =
        drop_excess(tx, new, Some(doc), MAX_DOC_BYTES)? + drop_excess(tx, new, None, MAX_BYTES)?;
    if n_dropped > 0 {
        let sum = self::n_dropped(tx)?.saturating_add(n_dropped);
        tx.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?
            .execute((DROPPED_KEY, sum.to_le_bytes()))?;
    }
    Ok(())
}

/// Drops the entries of a document, or of all, with the oldest last rejections until the rest is
/// within a limit, and returns how many. The newest stays.
fn drop_excess(
    tx: &Connection,
    newest: i64,
    doc: Option<&str>,
    limit: u64,
) -> rusqlite::Result<i64> {
    let mut sum = tx.prepare_cached(SUM)?;
    let sum: i64 = sum.query_row([doc], |row| row.get(0))?;
    let mut excess = sum.saturating_sub_unsigned(limit);
    if excess <= 0 {
        return Ok(0);
    }
    let mut oldest = tx.prepare_cached(OLDEST)?;
    let mut rows = oldest.query((doc, newest))?;
    let mut dropped = Vec::new();
    while excess > 0 {
        let Some(row) = rows.next()? else { break };
        dropped.push(row.get::<_, i64>(0)?);
        excess -= row.get::<_, i64>(1)?;
    }
    drop(rows);
    for n in &dropped {
        tx.prepare_cached("DELETE FROM quarantine WHERE n = ?1")?.execute([n])?;
    }
    Ok(dropped.len() as i64)
}

fn n_dropped(connection: &Connection) -> rusqlite::Result<i64> {
    let find = "SELECT value FROM meta WHERE key = ?1";
    let found: Option<[u8; 8]> =
        connection.query_row(find, [DROPPED_KEY], |row| row.get(0)).optional()?;
    Ok(found.map_or(0, i64::from_le_bytes))
}

/// Converts the quarantine of format 1, one row at a time: equal updates become one.
pub(super) fn upgrade(tx: &Connection) -> rusqlite::Result<()> {
    tx.execute_batch("ALTER TABLE quarantine RENAME TO quarantine_1")?;
    tx.execute_batch(TABLE)?;
    let mut statement = tx.prepare("SELECT doc, at, reason, data FROM quarantine_1 ORDER BY n")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (doc, reason): (String, String) = (row.get(0)?, row.get(2)?);
        let update = row.get_ref(3)?.as_blob().unwrap_or_default();
        // Encrypted stores are never of format 1.
        let seal = ValueSeal::default();
        add(tx, &seal, &RefusedUpdate::new(&doc, update, &reason, Millis(row.get(1)?)))?;
    }
    drop(rows);
    drop(statement);
    tx.execute_batch("DROP TABLE quarantine_1")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With 8,000 updates of 2 KiB, each further one took tens of milliseconds.
    #[test]
    fn limits_are_held_without_reading_the_updates() {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch(&format!("{TABLE}{INDEX}")).expect("the table");
        for query in [SUM, OLDEST] {
            let explain = format!("EXPLAIN QUERY PLAN {query}");
            let mut statement = connection.prepare(&explain).expect("a query");
            let n_parameters = statement.parameter_count();
            let parameters = [Some("doc"), Some("1")].into_iter().take(n_parameters);
            let plan: String = statement
                .query_row(rusqlite::params_from_iter(parameters), |row| row.get("detail"))
                .expect("a plan");
            assert!(plan.contains("COVERING INDEX quarantine_age"), "{query}: {plan}");
        }
    }
}
