//! Storage of the texts that files of the directory had.

use std::{collections::HashSet, sync::Arc};

use rusqlite::{Connection, params};
use yfs_engine::id::FileId;
use yfs_vfs::VersionToken;

use super::{EditBase, column_seal::ColumnSeal};
use crate::{
    error::Result,
    seen_texts::{SeenText, SeenTexts},
};

/// The table of the texts.
pub(super) const SEEN_TEXT_TABLE: &str = "
CREATE TABLE IF NOT EXISTS seen_text (
    id TEXT NOT NULL, number INTEGER NOT NULL, text BLOB NOT NULL, base TEXT,
    is_local INTEGER NOT NULL, PRIMARY KEY (id, number))
    STRICT, WITHOUT ROWID;
";

/// Reads the texts. Rows that cannot be read are skipped.
pub(super) fn read(seal: &ColumnSeal, connection: &Connection) -> Result<SeenTexts> {
    let mut texts = SeenTexts::default();
    let select = "SELECT id, number, text, base, is_local FROM seen_text ORDER BY id, number";
    let mut select = connection.prepare(select)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (id, number): (String, i64) = (row.get(0)?, row.get(1)?);
        let key = format!("{id} {number}");
        let sealed = seal.row("seen_text", &key);
        let text = sealed.open_bytes("text", row.get(2)?).map(String::from_utf8);
        let (Some(Ok(text)), Ok(id)) = (text, FileId::parse(&id)) else { continue };
        let text: Arc<str> = text.into();
        let base: Option<String> = row.get(3)?;
        let base = match base.and_then(|base| sealed.open_text("base", base)) {
            Some(base) => EditBase::Version(VersionToken::new(base)),
            None => EditBase::Bytes(text.as_bytes().into()),
        };
        // While no mirror ran, programs may have read the last one.
        texts.restore(id, SeenText { number, text, base, is_local: row.get(4)?, is_read: true });
    }
    Ok(texts)
}

/// Writes the texts of the files that changed.
pub(super) fn write(
    seal: &ColumnSeal,
    connection: &Connection,
    texts: &mut SeenTexts,
) -> Result<()> {
    // A row never changes.
    for id in texts.take_changed() {
        let mut select = connection.prepare_cached("SELECT number FROM seen_text WHERE id = ?1")?;
        let stored = select.query_map([id.as_str()], |row| row.get(0))?;
        let stored: HashSet<i64> = stored.collect::<Result<_, _>>()?;
        let kept: HashSet<i64> = texts.of(&id).map(|seen| seen.number).collect();
        for number in stored.difference(&kept) {
            let delete = "DELETE FROM seen_text WHERE id = ?1 AND number = ?2";
            connection.prepare_cached(delete)?.execute(params![id.as_str(), number])?;
        }
        for seen in texts.of(&id).filter(|seen| !stored.contains(&seen.number)) {
            let key = format!("{id} {}", seen.number);
            let sealed = seal.row("seen_text", &key);
            let base = match &seen.base {
                EditBase::Version(base) => Some(sealed.text("base", base.as_str())),
                EditBase::Bytes(_) | EditBase::Unknown => None,
            };
            let insert = "INSERT INTO seen_text VALUES (?1, ?2, ?3, ?4, ?5)";
            connection.prepare_cached(insert)?.execute(params![
                id.as_str(),
                seen.number,
                sealed.bytes("text", seen.text.as_bytes()),
                base,
                seen.is_local,
            ])?;
        }
    }
    Ok(())
}
