//! Why a change cannot be undone.

/// The reason why a change cannot be undone. Nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UndoRefusal {
    /// The file was put into the trash since.
    #[error("it is in the trash; restore it first")]
    InTrash,
    /// The change created the file, and another actor has edited it since.
    #[error("others have edited it since it was created")]
    EditedSince,
    /// The change made or restored it, and another actor has changed it since.
    #[error("others have changed it since")]
    ChangedSince,
    /// The content is binary, and has changed since.
    #[error("it is not text, and has changed since")]
    NotText,
    /// It was renamed or moved again since.
    #[error("it was renamed or moved again since")]
    MovedSince,
    /// Its permission bits were changed again since.
    #[error("its permission bits were changed again since")]
    ModeChangedSince,
    /// Another object has its former path.
    #[error("another object has its former path")]
    PathTaken,
    /// The directory that it was in is gone.
    #[error("the directory that it was in is gone")]
    DirectoryGone,
    /// The change created the directory, and it is not empty.
    #[error("the directory is not empty")]
    NotEmpty,
    /// A version cannot be read any more, because it was redacted.
    #[error("one of its versions was redacted")]
    Redacted,
}
