//! The live pieces of a text by their items, and where the units that one client typed in one go
//! end.

use yrs::{Any, Out, ReadTxn as _, Snapshot, Text, TransactionMut, types::text::YChange};

use super::{Version, diff::utf16_len};
use crate::id::{ClientId, ItemId};

/// A piece of a list: its text, its first item, and its start in the list.
pub(super) struct SpanPiece {
    pub(super) text: String,
    pub(super) item: ItemId,
    pub(super) list: Option<ItemId>,
    pub(super) index: u32,
}

/// The places of a text, in its units, where the units that one client typed in one go end.
#[derive(Debug, Default)]
pub(super) struct TypingRuns {
    starts: Option<Vec<u32>>,
}

impl TypingRuns {
    /// Reports whether one client typed the unit before a place and the one behind it in one go.
    pub(super) fn goes_on(&self, place: u32) -> bool {
        self.starts.as_ref().is_some_and(|starts| starts.binary_search(&place).is_err())
    }
}

/// Returns the typing runs of a text.
pub(super) fn typing_runs(txn: &mut TransactionMut<'_>, text: &impl Text) -> TypingRuns {
    let now = Version::noted(txn.snapshot());
    let (mut at, mut starts) = (0, Vec::new());
    let mut last: Option<(ClientId, u32)> = None;
    for piece in pieces(txn, text, None, &now) {
        let n_units = utf16_len(&piece.text);
        // Inside a piece the units follow each other.
        if last != Some((piece.item.client, piece.item.clock)) {
            starts.push(at);
        }
        last = Some((piece.item.client, piece.item.clock + n_units));
        at += n_units;
    }
    TypingRuns { starts: Some(starts) }
}

/// Returns the pieces of a text.
pub(super) fn pieces(
    txn: &mut TransactionMut<'_>,
    text: &impl Text,
    list: Option<ItemId>,
    now: &Version,
) -> Vec<SpanPiece> {
    // Compared with an empty version every item is new, and each piece is reported by itself.
    let nothing = Snapshot::default();
    let changes = text.diff_range(txn, Some(now.snapshot()), Some(&nothing), YChange::identity);
    let (mut pieces, mut index) = (Vec::with_capacity(changes.len()), 0);
    for change in changes {
        let (Out::Any(Any::String(text)), Some(added)) = (&change.insert, &change.ychange) else {
            index += 1;
            continue;
        };
        let client = ClientId::new(added.id.client.get()).expect("yrs masks client ids");
        let item = ItemId::new(client, added.id.clock);
        pieces.push(SpanPiece { text: text.to_string(), item, list, index });
        index += utf16_len(text);
    }
    pieces
}
