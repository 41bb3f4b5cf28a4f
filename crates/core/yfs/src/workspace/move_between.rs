//! Moves a file or directory to another workspace, with its ids and its history.

use std::{collections::HashMap, io};

use yfs_engine::{
    content::RunAuthor,
    hash::ContentHash,
    id::{FileId, WorkspaceId},
    main_doc::MainDoc,
    ops,
    path::VPath,
    table::{FileRow, MOVED_KEY, REMOVAL_KEYS, RowChanges, RowWrite, TRASHED_BY_KEY},
    tree::{FinalLink, PathTarget},
};
use yfs_store::{DocHead, Seq};
use yfs_vfs::{FsCode, FsError, Op};

use super::Workspace;
use crate::{
    commit::{ContentPrecondition, NewDocument, StructureAccess, Transaction},
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
    fs::{lookup_error, op_error, resolve},
    json_convert,
    settled_form::SettledForm,
    state::WorkspaceState,
};

/// A packed subtree.
struct SubtreeTransfer {
    /// The rows, each directory before its entries; the first is the moved object.
    rows: Vec<FileRow>,
    /// Each content document as one update, with its history.
    contents: Vec<NewDocument>,
    /// The files, as they were when they were packed.
    packed: Vec<PackedFile>,
    /// The blobs that the files need.
    blobs: Vec<ContentHash>,
}

/// The state of a file when it was packed.
struct PackedFile {
    id: FileId,
    /// The last record of its document.
    head: DocHead,
}

impl Workspace {
    /// Moves the object at `path` to `to` in another workspace. Files keep their ids, and so their
    /// content documents and all of their history; in this workspace they go to the trash.
    ///
    /// The copy is durable in the other workspace before anything changes here: if a step fails,
    /// nothing is lost, and the call may be repeated.
    ///
    /// # Errors
    ///
    /// Fails with `EEXIST` if `to` exists, or if the other workspace shows one of the files
    /// already; with `ENOENT` if the parent directory of `to` is missing; with `EBUSY` for the
    /// root.
    pub fn move_to(&self, path: &VPath, other: &Self, to: &VPath) -> Result<()> {
        self.state.check_writable()?;
        other.state.check_writable()?;
        self.state.refresh()?;
        let by = Some(&self.state.options.actor);
        let mut parcel = pack_subtree(&self.state, path)?;
        // Here a peer may have given a file the id of the other workspace.
        if parcel.rows.iter().any(|row| row.id == other.state.id) {
            return Err(WorkspaceError::NoFile(other.state.id.clone()));
        }
        self.send_subtree(other, &parcel)?;
        other
            .state
            .commit(StructureAccess::Change, by, |main| plan_unpacking(main, &parcel, to))?;
        loop {
            other.flush()?;
            match trash_moved(&self.state, path, &parcel, &other.state.id) {
                Err(WorkspaceError::ContentMoved(_)) => {
                    // A file was edited meanwhile: the new edits are sent after the rest.
                    parcel = pack_subtree(&self.state, path)?;
                    self.send_subtree(other, &parcel)?;
                    other.state.commit(StructureAccess::Change, by, |main| {
                        plan_later_edits(main, &parcel)
                    })?;
                }
                trashed => return trashed,
            }
        }
    }

    fn send_subtree(&self, other: &Self, parcel: &SubtreeTransfer) -> Result<()> {
        parcel.blobs.iter().try_for_each(|hash| copy_blob(&self.state, &other.state, hash))
    }
}

/// Returns the position of the log up to which the contents of an object were moved to another
/// workspace, if they were moved from this store.
pub(super) fn find_move_position(core: &WorkspaceCore, id: &FileId) -> Result<Option<Seq>> {
    let noted = core.store.get_meta(&moved_key(id))?;
    let position = noted.and_then(|noted| String::from_utf8(noted).ok()?.parse().ok());
    Ok(position.map(Seq))
}

/// Trashes the objects that were sent to another workspace.
///
/// # Errors
///
/// Fails with [`WorkspaceError::ContentMoved`] if a file was edited after it was packed.
fn trash_moved(
    core: &WorkspaceCore,
    path: &VPath,
    parcel: &SubtreeTransfer,
    home: &WorkspaceId,
) -> Result<()> {
    let now = core.now();
    // Records that are logged in the contents from here on are not in the other workspace,
    // unless the transaction fails: then the note has no effect.
    if let Some(top) = parcel.rows.first() {
        let position = core.store.head()?.0.to_string();
        core.store.set_meta(&moved_key(&top.id), position.as_bytes())?;
    }
    core.commit(StructureAccess::Change, Some(&core.options.actor), |main| {
        let top = resolve(main, Op::Rename, path, FinalLink::No)?;
        let rows = std::iter::once(top).chain(top.walk());
        let packed: HashMap<&FileId, &FileRow> =
            parcel.rows.iter().map(|row| (&row.id, row)).collect();
        let is_packed = |id: &FileId| packed.get(id).is_some_and(|row| is_same(main, row));
        if let Some(id) = rows.filter_map(|node| node.id()).find(|id| !is_packed(id)) {
            return Err(WorkspaceError::ContentMoved(id.clone()));
        }
        let mut preconditions: Vec<ContentPrecondition> = Vec::new();
        for file in &parcel.packed {
            preconditions.extend(core.expect_content(&file.id, Some(file.head))?);
        }
        let by = RunAuthor { at: now, ..core.author_now() };
        let mut writes = ops::plan_trash(main.tree(), path, true, &by)
            .map_err(|error| WorkspaceError::Fs(op_error(error, Op::Rename, path)))?;
        for write in &mut writes {
            if let RowWrite::Update { changes, .. } = write
                && changes.trashed_at.is_some()
            {
                let moved = serde_json::json!({
                    MOVED_KEY: home.as_str(),
                    TRASHED_BY_KEY: by.actor.to_string(),
                });
                changes.meta = Some(json_convert::from_json(&moved));
            }
        }
        Ok(Transaction { preconditions, ..Transaction::rows(writes, ()) })
    })?;
    Ok(())
}

/// Copies a subtree into memory.
fn pack_subtree(core: &WorkspaceCore, path: &VPath) -> Result<SubtreeTransfer> {
    let rows: Vec<FileRow> = {
        let main = core.main.read();
        let top = resolve(&main, Op::Rename, path, FinalLink::No)?;
        if top.is_root() {
            return Err(FsError::new(FsCode::EBUSY, Op::Rename, path).into());
        }
        let nodes = std::iter::once(top).chain(top.walk());
        nodes.filter_map(|node| Some(main.files().get(node.id()?)?.row)).collect()
    };
    let mut parcel =
        SubtreeTransfer { rows, contents: Vec::new(), packed: Vec::new(), blobs: Vec::new() };
    let files = parcel.rows.iter().filter(|row| row.kind == yfs_engine::table::NodeKind::File);
    for row in files {
        parcel.blobs.extend(row.blob.map(|blob| blob.hash));
        let (update, blobs, text, settled, head) =
            core.documents.acquire(&row.id).with(|loaded| {
                let state = loaded.doc.gate().encode_state();
                let settled =
                    loaded.doc.conversion().is_only_text().then_some(SettledForm::PlainText);
                (state, loaded.doc.blobs().versions(), loaded.doc.text(), settled, loaded.head)
            })?;
        parcel.packed.push(PackedFile { id: row.id.clone(), head });
        parcel.blobs.extend(blobs.into_iter().map(|version| version.hash));
        // An empty document is two zero bytes.
        if update.len() > 2 {
            let text_size = row.blob.is_none().then_some(text.len() as u64);
            let id = row.id.clone();
            parcel.contents.push(NewDocument { id, update, text_size, settled });
        }
    }
    parcel.blobs.sort();
    parcel.blobs.dedup();
    Ok(parcel)
}

/// Plans the edits that were made in the origin after a transfer was sent: contents, and the rows
/// of new objects.
fn plan_later_edits(main: &MainDoc, parcel: &SubtreeTransfer) -> Result<Transaction<'static>> {
    let mut writes = Vec::new();
    for row in &parcel.rows {
        let row = FileRow { trashed_at: None, ..row.clone() };
        match main.tree().node(&row.id) {
            None => writes.push(RowWrite::Create { row, derived: false }),
            Some(_) => {
                let changes = RowChanges {
                    size: Some(row.size),
                    updated_at: Some(row.updated_at),
                    blob: Some(row.blob),
                    ..RowChanges::default()
                };
                writes.push(RowWrite::Update { id: row.id, changes });
            }
        }
    }
    let (new_documents, blobs) = (parcel.contents.clone(), parcel.blobs.clone());
    Ok(Transaction { new_documents, blobs, ..Transaction::rows(writes, ()) })
}

/// Plans the rows of a transfer at `to`.
fn plan_unpacking(
    main: &MainDoc,
    parcel: &SubtreeTransfer,
    to: &VPath,
) -> Result<Transaction<'static>> {
    let fail = |code| WorkspaceError::Fs(FsError::new(code, Op::Rename, to));
    let target = main.tree().place(to, FinalLink::No);
    let target = target.map_err(|error| lookup_error(error, Op::Rename, to))?;
    let PathTarget::Free { parent, name } = target else { return Err(fail(FsCode::EEXIST)) };
    let name = ops::check_name(&name, to).map_err(|error| op_error(error, Op::Rename, to))?;
    let mut writes = Vec::with_capacity(parcel.rows.len());
    for (at, row) in parcel.rows.iter().enumerate() {
        let mut row = row.clone();
        row.trashed_at = None;
        if at == 0 {
            row.name = name.to_smol_str();
            row.parent = parent.id().cloned();
        }
        let known = main.tree().node(&row.id);
        writes.push(match known {
            None => RowWrite::Create { row, derived: false },
            Some(node) if node.is_visible() => return Err(fail(FsCode::EEXIST)),
            // The file was in this workspace before, and returns.
            Some(_) => RowWrite::Update { id: row.id.clone(), changes: full_changes(row) },
        });
    }
    let (new_documents, blobs) = (parcel.contents.clone(), parcel.blobs.clone());
    Ok(Transaction { new_documents, blobs, ..Transaction::rows(writes, ()) })
}

/// Returns the setting of the store with the position at which an object was moved to another
/// workspace.
fn moved_key(id: &FileId) -> String {
    format!("moved:{id}")
}

/// Reports whether a file still has the blob that it had when it was packed.
fn is_same(main: &MainDoc, packed: &FileRow) -> bool {
    main.files().get(&packed.id).is_some_and(|entry| entry.row.blob == packed.blob)
}

/// Returns the changes that turn a row into this one.
fn full_changes(row: FileRow) -> RowChanges {
    let of_removal = REMOVAL_KEYS.into_iter().map(|key| (key.to_owned(), serde_json::Value::Null));
    let came_back = serde_json::Value::Object(of_removal.collect());
    RowChanges {
        name: Some(row.name),
        parent: Some(row.parent),
        size: Some(row.size),
        updated_at: Some(row.updated_at),
        trashed_at: Some(None),
        mode: Some(row.mode),
        link: Some(row.link),
        blob: Some(row.blob),
        meta: Some(json_convert::from_json(&came_back)),
    }
}

/// Copies a blob through a pipe, so that it is never in memory as a whole. One that the other store
/// has is not copied: a move that lost a race against writers must not take longer each time.
pub(crate) fn copy_blob(
    from: &WorkspaceState,
    to: &WorkspaceState,
    hash: &ContentHash,
) -> Result<()> {
    if to.store.blob_info(hash)?.is_some() {
        return Ok(());
    }
    let failed = |source| WorkspaceError::Host {
        action: "make a pipe for",
        path: hash.to_string().into(),
        source,
    };
    let (mut reader, mut writer) = io::pipe().map_err(failed)?;
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || from.store.copy_blob(hash, &mut writer));
        let put = to.store.put_blob(&mut reader, to.now());
        // A sender without a reader gets an error instead of waiting forever.
        drop(reader);
        let sent = sender.join().expect("copying does not panic");
        put?;
        sent?;
        Ok(())
    })
}
