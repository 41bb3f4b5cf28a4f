//! Keys: a secret that signs, and the public key that names its holder.

use std::{fmt, str::FromStr};

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use thiserror::Error;
use yfs_sync::wire_fields;

/// The length of a public key and of a secret, in bytes.
pub(crate) const KEY_LEN: usize = 32;

/// The length of a signature, in bytes.
pub(crate) const SIGNATURE_LEN: usize = 64;

/// The number of digits by which messages name a peer.
const SHORT_LEN: usize = 10;

/// The beginning of a secret in the encoding of PKCS #8.
const PKCS8_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// The beginning of a public key in the encoding of TLS.
const SPKI_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The public Ed25519 key that identifies a peer, or the owner of a workspace. Written as 64
/// lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId([u8; KEY_LEN]);

/// The error of a text that is not a public key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a peer's id has 64 hexadecimal digits")]
pub struct PeerIdError;

/// A secret Ed25519 key. Its `Debug` form shows only the public half.
pub struct PeerSecretKey {
    pair: Ed25519KeyPair,
    seed: [u8; KEY_LEN],
    id: PeerId,
}

wire_fields!(PeerId { 0 });

impl PeerId {
    /// Makes an id from the bytes of a public key.
    pub fn from_bytes(bytes: [u8; KEY_LEN]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the public key.
    pub fn as_bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }

    /// Returns the first digits, by which messages name the peer.
    pub fn short(&self) -> String {
        self.to_string()[..SHORT_LEN].to_owned()
    }

    /// Reports whether the holder of the key signed `message`.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8; SIGNATURE_LEN]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).is_ok()
    }

    /// Returns the key in the encoding of TLS.
    pub(crate) fn to_spki(self) -> Vec<u8> {
        SPKI_PREFIX.iter().chain(&self.0).copied().collect()
    }

    /// Reads a key in the encoding of TLS.
    pub(crate) fn from_spki(bytes: &[u8]) -> Option<Self> {
        bytes.strip_prefix(&SPKI_PREFIX)?.try_into().ok().map(Self)
    }
}

impl PeerSecretKey {
    /// Makes a key from random bytes.
    pub fn from_seed(seed: [u8; KEY_LEN]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("every seed is a key");
        let public = pair.public_key().as_ref().try_into().expect("a public key has 32 bytes");
        Self { pair, seed, id: PeerId(public) }
    }

    /// Returns the public half.
    pub fn id(&self) -> PeerId {
        self.id
    }

    /// Signs a message.
    pub(crate) fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_LEN] {
        self.pair.sign(message).as_ref().try_into().expect("a signature has 64 bytes")
    }

    /// Returns the key in the encoding of PKCS #8.
    pub(crate) fn to_pkcs8(&self) -> Vec<u8> {
        PKCS8_PREFIX.iter().chain(&self.seed).copied().collect()
    }
}

/// Returns random bytes for a key.
pub(crate) fn random_seed() -> [u8; KEY_LEN] {
    let mut seed = [0; KEY_LEN];
    getrandom::fill(&mut seed).expect("the operating system has a random source");
    seed
}

impl fmt::Debug for PeerSecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerSecretKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for PeerId {
    type Err = PeerIdError;

    fn from_str(text: &str) -> Result<Self, PeerIdError> {
        let digits = text.as_bytes();
        if digits.len() != 2 * KEY_LEN {
            return Err(PeerIdError);
        }
        let mut bytes = [0; KEY_LEN];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |digit: u8| (digit as char).to_digit(16).ok_or(PeerIdError);
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_one_message_and_one_key() {
        let [key, other] = [1, 2].map(|byte| PeerSecretKey::from_seed([byte; KEY_LEN]));
        let signature = key.sign(b"message");
        assert!(key.id().has_signed(b"message", &signature));
        assert!(!key.id().has_signed(b"massage", &signature));
        assert!(!other.id().has_signed(b"message", &signature));
    }

    #[test]
    fn ids_are_read_as_written() {
        let key = PeerSecretKey::from_seed([7; KEY_LEN]);
        let id = key.id();
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(PeerId::from_spki(&id.to_spki()), Some(id));
        assert_eq!("é".repeat(32).parse::<PeerId>(), Err(PeerIdError));
        assert_eq!("a".parse::<PeerId>(), Err(PeerIdError));
        assert!(!format!("{key:?}").contains("seed"), "a secret is not in messages");
    }
}
