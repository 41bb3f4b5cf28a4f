//! The settings of the store that describe the workspace.

/// The store's key for the workspace's id.
pub(crate) const ID_KEY: &str = "workspace";

/// The store's key for the creation time of the workspace, in milliseconds as decimal digits.
pub(crate) const CREATED_KEY: &str = "created";

/// The store's key for the name of its log, which no other store has.
pub(crate) const LOG_KEY: &str = "log";

/// The directory of thumbnails, in that of the store's derived files.
pub(crate) const THUMBNAIL_DIRECTORY: &str = "thumbnails";
