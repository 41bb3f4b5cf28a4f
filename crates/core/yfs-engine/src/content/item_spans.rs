//! The served text with the items behind it, used by blame and anchors.
//!
//! This is the one place that knows how the text of a file is kept. A kind of content supports
//! blame and anchors once this file maps its bytes to items.
//!
//! The file of a rich text has more characters than the document: `#`, `- `, links. Each piece of a
//! document is searched in the file behind the piece before it; text between two pieces belongs to
//! no item.

use yfs_markdown::{front_matter::split, schema::SchemaProfile};
use yrs::{ReadTxn, TransactionMut};

use super::{
    TEXT, Version,
    diff::utf16_len,
    rich,
    typing_runs::{SpanPiece, pieces},
};
use crate::{
    gate::GatedDoc,
    id::ItemId,
    rich::{LiveChild, live, nodes},
};

/// The greatest distance between two consecutive pieces of rich text, in bytes; such as the address
/// of a link.
const MAX_BETWEEN: usize = 2 << 10;

/// The origin of a stretch of text: its first item, and the number of items.
pub(super) type ContentOrigin = (ItemId, u32);

/// A stretch of the text that came from items which follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemSpan {
    /// The offset in the text, in bytes.
    pub(super) at: usize,
    /// Its length in bytes.
    pub(super) len: usize,
    /// The item of its first unit.
    pub(super) item: ItemId,
    /// The number of its units, each an item: code units of UTF-16.
    pub(super) n_units: u32,
    /// The `Y.XmlText` that holds the items; `None` for plain text.
    pub(super) list: Option<ItemId>,
    /// Its start in the list that holds the items, as Yjs counts.
    pub(super) index: u32,
}

impl ItemSpan {
    /// Returns the item that is `n_units` behind the first.
    pub(super) fn item_behind(&self, n_units: u32) -> ItemId {
        ItemId::new(self.item.client, self.item.clock + n_units)
    }

    /// Reports whether the span contains an item.
    pub(super) fn contains(&self, item: ItemId) -> bool {
        let clocks = self.item.clock..self.item.clock + self.n_units;
        self.item.client == item.client && clocks.contains(&item.clock)
    }
}

/// Returns one of the roots as a file, and its spans, in order.
pub(super) fn spans_of(gate: &mut GatedDoc, is_rich: bool) -> (String, Vec<ItemSpan>) {
    let now = Version::noted(gate.snapshot());
    if !is_rich {
        return plain_spans(gate, &now);
    }
    let profile = gate.read(|txn| rich::profile_of(txn));
    let text = gate.read(|txn| rich::read_file(txn, profile)).text;
    let spans = rich_spans(gate, &text, &now, profile, |_| true);
    (text, spans)
}

/// Returns some blocks as a file, and its spans, in order.
pub(super) fn spans_of_blocks(
    gate: &mut GatedDoc,
    is_one: impl Fn(&LiveChild) -> bool,
) -> (String, Vec<ItemSpan>) {
    let now = Version::noted(gate.snapshot());
    let (text, profile) = gate.read(|txn| {
        let profile = rich::profile_of(txn);
        let mut kids = live(txn, profile);
        kids.retain(&is_one);
        let memory = rich::RichMemory::read(txn).without_front();
        (rich::file_of(nodes(&kids), &memory, profile).text, profile)
    });
    let spans = rich_spans(gate, &text, &now, profile, is_one);
    (text, spans)
}

/// Returns the plain text and its spans, in order.
pub(super) fn plain_spans(gate: &mut GatedDoc, now: &Version) -> (String, Vec<ItemSpan>) {
    let (pieces, _) = gate.edit(|txn| match txn.get_text(TEXT) {
        Some(text) => pieces(txn, &text, None, now),
        None => Vec::new(),
    });
    let (mut text, mut spans) = (String::new(), Vec::with_capacity(pieces.len()));
    for piece in &pieces {
        spans.push(piece.at(text.len()));
        text.push_str(&piece.text);
    }
    (text, spans)
}

/// Returns the spans of some blocks of rich text, in order.
pub(super) fn rich_spans(
    gate: &mut GatedDoc,
    text: &str,
    now: &Version,
    profile: SchemaProfile,
    is_one: impl Fn(&LiveChild) -> bool,
) -> Vec<ItemSpan> {
    rich_spans_and_pieces(gate, text, now, profile, is_one).0
}

/// Returns the spans of some blocks of rich text, in order, and all pieces of the blocks: also
/// those that are not found in the file.
pub(super) fn rich_spans_and_pieces(
    gate: &mut GatedDoc,
    text: &str,
    now: &Version,
    profile: SchemaProfile,
    is_one: impl Fn(&LiveChild) -> bool,
) -> (Vec<ItemSpan>, Vec<SpanPiece>) {
    let (pieces, _) = gate.edit(|txn| {
        let (mut kids, mut found) = (live(txn, profile), Vec::new());
        kids.retain(is_one);
        texts_of(txn, &kids, now, &mut found);
        found
    });
    let pieces: Vec<SpanPiece> = pieces.into_iter().flatten().collect();
    // Front matter is no part of the text.
    let front = text.len() - split(text).body.len();
    let (mut at, mut spans) = (front, Vec::with_capacity(pieces.len()));
    for piece in &pieces {
        // Text that is written otherwise than it reads, such as escaped text, is matched by lines.
        let mut offset = 0;
        for part in piece.text.split_inclusive(['\n', ' ']) {
            let end = text.floor_char_boundary(at.saturating_add(MAX_BETWEEN + part.len()));
            if let Some(place) = text[at..end].find(part) {
                spans.push(piece.part(offset, part).at(at + place));
                at += place + part.len();
            }
            offset += part.len();
        }
    }
    (spans, pieces)
}

impl SpanPiece {
    /// Returns the part of the span at an offset of the text.
    fn at(&self, at: usize) -> ItemSpan {
        ItemSpan {
            at,
            len: self.text.len(),
            item: self.item,
            n_units: utf16_len(&self.text),
            list: self.list,
            index: self.index,
        }
    }

    fn part(&self, offset: usize, text: &str) -> Self {
        let before = utf16_len(&self.text[..offset]);
        Self {
            text: text.to_owned(),
            item: ItemId::new(self.item.client, self.item.clock + before),
            list: self.list,
            index: self.index + before,
        }
    }
}

/// Returns the live characters of one of the roots, and the origin of each stretch of them, by its
/// unit. Each text of rich text stands on lines of its own.
pub(super) fn characters(
    gate: &mut GatedDoc,
    is_rich: bool,
) -> (String, Vec<(u32, ContentOrigin)>) {
    let (texts, _) = gate.edit(|txn| {
        let now = Version::noted(txn.snapshot());
        if is_rich {
            let (kids, mut found) = (live(txn, rich::profile_of(txn)), Vec::new());
            texts_of(txn, &kids, &now, &mut found);
            return found;
        }
        let text = txn.get_text(TEXT);
        text.map(|text| pieces(txn, &text, None, &now)).into_iter().collect()
    });
    let (mut said, mut origins, mut at) = (String::new(), Vec::new(), 0);
    for pieces in &texts {
        for piece in pieces {
            let n_units = utf16_len(&piece.text);
            origins.push((at, (piece.item, n_units)));
            said.push_str(&piece.text);
            at += n_units;
        }
        if is_rich {
            said.push('\n');
            at += 1;
        }
    }
    (said, origins)
}

/// Returns the pieces of the texts under some nodes, each text by itself. Recurses as deep as the
/// tree that was read.
fn texts_of(
    txn: &mut TransactionMut<'_>,
    kids: &[LiveChild],
    now: &Version,
    found: &mut Vec<Vec<SpanPiece>>,
) {
    for kid in kids {
        match kid {
            LiveChild::Element(element) => texts_of(txn, &element.kids, now, found),
            LiveChild::Text(text) => {
                let slots = text.slots.iter();
                found.push(
                    slots.flat_map(|slot| pieces(txn, &slot.handle, Some(slot.id), now)).collect(),
                );
            }
        }
    }
}

/// Returns how many bytes the first units of a text take; a unit in the middle of a character
/// counts to its end.
pub(super) fn bytes_of(text: &str, n_units: u32) -> usize {
    let mut units = 0;
    let mut chars = text.char_indices();
    let at = chars.find(|(_, c)| {
        let is_there = units >= n_units;
        units += c.len_utf16() as u32;
        is_there
    });
    at.map_or(text.len(), |(at, _)| at)
}
