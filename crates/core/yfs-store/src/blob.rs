//! Blobs: content that is not text, kept by the hash of its bytes.

use std::io::{self, Read};

use yfs_types::{hash::ContentHash, time::Millis};

use crate::{BlobStore, StoreError};

/// The bytes of a blob that a [`BlobReader`] reads at once.
const PIECE_LEN: u64 = 4 << 20;

/// A moment in the order in which blobs were put into a store.
///
/// The store defines the order and its numbers, not a clock: putting a blob again moves it to the
/// end of the order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobMark(pub u64);

/// A blob that the store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobInfo {
    /// The BLAKE3 hash of the whole content.
    pub hash: ContentHash,
    /// The length of the content, in bytes.
    pub size: u64,
    /// When it was last put, by the clock of the caller that put it.
    pub at: Millis,
}

/// A reader of a blob that is in a store. It holds at most 4 MiB of the blob in memory.
///
/// An error of the store is the cause of the reader's error, also if the blob is removed while it
/// is read.
#[derive(Debug)]
pub struct BlobReader<'a, B: ?Sized> {
    store: &'a B,
    hash: ContentHash,
    /// The bytes that were read from the store and not by the caller.
    piece: io::Cursor<Vec<u8>>,
    /// The offset of the next piece.
    offset: u64,
}

impl<'a, B: BlobStore + ?Sized> BlobReader<'a, B> {
    /// Makes a reader of a whole blob.
    pub fn new(store: &'a B, hash: ContentHash) -> Self {
        Self::starting_at(store, hash, 0)
    }

    /// Makes a reader of a blob from an offset in bytes to its end.
    pub fn starting_at(store: &'a B, hash: ContentHash, offset: u64) -> Self {
        Self { store, hash, piece: io::Cursor::default(), offset }
    }
}

impl<B: BlobStore + ?Sized> Read for BlobReader<'_, B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece.position() == self.piece.get_ref().len() as u64 {
            let range = self.offset..self.offset.saturating_add(PIECE_LEN);
            let piece = self.store.read_blob(&self.hash, range).map_err(io::Error::other)?;
            self.offset += piece.len() as u64;
            self.piece = io::Cursor::new(piece);
        }
        self.piece.read(buffer)
    }
}

/// Puts a blob that is in the store again.
pub(crate) fn put_again<B: BlobStore + ?Sized>(
    store: &B,
    hash: &ContentHash,
    at: Millis,
) -> Result<BlobInfo, StoreError> {
    let gone = || StoreError::NoBlob { hash: *hash };
    store.blob_info(hash)?.ok_or_else(gone)?;
    let mut reader = BlobReader::new(store, *hash);
    match store.put_blob(&mut reader, at) {
        Ok(put) if put.hash == *hash => Ok(put),
        // The blob was removed while it was read.
        Ok(_) | Err(StoreError::Stream { .. }) if store.blob_info(hash)?.is_none() => Err(gone()),
        Ok(put) => {
            let detail = format!("its bytes have the hash {}", put.hash);
            Err(StoreError::CorruptBlob { hash: *hash, detail })
        }
        Err(error) => Err(error),
    }
}
