//! The file that a call writes to, with the writer and the preconditions.

use yfs_engine::{
    main_doc::MainDoc,
    path::VPath,
    table::RowChanges,
    tree::{FinalLink, LookupError, PathTarget},
};
use yfs_store::DocHead;
use yfs_vfs::{ChangeAuthor, CreateMode, FsCode, FsError, Op, VersionBase, WriteOptions};

use super::FileContentWriter;
use crate::{
    error::WorkspaceError,
    fs::{
        WorkspaceFs,
        convert_types::{
            ContentLocation, ResolvedFile, check_lengths, fs_error, head_of_token, lookup_error,
        },
    },
};

/// A file to write to, with the writer and the preconditions.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteTarget<'a> {
    pub(super) fs: &'a WorkspaceFs,
    pub(super) op: Op,
    pub(super) path: &'a VPath,
    pub(super) found: &'a ResolvedFile,
    /// The options by which the path was resolved.
    pub(super) options: &'a WriteOptions,
    /// The record that the document must have as its last.
    pub(super) expected: Option<DocHead>,
    pub(super) by: &'a ChangeAuthor,
    /// What the write changes in the row besides size and time, in the same transaction.
    pub(super) row: &'a RowChanges,
}

impl WriteTarget<'_> {
    pub(super) fn fail(&self, code: FsCode) -> FsError {
        FsError::new(code, self.op, self.path)
    }

    /// Checks that the path still leads to the file, which is still a text or has the same blob.
    ///
    /// # Errors
    ///
    /// Fails with `ESTALE` if not.
    pub(super) fn check(&self, main: &MainDoc) -> Result<(), WorkspaceError> {
        let found = find_target(main, self.op, self.path, self.options);
        let is_same = found.is_ok_and(|found| {
            found.is_some_and(|file| {
                file.id == self.found.id && file.location == self.found.location
            })
        });
        if !is_same {
            return Err(self.fail(FsCode::ESTALE).into());
        }
        Ok(self.fs.check_found(main, self.op, self.path, &self.found.id)?)
    }

    pub(super) fn convert_error(&self, error: WorkspaceError) -> FsError {
        fs_error(error, self.op, self.path)
    }
}

impl FileContentWriter<'_> {
    /// Resolves the file to write to inside the scope, or returns `None` if it is to be created.
    pub(super) fn find_target(
        &self,
        op: Op,
        path: &VPath,
        options: &WriteOptions,
    ) -> Result<Option<ResolvedFile>, FsError> {
        let main = self.state.main.read();
        self.check_lead(&main, op, path, followed_link(options))?;
        find_target(&main, op, path, options)
    }

    /// Returns the head that the caller's expected version names, after a first comparison.
    pub(super) fn expected_head(
        &self,
        op: Op,
        path: &VPath,
        found: &ResolvedFile,
        options: &WriteOptions,
    ) -> Result<Option<DocHead>, FsError> {
        let Some(token) = &options.expected_version else { return Ok(None) };
        if self.reader().version_of(found, path)? != *token {
            return Err(FsError::new(FsCode::ESTALE, op, path));
        }
        Ok(head_of_token(token))
    }
}

/// Resolves the file to write to, or returns `None` if it is to be created.
fn find_target(
    main: &MainDoc,
    op: Op,
    path: &VPath,
    options: &WriteOptions,
) -> Result<Option<ResolvedFile>, FsError> {
    let fail = |code| Err(FsError::new(code, op, path));
    check_lengths(op, path)?;
    let node = match main.tree().place(path, followed_link(options)) {
        Ok(PathTarget::Taken(node)) => node,
        Ok(PathTarget::Free { .. }) => return check_absent(op, path, options),
        Err(LookupError::NotFound { .. }) if options.parents => {
            return check_absent(op, path, options);
        }
        Err(error) => return Err(lookup_error(error, op, path)),
    };
    if options.create == CreateMode::New {
        return fail(FsCode::EEXIST);
    }
    if node.is_directory() {
        return fail(FsCode::EISDIR);
    }
    let entry = node.id().and_then(|id| main.files().get(id));
    let row = entry.expect("what the tree shows is in the table").row;
    // A link that is not followed is replaced by a file.
    if row.link.is_some() {
        return Ok(None);
    }
    Ok(Some(ResolvedFile { location: ContentLocation::of(&row), id: row.id }))
}

/// Returns whether a write follows a link at the end of its path.
fn followed_link(options: &WriteOptions) -> FinalLink {
    match options.follow && options.create != CreateMode::New {
        true => FinalLink::Yes,
        false => FinalLink::No,
    }
}

fn check_absent(
    op: Op,
    path: &VPath,
    options: &WriteOptions,
) -> Result<Option<ResolvedFile>, FsError> {
    if options.create == CreateMode::Never {
        return Err(FsError::new(FsCode::ENOENT, op, path));
    }
    let has_read = matches!(options.base, Some(VersionBase::Version(_)));
    if options.expected_version.is_some() || has_read {
        return Err(FsError::new(FsCode::ESTALE, op, path));
    }
    Ok(None)
}
