//! The database of a mirror as a witness of what the workspace had.
//!
//! A workspace that lost its last records, or was replaced by an older copy, does not show it. The
//! mirror's database has a mark of the log up to which both sides agreed, and such a workspace does
//! not have that mark.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use yfs::Workspace;

use crate::mirror_state::database::{DATABASE, DIR};

/// Reports whether a workspace lacks records that a mirror of a directory synchronized. Takes no
/// lock and writes nothing, so it can be called while the mirror runs.
///
/// Without a database that can be read, nothing is known, and the answer is no.
pub(crate) fn lacks_records(workspace: &Workspace, directory: &Path) -> bool {
    read_mark(directory, workspace).is_some_and(|(name, mark)| {
        let Ok(mark) = mark.parse() else { return false };
        workspace.replication().knows_mirror_mark(&name, &mark).is_ok_and(|is_known| !is_known)
    })
}

/// Returns the name of the mirror of a directory, and its last mark.
fn read_mark(directory: &Path, workspace: &Workspace) -> Option<(String, String)> {
    let path = directory.join(DIR).join(DATABASE);
    if !path.is_file() {
        return None;
    }
    let connection = open(&path)?;
    let of_meta = |key: &str| -> Option<String> {
        let find = "SELECT value FROM meta WHERE key = ?1";
        connection.query_row(find, [key], |row| row.get(0)).ok()
    };
    let has_nodes = "SELECT EXISTS (SELECT 1 FROM node)";
    let is_used = connection.query_row(has_nodes, [], |row| row.get::<_, bool>(0)).ok()?;
    let is_of_workspace = of_meta("workspace")? == workspace.id().as_str();
    (is_used && is_of_workspace).then(|| Some((of_meta("name")?, of_meta("mark")?)))?
}

/// Opens the database for reading. Without a log beside it no file is created.
fn open(path: &Path) -> Option<Connection> {
    let log = path.with_extension("db-wal");
    let has_log = log.metadata().is_ok_and(|meta| meta.len() > 0);
    let escaped = path.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let suffix = if has_log { "" } else { "?immutable=1" };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{escaped}{suffix}"), flags).ok()
}
