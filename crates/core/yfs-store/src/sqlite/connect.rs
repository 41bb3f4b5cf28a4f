//! Connections to the file of a store, and waiting for the process that holds it.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{
    holder,
    location::{beside, directory_of},
    store_error::store_error,
};
use crate::StoreError;

/// How long a call waits for another process to finish its transaction.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The process that holds the store is looked up after this many tries, some 10 ms, and then every
/// 200 ms.
const CALLS_BEFORE_LOOK: i32 = 30;
const CALLS_PER_LOOK: i32 = 100;

/// Reports an error unless the store can be written. Reading needs to write as well: readers
/// register in the shared memory file.
#[cfg(unix)]
pub(super) fn ensure_writable(path: &Path) -> Result<(), StoreError> {
    use rustix::{fs::Access, io::Errno};
    let directory = directory_of(path);
    for path in [path, directory] {
        match rustix::fs::access(path, Access::READ_OK | Access::WRITE_OK) {
            Ok(()) | Err(Errno::NOENT) => (),
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
                return Err(StoreError::ReadOnly { action: "open the store" });
            }
            Err(error) => return Err(StoreError::io("open the store", error.into())),
        }
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn ensure_writable(_: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// Opens a connection.
pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let opened = Connection::open_with_flags(path, flags).and_then(|mut connection| {
        prepare(&mut connection, path)?;
        Ok(connection)
    });
    opened.map_err(|error| open_error(error, path))
}

fn prepare(connection: &mut Connection, path: &Path) -> rusqlite::Result<()> {
    let mut waiting_since = None;
    let shared_memory = beside(path, "-shm");
    connection.busy_handler(Some(move |n_calls: i32| {
        wait_for_holder(n_calls, &mut waiting_since, &shared_memory)
    }))?;
    connection.set_prepared_statement_cache_capacity(64);
    // Otherwise each new bound of a range prepares the statement again.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = NORMAL;
         PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 4000;
         PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;",
    )
}

/// Waits for the process that holds the store. Gives up after the timeout, or if that process is
/// stopped.
///
/// SQLite's own handler soon sleeps for 100 ms at a time, which starves the longest-waiting
/// process.
fn wait_for_holder(
    n_calls: i32,
    waiting_since: &mut Option<Instant>,
    shared_memory: &Path,
) -> bool {
    let now = Instant::now();
    let since = if n_calls == 0 { now } else { waiting_since.unwrap_or(now) };
    *waiting_since = Some(since);
    let is_over = now.duration_since(since) > BUSY_TIMEOUT;
    if is_over || n_calls % CALLS_PER_LOOK == CALLS_BEFORE_LOOK {
        let holder = holder::find_lock_holder(shared_memory);
        if is_over || holder.as_ref().is_some_and(|holder| holder.is_stopped) {
            holder::record_holder(holder);
            return false;
        }
    }
    let pause_us = match n_calls {
        0..10 => 100,
        10..50 => 500,
        _ => 2000,
    };
    thread::sleep(Duration::from_micros(pause_us));
    true
}

pub(super) fn open_error(error: rusqlite::Error, path: &Path) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotAStore { path: path.to_owned() },
        _ => store_error("open the store")(error),
    }
}
