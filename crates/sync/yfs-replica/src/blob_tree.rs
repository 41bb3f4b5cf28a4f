//! The hashes of a blob's parts, from which BLAKE3 computes the blob's hash. With them, each part
//! can be verified alone, from whichever peer it comes.
//!
//! A part has 256 KiB, which is a whole subtree of BLAKE3, except the last. A blob of one part has
//! one hash, its own.

use std::ops::Range;

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root,
};
use yfs_engine::hash::ContentHash;

/// The length of a part, in bytes.
pub(crate) const PART_LEN: u64 = 256 << 10;

/// The length of a hash, in bytes.
const HASH_LEN: usize = 32;

/// The most parts of a blob that is fetched in parts: 16 GiB.
pub(crate) const MAX_TREE_PARTS: u64 = 1 << 16;

/// The verified hashes of the parts of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlobTree {
    hash: ContentHash,
    parts: Vec<ChainingValue>,
}

impl BlobTree {
    /// Reads the hashes that a peer sent; `None` if they are not those of the blob.
    pub(crate) fn verify(hash: ContentHash, bytes: &[u8]) -> Option<Self> {
        let (parts, rest) = bytes.as_chunks::<HASH_LEN>();
        let is_bounded = !parts.is_empty() && parts.len() as u64 <= MAX_TREE_PARTS;
        if !rest.is_empty() || !is_bounded || root(parts) != *hash.as_bytes() {
            return None;
        }
        Some(Self { hash, parts: parts.to_vec() })
    }

    /// Returns the hash of the blob.
    pub(crate) fn hash(&self) -> ContentHash {
        self.hash
    }

    /// Returns the number of parts.
    pub(crate) fn n_parts(&self) -> usize {
        self.parts.len()
    }

    /// Reports whether these are the bytes of a part.
    pub(crate) fn has_part(&self, index: usize, data: &[u8]) -> bool {
        let Some(expected) = self.parts.get(index) else { return false };
        if self.parts.len() == 1 {
            return ContentHash::of(data) == self.hash;
        }
        hash_part(index as u64, data).as_ref() == Some(expected)
    }
}

/// Computes the hashes of the parts of a blob of `size` bytes, which `read` returns by its range.
/// Returns `None` if bytes are missing.
pub(crate) fn hash_parts<E>(
    hash: &ContentHash,
    size: u64,
    mut read: impl FnMut(Range<u64>) -> Result<Vec<u8>, E>,
) -> Result<Option<Vec<u8>>, E> {
    let n_parts = size.div_ceil(PART_LEN).max(1);
    if n_parts == 1 {
        return Ok(Some(hash.as_bytes().to_vec()));
    }
    let mut bytes = Vec::new();
    for index in 0..n_parts {
        let at = index * PART_LEN;
        let data = read(at..size.min(at + PART_LEN))?;
        let Some(part) = hash_part(index, &data) else { return Ok(None) };
        bytes.extend_from_slice(&part);
    }
    Ok(Some(bytes))
}

/// Returns the hash of a part of a blob of several parts; `None` if it has not the length of one.
fn hash_part(index: u64, data: &[u8]) -> Option<ChainingValue> {
    if data.is_empty() || data.len() as u64 > PART_LEN {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(index * PART_LEN).update(data);
    Some(hasher.finalize_non_root())
}

/// Returns the hash of a whole blob.
fn root(parts: &[ChainingValue]) -> [u8; HASH_LEN] {
    match parts {
        [only] => *only,
        parts => {
            let (left, right) = parts.split_at(left_len(parts.len()));
            *merge_subtrees_root(&inner(left), &inner(right), Mode::Hash).as_bytes()
        }
    }
}

fn inner(parts: &[ChainingValue]) -> ChainingValue {
    match parts {
        [only] => *only,
        parts => {
            let (left, right) = parts.split_at(left_len(parts.len()));
            merge_subtrees_non_root(&inner(left), &inner(right), Mode::Hash)
        }
    }
}

/// Returns the number of parts in the left half of a tree: the greatest power of two below `n`.
fn left_len(n: usize) -> usize {
    n.next_power_of_two() / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at / 251 + at) as u8).collect()
    }

    fn tree(data: &[u8]) -> (ContentHash, Vec<u8>) {
        let hash = ContentHash::of(data);
        let read = |range: Range<u64>| {
            Ok::<_, ()>(data[range.start as usize..range.end as usize].to_vec())
        };
        (hash, hash_parts(&hash, data.len() as u64, read).unwrap().unwrap())
    }

    #[test]
    fn the_hashes_of_parts_are_those_of_the_blob() {
        let part = PART_LEN as usize;
        for len in [
            0,
            1,
            1000,
            part - 1,
            part,
            part + 1,
            2 * part,
            2 * part + 1,
            3 * part,
            4 * part - 7,
            5 * part,
            7 * part + 1024,
            9 * part,
        ] {
            let data = content(len);
            let (hash, bytes) = tree(&data);
            let tree = BlobTree::verify(hash, &bytes).unwrap_or_else(|| panic!("{len}"));
            assert_eq!(tree.n_parts(), len.div_ceil(part).max(1));
            let mut parts: Vec<&[u8]> = data.chunks(part).collect();
            if parts.is_empty() {
                parts.push(&[]);
            }
            for (index, bytes) in parts.iter().enumerate() {
                assert!(tree.has_part(index, bytes), "{len}: {index}");
                assert!(!tree.has_part(index + 1, bytes), "{len}: {index}");
                assert!(!tree.has_part(index, &[bytes, &b"x"[..]].concat()));
                if !bytes.is_empty() {
                    assert!(!tree.has_part(index, &bytes[1..]), "{len}: {index}");
                }
            }
        }
    }

    #[test]
    fn other_hashes_are_refused() {
        let data = content(5 * PART_LEN as usize);
        let (hash, bytes) = tree(&data);
        for at in (0..bytes.len()).step_by(31) {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(BlobTree::verify(hash, &changed), None);
        }
        let n = bytes.len();
        for wrong in [&bytes[..n - 32], &bytes[..n - 1], &[], &[&bytes[..], &[0; 32]].concat()] {
            assert_eq!(BlobTree::verify(hash, wrong), None);
        }
        let too_many = vec![0; 32 * (MAX_TREE_PARTS as usize + 1)];
        assert_eq!(BlobTree::verify(hash, &too_many), None);
    }
}
