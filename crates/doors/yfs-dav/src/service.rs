//! The service: its state, the methods, and the checks before each.

use std::sync::Arc;

use http::{HeaderValue, Method, StatusCode, header, request::Parts};
use parking_lot::Mutex;
use tokio::time::Instant;
use yfs_types::path::VPath;
use yfs_vfs::{FsCode, FsError, Stat};

use crate::{
    answer::{DavError, DavResponse, empty_response},
    client_memory::ClientMemory,
    conditions::{entity_tag, names_tag},
    href::{href, path_of_header},
    if_header::{IfList, IfState},
    lock_table::{DavLock, LockTable},
    request::{DavCaller, DavContent, DavRequest},
    side_files::SideFiles,
    xml::escape,
};

/// The greatest length of a body of XML, in bytes.
pub const MAX_XML_LEN: usize = 256 << 10;

/// The methods, as `Allow` lists them.
const METHODS: &str = "OPTIONS, GET, HEAD, PUT, DELETE, MKCOL, COPY, MOVE, PROPFIND, PROPPATCH, \
                       LOCK, UNLOCK";

/// WebDAV over a filesystem. All clients of a workspace share one service.
#[derive(Debug)]
pub struct DavService {
    prefix: String,
    pub(crate) locks: Mutex<LockTable>,
    pub(crate) memory: Mutex<ClientMemory>,
    pub(crate) sides: Mutex<SideFiles>,
    /// Held while dead properties are read and written.
    pub(crate) properties: futures::lock::Mutex<()>,
}

/// One request, with all that its method needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DavCall<'a> {
    pub(crate) service: &'a Arc<DavService>,
    pub(crate) caller: &'a DavCaller,
    pub(crate) request: &'a DavRequest<'a>,
}

/// What a method changes, as far as locks care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockedChange {
    /// The content or the properties.
    Content,
    /// The name: the object is made, removed or moved, with all that is below it.
    Name,
}

impl DavService {
    /// Makes a service whose files are below a path of URLs, such as `/dav`.
    pub fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            locks: Mutex::default(),
            memory: Mutex::default(),
            sides: Mutex::default(),
            properties: futures::lock::Mutex::default(),
        }
    }

    /// Returns the path of URLs below which the files are.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Reports whether the body of a request is the content of a file, rather than XML of at most
    /// [`MAX_XML_LEN`] bytes.
    pub fn takes_file(method: &Method) -> bool {
        method == Method::PUT
    }

    /// Prepares for the content of a file, before it has arrived: it takes the place of what this
    /// client has begun with the file. To be called before [`handle`](Self::handle) for each
    /// request whose body [is a file](Self::takes_file).
    ///
    /// # Errors
    ///
    /// Fails if the content would be refused anyway, as far as that is known.
    pub async fn expect_content(
        self: &Arc<Self>,
        caller: &DavCaller,
        parts: &Parts,
    ) -> Result<(), DavError> {
        let request = DavRequest::of(&self.prefix, parts)?;
        let call = DavCall { service: self, caller, request: &request };
        // Before the locks: what is locked outside of a caller's files is not the caller's to know.
        call.find(&request.path).await?;
        call.check_if().await?;
        call.check_locks(&request.path, LockedChange::Content)?;
        if request.header("content-length") != Some("0") {
            call.drop_holds();
        }
        Ok(())
    }

    /// Answers a request. It may block: it reads and writes the workspace.
    ///
    /// # Errors
    ///
    /// A refused request has changed nothing.
    pub async fn handle(
        self: &Arc<Self>,
        caller: &DavCaller,
        parts: &Parts,
        content: DavContent,
    ) -> Result<DavResponse, DavError> {
        if parts.method == Method::OPTIONS {
            return Ok(options());
        }
        let request = DavRequest::of(&self.prefix, parts)?;
        let call = DavCall { service: self, caller, request: &request };
        call.check_if().await?;
        if !matches!(parts.method.as_str(), "GET" | "HEAD" | "PUT") {
            call.check_tags().await?;
        }
        match parts.method.as_str() {
            "GET" => call.get(false).await,
            "HEAD" => call.get(true).await,
            "PUT" => call.put(content).await,
            "DELETE" => call.delete().await,
            "MKCOL" => call.mkcol(&content).await,
            "COPY" => call.transfer(false).await,
            "MOVE" => call.transfer(true).await,
            "PROPFIND" => call.propfind(&content).await,
            "PROPPATCH" => call.proppatch(&content).await,
            "LOCK" => call.lock(&content).await,
            "UNLOCK" => call.unlock().await,
            _ => {
                let mut response = empty_response(StatusCode::METHOD_NOT_ALLOWED);
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(METHODS));
                Ok(response)
            }
        }
    }
}

/// Answers OPTIONS. The Explorer needs `MS-Author-Via`.
fn options() -> DavResponse {
    let mut response = empty_response(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(METHODS));
    headers.insert("dav", HeaderValue::from_static("1, 2, 3"));
    headers.insert("ms-author-via", HeaderValue::from_static("DAV"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    response
}

impl DavCall<'_> {
    /// Returns the description of what is at a path; `None` if nothing is.
    pub(crate) async fn find(&self, path: &VPath) -> Result<Option<Stat>, FsError> {
        match self.caller.fs.stat(path).await {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Rejects a new name whose parent is no directory.
    pub(crate) async fn needs_parent(&self, path: &VPath) -> Result<(), DavError> {
        let parent = path.parent().unwrap_or_else(VPath::root);
        match self.find(&parent).await? {
            Some(stat) if stat.is_directory() => Ok(()),
            _ => Err(DavError::new(StatusCode::CONFLICT, "the parent is no collection")),
        }
    }

    /// Rejects a change that a lock of another client forbids.
    pub(crate) fn check_locks(&self, path: &VPath, change: LockedChange) -> Result<(), DavError> {
        let (table, now) = (self.service.locks.lock(), Instant::now());
        self.needs_one_of(&table.covering(path, now))?;
        if change == LockedChange::Content {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.needs_one_of(&table.covering(&parent, now))?;
        }
        let below = table.below(path, now);
        below.chunk_by(|one, other| one.root == other.root).try_for_each(|at| self.needs_one_of(at))
    }

    /// Reports whether the caller holds a lock of what the request is about, and names it.
    pub(crate) fn holds_lock(&self) -> bool {
        let locks = self.service.locks.lock().covering(&self.request.path, Instant::now());
        locks.iter().any(|lock| self.is_submitted(lock))
    }

    fn needs_one_of(&self, locks: &[DavLock]) -> Result<(), DavError> {
        match locks.first() {
            Some(lock) if !locks.iter().any(|lock| self.is_submitted(lock)) => {
                Err(self.locked(&lock.root))
            }
            _ => Ok(()),
        }
    }

    fn is_submitted(&self, lock: &DavLock) -> bool {
        let holder = &self.caller.client.credential;
        lock.holder == *holder && self.request.conditions.tokens().any(|t| *t == *lock.token)
    }

    fn locked(&self, root: &VPath) -> DavError {
        let href = href(self.request.prefix, root, false);
        let href = escape(&href);
        let xml =
            format!("<D:lock-token-submitted><D:href>{href}</D:href></D:lock-token-submitted>");
        DavError::precondition(StatusCode::LOCKED, xml)
    }

    /// Evaluates the `If` header.
    async fn check_if(&self) -> Result<(), DavError> {
        let lists = &self.request.conditions.lists;
        for list in lists {
            if self.holds(list).await? {
                return Ok(());
            }
        }
        if lists.is_empty() { Ok(()) } else { Err(failed()) }
    }

    /// Reports whether all conditions of a list hold.
    async fn holds(&self, list: &IfList) -> Result<bool, DavError> {
        let path = match &list.resource {
            None => Some(self.request.path.clone()),
            // A resource of another server has none of the states.
            Some(url) => path_of_header(self.request.prefix, self.request.headers, url).ok(),
        };
        let tag = match &path {
            Some(path) if list.conditions.iter().any(|c| matches!(c.state, IfState::Tag(_))) => {
                self.tag_of(path).await?
            }
            _ => None,
        };
        let locks = path.map(|path| self.service.locks.lock().covering(&path, Instant::now()));
        let locks = locks.unwrap_or_default();
        Ok(list.conditions.iter().all(|condition| {
            let has_state = match &condition.state {
                IfState::Token(token) => locks.iter().any(|lock| *lock.token == **token),
                IfState::Tag(expected) => tag.as_deref() == Some(expected),
            };
            has_state != condition.is_negated
        }))
    }

    /// Evaluates `If-Match` and `If-None-Match`.
    async fn check_tags(&self) -> Result<(), DavError> {
        let (known, unknown) =
            (self.request.header("if-match"), self.request.header("if-none-match"));
        if known.is_none() && unknown.is_none() {
            return Ok(());
        }
        let tag = self.tag_of(&self.request.path).await?;
        let exists = self.find(&self.request.path).await?.is_some();
        let names = |tags: &str| match tags {
            "*" => exists,
            tags => tag.as_deref().is_some_and(|tag| names_tag(tags, tag)),
        };
        let passes = known.is_none_or(names) && !unknown.is_some_and(names);
        if passes { Ok(()) } else { Err(failed()) }
    }

    /// Returns the entity tag of what is at a path.
    async fn tag_of(&self, path: &VPath) -> Result<Option<String>, DavError> {
        let stat = self.find(path).await?;
        Ok(stat.and_then(|stat| Some(entity_tag(&stat.id, stat.version.as_ref()?))))
    }
}

fn failed() -> DavError {
    DavError::new(StatusCode::PRECONDITION_FAILED, "a condition of the request does not hold")
}
