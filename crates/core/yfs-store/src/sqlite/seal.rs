//! Sealing of values in an encrypted store: every column whose bytes come from a caller.
//!
//! A plain store keeps values as they are, so each function here does nothing for it. In an
//! encrypted one, a value is sealed and bound to its place: table, document, position. What stays
//! readable is listed in `docs/guides/encryption.md`.

mod key_change;

use std::{borrow::Cow, fmt::Write, path::Path, sync::Arc};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension};
use yfs_types::{hash::ContentHash, time::Millis};

use super::store_error::store_error;
use crate::{
    DocName, HandleOrigin, Seq, StoreError,
    encryption::{Cipher, DataKey, KeyError, KeyKind, KeyRecord, SEAL_BYTES, UnlockKey},
};

/// The settings that hold the key record. Each has the whole record: without it, all is lost.
const KEY_SETTINGS: [&str; 2] = ["store:key", "store:key-copy"];

const CHANGE_KEY: &str = "change the key";
const READ_KEY: &str = "read the key record";

/// Seals the values of a store, or leaves those of a plain one as they are.
#[derive(Debug, Default)]
pub(super) struct ValueSeal(Option<StoreCipher>);

#[derive(Debug)]
struct StoreCipher {
    key: DataKey,
    values: Arc<Cipher>,
    /// The kind of key that opens the store, as this handle last read or wrote it.
    kind: Mutex<KeyKind>,
}

/// The place that a value is bound to.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValuePlace<'a> {
    Update {
        doc: &'a DocName,
        seq: u64,
        origin: HandleOrigin,
        at: Millis,
    },
    Snapshot {
        doc: &'a DocName,
        upto: u64,
    },
    PastHeads {
        doc: &'a DocName,
    },
    FactHash {
        doc: &'a DocName,
        upto: Seq,
        size: u64,
    },
    /// The list of a blob's pieces, by the stored hash of the blob.
    PieceList(&'a [u8; 32]),
    /// A piece, by its stored hash.
    Piece(&'a [u8; 32]),
    Setting(&'a str),
    Secret(&'a str),
    /// The reason of a rejection, by the stored key of the entry.
    RejectionReason(&'a [u8; 32]),
    /// A rejected update, by the stored key of the entry.
    RejectedUpdate(&'a [u8; 32]),
}

impl ValueSeal {
    /// Opens the data key of an encrypted store.
    pub(super) fn unlock(
        connection: &Connection,
        path: &Path,
        key: Option<&UnlockKey>,
    ) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Key { path: path.to_owned(), source };
        let record = read_record(connection)?.ok_or(failed(KeyError::DamagedRecord))?;
        let key = key.ok_or_else(|| failed(record.missing_key()))?;
        let data_key = record.unlock(key).map_err(failed)?;
        Ok(Self::new(data_key, record.kind()))
    }

    /// Makes the data key of a new store, and writes its record.
    pub(super) fn create(
        tx: &Connection,
        path: &Path,
        key: &UnlockKey,
    ) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Key { path: path.to_owned(), source };
        let (record, data_key) = KeyRecord::create(key).map_err(failed)?;
        write_record(tx, &record)?;
        Ok(Self::new(data_key, record.kind()))
    }

    fn new(key: DataKey, kind: KeyKind) -> Self {
        let values = key.cipher("values");
        Self(Some(StoreCipher { key, values, kind: Mutex::new(kind) }))
    }

    /// Returns the data key; `None` for a plain store.
    pub(super) fn data_key(&self) -> Option<&DataKey> {
        self.0.as_ref().map(|cipher| &cipher.key)
    }

    /// Returns the bytes to store for a value.
    pub(super) fn seal<'v>(&self, place: ValuePlace<'_>, plain: &'v [u8]) -> Cow<'v, [u8]> {
        match &self.0 {
            None => Cow::Borrowed(plain),
            Some(cipher) => Cow::Owned(place.with_parts(|parts| cipher.values.seal(parts, plain))),
        }
    }

    /// Returns the value of stored bytes; `None` if they are damaged or belong elsewhere.
    pub(super) fn open(&self, place: ValuePlace<'_>, stored: Vec<u8>) -> Option<Vec<u8>> {
        match &self.0 {
            None => Some(stored),
            Some(cipher) => place.with_parts(|parts| cipher.values.open(parts, &stored)),
        }
    }

    /// Reports whether stored bytes are sound and belong to their place, as far as sealing shows.
    pub(super) fn opens(&self, place: ValuePlace<'_>, stored: &[u8]) -> bool {
        let Some(cipher) = &self.0 else { return true };
        place.with_parts(|parts| cipher.values.open(parts, stored)).is_some()
    }

    /// Returns the text to store for a text: hexadecimal digits, if it is sealed.
    pub(super) fn seal_text<'v>(&self, place: ValuePlace<'_>, plain: &'v str) -> Cow<'v, str> {
        match self.seal(place, plain.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(plain),
            Cow::Owned(sealed) => Cow::Owned(to_hex(&sealed)),
        }
    }

    /// Returns the text of a stored text; `None` if it is damaged or belongs elsewhere.
    pub(super) fn open_text(&self, place: ValuePlace<'_>, stored: String) -> Option<String> {
        if self.0.is_none() {
            return Some(stored);
        }
        String::from_utf8(self.open(place, from_hex(&stored)?)?).ok()
    }

    /// Returns the length of the stored bytes of a value.
    pub(super) fn stored_len(&self, len: usize) -> usize {
        len + if self.0.is_some() { SEAL_BYTES } else { 0 }
    }

    /// Returns the hash under which content is stored: of an encrypted store, one that does not
    /// tell others what the content is.
    pub(super) fn stored_hash(&self, hash: &ContentHash) -> [u8; 32] {
        match &self.0 {
            None => *hash.as_bytes(),
            Some(cipher) => cipher.values.keyed_hash(&[b"content", hash.as_bytes()]),
        }
    }

    /// Returns the text under which a setting or a first sight is stored. Keys can contain the
    /// names of peers, paths, and hashes.
    pub(super) fn stored_key<'k>(&self, table: &str, key: &'k str) -> Cow<'k, str> {
        let Some(cipher) = &self.0 else { return Cow::Borrowed(key) };
        Cow::Owned(to_hex(&cipher.values.keyed_hash(&[table.as_bytes(), key.as_bytes()])))
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string can be written");
        text
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8; 2]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

/// Reads the key record; `None` if no copy of it is whole.
fn read_record(connection: &Connection) -> Result<Option<KeyRecord>, StoreError> {
    let find = "SELECT value FROM meta WHERE key = ?1";
    for setting in KEY_SETTINGS {
        let found = connection.query_row(find, [setting], |row| row.get(0)).optional();
        let found: Option<Vec<u8>> = found.map_err(store_error(READ_KEY))?;
        if let Some(Ok(record)) = found.as_deref().map(KeyRecord::decode) {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

fn write_record(tx: &Connection, record: &KeyRecord) -> Result<(), StoreError> {
    let write = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
    for setting in KEY_SETTINGS {
        tx.execute(write, (setting, record.encode())).map_err(store_error(CHANGE_KEY))?;
    }
    Ok(())
}

impl ValuePlace<'_> {
    /// Calls a function with the parts that distinguish this place from all others.
    fn with_parts<T>(self, call: impl FnOnce(&[&[u8]]) -> T) -> T {
        match self {
            Self::Update { doc, seq, origin, at } => call(&[
                b"update",
                doc.as_str().as_bytes(),
                &seq.to_le_bytes(),
                &origin.0.to_le_bytes(),
                &at.0.to_le_bytes(),
            ]),
            Self::Snapshot { doc, upto } => {
                call(&[b"snapshot", doc.as_str().as_bytes(), &upto.to_le_bytes()])
            }
            Self::PastHeads { doc } => call(&[b"past heads", doc.as_str().as_bytes()]),
            Self::FactHash { doc, upto, size } => call(&[
                b"fact",
                doc.as_str().as_bytes(),
                &upto.0.to_le_bytes(),
                &size.to_le_bytes(),
            ]),
            Self::PieceList(hash) => call(&[b"piece list", hash]),
            Self::Piece(hash) => call(&[b"piece", hash]),
            Self::Setting(key) => call(&[b"setting", key.as_bytes()]),
            Self::Secret(key) => call(&[b"secret", key.as_bytes()]),
            Self::RejectionReason(key) => call(&[b"rejection reason", key]),
            Self::RejectedUpdate(key) => call(&[b"rejected update", key]),
        }
    }
}
