//! A temporary file for bytes that do not fit into memory, such as an upload.
//!
//! The file has no name, and what is on the disk is encrypted with a random key that only this
//! value has. So its blocks say nothing once it is gone, whether a store is encrypted or not. The
//! bytes are not authenticated: no other process can reach the file by a name.

use std::{
    fmt,
    fs::File,
    io::{self, Read, Seek, Write},
};

use chacha20::{
    XChaCha20,
    cipher::{KeyIvInit, StreamCipher, StreamCipherSeek},
};
use zeroize::Zeroizing;

use crate::encryption::random_bytes;

/// The bytes that are encrypted at once.
const PIECE_BYTES: usize = 64 << 10;

/// A temporary file without a name, whose bytes on the disk are encrypted. It is written from the
/// start to the end or by [`write_at`](Self::write_at), then read after [`rewind`](Self::rewind).
pub struct SpoolFile {
    file: File,
    /// Invariant: its position is that of `file`.
    cipher: XChaCha20,
}

impl SpoolFile {
    /// Makes an empty file in the directory for temporary files.
    ///
    /// # Errors
    ///
    /// If the operating system fails.
    pub fn new() -> io::Result<Self> {
        let key = Zeroizing::new(random_bytes::<32>());
        let cipher = XChaCha20::new((&*key).into(), (&random_bytes::<24>()).into());
        Ok(Self { file: tempfile::tempfile()?, cipher })
    }

    /// Goes back to the start, to read what was written.
    ///
    /// # Errors
    ///
    /// If the operating system fails.
    pub fn rewind(&mut self) -> io::Result<()> {
        self.cipher.seek(0_u64);
        self.file.rewind()
    }

    /// Writes bytes at an offset, in bytes. Each offset must be written once only: two different
    /// bytes with the same encryption would show their difference.
    ///
    /// # Errors
    ///
    /// If the operating system fails.
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.cipher.seek(offset);
        self.file.seek(io::SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }
}

impl Write for SpoolFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut piece = bytes[..bytes.len().min(PIECE_BYTES)].to_vec();
        self.cipher.apply_keystream(&mut piece);
        self.file.write_all(&piece)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Read for SpoolFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.file.read(buffer)?;
        self.cipher.apply_keystream(&mut buffer[..n_read]);
        Ok(n_read)
    }
}

impl fmt::Debug for SpoolFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpoolFile(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_is_not_in_the_file() {
        let mut spool = SpoolFile::new().expect("a file");
        let content: Vec<u8> = b"marzipan ".iter().copied().cycle().take(300_001).collect();
        for piece in content.chunks(70_001) {
            spool.write_all(piece).expect("write");
        }
        let mut on_disk = Vec::new();
        spool.file.rewind().expect("rewind");
        spool.file.read_to_end(&mut on_disk).expect("read");
        assert_eq!(on_disk.len(), content.len());
        assert!(!on_disk.windows(8).any(|bytes| bytes == b"marzipan"));
        for _ in 0..2 {
            spool.rewind().expect("rewind");
            let mut read = Vec::new();
            spool.read_to_end(&mut read).expect("read");
            assert!(read == content);
        }
    }

    #[test]
    fn parts_may_be_written_in_any_order() {
        let mut spool = SpoolFile::new().expect("a file");
        let content: Vec<u8> = (0..300_001_u32).map(|at| (at / 7) as u8).collect();
        let parts: Vec<(usize, &[u8])> = content.chunks(70_001).enumerate().collect();
        for (index, part) in parts.into_iter().rev() {
            spool.write_at(70_001 * index as u64, part).expect("write");
        }
        spool.rewind().expect("rewind");
        let mut read = Vec::new();
        spool.read_to_end(&mut read).expect("read");
        assert!(read == content);
    }
}
