//! One pass over all records and snapshots, in the order of the file.
//!
//! To check documents one by one is several queries each. Almost always all are sound, and one pass
//! at the speed of the disk shows that.

use std::collections::HashMap;

use rusqlite::{Connection, Rows, types::ValueRef};
use yfs_types::{hash::ContentHash, time::Millis};

use super::{
    index::KIND_UPDATE,
    log_head::checksum,
    seal::{ValuePlace, ValueSeal},
};
use crate::{DocName, HandleOrigin};

/// The number of records between two calls that report progress.
const PROGRESS_INTERVAL: u64 = 10_000;

/// The records and snapshots of a store.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScannedLog {
    pub(super) n_records: u64,
    pub(super) n_snapshots: u64,
}

/// Decides whether the stored values of a log open, if the store is encrypted.
struct ValueCheck<'a> {
    seal: &'a ValueSeal,
    /// The names of the documents of an encrypted store, by number: values are bound to them.
    names: HashMap<u32, DocName>,
}

#[cfg(test)]
std::thread_local! {
    /// The number of records that checks have read.
    pub(super) static N_RECORDS_READ: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Notes for tests that records were read.
pub(super) fn note_records_read(_n: u64) {
    #[cfg(test)]
    N_RECORDS_READ.set(N_RECORDS_READ.get() + _n);
}

/// Reads all records and snapshots in the view of a transaction. Returns `None` if any of them is
/// damaged, or of none of the documents whose `numbers` are given in order. `progress` gets the
/// number of records that were read.
pub(super) fn scan_log(
    tx: &Connection,
    seal: &ValueSeal,
    numbers: &[i64],
    progress: &mut dyn FnMut(u64),
) -> rusqlite::Result<Option<ScannedLog>> {
    let check = ValueCheck::new(tx, seal)?;
    let Some(n_records) = scan_records(tx, &check, numbers, progress)? else { return Ok(None) };
    let Some(n_snapshots) = scan_snapshots(tx, &check)? else { return Ok(None) };
    Ok(Some(ScannedLog { n_records, n_snapshots }))
}

impl<'a> ValueCheck<'a> {
    fn new(tx: &Connection, seal: &'a ValueSeal) -> rusqlite::Result<Self> {
        let mut names = HashMap::new();
        if seal.data_key().is_some() {
            let mut statement = tx.prepare("SELECT n, guid FROM doc")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                // Values of a document whose name is damaged do not open.
                if let Some(name) =
                    row.get_ref(1)?.as_str().ok().and_then(|guid| DocName::parse(guid).ok())
                {
                    names.insert(row.get(0)?, name);
                }
            }
        }
        Ok(Self { seal, names })
    }

    /// Reports whether a stored value opens in its place, which depends on the document's name.
    fn opens<'n>(
        &'n self,
        number: u32,
        stored: &[u8],
        place: impl FnOnce(&'n DocName) -> ValuePlace<'n>,
    ) -> bool {
        self.seal.data_key().is_none()
            || self.names.get(&number).is_some_and(|doc| self.seal.opens(place(doc), stored))
    }
}

/// Returns the number of updates if all records are sound.
fn scan_records(
    tx: &Connection,
    check: &ValueCheck<'_>,
    numbers: &[i64],
    progress: &mut dyn FnMut(u64),
) -> rusqlite::Result<Option<u64>> {
    let mut log =
        tx.prepare("SELECT seq, doc, origin, at, crc, len, data, kind FROM log ORDER BY seq")?;
    let mut bodies = tx.prepare("SELECT seq, data FROM body ORDER BY seq")?;
    let (mut rows, mut bodies) = (log.query([])?, bodies.query([])?);
    let mut n_records = 0;
    while let Some(row) = rows.next()? {
        note_records_read(1);
        let (kind, doc): (i64, i64) = (row.get(7)?, row.get(1)?);
        if !(0..=2).contains(&kind) || numbers.binary_search(&doc).is_err() {
            return Ok(None);
        }
        if kind != KIND_UPDATE {
            continue;
        }
        let (seq, number, len): (i64, u32, u32) = (row.get(0)?, row.get(1)?, row.get(5)?);
        let origin = HandleOrigin(row.get::<_, i64>(2)?.cast_unsigned());
        let (at, crc): (i64, u32) = (row.get(3)?, row.get(4)?);
        let is_sound = |data: &[u8]| {
            data.len() == check.seal.stored_len(len as usize)
                && checksum(number, KIND_UPDATE, origin, Millis(at), data) == crc
                && check.opens(number, data, |doc| ValuePlace::Update {
                    doc,
                    seq: seq.cast_unsigned(),
                    origin,
                    at: Millis(at),
                })
        };
        let sound = match row.get_ref(6)? {
            ValueRef::Null => with_body(&mut bodies, seq, is_sound)?,
            inline => inline.as_blob().is_ok_and(is_sound),
        };
        if !sound {
            return Ok(None);
        }
        n_records += 1;
        if n_records % PROGRESS_INTERVAL == 0 {
            progress(n_records);
        }
    }
    Ok(Some(n_records))
}

/// Steps to the body of a record, and reports whether it is there and sound.
fn with_body(
    bodies: &mut Rows<'_>,
    seq: i64,
    is_sound: impl Fn(&[u8]) -> bool,
) -> rusqlite::Result<bool> {
    while let Some(body) = bodies.next()? {
        let found: i64 = body.get(0)?;
        if found >= seq {
            return Ok(found == seq && body.get_ref(1)?.as_blob().is_ok_and(is_sound));
        }
    }
    Ok(false)
}

/// Returns the number of snapshots if all are sound.
fn scan_snapshots(tx: &Connection, check: &ValueCheck<'_>) -> rusqlite::Result<Option<u64>> {
    let mut snapshots = tx.prepare(
        "SELECT hash, data, doc, upto FROM snapshot LEFT JOIN snapshot_body USING (doc)",
    )?;
    let mut rows = snapshots.query([])?;
    let mut n_snapshots = 0;
    while let Some(row) = rows.next()? {
        let (hash, data) = (row.get_ref(0)?.as_blob(), row.get_ref(1)?.as_blob());
        let (Ok(hash), Ok(data)) = (hash, data) else { return Ok(None) };
        let (number, upto) = (row.get(2)?, row.get::<_, i64>(3)?.cast_unsigned());
        let is_sound = hash == ContentHash::of(data).as_bytes()
            && check.opens(number, data, |doc| ValuePlace::Snapshot { doc, upto });
        if !is_sound {
            return Ok(None);
        }
        n_snapshots += 1;
    }
    Ok(Some(n_snapshots))
}
