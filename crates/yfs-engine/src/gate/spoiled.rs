//! The items that a forked log spoils: those of the writer from the fork on, and all items that were
//! placed relative to them. Each peer has them at other places.
//!
//! The items that are not spoiled have the same order in every document, because none of them was
//! placed relative to one that is.

use std::collections::BTreeSet;

use hashbrown::HashSet;

use super::{
    GateRejection, GatedDoc,
    erase::{overlaps, write_content, write_links},
    item_set::not_among,
    limits::GateLimits,
    parse::{ItemParent, ParsedUpdate, StructKind, UpdateStruct, normalise, parse},
    rewrite::{write_deletes, write_id},
    unit_content::{UnitContent, content_of},
    update_scan::{IdRange, RootIx},
};
use crate::{
    id::{ClientId, ItemId},
    lib0::{Lib0Reader, write_string, write_var_uint},
};

/// The links that make an item depend on another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependence {
    /// Both neighbors and the parent.
    Neighbors,
    /// The left neighbor and the parent: of items that were written once a fence was there.
    Origin,
}

/// The place right behind an item, or at the beginning of a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FencePlace {
    /// Behind an item.
    Behind(ItemId),
    /// At the beginning of a root.
    Root(String),
    /// At the beginning of the list that an item holds.
    Inside(ItemId),
}

impl GatedDoc {
    /// Returns the clock from which on the items of a client are spoiled, if the first one that is
    /// known to differ has this clock. Deleted items before it may differ as well, and a character
    /// is not cut in half.
    pub(crate) fn fork_start(&self, fork: ItemId) -> Result<u32, GateRejection> {
        let mut start = fork.clock.min(self.places.end(fork.client));
        let is_dead = |clock: u32| {
            self.places.living(IdRange { client: fork.client, start: clock, len: 1 }).is_empty()
        };
        while start > 0 && is_dead(start - 1) {
            start -= 1;
        }
        let state = self.encode_state();
        let parsed = parse(&state, &GateLimits::default(), false)?;
        let run = parsed.runs.iter().find(|run| run.client == fork.client);
        let mut structs = run.into_iter().flat_map(|run| &parsed.structs[run.first..run.end]);
        let around = structs.find(|item| item.clock < start && start < item.clock + item.len);
        if let Some(item) = around.filter(|item| item.kind == StructKind::String)
            && let Ok(text) = Lib0Reader::at(&state, item.content_at).string()
            && let Some(before) = text.encode_utf16().nth((start - 1 - item.clock) as usize)
            && (0xd800..0xdc00).contains(&before)
        {
            start -= 1;
        }
        Ok(start)
    }

    /// Returns the items of ranges, and all items of the document that depend on them.
    ///
    /// # Errors
    ///
    /// If the document is poisoned.
    pub(crate) fn spoiled_items(
        &self,
        forked: &[IdRange],
        dependence: Dependence,
    ) -> Result<Vec<IdRange>, GateRejection> {
        self.health()?;
        dependents_in(&self.encode_state(), forked, dependence)
    }

    /// Returns an update of another store without what depends on forked items: here they may be in
    /// another list, and then it is rejected. Later items of its authors find theirs. `None` if
    /// nothing in it depends on forked items.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn without_forked(
        &self,
        update: &[u8],
        forked: &[IdRange],
    ) -> Result<Option<Vec<u8>>, GateRejection> {
        let rest = |range: &IdRange| IdRange { len: u32::MAX - range.start, ..*range };
        let forked: Vec<IdRange> = forked.iter().map(rest).collect();
        let spoiled = dependents_in(update, &forked, Dependence::Neighbors)?;
        let without = without_spoiled(update, &spoiled, &[])?;
        Ok((without != update).then_some(without))
    }

    /// Returns the items of ranges that are content, and not deleted: those of the arrays with the
    /// history of a file are left out.
    pub(crate) fn living_content(&self, ranges: &[IdRange]) -> Vec<IdRange> {
        let mut content = Vec::new();
        for range in ranges {
            let end = self.places.end(range.client).min(range.end());
            let Some(len) = end.checked_sub(range.start).filter(|len| *len > 0) else { continue };
            for living in self.places.living(IdRange { len, ..*range }) {
                let ids = (living.start..living.end()).map(|clock| (clock, living.client));
                let ids = ids.filter(|(clock, client)| {
                    let tag = self.places.tag(ItemId::new(*client, *clock));
                    tag.is_some_and(|tag| self.places.table[tag.place() as usize].read.is_none())
                });
                content.extend(ids.map(|(start, client)| IdRange { client, start, len: 1 }));
            }
        }
        normalise(&mut content);
        content
    }

    /// Returns the places behind which spoiled items begin. An item that is put there under a
    /// client id below all others stays directly behind its left neighbor in every document, and
    /// no item that is written later gets a spoiled one for its right neighbor and an item for its
    /// left one behind which other documents have something else.
    pub(crate) fn fence_places(
        &self,
        spoiled: &[IdRange],
    ) -> Result<BTreeSet<FencePlace>, GateRejection> {
        let state = self.encode_state();
        let parsed = parse(&state, &GateLimits::default(), false)?;
        let mut places = BTreeSet::new();
        for run in &parsed.runs {
            for item in &parsed.structs[run.first..run.end] {
                let whole = item.clock..item.clock + item.len;
                for part in overlaps(spoiled, run.client, whole) {
                    let id = ItemId::new(run.client, part.start);
                    let origin = match part.start == item.clock {
                        true => item.origin,
                        false => Some(ItemId::new(run.client, part.start - 1)),
                    };
                    places.extend(self.fence_place(id, origin, spoiled));
                }
            }
        }
        Ok(places)
    }

    /// Returns the array that an item is in, if the engine reads that array.
    pub(crate) fn array_of(&self, id: ItemId) -> Option<RootIx> {
        let tag = self.places.tag(id)?;
        self.places.table[tag.place() as usize].read
    }

    /// Returns the encoded values that an update has from an item of a client on, without those
    /// that it or the document deletes; and the clock after the last of the client's items.
    pub(crate) fn living_values(
        &self,
        update: &[u8],
        first: ItemId,
    ) -> Result<(Vec<Vec<u8>>, u32), GateRejection> {
        let parsed = parse(update, &GateLimits::default(), false)?;
        let (mut values, mut end) = (Vec::new(), first.clock);
        let runs = parsed.runs.iter().filter(|run| run.client == first.client);
        for item in runs.flat_map(|run| &parsed.structs[run.first..run.end]) {
            let known = item.clock..item.clock + item.len;
            end = end.max(known.end);
            let Some(UnitContent::Values(all)) = content_of(update, item) else { continue };
            for (clock, value) in known.zip(all).filter(|(clock, _)| *clock >= first.clock) {
                let is_kept =
                    !not_among(&parsed.deletes, first.client, clock..clock + 1).is_empty();
                let range = IdRange { client: first.client, start: clock, len: 1 };
                let is_known = clock < self.places.end(first.client);
                let lives = is_kept && (!is_known || !self.places.living(range).is_empty());
                // What precedes a value is its kind.
                values.extend(lives.then(|| value[1..].to_vec()));
            }
        }
        Ok((values, end))
    }

    fn fence_place(
        &self,
        id: ItemId,
        origin: Option<ItemId>,
        spoiled: &[IdRange],
    ) -> Option<FencePlace> {
        let is_spoiled =
            |id: ItemId| !overlaps(spoiled, id.client, id.clock..id.clock + 1).is_empty();
        let tag = self.places.tag(id)?;
        let list = &self.places.table[tag.place() as usize];
        if tag.is_entry() || tag.place() == 0 || list.read.is_some() {
            return None;
        }
        if let Some(origin) = origin {
            let is_there = self.places.tag(origin).is_some_and(|tag| !tag.is_gone());
            return (is_there && !is_spoiled(origin)).then_some(FencePlace::Behind(origin));
        }
        if let Some(root) = &list.root {
            return Some(FencePlace::Root(root.to_string()));
        }
        let holder = self.places.types.iter().find(|(_, place)| **place == tag.place());
        holder.filter(|(id, _)| !is_spoiled(**id)).map(|(id, _)| FencePlace::Inside(*id))
    }
}

/// Returns the items of ranges, and all items of an update that depend on them.
fn dependents_in(
    update: &[u8],
    forked: &[IdRange],
    dependence: Dependence,
) -> Result<Vec<IdRange>, GateRejection> {
    let parsed = parse(update, &GateLimits::default(), false)?;
    let mut dependents: Vec<(ItemId, IdRange)> = Vec::new();
    for run in &parsed.runs {
        for item in &parsed.structs[run.first..run.end] {
            let whole = IdRange { client: run.client, start: item.clock, len: item.len };
            let right = item.right.filter(|_| dependence == Dependence::Neighbors);
            let parent = match item.parent {
                ItemParent::Item(id) => Some(id),
                _ => None,
            };
            let on = item.origin.into_iter().chain(right).chain(parent);
            dependents.extend(on.map(|on| (on, whole)));
        }
    }
    dependents.sort_unstable();
    let (mut spoiled, mut due) = (Vec::new(), forked.to_vec());
    let mut seen = HashSet::new();
    while let Some(range) = due.pop() {
        spoiled.push(range);
        let first = ItemId::new(range.client, range.start);
        let first = dependents.partition_point(|(on, _)| *on < first);
        let on_range = dependents[first..]
            .iter()
            .take_while(|(on, _)| on.client == range.client && on.clock < range.end());
        for (_, next) in on_range {
            if seen.insert((next.client, next.start)) {
                due.push(*next);
            }
        }
    }
    normalise(&mut spoiled);
    Ok(spoiled)
}

/// Writes a deleted item for each place, under a client id without items.
pub(crate) fn write_fences(places: &BTreeSet<FencePlace>, client: ClientId) -> Option<Vec<u8>> {
    if places.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    write_var_uint(&mut out, 1);
    write_var_uint(&mut out, places.len() as u64);
    write_id(&mut out, ItemId::new(client, 0));
    for place in places {
        let kind = StructKind::Deleted as u8;
        match place {
            FencePlace::Behind(origin) => {
                out.push(0x80 | kind);
                write_id(&mut out, *origin);
            }
            FencePlace::Root(name) => {
                out.push(kind);
                write_var_uint(&mut out, 1);
                write_string(&mut out, name);
            }
            FencePlace::Inside(holder) => {
                out.push(kind);
                write_var_uint(&mut out, 0);
                write_id(&mut out, *holder);
            }
        }
        write_var_uint(&mut out, 1);
    }
    write_var_uint(&mut out, 0);
    Some(out)
}

/// Rewrites a state without spoiled items: their ids are taken, and they have no place. Those that
/// are left out must be the last of their clients.
pub(crate) fn without_spoiled(
    state: &[u8],
    spoiled: &[IdRange],
    left_out: &[IdRange],
) -> Result<Vec<u8>, GateRejection> {
    let parsed = parse(state, &GateLimits::default(), false)?;
    let mut runs = Vec::new();
    for run in &parsed.runs {
        let structs = &parsed.structs[run.first..run.end];
        let (mut written, mut n_written) = (Vec::new(), 0_u64);
        for item in structs {
            let rest = write_sound(&mut written, &parsed, run.client, item, (spoiled, left_out))?;
            n_written += rest;
        }
        if n_written > 0 {
            runs.push((n_written, run.client, structs[0].clock, written));
        }
    }
    let mut out = Vec::with_capacity(state.len());
    write_var_uint(&mut out, runs.len() as u64);
    for (n_structs, client, clock, structs) in runs {
        write_var_uint(&mut out, n_structs);
        write_id(&mut out, ItemId::new(client, clock));
        out.extend(structs);
    }
    let mut deletes = Vec::new();
    for range in &parsed.deletes {
        let parts = not_among(spoiled, range.client, range.start..range.end());
        deletes.extend(parts.into_iter().map(|part| IdRange {
            client: range.client,
            start: part.start,
            len: part.end - part.start,
        }));
    }
    write_deletes(&mut out, &deletes);
    Ok(out)
}

/// Writes the parts of a struct, and returns their number.
fn write_sound(
    out: &mut Vec<u8>,
    parsed: &ParsedUpdate<'_>,
    client: ClientId,
    item: &UpdateStruct<'_>,
    (spoiled, left_out): (&[IdRange], &[IdRange]),
) -> Result<u64, GateRejection> {
    let end = item.clock + item.len;
    let bad = overlaps(spoiled, client, item.clock..end);
    if bad.is_empty() {
        out.extend_from_slice(&parsed.bytes[item.at..item.end]);
        return Ok(1);
    }
    let (mut n_written, mut at) = (0, item.clock);
    let write_kept = |out: &mut Vec<u8>, from: u32, to: u32| -> Result<u64, GateRejection> {
        if from == to {
            return Ok(0);
        }
        match item.kind {
            StructKind::Gc => {
                out.push(StructKind::Gc as u8);
                write_var_uint(out, u64::from(to - from));
            }
            StructKind::Deleted => {
                write_links(out, parsed, client, item, from, item.kind);
                write_var_uint(out, u64::from(to - from));
            }
            _ => {
                write_links(out, parsed, client, item, from, item.kind);
                write_content(out, parsed, item, &(from..to))?;
            }
        }
        Ok(1)
    };
    for part in bad {
        n_written += write_kept(out, at, part.start)?;
        if overlaps(left_out, client, part.clone()).is_empty() {
            out.push(StructKind::Gc as u8);
            write_var_uint(out, u64::from(part.end - part.start));
            n_written += 1;
        }
        at = part.end;
    }
    Ok(n_written + write_kept(out, at, end)?)
}
