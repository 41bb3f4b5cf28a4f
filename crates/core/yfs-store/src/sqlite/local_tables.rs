//! Local tables: facts, first sights, settings, and sums.

use std::{borrow::Cow, fs};

use rusqlite::{OptionalExtension, Row};
use yfs_types::{hash::ContentHash, time::Millis};

use super::{
    check::page_problems, doc_values::write_fact, index::IndexTotals, inner::SqliteInner,
    schema::FACT_TABLE, seal::ValuePlace, store_error::store_error, transaction::SqliteTransaction,
    wipe::note_rewrite,
};
use crate::{DocFact, DocName, Seq, StoreError, StoreStats};

const FACTS: &str = "read facts of documents";
const REPAIR: &str = "repair the facts of documents";
const SEEN: &str = "read when a key was first seen";
const SETTING: &str = "read a setting";
/// What distinguishes the keys of the two tables of keys when they are hashed.
const FIRST_SEEN: &str = "first seen";
const SETTINGS: &str = "setting";
const STATS: &str = "compute the statistics of the store";

/// The numbers of documents that are passed over to the next one whose facts are read.
const MAX_GAP: u32 = 16;

/// A document whose facts are read.
struct KnownDoc {
    number: u32,
    head: u64,
    /// Its place in the question.
    place: usize,
}

/// Reports whether a setting is the store's own: a position, a count or a random mark. Those are
/// not sealed, since they are also read without the key's cipher.
fn is_own(key: &str) -> bool {
    key.starts_with("store:")
}

impl SqliteInner {
    pub(super) fn doc_facts(&self, docs: &[DocName]) -> Result<Vec<Option<DocFact>>, StoreError> {
        // The index has documents by name, and the table by number: each is read in its order.
        let mut places: Vec<usize> = (0..docs.len()).collect();
        places.sort_unstable_by_key(|place| docs[*place].as_str());
        let names: Vec<&DocName> = places.iter().map(|place| &docs[*place]).collect();
        let heads = self.with_index(|index| index.peek_heads(&names))?;
        let known = places.into_iter().zip(heads);
        let mut known: Vec<KnownDoc> = known
            .filter_map(|(place, head)| head.map(|(number, head)| KnownDoc { number, head, place }))
            .collect();
        known.sort_unstable_by_key(|doc| doc.number);
        let mut facts = vec![None; docs.len()];
        let reader = self.reader()?;
        let tx = SqliteTransaction::read(&reader).map_err(store_error(FACTS))?;
        for run in known.chunk_by(|doc, next| next.number - doc.number <= MAX_GAP) {
            self.read_facts(&tx, docs, run, &mut facts)?;
        }
        Ok(facts)
    }

    /// Reads the facts of documents with ascending numbers, but those that are damaged: they can be
    /// computed again, and `check` reports the damage.
    fn read_facts(
        &self,
        tx: &SqliteTransaction<'_>,
        docs: &[DocName],
        run: &[KnownDoc],
        facts: &mut [Option<DocFact>],
    ) -> Result<(), StoreError> {
        const SQL: &str = "SELECT upto, size, hash, doc FROM fact WHERE doc BETWEEN ?1 AND ?2
                           ORDER BY doc";
        let ([first, ..], [.., last]) = (run, run) else { return Ok(()) };
        let mut read = || -> rusqlite::Result<()> {
            let mut find = tx.prepare_cached(SQL)?;
            let mut rows = find.query([first.number, last.number])?;
            let mut wanted = run.iter().peekable();
            while let Some(row) = rows.next()? {
                let number: u32 = row.get(3)?;
                while wanted.next_if(|doc| doc.number < number).is_some() {}
                while let Some(doc) = wanted.next_if(|doc| doc.number == number) {
                    let fact = self.read_fact(&docs[doc.place], row)?;
                    facts[doc.place] = fact.filter(|fact| fact.upto.0 >= doc.head);
                }
            }
            Ok(())
        };
        match read().map_err(store_error(FACTS)) {
            Err(StoreError::Corrupt { .. }) if run.len() > 1 => {
                let each = run.chunks(1);
                each.into_iter().try_for_each(|one| self.read_facts(tx, docs, one, facts))
            }
            Err(StoreError::Corrupt { .. }) => Ok(()),
            read => read,
        }
    }

    /// Reads a row of `upto, size, hash`; `None` if it is damaged.
    fn read_fact(&self, name: &DocName, row: &Row<'_>) -> rusqlite::Result<Option<DocFact>> {
        let upto = Seq(row.get::<_, i64>(0)?.cast_unsigned());
        let size = row.get::<_, i64>(1)?.cast_unsigned();
        let Some(hash) = row.get::<_, Option<Vec<u8>>>(2)? else {
            return Ok(Some(DocFact { upto, size, hash: None }));
        };
        let hash = self.seal.open(ValuePlace::FactHash { doc: name, upto, size }, hash);
        let hash = hash.and_then(|hash| hash.try_into().ok()).map(ContentHash::from_bytes);
        Ok(hash.map(|hash| DocFact { upto, size, hash: Some(hash) }))
    }

    pub(super) fn set_doc_facts(&self, facts: &[(DocName, DocFact)]) -> Result<(), StoreError> {
        let known: Vec<Option<u32>> =
            self.with_index(|index| facts.iter().map(|(name, _)| index.find(name)).collect())?;
        self.write("write facts of documents", |tx| {
            for ((name, fact), number) in facts.iter().zip(known) {
                if let Some(number) = number {
                    write_fact(tx, &self.seal, number, name, fact).map_err(store_error(FACTS))?;
                }
            }
            Ok(())
        })
    }

    /// Makes the table of facts anew if it is damaged, and reports whether it was.
    pub(super) fn repair_facts(&self) -> Result<bool, StoreError> {
        if page_problems(&*self.reader()?, "PRAGMA quick_check(fact)")?.is_empty() {
            return Ok(false);
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
                let key = self.seal.stored_key(FIRST_SEEN, key);
                insert.execute((key, at.0)).map_err(store_error(SEEN))?;
            }
            Ok(())
        })
    }

    pub(super) fn first_seen(&self, key: &str) -> Result<Option<Millis>, StoreError> {
        const SQL: &str = "SELECT at FROM first_seen WHERE key = ?1";
        let reader = self.reader()?;
        let mut find = reader.prepare_cached(SQL).map_err(store_error(SEEN))?;
        let key = self.seal.stored_key(FIRST_SEEN, key);
        find.query_row([key], |row| row.get(0).map(Millis)).optional().map_err(store_error(SEEN))
    }

    pub(super) fn clear_first_seen(&self, keys: &[&str]) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM first_seen WHERE key = ?1";
        self.write("clear the first sight of keys", |tx| {
            let mut delete = tx.prepare_cached(SQL).map_err(store_error(SEEN))?;
            for key in keys {
                delete
                    .execute([self.seal.stored_key(FIRST_SEEN, key)])
                    .map_err(store_error(SEEN))?;
            }
            Ok(())
        })
    }

    pub(super) fn get_meta(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        const SQL: &str = "SELECT value FROM meta WHERE key = ?1";
        let reader = self.reader()?;
        let mut find = reader.prepare_cached(SQL).map_err(store_error(SETTING))?;
        let stored_key =
            if is_own(key) { Cow::Borrowed(key) } else { self.seal.stored_key(SETTINGS, key) };
        let found = find.query_row([stored_key], |row| row.get(0)).optional();
        found.map_err(store_error(SETTING))?.map(|value| self.open_setting(key, value)).transpose()
    }

    fn open_setting(&self, key: &str, stored: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        let damaged =
            || StoreError::Corrupt { action: SETTING, detail: "it cannot be decrypted".to_owned() };
        if is_own(key) {
            return Ok(stored);
        }
        self.seal.open(ValuePlace::Setting(key), stored).ok_or_else(damaged)
    }

    /// Returns the key and the value of a setting as they are stored.
    fn stored_setting<'v>(&self, key: &'v str, value: &'v [u8]) -> (Cow<'v, str>, Cow<'v, [u8]>) {
        if is_own(key) {
            return (Cow::Borrowed(key), Cow::Borrowed(value));
        }
        let value = self.seal.seal(ValuePlace::Setting(key), value);
        (self.seal.stored_key(SETTINGS, key), value)
    }

    pub(super) fn set_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        const SQL: &str = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
        self.write("write a setting", |tx| {
            let (key, value) = self.stored_setting(key, value);
            tx.execute(SQL, (key, value.as_ref())).map_err(store_error(SETTING))?;
            Ok(())
        })
    }

    pub(super) fn init_meta(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        if let Some(found) = self.get_meta(key)? {
            return Ok(found);
        }
        self.write("write a setting", |tx| {
            let (stored_key, value) = self.stored_setting(key, value);
            let insert = "INSERT OR IGNORE INTO meta (key, value) VALUES (?1, ?2)";
            tx.execute(insert, (&stored_key, value.as_ref())).map_err(store_error(SETTING))?;
            let find = "SELECT value FROM meta WHERE key = ?1";
            let value =
                tx.query_row(find, [stored_key], |row| row.get(0)).map_err(store_error(SETTING))?;
            self.open_setting(key, value)
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
