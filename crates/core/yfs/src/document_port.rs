//! One document as a server of the Yjs sync protocol uses it: states, diffs, incoming and outgoing
//! updates.

use std::{collections::BTreeSet, iter, sync::Arc};

use yfs_engine::{
    actor::Actor,
    content::{ContentDoc, RunAuthor, TypingMark},
    gate::{GatedDoc, UpdateBuilder, UpdateSource, writers},
    id::{FileId, ItemId},
    main_doc::EMPTY_UPDATE,
};
use yfs_store::{DocName, Seq};

use crate::{
    commit::{ChangeEffect, MainChange, StructureAccess, Transaction},
    documents::DocHandle,
    error::{Result, WorkspaceError},
    replica::conversion_notes::note_redaction,
    state::WorkspaceState,
    subscription::Subscription,
};

/// The number of updates of the main document that a subscriber may fall behind.
const MAIN_BACKLOG: usize = 16_384;

/// A document of a workspace: the main document, or the content of a file.
///
/// A content document stays in memory while a port to it exists.
#[derive(Debug, Clone)]
pub struct DocPort {
    state: Arc<WorkspaceState>,
    target: PortTarget,
    /// The actor of incoming updates, where it is known.
    actor: Option<Actor>,
    listing: BlobListing,
}

/// The treatment of blobs that a peer lists as versions of a file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlobListing {
    /// The listings stay.
    #[default]
    Kept,
    /// The listings are deleted again: the peer may not read every blob, and could read any blob
    /// whose hash it lists.
    Withdrawn,
}

#[derive(Debug, Clone)]
enum PortTarget {
    Main,
    Content(DocHandle),
}

impl DocPort {
    /// Opens a document by its guid.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::NoFile`] unless it is the main document or a file in the files
    /// table: knowing an id gives no access to a document.
    pub(crate) fn open(state: &Arc<WorkspaceState>, guid: &str) -> Result<Self> {
        state.refresh_damaged()?;
        let id = FileId::parse(guid).map_err(|_| WorkspaceError::NoDocument(guid.to_owned()))?;
        let target = if id == state.id {
            PortTarget::Main
        } else if state.is_file(&id) {
            // Without this, an editor would find no content if it is in the other root. A content
            // that cannot be converted is served as it is.
            match state.settle_content(&id) {
                Ok(()) | Err(WorkspaceError::Content(_) | WorkspaceError::ReadOnly) => {}
                Err(error) => return Err(error),
            }
            PortTarget::Content(state.documents.acquire(&id))
        } else {
            return Err(WorkspaceError::NoFile(id));
        };
        Ok(Self { state: state.clone(), target, actor: None, listing: BlobListing::Kept })
    }

    /// Sets the actor of incoming updates. Updates of clients that name no author themselves are
    /// attributed to it (decision 4).
    #[must_use]
    pub fn acting_for(mut self, actor: Actor) -> Self {
        self.actor = Some(actor).filter(|actor| !actor.name.is_empty());
        self
    }

    /// Deletes the blobs again that this peer lists as versions of the file. For peers that may not
    /// read every blob of the workspace: a hash in the list opens the blob to all readers of the
    /// file.
    #[must_use]
    pub fn without_blobs(mut self) -> Self {
        self.listing = BlobListing::Withdrawn;
        self
    }

    /// Returns the guid of the document.
    pub fn guid(&self) -> &FileId {
        match &self.target {
            PortTarget::Main => &self.state.id,
            PortTarget::Content(handle) => handle.id(),
        }
    }

    /// Subscribes to the updates from now on. A caller that subscribes before it requests a diff
    /// misses nothing.
    pub fn subscribe(&self) -> Subscription {
        match &self.target {
            PortTarget::Main => self.state.main_followers.add(MAIN_BACKLOG),
            PortTarget::Content(handle) => handle.subscribe(),
        }
    }

    /// Returns the state vector (lib0 v1), which is the payload of a SyncStep1.
    pub fn state_vector(&self) -> Result<Vec<u8>> {
        match &self.target {
            PortTarget::Main => Ok(self.state.main.read().state_vector()),
            PortTarget::Content(handle) => handle.with(|loaded| loaded.doc.gate().state_vector()),
        }
    }

    /// Returns what a peer with this state vector lacks (update v1): the payload of a SyncStep2.
    pub fn diff(&self, state_vector: &[u8]) -> Result<Vec<u8>> {
        match &self.target {
            PortTarget::Main => Ok(self.state.main.read().encode_diff(state_vector)?),
            PortTarget::Content(handle) => {
                Ok(handle.with(|loaded| loaded.doc.gate().encode_diff(state_vector))??)
            }
        }
    }

    /// Returns the updates that are in the log and refer to items that have not arrived. They are
    /// in no [diff](Self::diff), so they must also be sent to a peer that joins.
    pub fn parked(&self) -> Result<Vec<Arc<[u8]>>> {
        let parked = |gate: &GatedDoc| -> Vec<Arc<[u8]>> {
            gate.parked().list().iter().map(|parked| parked.update.as_slice().into()).collect()
        };
        match &self.target {
            PortTarget::Main => Ok(parked(self.state.main.read().doc())),
            PortTarget::Content(handle) => handle.with(|loaded| {
                let doc = &loaded.doc;
                parked(doc.gate())
                    .iter()
                    .map(|update| doc.redactions().strip_update(update)[..].into())
                    .collect()
            }),
        }
    }

    /// Reports whether the document has everything in an update, changing nothing.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::Refused`] where [`receive`](Self::receive) would.
    pub fn has_update(&self, update: &[u8]) -> Result<bool> {
        let is_new = match &self.target {
            PortTarget::Main => self.state.main.read().check(update, UpdateSource::Wire)?,
            PortTarget::Content(handle) => {
                handle.with(|loaded| loaded.doc.gate().check(update, UpdateSource::Wire))??
            }
        };
        Ok(!is_new)
    }

    /// Accepts a peer's update: checks it, appends it to the log, and publishes it. When it
    /// returns, the update is in the log and was sent to every subscriber, including the sender's.
    ///
    /// # Errors
    ///
    /// Fails with [`WorkspaceError::Refused`] if the gate rejects the update, which is then put
    /// into quarantine.
    pub fn receive(&self, update: &[u8]) -> Result<()> {
        let received = match &self.target {
            PortTarget::Main => self.state.receive_main(update, self.actor.as_ref()).map(drop),
            PortTarget::Content(handle) => {
                let (id, actor) = (handle.id(), self.actor.as_ref());
                self.state.receive_content(id, update, actor, self.listing).map(drop)
            }
        };
        if let Err(WorkspaceError::Refused(refusal)) = &received {
            let doc = DocName::from(self.guid());
            self.state.store.quarantine(&doc, update, &refusal.to_string(), self.state.now())?;
        }
        received
    }
}

impl WorkspaceState {
    /// Accepts a peer's update of the main document. Returns its record and the rows that it
    /// changed, or `None` if it was known.
    pub(crate) fn receive_main(
        &self,
        update: &[u8],
        by: Option<&Actor>,
    ) -> Result<Option<(Seq, Vec<FileId>)>> {
        let committed = self.commit(StructureAccess::Change, by, |main| {
            let is_new = main.check(update, UpdateSource::Wire)?;
            let update = if is_new { update } else { EMPTY_UPDATE };
            Ok(Transaction { main: MainChange::Peer(update.to_vec()), ..Transaction::of(()) })
        })?;
        Ok(committed.main.map(|seq| (seq, committed.rows)))
    }

    /// Accepts a peer's update of a content. Returns the records that it was logged as; none if it
    /// was known.
    pub(crate) fn receive_content(
        &self,
        id: &FileId,
        update: &[u8],
        by: Option<&Actor>,
        listing: BlobListing,
    ) -> Result<Vec<Seq>> {
        let mut erases = false;
        let committed = self.change_document(id, by, ChangeEffect::Peer, |doc| {
            let listed = (listing == BlobListing::Withdrawn).then(|| listed_blobs(doc));
            let received = self.receive_into(id, doc, update, by)?;
            erases |= received.erases;
            let withdrawal = listed.map(|listed| withdraw_blobs(doc, &listed)).transpose()?;
            Ok(received.updates.into_iter().chain(withdrawal.flatten()).collect())
        })?;
        if erases {
            self.compaction.note_redacted([DocName::from(id)]);
        }
        Ok(committed.records)
    }

    /// Applies a peer's update to a document and returns the updates to log.
    pub(crate) fn receive_into(
        &self,
        id: &FileId,
        doc: &mut ContentDoc,
        update: &[u8],
        by: Option<&Actor>,
    ) -> Result<ReceivedContent> {
        let n_redactions = doc.redactions().n_records();
        let mark = by.and_then(|by| self.plan_typing_mark(doc, update, by));
        let received = doc.receive(update, UpdateSource::Wire)?;
        for (structs, refusal) in &received.refused {
            let reason = refusal.to_string();
            self.store.quarantine(&DocName::from(id), structs, &reason, self.now())?;
        }
        if !received.brought_new {
            return Ok(ReceivedContent::default());
        }
        // A peer that still has redacted content cannot bring it back.
        let update = doc.redactions().strip_update(update).into_owned();
        let erases = doc.redactions().n_records() > n_redactions;
        if erases {
            note_redaction(self)?;
        }
        // The words are set aside if they cannot follow their block.
        let carried = doc.carry_moved_words().ok().flatten();
        // Recorded with the update itself: the document may be evicted before the next upkeep.
        let aside = doc.edit_registers().record_aside()?;
        // The update was accepted even if the mark cannot be written.
        let mark = mark.filter(|_| received.changed);
        let mark = mark.and_then(|mark| doc.edit_registers().add_typing_mark(&mark).ok()?);
        Ok(ReceivedContent {
            updates: iter::once(update).chain(carried).chain(aside).chain(mark).collect(),
            erases,
        })
    }

    /// Returns the mark for an update that an editor made on behalf of `by`, if it needs one. An
    /// update of several clients passes on the work of others, and does not identify them.
    fn plan_typing_mark(
        &self,
        doc: &mut ContentDoc,
        update: &[u8],
        by: &Actor,
    ) -> Option<TypingMark> {
        let first = match writers(update).ok()?.as_slice() {
            [] => None,
            &[first] => Some(first),
            _ => return None,
        };
        doc.edit_registers().plan_typing_mark(first, &RunAuthor::new(by.clone(), self.now()))
    }
}

/// Returns the items that list the blobs of a document.
fn listed_blobs(doc: &ContentDoc) -> BTreeSet<ItemId> {
    doc.blobs().versions().iter().map(|blob| blob.id).collect()
}

/// Deletes the items that list blobs, except those in `kept`. Returns the update of this deletion,
/// if there were others.
fn withdraw_blobs(doc: &mut ContentDoc, kept: &BTreeSet<ItemId>) -> Result<Option<Vec<u8>>> {
    let mut deletion = UpdateBuilder::new();
    for id in listed_blobs(doc).difference(kept) {
        deletion.delete(*id);
    }
    if deletion.is_empty() {
        return Ok(None);
    }
    let deletion = deletion.finish();
    doc.receive(&deletion, UpdateSource::Store)?;
    Ok(Some(deletion))
}

/// A peer's update as it was applied to a document.
#[derive(Debug, Default)]
pub(crate) struct ReceivedContent {
    /// The updates to log; empty if the update was known.
    pub(crate) updates: Vec<Vec<u8>>,
    /// Whether the update erases content for good.
    pub(crate) erases: bool,
}
