//! What this machine knows: the tables that are not part of the log.

use std::sync::Arc;

use rusqlite::OptionalExtension;
use yfs_types::time::Millis;

use super::{shared_connections::SharedConnections, store_error::store_error};
use crate::StoreError;

const SEEN: &str = "read when a key was first seen";

/// What distinguishes the keys of this table from settings when they are hashed.
const FIRST_SEEN: &str = "first seen";

/// The tables of first sights, rejected updates and client ids, and the files of secrets.
pub(super) struct SqliteLocal {
    pub(super) shared: Arc<SharedConnections>,
}

impl SqliteLocal {
    pub(super) fn note_first_seen(&self, keys: &[&str], at: Millis) -> Result<(), StoreError> {
        const SQL: &str = "INSERT OR IGNORE INTO first_seen (key, at) VALUES (?1, ?2)";
        self.shared.write("record the first sight of keys", |tx| {
            let mut insert = tx.prepare_cached(SQL).map_err(store_error(SEEN))?;
            for key in keys {
                let key = self.shared.seal.stored_key(FIRST_SEEN, key);
                insert.execute((key, at.0)).map_err(store_error(SEEN))?;
            }
            Ok(())
        })
    }

    pub(super) fn first_seen(&self, key: &str) -> Result<Option<Millis>, StoreError> {
        const SQL: &str = "SELECT at FROM first_seen WHERE key = ?1";
        let reader = self.shared.reader()?;
        let mut find = reader.prepare_cached(SQL).map_err(store_error(SEEN))?;
        let key = self.shared.seal.stored_key(FIRST_SEEN, key);
        find.query_row([key], |row| row.get(0).map(Millis)).optional().map_err(store_error(SEEN))
    }

    pub(super) fn clear_first_seen(&self, keys: &[&str]) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM first_seen WHERE key = ?1";
        self.shared.write("clear the first sight of keys", |tx| {
            let mut delete = tx.prepare_cached(SQL).map_err(store_error(SEEN))?;
            for key in keys {
                delete
                    .execute([self.shared.seal.stored_key(FIRST_SEEN, key)])
                    .map_err(store_error(SEEN))?;
            }
            Ok(())
        })
    }
}
