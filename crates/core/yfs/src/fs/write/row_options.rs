//! The options of a write that are kept in the row: mode, media type, metadata, time.

use yfs_engine::{
    Any,
    id::FileId,
    path::VPath,
    table::{RowChanges, RowWrite},
};
use yfs_vfs::{FsError, Op, WriteOptions};

use crate::{
    commit::Transaction,
    fs::{
        WorkspaceFs,
        read::{CUSTOM_KEY, MIME_KEY},
    },
    json_convert,
};

impl WorkspaceFs {
    /// Writes the row options of a write: mode, media type, metadata, time.
    pub(super) fn write_row_options(
        &self,
        op: Op,
        path: &VPath,
        id: &FileId,
        options: &WriteOptions,
    ) -> Result<(), FsError> {
        let changes = RowChanges {
            mode: options.mode.map(|mode| Some(mode & 0o7777)),
            updated_at: options.mtime,
            meta: meta_patch(options),
            ..RowChanges::default()
        };
        if changes == RowChanges::default() {
            return Ok(());
        }
        if options.mtime.is_some() {
            self.state.drop_unreported_edit(id);
        }
        self.commit(op, path, |_| {
            let write = RowWrite::Update { id: id.clone(), changes: changes.clone() };
            Ok(Transaction::rows(vec![write], ()))
        })?;
        Ok(())
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
