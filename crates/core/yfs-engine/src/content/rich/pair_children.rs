//! Pairs the blocks of one document with those of another.
//!
//! Equal blocks are found first, like lines of a text. Replaced blocks between them are paired by
//! their words: a paragraph with a word changed is still that paragraph, so that text that others
//! type in it stays in it.

use std::ops::Range;

use yfs_markdown::{
    schema::{ElementContent, SchemaProfile},
    tree::MarkdownNode,
};

use super::{
    super::diff::{diff_tokens, word_hashes},
    fingerprint::{self, Fingerprint},
};
use crate::rich::{LiveChild, nodes};

/// Above this product of block counts, pairs are searched in order only.
const MAX_CELLS: usize = 40_000;

/// How many blocks ahead such a search goes.
const LOOK_AHEAD: usize = 8;

/// The least similarity of blocks that are paired, between 0 and 1. If there is only one on either
/// side, they are paired: a parent may require exactly one child of the kind.
const MIN_ALIKE: f32 = 0.4;

/// The similarity of two blocks without words.
const WORDLESS: f32 = 0.6;

/// The similarity of two texts that share no word. Any two can be paired, but the lines of a
/// paragraph are paired by their words, so that a line that moves down is not written again in
/// another text.
const MIN_ALIKE_TEXTS: f32 = 0.5;

/// The least share of the words of a block that its successor keeps.
const MIN_KEPT: f32 = 0.6;

/// The change of a child, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildAction {
    /// It stays as it is.
    Keep { old: usize, new: usize },
    /// It stays and changes.
    Change { old: usize, new: usize },
    /// It is deleted.
    Delete { old: usize },
    /// It is inserted.
    Insert { new: usize },
}

/// Children of a new document, texts that stand together as one.
pub(super) fn grouped(nodes: &[MarkdownNode]) -> Vec<&[MarkdownNode]> {
    let is_text = |node: &MarkdownNode| matches!(node, MarkdownNode::Text(_));
    nodes.chunk_by(|left, right| is_text(left) && is_text(right)).collect()
}

/// Returns the changes of children.
pub(super) fn align(old: &[LiveChild], new: &[&[MarkdownNode]]) -> Vec<ChildAction> {
    if old.is_empty() {
        return (0..new.len()).map(|new| ChildAction::Insert { new }).collect();
    }
    let mut scratch = Vec::new();
    let old_keys: Vec<_> = old.iter().map(|kid| fingerprint::of_kid(kid, &mut scratch)).collect();
    let new_keys: Vec<_> =
        new.iter().map(|nodes| fingerprint::of_nodes(nodes, &mut scratch)).collect();
    let mut acts = Vec::with_capacity(new.len());
    let (mut at_old, mut at_new) = (0, 0);
    let keep = |acts: &mut Vec<ChildAction>, old: Range<usize>, new: usize| {
        acts.extend(
            old.clone().map(|index| ChildAction::Keep { old: index, new: new + index - old.start }),
        );
    };
    for (gone, come) in changed(&old_keys, &new_keys) {
        keep(&mut acts, at_old..gone.start, at_new);
        pair(old, new, gone.clone(), come.clone(), &mut acts);
        (at_old, at_new) = (gone.end, come.end);
    }
    keep(&mut acts, at_old..old.len(), at_new);
    acts
}

/// Returns which children were replaced by which, by their fingerprints.
pub(super) fn changed(
    old: &[Fingerprint],
    new: &[Fingerprint],
) -> Vec<(Range<usize>, Range<usize>)> {
    diff_tokens(old, new)
}

/// Returns the changes of children that were replaced by others.
fn pair(
    old: &[LiveChild],
    new: &[&[MarkdownNode]],
    gone: Range<usize>,
    come: Range<usize>,
    acts: &mut Vec<ChildAction>,
) {
    let before: Vec<ChildFingerprint> =
        old[gone.clone()].iter().map(ChildFingerprint::of_kid).collect();
    let after: Vec<ChildFingerprint> =
        new[come.clone()].iter().map(|nodes| ChildFingerprint::of_nodes(nodes)).collect();
    let (mut at_old, mut at_new) = (0, 0);
    let end = [(before.len(), after.len())];
    for (old, new) in pairs(&before, &after).into_iter().chain(end) {
        acts.extend((at_new..new).map(|index| ChildAction::Insert { new: come.start + index }));
        acts.extend((at_old..old).map(|index| ChildAction::Delete { old: gone.start + index }));
        if old < before.len() {
            acts.push(ChildAction::Change { old: gone.start + old, new: come.start + new });
        }
        (at_old, at_new) = (old + 1, new + 1);
    }
}

/// The words of a child, for comparison.
#[derive(Debug)]
pub(super) struct ChildFingerprint {
    /// `None` for texts.
    name: Option<smol_str::SmolStr>,
    /// The hashes of its words, sorted.
    words: Vec<u64>,
}

impl ChildFingerprint {
    /// Reports whether most words of the block are in one of the others, which may be of another
    /// kind or have further words.
    pub(super) fn lives_on_in(&self, others: &[LiveChild]) -> bool {
        let least = MIN_KEPT * self.words.len() as f32;
        let keeps_most = |other: &LiveChild| self.n_shared(&Self::of_kid(other)) as f32 >= least;
        !self.words.is_empty() && others.iter().any(keeps_most)
    }

    pub(super) fn of_kid(kid: &LiveChild) -> Self {
        match kid {
            LiveChild::Text(text) => Self::of(None, &text.runs),
            LiveChild::Element(element) => Self::of(Some(&element.name), &nodes(&element.kids)),
        }
    }

    fn of_nodes(nodes: &[MarkdownNode]) -> Self {
        match nodes.first() {
            Some(MarkdownNode::Element(element)) => {
                Self::of(Some(&element.name), &element.children)
            }
            _ => Self::of(None, nodes),
        }
    }

    fn of(name: Option<&smol_str::SmolStr>, children: &[MarkdownNode]) -> Self {
        let mut words = Vec::new();
        collect(children, &mut words);
        words.sort_unstable();
        Self { name: name.cloned(), words }
    }

    /// Returns the similarity of two (Sørensen and Dice, of words); `None` if they can never be
    /// paired.
    fn alike(&self, other: &Self) -> Option<f32> {
        if self.name != other.name {
            return None;
        }
        let n_words = self.words.len() + other.words.len();
        // A table has one header, whatever its words.
        if n_words == 0 || self.name.as_deref().is_some_and(is_header) {
            return Some(WORDLESS);
        }
        let alike = 2.0 * self.n_shared(other) as f32 / n_words as f32;
        Some(match self.name {
            None => MIN_ALIKE_TEXTS + (1.0 - MIN_ALIKE_TEXTS) * alike,
            Some(_) => alike,
        })
    }

    /// Returns the number of words that both have.
    fn n_shared(&self, other: &Self) -> usize {
        let (mut n_shared, mut rest) = (0_usize, other.words.as_slice());
        for word in &self.words {
            let n_less = rest.partition_point(|other_word| other_word < word);
            rest = &rest[n_less..];
            if rest.first() == Some(word) {
                n_shared += 1;
                rest = &rest[1..];
            }
        }
        n_shared
    }
}

fn is_header(name: &str) -> bool {
    let elements = SchemaProfile::Gfm.elements().iter();
    elements
        .map(|spec| spec.content)
        .any(|content| matches!(content, ElementContent::Rows(first, _) if first == name))
}

fn collect(nodes: &[MarkdownNode], words: &mut Vec<u64>) {
    for node in nodes {
        match node {
            MarkdownNode::Text(run) => words.extend(word_hashes(&run.text)),
            MarkdownNode::Element(element) => collect(&element.children, words),
        }
    }
}

/// Returns the pairs, in order on both sides.
fn pairs(before: &[ChildFingerprint], after: &[ChildFingerprint]) -> Vec<(usize, usize)> {
    let alone = before.len() == 1 && after.len() == 1;
    let least = if alone { 0.0 } else { MIN_ALIKE };
    let score = |old: usize, new: usize| {
        before[old]
            .alike(&after[new])
            .filter(|alike| *alike >= least)
            .map_or(0.0, |alike| alike + 0.01)
    };
    if before.len() * after.len() > MAX_CELLS {
        return in_order(before.len(), after.len(), &score);
    }
    best(before.len(), after.len(), &score)
}

/// Pairs each child with the first that is similar enough.
fn in_order(
    n_old: usize,
    n_new: usize,
    score: &dyn Fn(usize, usize) -> f32,
) -> Vec<(usize, usize)> {
    let (mut pairs, mut from) = (Vec::new(), 0);
    for old in 0..n_old {
        let mut candidates = from..n_new.min(from + LOOK_AHEAD);
        if let Some(new) = candidates.find(|new| score(old, *new) > 0.0) {
            pairs.push((old, new));
            from = new + 1;
        }
    }
    pairs
}

/// Returns the pairs with the greatest total similarity.
fn best(n_old: usize, n_new: usize, score: &dyn Fn(usize, usize) -> f32) -> Vec<(usize, usize)> {
    let width = n_new + 1;
    let mut scores = vec![0.0; n_old * n_new];
    // The best score of the children behind both.
    let mut rest = vec![0.0_f32; (n_old + 1) * width];
    for old in (0..n_old).rev() {
        for new in (0..n_new).rev() {
            let alike = score(old, new);
            scores[old * n_new + new] = alike;
            let skip = rest[(old + 1) * width + new].max(rest[old * width + new + 1]);
            let take = if alike > 0.0 { alike + rest[(old + 1) * width + new + 1] } else { 0.0 };
            rest[old * width + new] = skip.max(take);
        }
    }
    let (mut pairs, mut old, mut new) = (Vec::new(), 0, 0);
    while old < n_old && new < n_new {
        let (here, alike) = (rest[old * width + new], scores[old * n_new + new]);
        if alike > 0.0 && here == alike + rest[(old + 1) * width + new + 1] {
            pairs.push((old, new));
            (old, new) = (old + 1, new + 1);
        } else if here == rest[(old + 1) * width + new] {
            old += 1;
        } else {
            new += 1;
        }
    }
    pairs
}
