//! The file of a document, kept from one change to the next: only the blocks that changed are read
//! and rendered again.
//!
//! Clocks and deletions of updates identify the changes, and each change belongs to one of the
//! children of the root. In unusual cases the whole document is read.

use std::{
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

use hashbrown::HashMap;
use yfs_markdown::{
    schema::SchemaProfile,
    source::{RenderedBlocks, SourceMap},
    tree::TreeElement,
    weight::weight,
};
use yrs::{BranchID, ID, ReadTxn, Xml as _, XmlElementRef, XmlFragment as _, XmlOut};

use super::{RichFile, RichMemory, SOURCE, evident_profile, file_of};
use crate::{
    content::{item_places::top_of, replica::ContentReplica, rich::FRONT_MATTER},
    gate::IdRange,
    id::{ClientId, ItemId},
    rich::{ROOT, element_id, glance, glance_at, into_nodes, item_of},
};

/// Files shorter than this are rendered whole, in bytes.
const MIN_LEN: usize = if cfg!(test) { 1 } else { 8 << 10 };

/// More blocks than this are not brought up to date one by one.
const MAX_CHANGED: usize = 256;

/// After failed tries, at most twice this many writes do not try to change a few blocks only.
const MAX_NOT_TRIED: u32 = 32;

/// The file as it was when it was last read.
#[derive(Debug, Default)]
pub(in crate::content) struct FileCache {
    inner: Mutex<BlockCacheInner>,
}

#[derive(Debug, Default)]
struct BlockCacheInner {
    cached: Option<CachedBlock>,
    /// The items that were deleted since.
    deleted: Vec<IdRange>,
    /// How often in a row a file was divided into blocks for a write that replaced the whole file.
    n_in_vain: u32,
    /// The number of writes since then that did not try.
    n_not_tried: u32,
    /// How often the whole document was read.
    #[cfg(test)]
    n_whole: u32,
    /// How often the whole document was compared with a new file.
    #[cfg(test)]
    n_whole_writes: u32,
}

#[derive(Debug)]
pub(super) struct CachedBlock {
    pub(super) rendered: RenderedBlocks,
    /// The children of the root, in order.
    ids: Vec<ItemId>,
    profile: SchemaProfile,
    pub(super) map: SourceMap,
    /// The front matter as it stands in the file.
    front: String,
    clocks: HashMap<ClientId, u32>,
    /// At least the [`weight`] of the file. A change adds its blocks.
    pub(super) most_weight: usize,
}

/// The children of the root that changed: their old places, and their new ones.
struct ChangedBlocks {
    old: Range<usize>,
    /// All children, if some were inserted or deleted.
    children: Option<(Vec<ItemId>, Vec<XmlElementRef>)>,
    /// One of the changed children, and its place.
    inside: Option<(usize, XmlElementRef)>,
}

impl FileCache {
    fn lock(&self) -> MutexGuard<'_, BlockCacheInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the file.
    pub(in crate::content) fn clear(&self) {
        let mut inner = self.lock();
        (inner.cached, inner.deleted) = (None, Vec::new());
    }

    /// Returns how often the whole document was read.
    #[cfg(test)]
    pub(in crate::content) fn n_whole(&self) -> u32 {
        self.lock().n_whole
    }

    /// Notes whether a write for which the file was divided into blocks changed a few of them only.
    pub(super) fn note_division(&self, was_of_use: bool) {
        let mut inner = self.lock();
        inner.n_not_tried = 0;
        inner.n_in_vain = if was_of_use { 0 } else { inner.n_in_vain.saturating_add(1) };
    }

    /// Reports whether to divide a file into blocks for a write. If that repeatedly brought
    /// nothing, most writes do not try.
    fn is_worth_dividing(&self) -> bool {
        let mut inner = self.lock();
        let is_worth = inner.n_not_tried >= inner.n_in_vain.min(MAX_NOT_TRIED) / 2;
        inner.n_not_tried += u32::from(!is_worth);
        is_worth
    }

    /// Returns how often the whole document was compared with a new file.
    #[cfg(test)]
    pub(in crate::content) fn n_whole_writes(&self) -> u32 {
        self.lock().n_whole_writes
    }

    /// Notes that the whole document is compared with a new file.
    #[cfg(test)]
    pub(super) fn note_whole_write(&self) {
        self.lock().n_whole_writes += 1;
    }

    /// Notes the deletions of an update.
    pub(in crate::content) fn note_deleted(&self, deleted: impl IntoIterator<Item = IdRange>) {
        let mut inner = self.lock();
        if inner.cached.is_some() {
            inner.deleted.extend(deleted);
        }
    }
}

impl FileCache {
    /// Reads the document as a file, from the cached one if possible.
    pub(super) fn read_file(&self, replica: &ContentReplica, profile: SchemaProfile) -> RichFile {
        let mut inner = self.lock();
        let (cached, deleted) = (inner.cached.take(), std::mem::take(&mut inner.deleted));
        if let Some(mut cached) = cached
            && cached.bring_up_to_date(replica, deleted, profile).is_some()
        {
            let file = cached.file();
            debug_assert!(
                !cfg!(test)
                    || file.text == replica.gate.read(|txn| super::read_file(txn, profile)).text,
                "the blocks are not the file"
            );
            inner.cached = Some(cached);
            return file;
        }
        let (file, cached) = replica.gate.read(|txn| read_whole(txn, profile));
        inner.cached = cached;
        #[cfg(test)]
        {
            inner.n_whole += 1;
        }
        file
    }

    /// Removes the file, block by block, from the cache, after bringing it up to date.
    pub(super) fn take(
        &self,
        replica: &ContentReplica,
        profile: SchemaProfile,
    ) -> Option<CachedBlock> {
        let mut inner = self.lock();
        let (cached, deleted) = (inner.cached.take(), std::mem::take(&mut inner.deleted));
        drop(inner);
        if let Some(mut cached) = cached
            && cached.bring_up_to_date(replica, deleted, profile).is_some()
        {
            return Some(cached);
        }
        None
    }

    /// Divides a known file into blocks without reading it again: after a write of the whole file
    /// it is the written text.
    pub(super) fn divide(
        &self,
        replica: &ContentReplica,
        file: &RichFile,
        profile: SchemaProfile,
    ) -> Option<CachedBlock> {
        if !file.is_exact || file.text.len() < MIN_LEN || !self.is_worth_dividing() {
            return None;
        }
        replica.gate.read(|txn| {
            let memory = RichMemory::read(txn);
            let (front, map) = (memory.front(), memory.source());
            let body = file.text.strip_prefix(&front)?;
            let kids = glance(txn, profile);
            let ids: Vec<ItemId> = kids.iter().map(element_id).collect::<Option<_>>()?;
            if evident_profile(&kids).is_some_and(|evident| evident != profile) {
                return None;
            }
            let document = TreeElement::new("doc").with_children(into_nodes(kids));
            let rendered = RenderedBlocks::of_text(&document, &map, profile, body)?;
            let (clocks, most_weight) = (clocks_of(txn), weight(&file.text));
            Some(CachedBlock { rendered, ids, profile, map, front, clocks, most_weight })
        })
    }

    /// Puts the file back into the cache.
    pub(super) fn keep(&self, cached: CachedBlock) {
        self.lock().cached = Some(cached);
    }
}

/// Reads the document as a file, and its blocks, if they are to be kept.
fn read_whole(txn: &impl ReadTxn, profile: SchemaProfile) -> (RichFile, Option<CachedBlock>) {
    let kids = glance(txn, profile);
    let evident = evident_profile(&kids).unwrap_or(profile);
    let ids: Option<Vec<ItemId>> = kids.iter().map(element_id).collect();
    let memory = RichMemory::read(txn);
    let nodes = into_nodes(kids);
    if let Some(ids) = ids.filter(|_| evident == profile && !nodes.is_empty()) {
        let document = TreeElement::new("doc").with_children(nodes);
        let map = memory.source();
        let front = memory.front();
        let rendered = RenderedBlocks::new(&document, &map, profile);
        if let Some(rendered) = rendered.filter(|rendered| rendered.text().len() >= MIN_LEN) {
            let clocks = clocks_of(txn);
            let most_weight = weight(&front) + weight(rendered.text()) + 1;
            let cached = CachedBlock { rendered, ids, profile, map, front, clocks, most_weight };
            return (cached.file(), Some(cached));
        }
        return (file_of(document.children, &memory, profile), None);
    }
    (file_of(nodes, &memory, evident), None)
}

fn clocks_of(txn: &impl ReadTxn) -> HashMap<ClientId, u32> {
    let clocks = txn.state_vector();
    let clocks = clocks
        .iter()
        .filter_map(|(client, clock)| Some((ClientId::new(client.get()).ok()?, *clock)));
    clocks.collect()
}

/// Returns the children of the root; `None` if one of them is no element.
fn children(txn: &impl ReadTxn) -> Option<(Vec<ItemId>, Vec<XmlElementRef>)> {
    let fragment = txn.get_xml_fragment(ROOT)?;
    let (mut ids, mut handles) = (Vec::new(), Vec::new());
    let Some(first) = fragment.first_child() else {
        return (fragment.len(txn) == 0).then_some((ids, handles));
    };
    // A step from sibling to sibling costs less than the `children` of yrs.
    let XmlOut::Element(first) = first else { return None };
    let behind: Vec<XmlOut> = first.siblings(txn).collect();
    for child in std::iter::once(XmlOut::Element(first)).chain(behind) {
        let XmlOut::Element(element) = child else { return None };
        ids.push(item_of(element.as_ref())?);
        handles.push(element);
    }
    #[cfg(test)]
    crate::steps::count(ids.len());
    // The list ends before a child that is no XML.
    (fragment.len(txn) as usize == ids.len()).then_some((ids, handles))
}

impl CachedBlock {
    /// Renders the changed blocks. Returns `None` if the whole document must be read.
    fn bring_up_to_date(
        &mut self,
        replica: &ContentReplica,
        mut changed: Vec<IdRange>,
        profile: SchemaProfile,
    ) -> Option<()> {
        if self.profile != profile {
            return None;
        }
        replica.gate.read(|txn| {
            let clocks = clocks_of(txn);
            for (client, end) in &clocks {
                let start = self.clocks.get(client).copied().unwrap_or(0);
                if start < *end {
                    changed.push(IdRange { client: *client, start, len: end - start });
                }
            }
            if !replica.gate.items().parts_in(&changed, &[SOURCE, FRONT_MATTER]).is_empty() {
                return None;
            }
            let parts = replica.gate.items().parts_in(&changed, &[ROOT]);
            if !parts.is_empty() {
                let have_children = replica.gate.items().has_direct_parts(&parts, ROOT);
                let changed = self.changed(txn, &parts, have_children)?;
                self.replace(txn, changed)?;
            }
            self.clocks = clocks;
            Some(())
        })
    }

    pub(super) fn front(&self) -> &str {
        &self.front
    }

    /// Returns some children of the root; `None` if they are not those that were read.
    pub(super) fn handles(
        &self,
        txn: &impl ReadTxn,
        range: Range<usize>,
    ) -> Option<Vec<XmlElementRef>> {
        let Some(id) = self.ids.get(range.start) else { return Some(Vec::new()) };
        let handles = siblings_at(txn, (range.start, element_at(txn, *id)?), range.clone())?;
        let ids = handles.iter().map(|handle| item_of(handle.as_ref()));
        ids.eq(self.ids[range].iter().map(|id| Some(*id))).then_some(handles)
    }

    /// Notes that the document has the blocks that were written: `window` now, where `n_old` were.
    /// Reports whether their number is right.
    pub(super) fn is_now(
        &mut self,
        txn: &impl ReadTxn,
        window: Range<usize>,
        n_old: usize,
    ) -> bool {
        let Some(ids) = self.ids_now(txn, window.clone()) else { return false };
        self.ids.splice(window.start..window.start + n_old, ids);
        self.clocks = clocks_of(txn);
        let len = txn.get_xml_fragment(ROOT).map_or(0, |root| root.len(txn) as usize);
        self.ids.len() == self.rendered.n_blocks() && self.ids.len() == len
    }

    /// Returns the children of the root in a range; the one before it did not change.
    fn ids_now(&self, txn: &impl ReadTxn, range: Range<usize>) -> Option<Vec<ItemId>> {
        let known = match range.start.checked_sub(1) {
            Some(before) => (before, element_at(txn, self.ids[before])?),
            None => match txn.get_xml_fragment(ROOT)?.first_child()? {
                XmlOut::Element(first) => (0, first),
                _ => return None,
            },
        };
        let found = siblings_at(txn, known.clone(), known.0..range.end)?;
        found[range.start - known.0..].iter().map(|child| item_of(child.as_ref())).collect()
    }

    /// Reports whether a text is the whole file.
    pub(super) fn is_file(&self, text: &str) -> bool {
        text.strip_prefix(&self.front) == Some(self.rendered.text())
    }

    pub(super) fn file(&self) -> RichFile {
        let text = [&self.front, self.rendered.text()].concat();
        RichFile { text, is_exact: self.rendered.is_exact() }
    }

    /// Finds the children of the root that contain some items; the items may be children
    /// themselves.
    fn changed(
        &self,
        txn: &impl ReadTxn,
        parts: &[IdRange],
        have_children: bool,
    ) -> Option<ChangedBlocks> {
        let mut dirty = HashMap::new();
        for part in parts {
            let top = top_of(txn, ItemId::new(part.client, part.start))?;
            dirty.extend(top.and_then(|top| Some((item_of(top.as_ref())?, top))));
        }
        if !have_children {
            return self.changed_inside(dirty);
        }
        let (ids, handles) = children(txn)?;
        let is_same = |(old, new): &(&ItemId, &ItemId)| old == new && !dirty.contains_key(*old);
        let n_before = self.ids.iter().zip(&ids).take_while(is_same).count();
        let n_left = self.ids.len().min(ids.len()) - n_before;
        let behind = self.ids.iter().rev().zip(ids.iter().rev()).take(n_left);
        let n_behind = behind.take_while(is_same).count();
        let old = n_before..self.ids.len() - n_behind;
        Some(ChangedBlocks { old, children: Some((ids, handles)), inside: None })
    }

    /// Finds children of the root that did not move.
    fn changed_inside(&self, mut dirty: HashMap<ItemId, XmlElementRef>) -> Option<ChangedBlocks> {
        let is_dirty = |id: &ItemId| dirty.contains_key(id);
        let Some(first) = self.ids.iter().position(is_dirty) else {
            // Items in none of them are in deleted blocks.
            return Some(ChangedBlocks { old: 0..0, children: None, inside: None });
        };
        let last = self.ids.iter().rposition(is_dirty)?;
        let inside = dirty.remove(&self.ids[first])?;
        Some(ChangedBlocks { old: first..last + 1, children: None, inside: Some((first, inside)) })
    }

    /// Reads and renders the children that changed.
    fn replace(&mut self, txn: &impl ReadTxn, changed: ChangedBlocks) -> Option<()> {
        let ChangedBlocks { old, children, inside } = changed;
        let n_now = children.as_ref().map_or(self.ids.len(), |(ids, _)| ids.len());
        let n_new = (old.len() + n_now).checked_sub(self.ids.len())?;
        if n_new > MAX_CHANGED || old.len() > MAX_CHANGED {
            return None;
        }
        if n_new > 0 || !old.is_empty() {
            let around = self.rendered.around(old.clone());
            let now = around.start..(around.end + n_now).checked_sub(self.ids.len())?;
            let handles = match (&children, inside) {
                (Some((_, handles)), _) => handles[now.clone()].to_vec(),
                (None, inside) => siblings_at(txn, inside?, now.clone())?,
            };
            let kids = glance_at(txn, &handles, self.profile);
            if kids.len() != now.len()
                || evident_profile(&kids).is_some_and(|evident| evident != self.profile)
                || !self.rendered.replace(&self.map, self.profile, old, into_nodes(kids))
            {
                return None;
            }
            self.most_weight += weight(&self.rendered.text()[self.rendered.part(now)]) + 1;
        }
        if let Some((ids, _)) = children {
            self.ids = ids;
        }
        Some(())
    }
}

/// Returns the element that begins at an item, without a walk over its siblings.
fn element_at(txn: &impl ReadTxn, id: ItemId) -> Option<XmlElementRef> {
    let id = ID::new(yrs::ClientID::new(id.client.get()), id.clock);
    match XmlOut::try_from(BranchID::Nested(id).get_branch(txn)?).ok()? {
        XmlOut::Element(element) => Some(element),
        _ => None,
    }
}

/// Returns the children of the root in a range that contains a known one.
fn siblings_at(
    txn: &impl ReadTxn,
    (at, known): (usize, XmlElementRef),
    range: Range<usize>,
) -> Option<Vec<XmlElementRef>> {
    let element = |sibling: XmlOut| match sibling {
        XmlOut::Element(element) => Some(element),
        _ => None,
    };
    let n_before = at.checked_sub(range.start)?;
    #[cfg(test)]
    crate::steps::count(range.len());
    let mut before: Vec<_> =
        known.siblings(txn).rev().take(n_before).map(element).collect::<Option<_>>()?;
    before.reverse();
    let behind: Vec<_> = known
        .siblings(txn)
        .take(range.end.checked_sub(at + 1)?)
        .map(element)
        .collect::<Option<_>>()?;
    before.push(known);
    before.extend(behind);
    (before.len() == range.len()).then_some(before)
}
