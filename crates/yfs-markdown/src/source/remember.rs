//! Text to tree and memory.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    Record, SourceMap, Style,
    key::{END, Key, START},
    prefixes,
};
use crate::{
    outline::{Kind, Outline},
    parse::{MARK, Span, normalise, parse_spans},
    schema::Profile,
    tree::Element,
    write::{
        body::body,
        emit::{self, Line, LineEnd, Prefix},
        inline::Care,
    },
};

/// Reads a text without front matter, and remembers what the tree does not say.
///
/// Elements of the tree are without marks, since Yjs keeps none: a link around an image is remembered.
///
/// ```
/// use yfs_markdown::{schema::Profile, source::{remember, render}};
///
/// let text = "Title\r\n=====\r\n\r\n * one\r\n * two";
/// let (doc, map) = remember(text, Profile::Gfm);
/// assert_eq!(render(&doc, &map, Profile::Gfm), text);
/// ```
pub fn remember(text: &str, profile: Profile) -> (Element, SourceMap) {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let physical = physical_lines(body);
    let normalised = normalise(body);
    let (mut document, root) = parse_spans(&normalised, profile);
    // Nobody keeps these, so whoever renders will not have them.
    document.drop_marks_of_elements();
    let mut style = Style {
        end: most_common_end(&physical),
        has_mark: body.len() < text.len(),
        is_open: physical.last().is_some_and(|(_, end)| end.is_none()),
        has_definitions: false,
    };
    let outline = Outline::new(&document);
    let reader = Reader::new(&outline, &root, &normalised, physical, style.end);
    let (leaves, gaps) = reader.read();
    style.has_definitions =
        gaps.iter().flatten().any(|line| !line.text.trim_matches([' ', '\t', '>']).is_empty());
    let care = style.care();
    let map = SourceMap {
        style,
        leaves: kept_leaves(&outline, &reader, leaves, profile, care)
            .into_iter()
            .map(|(key, records)| (key, without_needless_hint(records)))
            .collect(),
        gaps: kept_gaps(&outline, gaps),
    };
    (document, map)
}

impl Style {
    /// How careful to be with text that nobody remembers.
    pub(super) fn care(self) -> Care {
        if self.has_definitions { Care::Brackets } else { Care::Little }
    }
}

/// Follows a path from the root.
pub(super) fn span_at<'a>(root: &'a Span, path: &[u32]) -> Option<&'a Span> {
    path.iter().try_fold(root, |span, at| span.children.get(*at as usize))
}

/// Returns the lines of a text and how each ends.
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

/// A text beside its outline.
struct Reader<'a> {
    outline: &'a Outline<'a>,
    lines: Vec<(&'a str, Option<LineEnd>)>,
    end: LineEnd,
    prefixes: Vec<Prefix>,
    /// The first line of each leaf, and the one after its last.
    places: Vec<(usize, usize)>,
}

impl<'a> Reader<'a> {
    fn new(
        outline: &'a Outline<'a>,
        root: &Span,
        normalised: &str,
        lines: Vec<(&'a str, Option<LineEnd>)>,
        end: LineEnd,
    ) -> Self {
        let starts: Vec<usize> = std::iter::once(0)
            .chain(normalised.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        let line_of = |at: usize| starts.partition_point(|start| *start <= at) - 1;
        let texts: Vec<&str> = lines.iter().map(|(text, _)| *text).collect();
        let prefixes = prefixes::read(outline, root, &texts, &line_of);
        let places = places(outline, root, &texts, &line_of);
        Self { outline, lines, end, prefixes, places }
    }

    /// Cuts the text into the lines of leaves and those between, as the emitter would write them.
    fn read(&self) -> (Vec<Vec<Line>>, Vec<Vec<Line>>) {
        let (mut leaves, mut gaps) = (Vec::new(), Vec::new());
        let mut open: Vec<(usize, bool)> = Vec::new();
        let mut at = 0;
        for (index, (start, end)) in self.places.iter().copied().enumerate() {
            let chain = self.outline.chain(index);
            let n_shared = chain.iter().zip(&open).take_while(|(new, old)| **new == old.0).count();
            open.truncate(n_shared);
            gaps.push((at..start).map(|line| self.line(line, &mut open)).collect());
            open.extend(chain[n_shared..].iter().map(|container| (*container, true)));
            leaves.push((start..end).map(|line| self.line(line, &mut open)).collect());
            open.iter_mut().for_each(|(_, is_pending)| *is_pending = false);
            at = end;
        }
        open.clear();
        gaps.push((at..self.lines.len()).map(|line| self.line(line, &mut open)).collect());
        (leaves, gaps)
    }

    /// Takes off what the open containers put before a line. What cannot be written so is kept whole.
    fn line(&self, index: usize, open: &mut [(usize, bool)]) -> Line {
        let (text, end) = self.lines[index];
        let end = end.filter(|end| *end != self.end);
        let mut prefix = String::new();
        for (container, is_pending) in open {
            let it = &self.prefixes[*container];
            prefix.push_str(if std::mem::take(is_pending) { &it.first } else { &it.rest });
        }
        let inner = text.strip_prefix(prefix.as_str()).filter(|inner| !inner.is_empty());
        let is_blank = prefix.trim_end_matches([' ', '\t']) == text;
        match inner {
            Some(inner) => Line { text: inner.to_owned(), is_whole: false, end },
            None if is_blank => Line { text: String::new(), is_whole: false, end },
            None => Line { text: text.to_owned(), is_whole: true, end },
        }
    }
}

/// Returns the lines of each leaf, in order and apart.
fn places(
    outline: &Outline<'_>,
    root: &Span,
    lines: &[&str],
    line_of: &dyn Fn(usize) -> usize,
) -> Vec<(usize, usize)> {
    let mut places = Vec::with_capacity(outline.leaves.len());
    let mut at = 0;
    for (index, leaf) in outline.leaves.iter().enumerate() {
        let range = span_at(root, &leaf.path).map(|span| span.range.clone()).unwrap_or_default();
        let mut start = line_of(range.start);
        let mut end = if range.is_empty() { start } else { line_of(range.end - 1) + 1 };
        let mut container = leaf.container.map(|it| &outline.containers[it]);
        while let Some(around) = container.filter(|it| it.first_leaf == index) {
            let opens = span_at(root, &around.path).map_or(0, |span| line_of(span.range.start));
            start = start.min(opens);
            end = end.max(opens + 1);
            container = around.parent.map(|it| &outline.containers[it]);
        }
        if leaf.element.name == "table_header_row" {
            end = start + 2;
        }
        start = start.clamp(at, lines.len());
        end = end.clamp(start, lines.len());
        while end > start + 1 && lines[end - 1].trim().is_empty() {
            end -= 1;
        }
        places.push((start, end));
        at = end;
    }
    places
}

/// Keeps the leaves that would be written otherwise.
fn kept_leaves(
    outline: &Outline<'_>,
    reader: &Reader<'_>,
    leaves: Vec<Vec<Line>>,
    profile: Profile,
    care: Care,
) -> BTreeMap<Key, Vec<Record>> {
    let usual: Vec<Prefix> =
        (0..outline.containers.len()).map(|at| emit::prefix(outline, at)).collect();
    // Where one item of a list is unusual, all are remembered: what is not was not there.
    let mut is_unusual = vec![false; outline.lists.len()];
    for (index, container) in outline.containers.iter().enumerate() {
        if let Kind::Item { list, .. } = container.kind {
            is_unusual[list] |= reader.prefixes[index] != usual[index];
        }
    }
    let keys = Key::of_leaves(outline);
    let mut found: BTreeMap<Key, (bool, Vec<Record>)> = BTreeMap::new();
    for (index, lines) in leaves.into_iter().enumerate() {
        let chain = outline.chain(index);
        let prefixes = chain.iter().map(|at| {
            let Prefix { first, rest } = &reader.prefixes[*at];
            (reader.prefixes[*at] != usual[*at]).then(|| (first.clone(), rest.clone()))
        });
        let prefixes: Vec<_> = prefixes.collect();
        let in_unusual = chain.iter().any(|at| match outline.containers[*at].kind {
            Kind::Item { list, .. } => is_unusual[list],
            _ => reader.prefixes[*at] != usual[*at],
        });
        let leaf = &outline.leaves[index];
        let mut usual_lines = body(leaf, profile, care);
        let opens = leaf.container.is_some_and(|it| outline.containers[it].first_leaf == index);
        if usual_lines.is_empty() && opens {
            usual_lines.push(String::new());
        }
        let is_usual_text = lines.len() == usual_lines.len()
            && lines.iter().zip(usual_lines).all(|(line, usual)| *line == Line::new(usual));
        let is_usual = is_usual_text && !in_unusual;
        let lines = (!is_usual_text).then_some(lines);
        let hint = index.checked_sub(1).map_or(START, |before| keys[before]).hint();
        let (is_kept, records) = found.entry(keys[index]).or_default();
        *is_kept |= !is_usual;
        records.push(Record { hint, prefixes, lines });
    }
    kept(found)
}

fn kept_gaps(outline: &Outline<'_>, gaps: Vec<Vec<Line>>) -> BTreeMap<(Key, Key), Vec<Record>> {
    let keys = Key::of_leaves(outline);
    let mut n_by_key = BTreeMap::from([(START, 1), (END, 1)]);
    keys.iter().for_each(|key| *n_by_key.entry(*key).or_insert(0) += 1);
    let mut found: BTreeMap<(Key, Key), (bool, Vec<Record>)> = BTreeMap::new();
    for (index, lines) in gaps.into_iter().enumerate() {
        let before = index.checked_sub(1).map_or(START, |before| keys[before]);
        let after = keys.get(index).copied().unwrap_or(END);
        let has_blank = outline.leaves.get(index).is_some_and(|leaf| leaf.blank_before);
        let usual: Cow<'_, [Line]> = match has_blank {
            true => vec![Line::new(String::new())].into(),
            false => Vec::new().into(),
        };
        let (is_kept, records) = found.entry((before, after)).or_default();
        *is_kept |= *lines != *usual;
        // Where both neighbours are the only ones of their kind, nothing more is needed to find the place.
        let is_only = n_by_key.get(&before) == Some(&1) && n_by_key.get(&after) == Some(&1);
        let hint = if is_only { 0 } else { Key::hint_around(&keys, index) };
        records.push(Record { hint, prefixes: Vec::new(), lines: Some(lines) });
    }
    kept(found)
}

/// One record needs no hint. So a change beside it does not change it.
fn without_needless_hint(mut records: Vec<Record>) -> Vec<Record> {
    if let [record] = records.as_mut_slice() {
        record.hint = 0;
    }
    records
}

/// Drops what is as usual everywhere, and joins what is the same everywhere.
fn kept<K: Ord>(found: BTreeMap<K, (bool, Vec<Record>)>) -> BTreeMap<K, Vec<Record>> {
    let found = found.into_iter().filter(|(_, (is_kept, _))| *is_kept);
    let joined = found.map(|(key, (_, mut records))| {
        let is_same =
            |it: &Record| it.prefixes == records[0].prefixes && it.lines == records[0].lines;
        if records.iter().all(is_same) && records[0].may_repeat() {
            records.truncate(1);
        }
        (key, records)
    });
    joined.collect()
}
