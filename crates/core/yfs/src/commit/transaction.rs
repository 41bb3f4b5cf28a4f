//! The parts of a transaction: rows, new documents, changes of documents, and preconditions.

use std::{fmt, sync::Arc};

use yfs_engine::{
    content::{ContentDoc, NewBlob, RunAuthor},
    hash::ContentHash,
    id::FileId,
    kind::ContentRoot,
    table::RowWrite,
};
use yfs_store::{DocFact, DocHead, DocName, Seq};

use crate::{error::Result, settled_form::SettledForm};

/// The access of a transaction to the workspace's structure: whether it writes rows, and how many
/// documents it locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StructureAccess {
    /// The transaction writes rows. Only one such transaction runs at a time.
    Change,
    /// The transaction changes several documents, whatever their paths are. It runs alone as well.
    Several,
    /// The transaction changes one document that was found by its path. The path must stay valid
    /// until the change is logged, in all processes.
    Hold,
    /// The transaction changes one document, whatever its path is.
    Ignore,
}

/// A set of changes that is logged as a whole or not at all.
#[derive(Debug)]
pub(crate) struct Transaction<'t, T = ()> {
    /// The change of the main document.
    pub(crate) main: MainChange,
    /// Documents that the transaction creates.
    pub(crate) new_documents: Vec<NewDocument>,
    /// Changes of documents, at most one of each.
    pub(crate) changes: Vec<DocumentChange<'t>>,
    /// Contents that the transaction was planned from, and that must still be the same.
    pub(crate) preconditions: Vec<ContentPrecondition>,
    /// Blobs that were put for the transaction, and must still be in the store when it is logged.
    pub(crate) blobs: Vec<ContentHash>,
    /// The value that the caller gets.
    pub(crate) value: T,
}

/// A change of the main document.
#[derive(Debug)]
pub(crate) enum MainChange {
    /// Rows to write, on the precondition that the main document's head is unchanged.
    Rows(Vec<RowWrite>),
    /// An update that this process encoded from the current state of the main document. The same
    /// precondition applies.
    Local(Vec<u8>),
    /// An update of a peer, which merges with any state.
    Peer(Vec<u8>),
}

/// A new document, created together with the row of its file.
#[derive(Debug, Clone)]
pub(crate) struct NewDocument {
    /// The file.
    pub(crate) id: FileId,
    /// The first update.
    pub(crate) update: Vec<u8>,
    /// The length of the text in bytes; `None` if the file's content is a blob.
    pub(crate) text_size: Option<u64>,
    /// The form in which the content needs no settlement, if the caller knows it.
    pub(crate) settled: Option<SettledForm>,
}

/// A content that must be unchanged when the transaction is logged.
#[derive(Debug)]
pub(crate) struct ContentPrecondition {
    /// The file.
    pub(crate) id: FileId,
    /// The last record of the content that the transaction was planned from.
    pub(crate) head: DocHead,
}

/// A change of one document.
pub(crate) struct DocumentChange<'t> {
    /// The file.
    pub(crate) id: FileId,
    /// Makes the change and returns its updates; none if nothing changes.
    pub(crate) make: Box<MakeChange<'t>>,
    /// The effect of the change on caches, reports and watchers.
    pub(crate) effect: ChangeEffect,
    /// Updates to log without loading the document, if the log has no record of it. Empty if the
    /// document must be loaded.
    pub(crate) first_updates: Vec<Vec<u8>>,
}

/// A function that changes a document and returns the updates to log.
pub(crate) type MakeChange<'t> = dyn FnOnce(&mut ContentDoc) -> Result<Vec<Vec<u8>>> + 't;

/// The effects of a document change on caches, reports and watchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeEffect {
    /// A local edit. Size and time are written to the row later.
    Edit,
    /// A local edit whose transaction writes size and time to the row.
    EditWithRow,
    /// A peer's edit. Size and time are written to the row later.
    Peer,
    /// An edit from another store, whose row arrives as well.
    Replica,
    /// A change that leaves the content unchanged: a label, a redaction.
    Annotation,
}

/// The new content of a file.
#[derive(Debug, Clone)]
pub(crate) enum NewBody {
    /// A text, written as the least edit of the current one.
    Text(Arc<str>),
    /// Bytes that are in the store.
    Blob(NewBlob),
}

impl<T> Transaction<'_, T> {
    /// Makes a transaction without changes that returns `value`.
    pub(crate) fn of(value: T) -> Self {
        Self::rows(Vec::new(), value)
    }

    /// Makes a transaction that writes rows only.
    pub(crate) fn rows(rows: Vec<RowWrite>, value: T) -> Self {
        Self {
            main: MainChange::Rows(rows),
            new_documents: Vec::new(),
            changes: Vec::new(),
            preconditions: Vec::new(),
            blobs: Vec::new(),
            value,
        }
    }

    /// Reports whether there is nothing to commit.
    pub(super) fn is_empty(&self) -> bool {
        !self.main.changes_rows() && self.new_documents.is_empty() && self.changes.is_empty()
    }
}

impl NewBody {
    /// Returns the blob that the body names.
    pub(crate) fn blob(&self) -> Option<ContentHash> {
        match self {
            Self::Text(_) => None,
            Self::Blob(blob) => Some(blob.hash),
        }
    }
}

impl MainChange {
    /// Reports whether the transaction writes to the main document.
    pub(super) fn changes_rows(&self) -> bool {
        !matches!(self, Self::Rows(rows) if rows.is_empty())
    }
}

impl NewDocument {
    /// Returns the fact that lets a listing describe the document without loading it.
    pub(super) fn fact(&self) -> Option<(DocName, DocFact)> {
        let size = self.text_size?;
        let hash = self.settled.map(SettledForm::mark);
        Some((DocName::from(&self.id), DocFact { upto: Seq::ZERO, size, hash }))
    }
}

impl<'t> DocumentChange<'t> {
    /// Makes a change that a closure computes.
    pub(crate) fn new(
        id: &FileId,
        effect: ChangeEffect,
        make: impl FnOnce(&mut ContentDoc) -> Result<Vec<Vec<u8>>> + 't,
    ) -> Self {
        let (id, make) = (id.clone(), Box::new(make));
        Self { id, make, effect, first_updates: Vec::new() }
    }

    /// Replaces the content of a file; the transaction writes its row.
    pub(crate) fn replace(id: &FileId, body: NewBody, author: RunAuthor) -> Self {
        Self::new(id, ChangeEffect::EditWithRow, move |doc| {
            let update = match &body {
                NewBody::Text(text) => doc.write(text, None, &author)?.update,
                NewBody::Blob(blob) => doc.edit_registers().add_blob_version(blob, &author)?,
            };
            Ok(update.into_iter().collect())
        })
    }

    /// Converts a content to another form; the transaction renames its file.
    pub(crate) fn convert(id: &FileId, kind: ContentRoot) -> Self {
        Self::new(id, ChangeEffect::EditWithRow, move |doc| {
            doc.set_kind(kind);
            Ok(doc.convert()?.into_iter().collect())
        })
    }
}

impl ChangeEffect {
    /// Reports whether the text is rendered after the change.
    pub(super) fn is_local_edit(self) -> bool {
        matches!(self, Self::Edit | Self::EditWithRow)
    }

    /// Reports whether watchers get an event.
    pub(super) fn is_content_change(self) -> bool {
        self != Self::Annotation
    }
}

impl fmt::Debug for DocumentChange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentChange")
            .field("id", &self.id)
            .field("effect", &self.effect)
            .finish_non_exhaustive()
    }
}
