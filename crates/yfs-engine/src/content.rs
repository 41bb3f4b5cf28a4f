//! Content documents: one per file, what the file holds and how it came to be.
//!
//! The text of a file is the root `Y.Text("text")`. Beside it are arrays: `fs:log` for who wrote
//! what ([`LogEntry`]), `fs:blobs` for content that is kept by reference ([`BlobVersion`]), `fs:labels`
//! for names of versions ([`VersionLabel`]), `fs:redactions` for what was erased ([`Redaction`]). The format is described in `docs/format/content-document.md`.
//!
//! > A write is the least edit of what its writer read.
//!
//! Whoever writes a whole file passes the [`ContentBase`] that they read. What they changed is found by a
//! [`diff`](mod@diff) and moved onto what others have done since, so that concurrent typing and the
//! carets in it stay where they are. Offsets in this interface are bytes of UTF-8.
//!
//! # Invariants
//!
//! * Nothing is written but by the methods that say so; opening and reading never write.
//! * Every edit is one transaction, and one update; an edit that changes nothing is none.
//! * Ranges are checked before yrs sees them: it would commit half an edit and panic.
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
    /// Whether edits are made by rule: they are nobody's, and the same items whoever makes them.
    by_rule: bool,
    labels: VersionLabels,
    redactions: RedactionRecords,
    /// The current version, once somebody has asked for it.
    version: OnceLock<Version>,
    /// The current file, once somebody has asked for it; of rich text only.
    file: OnceLock<rich::RichFile>,
    /// What was settled, in order, once it was read.
    settlements: OnceLock<Vec<convert::ConversionSettlement>>,
    /// What the file says with what rival settlements hold, once that was merged; nothing without
    /// rivals.
    merged_text: OnceLock<Option<String>>,
    /// Whether late work is to be merged, once that was found out.
    is_unsettled: OnceLock<bool>,
    /// The file block by block, to be brought up to date; of rich text only.
    blocks: rich::FileCache,
    /// Words that arrived in deleted blocks and are not recorded yet.
    stranded: IdSet,
}

/// What a writer had read.
#[derive(Debug, Clone, Copy)]
pub enum ContentBase<'a> {
    /// A version of the document. Where the edit belongs is then known exactly.
    Version(&'a Version),
    /// Only the text. Where the edit belongs is then found by comparison.
    Text(&'a str),
}

/// Why an edit or a question was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContentError {
    /// The text that was to be replaced is not there.
    #[error("the text to replace was not found")]
    NotFound,
    /// The text that was to be replaced is there more than once.
    #[error("the text to replace was found {n_matches} times")]
    NotUnique {
        /// How often.
        n_matches: usize,
    },
    /// The text that was to be replaced is empty.
    #[error("the text to replace is empty")]
    EmptyPattern,
    /// A range is not within the text, or cuts through a character.
    #[error("no range of the text: {start}..{end} of {len} bytes")]
    BadRange {
        /// Where the range begins.
        start: usize,
        /// Where it ends.
        end: usize,
        /// The length of the text.
        len: usize,
    },
    /// The text would be too large to be kept as text.
    #[error("text of {len} bytes is longer than {MAX_TEXT_BYTES}")]
    TooLarge {
        /// How large it would be.
        len: usize,
    },
    /// The text has too many lines, list items, cells and marks to be kept as rich text.
    #[error("markdown of more than {MAX_RICH_WEIGHT} lines, list items, cells and marks")]
    TooHeavy,
    /// A version knows work that this document has not received.
    #[error("the version has {wanted} items of client {client}, the document {known}")]
    UnknownVersion {
        /// Whose work.
        client: ClientId,
        /// How much of it the version has.
        wanted: u32,
        /// How much of it the document has.
        known: u32,
    },
    /// Some of what the version held was erased for good.
    #[error("some of this version was erased for good")]
    Redacted,
    /// A name is empty, too long, or several lines.
    #[error("not a name for a version: one line of 1 to {MAX_LABEL_LEN} bytes")]
    BadLabel,
    /// A peer put something into the root of the text that is not text and has no place in it.
    #[error("the document holds content that cannot be edited as text")]
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

    /// Takes in an update from outside.
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

    /// Returns the document behind the gate, for what syncing needs.
    pub fn gate(&self) -> &GatedDoc {
        &self.gate
    }

    /// Adds clients as which nobody outside this process may write.
    pub fn protect(&mut self, ids: &[ClientId]) {
        self.gate.protect(ids);
    }

    /// Returns the client id that edits are made under.
    pub fn client(&self) -> ClientId {
        self.client
    }

    /// Says how the content is kept, which depends on the file's name. It changes nothing in the document.
    pub fn set_kind(&mut self, kind: ContentRoot) {
        if kind != self.kind {
            self.kind = kind;
            self.file.take();
        }
    }

    /// Tells how the content is to be kept.
    pub fn kind(&self) -> ContentRoot {
        self.kind
    }

    /// Returns the text of the file. Where peers settled the document at the same time, the current
    /// root may hold each word twice until the next settlement: then the text is what that will say.
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

    /// Tells whether the file holds nothing.
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

    /// Returns what the document is now, to be passed as a base later.
    pub fn version(&self) -> Version {
        let take = || Version::take(&self.id, self.gate.snapshot());
        self.version.get_or_init(take).clone()
    }

    /// Returns the text as it was at a version.
    ///
    /// # Errors
    ///
    /// [`ContentError::UnknownVersion`] if the document lacks what the version had.
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

    /// Returns who wrote what, by client and clock.
    pub fn log(&self) -> Vec<LogEntry> {
        self.log.entries()
    }

    /// Tells on whose behalf an item was written, as far as that was recorded.
    pub fn who(&self, item: ItemId) -> Option<&RunAuthor> {
        self.log.who(item)
    }

    /// Tells whether it was ever written to as a text, rich or plain.
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

    /// Forgets all that was known of the content, after it changed.
    fn forget(&mut self) {
        self.blocks.clear();
        self.forget_state();
    }

    /// Forgets what was known of the state, after it changed by updates whose deletions were noted.
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

    /// Copies the document, for what must not touch it.
    fn copy(&self) -> Result<GatedDoc, GateRejection> {
        let mut copy = GatedDoc::new(&self.id, DocRole::Content, self.client, self.limits);
        copy.receive(&self.gate.encode_state(), UpdateSource::Store)?;
        Ok(copy)
    }
}

/// Lays the text at a version beside the text that is there now, and returns the former.
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

/// Lays what one text said at a version beside what it says now, and returns the former.
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
