//! Edits of a content document.

use std::ops::Range;

use yrs::{
    Any, Array, Out, ReadTxn, Text, TextRef, TransactionMut, WriteTxn,
    types::{Delta, text::YChange},
};

use super::{
    ContentBase, ContentDoc, ContentError, MAX_TEXT_BYTES, TEXT,
    blobs::{self, NewBlob},
    compare_with,
    convert::merged,
    diff::{diff, utf16_len},
    item_spans::{TypingRuns, typing_runs},
    log::{self, RunAuthor},
    push_front,
    rebase::{RebaseOp, RunAlignment, TextLength, TextOverlap, TextSide, keep_begun_words, rebase},
    timeline::is_sweeping,
};
use yfs_markdown::schema::SchemaProfile;

use crate::{
    gate::{RootIx, deleted_by},
    id::{ClientId, ItemId},
    kind::ContentRoot,
};

/// More changes than this are made in one pass over the text instead of one walk each.
const MAX_WALKS: usize = 8;

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

impl ContentDoc {
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
        self.gate.health()?;
        check_len(new.len())?;
        let text;
        let base = match (base, self.is_elsewhere(&base)?) {
            (base, None) => base,
            // Before the conversion: the writer had read that text.
            (_, Some(read)) => {
                text = read;
                Some(ContentBase::Text(&text))
            }
        };
        let converted = self.convert()?;
        let mut written = match self.kind {
            ContentRoot::Text => self.write_text(new, base, author)?,
            ContentRoot::Rich(profile) => self.write_whole(new, base, profile, author)?,
        };
        written.update = merged(converted.into_iter().chain(written.update).collect())?;
        Ok(written)
    }

    /// Returns the text that a writer had read, if it was of another kind than the content will be.
    fn is_elsewhere(&self, base: &Option<ContentBase<'_>>) -> Result<Option<String>, ContentError> {
        let needs_conversion = self.needs_conversion();
        Ok(match base {
            None if needs_conversion => Some(self.text()),
            Some(ContentBase::Version(version)) if needs_conversion || !self.is_of_now(version) => {
                Some(self.text_at(version)?)
            }
            _ => None,
        })
    }

    /// Writes a file of rich text.
    pub(super) fn write_whole(
        &mut self,
        new: &str,
        base: Option<ContentBase<'_>>,
        profile: SchemaProfile,
        author: &RunAuthor,
    ) -> Result<ContentWriteResult, ContentError> {
        match base {
            None => self.write_rich(new, None, profile, author),
            Some(ContentBase::Version(version)) => {
                let is_current = *version == self.version();
                self.write_rich(new, Some(version).filter(|_| !is_current), profile, author)
            }
            Some(ContentBase::Text(base)) => {
                let current = self.text();
                let runs = RunAlignment::of_texts(base, &current);
                let (ops, overlaps) = rebase(&runs, &diff(base, new), base, &current, new);
                let merged = applied(&current, new, &ops);
                check_len(merged.len())?;
                let mut written = self.write_rich(&merged, None, profile, author)?;
                written.overlaps.extend(overlaps);
                Ok(written)
            }
        }
    }

    pub(super) fn write_text(
        &mut self,
        new: &str,
        base: Option<ContentBase<'_>>,
        author: &RunAuthor,
    ) -> Result<ContentWriteResult, ContentError> {
        let current = self.text();
        let whole = || RunAlignment::whole(TextLength::of(&current));
        let (base, runs) = match base {
            None => (current.clone(), whole()),
            Some(ContentBase::Text(base)) if base == current => (current.clone(), whole()),
            Some(ContentBase::Text(base)) => {
                (base.to_owned(), RunAlignment::of_texts(base, &current))
            }
            Some(ContentBase::Version(version)) if *version == self.version() => {
                (current.clone(), whole())
            }
            Some(ContentBase::Version(version)) => {
                self.check_known(version)?;
                let (base, runs) = if version.was_taken_from(&self.id) {
                    compare_with(&mut self.gate, version)
                } else {
                    compare_with(&mut self.copy()?, version)
                };
                let fits = runs.fit(&base, &current);
                let runs = if fits { runs } else { RunAlignment::of_texts(&base, &current) };
                (base, runs)
            }
        };
        let (mut ops, overlaps) = rebase(&runs, &diff(&base, new), &base, &current, new);
        if !overlaps.is_empty() {
            let (typing, _) = self.gate.edit(|txn| match txn.get_text(TEXT) {
                Some(text) => typing_runs(txn, &text),
                None => TypingRuns::default(),
            });
            ops = keep_begun_words(ops, &current, &runs, &typing);
        }
        let update = self.apply(&current, new, &ops, author)?;
        Ok(ContentWriteResult { update, overlaps })
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
        self.gate.health()?;
        if old.is_empty() {
            return Err(ContentError::EmptyPattern);
        }
        let current = self.text();
        let places: Vec<usize> = current.match_indices(old).map(|(at, _)| at).collect();
        match places.len() {
            0 => return Err(ContentError::NotFound),
            n_matches if n_matches > 1 && !all => {
                return Err(ContentError::NotUnique { n_matches });
            }
            _ => {}
        }
        let grown = places.len().saturating_mul(new.len());
        check_len((current.len() - places.len() * old.len()).saturating_add(grown))?;
        if self.needs_conversion() {
            let update = self.write(&replaced(&current, old, new, all), None, author)?.update;
            return Ok(SpliceResult { update, n_replaced: places.len() });
        }

        let splices = diff(old, new);
        let mut ops = Vec::with_capacity(places.len() * splices.len());
        let mut cursor = TextLength::default();
        for place in &places {
            cursor += TextLength::of(&current[cursor.bytes..*place]);
            ops.extend(splices.iter().map(|splice| RebaseOp {
                at: TextLength {
                    units: cursor.units + splice.at,
                    bytes: cursor.bytes + splice.old.start,
                },
                delete: TextLength { units: splice.delete, bytes: splice.old.len() },
                insert: splice.new.clone(),
            }));
        }
        let update = self.apply(&current, new, &ops, author)?;
        Ok(SpliceResult { update, n_replaced: places.len() })
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
        self.gate.health()?;
        // A code unit of UTF-16 takes at most three bytes, so this seldom has to read the text.
        if text.is_empty() {
            return Ok(ContentWriteResult::default());
        }
        if matches!(self.kind, ContentRoot::Rich(_)) || self.needs_conversion() {
            let whole = self.text() + text;
            return self.write(&whole, None, author);
        }
        let len = 3 * self.len_utf16() as usize + text.len();
        if len > MAX_TEXT_BYTES {
            check_len(self.len_utf8() + text.len())?;
        }
        let update = self.transact(author, false, |txn, root| root.push(txn, text))?;
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
        self.gate.health()?;
        let current = self.text();
        let Some(old) = current.get(range.clone()) else {
            let Range { start, end } = range;
            return Err(ContentError::BadRange { start, end, len: current.len() });
        };
        check_len(current.len() - old.len() + new.len())?;
        let start = TextLength::of(&current[..range.start]);
        let op = |splice: super::diff::TextSplice| RebaseOp {
            at: TextLength {
                units: start.units + splice.at,
                bytes: start.bytes + splice.old.start,
            },
            delete: TextLength { units: splice.delete, bytes: splice.old.len() },
            insert: splice.new,
        };
        let ops: Vec<RebaseOp> = diff(old, new).into_iter().map(op).collect();
        if self.needs_conversion() {
            return self.write(&applied(&current, new, &ops), None, author);
        }
        let update = self.apply(&current, new, &ops, author)?;
        Ok(ContentWriteResult { update, overlaps: Vec::new() })
    }

    /// Lists a new version of content that is kept by reference. It replaces all current ones.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document cannot be edited at all.
    pub fn add_blob_version(
        &mut self,
        blob: &NewBlob,
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.gate.health()?;
        let value = blobs::value(blob, author, &self.blobs.heads());
        let id = ItemId::new(self.client, self.gate.clock_of(self.client));
        let element = value.clone();
        let (_, update) = self.gate.edit(|txn| {
            let array = txn.get_or_insert_array(RootIx::Blobs.name());
            array.push_back(txn, element);
        });
        self.finish(update, [(RootIx::Blobs, id, value)])
    }

    /// Records on whose behalf another client writes, from a clock on.
    ///
    /// # Errors
    ///
    /// [`ContentError::Refused`] if the document cannot be edited at all.
    pub fn attribute(
        &mut self,
        client: ClientId,
        from: u32,
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.gate.health()?;
        let value = log::claim(client, from, author, &self.noted());
        let id = ItemId::new(self.client, self.gate.clock_of(self.client));
        let element = value.clone();
        let (_, update) = self.gate.edit(|txn| push_front(txn, RootIx::Log, element));
        self.finish(update, [(RootIx::Log, id, value)])
    }

    /// Applies changes of the current text, in order of position.
    pub(super) fn apply(
        &mut self,
        current: &str,
        new: &str,
        ops: &[RebaseOp],
        author: &RunAuthor,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let grown: usize = ops.iter().map(|op| op.insert.len()).sum();
        let shrunk: usize = ops.iter().map(|op| op.delete.bytes).sum();
        if ops.is_empty() {
            return Ok(None);
        }
        check_len(current.len() - shrunk + grown)?;
        debug_assert!(are_in_order(ops, current), "{ops:?}");
        if let ContentRoot::Rich(profile) = self.kind {
            let whole = applied(current, new, ops);
            return Ok(self.write_rich(&whole, None, profile, author)?.update);
        }
        let len_utf16 = utf16_len(current);
        let mut edits: Vec<TextChange<'_>> =
            ops.iter().map(|op| TextChange::new(op, new)).collect();
        if self.len_utf16() != len_utf16 {
            let others = self.others(len_utf16)?;
            edits = edits.into_iter().flat_map(|edit| edit.around(&others)).collect();
        }
        let n_deleted = ops.iter().map(|op| op.delete.units).sum();
        self.transact(author, is_sweeping(n_deleted, len_utf16), |txn, root| {
            if edits.len() > MAX_WALKS {
                root.apply_delta(txn, delta(&edits));
                return;
            }
            for edit in edits.iter().rev() {
                if !edit.insert.is_empty() {
                    root.insert(txn, edit.at, edit.insert);
                }
                if edit.delete > 0 {
                    root.remove_range(txn, edit.at + utf16_len(edit.insert), edit.delete);
                }
            }
        })
    }

    /// Returns the positions of embeds that are not text, such as an image: the number of code
    /// units of text before each.
    fn others(&self, len_utf16: u32) -> Result<Vec<u32>, ContentError> {
        let (n_units, others) = self.gate.read(|txn| {
            let Some(text) = txn.get_text(TEXT) else { return (0, Vec::new()) };
            let (mut at, mut others) = (0, Vec::new());
            for piece in text.diff(txn, YChange::identity) {
                match piece.insert {
                    Out::Any(Any::String(text)) => at += utf16_len(&text),
                    _ => others.push(at),
                }
            }
            (at, others)
        });
        let n_others = others.len() as u32;
        let complete = n_units == len_utf16 && n_units + n_others == self.len_utf16();
        if complete { Ok(others) } else { Err(ContentError::NotText) }
    }

    /// Edits the text in one transaction, with an entry in the log where a run begins. An edit that
    /// stands `alone` is a run by itself.
    fn transact(
        &mut self,
        author: &RunAuthor,
        alone: bool,
        edit: impl FnOnce(&mut TransactionMut<'_>, &TextRef),
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let entry = self.begin_run(author, alone);
        self.transact_with(entry, |txn| {
            let root = txn.get_or_insert_text(TEXT);
            edit(txn, &root);
        })
    }

    /// Edits the document in one transaction, which begins with an entry in the log.
    pub(super) fn transact_with(
        &mut self,
        entry: Option<Any>,
        edit: impl FnOnce(&mut TransactionMut<'_>),
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let id = ItemId::new(self.client, self.gate.clock_of(self.client));
        let element = entry.clone();
        let (_, update) = self.gate.edit(|txn| {
            if let Some(element) = element {
                push_front(txn, RootIx::Log, element);
            }
            edit(txn);
        });
        self.finish(update, entry.map(|entry| (RootIx::Log, id, entry)))
    }

    pub(super) fn finish(
        &mut self,
        update: Option<Vec<u8>>,
        elements: impl IntoIterator<Item = (RootIx, ItemId, Any)>,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        match update.as_deref().map_or(Ok(Vec::new()), deleted_by) {
            Ok(deleted) => {
                self.blocks.note_deleted(deleted);
                self.forget_state();
            }
            Err(_) => self.forget(),
        }
        self.gate.health()?;
        for (root, id, value) in elements {
            self.insert(root, id, &value);
        }
        Ok(update)
    }
}

impl RunAlignment {
    /// Returns the alignment of a text with itself.
    pub(super) fn whole(length: TextLength) -> Self {
        let mut runs = Self::default();
        runs.push(TextSide::Both, length);
        runs
    }
}

/// A change of the text, in UTF-16 code units.
#[derive(Debug, Clone, Copy)]
struct TextChange<'a> {
    at: u32,
    delete: u32,
    insert: &'a str,
}

impl<'a> TextChange<'a> {
    fn new(op: &RebaseOp, new: &'a str) -> Self {
        Self { at: op.at.units, delete: op.delete.units, insert: &new[op.insert.clone()] }
    }

    /// Makes the same change of a list that also holds `others`, each of length one, and keeps
    /// them.
    fn around(self, others: &[u32]) -> Vec<Self> {
        let n_before = |at: u32| others.partition_point(|other| *other <= at);
        let (first, last) =
            (n_before(self.at), others.partition_point(|other| *other < self.at + self.delete));
        let mut edits = Vec::new();
        let mut piece = Self { at: self.at, delete: 0, insert: self.insert };
        let mut end = self.at;
        for (index, other) in others.iter().enumerate().take(last.max(first)).skip(first) {
            piece.delete = other - end;
            edits.push(Self { at: end + index as u32, ..piece });
            piece.insert = "";
            end = *other;
        }
        let index = last.max(first) as u32;
        edits.push(Self { at: end + index, delete: self.at + self.delete - end, ..piece });
        edits.retain(|edit| edit.delete > 0 || !edit.insert.is_empty());
        edits
    }
}

/// Returns changes in the form that yrs applies in one pass.
fn delta<'a>(edits: &'a [TextChange<'a>]) -> impl Iterator<Item = Delta<&'a str>> {
    let mut end = 0;
    edits.iter().flat_map(move |edit| {
        let kept = edit.at - end;
        end = edit.at + edit.delete;
        let retain = (kept > 0).then_some(Delta::Retain(kept, None));
        let insert = (!edit.insert.is_empty()).then_some(Delta::Inserted(edit.insert, None));
        let delete = (edit.delete > 0).then_some(Delta::Deleted(edit.delete));
        retain.into_iter().chain(insert).chain(delete)
    })
}

fn replaced(current: &str, old: &str, new: &str, all: bool) -> String {
    if all { current.replace(old, new) } else { current.replacen(old, new, 1) }
}

/// Applies changes to a text, in order of position, and returns the result.
pub(super) fn applied(current: &str, new: &str, ops: &[RebaseOp]) -> String {
    let mut text = String::with_capacity(current.len());
    let mut end = 0;
    for op in ops {
        text.push_str(&current[end..op.at.bytes]);
        text.push_str(&new[op.insert.clone()]);
        end = op.at.bytes + op.delete.bytes;
    }
    text.push_str(&current[end..]);
    text
}

/// Checks the preconditions of yrs: the changes are in order, and within the text.
fn are_in_order(ops: &[RebaseOp], current: &str) -> bool {
    let mut end = TextLength::default();
    ops.iter().all(|op| {
        let fits = end.bytes <= op.at.bytes
            && end.units + utf16_len(&current[end.bytes..op.at.bytes]) == op.at.units
            && utf16_len(&current[op.at.bytes..op.at.bytes + op.delete.bytes]) == op.delete.units;
        end = op.at;
        end += op.delete;
        fits
    })
}

fn check_len(len: usize) -> Result<(), ContentError> {
    if len > MAX_TEXT_BYTES { Err(ContentError::TooLarge { len }) } else { Ok(()) }
}
