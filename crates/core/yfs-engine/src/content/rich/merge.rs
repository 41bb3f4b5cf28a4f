//! Documents that markdown cannot express: parts that the writer did not change stay as editors
//! made them.
//!
//! An empty paragraph, a comment, a column that was made wider: the file does not contain them, so
//! the writer of the file did not mean to remove them. So the writer's changes are found between
//! two files, and applied to the document block by block.

use std::ops::Range;

use yfs_markdown::tree::MarkdownNode;

use super::{end_blanks::keep_end_blanks, fingerprint, pair_children::changed};

/// A stretch of the text read that differs in the document, in the new file, or in both.
struct MergeRegion {
    read: Range<usize>,
    /// Whether the writer changed it.
    is_new: bool,
    /// The number of blocks by which the stretch is longer there.
    grown_document: isize,
    grown_new: isize,
}

/// Returns the new blocks of a document: those of `new` where it differs from `read`, the previous
/// file, and those of `document` elsewhere.
pub(super) fn merged(
    document: &[MarkdownNode],
    read: &[MarkdownNode],
    new: &[MarkdownNode],
) -> Vec<MarkdownNode> {
    let mut scratch = Vec::new();
    let mut keys = |nodes: &[MarkdownNode]| {
        let keys = nodes.chunks(1).map(|node| fingerprint::of_nodes(node, &mut scratch));
        keys.collect::<Vec<_>>()
    };
    let (document_keys, read_keys, new_keys) = (keys(document), keys(read), keys(new));
    let mut hunks: Vec<MergeRegion> = Vec::new();
    for (is_new, keys) in [(false, &document_keys), (true, &new_keys)] {
        for (read, there) in changed(&read_keys, keys) {
            let grown = there.len() as isize - read.len() as isize;
            let (grown_document, grown_new) = if is_new { (0, grown) } else { (grown, 0) };
            hunks.push(MergeRegion { read, is_new, grown_document, grown_new });
        }
    }
    hunks.sort_by_key(|hunk| (hunk.read.start, hunk.read.end, hunk.is_new));
    let mut merged = Vec::with_capacity(new.len());
    let (mut at, mut by_document, mut by_new) = (0, 0, 0);
    let shift = |range: Range<usize>, by: isize, grown: isize| {
        range.start.saturating_add_signed(by)..range.end.saturating_add_signed(by + grown)
    };
    for region in joined(hunks) {
        let MergeRegion { is_new, grown_document, grown_new, .. } = region;
        merged.extend_from_slice(&document[shift(at..region.read.start, by_document, 0)]);
        let written = &document[shift(region.read.clone(), by_document, grown_document)];
        if is_new {
            let start = merged.len();
            merged.extend_from_slice(&new[shift(region.read.clone(), by_new, grown_new)]);
            keep_end_blanks(written, &read[region.read.clone()], &mut merged[start..]);
        } else {
            merged.extend_from_slice(written);
        }
        at = region.read.end;
        by_document += grown_document;
        by_new += grown_new;
    }
    merged.extend_from_slice(&document[at.saturating_add_signed(by_document)..]);
    merged
}

/// Joins regions that overlap.
fn joined(hunks: Vec<MergeRegion>) -> Vec<MergeRegion> {
    let mut regions: Vec<MergeRegion> = Vec::new();
    for hunk in hunks {
        match regions.last_mut() {
            Some(last) if hunk.read.start < last.read.end => {
                last.read.end = last.read.end.max(hunk.read.end);
                last.is_new |= hunk.is_new;
                last.grown_document += hunk.grown_document;
                last.grown_new += hunk.grown_new;
            }
            _ => regions.push(hunk),
        }
    }
    regions
}
