//! The record in which a store keeps its data key, sealed.

use zeroize::Zeroizing;

use crate::encryption::{
    Cipher, DataKey, KeyError, PassphraseCost, SEAL_BYTES, UnlockKey, random_bytes,
};

const MAGIC: &[u8; 8] = b"yfskey01";
const HEADER_BYTES: usize = 8 + 1 + 12 + 32;
const CHECKSUM_BYTES: usize = 8;
const RECORD_BYTES: usize = HEADER_BYTES + 32 + SEAL_BYTES + CHECKSUM_BYTES;
const PLACE: &[u8] = b"data key";

/// The kind of key that opens a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// A passphrase, through Argon2id at this cost.
    Passphrase(PassphraseCost),
    /// A key file.
    KeyFile,
}

/// The sealed data key of a store, and what else is needed to open it with an [`UnlockKey`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    kind: KeyKind,
    salt: [u8; 32],
    sealed: Vec<u8>,
}

impl KeyRecord {
    /// Makes a random data key, and the record that keeps it under `key`.
    ///
    /// # Errors
    ///
    /// If the memory for a passphrase's cost is missing.
    pub fn create(key: &UnlockKey) -> Result<(Self, DataKey), KeyError> {
        let data_key = DataKey::random();
        Ok((Self::seal(&data_key, key)?, data_key))
    }

    /// Seals an existing data key under another key.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn seal(data_key: &DataKey, key: &UnlockKey) -> Result<Self, KeyError> {
        let kind = key.cost().map_or(KeyKind::KeyFile, KeyKind::Passphrase);
        let mut record = Self { kind, salt: random_bytes(), sealed: Vec::new() };
        let cipher = record.cipher(key)?;
        record.sealed = cipher.seal(&[PLACE, &record.encode_header()], data_key.as_bytes());
        Ok(record)
    }

    /// Opens the data key.
    ///
    /// # Errors
    ///
    /// [`KeyError::Wrong`] if the key is another one, or the record was changed;
    /// [`KeyError::NeedsPassphrase`] or [`KeyError::NeedsKeyFile`] if it is of the other kind.
    pub fn unlock(&self, key: &UnlockKey) -> Result<DataKey, KeyError> {
        let opened = self.cipher(key)?.open(&[PLACE, &self.encode_header()], &self.sealed);
        let opened = Zeroizing::new(opened.ok_or(KeyError::Wrong)?);
        let mut data_key = Zeroizing::new([0; 32]);
        if opened.len() != data_key.len() {
            return Err(KeyError::DamagedRecord);
        }
        data_key.copy_from_slice(&opened);
        Ok(DataKey::from_bytes(data_key))
    }

    /// Returns the error for a caller that has no key.
    pub(crate) fn missing_key(&self) -> KeyError {
        match self.kind {
            KeyKind::Passphrase(_) => KeyError::MissingPassphrase,
            KeyKind::KeyFile => KeyError::MissingKeyFile,
        }
    }

    /// Returns the kind of key that opens this record.
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// Returns the record as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.encode_header();
        bytes.extend_from_slice(&self.sealed);
        let checksum = checksum(&bytes);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// Reads a record.
    ///
    /// # Errors
    ///
    /// [`KeyError::DamagedRecord`] if it is none, or asks for an excessive cost.
    pub fn decode(bytes: &[u8]) -> Result<Self, KeyError> {
        let damaged = KeyError::DamagedRecord;
        let Some((bytes, found)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else {
            return Err(damaged);
        };
        let is_whole = bytes.len() == RECORD_BYTES - CHECKSUM_BYTES && bytes.starts_with(MAGIC);
        if !is_whole || checksum(bytes) != *found {
            return Err(damaged);
        }
        let number_at = |at: usize| {
            let bytes = bytes[at..].first_chunk().expect("the length was checked");
            u32::from_le_bytes(*bytes)
        };
        let [memory_kib, n_passes, n_lanes] = [9, 13, 17].map(number_at);
        let cost = PassphraseCost { memory_kib, n_passes, n_lanes };
        let kind = match bytes[8] {
            1 if cost.is_acceptable() => KeyKind::Passphrase(cost),
            2 if [memory_kib, n_passes, n_lanes] == [0; 3] => KeyKind::KeyFile,
            _ => return Err(damaged),
        };
        let salt = *bytes[21..].first_chunk().expect("the length was checked");
        Ok(Self { kind, salt, sealed: bytes[HEADER_BYTES..].to_vec() })
    }

    fn encode_header(&self) -> Vec<u8> {
        let (kind, numbers) = match self.kind {
            KeyKind::Passphrase(cost) => (1, [cost.memory_kib, cost.n_passes, cost.n_lanes]),
            KeyKind::KeyFile => (2, [0; 3]),
        };
        let mut bytes = MAGIC.to_vec();
        bytes.push(kind);
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend_from_slice(&self.salt);
        bytes
    }

    fn cipher(&self, key: &UnlockKey) -> Result<Cipher, KeyError> {
        let cost = match self.kind {
            KeyKind::Passphrase(cost) => Some(cost),
            KeyKind::KeyFile => None,
        };
        let derived = key.derive(&self.salt, cost)?;
        Ok(Cipher::new(&derived, Zeroizing::new([0; 32])))
    }
}

/// Returns the checksum that distinguishes damage from a wrong key.
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    *blake3::hash(bytes).as_bytes().first_chunk().expect("a hash is longer")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHEAP: PassphraseCost = PassphraseCost { memory_kib: 8, n_passes: 1, n_lanes: 1 };

    fn passphrase(text: &str) -> UnlockKey {
        UnlockKey::from_passphrase_with(text.as_bytes().to_vec(), CHEAP).expect("a key")
    }

    fn key_file(byte: u8) -> UnlockKey {
        UnlockKey::from_key_file(vec![byte; 32]).expect("a key")
    }

    #[test]
    fn only_the_key_that_made_a_record_opens_it() {
        for (right, wrong, expected) in [
            (passphrase("right"), passphrase("wrong"), KeyError::Wrong),
            (key_file(1), key_file(2), KeyError::Wrong),
            (passphrase("right"), key_file(1), KeyError::NeedsPassphrase),
            (key_file(1), passphrase("right"), KeyError::NeedsKeyFile),
        ] {
            let (record, data_key) = KeyRecord::create(&right).expect("a record");
            let record = KeyRecord::decode(&record.encode()).expect("it is whole");
            let opened = record.unlock(&right).expect("the right key");
            assert_eq!(opened.as_bytes(), data_key.as_bytes());
            assert_eq!(record.unlock(&wrong).map(drop), Err(expected));
        }
    }

    #[test]
    fn another_key_takes_over_and_the_data_key_stays() {
        let (old, new) = (passphrase("old"), key_file(7));
        let (record, data_key) = KeyRecord::create(&old).expect("a record");
        let unlocked = record.unlock(&old).expect("the old key");
        let changed = KeyRecord::seal(&unlocked, &new).expect("a record");
        assert_eq!(changed.unlock(&new).expect("the new key").as_bytes(), data_key.as_bytes());
        assert_eq!(changed.unlock(&old).map(drop), Err(KeyError::NeedsKeyFile));
    }

    #[test]
    fn a_damaged_record_is_distinguished_from_a_wrong_key() {
        let (record, _) = KeyRecord::create(&passphrase("right")).expect("a record");
        let bytes = record.encode();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert_eq!(KeyRecord::decode(&changed), Err(KeyError::DamagedRecord), "byte {at}");
            }
            assert_eq!(KeyRecord::decode(&bytes[..at]), Err(KeyError::DamagedRecord));
        }
        assert_eq!(KeyRecord::decode(&[&bytes[..], &[0]].concat()), Err(KeyError::DamagedRecord));
    }

    /// As an attacker changes it, who makes the checksum right again.
    #[test]
    fn a_changed_record_does_not_open() {
        let key = passphrase("right");
        let (record, _) = KeyRecord::create(&key).expect("a record");
        let bytes = record.encode();
        for at in 0..bytes.len() - CHECKSUM_BYTES {
            // Not the cost: a greater one is slow, and is part of what is sealed.
            if (9..21).contains(&at) {
                continue;
            }
            let opened = KeyRecord::decode(&with_checksum(bytes.clone(), |bytes| bytes[at] ^= 1));
            assert!(opened.and_then(|record| record.unlock(&key)).is_err(), "byte {at}");
        }
    }

    fn with_checksum(mut record: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        record.truncate(RECORD_BYTES - CHECKSUM_BYTES);
        change(&mut record);
        let checksum = checksum(&record);
        record.extend(checksum);
        record
    }

    #[test]
    fn an_excessive_cost_is_refused_before_it_is_paid() {
        let (record, _) = KeyRecord::create(&passphrase("right")).expect("a record");
        for at in [9, 13, 17] {
            let bytes = with_checksum(record.encode(), |bytes| bytes[at..at + 4].fill(0xff));
            assert_eq!(KeyRecord::decode(&bytes), Err(KeyError::DamagedRecord));
        }
    }

    #[test]
    fn nothing_prints_a_key() {
        let key = passphrase("hidden words");
        let (record, data_key) = KeyRecord::create(&key).expect("a record");
        let printed = format!("{key:?} {data_key:?} {:?}", data_key.cipher("a"));
        assert_eq!(printed, "UnlockKey(passphrase) DataKey(..) Cipher(..)");
        assert!(!format!("{record:?}").contains("hidden"));
    }

    #[test]
    fn unusable_keys_are_refused() {
        let passphrase = |text: &[u8]| UnlockKey::from_passphrase(text.to_vec()).map(drop);
        assert_eq!(passphrase(b""), Err(KeyError::UnusablePassphrase));
        assert_eq!(passphrase(b"\r\n"), Err(KeyError::UnusablePassphrase));
        assert_eq!(passphrase(b"x\n"), Ok(()));
        let file = |len| UnlockKey::from_key_file(vec![1; len]).map(drop);
        assert_eq!(file(31), Err(KeyError::UnusableKeyFile));
        assert_eq!(file(32), Ok(()));
        assert_eq!(file((1 << 20) + 1), Err(KeyError::UnusableKeyFile));
    }
}
