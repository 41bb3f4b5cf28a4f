//! The key that opens a store, and another in its place.

use super::{CHANGE_KEY, read_record, write_record};
use crate::{
    StoreError,
    encryption::{KeyKind, KeyRecord, UnlockKey},
    sqlite::{shared_connections::SharedConnections, store_error::store_error},
};

impl SharedConnections {
    /// Returns the kind of key that opens the store; `None` for a plain store.
    pub(in crate::sqlite) fn key_kind(&self) -> Result<Option<KeyKind>, StoreError> {
        let Some(cipher) = &self.seal.0 else { return Ok(None) };
        if let Some(record) = read_record(&*self.reader()?)? {
            *cipher.kind.lock() = record.kind();
        }
        Ok(Some(*cipher.kind.lock()))
    }

    /// Seals the data key under another key. Handles that are open continue.
    pub(in crate::sqlite) fn change_key(&self, key: &UnlockKey) -> Result<(), StoreError> {
        let failed = |source| StoreError::Key { path: self.path.clone(), source };
        let action = "have another key: it is not encrypted";
        let cipher = self.seal.0.as_ref().ok_or(StoreError::Unsupported { action })?;
        self.ensure_writable(CHANGE_KEY)?;
        let record = KeyRecord::seal(&cipher.key, key).map_err(failed)?;
        {
            let mut writer = self.writer(CHANGE_KEY)?;
            self.syncer.ensure_sound()?;
            let tx = writer.begin(true, CHANGE_KEY)?;
            write_record(&tx, &record)?;
            tx.commit().map_err(store_error(CHANGE_KEY))?;
        }
        *cipher.kind.lock() = record.kind();
        // The record under the old key is in the write-ahead log until that is emptied.
        self.wipe().map_err(|error| StoreError::OldKeyLeft { source: Box::new(error) })
    }
}
