//! The file: opening it, its tables and formats, and the meaning of SQLite's errors.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::{
    access,
    blobs::UPLOAD_TABLE,
    connect::{BUSY_TIMEOUT, ensure_writable, open_error},
    holder,
    location::{StoreLocation, sync_directory},
    open_options::OpenOptions,
    own_directory::check_store_directory,
    quarantine,
    seal::ValueSeal,
    store_error::store_error,
    wipe,
};
use crate::{
    StoreError,
    encryption::{KeyError, UnlockKey},
};

/// Marks the files of this program: "yfs1".
pub(super) const APPLICATION_ID: i32 = 0x7966_7331;

/// The format that this program writes.
pub(super) const FORMAT: u32 = 3;

/// The format of an encrypted store: the tables of [`FORMAT`] with sealed values. Programs that
/// cannot decrypt it report that it is too new.
pub(super) const ENCRYPTED_FORMAT: u32 = 4;

/// Updates up to this size are in the log table itself, larger ones in a separate table, so that a
/// pass over the log reads little besides positions.
pub(super) const INLINE_LEN: usize = 512;

/// The default page size of SQLite, in bytes.
pub(super) const PAGE_LEN: u64 = 4096;

/// The sizes and hashes of documents, which can be computed again.
pub(super) const FACT_TABLE: &str = "
CREATE TABLE fact (
    doc INTEGER PRIMARY KEY, upto INTEGER NOT NULL, size INTEGER NOT NULL, hash BLOB) STRICT;
";

const TABLES: &str = "
CREATE TABLE doc (n INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT NOT NULL) STRICT;
CREATE TABLE log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, doc INTEGER NOT NULL, kind INTEGER NOT NULL,
    origin INTEGER NOT NULL, at INTEGER NOT NULL, crc INTEGER NOT NULL, len INTEGER NOT NULL,
    data BLOB) STRICT;
CREATE TABLE body (seq INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE snapshot (
    doc INTEGER PRIMARY KEY, upto INTEGER NOT NULL, marker INTEGER NOT NULL, at INTEGER NOT NULL,
    len INTEGER NOT NULL, hash BLOB NOT NULL) STRICT;
CREATE TABLE snapshot_body (doc INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE first_seen (key TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE released (
    n INTEGER PRIMARY KEY, rows INTEGER NOT NULL, cells INTEGER NOT NULL, meta INTEGER NOT NULL,
    content INTEGER NOT NULL) STRICT;
CREATE TABLE blob (
    n INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL,
    at INTEGER NOT NULL, chunks BLOB NOT NULL) STRICT;
CREATE TABLE chunk (
    n INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, at INTEGER NOT NULL,
    len INTEGER NOT NULL, codec INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
";

/// The heads that documents had before compaction; since format 3.
const PAST_HEAD_TABLE: &str = "
CREATE TABLE past_head (
    doc INTEGER PRIMARY KEY, crc INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
";

/// What opening a store for writing returns.
pub(super) struct OpenedFile {
    pub(super) connection: Connection,
    /// The files and directories that other users could read before.
    pub(super) restricted_paths: Vec<PathBuf>,
    pub(super) seal: ValueSeal,
}

/// Opens the writing connection, and creates the store if `options` allow it.
///
/// Only SQLite may open the file: closing it would drop the locks that other connections of this
/// process have on it.
pub(super) fn open(
    path: &Path,
    options: OpenOptions,
    key: Option<&UnlockKey>,
) -> Result<OpenedFile, StoreError> {
    check_store_directory(path)?;
    let n_bytes = len_of(path, options.create)?;
    ensure_writable(path)?;
    if n_bytes == 0 {
        access::make_private_file(path)
            .map_err(|error| StoreError::io("create the store", error))?;
    }
    let mut connection = StoreLocation::writable(path).connect()?;
    // Only after the file is known to be a store, and before it is written.
    let unlocked = match format(&connection, path)? {
        Some(_) if options.create_new => return Err(StoreError::Exists { path: path.to_owned() }),
        Some(found) => Some(unlock(&connection, found, path, key)?),
        None if options.create => None,
        None => return Err(StoreError::NotAStore { path: path.to_owned() }),
    };
    let restricted_paths = access::restrict_modes(path)?;
    let seal = match (initialise(&mut connection, path, key)?, unlocked) {
        (Some(created), _) => {
            sync_directory(path)?;
            created
        }
        (None, _) if options.create_new => {
            return Err(StoreError::Exists { path: path.to_owned() });
        }
        (None, Some(unlocked)) => unlocked,
        // Another process created it meanwhile.
        (None, None) => {
            let found = format(&connection, path)?.unwrap_or(FORMAT);
            unlock(&connection, found, path, key)?
        }
    };
    Ok(OpenedFile { connection, restricted_paths, seal })
}

/// Checks the format of a store, and makes what seals its values.
fn unlock(
    connection: &Connection,
    found: u32,
    path: &Path,
    key: Option<&UnlockKey>,
) -> Result<ValueSeal, StoreError> {
    check_format(found, path)?;
    if found == ENCRYPTED_FORMAT {
        return ValueSeal::unlock(connection, path, key);
    }
    match key {
        None => Ok(ValueSeal::default()),
        Some(_) => {
            let source = KeyError::NotEncrypted;
            Err(StoreError::Key { path: path.to_owned(), source })
        }
    }
}

/// Reports whether a store is encrypted, so that a caller can ask for the key first.
pub(super) fn is_encrypted(path: &Path) -> Result<bool, StoreError> {
    check_store_directory(path)?;
    len_of(path, false)?;
    let connection = StoreLocation::readable(path)?.connect()?;
    Ok(format(&connection, path)? == Some(ENCRYPTED_FORMAT))
}

/// Opens an existing store for reading. Returns how to open further connections, and its format,
/// which may be an older one.
pub(super) fn open_read_only(
    path: &Path,
    key: Option<&UnlockKey>,
) -> Result<(StoreLocation, Connection, u32, ValueSeal), StoreError> {
    check_store_directory(path)?;
    len_of(path, false)?;
    let location = StoreLocation::readable(path)?;
    let connection = location.connect()?;
    let found = format(&connection, path)?;
    let found = found.ok_or_else(|| StoreError::NotAStore { path: path.to_owned() })?;
    let seal = unlock(&connection, found, path, key)?;
    Ok((location, connection, found, seal))
}

/// Returns the length of the file, or an error if it is empty and must not be created.
fn len_of(path: &Path, create: bool) -> Result<u64, StoreError> {
    let n_bytes = match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        Ok(_) => return Err(StoreError::NotAStore { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound && create => 0,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StoreError::NotFound { path: path.to_owned() });
        }
        Err(error) => return Err(StoreError::io("open the store", error)),
    };
    if n_bytes == 0 && !create {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    Ok(n_bytes)
}

/// Checks the format, or writes it into an empty file, with a new data key if there is a key.
/// Returns what seals the values if the file was empty.
fn initialise(
    connection: &mut Connection,
    path: &Path,
    key: Option<&UnlockKey>,
) -> Result<Option<ValueSeal>, StoreError> {
    const ACTION: &str = "open the store";
    // Before any write: the journal mode of a foreign file must not be changed.
    if let Some(found) = format(connection, path)? {
        check_format(found, path)?;
        // Copies that other programs made may have another mode.
        use_write_ahead_log(connection)?;
        if found < FORMAT {
            upgrade(connection, path)?;
        }
        return Ok(None);
    }
    use_write_ahead_log(connection)?;
    let behavior = TransactionBehavior::Immediate;
    let tx = connection.transaction_with_behavior(behavior).map_err(store_error(ACTION))?;
    // Another process may have been faster.
    if let Some(found) = format(&tx, path)? {
        return check_format(found, path).map(|()| None);
    }
    tx.execute_batch(TABLES).map_err(store_error(ACTION))?;
    tx.execute_batch(FACT_TABLE).map_err(store_error(ACTION))?;
    tx.execute_batch(quarantine::TABLE).map_err(store_error(ACTION))?;
    tx.execute_batch(UPLOAD_TABLE).map_err(store_error(ACTION))?;
    tx.execute_batch(PAST_HEAD_TABLE).map_err(store_error(ACTION))?;
    tx.execute_batch(quarantine::INDEX).map_err(store_error(ACTION))?;
    tx.pragma_update(None, "application_id", APPLICATION_ID).map_err(store_error(ACTION))?;
    let seal = key.map(|key| ValueSeal::create(&tx, path, key)).transpose()?;
    let format = if seal.is_some() { ENCRYPTED_FORMAT } else { FORMAT };
    tx.pragma_update(None, "user_version", format).map_err(store_error(ACTION))?;
    tx.commit().map_err(store_error(ACTION))?;
    Ok(Some(seal.unwrap_or_default()))
}

/// Upgrades an older format to the current one.
fn upgrade(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    const ACTION: &str = "upgrade the store";
    let behavior = TransactionBehavior::Immediate;
    let tx = connection.transaction_with_behavior(behavior).map_err(store_error(ACTION))?;
    // Another process may have been faster.
    let found = format(&tx, path)?;
    if found == Some(1) {
        quarantine::upgrade(&tx).map_err(store_error(ACTION))?;
        tx.execute_batch(UPLOAD_TABLE).map_err(store_error(ACTION))?;
        wipe::note_rewrite(&tx).map_err(store_error(ACTION))?;
    }
    if found.is_some_and(|found| found < FORMAT) {
        tx.execute_batch(PAST_HEAD_TABLE).map_err(store_error(ACTION))?;
        tx.execute_batch(quarantine::INDEX).map_err(store_error(ACTION))?;
        tx.pragma_update(None, "user_version", FORMAT).map_err(store_error(ACTION))?;
    }
    tx.commit().map_err(store_error(ACTION))
}

/// Switches the database to a write-ahead log: without one, readers block writers, and a flush
/// would have nothing to sync.
///
/// If two processes switch a file at the same time, SQLite reports "busy" whatever the timeout.
pub(super) fn use_write_ahead_log(connection: &Connection) -> Result<(), StoreError> {
    let until = Instant::now() + BUSY_TIMEOUT;
    holder::record_holder(None);
    loop {
        // The first statement takes effect only before the first table is created, and the second
        // has no effect if the mode is right already.
        let switched =
            connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL").and_then(|()| {
                let switch = "PRAGMA journal_mode = WAL";
                connection.query_row(switch, [], |row| row.get::<_, String>(0))
            });
        match switched {
            Err(error)
                if is_busy(&error) && Instant::now() < until && !holder::is_holder_stopped() =>
            {
                thread::sleep(Duration::from_millis(1));
            }
            Ok(mode) if mode != "wal" => {
                let action = "use a write-ahead log: this filesystem has no shared memory";
                return Err(StoreError::Unsupported { action });
            }
            result => return result.map(drop).map_err(store_error("open the store")),
        }
    }
}

/// Returns the format of a store, or `None` for an empty file.
fn format(connection: &Connection, path: &Path) -> Result<Option<u32>, StoreError> {
    let number = |sql: &str| {
        let found = connection.query_row(sql, [], |row| row.get::<_, i32>(0));
        found.map_err(|error| open_error(error, path))
    };
    match number("PRAGMA application_id")? {
        APPLICATION_ID => Ok(Some(number("PRAGMA user_version")?.cast_unsigned())),
        0 if number("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(None),
        // Another process may have created the store between these two reads, which are separate
        // views.
        0 if number("PRAGMA application_id")? == APPLICATION_ID => {
            Ok(Some(number("PRAGMA user_version")?.cast_unsigned()))
        }
        _ => Err(StoreError::NotAStore { path: path.to_owned() }),
    }
}

fn check_format(found: u32, path: &Path) -> Result<(), StoreError> {
    if (1..=ENCRYPTED_FORMAT).contains(&found) {
        return Ok(());
    }
    Err(StoreError::TooNew { path: path.to_owned(), found, supported: ENCRYPTED_FORMAT })
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SQLite opens an in-memory database in another journal mode, and returns no error.
    #[test]
    fn what_cannot_have_a_write_ahead_log_is_refused() {
        let connection = Connection::open_in_memory().expect("open");
        let error = use_write_ahead_log(&connection).expect_err("there is no log");
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
    }
}
