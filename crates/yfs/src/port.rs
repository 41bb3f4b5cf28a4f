//! One document as a server of the Yjs sync protocol needs it: states, diffs, updates in and out.

use std::{iter, sync::Arc};

use yfs_engine::{
    actor::Actor,
    content::Author,
    gate::{Source, writers},
    id::FileId,
    time::Millis,
};
use yfs_store::{Batch, DocName, Seq};

use crate::{
    error::{Result, WorkspaceError},
    pool::{DocHandle, Loaded},
    shared::{MAIN_BACKLOG, Shared},
    updates::Updates,
};

/// A document of a workspace: the main document, or the content of a file.
///
/// A content document stays in memory while a port to it exists.
#[derive(Debug, Clone)]
pub struct DocPort {
    shared: Arc<Shared>,
    target: Target,
    /// On whose behalf updates come in, where that is known.
    actor: Option<Actor>,
}

#[derive(Debug, Clone)]
enum Target {
    Main,
    Content(DocHandle),
}

impl DocPort {
    /// Opens a document by its guid.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::NoFile`] unless it is the main document or a file in the files table:
    /// knowing an id gives no right to a document.
    pub(crate) fn open(shared: &Arc<Shared>, guid: &str) -> Result<Self> {
        shared.refresh()?;
        let id = FileId::parse(guid).map_err(|_| WorkspaceError::NoDocument(guid.to_owned()))?;
        let target = if id == shared.id {
            Target::Main
        } else if shared.is_file(&id) {
            // An editor would find nothing where the content is kept otherwise. What cannot be settled is
            // served as it is.
            match shared.settle_content(&id) {
                Ok(()) | Err(WorkspaceError::Content(_) | WorkspaceError::ReadOnly) => {}
                Err(error) => return Err(error),
            }
            Target::Content(shared.pool.acquire(&id))
        } else {
            return Err(WorkspaceError::NoFile(id));
        };
        Ok(Self { shared: shared.clone(), target, actor: None })
    }

    /// Says on whose behalf updates come in from now on. What a client writes that does not say itself for
    /// whom is then noted to be theirs (decision 4).
    #[must_use]
    pub fn acting_for(mut self, actor: Actor) -> Self {
        self.actor = Some(actor).filter(|actor| !actor.name.is_empty());
        self
    }

    /// Returns the guid of the document.
    pub fn guid(&self) -> &FileId {
        match &self.target {
            Target::Main => &self.shared.id,
            Target::Content(handle) => handle.id(),
        }
    }

    /// Follows the updates from now on. Subscribe before asking for a diff, and nothing is missed.
    pub fn subscribe(&self) -> Updates {
        match &self.target {
            Target::Main => self.shared.main_followers.add(MAIN_BACKLOG),
            Target::Content(handle) => handle.subscribe(),
        }
    }

    /// Returns the state vector (lib0 v1), which is the payload of a SyncStep1.
    pub fn state_vector(&self) -> Result<Vec<u8>> {
        match &self.target {
            Target::Main => Ok(self.shared.main.read().state_vector()),
            Target::Content(handle) => handle.with(|loaded| loaded.doc.gate().state_vector()),
        }
    }

    /// Returns what a peer with this state vector lacks (update v1): the payload of a SyncStep2.
    pub fn diff(&self, state_vector: &[u8]) -> Result<Vec<u8>> {
        match &self.target {
            Target::Main => Ok(self.shared.main.read().encode_diff(state_vector)?),
            Target::Content(handle) => {
                Ok(handle.with(|loaded| loaded.doc.gate().encode_diff(state_vector))??)
            }
        }
    }

    /// Tells whether the document has everything that an update says, changing nothing.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::Refused`] where [`receive`](Self::receive) would refuse it.
    pub fn holds(&self, update: &[u8]) -> Result<bool> {
        let is_new = match &self.target {
            Target::Main => self.shared.main.read().check(update, Source::Wire)?,
            Target::Content(handle) => {
                handle.with(|loaded| loaded.doc.gate().check(update, Source::Wire))??
            }
        };
        Ok(!is_new)
    }

    /// Takes a peer's update: gate, log, then everybody else. When it returns, the update is in the
    /// log, and every subscriber has been sent it, the sender's own included.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::Refused`] where the gate refuses; the update is put into quarantine.
    pub fn receive(&self, update: &[u8]) -> Result<()> {
        self.shared.check_writable()?;
        let received = match &self.target {
            Target::Main => self.shared.receive_main(update, self.actor.as_ref()).map(drop),
            Target::Content(handle) => self.receive_content(handle, update).map(|seq| {
                if seq.is_some() {
                    self.shared.touch(handle.id(), self.shared.now());
                }
            }),
        };
        if let Err(WorkspaceError::Refused(refusal)) = &received {
            let doc = DocName::from(self.guid());
            self.shared.store.quarantine(&doc, update, &refusal.to_string(), self.shared.now())?;
        }
        received
    }

    /// Makes a port to a content as it is kept.
    pub(crate) fn of_content(shared: &Arc<Shared>, id: &FileId) -> Self {
        let target = Target::Content(shared.pool.acquire(id));
        Self { shared: shared.clone(), target, actor: None }
    }

    /// Takes an update that was logged in another store, whose row says size and time.
    pub(crate) fn receive_logged(&self, update: &[u8]) -> Result<Option<Seq>> {
        let Target::Content(handle) = &self.target else { return Ok(None) };
        let seq = self.receive_content(handle, update)?;
        if seq.is_some() {
            self.shared.live.forget(handle.id());
        }
        Ok(seq)
    }

    /// Takes an update of a content, and answers where it went, or nothing if it was known.
    fn receive_content(&self, handle: &DocHandle, update: &[u8]) -> Result<Option<Seq>> {
        let mut slot = handle.locked()?;
        let loaded = slot.as_mut().expect("`locked` loads");
        let n_redactions = loaded.doc.n_redactions();
        let received = loaded.doc.receive(update, Source::Wire)?;
        if !received.brought_new {
            return Ok(None);
        }
        // Who comes back with what was erased meanwhile does not bring it back.
        let update = &*loaded.doc.without_redacted(update);
        let erases = loaded.doc.n_redactions() > n_redactions;
        if erases && let Err(error) = self.shared.note_redaction() {
            *slot = None;
            return Err(error);
        }
        let now = self.shared.now();
        let claim = received.changed.then(|| self.claim(loaded, update, now)).flatten();
        let updates: Vec<&[u8]> = iter::once(update).chain(claim.as_deref()).collect();
        let name = DocName::from(handle.id());
        let batch = updates.iter().map(|update| (name.clone(), update.to_vec())).collect();
        let head = match self.shared.append(Batch::new(batch, now).watching(name, loaded.seen)) {
            Ok(appended) => {
                handle.logged(&mut slot, appended.last, &appended);
                appended.last
            }
            Err(error) => {
                // The document is ahead of the log: drop it, the log decides.
                *slot = None;
                return Err(error);
            }
        };
        for update in updates {
            handle.charge(update);
            handle.publish(update);
        }
        self.shared.texts.forget(handle.id());
        self.shared.live.changed(handle.id(), now);
        drop(slot);
        if erases {
            self.shared.redacted.lock().insert(DocName::from(handle.id()));
        }
        self.shared.events.push_content(&self.shared, handle.id(), now, self.actor.as_ref());
        Ok(Some(head))
    }

    /// Notes for whom the client of an update writes, if nothing is known of it yet. An update of several
    /// clients passes on what others did, and says nothing of who they are.
    fn claim(&self, loaded: &mut Loaded, update: &[u8], now: Millis) -> Option<Vec<u8>> {
        let actor = self.actor.as_ref()?;
        let writers = writers(update).ok()?;
        let &[first] = writers.as_slice() else { return None };
        if loaded.doc.who(first).is_some() {
            return None;
        }
        // A document that takes no note has taken the update all the same.
        loaded.doc.attribute(first.client, first.clock, &Author::new(actor.clone(), now)).ok()?
    }
}
