//! Content hashes: BLAKE3, 32 bytes, written as 64 lower-case hexadecimal digits.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// The BLAKE3 hash of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

/// The error of a text that is not a content hash.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("invalid content hash {0:?}")]
pub struct HashError(pub String);

impl ContentHash {
    /// Returns the hash of `content`.
    pub fn of(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }

    /// Makes a hash from bytes that were computed elsewhere.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for ContentHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        match blake3::Hash::from_hex(text) {
            Ok(hash) if lower => Ok(Self(*hash.as_bytes())),
            _ => Err(HashError(text.chars().take(64).collect())),
        }
    }
}
