//! Leaves without a memory that resemble a remembered one: they were edited, and keep the notation
//! of all that was not.
//!
//! The memory of a leaf is found by its content, so an edit loses it. The record is still there. It
//! is found again by its words, and is the *template* of the new leaf: character by character, what
//! both have keeps the bytes of the template, and so does the notation between two of these. What
//! is new is written as usual. The result is read back.
//!
//! # Invariants
//!
//! - The template of a leaf depends on the leaf and the memory alone; that of a row that ends with
//!   an empty cell also on the row before. So an edit of one leaf does not change how distant ones
//!   are written, and blocks can be written one by one.
//!
//! # Cost
//!
//! Finding a template costs the words of the leaf; writing by it, a few readings of leaf and
//! template.

mod alone;
mod atoms;
mod splice;
mod words;

use std::{
    collections::{HashMap, HashSet},
    sync::OnceLock,
};

use self::{alone::LeafReader, splice::rewritten, words::LeafWords};
use super::{SourceMap, SourceRecord, key::LeafKey};
use crate::{
    outline::TreeOutline,
    schema::SchemaProfile,
    tree::{MarkdownNode, TreeElement},
    write::emit::OutputLine,
};

/// The greatest number of records that are compared with a leaf.
const MAX_COMPARED: usize = 64;
/// The greatest number of records that are tried as its template.
const MAX_TRIED: usize = 3;
/// How much less similar a template of the same kind may be, in thousandths.
const MAX_LESS_SIMILAR: usize = 100;

/// The records that may be templates, by the words in them.
#[derive(Debug, Default)]
pub(super) struct TemplateIndex {
    records: Vec<IndexedRecord>,
    by_feature: HashMap<u64, Vec<u32>>,
    /// The records that know the leaf before, by what they know of it.
    by_hint: HashMap<u16, Vec<(LeafKey, usize)>>,
    /// The definitions of links by label in lower case.
    definitions: HashMap<String, String>,
}

#[derive(Debug)]
struct IndexedRecord {
    key: LeafKey,
    /// Its place among the records of the key.
    at: usize,
    words: LeafWords,
    /// The words as they are written, if these are others.
    written: Option<LeafWords>,
}

/// An index that is made on first use. It is no part of a memory's value.
#[derive(Debug, Default)]
pub(super) struct IndexCell(OnceLock<TemplateIndex>);

impl Clone for IndexCell {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for IndexCell {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for IndexCell {}

/// A leaf that has a template.
#[derive(Debug)]
pub(super) struct TemplateMatch<'a> {
    pub(super) record: &'a SourceRecord,
    /// The lines of the leaf.
    pub(super) lines: Vec<OutputLine>,
}

/// A record that a leaf is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimilarRecord {
    /// In thousandths.
    similarity: usize,
    key: LeafKey,
    /// Its place among the records of the key.
    at: usize,
}

impl SourceMap {
    /// Finds the records that a leaf is most like, the most similar first. Its template is one of
    /// these.
    pub(super) fn similar_records(
        &self,
        outline: &TreeOutline<'_>,
        leaf: usize,
    ) -> Vec<SimilarRecord> {
        if self.leaves.is_empty() || !self.style.has_templates {
            return Vec::new();
        }
        let element = outline.leaves[leaf].element;
        let found = self.template_index().similar(&LeafWords::new(&text_of(&element.children)));
        if !found.is_empty() || leaf == 0 || !ends_with_empty_cell(element) {
            return found;
        }
        let behind = self.template_index().behind(LeafKey::of(outline, leaf - 1));
        let similar =
            |(key, at): &(LeafKey, usize)| SimilarRecord { similarity: 0, key: *key, at: *at };
        behind.iter().take(MAX_TRIED).map(similar).collect()
    }

    /// Returns the records that stood behind a leaf, as far as they know.
    pub(super) fn records_behind(
        &self,
        before: LeafKey,
    ) -> impl Iterator<Item = (LeafKey, &SourceRecord)> {
        let behind = self.template_index().behind(before);
        behind.iter().filter_map(|(key, at)| Some((*key, self.leaves.get(key)?.get(*at)?)))
    }

    fn template_index(&self) -> &TemplateIndex {
        self.index.0.get_or_init(|| TemplateIndex::new(self))
    }

    /// Finds the template of a leaf among the records that it is like, and writes the leaf by it.
    pub(super) fn by_template<'a>(
        &'a self,
        outline: &TreeOutline<'_>,
        leaf: usize,
        profile: SchemaProfile,
        found: &[SimilarRecord],
    ) -> Option<TemplateMatch<'a>> {
        let best = found.first()?.similarity;
        let n_bytes = text_of(&outline.leaves[leaf].element.children).len();
        let reader = LeafReader::new(outline, leaf, profile, &self.template_index().definitions);
        let wanted = reader.canonical(self.style.care())?;
        let mut other = None;
        for SimilarRecord { similarity, key, at } in found {
            let record = self.leaves.get(key)?.get(*at)?;
            let lines = record.lines.as_deref()?;
            if record.len() > 256 + 16 * n_bytes {
                continue;
            }
            let Some(rewritten) = rewritten(&reader, lines, *key, &wanted) else { continue };
            let found = TemplateMatch { record, lines: rewritten.lines };
            // Of two that are as similar, the one of the same kind: a heading of the same level.
            if rewritten.is_framed && similarity + MAX_LESS_SIMILAR >= best {
                return Some(found);
            }
            other = other.or(Some(found));
        }
        other
    }
}

/// Reports whether a leaf is a row whose last cell says nothing, and may be none in the file.
pub(super) fn ends_with_empty_cell(leaf: &TreeElement) -> bool {
    let last = leaf.children.last().and_then(MarkdownNode::as_element);
    leaf.name == "table_row" && last.is_some_and(|cell| text_of(&cell.children).trim().is_empty())
}

fn text_of(nodes: &[MarkdownNode]) -> String {
    let mut text = String::new();
    push_text(nodes, &mut text);
    text
}

fn push_text(nodes: &[MarkdownNode], text: &mut String) {
    for node in nodes {
        match node {
            MarkdownNode::Text(run) => text.push_str(&run.text),
            MarkdownNode::Element(element) => {
                for name in ["alt", "value", "label"] {
                    text.push(' ');
                    text.push_str(element.text_attribute(name));
                }
                text.push(' ');
                push_text(&element.children, text);
                text.push(' ');
            }
        }
    }
}

impl TemplateIndex {
    fn new(map: &SourceMap) -> Self {
        let mut index = Self::default();
        for (key, records) in &map.leaves {
            for (at, record) in records.iter().enumerate() {
                if record.hint > 0 && records.len() == 1 {
                    index.by_hint.entry(record.hint).or_default().push((*key, at));
                }
                let Some(lines) = &record.lines else { continue };
                let lines: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
                let (words, written) = LeafWords::of_source(&lines.join("\n"));
                let number = index.records.len() as u32;
                let of_written = written.iter().flat_map(LeafWords::features);
                let features: HashSet<u64> =
                    words.features().into_iter().chain(of_written).collect();
                for feature in features {
                    index.by_feature.entry(feature).or_default().push(number);
                }
                index.records.push(IndexedRecord { key: *key, at, words, written });
            }
        }
        let lines = map.gaps.values().flatten().filter_map(|record| record.lines.as_deref());
        let mut label = None;
        for line in lines.flatten() {
            let line = line.text.trim_start_matches([' ', '\t', '>']);
            let defined = line.strip_prefix('[').and_then(|line| line.split_once("]:"));
            if let Some((name, _)) = defined {
                label = Some(name.to_lowercase());
            }
            if let Some(label) = &label {
                let text = index.definitions.entry(label.clone()).or_default();
                text.push_str(line);
                text.push('\n');
            }
        }
        index
    }

    fn behind(&self, before: LeafKey) -> &[(LeafKey, usize)] {
        self.by_hint.get(&before.hint()).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the records that are most like some words, the most similar first.
    fn similar(&self, words: &LeafWords) -> Vec<SimilarRecord> {
        let mut lists: Vec<&Vec<u32>> =
            words.features().iter().filter_map(|feature| self.by_feature.get(feature)).collect();
        lists.sort_by_key(|list| list.len());
        let mut compared: Vec<u32> = Vec::new();
        for list in lists {
            let n_left = MAX_COMPARED.saturating_sub(compared.len());
            if n_left == 0 {
                break;
            }
            compared.extend(list.iter().take(n_left));
        }
        compared.sort_unstable();
        compared.dedup();
        let mut found: Vec<(usize, usize)> = compared
            .into_iter()
            .filter_map(|number| {
                let record = &self.records[number as usize];
                let written = record.written.as_ref();
                let as_written = written.and_then(|written| words.similarity(written));
                Some((words.similarity(&record.words).max(as_written)?, number as usize))
            })
            .collect();
        found.sort_by_key(|(similarity, number)| (usize::MAX - similarity, *number));
        found.truncate(MAX_TRIED);
        let similar = |(similarity, number): (usize, usize)| {
            let IndexedRecord { key, at, .. } = self.records[number];
            SimilarRecord { similarity, key, at }
        };
        found.into_iter().map(similar).collect()
    }
}
