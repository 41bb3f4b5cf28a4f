//! Appending to a file.

use yfs_engine::content::ContentDoc;
use yfs_vfs::{FsCode, FsError, WriteOutcome};

use super::{MAX_ATTEMPTS, write_target::WriteTarget};
use crate::fs::{WorkspaceFs, convert_types::head_of_token};

impl WorkspaceFs {
    /// Appends a text to a text.
    pub(super) fn append_text(
        &self,
        target: WriteTarget<'_>,
        text: &str,
    ) -> Result<WriteOutcome, FsError> {
        let author = self.content_author(target.by);
        let append =
            |doc: &mut ContentDoc| Ok(doc.append(text, &author)?.update.into_iter().collect());
        Ok(self.edit_text(target, append)?.0)
    }

    /// Appends bytes to a file that is not a text, or will not be one afterwards.
    pub(super) fn append_bytes(
        &self,
        target: WriteTarget<'_>,
        data: &[u8],
    ) -> Result<WriteOutcome, FsError> {
        for _ in 0..MAX_ATTEMPTS {
            let found = self.resolve_file(&self.state.main.read(), target.op, target.path)?;
            let before = self.read_found(target.path, &found)?;
            let whole = [&before.data[..], data].concat();
            // A change in between would be overwritten.
            let expected = target.expected.or_else(|| head_of_token(&before.version));
            match self.put_bytes(WriteTarget { expected, found: &found, ..target }, &whole) {
                Err(error) if error.code == FsCode::ESTALE && target.expected.is_none() => (),
                written => return written,
            }
        }
        Err(target.fail(FsCode::EBUSY))
    }
}
