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

/// How often a call starts over because a file came or went meanwhile.
pub(super) const MAX_ATTEMPTS: usize = 64;

/// What a write does to the content.
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
        self.change(Op::Open, path, ContentChange::Replace(data), options)
    }

    pub(crate) fn append_now(
        &self,
        path: &VPath,
        data: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let options = WriteOptions { base: None, follow: true, ..options.clone() };
        self.change(Op::Append, path, ContentChange::Append(data), &options)
    }

    /// Writes to what is at the path, or creates it; starts over where somebody was faster.
    fn change(
        &self,
        op: Op,
        path: &VPath,
        change: ContentChange<'_>,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.refreshed(op)?;
        self.state.check_writable().map_err(|error| fs_error(error, op, path))?;
        for _ in 0..MAX_ATTEMPTS {
            let found = find_target(&self.state.main.read(), op, path, options)?;
            let written = match found {
                Some(found) => self.change_file(op, path, &found, change, options).map(Some),
                None => match self.create_with(op, path, change, options) {
                    // A blob that was put was removed before the file named it.
                    Err(error) if is_blob_gone(&error) => continue,
                    created => created,
                },
            };
            match written {
                Ok(Some(written)) => return Ok(written),
                // Without a condition only a file that is gone is stale.
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
        let it = WriteTarget { fs: self, op, path, found, target: options, expected, by: &by };
        let written = match (&found.holds, change) {
            (ContentLocation::Text, ContentChange::Append(data)) => match std::str::from_utf8(data)
            {
                Ok(text) => self.append_text(it, text)?,
                Err(_) => self.append_bytes(it, data)?,
            }
            .appended(options),
            (ContentLocation::Blob(_), ContentChange::Append(data)) => {
                self.append_bytes(it, data)?.appended(options)
            }
            (_, ContentChange::Replace(data)) => self.replace(it, data, options.base.as_ref())?,
        };
        let mode = options.mode.filter(|_| matches!(change, ContentChange::Replace(_)));
        let options = WriteOptions { mode, ..options.clone() };
        self.write_row_options(op, path, &found.id, &options)?;
        Ok(written)
    }

    fn append_text(&self, it: WriteTarget<'_>, text: &str) -> Result<WriteOutcome, FsError> {
        let author = self.content_author(it.by);
        let append =
            |doc: &mut ContentDoc| Ok(doc.append(text, &author)?.update.into_iter().collect());
        Ok(self.edited(it, append)?.0)
    }

    /// Edits a text, and returns what was made and the text afterwards.
    pub(super) fn edited(
        &self,
        it: WriteTarget<'_>,
        edit: impl FnMut(&mut ContentDoc) -> Result<Updates, WorkspaceError>,
    ) -> Result<(WriteOutcome, Arc<str>), FsError> {
        let id = &it.found.id;
        let check = |main: &MainDoc| it.check(main);
        let edited = self.state.edit_found(id, &it.by.actor, it.expected, check, edit);
        let edited = edited.map_err(|error| it.lift(error))?;
        let text = edited.text.ok_or_else(|| it.fail(FsCode::EIO))?;
        let version = version_token(edited.head, &ContentLocation::Text);
        let written = WriteOutcome::new(id.clone(), version, text.len() as u64, false);
        Ok((written, text))
    }
}

fn is_conditional(options: &WriteOptions) -> bool {
    options.expected_version.is_some() || options.base.is_some()
}

/// Finds the file to write to, or nothing where one is to be created.
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
        Ok(PathTarget::Free { .. }) => return absent(op, path, options),
        Err(LookupError::NotFound { .. }) if options.parents => {
            return absent(op, path, options);
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
    // A link that is not followed gives way to a file.
    if row.link.is_some() {
        return Ok(None);
    }
    Ok(Some(ResolvedFile { holds: ContentLocation::of(&row), id: row.id }))
}

fn absent(op: Op, path: &VPath, options: &WriteOptions) -> Result<Option<ResolvedFile>, FsError> {
    if options.create == CreateMode::Never {
        return Err(FsError::new(FsCode::ENOENT, op, path));
    }
    let has_read = matches!(options.base, Some(VersionBase::Version(_)));
    if options.expected_version.is_some() || has_read {
        return Err(FsError::new(FsCode::ESTALE, op, path));
    }
    Ok(None)
}
