//! The parts of a file's bytes that its document cannot express: the source of its leaves, and its
//! front matter.
//!
//! Root `Y.Map("markdown-source")` holds the former entry by entry and, under [`FRONT`], the text
//! of the front matter as a template. Root `Y.Map("frontmatter")` holds the entries of the front
//! matter and takes precedence over the template. So do the lines of properties that it cannot
//! hold, which have keys of their own: two writers who change two properties both keep theirs.

use std::collections::BTreeMap;

use smol_str::SmolStr;
use yfs_markdown::{
    front_matter::{self, Entries, FrontMatter, are_property_lines, same_value},
    source::SourceMap,
    tree::AttributeValue,
};
use yrs::{Any, Map, MapRef, Out, ReadTxn, TransactionMut, WriteTxn};

use crate::rich::{NodeInserter, to_any, to_value};

/// The root that holds the source.
pub(in crate::content) const SOURCE: &str = "markdown-source";
/// The root that holds the entries of front matter.
pub(in crate::content) const FRONT_MATTER: &str = "frontmatter";
/// The key of the front matter's text among the source.
const FRONT: &str = "front";
/// What the keys of properties that no map can hold begin with.
const LINES: &str = "y:";
/// Stands in the head of a template whose other properties have keys of their own.
const IN_PARTS: &str = " parts";

/// The stored source and front matter of a file.
#[derive(Debug, Default, Clone, PartialEq)]
pub(in crate::content) struct RichMemory {
    /// All entries of the source, the template included.
    source: BTreeMap<String, String>,
    /// The entries of the front matter, in order of key.
    entries: Entries,
}

/// The values to write, or `None` for keys to delete.
#[derive(Debug, Default, PartialEq)]
pub(in crate::content) struct MemoryEdit {
    source: Vec<(String, Option<String>)>,
    entries: Vec<(SmolStr, Option<AttributeValue>)>,
}

impl RichMemory {
    /// Reads the memory of a document.
    pub(in crate::content) fn read(txn: &impl ReadTxn) -> Self {
        let mut source = BTreeMap::new();
        if let Some(map) = txn.get_map(SOURCE) {
            for (key, value) in map.iter(txn) {
                if let Out::Any(Any::String(text)) = value {
                    source.insert(key.to_owned(), text.to_string());
                }
            }
        }
        let map = txn.get_map(FRONT_MATTER);
        let Self { entries, .. } =
            map.map(|map| Self::of_front_matter(txn, &map)).unwrap_or_default();
        Self { source, entries }
    }

    /// Reads the entries of a map that holds front matter.
    pub(in crate::content) fn of_front_matter(txn: &impl ReadTxn, map: &MapRef) -> Self {
        let mut entries = Entries::new();
        for (key, value) in map.iter(txn) {
            // A shared type that another application put there is kept but not read.
            let Out::Any(value) = value else { continue };
            if value != Any::Undefined {
                entries.push((key.into(), to_value(&value)));
            }
        }
        entries.sort_by(|(left, _), (right, _)| left.cmp(right));
        Self { source: BTreeMap::new(), entries }
    }

    /// Makes the memory of a file.
    pub(super) fn new(front: Option<FrontMatter<'_>>, map: &SourceMap) -> Self {
        let mut source = map.entries();
        let mut entries = Entries::new();
        if let Some(front) = front {
            let parts = front.parts();
            source.insert(FRONT.to_owned(), template(front, !parts.lines.is_empty()));
            let lines = parts.lines.into_iter();
            source.extend(lines.map(|(name, text)| ([LINES, name.as_str()].concat(), text)));
            entries = parts.entries;
        }
        entries.sort_by(|(left, _), (right, _)| left.cmp(right));
        Self { source, entries }
    }

    /// Returns all values.
    pub(in crate::content) fn values(&self) -> impl Iterator<Item = Any> {
        let source = self.source.values().map(|text| Any::from(text.as_str()));
        source.chain(self.entries.iter().map(|(_, value)| to_any(value)))
    }

    /// Returns the memory of the text without the front matter.
    pub(in crate::content) fn without_front(mut self) -> Self {
        self.source.retain(|key, _| key != FRONT && !key.starts_with(LINES));
        self.entries.clear();
        self
    }

    /// Returns the source of the leaves.
    pub(super) fn source(&self) -> SourceMap {
        let leaves = self.source.iter().filter(|(key, _)| *key != FRONT);
        SourceMap::from_entries(leaves.map(|(key, value)| (key.as_str(), value.as_str())))
    }

    /// Returns the front matter as it stands in the file.
    pub(super) fn front(&self) -> String {
        let lines: BTreeMap<String, String> = self
            .source
            .iter()
            .filter(|(_, text)| are_property_lines(text))
            .filter_map(|(key, text)| Some((key.strip_prefix(LINES)?.to_owned(), text.clone())))
            .collect();
        if let Some((front, is_in_parts)) = self.source.get(FRONT).and_then(|text| front_of(text)) {
            // The lines of another writer may be there without a template of theirs.
            let has_lines = is_in_parts || !lines.is_empty();
            let yaml = front.patched(&self.entries, Some(&lines).filter(|_| has_lines));
            return [front.open, &yaml, front.close].concat();
        }
        if self.entries.is_empty() && lines.is_empty() {
            return String::new();
        }
        let lines: String = lines.into_values().collect();
        ["---\n", &front_matter::write(&self.entries), &lines, "---\n"].concat()
    }

    /// Returns the edit that turns this memory into `new`.
    pub(in crate::content) fn edit_to(&self, new: &Self) -> MemoryEdit {
        let gone = self.source.keys().filter(|key| !new.source.contains_key(*key));
        let come = new.source.iter().filter(|(key, value)| self.source.get(*key) != Some(*value));
        let source = gone
            .map(|key| (key.clone(), None))
            .chain(come.map(|(key, value)| (key.clone(), Some(value.clone()))));
        MemoryEdit {
            source: source.collect(),
            entries: changed_entries(&self.entries, &new.entries),
        }
    }

    /// Returns the part of an edit that is still to be made; values that both sides changed are
    /// merged member by member.
    pub(super) fn still_to_do(&self, base: &Self, edit: MemoryEdit) -> MemoryEdit {
        let mut source = edit.source;
        source.retain(|(key, value)| self.source.get(key) != value.as_ref());
        let entries = edit.entries.into_iter().filter_map(|(key, value)| {
            let (here, before) = (find(&self.entries, &key), find(&base.entries, &key));
            let value = match (value, here, before) {
                (Some(new), Some(here), Some(before)) => Some(merge(before, here, new)),
                (value, ..) => value,
            };
            let is_done = match (&value, here) {
                (Some(value), Some(here)) => same_value(value, here),
                (None, None) => true,
                _ => false,
            };
            (!is_done).then_some((key, value))
        });
        MemoryEdit { source, entries: entries.collect() }
    }
}

impl MemoryEdit {
    pub(super) fn is_empty(&self) -> bool {
        self.source.is_empty() && self.entries.is_empty()
    }

    /// Writes the memory of a document that has none.
    pub(super) fn begin(&self, inserter: &mut NodeInserter) {
        for (key, value) in &self.source {
            value.iter().for_each(|text| inserter.text_entry_of(SOURCE, key, text));
        }
        for (key, value) in &self.entries {
            value.iter().for_each(|value| inserter.entry_of(FRONT_MATTER, key, value));
        }
    }

    pub(in crate::content) fn make(self, txn: &mut TransactionMut<'_>) {
        let set =
            |map: &MapRef, txn: &mut TransactionMut<'_>, key: &str, value: Option<Any>| match value
            {
                Some(value) => drop(map.insert(txn, key, value)),
                None => drop(map.remove(txn, key)),
            };
        if !self.source.is_empty() {
            let map = txn.get_or_insert_map(SOURCE);
            for (key, value) in self.source {
                set(&map, txn, &key, value.map(|text| Any::String(text.into())));
            }
        }
        if !self.entries.is_empty() {
            let map = txn.get_or_insert_map(FRONT_MATTER);
            for (key, value) in self.entries {
                set(&map, txn, &key, value.as_ref().map(to_any));
            }
        }
    }
}

fn find<'a>(entries: &'a Entries, key: &str) -> Option<&'a AttributeValue> {
    let found = entries.binary_search_by(|(entry_key, _)| entry_key.as_str().cmp(key)).ok()?;
    Some(&entries[found].1)
}

fn changed_entries(old: &Entries, new: &Entries) -> Vec<(SmolStr, Option<AttributeValue>)> {
    let gone = old.iter().filter(|(key, _)| find(new, key).is_none());
    let come = new
        .iter()
        .filter(|(key, value)| find(old, key).is_none_or(|before| !same_value(before, value)));
    let gone = gone.map(|(key, _)| (key.clone(), None));
    gone.chain(come.map(|(key, value)| (key.clone(), Some(value.clone())))).collect()
}

/// Merges a value that two writers changed: mappings member by member, otherwise the writer's value
/// wins. Recurses: values are of bounded depth.
fn merge(base: &AttributeValue, here: &AttributeValue, new: AttributeValue) -> AttributeValue {
    let (AttributeValue::Object(before), AttributeValue::Object(here), AttributeValue::Object(_)) =
        (base, here, &new)
    else {
        return new;
    };
    let AttributeValue::Object(new) = new else { return new };
    let find = |entries: &[(SmolStr, AttributeValue)], key: &str| {
        entries.iter().find(|(entry_key, _)| entry_key == key).map(|(_, value)| value.clone())
    };
    let mut merged = Vec::with_capacity(new.len());
    for (key, value) in new {
        match (find(before, &key), find(here, &key)) {
            (Some(before), Some(here)) if same_value(&before, &value) => merged.push((key, here)),
            (Some(before), Some(here)) => merged.push((key, merge(&before, &here, value))),
            (Some(before), None) if same_value(&before, &value) => {}
            _ => merged.push((key, value)),
        }
    }
    let theirs = here.iter().filter(|(key, _)| {
        find(before, key).is_none() && merged.iter().all(|(merged_key, _)| merged_key != key)
    });
    let theirs: Vec<_> = theirs.cloned().collect();
    merged.extend(theirs);
    AttributeValue::Object(merged)
}

/// The lengths of the fences in bytes, and whether other properties are apart; then the text.
fn template(front: FrontMatter<'_>, is_in_parts: bool) -> String {
    let FrontMatter { open, yaml, close } = front;
    let parts = if is_in_parts { IN_PARTS } else { "" };
    format!("{} {}{parts}\n{open}{yaml}{close}", open.len(), close.len())
}

/// Parses a template from an untrusted document.
fn front_of(template: &str) -> Option<(FrontMatter<'_>, bool)> {
    let (head, text) = template.split_once('\n')?;
    let lengths = head.strip_suffix(IN_PARTS).unwrap_or(head);
    let (n_open, n_close) = lengths.split_once(' ')?;
    let (n_open, n_close): (usize, usize) = (n_open.parse().ok()?, n_close.parse().ok()?);
    let (open, rest) = text.split_at_checked(n_open)?;
    let (yaml, close) = rest.split_at_checked(rest.len().checked_sub(n_close)?)?;
    let whole = [open, yaml, close].concat();
    let split = front_matter::split(&whole);
    // A template that is no front matter would change the body of the document.
    (split.front? == FrontMatter { open, yaml, close } && split.body.is_empty())
        .then_some((FrontMatter { open, yaml, close }, lengths.len() < head.len()))
}
