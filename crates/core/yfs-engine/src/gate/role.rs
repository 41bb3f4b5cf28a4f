//! The role of a document, and the source of an update.

/// The role of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocRole {
    /// The main document of a workspace. Deleted content is forgotten.
    Main,
    /// The document of one file. Deleted content is kept, for its history.
    Content,
}

/// The source of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UpdateSource {
    /// A live peer: the limits of messages hold, and the update must not contain new items of this
    /// process.
    Wire,
    /// The local log, or a file: its size is not limited, and it may contain items of this process.
    Store,
}
