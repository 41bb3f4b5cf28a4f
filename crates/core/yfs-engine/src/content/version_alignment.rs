//! Aligns a text at a version with its current content, item by item.

use yrs::{
    Any, Out, ReadTxn, Snapshot, Text, TransactionMut,
    types::text::{ChangeKind, YChange},
};

use super::{
    TEXT, Version,
    rebase::{RunAlignment, TextLength, TextSide},
};
use crate::gate::GatedDoc;

/// Aligns the text at a version with the current text, and returns the former.
///
/// The document is cut at the boundaries of the version, and mended when that is done. A version
/// that was not taken from a document may cut through the middle of a character, which cannot be
/// mended: then the document must be a copy.
pub(super) fn align_plain_text(gate: &mut GatedDoc, version: &Version) -> (String, RunAlignment) {
    let (compared, _) = gate.edit(|txn| {
        let text = txn.get_text(TEXT)?;
        let now = txn.snapshot();
        Some(align_with_version(txn, &text, &now, version.snapshot()))
    });
    compared.unwrap_or_default()
}

/// Aligns one text at a version with its current content, and returns the former.
pub(super) fn align_with_version(
    txn: &mut TransactionMut<'_>,
    text: &impl Text,
    now: &Snapshot,
    version: &Snapshot,
) -> (String, RunAlignment) {
    let changes = text.diff_range(txn, Some(now), Some(version), YChange::identity);
    let (mut base, mut runs) = (String::new(), RunAlignment::default());
    for change in changes {
        // Anything but a string has no length in the text.
        let Out::Any(Any::String(text)) = &change.insert else { continue };
        let side = match change.ychange.map(|change| change.kind) {
            None => TextSide::Both,
            Some(ChangeKind::Removed) => TextSide::Old,
            Some(ChangeKind::Added) => TextSide::New,
        };
        if side != TextSide::New {
            base.push_str(text);
        }
        runs.push(side, TextLength::of(text));
    }
    (base, runs)
}
