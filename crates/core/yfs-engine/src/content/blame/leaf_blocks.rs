//! The blocks of a markdown file that hold text, and the lines that each of them has.
//!
//! The marks of markdown (`# `, `- `, a fence, the address of a link) and the blank lines between
//! blocks belong to no item. They belong to the writer who made the block: on a line with text its
//! block, on a line without text the block before it.

use hashbrown::HashMap;

use super::{super::item_spans::ItemSpan, BlamePiece, push_piece};
use crate::{content::log::AuthorLog, id::ItemId, rich::LiveChild};

/// The blocks of a file that have no blocks in them, in order, and the block of each line.
pub(super) struct LeafBlocks {
    blocks: Vec<LeafBlock>,
    /// The lines of the body: the start of each, and its block.
    lines: Vec<(usize, usize)>,
    /// The first line of each block, by its start.
    first_lines: Vec<Option<usize>>,
    /// The first block of each element.
    of_elements: HashMap<ItemId, usize>,
    end: usize,
}

struct LeafBlock {
    id: ItemId,
    /// The texts in it.
    lists: Vec<ItemId>,
    /// The elements that begin with it, itself among them.
    around: Vec<ItemId>,
    /// The elements in it.
    inner: Vec<ItemId>,
}

impl LeafBlocks {
    /// Reads the blocks of a document whose file has its body at `front`.
    pub(super) fn read(kids: &[LiveChild], text: &str, front: usize, spans: &[ItemSpan]) -> Self {
        let mut blocks = Vec::new();
        collect(kids, &mut Vec::new(), &mut blocks);
        let mut starts = vec![front];
        starts.extend(text[front..].match_indices('\n').map(|(at, _)| front + at + 1));
        starts.pop_if(|start| *start == text.len());
        let by_list: HashMap<ItemId, usize> = blocks
            .iter()
            .enumerate()
            .flat_map(|(index, block)| block.lists.iter().map(move |list| (*list, index)))
            .collect();
        let mut owners: Vec<Option<usize>> = vec![None; starts.len()];
        for span in spans {
            let block = span.list.and_then(|list| by_list.get(&list)).copied();
            let first = starts.partition_point(|start| *start <= span.at).max(1) - 1;
            let upto = starts.partition_point(|start| *start < span.at + span.len);
            for owner in owners.get_mut(first..upto).unwrap_or_default() {
                *owner = owner.or(block);
            }
        }
        let line = |index: usize| {
            let end = starts.get(index + 1).copied().unwrap_or(text.len());
            &text[starts[index]..end]
        };
        let owners = LineOwners { n_blocks: blocks.len(), owners }.fill(line);
        let lines: Vec<(usize, usize)> = starts.into_iter().zip(owners).collect();
        let mut first_lines = vec![None; blocks.len()];
        for (start, block) in lines.iter().rev() {
            if let Some(first) = first_lines.get_mut(*block) {
                *first = Some(*start);
            }
        }
        let elements = blocks.iter().enumerate().flat_map(|(index, block)| {
            block.around.iter().chain(&block.inner).map(move |element| (*element, index))
        });
        let of_elements = elements.collect();
        Self { blocks, lines, first_lines, of_elements, end: text.len() }
    }

    /// Returns the first line of an element, by its start.
    pub(super) fn line_of(&self, element: ItemId) -> Option<usize> {
        self.first_lines[*self.of_elements.get(&element)?]
    }

    /// Returns the elements within blocks, each with the first line of its block.
    pub(super) fn inner_elements(&self) -> impl Iterator<Item = (ItemId, usize)> {
        let blocks = self.blocks.iter().zip(&self.first_lines);
        blocks.flat_map(|(block, line)| {
            let line = *line;
            block.inner.iter().filter_map(move |element| Some((*element, line?)))
        })
    }

    /// Attributes the text between pieces to the writers of the blocks.
    pub(super) fn with_syntax(
        &self,
        log: &AuthorLog,
        text: &str,
        pieces: Vec<BlamePiece>,
    ) -> Vec<BlamePiece> {
        let (mut filled, mut at) = (Vec::with_capacity(2 * pieces.len()), text.len());
        at = self.lines.first().map_or(at, |(start, _)| *start);
        for piece in pieces {
            self.fill(log, at..piece.range.start, &mut filled);
            at = piece.range.end;
            push_piece(&mut filled, piece);
        }
        self.fill(log, at..self.end, &mut filled);
        filled
    }

    /// Attributes a part of the text, line by line.
    fn fill(&self, log: &AuthorLog, part: std::ops::Range<usize>, filled: &mut Vec<BlamePiece>) {
        let first = self.lines.partition_point(|(start, _)| *start <= part.start).max(1) - 1;
        let ends = self.lines.iter().skip(1).map(|(start, _)| *start).chain([self.end]);
        for ((start, owner), end) in self.lines.iter().zip(ends).skip(first) {
            let range = (*start).max(part.start)..end.min(part.end);
            if range.is_empty() {
                break;
            }
            let run = self.blocks.get(*owner).and_then(|block| log.run_of(block.id).0);
            let (run, author) = run.map_or((None, None), |(run, by)| (Some(run), Some(by)));
            push_piece(filled, BlamePiece { range, author: author.cloned(), run });
        }
    }
}

/// The block of each line; none yet of a line without text.
struct LineOwners {
    n_blocks: usize,
    owners: Vec<Option<usize>>,
}

impl LineOwners {
    /// Finds the blocks of the lines without text.
    fn fill<'t>(mut self, line: impl Fn(usize) -> &'t str) -> Vec<usize> {
        let mut at = 0;
        while at < self.owners.len() {
            if self.owners[at].is_some() {
                at += 1;
                continue;
            }
            let n_open = self.owners[at..].iter().take_while(|owner| owner.is_none()).count();
            self.fill_between(at, at + n_open, &line);
            at += n_open;
        }
        self.owners.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Finds the blocks of some lines between two that have text.
    fn fill_between<'t>(&mut self, start: usize, end: usize, line: impl Fn(usize) -> &'t str) {
        let before = start.checked_sub(1).and_then(|at| self.owners[at]);
        let behind = self.owners.get(end).copied().flatten();
        let silent = before.map_or(0, |before| before + 1)..behind.unwrap_or(self.n_blocks);
        let is_blank = |at: &usize| line(*at).trim().is_empty();
        // A fence, or a rule under a title.
        let n_lead = (start..end).take_while(|at| before.is_some() && !is_blank(at)).count();
        let n_trail = (start + n_lead..end).rev();
        let n_trail = n_trail.take_while(|at| behind.is_some() && !is_blank(at)).count();
        let (mut silent, mut last) = (silent, before.or(behind).unwrap_or(0));
        let mut is_inside = false;
        for at in start..end {
            let owner = if at < start + n_lead {
                before
            } else if at >= end - n_trail {
                behind
            } else {
                // Blocks without text, such as rules and pictures, are apart by blank lines.
                let next = (!is_blank(&at) && !is_inside).then(|| silent.next()).flatten();
                is_inside = !is_blank(&at);
                next
            };
            last = owner.unwrap_or(last);
            self.owners[at] = Some(last);
        }
    }
}

/// Collects the blocks under some nodes that hold no blocks. Recurses as deep as the tree that was
/// read.
fn collect(kids: &[LiveChild], around: &mut Vec<ItemId>, blocks: &mut Vec<LeafBlock>) {
    for kid in kids {
        let LiveChild::Element(element) = kid else {
            // A text that is in no block.
            let ids: Vec<ItemId> = kid.ids().collect();
            let Some(id) = ids.first().copied() else { continue };
            blocks.push(LeafBlock { id, lists: ids, around: Vec::new(), inner: Vec::new() });
            continue;
        };
        around.push(element.id);
        let is_text = |kid: &LiveChild| matches!(kid, LiveChild::Text(_));
        let is_hollow = |kid: &LiveChild| match kid {
            LiveChild::Element(element) => element.kids.is_empty(),
            LiveChild::Text(_) => true,
        };
        if element.kids.iter().any(is_text) || element.kids.iter().all(is_hollow) {
            let (mut lists, mut inner, around) = (Vec::new(), Vec::new(), std::mem::take(around));
            ids_below(&element.kids, &mut lists, &mut inner);
            blocks.push(LeafBlock { id: element.id, lists, around, inner });
        } else {
            collect(&element.kids, around, blocks);
            around.retain(|id| *id != element.id);
        }
    }
}

/// Collects the texts and the elements under some nodes. Recurses as deep as the tree that was
/// read.
fn ids_below(kids: &[LiveChild], lists: &mut Vec<ItemId>, elements: &mut Vec<ItemId>) {
    for kid in kids {
        match kid {
            LiveChild::Text(text) => lists.extend(text.slots.iter().map(|slot| slot.id)),
            LiveChild::Element(element) => {
                // The end of a line within a paragraph is no edit of its first line.
                if !matches!(element.name.as_str(), "hardbreak" | "hard_break") {
                    elements.push(element.id);
                }
                ids_below(&element.kids, lists, elements);
            }
        }
    }
}
