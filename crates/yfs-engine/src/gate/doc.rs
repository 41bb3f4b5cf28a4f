//! The only owner of a yrs document in the engine.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hashbrown::HashSet;
use yrs::{ClientID, IdSet, ReadTxn, Snapshot, StateVector, Transact};

use super::{
    Refusal,
    lazy::{self, LazyDoc, message},
    limits::Limits,
    parked::{Parked, ParkedSet},
    parse::{Parsed, parse},
    places::Places,
    resolve::{Overlay, Question, Resolved, resolve},
    rewrite::{must_rewrite, rewrite},
    role::{DocRole, Source},
    scan::{IdRange, RootIx, Scan},
};
use crate::{
    id::{ClientId, FileId, ItemId},
    lib0::{Reader, write_var_uint},
};

/// A yrs document behind the gate.
#[derive(Debug)]
pub struct GatedDoc {
    doc: LazyDoc,
    role: DocRole,
    limits: Limits,
    ours: HashSet<ClientId>,
    pub(super) places: Places,
    parked: ParkedSet,
    /// Clients that got new items since the parked updates were last looked at.
    arrived: Vec<ClientId>,
    poisoned: Option<String>,
}

/// What became of an update.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Received {
    /// What was integrated now: the update itself, and parked ones that it completed.
    pub scans: Vec<Scan>,
    /// Whether the update itself waits for something that has not arrived.
    pub parked: bool,
    /// Whether the document changed.
    pub changed: bool,
    /// Updates that had been parked, and were refused when what they waited for had arrived.
    pub refused: Vec<(Vec<u8>, Refusal)>,
}

/// The last struct that a client wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// Its last item.
    pub id: ItemId,
    /// Its right origin.
    pub right: Option<ItemId>,
    /// The array that it is in, if it is one that we read.
    pub root: Option<RootIx>,
}

impl GatedDoc {
    /// Makes an empty document that `client` edits.
    pub fn new(guid: &FileId, role: DocRole, client: ClientId, limits: Limits) -> Self {
        Self {
            doc: LazyDoc::new(guid, role, client),
            role,
            limits,
            ours: HashSet::from_iter([client]),
            places: Places::default(),
            parked: ParkedSet::default(),
            arrived: Vec::new(),
            poisoned: None,
        }
    }

    /// Makes an empty document that is otherwise like this one.
    pub(super) fn emptied(&self) -> Self {
        Self {
            doc: self.doc.emptied(),
            role: self.role,
            limits: self.limits,
            ours: self.ours.clone(),
            places: Places::default(),
            parked: ParkedSet::default(),
            arrived: Vec::new(),
            poisoned: None,
        }
    }

    /// Adds clients that live in this process, and as which nobody else may write.
    pub fn protect(&mut self, ids: &[ClientId]) {
        self.ours.extend(ids);
    }

    /// Takes in an update from outside.
    ///
    /// # Errors
    ///
    /// If the update was refused; then the document is as before, unless it is
    /// [`Refusal::Poisoned`]: then the document must be loaded again, without this update.
    pub fn receive(&mut self, update: &[u8], source: Source) -> Result<Received, Refusal> {
        self.health()?;
        let mut received = Received::default();
        let parsed = parse(update, &self.limits, source == Source::Wire)?;
        match self.integrate(&parsed, source, &mut received)? {
            None => {}
            Some(waits_for) => {
                self.park(update, source, waits_for)?;
                received.parked = true;
            }
        }
        self.retry(&mut received)?;
        Ok(received)
    }

    /// Tells whether an update from outside would bring anything new, changing nothing.
    ///
    /// # Errors
    ///
    /// If [`receive`](Self::receive) would refuse it.
    pub fn check(&self, update: &[u8], source: Source) -> Result<bool, Refusal> {
        self.health()?;
        let parsed = parse(update, &self.limits, source == Source::Wire)?;
        match self.resolve(&parsed, source)? {
            Resolved::Known => Ok(false),
            Resolved::Ready(_) => Ok(true),
            Resolved::Missing(waits_for) if self.parked.contains(waits_for, update) => Ok(false),
            Resolved::Missing(_) if self.may_park(update, source) => Ok(true),
            Resolved::Missing(_) => Err(Refusal::TooMuchParked),
        }
    }

    /// Applies an update that this process built from what the document holds.
    ///
    /// # Panics
    ///
    /// If the update is malformed or refers to what the document lacks.
    pub fn apply_own(&mut self, update: &[u8]) -> Scan {
        if self.health().is_err() {
            return Scan::default();
        }
        let mut received = Received::default();
        let parsed = parse(update, &self.limits, false).expect("we built a valid update");
        match self.integrate(&parsed, Source::Store, &mut received) {
            Ok(None) => received.scans.pop().unwrap_or_default(),
            Ok(Some(missing)) => {
                panic!("an update of our own refers to {missing:?}, which is missing")
            }
            Err(Refusal::Poisoned { .. }) => Scan::default(),
            Err(refusal) => panic!("an update of our own was refused: {refusal}"),
        }
    }

    /// Begins a document that [holds nothing](Self::is_blank) with an update that this process built. yrs gets it
    /// when it is first asked.
    ///
    /// # Errors
    ///
    /// If it is beyond the limits; then the document is as before.
    ///
    /// # Panics
    ///
    /// As [`apply_own`](Self::apply_own).
    pub(crate) fn begin_with(&mut self, update: &[u8]) -> Result<(), Refusal> {
        self.health()?;
        let parsed = parse(update, &self.limits, false)?;
        let overlay = match self.resolve(&parsed, Source::Store)? {
            Resolved::Ready(overlay) => overlay,
            other => panic!("an update of our own begins nothing: {other:?}"),
        };
        if !self.doc.begin(update) {
            self.apply(&[update])?;
        }
        self.commit(&parsed, overlay);
        Ok(())
    }

    /// Tells whether nothing has ever arrived here.
    pub(crate) fn is_blank(&self) -> bool {
        self.places.clients.is_empty() && self.parked.as_slice().is_empty()
    }

    /// Returns what the document is now: what it has of whom, and what of that is deleted.
    pub(crate) fn snapshot(&self) -> Snapshot {
        // What waits deletes nothing, and yrs will find nothing in it to delete.
        if self.role == DocRole::Content && self.doc.is_waiting() {
            let clients = self.places.clients.iter();
            let clocks = clients.map(|(id, client)| (ClientID::new(id.get()), client.end));
            return Snapshot::new(clocks.collect(), IdSet::default());
        }
        self.read(|txn| txn.snapshot())
    }

    /// Edits the document with yrs, and returns the update that says what was changed.
    ///
    /// The edit must not panic: yrs then commits what was done so far, and the document counts as
    /// poisoned.
    pub fn edit<R>(
        &mut self,
        f: impl FnOnce(&mut yrs::TransactionMut<'_>) -> R,
    ) -> (R, Option<Vec<u8>>) {
        self.doc.make();
        let was_poisoned = self.poisoned.replace("an edit panicked".to_owned());
        let mut txn = self.doc.get().transact_mut();
        let result = f(&mut txn);
        let update = txn.has_changes().then(|| txn.encode_update_v1());
        txn.commit();
        drop(txn);
        self.poisoned = was_poisoned;
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

    /// Reads the document with yrs. A poisoned document reads as empty: ask for its
    /// [health](Self::health) before anything is concluded from what is not there.
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

    /// Returns what a peer lacks whose encoded state vector is `remote_sv`.
    ///
    /// # Errors
    ///
    /// If `remote_sv` is not a state vector, or the document is poisoned.
    pub fn encode_diff(&self, remote_sv: &[u8]) -> Result<Vec<u8>, Refusal> {
        self.health()?;
        let state_vector = read_state_vector(remote_sv)?;
        let doc = self.doc.get();
        self.health()?;
        let encode = || doc.transact().encode_diff_v1(&state_vector);
        catch_unwind(AssertUnwindSafe(encode))
            .map_err(|panic| Refusal::Poisoned { reason: message(panic.as_ref()) })
    }

    /// Returns the whole document as an update; what is parked is not in it. Of a poisoned document
    /// it is empty, and must not replace anything.
    pub fn encode_state(&self) -> Vec<u8> {
        self.doc.get().transact().encode_diff_v1(&StateVector::default())
    }

    /// Returns the clock that the next item of a client will have.
    pub fn clock_of(&self, client: ClientId) -> u32 {
        self.places.end(client)
    }

    /// Tells whether anything was ever put into a root.
    pub fn has_root(&self, name: &str) -> bool {
        self.places.roots.contains_key(name)
    }

    /// Returns how many of the first `len` items of a client are there and not deleted.
    pub fn n_live(&self, client: ClientId, len: u32) -> u32 {
        let known = len.min(self.places.end(client));
        known - self.places.n_deleted(client, known)
    }

    /// Returns the updates that wait for what has not arrived.
    pub fn parked(&self) -> &[Parked] {
        self.parked.as_slice()
    }

    /// Returns the last struct that a client wrote.
    pub fn last_item(&self, client: ClientId) -> Option<Tail> {
        let known = self.places.clients.get(&client).filter(|known| known.end > 0)?;
        let id = ItemId::new(client, known.end - 1);
        let tag = self.places.tag(id)?;
        let root = self.places.table[tag.place() as usize].read.filter(|_| !tag.is_entry());
        Some(Tail { id, right: known.last_right, root })
    }

    /// Tells whether the document can still be used.
    ///
    /// # Errors
    ///
    /// [`Refusal::Poisoned`] if yrs failed on it.
    pub fn health(&self) -> Result<(), Refusal> {
        match self.poisoned.as_deref().or_else(|| self.doc.failure()) {
            None => Ok(()),
            Some(reason) => Err(Refusal::Poisoned { reason: reason.to_owned() }),
        }
    }

    /// Tells whether the yrs document is still to be made.
    #[cfg(test)]
    pub(super) fn is_waiting(&self) -> bool {
        self.doc.is_waiting()
    }

    /// Integrates an update, or returns an item that it lacks.
    fn integrate(
        &mut self,
        parsed: &Parsed<'_>,
        source: Source,
        received: &mut Received,
    ) -> Result<Option<ItemId>, Refusal> {
        let overlay = match self.resolve(parsed, source)? {
            Resolved::Known => return Ok(None),
            Resolved::Missing(id) => return Ok(Some(id)),
            Resolved::Ready(overlay) => overlay,
        };
        let is_later = source == Source::Store && self.doc.postpone(parsed);
        self.health()?;
        let (changed, deleted) = if is_later {
            (true, Vec::new())
        } else if must_rewrite(parsed) {
            let updates = rewrite(parsed, &overlay.order)?;
            self.apply(&updates.iter().map(Vec::as_slice).collect::<Vec<_>>())?
        } else {
            self.apply(&[parsed.bytes])?
        };
        received.changed |= changed;
        received.scans.push(self.commit(parsed, overlay));
        self.places.delete(&deleted);
        Ok(None)
    }

    fn resolve<'a>(&self, parsed: &Parsed<'a>, source: Source) -> Result<Resolved<'a>, Refusal> {
        let is_message = source == Source::Wire;
        let question = Question {
            places: &self.places,
            role: self.role,
            limits: &self.limits,
            ours: is_message.then_some(&self.ours),
            is_message,
        };
        resolve(&question, parsed)
    }

    fn commit(&mut self, parsed: &Parsed<'_>, mut overlay: Overlay<'_>) -> Scan {
        if !self.parked.as_slice().is_empty() {
            let grown = overlay.clients.iter().filter(|client| client.end > client.known);
            self.arrived.extend(grown.map(|client| client.client));
        }
        let elements = std::mem::take(&mut overlay.elements);
        let values = std::mem::take(&mut overlay.values);
        self.places.commit(overlay);
        let deleted = self.places.delete(&parsed.deletes);
        Scan { elements, values, deleted, n_structs: parsed.structs.len() }
    }

    /// Notes what an edit with yrs has already changed.
    fn note(&mut self, update: &[u8]) -> Result<(), Refusal> {
        let parsed = parse(update, &self.limits, false)?;
        match self.resolve(&parsed, Source::Store)? {
            Resolved::Known => Ok(()),
            Resolved::Ready(overlay) => {
                self.commit(&parsed, overlay);
                Ok(())
            }
            Resolved::Missing(id) => {
                Err(Refusal::Nonsense { what: "an edit that lacks an item", id })
            }
        }
    }

    fn park(&mut self, update: &[u8], source: Source, waits_for: ItemId) -> Result<(), Refusal> {
        if self.parked.contains(waits_for, update) {
            return Ok(());
        }
        if !self.may_park(update, source) {
            return Err(Refusal::TooMuchParked);
        }
        self.parked.add(Parked { update: update.to_vec(), source, waits_for });
        Ok(())
    }

    /// Tells whether there is room to park an update.
    fn may_park(&self, update: &[u8], source: Source) -> bool {
        let bytes = self.parked.bytes() + update.len();
        let n_updates = self.parked.as_slice().len() + 1;
        let fits = bytes <= self.limits.parked_bytes && n_updates <= self.limits.parked_updates;
        source == Source::Store || fits
    }

    /// Looks again at the updates that wait for what arrived.
    fn retry(&mut self, received: &mut Received) -> Result<(), Refusal> {
        while let Some(client) = self.arrived.last().copied() {
            let Some(parked) = self.parked.take(client, self.places.end(client)) else {
                self.arrived.pop();
                continue;
            };
            let outcome = parse(&parked.update, &self.limits, false)
                .and_then(|parsed| self.integrate(&parsed, parked.source, received));
            match outcome {
                Ok(None) => {}
                Ok(Some(waits_for)) => self.parked.add(Parked { waits_for, ..parked }),
                Err(refusal @ Refusal::Poisoned { .. }) => return Err(refusal),
                Err(refusal) => received.refused.push((parked.update, refusal)),
            }
        }
        Ok(())
    }

    /// Lets yrs apply an update that was resolved, which may have been divided. Tells whether that
    /// changed anything, and what it deleted.
    fn apply(&mut self, updates: &[&[u8]]) -> Result<(bool, Vec<IdRange>), Refusal> {
        let updates = lazy::decode(updates.iter().copied())
            .map_err(|reason| Refusal::Undecodable { reason })?;
        lazy::apply(self.doc.get(), updates).map_err(|reason| {
            self.doc.empty();
            self.poisoned = Some(reason.clone());
            Refusal::Poisoned { reason }
        })
    }
}

fn read_state_vector(bytes: &[u8]) -> Result<StateVector, Refusal> {
    let mut reader = Reader::new(bytes);
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
    let clients = read().map_err(|source| Refusal::Malformed { at: reader.position(), source })?;
    Ok(clients.into_iter().collect())
}
