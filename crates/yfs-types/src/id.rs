//! Identifiers: of files, workspaces, clients and items.
//!
//! Each is a type of its own, checked where it is made.

use std::{borrow::Borrow, fmt};

use smol_str::SmolStr;
use thiserror::Error;

/// The alphabet of ids that we make (seed 001, "File IDs are Guids").
pub const ID_ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The length of ids that we make, in characters.
pub const ID_LEN: usize = 15;

/// The greatest length of an id that we read, in bytes. Other implementations may use longer ones
/// than ours.
pub const MAX_ID_LEN: usize = 64;

/// Identifies a file or folder for ever, and a file's content document (it is that document's guid).
///
/// Invariant: 1 to [`MAX_ID_LEN`] bytes, printable ASCII other than `/` and `\`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(SmolStr);

/// Identifies a workspace; it is the guid of its main document.
pub type WorkspaceId = FileId;

/// Identifies one writer of a document. Random, and below 2^53.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u64);

/// Identifies one item of a document: the `clock`-th unit that `client` wrote.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId {
    /// Who wrote it.
    pub client: ClientId,
    /// How many units that client had written before it.
    pub clock: u32,
}

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IdError {
    /// It is empty, too long, or holds a character that ids never have.
    #[error("not an id: {0:?}")]
    Malformed(String),
    /// It does not fit into 53 bits.
    #[error("not a client id: {0}")]
    ClientTooLarge(u64),
}

impl FileId {
    /// Reads an id that somebody made.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let fits = (1..=MAX_ID_LEN).contains(&text.len());
        let legal = |byte: u8| byte.is_ascii_graphic() && byte != b'/' && byte != b'\\';
        if fits && text.bytes().all(legal) && text != "." && text != ".." {
            Ok(Self(text.into()))
        } else {
            Err(IdError::Malformed(text.chars().take(MAX_ID_LEN).collect()))
        }
    }

    /// Makes an id from bytes that are evenly distributed: a hash, or a random source.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let mut number = u128::from_be_bytes(bytes);
        let mut text = [0; ID_LEN];
        for digit in &mut text {
            *digit = ID_ALPHABET[(number % 36) as usize];
            number /= 36;
        }
        Self(SmolStr::new(std::str::from_utf8(&text).expect("the alphabet is ASCII")))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ClientId {
    /// One more than the greatest client id: JavaScript's exact integers end here.
    pub const LIMIT: u64 = 1 << 53;

    /// Checks that the number is one that JavaScript can hold.
    pub fn new(number: u64) -> Result<Self, IdError> {
        if number < Self::LIMIT { Ok(Self(number)) } else { Err(IdError::ClientTooLarge(number)) }
    }

    /// Makes a client id from a random number, below 2^52 (the ids above belong to conversions).
    pub fn from_random(number: u64) -> Self {
        Self(number & ((1 << 52) - 1))
    }

    /// Returns the id as a number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl ItemId {
    /// Names the item at `clock` of `client`.
    pub fn new(client: ClientId, clock: u32) -> Self {
        Self { client, clock }
    }
}

impl Borrow<str> for FileId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.client, self.clock)
    }
}
