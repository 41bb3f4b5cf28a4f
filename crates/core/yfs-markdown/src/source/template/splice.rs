//! Writes a leaf with the bytes of its template wherever both have the same.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    alone::{LeafReader, ReadLeaf},
    atoms::{LeafAtom, aligned, atoms},
};
use crate::{
    source::key::LeafKey,
    tree::{MarkdownNode, TextMark},
    tree_equality::{same_attributes, same_but_blanks},
    write::emit::OutputLine,
};

/// What becomes of the notation between two characters that others come between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotationPlace {
    Behind,
    Before,
    /// It is written as usual.
    Usual,
}

/// The lines of a leaf by its template.
pub(super) struct RewrittenLeaf {
    pub(super) lines: Vec<OutputLine>,
    /// Whether what stands before and behind the content is that of the template, too.
    pub(super) is_framed: bool,
}

/// Writes a leaf by its template; `None` if that would not be read as the leaf.
pub(super) fn rewritten(
    reader: &LeafReader<'_>,
    template: &[OutputLine],
    key: LeafKey,
    wanted: &ReadLeaf<'_>,
) -> Option<RewrittenLeaf> {
    let lines: Vec<&str> = template.iter().map(|line| line.text.as_str()).collect();
    let old = reader.read(lines.join("\n").into())?;
    // Others may have written the memory: this is the leaf that it is about.
    if !is_of(reader, &old, key) {
        return None;
    }
    let (old_atoms, new_atoms) = (atoms(&old.element), atoms(&wanted.element));
    let aligned = aligned(&old_atoms, &new_atoms);
    let splicer =
        LeafSplicer { old: &old, old_atoms: &old_atoms, new: wanted, atoms: &new_atoms, aligned };
    let target = MarkdownNode::from(wanted.element.clone());
    [
        (NotationPlace::Behind, ChangedNotation::default()),
        (NotationPlace::Before, ChangedNotation::default()),
        (NotationPlace::Behind, splicer.with_labels()),
        (NotationPlace::Usual, ChangedNotation::default()),
        (NotationPlace::Usual, splicer.usual_around_changes()),
    ]
    .into_iter()
    .find_map(|(place, changed)| {
        let spliced = splicer.splice(place, &changed);
        let read = reader.read(spliced.text.as_str().into())?;
        let is_right = read.checked == wanted.checked
            && same_but_blanks(&MarkdownNode::from(read.element), &target);
        let is_framed = splicer.has_same_frame();
        is_right.then(|| RewrittenLeaf { lines: spliced.lines(template), is_framed })
    })
}

fn is_of(reader: &LeafReader<'_>, old: &ReadLeaf<'_>, key: LeafKey) -> bool {
    reader.key_of(old) == key
}

struct LeafSplicer<'a> {
    old: &'a ReadLeaf<'a>,
    old_atoms: &'a [LeafAtom<'a>],
    new: &'a ReadLeaf<'a>,
    /// The atoms of the new leaf.
    atoms: &'a [LeafAtom<'a>],
    /// The old atom of each new one.
    aligned: Vec<Option<usize>>,
}

/// Notation that is not that of the template, by the atom behind it.
#[derive(Debug, Default)]
struct ChangedNotation {
    /// Where it is written as usual.
    usual: HashSet<usize>,
    /// Where it is another text.
    texts: HashMap<usize, String>,
}

/// A text in parts of the old and the new one.
#[derive(Debug, Default)]
struct SplicedText {
    text: String,
    /// The place in the old text of each line end that comes from there.
    line_ends: Vec<Option<usize>>,
}

impl LeafSplicer<'_> {
    fn splice(&self, place: NotationPlace, changed: &ChangedNotation) -> SplicedText {
        let (n_old, n_new) = (self.old.places.len(), self.aligned.len());
        let is_framed = self.has_same_frame();
        let mut out = SplicedText::default();
        let mut at = 0;
        // The notation between two old atoms is numbered by the latter.
        let mut left = Some(0);
        loop {
            let right = self.aligned.get(at).map_or(Some(n_old), |old| *old);
            let is_edge = at == 0 || at == n_new;
            match (left, right) {
                _ if is_edge && !is_framed => out.push_new(self.new, gap(self.new, at)),
                (Some(_), Some(_)) if changed.texts.contains_key(&at) => {
                    out.push_other(&changed.texts[&at]);
                }
                (Some(_), Some(_)) if changed.usual.contains(&at) => {
                    out.push_new(self.new, gap(self.new, at));
                }
                (Some(from), Some(to)) if from == to => out.push_old(self.old, gap(self.old, from)),
                (Some(from), Some(to))
                    if place == NotationPlace::Behind && self.ends_a_mark(from..to) =>
                {
                    out.push_new(self.new, gap(self.new, at));
                }
                (Some(from), Some(to)) if place != NotationPlace::Usual => {
                    (from..=to).for_each(|index| out.push_old(self.old, gap(self.old, index)));
                }
                (Some(from), None) => {
                    let end = (at..n_new).find(|index| self.aligned[*index].is_some());
                    let end = end.unwrap_or(n_new);
                    let to = self.aligned.get(end).copied().flatten().unwrap_or(n_old);
                    self.insert(&mut out, at..end, from..to, (place, changed));
                    at = end;
                    if at == n_new {
                        return out;
                    }
                    out.push_old(self.old, self.old.places[to].clone());
                    (left, at) = (Some(to + 1), at + 1);
                    continue;
                }
                _ => out.push_new(self.new, gap(self.new, at)),
            }
            if at == n_new {
                return out;
            }
            match right {
                Some(old) => out.push_old(self.old, self.old.places[old].clone()),
                None => out.push_new(self.new, self.new.places[at].clone()),
            }
            left = right.map(|old| old + 1);
            at += 1;
        }
    }

    /// Inserts new atoms between the old ones beside `between`, with the notation around.
    fn insert(
        &self,
        out: &mut SplicedText,
        atoms: Range<usize>,
        between: Range<usize>,
        (place, changed): (NotationPlace, &ChangedNotation),
    ) {
        let (before, behind) = (gap(self.new, atoms.start), gap(self.new, atoms.end));
        let is_replaced = between.start < between.end;
        let split = match place {
            NotationPlace::Usual => None,
            NotationPlace::Behind if is_replaced => Some(self.around(&between, &atoms)),
            _ => self.split(&between, &atoms, place),
        };
        match &split {
            Some((kept, _)) => out.push_old(self.old, kept.clone()),
            None => out.push_new(self.new, before),
        }
        for at in atoms.clone() {
            if at > atoms.start {
                out.push_new(self.new, gap(self.new, at));
            }
            out.push_new(self.new, self.new.places[at].clone());
        }
        match (changed.texts.get(&atoms.end), split) {
            (Some(text), _) => out.push_other(text),
            (None, Some((_, kept))) => out.push_old(self.old, kept),
            (None, None) => out.push_new(self.new, behind),
        }
    }

    /// Returns the notation on either side of old atoms that others replace.
    fn around(&self, old: &Range<usize>, atoms: &Range<usize>) -> (Range<usize>, Range<usize>) {
        let (before, behind) = (gap(self.old, old.start), gap(self.old, old.end));
        let is_used_up = self.is_used_up(&behind, atoms);
        (before, if is_used_up { 0..0 } else { behind })
    }

    /// Divides the only notation between old atoms into that before and that behind new ones.
    fn split(
        &self,
        between: &Range<usize>,
        atoms: &Range<usize>,
        place: NotationPlace,
    ) -> Option<(Range<usize>, Range<usize>)> {
        let (before, behind) = (gap(self.new, atoms.start), gap(self.new, atoms.end));
        let said = |range: &Range<usize>| &self.new.text[range.clone()];
        let kept: Vec<Range<usize>> = (between.start..=between.end)
            .map(|index| gap(self.old, index))
            .filter(|range| !range.is_empty())
            .filter(|range| !self.is_used_up(range, atoms))
            .collect();
        let kept = match kept.as_slice() {
            [] => 0..0,
            [one] => one.clone(),
            _ => return None,
        };
        let text = &self.old.text[kept.clone()];
        let at = match (said(&before), said(&behind)) {
            ("", "") if place == NotationPlace::Before => text.len(),
            ("", _) => 0,
            (_, "") => text.len(),
            (before, _) if text.starts_with(before) => before.len(),
            (_, behind) if text.ends_with(behind) => text.len() - behind.len(),
            _ => return None,
        };
        Some((kept.start..kept.start + at, kept.start + at..kept.end))
    }

    /// Reports whether a gap is the blanks at the end of the leaf, behind which text goes on that
    /// begins with one: who typed them types on, and they are no longer the end.
    fn is_used_up(&self, kept: &Range<usize>, atoms: &Range<usize>) -> bool {
        let goes_on = || self.new.text[self.new.places[atoms.start].clone()].starts_with(' ');
        let is_end = kept.end == self.old.text.len() && atoms.end == self.aligned.len();
        is_end && self.old.text[kept.clone()].trim_matches(' ').is_empty() && goes_on()
    }

    /// Reports whether old atoms that are gone were all that a mark was on: its notation goes, too.
    fn ends_a_mark(&self, gone: Range<usize>) -> bool {
        let before = gone.start.checked_sub(1);
        let beside =
            before.into_iter().chain(Some(gone.end)).filter_map(|at| self.old_atoms.get(at));
        let kept: Vec<&TextMark> = beside.flat_map(LeafAtom::marks).collect();
        self.old_atoms[gone].iter().flat_map(LeafAtom::marks).any(|mark| !kept.contains(&mark))
    }

    /// Returns the atoms before which others came or went.
    fn changes(&self) -> impl Iterator<Item = usize> {
        let n_new = self.aligned.len();
        (0..=n_new).filter(move |at| {
            let left = at.checked_sub(1).map_or(Some(0), |left| self.aligned[left].map(|n| n + 1));
            let right = self.aligned.get(*at).map_or(Some(self.old.places.len()), |old| *old);
            left.is_none() || left != right
        })
    }

    /// Returns the atoms from the first to after the last around one that have a mark as well.
    fn extent(&self, at: usize, mark: &TextMark) -> Range<usize> {
        let has_mark = |atom: &LeafAtom<'_>| atom.marks().contains(mark);
        let before = self.atoms[..at].iter().rev().take_while(|atom| has_mark(atom)).count();
        let behind = self.atoms[at..].iter().take_while(|atom| has_mark(atom)).count();
        at - before..at + behind
    }

    /// Returns the extents of all marks beside changes.
    fn extents_of_changes(&self) -> Vec<(&TextMark, Range<usize>)> {
        let mut extents: Vec<(&TextMark, Range<usize>)> = Vec::new();
        for at in self.changes() {
            let beside = [at.checked_sub(1), Some(at).filter(|at| *at < self.atoms.len())];
            for atom in beside.into_iter().flatten() {
                for mark in self.atoms[atom].marks() {
                    let is_known = |known: &(&TextMark, Range<usize>)| {
                        known.0 == mark && known.1.contains(&atom)
                    };
                    if !extents.iter().any(is_known) {
                        extents.push((mark, self.extent(atom, mark)));
                    }
                }
            }
        }
        extents
    }

    /// Writes the notation of all marks beside changes as usual.
    fn usual_around_changes(&self) -> ChangedNotation {
        let mut changed = ChangedNotation::default();
        changed.usual.extend(self.changes());
        for (_, extent) in self.extents_of_changes() {
            changed.usual.extend([extent.start, extent.end]);
        }
        changed
    }

    /// Gives a label to links that were their own: `[text]` becomes `[other text][text]`.
    fn with_labels(&self) -> ChangedNotation {
        let mut changed = ChangedNotation::default();
        for (mark, extent) in self.extents_of_changes() {
            let old: Vec<usize> = self.aligned[extent.clone()].iter().flatten().copied().collect();
            let (Some(first), Some(last)) = (old.first(), old.last()) else { continue };
            let behind = gap(self.old, last + 1);
            let start = self.old.text[..self.old.places[*first].start].rfind('[');
            let close = self.old.text[behind.clone()].find(']');
            let (Some(start), Some(close)) = (start, close) else { continue };
            let (inner, outer) = self.old.text[behind.clone()].split_at(close);
            let rest = outer.strip_prefix("][]").unwrap_or(&outer[1..]);
            if mark.name != "link" || rest.len() + 1 == outer.len() && rest.starts_with(['(', '['])
            {
                continue;
            }
            // The label may have lost its first or last letters.
            let label = &self.old.text[start + 1..behind.start + close];
            changed.texts.insert(extent.end, format!("{inner}][{label}]{rest}"));
        }
        changed
    }

    /// Reports whether what stands before and behind the content may be the same.
    fn has_same_frame(&self) -> bool {
        let (old, new) = (&self.old.element, &self.new.element);
        let cells = |element: &crate::tree::TreeElement| {
            let cells = element.children.iter().filter_map(MarkdownNode::as_element);
            let is_row = element.name.starts_with("table");
            let cells = cells.filter(|_| is_row).map(|cell| cell.attributes.clone());
            cells.collect::<Vec<_>>()
        };
        old.name == new.name
            && same_attributes(&old.name, &old.attributes, &new.attributes)
            && self.old.checked == self.new.checked
            && cells(old) == cells(new)
    }
}

/// Returns the notation before an atom, or behind the last.
fn gap(leaf: &ReadLeaf<'_>, at: usize) -> Range<usize> {
    let start = at.checked_sub(1).map_or(0, |before| leaf.places[before].end);
    let end = leaf.places.get(at).map_or(leaf.text.len(), |place| place.start);
    start..end.max(start)
}

impl SplicedText {
    fn push_old(&mut self, leaf: &ReadLeaf<'_>, range: Range<usize>) {
        let text = &leaf.text[range.clone()];
        self.line_ends.extend(text.match_indices('\n').map(|(at, _)| Some(range.start + at)));
        self.text.push_str(text);
    }

    fn push_new(&mut self, leaf: &ReadLeaf<'_>, range: Range<usize>) {
        let text = &leaf.text[range];
        self.line_ends.extend(text.match_indices('\n').map(|_| None));
        self.text.push_str(text);
    }

    fn push_other(&mut self, text: &str) {
        self.line_ends.extend(text.match_indices('\n').map(|_| None));
        self.text.push_str(text);
    }

    /// Returns the lines, with the properties of those of the template.
    fn lines(self, template: &[OutputLine]) -> Vec<OutputLine> {
        let ends: Vec<usize> = template
            .iter()
            .scan(0, |at, line| {
                *at += line.text.len() + 1;
                Some(*at - 1)
            })
            .collect();
        let line_of = |end: Option<usize>| end.and_then(|end| ends.binary_search(&end).ok());
        let mut lines: Vec<OutputLine> =
            self.text.split('\n').map(|line| OutputLine::new(line.to_owned())).collect();
        for (at, end) in self.line_ends.iter().enumerate() {
            let Some(line) = line_of(*end) else { continue };
            lines[at].end = template[line].end;
            lines[at + 1].is_whole = template.get(line + 1).is_some_and(|next| next.is_whole);
        }
        if let (Some(first), Some(old)) = (lines.first_mut(), template.first()) {
            first.is_whole = old.is_whole;
        }
        if let (Some(last), Some(old)) = (lines.last_mut(), template.last()) {
            last.end = old.end;
        }
        lines
    }
}
