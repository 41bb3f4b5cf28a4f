//! Passes the contents of files on: each side gets the items that it lacks, unchanged, so that
//! cursors stay and concurrent edits merge as everywhere.
//!
//! # Invariants
//!
//! - The origin gets no content that names a blob which the share's store does not have. Else a
//!   peer could name a blob of the origin by its hash, and the origin would take it for one of its
//!   own file.
//! - The share gets a blob only if the origin names it in a file below the directory.

use std::collections::BTreeSet;

use yfs_engine::{
    content::ContentDoc,
    gate::{DocRole, SplitSize, split},
    hash::ContentHash,
    id::FileId,
    main_doc::EMPTY_UPDATE,
};
use yfs_store::{Seq, StoreExt};

use super::{DirectoryShare, ShareStep, row_commit::copy_blobs};
use crate::{
    error::{Result, WorkspaceError},
    replica::ReplicaUpdate,
    state::WorkspaceState,
    workspace::Workspace,
};

/// The greatest size of a part of a content.
const PART_SIZE: SplitSize = SplitSize { bytes: 16 << 20, structs: 1 << 19 };

/// What one side has of a content.
pub(super) struct ContentSide {
    state_vector: Vec<u8>,
    /// What the other side lacks.
    pub(super) update: Vec<u8>,
    blobs: BTreeSet<ContentHash>,
}

impl DirectoryShare {
    /// Notes which contents were written since the last step.
    pub(super) fn read_logs(&mut self) -> Result<()> {
        let origin = read_log(&self.origin.state, &mut self.positions.origin)?;
        let share = read_log(&self.share.state, &mut self.positions.share)?;
        let written = origin.into_iter().chain(share);
        self.dirty.extend(written.filter(|id| self.records.get(id).is_some()));
        Ok(())
    }

    /// Exchanges the contents that were written. Returns the failure of a content that one side
    /// cannot read or take; the others are exchanged.
    pub(super) fn exchange_contents(
        &mut self,
        step: &mut ShareStep,
    ) -> Result<Option<WorkspaceError>> {
        let mut failure = None;
        let mut left = std::mem::take(&mut self.dirty);
        // What was written since may be a redaction.
        let seen_away = &std::mem::take(&mut self.away) - &left;
        left.extend(seen_away.iter().cloned());
        while let Some(id) = left.pop_first() {
            if !self.is_shared_file(&id) {
                if !seen_away.contains(&id)
                    && let Err(error) =
                        self.pass_redactions(&id).and_then(|()| self.note_late_edit(&id))
                {
                    self.dirty.insert(id);
                    failure.get_or_insert(error);
                    continue;
                }
                // It may come back with its directory.
                if self.share.state.is_file(&id) {
                    self.away.insert(id);
                }
                continue;
            }
            let exchanged = self.exchange_content(&id, step).and_then(|is_done| {
                self.check_crash_point()?;
                Ok(is_done)
            });
            match exchanged {
                Ok(true) => {}
                Ok(false) => drop(self.dirty.insert(id)),
                Err(error) if concerns_one_content(&error) => {
                    self.dirty.insert(id);
                    failure.get_or_insert(error);
                }
                Err(error) => {
                    self.dirty.insert(id);
                    self.dirty.append(&mut left);
                    return Err(error);
                }
            }
        }
        Ok(failure)
    }

    fn is_shared_file(&self, id: &FileId) -> bool {
        let is_inside = || {
            let main = self.origin.state.main.read();
            let directory = main.tree().node(&self.directory);
            let node = main.tree().node(id);
            node.zip(directory).is_some_and(|(node, directory)| node.is_within(directory))
        };
        let [origin, share] = [&self.origin.state, &self.share.state];
        *id != self.directory && is_inside() && origin.is_file(id) && share.is_file(id)
    }

    /// Gives each side what it lacks of a content. Reports false if the share has to wait for
    /// blobs.
    fn exchange_content(&self, id: &FileId, step: &mut ShareStep) -> Result<bool> {
        let [origin, share] = [&self.origin.state, &self.share.state];
        let known = share.documents.read_once(id, |loaded| loaded.doc.gate().state_vector())?;
        let mut of_origin = read_side(origin, id, &known)?;
        let row_blob = |state: &WorkspaceState| {
            let row = state.main.read().files().get(id);
            row.and_then(|entry| entry.row.blob).map(|blob| blob.hash)
        };
        of_origin.blobs.extend(row_blob(origin));
        copy_blobs(origin, share, &of_origin.blobs)?;
        step.n_contents += receive(&self.share, id, &of_origin.update)?;
        self.check_crash_point()?;
        let of_share = read_side(share, id, &of_origin.state_vector)?;
        let new_blobs: BTreeSet<ContentHash> =
            of_share.blobs.difference(&of_origin.blobs).copied().collect();
        for hash in &new_blobs {
            if !share.store.has_blob(hash)? {
                return Ok(false);
            }
        }
        copy_blobs(share, origin, &new_blobs)?;
        step.n_contents += receive(&self.origin, id, &of_share.update)?;
        self.forget_late_edit(id)?;
        Ok(true)
    }
}

/// Reports whether an error says nothing of other contents.
fn concerns_one_content(error: &WorkspaceError) -> bool {
    error.is_damage() || matches!(error, WorkspaceError::Refused(_) | WorkspaceError::Content(_))
}

/// Returns the blobs that a content lists as its versions, without those that were erased.
pub(super) fn named_blobs(doc: &ContentDoc) -> BTreeSet<ContentHash> {
    let versions = doc.blobs().versions().into_iter();
    let kept = versions.filter(|version| !doc.redactions().names_blob(version.id));
    kept.map(|version| version.hash).collect()
}

pub(super) fn read_side(state: &WorkspaceState, id: &FileId, theirs: &[u8]) -> Result<ContentSide> {
    state.documents.read_once(id, |loaded| {
        Ok(ContentSide {
            state_vector: loaded.doc.gate().state_vector(),
            update: loaded.doc.gate().encode_diff(theirs)?,
            blobs: named_blobs(&loaded.doc),
        })
    })?
}

/// Passes an update to a workspace as one of another store: by the gate, in parts that it accepts.
/// Returns the number of records with new items.
fn receive(to: &Workspace, id: &FileId, update: &[u8]) -> Result<u64> {
    if update == EMPTY_UPDATE {
        return Ok(0);
    }
    let limits = &to.state.options.limits;
    let size = SplitSize {
        bytes: PART_SIZE.bytes.min(limits.message_bytes / 4),
        structs: PART_SIZE.structs.min(limits.message_structs / 2),
    };
    let mut n_new = 0;
    for update in split(DocRole::Content, update, size)? {
        let update = ReplicaUpdate { doc: id.clone(), update, is_new: true };
        n_new += to.replication().receive(&[update])?.n_new;
    }
    Ok(n_new)
}

/// Reads which documents were written after a position, and moves it to the end of the log.
fn read_log(state: &WorkspaceState, position: &mut Seq) -> Result<BTreeSet<FileId>> {
    let mut written = BTreeSet::new();
    while state.store.head()? > *position {
        let page = state.store.tail(*position, &|_, _| false)?;
        let reload = page.reload.iter().filter(|notice| !notice.forgotten);
        let docs = reload.map(|notice| &notice.doc);
        let docs = docs.chain(page.touched.iter().map(|touched| &touched.doc));
        written.extend(docs.filter(|doc| **doc != state.main_name).map(FileId::from));
        *position = page.upto;
    }
    Ok(written)
}
