//! Transactions whose statements are prepared once per connection.
//!
//! The ones of `rusqlite` prepare `BEGIN` and `COMMIT` anew each time, which costs more than a
//! small insert.

use std::ops::Deref;

use rusqlite::Connection;

/// A transaction, undone unless it is committed.
pub(super) struct SqliteTransaction<'a> {
    connection: &'a Connection,
}

impl<'a> SqliteTransaction<'a> {
    /// Begins a transaction that only reads. Its view begins with the first thing that it reads.
    pub(super) fn read(connection: &'a Connection) -> rusqlite::Result<Self> {
        run(connection, "BEGIN")?;
        Ok(Self { connection })
    }

    /// Begins a transaction that may write.
    pub(super) fn write(connection: &'a Connection) -> rusqlite::Result<Self> {
        run(connection, "BEGIN IMMEDIATE")?;
        Ok(Self { connection })
    }

    /// Commits; if that fails, nothing was done.
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
            // It fails only where SQLite has undone everything by itself.
            run(self.connection, "ROLLBACK").ok();
        }
    }
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
