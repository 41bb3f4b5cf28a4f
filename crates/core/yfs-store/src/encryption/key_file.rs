//! Key files: reading one, and writing a new one.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    path::Path,
};

use zeroize::Zeroizing;

use crate::encryption::{random_bytes, unlock_key::MAX_KEY_BYTES};

/// Reads the bytes of a key file for [`UnlockKey::from_key_file`](crate::UnlockKey::from_key_file),
/// which rejects one that is too long: of such a file, not more than that is read.
///
/// # Errors
///
/// If the operating system fails.
pub fn read_key_file(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    // Allocated at once: growing would leave copies of the key in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_KEY_BYTES + 1));
    fs::File::open(path)?.take(MAX_KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes 32 random bytes, in hexadecimal digits and a newline, to a new file that only its owner
/// can read.
///
/// # Errors
///
/// If there is a file at `path`, or the operating system fails. Then no partial file stays.
pub fn write_key_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let bytes = Zeroizing::new(random_bytes::<32>());
    let digits = b"0123456789abcdef";
    let mut text = Zeroizing::new(Vec::with_capacity(65));
    for byte in bytes.iter() {
        text.extend([digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
    }
    text.push(b'\n');
    let written = file.write_all(&text).and_then(|()| file.sync_all());
    if written.is_err() {
        fs::remove_file(path).ok();
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encryption::{KeyError, UnlockKey};

    #[test]
    fn a_long_file_is_no_key_and_is_not_read_to_its_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key");
        // A hole, larger than the memory.
        fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a long file");
        let bytes = read_key_file(&path).expect("read");
        assert_eq!(bytes.len(), MAX_KEY_BYTES + 1);
        assert_eq!(UnlockKey::from_key_file(bytes).unwrap_err(), KeyError::UnusableKeyFile);
        assert!(read_key_file(directory.path()).is_err());
        assert!(read_key_file(&directory.path().join("none")).is_err());
    }

    #[test]
    fn a_key_file_is_new_random_and_private() {
        let directory = tempfile::tempdir().expect("a directory");
        let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
        write_key_file(&a).expect("write");
        write_key_file(&b).expect("write");
        let bytes = fs::read(&a).expect("read");
        assert_ne!(bytes, fs::read(&b).expect("read"));
        let again = write_key_file(&a).expect_err("it exists");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&a).expect("read"), bytes);
        assert_eq!(*read_key_file(&a).expect("read"), bytes);
        UnlockKey::from_key_file(bytes).expect("a key");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&a).expect("metadata").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
