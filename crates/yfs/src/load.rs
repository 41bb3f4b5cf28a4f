//! Building documents from the log.
//!
//! A record that the gate refuses is left out and counted: one bad record costs at most the later
//! work of its author, never the document.

use std::collections::BTreeSet;

use yfs_engine::{
    content::ContentDoc,
    gate::{Refusal, Source},
    main_doc::MainDoc,
};
use yfs_store::{DocName, Seq, Store};

use crate::error::{Result, WorkspaceError};

/// How often a document is built anew without a record on which the CRDT library panicked.
const MAX_REBUILDS: usize = 16;

/// What loading a document found.
#[derive(Debug, Clone)]
pub(crate) struct LoadReport {
    /// Everything that was logged up to here has been read.
    pub(crate) upto: Seq,
    /// The last record of the document.
    pub(crate) head: Seq,
    /// How many bytes of updates were read.
    pub(crate) bytes: u64,
    /// Records that were left out, and why.
    pub(crate) refused: Vec<(Seq, Refusal)>,
    /// How many records cannot be read.
    pub(crate) n_damaged: usize,
}

impl LoadReport {
    /// Reports whether some of what was logged is not in the document.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.n_damaged > 0 || !self.refused.is_empty()
    }
}

/// Loads a content document into an empty one.
///
/// # Errors
///
/// If the store fails; [`WorkspaceError::Refused`] if the document cannot be built even without the
/// records that poison it.
pub(crate) fn content(
    store: &dyn Store,
    name: &DocName,
    new_doc: impl Fn() -> ContentDoc,
) -> Result<(ContentDoc, LoadReport)> {
    let loaded = store.load(name)?;
    let mut report = LoadReport {
        upto: loaded.upto,
        head: loaded.head,
        bytes: 0,
        refused: Vec::new(),
        n_damaged: loaded.damaged.len(),
    };
    let snapshot = loaded.snapshot.iter().map(|snapshot| (Seq::ZERO, snapshot));
    let records = loaded.updates.iter().map(|record| (record.seq, &record.data));
    let updates: Vec<(Seq, &Vec<u8>)> = snapshot.chain(records).collect();
    report.bytes = updates.iter().map(|(_, update)| update.len() as u64).sum();
    let mut left_out = BTreeSet::new();
    for _ in 0..MAX_REBUILDS {
        let mut doc = new_doc();
        report.refused.retain(|(seq, _)| left_out.contains(seq));
        for (seq, update) in updates.iter().filter(|(seq, _)| !left_out.contains(seq)) {
            if let Err(refusal) = doc.receive(update, Source::Store) {
                report.refused.push((*seq, refusal));
            }
            if doc.gate().health().is_err() {
                left_out.insert(*seq);
                break;
            }
        }
        if doc.gate().health().is_ok() {
            return Ok((doc, report));
        }
    }
    let (_, refusal) = report.refused.pop().expect("a poisoned document refused a record");
    Err(WorkspaceError::Refused(refusal))
}

/// Loads the main document into `doc`, which is empty.
pub(crate) fn main(store: &dyn Store, name: &DocName, doc: &mut MainDoc) -> Result<LoadReport> {
    let loaded = store.load(name)?;
    let mut report = LoadReport {
        upto: loaded.upto,
        head: loaded.head,
        bytes: 0,
        refused: Vec::new(),
        n_damaged: loaded.damaged.len(),
    };
    let snapshot = loaded.snapshot.iter().map(|snapshot| (Seq::ZERO, snapshot));
    let records = loaded.updates.iter().map(|record| (record.seq, &record.data));
    for (seq, update) in snapshot.chain(records) {
        report.bytes += update.len() as u64;
        if let Err(refusal) = doc.receive(update, Source::Store) {
            report.refused.push((seq, refusal));
        }
    }
    Ok(report)
}
