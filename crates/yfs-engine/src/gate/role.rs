//! What a document is for, and where an update comes from.

/// What a document is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocRole {
    /// The main document of a workspace. Deleted content is forgotten.
    Main,
    /// The document of one file. Deleted content is kept, for its history.
    Content,
}

/// Where an update comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UpdateSource {
    /// A live peer: the limits of messages hold, and nobody may write as we do.
    Wire,
    /// Our own log, or a file: as large as it has become, and our own work may be in it.
    Store,
}
