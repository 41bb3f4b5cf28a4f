//! Checkpoints: what is derived from the main document, kept so that a workspace opens without
//! reading its whole log.
//!
//! A checkpoint is an ordered map from keys to values, both bytes. [`MainDoc::write_checkpoint`]
//! writes it; [`MainDoc::on_checkpoint`] makes a document that reads from it what it is asked for,
//! and nothing else. Where the map is kept, and how its bytes are checked, is up to the caller. A
//! checkpoint is disposable: without it the document is loaded from its log.
//!
//! # Keys and values
//!
//! In keys, `0` is the byte of that value, which ids never have. The parent of an entry of the root
//! is empty. Numbers in keys are big-endian.
//!
//! - `C` parent `0` `n` display name: a node that is not itself trashed. The value is its id, `0`,
//!   and the elements of its row.
//! - `C` parent `0` `t` id: the same, of a trashed node.
//! - `D` id: empty; the node is not shown under the name that it stores.
//! - `E` array (1 byte) client (8 bytes) clock (4 bytes): the id of the row to which the live
//!   element of that item belongs.
//! - `H`: the head. The counts of tree and table, the nodes that are not shown in their stored
//!   parent, the items of the gate, and the settings.
//! - `L` parent `0` display name: the kind, size and id of a node that is not itself trashed. A
//!   listing reads these alone; they take a fifth of the bytes of `C`.
//! - `N` id: the rest of the key `C` of the node.
//! - `R` id: the elements of an id that has no readable row, and so no node.
//! - `T` id: empty; the node is itself trashed.
//! - `V` time (8 bytes) id: empty; the latest record of the row was made at that time, later times
//!   first.
//!
//! Keys that begin with `X` or `Y` are the caller's own.

mod base;
mod head;
mod keys;
mod listing;
#[cfg(test)]
mod tests;
mod write;

use std::{
    ops::ControlFlow,
    sync::{Arc, OnceLock},
};

use thiserror::Error;

use crate::{
    gate::{GateLimits, GateRejection, GatedDoc, LoggedUpdates},
    id::WorkspaceId,
    lib0::{Lib0Error, Lib0Reader},
    main_doc::{MainDoc, RecordedRow},
    table::{FilesTable, WorkspaceSettings, WriterIds},
    tree::TreeIndex,
};

/// Returns the first key of rows with records after one, or from the first.
pub(crate) fn first_recorded(after: Option<&RecordedRow>) -> Vec<u8> {
    match after {
        Some(row) => keys::after(&keys::recorded(row.at, row.id.as_str())),
        None => keys::RECORDED[0].to_vec(),
    }
}

/// The number of entries that are read at once, where they are kept.
const PAGE: usize = 1024;

/// The entries of a map, in order of key.
pub type CheckpointEntries = Vec<(Vec<u8>, Vec<u8>)>;

/// What is called with the keys and values of a range, until it breaks off.
pub type EntryVisitor<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// A checkpoint that was stored, and the log that it was made from.
///
/// What it returns must not change while a document reads from it, whatever others write.
pub trait CheckpointReader: LoggedUpdates {
    /// Returns the value of a key; `None` if it is certain that there is none.
    ///
    /// # Errors
    ///
    /// If the map cannot be read, or its bytes fail their check. Returns the reason as text.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, String>;

    /// Returns the first entries with keys from `from` on and before `to`, in order; at most `n`.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    fn scan(&self, from: &[u8], to: &[u8], n: usize) -> Result<CheckpointEntries, String>;

    /// Calls `each` with all entries with keys from `from` on and before `to`, in order, until it
    /// breaks off.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); some entries may have been passed before.
    fn for_each(&self, from: &[u8], to: &[u8], each: &mut EntryVisitor<'_>) -> Result<(), String> {
        let mut from = from.to_vec();
        loop {
            let page = self.scan(&from, to, PAGE)?;
            if page.iter().try_for_each(|(key, value)| each(key, value)).is_break() {
                return Ok(());
            }
            match page.last() {
                Some((last, _)) if page.len() == PAGE => from = keys::after(last),
                _ => return Ok(()),
            }
        }
    }
}

/// The reason why a checkpoint cannot be used. The document must be loaded from its log.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// It cannot be read, or fails its check.
    #[error("the checkpoint cannot be read: {0}")]
    Unreadable(String),
    /// Its bytes were written by another version, or are damaged.
    #[error("the checkpoint is malformed: {0}")]
    Malformed(#[from] Lib0Error),
    /// Some structs of the document wait for missing items. Only the log has them.
    #[error("the document has parked structs")]
    Parked,
    /// A document that yrs failed on has no state to write.
    #[error(transparent)]
    Poisoned(#[from] GateRejection),
}

/// A checkpoint as the base of a table and a tree.
#[derive(Debug)]
pub(crate) struct CheckpointBase {
    reader: Arc<dyn CheckpointReader>,
    /// The first failure. What was read since may be wrong.
    failure: OnceLock<CheckpointError>,
}

impl MainDoc {
    /// Makes the document of a checkpoint. It costs a read of the head; all else is read when it is
    /// asked for. The caller then [receives](Self::receive) the updates that were logged after it.
    ///
    /// # Errors
    ///
    /// If the checkpoint cannot be read.
    pub fn on_checkpoint(
        workspace: &WorkspaceId,
        writer: WriterIds,
        limits: GateLimits,
        reader: Arc<dyn CheckpointReader>,
    ) -> Result<Self, CheckpointError> {
        let head = reader.get(keys::HEAD).map_err(CheckpointError::Unreadable)?;
        let head = head.ok_or_else(|| CheckpointError::Unreadable("it has no head".to_owned()))?;
        let base = Arc::new(CheckpointBase::new(reader));
        let mut bytes = Lib0Reader::new(&head);
        let facts = head::read_facts(&mut bytes, workspace)?;
        let mut doc = GatedDoc::on_base(workspace, writer.rows, limits, &mut bytes, base.clone())?;
        doc.protect(&[writer.cells, writer.meta]);
        let settings = WorkspaceSettings::read_elements(writer.meta, &doc, &mut bytes)?;
        if !bytes.is_empty() {
            return Err(Lib0Error::End.into());
        }
        let files = FilesTable::on_base(writer, base.clone(), facts.rows);
        let tree = TreeIndex::on_base(workspace.clone(), base.clone(), &facts.tree);
        let main = Self::of_parts(doc, files, settings, tree, base);
        main.checkpoint_failure().map_or(Ok(main), Err)
    }
}

fn malformed(what: &str) -> CheckpointError {
    CheckpointError::Unreadable(what.to_owned())
}
