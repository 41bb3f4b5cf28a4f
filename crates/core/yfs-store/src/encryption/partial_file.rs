//! A file that keeps the parts of a content until all have arrived, also for the next process.
//!
//! What is on the disk is encrypted with a random key, as in a [`SpoolFile`](crate::SpoolFile). The
//! key is in the head of the file; if the store is encrypted, it is sealed, and the name of the
//! file is a keyed hash. The bytes are not authenticated: the reader must verify each part.
//!
//! # Format
//!
//! 4096 bytes: the magic number, the number of parts (8 bytes, little-endian), the length of the
//! key that follows (2 bytes), and the key with its nonce. Then a byte for each part, 1 once it was
//! written, filled up to a multiple of 4096 bytes; then the parts, one behind the other.
//!
//! # Invariants
//!
//! - An open file is locked: no two values write to the same one.
//! - Nothing is synchronized to the disk: after a power cut, parts that are marked may be wrong.

use std::{
    fmt,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use chacha20::{
    XChaCha20,
    cipher::{KeyIvInit, StreamCipher, StreamCipherSeek},
};
use zeroize::Zeroizing;

use crate::encryption::{Cipher, SealedDirectory, random_bytes};

/// The beginning of a file.
const MAGIC: &[u8; 8] = b"yfspart1";

/// The end of the names of the files.
const EXTENSION: &str = "part";

/// The length of the head, and of what is written at once after it, in bytes.
const BLOCK_LEN: u64 = 4096;

const KEY_LEN: usize = 32;
const NONCE_LEN: usize = 24;

/// What the key is sealed for.
const PLACE: &[u8] = b"partial file";

/// The most files that are kept in a directory.
const MAX_FILES: usize = 8;

/// How long a file is kept after its last part was written.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A file with parts of a content.
pub struct PartialFile {
    file: File,
    cipher: XChaCha20,
    path: PathBuf,
    n_parts: u64,
    part_len: u64,
}

impl PartialFile {
    /// Opens the file of a content, which is identified by its hash, or makes it; `None` if another
    /// value has it, here or in another process. A file that cannot be read is made anew.
    ///
    /// The oldest files make room if there are more than 8.
    ///
    /// # Errors
    ///
    /// If the operating system fails.
    pub fn open(
        directory: &SealedDirectory,
        hash: &[u8; 32],
        n_parts: u64,
        part_len: u64,
    ) -> io::Result<Option<Self>> {
        let path = directory.path().join(name_of(directory, hash));
        if !path.exists() {
            remove_old(directory, MAX_FILES - 1);
        }
        DirBuilder::new().recursive(true).mode(0o700).create(directory.path())?;
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.mode(0o600).open(&path)?;
        if file.try_lock().is_err() {
            return Ok(None);
        }
        let seal = directory.cipher();
        let cipher = match read_head(&mut file, seal.map(|seal| &**seal), hash, n_parts) {
            Some(cipher) => cipher,
            None => write_head(&mut file, seal.map(|seal| &**seal), hash, n_parts)?,
        };
        Ok(Some(Self { file, cipher, path, n_parts, part_len }))
    }

    /// Removes the files in a directory that no part was written to for 7 days.
    pub fn remove_abandoned(directory: &SealedDirectory) {
        remove_old(directory, MAX_FILES);
    }

    /// Returns which parts were written, in order.
    ///
    /// # Errors
    ///
    /// If the operating system fails.
    pub fn written_parts(&mut self) -> io::Result<Vec<bool>> {
        self.file.seek(SeekFrom::Start(BLOCK_LEN))?;
        let mut marks = Vec::new();
        (&self.file).take(self.n_parts).read_to_end(&mut marks)?;
        let n_parts = usize::try_from(self.n_parts).map_err(io::Error::other)?;
        marks.resize(n_parts, 0);
        Ok(marks.into_iter().map(|mark| mark == 1).collect())
    }

    /// Reads a part, or what is there of it.
    ///
    /// # Errors
    ///
    /// If the operating system fails.
    pub fn read_part(&mut self, index: u64) -> io::Result<Vec<u8>> {
        self.go_to(index * self.part_len)?;
        let mut part = Vec::new();
        (&self.file).take(self.part_len).read_to_end(&mut part)?;
        self.cipher.apply_keystream(&mut part);
        Ok(part)
    }

    /// Writes a part, which was verified: a part of the same content is the same bytes each time.
    ///
    /// # Errors
    ///
    /// If the operating system fails.
    pub fn write_part(&mut self, index: u64, part: &[u8]) -> io::Result<()> {
        self.go_to(index * self.part_len)?;
        let mut sealed = part.to_vec();
        self.cipher.apply_keystream(&mut sealed);
        self.file.write_all(&sealed)?;
        self.file.seek(SeekFrom::Start(BLOCK_LEN + index))?;
        self.file.write_all(&[1])
    }

    /// Goes back to the start of the content, to read it whole.
    ///
    /// # Errors
    ///
    /// If the operating system fails.
    pub fn rewind(&mut self) -> io::Result<()> {
        self.go_to(0)
    }

    /// Removes the file.
    ///
    /// # Errors
    ///
    /// If the operating system fails.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    fn go_to(&mut self, offset: u64) -> io::Result<()> {
        self.cipher.seek(offset);
        self.file.seek(SeekFrom::Start(content_at(self.n_parts) + offset))?;
        Ok(())
    }
}

impl Read for PartialFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.file.read(buffer)?;
        self.cipher.apply_keystream(&mut buffer[..n_read]);
        Ok(n_read)
    }
}

impl fmt::Debug for PartialFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PartialFile(..)")
    }
}

/// Returns where the parts begin in the file.
fn content_at(n_parts: u64) -> u64 {
    BLOCK_LEN + n_parts.next_multiple_of(BLOCK_LEN)
}

fn name_of(directory: &SealedDirectory, hash: &[u8; 32]) -> String {
    let name = match directory.cipher() {
        Some(cipher) => cipher.keyed_hash(&[PLACE, hash]),
        None => *hash,
    };
    format!("{}.{EXTENSION}", blake3::Hash::from_bytes(name).to_hex())
}

fn read_head(
    file: &mut File,
    seal: Option<&Cipher>,
    hash: &[u8; 32],
    n_parts: u64,
) -> Option<XChaCha20> {
    let mut head = [0; BLOCK_LEN as usize];
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_exact(&mut head).ok()?;
    let (magic, rest) = head.split_first_chunk::<8>()?;
    let (count, rest) = rest.split_first_chunk::<8>()?;
    let (len, rest) = rest.split_first_chunk::<2>()?;
    if magic != MAGIC || u64::from_le_bytes(*count) != n_parts {
        return None;
    }
    let key = rest.get(..usize::from(u16::from_le_bytes(*len)))?;
    let key = Zeroizing::new(match seal {
        Some(seal) => seal.open(&[PLACE, hash], key)?,
        None => key.to_vec(),
    });
    let (key, nonce) = key.split_first_chunk::<KEY_LEN>()?;
    let nonce: &[u8; NONCE_LEN] = nonce.try_into().ok()?;
    Some(XChaCha20::new(key.into(), nonce.into()))
}

fn write_head(
    file: &mut File,
    seal: Option<&Cipher>,
    hash: &[u8; 32],
    n_parts: u64,
) -> io::Result<XChaCha20> {
    let key = Zeroizing::new(random_bytes::<{ KEY_LEN + NONCE_LEN }>());
    let stored = match seal {
        Some(seal) => seal.seal(&[PLACE, hash], &*key),
        None => key.to_vec(),
    };
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&n_parts.to_le_bytes());
    head.extend_from_slice(&(stored.len() as u16).to_le_bytes());
    head.extend_from_slice(&stored);
    head.resize(BLOCK_LEN as usize, 0);
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&head)?;
    let (key, nonce) = key.split_first_chunk::<KEY_LEN>().expect("56 bytes");
    let nonce: &[u8; NONCE_LEN] = nonce.try_into().expect("24 bytes");
    Ok(XChaCha20::new(key.into(), nonce.into()))
}

/// Removes files that are too old, and the oldest ones beyond a number. Files that are open stay.
fn remove_old(directory: &SealedDirectory, n_kept: usize) {
    let mut files = list(directory.path());
    files.sort_unstable();
    let (now, mut n_files) = (SystemTime::now(), files.len());
    for (written, path) in files {
        let age = now.duration_since(written).unwrap_or_default();
        if n_files <= n_kept && age < MAX_AGE {
            break;
        }
        let is_unused = File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
        // Another process may remove it as well, or begin anew.
        if is_unused && fs::remove_file(&path).is_ok() {
            n_files -= 1;
        }
    }
}

/// Lists the files in a directory, with the time at which each was written last.
fn list(directory: &Path) -> Vec<(SystemTime, PathBuf)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let files = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let path = entry.path();
        let is_ours = path.extension().is_some_and(|extension| extension == EXTENSION);
        let written = entry.metadata().ok()?.modified().ok()?;
        is_ours.then_some((written, path))
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::encryption::DataKey;

    const PART: u64 = 5000;

    fn content() -> Vec<u8> {
        b"marzipan ".iter().copied().cycle().take(23_001).collect()
    }

    fn parts_of(content: &[u8]) -> Vec<(u64, &[u8])> {
        (0..).zip(content.chunks(PART as usize)).collect()
    }

    fn open(directory: &SealedDirectory, number: u8) -> PartialFile {
        PartialFile::open(directory, &[number; 32], 5, PART).unwrap().unwrap()
    }

    fn set_age(path: &Path, age: Duration) {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn the_parts_are_there_when_the_file_is_opened_again() {
        let keys = DataKey::random();
        for key in [None, Some(&keys)] {
            let temporary = tempfile::tempdir().unwrap();
            let directory = SealedDirectory::new(temporary.path().join("partial"), key);
            let content = content();
            let parts = parts_of(&content);
            let mut file = open(&directory, 7);
            assert_eq!(file.written_parts().unwrap(), [false; 5]);
            for (index, part) in [parts[4], parts[1]] {
                file.write_part(index, part).unwrap();
            }
            assert!(PartialFile::open(&directory, &[7; 32], 5, PART).unwrap().is_none());
            let path = file.path.clone();
            drop(file);
            let is_private = |path: &Path, mode| {
                fs::metadata(path).unwrap().permissions().mode() & 0o777 == mode
            };
            assert!(is_private(&path, 0o600) && is_private(directory.path(), 0o700));
            let on_disk = fs::read(&path).unwrap();
            assert!(!on_disk.windows(8).any(|bytes| bytes == b"marzipan"));
            let is_named_by_hash = path.to_string_lossy().contains("0707");
            assert_eq!(is_named_by_hash, key.is_none());

            let mut file = open(&directory, 7);
            assert_eq!(file.written_parts().unwrap(), [false, true, false, false, true]);
            assert_eq!(file.read_part(1).unwrap(), parts[1].1);
            assert_eq!(file.read_part(4).unwrap(), parts[4].1);
            for (index, part) in [parts[3], parts[0], parts[2]] {
                file.write_part(index, part).unwrap();
            }
            file.rewind().unwrap();
            let mut read = Vec::new();
            file.read_to_end(&mut read).unwrap();
            assert!(read == content);
            file.remove().unwrap();
            assert!(!path.exists());
        }
    }

    /// Without the key of an encrypted store, or with another number of parts, the file is begun
    /// anew. Its bytes never have two meanings: the key is another one.
    #[test]
    fn a_file_of_another_store_or_content_is_begun_anew() {
        let temporary = tempfile::tempdir().unwrap();
        let plain = SealedDirectory::plain(temporary.path());
        let content = content();
        let mut file = open(&plain, 1);
        file.write_part(0, parts_of(&content)[0].1).unwrap();
        let path = file.path.clone();
        drop(file);
        let before = fs::read(&path).unwrap();
        let mut file = PartialFile::open(&plain, &[1; 32], 6, PART).unwrap().unwrap();
        assert_eq!(file.written_parts().unwrap(), [false; 6]);
        drop(file);
        assert_ne!(before[..100], fs::read(&path).unwrap()[..100]);
        for damage in [&b""[..], b"yfspart1", &[0; 9000]] {
            fs::write(&path, damage).unwrap();
            assert_eq!(open(&plain, 1).written_parts().unwrap(), [false; 5]);
        }
    }

    #[test]
    fn old_files_and_the_oldest_of_many_are_removed_and_open_ones_stay() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = SealedDirectory::plain(temporary.path());
        let mut paths = Vec::new();
        for number in 0..8 {
            let file = open(&directory, number);
            set_age(&file.path, Duration::from_secs(3600 - u64::from(number)));
            paths.push(file.path.clone());
        }
        let first = open(&directory, 0);
        let _ninth = open(&directory, 8);
        let is_there: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
        assert_eq!(is_there, [true, false, true, true, true, true, true, true]);
        drop(first);
        set_age(&paths[3], MAX_AGE + Duration::from_secs(60));
        PartialFile::remove_abandoned(&directory);
        let is_there: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
        assert_eq!(is_there, [true, false, true, false, true, true, true, true]);
    }
}
