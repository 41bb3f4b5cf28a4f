//! The bytes of a file beside its tree, so that a reader gets back the bytes that a writer wrote.
//!
//! A tree is the meaning of a document; it does not include the bullet that was used, the place
//! where references are defined or the padding of a table. A [`SourceMap`] remembers those for as
//! long as the meaning stays: by hash of each leaf, the lines that differ from the output of
//! [`write`](crate::write::write), the prefixes that containers put before them, and the lines
//! between two leaves. So a change in one paragraph changes the lines of that paragraph and no
//! others, and its memory is one entry among many.
//!
//! # Invariants
//!
//! - The result of [`render`] means the tree, as far as markdown can express it: it was read back,
//!   and otherwise is the output of [`write`](crate::write::write). A memory that is stale, merged
//!   or made up only costs formatting.
//! - [`render`] of the result of [`remember`] is the text that was remembered, byte for byte.
//! - A memory from any source makes a text at most a few times as long as itself and the tree
//!   together, beyond 16 MiB.
//!
//! # Cost
//!
//! [`remember`] reads the text once. [`render`] writes once and reads once if the memory is right,
//! and a bounded number of times otherwise.

mod apply_source;
mod blocks;
mod encode;
mod key;
mod prefixes;
mod record_source;
mod render;
mod replaced_items;
mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use blocks::RenderedBlocks;
pub use record_source::remember;
pub use render::{RenderedText, render, render_checked};

use crate::write::emit::{LineEnd, OutputLine};
use key::LeafKey;

/// The greatest length of a record that holds for more than one leaf, in bytes. So no few bytes
/// become many.
const MAX_REPEATED: usize = 256;

/// The version of the writer, to be raised whenever [`write`](crate::write::write) writes the same
/// tree otherwise: a map leaves out the lines that this version writes.
pub(crate) const WRITER_VERSION: u32 = 1;

/// The parts of a file's bytes that its tree cannot express.
///
/// It is kept as entries of text under text, which are independent of each other, so that a `Y.Map`
/// merges two people's changes entry by entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceMap {
    style: FileStyle,
    /// Records by leaf; several if equal leaves were written differently, in their order.
    leaves: BTreeMap<LeafKey, Vec<SourceRecord>>,
    /// Records by the leaves before and after.
    gaps: BTreeMap<(LeafKey, LeafKey), Vec<SourceRecord>>,
    index: template::IndexCell,
}

/// The properties of the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStyle {
    /// The most frequent line end.
    end: LineEnd,
    has_mark: bool,
    /// Whether the last line has no end.
    is_open: bool,
    /// Whether links are defined apart, so that brackets in text need a backslash.
    has_definitions: bool,
    /// Whether leaves without a record may be written like similar ones: the writer of the memory
    /// gave a record to each leaf that must not.
    has_templates: bool,
}

/// The lines of one leaf or gap.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SourceRecord {
    /// A few bits of the context, to distinguish equal leaves and gaps.
    hint: u16,
    /// The prefix of each container around, outermost first; `None` for the usual one.
    prefixes: Vec<Option<(String, String)>>,
    /// The lines; `None` for the usual ones.
    lines: Option<Vec<OutputLine>>,
}

impl Default for FileStyle {
    fn default() -> Self {
        Self {
            end: LineEnd::Lf,
            has_mark: false,
            is_open: false,
            has_definitions: false,
            has_templates: false,
        }
    }
}

impl SourceRecord {
    /// Returns its size in bytes.
    fn len(&self) -> usize {
        self.lines.iter().flatten().map(|line| line.text.len() + 2).sum()
    }

    /// Reports whether it may hold for all leaves of its key.
    fn may_repeat(&self) -> bool {
        self.len() <= MAX_REPEATED
    }
}

impl SourceMap {
    /// Returns the size of the memory in bytes.
    fn len(&self) -> usize {
        let records = self.leaves.values().chain(self.gaps.values()).flatten();
        records.map(SourceRecord::len).sum()
    }
}
