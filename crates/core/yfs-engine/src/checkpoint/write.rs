//! Writes a checkpoint: all of it, or what changed since the one that the document is based on.

use std::collections::{BTreeMap, BTreeSet};

use super::{CheckpointError, head, head::HeadFacts, keys, keys::NodePlace, listing};
use crate::{
    gate::RootIx,
    id::{FileId, ItemId},
    main_doc::MainDoc,
    table::{BaseRow, RowHistory, latest_record, may_have_records},
    tree::NodeRef,
};

/// The keys of one id, and their values.
type NodeEntries = BTreeMap<Vec<u8>, Vec<u8>>;

impl MainDoc {
    /// Writes a checkpoint: calls `put` with each key and its value once, in no order.
    ///
    /// # Errors
    ///
    /// If the document cannot be written so, or `put` fails: then what was written is of no use.
    pub fn write_checkpoint<E: From<CheckpointError>>(
        &self,
        mut put: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        put(keys::HEAD, &self.write_head()?)?;
        let nodes = self.tree().nodes().filter_map(|node| node.id().cloned());
        for id in nodes.chain(self.files().rowless()) {
            for (key, value) in self.entries_of(&id)? {
                put(&key, &value)?;
            }
        }
        self.checkpoint_failure().map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Writes the changes since the checkpoint that the document is based on: calls `set` once with
    /// each key that has another value now, or none. A document without a base writes everything.
    /// The costs grow with the rows that were changed, not with all rows.
    ///
    /// # Errors
    ///
    /// As [`write_checkpoint`](Self::write_checkpoint).
    pub fn write_checkpoint_changes<E: From<CheckpointError>>(
        &self,
        mut set: impl FnMut(&[u8], Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(base) = self.checkpoint() else {
            return self.write_checkpoint(|key, value| set(key, Some(value)));
        };
        set(keys::HEAD, Some(&self.write_head()?))?;
        let mut ids: BTreeSet<FileId> = self.files().changed_ids().cloned().collect();
        ids.extend(self.tree().nodes.moved_ids().cloned());
        // A key may go from one id to another.
        let (mut before, mut now) = (NodeEntries::new(), NodeEntries::new());
        for id in ids {
            before.extend(base.entries_of(&id)?);
            now.extend(self.entries_of(&id)?);
        }
        for key in before.keys().filter(|key| !now.contains_key(*key)) {
            set(key, None)?;
        }
        for (key, value) in now.iter().filter(|(key, value)| before.get(*key) != Some(value)) {
            set(key, Some(value))?;
        }
        self.checkpoint_failure().map_or(Ok(()), |failure| Err(failure.into()))
    }

    fn write_head(&self) -> Result<Vec<u8>, CheckpointError> {
        self.doc().health()?;
        if !self.doc().parked().is_empty() || self.doc().has_dropped_parked() {
            return Err(CheckpointError::Parked);
        }
        let rows = self.files().base_facts();
        let facts = HeadFacts { rows, tree: self.tree().base_facts() };
        Ok(head::write_head(self.tree().workspace(), &facts, self.doc(), self.settings()))
    }

    /// Returns the keys of an id, and their values.
    fn entries_of(&self, id: &FileId) -> Result<NodeEntries, CheckpointError> {
        let mut record = Vec::new();
        if !self.files().write_record(&mut record, id) {
            return Ok(NodeEntries::new());
        }
        let Some(node) = self.tree().node(id) else { return entries(id, None, record) };
        let parent = node.parent();
        let place = NodePlace {
            parent: parent.as_ref().and_then(NodeRef::id).map(FileId::as_str),
            is_trashed: node.is_trashed(),
            name: if node.is_trashed() { id.as_str() } else { node.name() },
        };
        let mut entries = entries(id, Some(&place), record)?;
        if node.is_renamed() {
            entries.insert(keys::renamed(id.as_str()), Vec::new());
        }
        Ok(entries)
    }
}

/// Returns the keys of an id with the given elements, and their values.
pub(super) fn entries(
    id: &FileId,
    place: Option<&NodePlace<'_>>,
    record: Vec<u8>,
) -> Result<NodeEntries, CheckpointError> {
    let mut entries = NodeEntries::new();
    let row = BaseRow::read(&record)?;
    for (is_row, ItemId { client, clock }) in row.items() {
        let root = if is_row { RootIx::Files } else { RootIx::Cells };
        entries.insert(keys::element(root, client, clock), id.as_str().into());
    }
    let Some(place) = place else {
        entries.insert(keys::rowless(id.as_str()), record);
        return Ok(entries);
    };
    if may_have_records(&record)
        && let Some(RowHistory { row, .. }) = row.history(id)
        && let Some(at) = latest_record(row.meta.as_ref(), row.created_at)
    {
        entries.insert(keys::recorded(at, id.as_str()), Vec::new());
    }
    if place.is_trashed {
        entries.insert(keys::trashed(id.as_str()), Vec::new());
    } else {
        let kind = row.listed_kind().ok_or_else(|| super::malformed("a node has no row"))?;
        entries.insert(keys::listed(place), listing::write_entry(kind, id));
    }
    let place = place.write();
    entries.insert(keys::entry(&place), [id.as_str().as_bytes(), &[0], &record].concat());
    entries.insert(keys::place_of(id.as_str()), place);
    Ok(entries)
}
