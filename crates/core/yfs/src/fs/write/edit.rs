//! Edits of a text: the replacement of a passage, and the step that all changes of a text share.

use std::sync::Arc;

use yfs_engine::{content::ContentDoc, main_doc::MainDoc, path::VPath, table::RowChanges};
use yfs_vfs::{
    CreateMode, EditOutcome, EditRefusal, FsCode, FsError, Op, TextReplacement, WriteOptions,
    WriteOutcome,
};

use super::FileContentWriter;
use super::{MAX_ATTEMPTS, write_target::WriteTarget};
use crate::{
    content::Updates,
    error::WorkspaceError,
    fs::{
        ResolvedFile,
        convert_types::{ContentLocation, version_token},
    },
};

impl FileContentWriter<'_> {
    /// Replaces a passage; starts over if another process replaced the file meanwhile.
    pub(crate) fn edit(
        &self,
        path: &VPath,
        edit: &TextReplacement,
    ) -> Result<EditOutcome, FsError> {
        self.refresh_if_unfollowed(Op::Edit)?;
        for _ in 0..MAX_ATTEMPTS {
            match self.edit_found(path, edit) {
                // Without a precondition, `ESTALE` only means that the file is gone.
                Err(error) if error.code == FsCode::ESTALE && edit.expected_version.is_none() => (),
                edited => return edited,
            }
        }
        Err(FsError::new(FsCode::EBUSY, Op::Edit, path))
    }

    fn edit_found(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        let found = self.resolve_file(&self.state.main.read(), Op::Edit, path)?;
        if found.location != ContentLocation::Text {
            return self.edit_blob(path, &found, edit);
        }
        let options = WriteOptions {
            expected_version: edit.expected_version.clone(),
            ..WriteOptions::default()
        };
        let expected = self.expected_head(Op::Edit, path, &found, &options)?;
        let by = self.author(edit.author.as_ref());
        let author = self.content_author(&by);
        let mut n_replaced = 0;
        let (options, row) = (&options, &RowChanges::default());
        let (op, found, by) = (Op::Edit, &found, &by);
        let target = WriteTarget { fs: self, op, path, found, options, expected, by, row };
        let (written, _) = self.edit_text(target, |doc| {
            let (passages, n_found) =
                edit.fit(&doc.text()).map_err(|refusal| FsError::edit_refused(path, refusal))?;
            n_replaced = n_found;
            let mut updates = Updates::default();
            for passage in &passages {
                let edited = doc.edit(&passage.old, &passage.new, edit.all, &author)?;
                updates.extend(edited.update);
            }
            Ok(updates)
        })?;
        let version = written.version.filter(|_| edit.expected_version.is_some());
        Ok(EditOutcome { n_replaced, version })
    }

    /// Replaces a passage of a text that is kept as bytes, because it is large. Fails with `ESTALE`
    /// if another writer replaced them meanwhile.
    fn edit_blob(
        &self,
        path: &VPath,
        found: &ResolvedFile,
        edit: &TextReplacement,
    ) -> Result<EditOutcome, FsError> {
        let refused = |refusal| FsError::edit_refused(path, refusal);
        let read = self.reader().read_found(path, found).map_err(|error| error.during(Op::Edit))?;
        let text = std::str::from_utf8(&read.data).map_err(|_| refused(EditRefusal::NotText))?;
        let (edited, n_replaced) = edit.apply(text).map_err(refused)?;
        let options = WriteOptions {
            create: CreateMode::Never,
            expected_version: edit.expected_version.clone().or(Some(read.version)),
            author: edit.author.clone(),
            ..WriteOptions::default()
        };
        let written = self.write(path, edited.as_bytes(), &options);
        let written = written.map_err(|error| error.during(Op::Edit))?;
        let version = written.version.filter(|_| edit.expected_version.is_some());
        Ok(EditOutcome { n_replaced, version })
    }

    /// Edits a text, and returns the outcome and the new text.
    pub(super) fn edit_text(
        &self,
        target: WriteTarget<'_>,
        edit: impl FnMut(&mut ContentDoc) -> Result<Updates, WorkspaceError>,
    ) -> Result<(WriteOutcome, Arc<str>), FsError> {
        let id = &target.found.id;
        let check = |main: &MainDoc| target.check(main);
        let edited =
            self.state.edit_found(id, &target.by.actor, target.expected, target.row, check, edit);
        let edited = edited.map_err(|error| target.convert_error(error))?;
        let text = edited.text.ok_or_else(|| target.fail(FsCode::EIO))?;
        let version = version_token(edited.head, &ContentLocation::Text);
        let written = WriteOutcome::new(id.clone(), version, text.len() as u64, false);
        Ok((written, text))
    }
}
