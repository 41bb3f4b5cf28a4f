//! Resolving an update against a document: which of its structs are complete, and where its items
//! belong.
//!
//! The structs of an update are visited in the order of their dependencies, as yrs will integrate
//! them, but without changing the document: the additions of the update are collected in an
//! [`UpdateOverlay`], which becomes part of [`ItemLists`] only after yrs applied the update. A
//! client's structs are visited up to the first that needs a missing item, as Yjs does.
//!
//! # Cost
//!
//! Linear in the structs of the update, with a binary search for each reference.

use super::{
    GateRejection,
    item_lists::{self, ItemList, ItemLists, ListTag},
    json,
    limits::GateLimits,
    list_shape::ListShape,
    parse::{ItemParent, ParsedUpdate, StructKind, UpdateStruct},
    rewrite::json_values,
    role::DocRole,
    run_segment::RunSegment,
    update_scan::{IdRange, RootIx, ScannedElement},
};
use crate::{
    id::{ClientId, ItemId},
    lib0::{AnyLimits, Lib0Error, Lib0Reader, skip_any, write_any},
};
use hashbrown::{HashMap, HashSet};

/// How an update relates to a document.
#[derive(Debug)]
pub(crate) struct UpdateResolution<'a> {
    /// What can be integrated.
    pub(crate) overlay: UpdateOverlay<'a>,
    /// Structs that cannot be integrated yet, those of one client in each.
    pub(crate) waiting: Vec<WaitingStructs>,
    /// Structs that can never be integrated, and the structs behind them. Only updates from a log
    /// are divided like this; of a message they are the reason to refuse all of it.
    pub(crate) cut: Vec<RunCut>,
    /// Items with content that does not belong into their list. They are taken as deleted, and yrs
    /// must get them so. Only updates from a log have some; a message with one is refused.
    pub(crate) misplaced: Vec<IdRange>,
    /// Whether the document holds a part of some struct, so that yrs is to get the rest only.
    pub(crate) has_rests: bool,
    /// Deletions of items that are there, or will be.
    pub(crate) deletes: Vec<IdRange>,
    /// Deletions of items that have not arrived.
    pub(crate) later: Vec<IdRange>,
}

/// Structs of a client, up to the end of its run, that wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingStructs {
    pub(crate) run: usize,
    /// Where the first of them is in [`ParsedUpdate::structs`].
    pub(crate) first: usize,
    /// An item that it needs.
    pub(crate) waits_for: ItemId,
}

/// Structs of a client from one that was refused to the end of its run.
#[derive(Debug)]
pub(crate) struct RunCut {
    pub(crate) run: usize,
    pub(crate) first: usize,
    pub(crate) refusal: GateRejection,
}

/// What an update adds to a document.
#[derive(Debug)]
pub(crate) struct UpdateOverlay<'a> {
    pub(crate) clients: Vec<NewClient>,
    places: Vec<ItemList>,
    roots: HashMap<&'a str, u32>,
    types: HashMap<ItemId, u32>,
    pub(crate) elements: Vec<ScannedElement>,
    /// The values of the elements, one behind the other.
    pub(crate) values: Vec<u8>,
    /// Ranges of structs in the order in which they can be integrated.
    pub(crate) order: Vec<RunSegment>,
}

/// What an update adds of one client.
#[derive(Debug)]
pub(crate) struct NewClient {
    pub(crate) client: ClientId,
    /// The clock after the last item that the document holds.
    pub(crate) known: u32,
    /// The clock after the last item that was visited.
    pub(crate) end: u32,
    spans: Vec<(u32, ListTag)>,
    hollow: Vec<(u32, u32)>,
    last_right: Option<ItemId>,
    /// The next struct to visit.
    next: usize,
    /// Whether its structs are being visited.
    open: bool,
    /// Whether the next struct cannot be visited.
    stuck: bool,
}

/// What is asked of [`resolve`].
pub(crate) struct ResolveRequest<'q> {
    pub(crate) places: &'q ItemLists,
    pub(crate) role: DocRole,
    pub(crate) limits: &'q GateLimits,
    /// The clients that live here; no other process may extend them.
    pub(crate) ours: Option<&'q HashSet<ClientId>>,
    /// Whether the limits of a message hold.
    pub(crate) is_message: bool,
}

/// Resolves an update against a document.
///
/// # Errors
///
/// If it is a message, and contradicts itself or the document, or would harm a reader of it.
pub(crate) fn resolve<'a>(
    question: &ResolveRequest<'_>,
    parsed: &ParsedUpdate<'a>,
) -> Result<UpdateResolution<'a>, GateRejection> {
    let mut resolver = UpdateResolver::new(question, parsed);
    resolver.check_clients()?;
    if !resolver.is_known() {
        resolver.visit_all()?;
    }
    let (deletes, later) = resolver.divide_deletes();
    let needs = resolver.waiting.iter().map(|waiting| waiting.waits_for);
    let unknown = later.iter().map(|range| ItemId::new(range.client, range.start));
    if let Some(id) = needs.chain(unknown).find(|id| resolver.is_ours(id.client)) {
        return Err(GateRejection::OurClient { client: id.client });
    }
    let UpdateResolver { overlay, waiting, cut, misplaced, has_rests, .. } = resolver;
    Ok(UpdateResolution { overlay, waiting, cut, misplaced, has_rests, deletes, later })
}

impl UpdateResolution<'_> {
    /// Reports whether all structs and deletions can be integrated as they are.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_whole() && !self.has_rests && self.misplaced.is_empty()
    }

    /// Reports whether all structs and deletions can be integrated.
    pub(crate) fn is_whole(&self) -> bool {
        self.waiting.is_empty() && self.cut.is_empty() && self.later.is_empty()
    }
}

impl UpdateOverlay<'_> {
    /// Returns how many structs are to be integrated.
    pub(crate) fn n_structs(&self) -> usize {
        self.order.iter().map(|segment| segment.end - segment.first).sum()
    }

    /// Returns in which list an item is that a run adds.
    pub(crate) fn tag_of_new(&self, run: usize, clock: u32) -> ListTag {
        item_lists::find(&self.clients[run].spans, clock).unwrap_or(ListTag::GONE)
    }
}

struct UpdateResolver<'q, 'p, 'a> {
    question: &'q ResolveRequest<'q>,
    parsed: &'p ParsedUpdate<'a>,
    overlay: UpdateOverlay<'a>,
    /// Where each client is in the overlay; empty if there are few.
    index: HashMap<ClientId, usize>,
    /// The number of items of the update that claim to be the first in a list, or of a key.
    firsts: HashMap<(u32, Option<&'a str>), u64>,
    conflicts: u64,
    most_conflicts: u64,
    /// Whether there are so many structs that their conflicts must be counted.
    may_conflict: bool,
    waiting: Vec<WaitingStructs>,
    cut: Vec<RunCut>,
    misplaced: Vec<IdRange>,
    has_rests: bool,
}

impl<'q, 'p, 'a> UpdateResolver<'q, 'p, 'a> {
    fn new(question: &'q ResolveRequest<'q>, parsed: &'p ParsedUpdate<'a>) -> Self {
        let new_client = |run: &super::parse::ClientRun| {
            let known = question.places.end(run.client);
            NewClient {
                client: run.client,
                known,
                end: known,
                spans: Vec::new(),
                hollow: Vec::new(),
                last_right: None,
                next: run.first,
                open: false,
                stuck: false,
            }
        };
        let clients: Vec<NewClient> = parsed.runs.iter().map(new_client).collect();
        let mut index = HashMap::new();
        if clients.len() > 8 {
            index.extend(clients.iter().enumerate().map(|(at, client)| (client.client, at)));
        }
        let n_types = parsed.structs.iter().filter(|item| item.kind == StructKind::Type).count();
        let overlay = UpdateOverlay {
            clients,
            places: Vec::with_capacity(n_types),
            roots: HashMap::new(),
            types: HashMap::with_capacity(n_types),
            elements: Vec::new(),
            values: Vec::new(),
            order: Vec::new(),
        };
        let firsts = HashMap::new();
        let n_structs = parsed.structs.len() as u64;
        // What many messages brought one by one is read as one state later.
        let share = if question.is_message { 1 } else { 4 };
        let most_conflicts = share * question.limits.conflict_steps;
        let may_conflict = n_structs.saturating_mul(n_structs) / 2 > most_conflicts;
        let (waiting, cut) = (Vec::new(), Vec::new());
        Self {
            question,
            parsed,
            overlay,
            index,
            firsts,
            conflicts: 0,
            most_conflicts,
            may_conflict,
            waiting,
            cut,
            misplaced: Vec::new(),
            has_rests: false,
        }
    }

    fn at(&self, client: ClientId) -> Option<usize> {
        if self.index.is_empty() {
            self.overlay.clients.iter().position(|new| new.client == client)
        } else {
            self.index.get(&client).copied()
        }
    }

    fn is_ours(&self, client: ClientId) -> bool {
        self.question.ours.is_some_and(|ours| ours.contains(&client))
    }

    /// The clock after the last struct of a run that is no `Skip`.
    fn run_end(&self, at: usize) -> u32 {
        let run = &self.parsed.runs[at];
        let structs = &self.parsed.structs[run.first..run.end];
        let last = structs.iter().rfind(|item| item.kind != StructKind::Skip);
        last.map_or(0, |item| item.clock + item.len)
    }

    fn check_clients(&self) -> Result<(), GateRejection> {
        for (at, new) in self.overlay.clients.iter().enumerate() {
            let end = self.run_end(at);
            if end > new.known && self.is_ours(new.client) {
                return Err(GateRejection::OurClient { client: new.client });
            }
            let jump = end.saturating_sub(new.known);
            if self.question.is_message && jump > self.question.limits.clock_jump {
                return Err(GateRejection::TooLarge {
                    what: "the jump of a clock",
                    is: u64::from(jump),
                    limit: u64::from(self.question.limits.clock_jump),
                });
            }
        }
        Ok(())
    }

    fn is_known(&self) -> bool {
        let clients = self.overlay.clients.iter().enumerate();
        let structs = clients.into_iter().all(|(at, new)| self.run_end(at) <= new.known);
        structs && self.question.places.covers(&self.parsed.deletes)
    }

    /// Divides the deletions into those of items that are there, or will be, and those of others.
    fn divide_deletes(&self) -> (Vec<IdRange>, Vec<IdRange>) {
        let (mut now, mut later) = (Vec::new(), Vec::new());
        for range in &self.parsed.deletes {
            let end = self.end_of(range.client).clamp(range.start, range.end());
            if end > range.start {
                now.push(IdRange { len: end - range.start, ..*range });
            }
            if end < range.end() {
                later.push(IdRange { start: end, len: range.end() - end, ..*range });
            }
        }
        (now, later)
    }

    /// Visits every struct, those that another depends on before it. A client whose struct needs
    /// what has not arrived is left where it is.
    fn visit_all(&mut self) -> Result<(), GateRejection> {
        // The clients whose structs wait for one another, and the clock that the one below needs.
        let mut stack: Vec<(usize, u32)> = Vec::new();
        // The greatest client first, as yrs does: of items of different clients at one place each
        // stands in front of those before it, which takes yrs one step.
        let mut runs: Vec<usize> = (0..self.overlay.clients.len()).collect();
        runs.sort_unstable_by_key(|at| std::cmp::Reverse(self.overlay.clients[*at].client));
        for at in runs {
            stack.push((at, u32::MAX));
            self.overlay.clients[at].open = true;
            while let Some((at, need)) = stack.last().copied() {
                let new = &self.overlay.clients[at];
                if new.end > need || new.stuck || new.next == self.parsed.runs[at].end {
                    self.overlay.clients[at].open = false;
                    stack.pop();
                    continue;
                }
                let next = self.next_to_visit(at)?;
                if let Some((other, clock)) = next {
                    self.overlay.clients[other].open = true;
                    stack.push((other, clock));
                }
            }
        }
        Ok(())
    }

    /// Visits the next struct of a client. Returns the client of the update that must come first,
    /// and the clock that is needed of it.
    fn next_to_visit(&mut self, at: usize) -> Result<Option<(usize, u32)>, GateRejection> {
        let (run, first) = (at, self.overlay.clients[at].next);
        let item = self.parsed.structs[first];
        let waits_for = match self.visit(at, &item) {
            Ok(None) => return Ok(None),
            Ok(Some(id)) => id,
            Err(refusal) => return self.cut(at, refusal),
        };
        let other = self.at(waits_for.client).filter(|other| {
            let is_before = *other == at && waits_for.clock < item.clock;
            self.run_end(*other) > waits_for.clock
                && !is_before
                && !self.overlay.clients[*other].stuck
        });
        let Some(other) = other else {
            self.overlay.clients[at].stuck = true;
            self.waiting.push(WaitingStructs { run, first, waits_for });
            return Ok(None);
        };
        if self.overlay.clients[other].open {
            let id = ItemId::new(self.overlay.clients[at].client, item.clock);
            let refusal = GateRejection::Nonsense { what: "an item that depends on itself", id };
            return self.cut(at, refusal);
        }
        Ok(Some((other, waits_for.clock)))
    }

    /// Leaves a client's structs out from the next on, if they come from a log.
    fn cut(
        &mut self,
        at: usize,
        refusal: GateRejection,
    ) -> Result<Option<(usize, u32)>, GateRejection> {
        if self.question.is_message {
            return Err(refusal);
        }
        let new = &mut self.overlay.clients[at];
        new.stuck = true;
        self.cut.push(RunCut { run: at, first: new.next, refusal });
        Ok(None)
    }

    /// Of items that all say they are the first yrs compares each with all others.
    fn count_conflicts(&mut self, place: u32, key: Option<&'a str>) -> Result<(), GateRejection> {
        let firsts = self.firsts.entry((place, key)).or_default();
        self.conflicts += *firsts;
        *firsts += 1;
        let limit = self.most_conflicts;
        if self.conflicts <= limit {
            return Ok(());
        }
        Err(GateRejection::TooLarge {
            what: "the work of ordering items",
            is: self.conflicts,
            limit,
        })
    }

    /// Visits the next struct of a client, or returns what it needs first.
    fn visit(
        &mut self,
        at: usize,
        item: &UpdateStruct<'a>,
    ) -> Result<Option<ItemId>, GateRejection> {
        let new = &self.overlay.clients[at];
        let (client, progress) = (new.client, new.end);
        let end = item.clock + item.len;
        if item.kind == StructKind::Skip || end <= progress {
            self.overlay.clients[at].next += 1;
            return Ok(None);
        }
        if item.clock > progress {
            return Ok(Some(ItemId::new(client, progress)));
        }
        // Of a struct that is partly known yrs takes the rest, whose origin is the part before.
        let is_rest = item.clock < progress;
        let origin = if is_rest { Some(ItemId::new(client, progress - 1)) } else { item.origin };
        let parent = match item.parent {
            ItemParent::Item(id) => Some(id),
            _ => None,
        };
        for id in [origin, item.right, parent].into_iter().flatten() {
            if id.client == client && id.clock >= progress {
                let id = ItemId::new(client, item.clock);
                return Err(GateRejection::Nonsense { what: "an item that depends on itself", id });
            }
            if id.clock >= self.end_of(id.client) {
                return Ok(Some(id));
            }
        }
        self.has_rests |= is_rest;
        let tag = self.place(client, item, origin)?;
        self.read(ItemId::new(client, progress), item, tag)?;
        let new = &mut self.overlay.clients[at];
        item_lists::push(&mut new.spans, progress, tag);
        if tag.is_hollow() {
            new.hollow.push((progress, end));
        }
        new.end = end;
        new.last_right = item.right;
        let (nth, known) = (new.next, new.known);
        new.next += 1;
        match self.overlay.order.last_mut() {
            Some(last) if last.run == at && last.end == nth => last.end += 1,
            _ => self.overlay.order.push(RunSegment { run: at, first: nth, end: nth + 1, known }),
        }
        Ok(None)
    }

    fn end_of(&self, client: ClientId) -> u32 {
        match self.at(client) {
            Some(at) => self.overlay.clients[at].end,
            None => self.question.places.end(client),
        }
    }

    fn tag(&self, id: ItemId) -> ListTag {
        let tag = match self.at(id.client) {
            Some(at) if id.clock >= self.overlay.clients[at].known => {
                item_lists::find(&self.overlay.clients[at].spans, id.clock)
            }
            _ => self.question.places.tag(id),
        };
        tag.unwrap_or(ListTag::GONE)
    }

    fn place_of(&self, tag: ListTag) -> &ItemList {
        let (table, place) = (&self.question.places.table, tag.place() as usize);
        table.get(place).unwrap_or_else(|| &self.overlay.places[place - table.len()])
    }

    fn add_place(&mut self, place: ItemList) -> u32 {
        self.overlay.places.push(place);
        (self.question.places.table.len() + self.overlay.places.len() - 1) as u32
    }

    fn root(&mut self, name: &'a str) -> u32 {
        let known = self.question.places.roots.get(name).or_else(|| self.overlay.roots.get(name));
        if let Some(place) = known {
            return *place;
        }
        let place = self.add_place(ItemList::of_root(self.question.role, name));
        self.overlay.roots.insert(name, place);
        place
    }

    /// Finds the list of an item, by the rules of `yrs::Update::missing_dependency`.
    fn place(
        &mut self,
        client: ClientId,
        item: &UpdateStruct<'a>,
        origin: Option<ItemId>,
    ) -> Result<ListTag, GateRejection> {
        let id = ItemId::new(client, item.clock);
        let nonsense = |what| Err(GateRejection::Nonsense { what, id });
        if item.kind == StructKind::Gc {
            return Ok(ListTag::GONE);
        }
        let left = origin.map_or(ListTag::GONE, |origin| self.tag(origin));
        let right = item.right.map_or(ListTag::GONE, |right| self.tag(right));
        if !right.is_gone() && right.is_entry() {
            return nonsense("an item to the left of an entry of a map");
        }
        if !left.is_gone() && !right.is_gone() {
            let same = left.place() == right.place() && left.is_entry() == right.is_entry();
            if !same {
                return nonsense("an item between two lists");
            }
        }
        let (place, is_entry) = match item.parent {
            _ if origin.is_some() || item.right.is_some() => {
                let neighbour = if left.is_gone() { right } else { left };
                (neighbour.place(), neighbour.is_entry())
            }
            ItemParent::Root(name) => (self.root(name), item.key.is_some()),
            ItemParent::Item(parent) => {
                let types = &self.question.places.types;
                match types.get(&parent).or_else(|| self.overlay.types.get(&parent)) {
                    Some(place) => (*place, item.key.is_some()),
                    None if self.tag(parent).is_hollow() => (0, false),
                    None => return nonsense("a parent that is not a type"),
                }
            }
            ItemParent::Inherited => (0, false),
        };
        if self.may_conflict && item.parent != ItemParent::Inherited {
            self.count_conflicts(place, item.key)?;
        }
        if place == 0 {
            return Ok(ListTag::GONE);
        }
        let tag = ListTag::new(place, is_entry, item.kind == StructKind::Deleted);
        if let Some(content) = self.misplaced(item, tag) {
            self.note_misplaced(client, item, tag, content)?;
            return Ok(ListTag::new(place, is_entry, true));
        }
        if item.kind == StructKind::Type {
            self.add_type(id, item, tag)?;
        }
        Ok(tag)
    }

    /// Adds the list that the type of a struct is.
    fn add_type(
        &mut self,
        id: ItemId,
        item: &UpdateStruct<'a>,
        tag: ListTag,
    ) -> Result<(), GateRejection> {
        let around = self.place_of(tag);
        let (depth, is_ours) = (around.depth + 1, around.is_ours);
        let top = if around.root.is_some() { tag.place() } else { around.top };
        if depth > self.question.limits.type_depth {
            return Err(GateRejection::TooDeep { id });
        }
        let shape = ListShape::of_type(self.parsed.bytes, item);
        let place = self.add_place(ItemList::of_type(depth, is_ours, top, shape));
        self.overlay.types.insert(id, place);
        Ok(())
    }

    /// Returns the content of a struct if it does not belong into a list.
    fn misplaced(&self, item: &UpdateStruct<'a>, tag: ListTag) -> Option<&'static str> {
        let list = self.place_of(tag);
        // yrs uses such a document after it was collected with its parent.
        let is_collected = self.question.role == DocRole::Main && list.root.is_none();
        if item.kind == StructKind::Doc && is_collected {
            return Some("a document");
        }
        list.shape.misplaced(self.parsed.bytes, item, tag.is_entry())
    }

    /// Refuses content that does not belong into its list, or notes it if it is in a log.
    fn note_misplaced(
        &mut self,
        client: ClientId,
        item: &UpdateStruct<'a>,
        tag: ListTag,
        content: &'static str,
    ) -> Result<(), GateRejection> {
        let start = item.clock.max(self.end_of(client));
        if self.question.is_message {
            let list = self.place_of(tag).root.as_deref().unwrap_or("a nested type").to_owned();
            let id = ItemId::new(client, start);
            return Err(GateRejection::WrongContent { content, list, id });
        }
        self.misplaced.push(IdRange { client, start, len: item.clock + item.len - start });
        Ok(())
    }

    /// Checks the depth of content that the engine reads, and reads the values of our arrays.
    fn read(
        &mut self,
        from: ItemId,
        item: &UpdateStruct<'a>,
        tag: ListTag,
    ) -> Result<(), GateRejection> {
        if tag.is_gone() || tag.is_hollow() {
            return Ok(());
        }
        let place = self.place_of(tag);
        if self.parsed.is_deep && place.is_ours {
            self.check_depth(from, item)?;
        }
        let is_element = !tag.is_entry();
        let Some(root) = place.read.filter(|_| is_element) else { return Ok(()) };
        match item.kind {
            StructKind::Any => self.read_values(from, item, root),
            StructKind::Json => {
                for (nth, value) in (0..).zip(json_values(self.parsed.bytes, item)?) {
                    self.add_element(from, item, root, nth, |out| write_any(out, &value));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Checks that nothing of a struct is nested too deeply for a reader that calls itself for each
    /// level.
    fn check_depth(&self, from: ItemId, item: &UpdateStruct<'a>) -> Result<(), GateRejection> {
        let depth = self.question.limits.value_depth;
        let mut reader = Lib0Reader::at(self.parsed.bytes, item.content_at);
        let mut check = || {
            let limits = AnyLimits { depth, parts: usize::MAX };
            match item.kind {
                StructKind::Any => {
                    reader.var_uint()?;
                    (0..item.len).try_for_each(|_| skip_any(&mut reader, limits).map(drop))
                }
                StructKind::Doc => {
                    reader.string()?;
                    skip_any(&mut reader, limits).map(drop)
                }
                StructKind::Json | StructKind::Embed | StructKind::Format => {
                    let n_texts = match item.kind {
                        StructKind::Json => reader.var_uint()?,
                        StructKind::Format => reader.string().map(|_| 1)?,
                        _ => 1,
                    };
                    let fits = |text| json::depth(text) <= depth;
                    (0..n_texts).try_for_each(|_| {
                        if fits(reader.string()?) { Ok(()) } else { Err(Lib0Error::Depth) }
                    })
                }
                _ => Ok(()),
            }
        };
        check().map_err(|_| GateRejection::TooDeep { id: from })
    }

    fn read_values(
        &mut self,
        from: ItemId,
        item: &UpdateStruct<'a>,
        root: RootIx,
    ) -> Result<(), GateRejection> {
        let bytes = self.parsed.bytes;
        let mut reader = Lib0Reader::at(bytes, item.content_at);
        let limits = AnyLimits { depth: self.question.limits.value_depth, parts: usize::MAX };
        let malformed = |at, source| GateRejection::Malformed { at, source };
        reader.var_uint().map_err(|source| malformed(item.content_at, source))?;
        for nth in 0..item.len {
            let at = reader.position();
            skip_any(&mut reader, limits).map_err(|source| malformed(at, source))?;
            let value = &bytes[at..reader.position()];
            self.add_element(from, item, root, nth, |out| out.extend_from_slice(value));
        }
        Ok(())
    }

    /// Adds the `nth` value of a struct, unless the document holds it: `from` is the first that it
    /// does not.
    fn add_element(
        &mut self,
        from: ItemId,
        item: &UpdateStruct<'a>,
        root: RootIx,
        nth: u32,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let id = ItemId::new(from.client, item.clock + nth);
        if id.clock < from.clock {
            return;
        }
        let values = &mut self.overlay.values;
        let start = values.len();
        write(values);
        self.overlay.elements.push(ScannedElement { id, root, value: start..values.len() });
    }
}

impl ItemLists {
    /// Adds what an update added, after yrs applied it.
    pub(crate) fn commit(&mut self, overlay: UpdateOverlay<'_>) {
        self.n_structs += overlay.n_structs() as u64;
        self.table.extend(overlay.places);
        match self.types.is_empty() {
            true => self.types = overlay.types,
            false => self.types.extend(overlay.types),
        }
        self.roots.extend(overlay.roots.into_iter().map(|(name, place)| (name.into(), place)));
        for new in overlay.clients {
            if new.end <= new.known {
                continue;
            }
            let client = self.clients.entry(new.client).or_default();
            for (start, tag) in new.spans {
                item_lists::push(&mut client.spans, start, tag);
            }
            client.end = new.end;
            client.last_right = new.last_right;
            self.note_grown(new.client);
            for (start, end) in new.hollow {
                self.insert_deleted(IdRange { client: new.client, start, len: end - start });
            }
        }
    }
}
