//! Compaction: replaces records by snapshots.

use rusqlite::{Connection, OptionalExtension};
use yfs_types::{hash::ContentHash, time::Millis};

use super::{
    doc_values::read_past_heads,
    index::{DocEntry, IndexRow, KIND_FORGOTTEN, KIND_SNAPSHOT, KIND_UPDATE},
    log::SqliteLog,
    log_head::{checksum, head as log_head},
    schema::INLINE_LEN,
    seal::{ValuePlace, ValueSeal},
    store_error::store_error,
};
use crate::{
    CompactionOutcome, DocHead, DocName, HandleOrigin, LogRecord, MergeFn, MergedSnapshot, Seq,
    StoreError, StoredDocument, past_heads,
};

const COMPACT: &str = "compact a document";
const FORGET: &str = "forget a document";

/// The number of pages that a compaction returns to the system, if many are free.
const RECLAIMED_PAGES: u32 = 512;

impl SqliteLog {
    pub(super) fn compact(
        &self,
        name: &DocName,
        merge: &MergeFn<'_>,
    ) -> Result<CompactionOutcome, StoreError> {
        let before = self.load(name)?;
        let Some(last) = before.updates.last() else { return Ok(CompactionOutcome::Nothing) };
        let (last, at) = (last.head(), last.at);
        if before.snapshot.is_none() && !before.damaged.is_empty() {
            // The damaged snapshot may be worth more to a person than a new one without its
            // content.
            let detail = format!("document {name}: {}", before.damaged[0].reason);
            return Err(StoreError::Corrupt { action: COMPACT, detail });
        }
        let merged = merge(before.snapshot.as_deref(), &before.updates)
            .map_err(|source| StoreError::Merge { doc: name.clone(), source: source.into() })?;
        let absorbed: Vec<(u64, u32)> = before
            .updates
            .iter()
            .zip(&merged.absorbed)
            .filter(|(_, absorbed)| **absorbed)
            .map(|(record, _)| (record.seq.0, record.data.len() as u32))
            .collect();
        if absorbed.is_empty() {
            return Ok(CompactionOutcome::Nothing);
        }
        self.replace(name, &before, &absorbed, &merged, last, at)
    }

    /// Replaces records by a snapshot, unless another handle did so since `before` was loaded.
    fn replace(
        &self,
        name: &DocName,
        before: &StoredDocument,
        absorbed: &[(u64, u32)],
        merged: &MergedSnapshot,
        last: DocHead,
        at: Millis,
    ) -> Result<CompactionOutcome, StoreError> {
        let state = &merged.state;
        let mut writer = self.shared.writer(COMPACT)?;
        let tx = writer.begin(false, COMPACT)?;
        let Some((number, doc)) = self.find_entry(&tx, name)? else {
            return Ok(CompactionOutcome::Raced);
        };
        // A marker beyond what was loaded means that another handle was faster.
        if doc.marker > before.upto.0 {
            return Ok(CompactionOutcome::Raced);
        }
        let (n_known, compacted) = (doc.n_records(), doc.compacted_head());
        // Records that stay may be older than those that an earlier compaction removed. Only that
        // compaction's marker records its position, and the marker is deleted below.
        let reaches = last.max(compacted);
        let write = || -> rusqlite::Result<IndexRow> {
            let place = ValuePlace::Snapshot { doc: name, upto: reaches.seq.0 };
            let data = self.shared.seal.seal(place, state);
            let marker = write_snapshot(&tx, number, state.len(), &data, reaches, at, self.origin)?;
            self.write_past_heads(&tx, number, name, before, &merged.changes)?;
            delete_records(&tx, number, absorbed)?;
            rewrite_records(&tx, &self.shared.seal, number, before, merged)?;
            Ok(marker)
        };
        let marker = write().map_err(store_error(COMPACT))?;
        tx.commit().map_err(store_error(COMPACT))?;
        let gone = |seq| absorbed.binary_search_by_key(&seq, |(seq, _)| *seq).is_ok();
        self.note_removal(&writer.connection, number, marker, gone)?;
        reclaim(&writer.connection);
        drop(writer);
        self.shared.syncer.mark_unsynced();
        self.watch.record_head(marker.seq);
        let old_snapshot = before.snapshot.as_ref().map_or(0, |state| state.len() as u64);
        let old_records: u64 = absorbed.iter().map(|(_, len)| u64::from(*len)).sum();
        Ok(CompactionOutcome::Done {
            n_absorbed: absorbed.len() as u64,
            n_kept: n_known.saturating_sub(absorbed.len() as u64),
            bytes_before: old_snapshot + old_records,
            bytes_after: state.len() as u64,
        })
    }

    pub(super) fn forget(&self, name: &DocName, head: Seq) -> Result<u64, StoreError> {
        let mut writer = self.shared.writer(FORGET)?;
        let tx = writer.begin(false, FORGET)?;
        let Some((number, doc)) = self.find_entry(&tx, name)? else { return Ok(0) };
        if doc.head != head.0 {
            return Err(StoreError::HeadMoved { doc: name.clone(), head: Seq(doc.head) });
        }
        let records = self.look_up(&tx, |index| index.records_after(number, 0))?;
        let forget = || -> rusqlite::Result<IndexRow> {
            delete_records(&tx, number, &records)?;
            delete_old_marker(&tx, number, doc.marker)?;
            for table in ["snapshot", "snapshot_body", "past_head", "fact"] {
                tx.execute(&format!("DELETE FROM {table} WHERE doc = ?1"), [number])?;
            }
            write_marker(&tx, number, KIND_FORGOTTEN, doc.doc_head(), 0, Millis(0), self.origin)
        };
        // Clearing the freed pages would write all of them, and a full disk has no room for that.
        // `wipe` clears them on request.
        tx.execute_batch("PRAGMA secure_delete = OFF").map_err(store_error(FORGET))?;
        let forgotten = forget();
        tx.execute_batch("PRAGMA secure_delete = ON").map_err(store_error(FORGET))?;
        let marker = forgotten.map_err(store_error(FORGET))?;
        tx.commit().map_err(store_error(FORGET))?;
        self.note_removal(&writer.connection, number, marker, |seq| seq <= doc.head)?;
        reclaim(&writer.connection);
        drop(writer);
        self.shared.syncer.mark_unsynced();
        self.watch.record_head(marker.seq);
        Ok(doc.bytes + doc.snapshot_bytes)
    }

    /// Stores the heads that the snapshot covers, together with those that the previous snapshot
    /// covered.
    fn write_past_heads(
        &self,
        tx: &Connection,
        number: u32,
        name: &DocName,
        before: &StoredDocument,
        changes: &[Vec<u8>],
    ) -> rusqlite::Result<()> {
        let heads = read_past_heads(tx, &self.shared.seal, number, name)?;
        let heads = past_heads::extend_heads(heads, before, changes);
        if heads.is_empty() {
            return tx.execute("DELETE FROM past_head WHERE doc = ?1", [number]).map(drop);
        }
        let data = past_heads::encode(&heads)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        let data = self.shared.seal.seal(ValuePlace::PastHeads { doc: name }, &data);
        tx.prepare_cached("INSERT OR REPLACE INTO past_head (doc, crc, data) VALUES (?1, ?2, ?3)")?
            .execute((number, crc32fast::hash(&data), data.as_ref()))?;
        Ok(())
    }

    /// Returns the number and entry of a document, in the view of a transaction.
    fn find_entry(
        &self,
        tx: &Connection,
        name: &DocName,
    ) -> Result<Option<(u32, DocEntry)>, StoreError> {
        let head = log_head(tx).map_err(store_error(COMPACT))?;
        self.read_index(tx, head, |index| {
            let number = index.find(name)?;
            Ok(number.and_then(|number| Some((number, index.doc(number)?.clone()))))
        })
    }

    /// Adds the marker of records that are not in the log any more, after the commit.
    fn note_removal(
        &self,
        connection: &Connection,
        number: u32,
        marker: IndexRow,
        gone: impl Fn(u64) -> bool,
    ) -> Result<(), StoreError> {
        {
            let mut index = self.index.lock();
            index.add(marker);
            index.set_complete_to(marker.seq);
        }
        self.look_up(connection, |index| index.drop_records(number, &gone))
    }
}

fn write_snapshot(
    tx: &Connection,
    number: u32,
    len: usize,
    data: &[u8],
    reaches: DocHead,
    at: Millis,
    origin: HandleOrigin,
) -> rusqlite::Result<IndexRow> {
    let find = "SELECT marker FROM snapshot WHERE doc = ?1";
    let old: Option<i64> = tx.query_row(find, [number], |row| row.get(0)).optional()?;
    delete_old_marker(tx, number, old.unwrap_or(0).cast_unsigned())?;
    let marker = write_marker(tx, number, KIND_SNAPSHOT, reaches, len, at, origin)?;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO snapshot (doc, upto, marker, at, len, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        number,
        reaches.seq.0.cast_signed(),
        marker.seq.cast_signed(),
        at.0,
        len as i64,
        ContentHash::of(data).as_bytes(),
    ))?;
    tx.prepare_cached("INSERT OR REPLACE INTO snapshot_body (doc, data) VALUES (?1, ?2)")?
        .execute((number, data))?;
    Ok(marker)
}

/// Appends a marker, which reports to tailing handles that earlier records were removed.
fn write_marker(
    tx: &Connection,
    number: u32,
    kind: i64,
    reaches: DocHead,
    snapshot_len: usize,
    at: Millis,
    origin: HandleOrigin,
) -> rusqlite::Result<IndexRow> {
    let mut data = [0; 16];
    data[..8].copy_from_slice(&reaches.seq.0.to_le_bytes());
    data[8..].copy_from_slice(&reaches.origin.0.to_le_bytes());
    let len = u32::try_from(snapshot_len).unwrap_or(u32::MAX);
    let crc = checksum(number, kind, origin, at, &data);
    let seq = tx
        .prepare_cached(
            "INSERT INTO log (doc, kind, origin, at, crc, len, data)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .insert((number, kind, origin.0.cast_signed(), at.0, crc, len, &data))?;
    Ok(IndexRow {
        seq: seq.cast_unsigned(),
        doc: number,
        kind,
        own: true,
        origin: reaches.origin,
        len,
        reaches: reaches.seq.0,
        sound: true,
    })
}

fn delete_old_marker(tx: &Connection, number: u32, marker: u64) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM log WHERE seq = ?1 AND doc = ?2 AND kind <> 0")?
        .execute((marker.cast_signed(), number))?;
    Ok(())
}

/// Deletes records of one document, given by position and size.
pub(super) fn delete_records(
    tx: &Connection,
    number: u32,
    doomed: &[(u64, u32)],
) -> rusqlite::Result<()> {
    let mut delete =
        tx.prepare_cached("DELETE FROM log WHERE seq = ?1 AND doc = ?2 AND kind = 0")?;
    let mut delete_body = tx.prepare_cached("DELETE FROM body WHERE seq = ?1")?;
    for (seq, len) in doomed {
        delete.execute((seq.cast_signed(), number))?;
        if *len as usize > INLINE_LEN {
            delete_body.execute([seq.cast_signed()])?;
        }
    }
    Ok(())
}

/// Replaces the data of records that stay. Each stays where it was: in the log, or in the table for
/// large updates.
fn rewrite_records(
    tx: &Connection,
    seal: &ValueSeal,
    number: u32,
    before: &StoredDocument,
    merged: &MergedSnapshot,
) -> rusqlite::Result<()> {
    for (index, data) in &merged.rewritten {
        let record = &before.updates[*index];
        let LogRecord { doc, origin, at, .. } = record;
        let place = ValuePlace::Update { doc, seq: record.seq.0, origin: *origin, at: *at };
        let stored = seal.seal(place, data);
        let crc = checksum(number, KIND_UPDATE, *origin, *at, &stored);
        let is_inline = record.data.len() <= INLINE_LEN;
        let seq = record.seq.0.cast_signed();
        tx.prepare_cached("UPDATE log SET crc = ?2, len = ?3, data = ?4 WHERE seq = ?1")?
            .execute((seq, crc, data.len() as i64, is_inline.then_some(stored.as_ref())))?;
        if !is_inline {
            tx.prepare_cached("UPDATE body SET data = ?2 WHERE seq = ?1")?
                .execute((seq, stored.as_ref()))?;
        }
    }
    Ok(())
}

/// Returns some free pages to the system, if a quarter of the file is free. That writes as well, so
/// it may fail on a full disk; the compaction before it stays committed.
fn reclaim(connection: &Connection) {
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, u32>(0));
    let reclaim = || -> rusqlite::Result<()> {
        let n_free = number("PRAGMA freelist_count")?;
        if n_free > RECLAIMED_PAGES && n_free > number("PRAGMA page_count")? / 4 {
            connection.execute_batch(&format!("PRAGMA incremental_vacuum({RECLAIMED_PAGES})"))?;
        }
        Ok(())
    };
    reclaim().ok();
}
