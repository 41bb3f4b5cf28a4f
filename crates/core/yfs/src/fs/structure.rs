//! The calls that change the tree. The engine plans rows; this module adds contents and options.

use std::borrow::Cow;

use yfs_engine::{
    content::RunAuthor,
    id::FileId,
    main_doc::MainDoc,
    ops::{self, OpCode, OpError},
    path::{MAX_PATH_LEN, VPath},
    table::{FileRow, NodeKind, RowWrite},
    time::Millis,
    tree::FinalLink,
};
use yfs_vfs::{
    CreateMode, FsCode, FsError, Metadata, MkdirOptions, Op, RemoveOptions, WriteOptions,
    WriteOutcome,
};

use super::{
    convert_types::{ContentLocation, fs_error, version_token},
    write::{NewFileContent, NewFileData, meta_patch},
};
use crate::{
    commit::{Committed, NewDocument, StructureAccess, Transaction},
    fs::read::CUSTOM_KEY,
    json_convert,
    settled_form::SettledForm,
};

fs_part! {
    /// The calls that change the tree.
    TreeWriter, tree
}

impl TreeWriter<'_> {
    /// Creates a file. Returns `None` if it exists by now and the options allow that.
    pub(super) fn create(
        &self,
        op: Op,
        path: &VPath,
        data: NewFileData<'_>,
        options: &WriteOptions,
    ) -> Result<Option<WriteOutcome>, FsError> {
        let id = self.state.options.ids.file_id();
        let by = self.author(options.author.as_ref());
        let author = self.content_author(&by);
        let now = author.at;
        let create = create_options(options);
        let plan =
            |main: &MainDoc| plan_create(main, path, id.clone(), &author, create, options.create);
        // Checked before any byte is stored, so that a rejected call leaves none behind.
        plan(&self.state.main.read()).map_err(|error| op_error(error, op, path))?;
        let content = match data {
            NewFileData::Bytes(data) => self.writer().new_content(op, path, &id, data, &by)?,
            NewFileData::Blob(blob) => self.writer().new_blob_content(op, path, &id, blob, &by)?,
        };
        let (size, blob, update) = match content {
            NewFileContent::Text { update, size } => (size, None, update),
            NewFileContent::Blob { blob, update } => (blob.size, Some(blob), update),
        };
        let created = self.commit(op, path, |main| {
            if options.follow && options.create != CreateMode::New {
                self.check_no_final_link(main, op, path)?;
            }
            let planned = plan(main).map_err(|error| op_error(error, op, path))?;
            let Some(mut writes) = planned else { return Ok(Transaction::of(false)) };
            if let Some(RowWrite::Create { row, .. }) = writes.last_mut() {
                row.size = size;
                row.blob = blob;
                row.updated_at = options.mtime.unwrap_or(now);
                row.mode = create.mode;
                row.meta = meta_patch(options).and_then(json_convert::without_nulls);
            }
            let text_size = blob.is_none().then_some(size);
            let name = path.file_name().unwrap_or_default();
            let content = update.clone().map(|update| new_doc(&id, name, update, text_size));
            let new_documents = content.into_iter().collect();
            let blobs = blob.map(|blob| blob.hash).into_iter().collect();
            Ok(Transaction { new_documents, blobs, ..Transaction::rows(writes, true) })
        })?;
        if !created.value {
            return Ok(None);
        }
        if blob.is_none() {
            self.state.texts.live.set_size(&id, size);
        }
        let location = blob.map_or(ContentLocation::Text, ContentLocation::Blob);
        let head = created.new_documents.get(&id).map(|seq| self.state.own_head(*seq));
        let head = head.unwrap_or_default();
        Ok(Some(WriteOutcome::new(id, version_token(head, &location), size, true)))
    }

    /// Checks that a file could be created as the tree is now, before its content is stored.
    pub(super) fn check_create(
        &self,
        op: Op,
        path: &VPath,
        options: &WriteOptions,
    ) -> Result<(), FsError> {
        let id = self.state.options.ids.file_id();
        let author = self.content_author(&self.author(options.author.as_ref()));
        let main = self.state.main.read();
        let planned =
            plan_create(&main, path, id, &author, create_options(options), options.create);
        planned.map(drop).map_err(|error| op_error(error, op, path))
    }

    pub(crate) fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        self.refresh_if_unfollowed(Op::Mkdir)?;
        let fs = if options.recursive { self.in_own_step() } else { Cow::Borrowed(self.fs) };
        let now = self.state.now();
        let mkdir = ops::DirectoryPlanOptions {
            recursive: options.recursive,
            mode: options.mode.map(|mode| mode & 0o7777),
        };
        fs.tree().commit(Op::Mkdir, path, |main| {
            let planned = ops::plan_mkdir(main.tree(), path, now, mkdir);
            let planned = planned.map_err(|error| op_error(error, Op::Mkdir, path))?;
            Ok(Transaction::rows(planned.map(|plan| plan.writes).unwrap_or_default(), ()))
        })?;
        Ok(())
    }

    pub(crate) fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        self.refresh_if_unfollowed(Op::Rm)?;
        let by = self.content_author(&self.author);
        // Edits whose rows are not written yet would read as edits that were not known here.
        self.state
            .reports
            .report_below(&self.state, path)
            .map_err(|error| fs_error(error, Op::Rm, path))?;
        let removed = self.commit(Op::Rm, path, |main| {
            if path.is_root() {
                return Err(FsError::new(FsCode::EBUSY, Op::Rm, path));
            }
            let writes = main.plan_trash(path, options.recursive, &by);
            Ok(Transaction::rows(writes.map_err(|error| op_error(error, Op::Rm, path))?, ()))
        });
        match removed {
            Err(error) if options.force && is_absent(error.code) => Ok(()),
            removed => removed.map(drop),
        }
    }

    pub(crate) fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        self.refresh_if_unfollowed(Op::Symlink)?;
        let (id, now) = (self.state.options.ids.file_id(), self.state.now());
        self.commit(Op::Symlink, path, |main| {
            check_target(target, path)?;
            let options =
                ops::CreateOptions { create_new: true, parents: true, ..Default::default() };
            let made = ops::plan_create_file(main.tree(), path, id.clone(), now, options);
            let mut writes = made.map_err(|error| op_error(error, Op::Symlink, path))?.writes;
            if let Some(RowWrite::Create { row, .. }) = writes.last_mut() {
                row.link = Some(target.into());
                row.size = target.len() as u64;
            }
            Ok(Transaction::rows(writes, ()))
        })?;
        Ok(())
    }

    pub(crate) fn utimes(&self, path: &VPath, mtime: Millis) -> Result<(), FsError> {
        self.refresh_if_unfollowed(Op::Utimes)?;
        let id = self.attribute(Op::Utimes, path, |main| {
            ops::plan_touch(main.tree(), main, path, mtime, FinalLink::Yes)
        })?;
        // Also if the row has this time already: a content change that is not in the row yet may be
        // newer.
        self.state.reports.drop_edit(&id);
        Ok(())
    }

    pub(crate) fn chmod(&self, path: &VPath, mode: u32) -> Result<(), FsError> {
        self.refresh_if_unfollowed(Op::Chmod)?;
        self.attribute(Op::Chmod, path, |main| ops::plan_chmod(main.tree(), main, path, mode))?;
        Ok(())
    }

    pub(crate) fn set_metadata(&self, path: &VPath, metadata: &Metadata) -> Result<(), FsError> {
        self.refresh_if_unfollowed(Op::SetMetadata)?;
        self.attribute(Op::SetMetadata, path, |main| {
            let node = main.tree().resolve(path, FinalLink::Yes)?;
            let old =
                node.id().and_then(|id| main.files().get(id)).and_then(|entry| entry.row.meta);
            let patch = json_convert::replace_member(old.as_ref(), CUSTOM_KEY, metadata);
            ops::plan_meta(main.tree(), path, &patch)
        })?;
        Ok(())
    }

    pub(crate) fn patch_metadata(&self, path: &VPath, patch: &Metadata) -> Result<(), FsError> {
        self.refresh_if_unfollowed(Op::SetMetadata)?;
        let member = [(CUSTOM_KEY.to_owned(), patch.clone().into())];
        let patch = json_convert::object(&member.into_iter().collect());
        self.attribute(Op::SetMetadata, path, |main| ops::plan_meta(main.tree(), path, &patch))?;
        Ok(())
    }

    /// Changes attributes of the object at a path, and returns its id.
    fn attribute(
        &self,
        op: Op,
        path: &VPath,
        plan: impl Fn(&MainDoc) -> Result<Vec<RowWrite>, OpError>,
    ) -> Result<FileId, FsError> {
        let committed = self.commit(op, path, |main| {
            let Some(id) = self.resolve(main, op, path, FinalLink::Yes)?.id() else {
                return Err(FsError::new(FsCode::EPERM, op, path));
            };
            let writes = plan(main).map_err(|error| op_error(error, op, path))?;
            Ok(Transaction::rows(writes, id.clone()))
        })?;
        Ok(committed.value)
    }

    /// Commits rows, and contents with them, on behalf of this filesystem's actor.
    pub(super) fn commit<'t, T>(
        &self,
        op: Op,
        path: &VPath,
        mut plan: impl FnMut(&MainDoc) -> Result<Transaction<'t, T>, FsError>,
    ) -> Result<Committed<T>, FsError> {
        let by = self.content_author(&self.author);
        let plan = |main: &MainDoc| {
            self.check_lead(main, op, path, FinalLink::No)?;
            let transaction = plan(main)?;
            self.check_rows(main, op, path, &transaction.main)?;
            Ok(transaction.by(main, &by))
        };
        let committed = self.state.commit(StructureAccess::Change, Some(&self.author.actor), plan);
        committed.map_err(|error| fs_error(error, op, path))
    }
}

fn create_options(options: &WriteOptions) -> ops::CreateOptions {
    ops::CreateOptions {
        create_new: options.create == CreateMode::New || !options.follow,
        parents: options.parents,
        mode: options.mode.map(|mode| mode & 0o7777),
    }
}

/// Plans a file, or returns `None` if it exists and the options allow that.
fn plan_create(
    main: &MainDoc,
    path: &VPath,
    id: FileId,
    by: &RunAuthor,
    options: ops::CreateOptions,
    create: CreateMode,
) -> Result<Option<Vec<RowWrite>>, OpError> {
    let planned = ops::plan_create_file(main.tree(), path, id.clone(), by.at, options);
    match planned {
        Ok(plan) => Ok((!plan.existed).then_some(plan.writes)),
        Err(error) if error.code == OpCode::Exists && create != CreateMode::New => {
            Ok(replace_link(main, path, id, by)?)
        }
        Err(error) => Err(error),
    }
}

/// Plans a file in place of a link, which goes to the trash; returns `None` if there is no link.
pub(super) fn replace_link(
    main: &MainDoc,
    path: &VPath,
    id: FileId,
    by: &RunAuthor,
) -> Result<Option<Vec<RowWrite>>, OpError> {
    let node = main.tree().resolve(path, FinalLink::No)?;
    let (Some(link), Some(_)) = (node.id(), node.link()) else { return Ok(None) };
    let parent = node.parent().and_then(|parent| parent.id().cloned());
    let mut row = FileRow::new(id, node.stored_name(), parent, NodeKind::File, by.at);
    row.updated_at = by.at;
    Ok(Some(vec![
        RowWrite::Update { id: link.clone(), changes: ops::removal(by) },
        RowWrite::Create { row, derived: false },
    ]))
}

/// Checks the target of a new symbolic link.
fn check_target(target: &str, path: &VPath) -> Result<(), FsError> {
    let fail = |code| Err(FsError::new(code, Op::Symlink, path));
    match target.len() {
        0 => fail(FsCode::ENOENT),
        len if len >= MAX_PATH_LEN => fail(FsCode::ENAMETOOLONG),
        _ if target.contains('\0') => fail(FsCode::EINVAL),
        _ => Ok(()),
    }
}

/// Returns the document of a new file, with its content in the form that `name` requires.
pub(super) fn new_doc(
    id: &FileId,
    name: &str,
    update: Vec<u8>,
    text_size: Option<u64>,
) -> NewDocument {
    let settled = text_size.map(|_| SettledForm::of_name(name));
    NewDocument { id: id.clone(), update, text_size, settled }
}

fn is_absent(code: FsCode) -> bool {
    matches!(code, FsCode::ENOENT | FsCode::ENOTDIR)
}

pub(crate) fn op_error(error: OpError, op: Op, path: &VPath) -> FsError {
    FsError::new(op_code(error.code), op, path)
}

pub(super) fn op_code(code: OpCode) -> FsCode {
    match code {
        OpCode::NotFound => FsCode::ENOENT,
        OpCode::Exists => FsCode::EEXIST,
        OpCode::NotADirectory => FsCode::ENOTDIR,
        OpCode::IsADirectory => FsCode::EISDIR,
        OpCode::NotEmpty => FsCode::ENOTEMPTY,
        OpCode::NameTooLong => FsCode::ENAMETOOLONG,
        OpCode::Loop => FsCode::ELOOP,
        _ => FsCode::EINVAL,
    }
}
