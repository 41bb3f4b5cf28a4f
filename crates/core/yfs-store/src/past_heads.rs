//! The heads that a document had before compaction replaced their records, and the change of each
//! of those records.
//!
//! They let a writer that read the document at one of these heads save after a compaction. The
//! changes are opaque: the engine computes the earlier state from them.
//!
//! # Cost
//!
//! A keystroke takes about 30 bytes, and some 4 of them once compressed.

use yfs_types::lib0::{Lib0Error, Lib0Reader, write_var_uint};

use crate::{DocHead, HandleOrigin, PastHead, Seq, StoredDocument};

/// The number of heads that are kept per document; the oldest are dropped first.
const MAX_HEADS: usize = 1 << 14;

/// The bytes of changes that are kept per document, uncompressed; the oldest are dropped first.
const MAX_BYTES: usize = 1 << 20;

/// The largest encoded size of a head without its change.
const HEAD_LEN: usize = 24;

const COMPRESSION_LEVEL: i32 = 3;

/// Adds the heads that a compaction replaces to those of earlier ones.
///
/// A record that an earlier compaction left in the log is among them already. If it changes the
/// document only now, the earlier heads no longer identify one state, and are dropped.
pub(crate) fn extend_heads(
    earlier: Vec<PastHead>,
    before: &StoredDocument,
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

/// Encodes heads for storage.
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

/// Decodes heads, or returns `None` if the bytes are not heads.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<PastHead>> {
    let bytes = zstd::bulk::decompress(bytes, MAX_BYTES).ok()?;
    let mut reader = Lib0Reader::new(&bytes);
    let mut heads = Vec::new();
    let mut last = 0;
    while !reader.is_empty() {
        let past = read_head(&mut reader, last).ok()?;
        last = past.head.seq.0;
        heads.push(past);
    }
    Some(heads)
}

fn read_head(reader: &mut Lib0Reader<'_>, last: u64) -> Result<PastHead, Lib0Error> {
    let distance = reader.var_uint()?;
    let seq = Seq(last.checked_add(distance).ok_or(Lib0Error::Number)?);
    let origin = reader.take(8)?.try_into().map_err(|_| Lib0Error::End)?;
    let origin = HandleOrigin(u64::from_le_bytes(origin));
    let len = usize::try_from(reader.var_uint()?).map_err(|_| Lib0Error::End)?;
    let change = reader.take(len)?.to_vec();
    Ok(PastHead { head: DocHead { seq, origin }, change })
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use yfs_types::time::Millis;

    use super::*;
    use crate::{DocName, LogRecord};

    fn records(seqs: Range<u64>) -> StoredDocument {
        let doc = DocName::parse("4f7c2a9e1b3d5f0").expect("a name");
        let record = |seq| LogRecord {
            seq: Seq(seq),
            doc: doc.clone(),
            origin: HandleOrigin(0xab_cdef_0123_4567),
            at: Millis(1),
            data: Vec::new(),
        };
        let snapshot_upto = Seq(seqs.start - 1);
        StoredDocument {
            updates: seqs.map(record).collect(),
            snapshot_upto,
            ..StoredDocument::default()
        }
    }

    #[test]
    fn heads_are_read_as_they_were_written_and_bounded() {
        let n = MAX_HEADS as u64;
        // The change of a keystroke: one item of one client, without deletions.
        let change = |n: u64| {
            let mut bytes = vec![1];
            write_var_uint(&mut bytes, (1 << 51) + 12345);
            write_var_uint(&mut bytes, 4 * n);
            bytes.extend([4, 0]);
            bytes
        };
        let changes: Vec<_> = (1..n).map(change).collect();
        let heads = extend_heads(Vec::new(), &records(1..n), &changes);
        let heads = extend_heads(heads, &records(n..n + 3), &[n, n + 1, n + 2].map(change));
        assert_eq!((heads.len(), heads[0].head.seq), (MAX_HEADS, Seq(3)));
        let bytes = encode(&heads).expect("encoded");
        assert!(bytes.len() < 8 * MAX_HEADS, "{} bytes for {MAX_HEADS} heads", bytes.len());
        println!("{} bytes for {MAX_HEADS} heads", bytes.len());
        assert_eq!(decode(&bytes), Some(heads.clone()));

        let large = vec![vec![7; MAX_BYTES / 2]; 3];
        let heads = extend_heads(heads, &records(n + 3..n + 6), &large);
        assert_eq!(heads.len(), 1, "the latest that fit");
        assert_eq!(decode(&encode(&heads).expect("encoded")), Some(heads));
    }

    #[test]
    fn heads_without_changes_are_forgotten() {
        let heads = extend_heads(Vec::new(), &records(1..3), &[vec![1], vec![2]]);
        assert_eq!(heads.len(), 2);
        assert_eq!(extend_heads(heads, &records(3..5), &[]), []);
    }

    #[test]
    fn no_bytes_are_heads_that_panic() {
        for len in 1..64_u8 {
            let bytes: Vec<u8> = (0..len).map(|at| at.wrapping_mul(151) ^ len).collect();
            assert_eq!(decode(&bytes), None);
            drop(decode(&zstd::bulk::compress(&bytes, 3).expect("compressed")));
        }
    }
}
