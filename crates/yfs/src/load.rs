//! Building documents from the log.
//!
//! What the gate refuses is left out and counted: one bad record costs at most the later work of
//! its author, never the document.

use yfs_engine::{
    content::ContentDoc,
    gate::{Refusal, Source},
    main_doc::MainDoc,
};
use yfs_store::{DocName, Seq, Store};

use crate::error::Result;

/// What loading a document found.
#[derive(Debug, Clone)]
pub(crate) struct LoadReport {
    /// Everything that was logged up to here has been read.
    pub(crate) upto: Seq,
    /// The last record of the document.
    pub(crate) head: Seq,
    /// How many bytes of updates were read.
    pub(crate) bytes: u64,
    /// What was left out, and why.
    pub(crate) refused: Vec<(Seq, Refusal)>,
}

/// Loads a content document into `doc`, which is empty.
pub(crate) fn content(
    store: &dyn Store,
    name: &DocName,
    doc: &mut ContentDoc,
) -> Result<LoadReport> {
    feed(store, name, |update| doc.receive(update, Source::Store).map(drop))
}

/// Loads the main document into `doc`, which is empty.
pub(crate) fn main(store: &dyn Store, name: &DocName, doc: &mut MainDoc) -> Result<LoadReport> {
    feed(store, name, |update| doc.receive(update, Source::Store).map(drop))
}

fn feed(
    store: &dyn Store,
    name: &DocName,
    mut receive: impl FnMut(&[u8]) -> std::result::Result<(), Refusal>,
) -> Result<LoadReport> {
    let loaded = store.load(name)?;
    let mut report =
        LoadReport { upto: loaded.upto, head: loaded.head, bytes: 0, refused: Vec::new() };
    if let Some(snapshot) = &loaded.snapshot {
        report.bytes += snapshot.len() as u64;
        if let Err(refusal) = receive(snapshot) {
            report.refused.push((Seq(0), refusal));
        }
    }
    for record in &loaded.updates {
        report.bytes += record.data.len() as u64;
        if let Err(refusal) = receive(&record.data) {
            report.refused.push((record.seq, refusal));
        }
    }
    Ok(report)
}
