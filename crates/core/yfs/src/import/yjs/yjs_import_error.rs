//! Why a file is not imported as a Yjs document.

use thiserror::Error;
use yfs_engine::gate::GateRejection;

/// The reason why a file is not imported as a Yjs document. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum YjsImportError {
    /// The bytes are not an update, or the gate rejects it as harmful to readers.
    #[error(transparent)]
    Refused(#[from] GateRejection),
    /// The update refers to items that it does not contain.
    #[error("the update is only a part of a document: it refers to missing items")]
    Incomplete,
    /// The main document has no files.
    #[error("the document has no rows in \"table:files\"")]
    NoFiles,
    /// The directory contains no main document.
    #[error("the directory contains no main.bin")]
    NoMain,
    /// Two files of a directory are the same document.
    #[error("another file contains the same document")]
    Twice,
    /// All roots for a file's content are empty.
    #[error("the roots for a file's content are empty; the document has: {}", roots.join(", "))]
    NoContent {
        /// The roots that the document has.
        roots: Vec<String>,
    },
}
