//! Transactions whose statements are prepared once per connection.
//!
//! Those of `rusqlite` prepare `BEGIN` and `COMMIT` each time, which costs more than a small
//! insert.

use std::ops::Deref;

use rusqlite::Connection;

/// A transaction that is rolled back on drop unless it was committed.
pub(super) struct SqliteTransaction<'a> {
    connection: &'a Connection,
}

impl<'a> SqliteTransaction<'a> {
    /// Begins a transaction that only reads. Its view begins with its first read.
    pub(super) fn read(connection: &'a Connection) -> rusqlite::Result<Self> {
        run(connection, "BEGIN")?;
        Ok(Self { connection })
    }

    /// Begins a transaction that may write.
    pub(super) fn write(connection: &'a Connection) -> rusqlite::Result<Self> {
        run(connection, "BEGIN IMMEDIATE")?;
        Ok(Self { connection })
    }

    /// Commits the transaction. If that fails, nothing was changed.
    pub(super) fn commit(self) -> rusqlite::Result<()> {
        run(self.connection, "COMMIT")
    }
}

impl Deref for SqliteTransaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for SqliteTransaction<'_> {
    fn drop(&mut self) {
        if !self.connection.is_autocommit() {
            // A rollback fails only if SQLite has rolled back already.
            run(self.connection, "ROLLBACK").ok();
        }
    }
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
