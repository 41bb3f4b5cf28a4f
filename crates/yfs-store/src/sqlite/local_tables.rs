//! Local tables: facts, first sights, settings, and sums.

use std::fs;

use rusqlite::OptionalExtension;
use yfs_types::{hash::ContentHash, time::Millis};

use super::{
    SqliteInner,
    index::{DocEntry, IndexTotals},
    log::write_fact,
    schema::{FACT_TABLE, store_error},
    transaction::SqliteTransaction,
    wipe::note_rewrite,
};
use crate::{DocFact, DocName, Seq, StoreError, StoreStats};

const FACTS: &str = "read facts of documents";
const REPAIR: &str = "repair the facts of documents";
const SEEN: &str = "read when a key was first seen";
const SETTING: &str = "read a setting";
const STATS: &str = "compute the statistics of the store";

impl SqliteInner {
    pub(super) fn doc_facts(&self, docs: &[DocName]) -> Result<Vec<Option<DocFact>>, StoreError> {
        let head = |number, doc: &DocEntry| (number, doc.head);
        let known: Vec<Option<(u32, u64)>> =
            self.with_index(|index| docs.iter().map(|name| index.peek(name, head)).collect())?;
        let reader = self.reader()?;
        let tx = SqliteTransaction::read(&reader).map_err(store_error(FACTS))?;
        let mut find = tx
            .prepare_cached("SELECT upto, size, hash FROM fact WHERE doc = ?1")
            .map_err(store_error(FACTS))?;
        let mut facts = Vec::with_capacity(docs.len());
        for known in known {
            let Some((number, head)) = known else {
                facts.push(None);
                continue;
            };
            let fact = find
                .query_row([number], |row| {
                    Ok(DocFact {
                        upto: Seq(row.get::<_, i64>(0)?.cast_unsigned()),
                        size: row.get::<_, i64>(1)?.cast_unsigned(),
                        hash: row.get::<_, Option<[u8; 32]>>(2)?.map(ContentHash::from_bytes),
                    })
                })
                .optional()
                .map_err(store_error(FACTS));
            let fact = match fact {
                // Facts can be computed again; `check` reports the damage.
                Err(StoreError::Corrupt { .. }) => None,
                fact => fact?,
            };
            facts.push(fact.filter(|fact| fact.upto.0 >= head));
        }
        Ok(facts)
    }

    pub(super) fn set_doc_facts(&self, facts: &[(DocName, DocFact)]) -> Result<(), StoreError> {
        let known: Vec<Option<u32>> =
            self.with_index(|index| facts.iter().map(|(name, _)| index.find(name)).collect())?;
        self.write("write facts of documents", |tx| {
            for ((_, fact), number) in facts.iter().zip(known) {
                if let Some(number) = number {
                    write_fact(tx, number, fact).map_err(store_error(FACTS))?;
                }
            }
            Ok(())
        })
    }

    /// Makes the table of facts anew if it cannot be read, and reports whether that was so.
    pub(super) fn repair_facts(&self) -> Result<bool, StoreError> {
        let read = "SELECT count(upto + size + coalesce(length(hash), 0)) FROM fact";
        let count = self.reader()?.query_row(read, [], |row| row.get::<_, i64>(0));
        match count.map_err(store_error(FACTS)) {
            Ok(_) => return Ok(false),
            Err(StoreError::Corrupt { .. }) => (),
            Err(error) => return Err(error),
        }
        // Dropping the table would read it. Its pages go when the file is rewritten.
        let forget = "PRAGMA writable_schema = ON;
                      DELETE FROM sqlite_schema WHERE name = 'fact';
                      PRAGMA writable_schema = RESET;";
        self.write(REPAIR, |tx| {
            let made = tx.execute_batch(forget).and_then(|()| tx.execute_batch(FACT_TABLE));
            made.and_then(|()| note_rewrite(tx)).map_err(store_error(REPAIR))
        })?;
        self.wipe()?;
        Ok(true)
    }

    pub(super) fn note_first_seen(&self, keys: &[&str], at: Millis) -> Result<(), StoreError> {
        const SQL: &str = "INSERT OR IGNORE INTO first_seen (key, at) VALUES (?1, ?2)";
        self.write("record the first sight of keys", |tx| {
            let mut insert = tx.prepare_cached(SQL).map_err(store_error(SEEN))?;
            for key in keys {
                insert.execute((key, at.0)).map_err(store_error(SEEN))?;
            }
            Ok(())
        })
    }

    pub(super) fn first_seen(&self, key: &str) -> Result<Option<Millis>, StoreError> {
        const SQL: &str = "SELECT at FROM first_seen WHERE key = ?1";
        let reader = self.reader()?;
        let mut find = reader.prepare_cached(SQL).map_err(store_error(SEEN))?;
        find.query_row([key], |row| row.get(0).map(Millis)).optional().map_err(store_error(SEEN))
    }

    pub(super) fn clear_first_seen(&self, keys: &[&str]) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM first_seen WHERE key = ?1";
        self.write("clear the first sight of keys", |tx| {
            let mut delete = tx.prepare_cached(SQL).map_err(store_error(SEEN))?;
            for key in keys {
                delete.execute([key]).map_err(store_error(SEEN))?;
            }
            Ok(())
        })
    }

    pub(super) fn get_meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        const SQL: &str = "SELECT value FROM meta WHERE key = ?1";
        let reader = self.reader()?;
        let mut find = reader.prepare_cached(SQL).map_err(store_error(SETTING))?;
        find.query_row([key], |row| row.get(0)).optional().map_err(store_error(SETTING))
    }

    pub(super) fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        const SQL: &str = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
        self.write("write a setting", |tx| {
            tx.execute(SQL, (key, value)).map_err(store_error(SETTING))?;
            Ok(())
        })
    }

    pub(super) fn init_meta(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        if let Some(found) = self.get_meta(key)? {
            return Ok(found);
        }
        self.write("write a setting", |tx| {
            tx.execute("INSERT OR IGNORE INTO meta (key, value) VALUES (?1, ?2)", (key, value))
                .map_err(store_error(SETTING))?;
            let find = "SELECT value FROM meta WHERE key = ?1";
            tx.query_row(find, [key], |row| row.get(0)).map_err(store_error(SETTING))
        })
    }

    pub(super) fn stats(&self) -> Result<StoreStats, StoreError> {
        let IndexTotals { n_docs, n_records, record_bytes, snapshot_bytes } =
            self.with_index(|index| index.totals())?;
        let mut stats =
            StoreStats { n_docs, n_records, record_bytes, snapshot_bytes, ..StoreStats::default() };
        let reader = self.reader()?;
        let sql = "SELECT count(*), coalesce(sum(size), 0) FROM blob";
        let (n_blobs, blob_bytes): (i64, i64) = reader
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(store_error(STATS))?;
        stats.n_blobs = n_blobs.cast_unsigned();
        stats.blob_bytes = blob_bytes.cast_unsigned();
        drop(reader);
        self.count_quarantined(&mut stats)?;
        stats.head = self.head()?;
        for suffix in ["", "-wal"] {
            let mut path = self.path.clone().into_os_string();
            path.push(suffix);
            stats.file_bytes += fs::metadata(path).map_or(0, |metadata| metadata.len());
        }
        Ok(stats)
    }
}
