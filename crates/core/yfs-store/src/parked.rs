//! What a store knows of updates that wait in its documents for others that have not arrived.

use yfs_types::time::Millis;

use crate::DocName;

/// The prefix of the settings that hold the notes; then comes the name of the document.
pub(crate) const PARKED_PREFIX: &str = "store:parked:";

/// The least key behind those of all notes.
pub(crate) const PARKED_END: &str = "store:parked;";

/// The greatest length of the name of an author that is kept, in bytes.
const MAX_AUTHOR_LEN: usize = 256;

/// The updates that wait in one document, as the process that changed it last noted.
///
/// A note is local: it lets a reader find these documents without reading all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedNote {
    /// The document.
    pub doc: DocName,
    /// The number of updates that wait.
    pub n_updates: u64,
    /// The memory that they take, in bytes.
    pub n_bytes: u64,
    /// When this store first noted that updates wait in the document, without a pause since.
    pub since: Millis,
    /// The author on whose behalf the latest of them arrived; empty if it is not known.
    pub author: String,
}

impl ParkedNote {
    /// Returns the key of the setting.
    pub(crate) fn key(doc: &DocName) -> String {
        format!("{PARKED_PREFIX}{doc}")
    }

    /// Encodes the note, without its document.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let numbers = [self.n_updates, self.n_bytes, self.since.0.cast_unsigned()];
        let mut bytes: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        let end = self.author.floor_char_boundary(MAX_AUTHOR_LEN);
        bytes.extend_from_slice(&self.author.as_bytes()[..end]);
        bytes
    }

    /// Decodes a note; `None` if the bytes are none.
    pub(crate) fn decode(doc: DocName, bytes: &[u8]) -> Option<Self> {
        let (numbers, author) = bytes.split_at_checked(24)?;
        let number = |at: usize| Some(u64::from_le_bytes(numbers[at..at + 8].try_into().ok()?));
        Some(Self {
            doc,
            n_updates: number(0)?,
            n_bytes: number(8)?,
            since: Millis(number(16)?.cast_signed()),
            author: String::from_utf8(author.to_vec()).ok()?,
        })
    }
}
