//! Writes that change a few blocks of a long file: only these are read, parsed and compared.
//!
//! It is for files that are in the usual style around the change, so that no memory is to be
//! stored. All others are written as a whole.

use std::ops::Range;

use yfs_markdown::{
    front_matter::split, schema::SchemaProfile, source::remember, tree::TreeElement, weight::weight,
};

use super::{
    super::{
        ContentError, ContentWriteResult,
        classify::{MAX_RICH_WEIGHT, becomes_heavy},
    },
    RichBody, RichWriter,
    blocks::CachedBlock,
    plan::{BaseAlignment, RichEditPlan},
};
use crate::rich::live_at;

/// A change of some blocks of a file.
struct EditWindow {
    /// The replaced blocks, and the number of blocks before and behind them in the file that was
    /// read.
    old: Range<usize>,
    n_before: usize,
    n_after: usize,
    /// The new blocks, neighbors included.
    document: TreeElement,
}

impl RichBody {
    /// Writes `new` in place of the current file by a change of a few blocks. Returns `None` if
    /// that is not possible; then nothing changed.
    pub(super) fn write_window(
        self,
        writer: &mut RichWriter<'_>,
        new: &str,
    ) -> Result<Option<ContentWriteResult>, ContentError> {
        if let Some(cached) = writer.cache.blocks.take(writer.body.replica, self.profile) {
            return self.write_in(writer, cached, new);
        }
        let Some(file) = writer.cache.file.get() else { return Ok(None) };
        let divided = writer.cache.blocks.divide(writer.body.replica, file, self.profile);
        let Some(cached) = divided else { return Ok(None) };
        let written = self.write_in(writer, cached, new)?;
        writer.cache.blocks.note_division(written.is_some());
        Ok(written)
    }

    fn write_in(
        self,
        writer: &mut RichWriter<'_>,
        mut cached: CachedBlock,
        new: &str,
    ) -> Result<Option<ContentWriteResult>, ContentError> {
        let profile = self.profile;
        let is_exact = cached.rendered.is_exact();
        let window = match cached.window(new, profile) {
            Ok(window) => window.filter(|_| is_exact),
            Err(error) => {
                writer.cache.blocks.keep(cached);
                return Err(error);
            }
        };
        let Some(window) = window else {
            writer.cache.blocks.keep(cached);
            return Ok(None);
        };
        let EditWindow { old, n_before, n_after, document } = window;
        let around = cached.rendered.around(old.clone());
        let handles = writer.body.replica.gate.read(|txn| cached.handles(txn, around.clone()));
        let Some(handles) = handles else { return Ok(None) };
        let nodes = document.children.clone();
        let is_written = cached.rendered.replace(&cached.map, profile, old, nodes);
        if !is_written || !cached.is_file(new) {
            return Ok(None);
        }
        let entry = writer.body.begin_run();
        let mut plan = RichEditPlan::behind(writer.body.replica.next_item(), entry.is_some());
        let compare = writer.body.replica.save_comparison();
        writer.body.replica.gate.edit(|txn| {
            let live = live_at(txn, &handles, profile);
            let mut beside = BaseAlignment { txn, version: None, profile, is_copy: false, compare };
            let changed = n_before..live.len() - n_after;
            let new = &document.children[n_before..document.children.len() - n_after];
            plan.blocks(&mut beside, &live, changed, new);
        });
        writer.body.replica.gate.health()?;
        if plan.is_empty() {
            return Ok(None);
        }
        let overlaps = std::mem::take(&mut plan.overlaps);
        let update = writer.commit(entry, |txn| {
            // The plan requires that its items come first.
            plan.make(txn, None).expect("we built a valid update");
        })?;
        let window = around.start..around.start + document.children.len();
        writer
            .body
            .replica
            .gate
            .read(|txn| cached.is_now(txn, window, around.len()))
            .then(|| writer.cache.blocks.keep(cached));
        debug_assert!(
            !super::is_verified(new)
                || writer.body.replica.gate.read(|txn| super::read_file(txn, profile)).text == new,
            "the document is not the file"
        );
        writer.cache.keep_written(new);
        Ok(Some(ContentWriteResult { update, overlaps }))
    }
}

/// The part of a file that changes, with its neighbors.
struct ChangedPart<'a> {
    /// The blocks that change, and those with their neighbors.
    blocks: Range<usize>,
    around: Range<usize>,
    /// Their text, before and now.
    before: &'a str,
    text: &'a str,
}

impl CachedBlock {
    /// Finds the blocks that a new file changes, and parses their new text.
    ///
    /// # Errors
    ///
    /// [`ContentError::TooHeavy`], before anything is parsed.
    fn window(
        &mut self,
        new: &str,
        profile: SchemaProfile,
    ) -> Result<Option<EditWindow>, ContentError> {
        let Some(part) = self.changed_part(new) else { return Ok(None) };
        let most_weight = self.check_weight(new, part.text)?;
        let window = part.parse(profile);
        self.most_weight = most_weight;
        Ok(window)
    }

    /// Checks that a file that a text is added to does not become too heavy, and returns at least
    /// its weight. The whole file is weighed only where its changes may have made it too heavy.
    fn check_weight(&self, new: &str, added: &str) -> Result<usize, ContentError> {
        let most_weight = self.most_weight + weight(added) + 1;
        if most_weight <= MAX_RICH_WEIGHT {
            return Ok(most_weight);
        }
        if becomes_heavy(new, || self.file().text) {
            return Err(ContentError::TooHeavy);
        }
        Ok(weight(new))
    }

    fn changed_part<'a>(&'a self, new: &'a str) -> Option<ChangedPart<'a>> {
        let body = new.strip_prefix(self.front())?;
        if split(new).body.len() != body.len() {
            return None;
        }
        let old = self.rendered.text();
        let n_same = n_same_before(old.as_bytes(), body.as_bytes());
        let n_behind = n_same_behind(&old.as_bytes()[n_same..], &body.as_bytes()[n_same..]);
        let blocks = self.rendered.blocks_of(n_same..old.len() - n_behind);
        let around = self.rendered.around(blocks.clone());
        let part = self.rendered.part(around.clone());
        let end = (part.end + body.len()).checked_sub(old.len())?;
        let text = body.get(part.start..end)?;
        // Before the first block is a blank line, except at the beginning of the file.
        let is_first = around.start == 0;
        let before = old.get(part)?;
        let (text, before) = match is_first {
            true => (text, before),
            false => (text.strip_prefix('\n')?, before.strip_prefix('\n')?),
        };
        let is_blank = |text: &str| text.starts_with(['\n', '\r', ' ', '\t']);
        if is_blank(text) || !self.rendered.is_forgotten(&self.map, around.clone()) {
            return None;
        }
        Some(ChangedPart { blocks, around, before, text })
    }
}

impl ChangedPart<'_> {
    fn parse(self, profile: SchemaProfile) -> Option<EditWindow> {
        let Self { blocks, around, before, text } = self;
        let (document, memory) = remember(text, profile);
        let (n_before, n_after) = (blocks.start - around.start, around.end - blocks.end);
        // The neighbors must be the same blocks as before: an item that is added beside a list, for
        // instance, makes one list of both.
        let (old_document, _) = remember(before, profile);
        let is_same = has_same_ends(&old_document, &document, n_before, n_after)
            && old_document.children.len() == around.len();
        (is_same && memory.is_empty()).then_some(EditWindow {
            old: blocks,
            n_before,
            n_after,
            document,
        })
    }
}

/// The bytes that are compared at once, which takes a tenth of the time of one after the other.
const COMPARED_BYTES: usize = 256;

/// Returns the number of equal bytes at the beginning.
fn n_same_before(old: &[u8], new: &[u8]) -> usize {
    let pieces = old.chunks_exact(COMPARED_BYTES).zip(new.chunks_exact(COMPARED_BYTES));
    let n_same = COMPARED_BYTES * pieces.take_while(|(old, new)| old == new).count();
    let bytes = old[n_same..].iter().zip(&new[n_same..]);
    n_same + bytes.take_while(|(old, new)| old == new).count()
}

/// Returns the number of equal bytes at the end.
fn n_same_behind(old: &[u8], new: &[u8]) -> usize {
    let pieces = old.rchunks_exact(COMPARED_BYTES).zip(new.rchunks_exact(COMPARED_BYTES));
    let n_same = COMPARED_BYTES * pieces.take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - n_same], &new[..new.len() - n_same]);
    n_same + old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count()
}

/// Reports whether two documents begin with the same blocks and end with the same blocks.
fn has_same_ends(old: &TreeElement, new: &TreeElement, n_before: usize, n_after: usize) -> bool {
    let (old, new) = (&old.children, &new.children);
    let is_long = |nodes: &[_]| nodes.len() >= n_before + n_after;
    is_long(old)
        && is_long(new)
        && old[..n_before] == new[..n_before]
        && old[old.len() - n_after..] == new[new.len() - n_after..]
}
