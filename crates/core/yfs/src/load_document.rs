//! Loading of documents from the log.
//!
//! A record that the gate rejects is left out and counted: one bad record costs at most the later
//! work of its author, never the document.

use std::collections::BTreeSet;

use yfs_engine::{
    content::ContentDoc,
    gate::{GateRejection, UpdateSource},
    main_doc::MainDoc,
};
use yfs_store::{DocHead, DocName, Seq, Store, StoredDocument};

use crate::error::{Result, WorkspaceError};

/// How often a document is rebuilt without a record on which the CRDT library panicked.
const MAX_REBUILDS: usize = 16;

/// An update and its position in the log; that of a snapshot is zero.
type StoredUpdate = (Seq, Vec<u8>);

/// The result of loading a document.
#[derive(Debug, Clone)]
pub(crate) struct LoadReport {
    /// All records up to this position were read.
    pub(crate) upto: Seq,
    /// The last record of the document.
    pub(crate) head: DocHead,
    /// The bytes of updates that were read.
    pub(crate) bytes: u64,
    /// Records that were left out, and the reasons.
    pub(crate) refused: Vec<(Seq, GateRejection)>,
    /// The number of records that cannot be read.
    pub(crate) n_damaged: usize,
}

impl LoadReport {
    /// Reports whether some records are missing from the document.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.n_damaged > 0 || !self.refused.is_empty()
    }
}

/// Loads a content document into an empty one.
///
/// # Errors
///
/// Fails if the store does, and with [`WorkspaceError::Refused`] if the document cannot be built
/// even without the records on which the CRDT library panics.
pub(crate) fn content(
    store: &dyn Store,
    name: &DocName,
    new_doc: impl Fn() -> ContentDoc,
) -> Result<(ContentDoc, LoadReport)> {
    let (updates, mut report) = read(store, name)?;
    let (mut left_out, mut poison) = (BTreeSet::new(), None);
    for _ in 0..MAX_REBUILDS {
        let mut doc = new_doc();
        report.refused.retain(|(seq, _)| left_out.contains(seq));
        for (seq, update) in updates.iter().filter(|(seq, _)| !left_out.contains(seq)) {
            if let Err(refusal) = doc.receive(update, UpdateSource::Store) {
                report.refused.push((*seq, refusal));
            }
            if let Err(refusal) = doc.gate().health() {
                left_out.insert(*seq);
                poison = Some(refusal);
                break;
            }
        }
        if doc.gate().health().is_ok() {
            return Ok((doc, report));
        }
    }
    let poison = poison.expect("a document that no record poisons is returned");
    Err(WorkspaceError::Refused(poison))
}

/// Loads the main document into `doc`, which is empty.
pub(crate) fn main(store: &dyn Store, name: &DocName, doc: &mut MainDoc) -> Result<LoadReport> {
    Ok(main_tail(store.load(name)?, doc))
}

/// Loads the records that follow a checkpoint into the document of that checkpoint.
pub(crate) fn main_tail(loaded: StoredDocument, doc: &mut MainDoc) -> LoadReport {
    let (updates, mut report) = of_stored(loaded);
    for (seq, update) in &updates {
        if let Err(refusal) = doc.receive(update, UpdateSource::Store) {
            report.refused.push((*seq, refusal));
        }
    }
    report
}

/// Reads the updates of a document.
fn read(store: &dyn Store, name: &DocName) -> Result<(Vec<StoredUpdate>, LoadReport)> {
    Ok(of_stored(store.load(name)?))
}

fn of_stored(loaded: StoredDocument) -> (Vec<StoredUpdate>, LoadReport) {
    let (upto, head, n_damaged) = (loaded.upto, loaded.head, loaded.damaged.len());
    let snapshot = loaded.snapshot.into_iter().map(|snapshot| (Seq::ZERO, snapshot));
    let records = loaded.updates.into_iter().map(|record| (record.seq, record.data));
    let updates: Vec<StoredUpdate> = snapshot.chain(records).collect();
    let bytes = updates.iter().map(|(_, update)| update.len() as u64).sum();
    (updates, LoadReport { upto, head, bytes, refused: Vec::new(), n_damaged })
}
