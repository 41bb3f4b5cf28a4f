//! Moves and copies, also over existing files: rows and contents in one transaction.
//!
//! A replaced file keeps its identity: it gets the source's content as the least edit, so that
//! programs that have it open stay bound to it.

use std::collections::HashMap;

use yfs_engine::{
    content::{self, ByteClassification, ContentError},
    hash::ContentHash,
    id::FileId,
    kind::{ContentRoot, FileCategory},
    main_doc::MainDoc,
    ops::{self, CopyPlan, MovePlan, OpError},
    path::VPath,
    table::{BlobRef, FileRow, NodeKind, RowChanges, RowWrite},
    time::Millis,
    tree::FinalLink,
};
use yfs_vfs::{CopyOptions, FsCode, FsError, MoveOptions, Op, work_meter::count_objects};

use super::structure::TreeWriter;
use super::{
    convert_types::{ContentLocation, fs_error, resolve},
    structure::{new_doc, op_code, replace_link},
    write::new_blob,
};
use crate::{
    commit::{ContentPrecondition, DocumentChange, MainChange, NewBody, NewDocument, Transaction},
    state::WorkspaceState,
};

/// The paths of a move or copy, for its error messages.
#[derive(Debug, Clone, Copy)]
struct TransferCall<'a> {
    op: Op,
    from: &'a VPath,
    to: &'a VPath,
    by: &'a content::RunAuthor,
}

/// The parts of a transaction that copies one file's content into another.
struct OverwritePlan {
    changes: RowChanges,
    body: NewBody,
    author: content::RunAuthor,
    /// The precondition on the source's text.
    precondition: Option<ContentPrecondition>,
}

impl TransferCall<'_> {
    fn fail(&self, code: FsCode) -> FsError {
        FsError::new(code, self.op, self.from).to(self.to)
    }

    fn convert_error(&self, error: OpError) -> FsError {
        self.fail(op_code(error.code))
    }
}

impl TreeWriter<'_> {
    pub(crate) fn mv(
        &self,
        from: &VPath,
        to: &VPath,
        options: &MoveOptions,
    ) -> Result<(), FsError> {
        self.refresh_if_unfollowed(Op::Rename)?;
        let fs = self.in_own_step();
        let by = fs.content_author(&fs.author);
        let call = TransferCall { op: Op::Rename, from, to, by: &by };
        fs.tree().commit(Op::Rename, from, |main| {
            if from.is_root() || to.is_root() {
                return Err(call.fail(FsCode::EBUSY));
            }
            fs.check_lead(main, Op::Rename, to, FinalLink::No)?;
            fs.check_parents(main, Op::Rename, to)?;
            let options = ops::RenameOptions { replace: options.replace, parents: options.parents };
            match ops::plan_move(main.tree(), from, to, call.by, options) {
                Ok(MovePlan::Nothing) => Ok(Transaction::of(())),
                Ok(MovePlan::Write(writes)) => fs.tree().plan_conversions(main, call, writes),
                Ok(MovePlan::Replace { source, target }) => {
                    fs.tree().replace_by_move(main, call, &source, &target)
                }
                Err(error) => Err(call.convert_error(error)),
            }
        })?;
        Ok(())
    }

    /// Plans to rename files, and to convert the contents of those whose new names promise another
    /// kind. Text that is too heavy for that kind is kept by reference, as if it were written.
    fn plan_conversions(
        &self,
        main: &MainDoc,
        call: TransferCall<'_>,
        mut writes: Vec<RowWrite>,
    ) -> Result<Transaction<'static>, FsError> {
        let (mut plan, author) = (Transaction::of(()), call.by);
        for write in &mut writes {
            let RowWrite::Update { id, changes } = write else { continue };
            let Some(name) = &changes.name else { continue };
            let Some(row) = main.files().get(id).map(|entry| entry.row) else { continue };
            let is_text = row.kind == NodeKind::File && row.blob.is_none() && row.link.is_none();
            if !is_text || FileCategory::of(&row.name) == FileCategory::of(name) {
                continue;
            }
            let kind = ContentRoot::of(FileCategory::of(name), main.profile());
            if kind == ContentRoot::Text {
                plan.changes.push(DocumentChange::convert(id, kind));
                continue;
            }
            let text = self
                .state
                .texts
                .read(&self.state, id)
                .map_err(|error| fs_error(error, call.op, call.from))?;
            match self.too_heavy_as(call, &text.content, kind)? {
                None => plan.changes.push(DocumentChange::convert(id, kind)),
                Some(blob) => {
                    (changes.blob, changes.size) = (Some(Some(blob)), Some(blob.size));
                    let body = NewBody::Blob(new_blob(blob));
                    plan.blobs.extend(body.blob());
                    plan.changes.push(DocumentChange::replace(id, body, author.clone()));
                    let head = text.head;
                    plan.preconditions.push(ContentPrecondition { id: id.clone(), head });
                }
            }
        }
        plan.main = MainChange::Rows(writes);
        Ok(plan)
    }

    /// Puts a text into the store that is too heavy to be kept as text of a kind; nothing if it is
    /// not.
    fn too_heavy_as(
        &self,
        call: TransferCall<'_>,
        text: &str,
        kind: ContentRoot,
    ) -> Result<Option<BlobRef>, FsError> {
        match content::classify_as(text.as_bytes(), kind, content::MAX_TEXT_BYTES) {
            ByteClassification::Text(_) => Ok(None),
            ByteClassification::Blob => {
                self.writer().put_blob(call.op, call.from, text.as_bytes()).map(Some)
            }
        }
    }

    /// Plans to write the source's content into the target and to trash the source.
    fn replace_by_move(
        &self,
        main: &MainDoc,
        call: TransferCall<'_>,
        source: &FileId,
        target: &FileId,
    ) -> Result<Transaction<'static>, FsError> {
        let OverwritePlan { changes, body, author, precondition } =
            self.plan_overwrite(main, call, source, target)?;
        let hash = match &body {
            NewBody::Text(text) => ContentHash::of(text.as_bytes()),
            NewBody::Blob(blob) => blob.hash,
        };
        let trash = ops::replacement(call.by, target, hash);
        let mut writes = vec![
            RowWrite::Update { id: target.clone(), changes },
            RowWrite::Update { id: source.clone(), changes: trash },
        ];
        let others = main.tree().node(source).map(ops::keep_names_of_others);
        let is_other = |write: &RowWrite| write.id() != target;
        writes.extend(others.into_iter().flatten().filter(is_other));
        // Edits that are logged in the source before it is trashed must be in the target.
        let preconditions = precondition.into_iter().collect();
        let blobs = body.blob().into_iter().collect();
        let changes = vec![DocumentChange::replace(target, body, author)];
        Ok(Transaction { changes, preconditions, blobs, ..Transaction::rows(writes, ()) })
    }

    pub(crate) fn cp(
        &self,
        from: &VPath,
        to: &VPath,
        options: &CopyOptions,
    ) -> Result<(), FsError> {
        self.refresh_if_unfollowed(Op::Cp)?;
        let fs = self.in_own_step();
        let by = fs.content_author(&fs.author);
        let call = TransferCall { op: Op::Cp, from, to, by: &by };
        fs.tree().commit(Op::Cp, from, |main| {
            fs.resolve(main, Op::Cp, from, FinalLink::No).map_err(|error| error.to(to))?;
            fs.check_lead(main, Op::Cp, to, FinalLink::No)?;
            fs.check_parents(main, Op::Cp, to)?;
            check_copy(main, call, options)?;
            match fs.tree().copy_over_link(main, call)? {
                Some(plan) => Ok(plan),
                None => fs.tree().copy_tree(main, call, options),
            }
        })?;
        Ok(())
    }

    fn copy_tree(
        &self,
        main: &MainDoc,
        call: TransferCall<'_>,
        options: &CopyOptions,
    ) -> Result<Transaction<'static>, FsError> {
        let mut new_id = || self.state.options.ids.file_id();
        let copy = ops::TreeCopyOptions { recursive: options.recursive, parents: options.parents };
        let (paths, now) = ((call.from, call.to), call.by.at);
        let planned = ops::plan_copy(main.tree(), main, paths, now, &mut new_id, copy);
        let CopyPlan { writes, contents } = planned.map_err(|error| call.convert_error(error))?;
        let mut writes = writes;
        let mut plan = Transaction::of(());
        let places = writes.iter().enumerate();
        let places: HashMap<FileId, usize> =
            places.filter_map(|(place, write)| Some((written_id(write)?.clone(), place))).collect();
        for (source, target) in contents {
            count_objects(1);
            let write = places.get(&target).and_then(|place| writes.get_mut(*place));
            match write {
                Some(RowWrite::Update { changes, .. }) => {
                    let over = self.plan_overwrite(main, call, &source, &target)?;
                    *changes = over.changes;
                    plan.blobs.extend(over.body.blob());
                    plan.changes.push(DocumentChange::replace(&target, over.body, over.author));
                }
                Some(RowWrite::Create { row, .. }) => {
                    let copied = self.copied_content(main, call, &source, row, &mut plan.blobs)?;
                    plan.new_documents.extend(copied);
                }
                _ => (),
            }
        }
        plan.main = MainChange::Rows(writes);
        Ok(plan)
    }

    /// Plans to copy a file over a link, replacing the link itself. Returns `None` if the target is
    /// no link.
    fn copy_over_link(
        &self,
        main: &MainDoc,
        call: TransferCall<'_>,
    ) -> Result<Option<Transaction<'static>>, FsError> {
        let is_link =
            main.tree().resolve(call.to, FinalLink::No).is_ok_and(|node| node.link().is_some());
        let source = resolve(main, Op::Cp, call.from, FinalLink::No);
        let source = source.map_err(|error| error.to(call.to))?;
        let old = source.id().filter(|_| is_link && !source.is_directory());
        let Some(old) = old.and_then(|id| main.files().get(id)).map(|entry| entry.row) else {
            return Ok(None);
        };
        let id = self.state.options.ids.file_id();
        let planned =
            replace_link(main, call.to, id, call.by).map_err(|error| call.convert_error(error))?;
        let mut plan = Transaction::of(());
        let mut writes = planned.unwrap_or_default();
        if let Some(RowWrite::Create { row, .. }) = writes.last_mut() {
            row.updated_at = old.updated_at;
            (row.mode, row.link, row.blob) = (old.mode, old.link.clone(), old.blob);
            row.size = old.size;
            if old.link.is_none() {
                let copied = self.copied_content(main, call, &old.id, row, &mut plan.blobs)?;
                plan.new_documents.extend(copied);
            }
        }
        plan.main = MainChange::Rows(writes);
        Ok(Some(plan))
    }

    /// Plans to give a file the content, permission bits and time of another.
    fn plan_overwrite(
        &self,
        main: &MainDoc,
        call: TransferCall<'_>,
        source: &FileId,
        target: &FileId,
    ) -> Result<OverwritePlan, FsError> {
        let row = |id: &FileId| main.files().get(id).map(|entry| entry.row);
        let (Some(row), Some(old)) = (row(source), row(target)) else {
            return Err(call.fail(FsCode::ENOENT));
        };
        let mut changes = RowChanges {
            mode: Some(row.mode),
            updated_at: Some(self.state.time_of(&row)),
            ..RowChanges::default()
        };
        let (size, body, precondition) = match ContentLocation::of(&row) {
            ContentLocation::Text => {
                let text = self.state.texts.read(&self.state, source);
                let text = text.map_err(|error| fs_error(error, call.op, call.from))?;
                let seen = ContentPrecondition { id: source.clone(), head: text.head };
                let kind = ContentRoot::of(FileCategory::of(&old.name), main.profile());
                let heavy = self.too_heavy_as(call, &text.content, kind)?;
                let body = match heavy {
                    Some(blob) => NewBody::Blob(new_blob(blob)),
                    None => NewBody::Text(text.content.clone()),
                };
                changes.blob = (old.blob.is_some() || heavy.is_some()).then_some(heavy);
                (text.content.len() as u64, body, Some(seen))
            }
            ContentLocation::Blob(blob) => {
                let info = self.state.store.blob_info(&blob.hash);
                let info = info.map_err(|error| fs_error(error.into(), call.op, call.from))?;
                // A known blob that has not arrived must not replace a content.
                info.ok_or_else(|| call.fail(FsCode::EIO))?;
                changes.blob = Some(Some(blob));
                (blob.size, NewBody::Blob(new_blob(blob)), None)
            }
        };
        changes.size = Some(size);
        let mut author = call.by.clone();
        // A separate label keeps the replaced content as a version of its own.
        author.label.get_or_insert_with(|| "replaced by a file".into());
        Ok(OverwritePlan { changes, body, author, precondition })
    }

    /// Prepares the document of a copy, and sets the size in its row. Adds a blob that it stores to
    /// `blobs`.
    fn copied_content(
        &self,
        main: &MainDoc,
        call: TransferCall<'_>,
        source: &FileId,
        row: &mut FileRow,
        blobs: &mut Vec<ContentHash>,
    ) -> Result<Option<NewDocument>, FsError> {
        let Some(old) = main.files().get(source).map(|entry| entry.row) else { return Ok(None) };
        row.updated_at = self.state.time_of(&old);
        row.meta = old.meta.clone().filter(|_| old.trashed_at.is_none());
        let kind = ContentRoot::of(FileCategory::of(&row.name), main.profile());
        let mut doc = self.state.new_doc(&row.id, kind);
        let author = self.content_author(&self.author);
        let failed = |error: ContentError| fs_error(error.into(), call.op, call.to);
        if let Some(blob) = old.blob {
            let noted =
                doc.edit_registers().add_blob_version(&new_blob(blob), &author).map_err(failed)?;
            return Ok(noted.map(|update| new_doc(&row.id, &row.name, update, None)));
        }
        let text = self.state.texts.read(&self.state, source);
        let text = text.map_err(|error| fs_error(error, call.op, call.from))?;
        row.size = text.content.len() as u64;
        if let Some(blob) = self.too_heavy_as(call, &text.content, kind)? {
            row.blob = Some(blob);
            blobs.push(blob.hash);
            let noted =
                doc.edit_registers().add_blob_version(&new_blob(blob), &author).map_err(failed)?;
            return Ok(noted.map(|update| new_doc(&row.id, &row.name, update, None)));
        }
        let written = doc.write(&text.content, None, &author).map_err(failed)?;
        Ok(written.update.map(|update| new_doc(&row.id, &row.name, update, Some(row.size))))
    }
}

impl WorkspaceState {
    /// Returns the time of a file's last change, as far as this process knows it.
    fn time_of(&self, row: &FileRow) -> Millis {
        let (_, touched) = self.texts.live.get(&row.id);
        touched.map_or(row.updated_at, |touched| touched.max(row.updated_at))
    }
}

/// Rejects sources that cannot be copied, whatever is at the destination.
fn check_copy(
    main: &MainDoc,
    call: TransferCall<'_>,
    options: &CopyOptions,
) -> Result<(), FsError> {
    let source = resolve(main, Op::Cp, call.from, FinalLink::No);
    let source = source.map_err(|error| error.to(call.to))?;
    if source.is_directory() && !options.recursive {
        return Err(call.fail(FsCode::EISDIR));
    }
    if source.is_directory() && call.to.starts_with(&source.path()) {
        return Err(call.fail(FsCode::EINVAL));
    }
    if !options.replace && main.tree().resolve(call.to, FinalLink::No).is_ok() {
        return Err(call.fail(FsCode::EEXIST));
    }
    Ok(())
}

/// Returns the file that a write creates or changes.
fn written_id(write: &RowWrite) -> Option<&FileId> {
    match write {
        RowWrite::Create { row, .. } => Some(&row.id),
        RowWrite::Update { id, .. } => Some(id),
        _ => None,
    }
}
