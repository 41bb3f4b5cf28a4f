//! Anchors: places in the text that stay where they are while others write.
//!
//! An anchor names the character that it stands beside by its item. It is what Yjs calls a relative
//! position, byte for byte as `Y.encodeRelativePosition` writes it, so editors resolve ours and we
//! theirs. It holds as long as the document does: across renames, restarts and compaction.

use thiserror::Error;
use yrs::Assoc;

use super::{
    ContentError, TEXT,
    diff::utf16_len,
    item_places::{ItemContainer, place_in},
    item_spans::{ItemSpan, bytes_of, plain_spans, rich_spans},
    replica::ContentReplica,
};
use crate::{
    id::{ClientId, ItemId},
    kind::{ContentRoot, SchemaProfile},
    lib0::{Lib0Error, Lib0Reader, write_string, write_var_int, write_var_uint},
    rich::{LiveChild, ROOT, live},
};

/// The longest name of a root that an anchor may stand in.
const MAX_ROOT_LEN: usize = 64;

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    beside: AnchorNeighbor,
    stick: AnchorSide,
}

/// Which neighbor an anchor stays with.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum AnchorSide {
    /// The character behind it: text inserted right there goes before the anchor.
    #[default]
    Right,
    /// The character before it: text inserted right there goes behind the anchor.
    Left,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AnchorNeighbor {
    Item(ItemId),
    /// The end of a root, or its beginning if the anchor sticks to the left.
    Root(String),
    Type(ItemId),
}

impl AnchorSide {
    fn assoc(self) -> Assoc {
        if self == Self::Left { Assoc::Before } else { Assoc::After }
    }
}

/// The current place of an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolvedAnchor {
    /// The offset in the text, in bytes.
    pub offset: usize,
    /// The line, counted from 1.
    pub line: usize,
    /// Whether the neighbor of the anchor still exists. If not, the place is where the neighbor
    /// was.
    pub exact: bool,
}

/// The reason why bytes are not an anchor, or why an anchor cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AnchorError {
    /// The bytes are not a relative position.
    #[error("not an anchor: malformed at byte {at}")]
    Malformed {
        /// The number of bytes read before the fault.
        at: usize,
    },
    /// The anchor's neighbor is not in this document, or not in its text.
    #[error("the anchor belongs to another text, or to an update that has not arrived")]
    Elsewhere,
    /// The document cannot be used.
    #[error(transparent)]
    Content(#[from] ContentError),
}

impl Anchor {
    /// Returns the anchor beside an item.
    pub(super) fn beside(item: ItemId, stick: AnchorSide) -> Self {
        Self { beside: AnchorNeighbor::Item(item), stick }
    }

    /// Returns the item that the anchor stands beside, and the side of the anchor on which it is;
    /// `None` at the beginning or the end of a list.
    pub fn neighbor(&self) -> Option<(ItemId, AnchorSide)> {
        match self.beside {
            AnchorNeighbor::Item(item) => Some((item, self.stick)),
            AnchorNeighbor::Root(_) | AnchorNeighbor::Type(_) => None,
        }
    }

    /// Returns the anchor as `Y.encodeRelativePosition` encodes it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let write_id = |out: &mut Vec<u8>, id: &ItemId| {
            write_var_uint(out, id.client.get());
            write_var_uint(out, u64::from(id.clock));
        };
        match &self.beside {
            AnchorNeighbor::Item(id) => {
                out.push(0);
                write_id(&mut out, id);
            }
            AnchorNeighbor::Root(name) => {
                out.push(1);
                write_string(&mut out, name);
            }
            AnchorNeighbor::Type(id) => {
                out.push(2);
                write_id(&mut out, id);
            }
        }
        write_var_int(&mut out, if self.stick == AnchorSide::Left { -1 } else { 0 });
        out
    }

    /// Decodes an anchor from untrusted bytes.
    ///
    /// # Errors
    ///
    /// [`AnchorError::Malformed`].
    pub fn decode(bytes: &[u8]) -> Result<Self, AnchorError> {
        let mut reader = Lib0Reader::new(bytes);
        read(&mut reader).map_err(|_| AnchorError::Malformed { at: reader.position() })
    }
}

fn read(reader: &mut Lib0Reader<'_>) -> Result<Anchor, Lib0Error> {
    let beside = match reader.u8()? {
        kind @ (0 | 2) => {
            let client = ClientId::new(reader.var_uint()?).map_err(|_| Lib0Error::Number)?;
            let id = ItemId::new(client, reader.var_u32()?);
            if kind == 0 { AnchorNeighbor::Item(id) } else { AnchorNeighbor::Type(id) }
        }
        1 => {
            let name = reader.string()?;
            if name.len() > MAX_ROOT_LEN {
                return Err(Lib0Error::Parts);
            }
            AnchorNeighbor::Root(name.to_owned())
        }
        _ => return Err(Lib0Error::Number),
    };
    // Old versions of Yjs wrote no side.
    let side = if reader.is_empty() { 0 } else { reader.var_int()? };
    if !reader.is_empty() {
        return Err(Lib0Error::Parts);
    }
    Ok(Anchor { beside, stick: if side < 0 { AnchorSide::Left } else { AnchorSide::Right } })
}

/// The text of a document with the items behind it, in which anchors are made and resolved.
pub(super) struct AnchoredText<'a> {
    replica: &'a ContentReplica,
    /// The profile of rich text; `None` for plain text.
    profile: Option<SchemaProfile>,
    /// The root that anchors of the end and of the beginning name.
    root: &'static str,
    pub(super) text: String,
    pub(super) spans: Vec<ItemSpan>,
}

impl<'a> AnchoredText<'a> {
    /// Reads the items behind the text of a document, which is `held` in one root and is to be in
    /// `wanted`. The text of rich text is given.
    pub(super) fn read(
        replica: &'a mut ContentReplica,
        held: ContentRoot,
        wanted: ContentRoot,
        rich_text: Option<String>,
    ) -> Self {
        let now = replica.version();
        let (profile, (text, spans)) = match (held, rich_text) {
            (ContentRoot::Rich(profile), Some(text)) => {
                let spans = rich_spans(&mut replica.gate, &text, &now, profile, |_| true);
                (Some(profile), (text, spans))
            }
            _ => (None, plain_spans(&mut replica.gate, &now)),
        };
        let root = match wanted {
            ContentRoot::Text => TEXT,
            ContentRoot::Rich(_) => ROOT,
        };
        Self { replica, profile, root, text, spans }
    }

    /// Anchors a place in the text, in bytes.
    pub(super) fn anchor(&self, offset: usize, stick: AnchorSide) -> Result<Anchor, ContentError> {
        let (text, spans) = (&self.text, &self.spans);
        if !text.is_char_boundary(offset) {
            return Err(ContentError::BadRange { start: offset, end: offset, len: text.len() });
        }
        let item = match stick {
            AnchorSide::Right => {
                let after = spans.partition_point(|span| span.at + span.len <= offset);
                spans.get(after).map(|span| {
                    let from = span.at.max(offset);
                    span.item_behind(utf16_len(&text[span.at..from]))
                })
            }
            AnchorSide::Left => {
                let before = spans.partition_point(|span| span.at < offset).checked_sub(1);
                before.map(|before| {
                    let span = &spans[before];
                    let end = offset.min(span.at + span.len);
                    span.item_behind(utf16_len(&text[span.at..end]) - 1)
                })
            }
        };
        let beside =
            item.map_or_else(|| AnchorNeighbor::Root(self.root.to_owned()), AnchorNeighbor::Item);
        Ok(Anchor { beside, stick })
    }

    /// Finds the current place of an anchor. If its neighbor was deleted, that is the place where
    /// the neighbor was.
    pub(super) fn resolve(&self, anchor: &Anchor) -> Result<ResolvedAnchor, AnchorError> {
        let (text, spans) = (&self.text, &self.spans);
        let found = |offset: usize, exact: bool| {
            let line = 1 + text[..offset].matches('\n').count();
            Ok(ResolvedAnchor { offset, line, exact })
        };
        let item = match &anchor.beside {
            AnchorNeighbor::Item(item) => *item,
            AnchorNeighbor::Root(name) if name == self.root => {
                return found(if anchor.stick == AnchorSide::Left { 0 } else { text.len() }, true);
            }
            AnchorNeighbor::Root(_) | AnchorNeighbor::Type(_) => {
                return Err(AnchorError::Elsewhere);
            }
        };
        if let Some(span) = spans.iter().find(|span| span.contains(item)) {
            let n_units =
                item.clock - span.item.clock + u32::from(anchor.stick == AnchorSide::Left);
            let piece = &text[span.at..span.at + span.len];
            return found(span.at + bytes_of(piece, n_units), true);
        }
        let place = self.replica.gate.read(|txn| place_in(txn, item, anchor.stick.assoc()));
        let (around, index) = place.ok_or(AnchorError::Elsewhere)?;
        let list = match around {
            ItemContainer::Root(TEXT) => None,
            ItemContainer::Type(list) => Some(list),
            ItemContainer::Root(_) => {
                return found(self.nearest_place(around, index, anchor.stick), false);
            }
        };
        let mut here = spans.iter().filter(|span| span.list == list);
        let before = here.clone().take_while(|span| span.index <= index).last();
        let offset = match (before, here.next()) {
            (Some(span), _) => {
                span.at + bytes_of(&text[span.at..span.at + span.len], index - span.index)
            }
            (None, Some(first)) => first.at,
            (None, None) if list.is_none() => 0,
            // The whole block was deleted, or all text in it.
            (None, None) => self.nearest_place(around, index, anchor.stick),
        };
        found(offset, false)
    }

    /// Returns the place in the text that is nearest to a place whose text was deleted.
    fn nearest_place(&self, around: ItemContainer, index: u32, stick: AnchorSide) -> usize {
        let Some(profile) = self.profile else { return 0 };
        let (mut around, mut index) = (around, index);
        let (texts, place) = self.replica.gate.read(|txn| {
            let (kids, mut texts) = (live(txn, profile), Vec::new());
            texts_in(&kids, &mut texts);
            loop {
                let here = match around {
                    ItemContainer::Root(_) => Some(&kids[..]),
                    ItemContainer::Type(id) => kids_of(&kids, id),
                };
                if let Some(place) = here.and_then(|here| place_among(&texts, here, index)) {
                    return (texts, place);
                }
                // The parent was deleted as well, or is a text, or has none.
                let ItemContainer::Type(id) = around else { return (texts, 0) };
                let Some(place) = place_in(txn, id, stick.assoc()) else { return (texts, 0) };
                (around, index) = place;
            }
        });
        let (before, behind) = texts.split_at(place);
        let of = |list: &ItemId| {
            let list = *list;
            self.spans.iter().filter(move |span| span.list == Some(list))
        };
        let before = before.iter().rev().find_map(|list| of(list).next_back());
        let before = before.map(|span| span.at + span.len);
        let behind = behind.iter().find_map(|list| of(list).next()).map(|span| span.at);
        let nearest = match stick {
            AnchorSide::Right => behind.or(before),
            AnchorSide::Left => before.or(behind),
        };
        nearest.unwrap_or(0)
    }
}

/// Returns the children of an element. Recurses as deep as the tree that was read.
fn kids_of(kids: &[LiveChild], id: ItemId) -> Option<&[LiveChild]> {
    kids.iter().find_map(|kid| match kid {
        LiveChild::Element(element) if element.id == id => Some(&element.kids[..]),
        LiveChild::Element(element) => kids_of(&element.kids, id),
        LiveChild::Text(_) => None,
    })
}

/// Returns the index of the first text after a place among children; `None` if there is no text
/// among them.
fn place_among(texts: &[ItemId], kids: &[LiveChild], index: u32) -> Option<usize> {
    let (mut at, mut before, mut behind) = (0, Vec::new(), Vec::new());
    for kid in kids {
        let is_behind = at >= index;
        at += kid.ids().count() as u32;
        texts_in(std::slice::from_ref(kid), if is_behind { &mut behind } else { &mut before });
    }
    let place = |id: &ItemId| texts.iter().position(|text| text == id);
    let is_first = behind.first().and_then(place);
    is_first.or_else(|| before.last().and_then(place).map(|last| last + 1))
}

/// Collects the texts under some nodes, in order. Recurses as deep as the tree that was read.
fn texts_in(kids: &[LiveChild], texts: &mut Vec<ItemId>) {
    for kid in kids {
        match kid {
            LiveChild::Element(element) => texts_in(&element.kids, texts),
            LiveChild::Text(text) => texts.extend(text.slots.iter().map(|slot| slot.id)),
        }
    }
}
