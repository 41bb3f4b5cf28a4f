//! Erasing removed content from all files, while other processes write.

use std::{
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension};

use super::{scrub::PageScrub, shared_connections::SharedConnections, store_error::store_error};
use crate::StoreError;

const ACTION: &str = "wipe removed content";

/// How long the call tries to empty the write-ahead log while readers use it.
const READERS_TIMEOUT: Duration = Duration::from_secs(10);

/// How long one such try may delay writers.
const TRY_TIMEOUT: Duration = Duration::from_millis(20);

/// The pause for other processes between two transactions of a long job. SQLite has no queue: a
/// waiting process checks every 0.1 to 2 ms whether the store is free.
pub(super) const PAUSE: Duration = Duration::from_millis(2);

/// A setting that requests one rewrite of the whole file: the program that wrote it left deleted
/// content in places that [`PageScrub`] does not read.
const REWRITE_KEY: &str = "store:rewrite";

impl SharedConnections {
    pub(super) fn wipe(&self) -> Result<(), StoreError> {
        self.ensure_writable(ACTION)?;
        if self.must_rewrite().map_err(store_error(ACTION))? {
            self.rewrite_file()?;
        } else {
            let mut scrub = PageScrub::new(self);
            while scrub.step()? {
                if scrub.has_written() {
                    thread::sleep(PAUSE);
                }
            }
        }
        self.empty_log()?;
        self.syncer.mark_unsynced();
        Ok(())
    }

    /// Reports whether the whole file must be rewritten, because single pages cannot be cleared or
    /// a rewrite is requested.
    fn must_rewrite(&self) -> rusqlite::Result<bool> {
        let writer = self.writer.lock();
        let connection = &writer.connection;
        let find = "SELECT 1 FROM meta WHERE key = ?1";
        let is_old = connection.query_row(find, [REWRITE_KEY], |_| Ok(())).optional()?.is_some();
        let mode = connection.query_row("PRAGMA auto_vacuum", [], |row| row.get::<_, i64>(0))?;
        Ok(is_old || mode == 0 || !PageScrub::is_possible(connection))
    }

    /// Rewrites the whole file without deleted content. No other process can write meanwhile.
    fn rewrite_file(&self) -> Result<(), StoreError> {
        let mut writer = self.writer(ACTION)?;
        writer.known = None;
        // The copy may be larger than the memory. It has no deleted content.
        let rewrite = "PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY;";
        writer.connection.execute_batch(rewrite).map_err(store_error(ACTION))?;
        let forget = "DELETE FROM meta WHERE key = ?1";
        writer.connection.execute(forget, [REWRITE_KEY]).map_err(store_error(ACTION))?;
        Ok(())
    }

    /// Empties the write-ahead log, which contains old versions of pages.
    ///
    /// Most of it is moved to the database without delaying other processes. Emptying it needs a
    /// moment without writers and without readers of the log; other processes wait at most as long
    /// as one try takes.
    fn empty_log(&self) -> Result<(), StoreError> {
        let connection = self.location.connect()?;
        connection.busy_timeout(TRY_TIMEOUT).map_err(store_error(ACTION))?;
        let checkpoint = |mode: &str| -> rusqlite::Result<(bool, i64, i64)> {
            let sql = format!("PRAGMA wal_checkpoint({mode})");
            connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        };
        let until = Instant::now() + READERS_TIMEOUT;
        loop {
            self.ensure_open()?;
            let (is_busy, n_frames, n_moved) =
                checkpoint("PASSIVE").map_err(store_error(ACTION))?;
            if !is_busy && n_frames == n_moved {
                let (is_busy, ..) = checkpoint("TRUNCATE").map_err(store_error(ACTION))?;
                if !is_busy {
                    return Ok(());
                }
            }
            if Instant::now() > until {
                return Err(StoreError::Locked { action: ACTION, holder: None });
            }
            thread::sleep(TRY_TIMEOUT);
        }
    }
}

/// Requests that the next [`wipe`](SharedConnections::wipe) rewrites the whole file.
pub(super) fn note_rewrite(tx: &Connection) -> rusqlite::Result<()> {
    tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, x'01')", [REWRITE_KEY])?;
    Ok(())
}
