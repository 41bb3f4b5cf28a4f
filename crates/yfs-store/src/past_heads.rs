//! The heads that a document had before compaction replaced their records, and what each of those
//! records changed.
//!
//! They are kept so that a writer who read the document at one of them can come back after a
//! compaction. The changes are opaque: the engine finds the earlier state from them.
//!
//! # Cost
//!
//! A keystroke takes about 30 bytes, and some 4 of them once compressed.

use yfs_engine::lib0::{Lib0Error, Reader, write_var_uint};

use crate::{DocHead, Loaded, Origin, PastHead, Seq};

/// How many heads of one document are kept; the oldest go first.
const MAX_HEADS: usize = 1 << 14;

/// How many bytes of changes are kept of one document, uncompressed; the oldest go first.
const MAX_BYTES: usize = 1 << 20;

/// What a head takes beside its change, at most, encoded.
const HEAD_LEN: usize = 24;

const COMPRESSION_LEVEL: i32 = 3;

/// Adds the heads that a compaction replaces to those of earlier ones.
///
/// A record that an earlier compaction left in the log is among them already. If it changes the
/// document only now, the earlier heads cannot be told apart from later ones, and are dropped.
pub(crate) fn extended(
    earlier: Vec<PastHead>,
    before: &Loaded,
    changes: &[Vec<u8>],
) -> Vec<PastHead> {
    if changes.len() != before.updates.len() || !before.damaged.is_empty() {
        return Vec::new();
    }
    let n_kept = before.updates.partition_point(|record| record.seq <= before.snapshot_upto);
    let (kept, new) = changes.split_at(n_kept);
    let mut heads = if kept.iter().all(Vec::is_empty) { earlier } else { Vec::new() };
    let records = before.updates[n_kept..].iter().zip(new);
    heads.extend(
        records.map(|(record, change)| PastHead { head: record.head(), change: change.clone() }),
    );
    let mut n_bytes = 0;
    let fits = heads.iter().rev().take(MAX_HEADS).take_while(|past| {
        n_bytes += past.change.len() + HEAD_LEN;
        n_bytes <= MAX_BYTES
    });
    let n_fit = fits.count();
    heads.split_off(heads.len() - n_fit)
}

/// Encodes heads, to be stored.
pub(crate) fn encode(heads: &[PastHead]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut last = 0;
    for PastHead { head, change } in heads {
        write_var_uint(&mut bytes, head.seq.0 - last);
        bytes.extend(head.origin.0.to_le_bytes());
        write_var_uint(&mut bytes, change.len() as u64);
        bytes.extend(change);
        last = head.seq.0;
    }
    zstd::bulk::compress(&bytes, COMPRESSION_LEVEL)
}

/// Decodes heads; nothing if the bytes are not heads.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<PastHead>> {
    let bytes = zstd::bulk::decompress(bytes, MAX_BYTES).ok()?;
    let mut reader = Reader::new(&bytes);
    let mut heads = Vec::new();
    let mut last = 0;
    while !reader.is_empty() {
        let past = read_head(&mut reader, last).ok()?;
        last = past.head.seq.0;
        heads.push(past);
    }
    Some(heads)
}

fn read_head(reader: &mut Reader<'_>, last: u64) -> Result<PastHead, Lib0Error> {
    let distance = reader.var_uint()?;
    let seq = Seq(last.checked_add(distance).ok_or(Lib0Error::Number)?);
    let origin = reader.take(8)?.try_into().map_err(|_| Lib0Error::End)?;
    let origin = Origin(u64::from_le_bytes(origin));
    let len = usize::try_from(reader.var_uint()?).map_err(|_| Lib0Error::End)?;
    let change = reader.take(len)?.to_vec();
    Ok(PastHead { head: DocHead { seq, origin }, change })
}
