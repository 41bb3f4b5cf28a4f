//! Labels: names that people give to versions, in the array `fs:labels`.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use yrs::{Any, Array, WriteTxn};

use super::{
    ContentDoc, ContentError, MAX_LABEL_LEN, RunAuthor,
    blobs::{read_id, write_id},
    log,
    note::{NotedState, StateNote},
    push_front,
};
use crate::{
    gate::RootIx,
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
pub(super) struct VersionLabels {
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

    /// Returns each label with the state that it notes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&VersionLabel, &StateNote)> {
        self.labels.values().map(|(label, note)| (label, note))
    }
}

impl ContentDoc {
    /// Returns the labels, in the order in which they were given.
    pub fn labels(&self) -> Vec<VersionLabel> {
        let mut labels: Vec<VersionLabel> =
            self.labels.iter().map(|(label, _)| label.clone()).collect();
        labels.sort_by_key(|label| (label.author.at, label.id));
        labels
    }

    /// Labels the current version; with `blob`, the given version of a blob.
    ///
    /// # Errors
    ///
    /// [`ContentError::BadLabel`] if the name is empty, too long or several lines;
    /// [`ContentError::Refused`] if the document cannot be edited at all.
    pub fn add_label(
        &mut self,
        name: &str,
        blob: Option<ItemId>,
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.gate.health()?;
        if !is_name(name) {
            return Err(ContentError::BadLabel);
        }
        let named = [(NAME, Any::from(name))];
        let of = blob.map(|blob| (BLOB, Any::from(write_id(blob))));
        let note = self.log.notes().encode_version(&self.version());
        let value = log::value(author, named.into_iter().chain(of).chain(note.member()));
        let id = ItemId::new(self.client, self.gate.clock_of(self.client));
        let element = value.clone();
        let (_, update) = self.gate.edit(|txn| push_front(txn, RootIx::Labels, element));
        self.finish(update, [(RootIx::Labels, id, value)])
    }

    /// Removes all labels with a name; does nothing if there are none.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document cannot be edited at all.
    pub fn remove_label(&mut self, name: &str) -> Result<Option<Vec<u8>>, ContentError> {
        self.gate.health()?;
        let is_named = |value: &yrs::Out| match value {
            yrs::Out::Any(Any::Map(members)) => {
                matches!(members.get(NAME), Some(Any::String(text)) if **text == *name)
            }
            _ => false,
        };
        let (_, update) = self.gate.edit(|txn| {
            let array = txn.get_or_insert_array(RootIx::Labels.name());
            let values: Vec<yrs::Out> = array.iter(txn).collect();
            for (index, _) in values.iter().enumerate().rev().filter(|(_, value)| is_named(value)) {
                array.remove(txn, index as u32);
            }
        });
        let gone: Vec<ItemId> =
            self.labels().iter().filter(|label| label.name == name).map(|label| label.id).collect();
        for id in gone {
            self.labels.remove(id.client, id.clock, id.clock + 1);
        }
        self.finish(update, [])
    }

    /// Adds the version of a label to a state; reports whether all of it is known.
    pub(super) fn add_labelled(&self, state: &mut NotedState, note: &StateNote) -> bool {
        state.add_noted(self.log.notes(), note)
    }
}

fn is_name(name: &str) -> bool {
    let is_line = !name.contains(['\n', '\r']);
    is_line && !name.trim().is_empty() && name.len() <= MAX_LABEL_LEN
}
