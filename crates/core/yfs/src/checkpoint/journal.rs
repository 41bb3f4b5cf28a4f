//! Which rows changed since a position that is older than the checkpoint.
//!
//! What else is derived from rows, as the index for search, is renewed at other times than the
//! checkpoint. So a checkpoint that is written as changes of the one before also has the ids of the
//! rows that it changes, until that other derived data is newer.
//!
//! - `X` position of the checkpoint (8 bytes) id: a row that changed before it, and after the one
//!   before
//! - `Y`: the position after which all changes are listed, the position of the checkpoint, and the
//!   number of entries `X`
//!
//! A program that does not know these entries leaves them as they are. The position in `Y` is then
//! not that of the checkpoint, and the list is not used.

use std::collections::BTreeSet;

use yfs_engine::{
    id::FileId,
    lib0::{Lib0Error, Lib0Reader, write_var_uint},
};
use yfs_store::checkpoint::{CheckpointError, CheckpointMap};
use yfs_store::{DerivedLabel, Seq};

const KEY: &[u8] = b"Y";
const DAMAGED: CheckpointError = CheckpointError::Damaged("the list of changed rows");

/// With more entries, those that nothing needs are removed.
const MAX_ENTRIES: u64 = 4096;

/// With more entries that are still needed, the list begins anew.
const MAX_NEEDED: u64 = 1 << 17;

/// Gives a key a value, or none.
type SetEntry<'a, E> = dyn FnMut(&[u8], Option<&[u8]>) -> Result<(), E> + 'a;

/// What the list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct JournalExtent {
    /// Changes after this position are listed.
    after: Seq,
    /// Up to this one.
    upto: Seq,
    n_entries: u64,
}

impl JournalExtent {
    fn read(map: &CheckpointMap) -> Result<Option<Self>, CheckpointError> {
        let Some(value) = map.get(KEY)? else { return Ok(None) };
        let parse = || {
            let mut reader = Lib0Reader::new(&value);
            let (after, upto) = (Seq(reader.var_uint()?), Seq(reader.var_uint()?));
            Ok::<_, Lib0Error>(Self { after, upto, n_entries: reader.var_uint()? })
        };
        let extent = parse().map_err(|_| DAMAGED)?;
        let label = DerivedLabel::parse(map.label());
        Ok(label.is_some_and(|label| label.position == extent.upto).then_some(extent))
    }
}

/// Returns the rows that changed after a position and up to that of a checkpoint; `None` if it is
/// not known.
pub(super) fn changed_after(
    map: &CheckpointMap,
    after: Seq,
) -> Result<Option<BTreeSet<FileId>>, CheckpointError> {
    let extent = JournalExtent::read(map)?.filter(|extent| extent.after <= after);
    if extent.is_none() {
        return Ok(None);
    }
    let mut ids = BTreeSet::new();
    for_each_key(map, Seq(after.0.saturating_add(1)), |key| {
        let id = key.get(9..).and_then(|id| std::str::from_utf8(id).ok());
        ids.insert(id.and_then(|id| FileId::parse(id).ok()).ok_or(DAMAGED)?);
        Ok::<_, CheckpointError>(())
    })?;
    Ok(Some(ids))
}

/// Writes the list of a checkpoint at a position, whose rows `changed` differ from `base`. `needed`
/// is the position of what needs the list; without it, the list begins at the checkpoint.
pub(super) fn write_changes<'a, E: From<CheckpointError>>(
    set: &mut SetEntry<'_, E>,
    base: &CheckpointMap,
    changed: impl Iterator<Item = &'a FileId>,
    position: Seq,
    needed: Option<Seq>,
) -> Result<(), E> {
    let from_base = || {
        let position = DerivedLabel::parse(base.label()).ok_or(DAMAGED)?.position;
        Ok::<_, CheckpointError>(JournalExtent { after: position, upto: position, n_entries: 0 })
    };
    let before = JournalExtent::read(base)?.map_or_else(from_base, Ok)?;
    let is_kept = needed.is_some() && before.n_entries <= MAX_NEEDED;
    let begun = JournalExtent { after: position, upto: position, n_entries: 0 };
    let mut extent = if is_kept { JournalExtent { upto: position, ..before } } else { begun };
    if before.n_entries > if is_kept { MAX_ENTRIES } else { 0 } {
        let keep_after = needed.filter(|_| is_kept).unwrap_or(Seq(u64::MAX));
        extent.n_entries = extent.n_entries.saturating_sub(remove_upto(set, base, keep_after)?);
        if is_kept {
            extent.after = keep_after.max(extent.after);
        }
    }
    if is_kept {
        for id in changed {
            set(&entry_key(position, id), Some(b""))?;
            extent.n_entries += 1;
        }
    }
    let mut value = Vec::new();
    for number in [extent.after.0, extent.upto.0, extent.n_entries] {
        write_var_uint(&mut value, number);
    }
    set(KEY, Some(&value))
}

/// Removes the entries up to a position, and returns how many there were.
fn remove_upto<E: From<CheckpointError>>(
    set: &mut SetEntry<'_, E>,
    base: &CheckpointMap,
    upto: Seq,
) -> Result<u64, E> {
    let mut n_removed = 0;
    for_each_key(base, Seq(0), |key| {
        let at = key.get(1..9).and_then(|bytes| bytes.try_into().ok());
        if Seq(at.map_or(0, u64::from_be_bytes)) > upto {
            return Ok(());
        }
        n_removed += 1;
        set(key, None)
    })?;
    Ok(n_removed)
}

fn entry_key(position: Seq, id: &FileId) -> Vec<u8> {
    [b"X", &position.0.to_be_bytes()[..], id.as_str().as_bytes()].concat()
}

/// Calls `each` with the key of every entry from a position on.
fn for_each_key<E: From<CheckpointError>>(
    map: &CheckpointMap,
    from: Seq,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let from = [b"X", &from.0.to_be_bytes()[..]].concat();
    map.for_each_entry(&from, b"Y", |key, _| each(key))
}
