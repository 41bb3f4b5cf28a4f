//! The options of a write that are kept in the row: mode, media type, metadata, time.

use yfs_engine::{Any, table::RowChanges};
use yfs_vfs::WriteOptions;

use crate::{
    fs::read::{CUSTOM_KEY, MIME_KEY},
    json_convert,
};

/// Returns the changes of the row of an existing file by the options of a write: mode, media type,
/// metadata, time.
pub(super) fn row_changes(options: &WriteOptions) -> RowChanges {
    RowChanges {
        mode: options.mode.map(|mode| Some(mode & 0o7777)),
        updated_at: options.mtime,
        meta: meta_patch(options),
        ..RowChanges::default()
    }
}

/// Returns the merge patch of a row's `meta` for the options of a write.
pub(in crate::fs) fn meta_patch(options: &WriteOptions) -> Option<Any> {
    let mut patch = serde_json::Map::new();
    if let Some(mime) = &options.mime {
        patch.insert(MIME_KEY.to_owned(), mime.as_str().into());
    }
    if let Some(custom) = &options.metadata {
        patch.insert(CUSTOM_KEY.to_owned(), custom.clone().into());
    }
    (!patch.is_empty()).then(|| json_convert::object(&patch))
}
