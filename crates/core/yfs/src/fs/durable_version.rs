//! Versions that a writer may keep for any time and pass as the base of a write.
//!
//! The version that a read returns names a record of the log, which compaction may remove. A
//! durable one has the data by which the document itself finds that state: its items, and which of
//! them were deleted (see [`yfs_engine::content::Version`]). It survives restarts and costs a few
//! bytes per writer. For a blob it is the hash.

use std::io::{self, Read};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use yfs_engine::{content::Version, hash::ContentHash};
use yfs_vfs::VersionToken;

use super::convert_types::ContentLocation;

/// The prefix of tokens of texts; tokens that name a record begin with a digit.
const TEXT: &str = "s:";
/// The prefix of tokens of blobs.
const BLOB: &str = "b:";

/// Returns the version of a file whose content is a blob of the bytes that a reader gives, for the
/// base of a write. The version does not expire.
///
/// # Errors
///
/// If the reader fails.
pub fn blob_version_of(content: &mut dyn Read) -> io::Result<VersionToken> {
    let mut hasher = blake3::Hasher::new();
    io::copy(content, &mut hasher)?;
    let hash = ContentHash::from_bytes(*hasher.finalize().as_bytes());
    Ok(DurableVersion::Blob(hash).token())
}

/// A state of a file that can be found again.
#[derive(Debug, Clone)]
pub(crate) enum DurableVersion {
    /// The state of a text document.
    Text(Version),
    /// The hash of a blob.
    Blob(ContentHash),
}

impl DurableVersion {
    /// Encodes the version as a token.
    pub(crate) fn token(&self) -> VersionToken {
        match self {
            Self::Text(version) => {
                VersionToken::new(format!("{TEXT}{}", STANDARD_NO_PAD.encode(version.encode())))
            }
            Self::Blob(hash) => VersionToken::new(format!("{BLOB}{hash}")),
        }
    }

    /// Parses a token, or returns `None` if it names a record.
    pub(crate) fn of_token(token: &VersionToken) -> Option<Self> {
        if let Some(text) = token.as_str().strip_prefix(TEXT) {
            let bytes = STANDARD_NO_PAD.decode(text).ok()?;
            return Version::decode(&bytes).ok().map(Self::Text);
        }
        token.as_str().strip_prefix(BLOB)?.parse().ok().map(Self::Blob)
    }

    /// Reports whether it is the blob of a file.
    pub(crate) fn is_blob_of(&self, location: &ContentLocation) -> bool {
        match (self, location) {
            (Self::Blob(hash), ContentLocation::Blob(blob)) => *hash == blob.hash,
            _ => false,
        }
    }
}
