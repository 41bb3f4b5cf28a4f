//! An immutable file of sorted entries: blocks of about 4 KiB, index blocks of the same form above
//! them, and a footer.
//!
//! # Invariants
//!
//! The checksum of a block is in the index entry that leads to it, that of the root in the footer,
//! and that of the footer in the manifest. It covers the file's id and the block's offset. So a
//! block that passes is the block that was written there, and it answers for all keys between its
//! separator and the next: a key that it lacks is absent.

use std::{fs::File, io, iter, sync::Arc};

use crate::encryption::{Cipher, SealedDirectory};
use quick_cache::{Weighter, sync::Cache};

use crate::checkpoint::{
    CheckpointError, Result,
    bytes::{ByteReader, write_varint},
    checks::checksum,
    chunk::{ChunkReader, split_restarts},
    manifest::level_path,
    positioned::read_exact_at,
};

/// The length from which a block is complete, in bytes. A block with a longer value is longer.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// The greatest length of a block, in bytes.
const MAX_BLOCK_BYTES: u64 = 256 << 20;

pub(crate) const FOOTER_BYTES: usize = 52;
pub(crate) const MAGIC: &[u8; 8] = b"yfsblk01";

/// The greatest number of index blocks above a data block.
const MAX_HEIGHT: u64 = 32;

/// The place of a block, and its checksum.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BlockAddress {
    pub(crate) offset: u64,
    pub(crate) n_bytes: u64,
    pub(crate) checksum: u32,
}

/// The record of a file in the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockFileSummary {
    /// The id, which names the file.
    pub(crate) id: [u8; 16],
    /// The length in bytes.
    pub(crate) n_bytes: u64,
    pub(crate) footer_checksum: u32,
}

/// The blocks that a reader keeps.
pub(crate) type BlockCache = Cache<BlockKey, Arc<[u8]>, BlockWeighter>;

/// The key of a cached block: the number of the open file, and the offset.
pub(crate) type BlockKey = (u32, u64);

/// Weighs a block by its bytes.
#[derive(Debug, Clone)]
pub(crate) struct BlockWeighter;

/// The way from a block of entries to the next one.
#[derive(Debug)]
pub(crate) enum NextBlock {
    /// The block is the last.
    End,
    /// The next block is in another index block, and begins at this key.
    Begins(Vec<u8>),
    /// The next block is in the same index block.
    Sibling(SiblingBlock),
}

/// A child of an index block, and what is needed to find the next one.
#[derive(Debug)]
pub(crate) struct SiblingBlock {
    index: Arc<[u8]>,
    /// The number of bytes of entries that follow the child's.
    n_left: usize,
    /// The separator before the child.
    key: Vec<u8>,
    address: BlockAddress,
    /// The key at which the next index block begins.
    upper: Option<Vec<u8>>,
}

/// A block, and the way to the next.
pub(crate) type CoveringBlock = (Arc<[u8]>, NextBlock);

/// Blocks that a scan reads together with the one before them.
///
/// Only blocks are read that follow each other in the file and begin before the end of the scan.
/// The number of bytes grows, because a scan may break off.
#[derive(Debug)]
pub(crate) struct ReadAhead<'a> {
    /// The end of the scan; none reads each block alone.
    to: Option<&'a [u8]>,
    n_bytes_next: u64,
    offset: u64,
    bytes: Vec<u8>,
}

/// How many bytes are read together, at first and at most.
const AHEAD_BYTES: [u64; 2] = [16 << 10, 128 << 10];

impl<'a> ReadAhead<'a> {
    pub(crate) fn new(to: Option<&'a [u8]>) -> Self {
        Self { to, n_bytes_next: AHEAD_BYTES[0], offset: 0, bytes: Vec::new() }
    }

    /// Returns the bytes of a block, if they are here.
    fn part(&self, address: &BlockAddress) -> Option<&[u8]> {
        let start = usize::try_from(address.offset.checked_sub(self.offset)?).ok()?;
        let end = start.checked_add(usize::try_from(address.n_bytes).ok()?)?;
        self.bytes.get(start..end)
    }

    /// Reads a block and those after it. What cannot be read is left to the block's own reading.
    fn fill(&mut self, file: &File, address: &BlockAddress, next: &NextBlock) {
        let (Some(to), NextBlock::Sibling(next)) = (self.to, next) else { return };
        let n_bytes = next.n_bytes_of_run(address, to, self.n_bytes_next);
        self.n_bytes_next = (self.n_bytes_next * 2).min(AHEAD_BYTES[1]);
        if n_bytes == address.n_bytes {
            return;
        }
        self.bytes.resize(n_bytes as usize, 0);
        self.offset = address.offset;
        if read_exact_at(file, &mut self.bytes, address.offset).is_err() {
            self.bytes.clear();
        }
    }
}

/// An open file. It stays readable after others removed it.
#[derive(Debug)]
pub(crate) struct BlockFile {
    file: File,
    id: [u8; 16],
    number: u32,
    /// Opens the blocks of an encrypted store.
    cipher: Option<Arc<Cipher>>,
    root: BlockAddress,
    height: u64,
}

impl BlockAddress {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        write_varint(&mut out, self.offset);
        write_varint(&mut out, self.n_bytes);
        write_varint(&mut out, u64::from(self.checksum));
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = ByteReader::new(bytes);
        let (offset, n_bytes) = (reader.read_varint()?, reader.read_varint()?);
        let checksum = reader.read_varint()?;
        let checksum = u32::try_from(checksum).map_err(|_| CheckpointError::Damaged("an index"))?;
        Ok(Self { offset, n_bytes, checksum })
    }
}

impl BlockFile {
    /// Opens a file and checks it against the manifest. `number` tells it from the other files in
    /// one cache.
    pub(crate) fn open(
        directory: &SealedDirectory,
        summary: &BlockFileSummary,
        number: u32,
    ) -> Result<Self> {
        let file = File::open(level_path(directory.path(), &summary.id))?;
        let n_bytes = file.metadata()?.len();
        if n_bytes != summary.n_bytes || n_bytes < FOOTER_BYTES as u64 {
            return Err(CheckpointError::Damaged("the length of a file"));
        }
        let mut footer = [0; FOOTER_BYTES];
        read_exact_at(&file, &mut footer, n_bytes - FOOTER_BYTES as u64)?;
        if checksum(&[&footer]) != summary.footer_checksum {
            return Err(CheckpointError::Damaged("a footer"));
        }
        let mut reader = ByteReader::new(&footer);
        let (magic, id) = (reader.read_array::<8>()?, reader.read_array()?);
        if magic != *MAGIC {
            return Err(CheckpointError::Foreign);
        }
        let offset = u64::from_le_bytes(reader.read_array()?);
        let n_bytes = u64::from_le_bytes(reader.read_array()?);
        let checksum = u32::from_le_bytes(reader.read_array()?);
        let height = u64::from_le_bytes(reader.read_array()?);
        if id != summary.id || height > MAX_HEIGHT {
            return Err(CheckpointError::Damaged("a footer"));
        }
        let root = BlockAddress { offset, n_bytes, checksum };
        Ok(Self { file, id, number, cipher: directory.cipher().cloned(), root, height })
    }

    /// Returns the block that answers for a key, and the way to the next.
    pub(crate) fn covering_block(
        &self,
        key: &[u8],
        cache: &BlockCache,
        keep: bool,
    ) -> Result<CoveringBlock> {
        let (address, next) = self.covering_address(key, cache)?;
        Ok((self.read_block(&address, cache, keep)?, next))
    }

    /// Returns the address of the block that answers for a key, and the way to the next.
    pub(crate) fn covering_address(
        &self,
        key: &[u8],
        cache: &BlockCache,
    ) -> Result<(BlockAddress, NextBlock)> {
        let (mut address, mut next) = (self.root, NextBlock::End);
        for _ in 0..self.height {
            let index = self.read_block(&address, cache, true)?;
            let found = find_child(&index, key)?;
            address = found.address;
            next = match found.next {
                Some((key, address, n_left)) => {
                    let upper = next.into_key();
                    NextBlock::Sibling(SiblingBlock { index, n_left, key, address, upper })
                }
                None => next.into_key().map_or(NextBlock::End, NextBlock::Begins),
            };
        }
        Ok((address, next))
    }

    /// Returns the address of the block after another, and the way on; `None` at the end.
    pub(crate) fn next_address(
        &self,
        next: NextBlock,
        cache: &BlockCache,
    ) -> Result<Option<(BlockAddress, NextBlock)>> {
        match next {
            NextBlock::End => Ok(None),
            NextBlock::Begins(key) => self.covering_address(&key, cache).map(Some),
            NextBlock::Sibling(sibling) => {
                let address = sibling.address;
                Ok(Some((address, sibling.following()?)))
            }
        }
    }

    /// Reads and checks a block. Without `keep` it is not cached.
    pub(crate) fn read_block(
        &self,
        address: &BlockAddress,
        cache: &BlockCache,
        keep: bool,
    ) -> Result<Arc<[u8]>> {
        self.read_block_with(address, cache, keep, || self.read_bytes(address))
    }

    /// Reads and checks a block, and reads those that follow it with it, as far as `ahead` allows.
    pub(crate) fn read_block_ahead(
        &self,
        address: &BlockAddress,
        next: &NextBlock,
        cache: &BlockCache,
        keep: bool,
        ahead: &mut ReadAhead<'_>,
    ) -> Result<Arc<[u8]>> {
        self.read_block_with(address, cache, keep, || {
            if ahead.part(address).is_none() {
                ahead.fill(&self.file, address, next);
            }
            ahead.part(address).map_or_else(|| self.read_bytes(address), |part| Ok(part.into()))
        })
    }

    /// Reads the bytes of a block.
    fn read_bytes(&self, address: &BlockAddress) -> io::Result<Arc<[u8]>> {
        let mut block: Arc<[u8]> = iter::repeat_n(0, address.n_bytes as usize).collect();
        let bytes = Arc::get_mut(&mut block).expect("it was just made");
        read_exact_at(&self.file, bytes, address.offset)?;
        Ok(block)
    }

    fn read_block_with(
        &self,
        address: &BlockAddress,
        cache: &BlockCache,
        keep: bool,
        read: impl FnOnce() -> io::Result<Arc<[u8]>>,
    ) -> Result<Arc<[u8]>> {
        let key = (self.number, address.offset);
        if let Some(block) = cache.get(&key) {
            return Ok(block);
        }
        if address.n_bytes > MAX_BLOCK_BYTES {
            return Err(CheckpointError::Damaged("the length of a block"));
        }
        let mut block = read()?;
        if block_checksum(&self.id, address.offset, &block) != address.checksum {
            return Err(CheckpointError::Damaged("a block"));
        }
        if let Some(cipher) = &self.cipher {
            let opened = cipher.open(&block_place(&self.id, &address.offset.to_le_bytes()), &block);
            block = opened.ok_or(CheckpointError::Damaged("a sealed block"))?.into();
        }
        if keep {
            cache.insert(key, block.clone());
        }
        Ok(block)
    }
}

impl NextBlock {
    /// Returns the key at which the next block begins.
    fn into_key(self) -> Option<Vec<u8>> {
        match self {
            Self::End => None,
            Self::Begins(key) => Some(key),
            Self::Sibling(sibling) => Some(sibling.key),
        }
    }
}

impl SiblingBlock {
    /// Returns the length of a block and of those that follow it in the file, from this one on,
    /// that begin before `to`: of so many as have at most `max` bytes, and one at least.
    fn n_bytes_of_run(&self, first: &BlockAddress, to: &[u8], max: u64) -> u64 {
        let mut n_bytes = first.n_bytes;
        let (mut address, mut key) = (self.address, self.key.clone());
        let Ok((entries, _)) = split_restarts(&self.index) else { return n_bytes };
        let mut rest = &entries[entries.len() - self.n_left..];
        while key.as_slice() < to
            && first.offset.checked_add(n_bytes) == Some(address.offset)
            && let Some(sum) = n_bytes.checked_add(address.n_bytes).filter(|sum| *sum <= max)
        {
            n_bytes = sum;
            let mut reader = ChunkReader::resume(rest, &mut key);
            let Ok(Some(Some(value))) = reader.next_entry() else { break };
            let Ok(following) = BlockAddress::decode(value) else { break };
            rest = &rest[rest.len() - reader.n_left()..];
            (address, key) = (following, reader.key);
        }
        n_bytes
    }

    /// Returns the way from this block to the next.
    fn following(mut self) -> Result<NextBlock> {
        let (entries, _) = split_restarts(&self.index)?;
        let rest = &entries[entries.len() - self.n_left..];
        let mut reader = ChunkReader::resume(rest, &mut self.key);
        let Some(value) = reader.next_entry()? else {
            return Ok(self.upper.map_or(NextBlock::End, NextBlock::Begins));
        };
        let address = value.ok_or(CheckpointError::Damaged("an index"))?;
        (self.address, self.n_left) = (BlockAddress::decode(address)?, reader.n_left());
        self.key = reader.key;
        Ok(NextBlock::Sibling(self))
    }
}

impl Weighter<BlockKey, Arc<[u8]>> for BlockWeighter {
    fn weight(&self, _: &BlockKey, block: &Arc<[u8]>) -> u64 {
        block.len() as u64 + 64
    }
}

/// Returns the checksum of a block at an offset of a file.
pub(crate) fn block_checksum(id: &[u8; 16], offset: u64, bytes: &[u8]) -> u32 {
    checksum(&[id, &offset.to_le_bytes(), bytes])
}

/// Returns the place to which the sealed block at an offset of a file is bound.
pub(crate) fn block_place<'a>(id: &'a [u8; 16], offset: &'a [u8; 8]) -> [&'a [u8]; 3] {
    [b"block", id, offset]
}

/// The child of an index block that answers for a key.
pub(crate) struct FoundChild {
    pub(crate) address: BlockAddress,
    /// The separator and the address of the child after it, and the number of bytes of entries
    /// after that one.
    next: Option<(Vec<u8>, BlockAddress, usize)>,
}

/// Returns the last child whose separator is not after `key`.
pub(crate) fn find_child(index: &[u8], key: &[u8]) -> Result<FoundChild> {
    let mut reader = ChunkReader::near(index, key)?;
    let mut child: Option<&[u8]> = None;
    while let Some(value) = reader.next_entry()? {
        let value = value.ok_or(CheckpointError::Damaged("an index"))?;
        if let Some(child) = child
            && reader.key.as_slice() > key
        {
            let n_left = reader.n_left();
            let next = (reader.key, BlockAddress::decode(value)?, n_left);
            return Ok(FoundChild { address: BlockAddress::decode(child)?, next: Some(next) });
        }
        child = Some(value);
    }
    let child = child.ok_or(CheckpointError::Damaged("an empty index"))?;
    Ok(FoundChild { address: BlockAddress::decode(child)?, next: None })
}
