//! The live content of a root: the content of its items at any depth.

use std::ops::Range;

use yrs::Any;

use super::{
    GateRejection, GatedDoc,
    item_lists::ItemLists,
    limits::GateLimits,
    parse::{StructKind, parse},
    struct_content::{has_content, shown, values},
    update_scan::IdRange,
};
use crate::{id::ItemId, lib0::as_number};

/// Content that is there and not deleted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LiveContent {
    /// The items.
    pub range: IdRange,
    /// The kind of the content.
    pub content: LivingContent,
    /// The content as text, as in [`ErasableItems`](super::ErasableItems).
    pub text: String,
}

/// The kind of live content.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LivingContent {
    /// Characters of a text.
    Characters,
    /// Values, marks or embedded objects, by the texts and numbers in them.
    Values(Vec<String>),
}

impl GatedDoc {
    /// Returns the live content of some roots, in order of the ids.
    ///
    /// # Errors
    ///
    /// If the document is poisoned.
    pub(crate) fn living_in(&self, roots: &[&str]) -> Result<Vec<LiveContent>, GateRejection> {
        self.health()?;
        let state = self.encode_state();
        let parsed = parse(&state, &GateLimits::default(), false)?;
        let roots = RootLists::new(&self.places, roots);
        let mut living = Vec::new();
        for run in &parsed.runs {
            for item in &parsed.structs[run.first..run.end] {
                let id = ItemId::new(run.client, item.clock);
                if !has_content(item.kind) || !roots.contains(id) {
                    continue;
                }
                let is_entry =
                    self.places.tag(id).is_some_and(super::item_lists::ListTag::is_entry);
                let whole = IdRange { client: run.client, start: item.clock, len: item.len };
                for range in self.places.living(whole) {
                    let part = range.start..range.end();
                    let content = if item.kind == StructKind::String && !is_entry {
                        LivingContent::Characters
                    } else {
                        let mut atoms = Vec::new();
                        for value in values(&parsed, item, &part)? {
                            atoms_of(&value, &mut atoms);
                        }
                        LivingContent::Values(atoms)
                    };
                    living.push(LiveContent { range, content, text: shown(&parsed, item, &part)? });
                }
            }
        }
        living.sort_by_key(|content| content.range);
        Ok(living)
    }
}

impl ItemLists {
    /// Reports whether some items of ranges are direct children of a root.
    pub(crate) fn has_direct_parts(&self, ranges: &[IdRange], root: &str) -> bool {
        let Some(root) = self.roots.get(root) else { return false };
        ranges.iter().any(|range| {
            let Some(client) = self.clients.get(&range.client) else { return false };
            let first = client.spans.partition_point(|(start, _)| *start <= range.start);
            let spans = client.spans[first.max(1) - 1..].iter();
            let mut spans = spans.take_while(|(start, _)| *start < range.end());
            spans.any(|(_, tag)| tag.place() == *root)
        })
    }

    /// Returns the parts of ranges whose items are in some roots.
    pub(crate) fn parts_in(&self, ranges: &[IdRange], roots: &[&str]) -> Vec<IdRange> {
        let roots = RootLists::new(self, roots);
        let mut parts = Vec::new();
        for range in ranges {
            let Some(client) = self.clients.get(&range.client) else { continue };
            let first = client.spans.partition_point(|(start, _)| *start <= range.start);
            for (index, (start, tag)) in client.spans.iter().enumerate().skip(first.max(1) - 1) {
                let end = client.spans.get(index + 1).map_or(client.end, |(next, _)| *next);
                let Range { start, end } = (*start).max(range.start)..end.min(range.end());
                if start >= range.end() {
                    break;
                }
                if start < end && roots.contains_list(tag.place()) {
                    parts.push(IdRange { client: range.client, start, len: end - start });
                }
            }
        }
        parts
    }
}

/// Collects the texts and numbers of a value. Recurses: the gate bounds how deep values nest.
pub(crate) fn atoms_of(value: &Any, atoms: &mut Vec<String>) {
    match value {
        Any::String(text) => atoms.push(text.to_string()),
        Any::Number(_) => atoms.extend(as_number(value).map(|number| number.to_string())),
        Any::Array(values) => values.iter().for_each(|value| atoms_of(value, atoms)),
        Any::Map(entries) => {
            for (key, value) in entries.iter() {
                atoms.push(key.clone());
                atoms_of(value, atoms);
            }
        }
        // No text is bytes, so no text can need them.
        Any::Buffer(_) => atoms.push("\0bytes".to_owned()),
        Any::Null | Any::Undefined | Any::Bool(_) => {}
    }
}

/// Some roots.
struct RootLists<'a> {
    places: &'a ItemLists,
    tops: Vec<u32>,
}

impl<'a> RootLists<'a> {
    fn new(places: &'a ItemLists, names: &[&str]) -> Self {
        let tops = names.iter().filter_map(|name| places.roots.get(*name).copied()).collect();
        Self { places, tops }
    }

    fn contains(&self, id: ItemId) -> bool {
        self.places.tag(id).is_some_and(|tag| self.contains_list(tag.place()))
    }

    fn contains_list(&self, place: u32) -> bool {
        self.tops.contains(&self.places.top_of(place))
    }
}
