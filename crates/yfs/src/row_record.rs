//! The record of renames, moves and mode changes: who made them, and what was there before.
//!
//! A row has only its present values, and the log is compacted, so each such change adds a member
//! to the row's `meta`: `was:TIME`, with the author and the former values (decision 49). Members of
//! `meta` merge one by one, so the records of concurrent changes are all kept. A row has at most
//! [`MAX_RECORDS`]; the oldest are removed first.

use std::{collections::HashMap, sync::Arc};

use smol_str::SmolStr;
use yfs_engine::{
    Any,
    actor::Actor,
    content::RunAuthor,
    id::FileId,
    main_doc::MainDoc,
    ops::{TRASH_LABEL_KEY, TRASHED_BY_KEY},
    table::{FileRow, NodeKind, RowChanges, RowWrite},
    time::Millis,
};
use yfs_vfs::stat::{DEFAULT_DIRECTORY_MODE, DEFAULT_FILE_MODE};

use crate::json_convert::{from_json, to_json};

/// The beginning of the members' names; the time in milliseconds follows.
const PREFIX: &str = "was:";

/// The most records of a row.
pub(crate) const MAX_RECORDS: usize = 16;

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

/// Adds the author to rows that are put into the trash, and records to rows that are renamed, moved
/// or get another mode.
pub(crate) fn sign_writes(main: &MainDoc, writes: &mut [RowWrite], by: &RunAuthor) {
    for write in writes {
        let RowWrite::Update { id, changes } = write else { continue };
        let Some(row) = main.files().get(id).map(|entry| entry.row) else { continue };
        let is_trashed = matches!(changes.trashed_at, Some(Some(_))) && row.trashed_at.is_none();
        let members = match is_trashed {
            true => removal_members(by),
            false => record_members(&row, changes, by),
        };
        if members.is_empty() {
            continue;
        }
        let mut meta = match changes.meta.take() {
            Some(Any::Map(meta)) => Arc::unwrap_or_clone(meta),
            _ => HashMap::new(),
        };
        for (name, value) in members {
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

/// Returns the member for a change of a row, and nulls for the records that it displaces.
fn record_members(row: &FileRow, changes: &RowChanges, by: &RunAuthor) -> Vec<(String, Any)> {
    let mut former = serde_json::Map::new();
    if changes.name.as_ref().is_some_and(|name| *name != row.name) {
        former.insert("name".into(), row.name.as_str().into());
    }
    if changes.parent.as_ref().is_some_and(|parent| *parent != row.parent) {
        // A null would be taken for the removal of the member.
        let parent = row.parent.as_ref().map_or("", FileId::as_str);
        former.insert("parent".into(), parent.into());
    }
    let new_mode = changes.mode.map(|mode| mode.unwrap_or_else(|| default_mode(row.kind)));
    let mode = row.mode.unwrap_or_else(|| default_mode(row.kind));
    if row.link.is_none() && new_mode.is_some_and(|new| new != mode) {
        former.insert("mode".into(), mode.into());
    }
    if former.is_empty() {
        return Vec::new();
    }
    former.insert("by".into(), by.actor.to_string().into());
    former.extend(by.label.as_ref().map(|label| ("label".to_owned(), label.as_str().into())));
    let known = records_of(row.meta.as_ref(), row.created_at);
    let last = known.first().map_or(row.created_at, |record| record.at);
    let at = by.at.max(Millis(last.0.saturating_add(1)));
    let mut members = vec![(format!("{PREFIX}{}", at.0), from_json(&former.into()))];
    let oldest = known.iter().skip(MAX_RECORDS - 1);
    members.extend(oldest.map(|record| (format!("{PREFIX}{}", record.at.0), Any::Null)));
    members
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
