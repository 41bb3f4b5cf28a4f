//! Converts rows and cells to and from the values that the arrays hold.
//!
//! Reading is tolerant: it accepts the formats of all versions of the reference. Members of a row
//! that are unknown, or in another format, are kept beside it and written again, so that a rewrite
//! here loses no field of another application. `docs/format/main-document.md` describes the bytes.

mod read;

use smol_str::SmolStr;
use yrs::{Any, any::Number};

pub(super) use self::read::{ElementView, read_cell, read_row};
use super::{
    iso::{format_iso, parse_iso},
    meta_merge::MemberTime,
    row::{BlobRef, FileRow, NodeKind},
};
use crate::{
    id::FileId,
    lib0::{write_any, write_string, write_var_uint},
    time::Millis,
};

/// The greatest integer that JavaScript holds exactly.
pub(super) const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// The mutable fields, each with its own cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowField {
    Name,
    Parent,
    Trashed,
    Stat,
    Mode,
    Link,
    Blob,
    Meta,
    Removal,
    Purge,
}

/// The value of one field, in a cell or in a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldValue {
    Name(SmolStr),
    Parent(Option<FileId>),
    Trashed(Option<Millis>),
    Stat { size: u64, updated_at: Millis },
    Mode(Option<u32>),
    Link(Option<SmolStr>),
    Blob(Option<Box<BlobRef>>),
    Meta(Option<Box<Any>>),
    Removal(Option<Box<Any>>),
    Purge(Option<SmolStr>),
}

/// The row that one element of `table:files` holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StoredRow {
    pub(super) name: SmolStr,
    pub(super) parent: Option<FileId>,
    pub(super) size: u64,
    pub(super) created_at: Millis,
    pub(super) updated_at: Millis,
    pub(super) trashed_at: Option<Millis>,
    pub(super) kind: NodeKind,
    /// Whether its writer knew of cells: the element has `c`.
    pub(super) aware: bool,
    /// The timestamps of the cells whose values the last writer that knew of cells put into the
    /// row. Plain writers carry it along, so that it names the state that they started from.
    pub(super) base: Box<[(RowField, f64)]>,
    /// Fields that most rows do not have.
    pub(super) rest: Option<Box<RareFields>>,
}

/// The rarer fields of a row.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct RareFields {
    pub(super) mode: Option<u32>,
    pub(super) link: Option<SmolStr>,
    pub(super) blob: Option<BlobRef>,
    /// Application data.
    pub(super) meta: Option<Any>,
    /// The record of a removal.
    pub(super) removal: Option<Any>,
    /// The id of the purge that marked the row.
    pub(super) purge: Option<SmolStr>,
    /// Unknown fields, and known ones in a format that this version would not write. In order of
    /// name.
    pub(super) verbatim: Vec<(SmolStr, Any)>,
}

/// The field that one element of `fs:cells` holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StoredCell {
    pub(super) value: FieldValue,
    /// For a `parentId` cell: the parents before, latest first.
    pub(super) prev: Box<[Option<FileId>]>,
    /// The values that this one superseded.
    pub(super) superseded: Box<[FieldValue]>,
    /// For a `meta` cell: when members were set or removed.
    pub(super) member_times: Box<[MemberTime]>,
}

impl RowField {
    pub(super) const ALL: [Self; 10] = [
        Self::Name,
        Self::Parent,
        Self::Trashed,
        Self::Stat,
        Self::Mode,
        Self::Link,
        Self::Blob,
        Self::Meta,
        Self::Removal,
        Self::Purge,
    ];

    /// Returns a bit that stands for the field.
    pub(super) fn bit(self) -> u16 {
        1 << self as u8
    }

    /// Returns the field's name in the keys of cells.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Parent => "parentId",
            Self::Trashed => "trashedAt",
            Self::Stat => "stat",
            Self::Mode => "mode",
            Self::Link => "link",
            Self::Blob => "blob",
            Self::Meta => "meta",
            Self::Removal => "removal",
            Self::Purge => "purgeId",
        }
    }

    /// Returns the members of a row that the field stands for.
    fn members(self) -> &'static [&'static str] {
        match self {
            Self::Stat => &["size", "updatedAt"],
            Self::Name => &["name"],
            Self::Parent => &["parentId"],
            Self::Trashed => &["trashedAt"],
            Self::Mode => &["mode"],
            Self::Link => &["link"],
            Self::Blob => &["blob"],
            Self::Meta => &["meta"],
            Self::Removal => &["removal"],
            Self::Purge => &["purgeId"],
        }
    }

    /// Splits the key of a cell.
    pub(super) fn split_key(key: &str) -> Option<(FileId, Self)> {
        let (id, name) = key.rsplit_once(':')?;
        let field = Self::ALL.into_iter().find(|field| field.as_str() == name)?;
        Some((FileId::parse(id).ok()?, field))
    }
}

impl FieldValue {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Name(name) => write_text(out, name),
            Self::Parent(parent) => write_id(out, parent.as_ref()),
            Self::Trashed(time) => match time {
                Some(time) => write_number(out, time.as_f64()),
                None => write_any(out, &Any::Null),
            },
            Self::Stat { size, updated_at } => {
                write_object(out, 2);
                write_string(out, "size");
                write_number(out, *size as f64);
                write_string(out, "updatedAt");
                write_number(out, updated_at.as_f64());
            }
            Self::Mode(Some(mode)) => write_number(out, f64::from(*mode)),
            Self::Link(Some(link)) => write_text(out, link),
            Self::Blob(Some(blob)) => write_blob(out, blob),
            Self::Meta(Some(part)) | Self::Removal(Some(part)) => write_any(out, part),
            Self::Purge(Some(mark)) => write_text(out, mark),
            Self::Mode(None)
            | Self::Link(None)
            | Self::Blob(None)
            | Self::Meta(None)
            | Self::Removal(None)
            | Self::Purge(None) => write_any(out, &Any::Null),
        }
    }
}

impl StoredRow {
    /// Makes the stored form of a new row, without its metadata.
    pub(super) fn new(row: &FileRow) -> Self {
        let mut stored = Self {
            name: row.name.clone(),
            parent: row.parent.clone(),
            size: row.size,
            created_at: row.created_at,
            updated_at: row.updated_at,
            trashed_at: row.trashed_at,
            kind: row.kind,
            aware: true,
            base: Box::default(),
            rest: None,
        };
        let rest = RareFields {
            mode: row.mode,
            link: row.link.clone(),
            blob: row.blob,
            ..RareFields::default()
        };
        stored.rest = (rest != RareFields::default()).then(|| Box::new(rest));
        stored
    }

    /// Returns the row as other code sees it.
    pub(super) fn to_row(&self, id: FileId) -> FileRow {
        let rest = self.rest.as_deref();
        FileRow {
            id,
            name: self.name.clone(),
            parent: self.parent.clone(),
            kind: self.kind,
            size: self.size,
            created_at: self.created_at,
            updated_at: self.updated_at,
            trashed_at: self.trashed_at,
            mode: rest.and_then(|rest| rest.mode),
            link: rest.and_then(|rest| rest.link.clone()),
            blob: rest.and_then(|rest| rest.blob),
            meta: self.meta_parts().join(),
        }
    }

    /// Returns the value of one field.
    pub(super) fn field(&self, field: RowField) -> FieldValue {
        let rest = self.rest.as_deref();
        match field {
            RowField::Name => FieldValue::Name(self.name.clone()),
            RowField::Parent => FieldValue::Parent(self.parent.clone()),
            RowField::Trashed => FieldValue::Trashed(self.trashed_at),
            RowField::Stat => FieldValue::Stat { size: self.size, updated_at: self.updated_at },
            RowField::Mode => FieldValue::Mode(rest.and_then(|rest| rest.mode)),
            RowField::Link => FieldValue::Link(rest.and_then(|rest| rest.link.clone())),
            RowField::Blob => FieldValue::Blob(rest.and_then(|rest| rest.blob.map(Box::new))),
            RowField::Meta => {
                FieldValue::Meta(rest.and_then(|rest| rest.meta.clone()).map(Box::new))
            }
            RowField::Removal => {
                FieldValue::Removal(rest.and_then(|rest| rest.removal.clone()).map(Box::new))
            }
            RowField::Purge => FieldValue::Purge(rest.and_then(|rest| rest.purge.clone())),
        }
    }

    /// Gives a field a new value.
    pub(super) fn set_field(&mut self, value: FieldValue) {
        let field = value.field();
        if let Some(rest) = &mut self.rest {
            rest.verbatim.retain(|(name, _)| !field.members().contains(&name.as_str()));
        }
        match value {
            FieldValue::Name(name) => self.name = name,
            FieldValue::Parent(parent) => self.parent = parent,
            FieldValue::Trashed(trashed_at) => self.trashed_at = trashed_at,
            FieldValue::Stat { size, updated_at } => {
                (self.size, self.updated_at) = (size, updated_at);
            }
            FieldValue::Mode(mode) => self.rest_mut().mode = mode,
            FieldValue::Link(link) => self.rest_mut().link = link,
            FieldValue::Blob(blob) => self.rest_mut().blob = blob.map(|blob| *blob),
            FieldValue::Meta(meta) => self.rest_mut().meta = meta.map(|meta| *meta),
            FieldValue::Removal(record) => self.rest_mut().removal = record.map(|record| *record),
            FieldValue::Purge(mark) => self.rest_mut().purge = mark,
        }
        if self.rest.as_deref() == Some(&RareFields::default()) {
            self.rest = None;
        }
    }

    fn rest_mut(&mut self) -> &mut RareFields {
        self.rest.get_or_insert_default()
    }
}

impl FieldValue {
    /// Returns the field that it is a value of.
    pub(super) fn field(&self) -> RowField {
        match self {
            Self::Name(_) => RowField::Name,
            Self::Parent(_) => RowField::Parent,
            Self::Trashed(_) => RowField::Trashed,
            Self::Stat { .. } => RowField::Stat,
            Self::Mode(_) => RowField::Mode,
            Self::Link(_) => RowField::Link,
            Self::Blob(_) => RowField::Blob,
            Self::Meta(_) => RowField::Meta,
            Self::Removal(_) => RowField::Removal,
            Self::Purge(_) => RowField::Purge,
        }
    }
}

/// Writes an element of `table:files`.
pub(super) fn write_row_element(out: &mut Vec<u8>, id: &FileId, row: &StoredRow, ts: f64) {
    write_object(out, if row.aware { 4 } else { 3 });
    write_string(out, "key");
    write_text(out, id.as_str());
    write_string(out, "val");
    write_row(out, id, row);
    write_string(out, "ts");
    write_number(out, ts);
    if row.aware {
        write_string(out, "c");
        write_number(out, 1.0);
    }
}

/// Writes the row itself, in the order of the seed's table.
pub(super) fn write_row(out: &mut Vec<u8>, id: &FileId, row: &StoredRow) {
    const REQUIRED: [&str; 8] =
        ["id", "name", "parentId", "type", "size", "createdAt", "updatedAt", "trashedAt"];
    const OPTIONAL: [&str; 7] = ["mode", "link", "blob", "meta", "removal", "purgeId", "base"];

    let no_rest = RareFields::default();
    let rest = row.rest.as_deref().unwrap_or(&no_rest);
    let verbatim = |name: &str| rest.verbatim.iter().find(|(member, _)| member == name);
    let is_present = |name: &&str| {
        verbatim(name).is_some()
            || match *name {
                "mode" => rest.mode.is_some(),
                "link" => rest.link.is_some(),
                "blob" => rest.blob.is_some(),
                "meta" => rest.meta.is_some(),
                "removal" => rest.removal.is_some(),
                "purgeId" => rest.purge.is_some(),
                _ => !row.base.is_empty(),
            }
    };
    let optional: Vec<&str> = OPTIONAL.into_iter().filter(is_present).collect();
    let is_known = |name: &str| REQUIRED.contains(&name) || OPTIONAL.contains(&name);
    let unknown: Vec<_> = rest.verbatim.iter().filter(|(name, _)| !is_known(name)).collect();

    write_object(out, REQUIRED.len() + optional.len() + unknown.len());
    for name in REQUIRED.into_iter().chain(optional) {
        write_string(out, name);
        match verbatim(name) {
            Some((_, value)) => write_any(out, value),
            None => write_member(out, name, id, row, rest),
        }
    }
    for (name, value) in unknown {
        write_string(out, name);
        write_any(out, value);
    }
}

fn write_member(out: &mut Vec<u8>, name: &str, id: &FileId, row: &StoredRow, rest: &RareFields) {
    // A row of the version that wrote times as text gets text again.
    let is_iso = rest.verbatim.iter().any(|(name, value)| {
        name == "createdAt" && matches!(value, Any::String(text) if parse_iso(text).is_some())
    });
    let write_time = |out: &mut Vec<u8>, time: Millis| match format_iso(time).filter(|_| is_iso) {
        Some(text) => write_text(out, &text),
        None => write_number(out, time.as_f64()),
    };
    match name {
        "id" => write_text(out, id.as_str()),
        "name" => write_text(out, &row.name),
        "parentId" => write_id(out, row.parent.as_ref()),
        "type" => write_text(out, if row.kind == NodeKind::File { "file" } else { "folder" }),
        "size" => write_number(out, row.size as f64),
        "createdAt" => write_time(out, row.created_at),
        "updatedAt" => write_time(out, row.updated_at),
        "trashedAt" => match row.trashed_at {
            Some(time) => write_time(out, time),
            None => write_any(out, &Any::Null),
        },
        "mode" => write_number(out, f64::from(rest.mode.unwrap_or_default())),
        "link" => write_text(out, rest.link.as_deref().unwrap_or_default()),
        "blob" => match &rest.blob {
            Some(blob) => write_blob(out, blob),
            None => write_any(out, &Any::Null),
        },
        "meta" => write_any(out, rest.meta.as_ref().unwrap_or(&Any::Null)),
        "removal" => write_any(out, rest.removal.as_ref().unwrap_or(&Any::Null)),
        "purgeId" => write_text(out, rest.purge.as_deref().unwrap_or_default()),
        _ => {
            write_object(out, row.base.len());
            for (field, ts) in &row.base {
                write_string(out, field.as_str());
                write_number(out, *ts);
            }
        }
    }
}

/// Writes an element of `fs:cells`.
pub(super) fn write_cell_element(out: &mut Vec<u8>, id: &FileId, cell: &StoredCell, ts: f64) {
    let has_times = !cell.member_times.is_empty();
    write_object(out, 3 + usize::from(!cell.superseded.is_empty()) + usize::from(has_times));
    write_string(out, "key");
    write_text(out, &format!("{id}:{}", cell.value.field().as_str()));
    write_string(out, "val");
    write_cell(out, cell);
    write_string(out, "ts");
    write_number(out, ts);
    if !cell.superseded.is_empty() {
        write_string(out, "o");
        write_superseded(out, cell);
    }
    if has_times {
        write_string(out, "k");
        write_member_times(out, cell);
    }
}

/// Writes the times of the members of metadata: of each its name, its name in `custom` or null, and
/// the time.
pub(super) fn write_member_times(out: &mut Vec<u8>, cell: &StoredCell) {
    write_array(out, cell.member_times.len());
    for MemberTime { member, ts } in &cell.member_times {
        write_array(out, 3);
        write_text(out, &member.name);
        match &member.inner {
            Some(inner) => write_text(out, inner),
            None => write_any(out, &Any::Null),
        }
        write_number(out, *ts);
    }
}

/// Writes the values that a cell superseded.
pub(super) fn write_superseded(out: &mut Vec<u8>, cell: &StoredCell) {
    write_array(out, cell.superseded.len());
    for value in &cell.superseded {
        value.write(out);
    }
}

/// Writes the value of a cell.
pub(super) fn write_cell(out: &mut Vec<u8>, cell: &StoredCell) {
    if let FieldValue::Parent(parent) = &cell.value {
        write_object(out, 2);
        write_string(out, "id");
        write_id(out, parent.as_ref());
        write_string(out, "prev");
        write_array(out, cell.prev.len());
        for parent in &cell.prev {
            write_id(out, parent.as_ref());
        }
    } else {
        cell.value.write(out);
    }
}

/// Writes an element of `fs:meta`.
pub(super) fn write_setting_element(out: &mut Vec<u8>, key: &str, value: &Any, ts: f64) {
    write_object(out, 3);
    write_string(out, "key");
    write_text(out, key);
    write_string(out, "val");
    write_any(out, value);
    write_string(out, "ts");
    write_number(out, ts);
}

pub(super) fn write_object(out: &mut Vec<u8>, n_members: usize) {
    out.push(118);
    write_var_uint(out, n_members as u64);
}

fn write_array(out: &mut Vec<u8>, n_values: usize) {
    out.push(117);
    write_var_uint(out, n_values as u64);
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(119);
    write_string(out, text);
}

fn write_id(out: &mut Vec<u8>, id: Option<&FileId>) {
    match id {
        Some(id) => write_text(out, id.as_str()),
        None => write_any(out, &Any::Null),
    }
}

pub(super) fn write_number(out: &mut Vec<u8>, number: f64) {
    write_any(out, &Any::Number(Number::Float(number)));
}

fn write_blob(out: &mut Vec<u8>, blob: &BlobRef) {
    write_object(out, 2);
    write_string(out, "hash");
    write_text(out, &blob.hash.to_string());
    write_string(out, "size");
    write_number(out, blob.size as f64);
}
