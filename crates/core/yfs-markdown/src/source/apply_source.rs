//! Makes a plan from a tree and a memory: how each leaf is written.

use std::{borrow::Cow, collections::HashMap};

use super::{
    SourceMap, SourceRecord,
    key::{END, LeafKey, START},
    prefixes::ItemMarker,
    replaced_items::recall_markers,
};
use crate::{
    outline::{ContainerKind, TreeOutline},
    schema::SchemaProfile,
    tree::MarkdownNode,
    write::emit::{self, LinePrefix, OutputLine, WritePlan},
};

/// The length that a text may always have, in bytes.
const MAX_LEN: usize = 16 << 20;

/// Returns the length of the text in bytes.
fn text_len(nodes: &[MarkdownNode]) -> usize {
    let lengths = nodes.iter().map(|node| match node {
        MarkdownNode::Text(run) => run.text.len(),
        MarkdownNode::Element(element) => text_len(&element.children),
    });
    lengths.sum()
}

/// Makes the plan. Blocks of the document for which `is_forgotten` holds have no memory.
pub(super) fn plan<'a>(
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    map: &'a SourceMap,
    profile: SchemaProfile,
    is_forgotten: &dyn Fn(usize) -> bool,
) -> WritePlan<'a> {
    let mut n_by_key: HashMap<LeafKey, usize> = HashMap::new();
    for key in keys {
        *n_by_key.entry(*key).or_default() += 1;
    }
    plan_among(outline, keys, map, profile, is_forgotten, &n_by_key)
}

/// Makes the plan of a part of a document; `n_by_key` counts the leaves of each key in all of it.
pub(super) fn plan_among<'a>(
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    map: &'a SourceMap,
    profile: SchemaProfile,
    is_forgotten: &dyn Fn(usize) -> bool,
    n_by_key: &HashMap<LeafKey, usize>,
) -> WritePlan<'a> {
    let mut records = match_records(keys, map);
    let mut bodies: Vec<Option<Cow<'a, [OutputLine]>>> = vec![None; keys.len()];
    for (index, record) in records.iter_mut().enumerate() {
        if is_forgotten(outline.leaves[index].top) {
            *record = None;
            continue;
        }
        if let Some(record) = *record {
            bodies[index] = record.lines.as_deref().map(Cow::Borrowed);
            continue;
        }
        let similar = map.similar_records(outline, index);
        if let Some(found) = map.by_template(outline, index, profile, &similar) {
            *record = Some(found.record);
            bodies[index] = Some(Cow::Owned(found.lines));
        }
    }
    let mut plan = WritePlan::canonical(outline, profile);
    plan.prefixes = prefixes(outline, keys, map, &records);
    plan.cares.fill(map.style.care());
    plan.gaps = gaps(outline, keys, map, is_forgotten, n_by_key);
    plan.bodies = bodies;
    plan.end = map.style.end;
    let n_bytes: usize = outline.leaves.iter().map(|leaf| text_len(&leaf.element.children)).sum();
    plan.max_len = MAX_LEN + 8 * n_bytes + 512 * outline.leaves.len() + 2 * map.len();
    plan
}

/// Finds the record of each leaf: the only one, the one after the same leaf, or the first that is
/// left.
fn match_records<'a>(keys: &[LeafKey], map: &'a SourceMap) -> Vec<Option<&'a SourceRecord>> {
    let mut found: Vec<Option<&SourceRecord>> = vec![None; keys.len()];
    let mut left: HashMap<LeafKey, HashMap<u16, Vec<usize>>> = HashMap::new();
    let mut is_used: HashMap<LeafKey, Vec<bool>> = HashMap::new();
    for (index, key) in keys.iter().enumerate() {
        let Some(records) = map.leaves.get(key) else { continue };
        if let [record] = records.as_slice()
            && record.may_repeat()
        {
            found[index] = Some(record);
            continue;
        }
        let by_hint = left.entry(*key).or_insert_with(|| {
            let mut by_hint: HashMap<u16, Vec<usize>> = HashMap::new();
            for (at, record) in records.iter().enumerate().rev() {
                by_hint.entry(record.hint).or_default().push(at);
            }
            by_hint
        });
        let used = is_used.entry(*key).or_insert_with(|| vec![false; records.len()]);
        let hint = index.checked_sub(1).map_or(START, |before| keys[before]).hint();
        if let Some(at) = by_hint.get_mut(&hint).and_then(Vec::pop) {
            used[at] = true;
            found[index] = Some(&records[at]);
        }
    }
    let mut next: HashMap<LeafKey, usize> = HashMap::new();
    for (index, key) in keys.iter().enumerate() {
        let (None, Some(used)) = (found[index], is_used.get(key)) else { continue };
        let at = next.entry(*key).or_default();
        while used.get(*at) == Some(&true) {
            *at += 1;
        }
        found[index] = map.leaves.get(key).and_then(|records| records.get(*at));
        *at += 1;
    }
    found
}

/// Determines the prefix of each container from the memory of leaves in it.
fn prefixes(
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    map: &SourceMap,
    records: &[Option<&SourceRecord>],
) -> Vec<LinePrefix> {
    let usual = |at: usize| emit::prefix(outline, at);
    let mut known: Vec<Option<LinePrefix>> = vec![None; outline.containers.len()];
    for (index, record) in records.iter().enumerate() {
        let Some(record) = record else { continue };
        let chain = outline.chain(index);
        if chain.len() != record.prefixes.len() {
            continue;
        }
        for (container, prefix) in chain.into_iter().zip(&record.prefixes) {
            known[container].get_or_insert_with(|| match prefix {
                Some((first, rest)) => LinePrefix { first: first.clone(), rest: rest.clone() },
                None => usual(container),
            });
        }
    }
    recall_markers(outline, keys, map, &mut known);
    let mut items: Vec<Vec<usize>> = vec![Vec::new(); outline.lists.len()];
    for (index, container) in outline.containers.iter().enumerate() {
        if let ContainerKind::Item { list, .. } = container.kind {
            items[list].push(index);
        }
    }
    let mut signs: Vec<Option<char>> = vec![None; outline.lists.len()];
    for (list, items) in items.iter().enumerate() {
        let before = outline.lists[list].before.and_then(|before| signs[before]);
        signs[list] = unify_markers(outline, list, items, before, &mut known);
    }
    known.into_iter().enumerate().map(|(at, prefix)| prefix.unwrap_or_else(|| usual(at))).collect()
}

/// Gives all items of a list the same sign, and numbers to those that have none. Returns the sign.
fn unify_markers(
    outline: &TreeOutline<'_>,
    list: usize,
    items: &[usize],
    sign_before: Option<char>,
    known: &mut [Option<LinePrefix>],
) -> Option<char> {
    let start = outline.lists[list].start;
    let read = |prefix: &LinePrefix| {
        ItemMarker::read(&prefix.first).filter(|marker| marker.number.is_empty() == start.is_none())
    };
    let mut markers: Vec<Option<ItemMarker>> =
        items.iter().map(|at| known[*at].as_ref().and_then(read)).collect();
    let usual = items.first().and_then(|first| read(&emit::prefix(outline, *first)));
    let first_known = markers.iter().flatten().next().cloned().or(usual)?;
    let mut sign = first_known.sign;
    let is_known = markers.iter().any(Option::is_some);
    if sign_before == Some(sign) && !is_known {
        sign = match sign {
            '-' => '*',
            '.' => ')',
            ')' => '.',
            _ => '-',
        };
    }
    let number = |marker: &ItemMarker| marker.number.parse::<u64>().ok();
    let repeats = start.is_some()
        && markers.iter().skip(1).flatten().next().is_some()
        && markers.iter().skip(1).flatten().all(|marker| number(marker) == start);
    let mut model = first_known;
    let mut count = start;
    let mut is_shifted = false;
    for (index, at) in items.iter().enumerate() {
        let is_known = markers[index].is_some();
        let mut marker = markers[index].take().unwrap_or_else(|| model.clone());
        let old = known[*at].clone().filter(|_| is_known);
        model.clone_from(&marker);
        marker.sign = sign;
        if let Some(start) = start {
            let expected = if repeats { start } else { count.unwrap_or(start) };
            let own = number(&marker).filter(|_| is_known);
            is_shifted |= !is_known;
            let kept = own.filter(|own| {
                if index == 0 { *own == start } else { !is_shifted || repeats || *own >= expected }
            });
            if kept.is_none() || !is_known {
                marker.number = kept.unwrap_or(expected).to_string();
            }
            count = Some(kept.unwrap_or(expected) + 1);
        }
        let prefix = marker.prefix();
        // A remembered continuation stays where the marker did.
        known[*at] = Some(match old {
            Some(old) if old.first == prefix.first => old,
            _ => prefix,
        });
    }
    Some(sign)
}

/// Finds the lines before each leaf, and after the last.
fn gaps<'a>(
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    map: &'a SourceMap,
    is_forgotten: &dyn Fn(usize) -> bool,
    n_by_key: &HashMap<LeafKey, usize>,
) -> Vec<Option<Cow<'a, [OutputLine]>>> {
    let near = BlankGaps::new(n_by_key, map);
    let mut n_used: HashMap<(LeafKey, LeafKey), usize> = HashMap::new();
    let mut gaps: Vec<Option<Cow<'a, [OutputLine]>>> = Vec::with_capacity(keys.len() + 1);
    for index in 0..=keys.len() {
        let pair = pair(keys, index);
        if let Some(records) = map.gaps.get(&pair) {
            let at = n_used.entry(pair).or_default();
            let all = records.first().filter(|record| records.len() == 1 && record.may_repeat());
            let record = all.or_else(|| records.get(*at));
            *at += 1;
            gaps.push(record.and_then(|record| record.lines.as_deref()).map(Cow::Borrowed));
            continue;
        }
        let leaf = outline.leaves.get(index);
        let is_forgotten = leaf.is_some_and(|leaf| is_forgotten(leaf.top));
        let found = near_gap(outline, keys, index, &near).filter(|_| !is_forgotten);
        gaps.push(found.map(Cow::Borrowed));
    }
    place_orphans(keys, map, &n_used, &mut gaps);
    gaps
}

/// Returns the gap before a leaf as it is beside the same leaf elsewhere.
fn near_gap<'a>(
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    index: usize,
    near: &BlankGaps<'a, '_>,
) -> Option<&'a [OutputLine]> {
    // Beside a new neighbor, a gap without a blank line may join two blocks that should be apart.
    let is_safe = |lines: &&[OutputLine]| {
        !outline.leaves.get(index).is_some_and(|leaf| leaf.stands_apart)
            || lines.iter().any(|line| line.text.trim().is_empty())
    };
    near.find(keys, index).filter(is_safe)
}

pub(super) fn pair(keys: &[LeafKey], index: usize) -> (LeafKey, LeafKey) {
    let before = index.checked_sub(1).map_or(START, |before| keys[before]);
    (before, keys.get(index).copied().unwrap_or(END))
}

/// Reports whether there is more than blank lines: definitions that other leaves may need.
pub(super) fn has_definitions(lines: &[OutputLine]) -> bool {
    lines.iter().any(|line| !line.text.trim_matches([' ', '\t', '>']).is_empty())
}

/// Blank gaps by one neighbor, for leaves that got another one.
///
/// A memory that has templates has a record of each usual gap beside a leaf that has an unusual one
/// elsewhere, so any of them may be taken. Of an older one only gaps that lost a neighbor may: all
/// others without memory are as usual.
pub(super) struct BlankGaps<'a, 'b> {
    by_after: HashMap<LeafKey, Vec<&'a SourceRecord>>,
    by_before: HashMap<LeafKey, Vec<&'a SourceRecord>>,
    /// The number of leaves of each key, if only gaps that lost a neighbor count.
    n_by_key: Option<&'b HashMap<LeafKey, usize>>,
}

impl<'a, 'b> BlankGaps<'a, 'b> {
    /// The greatest number of candidates that are examined.
    const MAX: usize = 32;

    pub(super) fn new(n_by_key: &'b HashMap<LeafKey, usize>, map: &'a SourceMap) -> Self {
        let (mut by_after, mut by_before) = (HashMap::new(), HashMap::new());
        let n_by_key = Some(n_by_key).filter(|_| !map.style.has_templates);
        let is_gone = |key: &LeafKey| match n_by_key {
            None => true,
            Some(n_by_key) => ![START, END].contains(key) && !n_by_key.contains_key(key),
        };
        for ((before, after), records) in &map.gaps {
            // Without lines a gap is as usual.
            let is_blank = |record: &&SourceRecord| {
                record.lines.as_deref().is_none_or(|lines| !has_definitions(lines))
            };
            for record in records.iter().filter(is_blank).filter(|record| record.may_repeat()) {
                if is_gone(before) {
                    by_after.entry(*after).or_insert_with(Vec::new).push(record);
                }
                if is_gone(after) {
                    by_before.entry(*before).or_insert_with(Vec::new).push(record);
                }
            }
        }
        Self { by_after, by_before, n_by_key }
    }

    /// Finds a gap with the same surroundings, or beside the only leaf of its kind, or that is the
    /// same wherever the leaf is.
    pub(super) fn find(&self, keys: &[LeafKey], index: usize) -> Option<&'a [OutputLine]> {
        let (before, after) = pair(keys, index);
        let hint = LeafKey::hint_around(keys, index);
        for (by_key, key) in [(&self.by_after, after), (&self.by_before, before)] {
            let Some(records) = by_key.get(&key) else { continue };
            let is_only = match self.n_by_key {
                None => is_unanimous(records),
                Some(n_by_key) => [START, END].contains(&key) || n_by_key.get(&key) == Some(&1),
            };
            let mut records = records.iter().take(Self::MAX);
            if let Some(found) = records.find(|record| record.hint == hint || is_only) {
                return found.lines.as_deref();
            }
        }
        None
    }

    /// Reports whether each gap beside one of two leaves has some lines. So the gap between these
    /// needs no record if it has them: it is written alike whether or not others get one.
    pub(super) fn is_always(
        &self,
        (before, after): (LeafKey, LeafKey),
        lines: &[OutputLine],
    ) -> bool {
        let lists = [self.by_after.get(&after), self.by_before.get(&before)];
        lists.into_iter().flatten().all(|records| {
            is_unanimous(records) && records[0].lines.as_deref().is_none_or(|found| found == lines)
        })
    }

    /// Reports whether the gap between two leaves does not depend on those around.
    pub(super) fn is_plain(&self, before: LeafKey, after: LeafKey) -> bool {
        let lists = [self.by_after.get(&after), self.by_before.get(&before)];
        self.n_by_key.is_none() && lists.into_iter().flatten().all(|records| is_unanimous(records))
    }
}

fn is_unanimous(records: &[&SourceRecord]) -> bool {
    let is_same = |record: &&SourceRecord| record.lines == records[0].lines;
    records.len() <= BlankGaps::MAX && records.iter().all(is_same)
}

/// Puts definitions between two leaves, one of them deleted, beside the other, or at the end.
fn place_orphans<'a>(
    keys: &[LeafKey],
    map: &'a SourceMap,
    n_used: &HashMap<(LeafKey, LeafKey), usize>,
    gaps: &mut [Option<Cow<'a, [OutputLine]>>],
) {
    let mut orphans = Vec::new();
    for (pair, records) in &map.gaps {
        let n_used = n_used.get(pair).copied().unwrap_or_default();
        let n_spent = if records.len() == 1 { n_used.min(1) } else { n_used };
        for record in records.iter().skip(n_spent) {
            let lines = record.lines.as_deref().unwrap_or_default();
            if has_definitions(lines) {
                orphans.push((*pair, record.hint, lines));
            }
        }
    }
    if orphans.is_empty() {
        return;
    }
    let mut places: HashMap<LeafKey, Vec<usize>> = HashMap::from([(START, vec![0])]);
    for (index, key) in keys.iter().enumerate() {
        places.entry(*key).or_default().push(index);
    }
    for ((before, after), hint, lines) in orphans {
        let at = |key: LeafKey, step: usize| {
            let places = places.get(&key).map(Vec::as_slice).unwrap_or_default();
            places.iter().take(BlankGaps::MAX).map(move |place| place + step)
        };
        let step = usize::from(before != START);
        let end = (after == END).then_some(keys.len());
        let candidates: Vec<usize> =
            end.into_iter().chain(at(after, 0)).chain(at(before, step)).collect();
        let fits = |place: &&usize| LeafKey::hint_around(keys, **place) == hint;
        let place = candidates.iter().find(fits).or_else(|| candidates.first()).copied();
        let gap = &mut gaps[place.unwrap_or(keys.len())];
        let kept = gap.take().filter(|lines| has_definitions(lines));
        *gap = Some(match kept {
            None if place.is_none() => {
                let mut apart = vec![OutputLine::new(String::new())];
                apart.extend_from_slice(lines);
                apart.into()
            }
            None => Cow::Borrowed(lines),
            Some(kept) => [&*kept, lines].concat().into(),
        });
    }
}
