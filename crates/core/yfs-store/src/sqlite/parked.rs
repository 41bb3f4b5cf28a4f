//! Notes of the documents in which updates wait: settings of the store, one for each document.

use super::{local::SqliteLocal, seal::ValuePlace, store_error::store_error};
use crate::{
    DocName, StoreError,
    parked::{PARKED_END, PARKED_PREFIX, ParkedNote},
};

const ACTION: &str = "note the updates that wait in a document";
const READ: &str = "list the documents in which updates wait";

impl SqliteLocal {
    pub(super) fn note_parked(
        &self,
        doc: &DocName,
        note: Option<&ParkedNote>,
    ) -> Result<(), StoreError> {
        let key = ParkedNote::key(doc);
        self.shared.write(ACTION, |tx| {
            let written = match note {
                Some(note) => {
                    let value = note.encode();
                    let value = self.shared.seal.seal(ValuePlace::Setting(&key), &value);
                    tx.execute(
                        "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)",
                        (&key, value.as_ref()),
                    )
                }
                None => tx.execute("DELETE FROM meta WHERE key = ?1", [&key]),
            };
            written.map(drop).map_err(store_error(ACTION))
        })
    }

    pub(super) fn parked(&self) -> Result<Vec<ParkedNote>, StoreError> {
        let reader = self.shared.reader()?;
        let read = || -> rusqlite::Result<Vec<(String, Vec<u8>)>> {
            let mut find = reader.prepare_cached(
                "SELECT key, value FROM meta WHERE key >= ?1 AND key < ?2 ORDER BY key",
            )?;
            let range = [PARKED_PREFIX, PARKED_END];
            let rows = find.query_map(range, |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        let found = read().map_err(store_error(READ))?;
        // A note that cannot be read is written again when its document changes.
        let notes = found.into_iter().filter_map(|(key, value)| {
            let doc = DocName::parse(key.strip_prefix(PARKED_PREFIX)?).ok()?;
            let value = self.shared.seal.open(ValuePlace::Setting(&key), value)?;
            ParkedNote::decode(doc, &value)
        });
        Ok(notes.collect())
    }
}
