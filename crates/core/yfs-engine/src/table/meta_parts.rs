//! The parts of a row's `meta`: what applications keep there, the record of a removal, and the mark
//! of a purge.
//!
//! Different writers set them at the same time, so each part is a field with a cell of its own.
//! Readers and writers of rows see one object: a merge patch is split by the names of its members
//! (decision 66). Rows of earlier versions have all members in `meta`.

use std::collections::HashMap;

use smol_str::SmolStr;
use yrs::Any;

use super::{
    format::{FieldValue, StoredRow},
    row::TableError,
};
use crate::{id::FileId, lib0::write_any};

/// The member of a trashed file's `meta` that holds the id of the file that took over its content.
pub const REPLACED_KEY: &str = "replaced";

/// The member of such a file's `meta` that holds the BLAKE3 hash of that content, in hexadecimal:
/// content of the file beyond it came too late to be taken over.
pub const HELD_KEY: &str = "held";

/// The member of a trashed node's `meta` that names the actor who put it into the trash.
pub const TRASHED_BY_KEY: &str = "trashed_by";

/// The member of a trashed node's `meta` that holds the label of that change, if it has one.
pub(crate) const TRASH_LABEL_KEY: &str = "trash_label";

/// The member of a trashed node's `meta` that names the step of that change, if it has one.
pub(crate) const TRASH_STEP_KEY: &str = "trash_step";

/// The member of a trashed node's `meta` that holds what its remover knew of the rows at and below
/// it ([`RowClocks`](super::RowClocks)).
pub(crate) const TRASH_KNOWN_KEY: &str = "trash_known";

/// The member of a trashed node's `meta` that names the workspace to which it was moved.
pub const MOVED_KEY: &str = "moved";

/// The member of a row's `meta` that holds the id of the purge that marked it.
pub const PURGE_KEY: &str = "purge";

/// The members of `meta` that record a removal.
pub const REMOVAL_KEYS: [&str; 7] = [
    TRASHED_BY_KEY,
    TRASH_LABEL_KEY,
    TRASH_STEP_KEY,
    TRASH_KNOWN_KEY,
    REPLACED_KEY,
    HELD_KEY,
    MOVED_KEY,
];

/// The greatest depth of metadata. Gates of peers reject elements nested deeper than 64.
const MAX_META_DEPTH: usize = 32;

/// The greatest size of a part of a row's metadata, encoded, in bytes.
const MAX_META_BYTES: usize = 64 << 10;

/// The parts of the metadata of one row, by reference.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct MetaParts<'a> {
    pub(super) application: Option<&'a Any>,
    pub(super) removal: Option<&'a Any>,
    pub(super) purge: Option<&'a str>,
}

impl MetaParts<'_> {
    /// Returns the object that readers of the row see. The record of a removal hides all that an
    /// earlier version recorded in `meta`.
    pub(super) fn join(self) -> Option<Any> {
        if self.removal.is_none() && self.purge.is_none() {
            return self.application.cloned();
        }
        let mut members = members_of(self.application);
        if self.removal.is_some() {
            members.retain(|name, _| !REMOVAL_KEYS.contains(&name.as_str()));
            members.extend(members_of(self.removal));
        }
        if let Some(purge) = self.purge {
            members.insert(PURGE_KEY.to_owned(), Any::from(purge));
        }
        Some(Any::from(members))
    }

    /// Applies a JSON merge patch (RFC 7396), and returns the parts as fields.
    ///
    /// # Errors
    ///
    /// If the patch is no object, or a part would not be JSON that the gates of all peers accept.
    pub(super) fn patch(self, id: &FileId, patch: &Any) -> Result<[FieldValue; 3], TableError> {
        let invalid = || TableError::InvalidMeta(id.clone());
        let Any::Map(patch) = patch else { return Err(invalid()) };
        let (mut rest, mut of_removal) = (HashMap::new(), HashMap::new());
        let mut purge = self.purge.map(SmolStr::new);
        for (name, value) in patch.iter() {
            let is_own = name == PURGE_KEY || REMOVAL_KEYS.contains(&name.as_str());
            // An earlier version may have recorded it here.
            if !is_own || *value == Any::Null {
                rest.insert(name.clone(), value.clone());
            }
            match value {
                _ if name != PURGE_KEY && is_own => {
                    of_removal.insert(name.clone(), value.clone());
                }
                Any::Null if is_own => purge = None,
                Any::String(mark) if is_own => purge = Some(SmolStr::new(mark)),
                _ if is_own => return Err(invalid()),
                _ => (),
            }
        }
        let application = merge_patch(self.application.cloned(), &Any::from(rest), 0);
        let removal = match of_removal.is_empty() {
            true => self.removal.cloned(),
            false => merge_patch(Some(self.removal_so_far()), &Any::from(of_removal), 0),
        };
        let [application, removal] = [application, removal].map(|part| part.filter(has_members));
        check_part(id, application.as_ref())?;
        check_part(id, removal.as_ref())?;
        Ok([
            FieldValue::Meta(application.map(Box::new)),
            FieldValue::Removal(removal.map(Box::new)),
            FieldValue::Purge(purge),
        ])
    }

    /// Returns the record of a removal, also that of an earlier version.
    fn removal_so_far(self) -> Any {
        let mut members = members_of(self.removal.or(self.application));
        members.retain(|name, _| REMOVAL_KEYS.contains(&name.as_str()));
        Any::from(members)
    }
}

impl StoredRow {
    /// Returns the parts of its metadata.
    pub(super) fn meta_parts(&self) -> MetaParts<'_> {
        let Some(rest) = self.rest.as_deref() else { return MetaParts::default() };
        MetaParts {
            application: rest.meta.as_ref(),
            removal: rest.removal.as_ref(),
            purge: rest.purge.as_deref(),
        }
    }

    /// Sets the metadata of a new row.
    pub(super) fn set_meta(&mut self, id: &FileId, meta: Option<&Any>) -> Result<(), TableError> {
        let Some(meta) = meta else { return Ok(()) };
        let Any::Map(members) = meta else { return Err(TableError::InvalidMeta(id.clone())) };
        let (mut application, mut removal) = (HashMap::new(), HashMap::new());
        let mut purge = None;
        for (name, value) in members.iter() {
            match value {
                Any::String(mark) if name == PURGE_KEY => purge = Some(SmolStr::new(mark)),
                _ if REMOVAL_KEYS.contains(&name.as_str()) => {
                    removal.insert(name.clone(), value.clone());
                }
                _ => drop(application.insert(name.clone(), value.clone())),
            }
        }
        // An empty object stays what it is, unless all members went to the other parts.
        let is_application = !application.is_empty() || members.is_empty();
        let application = is_application.then(|| Any::from(application));
        let removal = (!removal.is_empty()).then(|| Any::from(removal));
        check_part(id, application.as_ref())?;
        check_part(id, removal.as_ref())?;
        self.set_field(FieldValue::Meta(application.map(Box::new)));
        self.set_field(FieldValue::Removal(removal.map(Box::new)));
        self.set_field(FieldValue::Purge(purge));
        Ok(())
    }
}

fn members_of(part: Option<&Any>) -> HashMap<String, Any> {
    match part {
        Some(Any::Map(members)) => (**members).clone(),
        _ => HashMap::new(),
    }
}

fn has_members(part: &Any) -> bool {
    !matches!(part, Any::Map(members) if members.is_empty())
}

fn merge_patch(target: Option<Any>, patch: &Any, depth: usize) -> Option<Any> {
    let Any::Map(patch) = patch else { return Some(patch.clone()) };
    let mut members = match target {
        Some(Any::Map(members)) => (*members).clone(),
        _ => Default::default(),
    };
    for (name, value) in patch.iter() {
        let merged = match value {
            Any::Null => None,
            // Deeper than is allowed anyway; the check that follows rejects it.
            value if depth > MAX_META_DEPTH => Some(value.clone()),
            value => merge_patch(members.remove(name), value, depth + 1),
        };
        match merged {
            Some(value) => members.insert(name.clone(), value),
            None => members.remove(name),
        };
    }
    Some(Any::from(members))
}

/// Checks that the gate of every peer will accept the metadata, and that it is JSON.
fn check_part(id: &FileId, meta: Option<&Any>) -> Result<(), TableError> {
    let Some(meta) = meta else { return Ok(()) };
    let mut bytes = Vec::new();
    let mut fits = matches!(meta, Any::Map(_)) && is_json(meta, 0);
    if fits {
        write_any(&mut bytes, meta);
        fits = bytes.len() <= MAX_META_BYTES;
    }
    if fits { Ok(()) } else { Err(TableError::InvalidMeta(id.clone())) }
}

fn is_json(value: &Any, depth: usize) -> bool {
    match value {
        Any::Null | Any::Bool(_) | Any::String(_) => true,
        Any::Number(_) => crate::lib0::as_number(value).is_some_and(f64::is_finite),
        Any::Undefined | Any::Buffer(_) => false,
        Any::Array(values) => {
            depth < MAX_META_DEPTH && values.iter().all(|value| is_json(value, depth + 1))
        }
        Any::Map(members) => {
            depth < MAX_META_DEPTH && members.values().all(|value| is_json(value, depth + 1))
        }
    }
}
