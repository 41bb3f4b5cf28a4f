//! Edits of pieces of a text, as changes of the current text. Nothing here reads a document.

use std::ops::Range;

use super::{
    ContentError, MAX_TEXT_BYTES,
    diff::{TextSplice, diff},
    rebase::{RebaseOp, TextLength, TextOverlap},
};
use crate::gate::GateLimits;

/// The result of a write.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[must_use = "the update must be logged and sent"]
pub struct ContentWriteResult {
    /// The update, or `None` if the text did not change.
    pub update: Option<Vec<u8>>,
    /// The places where others had changed the text that the writer changed.
    pub overlaps: Vec<TextOverlap>,
}

/// The result of an edit of pieces.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[must_use = "the update must be logged and sent"]
pub struct SpliceResult {
    /// The update, or `None` if the text did not change.
    pub update: Option<Vec<u8>>,
    /// The number of replaced pieces.
    pub n_replaced: usize,
}

/// The changes that replace pieces of a text.
pub(super) struct PieceReplacement {
    /// The changes, in order of position; they insert parts of the new piece.
    pub(super) ops: Vec<RebaseOp>,
    /// The number of replaced pieces.
    pub(super) n_pieces: usize,
}

/// Finds the changes that replace one piece of a text, or `all` that are equal to it.
///
/// # Errors
///
/// [`ContentError::EmptyPattern`], [`ContentError::NotFound`], [`ContentError::NotUnique`] if there
/// are several and one was meant, [`ContentError::TooLarge`].
pub(super) fn replace_pieces(
    current: &str,
    old: &str,
    new: &str,
    all: bool,
    limits: &GateLimits,
) -> Result<PieceReplacement, ContentError> {
    if old.is_empty() {
        return Err(ContentError::EmptyPattern);
    }
    let places: Vec<usize> = current.match_indices(old).map(|(at, _)| at).collect();
    match places.len() {
        0 => return Err(ContentError::NotFound),
        n_matches if n_matches > 1 && !all => return Err(ContentError::NotUnique { n_matches }),
        _ => {}
    }
    let grown = places.len().saturating_mul(new.len());
    let len = (current.len() - places.len() * old.len()).saturating_add(grown);
    check_len(len, current.len(), limits)?;
    let splices = diff(old, new);
    let mut ops = Vec::with_capacity(places.len() * splices.len());
    let mut start = TextLength::default();
    for place in &places {
        start += TextLength::of(&current[start.bytes..*place]);
        ops.extend(splices.iter().map(|splice| op_behind(start, splice)));
    }
    Ok(PieceReplacement { ops, n_pieces: places.len() })
}

/// Finds the changes that replace a range of a text, in bytes.
///
/// # Errors
///
/// [`ContentError::BadRange`], [`ContentError::TooLarge`].
pub(super) fn replace_range(
    current: &str,
    range: Range<usize>,
    new: &str,
    limits: &GateLimits,
) -> Result<Vec<RebaseOp>, ContentError> {
    let Some(old) = current.get(range.clone()) else {
        let Range { start, end } = range;
        return Err(ContentError::BadRange { start, end, len: current.len() });
    };
    check_len(current.len() - old.len() + new.len(), current.len(), limits)?;
    let start = TextLength::of(&current[..range.start]);
    Ok(diff(old, new).iter().map(|splice| op_behind(start, splice)).collect())
}

/// Returns a splice of a piece as a change of the text in which the piece starts at a place.
fn op_behind(start: TextLength, splice: &TextSplice) -> RebaseOp {
    RebaseOp {
        at: TextLength { units: start.units + splice.at, bytes: start.bytes + splice.old.start },
        delete: TextLength { units: splice.delete, bytes: splice.old.len() },
        insert: splice.new.clone(),
        blanks: (false, false),
    }
}

/// Rejects a text that is too long to be written as text.
///
/// A text of `current` bytes that peers with a higher limit have written may be edited.
pub(super) fn check_len(
    len: usize,
    current: usize,
    limits: &GateLimits,
) -> Result<(), ContentError> {
    let limit = if current > limits.text_bytes { MAX_TEXT_BYTES } else { limits.text_bytes };
    if len > limit { Err(ContentError::TooLarge { len, limit }) } else { Ok(()) }
}
