//! Storage of the state: `.yfs/mirror.db` in the mirrored directory, an SQLite database, and the
//! lock file beside it. `docs/format/mirror.md` describes the tables.
//!
//! Besides the nodes the database stores *intents*: operations that the mirror was about to
//! perform, written before the operation and deleted after it. After a crash they show whose bytes
//! are on disk, and whether an edit reached the workspace.

use std::{
    borrow::Cow,
    ffi::OsString,
    fs::{File, Permissions},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::Path,
    sync::Arc,
};

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, RowIndex, params};
use rustix::fs::{FlockOperation, OFlags, flock};
use yfs_engine::{
    hash::ContentHash,
    id::{FileId, WorkspaceId},
};
use yfs_vfs::{FileKind, VersionToken};

use yfs::{Cipher, WorkspaceError};

use super::{
    DiskStamp, EditBase, MirrorNode, MirrorState, WorkspaceSide,
    column_seal::{ColumnSeal, RowSeal},
    former::FORMER_TABLE,
    rule_views::{self, RULE_VIEW_TABLE},
    seen_text_rows::{self, SEEN_TEXT_TABLE},
    superseded::{PendingEdit, SupersededFile},
};
use crate::{
    error::{MirrorError, Result},
    held_rules::HeldRules,
    seen_texts::SeenTexts,
};

/// The subdirectory of the mirrored directory that belongs to yfs.
pub const DIR: &str = ".yfs";

/// The name of the database in that directory.
pub(crate) const DATABASE: &str = "mirror.db";

/// The purpose of the cipher that seals the state.
pub const CIPHER: &str = "mirror";

const DATABASE_FILES: [&str; 3] = [DATABASE, "mirror.db-wal", "mirror.db-shm"];

const TABLES: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS node (
    id TEXT PRIMARY KEY, parent TEXT, name BLOB NOT NULL, kind INTEGER NOT NULL,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, created INTEGER NOT NULL,
    size INTEGER NOT NULL,
    mtime INTEGER NOT NULL, changed INTEGER NOT NULL, mode INTEGER NOT NULL, hash BLOB NOT NULL,
    work_parent TEXT, work_name TEXT NOT NULL, version TEXT NOT NULL, work_mode INTEGER NOT NULL,
    work_mtime INTEGER NOT NULL, base TEXT, bytes BLOB) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS intent (
    id TEXT PRIMARY KEY, temporary TEXT, hash BLOB NOT NULL, version TEXT NOT NULL, base TEXT,
    bytes BLOB, written INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS overwrite (
    id TEXT PRIMARY KEY, version TEXT NOT NULL, base TEXT NOT NULL, old BLOB NOT NULL,
    new BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS superseded (
    name TEXT PRIMARY KEY, id TEXT NOT NULL, size INTEGER NOT NULL, hash BLOB NOT NULL,
    base TEXT, bytes BLOB, edit BLOB, written INTEGER NOT NULL) STRICT, WITHOUT ROWID;
";

/// The columns of a node, in the order in which they are read.
const SELECT_NODES: &str = "
SELECT id, parent, name, kind, device, inode, created, size, mtime, changed, mode, hash,
    work_parent, work_name, version, work_mode, work_mtime, base, bytes FROM node";

/// The kinds of objects, in the order of their numbers in the database.
const KINDS: [FileKind; 3] = [FileKind::File, FileKind::Directory, FileKind::Symlink];

/// The database that stores the state.
#[derive(Debug)]
pub struct MirrorDatabase {
    connection: Connection,
    /// Seals what reveals names or contents, if the workspace is encrypted.
    seal: ColumnSeal,
    /// The exclusive lock, held while the mirror exists.
    _lock: File,
}

/// An operation that the mirror is about to perform on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteIntent {
    /// Replace the bytes of the file on disk, by exchanging it with a temporary file.
    Replace {
        /// The name of the temporary file, in the same directory.
        temporary: String,
        /// The hash of the new bytes.
        hash: ContentHash,
        /// The version with the new bytes.
        version: String,
        /// The same version, as a base.
        base: VersionToken,
    },
    /// Write the bytes on disk to the workspace.
    Ingest {
        /// The hash of the bytes.
        hash: ContentHash,
        /// The bytes.
        bytes: Arc<[u8]>,
        /// The result of `n_written_by` for the mirror's actor before the edit.
        written: u64,
    },
    /// Replace the bytes of the file on disk in the same inode.
    Overwrite {
        /// The version with the new bytes.
        version: String,
        /// The same version, as a base.
        base: VersionToken,
        /// The current bytes.
        old: Arc<[u8]>,
        /// The new bytes.
        new: Arc<[u8]>,
    },
}

/// Opens a file that only its owner may read and write, whatever the umask and its mode before.
///
/// Nothing in this process may hold locks of SQLite on the file: closing it drops them.
fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    let options = options.create(true).truncate(false).write(true).mode(0o600);
    let options = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let file = options.open(path)?;
    if file.metadata()?.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

impl MirrorDatabase {
    /// Opens the database of a directory for a workspace, and reads the state.
    ///
    /// # Errors
    ///
    /// [`MirrorError::Busy`] while another mirror has the lock; [`MirrorError::OtherWorkspace`] if
    /// the directory is a mirror of another workspace.
    pub fn open(
        directory: &Path,
        workspace: &WorkspaceId,
        cipher: Option<Arc<Cipher>>,
    ) -> Result<(Self, MirrorState)> {
        let database = Self::connect(directory, workspace, cipher)?;
        let state = database.read()?;
        // All rows were read, and none is read again.
        database.connection.release_memory()?;
        Ok((database, state))
    }

    /// Opens the database of a directory for a workspace, and does not read the state.
    ///
    /// # Errors
    ///
    /// The same as [`open`](Self::open).
    pub fn connect(
        directory: &Path,
        workspace: &WorkspaceId,
        cipher: Option<Arc<Cipher>>,
    ) -> Result<Self> {
        let dir = directory.join(DIR);
        let host = |path: &Path, source| MirrorError::Host {
            action: "open",
            path: path.to_owned(),
            source,
        };
        // Private, because the database reveals the content of the directory, whatever the modes
        // there.
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(builder.recursive(true), 0o700);
        builder.create(&dir).map_err(|error| host(&dir, error))?;
        yfs::check_store_directory(&dir.join(DATABASE)).map_err(WorkspaceError::from)?;
        // The database changes all the time, so git ignores it. An existing `.gitignore` stays.
        let ignored = dir.join(".gitignore");
        if !ignored.exists() {
            std::fs::write(&ignored, "*\n").map_err(|error| host(&ignored, error))?;
        }
        let path = dir.join("mirror.lock");
        let lock = private_file(&path).map_err(|error| host(&path, error))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(MirrorError::Busy(directory.to_owned()));
        }
        // SQLite gives the files beside a database the mode of the database.
        for name in DATABASE_FILES {
            let path = dir.join(name);
            if name == DATABASE || path.exists() {
                private_file(&path).map_err(|error| host(&path, error))?;
            }
        }
        let connection = Connection::open(dir.join(DATABASE))?;
        connection.execute_batch(TABLES)?;
        connection.execute_batch(FORMER_TABLE)?;
        connection.execute_batch(RULE_VIEW_TABLE)?;
        connection.execute_batch(SEEN_TEXT_TABLE)?;
        let database = Self { connection, seal: ColumnSeal::new(cipher), _lock: lock };
        database.check_workspace(directory, workspace)?;
        if !database.seal.is_plain() {
            database.drop_plain_rows()?;
        }
        Ok(database)
    }

    /// Removes what a mirror of the workspace wrote while that was not encrypted.
    fn drop_plain_rows(&self) -> Result<()> {
        self.connection.execute_batch("PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY;")?;
        if read_meta(&self.connection, "sealed")?.is_some() {
            return Ok(());
        }
        // Files that wait for a person go on to wait.
        let held = rule_views::read(&ColumnSeal::default(), &self.connection)?;
        self.connection.execute_batch(
            "DELETE FROM node; DELETE FROM intent; DELETE FROM overwrite; DELETE FROM superseded;
             DELETE FROM former; DELETE FROM rule_view; DELETE FROM seen_text;
             VACUUM; PRAGMA wal_checkpoint(TRUNCATE);
             INSERT INTO meta (key, value) VALUES ('sealed', '1');",
        )?;
        rule_views::write(&self.seal, &self.connection, &held)
    }

    fn check_workspace(&self, directory: &Path, workspace: &WorkspaceId) -> Result<()> {
        match read_meta(&self.connection, "workspace")? {
            Some(other) if other != workspace.as_str() => {
                Err(MirrorError::OtherWorkspace { directory: directory.to_owned(), other })
            }
            Some(_) => Ok(()),
            None => {
                let insert = "INSERT INTO meta (key, value) VALUES ('workspace', ?1)";
                self.connection.execute(insert, [workspace.as_str()])?;
                Ok(())
            }
        }
    }

    /// Returns the actor name for changes of the directory if the options contain none. The name
    /// never changes and is unique to the directory, so every write under it is a write of this
    /// mirror.
    ///
    /// It begins with the name of the owner at the first start; else with `folder`, as in a sealed
    /// database: the name is read without the key, so it says nothing of the workspace.
    pub(crate) fn actor_name(&self, owner: Option<&str>) -> Result<String> {
        if let Some(known) = read_meta(&self.connection, "name")? {
            return Ok(known);
        }
        let make =
            "INSERT INTO meta (key, value) VALUES ('name', ? || '-' || lower(hex(randomblob(4))))
            RETURNING value";
        let shown = owner.filter(|owner| !owner.is_empty() && self.seal.is_plain());
        let begin = shown.unwrap_or("folder");
        Ok(self.connection.query_row(make, [begin], |row| row.get(0))?)
    }

    /// Returns the name that [`actor_name`](Self::actor_name) gave a directory, also while a mirror
    /// is running; `None` if the directory was never mirrored.
    pub(crate) fn known_actor_name(directory: &Path) -> Result<Option<String>> {
        let file = directory.join(DIR).join(DATABASE);
        if !file.exists() {
            return Ok(None);
        }
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        Ok(read_meta(&connection, "name")?)
    }

    fn read(&self) -> Result<MirrorState> {
        let mut state = MirrorState::default();
        // Objects whose rows cannot be read are matched again by path and content.
        self.read_rows(SELECT_NODES, read_node, |node| state.put(node))?;
        drop_strays(&mut state);
        // A file whose row cannot be read is found again in its directory.
        self.read_rows("SELECT * FROM superseded", read_superseded, |(name, file)| {
            state.put_superseded(&name, file);
        })?;
        state.read_former(&self.seal, &self.connection)?;
        state.take_changed();
        state.superseded.changed.clear();
        Ok(state)
    }

    /// Returns the texts that files of the directory had.
    pub(crate) fn seen_texts(&self) -> Result<SeenTexts> {
        seen_text_rows::read(&self.seal, &self.connection)
    }

    /// Writes those texts that changed.
    pub(crate) fn write_seen_texts(&mut self, texts: &mut SeenTexts) -> Result<()> {
        let transaction = self.connection.transaction()?;
        seen_text_rows::write(&self.seal, &transaction, texts)?;
        Ok(transaction.commit()?)
    }

    /// Returns the rules that the directory had before other writers changed them.
    pub(crate) fn held_rules(&self) -> Result<HeldRules> {
        rule_views::read(&self.seal, &self.connection)
    }

    /// Writes these rules.
    pub(crate) fn write_held_rules(&mut self, held: &HeldRules) -> Result<()> {
        let transaction = self.connection.transaction()?;
        rule_views::write(&self.seal, &transaction, held)?;
        Ok(transaction.commit()?)
    }

    /// Reports whether nothing was agreed on, as when a directory is mirrored for the first time.
    pub fn is_empty(&self) -> Result<bool> {
        let any = "SELECT EXISTS (SELECT 1 FROM node) OR EXISTS (SELECT 1 FROM superseded)";
        Ok(!self.connection.query_row(any, [], |row| row.get::<_, bool>(0))?)
    }

    /// Returns the mark of the store's log that was written with the last commit.
    pub fn mark(&self) -> Result<Option<String>> {
        Ok(read_meta(&self.connection, "mark")?)
    }

    /// Writes the changed nodes and superseded files, and deletes the intents of the settled
    /// objects, in one transaction.
    ///
    /// `mark` is a mark of the store's log. A store without it is not the one that the nodes
    /// describe.
    pub fn commit(
        &mut self,
        state: &mut MirrorState,
        settled: &[FileId],
        mark: &str,
    ) -> Result<()> {
        let changed = state.take_changed();
        let superseded: Vec<String> = state.superseded.changed.drain().collect();
        if changed.is_empty() && settled.is_empty() && superseded.is_empty() {
            return Ok(());
        }
        let transaction = self.connection.transaction()?;
        {
            let set_mark = "INSERT OR REPLACE INTO meta (key, value) VALUES ('mark', ?1)";
            transaction.prepare_cached(set_mark)?.execute([mark])?;
            let insert = "INSERT OR REPLACE INTO node VALUES
                (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19)";
            let mut insert = transaction.prepare_cached(insert)?;
            let mut delete = transaction.prepare_cached("DELETE FROM node WHERE id = ?1")?;
            for id in changed {
                state.write_former(&self.seal, &transaction, &id)?;
                match state.get(&id) {
                    Some(node) => write_node(&self.seal, &mut insert, node)?,
                    None => drop(delete.execute([id.as_str()])?),
                }
            }
            for table in ["intent", "overwrite"] {
                let settle = format!("DELETE FROM {table} WHERE id = ?1");
                let mut settle = transaction.prepare_cached(&settle)?;
                for id in settled {
                    settle.execute([id.as_str()])?;
                }
            }
            for name in superseded {
                let file = state.superseded().get(&name);
                write_superseded(&self.seal, &transaction, &name, file)?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Records operations that are about to be performed.
    pub(crate) fn record_intents(&mut self, intents: &[(FileId, WriteIntent)]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let insert = "INSERT OR REPLACE INTO intent VALUES (?1,?2,?3,?4,?5,?6,?7)";
            let mut insert = transaction.prepare_cached(insert)?;
            for (id, intent) in intents {
                let (id, none) = (id.as_str(), None::<&str>);
                let row = self.seal.row("intent", id);
                match intent {
                    WriteIntent::Replace { temporary, hash, version, base } => {
                        let hash = row.bytes("hash", hash.as_bytes());
                        let (version, base) =
                            (row.text("version", version), row.text("base", base.as_str()));
                        insert.execute(params![id, temporary, hash, version, base, none, 0])?
                    }
                    WriteIntent::Ingest { hash, bytes, written } => {
                        let (hash, bytes) =
                            (row.bytes("hash", hash.as_bytes()), row.bytes("bytes", bytes));
                        let written = written.cast_signed();
                        insert.execute(params![id, none, hash, "", none, bytes, written])?
                    }
                    WriteIntent::Overwrite { version, base, old, new } => {
                        let row = self.seal.row("overwrite", id);
                        let (version, base) =
                            (row.text("version", version), row.text("base", base.as_str()));
                        let (old, new) = (row.bytes("old", old), row.bytes("new", new));
                        let insert = "INSERT OR REPLACE INTO overwrite VALUES (?1,?2,?3,?4,?5)";
                        transaction.execute(insert, params![id, version, base, old, new])?
                    }
                };
            }
        }
        Ok(transaction.commit()?)
    }

    /// Returns the operations that were recorded and not settled.
    pub(crate) fn intents(&self) -> Result<Vec<(FileId, WriteIntent)>> {
        let mut intents = Vec::new();
        self.read_rows("SELECT * FROM intent", read_intent, |intent| intents.push(intent))?;
        self.read_rows("SELECT * FROM overwrite", read_overwrite, |intent| intents.push(intent))?;
        Ok(intents)
    }

    /// Reads rows, without those that cannot be read.
    fn read_rows<T>(
        &self,
        select: &str,
        read: impl Fn(&ColumnSeal, &Row<'_>) -> Result<T, Unreadable>,
        mut each: impl FnMut(T),
    ) -> Result<()> {
        let mut select = self.connection.prepare(select)?;
        let rows = select.query_map([], |row| Ok(read(&self.seal, row).ok()))?;
        for value in rows.filter_map(Result::transpose) {
            each(value?);
        }
        Ok(())
    }
}

/// Reads a value of the table of single values.
pub(super) fn read_meta(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    let find = "SELECT value FROM meta WHERE key = ?1";
    connection.query_row(find, [key], |row| row.get(0)).optional()
}

/// Drops nodes whose directory does not exist, or that form a cycle.
fn drop_strays(state: &mut MirrorState) {
    let reached: std::collections::HashSet<FileId> = state.below(None).into_iter().collect();
    let all: Vec<FileId> = state.nodes().map(|node| node.id.clone()).collect();
    for id in all.into_iter().filter(|id| !reached.contains(id)) {
        state.remove(&id);
    }
}

fn write_node(
    seal: &ColumnSeal,
    insert: &mut rusqlite::CachedStatement<'_>,
    node: &MirrorNode,
) -> rusqlite::Result<()> {
    let MirrorNode { stamp, work, .. } = node;
    let kind = KINDS.iter().position(|kind| *kind == node.kind).unwrap_or_default();
    let row = seal.row("node", node.id.as_str());
    let (base, bytes) = base_columns(&row, &node.base);
    insert.execute(params![
        node.id.as_str(),
        node.parent.as_ref().map(FileId::as_str),
        row.bytes("name", node.name.as_bytes()),
        kind as i64,
        stamp.place.0.cast_signed(),
        stamp.place.1.cast_signed(),
        stamp.created_ns,
        stamp.size.cast_signed(),
        stamp.mtime_ns,
        stamp.changed_ns,
        stamp.mode,
        row.bytes("hash", node.hash.as_bytes()),
        work.parent.as_ref().map(FileId::as_str),
        row.text("work_name", &work.name),
        row.text("version", &work.version),
        work.mode,
        work.mtime_ms,
        base,
        bytes,
    ])?;
    Ok(())
}

/// Writes or deletes the row of a superseded file.
fn write_superseded(
    seal: &ColumnSeal,
    connection: &Connection,
    name: &str,
    file: Option<&SupersededFile>,
) -> rusqlite::Result<()> {
    let Some(file) = file else {
        let delete = "DELETE FROM superseded WHERE name = ?1";
        connection.prepare_cached(delete)?.execute([name])?;
        return Ok(());
    };
    let row = seal.row("superseded", name);
    let (base, bytes) = base_columns(&row, &file.base);
    let insert = "INSERT OR REPLACE INTO superseded VALUES (?1,?2,?3,?4,?5,?6,?7,?8)";
    connection.prepare_cached(insert)?.execute(params![
        name,
        file.id.as_str(),
        file.size.cast_signed(),
        row.bytes("hash", file.hash.as_bytes()),
        base,
        bytes,
        file.edit.as_ref().map(|edit| row.bytes("edit", &edit.bytes)),
        file.edit.as_ref().map_or(0, |edit| edit.written.cast_signed()),
    ])?;
    Ok(())
}

/// Returns the columns `base` and `bytes`.
fn base_columns<'b>(
    row: &RowSeal<'_>,
    base: &'b EditBase,
) -> (Option<Cow<'b, str>>, Option<Cow<'b, [u8]>>) {
    match base {
        EditBase::Version(token) => (Some(row.text("base", token.as_str())), None),
        EditBase::Bytes(bytes) => (None, Some(row.bytes("bytes", bytes))),
        EditBase::Unknown => (None, None),
    }
}

/// A row of a table, whose columns may be sealed.
struct SealedRow<'a> {
    seal: &'a ColumnSeal,
    row: &'a Row<'a>,
    table: &'a str,
    /// The primary key.
    key: String,
}

impl<'a> SealedRow<'a> {
    fn new(
        seal: &'a ColumnSeal,
        row: &'a Row<'a>,
        table: &'a str,
        key_column: impl RowIndex,
    ) -> rusqlite::Result<Self> {
        Ok(Self { seal, row, table, key: row.get(key_column)? })
    }

    fn sealed(&self) -> RowSeal<'_> {
        self.seal.row(self.table, &self.key)
    }

    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, Unreadable> {
        self.bytes_at(column, column)
    }

    /// Returns the bytes of a column that is found otherwise than by its name.
    fn bytes_at(&self, column: &str, at: impl RowIndex) -> Result<Option<Vec<u8>>, Unreadable> {
        let Some(stored) = self.row.get(at)? else { return Ok(None) };
        let opened = self.sealed().open_bytes(column, stored);
        opened.map(Some).ok_or_else(|| "it cannot be decrypted".into())
    }

    fn text(&self, column: &str) -> Result<Option<String>, Unreadable> {
        self.text_at(column, column)
    }

    /// Returns the text of a column that is found otherwise than by its name.
    fn text_at(&self, column: &str, at: impl RowIndex) -> Result<Option<String>, Unreadable> {
        let Some(stored) = self.row.get(at)? else { return Ok(None) };
        let opened = self.sealed().open_text(column, stored);
        opened.map(Some).ok_or_else(|| "it cannot be decrypted".into())
    }

    fn needed_bytes(&self, column: &str) -> Result<Vec<u8>, Unreadable> {
        self.bytes(column)?.ok_or_else(|| "a value is missing".into())
    }

    fn needed_text(&self, column: &str) -> Result<String, Unreadable> {
        self.text(column)?.ok_or_else(|| "a value is missing".into())
    }

    fn hash(&self) -> Result<ContentHash, Unreadable> {
        to_hash(self.bytes("hash")?)
    }
}

fn to_hash(bytes: Option<Vec<u8>>) -> Result<ContentHash, Unreadable> {
    let bytes = bytes.ok_or("a value is missing")?;
    let hash: [u8; 32] = bytes.try_into().map_err(|_| "a hash has a wrong length")?;
    Ok(ContentHash::from_bytes(hash))
}

fn to_base(token: Option<String>, bytes: Option<Vec<u8>>) -> EditBase {
    match (token, bytes) {
        (Some(token), _) => EditBase::Version(VersionToken::new(token)),
        (None, Some(bytes)) => EditBase::Bytes(bytes.into()),
        (None, None) => EditBase::Unknown,
    }
}

type Unreadable = Box<dyn std::error::Error>;

/// Reads a row of [`SELECT_NODES`].
fn read_node(seal: &ColumnSeal, row: &Row<'_>) -> Result<MirrorNode, Unreadable> {
    // By number: names would be looked up for each row.
    let sealed = SealedRow::new(seal, row, "node", 0)?;
    let id = |column: usize| -> Result<Option<FileId>, Unreadable> {
        let text = row.get_ref(column)?.as_str_or_null()?;
        Ok(text.map(FileId::parse).transpose()?)
    };
    let number = |column: usize| -> Result<u64, Unreadable> {
        Ok(row.get::<_, i64>(column)?.cast_unsigned())
    };
    let missing = "a value is missing";
    Ok(MirrorNode {
        id: id(0)?.ok_or("a node has an id")?,
        parent: id(1)?,
        name: OsString::from_vec(sealed.bytes_at("name", 2)?.ok_or(missing)?),
        kind: *KINDS.get(usize::from(row.get::<_, u8>(3)?)).ok_or("no such kind")?,
        stamp: DiskStamp {
            place: (number(4)?, number(5)?),
            created_ns: row.get(6)?,
            size: number(7)?,
            mtime_ns: row.get(8)?,
            changed_ns: row.get(9)?,
            mode: row.get(10)?,
        },
        hash: to_hash(sealed.bytes_at("hash", 11)?)?,
        work: WorkspaceSide {
            parent: id(12)?,
            name: sealed.text_at("work_name", 13)?.ok_or(missing)?.into(),
            version: sealed.text_at("version", 14)?.ok_or(missing)?.into(),
            mode: row.get(15)?,
            mtime_ms: row.get(16)?,
        },
        base: to_base(sealed.text_at("base", 17)?, sealed.bytes_at("bytes", 18)?),
    })
}

fn read_superseded(
    seal: &ColumnSeal,
    row: &Row<'_>,
) -> Result<(String, SupersededFile), Unreadable> {
    let sealed = SealedRow::new(seal, row, "superseded", "name")?;
    let written = row.get::<_, i64>("written")?.cast_unsigned();
    let edit = sealed.bytes("edit")?;
    let file = SupersededFile {
        id: FileId::parse(&row.get::<_, String>("id")?)?,
        size: row.get::<_, i64>("size")?.cast_unsigned(),
        hash: sealed.hash()?,
        base: to_base(sealed.text("base")?, sealed.bytes("bytes")?),
        edit: edit.map(|bytes| PendingEdit { bytes: bytes.into(), written }),
    };
    Ok((row.get("name")?, file))
}

fn read_overwrite(seal: &ColumnSeal, row: &Row<'_>) -> Result<(FileId, WriteIntent), Unreadable> {
    let sealed = SealedRow::new(seal, row, "overwrite", "id")?;
    let intent = WriteIntent::Overwrite {
        version: sealed.needed_text("version")?,
        base: VersionToken::new(sealed.needed_text("base")?),
        old: sealed.needed_bytes("old")?.into(),
        new: sealed.needed_bytes("new")?.into(),
    };
    Ok((FileId::parse(&row.get::<_, String>("id")?)?, intent))
}

fn read_intent(seal: &ColumnSeal, row: &Row<'_>) -> Result<(FileId, WriteIntent), Unreadable> {
    let sealed = SealedRow::new(seal, row, "intent", "id")?;
    let id = FileId::parse(&row.get::<_, String>("id")?)?;
    let hash = sealed.hash()?;
    let temporary: Option<String> = row.get("temporary")?;
    let intent = match temporary {
        Some(temporary) => WriteIntent::Replace {
            temporary,
            hash,
            version: sealed.needed_text("version")?,
            base: VersionToken::new(sealed.needed_text("base")?),
        },
        None => WriteIntent::Ingest {
            hash,
            bytes: sealed.needed_bytes("bytes")?.into(),
            written: row.get::<_, i64>("written")?.cast_unsigned(),
        },
    };
    Ok((id, intent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_users_read_nothing_of_what_the_mirror_keeps() {
        let directory = tempfile::tempdir().unwrap();
        let open = || {
            MirrorDatabase::open(directory.path(), &FileId::parse("workspace").unwrap(), None)
                .unwrap()
        };
        let dir = directory.path().join(DIR);
        let modes = || {
            let names = ["mirror.lock", "mirror.db", "mirror.db-wal", "mirror.db-shm"];
            names.map(|name| dir.join(name).metadata().unwrap().mode() & 0o777)
        };
        std::fs::create_dir(&dir).unwrap();
        // As an older version left them.
        for name in ["mirror.lock", "mirror.db"] {
            std::fs::write(dir.join(name), "").unwrap();
            let mode = Permissions::from_mode(0o666);
            std::fs::set_permissions(dir.join(name), mode).unwrap();
        }
        let first = open();
        assert_eq!(modes(), [0o600; 4]);
        drop(first);
        let _again = open();
        assert_eq!(modes(), [0o600; 4]);
    }

    #[test]
    fn what_was_written_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = FileId::parse("workspace").unwrap();
        let (mut database, mut state) =
            MirrorDatabase::open(directory.path(), &workspace, None).unwrap();
        let mut node = super::super::tests::node("a", None, "caf\u{e9}");
        node.base = EditBase::Bytes(b"abc"[..].into());
        state.put(node.clone());
        let intent = WriteIntent::Ingest { hash: node.hash, bytes: b"x"[..].into(), written: 7 };
        database.record_intents(&[(node.id.clone(), intent.clone())]).unwrap();
        database.commit(&mut state, &[], "1.a").unwrap();

        assert!(matches!(
            MirrorDatabase::open(directory.path(), &workspace, None),
            Err(MirrorError::Busy(_))
        ));
        drop(database);
        let (mut database, mut state) =
            MirrorDatabase::open(directory.path(), &workspace, None).unwrap();
        assert_eq!(state.get(&node.id), Some(&node));
        assert_eq!(database.intents().unwrap(), [(node.id.clone(), intent)]);
        assert_eq!(database.mark().unwrap().as_deref(), Some("1.a"));
        state.remove(&node.id);
        database.commit(&mut state, std::slice::from_ref(&node.id), "2.b").unwrap();
        drop(database);
        let other = FileId::parse("other").unwrap();
        let opened = MirrorDatabase::open(directory.path(), &other, None);
        assert!(matches!(opened, Err(MirrorError::OtherWorkspace { .. })));
        let (database, state) = MirrorDatabase::open(directory.path(), &workspace, None).unwrap();
        assert!(state.is_empty() && database.intents().unwrap().is_empty());
    }
}
