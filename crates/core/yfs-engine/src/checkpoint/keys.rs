//! The keys of a checkpoint.

use crate::{
    gate::RootIx,
    id::{ClientId, FileId},
    time::Millis,
};

pub(super) const HEAD: &[u8] = b"H";

/// The ranges of the keys of all places, all rows without a node, and all trashed nodes.
pub(super) const PLACES: [&[u8]; 2] = [b"N", b"O"];
pub(super) const ROWLESS: [&[u8]; 2] = [b"R", b"S"];
pub(super) const TRASHED: [&[u8]; 2] = [b"T", b"U"];
pub(super) const RECORDED: [&[u8]; 2] = [b"V", b"W"];
/// Not `X`, which the caller's own keys begin with.
pub(super) const RENAMED: [&[u8]; 2] = [b"D", b"E"];

/// The place of a node: the rest of its key `C`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodePlace<'a> {
    pub(super) parent: Option<&'a str>,
    pub(super) is_trashed: bool,
    /// The display name; the id of a trashed node.
    pub(super) name: &'a str,
}

impl<'a> NodePlace<'a> {
    pub(super) fn write(&self) -> Vec<u8> {
        let parent = self.parent.unwrap_or_default();
        let kind = if self.is_trashed { "\0t" } else { "\0n" };
        [parent, kind, self.name].concat().into_bytes()
    }

    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (parent, rest) = text.split_once('\0')?;
        let (is_trashed, name) = match rest.strip_prefix('t') {
            Some(id) => (true, id),
            None => (false, rest.strip_prefix('n')?),
        };
        Some(Self { parent: (!parent.is_empty()).then_some(parent), is_trashed, name })
    }
}

/// The key of a node at a place.
pub(super) fn entry(place: &[u8]) -> Vec<u8> {
    [b"C", place].concat()
}

/// The range of the keys of all entries of a directory.
pub(super) fn entries_of(parent: Option<&FileId>) -> [Vec<u8>; 2] {
    let parent = parent.map_or("", FileId::as_str).as_bytes();
    [0, 1].map(|end| [b"C", parent, &[end]].concat())
}

/// The key of the entry of a node in the listing of its directory.
pub(super) fn listed(place: &NodePlace<'_>) -> Vec<u8> {
    [b"L", place.parent.unwrap_or_default().as_bytes(), b"\0", place.name.as_bytes()].concat()
}

/// The range of the keys of the listing of a directory; the first is what all begin with.
pub(super) fn listed_in(parent: Option<&FileId>) -> [Vec<u8>; 2] {
    let parent = parent.map_or("", FileId::as_str).as_bytes();
    [0, 1].map(|end| [b"L", parent, &[end]].concat())
}

/// The range of the keys of the entries of a directory that are not trashed.
pub(super) fn names_in(parent: Option<&FileId>) -> [Vec<u8>; 2] {
    let parent = parent.map_or("", FileId::as_str).as_bytes();
    [b"\0n", b"\0o"].map(|kind| [b"C", parent, kind].concat())
}

/// The key of the place of a node.
pub(super) fn place_of(id: &str) -> Vec<u8> {
    [PLACES[0], id.as_bytes()].concat()
}

/// The key of the elements of an id that has no node.
pub(super) fn rowless(id: &str) -> Vec<u8> {
    [ROWLESS[0], id.as_bytes()].concat()
}

/// The key of a node that is not shown under its stored name.
pub(super) fn renamed(id: &str) -> Vec<u8> {
    [RENAMED[0], id.as_bytes()].concat()
}

/// The key of a row with records, by the time of the latest one.
pub(super) fn recorded(at: Millis, id: &str) -> Vec<u8> {
    let time = !((at.0 as u64) ^ (1 << 63));
    [RECORDED[0], &time.to_be_bytes(), id.as_bytes()].concat()
}

/// Reads the time and the id in such a key.
pub(super) fn read_recorded(key: &[u8]) -> Option<(Millis, &[u8])> {
    let (time, id) = key.strip_prefix(RECORDED[0])?.split_first_chunk()?;
    Some((Millis((!u64::from_be_bytes(*time) ^ (1 << 63)) as i64), id))
}

/// The key of a trashed node.
pub(super) fn trashed(id: &str) -> Vec<u8> {
    [TRASHED[0], id.as_bytes()].concat()
}

/// The key of an element of the table.
pub(super) fn element(root: RootIx, client: ClientId, clock: u32) -> Vec<u8> {
    let root = if root == RootIx::Files { b"Ef" } else { b"Ec" };
    [root.as_slice(), &client.get().to_be_bytes(), &clock.to_be_bytes()].concat()
}

/// The clock in the key of an element.
pub(super) fn clock_of(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*key.last_chunk()?))
}

/// The least key that is greater than `key`.
pub(super) fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}
