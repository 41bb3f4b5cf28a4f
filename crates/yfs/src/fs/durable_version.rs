//! Versions that a writer may keep for as long as it likes and pass as the base of a write.
//!
//! The version that comes with a read names a record of the log, which compaction forgets. A lasting one
//! holds what the document itself needs to find that state again: which items it had, and which of them
//! were deleted (see [`yfs_engine::content::Version`]). It survives restarts and costs a few bytes per
//! writer. Of content that is kept by reference it is the hash.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use yfs_engine::{content::Version, hash::ContentHash};
use yfs_vfs::VersionToken;

use super::convert_types::ContentLocation;

/// What tokens of texts begin with; those that name a record begin with a digit.
const TEXT: &str = "s:";
/// What tokens of blobs begin with.
const BLOB: &str = "b:";

/// A state of a file that can be found again.
#[derive(Debug, Clone)]
pub(crate) enum DurableVersion {
    /// Of a text: the state of its document.
    Text(Version),
    /// Of bytes: their hash.
    Blob(ContentHash),
}

impl DurableVersion {
    /// Writes it as a token.
    pub(crate) fn token(&self) -> VersionToken {
        match self {
            Self::Text(version) => {
                VersionToken::new(format!("{TEXT}{}", STANDARD_NO_PAD.encode(version.encode())))
            }
            Self::Blob(hash) => VersionToken::new(format!("{BLOB}{hash}")),
        }
    }

    /// Reads a token; nothing if it is of the other sort.
    pub(crate) fn of_token(token: &VersionToken) -> Option<Self> {
        if let Some(text) = token.as_str().strip_prefix(TEXT) {
            let bytes = STANDARD_NO_PAD.decode(text).ok()?;
            return Version::decode(&bytes).ok().map(Self::Text);
        }
        token.as_str().strip_prefix(BLOB)?.parse().ok().map(Self::Blob)
    }

    /// Tells whether it is the blob that a file holds.
    pub(crate) fn is_blob_of(&self, holds: &ContentLocation) -> bool {
        match (self, holds) {
            (Self::Blob(hash), ContentLocation::Blob(blob)) => *hash == blob.hash,
            _ => false,
        }
    }
}
