//! Receives updates: the gate integrates the complete parts of an update and parks the rest.
//!
//! # Cost
//!
//! Linear in the update and in the parked structs that it completes; at most one parked chunk of
//! each client that an arriving item wakes is tried again. Where yrs might need too many steps to
//! order what is completed that way, everything that waits is tried at once, and its steps are
//! counted before.

use super::{
    GateRejection,
    doc::{GatedDoc, ReceiveOutcome},
    item_lists::{ItemLists, ListTag},
    lazy,
    limits::GateLimits,
    misplaced::without_items,
    parked::{CHUNK_STRUCTS, HeldDeletes, ParkedChunk, ParkedSet, encode},
    parse::{ParsedUpdate, StructKind, parse},
    resolve::{ResolveRequest, RunCut, UpdateOverlay, UpdateResolution, WaitingStructs, resolve},
    rewrite::{must_rewrite, rewrite, write_struct},
    role::{DocRole, UpdateSource},
    sibling_order::SiblingOrder,
    update_scan::{IdRange, UpdateScan},
};
use crate::id::{ClientId, ItemId};
use hashbrown::HashMap;

/// The number of client ids under which one writer writes a main document: rows, cells and
/// settings.
const CLIENTS_OF_A_WRITER: usize = 3;

/// How often the steps of completed structs are counted for one message; honest peers need one or
/// two. What is completed after that is refused.
const MAX_COUNTS: u32 = 16;

/// An update that was resolved, with all steps done that may reject it.
pub(super) struct PreparedUpdate<'a> {
    pub(super) resolved: UpdateResolution<'a>,
    for_yrs: ForYrs,
    /// The structs that wait, of each client, and an item that the first of them needs.
    queues: Vec<(ItemId, Vec<ParkedChunk>)>,
    held: Option<HeldDeletes>,
}

/// The bytes that yrs is to apply.
enum ForYrs {
    Nothing,
    Later(Vec<u8>),
    Now(Vec<yrs::Update>),
}

impl GatedDoc {
    /// Applies an update from outside. Structs that need missing items wait, outside the document,
    /// and are integrated when those items arrive.
    ///
    /// # Errors
    ///
    /// If the update was rejected; then the document is as before, unless it is
    /// [`GateRejection::Poisoned`]: then drop the document and load it from the log without this
    /// update. An update from a log is rejected only if nothing of it can be integrated; otherwise
    /// its rejected structs are in [`ReceiveOutcome::refused`].
    pub fn receive(
        &mut self,
        update: &[u8],
        source: UpdateSource,
    ) -> Result<ReceiveOutcome, GateRejection> {
        self.health()?;
        let parsed = parse(update, &self.limits, source == UpdateSource::Wire)?;
        let mut prepared = self.prepare(&parsed, source)?;
        if !prepared.resolved.misplaced.is_empty() {
            let misplaced = std::mem::take(&mut prepared.resolved.misplaced);
            let update = without_items(update, &misplaced)?;
            let received = self.receive(&update, source)?;
            return Ok(received.with_misplaced(misplaced));
        }
        self.hold_back_deletes(&parsed, &mut prepared)?;
        self.check_room(&prepared, source)?;
        let mut received = ReceiveOutcome {
            parked: prepared.waits(),
            brought_new: self.brings_new(&prepared),
            ..ReceiveOutcome::default()
        };
        if !received.brought_new
            && !received.parked
            && let Some(cut) = prepared.resolved.cut.pop()
        {
            return Err(cut.refusal);
        }
        self.integrate(&parsed, prepared, &HashMap::new(), &mut received)?;
        self.retry(source, &mut received)?;
        if source == UpdateSource::Wire {
            self.drop_parked(&mut received);
        }
        Ok(received)
    }

    /// Reports whether an update from outside would bring anything new, changing nothing.
    ///
    /// # Errors
    ///
    /// If [`receive`](Self::receive) would reject it.
    pub fn check(&self, update: &[u8], source: UpdateSource) -> Result<bool, GateRejection> {
        self.health()?;
        let parsed = parse(update, &self.limits, source == UpdateSource::Wire)?;
        let mut prepared = self.prepare(&parsed, source)?;
        self.hold_back_deletes(&parsed, &mut prepared)?;
        self.check_room(&prepared, source)?;
        let brings_new = self.brings_new(&prepared);
        match prepared.resolved.cut.pop() {
            Some(cut) if !brings_new && !prepared.waits() => Err(cut.refusal),
            _ => Ok(brings_new),
        }
    }

    /// Reports whether the document holds all structs and deletions of an update, so that none
    /// waits.
    pub(super) fn contains_update(&self, update: &[u8]) -> bool {
        let Ok(parsed) = parse(update, &self.limits, false) else { return false };
        let structs = parsed.runs.iter().all(|run| {
            let structs = parsed.structs[run.first..run.end].iter();
            let mut real = structs.filter(|item| item.kind != StructKind::Skip);
            real.all(|item| item.clock + item.len <= self.places.end(run.client))
        });
        structs && self.places.covers(&parsed.deletes)
    }

    /// Resolves an update and does all steps that may reject it.
    pub(super) fn prepare<'a>(
        &self,
        parsed: &ParsedUpdate<'a>,
        source: UpdateSource,
    ) -> Result<PreparedUpdate<'a>, GateRejection> {
        let is_message = source == UpdateSource::Wire;
        let question = ResolveRequest {
            places: &self.places,
            role: self.role,
            limits: &self.limits,
            ours: is_message.then_some(&self.ours),
            is_message,
        };
        let mut resolved = resolve(&question, parsed)?;
        let mut queues = Vec::new();
        for waiting in std::mem::take(&mut resolved.waiting) {
            match chunks_of(parsed, &waiting) {
                Ok(chunks) => {
                    queues.push((waiting.waits_for, chunks));
                    resolved.waiting.push(waiting);
                }
                Err(refusal) if is_message => return Err(refusal),
                Err(refusal) => {
                    let WaitingStructs { run, first, .. } = waiting;
                    resolved.cut.push(RunCut { run, first, refusal });
                }
            }
        }
        if is_message {
            self.check_ordering(parsed, &resolved.overlay, self.limits.ordering_steps)?;
        }
        let for_yrs = self.for_yrs(parsed, &resolved, source)?;
        Ok(PreparedUpdate { resolved, for_yrs, queues, held: None })
    }

    /// Refuses an update whose items yrs could order only in more than `limit` steps.
    fn check_ordering(
        &self,
        parsed: &ParsedUpdate<'_>,
        overlay: &UpdateOverlay<'_>,
        limit: u64,
    ) -> Result<(), GateRejection> {
        let (n_new, n_known) = (overlay.n_structs() as u64, self.places.n_structs);
        if n_new.saturating_mul(n_new / 2 + n_known) <= limit {
            return Ok(());
        }
        let tag_of_new = |run, id: ItemId| overlay.tag_of_new(run, id.clock);
        let mut items = SiblingOrder::default();
        items.add(parsed, &overlay.order, tag_of_new);
        let mut cost = items.cost(limit);
        if cost.n_steps <= limit && cost.n_outside.saturating_mul(n_known) > limit {
            // Which siblings the document holds is found out only where they may be too many.
            let state = self.encode_state();
            let known = parse(&state, &GateLimits::default(), false)?;
            let places = ItemLists::default();
            let (role, limits) = (self.role, &self.limits);
            let question =
                ResolveRequest { places: &places, role, limits, ours: None, is_message: false };
            let order = resolve(&question, &known)?.overlay.order;
            let mut items = SiblingOrder::default();
            items.add(&known, &order, |_, id| self.places.tag(id).unwrap_or(ListTag::GONE));
            items.mark_known();
            items.add(parsed, &overlay.order, tag_of_new);
            cost = items.cost(limit);
        }
        if cost.n_steps <= limit {
            return Ok(());
        }
        let what = "the work of ordering items";
        Err(GateRejection::TooLarge { what, is: cost.n_steps, limit })
    }

    fn for_yrs(
        &self,
        parsed: &ParsedUpdate<'_>,
        resolved: &UpdateResolution<'_>,
        source: UpdateSource,
    ) -> Result<ForYrs, GateRejection> {
        let order = &resolved.overlay.order;
        if order.is_empty() && self.places.covers(&resolved.deletes) {
            return Ok(ForYrs::Nothing);
        }
        let mut written = Vec::new();
        if !resolved.is_plain() || must_rewrite(parsed) {
            written = rewrite(parsed, order, &resolved.deletes)?;
        }
        if source == UpdateSource::Store && lazy::is_plain(parsed) && self.doc.may_postpone() {
            let update = written.pop().unwrap_or_else(|| parsed.bytes.to_vec());
            return Ok(ForYrs::Later(update));
        }
        let updates = match written.is_empty() {
            true => lazy::decode(std::iter::once(parsed.bytes)),
            false => lazy::decode(written.iter().map(Vec::as_slice)),
        };
        updates.map(ForYrs::Now).map_err(|reason| GateRejection::Undecodable { reason })
    }

    /// Holds back the deletions of a main document's update until its structs have arrived, if one
    /// writer may have made it: the replacement of a row may be among the waiting structs, and
    /// without it a file would seem deleted.
    fn hold_back_deletes(
        &self,
        parsed: &ParsedUpdate<'_>,
        prepared: &mut PreparedUpdate<'_>,
    ) -> Result<(), GateRejection> {
        let is_small = parsed.runs.len() <= CLIENTS_OF_A_WRITER;
        let is_whole = prepared.queues.is_empty() && prepared.resolved.cut.is_empty();
        if self.role != DocRole::Main || !is_small || is_whole {
            return Ok(());
        }
        let is_new = |range: &&IdRange| !self.places.covers(std::slice::from_ref(*range));
        let deletes: Vec<IdRange> = parsed.deletes.iter().filter(is_new).copied().collect();
        if deletes.is_empty() {
            return Ok(());
        }
        // Independent of the parts that have arrived, so that the same update waits for the same
        // items again.
        let last = (0..parsed.runs.len()).filter_map(|run| last_of(parsed, run));
        let mut after: Vec<ItemId> =
            last.filter(|id| id.clock >= self.places.end(id.client)).collect();
        after.sort_unstable();
        prepared.held = Some(HeldDeletes { deletes, after });
        prepared.resolved.deletes.clear();
        prepared.resolved.later.clear();
        prepared.for_yrs = self.for_yrs(parsed, &prepared.resolved, UpdateSource::Wire)?;
        Ok(())
    }

    /// Checks that the waiting parts can be parked, even if others must be dropped for them.
    fn check_room(
        &self,
        prepared: &PreparedUpdate<'_>,
        source: UpdateSource,
    ) -> Result<(), GateRejection> {
        let held = prepared.held.as_ref().map_or(0, |held| 1 + held.deletes.len());
        let n_deletes = prepared.resolved.later.len() + held;
        let chunks = prepared.queues.iter().map(|(_, chunks)| ParkedSet::cost(chunks, 0));
        let cost = chunks.sum::<usize>() + ParkedSet::cost(&[], n_deletes);
        if source == UpdateSource::Wire && cost > self.limits.parked_bytes {
            return Err(GateRejection::TooMuchParked);
        }
        Ok(())
    }

    fn brings_new(&self, prepared: &PreparedUpdate<'_>) -> bool {
        let mut chunks = prepared.queues.iter().flat_map(|(_, chunks)| chunks);
        !matches!(prepared.for_yrs, ForYrs::Nothing)
            || chunks.any(|chunk| !self.parked.covers_chunk(chunk))
            || prepared.resolved.later.iter().any(|range| !self.parked.covers_delete(range))
            || prepared.held.as_ref().is_some_and(|held| self.is_held_new(held))
    }

    fn is_held_new(&self, held: &HeldDeletes) -> bool {
        !self.parked.covers_held(held, |client| self.places.end(client))
    }

    /// Integrates the complete parts, and parks the rest: for a client with an age given, as old as
    /// that.
    pub(super) fn integrate(
        &mut self,
        parsed: &ParsedUpdate<'_>,
        prepared: PreparedUpdate<'_>,
        ages: &HashMap<ClientId, u64>,
        received: &mut ReceiveOutcome,
    ) -> Result<(), GateRejection> {
        let PreparedUpdate { resolved, for_yrs, queues, held } = prepared;
        let UpdateResolution { overlay, cut, deletes, later, .. } = resolved;
        match for_yrs {
            ForYrs::Nothing => {}
            ForYrs::Later(update) => {
                self.doc.postpone(&update);
                received.changed = true;
                received.scans.push(self.commit_parsed(parsed, overlay, &deletes));
            }
            ForYrs::Now(updates) => {
                self.doc.make();
                self.health()?;
                let (changed, deleted) = self.apply(updates)?;
                let scan = self.commit_parsed(parsed, overlay, &deletes);
                // A document that was made from the log may hold what arrives only now.
                received.changed |= changed || !scan.grown.is_empty() || !scan.deleted.is_empty();
                received.scans.push(scan);
                let implied = self.places.delete(&deleted);
                self.note_implied(&implied);
                if let Some(scan) = received.scans.last_mut() {
                    scan.implied = implied;
                }
            }
        }
        for RunCut { run, first, refusal } in cut {
            received.refused.push((raw(parsed, run, first), refusal));
        }
        self.park(queues, &later, held, ages);
        Ok(())
    }

    pub(super) fn commit(
        &mut self,
        mut overlay: UpdateOverlay<'_>,
        deletes: &[IdRange],
    ) -> UpdateScan {
        if !self.parked.is_empty() {
            let grown = overlay.clients.iter().filter(|client| client.end > client.known);
            self.arrived.extend(grown.map(|client| client.client));
        }
        let elements = std::mem::take(&mut overlay.elements);
        let values = std::mem::take(&mut overlay.values);
        self.newest.extend(elements.iter().map(|element| (element.root, element.id.client)));
        let n_structs = overlay.n_structs();
        let grown = overlay.clients.iter().filter(|new| new.end > new.known);
        let grown = grown.map(|new| IdRange {
            client: new.client,
            start: new.known,
            len: new.end - new.known,
        });
        let grown = grown.collect();
        self.places.commit(overlay);
        let deleted = self.places.delete(deletes);
        UpdateScan { elements, values, deleted, implied: Vec::new(), grown, n_structs }
    }

    fn park(
        &mut self,
        queues: Vec<(ItemId, Vec<ParkedChunk>)>,
        later: &[IdRange],
        held: Option<HeldDeletes>,
        ages: &HashMap<ClientId, u64>,
    ) {
        if queues.is_empty() && later.is_empty() && held.is_none() {
            return;
        }
        let new_age = self.parked.new_age();
        for (waits_for, chunks) in queues {
            let Some(first) = chunks.first() else { continue };
            let (client, start) = (first.client, first.start);
            for chunk in chunks {
                let age = ages.get(&client).copied().unwrap_or(new_age);
                self.parked.add_chunk(chunk, age);
            }
            match self.parked.first_of(client) {
                Some(first) if first == start => self.parked.set_wait(client, waits_for),
                // The first chunk was tried; the new first chunk has to be tried in its place.
                _ if ages.contains_key(&client) => self.arrived.push(client),
                _ => {}
            }
        }
        for range in later {
            self.parked.add_delete(*range, new_age);
        }
        let Some(mut held) = held else { return };
        // Some of its structs have arrived by now.
        held.after.retain(|id| id.clock >= self.places.end(id.client));
        if held.after.is_empty() {
            for range in held.deletes {
                self.arrived.push(range.client);
                self.parked.add_delete(range, new_age);
            }
        } else if self.is_held_new(&held) {
            self.parked.add_held(held);
        }
    }

    /// Retries parked structs that wait for items that arrived.
    fn retry(
        &mut self,
        source: UpdateSource,
        received: &mut ReceiveOutcome,
    ) -> Result<(), GateRejection> {
        // What a log holds is read, whatever it costs.
        let is_message = source == UpdateSource::Wire;
        let mut budget = RetryBudget::new(self.limits.ordering_steps);
        while !self.arrived.is_empty() {
            let mut arrived = std::mem::take(&mut self.arrived);
            arrived.sort_unstable();
            arrived.dedup();
            let (mut woken, mut deletes) = (Vec::new(), Vec::new());
            for client in arrived {
                let end = self.places.end(client);
                self.parked.take_deletes(client, end, &mut deletes);
                deletes.extend(self.parked.take_held(client, |client| self.places.end(client)));
                woken.extend(self.parked.clients_unblocked_by(client, end));
            }
            woken.sort_unstable();
            woken.dedup();
            let (mut chunks, mut ages) = (Vec::new(), HashMap::new());
            for client in woken {
                if let Some((chunk, age)) = self.parked.take_chunk(client, self.places.end(client))
                {
                    ages.insert(client, age);
                    chunks.push(chunk);
                }
            }
            let is_counted = is_message && budget.spend(&chunks, self.places.n_structs);
            if is_counted {
                self.take_all_parked(&mut chunks, &mut ages);
            }
            if !chunks.is_empty() || !deletes.is_empty() {
                let limit = is_counted.then(|| budget.limit());
                self.retry_with(&encode(&chunks, &deletes), &ages, limit, received)?;
            }
        }
        Ok(())
    }

    /// Takes all that waits besides the given chunks, so that chunks which wake each other are
    /// resolved together.
    fn take_all_parked(
        &mut self,
        chunks: &mut Vec<ParkedChunk>,
        ages: &mut HashMap<ClientId, u64>,
    ) {
        for chunk in chunks.drain(..) {
            let age = ages.get(&chunk.client).copied().unwrap_or_default();
            self.parked.add_chunk(chunk, age);
        }
        for client in self.parked.clients() {
            if let Some((chunk, age)) = self.parked.take_connected(client, self.places.end(client))
            {
                ages.insert(client, age);
                chunks.push(chunk);
            }
        }
    }

    fn retry_with(
        &mut self,
        update: &[u8],
        ages: &HashMap<ClientId, u64>,
        limit: Option<u64>,
        received: &mut ReceiveOutcome,
    ) -> Result<(), GateRejection> {
        let parsed = parse(update, &self.limits, false);
        let prepared = parsed
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|parsed| Ok((parsed, self.prepare(parsed, UpdateSource::Store)?)));
        if let Ok((_, prepared)) = &prepared
            && !prepared.resolved.misplaced.is_empty()
        {
            let update = without_items(update, &prepared.resolved.misplaced)?;
            received.misplaced.extend(&prepared.resolved.misplaced);
            return self.retry_with(&update, ages, limit, received);
        }
        let refusal = match (limit, &prepared) {
            (Some(limit), Ok((parsed, prepared))) => {
                self.check_ordering(parsed, &prepared.resolved.overlay, limit).err()
            }
            _ => None,
        };
        if let Some(refusal) = refusal {
            received.refused.push((update.to_vec(), refusal));
            // What is not complete yet has no part in it.
            if let Ok((_, PreparedUpdate { resolved, queues, held, .. })) = prepared {
                self.park(queues, &resolved.later, held, ages);
            }
            return Ok(());
        }
        match prepared {
            Ok((parsed, prepared)) => {
                // A client whose structs were cut continues with the next chunk, if there is one.
                let cut = prepared.resolved.cut.iter().map(|cut| parsed.runs[cut.run].client);
                self.arrived.extend(cut);
                self.integrate(parsed, prepared, ages, received)
            }
            Err(refusal) => {
                self.arrived.extend(ages.keys());
                received.refused.push((update.to_vec(), refusal));
                Ok(())
            }
        }
    }

    /// Drops the oldest parked structs until the rest is within the limit.
    fn drop_parked(&mut self, received: &mut ReceiveOutcome) {
        while self.parked.bytes() > self.limits.parked_bytes {
            let places = &self.places;
            let Some(update) = self.parked.drop_oldest(|client| places.end(client)) else { return };
            self.has_dropped = true;
            received.refused.push((update, GateRejection::TooMuchParked));
        }
    }
}

/// The work that one update may cause by completing parked structs.
struct RetryBudget {
    /// The most steps of ordering that are not counted.
    limit: u64,
    /// A bound of the steps since they were counted last.
    n_uncounted: u64,
    /// How often they may still be counted.
    n_counts_left: u32,
}

impl RetryBudget {
    fn new(limit: u64) -> Self {
        Self { limit, n_uncounted: 0, n_counts_left: MAX_COUNTS }
    }

    /// Adds the steps that chunks may cost. Reports whether they must be counted.
    fn spend(&mut self, chunks: &[ParkedChunk], n_known: u64) -> bool {
        let n_new = chunks.iter().map(|chunk| chunk.n_structs as u64).sum::<u64>();
        let bound = n_new.saturating_mul(n_new / 2 + n_known);
        self.n_uncounted = self.n_uncounted.saturating_add(bound);
        let is_counted = self.n_uncounted > self.limit;
        if is_counted {
            self.n_uncounted = 0;
            self.n_counts_left = self.n_counts_left.saturating_sub(1);
        }
        is_counted
    }

    /// Returns the most steps of the chunks that are counted now.
    fn limit(&self) -> u64 {
        if self.n_counts_left == 0 { 0 } else { self.limit }
    }
}

impl PreparedUpdate<'_> {
    fn waits(&self) -> bool {
        !self.queues.is_empty() || !self.resolved.later.is_empty() || self.held.is_some()
    }

    /// Reports whether everything is integrated at once.
    pub(super) fn is_whole(&self) -> bool {
        self.resolved.is_whole() && self.held.is_none()
    }
}

/// Returns the last item of a run.
fn last_of(parsed: &ParsedUpdate<'_>, run: usize) -> Option<ItemId> {
    let run = &parsed.runs[run];
    let mut structs = parsed.structs[run.first..run.end].iter();
    let last = structs.rfind(|item| item.kind != StructKind::Skip)?;
    Some(ItemId::new(run.client, last.clock + last.len - 1))
}

/// Divides waiting structs into chunks, and checks that yrs can read them.
fn chunks_of(
    parsed: &ParsedUpdate<'_>,
    waiting: &WaitingStructs,
) -> Result<Vec<ParkedChunk>, GateRejection> {
    let run = &parsed.runs[waiting.run];
    let mut chunks: Vec<ParkedChunk> = Vec::new();
    for item in &parsed.structs[waiting.first..run.end] {
        if item.kind == StructKind::Skip {
            continue;
        }
        let continues =
            |last: &&mut ParkedChunk| last.end == item.clock && last.n_structs < CHUNK_STRUCTS;
        if let Some(last) = chunks.last_mut().filter(continues) {
            write_struct(&mut last.structs, parsed, item)?;
            (last.end, last.n_structs) = (item.clock + item.len, last.n_structs + 1);
            continue;
        }
        let mut structs = Vec::new();
        write_struct(&mut structs, parsed, item)?;
        let (start, end) = (item.clock, item.clock + item.len);
        chunks.push(ParkedChunk { client: run.client, start, end, n_structs: 1, structs });
    }
    for chunk in &mut chunks {
        chunk.structs.shrink_to_fit();
        let update = encode(std::slice::from_ref(chunk), &[]);
        lazy::decode(std::iter::once(update.as_slice()))
            .map_err(|reason| GateRejection::Undecodable { reason })?;
    }
    Ok(chunks)
}

/// Returns the structs of a run from the given one on as received, as an update.
fn raw(parsed: &ParsedUpdate<'_>, run: usize, first: usize) -> Vec<u8> {
    let run = &parsed.runs[run];
    let items = &parsed.structs[first..run.end];
    let mut structs = Vec::new();
    for item in items {
        structs.extend_from_slice(&parsed.bytes[item.at..item.end]);
    }
    let (start, end) = (items[0].clock, items[0].clock);
    encode(&[ParkedChunk { client: run.client, start, end, n_structs: items.len(), structs }], &[])
}
