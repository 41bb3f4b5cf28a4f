//! Notes of the store that updates must be read before they are logged: of files that changed their
//! form, and of redactions.

use yfs_engine::id::FileId;

use crate::{core::WorkspaceCore, error::Result, feature::WorkspaceFeature};

/// The setting of the store that reports that content of some document was redacted.
pub(super) const REDACTIONS_SETTING: &str = "redactions";

/// Notes each file that is converted.
#[derive(Debug)]
pub(crate) struct ConversionNotes;

impl WorkspaceFeature for ConversionNotes {
    fn converting(&self, core: &WorkspaceCore, id: &FileId) -> Result<()> {
        note_converted(core, [id])
    }
}

/// Records that files change their form.
pub(crate) fn note_converted<'a>(
    core: &WorkspaceCore,
    ids: impl IntoIterator<Item = &'a FileId>,
) -> Result<()> {
    let keys: Vec<String> = ids.into_iter().map(converted_key).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    Ok(core.store.note_first_seen(&keys, core.now())?)
}

/// Reports whether a file ever changed its form, as far as this store knows.
pub(super) fn is_converted(core: &WorkspaceCore, id: &FileId) -> Result<bool> {
    Ok(core.store.first_seen(&converted_key(id))?.is_some())
}

/// Records that content was redacted: from now on, no update is logged unread.
pub(crate) fn note_redaction(core: &WorkspaceCore) -> Result<()> {
    Ok(core.store.set_meta(REDACTIONS_SETTING, b"1")?)
}

fn converted_key(id: &FileId) -> String {
    format!("converted:{id}")
}
