//! Encryption at rest: sealed values, and the key that opens them.
//!
//! A store has one random *data key*. [`Cipher`]s derived from it seal values with
//! XChaCha20-Poly1305, each under a random nonce and bound to its place, so that two sealed values
//! cannot be swapped. The data key itself is stored in a [`KeyRecord`], sealed under an
//! [`UnlockKey`]: a passphrase or the bytes of a key file. Changing the passphrase seals the data
//! key again and rewrites nothing else.
//!
//! The formats are in `docs/format/encryption.md`.
//!
//! # Invariants
//!
//! - Keys are cleared from memory when they are dropped, and `Debug` prints none.
//! - No error contains a key, a passphrase or a plain value.
//!
//! # Example
//!
//! ```
//! use yfs_store::{KeyRecord, UnlockKey};
//!
//! let key = UnlockKey::from_key_file(b"at least thirty-two random bytes, really".to_vec())?;
//! let (record, data_key) = KeyRecord::create(&key)?;
//! let cipher = data_key.cipher("notes");
//! let sealed = cipher.seal(&[b"note", b"7"], b"plain");
//!
//! let again = KeyRecord::decode(&record.encode())?.unlock(&key)?.cipher("notes");
//! assert_eq!(again.open(&[b"note", b"7"], &sealed).as_deref(), Some(&b"plain"[..]));
//! assert_eq!(again.open(&[b"note", b"8"], &sealed), None);
//! # Ok::<(), yfs_store::KeyError>(())
//! ```

mod cipher;
mod key_file;
mod key_record;
mod partial_file;
mod sealed_directory;
mod spool_file;
mod unlock_key;

pub(crate) use self::cipher::SEAL_BYTES;
pub use self::{
    cipher::{Cipher, DataKey},
    key_file::{read_key_file, write_key_file},
    key_record::{KeyKind, KeyRecord},
    partial_file::PartialFile,
    sealed_directory::SealedDirectory,
    spool_file::SpoolFile,
    unlock_key::{KeyError, PassphraseCost, UnlockKey},
};

/// Fills an array with random bytes.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has a random source");
    bytes
}
