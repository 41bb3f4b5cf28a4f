//! Plain text as the body of a document: the root `Y.Text("text")`.

use std::borrow::Cow;

use yrs::{
    Any, Out, ReadTxn, Text, TextRef, TransactionMut, Update, WriteTxn,
    types::{Delta, text::YChange},
    updates::decoder::Decode as _,
};

use super::{
    ContentBase, ContentError, ContentWriteResult, TEXT,
    diff::utf16_len,
    edit::check_len,
    rebase::{
        RebaseOp, RunAlignment, TextLength, applied, keep_begun_words, rebase, separate_words,
    },
    typing_runs::{TypingRuns, typing_runs},
    version_alignment::align_plain_text,
    writer::BodyWriter,
};
use crate::{
    gate::{RootIx, TextChange, UpdateBuilder},
    id::ItemId,
};

/// More changes than this are made in one pass over the text instead of one walk each.
const MAX_WALKS: usize = 8;

/// The body of a document of plain text.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainBody;

impl PlainBody {
    /// Writes `new` in place of the text that the writer had read. The caller has checked that the
    /// document knows the version.
    pub(super) fn write(
        self,
        writer: &mut BodyWriter<'_>,
        new: &str,
        base: Option<ContentBase<'_>>,
    ) -> Result<ContentWriteResult, ContentError> {
        if base.is_none() && !writer.is_by_rule() && writer.replica.gate.is_blank() {
            let update = self.write_first(writer, new)?;
            return Ok(ContentWriteResult { update, overlaps: Vec::new() });
        }
        let current = writer.replica.plain_text().to_owned();
        let is_text = matches!(base, Some(ContentBase::Text(_)));
        let (base, runs) = align_base(writer, base, &current)?;
        let splices = writer.replica.save_comparison()(&base, new);
        let (mut ops, mut overlaps) = rebase(&runs, &splices, &base, &current, new);
        if !overlaps.is_empty() {
            let (typing, _) = writer.replica.gate.edit(|txn| match txn.get_text(TEXT) {
                Some(text) => typing_runs(txn, &text),
                None => TypingRuns::default(),
            });
            ops = keep_begun_words(ops, &current, &runs, &typing);
        }
        // The words of a known version are separated behind the write, by a rule.
        if is_text && base != current {
            separate_words(&mut ops, &mut overlaps, &current, new);
        }
        let (new, ops) = with_blanks(new, ops);
        let update = self.apply(writer, &current, &new, &ops)?;
        Ok(ContentWriteResult { update, overlaps })
    }

    /// Writes the text of a document that was never written, by one update that yrs applies later.
    fn write_first(
        self,
        writer: &mut BodyWriter<'_>,
        text: &str,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        if text.is_empty() {
            return Ok(None);
        }
        check_len(text.len(), 0, &writer.replica.limits())?;
        let entry = writer.begin_run();
        let first = ItemId::new(writer.replica.client(), 0);
        let mut update = UpdateBuilder::new();
        if let Some(entry) = &entry {
            update.array_run(first, None, None, RootIx::Log.name(), std::slice::from_ref(entry));
        }
        let after_entry = ItemId::new(first.client, u32::from(entry.is_some()));
        update.text_run(after_entry, None, None, TEXT, text);
        let change = writer.replica.begin_with_text(update.finish(), text)?;
        writer.finish(first, entry)?;
        Ok(change.update)
    }

    /// Appends text at the end.
    pub(super) fn append(
        self,
        writer: &mut BodyWriter<'_>,
        text: &str,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let entry = writer.begin_run();
        let known = writer.replica.take_plain_text();
        let len = writer.replica.plain_len_utf16();
        let edits = [TextChange { at: len, delete: 0, insert: text }];
        let update = match write_by_items(writer, entry.as_ref(), len, &edits) {
            Some((first, update)) => commit_update(writer, first, entry, &update)?,
            None => commit_text(writer, entry, |txn, root| root.push(txn, text))?,
        };
        if let Some(known) = known {
            writer.replica.keep_plain_text(known + text);
        }
        Ok(update)
    }

    /// Applies changes of the current text, in order of position.
    pub(super) fn apply(
        self,
        writer: &mut BodyWriter<'_>,
        current: &str,
        new: &str,
        ops: &[RebaseOp],
    ) -> Result<Option<Vec<u8>>, ContentError> {
        if ops.is_empty() {
            return Ok(None);
        }
        let grown: usize = ops.iter().map(|op| op.insert.len()).sum();
        let shrunk: usize = ops.iter().map(|op| op.delete.bytes).sum();
        let len = current.len() - shrunk + grown;
        check_len(len, current.len(), &writer.replica.limits())?;
        debug_assert!(are_in_order(ops, current), "{ops:?}");
        let len_utf16 = utf16_len(current);
        let edits = text_changes(writer, new, ops, len_utf16)?;
        let entry = writer.begin_run();
        let update = match write_by_items(writer, entry.as_ref(), len_utf16, &edits) {
            Some((first, update)) => commit_update(writer, first, entry, &update)?,
            None => commit_by_index(writer, entry, &edits)?,
        };
        writer.replica.keep_plain_text(applied(current, new, ops));
        Ok(update)
    }
}

/// Makes changes whose positions yrs finds.
fn commit_by_index(
    writer: &mut BodyWriter<'_>,
    entry: Option<Any>,
    edits: &[TextChange<'_>],
) -> Result<Option<Vec<u8>>, ContentError> {
    commit_text(writer, entry, |txn, root| {
        if edits.len() > MAX_WALKS {
            root.apply_delta(txn, delta(edits));
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

/// Writes the entry and changes relative to items, as an update; returns its first item. `None` if
/// yrs has to find the positions. A text with embeds is longer than its characters.
fn write_by_items(
    writer: &mut BodyWriter<'_>,
    entry: Option<&Any>,
    len_utf16: u32,
    edits: &[TextChange<'_>],
) -> Option<(ItemId, Vec<u8>)> {
    // By a rule every peer must make the same items, however often it has edited the document.
    let (entry, first) = (entry?, writer.next_item_by_items()?);
    // Before the entry that came last, as yrs puts it there.
    let front = writer.replica.front_of(RootIx::Log)?;
    let mut update = UpdateBuilder::new();
    update.array_run(first, None, Some(front), RootIx::Log.name(), std::slice::from_ref(entry));
    let after_entry = ItemId::new(first.client, first.clock + 1);
    let gate = &mut writer.replica.gate;
    Some((first, gate.write_text_changes(update, after_entry, len_utf16, edits)?))
}

/// Applies an update of the text and the entry, whose first item is `first`.
fn commit_update(
    writer: &mut BodyWriter<'_>,
    first: ItemId,
    entry: Option<Any>,
    update: &[u8],
) -> Result<Option<Vec<u8>>, ContentError> {
    let ((), change) = writer.replica.edit(|txn| {
        let update = Update::decode_v1(update).expect("we built a valid update");
        txn.apply_update(update).expect("it names items of the document");
        assert!(txn.prune_pending().is_none(), "it names items of the document");
    });
    writer.finish(first, entry)?;
    Ok(change.update)
}

/// Returns changes whose inserted texts contain the blanks around them.
fn with_blanks(new: &str, mut ops: Vec<RebaseOp>) -> (Cow<'_, str>, Vec<RebaseOp>) {
    if ops.iter().all(|op| op.blanks == (false, false)) {
        return (new.into(), ops);
    }
    let mut text = String::with_capacity(new.len());
    for op in &mut ops {
        let start = text.len();
        text.extend(op.blanks.0.then_some(' '));
        text.push_str(&new[op.insert.clone()]);
        text.extend(op.blanks.1.then_some(' '));
        (op.insert, op.blanks) = (start..text.len(), (false, false));
    }
    (text.into(), ops)
}

/// Returns the text that a writer had read, and its alignment with the current text.
fn align_base(
    writer: &mut BodyWriter<'_>,
    base: Option<ContentBase<'_>>,
    current: &str,
) -> Result<(String, RunAlignment), ContentError> {
    let version = match base {
        Some(ContentBase::Text(base)) if base != current => {
            let runs = RunAlignment::of_read_text(base, current, writer.replica.save_comparison());
            return Ok((base.to_owned(), runs));
        }
        Some(ContentBase::Version(version)) if *version != writer.replica.version() => version,
        _ => return Ok((current.to_owned(), RunAlignment::whole(TextLength::of(current)))),
    };
    let (base, runs) = if version.was_taken_from(writer.replica.id()) {
        align_plain_text(&mut writer.replica.gate, version)
    } else {
        align_plain_text(&mut writer.replica.copy()?, version)
    };
    let fits = runs.fit(&base, current);
    let compare = writer.replica.save_comparison();
    let runs = if fits { runs } else { RunAlignment::of_texts(&base, current, compare) };
    Ok((base, runs))
}

/// Edits the text in one transaction.
fn commit_text(
    writer: &mut BodyWriter<'_>,
    entry: Option<Any>,
    edit: impl FnOnce(&mut TransactionMut<'_>, &TextRef),
) -> Result<Option<Vec<u8>>, ContentError> {
    let change = writer.commit(entry, |txn| {
        let root = txn.get_or_insert_text(TEXT);
        edit(txn, &root);
    })?;
    Ok(change.update)
}

/// Returns changes of a text as changes of the list, which may also hold embeds.
fn text_changes<'a>(
    writer: &BodyWriter<'_>,
    new: &'a str,
    ops: &[RebaseOp],
    len_utf16: u32,
) -> Result<Vec<TextChange<'a>>, ContentError> {
    let changes = ops.iter().map(|op| TextChange::of(op, new));
    if writer.replica.plain_len_utf16() == len_utf16 {
        return Ok(changes.collect());
    }
    let embeds = find_embeds(writer, len_utf16)?;
    Ok(changes.flat_map(|change| change.around(&embeds)).collect())
}

/// Returns the positions of embeds that are not text, such as an image: the number of code
/// units of text before each.
fn find_embeds(writer: &BodyWriter<'_>, len_utf16: u32) -> Result<Vec<u32>, ContentError> {
    let (n_units, embeds) = writer.replica.gate.read(|txn| {
        let Some(text) = txn.get_text(TEXT) else { return (0, Vec::new()) };
        let (mut at, mut embeds) = (0, Vec::new());
        for piece in text.diff(txn, YChange::identity) {
            match piece.insert {
                Out::Any(Any::String(text)) => at += utf16_len(&text),
                _ => embeds.push(at),
            }
        }
        (at, embeds)
    });
    let n_embeds = embeds.len() as u32;
    let complete = n_units == len_utf16 && n_units + n_embeds == writer.replica.plain_len_utf16();
    if complete { Ok(embeds) } else { Err(ContentError::NotText) }
}

impl<'a> TextChange<'a> {
    fn of(op: &RebaseOp, new: &'a str) -> Self {
        Self { at: op.at.units, delete: op.delete.units, insert: &new[op.insert.clone()] }
    }

    /// Makes the same change of a list that also holds `embeds`, each of length one, and keeps
    /// them.
    fn around(self, embeds: &[u32]) -> Vec<Self> {
        let n_before = |at: u32| embeds.partition_point(|embed| *embed <= at);
        let (first, last) =
            (n_before(self.at), embeds.partition_point(|embed| *embed < self.at + self.delete));
        let mut edits = Vec::new();
        let mut piece = Self { at: self.at, delete: 0, insert: self.insert };
        let mut end = self.at;
        for (index, embed) in embeds.iter().enumerate().take(last.max(first)).skip(first) {
            piece.delete = embed - end;
            edits.push(Self { at: end + index as u32, ..piece });
            piece.insert = "";
            end = *embed;
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
