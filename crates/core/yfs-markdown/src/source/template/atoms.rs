//! The content of a leaf as characters and elements, and the alignment of two.

use crate::{
    tree::{MarkdownNode, TextMark, TreeElement},
    tree_equality::{same, same_attributes, same_marks_but_signs},
};

/// A part of a leaf that has a place in its text.
#[derive(Debug, Clone, Copy)]
pub(super) enum LeafAtom<'a> {
    Character(char, &'a [TextMark]),
    Element(&'a TreeElement),
    /// The beginning of a cell.
    Cell(&'a TreeElement),
}

/// The greatest number of differences that are found one by one.
const MAX_DIFFERENCES: usize = 256;

impl<'a> LeafAtom<'a> {
    /// Returns the marks on it.
    pub(super) fn marks(&self) -> &'a [TextMark] {
        match self {
            Self::Character(_, marks) => marks,
            Self::Element(element) => &element.marks,
            Self::Cell(_) => &[],
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Character(left, left_marks), Self::Character(right, right_marks)) => {
                left == right && same_marks_but_signs(left_marks, right_marks)
            }
            (Self::Element(left), Self::Element(right)) => same(left, right),
            (Self::Cell(left), Self::Cell(right)) => {
                left.name == right.name
                    && same_attributes(&left.name, &left.attributes, &right.attributes)
            }
            _ => false,
        }
    }
}

/// Returns the atoms of a leaf, in the order of its text.
pub(super) fn atoms(leaf: &TreeElement) -> Vec<LeafAtom<'_>> {
    let mut atoms = Vec::new();
    let is_row = matches!(leaf.name.as_str(), "table_row" | "table_header_row");
    if !is_row {
        push_atoms(&leaf.children, &mut atoms);
        return atoms;
    }
    for cell in leaf.children.iter().filter_map(MarkdownNode::as_element) {
        atoms.push(LeafAtom::Cell(cell));
        for block in cell.children.iter().filter_map(MarkdownNode::as_element) {
            push_atoms(&block.children, &mut atoms);
        }
    }
    atoms
}

fn push_atoms<'a>(nodes: &'a [MarkdownNode], atoms: &mut Vec<LeafAtom<'a>>) {
    for node in nodes {
        match node {
            MarkdownNode::Text(run) => {
                atoms.extend(run.text.chars().map(|text| LeafAtom::Character(text, &run.marks)));
            }
            MarkdownNode::Element(element) => atoms.push(LeafAtom::Element(element)),
        }
    }
}

/// Returns for each new atom the old one that it was.
pub(super) fn aligned(old: &[LeafAtom<'_>], new: &[LeafAtom<'_>]) -> Vec<Option<usize>> {
    let mut found = vec![None; new.len()];
    let n_less = old.len().min(new.len());
    let n_before = (0..n_less).take_while(|at| old[*at].is_same(&new[*at])).count();
    let (n_old, n_new) = (old.len(), new.len());
    let is_same = |at: &usize| old[n_old - 1 - at].is_same(&new[n_new - 1 - at]);
    let n_behind = (0..n_less - n_before).take_while(is_same).count();
    (0..n_before).for_each(|at| found[at] = Some(at));
    (0..n_behind).for_each(|at| found[n_new - 1 - at] = Some(n_old - 1 - at));
    let (old, new) = (&old[n_before..n_old - n_behind], &new[n_before..n_new - n_behind]);
    for (from, to) in common(old, new) {
        found[n_before + to] = Some(n_before + from);
    }
    found
}

/// Returns a longest common subsequence, by Myers' greedy search; nothing if too much differs.
fn common(old: &[LeafAtom<'_>], new: &[LeafAtom<'_>]) -> Vec<(usize, usize)> {
    let (n, m) = (old.len() as isize, new.len() as isize);
    if n == 0 || m == 0 {
        return Vec::new();
    }
    let max = MAX_DIFFERENCES.min(old.len() + new.len()) as isize;
    let width = 2 * max as usize + 3;
    let at = |k: isize| (k + max + 1) as usize;
    let mut reach = vec![0_isize; width];
    let mut trace: Vec<Vec<isize>> = Vec::new();
    for d in 0..=max {
        trace.push(reach.clone());
        for k in (-d..=d).step_by(2) {
            let is_down = k == -d || k != d && reach[at(k - 1)] < reach[at(k + 1)];
            let mut x = if is_down { reach[at(k + 1)] } else { reach[at(k - 1)] + 1 };
            let mut y = x - k;
            while x < n && y < m && old[x as usize].is_same(&new[y as usize]) {
                (x, y) = (x + 1, y + 1);
            }
            reach[at(k)] = x;
            if x >= n && y >= m {
                return walk_back(&trace, d, (n, m), at);
            }
        }
    }
    Vec::new()
}

fn walk_back(
    trace: &[Vec<isize>],
    last: isize,
    (mut x, mut y): (isize, isize),
    at: impl Fn(isize) -> usize,
) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for d in (0..=last).rev() {
        let reach = &trace[d as usize];
        let k = x - y;
        let is_down = k == -d || k != d && reach[at(k - 1)] < reach[at(k + 1)];
        let before = if is_down { k + 1 } else { k - 1 };
        let (from_x, from_y) = match d {
            0 => (0, 0),
            _ => (reach[at(before)], reach[at(before)] - before),
        };
        while x > from_x && y > from_y {
            (x, y) = (x - 1, y - 1);
            pairs.push((x as usize, y as usize));
        }
        (x, y) = (from_x, from_y);
    }
    pairs.reverse();
    pairs
}
