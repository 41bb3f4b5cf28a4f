//! Writing when the disk is full.

use std::sync::atomic::Ordering;

use crate::{StoreError, sqlite::shared_connections::SharedConnections};

impl SharedConnections {
    /// Retries an attempt that failed on a full disk: once with the space that the write-ahead log
    /// wastes, and, if it `may_use_reserve`, once with the reserve.
    pub(in crate::sqlite) fn with_room<T>(
        &self,
        may_use_reserve: bool,
        mut attempt: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let is_full =
            |result: &Result<T, StoreError>| matches!(result, Err(StoreError::Full { .. }));
        let mut result = attempt();
        if is_full(&result) {
            self.restart_log();
            result = attempt();
        }
        if is_full(&result) && may_use_reserve && self.reserve.release() {
            // Without restarting the log again: that might use up the whole reserve.
            result = attempt();
            self.reserve.is_open.store(false, Ordering::Relaxed);
        }
        result
    }

    /// Runs a removal with the reserve, and fills the reserve again afterwards.
    pub(in crate::sqlite) fn run_removal<T>(
        &self,
        attempt: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let result = self.with_room(true, attempt);
        if result.is_ok() && !self.read_only {
            self.reserve.fill();
        }
        result
    }

    /// Moves the write-ahead log to the database, so that its space can be written again. If that
    /// is not possible, the next attempt fails as the last one did.
    fn restart_log(&self) {
        if let Ok(connection) = self.location.connect() {
            let sql = "PRAGMA wal_checkpoint(RESTART)";
            connection.query_row(sql, [], |row| row.get::<_, bool>(0)).ok();
        }
    }
}
