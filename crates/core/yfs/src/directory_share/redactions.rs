//! Erases from files that left the directory what was redacted in the workspace since. Nothing else
//! of such a file is passed on, but a redaction is to reach each copy that there is.

use yfs_engine::{
    content::{ContentDoc, ErasableContent, ErasedItems},
    id::FileId,
};
use yfs_store::{DocName, StoreError};

use super::DirectoryShare;
use crate::{
    error::{Result, WorkspaceError},
    replica::conversion_notes::note_redaction,
};

impl DirectoryShare {
    /// Erases in the share what the origin erased from a file that left. Text that was deleted
    /// after the file left is deleted as well, if it was redacted.
    pub(super) fn pass_redactions(&self, id: &FileId) -> Result<()> {
        let [origin, share] = [&self.origin.state, &self.share.state];
        if !origin.is_file(id) || !share.is_file(id) {
            return Ok(());
        }
        let erased = origin.documents.read_once(id, |loaded| loaded.doc.redactions().erased())?;
        let is_done = |doc: &ContentDoc| doc.redactions().not_erased(&erased).is_empty();
        if erased == ErasedItems::default()
            || share.documents.read_once(id, |loaded| is_done(&loaded.doc))?
        {
            return Ok(());
        }
        note_redaction(share)?;
        let author = share.author_now();
        share.annotate(id, |doc| {
            let erasable: ErasableContent = doc.redactions().not_erased(&erased);
            Ok(doc.redact(&erasable, &author)?)
        })?;
        share.compact_fully(&DocName::from(id))?;
        match share.compaction.wipe(share) {
            // A reader is in the way: the content is erased, and the next wiping clears its bytes.
            Err(StoreError::Locked { .. }) => Ok(()),
            wiped => Ok(wiped.map_err(WorkspaceError::from)?),
        }
    }
}
