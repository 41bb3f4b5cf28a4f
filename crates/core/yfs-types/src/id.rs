//! Identifiers of files, workspaces, clients and items.
//!
//! Each has its own type and is checked when it is made.

use std::{borrow::Borrow, fmt};

use smol_str::SmolStr;
use thiserror::Error;

/// The alphabet of generated ids (`docs/spec/filesystem.md`, "File IDs are Guids").
pub const ID_ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The length of generated ids, in characters.
pub const ID_LEN: usize = 15;

/// The greatest length of an accepted id, in bytes. Other implementations may use longer ids than
/// [`ID_LEN`].
pub(crate) const MAX_ID_LEN: usize = 64;

/// Which bytes ids may have. Listings parse the id of each entry.
const IS_LEGAL: [bool; 256] = {
    let mut legal = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        legal[byte] = (byte as u8).is_ascii_graphic() && byte != b'/' as usize && byte != 0x5c;
        byte += 1;
    }
    legal
};

/// The permanent identifier of a file or directory, and the guid of a file's content document.
///
/// Invariant: 1 to 64 bytes, printable ASCII other than `/` and `\`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(SmolStr);

/// The identifier of a workspace, which is the guid of its main document.
pub type WorkspaceId = FileId;

/// The identifier of one writer of a document. Random, and below 2^53.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u64);

/// The identifier of one item of a document: the `clock`-th unit that `client` wrote.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId {
    /// The writer.
    pub client: ClientId,
    /// The number of units that the client had written before it.
    pub clock: u32,
}

/// The error of a value that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IdError {
    /// The text is empty, too long, or holds a character that ids never have.
    #[error("invalid id {0:?}")]
    Malformed(String),
    /// The number does not fit into 53 bits.
    #[error("invalid client id {0}")]
    ClientTooLarge(u64),
}

impl FileId {
    /// Parses an id from another source.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let fits = (1..=MAX_ID_LEN).contains(&text.len());
        if fits
            && text.bytes().all(|byte| IS_LEGAL[usize::from(byte)])
            && text != "."
            && text != ".."
        {
            Ok(Self(text.into()))
        } else {
            Err(IdError::Malformed(text.chars().take(MAX_ID_LEN).collect()))
        }
    }

    /// Makes an id from uniformly distributed bytes: a hash, or a random source.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let mut number = u128::from_be_bytes(bytes);
        let mut text = [0; ID_LEN];
        for digit in &mut text {
            *digit = ID_ALPHABET[(number % 36) as usize];
            number /= 36;
        }
        Self(SmolStr::new(std::str::from_utf8(&text).expect("the alphabet is ASCII")))
    }

    /// Returns the file's id in a guid `{workspace}.files.{id}.content`, by which later versions of
    /// the reference implementation name the content of a file; none in other guids.
    pub fn within_guid(guid: &str) -> Option<&str> {
        let (_, id) = guid.strip_suffix(".content")?.rsplit_once(".files.")?;
        Some(id)
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ClientId {
    /// One more than the greatest client id; the limit of exact integers in JavaScript.
    pub const LIMIT: u64 = 1 << 53;

    /// Checks that JavaScript can represent the number exactly.
    pub fn new(number: u64) -> Result<Self, IdError> {
        if number < Self::LIMIT { Ok(Self(number)) } else { Err(IdError::ClientTooLarge(number)) }
    }

    /// Makes a client id from a random number. It is below 2^52; the ids above are for conversions.
    pub fn from_random(number: u64) -> Self {
        Self(number & ((1 << 52) - 1))
    }

    /// Returns the id as a number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl ItemId {
    /// Makes the id of the item at `clock` of `client`.
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
