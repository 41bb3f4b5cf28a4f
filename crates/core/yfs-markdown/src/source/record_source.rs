//! Parses text to a tree and a memory.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    FileStyle, SourceMap, SourceRecord,
    apply_source::{self, BlankGaps},
    key::{END, LeafKey, START},
    prefixes, replaced_items,
    template::{self, SimilarRecord},
};
use crate::{
    outline::{ContainerKind, TreeOutline},
    parse::{MARK, normalise, parse_spans},
    schema::SchemaProfile,
    tree::TreeElement,
    write::{
        body::{self, body},
        emit::{self, LineEnd, LinePrefix, OutputLine},
        inline::EscapeCare,
    },
};

/// Parses a text without front matter, and remembers the parts that the tree does not express.
///
/// Elements of the tree are without marks, since Yjs keeps none: a link around an image is
/// remembered.
///
/// ```
/// use yfs_markdown::{schema::SchemaProfile, source::{remember, render}};
///
/// let text = "Title\r\n=====\r\n\r\n * one\r\n * two";
/// let (doc, map) = remember(text, SchemaProfile::Gfm);
/// assert_eq!(render(&doc, &map, SchemaProfile::Gfm), text);
/// ```
pub fn remember(text: &str, profile: SchemaProfile) -> (TreeElement, SourceMap) {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let physical = physical_lines(body);
    let normalised = normalise(body);
    let (mut document, root) = parse_spans(&normalised, profile);
    // Stored documents do not keep these, so a later `render` will not have them.
    document.drop_marks_of_elements();
    let mut style = FileStyle {
        end: most_common_end(&physical),
        has_mark: body.len() < text.len(),
        is_open: physical.last().is_some_and(|(_, end)| end.is_none()),
        has_definitions: false,
        has_templates: false,
    };
    let outline = TreeOutline::with_spans(&document, &root);
    let reader = SourceReader::new(&outline, &normalised, &physical, style.end);
    let has_definitions =
        |line: &StrippedLine<'_>| !line.text.trim_matches([' ', '\t', '>']).is_empty();
    style.has_definitions =
        (0..=outline.leaves.len()).any(|gap| reader.gap(gap).iter().any(has_definitions));
    let keys = LeafKey::of_leaves(&outline);
    let leaves = kept_leaves(&reader, &keys, profile, style.care());
    let gaps = kept_gaps(&reader, &keys);
    let mut map = SourceMap { style, leaves, gaps, index: template::IndexCell::default() };
    if !map.leaves.is_empty() || !map.gaps.is_empty() {
        map.style.has_templates = true;
        keep_usual_leaves(&mut map, &outline, &keys, profile);
        keep_usual_gaps(&mut map, &reader, &keys);
    }
    (document, map)
}

/// How often leaves without a record are tried, before all get one.
const MAX_ROUNDS: usize = 4;

/// Gives a record to each leaf in the usual notation that would be written like a similar one.
///
/// These records are templates as well. So it is done again until all others are written as usual.
fn keep_usual_leaves(
    map: &mut SourceMap,
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    profile: SchemaProfile,
) {
    let care = map.style.care();
    let mut left: Vec<(usize, Vec<SimilarRecord>)> = (0..keys.len())
        .filter(|index| !map.leaves.contains_key(&keys[*index]))
        .map(|index| (index, Vec::new()))
        .collect();
    for round in 0..=MAX_ROUNDS {
        let mut is_misled = vec![false; keys.len()];
        for (index, similar_before) in &mut left {
            let similar = map.similar_records(outline, *index);
            let is_known = similar == *similar_before;
            *similar_before = similar;
            is_misled[*index] = round == MAX_ROUNDS
                || !is_known && !is_written_as_usual(map, outline, *index, profile, similar_before);
        }
        let usual = kept(
            keys,
            |index| is_misled[index],
            |index| usual_record(outline, keys, index, profile, care),
        );
        if usual.is_empty() {
            break;
        }
        left.retain(|(index, _)| !usual.contains_key(&keys[*index]));
        let usual = usual.into_iter().map(|(key, records)| (key, without_needless_hint(records)));
        map.leaves.extend(usual);
        map.index = template::IndexCell::default();
    }
}

/// Reports whether a leaf without a record is written like one that resembles no other.
fn is_written_as_usual(
    map: &SourceMap,
    outline: &TreeOutline<'_>,
    index: usize,
    profile: SchemaProfile,
    similar: &[SimilarRecord],
) -> bool {
    let Some(found) = map.by_template(outline, index, profile, similar) else { return true };
    let usual = body(&outline.leaves[index], profile, map.style.care());
    found.record.prefixes.iter().all(Option::is_none)
        && found.lines.iter().map(|line| line.text.as_str()).eq(body::lines(&usual))
        && found.lines.iter().all(|line| !line.is_whole && line.end.is_none())
}

/// Makes the record of a leaf in the usual notation.
fn usual_record(
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    index: usize,
    profile: SchemaProfile,
    care: EscapeCare,
) -> SourceRecord {
    let prefixes = vec![None; outline.chain(index).len()];
    let usual = body(&outline.leaves[index], profile, care);
    // With its lines: it is the template of what it becomes.
    let lines = body::lines(&usual).map(|line| OutputLine::new(line.to_owned()));
    SourceRecord { hint: hint_before(keys, index), prefixes, lines: Some(lines.collect()) }
}

/// Gives a record to each usual gap that is not like all others beside one of its leaves.
fn keep_usual_gaps(map: &mut SourceMap, reader: &SourceReader<'_>, keys: &[LeafKey]) {
    let no_counts = HashMap::new();
    let near = BlankGaps::new(&no_counts, map);
    let mut usual = BTreeMap::new();
    for index in 0..=keys.len() {
        let pair = apply_source::pair(keys, index);
        let lines: Vec<OutputLine> = reader.gap(index).iter().map(|line| line.to_line()).collect();
        if !map.gaps.contains_key(&pair) && !near.is_always(pair, &lines) {
            // Without lines it is as usual, which depends on the list around.
            let (hint, prefixes) = (LeafKey::hint_around(keys, index), Vec::new());
            let record = SourceRecord { hint, prefixes, lines: None };
            usual.entry(pair).or_insert_with(|| vec![record]);
        }
    }
    map.gaps.extend(usual);
}

impl FileStyle {
    /// Returns the care for text without memory.
    pub(super) fn care(self) -> EscapeCare {
        if self.has_definitions { EscapeCare::Brackets } else { EscapeCare::Little }
    }
}

/// Returns the lines of a text and the end of each.
fn physical_lines(text: &str) -> Vec<(&str, Option<LineEnd>)> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        let end = match rest.as_bytes()[at] {
            b'\n' => LineEnd::Lf,
            _ if rest[at..].starts_with("\r\n") => LineEnd::CrLf,
            _ => LineEnd::Cr,
        };
        lines.push((&rest[..at], Some(end)));
        rest = &rest[at + end.as_str().len()..];
    }
    if !rest.is_empty() {
        lines.push((rest, None));
    }
    lines
}

fn most_common_end(lines: &[(&str, Option<LineEnd>)]) -> LineEnd {
    let count = |end: LineEnd| lines.iter().filter(|line| line.1 == Some(end)).count();
    let ends = [LineEnd::Cr, LineEnd::CrLf, LineEnd::Lf];
    ends.into_iter().max_by_key(|end| count(*end)).unwrap_or(LineEnd::Lf)
}

/// A line of the text without the prefixes of the open containers: an [`OutputLine`] that is not
/// kept yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StrippedLine<'a> {
    text: &'a str,
    is_whole: bool,
    end: Option<LineEnd>,
}

impl StrippedLine<'_> {
    fn is_usual(self, text: &str) -> bool {
        self.text == text && !self.is_whole && self.end.is_none()
    }

    fn to_line(self) -> OutputLine {
        OutputLine { text: self.text.to_owned(), is_whole: self.is_whole, end: self.end }
    }
}

/// A text beside its outline.
struct SourceReader<'a> {
    outline: &'a TreeOutline<'a>,
    end: LineEnd,
    prefixes: Vec<LinePrefix>,
    /// The number of items of each list.
    n_items: Vec<usize>,
    /// The first line of each leaf, and the one after its last.
    places: Vec<(usize, usize)>,
    /// All lines, as the emitter expects them.
    cuts: Vec<StrippedLine<'a>>,
}

impl<'a> SourceReader<'a> {
    fn new(
        outline: &'a TreeOutline<'a>,
        normalised: &str,
        lines: &[(&'a str, Option<LineEnd>)],
        end: LineEnd,
    ) -> Self {
        let breaks = normalised.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts: Vec<usize> = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        let line_of = |at: usize| starts.partition_point(|start| *start <= at) - 1;
        let prefixes = prefixes::read(outline, lines, &line_of);
        let places = places(outline, lines, &line_of);
        let cuts = Vec::with_capacity(lines.len());
        let mut n_items = vec![0; outline.lists.len()];
        for container in &outline.containers {
            if let ContainerKind::Item { list, .. } = container.kind {
                n_items[list] += 1;
            }
        }
        let mut reader = Self { outline, end, prefixes, n_items, places, cuts };
        reader.cut(lines);
        reader
    }

    /// Returns the lines of a leaf.
    fn leaf(&self, index: usize) -> &[StrippedLine<'a>] {
        let (start, end) = self.places[index];
        &self.cuts[start..end]
    }

    /// Returns the lines before a leaf, or after the last.
    fn gap(&self, index: usize) -> &[StrippedLine<'a>] {
        let start = index.checked_sub(1).map_or(0, |before| self.places[before].1);
        let end = self.places.get(index).map_or(self.cuts.len(), |place| place.0);
        &self.cuts[start..end]
    }

    fn cut(&mut self, lines: &[(&'a str, Option<LineEnd>)]) {
        let mut open: Vec<(usize, bool)> = Vec::new();
        for index in 0..self.places.len() {
            let (start, end) = self.places[index];
            let chain = self.outline.chain(index);
            let n_shared = chain.iter().zip(&open).take_while(|(new, old)| **new == old.0).count();
            open.truncate(n_shared);
            self.cut_until(start, lines, &mut open);
            open.extend(chain[n_shared..].iter().map(|container| (*container, true)));
            self.cut_until(end, lines, &mut open);
            open.iter_mut().for_each(|(_, is_pending)| *is_pending = false);
        }
        self.cut_until(lines.len(), lines, &mut Vec::new());
    }

    fn cut_until(
        &mut self,
        end: usize,
        lines: &[(&'a str, Option<LineEnd>)],
        open: &mut [(usize, bool)],
    ) {
        for line in &lines[self.cuts.len()..end] {
            let cut = self.line(*line, open);
            self.cuts.push(cut);
        }
    }

    /// Strips the prefixes of the open containers off a line. A line that cannot be written so is
    /// kept whole.
    fn line(
        &self,
        line: (&'a str, Option<LineEnd>),
        open: &mut [(usize, bool)],
    ) -> StrippedLine<'a> {
        let (text, end) = line;
        let end = end.filter(|end| *end != self.end);
        let mut inner = Some(text);
        let mut prefix = String::new();
        for (container, is_pending) in open {
            let LinePrefix { first, rest } = &self.prefixes[*container];
            let part = if std::mem::take(is_pending) { first } else { rest };
            prefix.push_str(part);
            inner = inner.and_then(|inner| inner.strip_prefix(part.as_str()));
        }
        let is_blank = || prefix.trim_end_matches([' ', '\t']) == text;
        match inner.filter(|inner| !inner.is_empty()) {
            Some(inner) => StrippedLine { text: inner, is_whole: false, end },
            None if is_blank() => StrippedLine { text: "", is_whole: false, end },
            None => StrippedLine { text, is_whole: true, end },
        }
    }
}

/// Returns the lines of each leaf, in order and disjoint.
fn places(
    outline: &TreeOutline<'_>,
    lines: &[(&str, Option<LineEnd>)],
    line_of: &dyn Fn(usize) -> usize,
) -> Vec<(usize, usize)> {
    let mut places = Vec::with_capacity(outline.leaves.len());
    let mut at = 0;
    for (index, leaf) in outline.leaves.iter().enumerate() {
        let range = &leaf.range;
        let mut start = line_of(range.start);
        let mut end = if range.is_empty() { start } else { line_of(range.end - 1) + 1 };
        let mut container = leaf.container.map(|index| &outline.containers[index]);
        while let Some(around) = container.filter(|container| container.first_leaf == index) {
            let opens = line_of(around.range.start);
            start = start.min(opens);
            end = end.max(opens + 1);
            container = around.parent.map(|index| &outline.containers[index]);
        }
        if leaf.element.name == "table_header_row" {
            end = start + 2;
        }
        start = start.clamp(at, lines.len());
        end = end.clamp(start, lines.len());
        while end > start + 1 && lines[end - 1].0.trim().is_empty() {
            end -= 1;
        }
        places.push((start, end));
        at = end;
    }
    places
}

/// Keeps the leaves that would be written otherwise.
fn kept_leaves(
    reader: &SourceReader<'_>,
    keys: &[LeafKey],
    profile: SchemaProfile,
    care: EscapeCare,
) -> BTreeMap<LeafKey, Vec<SourceRecord>> {
    let outline = reader.outline;
    let usual: Vec<LinePrefix> =
        (0..outline.containers.len()).map(|at| emit::prefix(outline, at)).collect();
    let differs = |container: usize| reader.prefixes[container] != usual[container];
    // If one item of a list is unusual, all are remembered: an item without memory did not exist
    // then.
    let mut is_unusual = vec![false; outline.lists.len()];
    for (index, container) in outline.containers.iter().enumerate() {
        if let ContainerKind::Item { list, .. } = container.kind {
            is_unusual[list] |= differs(index);
        }
    }
    let is_beside_unusual = spread_over_neighbors(outline, &mut is_unusual);
    let is_explicit = |container: usize| match outline.containers[container].kind {
        ContainerKind::Item { list, .. } => is_beside_unusual[list] || differs(container),
        _ => differs(container),
    };
    let has_usual_lines: Vec<bool> =
        (0..keys.len()).map(|index| has_usual_lines(reader, index, profile, care)).collect();
    let is_in_unusual = |container: &usize| match outline.containers[*container].kind {
        ContainerKind::Item { list, .. } => is_unusual[list],
        _ => differs(*container),
    };
    let is_kept =
        |index: usize| !has_usual_lines[index] || outline.chain(index).iter().any(is_in_unusual);
    // Prefixes that no other container has as well are found by the words of the leaf.
    let numbers = numbers_of_lists(reader);
    let is_counted = are_counted(outline, &numbers);
    let placed = placed_leaves(outline, keys, &replaced_items::are_placed(outline, &numbers));
    let is_found_beside = |container: usize| match outline.containers[container].kind {
        ContainerKind::Item { list, .. } if !is_counted[list] => false,
        _ => has_prefix_of_neighbor(reader, container),
    };
    let has_own_prefix =
        |container: &usize| is_in_unusual(container) && !is_found_beside(*container);
    let has_lines: Vec<bool> = (0..keys.len())
        .map(|at| !has_usual_lines[at] || outline.chain(at).iter().any(has_own_prefix))
        .collect();
    kept(keys, is_kept, |index| {
        let prefixes = outline.chain(index).into_iter().map(|at| {
            let LinePrefix { first, rest } = &reader.prefixes[at];
            is_explicit(at).then(|| (first.clone(), rest.clone()))
        });
        let prefixes = prefixes.collect();
        let lines = reader.leaf(index).iter().map(|line| line.to_line());
        let lines = has_lines[index].then(|| lines.collect());
        SourceRecord { hint: hint_before(keys, index), prefixes, lines }
    })
    .into_iter()
    .map(|(key, records)| match placed.contains(&key) {
        true => (key, records),
        false => (key, without_needless_hint(records)),
    })
    .collect()
}

/// Returns the keys of the leaves whose records are also found by the leaf before: those that begin
/// an item of some lists, and rows that end with an empty cell, which may be none.
fn placed_leaves(
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    are_placed: &[bool],
) -> HashSet<LeafKey> {
    let begin_item = outline.containers.iter().filter_map(|container| match container.kind {
        ContainerKind::Item { list, .. } if are_placed[list] => {
            keys.get(container.first_leaf).copied()
        }
        _ => None,
    });
    let rows = outline.leaves.iter().zip(keys);
    let rows = rows.filter(|(leaf, _)| template::ends_with_empty_cell(leaf.element));
    begin_item.chain(rows.map(|(_, key)| *key)).collect()
}

/// Returns a few bits of the context of a leaf: of the leaf before.
fn hint_before(keys: &[LeafKey], index: usize) -> u16 {
    index.checked_sub(1).map_or(START, |before| keys[before]).hint()
}

/// The least number of items that keep the marker of a list while one is edited.
const MIN_ITEMS: usize = 3;

/// Reports whether the items around a container have the same prefix, so that it stays known.
fn has_prefix_of_neighbor(reader: &SourceReader<'_>, container: usize) -> bool {
    let containers = &reader.outline.containers;
    let ContainerKind::Item { list, index } = containers[container].kind else { return false };
    let list_of = |at: &usize| match containers[*at].kind {
        ContainerKind::Item { list, .. } => Some(list),
        _ => None,
    };
    let n_items = reader.n_items[list];
    let shape =
        |at: usize| reader.prefixes[at].first.replace(|sign: char| sign.is_ascii_digit(), "");
    let before = (0..container).rev().find(|at| list_of(at) == Some(list));
    let behind = || (container + 1..containers.len()).find(|at| list_of(at) == Some(list));
    let neighbor = if index == 0 { behind() } else { before };
    n_items >= MIN_ITEMS && neighbor.is_some_and(|neighbor| shape(neighbor) == shape(container))
}

/// Returns the numbers of the items of each list, as written.
fn numbers_of_lists(reader: &SourceReader<'_>) -> Vec<Vec<String>> {
    let outline = reader.outline;
    let mut numbers: Vec<Vec<String>> = vec![Vec::new(); outline.lists.len()];
    for (container, prefix) in outline.containers.iter().zip(&reader.prefixes) {
        if let ContainerKind::Item { list, .. } = container.kind {
            let marker = prefixes::ItemMarker::read(&prefix.first);
            numbers[list].push(marker.map(|marker| marker.number).unwrap_or_default());
        }
    }
    numbers
}

/// Reports of each list whether its numbers are those that items without memory get: one more each,
/// or all the same.
fn are_counted(outline: &TreeOutline<'_>, numbers: &[Vec<String>]) -> Vec<bool> {
    let is_counted = |start: u64, numbers: &[String]| {
        let mut counted = numbers.iter().zip(start..);
        counted.all(|(number, usual)| *number == usual.to_string())
            || numbers.iter().all(|number| *number == start.to_string())
    };
    let lists = outline.lists.iter().zip(numbers);
    lists.map(|(list, numbers)| list.start.is_none_or(|start| is_counted(start, numbers))).collect()
}

/// Marks all lists of a row as unusual if one of them is: the usual marker of a list depends on the
/// one right before it. Returns which lists are in such a row of several.
fn spread_over_neighbors(outline: &TreeOutline<'_>, is_unusual: &mut [bool]) -> Vec<bool> {
    let mut first: Vec<usize> = Vec::with_capacity(outline.lists.len());
    let mut rows = vec![(0, false); outline.lists.len()];
    for (index, list) in outline.lists.iter().enumerate() {
        let row = list.before.map_or(index, |before| first[before]);
        first.push(row);
        rows[row].0 += 1;
        rows[row].1 |= is_unusual[index];
    }
    for (is_unusual, row) in is_unusual.iter_mut().zip(&first) {
        *is_unusual = rows[*row].1;
    }
    first.iter().map(|row| matches!(rows[*row], (2.., true))).collect()
}

/// Reports whether a leaf's lines are those that a writer without memory writes.
fn has_usual_lines(
    reader: &SourceReader<'_>,
    index: usize,
    profile: SchemaProfile,
    care: EscapeCare,
) -> bool {
    let outline = reader.outline;
    let leaf = &outline.leaves[index];
    let opens = leaf.container.is_some_and(|index| outline.containers[index].first_leaf == index);
    let body = body(leaf, profile, care);
    let lines = reader.leaf(index);
    if body.is_empty() {
        return if opens { matches!(lines, [line] if line.is_usual("")) } else { lines.is_empty() };
    }
    let mut usual = body::lines(&body);
    lines.iter().all(|line| usual.next().is_some_and(|usual| line.is_usual(usual)))
        && usual.next().is_none()
}

/// Keeps the gaps that would be written otherwise.
fn kept_gaps(
    reader: &SourceReader<'_>,
    keys: &[LeafKey],
) -> BTreeMap<(LeafKey, LeafKey), Vec<SourceRecord>> {
    let before = |gap: usize| gap.checked_sub(1).map_or(START, |before| keys[before]);
    let after = |gap: usize| keys.get(gap).copied().unwrap_or(END);
    let pairs: Vec<_> = (0..=keys.len()).map(|gap| (before(gap), after(gap))).collect();
    let is_kept = |gap: usize| {
        let has_blank = reader.outline.leaves.get(gap).is_some_and(|leaf| leaf.blank_before);
        match (reader.gap(gap), has_blank) {
            ([line], true) => !line.is_usual(""),
            (lines, has_blank) => has_blank || !lines.is_empty(),
        }
    };
    let mut n_by_key = HashMap::from([(START, 1), (END, 1)]);
    keys.iter().for_each(|key| *n_by_key.entry(*key).or_insert(0) += 1);
    kept(&pairs, is_kept, |gap| {
        // If both neighbors are the only ones of their kind, their keys determine the place.
        let is_only = [before(gap), after(gap)].iter().all(|key| n_by_key.get(key) == Some(&1));
        let hint = if is_only { 0 } else { LeafKey::hint_around(keys, gap) };
        let lines = reader.gap(gap).iter().map(|line| line.to_line()).collect();
        SourceRecord { hint, prefixes: Vec::new(), lines: Some(lines) }
    })
}

/// Removes the hint of a single record, which needs none. So a change beside it does not change it.
fn without_needless_hint(mut records: Vec<SourceRecord>) -> Vec<SourceRecord> {
    if let [record] = records.as_mut_slice() {
        record.hint = 0;
    }
    records
}

/// Records unusual lines, with all of the same key, and joins records that are the same everywhere.
fn kept<K: Ord + Copy>(
    keys: &[K],
    is_kept: impl Fn(usize) -> bool,
    record: impl Fn(usize) -> SourceRecord,
) -> BTreeMap<K, Vec<SourceRecord>> {
    let kept = (0..keys.len()).filter(|index| is_kept(*index));
    let mut found: BTreeMap<K, Vec<SourceRecord>> =
        kept.map(|index| (keys[index], Vec::new())).collect();
    if found.is_empty() {
        return found;
    }
    for (index, key) in keys.iter().enumerate() {
        if let Some(records) = found.get_mut(key) {
            records.push(record(index));
        }
    }
    for records in found.values_mut() {
        let is_same = |record: &SourceRecord| {
            record.prefixes == records[0].prefixes && record.lines == records[0].lines
        };
        if records.iter().all(is_same) && records[0].may_repeat() {
            records.truncate(1);
        }
    }
    found
}
