//! The document of one file: it joins the body and the registers, and passes to each what it needs.

use std::ops::Range;

use super::{
    Anchor, AnchorError, AnchorSide, BlamedText, ContentBase, ContentError, ContentWriteResult,
    ErasableContent, ResolvedAnchor, RunAuthor, SpliceResult, TextOverlap, Version,
    anchor::AnchoredText,
    aside, blame,
    blobs::BlobVersions,
    body::ContentBody,
    convert::{self, ConversionHistory, ConversionStatus, MergedText, join_updates},
    edit::{self, check_len, replace_pieces},
    label::VersionLabels,
    log::AuthorLog,
    plain::PlainBody,
    rebase::applied,
    redact::{ErasureScan, RedactionView},
    reference::{self, ReferenceRoots},
    registers::{ContentRegisters, RegisterEditor},
    replica::ContentReplica,
    rich::{RichCache, RichWriter},
    saved_side::MergedSave,
    timeline::Timeline,
    version_alignment,
    word_joints::{self, SeparatedWords, Separation},
    writer::{BodyWriter, EditOrigin},
    writer_ids::WriterIds,
};
use crate::{
    gate::{
        GateLimits, GateRejection, GatedDoc, IdRange, ReceiveOutcome, UpdateSource, deleted_by,
        writers,
    },
    id::{ClientId, FileId, ItemId},
    kind::{ContentRoot, SchemaProfile},
};

/// The document of one file.
#[derive(Debug)]
pub struct ContentDoc {
    pub(super) replica: ContentReplica,
    /// How the content is to be kept.
    kind: ContentRoot,
    pub(super) rich: RichCache,
    pub(super) registers: ContentRegisters,
    conversions: ConversionHistory,
}

impl ContentDoc {
    /// Makes the empty document of a file, which `client` edits. It holds plain text until
    /// [`set_kind`](Self::set_kind) says otherwise.
    pub fn new(id: &FileId, client: ClientId, limits: GateLimits) -> Self {
        Self {
            replica: ContentReplica::new(id, client, limits),
            kind: ContentRoot::Text,
            rich: RichCache::default(),
            registers: ContentRegisters::default(),
            conversions: ConversionHistory::default(),
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
        let is_watched = source == UpdateSource::Wire && self.replica.has_rich();
        let before = is_watched.then(|| self.version());
        let received = self.replica.receive(update, source);
        self.conversions.forget();
        let received = match received {
            Ok(received) => received,
            Err(rejection) => {
                self.forget();
                self.erase_redacted();
                return Err(rejection);
            }
        };
        let deleted = received.scans.iter().flat_map(|scan| scan.deleted.iter().copied());
        self.rich.note_change(Some(deleted));
        if let Some(before) = before.filter(|_| received.changed) {
            let redacted = self.registers.redactions.items();
            let comparison = self.conversions.comparison(&self.replica, redacted);
            let find_merged = |ranges: &[_]| comparison.deleted_by_settlements(ranges);
            self.registers.aside.note_arrival(&self.replica, &before, &received.scans, find_merged);
            let scans = &received.scans;
            let deleted: Vec<IdRange> =
                scans.iter().flat_map(|scan| scan.deleted.clone()).collect();
            let inserted: Vec<IdRange> = scans.iter().flat_map(|scan| scan.grown.clone()).collect();
            self.note_moves(&before, &deleted, &inserted);
        }
        for scan in &received.scans {
            self.registers.absorb(scan);
        }
        self.erase_redacted();
        Ok(received)
    }

    /// Returns the document behind the gate, for syncing.
    pub fn gate(&self) -> &GatedDoc {
        &self.replica.gate
    }

    /// Adds clients that only this process may write as.
    pub fn protect(&mut self, ids: &[ClientId]) {
        self.replica.gate.protect(ids);
    }

    /// Returns the client id that edits are made under, and the first of those that a text is
    /// edited under.
    pub fn client(&self) -> ClientId {
        self.replica.client()
    }

    /// Writes text under the ids of another client from now on, as far as it is written relative to
    /// items. Only for benchmarks, which have many writers without a document for each.
    #[doc(hidden)]
    pub fn write_text_as(&mut self, client: ClientId) {
        self.replica.ids = WriterIds::of(client);
    }

    /// Sets how the content is kept, which depends on the file's name. It changes nothing in the
    /// document.
    pub fn set_kind(&mut self, kind: ContentRoot) {
        if kind != self.kind {
            self.kind = kind;
            self.rich.forget_file();
            self.conversions.forget();
        }
    }

    /// Returns how the content is to be kept.
    pub fn kind(&self) -> ContentRoot {
        self.kind
    }

    /// Returns the view that answers which root is current, and what is left to convert.
    pub fn conversion(&self) -> ConversionStatus<'_> {
        ConversionStatus {
            replica: &self.replica,
            conversions: &self.conversions,
            redacted: self.registers.redactions.items(),
            log: &self.registers.log,
            wanted: self.kind,
            has_unrecorded: self.registers.aside.has_unrecorded(),
        }
    }

    /// Returns the text of the file. If the current root lacks edits of the other one, or peers
    /// settled the document at the same time, this is the text that the next settlement will
    /// produce.
    pub fn text(&self) -> String {
        let merged = || self.conversion().merged_text().map(str::to_owned);
        let other = reference::read_reference_text(&self.replica).or_else(merged);
        other.unwrap_or_else(|| {
            let current = self.conversion().current_root();
            ContentBody::of_root(current).text(&self.replica, &self.rich)
        })
    }

    /// Reports whether the file is empty.
    pub fn is_empty(&self) -> bool {
        match self.conversion().current_root() {
            ContentRoot::Text if !self.conversion().was_converted() => {
                self.replica.plain_len_utf16() == 0 && self.reference().read().is_none()
            }
            _ => self.text().is_empty(),
        }
    }

    /// Returns the current version of the document, to be passed as a base later.
    pub fn version(&self) -> Version {
        self.replica.version()
    }

    /// Returns the text as it was at a version.
    ///
    /// # Errors
    ///
    /// [`ContentError::UnknownVersion`] if the document lacks items of the version.
    pub fn text_at(&self, version: &Version) -> Result<String, ContentError> {
        self.replica.gate.health()?;
        self.check_known(version)?;
        if *version == self.version() {
            return Ok(self.text());
        }
        if !self.replica.has_rich() {
            return Ok(version_alignment::align_plain_text(&mut self.replica.copy()?, version).0);
        }
        let state = self.replica.fork(version)?.encode_state();
        Ok(self.clone_of_state(&state)?.text())
    }

    /// Writes `new` in place of the text that the writer had read, and merges that with concurrent
    /// changes.
    ///
    /// Without a base the writer is taken to have read the current text. The text is `new`
    /// afterwards if no other client has changed it since.
    ///
    /// # Errors
    ///
    /// [`ContentError::TooLarge`], [`ContentError::UnknownVersion`] for a base that this document
    /// has not received, or an error of [`ContentDoc::append`].
    pub fn write(
        &mut self,
        new: &str,
        base: Option<ContentBase<'_>>,
        author: &RunAuthor,
    ) -> Result<ContentWriteResult, ContentError> {
        self.replica.gate.health()?;
        let limits = self.replica.limits();
        let current = if new.len() > limits.text_bytes { self.text().len() } else { 0 };
        check_len(new.len(), current, &limits)?;
        // Before the conversion: the writer had read that text.
        let read = self.text_of_other_root(base)?;
        let base = read.as_deref().map(ContentBase::Text).or(base);
        let converted = self.convert()?;
        if let Some(ContentBase::Version(version)) = base
            && *version != self.version()
        {
            self.check_known(version)?;
        }
        let stale = match base {
            Some(ContentBase::Version(version)) if *version != self.version() => Some(version),
            _ => None,
        };
        let before = stale.map(|_| self.version());
        let moved_from = self.replica.has_rich().then(|| self.version());
        let mut written = self.write_body(author, |body, writer| body.write(writer, new, base))?;
        // An edit is under one client id.
        let first = match &written.update {
            Some(update) if before.is_some() || moved_from.is_some() => {
                writers(update)?.first().copied()
            }
            _ => None,
        };
        if let (Some(before), Some(update)) = (moved_from, &written.update) {
            let inserted = first.map(|first| {
                let len = self.replica.gate.clock_of(first.client) - first.clock;
                IdRange { client: first.client, start: first.clock, len }
            });
            let deleted = deleted_by(update).unwrap_or_default();
            self.note_moves(&before, &deleted, inserted.as_slice());
        }
        let mut updates: Vec<Vec<u8>> = converted.into_iter().chain(written.update).collect();
        if let (Some(read), Some(before), Some(first)) = (stale, &before, first) {
            let states = [read, before];
            updates.extend(self.separate_saved_words(first, states, &mut written.overlaps)?);
            let save = MergedSave { read, before, first, saved: new };
            updates.extend(self.note_saved_side(&save, author)?);
        }
        written.update = join_updates(updates);
        Ok(written)
    }

    /// Replaces one piece of the current text, or `all` that are equal to it.
    ///
    /// # Errors
    ///
    /// [`ContentError::EmptyPattern`], [`ContentError::NotFound`], [`ContentError::NotUnique`] if
    /// there are several and one was meant, [`ContentError::TooLarge`], or an error of
    /// [`ContentDoc::append`].
    pub fn edit(
        &mut self,
        old: &str,
        new: &str,
        all: bool,
        author: &RunAuthor,
    ) -> Result<SpliceResult, ContentError> {
        self.replica.gate.health()?;
        let current = self.text();
        let replacement = replace_pieces(&current, old, new, all, &self.replica.limits())?;
        let n_replaced = replacement.n_pieces;
        let update = if self.conversion().needs_settlement() {
            let whole = if all { current.replace(old, new) } else { current.replacen(old, new, 1) };
            self.write(&whole, None, author)?.update
        } else {
            let ops = &replacement.ops;
            self.write_body(author, |body, writer| body.apply(writer, &current, new, ops))?
        };
        Ok(SpliceResult { update, n_replaced })
    }

    /// Appends text at the end. Concurrent appends by others are kept, too.
    ///
    /// # Errors
    ///
    /// [`ContentError::TooLarge`]; [`ContentError::NotText`] or [`ContentError::Refused`] if the
    /// document cannot be edited at all.
    pub fn append(
        &mut self,
        text: &str,
        author: &RunAuthor,
    ) -> Result<ContentWriteResult, ContentError> {
        self.replica.gate.health()?;
        if text.is_empty() {
            return Ok(ContentWriteResult::default());
        }
        if matches!(self.kind, ContentRoot::Rich(_)) || self.conversion().needs_settlement() {
            let whole = self.text() + text;
            return self.write(&whole, None, author);
        }
        // A code unit of UTF-16 takes at most three bytes, so this seldom has to read the text.
        let len = 3 * self.replica.plain_len_utf16() as usize + text.len();
        if len > self.replica.limits().text_bytes {
            let current = self.text().len();
            check_len(current + text.len(), current, &self.replica.limits())?;
        }
        let update =
            self.write_body(author, |_, writer| PlainBody.append(&mut writer.body, text))?;
        Ok(ContentWriteResult { update, overlaps: Vec::new() })
    }

    /// Replaces a range of the current text, in bytes.
    ///
    /// # Errors
    ///
    /// [`ContentError::BadRange`], [`ContentError::TooLarge`], or an error of
    /// [`ContentDoc::append`].
    pub fn replace_range(
        &mut self,
        range: Range<usize>,
        new: &str,
        author: &RunAuthor,
    ) -> Result<ContentWriteResult, ContentError> {
        self.replica.gate.health()?;
        let current = self.text();
        let ops = edit::replace_range(&current, range, new, &self.replica.limits())?;
        if self.conversion().needs_settlement() {
            return self.write(&applied(&current, new, &ops), None, author);
        }
        let update =
            self.write_body(author, |body, writer| body.apply(writer, &current, new, &ops))?;
        Ok(ContentWriteResult { update, overlaps: Vec::new() })
    }

    /// Returns the text, the author of each piece, and the edits that left no text.
    pub fn blame(&mut self) -> BlamedText {
        blame::blame_document(self)
    }

    /// Anchors a place in the text, in bytes.
    ///
    /// # Errors
    ///
    /// [`ContentError::BadRange`] if there is no such place, or it is inside of a character.
    pub fn anchor(&mut self, offset: usize, stick: AnchorSide) -> Result<Anchor, ContentError> {
        self.replica.gate.health()?;
        self.anchored_text().anchor(offset, stick)
    }

    /// Finds the current place of an anchor. If its neighbor was deleted, that is the place where
    /// the neighbor was.
    ///
    /// # Errors
    ///
    /// [`AnchorError::Elsewhere`].
    pub fn resolve(&mut self, anchor: &Anchor) -> Result<ResolvedAnchor, AnchorError> {
        self.replica.gate.health().map_err(ContentError::from)?;
        self.anchored_text().resolve(anchor)
    }

    /// Returns the authors of the document.
    pub fn log(&self) -> &AuthorLog {
        &self.registers.log
    }

    /// Returns the timeline: the past versions and the current one.
    pub fn timeline(&self) -> Timeline<'_> {
        self.registers.timeline(&self.replica, &self.conversions)
    }

    /// Returns the versions of content that is kept by reference.
    pub fn blobs(&self) -> &BlobVersions {
        &self.registers.blobs
    }

    /// Returns the labels of versions.
    pub fn labels(&self) -> &VersionLabels {
        &self.registers.labels
    }

    /// Returns the records of erased content.
    pub fn redactions(&self) -> RedactionView<'_> {
        RedactionView { replica: &self.replica, records: &self.registers.redactions }
    }

    /// Returns the view that writes the registers.
    pub fn edit_registers(&mut self) -> RegisterEditor<'_> {
        let Self { replica, rich, registers, conversions, .. } = self;
        RegisterEditor { replica, registers, rich, conversions }
    }

    /// Returns the content that could be erased: all deleted content, or the part of it that a
    /// version held; and live content of the inactive root that the current text does not contain.
    ///
    /// # Errors
    ///
    /// [`ContentError::UnknownVersion`]; [`ContentError::Refused`] if the document is unusable.
    pub fn erasable(&mut self, version: Option<&Version>) -> Result<ErasableContent, ContentError> {
        self.replica.gate.health()?;
        let was_converted = self.conversion().was_converted();
        let text = if was_converted { self.text() } else { String::new() };
        let is_rich = self.conversion().is_rich();
        let needs_repair = was_converted && self.conversion().needs_repair();
        let (registers, conversions) = (&self.registers, &self.conversions);
        let past =
            |replica: &ContentReplica| registers.timeline(replica, conversions).readable_past();
        let (replica, redactions) = (&mut self.replica, &registers.redactions);
        let mut scan = ErasureScan { replica, conversions, redactions, is_rich, needs_repair };
        scan.find(version, text, past)
    }

    /// Erases content for good, and records the author. Live content of the current root is not
    /// changed.
    ///
    /// The update carries the record; the document has erased the content when this returns. The
    /// caller must replace the older log records by [`compact`](super::compact).
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document cannot be edited at all.
    pub fn redact(
        &mut self,
        erasable: &ErasableContent,
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.replica.gate.health()?;
        if erasable.is_empty() {
            return Ok(None);
        }
        let update = self.edit_registers().add_redaction(erasable, author)?;
        self.erase_redacted();
        Ok(update)
    }

    /// Returns the words that were typed into blocks which another client deleted at the same time,
    /// and that were not put back.
    pub fn set_aside(&self) -> Vec<String> {
        self.registers.aside.words(&self.replica)
    }

    /// Inserts words that arrived in deleted blocks where the text of these blocks is now, if it
    /// was moved. All replicas make the same items. Returns `None` if there are none.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document is unusable.
    pub fn carry_moved_words(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        self.replica.gate.health()?;
        self.recall_moves();
        let Some(words) = self.registers.aside.carry(&self.replica)? else { return Ok(None) };
        let mut updates = Vec::new();
        if let Some(update) = &words.update {
            self.receive(update, UpdateSource::Store)?;
            updates.push(update.clone());
        }
        updates.extend(self.edit_registers().record_carried(&words)?);
        Ok(join_updates(updates))
    }

    /// Finds the moves of texts that words arrived in, and that this process did not see, between
    /// the states that the log notes.
    fn recall_moves(&mut self) {
        for text in self.registers.aside.take_unknown_texts(&self.replica) {
            let Some((before, after)) = self.timeline().change_that_deleted(text) else { continue };
            // Words whose move is not known are set aside.
            self.registers.aside.note_past_moves(&mut self.replica, &before, &after).ok();
        }
    }

    /// Notes the texts that a change moved, so that words which arrive in them later follow.
    fn note_moves(&mut self, before: &Version, deleted: &[IdRange], inserted: &[IdRange]) {
        // Words whose move is not known are set aside.
        self.registers.aside.note_moves(&mut self.replica, before, deleted, inserted).ok();
    }

    /// Puts the words that were [set aside](Self::set_aside) into paragraphs at the end of the
    /// file. Returns `None` if there are none.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn put_back(&mut self, author: &RunAuthor) -> Result<Option<Vec<u8>>, ContentError> {
        self.replica.gate.health()?;
        let words = self.set_aside();
        if words.is_empty() {
            return Ok(None);
        }
        let mut text = self.text();
        aside::append_paragraphs(&mut text, &words);
        let written = self.write(&text, None, author)?.update;
        let cleared = self.edit_registers().clear_aside()?;
        Ok(join_updates(written.into_iter().chain(cleared).collect()))
    }

    /// Separates words that two writers put into the place of one, without knowing of each other,
    /// by a blank; keeps one of two equal words. Every peer makes the same items. Returns `None` if
    /// there is nothing to separate.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document is unusable.
    pub fn separate_words(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        if !self.registers.log.has_several_writers() {
            return Ok(None);
        }
        let is_rich = self.conversion().is_rich();
        let update = word_joints::separate_words(&mut self.replica, &self.registers.log, is_rich)?;
        let Some(update) = update else { return Ok(None) };
        let received = self.receive(&update, UpdateSource::Store)?;
        Ok(received.changed.then_some(update))
    }

    /// Returns the words that were [separated](Self::separate_words), and are still.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document is unusable.
    pub fn separated_words(&mut self) -> Result<Vec<SeparatedWords>, ContentError> {
        let is_rich = self.conversion().is_rich();
        word_joints::separated_words(&mut self.replica, is_rich)
    }

    /// Keeps one word of each group that was [separated](Self::separate_words): the one at an
    /// index, or the last if there are fewer. Returns `None` if nothing is separated.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn keep_word(
        &mut self,
        index: usize,
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let groups = self.separated_words()?;
        let mut text = self.text();
        for group in groups.iter().rev() {
            let all = group.words.join(" ");
            let range = group.at..group.at + all.len();
            // With edits in both roots, the text that is read has the words elsewhere.
            if text.get(range.clone()) == Some(&*all) {
                let kept = &group.words[index.min(group.words.len() - 1)];
                text.replace_range(range, kept);
            }
        }
        if groups.is_empty() { Ok(None) } else { Ok(self.write(&text, None, author)?.update) }
    }

    /// Makes the root current that the name implies, with all late edits. Returns `None` if it is
    /// already, and lacks none.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn convert(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        self.replica.gate.health()?;
        if self.conversion().needs_settlement() { self.merge_roots().map(Some) } else { Ok(None) }
    }

    /// Merges all late edits into the root that the name implies, makes that root current, and
    /// records the words that were [set aside](Self::set_aside). Returns `None` if there is nothing
    /// to do.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn repair(&mut self) -> Result<Option<Vec<u8>>, ContentError> {
        self.replica.gate.health()?;
        let mut updates = Vec::new();
        if self.conversion().needs_settlement() {
            updates.push(self.merge_roots()?);
        }
        updates.extend(self.edit_registers().record_aside()?);
        Ok(join_updates(updates))
    }

    /// Returns a [repaired](Self::repair) copy of the document, for reading only; `None` if there
    /// is nothing to do.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn repaired(&self) -> Result<Option<Self>, ContentError> {
        if !self.conversion().needs_conversion() && !self.conversion().needs_repair() {
            return Ok(None);
        }
        let mut copy = self.clone_of_state(&self.replica.gate.encode_state())?;
        copy.repair()?;
        Ok(Some(copy))
    }

    /// Converts a document of rich text that keeps the other profile. Editors of the other profile
    /// must not have it open: they would delete elements that they cannot build.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn keep_profile(
        &mut self,
        profile: SchemaProfile,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.replica.gate.health()?;
        let is_rich = self.conversion().is_rich();
        let evident = convert::evident_profile(&self.replica)
            .filter(|evident| is_rich && *evident != profile);
        let Some(other) = evident else { return Ok(None) };
        self.set_kind(ContentRoot::Rich(other));
        let text = match self.conversion().comparison().merged_text()? {
            Some(merged) => merged.text,
            None => self.text(),
        };
        self.set_kind(ContentRoot::Rich(profile));
        let update = convert::write_profile(self.conversion().comparison(), &text, profile)?;
        self.receive(&update, UpdateSource::Store)?;
        Ok(Some(update))
    }

    /// Keeps one half of a document that holds everything twice. Returns `None` if it does not.
    ///
    /// # Errors
    ///
    /// As [`ContentDoc::write`].
    pub fn undouble(&mut self, author: &RunAuthor) -> Result<Option<Vec<u8>>, ContentError> {
        let ContentRoot::Rich(profile) = self.conversion().current_root() else {
            return Ok(None);
        };
        match convert::first_half(&self.replica, profile) {
            Some(text) => Ok(self.write(&text, None, author)?.update),
            None => Ok(None),
        }
    }

    /// Returns the view of the roots of later versions of the reference implementation, and of
    /// roots that an application chose.
    pub fn reference(&self) -> ReferenceRoots<'_> {
        ReferenceRoots { replica: &self.replica }
    }

    /// Edits the body, in the form that the name implies, on behalf of an author.
    fn write_body<R>(
        &mut self,
        author: &RunAuthor,
        edit: impl FnOnce(ContentBody, &mut RichWriter<'_>) -> Result<R, ContentError>,
    ) -> Result<R, ContentError> {
        let Self { replica, rich, registers, .. } = self;
        let origin = EditOrigin::Author { log: &mut registers.log, author };
        let body = ContentBody::of_root(self.kind);
        let mut writer = RichWriter { body: BodyWriter { replica, origin }, cache: rich };
        let result = edit(body, &mut writer);
        self.conversions.forget();
        result
    }

    /// Separates the words that a save put beside words that its writer had not read, as
    /// [`separate_words`](Self::separate_words) separates those of replicas.
    fn separate_saved_words(
        &mut self,
        first: ItemId,
        states: [&Version; 2],
        overlaps: &mut [TextOverlap],
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let is_rich = self.conversion().is_rich();
        let separated =
            word_joints::separate_saved_words(&mut self.replica, first, states, is_rich)?;
        let Some(Separation { update, places }) = separated else { return Ok(None) };
        self.receive(&update, UpdateSource::Store)?;
        if !is_rich {
            for overlap in overlaps {
                overlap.at += places.iter().filter(|place| **place <= overlap.at).count();
            }
        }
        Ok(Some(update))
    }

    /// Returns the text that a writer had read, if it was of another root than the content will be.
    fn text_of_other_root(
        &self,
        base: Option<ContentBase<'_>>,
    ) -> Result<Option<String>, ContentError> {
        let needs_settlement = self.conversion().needs_settlement();
        let settlements = self.conversions.settlements(&self.replica);
        Ok(match base {
            None if needs_settlement => Some(self.text()),
            Some(ContentBase::Version(version))
                if needs_settlement || !settlements.is_of_current_root(version) =>
            {
                Some(self.text_at(version)?)
            }
            Some(ContentBase::Version(version)) if !settlements.is_last_known_to(version) => {
                self.merged_text_at(version)?
            }
            _ => None,
        })
    }

    /// Returns the text at a version if that had edits which its current root lacked.
    fn merged_text_at(&self, version: &Version) -> Result<Option<String>, ContentError> {
        self.check_known(version)?;
        let state = self.replica.fork(version)?.encode_state();
        let past = self.clone_of_state(&state)?;
        Ok(past.conversion().merged_text().map(str::to_owned))
    }

    /// Merges late edits, and makes the root current that the name implies.
    fn merge_roots(&mut self) -> Result<Vec<u8>, ContentError> {
        let merged = match self.conversion().comparison().merged_text()? {
            Some(merged) => merged,
            None => MergedText::of_text(self.text()),
        };
        let update = convert::write_settlement(self.conversion().comparison(), self.kind, &merged)?;
        self.receive(&update, UpdateSource::Store)?;
        Ok(update)
    }

    /// Returns the text with the items behind it.
    fn anchored_text(&mut self) -> AnchoredText<'_> {
        let current = self.conversion().current_root();
        let rich_text = matches!(current, ContentRoot::Rich(_)).then(|| self.text());
        AnchoredText::read(&mut self.replica, current, self.kind, rich_text)
    }

    /// Returns a document of the same file that holds a state.
    pub(super) fn clone_of_state(&self, state: &[u8]) -> Result<Self, ContentError> {
        let mut clone = Self::new(self.replica.id(), self.replica.client(), self.replica.limits());
        clone.kind = self.kind;
        clone.receive(state, UpdateSource::Store)?;
        Ok(clone)
    }

    fn check_known(&self, version: &Version) -> Result<(), ContentError> {
        self.replica.check_clocks(version)?;
        self.registers.redactions.check_version(&self.replica, version, |version| {
            self.conversions.settlements(&self.replica).was_rich_at(version)
        })
    }

    /// Erases all content that redactions name and that is deleted by now.
    fn erase_redacted(&mut self) {
        if self.registers.redactions.erase_due(&mut self.replica) {
            self.forget();
        }
    }

    /// Drops all cached state of the content.
    pub(super) fn forget(&mut self) {
        self.replica.drop_caches();
        self.rich.clear();
        self.conversions.forget();
    }
}
