//! Content documents: one per file, with its content and its history.
//!
//! The text of a file is the root `Y.Text("text")`. Beside it are arrays: `fs:log` for authors
//! ([`LogEntry`]), `fs:blobs` for content that is kept by reference ([`BlobVersion`]), `fs:labels`
//! for names of versions ([`VersionLabel`]), `fs:redactions` for erased content ([`Redaction`]).
//! The format is described in `docs/format/content-document.md`.
//!
//! > A write is the least edit of the version that its writer read.
//!
//! A caller that writes a whole file passes the [`ContentBase`] that it read. [`diff`](mod@diff)
//! finds the caller's changes; they are rebased onto the changes that others made since, so that
//! concurrent typing and the carets in it stay where they are. Offsets in this interface are bytes
//! of UTF-8.
//!
//! [`ContentDoc`] joins parts that do not know each other: the replica, the body in one of two
//! forms (`plain`, `rich`), and registers, each with its own cache (`log`, `blobs`, `label`,
//! `redact`, `aside`, `convert`). It passes to a part what the part needs of the others, and drops
//! the caches after a change. Callers read a register or the timeline through the part itself, and
//! write registers through [`RegisterEditor`].
//!
//! # Invariants
//!
//! * Only the methods that document a write change the document; opening and reading never write.
//! * Every edit is one transaction and one update; an edit that changes nothing writes no update.
//! * Ranges are checked before yrs gets them: yrs would commit half an edit and panic.
//!
//! # Cost
//!
//! A write costs a comparison of both texts and, in yrs, a walk over the items before the change.
//! [`ContentDoc::text`] copies the text; [`ContentDoc::version`] walks all items, once per change.

mod anchor;
mod aside;
mod blame;
mod blobs;
mod body;
mod classify;
mod compact;
pub(crate) mod convert;
mod document;
mod edit;
mod error;
mod forked_items;
mod item_places;
mod item_sets;
mod item_spans;
mod label;
mod last_run;
mod log;
mod logged_run;
mod merge_marks;
mod mixed_words;
mod moved_words;
mod note;
mod plain;
mod rebase;
mod redact;
mod reference;
mod registers;
mod replica;
mod rich;
mod rule_client;
mod saved_side;
mod single_text;
mod timeline;
mod typed_beside_bytes;
mod typing_marks;
mod typing_runs;
mod version;
mod version_alignment;
mod word_choice;
mod word_joints;
mod writer;
mod writer_ids;

pub mod diff;

#[cfg(test)]
mod tests;

pub use yfs_markdown::weight::weight as rich_weight;

pub(crate) use self::classify::DEFAULT_TEXT_BYTES;
pub use self::{
    anchor::{Anchor, AnchorError, AnchorSide, ResolvedAnchor},
    blame::{BlamePiece, BlameTouch, BlamedText},
    blobs::{BlobVersion, BlobVersions, NewBlob},
    classify::{ByteClassification, MAX_RICH_WEIGHT, MAX_TEXT_BYTES, classify, classify_as},
    compact::{RedactedMerge, compact},
    convert::{ConversionStatus, is_only_text, is_rich_of_one},
    document::ContentDoc,
    edit::{ContentWriteResult, SpliceResult},
    error::ContentError,
    label::{VersionLabel, VersionLabels},
    last_run::LastRun,
    log::{AuthorLog, LogEntry, RunAuthor},
    merge_marks::StateBeforeMerge,
    mixed_words::MixedPlace,
    rebase::TextOverlap,
    redact::{ErasableContent, ErasedItems, Redaction, RedactionView},
    reference::{ReferenceContent, ReferenceRoots},
    registers::RegisterEditor,
    single_text::single_text,
    timeline::{PastVersion, Timeline},
    typing_marks::TypingMark,
    version::{Version, VersionError},
    word_choice::choose_word,
    word_joints::SeparatedWords,
    writer_ids::ids_of_writer,
};
#[cfg(test)]
use self::{log::LAST_OF_SIDE, typing_marks::marked_runs::MAX_RUN_MS};

/// The name of the root that holds text.
const TEXT: &str = "text";

/// The root that lists settlements, by the client ids that they were made under.
pub(crate) const CONVERSIONS: &str = "fs:conv";

/// The greatest length of a label that yfs writes, in bytes.
pub const MAX_LABEL_LEN: usize = 128;

/// The state that a writer read before it wrote.
#[derive(Debug, Clone, Copy)]
pub enum ContentBase<'a> {
    /// A version of the document. It determines exactly where the edit belongs.
    Version(&'a Version),
    /// Only the text. A comparison then finds where the edit belongs.
    Text(&'a str),
}
