//! The connection of each document to an external component.

use std::fmt;

use yfs_engine::id::FileId;

/// A connection to an external component, made for each document when it is loaded. It must not
/// acquire documents.
pub trait DocumentProvider: fmt::Debug + Send + Sync {
    /// Connects a document that has just been loaded.
    fn attach(&self, id: &FileId) -> Box<dyn Send>;
}
