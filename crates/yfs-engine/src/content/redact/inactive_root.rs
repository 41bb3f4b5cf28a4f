//! Content left in the inactive root after a conversion.
//!
//! A conversion leaves the root that it read unchanged: a comparison finds late writes by others
//! there. So text that was long deleted from the current root lives on there. A redaction deletes
//! the parts that the current text does not contain, piece by piece, and names the deleted items in
//! its record. Comparisons leave out items that a record names, in the old state and the new one:
//! so no peer treats the deletion as a user's edit, whichever updates it has.

use hashbrown::HashSet;
use yfs_markdown::tree::{AttributeValue, MarkdownNode, TreeElement};
use yrs::{ClientID, IdSet, Snapshot};

use super::{ContentDoc, ContentError, Version, to_ranges, to_set, up_to};
use crate::{
    content::{
        TEXT,
        diff::{diff, utf16_len},
        item_spans::characters,
        rich,
    },
    gate::{ErasableItems, GatedDoc, IdRange, LiveContent, LivingContent, atoms_of},
    id::ItemId,
    kind::{ContentRoot, SchemaProfile},
    rich::{ROOT, to_any},
};

/// The roots of rich text.
const RICH_ROOTS: &[&str] = &[ROOT, rich::FRONT_MATTER, rich::SOURCE];

/// The origin of a stretch of text: its first item, and the number of items.
pub(in crate::content) type Origin = (ItemId, u32);

/// The content of a file, in the form of either root.
pub(super) struct NeededContent {
    text: String,
    /// The text of the document that it is, each text on lines of its own.
    body: String,
    /// The values of elements, marks and memory.
    atoms: HashSet<String>,
}

impl NeededContent {
    pub(super) fn new(text: String, profile: SchemaProfile) -> Self {
        let (document, memory) = rich::file_parts(&text, profile);
        let mut atoms = Vec::new();
        memory.values().for_each(|value| atoms_of(&value, &mut atoms));
        atoms_in(&document, &mut atoms);
        Self { text, body: said_by(&document), atoms: atoms.into_iter().collect() }
    }

    /// Returns the items of a root whose content the file contains as well.
    fn of(&self, gate: &mut GatedDoc, is_rich: bool) -> Result<IdSet, ContentError> {
        let (said, origins) = characters(gate, is_rich);
        let mut kept = kept(&said, &origins, if is_rich { &self.body } else { &self.text });
        for LiveContent { range, content, .. } in gate.living_in(roots(is_rich))? {
            let LivingContent::Values(said) = content else { continue };
            if said.iter().all(|atom| self.atoms.contains(atom)) {
                kept.merge_with(to_set(&[range]));
            }
        }
        Ok(kept)
    }
}

impl ContentDoc {
    /// Returns live items of the inactive root that are not needed. Late work is not among them.
    pub(super) fn idle(
        &mut self,
        needed: &NeededContent,
    ) -> Result<Vec<ErasableItems>, ContentError> {
        let Some(sources) = self.sources() else { return Ok(Vec::new()) };
        let is_rich = !matches!(self.held(), ContentRoot::Rich(_));
        let kept = needed.of(&mut self.gate, is_rich)?;
        let mut idle = Vec::new();
        for LiveContent { range, text, .. } in self.gate.living_in(roots(is_rich))? {
            let client = ClientID::new(range.client.get());
            // Items that one of the conversions did not know may be work that is still to be
            // merged.
            let known = sources.iter().map(|from| from.snapshot().state_map.get(&client)).min();
            let end = range.end().min(known.unwrap_or(0));
            if range.start < end {
                let known = to_set(&[IdRange { len: end - range.start, ..range }]);
                idle.extend(ErasableItems { range, text }.parts(&to_ranges(&known.diff(&kept))));
            }
        }
        Ok(idle)
    }

    /// Returns items that conversions read and whose content the file still contains. Others may
    /// have to compare with them.
    pub(super) fn restated(&self, needed: &NeededContent) -> Result<IdSet, ContentError> {
        let mut restated = IdSet::new();
        for (from, is_rich) in self.bodies() {
            // A peer may have listed any version.
            let Ok(mut fork) = self.fork_of(&self.masked(&from)) else { continue };
            restated.merge_with(needed.of(&mut fork, is_rich)?);
        }
        // What a settlement copied is copied again from the same items if a rival of it stands.
        for state in self.states_to_settle_from() {
            let Ok(mut fork) = self.fork_of(&self.masked(&state)) else { continue };
            for is_rich in [true, false] {
                restated.merge_with(needed.of(&mut fork, is_rich)?);
            }
        }
        Ok(restated)
    }

    /// Returns items that were deleted in the inactive root, and may have to be deleted from the
    /// content as well.
    pub(super) fn unsettled(&self) -> IdSet {
        let mut unsettled = IdSet::new();
        if !self.was_converted() || !self.needs_repair() {
            return unsettled;
        }
        let is_rich = matches!(self.held(), ContentRoot::Rich(_));
        for from in self.sources().unwrap_or_default() {
            let deleted = &self.version().snapshot().delete_set.clone();
            let since = up_to(&deleted.diff(&from.snapshot().delete_set), &from);
            let here = self.gate.parts_in(&to_ranges(&since), roots(!is_rich));
            unsettled.merge_with(to_set(&here));
        }
        unsettled.merge_with(self.unmerged());
        unsettled.diff_with(&self.redactions.all);
        unsettled
    }

    /// Returns the items of the memory of rich text that other versions hold, if those versions are
    /// readable and hold none of the text to be erased; and the indexes of these versions.
    ///
    /// Costs the notes of the log for each version, if there is any such memory.
    pub(super) fn find_remembered_elsewhere(
        &self,
        erased: &IdSet,
        version: &Version,
    ) -> (IdSet, Vec<usize>) {
        let memory = self.gate.parts_in(&to_ranges(erased), &[rich::FRONT_MATTER, rich::SOURCE]);
        let (memory, mut held, mut by) = (to_set(&memory), IdSet::new(), Vec::new());
        if memory.is_empty() {
            return (held, by);
        }
        let text = erased.diff(&memory);
        for (index, past) in self.timeline().iter().enumerate() {
            let Some(other) = self.past(index).filter(|_| !past.current && !past.redacted) else {
                continue;
            };
            if other == *version || !self.shown_at(&text, &other).is_empty() {
                continue;
            }
            let here = self.shown_at(&memory, &other);
            if !here.is_empty() {
                held.merge_with(here);
                by.push(index);
            }
        }
        (held, by)
    }

    /// Returns those items that are part of the visible state of a version.
    pub(super) fn shown_at(&self, items: &IdSet, version: &Version) -> IdSet {
        let mut shown = up_to(&items.diff(&version.snapshot().delete_set), version);
        if let Some(is_rich) = self.was_rich_at(version).filter(|_| !shown.is_empty()) {
            let hidden = self.gate.parts_in(&to_ranges(&shown), roots(!is_rich));
            shown.diff_with(&to_set(&hidden));
        }
        shown
    }

    /// Returns the items that lived in a root at a version, those of its types included.
    pub(in crate::content) fn living_at(&self, version: &Version, is_rich: bool) -> IdSet {
        let mut all = IdSet::new();
        for (client, clock) in version.clocks() {
            all.range_mut(ClientID::new(client.get())).insert(0..clock);
        }
        all.diff_with(&version.snapshot().delete_set);
        to_set(&self.gate.parts_in(&to_ranges(&all), if is_rich { &[ROOT] } else { &[TEXT] }))
    }

    /// Returns a version without the content that was erased since.
    pub(in crate::content) fn masked(&self, version: &Version) -> Version {
        if self.redactions.all.is_empty() {
            return version.clone();
        }
        let erased = self.gate.deleted_among(&to_ranges(&self.redactions.all));
        let mut deleted = version.snapshot().delete_set.clone();
        deleted.merge_with(up_to(&to_set(&erased), version));
        Version::noted(Snapshot::new(version.snapshot().state_map.clone(), deleted))
    }
}

fn roots(are_rich: bool) -> &'static [&'static str] {
    if are_rich { RICH_ROOTS } else { &[TEXT] }
}

/// Returns the items of text that stays when one text becomes another, and of whole lines that
/// occur elsewhere in it.
fn kept(said: &str, origins: &[(u32, Origin)], needed: &str) -> IdSet {
    let lines: HashSet<&str> = needed.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut gone: Vec<(u32, u32)> = Vec::new();
    for splice in diff(said, needed) {
        let (mut at, mut byte) = (splice.at, splice.old.start);
        for part in said[splice.old.clone()].split_inclusive('\n') {
            let (len, end) = (utf16_len(part), byte + part.len());
            let is_begun = byte > 0 && !said[..byte].ends_with('\n');
            let is_ended = part.ends_with('\n') || end == said.len();
            let line = part.strip_suffix('\n').unwrap_or(part);
            // A line that was moved is one that the content needs.
            if is_begun || !is_ended || !lines.contains(line) {
                gone.push((at, at + len));
            }
            (at, byte) = (at + len, end);
        }
    }
    let mut kept = IdSet::new();
    for (at, (item, n_units)) in origins {
        let client = ClientID::new(item.client.get());
        let mut start = *at;
        let first = gone.partition_point(|(_, end)| *end <= *at);
        let here = gone[first..].iter().copied().take_while(|(from, _)| *from < at + n_units);
        for (from, to) in here.chain([(at + n_units, at + n_units)]) {
            if start < from {
                let clock = |unit: u32| item.clock + unit - at;
                kept.range_mut(client).insert(clock(start)..clock(from));
            }
            start = to.min(at + n_units).max(start);
        }
    }
    kept
}

/// Returns the text of a document, each text that stands alone on lines of its own.
fn said_by(document: &TreeElement) -> String {
    let mut said = String::new();
    let mut is_text = false;
    let mut waiting: Vec<&MarkdownNode> = document.children.iter().rev().collect();
    while let Some(node) = waiting.pop() {
        let was_text = std::mem::replace(&mut is_text, matches!(node, MarkdownNode::Text(_)));
        match node {
            MarkdownNode::Text(run) => said.push_str(&run.text),
            MarkdownNode::Element(element) => waiting.extend(element.children.iter().rev()),
        }
        if was_text && !is_text {
            said.push('\n');
        }
    }
    said
}

/// Collects the texts and numbers in attributes of elements and marks of a document.
fn atoms_in(document: &TreeElement, atoms: &mut Vec<String>) {
    let mut waiting: Vec<&TreeElement> = vec![document];
    let mut say = |value: &AttributeValue| atoms_of(&to_any(value), atoms);
    while let Some(element) = waiting.pop() {
        element.attributes.iter().for_each(|(_, value)| say(value));
        let marks = |node: &MarkdownNode| match node {
            MarkdownNode::Text(run) => run.marks.clone(),
            MarkdownNode::Element(_) => Vec::new(),
        };
        for mark in element.children.iter().flat_map(marks).chain(element.marks.clone()) {
            say(&AttributeValue::Object(mark.attributes));
        }
        waiting.extend(element.children.iter().filter_map(|node| match node {
            MarkdownNode::Element(element) => Some(element),
            MarkdownNode::Text(_) => None,
        }));
    }
}
