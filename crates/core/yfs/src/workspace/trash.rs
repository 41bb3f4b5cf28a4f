//! The trash: listing, restoring, and deleting for good.
//!
//! Deleting for good has two phases. [`Trash::purge`] marks objects; a restore still reverses it.
//! [`Trash::expire`] deletes objects that were marked long enough ago, counted from when this store
//! first saw the mark, never by a peer's clock.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use yfs_engine::{
    actor::Actor,
    content::{BlobVersion, ContentDoc, RunAuthor},
    hash::ContentHash,
    id::{FileId, ItemId},
    main_doc::{MainDoc, RemovalOrder},
    ops,
    path::VPath,
    table::NodeKind,
    time::Millis,
    tree::{NodeRef, TrashItem},
};
use yfs_store::DocName;
use yfs_vfs::{FileKind, FsCode, FsError, Op};

use crate::{
    commit::{StructureAccess, Transaction},
    core::WorkspaceCore,
    error::{Result, WorkspaceError},
    fs::op_error,
    state::WorkspaceState,
};

/// The number of rows that are written in one transaction.
const MAX_ROWS: usize = 1_000;

/// An object in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrashEntry {
    /// Its id.
    pub id: FileId,
    /// Its stored name.
    pub name: String,
    /// The kind of object.
    pub kind: FileKind,
    /// When it was trashed, by the clock of the writer that trashed it.
    pub trashed_at: Millis,
    /// The place of its removal among all: the greatest is that of the last removal. Times may be
    /// equal, places are not.
    pub order: RemovalOrder,
    /// Who trashed it, if that is recorded.
    pub trashed_by: Option<Actor>,
    /// The path that it had.
    pub original: String,
    /// The number of objects that are hidden with it.
    pub n_hidden: u64,
    /// The paths below it at which other writers changed an object after it was trashed.
    pub stranded: Vec<String>,
    /// Whether it was purged, and its retention is running.
    pub purging: bool,
}

/// The result of an expiry: what was deleted for good.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ExpireReport {
    /// Rows of the files table.
    pub n_rows: u64,
    /// Content documents.
    pub n_documents: u64,
    /// The bytes of content documents and blobs.
    pub n_bytes: u64,
}

/// The trash of a workspace: removed objects that can be restored
/// ([`Workspace::trash`](crate::Workspace::trash)).
#[derive(Debug, Clone, Copy)]
pub struct Trash<'w> {
    pub(super) state: &'w Arc<WorkspaceState>,
}

impl Trash<'_> {
    /// Lists the trash: first the objects with changes after they were trashed, then the latest.
    pub fn list(&self) -> Result<Vec<TrashEntry>> {
        self.state.refresh()?;
        let main = self.state.main.read();
        Ok(describe_all(&main, false))
    }

    /// Lists the trash with the purged objects that are not deleted yet: they can be restored.
    pub fn list_all(&self) -> Result<Vec<TrashEntry>> {
        self.state.refresh()?;
        let main = self.state.main.read();
        Ok(describe_all(&main, true))
    }

    /// Restores an object from the trash, and returns its new path.
    ///
    /// Without `to` it returns to its earlier path or, if that is gone, to the nearest directory
    /// above it that exists; if another object has its name, it is named `NAME (restored)`. A
    /// purge is reversed.
    ///
    /// What left a [shared directory](crate::DirectoryShare) is copied: it is itself trashed again
    /// for as long as it is elsewhere. A member of the directory that it belongs to has the copy.
    ///
    /// # Errors
    ///
    /// Fails with `ENOENT` if the id is unknown, with `EINVAL` if it is not in the trash, with
    /// `EEXIST` if `to` exists.
    pub fn restore(&self, id: &FileId, to: Option<&VPath>) -> Result<VPath> {
        self.restore_with(id, to, None)
    }

    /// Restores an object as [`restore`](Self::restore) does, by a change with a label.
    pub(super) fn restore_with(
        &self,
        id: &FileId,
        to: Option<&VPath>,
        label: Option<&str>,
    ) -> Result<VPath> {
        self.state.check_writable()?;
        if let Some(copy) = self.copy_what_left(id, to)? {
            return Ok(copy);
        }
        let actor = &self.state.options.actor;
        let by = RunAuthor { label: label.map(Into::into), ..self.state.author_now() };
        self.state.commit(StructureAccess::Change, Some(actor), |main| {
            let writes = ops::plan_restore(main.tree(), main, id, to);
            let writes = writes.map_err(|error| to_fs_error(error, id))?;
            Ok(Transaction::rows(writes, ()).by(main, &by))
        })?;
        let path = self.state.main.read().tree().path_of(id);
        path.ok_or_else(|| WorkspaceError::NoFile(id.clone()))
    }

    /// Returns the content of a file that is in the trash, or in a directory that is.
    ///
    /// # Errors
    ///
    /// Fails with [`NoFile`](WorkspaceError::NoFile) if there is no such file in the trash.
    pub fn content(&self, id: &FileId) -> Result<Bytes> {
        self.state.refresh()?;
        let no_file = || WorkspaceError::NoFile(id.clone());
        let row = {
            let main = self.state.main.read();
            let is_in_trash =
                main.tree().node(id).is_some_and(|node| node.path_in_trash().is_some());
            let entry = main.files().get(id).filter(|_| is_in_trash).ok_or_else(no_file)?;
            entry.row.clone()
        };
        if row.kind != NodeKind::File {
            return Err(no_file());
        }
        match (&row.link, &row.blob) {
            (Some(target), _) => Ok(target.to_string().into()),
            (None, Some(blob)) => Ok(self.state.store.read_blob(&blob.hash, 0..blob.size)?.into()),
            (None, None) => {
                let text = self.state.texts.read_once(self.state, id)?;
                Ok(Bytes::copy_from_slice(text.content.as_bytes()))
            }
        }
    }

    /// Reports whether the workspace still has an object: it is visible, or in the trash.
    pub fn still_has(&self, id: &FileId) -> Result<bool> {
        self.state.check_open()?;
        Ok(self.state.main.read().tree().node(id).is_some())
    }

    /// Marks objects in the trash, with everything below them, for deletion after their retention;
    /// returns how many rows were marked.
    pub fn purge(&self, ids: &[FileId]) -> Result<u64> {
        let purge_id = self.state.options.ids.file_id();
        let mut n_marked = 0;
        for id in ids {
            let by = Some(&self.state.options.actor);
            let purged = self.state.commit(StructureAccess::Change, by, |main| {
                let writes = main.plan_purge(id, purge_id.as_str());
                let writes = writes.map_err(|error| to_fs_error(error, id))?;
                let n_writes = writes.len() as u64;
                Ok(Transaction::rows(writes, n_writes))
            })?;
            n_marked += purged.value;
        }
        note_purged(self.state)?;
        Ok(n_marked)
    }

    /// Deletes objects that were purged at least `retention` ago: rows first; contents and blobs
    /// that no row names after the same time again.
    pub fn expire(&self, retention: Duration) -> Result<ExpireReport> {
        self.state.check_writable()?;
        self.state.refresh()?;
        note_purged(self.state)?;
        let mut expired = expire_rows(self.state, retention)?;
        let (n_documents, n_bytes) = expire_documents(self.state, retention)?;
        expired.n_documents = n_documents;
        expired.n_bytes = n_bytes + expire_blobs(self.state, retention)?;
        Ok(expired)
    }
}

/// Records the purges that this store sees for the first time.
fn note_purged(core: &WorkspaceCore) -> Result<()> {
    let keys: Vec<String> = {
        let main = core.main.read();
        let purged = main.tree().hidden().filter(NodeRef::is_purged);
        purged.filter_map(|node| node.id().map(purge_key)).collect()
    };
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    Ok(core.store.note_first_seen(&keys, core.now())?)
}

fn is_old(core: &WorkspaceCore, key: &str, retention: Duration) -> Result<bool> {
    let Some(since) = core.store.first_seen(key)? else { return Ok(false) };
    let age = core.now().0.saturating_sub(since.0);
    Ok(u128::try_from(age).is_ok_and(|age| age >= retention.as_millis()))
}

fn expire_rows(core: &WorkspaceCore, retention: Duration) -> Result<ExpireReport> {
    let purged: Vec<FileId> = {
        let main = core.main.read();
        let purged = main.tree().hidden().filter(NodeRef::is_purged);
        purged.filter_map(|node| node.id().cloned()).collect()
    };
    let mut due = Vec::new();
    for id in purged {
        if is_old(core, &purge_key(&id), retention)? {
            due.push(id);
        }
    }
    // Rows that the plan leaves for later keep their time.
    let mut due = due.into_iter().peekable();
    let mut n_rows = 0;
    while due.peek().is_some() {
        let batch: Vec<FileId> = due.by_ref().take(MAX_ROWS).collect();
        let deleted = core.commit(StructureAccess::Change, None, |main| {
            let plan = ops::plan_expire(main.tree(), &batch);
            let n_writes = plan.writes.len() as u64;
            Ok(Transaction::rows(plan.writes, n_writes))
        })?;
        n_rows += deleted.value;
        let main = core.main.read();
        let gone = batch.iter().filter(|id| main.files().get(id).is_none());
        let keys: Vec<String> = gone.map(purge_key).collect();
        drop(main);
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        core.store.clear_first_seen(&keys)?;
    }
    Ok(ExpireReport { n_rows, ..ExpireReport::default() })
}

/// Removes contents whose rows have been gone for the retention.
fn expire_documents(core: &WorkspaceCore, retention: Duration) -> Result<(u64, u64)> {
    // The row of a content is logged with it or before it. So the rows of all listed documents
    // are known once the log has been read after listing.
    let documents = core.store.documents()?;
    core.refresh()?;
    let mut removed = (0, 0);
    for stats in documents {
        if stats.doc == core.main_name {
            continue;
        }
        let id = FileId::from(&stats.doc);
        let key = format!("rowless:{id}");
        if core.main.read().files().get(&id).is_some() {
            core.store.clear_first_seen(&[&key])?;
            continue;
        }
        core.store.note_first_seen(&[&key], core.now())?;
        if is_old(core, &key, retention)? && core.documents.close(&id) {
            removed.0 += 1;
            removed.1 += core.store.forget(&stats.doc, stats.head)?;
            core.store.clear_first_seen(&[&key])?;
        }
    }
    Ok(removed)
}

/// Removes blobs that nothing names and that were last put before the retention began.
fn expire_blobs(core: &WorkspaceCore, retention: Duration) -> Result<u64> {
    // Taken before anything is read: a blob that is put from now on may be named by records
    // that are logged while the documents are read, and is not removed.
    let mark = core.store.blob_mark()?;
    core.refresh()?;
    if !core.main.read().doc().parked().is_empty() {
        return Ok(0);
    }
    let age = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
    let older_than = Millis(core.now().0.saturating_sub(age));
    let Some(unnamed) = unnamed_blobs(core, older_than)? else { return Ok(0) };
    Ok(core.store.remove_blobs(mark, older_than, &|hash| !unnamed.contains(hash))?)
}

/// Returns the blobs that were last put before a time and that nothing names. Returns `None` if
/// an update that waits for others may name some.
///
/// # Cost
///
/// Loads documents only until all blobs of that age are found to be named: none if a row names
/// each of them.
fn unnamed_blobs(
    core: &WorkspaceCore,
    older_than: Millis,
) -> Result<Option<BTreeSet<ContentHash>>> {
    let old = core.store.blobs()?.into_iter().filter(|blob| blob.at < older_than);
    let mut unnamed: BTreeSet<ContentHash> = old.map(|blob| blob.hash).collect();
    if unnamed.is_empty() {
        return Ok(Some(unnamed));
    }
    for hash in blobs_named_by_rows(core) {
        unnamed.remove(&hash);
    }
    for stats in core.store.documents()? {
        if unnamed.is_empty() {
            break;
        }
        if stats.doc == core.main_name {
            continue;
        }
        let Some(versions) = blob_versions_of(core, &stats.doc)? else { return Ok(None) };
        for version in versions {
            unnamed.remove(&version.hash);
        }
    }
    Ok(Some(unnamed))
}

fn blobs_named_by_rows(core: &WorkspaceCore) -> BTreeSet<ContentHash> {
    let main = core.main.read();
    main.files().iter().filter_map(|entry| Some(entry.row.blob?.hash)).collect()
}

/// Returns the blob versions of a document, or `None` if an update that waits for others may
/// add some.
fn blob_versions_of(core: &WorkspaceCore, doc: &DocName) -> Result<Option<Vec<BlobVersion>>> {
    let handle = core.documents.acquire(&FileId::from(doc));
    handle.with(|loaded| {
        let is_complete = loaded.doc.gate().parked().is_empty();
        is_complete.then(|| list_unredacted(&loaded.doc))
    })
}

/// Returns every blob that a row or a version of a file names, except these versions of this
/// file. Returns `None` if an update that waits for others may name more.
pub(super) fn blobs_named_beside(
    core: &WorkspaceCore,
    id: &FileId,
    versions: &[ItemId],
) -> Result<Option<BTreeSet<ContentHash>>> {
    if !core.main.read().doc().parked().is_empty() {
        return Ok(None);
    }
    named_blobs(core, (id, versions))
}

fn named_blobs(
    core: &WorkspaceCore,
    (left_out, left_out_versions): (&FileId, &[ItemId]),
) -> Result<Option<BTreeSet<ContentHash>>> {
    let mut named = blobs_named_by_rows(core);
    for stats in core.store.documents()? {
        if stats.doc == core.main_name {
            continue;
        }
        let Some(mut versions) = blob_versions_of(core, &stats.doc)? else { return Ok(None) };
        if FileId::from(&stats.doc) == *left_out {
            versions.retain(|version| !left_out_versions.contains(&version.id));
        }
        named.extend(versions.into_iter().map(|version| version.hash));
    }
    Ok(Some(named))
}

/// Returns the blob versions that were not redacted.
fn list_unredacted(doc: &ContentDoc) -> Vec<BlobVersion> {
    let mut versions = doc.blobs().versions();
    versions.retain(|version| !doc.redactions().names_blob(version.id));
    versions
}

fn purge_key(id: &FileId) -> String {
    format!("purged:{id}")
}

fn to_fs_error(error: ops::OpError, id: &FileId) -> WorkspaceError {
    if error.code == ops::OpCode::NotFound && error.path.as_str().ends_with(id.as_str()) {
        return WorkspaceError::NoFile(id.clone());
    }
    let path = error.path.clone();
    let mut error = op_error(error, Op::Rm, &path);
    if error.code == FsCode::EINVAL {
        error = FsError::new(FsCode::EINVAL, Op::Rm, path.as_str());
    }
    WorkspaceError::Fs(error)
}

/// Describes the trash: first the objects with changes that their removers did not know of. Purged
/// objects without any are left out unless `with_purged` is set.
fn describe_all(main: &MainDoc, with_purged: bool) -> Vec<TrashEntry> {
    let items = main.trash_and_purged();
    let entries = items.iter().filter_map(|item| describe(main, item));
    let mut entries: Vec<TrashEntry> = entries
        .filter(|entry| with_purged || !entry.purging || !entry.stranded.is_empty())
        .collect();
    entries.sort_by_key(|entry| entry.stranded.is_empty());
    entries
}

fn describe(main: &MainDoc, item: &TrashItem) -> Option<TrashEntry> {
    let order = main.removal_order(&item.id)?;
    let row = main.files().get(&item.id).map(|entry| entry.row);
    let kind = match (item.kind, row.as_ref().is_some_and(|row| row.link.is_some())) {
        (NodeKind::Directory, _) => FileKind::Directory,
        (NodeKind::File, true) => FileKind::Symlink,
        (NodeKind::File, false) => FileKind::File,
    };
    let late = main.tree().node(&item.id).and_then(|node| main.late_changes(node));
    let late = late.into_iter().flatten().map(|late| late.id).filter(|id| *id != item.id);
    let stranded: BTreeSet<FileId> = item.stranded.iter().cloned().chain(late).collect();
    let in_trash = |id: &FileId| {
        let node = main.tree().node(id);
        node.and_then(|node| node.path_in_trash()).map_or_else(|| id.to_string(), |(_, path)| path)
    };
    Some(TrashEntry {
        id: item.id.clone(),
        name: item.name.to_string(),
        kind,
        trashed_at: item.trashed_at,
        order,
        trashed_by: row.as_ref().and_then(ops::trashed_by).map(|by| by.actor),
        original: item.original.to_string(),
        n_hidden: main.tree().node(&item.id).map_or(0, |node| node.n_hidden() as u64),
        stranded: stranded.iter().map(in_trash).collect(),
        purging: item.purged,
    })
}
