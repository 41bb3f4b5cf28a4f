//! Writes updates by hand. This and `rich::encode`, for rich text, are the only places that write
//! structs.
//!
//! yrs can only write relative to an index, and finds an index by walking the list. A row of the
//! table is written relative to an item with a known id, at a cost that does not depend on the
//! length of the list.

use yrs::Any;

use super::{
    parse::{StructKind, normalise, utf16_len},
    rewrite::{write_deletes, write_id},
    update_scan::IdRange,
};
use crate::{
    id::{ClientId, ItemId},
    lib0::{write_any, write_string, write_var_uint},
};

/// Collects structs and deletions, and writes them as one update.
///
/// ```
/// use yfs_engine::{gate::UpdateBuilder, id::{ClientId, ItemId}};
/// let id = ItemId::new(ClientId::new(7)?, 0);
/// let mut update = UpdateBuilder::new();
/// update.array_run(id, None, None, "table:files", &["row".into()]);
/// assert_eq!(update.finish(), b"\x01\x01\x07\x00\x08\x01\x0btable:files\x01\x77\x03row\x00");
/// # Ok::<(), yfs_engine::id::IdError>(())
/// ```
#[derive(Debug, Default, Clone)]
pub struct UpdateBuilder {
    runs: Vec<(ItemId, Vec<u8>)>,
    deletes: Vec<IdRange>,
}

impl UpdateBuilder {
    /// Begins an update.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds values to the array `root`, behind `origin` and before `right`. The first value gets
    /// the item `id`. Without either neighbor they go to the front.
    ///
    /// # Panics
    ///
    /// If `values` is empty.
    pub fn array_run(
        &mut self,
        id: ItemId,
        origin: Option<ItemId>,
        right: Option<ItemId>,
        root: &str,
        values: &[Any],
    ) {
        let mut encoded = Vec::with_capacity(64 * values.len());
        for value in values {
            write_any(&mut encoded, value);
        }
        self.array_run_encoded(id, origin, right, root, values.len(), &encoded);
    }

    /// Adds values like [`array_run`](Self::array_run), already encoded one after another.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub(crate) fn array_run_encoded(
        &mut self,
        id: ItemId,
        origin: Option<ItemId>,
        right: Option<ItemId>,
        root: &str,
        n_values: usize,
        values: &[u8],
    ) {
        assert!(n_values > 0, "a run has at least one value");
        let mut bytes = Vec::with_capacity(values.len() + 64);
        write_links(&mut bytes, StructKind::Any, origin, right, root);
        write_var_uint(&mut bytes, n_values as u64);
        bytes.extend_from_slice(values);
        self.runs.push((id, bytes));
    }

    /// Adds text to the root `root`, behind `origin` and before `right`. The first code unit gets
    /// the item `id`. Returns the number of code units.
    pub(crate) fn text_run(
        &mut self,
        id: ItemId,
        origin: Option<ItemId>,
        right: Option<ItemId>,
        root: &str,
        text: &str,
    ) -> u32 {
        let mut bytes = Vec::with_capacity(text.len() + root.len() + 32);
        write_links(&mut bytes, StructKind::String, origin, right, root);
        write_string(&mut bytes, text);
        self.runs.push((id, bytes));
        utf16_len(text) as u32
    }

    /// Deletes one item.
    pub fn delete(&mut self, id: ItemId) {
        self.delete_range(IdRange { client: id.client, start: id.clock, len: 1 });
    }

    /// Deletes a range of items.
    pub(crate) fn delete_range(&mut self, range: IdRange) {
        if range.len > 0 {
            self.deletes.push(range);
        }
    }

    /// Reports whether nothing has been added.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.deletes.is_empty()
    }

    /// Writes the update: clients in descending order, the runs of each by clock, deleted ranges
    /// joined where they touch.
    pub fn finish(mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.runs.sort_by_key(|(id, _)| (std::cmp::Reverse(id.client), id.clock));
        let by_client = |a: &(ItemId, _), b: &(ItemId, _)| a.0.client == b.0.client;
        write_var_uint(&mut out, self.runs.chunk_by(by_client).count() as u64);
        for runs in self.runs.chunk_by(by_client) {
            let (first, _): &(ItemId, Vec<u8>) = &runs[0];
            write_var_uint(&mut out, runs.len() as u64);
            write_id(&mut out, *first);
            for (_, bytes) in runs {
                out.extend_from_slice(bytes);
            }
        }
        write_delete_set(&mut out, self.deletes);
        out
    }
}

/// Writes the beginning of a struct in a root.
fn write_links(
    bytes: &mut Vec<u8>,
    kind: StructKind,
    origin: Option<ItemId>,
    right: Option<ItemId>,
    root: &str,
) {
    let left_flag = if origin.is_some() { 0x80 } else { 0 };
    let right_flag = if right.is_some() { 0x40 } else { 0 };
    bytes.push(kind as u8 | left_flag | right_flag);
    for neighbor in [origin, right].into_iter().flatten() {
        write_id(bytes, neighbor);
    }
    if origin.is_none() && right.is_none() {
        write_var_uint(bytes, 1);
        write_string(bytes, root);
    }
}

/// Writes deletions: clients in descending order, ranges joined where they touch.
pub(crate) fn write_delete_set(out: &mut Vec<u8>, mut deletes: Vec<IdRange>) {
    normalise(&mut deletes);
    deletes.sort_by_key(|range| (std::cmp::Reverse::<ClientId>(range.client), range.start));
    write_deletes(out, &deletes);
}
