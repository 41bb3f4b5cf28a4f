//! Objects that the directory had and no longer has. A mirror does not write files of others that
//! tools execute or load, but brings back those that were in this directory already.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use smol_str::SmolStr;
use yfs_engine::id::FileId;
use yfs_vfs::FileKind;

use super::{MirrorNode, MirrorState, column_seal::ColumnSeal};
use crate::{error::Result, untrusted_files};

/// The table of former objects.
pub(super) const FORMER_TABLE: &str = "
CREATE TABLE IF NOT EXISTS former (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, mode INTEGER NOT NULL)
    STRICT, WITHOUT ROWID;
";

/// An object as it was when it left the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerObject {
    /// Its name in the workspace.
    name: SmolStr,
    /// The version of its content in the workspace that the directory had; empty for a directory.
    version: SmolStr,
    /// Its permission bits on disk.
    mode: u32,
}

/// The former objects that a mirror would not write if they were of others.
#[derive(Debug, Default)]
pub(super) struct FormerObjects(HashMap<FileId, FormerObject>);

impl FormerObject {
    /// Returns the permission bits that the object had in the directory, if the workspace has it
    /// again under the same name and with the same content.
    pub(crate) fn mode_if_same(
        &self,
        name: &str,
        kind: FileKind,
        version: Option<&str>,
    ) -> Option<u32> {
        let is_same_content = match kind {
            FileKind::Directory => true,
            _ => version.is_some_and(|version| !version.is_empty() && self.version == version),
        };
        (self.name == name && is_same_content).then_some(self.mode)
    }
}

impl MirrorState {
    /// Returns the object that left the directory, if it is one that a mirror would not write if it
    /// were of others.
    pub fn former(&self, id: &FileId) -> Option<&FormerObject> {
        self.former.0.get(id)
    }

    /// Remembers a node that leaves the directory.
    pub(super) fn note_former(&mut self, id: &FileId) {
        let Some(node) = self.nodes.get(id) else { return };
        let path = self.path(id);
        let names = path.components().filter_map(|name| name.as_os_str().to_str());
        let is_executable = node.kind == FileKind::File && node.stamp.mode & 0o111 != 0;
        if is_executable || untrusted_files::is_risky(names) {
            let former = FormerObject::of(node);
            self.former.0.insert(id.clone(), former);
        }
    }

    /// Forgets a former object, because it is in the directory.
    pub(super) fn forget_former(&mut self, id: &FileId) {
        self.former.0.remove(id);
    }

    /// Forgets all former objects, and returns their ids.
    pub(super) fn clear_former(&mut self) -> Vec<FileId> {
        self.former.0.drain().map(|(id, _)| id).collect()
    }

    /// Reads the former objects.
    pub(super) fn read_former(&mut self, seal: &ColumnSeal, connection: &Connection) -> Result<()> {
        let mut select = connection.prepare("SELECT id, name, version, mode FROM former")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            let text = |column, stored| seal.row("former", &id).open_text(column, stored);
            // A row that cannot be read is skipped: its object is written only after a decision.
            let (Some(name), Some(version)) =
                (text("name", row.get(1)?), text("version", row.get(2)?))
            else {
                continue;
            };
            let former =
                FormerObject { name: name.into(), version: version.into(), mode: row.get(3)? };
            if let Ok(id) = FileId::parse(&id) {
                self.former.0.insert(id, former);
            }
        }
        Ok(())
    }

    /// Writes or deletes the row of a former object.
    pub(super) fn write_former(
        &self,
        seal: &ColumnSeal,
        connection: &Connection,
        id: &FileId,
    ) -> Result<()> {
        match self.former(id) {
            Some(FormerObject { name, version, mode }) => {
                let insert = "INSERT OR REPLACE INTO former VALUES (?1, ?2, ?3, ?4)";
                let sealed = seal.row("former", id.as_str());
                let (name, version) = (sealed.text("name", name), sealed.text("version", version));
                let row = params![id.as_str(), name, version, mode];
                connection.prepare_cached(insert)?.execute(row)?;
            }
            None => {
                let delete = "DELETE FROM former WHERE id = ?1";
                connection.prepare_cached(delete)?.execute([id.as_str()])?;
            }
        }
        Ok(())
    }
}

impl FormerObject {
    fn of(node: &MirrorNode) -> Self {
        let (name, version) = (node.work.name.clone(), node.work.version.clone());
        Self { name, version, mode: node.stamp.mode }
    }
}
