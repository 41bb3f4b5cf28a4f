//! Storage of the rules that the directory had before other writers changed them.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::PathBuf,
};

use rusqlite::{Connection, params};
use yfs_engine::id::FileId;

use super::{column_seal::ColumnSeal, database::read_meta};
use crate::{
    error::Result,
    held_rules::{HeldRules, RuleTexts, RuleView},
};

/// The table of the views. A row has a file of rules and its text, or the id of an object.
pub(super) const RULE_VIEW_TABLE: &str = "
CREATE TABLE IF NOT EXISTS rule_view (
    view INTEGER NOT NULL, row INTEGER NOT NULL, path BLOB, text BLOB, object TEXT,
    PRIMARY KEY (view, row)) STRICT, WITHOUT ROWID;
";

/// The number of the view with the files of rules as the mirror last knew them.
const KNOWN: i64 = -1;

/// Reads the views. Rows that cannot be read are skipped.
pub(super) fn read(seal: &ColumnSeal, connection: &Connection) -> Result<HeldRules> {
    let is_applying = read_meta(connection, "rules_applying")?.is_some();
    let mut views: BTreeMap<i64, RuleView> = BTreeMap::new();
    let select = "SELECT view, row, path, text, object FROM rule_view ORDER BY view, row";
    let mut select = connection.prepare(select)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let key = format!("{number} {}", row.get::<_, i64>(1)?);
        let view = views.entry(number).or_default();
        let open = |column, stored| seal.row("rule_view", &key).open_bytes(column, stored);
        if let (Some(path), Some(text)) = (row.get(2)?, row.get(3)?)
            && let (Some(path), Some(text)) = (open("path", path), open("text", text))
        {
            view.texts.insert(PathBuf::from(OsString::from_vec(path)), text);
        }
        if let Some(Ok(id)) = row.get::<_, Option<String>>(4)?.map(|id| FileId::parse(&id)) {
            view.excluded.insert(id);
        }
    }
    let known = views.remove(&KNOWN).unwrap_or_default().texts;
    Ok(HeldRules::new(views.into_values().collect(), known, is_applying))
}

/// Replaces the stored views.
pub(super) fn write(seal: &ColumnSeal, connection: &Connection, held: &HeldRules) -> Result<()> {
    connection.execute("DELETE FROM rule_view", [])?;
    let set = match held.is_applying() {
        true => "INSERT OR REPLACE INTO meta (key, value) VALUES ('rules_applying', '1')",
        false => "DELETE FROM meta WHERE key = 'rules_applying'",
    };
    connection.execute(set, [])?;
    for (view, number) in held.views().iter().zip(0..) {
        write_texts(seal, connection, number, &view.texts)?;
        for (id, row) in view.excluded.iter().zip(view.texts.len()..) {
            let insert = "INSERT INTO rule_view (view, row, object) VALUES (?1, ?2, ?3)";
            let row = i64::try_from(row).unwrap_or(i64::MAX);
            connection.prepare_cached(insert)?.execute(params![number, row, id.as_str()])?;
        }
    }
    write_texts(seal, connection, KNOWN, held.known())
}

fn write_texts(
    seal: &ColumnSeal,
    connection: &Connection,
    number: i64,
    texts: &RuleTexts,
) -> Result<()> {
    for ((path, text), row) in texts.iter().zip(0_i64..) {
        let key = format!("{number} {row}");
        let insert = "INSERT INTO rule_view (view, row, path, text) VALUES (?1, ?2, ?3, ?4)";
        let sealed = seal.row("rule_view", &key);
        let path = sealed.bytes("path", path.as_os_str().as_bytes());
        let row = params![number, row, path, sealed.bytes("text", text)];
        connection.prepare_cached(insert)?.execute(row)?;
    }
    Ok(())
}
