//! Requests: who asks, what the headers say, and the content.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header, request::Parts};
use yfs_types::path::VPath;
use yfs_vfs::{FileSystem, FsError, WriteOptions, WriteOutcome};

use crate::{
    answer::DavError,
    href::{path_of_header, path_of_url},
    if_header::IfHeader,
};

/// The greatest length of the name of a client program that is distinguished, in bytes.
const MAX_AGENT_LEN: usize = 128;

/// Who asks: the files that they may see, and by which names their requests belong together.
#[derive(Clone)]
pub struct DavCaller {
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) client: DavClient,
    pub(crate) may_write: bool,
    quota: Option<Arc<dyn Fn() -> Option<DavQuota> + Send + Sync>>,
}

/// A client: a credential, which holds locks, and a program, which has read files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct DavClient {
    pub(crate) credential: Arc<str>,
    pub(crate) agent: Arc<str>,
}

/// The space of a workspace (RFC 4331), in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DavQuota {
    /// What is free.
    pub available: u64,
    /// What the files take.
    pub used: u64,
}

/// The body of a request.
#[derive(Default)]
pub enum DavContent {
    /// None.
    #[default]
    Empty,
    /// All of it, in memory.
    Bytes(Bytes),
    /// A long content, which the server keeps outside memory.
    Stored(Box<dyn StoredContent>),
}

/// A content that is not in memory.
#[async_trait]
pub trait StoredContent: Send + Sync {
    /// Writes the content, from its beginning, as
    /// [`FileSystem::write`] writes bytes. It may be called again after an error.
    async fn write(
        &mut self,
        path: &VPath,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError>;
}

/// A request with its headers read.
#[derive(Debug)]
pub(crate) struct DavRequest<'a> {
    pub(crate) prefix: &'a str,
    pub(crate) path: VPath,
    pub(crate) headers: &'a HeaderMap,
    /// Whether a write whose version is old is merged, rather than refused.
    pub(crate) merges: bool,
    /// The `If` header.
    pub(crate) conditions: IfHeader,
}

/// How much of a tree a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Zero,
    One,
    Infinity,
}

impl DavCaller {
    /// Makes a caller. Requests with the same credential hold the same locks; of those, requests of
    /// the same program are based on what this program has read.
    pub fn new(fs: Arc<dyn FileSystem>, credential: &str, user_agent: &str) -> Self {
        let agent = user_agent.char_indices().take_while(|(at, _)| *at < MAX_AGENT_LEN);
        let agent: String = agent.map(|(_, char)| char).collect();
        let client = DavClient { credential: credential.into(), agent: agent.into() };
        Self { fs, client, may_write: true, quota: None }
    }

    /// Takes the right to lock away. What else it may do is up to its files.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { may_write: false, ..self }
    }

    /// Adds a function that returns the space, if it is known.
    #[must_use]
    pub fn with_quota(self, quota: impl Fn() -> Option<DavQuota> + Send + Sync + 'static) -> Self {
        Self { quota: Some(Arc::new(quota)), ..self }
    }

    pub(crate) fn quota(&self) -> Option<DavQuota> {
        self.quota.as_ref().and_then(|quota| quota())
    }
}

impl DavClient {
    /// Reports whether the program is known to write a file by emptying it first: the Finder and
    /// the Explorer.
    pub(crate) fn empties_first(&self) -> bool {
        ["WebDAVFS", "WebDAVLib", "Microsoft-WebDAV-MiniRedir"]
            .iter()
            .any(|name| self.agent.starts_with(name))
    }
}

impl DavContent {
    /// Returns the bytes, if they are in memory.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Empty => Some(&[]),
            Self::Bytes(bytes) => Some(bytes),
            Self::Stored(_) => None,
        }
    }
}

impl<'a> DavRequest<'a> {
    /// Reads the head of a request.
    pub(crate) fn of(prefix: &'a str, parts: &'a Parts) -> Result<Self, DavError> {
        let path = path_of_url(prefix, parts.uri.path())?;
        let conditions = match parts.headers.get("if") {
            None => IfHeader::default(),
            Some(value) => IfHeader::parse(value.as_bytes())?,
        };
        let query = parts.uri.query().unwrap_or_default();
        let merges = query.split('&').any(|pair| pair == "conflict=merge");
        Ok(Self { prefix, path, headers: &parts.headers, merges, conditions })
    }

    /// Returns the text of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name)?.to_str().ok().map(str::trim)
    }

    /// Returns the depth; `None` if the header is missing.
    pub(crate) fn depth(&self) -> Result<Option<Depth>, DavError> {
        match self.header("depth") {
            None => Ok(None),
            Some("0") => Ok(Some(Depth::Zero)),
            Some("1") => Ok(Some(Depth::One)),
            Some(text) if text.eq_ignore_ascii_case("infinity") => Ok(Some(Depth::Infinity)),
            Some(_) => Err(DavError::bad_request("the depth is 0, 1 or infinity")),
        }
    }

    /// Reports whether what is at the destination may be replaced.
    pub(crate) fn overwrites(&self) -> Result<bool, DavError> {
        match self.header("overwrite") {
            None | Some("T" | "t") => Ok(true),
            Some("F" | "f") => Ok(false),
            Some(_) => Err(DavError::bad_request("Overwrite is T or F")),
        }
    }

    /// Returns the destination of a COPY or MOVE.
    pub(crate) fn destination(&self) -> Result<VPath, DavError> {
        let url = self.header("destination");
        let url = url.ok_or_else(|| DavError::bad_request("there is no Destination"))?;
        path_of_header(self.prefix, self.headers, url)
    }

    /// Rejects a body where the method takes none that is known.
    pub(crate) fn needs_no_content(&self, content: &DavContent) -> Result<(), DavError> {
        if content.bytes().is_some_and(<[u8]>::is_empty) {
            return Ok(());
        }
        Err(DavError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "this method takes no body"))
    }

    /// Reports whether a request is about one range of a file, which a PUT cannot write.
    pub(crate) fn has_content_range(&self) -> bool {
        self.headers.contains_key(header::CONTENT_RANGE)
    }
}

impl From<Bytes> for DavContent {
    fn from(bytes: Bytes) -> Self {
        if bytes.is_empty() { Self::Empty } else { Self::Bytes(bytes) }
    }
}

impl fmt::Debug for DavCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, may_write, .. } = self;
        f.debug_struct("DavCaller").field("client", client).field("may_write", may_write).finish()
    }
}

impl fmt::Debug for DavContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes() {
            Some(bytes) => f.debug_tuple("DavContent").field(&bytes.len()).finish(),
            None => f.write_str("DavContent(Stored)"),
        }
    }
}
