//! The reasons why an edit or a query of a document is rejected.

use thiserror::Error;

use super::{MAX_LABEL_LEN, MAX_RICH_WEIGHT};
use crate::{gate::GateRejection, id::ClientId};

/// The reason why an edit or a query was rejected. The document is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContentError {
    /// The text that was to be replaced is not there.
    #[error("the text to replace was not found")]
    NotFound,
    /// The text that was to be replaced is there more than once.
    #[error("the text to replace was found {n_matches} times")]
    NotUnique {
        /// The number of matches.
        n_matches: usize,
    },
    /// The text that was to be replaced is empty.
    #[error("the text to replace is empty")]
    EmptyPattern,
    /// A range is not within the text, or cuts through a character.
    #[error("range {start}..{end} is outside the text of {len} bytes or splits a character")]
    BadRange {
        /// The start of the range.
        start: usize,
        /// The end of the range.
        end: usize,
        /// The length of the text.
        len: usize,
    },
    /// The text would be too large to be kept as text.
    #[error("the text of {len} bytes is longer than {limit}")]
    TooLarge {
        /// The length of the new text.
        len: usize,
        /// The greatest length.
        limit: usize,
    },
    /// The text has too many lines, list items, cells and marks to be kept as rich text.
    #[error("the markdown has more than {MAX_RICH_WEIGHT} lines, list items, cells and marks")]
    TooHeavy,
    /// A version knows work that this document has not received.
    #[error("the version has {wanted} items of client {client}, but the document has {known}")]
    UnknownVersion {
        /// The client that wrote the missing work.
        client: ClientId,
        /// How many of its items the version has.
        wanted: u32,
        /// How many of its items the document has.
        known: u32,
    },
    /// A part of the version's content was erased for good.
    #[error("some of this version was erased for good")]
    Redacted,
    /// A name is empty, too long, or several lines.
    #[error("not a name for a version: one line of 1 to {MAX_LABEL_LEN} bytes")]
    BadLabel,
    /// A peer inserted content into the root of the text that is not text and has no place in it.
    #[error("the document has content that cannot be edited as text")]
    NotText,
    /// The document cannot be used.
    #[error(transparent)]
    Refused(#[from] GateRejection),
}
