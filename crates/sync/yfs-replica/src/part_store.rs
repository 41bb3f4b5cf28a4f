//! Where the parts of a blob are kept until all have arrived.

use std::io::{self, Read};

use yfs::{PartialFile, SealedDirectory, SpoolFile};

use crate::blob_tree::{BlobTree, PART_LEN};

/// The parts of a blob that have arrived.
#[derive(Debug)]
pub(crate) enum PartStore {
    /// In a file without a name, which ends with the process.
    Unnamed(SpoolFile),
    /// In a file beside the store, for the next process.
    Kept(PartialFile),
}

impl PartStore {
    /// Opens the parts of a blob, and returns which of them have arrived. Reads and verifies those
    /// that an earlier process received. Without a directory, and if another process fetches the
    /// same blob, the parts end with this process.
    pub(crate) fn open(
        directory: Option<&SealedDirectory>,
        tree: &BlobTree,
    ) -> io::Result<(Self, Vec<bool>)> {
        let n_parts = tree.n_parts();
        let kept = match directory {
            Some(directory) => {
                let hash = tree.hash();
                // A directory that cannot be written is no reason to fail.
                PartialFile::open(directory, hash.as_bytes(), n_parts as u64, PART_LEN).ok()
            }
            None => None,
        };
        let Some(mut kept) = kept.flatten() else {
            return Ok((Self::Unnamed(SpoolFile::new()?), vec![false; n_parts]));
        };
        let mut arrived = kept.written_parts()?;
        for (index, arrived) in arrived.iter_mut().enumerate().filter(|(_, arrived)| **arrived) {
            *arrived = tree.has_part(index, &kept.read_part(index as u64)?);
        }
        Ok((Self::Kept(kept), arrived))
    }

    /// Keeps a part that was verified.
    pub(crate) fn write_part(&mut self, index: u64, part: &[u8]) -> io::Result<()> {
        match self {
            Self::Unnamed(file) => file.write_at(index * PART_LEN, part),
            Self::Kept(file) => file.write_part(index, part),
        }
    }

    /// Goes back to the start of the blob, to read it whole.
    pub(crate) fn rewind(&mut self) -> io::Result<()> {
        match self {
            Self::Unnamed(file) => file.rewind(),
            Self::Kept(file) => file.rewind(),
        }
    }

    /// Removes the parts. A file that stays is removed later, as one that is not used.
    pub(crate) fn discard(self) {
        if let Self::Kept(file) = self {
            file.remove().ok();
        }
    }
}

impl Read for PartStore {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unnamed(file) => file.read(buffer),
            Self::Kept(file) => file.read(buffer),
        }
    }
}
