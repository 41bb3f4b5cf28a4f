//! Sealing of the columns that reveal names or contents, for the mirror of an encrypted workspace.
//!
//! The files of the directory are plain, because programs read them. The state of the mirror is
//! sealed all the same: it outlives them, and lies beside the encrypted store.

use std::{borrow::Cow, fmt::Write, sync::Arc};

use yfs::Cipher;

/// The column of a row that a value is bound to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnPlace<'a> {
    pub(super) table: &'a str,
    /// The primary key of the row.
    pub(super) row: &'a str,
    pub(super) column: &'a str,
}

/// Seals columns, or leaves those of a plain workspace's mirror as they are.
#[derive(Debug, Clone, Default)]
pub(super) struct ColumnSeal(Option<Arc<Cipher>>);

impl ColumnSeal {
    pub(super) fn new(cipher: Option<Arc<Cipher>>) -> Self {
        Self(cipher)
    }

    pub(super) fn is_plain(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the bytes to store.
    pub(super) fn bytes<'v>(&self, place: ColumnPlace<'_>, plain: &'v [u8]) -> Cow<'v, [u8]> {
        match &self.0 {
            None => Cow::Borrowed(plain),
            Some(cipher) => Cow::Owned(cipher.seal(&place.parts(), plain)),
        }
    }

    /// Returns the text to store: hexadecimal digits, if it is sealed.
    pub(super) fn text<'v>(&self, place: ColumnPlace<'_>, plain: &'v str) -> Cow<'v, str> {
        match self.bytes(place, plain.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(plain),
            Cow::Owned(sealed) => {
                Cow::Owned(sealed.iter().fold(String::new(), |mut text, byte| {
                    write!(text, "{byte:02x}").expect("a string can be written");
                    text
                }))
            }
        }
    }

    /// Returns the bytes of a stored column; `None` if they were changed or belong elsewhere.
    pub(super) fn open_bytes(&self, place: ColumnPlace<'_>, stored: Vec<u8>) -> Option<Vec<u8>> {
        match &self.0 {
            None => Some(stored),
            Some(cipher) => cipher.open(&place.parts(), &stored),
        }
    }

    /// Returns the text of a stored column; `None` if it was changed or belongs elsewhere.
    pub(super) fn open_text(&self, place: ColumnPlace<'_>, stored: String) -> Option<String> {
        if self.0.is_none() {
            return Some(stored);
        }
        let (pairs, rest) = stored.as_bytes().as_chunks::<2>();
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = |pair: &[u8; 2]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
        let sealed: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        let sealed = sealed.filter(|_| rest.is_empty())?;
        String::from_utf8(self.open_bytes(place, sealed)?).ok()
    }
}

impl<'a> ColumnPlace<'a> {
    fn parts(&self) -> [&'a [u8]; 3] {
        [self.table, self.row, self.column].map(str::as_bytes)
    }
}
