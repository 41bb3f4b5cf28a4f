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
mod classify;
pub(crate) mod convert;
mod edit;
mod item_spans;
mod label;
mod log;
mod note;
mod rebase;
mod redact;
mod reference;
mod rich;
mod timeline;
mod version;

pub mod diff;

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use thiserror::Error;
use yrs::{
    Any, Array, GetString, IdSet, ReadTxn, Snapshot, Text, TransactionMut, WriteTxn,
    types::text::YChange,
};

pub use self::{
    anchor::{Anchor, AnchorError, AnchorSide, ResolvedAnchor},
    blame::BlamePiece,
    blobs::{BlobVersion, NewBlob},
    classify::{
        ByteClassification, MAX_RICH_WEIGHT, MAX_TEXT_BYTES, classify, classify_as, line_range,
    },
    convert::{is_only_text, is_rich_of_one},
    edit::{ContentWriteResult, SpliceResult},
    label::VersionLabel,
    log::{LogEntry, MAX_LABEL_LEN, MAX_RUN_MS, RunAuthor},
    rebase::TextOverlap,
    redact::{ErasableContent, RedactedMerge, Redaction, compact},
    reference::{ImportedReference, ReferenceContent, import_reference},
    timeline::PastVersion,
    version::{Version, VersionError},
};
use self::{
    blobs::BlobVersions,
    label::VersionLabels,
    log::AuthorLog,
    rebase::{RunAlignment, TextLength, TextSide},
    redact::RedactionRecords,
};
use crate::{
    gate::{
        DocRole, GateLimits, GateRejection, GatedDoc, ReceiveOutcome, RootIx, UpdateScan,
        UpdateSource,
    },
    id::{ClientId, FileId, ItemId},
    kind::ContentRoot,
};

/// The name of the root that holds text.
const TEXT: &str = "text";

/// The document of one file.
#[derive(Debug)]
pub struct ContentDoc {
    gate: GatedDoc,
    id: FileId,
    client: ClientId,
    limits: GateLimits,
    log: AuthorLog,
    blobs: BlobVersions,
    kind: ContentRoot,
    /// Whether edits follow a fixed rule: they have no author, and every peer makes the same items.
    by_rule: bool,
    labels: VersionLabels,
    redactions: RedactionRecords,
    /// The current version, computed on first use.
    version: OnceLock<Version>,
    /// The current file, rendered on first use; of rich text only.
    file: OnceLock<rich::RichFile>,
    /// All settlements, in order, read on first use.
    settlements: OnceLock<Vec<convert::ConversionSettlement>>,
    /// The merged text of the file and its rival settlements, computed on first use; `None` without
    /// rivals.
    merged_text: OnceLock<Option<String>>,
    /// Whether late work is to be merged, computed on first use.
    is_unsettled: OnceLock<bool>,
    /// The file block by block, possibly outdated; of rich text only.
    blocks: rich::FileCache,
    /// Words that arrived in deleted blocks and are not recorded yet.
    stranded: IdSet,
}

/// The state that a writer read before it wrote.
#[derive(Debug, Clone, Copy)]
pub enum ContentBase<'a> {
    /// A version of the document. It determines exactly where the edit belongs.
    Version(&'a Version),
    /// Only the text. A comparison then finds where the edit belongs.
    Text(&'a str),
}

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
    #[error("the text of {len} bytes is longer than {MAX_TEXT_BYTES}")]
    TooLarge {
        /// The length of the new text.
        len: usize,
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

impl ContentDoc {
    /// Makes the empty document of a file, which `client` edits. It holds plain text until
    /// [`set_kind`](Self::set_kind) says otherwise.
    pub fn new(id: &FileId, client: ClientId, limits: GateLimits) -> Self {
        Self {
            gate: GatedDoc::new(id, DocRole::Content, client, limits),
            id: id.clone(),
            client,
            limits,
            log: AuthorLog::default(),
            blobs: BlobVersions::default(),
            kind: ContentRoot::Text,
            by_rule: false,
            labels: VersionLabels::default(),
            redactions: RedactionRecords::default(),
            version: OnceLock::new(),
            file: OnceLock::new(),
            settlements: OnceLock::new(),
            merged_text: OnceLock::new(),
            is_unsettled: OnceLock::new(),
            blocks: rich::FileCache::default(),
            stranded: IdSet::new(),
        }
    }

    /// Applies an update from a peer.
    ///
    /// # Errors
    ///
    /// As [`GatedDoc::receive`].
    pub fn receive(
        &mut self,
        update: &[u8],
        source: UpdateSource,
    ) -> Result<ReceiveOutcome, GateRejection> {
        let is_watched = source == UpdateSource::Wire && self.gate.has_root(crate::rich::ROOT);
        let before = is_watched.then(|| self.version());
        let received = self.gate.receive(update, source);
        match &received {
            Ok(received) => {
                let deleted = received.scans.iter().flat_map(|scan| scan.deleted.iter().copied());
                self.blocks.note_deleted(deleted);
                self.forget_state();
            }
            Err(_) => self.forget(),
        }
        if let (Some(before), Ok(received)) = (before, &received)
            && received.changed
        {
            self.note_stranded(&before, &received.scans);
        }
        for scan in received.iter().flat_map(|received| &received.scans) {
            self.absorb(scan);
        }
        self.erase_redacted();
        received
    }

    /// Returns the document behind the gate, for syncing.
    pub fn gate(&self) -> &GatedDoc {
        &self.gate
    }

    /// Adds clients that only this process may write as.
    pub fn protect(&mut self, ids: &[ClientId]) {
        self.gate.protect(ids);
    }

    /// Returns the client id that edits are made under.
    pub fn client(&self) -> ClientId {
        self.client
    }

    /// Sets how the content is kept, which depends on the file's name. It changes nothing in the
    /// document.
    pub fn set_kind(&mut self, kind: ContentRoot) {
        if kind != self.kind {
            self.kind = kind;
            self.file.take();
        }
    }

    /// Returns how the content is to be kept.
    pub fn kind(&self) -> ContentRoot {
        self.kind
    }

    /// Returns the text of the file. If peers settled the document at the same time, the current
    /// root may hold each word twice until the next settlement; then this returns the text that the
    /// settlement will produce.
    pub fn text(&self) -> String {
        if let Some(text) = self.reference_text().or_else(|| self.text_of_rivals()) {
            return text;
        }
        match self.held() {
            ContentRoot::Text => self.plain_text(),
            ContentRoot::Rich(profile) => self.file(profile).text,
        }
    }

    /// Returns the length of the text in bytes.
    pub fn len_utf8(&self) -> usize {
        self.text().len()
    }

    /// Reports whether the file is empty.
    pub fn is_empty(&self) -> bool {
        match self.held() {
            ContentRoot::Text => self.len_utf16() == 0 && self.reference_content().is_none(),
            ContentRoot::Rich(_) => self.text().is_empty(),
        }
    }

    fn plain_text(&self) -> String {
        self.gate
            .read(|txn| txn.get_text(TEXT).map(|text| text.get_string(txn)))
            .unwrap_or_default()
    }

    /// Returns the length of plain text in UTF-16 code units, without reading it.
    fn len_utf16(&self) -> u32 {
        self.gate.read(|txn| txn.get_text(TEXT).map_or(0, |text| text.len(txn)))
    }

    /// Returns the current version of the document, to be passed as a base later.
    pub fn version(&self) -> Version {
        let take = || Version::of_document(&self.id, self.gate.snapshot());
        self.version.get_or_init(take).clone()
    }

    /// Returns the text as it was at a version.
    ///
    /// # Errors
    ///
    /// [`ContentError::UnknownVersion`] if the document lacks items of the version.
    pub fn text_at(&self, version: &Version) -> Result<String, ContentError> {
        self.gate.health()?;
        self.check_known(version)?;
        if *version == self.version() {
            return Ok(self.text());
        }
        if !self.gate.has_root(crate::rich::ROOT) {
            return Ok(compare_with(&mut self.copy()?, version).0);
        }
        let mut then = Self::new(&self.id, self.client, self.limits);
        then.kind = self.kind;
        then.receive(&self.fork(version)?.encode_state(), UpdateSource::Store)?;
        Ok(then.text())
    }

    /// Returns the log entries, by client and clock.
    pub fn log(&self) -> Vec<LogEntry> {
        self.log.entries()
    }

    /// Returns on whose behalf an item was written, as far as that was recorded.
    pub fn who(&self, item: ItemId) -> Option<&RunAuthor> {
        self.log.who(item)
    }

    /// Reports whether the document was ever written to as a text, rich or plain.
    pub fn was_text(&self) -> bool {
        self.gate.has_root(TEXT) || self.gate.has_root(crate::rich::ROOT)
    }

    /// Returns all versions of content that is kept by reference, each behind those it replaces.
    pub fn blobs(&self) -> Vec<BlobVersion> {
        self.blobs.versions()
    }

    /// Returns the versions that no other replaces, the latest last. More than one is a conflict.
    pub fn blob_heads(&self) -> Vec<BlobVersion> {
        self.blobs.heads()
    }

    /// Drops all cached state of the content, after the content changed.
    fn forget(&mut self) {
        self.blocks.clear();
        self.forget_state();
    }

    /// Drops all cached state, after a change by updates whose deletions were noted.
    fn forget_state(&mut self) {
        self.version.take();
        self.file.take();
        self.settlements.take();
        self.merged_text.take();
        self.is_unsettled.take();
    }

    fn absorb(&mut self, scan: &UpdateScan) {
        for (element, value) in scan.values() {
            self.insert(element.root, element.id, &value.to_any());
        }
        for range in &scan.deleted {
            self.log.remove(range.client, range.start, range.end());
            self.blobs.remove(range.client, range.start, range.end());
            self.labels.remove(range.client, range.start, range.end());
        }
    }

    fn insert(&mut self, root: RootIx, id: ItemId, value: &Any) {
        match root {
            RootIx::Log => self.log.insert(id, value),
            RootIx::Blobs => self.blobs.insert(id, value),
            RootIx::Labels => self.labels.insert(id, value),
            RootIx::Redactions => self.redactions.insert(id, value),
            _ => {}
        }
    }

    fn check_known(&self, version: &Version) -> Result<(), ContentError> {
        self.check_known_clocks(version)?;
        self.check_whole(version)
    }

    fn check_known_clocks(&self, version: &Version) -> Result<(), ContentError> {
        for (client, wanted) in version.clocks() {
            let known = self.gate.clock_of(client);
            if known < wanted {
                return Err(ContentError::UnknownVersion { client, wanted, known });
            }
        }
        Ok(())
    }

    /// Copies the document, for computations that must not change it.
    fn copy(&self) -> Result<GatedDoc, GateRejection> {
        let mut copy = GatedDoc::new(&self.id, DocRole::Content, self.client, self.limits);
        copy.receive(&self.gate.encode_state(), UpdateSource::Store)?;
        Ok(copy)
    }
}

/// Aligns the text at a version with the current text, and returns the former.
///
/// The document is cut at the boundaries of the version, and mended when that is done. A version
/// that was not taken from a document may cut through the middle of a character, which cannot be
/// mended: then the document must be a copy.
fn compare_with(gate: &mut GatedDoc, version: &Version) -> (String, RunAlignment) {
    let (compared, _) = gate.edit(|txn| {
        let text = txn.get_text(TEXT)?;
        let now = txn.snapshot();
        Some(laid_beside(txn, &text, &now, version.snapshot()))
    });
    compared.unwrap_or_default()
}

/// Aligns one text at a version with its current content, and returns the former.
fn laid_beside(
    txn: &mut TransactionMut<'_>,
    text: &impl Text,
    now: &Snapshot,
    version: &Snapshot,
) -> (String, RunAlignment) {
    let changes = text.diff_range(txn, Some(now), Some(version), YChange::identity);
    let (mut base, mut runs) = (String::new(), RunAlignment::default());
    for change in changes {
        // Anything but a string has no length in the text.
        let yrs::Out::Any(Any::String(text)) = &change.insert else { continue };
        let side = match change.ychange.map(|change| change.kind) {
            None => TextSide::Both,
            Some(yrs::types::text::ChangeKind::Removed) => TextSide::Old,
            Some(yrs::types::text::ChangeKind::Added) => TextSide::New,
        };
        if side != TextSide::New {
            base.push_str(text);
        }
        runs.push(side, TextLength::of(text));
    }
    (base, runs)
}

/// Puts an element at the front of an array, which yrs finds without walking the array.
fn push_front(txn: &mut TransactionMut<'_>, root: RootIx, value: Any) {
    let array = txn.get_or_insert_array(root.name());
    array.insert(txn, 0, value);
}
