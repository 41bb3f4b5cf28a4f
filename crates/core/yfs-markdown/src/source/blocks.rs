//! A rendered document that is updated block by block.
//!
//! Rendering costs reading the whole text back. When an editor changes one paragraph, all other
//! blocks are written as before, and a block that begins outside all others reads the same
//! independent of the text further up. So the blocks that changed are rendered with two neighbors
//! on either side, as a document of their own; that is read back, and the neighbors must be written
//! as they were.
//!
//! # Invariants
//!
//! * The text is what [`render`](super::render) returns for the whole document. If that is not
//!   certain, nothing is done, and the caller renders the document.
//!
//! # Cost
//!
//! [`RenderedBlocks::replace`] costs the blocks that it is given, one move of the text behind them,
//! and a check of the remembered gaps.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, ops::Range};

use super::{
    SourceMap,
    apply_source::{self, BlankGaps, has_definitions},
    key::{END, LeafKey, START},
};
use crate::{
    outline::{ContainerKind, TreeOutline, is_empty_paragraph},
    parse::parse,
    schema::SchemaProfile,
    tree::{MarkdownNode, TreeElement},
    tree_equality::{has_end_blanks, same_but_blanks},
    write::emit::emit_blocks,
};

/// The number of blocks with text that are rendered on either side of the changed ones.
const N_NEIGHBORS: usize = 2;

/// A document as text, with the part of the text for each block.
#[derive(Debug, Clone)]
pub struct RenderedBlocks {
    text: String,
    blocks: Vec<SourceBlock>,
    /// The number of leaves of each key.
    n_by_key: HashMap<LeafKey, usize>,
    /// The number of blocks that markdown cannot express: empty paragraphs, and those with blanks
    /// at their end.
    n_inexact: usize,
}

/// One block of the document.
#[derive(Debug, Clone)]
struct SourceBlock {
    /// The number of bytes of its text, with the gap before it.
    len: usize,
    keys: Box<[LeafKey]>,
    is_exact: bool,
}

impl SourceMap {
    /// Reports whether the memory of one block has no effect on the text of distant blocks.
    fn is_local(&self) -> bool {
        let says = |record: &super::SourceRecord| {
            has_definitions(record.lines.as_deref().unwrap_or_default())
        };
        !self.style.has_mark
            && !self.style.is_open
            && !self.style.has_definitions
            && !self.gaps.values().flatten().any(says)
    }

    /// Reports whether leaves and gaps are written alike wherever they stand.
    fn is_plain(&self, keys: &[LeafKey], n_by_key: &HashMap<LeafKey, usize>) -> bool {
        let near = BlankGaps::new(n_by_key, self);
        let is_plain_leaf = |key: &LeafKey| match self.leaves.get(key).map(Vec::as_slice) {
            None => true,
            Some([record]) => record.may_repeat() || n_by_key.get(key) == Some(&1),
            Some(_) => false,
        };
        let is_plain_gap =
            |pair: &[LeafKey]| match self.gaps.get(&(pair[0], pair[1])).map(Vec::as_slice) {
                None => !self.style.has_templates || near.is_plain(pair[0], pair[1]),
                Some([record]) => record.may_repeat(),
                Some(_) => false,
            };
        keys.iter().all(is_plain_leaf) && keys.windows(2).all(is_plain_gap)
    }

    /// Reports whether some leaves and the gaps beside them have no memory.
    fn forgets(&self, keys: &[LeafKey]) -> bool {
        let is_gap =
            |(before, after): &(LeafKey, LeafKey)| keys.contains(before) || keys.contains(after);
        let style = super::FileStyle { has_templates: false, ..self.style };
        style == super::FileStyle::default()
            && !keys.iter().any(|key| self.leaves.contains_key(key))
            && !self.gaps.keys().any(is_gap)
    }
}

impl RenderedBlocks {
    /// Renders a document. Returns `None` if its text cannot be updated by blocks.
    pub fn new(document: &TreeElement, map: &SourceMap, profile: SchemaProfile) -> Option<Self> {
        let rendered = Self::written(document, map, profile)?;
        reads_back(&rendered.text, &document.children, profile).then_some(rendered)
    }

    /// Divides a text into blocks. The text must be the result of [`render`](super::render) for the
    /// document, so that it need not be read back.
    pub fn of_text(
        document: &TreeElement,
        map: &SourceMap,
        profile: SchemaProfile,
        text: &str,
    ) -> Option<Self> {
        Self::written(document, map, profile).filter(|rendered| rendered.text == text)
    }

    /// Writes a document that is not read back yet.
    fn written(document: &TreeElement, map: &SourceMap, profile: SchemaProfile) -> Option<Self> {
        let is_block = |node: &MarkdownNode| node.as_element().is_some();
        let is_text = |node: &MarkdownNode| !is_silent(node);
        if !map.is_local() || !document.children.iter().all(is_block) {
            return None;
        }
        if !document.children.iter().any(is_text) {
            return None;
        }
        let outline = TreeOutline::new(document);
        let keys = LeafKey::of_leaves(&outline);
        let n_by_key = count(&keys);
        let (text, blocks) = write_blocks(&outline, &keys, map, profile, &n_by_key, [true; 2])?;
        let n_inexact = blocks.iter().filter(|block| !block.is_exact).count();
        Some(Self { text, blocks, n_by_key, n_inexact })
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reports whether the text expresses all of the document.
    pub fn is_exact(&self) -> bool {
        self.n_inexact == 0
    }

    /// Returns the number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the blocks that must be read to replace some: these and their neighbors.
    pub fn around(&self, blocks: Range<usize>) -> Range<usize> {
        let has_text = |block: &&SourceBlock| !block.keys.is_empty();
        let mut start = blocks.start;
        for _ in 0..N_NEIGHBORS {
            let found = self.blocks[..start].iter().rposition(|block| has_text(&block));
            start = found.unwrap_or(0);
        }
        let mut end = blocks.end;
        for _ in 0..N_NEIGHBORS {
            let found = self.blocks[end..].iter().position(|block| has_text(&block));
            end = found.map_or(self.blocks.len(), |found| end + found + 1);
        }
        start..end
    }

    /// Returns the part of the text of some blocks, and the gap before the first of them.
    pub fn part(&self, blocks: Range<usize>) -> Range<usize> {
        let len = |blocks: &[SourceBlock]| blocks.iter().map(|block| block.len).sum::<usize>();
        let start = len(&self.blocks[..blocks.start]);
        start..start + len(&self.blocks[blocks])
    }

    /// Returns the blocks that contain the part of the text between the first and the last
    /// difference.
    pub fn blocks_of(&self, part: Range<usize>) -> Range<usize> {
        let (mut at, mut start, mut end) = (0, None, self.blocks.len());
        for (index, block) in self.blocks.iter().enumerate() {
            let behind = at + block.len;
            if behind >= part.start && start.is_none() {
                start = Some(index);
            }
            if at > part.end {
                end = index;
                break;
            }
            at = behind;
        }
        let start = start.unwrap_or(end).min(end);
        start..end
    }

    /// Updates the text: of the document, `old` are the blocks that change,
    /// [`around`](Self::around) them are those that are given in `nodes` with their neighbors:
    /// `n_before` and `n_after` of these stay. Reports whether it was possible; if not, nothing
    /// changed.
    pub fn replace(
        &mut self,
        map: &SourceMap,
        profile: SchemaProfile,
        old: Range<usize>,
        nodes: Vec<MarkdownNode>,
    ) -> bool {
        let window = self.around(old.clone());
        let (n_before, n_after) = (old.start - window.start, window.end - old.end);
        let is_block = |node: &MarkdownNode| node.as_element().is_some();
        if nodes.len() < n_before + n_after || !nodes.iter().all(is_block) {
            return false;
        }
        let n_new = nodes.len() - n_before - n_after;
        let part = TreeElement::new("doc").with_children(nodes);
        if part.children.iter().all(is_silent) {
            return false;
        }
        let outline = TreeOutline::new(&part);
        let keys = LeafKey::of_leaves(&outline);
        let is_footnote = |container: &crate::outline::OutlineContainer<'_>| {
            container.kind == ContainerKind::Footnote
        };
        if outline.containers.iter().any(is_footnote) {
            return false;
        }
        let gone: Vec<LeafKey> = self.blocks[window.clone()]
            .iter()
            .flat_map(|block| block.keys.iter().copied())
            .collect();
        let has_near = self.has_near_gaps(map);
        let is_plain = map.is_plain(&gone, &self.n_by_key);
        self.recount(gone.iter(), keys.iter());
        let is_local = is_plain && !has_near && !self.has_near_gaps(map);
        let written = match is_local {
            true => self.write_part(&window, &outline, &keys, map, profile, [n_before, n_after]),
            false => None,
        };
        let Some((text, blocks)) = written else {
            self.recount(keys.iter(), gone.iter());
            return false;
        };
        let here = self.part(window.clone());
        // The first block stays in place, also the gap before it.
        let n_first = blocks.first().map_or(0, |block| block.len);
        let (n_old_first, first) = match n_before {
            0 => (0, None),
            _ => (self.blocks[window.start].len, Some(self.blocks[window.start].clone())),
        };
        let skipped = if first.is_some() { n_first } else { 0 };
        self.text.replace_range(here.start + n_old_first..here.end, &text[skipped..]);
        let n_inexact =
            |blocks: &[SourceBlock]| blocks.iter().filter(|block| !block.is_exact).count();
        self.n_inexact -= n_inexact(&self.blocks[window.clone()]);
        self.n_inexact += n_inexact(&blocks);
        let kept = first.into_iter().chain(blocks.into_iter().skip(usize::from(n_before > 0)));
        debug_assert_eq!(n_new + n_before + n_after, part.children.len());
        self.blocks.splice(window, kept.collect::<Vec<_>>());
        true
    }

    /// Writes a window of the document, if its neighbors are written as they were.
    fn write_part(
        &self,
        window: &Range<usize>,
        outline: &TreeOutline<'_>,
        keys: &[LeafKey],
        map: &SourceMap,
        profile: SchemaProfile,
        [n_before, n_after]: [usize; 2],
    ) -> Option<(String, Vec<SourceBlock>)> {
        if !map.is_plain(keys, &self.n_by_key) {
            return None;
        }
        let are_ends = [window.start == 0, window.end == self.blocks.len()];
        let (text, blocks) = write_blocks(outline, keys, map, profile, &self.n_by_key, are_ends)?;
        let here = self.part(window.clone());
        let is_same = reads_back(&text, outline.document(), profile)
            && self.is_same_around(window, &here, &text, &blocks, n_before, n_after);
        is_same.then_some((text, blocks))
    }

    /// Reports whether some blocks have no memory.
    pub fn is_forgotten(&self, map: &SourceMap, blocks: Range<usize>) -> bool {
        let keys: Vec<LeafKey> =
            self.blocks[blocks].iter().flat_map(|block| block.keys.iter().copied()).collect();
        map.forgets(&keys)
    }

    /// Reports whether a gap is remembered that lost a neighbor. Any other gap beside the remaining
    /// neighbor may then be written like it.
    fn has_near_gaps(&self, map: &SourceMap) -> bool {
        let is_there =
            |key: &LeafKey| [START, END].contains(key) || self.n_by_key.contains_key(key);
        !map.style.has_templates
            && map.gaps.keys().any(|(before, after)| !is_there(before) || !is_there(after))
    }

    /// Counts removed and added leaves.
    fn recount<'a>(
        &mut self,
        gone: impl Iterator<Item = &'a LeafKey>,
        come: impl Iterator<Item = &'a LeafKey>,
    ) {
        for key in come {
            *self.n_by_key.entry(*key).or_default() += 1;
        }
        for key in gone {
            if let Some(count) = self.n_by_key.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    self.n_by_key.remove(key);
                }
            }
        }
    }

    /// Reports whether the neighbors of the changed blocks are written as they were.
    fn is_same_around(
        &self,
        window: &Range<usize>,
        here: &Range<usize>,
        text: &str,
        blocks: &[SourceBlock],
        n_before: usize,
        n_after: usize,
    ) -> bool {
        let here = &self.text[here.clone()];
        let len = |blocks: &[SourceBlock]| blocks.iter().map(|block| block.len).sum::<usize>();
        let old_blocks = &self.blocks[window.clone()];
        // Nothing stands before the first block of a document of its own.
        let old_before =
            &here[old_blocks.first().filter(|_| n_before > 0).map_or(0, |block| block.len)
                ..len(&old_blocks[..n_before])];
        let new_before = &text[blocks.first().filter(|_| n_before > 0).map_or(0, |block| block.len)
            ..len(&blocks[..n_before])];
        let first = |text: &str, blocks: &[SourceBlock]| {
            let len = blocks.first().filter(|_| n_before > 0).map_or(0, |block| block.len);
            text[..len].trim_start_matches(['\n', '\r', ' ', '\t', '>']).to_owned()
        };
        let is_first_same = first(here, old_blocks) == first(text, blocks);
        let n_kept = n_after.saturating_sub(1);
        let old_after = len(&old_blocks[old_blocks.len() - n_kept..]);
        let new_after = len(&blocks[blocks.len() - n_kept..]);
        is_first_same
            && old_before == new_before
            && here[here.len() - old_after..] == text[text.len() - new_after..]
    }
}

/// Reports whether a block has no lines of its own beside others.
fn is_silent(node: &MarkdownNode) -> bool {
    node.as_element().is_some_and(is_empty_paragraph)
}

/// Reports whether a text reads back as all blocks that have text.
fn reads_back(text: &str, nodes: &[MarkdownNode], profile: SchemaProfile) -> bool {
    reads_as(&parse(text, profile), nodes)
}

/// Reports whether a document was read as all blocks that have text.
pub(super) fn reads_as(read: &TreeElement, nodes: &[MarkdownNode]) -> bool {
    let mut said = nodes.iter().filter(|node| !is_silent(node));
    let is_same = read
        .children
        .iter()
        .all(|read_node| said.next().is_some_and(|node| same_but_blanks(read_node, node)));
    is_same && said.next().is_none()
}

fn count(keys: &[LeafKey]) -> HashMap<LeafKey, usize> {
    let mut n_by_key = HashMap::with_capacity(keys.len());
    keys.iter().for_each(|key| *n_by_key.entry(*key).or_default() += 1);
    n_by_key
}

/// Writes a part of a document, and returns the part of the text of each block. `are_ends` says
/// whether it begins and ends the document.
fn write_blocks(
    outline: &TreeOutline<'_>,
    keys: &[LeafKey],
    map: &SourceMap,
    profile: SchemaProfile,
    n_by_key: &HashMap<LeafKey, usize>,
    are_ends: [bool; 2],
) -> Option<(String, Vec<SourceBlock>)> {
    let mut plan = apply_source::plan_among(outline, keys, map, profile, &|_| false, n_by_key);
    for (gap, is_end) in [0, keys.len()].into_iter().zip(are_ends) {
        if !is_end {
            plan.gaps[gap] = None;
        }
    }
    let (text, starts) = emit_blocks(outline, &plan);
    if text.len() > plan.max_len {
        return None;
    }
    let empty = |node: &MarkdownNode| {
        let is_exact = !is_silent(node) && !has_end_blanks(node);
        SourceBlock { len: 0, keys: Box::default(), is_exact }
    };
    let mut blocks: Vec<SourceBlock> = outline.document().iter().map(empty).collect();
    let mut leaf = 0;
    while let Some(first) = outline.leaves.get(leaf) {
        let n_leaves =
            outline.leaves[leaf..].iter().take_while(|leaf| leaf.top == first.top).count();
        let end = starts.get(leaf + n_leaves).copied().unwrap_or(text.len());
        let block = &mut blocks[first.top];
        block.len = end - starts[leaf];
        block.keys = keys[leaf..leaf + n_leaves].into();
        leaf += n_leaves;
    }
    Some((text, blocks))
}
