//! What a writer knew of rows: for each client, the greatest clock among their elements.
//!
//! A writer receives the items of a client in the order of their clocks. So an element of the same
//! rows with a greater clock was unknown to it (decision 45).

use std::collections::{BTreeMap, btree_map::Entry};

use super::{FilesTable, format::RowField, row::NodeKind};
use crate::id::{ClientId, FileId, ItemId};

/// The length of an encoded record above which none is made, in bytes; it is part of a row's
/// `meta`, which has at most 64 KiB.
const MAX_LEN: usize = 16 << 10;

/// The greatest clock of each client among the elements of some rows.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct RowClocks {
    by_client: BTreeMap<ClientId, u32>,
}

/// The changes of a row that a writer did not know of.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct UnknownChanges {
    /// The row was made.
    pub is_new: bool,
    /// Its name or its directory changed.
    pub is_moved: bool,
    /// Its content changed.
    pub is_edited: bool,
}

impl UnknownChanges {
    /// Reports whether there is any.
    pub(crate) fn any(self) -> bool {
        self.is_new || self.is_moved || self.is_edited
    }
}

impl RowClocks {
    /// Encodes the clocks as text: `client:clock` in hexadecimal, joined by blanks. Returns `None`
    /// if that is longer than 16 KiB.
    pub(crate) fn encode(&self) -> Option<String> {
        let pairs = self.by_client.iter();
        let pairs: Vec<String> =
            pairs.map(|(client, clock)| format!("{:x}:{clock:x}", client.get())).collect();
        let text = pairs.join(" ");
        (text.len() <= MAX_LEN).then_some(text)
    }

    /// Reads what [`encode`](Self::encode) wrote; `None` if the text is no such record.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut clocks = Self::default();
        for pair in text.split_ascii_whitespace() {
            let (client, clock) = pair.split_once(':')?;
            let client = ClientId::new(u64::from_str_radix(client, 16).ok()?).ok()?;
            clocks.add(ItemId::new(client, u32::from_str_radix(clock, 16).ok()?));
        }
        Some(clocks)
    }

    fn add(&mut self, item: ItemId) {
        match self.by_client.entry(item.client) {
            Entry::Occupied(mut known) => *known.get_mut() = item.clock.max(*known.get()),
            Entry::Vacant(slot) => drop(slot.insert(item.clock)),
        }
    }

    fn has(&self, item: ItemId) -> bool {
        self.by_client.get(&item.client).is_some_and(|clock| item.clock <= *clock)
    }
}

impl FilesTable {
    /// Adds the elements of a row and of its cells to `clocks`.
    pub(crate) fn add_clocks(&self, id: &FileId, clocks: &mut RowClocks) {
        let Some(view) = self.view(id) else { return };
        self.row_elements(view).for_each(|element| clocks.add(element.id));
        let cells = self.cell_groups(view).into_iter().flat_map(|(_, group)| group);
        cells.for_each(|element| clocks.add(element.id));
    }

    /// Returns the item that says whether a row is in the trash: the cell, or the row itself if it
    /// has none.
    pub(crate) fn trash_item(&self, id: &FileId) -> Option<ItemId> {
        let view = self.view(id)?;
        let groups = self.cell_groups(view);
        let cell = groups.iter().find(|(field, _)| *field == RowField::Trashed);
        let cell = cell.and_then(|(_, group)| group.first()).map(|element| element.id);
        cell.or_else(|| self.row_elements(view).next().map(|element| element.id))
    }

    /// Returns the changes of a row beyond `clocks`. Permission bits, metadata, and what the write
    /// made that trashed the row, are none.
    pub(crate) fn changes_beyond(&self, id: &FileId, clocks: &RowClocks) -> UnknownChanges {
        let mut unknown = UnknownChanges::default();
        let Some(view) = self.view(id) else { return unknown };
        let groups = self.cell_groups(view);
        let trashing = groups.iter().find(|(field, _)| *field == RowField::Trashed);
        let trashing = trashing.and_then(|(_, group)| group.first());
        let trashing = trashing.map(|element| (element.id.client, element.stamp));
        for (field, group) in &groups {
            let mut unseen = group.iter().filter(|element| {
                !clocks.has(element.id) && trashing != Some((element.id.client, element.stamp))
            });
            if unseen.next().is_none() {
                continue;
            }
            match field {
                RowField::Name | RowField::Parent => unknown.is_moved = true,
                RowField::Stat | RowField::Blob | RowField::Link => unknown.is_edited = true,
                RowField::Trashed
                | RowField::Mode
                | RowField::Meta
                | RowField::Removal
                | RowField::Purge => {}
            }
        }
        let entry = self.entry(view);
        // Each change of a field writes the row again, so only without cells it says who made it.
        if groups.is_empty()
            && let Some(entry) = &entry
        {
            let is_derived = entry.derived && entry.row.kind == NodeKind::Directory;
            let mut elements = self.row_elements(view);
            unknown.is_new = !is_derived && elements.all(|element| !clocks.has(element.id));
        }
        if entry.is_some_and(|entry| entry.row.kind == NodeKind::Directory) {
            unknown.is_edited = false;
        }
        unknown
    }
}
