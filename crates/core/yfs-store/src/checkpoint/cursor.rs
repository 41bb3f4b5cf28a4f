//! Walks over the entries of one file, and of several in one order.

use std::{mem, ops::Range, sync::Arc};

use crate::checkpoint::{
    Result,
    block_file::{BlockCache, BlockFile, NextBlock, ReadAhead},
    chunk::{ChunkReader, split_restarts},
};

/// What a cursor reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scan<'a> {
    /// No entry has a key before this one.
    pub(crate) from: &'a [u8],
    /// The key up to which entries will be read, if that is known: blocks are then read together.
    pub(crate) ahead_to: Option<&'a [u8]>,
    /// Whether blocks of entries are cached.
    pub(crate) keep: bool,
}

impl Scan<'_> {
    /// All entries, once.
    pub(crate) const ALL: Self = Self { from: &[], ahead_to: Some(&[0xff; 64]), keep: false };
}

/// Reads the entries of a file from a key on.
#[derive(Debug)]
struct BlockFileCursor<'a> {
    file: &'a BlockFile,
    cache: &'a BlockCache,
    keep: bool,
    block: Arc<[u8]>,
    position: usize,
    entries_end: usize,
    next_block: NextBlock,
    ahead: ReadAhead<'a>,
    /// The key of the current entry; meaningless at the end.
    key: Vec<u8>,
    value: Option<Range<usize>>,
    at_end: bool,
}

impl<'a> BlockFileCursor<'a> {
    fn seek(file: &'a BlockFile, cache: &'a BlockCache, scan: &Scan<'a>) -> Result<Self> {
        let &Scan { from, ahead_to, keep } = scan;
        let (address, next_block) = file.covering_address(from, cache)?;
        let mut ahead = ReadAhead::new(ahead_to);
        let block = file.read_block_ahead(&address, &next_block, cache, keep, &mut ahead)?;
        let entries_end = split_restarts(&block)?.0.len();
        let position = entries_end - ChunkReader::near(&block, from)?.n_left();
        let mut cursor = Self {
            file,
            cache,
            keep,
            block,
            position,
            entries_end,
            next_block,
            ahead,
            key: Vec::with_capacity(64),
            value: None,
            at_end: false,
        };
        cursor.advance()?;
        while !cursor.at_end && cursor.key.as_slice() < from {
            cursor.advance()?;
        }
        Ok(cursor)
    }

    /// Returns the current value; none is a removal.
    fn value(&self) -> Option<&[u8]> {
        self.value.clone().map(|range| &self.block[range])
    }

    fn advance(&mut self) -> Result<()> {
        while self.position == self.entries_end {
            let next = mem::replace(&mut self.next_block, NextBlock::End);
            let Some((address, next)) = self.file.next_address(next, self.cache)? else {
                self.at_end = true;
                return Ok(());
            };
            let (cache, ahead) = (self.cache, &mut self.ahead);
            self.block = self.file.read_block_ahead(&address, &next, cache, self.keep, ahead)?;
            self.next_block = next;
            self.entries_end = split_restarts(&self.block)?.0.len();
            self.position = 0;
            self.key.clear();
        }
        let rest = &self.block[self.position..self.entries_end];
        let mut reader = ChunkReader::resume(rest, &mut self.key);
        let value = reader.next_entry()?.flatten().map(<[u8]>::len);
        let end = self.entries_end - reader.n_left();
        self.key = reader.key;
        self.value = value.map(|n_bytes| end - n_bytes..end);
        self.position = end;
        Ok(())
    }
}

/// The entries of several files in one order; of equal keys the newest.
#[derive(Debug)]
pub(crate) struct MergedCursor<'a> {
    /// Newest first.
    cursors: Vec<BlockFileCursor<'a>>,
    smallest: Option<usize>,
}

impl<'a> MergedCursor<'a> {
    /// Goes to the first entry of a scan. `files` begins with the newest.
    pub(crate) fn seek(
        files: &'a [BlockFile],
        cache: &'a BlockCache,
        scan: Scan<'a>,
    ) -> Result<Self> {
        let seek = |file| BlockFileCursor::seek(file, cache, &scan);
        let cursors = files.iter().map(seek).collect::<Result<_>>()?;
        let mut merged = Self { cursors, smallest: None };
        merged.choose_smallest();
        Ok(merged)
    }

    /// Returns the current entry; no value is a removal.
    pub(crate) fn current(&self) -> Option<(&[u8], Option<&[u8]>)> {
        self.smallest.map(|n| (self.cursors[n].key.as_slice(), self.cursors[n].value()))
    }

    pub(crate) fn advance(&mut self) -> Result<()> {
        let Some(newest) = self.smallest else { return Ok(()) };
        // Most maps have one file.
        if let [only] = self.cursors.as_mut_slice() {
            only.advance()?;
            if only.at_end {
                self.smallest = None;
            }
            return Ok(());
        }
        let (newer, older) = self.cursors.split_at_mut(newest + 1);
        for cursor in older {
            if !cursor.at_end && cursor.key == newer[newest].key {
                cursor.advance()?;
            }
        }
        newer[newest].advance()?;
        self.choose_smallest();
        Ok(())
    }

    fn choose_smallest(&mut self) {
        let live = self.cursors.iter().enumerate().filter(|(_, cursor)| !cursor.at_end);
        self.smallest = live.min_by_key(|(_, cursor)| cursor.key.as_slice()).map(|(n, _)| n);
    }
}
