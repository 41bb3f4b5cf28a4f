//! The whole state of a main document as one update, put together from the updates of its log: the
//! yrs document is not made for it.
//!
//! The updates pass the gate one by one, as when they are loaded. Their structs are then copied
//! into one run for each client. Values that are deleted are written as their number, as yrs does;
//! structs that continue the one before are joined with it.
//!
//! # Invariants
//!
//! - The state has what the document has, and perhaps what was logged since. If that is not
//!   certain, there is none: some update waits for others, was refused, or has
//!   structs that yrs alone can interpret.
//!
//! # Cost
//!
//! Linear in the bytes of the updates. Memory: the state, and the places of its items.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    doc::GatedDoc,
    item_lists::ItemLists,
    lazy::has_only_values,
    limits::GateLimits,
    parse::{ParsedUpdate, StructKind, UpdateStruct, parse},
    resolve::{ResolveRequest, UpdateResolution, resolve},
    role::DocRole,
    struct_content::write_links,
    update::write_delete_set,
    update_scan::IdRange,
};
use crate::{
    id::{ClientId, ItemId},
    lib0::{AnyLimits, Lib0Reader, skip_any, write_var_uint},
};

impl GatedDoc {
    /// Returns the whole state of a main document whose yrs document is still to be made; `None` if
    /// only that document can tell.
    pub(super) fn stored_state(&self) -> Option<Vec<u8>> {
        if self.role != DocRole::Main || self.parked.was_used() {
            return None;
        }
        let mut merge = StateMerge::new(&self.places, &self.limits);
        for update in self.doc.unmade_updates()? {
            merge.add(&update)?;
        }
        merge.finish()
    }
}

/// A state that updates are added to.
struct StateMerge<'d> {
    /// The items of the document.
    document: &'d ItemLists,
    limits: &'d GateLimits,
    /// The items of the updates so far.
    merged: ItemLists,
    clients: BTreeMap<ClientId, ClientStructs>,
}

/// The structs of one client, from clock 0 on.
#[derive(Default)]
struct ClientStructs {
    n_structs: u64,
    bytes: Vec<u8>,
    /// The last struct, which the next one may continue.
    open: Option<OpenStruct>,
}

/// Consecutive items of a struct.
struct StructPart<'a> {
    from: u32,
    end: u32,
    /// Their values, unless they are deleted.
    values: Option<&'a [u8]>,
}

/// The values of a log were checked when they were parsed.
const ANY: AnyLimits = AnyLimits { depth: usize::MAX, parts: usize::MAX };

/// A struct that may grow.
struct OpenStruct {
    kind: StructKind,
    /// The kind and the neighbors, as they are written.
    head: Vec<u8>,
    right: Option<ItemId>,
    last: ItemId,
    n_values: u64,
    values: Vec<u8>,
}

impl<'d> StateMerge<'d> {
    fn new(document: &'d ItemLists, limits: &'d GateLimits) -> Self {
        Self { document, limits, merged: ItemLists::default(), clients: BTreeMap::new() }
    }

    /// Adds an update; `None` if it is not integrated whole.
    fn add(&mut self, update: &[u8]) -> Option<()> {
        let parsed = parse(update, self.limits, false).ok()?;
        let question = ResolveRequest {
            places: &self.merged,
            role: DocRole::Main,
            limits: self.limits,
            ours: None,
            is_message: false,
        };
        let resolved = resolve(&question, &parsed).ok()?;
        if parsed.rewrite || !has_only_values(&parsed) || !resolved.is_plain() {
            return None;
        }
        let UpdateResolution { overlay, deletes, .. } = resolved;
        for segment in &overlay.order {
            let client = parsed.runs[segment.run].client;
            for item in &parsed.structs[segment.first..segment.end] {
                self.add_struct(client, &parsed, item)?;
            }
        }
        self.merged.commit(overlay);
        self.merged.delete(&deletes);
        Some(())
    }

    /// Adds a struct, its deleted values as a number.
    fn add_struct(
        &mut self,
        client: ClientId,
        parsed: &ParsedUpdate<'_>,
        item: &UpdateStruct<'_>,
    ) -> Option<()> {
        let structs = self.clients.entry(client).or_default();
        let end = item.clock + item.len;
        if item.kind != StructKind::Any {
            structs.add(client, parsed, item, StructPart { from: item.clock, end, values: None });
            return Some(());
        }
        let mut reader = Lib0Reader::at(parsed.bytes, item.content_at);
        reader.var_uint().ok()?;
        let mut skip = |n_values: u32| {
            let from = reader.position();
            for _ in 0..n_values {
                skip_any(&mut reader, ANY).ok()?;
            }
            Some(&parsed.bytes[from..reader.position()])
        };
        let mut from = item.clock;
        for living in self.document.living(IdRange { client, start: from, len: item.len }) {
            if living.start > from {
                skip(living.start - from)?;
                let part = StructPart { from, end: living.start, values: None };
                structs.add(client, parsed, item, part);
            }
            from = living.end();
            let values = Some(skip(living.len)?);
            let part = StructPart { from: living.start, end: from, values };
            structs.add(client, parsed, item, part);
        }
        if from < end {
            structs.add(client, parsed, item, StructPart { from, end, values: None });
        }
        Some(())
    }

    /// Returns the state, if it has all that the document has.
    fn finish(mut self) -> Option<Vec<u8>> {
        let mut known = self.document.clients.iter();
        let has_items = known.all(|(client, items)| self.merged.end(*client) >= items.end);
        if !has_items || !self.merged.covers(&self.document.deleted_ranges()) {
            return None;
        }
        self.clients.values_mut().for_each(ClientStructs::close);
        let n_bytes: usize = self.clients.values().map(|client| client.bytes.len() + 24).sum();
        let mut out = Vec::with_capacity(n_bytes);
        write_var_uint(&mut out, self.clients.len() as u64);
        // The greatest client first, as other implementations write them.
        while let Some((client, structs)) = self.clients.pop_last() {
            write_var_uint(&mut out, structs.n_structs);
            write_var_uint(&mut out, client.get());
            write_var_uint(&mut out, 0);
            out.extend_from_slice(&structs.bytes);
        }
        write_delete_set(&mut out, self.merged.deleted_ranges());
        Some(out)
    }
}

impl ClientStructs {
    /// Adds a part of a struct: to the last one, if it continues that.
    fn add(
        &mut self,
        client: ClientId,
        parsed: &ParsedUpdate<'_>,
        item: &UpdateStruct<'_>,
        part: StructPart<'_>,
    ) {
        let kind = match (item.kind, part.values) {
            (StructKind::Any, None) => StructKind::Deleted,
            (kind, _) => kind,
        };
        let is_first = part.from == item.clock;
        let is_joined = self.open.as_ref().is_some_and(|open| {
            let follows = !is_first || item.origin == Some(open.last);
            kind == open.kind && (kind == StructKind::Gc || follows && item.right == open.right)
        });
        if !is_joined {
            self.close();
            let mut head = Vec::new();
            write_links(&mut head, parsed, client, item, part.from, kind);
            let (right, last) = (item.right, ItemId::new(client, part.from));
            let (n_values, values) = (0, Vec::new());
            self.open = Some(OpenStruct { kind, head, right, last, n_values, values });
        }
        let open = self.open.as_mut().expect("it was just opened");
        open.last.clock = part.end - 1;
        open.n_values += u64::from(part.end - part.from);
        open.values.extend_from_slice(part.values.unwrap_or_default());
    }

    /// Writes the last struct.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        self.n_structs += 1;
        self.bytes.extend_from_slice(&open.head);
        write_var_uint(&mut self.bytes, open.n_values);
        self.bytes.extend_from_slice(&open.values);
    }
}

/// The updates of a document whose yrs document is still to be made, in order.
pub(super) type UnmadeUpdates<'a> = Box<dyn Iterator<Item = Cow<'a, [u8]>> + 'a>;
