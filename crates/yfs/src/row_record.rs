//! Records in the `meta` of a row: who removed it, and what it was before a rename, a move or a
//! change of its mode.
//!
//! The records of renames are read and not written: the `meta` of a row is one value. Of concurrent
//! values the last one counts, so a rename would erase what a removal at the same time records
//! (decision 49).

use std::{collections::HashMap, sync::Arc};

use smol_str::SmolStr;
use yfs_engine::{
    Any,
    actor::Actor,
    content::RunAuthor,
    id::FileId,
    main_doc::MainDoc,
    ops::{TRASH_LABEL_KEY, TRASHED_BY_KEY},
    table::{NodeKind, RowWrite},
    time::Millis,
};
use yfs_vfs::stat::{DEFAULT_DIRECTORY_MODE, DEFAULT_FILE_MODE};

use crate::json_convert::to_json;

/// The beginning of the members' names; the time in milliseconds follows.
const PREFIX: &str = "was:";

/// A change of a row: its author, and the former values of what it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowRecord {
    pub(crate) at: Millis,
    pub(crate) actor: Option<Actor>,
    pub(crate) label: Option<SmolStr>,
    pub(crate) name: Option<SmolStr>,
    /// The former directory; `Some(None)` for the root.
    pub(crate) parent: Option<Option<FileId>>,
    pub(crate) mode: Option<u32>,
}

/// Adds the author to rows that are put into the trash. Renames, moves and modes get no records
/// ([decision 49](../../../docs/decisions/0049-rows-record-their-renames.md)).
pub(crate) fn sign_writes(main: &MainDoc, writes: &mut [RowWrite], by: &RunAuthor) {
    for write in writes {
        let RowWrite::Update { id, changes } = write else { continue };
        let Some(row) = main.files().get(id).map(|entry| entry.row) else { continue };
        if !matches!(changes.trashed_at, Some(Some(_))) || row.trashed_at.is_some() {
            continue;
        }
        let mut meta = match changes.meta.take() {
            Some(Any::Map(meta)) => Arc::unwrap_or_clone(meta),
            _ => HashMap::new(),
        };
        for (name, value) in removal_members(by) {
            meta.entry(name).or_insert(value);
        }
        changes.meta = Some(Any::from(meta));
    }
}

fn removal_members(by: &RunAuthor) -> Vec<(String, Any)> {
    let actor = (TRASHED_BY_KEY.to_owned(), Any::from(by.actor.to_string()));
    let label = by.label.as_deref();
    let label = label.map(|label| (TRASH_LABEL_KEY.to_owned(), Any::from(label)));
    std::iter::once(actor).chain(label).collect()
}

/// Returns the permission bits of a row without any.
pub(crate) fn default_mode(kind: NodeKind) -> u32 {
    match kind {
        NodeKind::Directory => DEFAULT_DIRECTORY_MODE,
        NodeKind::File => DEFAULT_FILE_MODE,
    }
}

/// Returns the records of a row, the latest first. Records from before the row was made are those
/// of the file that it is a copy of, and left out.
pub(crate) fn records_of(meta: Option<&Any>, created_at: Millis) -> Vec<RowRecord> {
    let Some(Any::Map(members)) = meta else { return Vec::new() };
    let mut records: Vec<RowRecord> = members
        .iter()
        .filter_map(|(name, value)| read_record(name.strip_prefix(PREFIX)?, value))
        .filter(|record| record.at > created_at)
        .collect();
    records.sort_by_key(|record| std::cmp::Reverse(record.at));
    records
}

fn read_record(time: &str, value: &Any) -> Option<RowRecord> {
    let at = Millis(time.parse().ok()?);
    let value = to_json(value);
    let text = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
    let parent = match text("parent") {
        Some("") => Some(None),
        Some(id) => Some(Some(FileId::parse(id).ok()?)),
        None => None,
    };
    let mode = value.get("mode").and_then(serde_json::Value::as_f64);
    Some(RowRecord {
        at,
        actor: text("by").and_then(|actor| actor.parse().ok()),
        label: text("label").map(SmolStr::new),
        name: text("name").map(SmolStr::new),
        parent,
        mode: mode.map(|mode| mode as u32 & 0o7777),
    })
}
