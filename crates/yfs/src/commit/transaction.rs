//! What a transaction consists of: rows, new documents, changes of documents, and preconditions.

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

/// A set of changes that the log takes whole or not at all.
#[derive(Debug)]
pub(crate) struct Transaction<'t, T = ()> {
    /// What happens to the main document.
    pub(crate) main: MainChange,
    /// Documents that begin with this transaction.
    pub(crate) new_documents: Vec<NewDocument>,
    /// Changes of documents, at most one of each.
    pub(crate) changes: Vec<DocumentChange<'t>>,
    /// Contents that the transaction was planned from, and that must still be the same.
    pub(crate) preconditions: Vec<ContentPrecondition>,
    /// Blobs that were put for the transaction, and must still be there when it is logged.
    pub(crate) blobs: Vec<ContentHash>,
    /// What the caller wants back.
    pub(crate) value: T,
}

/// What a transaction does to the main document.
#[derive(Debug)]
pub(crate) enum MainChange {
    /// Rows to write; conditional on the head of the main document.
    Rows(Vec<RowWrite>),
    /// An update that this process encoded from the main document's present state, as conditional.
    Local(Vec<u8>),
    /// An update that a peer made, which merges whatever the state is.
    Peer(Vec<u8>),
}

/// A document that begins with the row of its file.
#[derive(Debug, Clone)]
pub(crate) struct NewDocument {
    /// The file.
    pub(crate) id: FileId,
    /// The first update.
    pub(crate) update: Vec<u8>,
    /// The length of the text in bytes; nothing if the file holds a blob.
    pub(crate) text_size: Option<u64>,
    /// The form in which the content needs no settlement, if its maker knows that.
    pub(crate) settled: Option<SettledForm>,
}

/// A content that must not have changed when the log takes the transaction.
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
    /// Makes the change and returns it as updates; none if there is nothing to change.
    pub(crate) make: Box<MakeChange<'t>>,
    /// What depends on the document's content and has to follow it.
    pub(crate) effect: ChangeEffect,
    /// Updates to log as they are if the log holds nothing of the document, which then need not be
    /// loaded. Empty where the document must be loaded.
    pub(crate) first_updates: Vec<Vec<u8>>,
}

/// Changes a document and returns the updates to log.
pub(crate) type MakeChange<'t> = dyn FnOnce(&mut ContentDoc) -> Result<Vec<Vec<u8>>> + 't;

/// What depends on a document's content and has to follow a change of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeEffect {
    /// A local edit. Size and time are written to the row later.
    Edit,
    /// A local edit whose transaction writes size and time to the row.
    EditWithRow,
    /// A peer's edit. Size and time are written to the row later.
    Peer,
    /// An edit that came from another store, whose row arrives as well.
    Replica,
    /// A change that leaves the content as it is: a label, a redaction.
    Annotation,
}

/// What a file is to hold.
#[derive(Debug, Clone)]
pub(crate) enum NewBody {
    /// A text, as the least edit of what is there.
    Text(Arc<str>),
    /// Bytes that are in the store.
    Blob(NewBlob),
}

impl<T> Transaction<'_, T> {
    /// Makes a transaction that changes nothing.
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
    /// Reports whether there is anything to write to the main document.
    pub(super) fn changes_rows(&self) -> bool {
        !matches!(self, Self::Rows(rows) if rows.is_empty())
    }
}

impl NewDocument {
    /// Returns what a listing needs to know of the document, so that it need not be loaded for
    /// that.
    pub(super) fn fact(&self) -> Option<(DocName, DocFact)> {
        let size = self.text_size?;
        let hash = self.settled.map(SettledForm::mark);
        Some((DocName::from(&self.id), DocFact { upto: Seq::ZERO, size, hash }))
    }
}

impl<'t> DocumentChange<'t> {
    /// Makes a change that is computed by a closure.
    pub(crate) fn new(
        id: &FileId,
        effect: ChangeEffect,
        make: impl FnOnce(&mut ContentDoc) -> Result<Vec<Vec<u8>>> + 't,
    ) -> Self {
        let (id, make) = (id.clone(), Box::new(make));
        Self { id, make, effect, first_updates: Vec::new() }
    }

    /// Replaces what a file holds; the transaction writes its row.
    pub(crate) fn replace(id: &FileId, body: NewBody, author: RunAuthor) -> Self {
        Self::new(id, ChangeEffect::EditWithRow, move |doc| {
            let update = match &body {
                NewBody::Text(text) => doc.write(text, None, &author)?.update,
                NewBody::Blob(blob) => doc.add_blob_version(blob, &author)?,
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
