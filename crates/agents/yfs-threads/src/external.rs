//! External files: entries whose bytes are in another system.
//!
//! Such an entry is an empty file whose metadata names a URL. Nothing fetches it by itself: a
//! program that wants the bytes passes an [`ExternalResolver`], and they are checked against the
//! size and the hash that the entry states. A file with bytes of its own is not external, whatever
//! its metadata say, so that what another program writes to an entry is never hidden.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use thiserror::Error;
use yfs_vfs::Stat;

/// The member of a file's metadata with the record of an external file.
pub(crate) const EXTERNAL: &str = "yfs.external";

/// The schemes of URLs of external files.
const SCHEMES: [&str; 6] = ["https", "s3", "r2", "gs", "az", "http"];

/// The longest URL, in bytes.
const MAX_URL_LEN: usize = 8 << 10;

/// The most bytes that are fetched of a file whose entry states no size.
pub(crate) const MAX_EXTERNAL_LEN: u64 = 256 << 20;

/// An entry whose bytes are elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalFile {
    /// Where the bytes are, for example `https://…` or `s3://bucket/key`.
    pub url: String,
    /// Their number, if it is known.
    pub size: Option<u64>,
    /// Their hash, if it is known: `blake3:` or `sha256:` and hexadecimal digits.
    pub hash: Option<String>,
}

/// The reason why an external file is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadExternalFile {
    /// The URL has no scheme of an external file, or characters that URLs never have.
    #[error("not the URL of an external file: {0:?} (expected https, http, s3, r2, gs or az)")]
    Url(String),
    /// The hash is not one that can be checked.
    #[error("not a hash: {0:?} (expected blake3: or sha256: and 64 hexadecimal digits)")]
    Hash(String),
}

/// The failure of fetching an external file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExternalFailure {
    /// The resolver could not fetch it.
    #[error("cannot fetch {url}")]
    Fetch {
        /// Where the bytes are.
        url: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The bytes have another number than the entry states.
    #[error("{url} has {actual} bytes, and its entry states {expected}")]
    Size {
        /// Where the bytes are.
        url: String,
        /// The size that the entry states.
        expected: u64,
        /// The number of bytes that were fetched.
        actual: u64,
    },
    /// The bytes have another hash than the entry states.
    #[error("the bytes of {url} do not have the hash that its entry states")]
    Hash {
        /// Where the bytes are.
        url: String,
    },
    /// There are more bytes than the limit.
    #[error("{url} has more than {limit} bytes")]
    TooLong {
        /// Where the bytes are.
        url: String,
        /// The limit.
        limit: u64,
    },
}

/// A fetcher of external files, which a program passes to opt in.
#[async_trait]
pub trait ExternalResolver: Send + Sync + fmt::Debug {
    /// Fetches the bytes at a URL. More than `limit` bytes are not needed: the call may end with
    /// `limit + 1`.
    ///
    /// The URL comes from a file that others may have written. A resolver decides itself which
    /// hosts and buckets it reaches.
    async fn fetch(
        &self,
        url: &str,
        limit: u64,
    ) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>>;
}

impl ExternalFile {
    /// Makes an entry for a URL.
    pub fn at(url: impl Into<String>) -> Self {
        Self { url: url.into(), size: None, hash: None }
    }

    /// Checks the URL and the hash.
    ///
    /// # Errors
    ///
    /// If either is not one of an external file.
    pub fn check(&self) -> Result<(), BadExternalFile> {
        let bad = || BadExternalFile::Url(self.url.chars().take(200).collect());
        let (scheme, rest) = self.url.split_once("://").ok_or_else(bad)?;
        let is_plain = |c: char| !c.is_control() && !c.is_whitespace();
        let is_url = SCHEMES.contains(&scheme)
            && !rest.is_empty()
            && !rest.starts_with('/')
            && self.url.len() <= MAX_URL_LEN
            && self.url.chars().all(is_plain);
        if !is_url {
            return Err(bad());
        }
        match &self.hash {
            Some(hash) if split_hash(hash).is_none() => Err(BadExternalFile::Hash(hash.clone())),
            _ => Ok(()),
        }
    }

    /// Returns the entry of a file, if it is external.
    pub(crate) fn of(stat: &Stat) -> Option<Self> {
        if !stat.is_file() || stat.size > 0 {
            return None;
        }
        let record = stat.metadata.get(EXTERNAL)?.as_object()?;
        let text = |key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
        let size = record.get("size").and_then(Value::as_u64);
        let file = Self { url: text("url")?, size, hash: text("hash") };
        file.check().is_ok().then_some(file)
    }

    /// Returns the record for the metadata of a file.
    pub(crate) fn record(&self) -> Value {
        let mut record = Map::new();
        record.insert("url".to_owned(), self.url.as_str().into());
        record.insert("size".to_owned(), self.size.into());
        record.insert("hash".to_owned(), self.hash.as_deref().into());
        record.into()
    }

    /// Fetches the bytes and checks them.
    pub(crate) async fn fetch(
        &self,
        resolver: &dyn ExternalResolver,
    ) -> Result<Bytes, ExternalFailure> {
        let url = self.url.clone();
        let limit = self.size.unwrap_or(MAX_EXTERNAL_LEN);
        let data = match resolver.fetch(&url, limit).await {
            Ok(data) => data,
            Err(source) => return Err(ExternalFailure::Fetch { url, source }),
        };
        let actual = data.len() as u64;
        match self.size {
            Some(expected) if expected != actual => {
                return Err(ExternalFailure::Size { url, expected, actual });
            }
            None if actual > limit => return Err(ExternalFailure::TooLong { url, limit }),
            _ => (),
        }
        let is_right = self.hash.as_deref().and_then(split_hash).is_none_or(|(kind, expected)| {
            let actual = match kind {
                HashKind::Blake3 => *blake3::hash(&data).as_bytes(),
                HashKind::Sha256 => Sha256::digest(&data).into(),
            };
            actual == expected
        });
        if is_right { Ok(data) } else { Err(ExternalFailure::Hash { url }) }
    }
}

#[derive(Debug, Clone, Copy)]
enum HashKind {
    Blake3,
    Sha256,
}

fn split_hash(text: &str) -> Option<(HashKind, [u8; 32])> {
    let (kind, digits) = text.split_once(':')?;
    let kind = match kind {
        "blake3" => HashKind::Blake3,
        "sha256" => HashKind::Sha256,
        _ => return None,
    };
    let hash = blake3::Hash::from_hex(digits).ok()?;
    Some((kind, *hash.as_bytes()))
}
