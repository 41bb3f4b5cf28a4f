//! The only owner of a yrs document in the engine.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::OnceLock,
};

use hashbrown::{HashMap, HashSet};
use yrs::{ClientID, ReadTxn, Snapshot, StateVector, Transact};

use super::{
    GateRejection,
    item_contents::ItemContents,
    item_lists::{ItemLists, RecentChanges},
    lazy::{self, LazyDoc, message},
    limits::GateLimits,
    parked::ParkedSet,
    parse::parse,
    resolve::{ResolveRequest, RunCut, UpdateResolution, resolve},
    role::{DocRole, UpdateSource},
    text_edit::{OrderCache, RecordedChange},
    update_scan::{IdRange, RootIx, UpdateScan},
};
use crate::{
    id::{ClientId, FileId, ItemId},
    lib0::{Lib0Reader, write_var_uint},
};

/// A yrs document behind the gate.
#[derive(Debug)]
pub struct GatedDoc {
    pub(super) doc: LazyDoc,
    pub(super) role: DocRole,
    pub(super) limits: GateLimits,
    pub(super) ours: HashSet<ClientId>,
    pub(super) places: ItemLists,
    pub(super) parked: ParkedSet,
    /// The clients that got new items since parked structs were last tried.
    pub(super) arrived: Vec<ClientId>,
    /// Whether some parked structs were dropped.
    pub(super) has_dropped: bool,
    /// The client that last wrote to each array that the engine reads.
    pub(super) newest: HashMap<RootIx, ClientId>,
    /// The contents of items, while they are compared with those that arrive.
    pub(super) contents: OnceLock<ItemContents>,
    /// The order of the text, by which edits are written.
    pub(crate) order: OrderCache,
    /// The changes of the text since they are recorded; `None` if they are not.
    pub(super) recorded: Option<Vec<RecordedChange>>,
    poisoned: Option<String>,
}

/// The outcome of receiving an update.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct ReceiveOutcome {
    /// The integrated parts: of the update itself, and of parked structs that waited for it.
    pub scans: Vec<UpdateScan>,
    /// Whether some of the update waits for missing items.
    pub parked: bool,
    /// Whether the update held anything that was neither in the document nor parked. If not, it
    /// needs no place in a log.
    pub brought_new: bool,
    /// Whether the document changed.
    pub changed: bool,
    /// Structs, as updates, that can never be integrated, or that were parked and dropped because
    /// too much was parked.
    pub refused: Vec<(Vec<u8>, GateRejection)>,
    /// Items from a log whose content does not belong into their list. The document has them
    /// without that content, as deleted items.
    pub misplaced: Vec<IdRange>,
}

/// The last struct that a client wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTail {
    /// Its last item.
    pub id: ItemId,
    /// Its right origin.
    pub right: Option<ItemId>,
    /// The array that it is in, if the engine reads that array.
    pub root: Option<RootIx>,
}

impl GatedDoc {
    /// Makes an empty document that `client` edits.
    pub fn new(guid: &FileId, role: DocRole, client: ClientId, limits: GateLimits) -> Self {
        Self {
            doc: LazyDoc::new(guid, role, client),
            role,
            limits,
            ours: HashSet::from_iter([client]),
            places: ItemLists::default(),
            parked: ParkedSet::default(),
            arrived: Vec::new(),
            has_dropped: false,
            newest: HashMap::new(),
            contents: OnceLock::new(),
            order: OrderCache::Walks(0),
            recorded: None,
            poisoned: None,
        }
    }

    /// Makes an empty document with the settings of this one.
    pub(super) fn emptied(&self) -> Self {
        Self {
            doc: self.doc.emptied(),
            role: self.role,
            limits: self.limits,
            ours: self.ours.clone(),
            places: ItemLists::default(),
            parked: ParkedSet::default(),
            arrived: Vec::new(),
            has_dropped: false,
            newest: HashMap::new(),
            contents: OnceLock::new(),
            order: OrderCache::Walks(0),
            recorded: None,
            poisoned: None,
        }
    }

    /// Returns the guid of the document.
    pub(crate) fn guid(&self) -> &FileId {
        self.doc.guid()
    }

    /// Adds clients of this process; updates from others must not contain their items.
    pub fn protect(&mut self, ids: &[ClientId]) {
        self.ours.extend(ids);
    }

    /// Applies an update that this process built for this document.
    ///
    /// # Panics
    ///
    /// If the update is malformed or refers to items that the document lacks.
    pub fn apply_own(&mut self, update: &[u8]) -> UpdateScan {
        if self.health().is_err() {
            return UpdateScan::default();
        }
        let mut received = ReceiveOutcome::default();
        let parsed = parse(update, &self.limits, false).expect("we built a valid update");
        let prepared = self.prepare(&parsed, UpdateSource::Store).expect("we built a valid update");
        assert!(prepared.is_whole(), "an update of our own lacks items: {:?}", prepared.resolved);
        match self.integrate(&parsed, prepared, &HashMap::new(), &mut received) {
            Ok(()) => received.scans.pop().unwrap_or_default(),
            Err(_) => UpdateScan::default(),
        }
    }

    /// Begins a document that [holds nothing](Self::is_blank) with an update that this process
    /// built. yrs gets it on first use.
    ///
    /// # Errors
    ///
    /// If it is beyond the limits; then the document is as before.
    ///
    /// # Panics
    ///
    /// As [`apply_own`](Self::apply_own).
    pub(crate) fn begin_with(&mut self, update: &[u8]) -> Result<(), GateRejection> {
        self.health()?;
        let parsed = parse(update, &self.limits, false)?;
        let prepared = self.prepare(&parsed, UpdateSource::Store)?;
        assert!(prepared.is_whole(), "an update of our own lacks items: {:?}", prepared.resolved);
        if !self.doc.begin(update) {
            return self.integrate(
                &parsed,
                prepared,
                &HashMap::new(),
                &mut ReceiveOutcome::default(),
            );
        }
        let UpdateResolution { overlay, deletes, .. } = prepared.resolved;
        self.commit_parsed(&parsed, overlay, &deletes);
        Ok(())
    }

    /// Reports whether the document never received anything.
    pub(crate) fn is_blank(&self) -> bool {
        self.places.clients.is_empty() && self.parked.is_empty()
    }

    /// Returns the current state: the items of each client, and the deleted ones.
    pub(crate) fn snapshot(&self) -> Snapshot {
        if self.role == DocRole::Content && self.health().is_ok() {
            let snapshot = self.places.snapshot();
            // Parked updates delete nothing, and yrs will find nothing in them to delete.
            debug_assert!(
                self.doc.is_waiting() || snapshot == self.read(|txn| txn.snapshot()),
                "the gate knows what is deleted"
            );
            return snapshot;
        }
        self.read(|txn| txn.snapshot())
    }

    /// Returns the changes since the last call, and records the following ones. Returns `None` if
    /// there was no call before, too much changed, or the document is poisoned.
    pub(crate) fn take_recent(&mut self) -> Option<RecentChanges> {
        let recent = self.places.take_recent();
        recent.filter(|_| self.role == DocRole::Content && self.health().is_ok())
    }

    /// Edits the document with yrs, and returns the update with the changes.
    ///
    /// # Panics
    ///
    /// If the edit panics, or yrs does. Then the document is empty and poisoned: nothing of the
    /// edit is committed.
    pub fn edit<R>(
        &mut self,
        f: impl FnOnce(&mut yrs::TransactionMut<'_>) -> R,
    ) -> (R, Option<Vec<u8>>) {
        self.doc.make();
        let mut txn = self.doc.get().transact_mut();
        let edited = catch_unwind(AssertUnwindSafe(|| {
            let result = f(&mut txn);
            let update = txn.has_changes().then(|| txn.encode_update_v1());
            txn.commit();
            (result, update)
        }));
        let (result, update) = match edited {
            Ok(edited) => edited,
            Err(panic) => {
                // Dropping the transaction would commit it, and that may panic while unwinding. So
                // the document is leaked with its lock held.
                std::mem::forget(txn);
                self.doc.empty();
                self.poisoned = Some(format!("an edit panicked: {}", message(panic.as_ref())));
                resume_unwind(panic);
            }
        };
        drop(txn);
        if self.health().is_err() {
            return (result, None);
        }
        if let Some(update) = &update
            && let Err(refusal) = self.note(update)
        {
            self.poisoned = Some(format!("an edit of our own was refused: {refusal}"));
        }
        (result, update)
    }

    /// Reads the document with yrs. A poisoned document reads as empty: check its
    /// [health](Self::health) before concluding anything from missing content.
    pub fn read<R>(&self, f: impl FnOnce(&yrs::Transaction<'_>) -> R) -> R {
        f(&self.doc.get().transact())
    }

    /// Returns the state vector, encoded.
    pub fn state_vector(&self) -> Vec<u8> {
        let mut clients: Vec<_> =
            self.places.clients.iter().filter(|(_, client)| client.end > 0).collect();
        clients.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(**id));
        let mut out = Vec::with_capacity(8 * clients.len() + 4);
        write_var_uint(&mut out, clients.len() as u64);
        for (id, client) in clients {
            write_var_uint(&mut out, id.get());
            write_var_uint(&mut out, u64::from(client.end));
        }
        out
    }

    /// Returns the items that a peer with the encoded state vector `remote_sv` lacks.
    ///
    /// # Errors
    ///
    /// If `remote_sv` is not a state vector, or the document is poisoned.
    pub fn encode_diff(&self, remote_sv: &[u8]) -> Result<Vec<u8>, GateRejection> {
        self.health()?;
        let state_vector = read_state_vector(remote_sv)?;
        // A first peer lacks everything, which the log has.
        if state_vector.is_empty()
            && let Some(state) = self.stored_state()
        {
            return Ok(state);
        }
        let doc = self.doc.get();
        self.health()?;
        let encode = || doc.transact().encode_diff_v1(&state_vector);
        catch_unwind(AssertUnwindSafe(encode))
            .map_err(|panic| GateRejection::Poisoned { reason: message(panic.as_ref()) })
    }

    /// Returns the whole document as an update, without parked structs. For a poisoned document it
    /// is empty, and must not replace anything.
    pub fn encode_state(&self) -> Vec<u8> {
        self.doc.get().transact().encode_diff_v1(&StateVector::default())
    }

    /// Returns the clock that the next item of a client will have.
    pub fn clock_of(&self, client: ClientId) -> u32 {
        self.places.end(client)
    }

    /// Reports whether a root ever had content.
    pub(crate) fn has_root(&self, name: &str) -> bool {
        self.places.roots.contains_key(name)
    }

    /// Returns the structs and deletions that wait for missing items.
    pub fn parked(&self) -> &ParkedSet {
        &self.parked
    }

    /// Returns the lists with every item.
    pub fn items(&self) -> &ItemLists {
        &self.places
    }

    /// Reports whether parked structs were dropped to stay within the limit. The log has them: a
    /// document that is loaded from the log again has them too.
    pub fn has_dropped_parked(&self) -> bool {
        self.has_dropped
    }

    /// Returns the last struct of the client that wrote to an array last, or else of another client
    /// that wrote to it. When it was written, nothing was between it and its right origin.
    pub(crate) fn newest_tail(&self, root: RootIx) -> Option<ClientTail> {
        let in_root = |client| self.places.last_item(client).filter(|tail| tail.root == Some(root));
        let newest = self.newest.get(&root).copied().and_then(in_root);
        newest.or_else(|| {
            let tails = self.places.clients.keys().copied().filter_map(in_root);
            tails.min_by_key(|tail| tail.id)
        })
    }

    /// Checks that the document can still be used. A document that yrs failed on is empty: its
    /// owner must not read from it, but drop it, load a new one from the log, and put the poisoning
    /// update into quarantine if the log holds it.
    ///
    /// # Errors
    ///
    /// [`GateRejection::Poisoned`] if yrs failed on it.
    pub fn health(&self) -> Result<(), GateRejection> {
        match self.poisoned.as_deref().or_else(|| self.doc.failure()) {
            None => Ok(()),
            Some(reason) => Err(GateRejection::Poisoned { reason: reason.to_owned() }),
        }
    }

    /// Reports whether the yrs document is still to be made.
    #[cfg(test)]
    pub(super) fn is_waiting(&self) -> bool {
        self.doc.is_waiting()
    }

    /// Notes the changes of an edit with yrs.
    fn note(&mut self, update: &[u8]) -> Result<(), GateRejection> {
        let parsed = parse(update, &self.limits, false)?;
        let question = ResolveRequest {
            places: &self.places,
            role: self.role,
            limits: &self.limits,
            ours: None,
            is_message: false,
        };
        let UpdateResolution { overlay, waiting, cut, misplaced, deletes, later, .. } =
            resolve(&question, &parsed)?;
        debug_assert!(misplaced.is_empty(), "our own content belongs into its list");
        if let Some(RunCut { refusal, .. }) = cut.into_iter().next() {
            return Err(refusal);
        }
        let missing = waiting.first().map(|waiting| waiting.waits_for);
        let missing = missing.or(later.first().map(|range| ItemId::new(range.client, range.start)));
        if let Some(id) = missing {
            return Err(GateRejection::Nonsense { what: "an edit that lacks an item", id });
        }
        self.commit_parsed(&parsed, overlay, &deletes);
        Ok(())
    }

    /// Lets yrs apply an update that was resolved, which may have been divided. Reports whether
    /// that changed anything, and returns the deletions.
    pub(super) fn apply(
        &mut self,
        updates: Vec<yrs::Update>,
    ) -> Result<(bool, Vec<IdRange>), GateRejection> {
        lazy::apply(self.doc.get(), updates).map_err(|reason| {
            self.doc.empty();
            self.poisoned = Some(reason.clone());
            GateRejection::Poisoned { reason }
        })
    }
}

/// Reads an encoded state vector.
pub(crate) fn read_state_vector(bytes: &[u8]) -> Result<StateVector, GateRejection> {
    let mut reader = Lib0Reader::new(bytes);
    let mut read = || {
        let n_clients = reader.var_uint()?;
        if n_clients > (reader.remaining() / 2) as u64 {
            return Err(crate::lib0::Lib0Error::End);
        }
        let mut clients = Vec::with_capacity(n_clients as usize);
        for _ in 0..n_clients {
            let client =
                ClientId::new(reader.var_uint()?).map_err(|_| crate::lib0::Lib0Error::Number)?;
            clients.push((ClientID::new(client.get()), reader.var_u32()?));
        }
        Ok(clients)
    };
    let clients =
        read().map_err(|source| GateRejection::Malformed { at: reader.position(), source })?;
    Ok(clients.into_iter().collect())
}
