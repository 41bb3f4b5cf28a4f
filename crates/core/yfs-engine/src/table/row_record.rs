//! The records of a row: who made, renamed, moved or restored it or set its mode, and what was
//! there before.
//!
//! A row has only its present values, and the log is compacted. So each such change adds a member
//! `was:TIME` to the row's `meta`, with the author and the former values of what it changed
//! (decision 49). Members of `meta` merge one by one, so the records of concurrent changes are all
//! kept.

use std::collections::HashMap;

use smol_str::SmolStr;
use yrs::Any;

use super::row::{FileRow, NodeKind, RowChanges};
use crate::{actor::Actor, content::RunAuthor, id::FileId, step::StepId, time::Millis};

/// The most records of a row. A new one displaces the oldest.
pub const MAX_RECORDS: usize = 16;

/// The beginning of the members' names; the time in milliseconds follows.
const PREFIX: &str = "was:";

/// A change of a row: its author, and the former values of what it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRecord {
    /// When it was made, by the clock of its author.
    pub at: Millis,
    /// Its author.
    pub actor: Option<Actor>,
    /// The label of the change.
    pub label: Option<SmolStr>,
    /// The step that the change is part of.
    pub step: Option<StepId>,
    /// Whether the row was made.
    pub is_creation: bool,
    /// Whether it was restored from the trash.
    pub is_restore: bool,
    /// The former name.
    pub name: Option<SmolStr>,
    /// The former directory; `Some(None)` for the root.
    pub parent: Option<Option<FileId>>,
    /// The former permission bits; `Some(None)` if none were set.
    pub mode: Option<Option<u32>>,
}

/// Returns the records of a row, the latest first. Those from before the row was made belong to the
/// file that it is a copy of, and are left out.
pub fn row_records(meta: Option<&Any>, created_at: Millis) -> Vec<RowRecord> {
    let Some(Any::Map(members)) = meta else { return Vec::new() };
    let records = members.iter().filter_map(|(name, value)| read(name, value));
    let mut records: Vec<RowRecord> =
        records.filter(|record| is_own(record.at, record.is_creation, created_at)).collect();
    records.sort_by_key(|record| std::cmp::Reverse(record.at));
    records
}

/// Reports whether the encoded elements of a row may hold records. Most rows have none.
pub(crate) fn may_have_records(elements: &[u8]) -> bool {
    memchr::memmem::find(elements, PREFIX.as_bytes()).is_some()
}

/// Returns the time of the latest record of a row.
pub(crate) fn latest_record(meta: Option<&Any>, created_at: Millis) -> Option<Millis> {
    let Some(Any::Map(members)) = meta else { return None };
    let times = members.iter().filter_map(|(name, value)| {
        let at = time_of(name)?;
        let is_creation = matches!(value, Any::Map(value) if flag(value, "new"));
        is_own(at, is_creation, created_at).then_some(at)
    });
    times.max()
}

/// Adds the record of a new row to it.
pub fn record_creation(row: &mut FileRow, by: &RunAuthor) {
    let mut record = author(by);
    record.insert("new".into(), Any::Bool(true));
    let mut meta = members(row.meta.take());
    meta.insert(format!("{PREFIX}{}", row.created_at.0), Any::from(record));
    row.meta = Some(Any::from(meta));
}

/// Reports whether changes of a row may rename, move or restore it, or set its mode.
pub fn may_need_record(changes: &RowChanges) -> bool {
    changes.name.is_some()
        || changes.parent.is_some()
        || changes.mode.is_some()
        || changes.trashed_at == Some(None)
}

/// Adds a record to the changes of a row if they rename, move or restore it, or set its mode.
pub fn record_changes(row: &FileRow, changes: &mut RowChanges, by: &RunAuthor) {
    let mut record = HashMap::new();
    if changes.name.as_ref().is_some_and(|name| *name != row.name) {
        record.insert("name".to_owned(), Any::from(row.name.as_str()));
    }
    if changes.parent.as_ref().is_some_and(|parent| *parent != row.parent) {
        // A null would be taken for the removal of the member.
        let parent = row.parent.as_ref().map_or("", FileId::as_str);
        record.insert("parent".to_owned(), Any::from(parent));
    }
    if row.link.is_none() && changes.mode.is_some_and(|mode| mode != row.mode) {
        let mode = row.mode.map_or(Any::from(""), Any::from);
        record.insert("mode".to_owned(), mode);
    }
    if changes.trashed_at == Some(None) && row.trashed_at.is_some() {
        record.insert("restored".to_owned(), Any::Bool(true));
    }
    if record.is_empty() {
        return;
    }
    record.extend(author(by));
    let known = row_records(row.meta.as_ref(), row.created_at);
    let last = known.first().map_or(row.created_at, |record| record.at);
    let at = by.at.max(Millis(last.0.saturating_add(1)));
    let mut meta = members(changes.meta.take());
    for oldest in known.iter().skip(MAX_RECORDS - 1) {
        meta.insert(format!("{PREFIX}{}", oldest.at.0), Any::Null);
    }
    meta.insert(format!("{PREFIX}{}", at.0), Any::from(record));
    changes.meta = Some(Any::from(meta));
}

fn is_own(at: Millis, is_creation: bool, created_at: Millis) -> bool {
    at > created_at || is_creation && at == created_at
}

fn members(meta: Option<Any>) -> HashMap<String, Any> {
    match meta {
        Some(Any::Map(members)) => (*members).clone(),
        _ => HashMap::new(),
    }
}

fn author(by: &RunAuthor) -> HashMap<String, Any> {
    let actor = ("by".to_owned(), Any::from(by.actor.to_string()));
    let label = by.label.as_deref().map(|label| ("label".to_owned(), Any::from(label)));
    let step = by.step.as_ref().map(|step| ("step".to_owned(), Any::from(step.as_str())));
    std::iter::once(actor).chain(label).chain(step).collect()
}

fn time_of(name: &str) -> Option<Millis> {
    name.strip_prefix(PREFIX)?.parse().ok().map(Millis)
}

fn flag(record: &HashMap<String, Any>, name: &str) -> bool {
    record.get(name) == Some(&Any::Bool(true))
}

fn read(name: &str, value: &Any) -> Option<RowRecord> {
    let (at, Any::Map(value)) = (time_of(name)?, value) else { return None };
    let text = |name: &str| match value.get(name) {
        Some(Any::String(text)) => Some(&**text),
        _ => None,
    };
    let parent = match text("parent") {
        Some("") => Some(None),
        Some(id) => Some(Some(FileId::parse(id).ok()?)),
        None => None,
    };
    let mode = match value.get("mode") {
        Some(Any::Number(mode)) => mode.as_f64().map(|mode| Some(mode as u32 & 0o7777)),
        Some(Any::String(_)) => Some(None),
        _ => None,
    };
    Some(RowRecord {
        at,
        actor: text("by").and_then(|actor| actor.parse().ok()),
        label: text("label").map(SmolStr::new),
        step: text("step").and_then(|step| StepId::parse(step).ok()),
        is_creation: flag(value, "new"),
        is_restore: flag(value, "restored"),
        name: text("name").map(SmolStr::new),
        parent,
        mode,
    })
}

/// Reports whether the creation of a row has no other trace: the first version of a file with
/// content says who made it.
pub fn needs_creation_record(row: &FileRow, has_content: bool) -> bool {
    row.kind == NodeKind::Directory || row.link.is_some() || !has_content && row.blob.is_none()
}
