//! Writes a file of sorted entries, in the memory of a few blocks.

use std::{
    fs::File,
    io::{BufWriter, IntoInnerError, Write},
    sync::Arc,
};

use crate::encryption::{Cipher, SealedDirectory};

use crate::checkpoint::{
    Result,
    block_file::{
        BLOCK_BYTES, BlockAddress, BlockFileSummary, FOOTER_BYTES, MAGIC, block_checksum,
        block_place, find_child,
    },
    checks::{checksum, random_id},
    chunk::ChunkWriter,
    manifest::level_path,
    positioned::private_file,
};

/// Writes a file in ascending order of the keys.
#[derive(Debug)]
pub(crate) struct BlockFileWriter {
    out: BufWriter<File>,
    id: [u8; 16],
    /// Seals the blocks of an encrypted store.
    cipher: Option<Arc<Cipher>>,
    offset: u64,
    /// The unfinished block of each height: 0 has the entries, the others index the one below.
    unfinished: Vec<ChunkWriter>,
    /// The last key of the last finished block of entries.
    last_key: Option<Vec<u8>>,
}

impl BlockFileWriter {
    pub(crate) fn create(directory: &SealedDirectory) -> Result<Self> {
        let id = random_id();
        let path = level_path(directory.path(), &id);
        let file = private_file().create_new(true).open(path)?;
        Ok(Self {
            out: BufWriter::with_capacity(1 << 16, file),
            id,
            cipher: directory.cipher().cloned(),
            offset: 0,
            unfinished: vec![ChunkWriter::default()],
            last_key: None,
        })
    }

    /// Appends an entry; no value is a removal.
    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        self.unfinished[0].push(key, value);
        if self.unfinished[0].len() >= BLOCK_BYTES {
            self.finish_block(0)?;
        }
        Ok(())
    }

    /// Writes all that is unfinished, and syncs the file.
    pub(crate) fn finish(mut self) -> Result<BlockFileSummary> {
        if self.offset == 0 || !self.unfinished[0].is_empty() {
            self.finish_block(0)?;
        }
        let mut height = 0;
        while self.unfinished.len() > height + 2 || !self.unfinished[height + 1].has_one_entry() {
            height += 1;
            if !self.unfinished[height].is_empty() {
                self.finish_block(height)?;
            }
        }
        let (_, root_entry) = self.unfinished[height + 1].finish();
        let root = find_child(&root_entry, &[])?.address;
        let mut footer = Vec::with_capacity(FOOTER_BYTES);
        footer.extend_from_slice(MAGIC);
        footer.extend_from_slice(&self.id);
        footer.extend_from_slice(&root.offset.to_le_bytes());
        footer.extend_from_slice(&root.n_bytes.to_le_bytes());
        footer.extend_from_slice(&root.checksum.to_le_bytes());
        footer.extend_from_slice(&(height as u64).to_le_bytes());
        self.out.write_all(&footer)?;
        let file = self.out.into_inner().map_err(IntoInnerError::into_error)?;
        file.sync_data()?;
        let n_bytes = self.offset + FOOTER_BYTES as u64;
        Ok(BlockFileSummary { id: self.id, n_bytes, footer_checksum: checksum(&[&footer]) })
    }

    fn finish_block(&mut self, height: usize) -> Result<()> {
        let last_key = self.unfinished[height].last_key().to_vec();
        let (first_key, bytes) = self.unfinished[height].finish();
        let bytes = match &self.cipher {
            Some(cipher) => cipher.seal(&block_place(&self.id, &self.offset.to_le_bytes()), &bytes),
            None => bytes,
        };
        let checksum = block_checksum(&self.id, self.offset, &bytes);
        let address = BlockAddress { offset: self.offset, n_bytes: bytes.len() as u64, checksum };
        self.out.write_all(&bytes)?;
        self.offset += bytes.len() as u64;
        if self.unfinished.len() == height + 1 {
            self.unfinished.push(ChunkWriter::default());
        }
        let separator = if height == 0 {
            let separator = match &self.last_key {
                Some(previous) => shortest_separator(previous, &first_key).to_vec(),
                None => Vec::new(),
            };
            self.last_key = Some(last_key);
            separator
        } else {
            first_key
        };
        self.unfinished[height + 1].push(&separator, Some(&address.encode()));
        if self.unfinished[height + 1].len() >= BLOCK_BYTES {
            self.finish_block(height + 1)?;
        }
        Ok(())
    }
}

/// Returns the shortest prefix of `key` that is greater than `previous`.
fn shortest_separator<'a>(previous: &[u8], key: &'a [u8]) -> &'a [u8] {
    let n_shared = key.iter().zip(previous).take_while(|(a, b)| a == b).count();
    &key[..key.len().min(n_shared + 1)]
}
