//! What the store keeps of a document besides its records: the snapshot, the heads that it covers,
//! and the fact.

use rusqlite::{Connection, OptionalExtension, Row as SqlRow};
use yfs_types::hash::ContentHash;

use super::{
    log::LOAD,
    seal::{ValuePlace, ValueSeal},
    store_error::store_error,
};
use crate::{
    DamagedRecord, DocFact, DocName, PastHead, Seq, StoreError, StoredDocument, past_heads,
};

/// Reads a snapshot into `loaded`.
pub(super) fn read_snapshot(
    tx: &Connection,
    seal: &ValueSeal,
    number: u32,
    name: &DocName,
    loaded: &mut StoredDocument,
) -> Result<(), StoreError> {
    type Found = (i64, Vec<u8>, Option<Vec<u8>>);
    let mut statement = tx
        .prepare_cached(
            "SELECT upto, hash, data FROM snapshot LEFT JOIN snapshot_body USING (doc)
             WHERE doc = ?1",
        )
        .map_err(store_error(LOAD))?;
    let found: Option<Found> = statement
        .query_row([number], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()
        .map_err(store_error(LOAD))?;
    let Some((upto, hash, data)) = found else { return Ok(()) };
    let upto = upto.cast_unsigned();
    loaded.snapshot_upto = Seq(upto);
    let data = data.filter(|data| hash == ContentHash::of(data).as_bytes());
    let is_whole = data.is_some();
    loaded.snapshot =
        data.and_then(|data| seal.open(ValuePlace::Snapshot { doc: name, upto }, data));
    if loaded.snapshot.is_none() {
        let reason = if is_whole {
            "the snapshot cannot be decrypted".to_owned()
        } else {
            "the snapshot's hash is wrong".to_owned()
        };
        loaded.damaged.push(DamagedRecord { doc: name.clone(), seq: Seq(upto), reason });
    }
    Ok(())
}

/// Returns the bytes that are left of the snapshot of a document, if it is damaged.
pub(super) fn read_snapshot_if_damaged(
    tx: &Connection,
    seal: &ValueSeal,
    number: u32,
    name: &DocName,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut statement = tx.prepare_cached(
        "SELECT hash, data, upto FROM snapshot LEFT JOIN snapshot_body USING (doc) WHERE doc = ?1",
    )?;
    let read = |row: &SqlRow<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: Option<(Vec<u8>, Option<Vec<u8>>, i64)> =
        statement.query_row([number], read).optional()?;
    Ok(found.and_then(|(hash, data, upto)| {
        let data = data.unwrap_or_default();
        let place = ValuePlace::Snapshot { doc: name, upto: upto.cast_unsigned() };
        let is_sound = hash == ContentHash::of(&data).as_bytes() && seal.opens(place, &data);
        (!is_sound).then_some(data)
    }))
}

/// Reads the heads that the snapshot of a document covers. Unreadable ones are dropped: they only
/// help a writer that returns after a compaction.
pub(super) fn read_past_heads(
    tx: &Connection,
    seal: &ValueSeal,
    number: u32,
    name: &DocName,
) -> rusqlite::Result<Vec<PastHead>> {
    let mut statement = tx.prepare_cached("SELECT crc, data FROM past_head WHERE doc = ?1")?;
    let found: Option<(u32, Vec<u8>)> =
        statement.query_row([number], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let sound = found.filter(|(crc, data)| crc32fast::hash(data) == *crc);
    let data = sound.and_then(|(_, data)| seal.open(ValuePlace::PastHeads { doc: name }, data));
    Ok(data.and_then(|data| past_heads::decode(&data)).unwrap_or_default())
}

/// Writes a fact.
pub(super) fn write_fact(
    tx: &Connection,
    seal: &ValueSeal,
    number: u32,
    name: &DocName,
    fact: &DocFact,
) -> rusqlite::Result<()> {
    let mut statement = tx.prepare_cached(
        "INSERT OR REPLACE INTO fact (doc, upto, size, hash) VALUES (?1, ?2, ?3, ?4)",
    )?;
    let place = ValuePlace::FactHash { doc: name, upto: fact.upto, size: fact.size };
    let hash = fact.hash.as_ref().map(|hash| seal.seal(place, hash.as_bytes()));
    let (upto, size) = (fact.upto.0.cast_signed(), fact.size.cast_signed());
    statement.execute((number, upto, size, hash.as_deref()))?;
    Ok(())
}
