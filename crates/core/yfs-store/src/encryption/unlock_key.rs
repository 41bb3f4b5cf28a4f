//! The key that a person or a program keeps: a passphrase, or the bytes of a key file.

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use thiserror::Error;
use zeroize::Zeroizing;

/// The shortest key file, in bytes.
const MIN_KEY_FILE_BYTES: usize = 32;

/// The longest passphrase and the longest key file, in bytes.
pub(crate) const MAX_KEY_BYTES: usize = 1 << 20;

const KEY_FILE_CONTEXT: &str = "yfs 2026-11-26 encryption at rest: key file";

/// A key that opens the data key of a store.
pub struct UnlockKey(KeySource);

enum KeySource {
    Passphrase { text: Zeroizing<Vec<u8>>, cost: PassphraseCost },
    KeyFile(Zeroizing<Vec<u8>>),
}

/// What it costs to derive a key from a passphrase by Argon2id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassphraseCost {
    /// The memory in KiB.
    pub memory_kib: u32,
    /// The number of passes over the memory.
    pub n_passes: u32,
    /// The number of lanes.
    pub n_lanes: u32,
}

/// The reason why an encrypted store cannot be opened, or a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// No key was given, and a passphrase opens the store.
    #[error("it is encrypted, and no passphrase was given")]
    MissingPassphrase,
    /// No key was given, and a key file opens the store.
    #[error("it is encrypted, and no key file was given")]
    MissingKeyFile,
    /// A key file was given, and a passphrase opens the store.
    #[error("it opens with a passphrase, not with a key file")]
    NeedsPassphrase,
    /// A passphrase was given, and a key file opens the store.
    #[error("it opens with a key file, not with a passphrase")]
    NeedsKeyFile,
    /// The key does not open the store.
    #[error("the passphrase or key file is wrong")]
    Wrong,
    /// A key was given for a store that is not encrypted.
    #[error("it is not encrypted, and a key was given")]
    NotEncrypted,
    /// The record of the key in the store is damaged.
    #[error("both copies of its key record are damaged: put a backup back")]
    DamagedRecord,
    /// The passphrase is empty, or longer than 1 MiB.
    #[error("a passphrase must have 1 byte to 1 MiB")]
    UnusablePassphrase,
    /// The key file is too short or too long.
    #[error("a key file must have 32 bytes to 1 MiB")]
    UnusableKeyFile,
}

impl PassphraseCost {
    /// The cost of new keys: 64 MiB and three passes, as RFC 9106 advises for limited memory.
    pub const STANDARD: Self = Self { memory_kib: 64 << 10, n_passes: 3, n_lanes: 1 };

    /// Reports whether a record may ask for this cost: at most 1 GiB and 64 passes.
    pub(crate) fn is_acceptable(self) -> bool {
        (8..=1 << 20).contains(&self.memory_kib)
            && (1..=64).contains(&self.n_passes)
            && (1..=16).contains(&self.n_lanes)
            && self.memory_kib >= 8 * self.n_lanes
    }
}

impl UnlockKey {
    /// Makes a key of a passphrase. Line ends at its end are not part of it.
    ///
    /// # Errors
    ///
    /// If the passphrase is empty or longer than 1 MiB.
    pub fn from_passphrase(text: impl Into<Zeroizing<Vec<u8>>>) -> Result<Self, KeyError> {
        Self::from_passphrase_with(text, PassphraseCost::STANDARD)
    }

    /// Makes a key of a passphrase that new key records use at another cost.
    ///
    /// # Errors
    ///
    /// As [`from_passphrase`](Self::from_passphrase), and if the cost is out of range.
    pub(crate) fn from_passphrase_with(
        text: impl Into<Zeroizing<Vec<u8>>>,
        cost: PassphraseCost,
    ) -> Result<Self, KeyError> {
        let mut text = text.into();
        while matches!(text.last(), Some(b'\n' | b'\r')) {
            text.pop();
        }
        let is_usable = (1..=MAX_KEY_BYTES).contains(&text.len()) && cost.is_acceptable();
        is_usable
            .then_some(Self(KeySource::Passphrase { text, cost }))
            .ok_or(KeyError::UnusablePassphrase)
    }

    /// Makes a key of the bytes of a key file, which must be random: 32 bytes or more.
    ///
    /// # Errors
    ///
    /// If there are fewer than 32 bytes, or more than 1 MiB.
    pub fn from_key_file(bytes: impl Into<Zeroizing<Vec<u8>>>) -> Result<Self, KeyError> {
        let bytes = bytes.into();
        (MIN_KEY_FILE_BYTES..=MAX_KEY_BYTES)
            .contains(&bytes.len())
            .then_some(Self(KeySource::KeyFile(bytes)))
            .ok_or(KeyError::UnusableKeyFile)
    }

    /// Returns the cost of new records; `None` for a key file.
    pub(crate) fn cost(&self) -> Option<PassphraseCost> {
        match &self.0 {
            KeySource::Passphrase { cost, .. } => Some(*cost),
            KeySource::KeyFile(_) => None,
        }
    }

    /// Derives the key that seals the data key. The cost is that of a record; `None` for one that
    /// was made for a key file.
    pub(crate) fn derive(
        &self,
        salt: &[u8; 32],
        cost: Option<PassphraseCost>,
    ) -> Result<Zeroizing<[u8; 32]>, KeyError> {
        let mut key = Zeroizing::new([0; 32]);
        match (&self.0, cost) {
            (KeySource::Passphrase { text, .. }, Some(cost)) => {
                let params = Params::new(cost.memory_kib, cost.n_passes, cost.n_lanes, Some(32));
                let params = params.map_err(|_| KeyError::DamagedRecord)?;
                Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
                    .hash_password_into(text, salt, key.as_mut())
                    .map_err(|_| KeyError::DamagedRecord)?;
            }
            (KeySource::KeyFile(bytes), None) => {
                let mut hasher = blake3::Hasher::new_derive_key(KEY_FILE_CONTEXT);
                hasher.update(salt).update(bytes);
                *key = *hasher.finalize().as_bytes();
            }
            (KeySource::KeyFile(_), Some(_)) => return Err(KeyError::NeedsPassphrase),
            (KeySource::Passphrase { .. }, None) => return Err(KeyError::NeedsKeyFile),
        }
        Ok(key)
    }
}

impl fmt::Debug for UnlockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            KeySource::Passphrase { .. } => "UnlockKey(passphrase)",
            KeySource::KeyFile(_) => "UnlockKey(key file)",
        })
    }
}
