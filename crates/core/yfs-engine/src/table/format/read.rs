//! Reads rows and cells directly from an update.
//!
//! If an object names a member twice the later counts, as in JavaScript.

use smol_str::SmolStr;
use yrs::Any;

use super::{
    super::{
        MAX_PREV,
        iso::parse_iso,
        meta_merge::{MemberPath, MemberTime},
        row::{BlobRef, NodeKind},
    },
    FieldValue, MAX_SAFE_INTEGER, RareFields, RowField, StoredCell, StoredRow,
};
use crate::{
    id::FileId,
    lib0::{Lib0Error, Lib0Reader, ObjectMembers, ValueView, write_any},
    time::Millis,
};

/// The greatest number of times of members that are read. Metadata of the greatest size has fewer.
const MAX_MEMBER_TIMES: usize = 16 << 10;

/// The known members of an element.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct ElementView<'a> {
    pub(in super::super) key: Option<ValueView<'a>>,
    pub(in super::super) ts: Option<ValueView<'a>>,
    val: Option<ValueView<'a>>,
    /// `c`: its writer knew of cells.
    aware: bool,
    /// `o`: the values that a cell superseded.
    superseded: Option<ValueView<'a>>,
    /// `k`: when members of metadata were set or removed.
    member_times: Option<ValueView<'a>>,
}

/// The known members of a row.
#[derive(Debug, Clone, Copy, Default)]
struct RowView<'a> {
    name: Option<ValueView<'a>>,
    kind: Option<ValueView<'a>>,
    parent: Option<ValueView<'a>>,
    size: Option<ValueView<'a>>,
    created_at: Option<ValueView<'a>>,
    updated_at: Option<ValueView<'a>>,
    trashed_at: Option<ValueView<'a>>,
    mode: Option<ValueView<'a>>,
    link: Option<ValueView<'a>>,
    blob: Option<ValueView<'a>>,
    meta: Option<ValueView<'a>>,
    removal: Option<ValueView<'a>>,
    purge: Option<ValueView<'a>>,
    base: Option<ValueView<'a>>,
    /// Whether it may have unknown members.
    is_more: bool,
    /// Whether a known member occurs twice.
    is_twice: bool,
}

impl<'a> ElementView<'a> {
    /// Reads the members of an element.
    pub(in super::super) fn of(element: ObjectMembers<'a>) -> Self {
        let mut view = Self::default();
        for (name, value) in element.iter() {
            view.set(name, value);
        }
        view
    }

    /// Reads the element at the position of `reader`, which reads `bytes`.
    ///
    /// # Errors
    ///
    /// If the bytes are no object.
    pub(in super::super) fn read(
        bytes: &'a [u8],
        reader: &mut Lib0Reader<'a>,
    ) -> Result<Self, Lib0Error> {
        let mut view = Self::default();
        ObjectMembers::read_each(bytes, reader, |name, value| view.set(name, value))?;
        Ok(view)
    }

    fn set(&mut self, name: &str, value: ValueView<'a>) {
        match name {
            "key" => self.key = Some(value),
            "ts" => self.ts = Some(value),
            "val" => self.val = Some(value),
            "c" => self.aware = true,
            "o" => self.superseded = Some(value),
            "k" => self.member_times = Some(value),
            _ => (),
        }
    }
}

impl<'a> RowView<'a> {
    fn of(row: ObjectMembers<'a>) -> Self {
        let mut view = Self::default();
        for (name, value) in row.iter() {
            let member = match name {
                "id" => continue,
                "name" => &mut view.name,
                "type" => &mut view.kind,
                "parentId" => &mut view.parent,
                "size" => &mut view.size,
                "createdAt" => &mut view.created_at,
                "updatedAt" => &mut view.updated_at,
                "trashedAt" => &mut view.trashed_at,
                "mode" => &mut view.mode,
                "link" => &mut view.link,
                "blob" => &mut view.blob,
                "meta" => &mut view.meta,
                "removal" => &mut view.removal,
                "purgeId" => &mut view.purge,
                "base" => &mut view.base,
                _ => {
                    view.is_more = true;
                    continue;
                }
            };
            view.is_twice |= member.replace(value).is_some();
        }
        view
    }
}

impl FieldValue {
    /// Reads the value of a cell.
    fn read(field: RowField, value: ValueView<'_>) -> Option<Self> {
        Some(match (field, value) {
            (RowField::Name, ValueView::String(name)) => Self::Name(name.into()),
            (RowField::Parent, ValueView::Null) => Self::Parent(None),
            (RowField::Parent, ValueView::String(id)) => {
                Self::Parent(Some(FileId::parse(id).ok()?))
            }
            (RowField::Trashed, ValueView::Null) => Self::Trashed(None),
            (RowField::Trashed, time) => Self::Trashed(Some(read_time(time)?)),
            (RowField::Stat, ValueView::Map(stat)) => {
                let updated_at = read_time(stat.get("updatedAt")?)?;
                Self::Stat { size: read_size(stat.get("size")?)?, updated_at }
            }
            (RowField::Mode, ValueView::Null) => Self::Mode(None),
            (RowField::Mode, mode) => Self::Mode(Some(read_mode(mode)?)),
            (RowField::Link, ValueView::Null) => Self::Link(None),
            (RowField::Link, ValueView::String(link)) => Self::Link(Some(link.into())),
            (RowField::Blob, ValueView::Null) => Self::Blob(None),
            (RowField::Blob, blob) => Self::Blob(Some(Box::new(read_blob(blob)?))),
            (RowField::Meta, ValueView::Null) => Self::Meta(None),
            (RowField::Meta, ValueView::Map(_)) => Self::Meta(Some(Box::new(value.to_any()))),
            (RowField::Removal, ValueView::Null) => Self::Removal(None),
            (RowField::Removal, ValueView::Map(_)) => Self::Removal(Some(Box::new(value.to_any()))),
            (RowField::Purge, ValueView::Null) => Self::Purge(None),
            (RowField::Purge, ValueView::String(mark)) => Self::Purge(Some(mark.into())),
            _ => return None,
        })
    }
}

/// Reads the row in an element of `table:files`; `None` if it has no readable one.
pub(in super::super) fn read_row(element: &ElementView<'_>) -> Option<StoredRow> {
    let ValueView::Map(members) = element.val? else { return None };
    let view = RowView::of(members);
    if view.is_twice {
        // As an object it has each member once.
        let mut bytes = Vec::new();
        write_any(&mut bytes, &element.val?.to_any());
        let val = ValueView::of(&bytes).ok();
        return read_row(&ElementView { val, ..*element });
    }
    let ValueView::String(name) = view.name? else { return None };
    let kind = match view.kind? {
        ValueView::String("file") => NodeKind::File,
        ValueView::String("folder") => NodeKind::Directory,
        _ => return None,
    };
    let parent = match view.parent {
        Some(ValueView::String(id)) => FileId::parse(id).ok(),
        _ => None,
    };
    let mut row = StoredRow {
        name: name.into(),
        parent,
        size: view.size.and_then(read_size).unwrap_or(0),
        created_at: view.created_at.and_then(read_time).unwrap_or_default(),
        updated_at: view.updated_at.and_then(read_time).unwrap_or_default(),
        trashed_at: view.trashed_at.and_then(read_time),
        kind,
        aware: element.aware,
        base: view.base.map_or_else(Box::default, read_base),
        rest: None,
    };
    let rest = read_rest(members, &view, &row);
    row.rest = (rest != RareFields::default()).then(|| Box::new(rest));
    Some(row)
}

fn read_rest(members: ObjectMembers<'_>, view: &RowView<'_>, row: &StoredRow) -> RareFields {
    let mut rest = RareFields {
        mode: view.mode.and_then(read_mode),
        link: view.link.and_then(read_text),
        blob: view.blob.and_then(read_blob),
        meta: view.meta.and_then(read_object),
        removal: view.removal.and_then(read_object),
        purge: view.purge.and_then(read_text),
        verbatim: Vec::new(),
    };
    if !view.is_more && is_canonical(view, row, &rest) {
        return rest;
    }
    for (name, value) in members.iter() {
        if !is_canonical_member(name, value, row, &rest) {
            rest.verbatim.push((name.into(), value.to_any()));
        }
    }
    // Of members with one name the last comes first, and stays.
    rest.verbatim.reverse();
    rest.verbatim.sort_by(|(left, _), (right, _)| left.cmp(right));
    rest.verbatim.dedup_by(|(later, _), (first, _)| later == first);
    rest
}

/// Reports whether this version would write all known members identically.
fn is_canonical(view: &RowView<'_>, row: &StoredRow, rest: &RareFields) -> bool {
    let members = [
        ("parentId", view.parent),
        ("size", view.size),
        ("createdAt", view.created_at),
        ("updatedAt", view.updated_at),
        ("trashedAt", view.trashed_at),
        ("mode", view.mode),
        ("link", view.link),
        ("blob", view.blob),
        ("meta", view.meta),
        ("removal", view.removal),
        ("purgeId", view.purge),
        ("base", view.base),
    ];
    let mut present = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
    present.all(|(name, value)| is_canonical_member(name, value, row, rest))
}

/// Reports whether this version would write the member identically.
fn is_canonical_member(
    name: &str,
    value: ValueView<'_>,
    row: &StoredRow,
    rest: &RareFields,
) -> bool {
    let is_number = |number: f64| value.as_number() == Some(number);
    match name {
        // The key has it.
        "id" | "name" | "type" => true,
        "base" => matches!(value, ValueView::Map(_)),
        "parentId" => match value {
            ValueView::Null => true,
            ValueView::String(id) => {
                row.parent.as_ref().is_some_and(|parent| parent.as_str() == id)
            }
            _ => row.parent.is_none(),
        },
        "size" => is_number(row.size as f64),
        "createdAt" => is_number(row.created_at.as_f64()),
        "updatedAt" => is_number(row.updated_at.as_f64()),
        "trashedAt" => match row.trashed_at {
            Some(time) => is_number(time.as_f64()),
            None => value == ValueView::Null,
        },
        "mode" => rest.mode.is_some(),
        "link" => rest.link.is_some(),
        "blob" => matches!(value, ValueView::Map(blob) if rest.blob.is_some() && blob.len() == 2),
        "meta" => rest.meta.is_some(),
        "removal" => rest.removal.is_some(),
        "purgeId" => rest.purge.is_some(),
        _ => false,
    }
}

/// Reads the cell in an element of `fs:cells`.
pub(in super::super) fn read_cell(
    field: RowField,
    element: &ElementView<'_>,
) -> Option<StoredCell> {
    let superseded = match element.superseded {
        Some(ValueView::Array(values)) => {
            values.iter().filter_map(|value| FieldValue::read(field, value)).collect()
        }
        _ => Box::default(),
    };
    let val = element.val?;
    if field != RowField::Parent {
        return Some(StoredCell {
            value: FieldValue::read(field, val)?,
            prev: Box::default(),
            superseded,
            member_times: read_member_times(field, element.member_times),
        });
    }
    let ValueView::Map(val) = val else { return None };
    let FieldValue::Parent(parent) = FieldValue::read(field, val.get("id")?)? else { return None };
    let prev = match val.get("prev") {
        Some(ValueView::Array(values)) => values
            .iter()
            .filter_map(|value| match FieldValue::read(field, value) {
                Some(FieldValue::Parent(parent)) => Some(parent),
                _ => None,
            })
            .take(MAX_PREV)
            .collect(),
        _ => Box::default(),
    };
    let (value, member_times) = (FieldValue::Parent(parent), Box::default());
    Some(StoredCell { value, prev, superseded, member_times })
}

/// Reads when members of metadata were set or removed. What is in another form is left out.
fn read_member_times(field: RowField, times: Option<ValueView<'_>>) -> Box<[MemberTime]> {
    let Some(ValueView::Array(times)) = times.filter(|_| field == RowField::Meta) else {
        return Box::default();
    };
    let times = times.iter().filter_map(|time| {
        let ValueView::Array(parts) = time else { return None };
        let mut parts = parts.iter();
        let name = match parts.next()? {
            ValueView::String(name) => name.into(),
            _ => return None,
        };
        let inner = match parts.next()? {
            ValueView::String(inner) => Some(inner.into()),
            ValueView::Null => None,
            _ => return None,
        };
        let ts = parts.next()?.as_number().filter(|ts| ts.is_finite())?;
        Some(MemberTime { member: MemberPath { name, inner }, ts })
    });
    times.take(MAX_MEMBER_TIMES).collect()
}

fn read_time(value: ValueView<'_>) -> Option<Millis> {
    match value {
        ValueView::String(text) => parse_iso(text),
        value => value
            .as_number()
            .filter(|number| number.abs() <= MAX_SAFE_INTEGER)
            .map(Millis::from_f64),
    }
}

fn read_size(value: ValueView<'_>) -> Option<u64> {
    let size = value.as_number().filter(|size| (0.0..=MAX_SAFE_INTEGER).contains(size));
    size.map(|size| size as u64)
}

fn read_mode(value: ValueView<'_>) -> Option<u32> {
    let is_whole = |mode: &f64| mode.trunc() == *mode && (0.0..=f64::from(u32::MAX)).contains(mode);
    value.as_number().filter(is_whole).map(|mode| mode as u32)
}

fn read_text(value: ValueView<'_>) -> Option<SmolStr> {
    match value {
        ValueView::String(text) => Some(text.into()),
        _ => None,
    }
}

fn read_object(value: ValueView<'_>) -> Option<Any> {
    matches!(value, ValueView::Map(_)).then(|| value.to_any())
}

fn read_blob(value: ValueView<'_>) -> Option<BlobRef> {
    let ValueView::Map(blob) = value else { return None };
    let hash = read_text(blob.get("hash")?)?.parse().ok()?;
    Some(BlobRef { hash, size: read_size(blob.get("size")?)? })
}

fn read_base(value: ValueView<'_>) -> Box<[(RowField, f64)]> {
    let ValueView::Map(base) = value else { return Box::default() };
    let timestamps = RowField::ALL.into_iter().filter_map(|field| {
        let ts = base.get(field.as_str())?.as_number().filter(|ts| ts.is_finite())?;
        Some((field, ts))
    });
    timestamps.collect()
}
