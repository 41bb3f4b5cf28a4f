//! The data key of a store, and the ciphers that are derived from it.

use std::{fmt, sync::Arc};

use chacha20poly1305::{AeadInOut, KeyInit, Tag, XChaCha20Poly1305, XNonce};
use zeroize::{Zeroize, Zeroizing};

use crate::encryption::random_bytes;

/// The bytes by which a sealed value is longer than the plain one.
pub(crate) const SEAL_BYTES: usize = NONCE_BYTES + TAG_BYTES;

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

/// The contexts of derived keys. Each is used for nothing else.
const VALUE_CONTEXT: &str = "yfs 2026-11-26 encryption at rest: values of ";
const HASH_CONTEXT: &str = "yfs 2026-11-26 encryption at rest: hashes of ";

/// The random key of a store, from which all its ciphers are derived.
pub struct DataKey(Zeroizing<[u8; 32]>);

/// Seals and opens the values of one purpose, and hashes names of that purpose.
///
/// Any number of threads and processes can use one cipher: nonces are random, and 24 bytes long, so
/// they do not repeat.
pub struct Cipher {
    aead: XChaCha20Poly1305,
    hash_key: Zeroizing<[u8; 32]>,
}

impl DataKey {
    /// Makes a random key.
    pub(crate) fn random() -> Self {
        Self(Zeroizing::new(random_bytes()))
    }

    pub(crate) fn from_bytes(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Derives the cipher of a purpose. What one purpose sealed, no other opens.
    pub fn cipher(&self, purpose: &str) -> Arc<Cipher> {
        let derive = |context: &str| {
            Zeroizing::new(blake3::derive_key(&format!("{context}{purpose}"), self.as_bytes()))
        };
        let value_key = derive(VALUE_CONTEXT);
        Arc::new(Cipher::new(&value_key, derive(HASH_CONTEXT)))
    }
}

impl Cipher {
    pub(crate) fn new(value_key: &[u8; 32], hash_key: Zeroizing<[u8; 32]>) -> Self {
        Self { aead: XChaCha20Poly1305::new(value_key.into()), hash_key }
    }

    /// Seals a value. Only a call with the same place opens it again.
    pub fn seal(&self, place: &[&[u8]], plain: &[u8]) -> Vec<u8> {
        let nonce = random_bytes::<NONCE_BYTES>();
        let mut sealed = Vec::with_capacity(plain.len() + SEAL_BYTES);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(plain);
        let value = &mut sealed[NONCE_BYTES..];
        let tag = self
            .aead
            .encrypt_inout_detached(&XNonce::from(nonce), &encode_place(place), value.into())
            .expect("a value in memory is shorter than the limit of 256 GiB");
        sealed.extend_from_slice(&tag);
        sealed
    }

    /// Opens a sealed value. Returns `None` if it was changed, cut, sealed for another place, or
    /// under another key.
    pub fn open(&self, place: &[&[u8]], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let (value, tag) = rest.split_last_chunk::<TAG_BYTES>()?;
        let (nonce, tag) = (XNonce::from(*nonce), Tag::from(*tag));
        let mut plain = value.to_vec();
        let place = encode_place(place);
        let buffer = plain.as_mut_slice().into();
        if self.aead.decrypt_inout_detached(&nonce, &place, buffer, &tag).is_err() {
            plain.zeroize();
            return None;
        }
        Some(plain)
    }

    /// Returns a hash that only an owner of the key can compute: for names and hashes by which
    /// values are found. Equal inputs have equal hashes.
    pub fn keyed_hash(&self, parts: &[&[u8]]) -> [u8; 32] {
        *blake3::keyed_hash(&self.hash_key, &encode_place(parts)).as_bytes()
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataKey(..)")
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cipher(..)")
    }
}

/// Joins parts so that different parts never give the same bytes.
fn encode_place(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: &[&[u8]] = &[b"log", b"doc", b"1"];

    #[test]
    fn a_value_comes_back_and_its_bytes_are_not_in_the_sealed_one() {
        let cipher = DataKey::random().cipher("a");
        for len in [0, 1, 15, 16, 17, 1000] {
            let plain = vec![b'x'; len];
            let sealed = cipher.seal(PLACE, &plain);
            assert_eq!(sealed.len(), len + SEAL_BYTES);
            assert_eq!(cipher.open(PLACE, &sealed), Some(plain.clone()));
            assert!(len < 8 || !sealed.windows(8).any(|bytes| bytes == &plain[..8]));
            assert_ne!(sealed, cipher.seal(PLACE, &plain), "each has a nonce of its own");
        }
    }

    #[test]
    fn a_changed_value_does_not_open() {
        let cipher = DataKey::random().cipher("a");
        let sealed = cipher.seal(PLACE, b"plain");
        for at in 0..sealed.len() {
            for bit in 0..8 {
                let mut flipped = sealed.clone();
                flipped[at] ^= 1 << bit;
                assert_eq!(cipher.open(PLACE, &flipped), None, "byte {at} bit {bit}");
            }
            assert_eq!(cipher.open(PLACE, &sealed[..at]), None, "cut at {at}");
        }
        assert_eq!(cipher.open(PLACE, &[&sealed[..], &[0]].concat()), None);
    }

    #[test]
    fn a_value_opens_only_in_its_place_and_for_its_purpose() {
        let key = DataKey::random();
        let cipher = key.cipher("a");
        let sealed = cipher.seal(PLACE, b"plain");
        let places: [&[&[u8]]; 4] =
            [&[b"log", b"doc", b"2"], &[b"log", b"doc1"], &[b"logdoc1"], &[b"log", b"do", b"c1"]];
        for place in places {
            assert_eq!(cipher.open(place, &sealed), None, "{place:?}");
        }
        assert_eq!(key.cipher("b").open(PLACE, &sealed), None);
        assert_eq!(DataKey::random().cipher("a").open(PLACE, &sealed), None);
        assert_eq!(key.cipher("a").open(PLACE, &sealed).as_deref(), Some(&b"plain"[..]));
    }

    #[test]
    fn hashes_depend_on_key_purpose_and_parts() {
        let key = DataKey::random();
        let hash = key.cipher("a").keyed_hash(PLACE);
        assert_eq!(hash, key.cipher("a").keyed_hash(PLACE));
        assert_ne!(hash, key.cipher("b").keyed_hash(PLACE));
        assert_ne!(hash, DataKey::random().cipher("a").keyed_hash(PLACE));
        assert_ne!(hash, key.cipher("a").keyed_hash(&[b"log", b"doc1"]));
    }
}
