//! The live pieces of a text by their items, and where the units that one client typed in one go
//! end.

use std::ops::Range;

use yrs::{Any, Out, ReadTxn as _, Snapshot, Text, TransactionMut, types::text::YChange};

use super::{
    Version,
    diff::{TextSplice, utf16_len},
};
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

/// Moves an insertion or a deletion within a part of the base to the nearest place where neither of
/// its ends is `inside`, if the resulting text is the same.
///
/// Of two words that begin alike, a comparison may delete one without its first letter, and the
/// first letter of the other. The text is the same, but a client that types between the two then
/// types between a word and its first letter.
pub(super) fn slide(
    splice: &mut TextSplice,
    base: &str,
    new: &str,
    within: Range<usize>,
    inside: impl Fn(usize) -> bool,
) {
    let Range { start, end } = splice.old;
    let is_inside = |place: &Range<usize>| inside(place.start) || inside(place.end);
    // The text that comes or goes, with what it may move over.
    let moving = match (splice.delete > 0, splice.new.is_empty()) {
        (false, false) => &new[splice.new.clone()],
        (true, true) => &base[start..end],
        _ => return,
    };
    if !is_inside(&splice.old) {
        return;
    }
    let found = (places_before(moving, &base[within.start..start]))
        .find(|n| !is_inside(&(start - n..end - n)))
        .map(|n| (start - n, end - n, true, n));
    let found = found.or_else(|| {
        let n = places_behind(moving, &base[end..within.end])
            .find(|n| !is_inside(&(start + n..end + n)))?;
        Some((start + n, end + n, false, n))
    });
    let Some((from, to, is_before, n)) = found else { return };
    if is_before {
        splice.at -= utf16_len(&base[from..start]);
    } else {
        splice.at += utf16_len(&base[start..from]);
    }
    splice.delete = utf16_len(&base[from..to]);
    splice.old = from..to;
    let Range { start, end } = splice.new;
    splice.new = if is_before { start - n..end - n } else { start + n..end + n };
}

/// Returns by how many bytes a text may move to the left over the one before it.
fn places_before(moving: &str, before: &str) -> impl Iterator<Item = usize> {
    // Once it moved by its own length, it would move over itself.
    let over = before.chars().rev().zip(moving.chars().rev().chain(before.chars().rev()));
    let mut n = 0;
    over.take_while(|(before, last)| before == last).map(move |(character, _)| {
        n += character.len_utf8();
        n
    })
}

/// Returns by how many bytes a text may move to the right over the one behind it.
fn places_behind(moving: &str, behind: &str) -> impl Iterator<Item = usize> {
    let over = behind.chars().zip(moving.chars().chain(behind.chars()));
    let mut n = 0;
    over.take_while(|(behind, first)| behind == first).map(move |(character, _)| {
        n += character.len_utf8();
        n
    })
}
