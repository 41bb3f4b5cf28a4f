//! The content of a file that programs are writing, before it becomes an edit.
//!
//! A small content is copied into memory. Of a large one only what is written is kept, in a
//! temporary file: the rest is read from the base.

mod byte_ranges;

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
    sync::Arc,
    time::SystemTime,
};

use bytes::Bytes;
use fuser::Errno;

use self::byte_ranges::ByteRanges;
use crate::{
    errno::{CallResult, io_errno},
    file_view::FileView,
    program_name::Writer,
};

/// The largest content that is held in memory, in bytes.
const MAX_MEMORY_BYTES: u64 = 8 << 20;

/// The largest size of a file, in bytes: that of a number of JavaScript.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 53;

/// A content that is being written.
#[derive(Debug)]
pub(crate) struct WorkingCopy {
    /// The content that the writer began with.
    pub(crate) base: Arc<FileView>,
    /// The last program that wrote.
    pub(crate) writer: Writer,
    /// When it was last written, which becomes the modification time.
    pub(crate) modified: SystemTime,
    /// Whether it was emptied and nothing written since: what programs do first when they rewrite
    /// a file.
    pub(crate) is_only_emptied: bool,
    bytes: WorkingBytes,
}

#[derive(Debug)]
enum WorkingBytes {
    Memory(Vec<u8>),
    Overlay(Overlay),
}

/// What was written over a base.
#[derive(Debug)]
struct Overlay {
    file: File,
    written: ByteRanges,
    /// The part of the base that has not been cut off, in bytes.
    n_of_base: u64,
    size: u64,
}

/// Reads a content that is being written from its beginning.
pub(crate) struct WorkingReader<'a> {
    copy: &'a WorkingCopy,
    offset: u64,
}

impl WorkingCopy {
    /// Begins to write over a content.
    pub(crate) fn new(base: Arc<FileView>, writer: Writer) -> CallResult<Self> {
        let bytes = match base.in_memory() {
            Some(data) if data.len() as u64 <= MAX_MEMORY_BYTES => {
                WorkingBytes::Memory(data.to_vec())
            }
            _ => WorkingBytes::Overlay(Overlay::new(base.size()).map_err(io_errno)?),
        };
        let (modified, is_only_emptied) = (SystemTime::now(), false);
        Ok(Self { base, writer, modified, is_only_emptied, bytes })
    }

    /// Returns the number of bytes.
    pub(crate) fn size(&self) -> u64 {
        match &self.bytes {
            WorkingBytes::Memory(data) => data.len() as u64,
            WorkingBytes::Overlay(overlay) => overlay.size,
        }
    }

    /// Returns the content if it is in memory.
    pub(crate) fn in_memory(&self) -> Option<&[u8]> {
        match &self.bytes {
            WorkingBytes::Memory(data) => Some(data),
            WorkingBytes::Overlay(_) => None,
        }
    }

    /// Returns up to `len` bytes from byte `offset` on.
    pub(crate) fn read(&self, offset: u64, len: u64) -> CallResult<Bytes> {
        let start = offset.min(self.size());
        let end = start.saturating_add(len).min(self.size());
        match &self.bytes {
            WorkingBytes::Memory(data) => {
                Ok(Bytes::copy_from_slice(&data[start as usize..end as usize]))
            }
            WorkingBytes::Overlay(overlay) => overlay.read(&self.base, start, end),
        }
    }

    /// Writes bytes at an offset; what is between the end and the offset becomes zero.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> CallResult {
        let end = offset.saturating_add(data.len() as u64);
        if end > MAX_FILE_BYTES {
            return Err(Errno::EFBIG);
        }
        if end > MAX_MEMORY_BYTES {
            self.leave_memory()?;
        }
        match &mut self.bytes {
            WorkingBytes::Memory(bytes) => {
                let (start, end) = (offset as usize, end as usize);
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[start..end].copy_from_slice(data);
            }
            WorkingBytes::Overlay(overlay) => overlay.write(offset, data).map_err(io_errno)?,
        }
        self.is_only_emptied = false;
        self.modified = SystemTime::now();
        Ok(())
    }

    /// Cuts the content, or extends it by zeros.
    pub(crate) fn set_size(&mut self, size: u64) -> CallResult {
        if size > MAX_FILE_BYTES {
            return Err(Errno::EFBIG);
        }
        if size > MAX_MEMORY_BYTES {
            self.leave_memory()?;
        }
        match &mut self.bytes {
            WorkingBytes::Memory(bytes) => bytes.resize(size as usize, 0),
            WorkingBytes::Overlay(overlay) => overlay.set_size(size),
        }
        self.is_only_emptied = size == 0;
        self.modified = SystemTime::now();
        Ok(())
    }

    /// Returns a reader of the whole content.
    pub(crate) fn reader(&self) -> WorkingReader<'_> {
        WorkingReader { copy: self, offset: 0 }
    }

    fn leave_memory(&mut self) -> CallResult {
        let WorkingBytes::Memory(bytes) = &self.bytes else { return Ok(()) };
        let mut overlay = Overlay::new(0).map_err(io_errno)?;
        overlay.write(0, bytes).map_err(io_errno)?;
        self.bytes = WorkingBytes::Overlay(overlay);
        Ok(())
    }
}

impl Overlay {
    fn new(size: u64) -> io::Result<Self> {
        let file = tempfile::tempfile()?;
        Ok(Self { file, written: ByteRanges::default(), n_of_base: size, size })
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)?;
        let end = offset + data.len() as u64;
        self.written.insert(offset..end);
        self.size = self.size.max(end);
        Ok(())
    }

    fn set_size(&mut self, size: u64) {
        self.written.truncate(size);
        self.n_of_base = self.n_of_base.min(size);
        self.size = size;
    }

    /// Returns a range, which is within the size.
    fn read(&self, base: &FileView, start: u64, end: u64) -> CallResult<Bytes> {
        let len = usize::try_from(end - start).map_err(|_| Errno::EFBIG)?;
        let mut bytes = vec![0; len];
        // Zeros are what neither was written nor is of the base.
        let end_of_base = end.min(self.n_of_base);
        if start < end_of_base && !self.written.contains(start..end_of_base) {
            let data = base.read(start, end_of_base - start)?;
            let n_read = data.len().min(len);
            bytes[..n_read].copy_from_slice(&data[..n_read]);
        }
        for range in self.written.within(start..end) {
            let piece = &mut bytes[(range.start - start) as usize..(range.end - start) as usize];
            self.file.read_exact_at(piece, range.start).map_err(io_errno)?;
        }
        Ok(bytes.into())
    }
}

impl Read for WorkingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let data = self.copy.read(self.offset, buffer.len() as u64);
        let data = data.map_err(|error| io::Error::from_raw_os_error(error.code()))?;
        buffer[..data.len()].copy_from_slice(&data);
        self.offset += data.len() as u64;
        Ok(data.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy_of(base: &[u8]) -> WorkingCopy {
        let base = Arc::new(FileView::Sent(Bytes::copy_from_slice(base)));
        WorkingCopy::new(base, Writer::of(0)).expect("a copy")
    }

    fn overlay_of(base: &[u8]) -> WorkingCopy {
        let mut copy = copy_of(base);
        copy.bytes = WorkingBytes::Overlay(Overlay::new(base.len() as u64).expect("a file"));
        copy
    }

    /// A generator of small numbers that is the same in each run (Knuth's MMIX).
    fn next(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 33) % below
    }

    #[test]
    fn an_overlay_has_the_bytes_of_a_copy_in_memory() {
        let base: Vec<u8> = (0..200).collect();
        let mut state = 1;
        for _ in 0..200 {
            let (mut model, mut overlay) = (copy_of(&base), overlay_of(&base));
            for _ in 0..20 {
                let (offset, len) = (next(&mut state, 260), next(&mut state, 40));
                if next(&mut state, 4) == 0 {
                    model.set_size(offset).expect("a size");
                    overlay.set_size(offset).expect("a size");
                } else {
                    let data = vec![next(&mut state, 256) as u8; len as usize];
                    model.write(offset, &data).expect("a write");
                    overlay.write(offset, &data).expect("a write");
                }
                let mut whole = Vec::new();
                overlay.reader().read_to_end(&mut whole).expect("a content");
                assert_eq!(model.in_memory(), Some(&whole[..]));
                let (offset, len) = (next(&mut state, 260), next(&mut state, 60));
                assert_eq!(model.read(offset, len).unwrap(), overlay.read(offset, len).unwrap());
            }
        }
    }

    #[test]
    fn a_copy_that_grows_leaves_memory_with_all_of_its_bytes() {
        let mut copy = copy_of(b"begin");
        copy.write(MAX_MEMORY_BYTES, b"end").expect("a write");
        assert_eq!(copy.in_memory(), None);
        assert_eq!(copy.size(), MAX_MEMORY_BYTES + 3);
        assert_eq!(&copy.read(0, 7).expect("a read")[..], b"begin\0\0");
        assert_eq!(&copy.read(MAX_MEMORY_BYTES - 1, 10).expect("a read")[..], b"\0end");
        assert_eq!(copy.write(u64::MAX - 2, b"far").unwrap_err().code(), libc::EFBIG);
    }
}
