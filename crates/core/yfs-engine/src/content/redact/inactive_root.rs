//! Content left in the inactive root after a conversion.
//!
//! A conversion leaves the root that it read unchanged: a comparison finds late writes by others
//! there. So text that was long deleted from the current root lives on there. A redaction deletes
//! the parts that the current text does not contain, piece by piece, and names the deleted items in
//! its record. Comparisons leave out items that a record names, in the old state and the new one:
//! so no peer treats the deletion as a user's edit, whichever updates it has.

use hashbrown::HashSet;
use yfs_markdown::tree::{AttributeValue, MarkdownNode, TreeElement};
use yrs::{ClientID, IdSet};

use super::{ContentError, ErasableContent, RedactionRecords, Version, roots_of_form, shown_at};
use crate::{
    content::{
        convert::ConversionHistory,
        diff::{diff_chars, utf16_len},
        item_sets::{to_ranges, to_set, up_to},
        item_spans::{ContentOrigin, characters},
        replica::ContentReplica,
        rich,
    },
    gate::{ErasableItems, GatedDoc, IdRange, LiveContent, LivingContent, atoms_of},
    kind::SchemaProfile,
    rich::to_any,
};

/// The content of a file, in the form of either root.
struct NeededContent {
    text: String,
    /// The text of the document that it is, each text on lines of its own.
    body: String,
    /// The values of elements, marks and memory.
    atoms: HashSet<String>,
}

impl NeededContent {
    fn new(text: String, profile: SchemaProfile) -> Self {
        let (document, memory) = rich::file_parts(&text, profile);
        let mut atoms = Vec::new();
        memory.values().for_each(|value| atoms_of(&value, &mut atoms));
        atoms_in(&document, &mut atoms);
        Self { text, body: text_by_lines(&document), atoms: atoms.into_iter().collect() }
    }

    /// Returns the items of a root whose content the file contains as well.
    fn of(&self, gate: &mut GatedDoc, is_rich: bool) -> Result<IdSet, ContentError> {
        let (said, origins) = characters(gate, is_rich);
        let mut kept = kept(&said, &origins, if is_rich { &self.body } else { &self.text });
        for LiveContent { range, content, .. } in gate.living_in(roots_of_form(is_rich))? {
            let LivingContent::Values(said) = content else { continue };
            if said.iter().all(|atom| self.atoms.contains(atom)) {
                kept.merge_with(to_set(&[range]));
            }
        }
        Ok(kept)
    }
}

/// A search for content that can be erased.
pub(in crate::content) struct ErasureScan<'a> {
    pub(in crate::content) replica: &'a mut ContentReplica,
    pub(in crate::content) conversions: &'a ConversionHistory,
    pub(in crate::content) redactions: &'a RedactionRecords,
    /// Whether rich text is current.
    pub(in crate::content) is_rich: bool,
    /// Whether late edits are to be merged, or words to be recorded.
    pub(in crate::content) needs_repair: bool,
}

impl ErasureScan<'_> {
    /// Returns all deleted content, or the part of it that a version held; and live content of the
    /// inactive root that the current text does not contain. `text` is the current text;
    /// `past` returns the readable past versions with their places in the timeline.
    pub(in crate::content) fn find(
        &mut self,
        version: Option<&Version>,
        text: String,
        past: impl FnOnce(&ContentReplica) -> Vec<(usize, Version)>,
    ) -> Result<ErasableContent, ContentError> {
        let mut ranges = self.replica.version().snapshot().delete_set.clone();
        let mut inactive = Vec::new();
        if ConversionHistory::is_begun(self.replica) {
            let profile = self.replica.gate.read(|txn| rich::profile_of(txn));
            let needed = NeededContent::new(text, profile);
            ranges.diff_with(&self.deletions_to_merge());
            ranges.diff_with(&self.items_to_compare_with(&needed)?);
            inactive = self.unneeded_items(&needed)?;
        }
        let mut held_by = Vec::new();
        if let Some(version) = version {
            self.replica.check_clocks(version)?;
            ranges = self.shown_at(&ranges, version);
            let (held, by) = self.find_stored_for_others(&ranges, version, past);
            ranges.diff_with(&held);
            held_by = by;
            let shown = inactive.iter().map(|content| content.range).collect::<Vec<_>>();
            let shown = to_ranges(&self.shown_at(&to_set(&shown), version));
            inactive = inactive.into_iter().flat_map(|content| content.parts(&shown)).collect();
        }
        let mut pieces = self.replica.gate.remains(&to_ranges(&ranges))?;
        let ranges = inactive.iter().map(|content| content.range).collect();
        pieces.extend(inactive);
        pieces.sort_by_key(|piece| piece.range);
        Ok(ErasableContent { pieces, blobs: Vec::new(), held_by, to_delete: ranges })
    }

    /// Returns live items of the inactive root that are not needed. Late edits are not among them.
    fn unneeded_items(
        &mut self,
        needed: &NeededContent,
    ) -> Result<Vec<ErasableItems>, ContentError> {
        let settlements = self.conversions.settlements(self.replica);
        let Some(sources) = settlements.sources() else { return Ok(Vec::new()) };
        let is_rich = !self.is_rich;
        let kept = needed.of(&mut self.replica.gate, is_rich)?;
        let mut unneeded = Vec::new();
        for LiveContent { range, text, .. } in
            self.replica.gate.living_in(roots_of_form(is_rich))?
        {
            let client = ClientID::new(range.client.get());
            // Items that one of the conversions did not know may still have to be merged.
            let known = sources.iter().map(|from| from.snapshot().state_map.get(&client)).min();
            let end = range.end().min(known.unwrap_or(0));
            if range.start < end {
                let known = to_set(&[IdRange { len: end - range.start, ..range }]);
                unneeded
                    .extend(ErasableItems { range, text }.parts(&to_ranges(&known.diff(&kept))));
            }
        }
        Ok(unneeded)
    }

    /// Returns items that conversions read and whose content the file still contains. Others may
    /// have to compare with them.
    fn items_to_compare_with(&self, needed: &NeededContent) -> Result<IdSet, ContentError> {
        let mut restated = IdSet::new();
        let settlements = self.conversions.settlements(self.replica);
        for (from, is_rich) in settlements.converted_states() {
            // A peer may have listed any version.
            let Ok(mut fork) = self.fork(&from) else { continue };
            restated.merge_with(needed.of(&mut fork, is_rich)?);
        }
        // What a settlement copied is copied again from the same items if a concurrent one wins.
        let comparison = self.conversions.comparison(self.replica, self.redactions.items());
        for state in comparison.states_to_settle_from() {
            let Ok(mut fork) = self.fork(&state) else { continue };
            for is_rich in [true, false] {
                restated.merge_with(needed.of(&mut fork, is_rich)?);
            }
        }
        Ok(restated)
    }

    /// Returns items that were deleted in the inactive root, and may have to be deleted from the
    /// content as well.
    fn deletions_to_merge(&self) -> IdSet {
        let mut unsettled = IdSet::new();
        if !self.needs_repair {
            return unsettled;
        }
        let comparison = self.conversions.comparison(self.replica, self.redactions.items());
        let settlements = self.conversions.settlements(self.replica);
        for from in settlements.sources().unwrap_or_default() {
            let deleted = &self.replica.version().snapshot().delete_set.clone();
            let since = up_to(&deleted.diff(&from.snapshot().delete_set), &from);
            let here = self
                .replica
                .gate
                .items()
                .parts_in(&to_ranges(&since), roots_of_form(!self.is_rich));
            unsettled.merge_with(to_set(&here));
        }
        unsettled.merge_with(comparison.unmerged_items());
        unsettled.diff_with(self.redactions.items());
        unsettled
    }

    /// Returns the items of the memory of rich text that other versions hold, if those versions are
    /// readable and hold none of the text to be erased; and the indexes of these versions.
    ///
    /// Costs the notes of the log for each version, if there is any such memory.
    fn find_stored_for_others(
        &self,
        erased: &IdSet,
        version: &Version,
        past: impl FnOnce(&ContentReplica) -> Vec<(usize, Version)>,
    ) -> (IdSet, Vec<usize>) {
        let memory = self
            .replica
            .gate
            .items()
            .parts_in(&to_ranges(erased), &[rich::FRONT_MATTER, rich::SOURCE]);
        let (memory, mut held, mut by) = (to_set(&memory), IdSet::new(), Vec::new());
        if memory.is_empty() {
            return (held, by);
        }
        let text = erased.diff(&memory);
        for (index, other) in past(self.replica) {
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

    fn shown_at(&self, items: &IdSet, version: &Version) -> IdSet {
        let settlements = self.conversions.settlements(self.replica);
        shown_at(self.replica, items, version, |version| settlements.was_rich_at(version))
    }

    /// Returns the document at a version without the content that was erased since.
    fn fork(&self, version: &Version) -> Result<GatedDoc, ContentError> {
        let whole = self.replica.without_redacted_items(version, self.redactions.items());
        self.replica.fork(&whole)
    }
}

/// Returns the items of text that stays when one text becomes another, and of whole lines that
/// occur elsewhere in it.
fn kept(said: &str, origins: &[(u32, ContentOrigin)], needed: &str) -> IdSet {
    let lines: HashSet<&str> = needed.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut gone: Vec<(u32, u32)> = Vec::new();
    for splice in diff_chars(said, needed) {
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
fn text_by_lines(document: &TreeElement) -> String {
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
