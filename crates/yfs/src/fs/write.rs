//! The calls that write contents.

use std::sync::Arc;

use yfs_engine::{
    content::ContentDoc,
    main_doc::MainDoc,
    path::VPath,
    tree::{FinalLink, LookupError, PathTarget},
};
use yfs_vfs::{CreateMode, FsCode, FsError, Op, VersionBase, WriteOptions, WriteOutcome};

use super::{
    WorkspaceFs,
    convert_types::{
        ContentLocation, ResolvedFile, check_lengths, fs_error, lookup_error, version_token,
    },
    write_content::{WriteTarget, is_blob_gone},
};
use crate::{content::Updates, error::WorkspaceError};

/// How often a call starts over because a file was created or removed meanwhile.
pub(super) const MAX_ATTEMPTS: usize = 64;

/// The change that a write makes to the content.
#[derive(Debug, Clone, Copy)]
enum ContentChange<'a> {
    Replace(&'a [u8]),
    Append(&'a [u8]),
}

impl WorkspaceFs {
    pub(crate) fn write_now(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.change_content(Op::Open, path, ContentChange::Replace(data), options)
    }

    pub(crate) fn append_now(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let options = WriteOptions { base: None, follow: true, ..options.clone() };
        self.change_content(Op::Append, path, ContentChange::Append(data), &options)
    }

    /// Writes to the file at the path, or creates it; starts over if another process was faster.
    fn change_content(
        &self,
        op: Op,
        path: &VPath,
        change: ContentChange<'_>,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.refresh_if_unfollowed(op)?;
        self.state.check_writable().map_err(|error| fs_error(error, op, path))?;
        for _ in 0..MAX_ATTEMPTS {
            let found = find_target(&self.state.main.read(), op, path, options)?;
            let written = match found {
                Some(found) => self.change_file(op, path, &found, change, options).map(Some),
                None => match self.create_with(op, path, change, options) {
                    // The blob of this call was removed before the file named it.
                    Err(error) if is_blob_gone(&error) => continue,
                    created => created,
                },
            };
            match written {
                Ok(Some(written)) => return Ok(written),
                // Without a precondition, `ESTALE` only means that the file is gone.
                Err(error) if error.code != FsCode::ESTALE || is_conditional(options) => {
                    return Err(error);
                }
                _ => (),
            }
        }
        Err(FsError::new(FsCode::EBUSY, op, path))
    }

    fn create_with(
        &self,
        op: Op,
        path: &VPath,
        change: ContentChange<'_>,
        options: &WriteOptions,
    ) -> Result<Option<WriteOutcome>, FsError> {
        let (ContentChange::Replace(data) | ContentChange::Append(data)) = change;
        self.create(op, path, data, options)
    }

    fn change_file(
        &self,
        op: Op,
        path: &VPath,
        found: &ResolvedFile,
        change: ContentChange<'_>,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let expected = self.expected_head(op, path, found, options)?;
        let by = self.author(options.author.as_ref());
        let target = WriteTarget { fs: self, op, path, found, options, expected, by: &by };
        let written = match (&found.location, change) {
            (ContentLocation::Text, ContentChange::Append(data)) => match std::str::from_utf8(data)
            {
                Ok(text) => self.append_text(target, text)?,
                Err(_) => self.append_bytes(target, data)?,
            }
            .appended(options),
            (ContentLocation::Blob(_), ContentChange::Append(data)) => {
                self.append_bytes(target, data)?.appended(options)
            }
            (_, ContentChange::Replace(data)) => {
                self.replace(target, data, options.base.as_ref())?
            }
        };
        let mode = options.mode.filter(|_| matches!(change, ContentChange::Replace(_)));
        let options = WriteOptions { mode, ..options.clone() };
        self.write_row_options(op, path, &found.id, &options)?;
        Ok(written)
    }

    fn append_text(&self, target: WriteTarget<'_>, text: &str) -> Result<WriteOutcome, FsError> {
        let author = self.content_author(target.by);
        let append =
            |doc: &mut ContentDoc| Ok(doc.append(text, &author)?.update.into_iter().collect());
        Ok(self.edit_text(target, append)?.0)
    }

    /// Edits a text, and returns the outcome and the new text.
    pub(super) fn edit_text(
        &self,
        target: WriteTarget<'_>,
        edit: impl FnMut(&mut ContentDoc) -> Result<Updates, WorkspaceError>,
    ) -> Result<(WriteOutcome, Arc<str>), FsError> {
        let id = &target.found.id;
        let check = |main: &MainDoc| target.check(main);
        let edited = self.state.edit_found(id, &target.by.actor, target.expected, check, edit);
        let edited = edited.map_err(|error| target.convert_error(error))?;
        let text = edited.text.ok_or_else(|| target.fail(FsCode::EIO))?;
        let version = version_token(edited.head, &ContentLocation::Text);
        let written = WriteOutcome::new(id.clone(), version, text.len() as u64, false);
        Ok((written, text))
    }
}

fn is_conditional(options: &WriteOptions) -> bool {
    options.expected_version.is_some() || options.base.is_some()
}

/// Resolves the file to write to, or returns `None` if it is to be created.
pub(super) fn find_target(
    main: &MainDoc,
    op: Op,
    path: &VPath,
    options: &WriteOptions,
) -> Result<Option<ResolvedFile>, FsError> {
    let fail = |code| Err(FsError::new(code, op, path));
    check_lengths(op, path)?;
    let follow = if options.follow && options.create != CreateMode::New {
        FinalLink::Yes
    } else {
        FinalLink::No
    };
    let node = match main.tree().place(path, follow) {
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
