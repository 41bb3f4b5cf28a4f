//! The bytes of a file beside its tree, so that whoever reads gets back what somebody wrote.
//!
//! A tree says what a document means; it does not say which bullet was used, where references are defined or
//! how a table was padded. A [`SourceMap`] remembers that for as long as the meaning stays: by hash of
//! each leaf, the lines that differ from what [`write`](crate::write::write) would write, with what containers
//! put before them, and what stands between two leaves. So a change in one paragraph changes the lines of that
//! paragraph and no others, and its memory is one entry among many.
//!
//! # Invariants
//!
//! - What [`render`] returns means the tree, as far as markdown can say it: it was read back, and else is what
//!   [`write`](crate::write::write) writes. A memory that is stale, merged or made up costs formatting and no more.
//! - [`render`] of what [`remember`] returned is the text that was remembered, byte for byte.
//!
//! - A memory, whoever wrote it, makes a text at most a few times as long as itself and the tree together, beyond 16 MiB.
//!
//! # Cost
//!
//! [`remember`] reads the text once. [`render`] writes once and reads once where the memory is right, and a
//! bounded number of times otherwise.

mod apply_source;
mod blocks;
mod encode;
mod key;
mod prefixes;
mod record_source;
mod render;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use blocks::RenderedBlocks;
pub use record_source::remember;
pub use render::{RenderedText, render, render_checked};

use crate::write::emit::{LineEnd, OutputLine};
use key::LeafKey;

/// How long a record may be that holds for more than one leaf, in bytes. So no few bytes become many.
const MAX_REPEATED: usize = 256;

/// Changes whenever [`write`](crate::write::write) writes the same tree otherwise: what a map leaves out is
/// what that version writes.
pub const WRITER_VERSION: u32 = 1;

/// What a file's bytes say beyond its tree.
///
/// It is kept as entries of text under text, each of which stands for itself, so that a `Y.Map` merges two
/// people's changes entry by entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceMap {
    style: FileStyle,
    /// By leaf; several where equal leaves were written differently, in their order.
    leaves: BTreeMap<LeafKey, Vec<SourceRecord>>,
    /// By the leaves before and after.
    gaps: BTreeMap<(LeafKey, LeafKey), Vec<SourceRecord>>,
}

/// What is true of the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStyle {
    /// How most lines end.
    end: LineEnd,
    has_mark: bool,
    /// Whether the last line has no end.
    is_open: bool,
    /// Whether links are defined apart, so that brackets in text need a backslash.
    has_definitions: bool,
}

/// The lines of one leaf or gap.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SourceRecord {
    /// Something of what stands around, to tell equal leaves and gaps apart.
    hint: u16,
    /// What each container around puts before lines, outermost first; nothing where it is the usual.
    prefixes: Vec<Option<(String, String)>>,
    /// The lines; nothing where they are the usual.
    lines: Option<Vec<OutputLine>>,
}

impl Default for FileStyle {
    fn default() -> Self {
        Self { end: LineEnd::Lf, has_mark: false, is_open: false, has_definitions: false }
    }
}

impl SourceRecord {
    /// How much it says, in bytes.
    fn len(&self) -> usize {
        self.lines.iter().flatten().map(|line| line.text.len() + 2).sum()
    }

    /// Whether it may hold for all leaves of its key.
    fn may_repeat(&self) -> bool {
        self.len() <= MAX_REPEATED
    }
}

impl SourceMap {
    /// How much is remembered, in bytes.
    fn len(&self) -> usize {
        let records = self.leaves.values().chain(self.gaps.values()).flatten();
        records.map(SourceRecord::len).sum()
    }
}
