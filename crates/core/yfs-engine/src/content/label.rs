//! Labels: names that people give to versions, in the array `fs:labels`.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use yrs::{Any, Array, Out, WriteTxn};

use super::{
    ContentError, MAX_LABEL_LEN, RunAuthor,
    blobs::{read_id, write_id},
    log,
    note::StateNote,
    replica::{ContentReplica, LocalChange},
};
use crate::{
    gate::{RootIx, values_in},
    id::{ClientId, ItemId},
};

/// The member that holds the name.
const NAME: &str = "name";

/// The member that holds the version of a blob.
const BLOB: &str = "blob";

/// A name that a user gave to a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionLabel {
    /// The item of the label.
    pub id: ItemId,
    /// The name.
    pub name: SmolStr,
    /// The author and the time of the label.
    pub author: RunAuthor,
    /// The version of content by reference that it names, where the file was a blob.
    pub blob: Option<ItemId>,
}

/// The labels of one document.
#[derive(Debug, Default)]
pub struct VersionLabels {
    labels: BTreeMap<ItemId, (VersionLabel, StateNote)>,
    /// The labels that were removed.
    gone: BTreeSet<ItemId>,
}

impl VersionLabels {
    /// Adds an element of `fs:labels`. Elements that are not labels are ignored.
    pub(super) fn insert(&mut self, id: ItemId, value: &Any) {
        let Any::Map(members) = value else { return };
        let Some(author) = log::parse_author(members) else { return };
        let text = |member| match members.get(member) {
            Some(Any::String(text)) => Some(&**text),
            _ => None,
        };
        let Some(name) = text(NAME).filter(|name| is_name(name)) else { return };
        let blob = text(BLOB).and_then(read_id);
        let label = VersionLabel { id, name: name.into(), author, blob };
        self.labels.insert(id, (label, StateNote::parse(id, members)));
    }

    /// Labels the current version, whose state `note` is; with `blob`, the given version of
    /// a blob.
    pub(super) fn add(
        &mut self,
        replica: &mut ContentReplica,
        name: &str,
        blob: Option<ItemId>,
        author: &RunAuthor,
        note: &StateNote,
    ) -> Result<LocalChange, ContentError> {
        if !is_name(name) {
            return Err(ContentError::BadLabel);
        }
        let named = [(NAME, Any::from(name))];
        let of = blob.map(|blob| (BLOB, Any::from(write_id(blob))));
        let value = log::value(author, named.into_iter().chain(of).chain(note.member()));
        let (id, change) = replica.push_element(RootIx::Labels, &value)?;
        self.insert(id, &value);
        Ok(change)
    }

    /// Removes all labels with a name; does nothing if there are none.
    pub(super) fn remove_named(
        &mut self,
        replica: &mut ContentReplica,
        name: &str,
    ) -> Result<LocalChange, ContentError> {
        let is_named = |value: &Out| match value {
            Out::Any(Any::Map(members)) => {
                matches!(members.get(NAME), Some(Any::String(text)) if **text == *name)
            }
            _ => false,
        };
        let ((), change) = replica.edit(|txn| {
            let array = txn.get_or_insert_array(RootIx::Labels.name());
            let values: Vec<Out> = values_in(txn, &array).collect();
            for (index, _) in values.iter().enumerate().rev().filter(|(_, value)| is_named(value)) {
                array.remove(txn, index as u32);
            }
        });
        let labels = self.labels.values().filter(|(label, _)| label.name == name);
        let removed: Vec<ItemId> = labels.map(|(label, _)| label.id).collect();
        for id in removed {
            self.remove(id.client, id.clock, id.clock + 1);
        }
        replica.gate.health()?;
        Ok(change)
    }

    /// Removes deleted labels.
    pub(super) fn remove(&mut self, client: ClientId, start: u32, end: u32) {
        let range = ItemId::new(client, start)..ItemId::new(client, end);
        let gone: Vec<ItemId> = self.labels.range(range).map(|(id, _)| *id).collect();
        gone.iter().for_each(|id| drop(self.labels.remove(id)));
        self.gone.extend(gone);
    }

    /// Returns the labels that were removed.
    pub(super) fn gone(&self) -> impl Iterator<Item = ItemId> {
        self.gone.iter().copied()
    }

    /// Returns the labels, in the order in which they were given.
    pub fn in_order(&self) -> Vec<VersionLabel> {
        let mut labels: Vec<VersionLabel> =
            self.labels.values().map(|(label, _)| label.clone()).collect();
        labels.sort_by_key(|label| (label.author.at, label.id));
        labels
    }

    /// Returns each label with the state that it notes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&VersionLabel, &StateNote)> {
        self.labels.values().map(|(label, note)| (label, note))
    }
}

fn is_name(name: &str) -> bool {
    let is_line = !name.contains(['\n', '\r']);
    is_line && !name.trim().is_empty() && name.len() <= MAX_LABEL_LEN
}
