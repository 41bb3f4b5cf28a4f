//! The table of settings.

use std::borrow::Cow;

use rusqlite::OptionalExtension;

use super::{seal::ValuePlace, shared_connections::SharedConnections, store_error::store_error};
use crate::StoreError;

const SETTING: &str = "read a setting";

/// What distinguishes the keys of settings from those of first sights when they are hashed.
const SETTINGS: &str = "setting";

/// Reports whether a setting is the store's own: a position, a count or a random mark. Those are
/// not sealed, since they are also read without the key's cipher.
fn is_own(key: &str) -> bool {
    key.starts_with("store:")
}

impl SharedConnections {
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
}
