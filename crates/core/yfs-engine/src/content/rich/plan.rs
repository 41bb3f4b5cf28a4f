//! The least edit of a document: from the state that its writer had read to the new one, applied to
//! the current document.
//!
//! Blocks are paired, and only the differences inside a pair are changed. Each part is found again
//! by its item, so changes that others made since stay in place. Insertions by others are never
//! deleted: if a block is deleted while another client typed in it, the typed text stays.

use std::{ops::Range, sync::Arc};

use hashbrown::HashMap;
use yfs_markdown::{
    schema::{ElementContent, ElementPosition, SchemaProfile},
    tree::{AttributeValue, Attributes, MarkdownNode, TreeElement},
};
use yrs::{
    ReadTxn, Snapshot, Text as _, TransactionMut, Xml as _, XmlElementRef, XmlTextRef, types::Delta,
};

use super::{
    super::{
        diff::{TextComparison, utf16_len},
        rebase::{RunAlignment, TextLength, TextOverlap},
        typing_runs::{TypingRuns, typing_runs},
        version_alignment::align_with_version,
    },
    fingerprint,
    pair_children::{ChildAction, ChildFingerprint, align, grouped},
    text::{MarkedRichText, MarkedTextChange, SlotPair},
};
use crate::{
    gate::IdRange,
    id::{ClientId, ItemId},
    rich::{InsertParent, LiveChild, LiveElement, LiveText, NodeInserter, TextSlot, nodes, to_any},
};

/// The edits of a document.
pub(super) struct RichEditPlan {
    pub(super) inserter: NodeInserter,
    pub(super) deleted: Vec<IdRange>,
    pub(super) texts: Vec<(XmlTextRef, Vec<Delta<Arc<str>>>)>,
    pub(super) attributes: Vec<(XmlElementRef, String, Option<AttributeValue>)>,
    pub(super) overlaps: Vec<TextOverlap>,
    /// The blocks that the writer changed and others deleted.
    gone: Vec<ChildFingerprint>,
}

/// The alignment of the base with the current document.
pub(super) struct BaseAlignment<'a, 'doc> {
    pub(super) txn: &'a mut TransactionMut<'doc>,
    /// The version that the writer had read; `None` if that is the current one.
    pub(super) version: Option<&'a Snapshot>,
    pub(super) profile: SchemaProfile,
    /// Whether the edit copies text that others typed in another root, so that it must not come
    /// between the letters that one client typed in one go.
    pub(super) is_copy: bool,
    /// How texts are compared.
    pub(super) compare: TextComparison,
}

impl RichEditPlan {
    /// Makes an empty plan that begins with an item, or with the one behind if the log gets an
    /// entry first.
    pub(super) fn behind(next: ItemId, has_entry: bool) -> Self {
        Self::new(next.client, next.clock + u32::from(has_entry))
    }

    fn new(client: ClientId, clock: u32) -> Self {
        Self {
            inserter: NodeInserter::new(client, clock),
            deleted: Vec::new(),
            texts: Vec::new(),
            attributes: Vec::new(),
            overlaps: Vec::new(),
            gone: Vec::new(),
        }
    }

    /// Reports whether a block that the writer changed was deleted, and most of its words are in
    /// another block now: others made a heading of it, quoted it, or joined it with its neighbor.
    /// What the writer changed belongs there.
    pub(super) fn misses_its_block(&self, live: &[LiveChild]) -> bool {
        self.gone.iter().any(|block| block.lives_on_in(live))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.inserter.is_empty()
            && self.deleted.is_empty()
            && self.texts.is_empty()
            && self.attributes.is_empty()
    }

    /// Plans `new` in place of the children of the root.
    pub(super) fn document(
        &mut self,
        beside: &mut BaseAlignment<'_, '_>,
        base: &[LiveChild],
        live: &[LiveChild],
        new: &[MarkdownNode],
    ) {
        SiblingList { plan: self, beside, parent: InsertParent::Root, live, places: places(live) }
            .children(base, new);
    }

    /// Plans `new` in place of some of the neighboring children of the root that are in `live`.
    pub(super) fn blocks(
        &mut self,
        beside: &mut BaseAlignment<'_, '_>,
        live: &[LiveChild],
        changed: Range<usize>,
        new: &[MarkdownNode],
    ) {
        let level = SiblingList {
            plan: self,
            beside,
            parent: InsertParent::Root,
            live,
            places: places(live),
        };
        level.children_from(changed.start, &live[changed], new);
    }

    fn delete(&mut self, ids: impl Iterator<Item = ItemId>) {
        let ranges = ids.map(|id| IdRange { client: id.client, start: id.clock, len: 1 });
        self.deleted.extend(ranges);
    }

    fn attributes(&mut self, base: &LiveElement, live: &LiveElement, new: &TreeElement) {
        let mut set = |name: &str, value: Option<AttributeValue>| {
            self.attributes.push((live.handle.clone(), name.to_owned(), value));
        };
        let (before, here) = (ByName::new(&base.attributes), ByName::new(&live.attributes));
        for (name, value) in new.attributes.iter().filter(|(_, value)| !value.is_null()) {
            if before.get(name) != Some(value) && here.get(name) != Some(value) {
                set(name, Some(value.clone()));
            }
        }
        // Attributes that markdown knows but has no value for are removed; attributes unknown to
        // markdown stay.
        let wanted = ByName::new(&new.attributes);
        for (name, _) in &base.attributes {
            if wanted.get(name).is_some_and(AttributeValue::is_null) && here.get(name).is_some() {
                set(name, None);
            }
        }
    }
}

/// Attributes, indexed by name. A peer may give an element 100,000.
struct ByName<'a> {
    attributes: &'a Attributes,
    /// Empty if there are few.
    index: HashMap<&'a str, &'a AttributeValue>,
}

impl<'a> ByName<'a> {
    fn new(attributes: &'a Attributes) -> Self {
        let mut index = HashMap::new();
        if attributes.len() > 8 {
            // Of two with one name the first counts.
            let entries = attributes.iter().rev();
            index.extend(entries.map(|(name, value)| (name.as_str(), value)));
        }
        Self { attributes, index }
    }

    fn get(&self, name: &str) -> Option<&'a AttributeValue> {
        if self.index.is_empty() {
            return self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        }
        self.index.get(name).copied()
    }
}

/// Returns the place of each item among children.
fn places(live: &[LiveChild]) -> HashMap<ItemId, usize> {
    let places = live.iter().enumerate();
    places.flat_map(|(place, kid)| kid.ids().map(move |id| (id, place))).collect()
}

/// The children of one parent.
struct SiblingList<'a, 'b, 'c, 'doc> {
    plan: &'a mut RichEditPlan,
    beside: &'b mut BaseAlignment<'c, 'doc>,
    parent: InsertParent,
    live: &'a [LiveChild],
    places: HashMap<ItemId, usize>,
}

/// The place of the next child.
#[derive(Default)]
struct InsertCursor {
    /// The number of live children before it.
    at: usize,
    /// The last child that was inserted there.
    last: Option<ItemId>,
}

impl InsertCursor {
    fn go_to(&mut self, at: usize) {
        if at > self.at {
            *self = Self { at, last: None };
        }
    }
}

impl SiblingList<'_, '_, '_, '_> {
    fn children(self, base: &[LiveChild], new: &[MarkdownNode]) {
        self.children_from(0, base, new);
    }

    fn children_from(mut self, at: usize, base: &[LiveChild], new: &[MarkdownNode]) {
        let groups = grouped(new);
        let mut cursor = InsertCursor { at, last: None };
        let acts = align(base, &groups);
        let is_insert = |action: &ChildAction| matches!(action, ChildAction::Insert { .. });
        let n_last = acts.iter().rev().take_while(|action| is_insert(action)).count();
        for (index, act) in acts.iter().enumerate() {
            match *act {
                ChildAction::Keep { old, new } | ChildAction::Change { old, new } => {
                    match self.place_of(&base[old]) {
                        Some(place) => {
                            cursor.go_to(place + 1);
                            self.change(&base[old], place, groups[new]);
                        }
                        None if matches!(act, ChildAction::Change { .. }) => {
                            self.plan.gone.push(ChildFingerprint::of_kid(&base[old]));
                            self.overlap(&base[old], groups[new], "", true);
                            self.insert(&mut cursor, groups[new], false);
                        }
                        // Others deleted it, and the writer did not change it.
                        None => {}
                    }
                }
                ChildAction::Delete { old } => {
                    if let Some(place) = self.place_of(&base[old]) {
                        self.delete(&base[old], place);
                        cursor.go_to(place + 1);
                    }
                }
                ChildAction::Insert { new } => {
                    self.insert(&mut cursor, groups[new], index + n_last < acts.len());
                }
            }
        }
    }

    fn place_of(&self, base: &LiveChild) -> Option<usize> {
        base.ids().find_map(|id| self.places.get(&id).copied())
    }

    /// Inserts a child, unless others have inserted the same there.
    fn insert(&mut self, cursor: &mut InsertCursor, nodes: &[MarkdownNode], may_be_there: bool) {
        if may_be_there && self.beside.version.is_some() {
            let mut scratch = Vec::new();
            let wanted = fingerprint::of_nodes(nodes, &mut scratch);
            let here = self.live.get(cursor.at);
            if here.is_some_and(|kid| fingerprint::of_kid(kid, &mut scratch) == wanted) {
                return cursor.go_to(cursor.at + 1);
            }
        }
        let before = cursor.at.checked_sub(1).and_then(|at| self.live[at].ids().last());
        let right = self.live.get(cursor.at).and_then(|kid| kid.ids().next());
        let left = cursor.last.or(before);
        cursor.last = self.plan.inserter.insert(self.parent, left, right, nodes);
    }

    fn change(&mut self, base: &LiveChild, place: usize, new: &[MarkdownNode]) {
        match (base, &self.live[place], new) {
            (LiveChild::Element(base), LiveChild::Element(live), [MarkdownNode::Element(new)]) => {
                self.element(base, live, new);
            }
            (LiveChild::Text(base), LiveChild::Text(_), new) => self.text(base, new),
            _ => {}
        }
    }

    fn element(&mut self, base: &LiveElement, live: &LiveElement, new: &TreeElement) {
        self.plan.attributes(base, live, new);
        let level = SiblingList {
            plan: self.plan,
            beside: self.beside,
            parent: InsertParent::Element(live.id),
            live: &live.kids,
            places: places(&live.kids),
        };
        level.children(&base.kids, &new.children);
    }

    fn text(&mut self, base: &LiveText, new: &[MarkdownNode]) {
        let (old, new) = (MarkedRichText::new(&base.runs), MarkedRichText::new(new));
        let runs = self.beside.runs_of(base);
        let inside = |at: usize| {
            let around = runs.iter().find(|(slot, _)| slot.start < at && at < slot.end);
            around
                .is_some_and(|(slot, typing)| typing.goes_on(utf16_len(&old.text[slot.start..at])))
        };
        let change =
            MarkedTextChange::new(&old, &new, self.beside.profile, self.beside.compare, inside);
        let mut start = 0;
        for slot in &base.slots {
            let range = start..start + slot.text.len();
            start = range.end;
            let place = self.places.get(&slot.id).copied();
            let Some(live) = place.and_then(|place| slot_of(&self.live[place], slot.id)) else {
                for piece in change.inserted(&range) {
                    let text = new.text[piece].to_owned();
                    self.overlap_of(slot.text.clone(), text.clone(), String::new(), true);
                    self.insert_beside_deleted(base, text);
                }
                continue;
            };
            let beside = self.beside.runs(slot, live);
            let (text, others) = (live.text.as_str(), live.others.as_slice());
            let typing = self.beside.typing(slot, live);
            let pair = SlotPair { range, live: text, beside, others, typing };
            let edit = change.edit(&pair);
            self.plan.overlaps.extend(edit.overlaps);
            if edit.delta.iter().any(|delta| !matches!(delta, Delta::Retain(_, None))) {
                self.plan.texts.push((live.handle.clone(), edit.delta));
            }
        }
    }

    /// Inserts text whose `Y.XmlText` others deleted: behind the remains of the texts around it.
    fn insert_beside_deleted(&mut self, base: &LiveText, text: String) {
        let place = base.slots.iter().find_map(|slot| self.places.get(&slot.id).copied());
        let at = place.map_or(self.live.len(), |place| place + 1);
        let left = at.checked_sub(1).and_then(|at| self.live[at].ids().last());
        let right = self.live.get(at).and_then(|kid| kid.ids().next());
        self.plan.inserter.insert(
            self.parent,
            left,
            right,
            &[MarkdownNode::text(text, Vec::new())],
        );
    }

    /// Deletes a child, but keeps the text that others have inserted into it.
    fn delete(&mut self, base: &LiveChild, place: usize) {
        let live = &self.live[place];
        let is_only = self.live.len() == 1;
        if self.beside.version.is_none() || is_untouched(base, live) {
            return match (base, live) {
                // Editors empty the only text of a block; they are bound to it.
                (LiveChild::Text(text), _) if is_only => self.text(text, &[]),
                _ => self.plan.delete(live.ids()),
            };
        }
        if let (LiveChild::Element(base), LiveChild::Element(live)) = (base, live) {
            let theirs: String = texts_of(&live.kids);
            self.overlap_of(texts_of(&base.kids), String::new(), theirs, false);
        }
        self.empty(base, place);
    }

    /// Deletes the part of a child that the writer had read, and leaves the elements that must
    /// surround insertions by others: editors would delete an invalid element with all its content.
    fn empty(&mut self, base: &LiveChild, place: usize) {
        match (base, &self.live[place]) {
            (LiveChild::Element(base), LiveChild::Element(live)) => {
                let content = self.beside.profile.element(&live.name).map(|spec| spec.content);
                let mut level = SiblingList {
                    plan: self.plan,
                    beside: self.beside,
                    parent: InsertParent::Element(live.id),
                    live: &live.kids,
                    places: places(&live.kids),
                };
                let is_untouched = |kid: &LiveChild, place: Option<usize>| {
                    place.is_some_and(|place| is_untouched(kid, &live.kids[place]))
                };
                let n_touched =
                    base.kids.iter().filter(|kid| !is_untouched(kid, level.place_of(kid))).count();
                let may_go = |index: usize| match content {
                    // A child that others have changed stays.
                    Some(ElementContent::Blocks | ElementContent::Many(_)) => {
                        n_touched > 0 || index > 0
                    }
                    Some(ElementContent::ParagraphThenBlocks) => index > 0,
                    _ => false,
                };
                for (index, kid) in base.kids.iter().enumerate() {
                    let Some(place) = level.place_of(kid) else { continue };
                    let is_inline = matches!(kid, LiveChild::Text(_)) || level.is_inline(kid);
                    if is_inline || may_go(index) && is_untouched(kid, Some(place)) {
                        level.delete(kid, place);
                    } else {
                        level.empty(kid, place);
                    }
                }
            }
            (LiveChild::Text(text), _) => self.text(text, &[]),
            _ => {}
        }
    }

    fn is_inline(&self, kid: &LiveChild) -> bool {
        let LiveChild::Element(element) = kid else { return false };
        let spec = self.beside.profile.element(&element.name);
        spec.is_some_and(|spec| spec.place == ElementPosition::Inline)
    }

    fn overlap(
        &mut self,
        base: &LiveChild,
        new: &[MarkdownNode],
        theirs: &str,
        deleted_by_both: bool,
    ) {
        let mut inserted = String::new();
        plain_text(new, &mut inserted);
        let deleted = texts_of(std::slice::from_ref(base));
        self.overlap_of(deleted, inserted, theirs.to_owned(), deleted_by_both);
    }

    fn overlap_of(
        &mut self,
        deleted: String,
        inserted: String,
        theirs: String,
        deleted_by_both: bool,
    ) {
        self.plan.overlaps.push(TextOverlap { at: 0, deleted, inserted, theirs, deleted_by_both });
    }
}

impl BaseAlignment<'_, '_> {
    /// Returns the typing runs in each part of a text, in bytes of the text, if they matter.
    fn runs_of(&mut self, base: &LiveText) -> Vec<(Range<usize>, TypingRuns)> {
        if !self.is_copy {
            return Vec::new();
        }
        let mut start = 0;
        let runs = base.slots.iter().map(|slot| {
            let range = start..start + slot.text.len();
            start = range.end;
            (range, typing_runs(self.txn, &slot.handle))
        });
        runs.collect()
    }

    /// Returns the typing runs of a text that others changed.
    fn typing(&mut self, base: &TextSlot, live: &TextSlot) -> TypingRuns {
        match self.version.is_none() || base.text == live.text {
            true => TypingRuns::default(),
            false => typing_runs(self.txn, &live.handle),
        }
    }

    /// Aligns the old content of a text with its current content.
    fn runs(&mut self, base: &TextSlot, live: &TextSlot) -> RunAlignment {
        let whole = || RunAlignment::whole(TextLength::of(&base.text));
        let Some(version) = self.version.filter(|_| base.text != live.text) else { return whole() };
        let now = self.txn.snapshot();
        let (text, runs) = align_with_version(self.txn, &live.handle, &now, version);
        if text == base.text && runs.fit(&base.text, &live.text) {
            runs
        } else {
            RunAlignment::of_texts(&base.text, &live.text, self.compare)
        }
    }
}

impl RichEditPlan {
    /// Makes the edit; with a profile, every peer makes the same items.
    pub(super) fn make(
        self,
        txn: &mut TransactionMut<'_>,
        by_rule: Option<SchemaProfile>,
    ) -> Result<(), yrs::error::Error> {
        if !self.inserter.is_empty() || !self.deleted.is_empty() {
            let update = self.inserter.finish(self.deleted);
            let update = yrs::updates::decoder::Decode::decode_v1(&update)?;
            txn.apply_update(update)?;
        }
        for (text, delta) in self.texts {
            match by_rule {
                None => text.apply_delta(txn, delta),
                Some(profile) => super::text::apply_by_rule(txn, &text, delta, profile),
            }
        }
        for (element, name, value) in self.attributes {
            match value {
                Some(value) => drop(element.insert_attribute(txn, name, to_any(&value))),
                None => element.remove_attribute(txn, &name),
            }
        }
        Ok(())
    }
}

fn slot_of(kid: &LiveChild, id: ItemId) -> Option<&TextSlot> {
    let LiveChild::Text(text) = kid else { return None };
    text.slots.iter().find(|slot| slot.id == id)
}

fn is_untouched(base: &LiveChild, live: &LiveChild) -> bool {
    let mut scratch = Vec::new();
    let same_items = base.ids().eq(live.ids());
    same_items && fingerprint::of_kid(base, &mut scratch) == fingerprint::of_kid(live, &mut scratch)
}

fn texts_of(kids: &[LiveChild]) -> String {
    let mut text = String::new();
    plain_text(&nodes(kids), &mut text);
    text
}

fn plain_text(nodes: &[MarkdownNode], text: &mut String) {
    for node in nodes {
        match node {
            MarkdownNode::Text(run) => text.push_str(&run.text),
            MarkdownNode::Element(element) => plain_text(&element.children, text),
        }
    }
}
