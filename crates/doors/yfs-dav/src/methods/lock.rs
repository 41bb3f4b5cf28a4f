//! LOCK and UNLOCK.

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use tokio::time::Instant;
use yfs_types::time::Millis;
use yfs_vfs::{CreateMode, FsCode, WriteOptions};

use super::properties::active_lock;
use crate::{
    answer::{DavError, DavResponse, empty_response, xml_response},
    href::href,
    lock_table::{DavLock, LockRefusal, LockRequest, new_timeout, timeout_of},
    request::{DavContent, Depth},
    service::{DavCall, LockedChange},
    side_files::is_side_file,
    xml::{XmlElement, escape, parse},
};

/// The greatest length of what a client says of a lock's owner, in bytes.
const MAX_OWNER_LEN: usize = 4 << 10;

impl DavCall<'_> {
    /// Answers LOCK. A lock of a name that nothing has makes an empty file.
    pub(crate) async fn lock(&self, content: &DavContent) -> Result<DavResponse, DavError> {
        if !self.caller.may_write {
            return Err(DavError::new(StatusCode::FORBIDDEN, "the token allows no writing"));
        }
        let body = content.bytes().unwrap_or_default();
        if body.is_empty() {
            return self.refresh();
        }
        let path = &self.request.path;
        let wish = self.wish(body)?;
        let stat = self.find(path).await?;
        let is_side = stat.is_none() && is_side_file(path);
        if stat.is_none() {
            self.check_locks(path, LockedChange::Name)?;
            self.needs_parent(path).await?;
        }
        let lock = self.service.locks.lock().lock(wish, Instant::now());
        let lock = lock.map_err(|refusal| self.refused(refusal))?;
        let made = match (&stat, is_side) {
            (Some(_), _) => Ok(false),
            (None, true) => self.make_side_file(),
            (None, false) => self.make_empty().await,
        };
        let is_new = made.inspect_err(|_| {
            let holder = &self.caller.client.credential;
            self.service.locks.lock().unlock(path, &lock.token, holder, Instant::now());
        })?;
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        let mut response = self.describe(&lock, status);
        if let Ok(token) = HeaderValue::try_from(format!("<{}>", lock.token)) {
            response.headers_mut().insert("lock-token", token);
        }
        Ok(response)
    }

    /// Answers UNLOCK. What the client has emptied and not written since stays empty.
    pub(crate) async fn unlock(&self) -> Result<DavResponse, DavError> {
        let token = self.request.header("lock-token");
        let token = token.and_then(|token| token.strip_prefix('<')?.strip_suffix('>'));
        let token = token.ok_or_else(|| DavError::bad_request("there is no Lock-Token"))?;
        let (path, holder) = (&self.request.path, &self.caller.client.credential);
        let covers = |lock: &DavLock| *lock.token == *token && lock.holder == *holder;
        let is_held = self.service.locks.lock().covering(path, Instant::now()).iter().any(covers);
        if !is_held {
            let xml = "<D:lock-token-matches-request-uri/>";
            return Err(DavError::precondition(StatusCode::CONFLICT, xml));
        }
        self.end_holds(path).await?;
        self.service.locks.lock().unlock(path, token, holder, Instant::now());
        Ok(empty_response(StatusCode::NO_CONTENT))
    }

    fn wish(&self, body: &[u8]) -> Result<LockRequest, DavError> {
        let root = parse(body)?;
        let malformed = || DavError::bad_request("the body is no lockinfo");
        let scope = root.child("lockscope").filter(|_| root.name.is_dav("lockinfo"));
        let scope = scope.ok_or_else(malformed)?;
        let is_exclusive = scope.child("exclusive").is_some();
        if !is_exclusive && scope.child("shared").is_none() {
            return Err(malformed());
        }
        root.child("locktype").and_then(|kind| kind.child("write")).ok_or_else(malformed)?;
        let owner = root.child("owner").map(XmlElement::inner_xml).unwrap_or_default();
        if owner.len() > MAX_OWNER_LEN {
            return Err(DavError::bad_request("the owner of the lock is too long"));
        }
        let depth = self.request.depth()?.unwrap_or(Depth::Infinity);
        if depth == Depth::One {
            return Err(DavError::bad_request("the depth of a lock is 0 or infinity"));
        }
        Ok(LockRequest {
            root: self.request.path.clone(),
            is_deep: depth == Depth::Infinity,
            is_exclusive,
            owner: owner.into(),
            holder: self.caller.client.credential.clone(),
            timeout: new_timeout(self.request.header("timeout")),
        })
    }

    fn refresh(&self) -> Result<DavResponse, DavError> {
        let timeout = timeout_of(self.request.header("timeout"));
        let (path, holder) = (&self.request.path, &self.caller.client.credential);
        let (mut table, now) = (self.service.locks.lock(), Instant::now());
        let mut tokens = self.request.conditions.tokens();
        let lock = tokens.find_map(|token| table.refresh(path, token, holder, timeout, now));
        drop(table);
        match lock {
            Some(lock) => Ok(self.describe(&lock, StatusCode::OK)),
            None if self.request.conditions.lists.is_empty() => {
                Err(DavError::bad_request("a LOCK has a body, or the token of a lock to refresh"))
            }
            None => {
                let xml = "<D:lock-token-matches-request-uri/>";
                Err(DavError::precondition(StatusCode::PRECONDITION_FAILED, xml))
            }
        }
    }

    /// Makes the empty file of a lock; reports whether it is new.
    async fn make_empty(&self) -> Result<bool, DavError> {
        let path = &self.request.path;
        if self.restore_renamed(path).await?.is_some() {
            return Ok(true);
        }
        let options =
            WriteOptions { create: CreateMode::New, parents: false, ..WriteOptions::default() };
        match self.caller.fs.write(path, Bytes::new(), &options).await {
            Ok(made) => {
                let (client, now) = (&self.caller.client, Instant::now());
                self.service.memory.lock().note_creation(client, made.id, now);
                Ok(true)
            }
            Err(error) if error.code == FsCode::EEXIST => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn make_side_file(&self) -> Result<bool, DavError> {
        let (path, credential) = (&self.request.path, &self.caller.client.credential);
        let mut sides = self.service.sides.lock();
        if sides.get(credential, path).is_some() {
            return Ok(false);
        }
        let now = Millis(jiff::Timestamp::now().as_millisecond());
        Ok(sides.put(credential, path, b"", now).unwrap_or_default())
    }

    fn describe(&self, lock: &DavLock, status: StatusCode) -> DavResponse {
        let lock = active_lock(lock, self.request.prefix);
        let open = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:prop xmlns:D=\"DAV:\">";
        let xml = format!("{open}<D:lockdiscovery>{lock}</D:lockdiscovery></D:prop>\n");
        xml_response(status, xml)
    }

    fn refused(&self, refusal: LockRefusal) -> DavError {
        match refusal {
            LockRefusal::Conflict(root) => {
                let href = href(self.request.prefix, &root, false);
                let href = escape(&href);
                let xml = format!(
                    "<D:no-conflicting-lock><D:href>{href}</D:href></D:no-conflicting-lock>"
                );
                DavError::precondition(StatusCode::LOCKED, xml)
            }
            LockRefusal::TooMany => {
                DavError::new(StatusCode::INSUFFICIENT_STORAGE, "there are too many locks")
            }
            LockRefusal::NoToken => {
                DavError::new(StatusCode::INTERNAL_SERVER_ERROR, "there are no random numbers")
            }
        }
    }
}
