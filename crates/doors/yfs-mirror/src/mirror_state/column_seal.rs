//! Sealing of the columns that reveal names or contents, for the mirror of an encrypted workspace.
//!
//! The files of the directory are plain, because programs read them. The state of the mirror is
//! sealed all the same: it outlives them, and lies beside the encrypted store.

use std::{borrow::Cow, fmt::Write, sync::Arc};

use yfs::Cipher;

/// Seals columns, or leaves those of a plain workspace's mirror as they are.
#[derive(Debug, Clone, Default)]
pub(super) struct ColumnSeal(Option<Arc<Cipher>>);

/// Seals the columns of one row. Each value is bound to its column and row.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowSeal<'a> {
    seal: &'a ColumnSeal,
    table: &'a str,
    /// The primary key of the row.
    key: &'a str,
}

impl ColumnSeal {
    pub(super) fn new(cipher: Option<Arc<Cipher>>) -> Self {
        Self(cipher)
    }

    pub(super) fn is_plain(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the seal of the row of a table with a primary key.
    pub(super) fn row<'a>(&'a self, table: &'a str, key: &'a str) -> RowSeal<'a> {
        RowSeal { seal: self, table, key }
    }
}

impl RowSeal<'_> {
    /// Returns the bytes to store.
    pub(super) fn bytes<'v>(&self, column: &str, plain: &'v [u8]) -> Cow<'v, [u8]> {
        match &self.seal.0 {
            None => Cow::Borrowed(plain),
            Some(cipher) => Cow::Owned(cipher.seal(&self.place(column), plain)),
        }
    }

    /// Returns the text to store: hexadecimal digits, if it is sealed.
    pub(super) fn text<'v>(&self, column: &str, plain: &'v str) -> Cow<'v, str> {
        match self.bytes(column, plain.as_bytes()) {
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
    pub(super) fn open_bytes(&self, column: &str, stored: Vec<u8>) -> Option<Vec<u8>> {
        match &self.seal.0 {
            None => Some(stored),
            Some(cipher) => cipher.open(&self.place(column), &stored),
        }
    }

    /// Returns the text of a stored column; `None` if it was changed or belongs elsewhere.
    pub(super) fn open_text(&self, column: &str, stored: String) -> Option<String> {
        if self.seal.is_plain() {
            return Some(stored);
        }
        let (pairs, rest) = stored.as_bytes().as_chunks::<2>();
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = |pair: &[u8; 2]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
        let sealed: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        let sealed = sealed.filter(|_| rest.is_empty())?;
        String::from_utf8(self.open_bytes(column, sealed)?).ok()
    }

    fn place<'a>(&'a self, column: &'a str) -> [&'a [u8]; 3] {
        [self.table, self.key, column].map(str::as_bytes)
    }
}
