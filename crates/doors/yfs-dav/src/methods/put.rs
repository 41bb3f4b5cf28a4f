//! PUT: writes a file by the least edit.

use bytes::Bytes;
use http::StatusCode;
use tokio::time::Instant;
use yfs_types::time::Millis;
use yfs_vfs::{CreateMode, FsCode, FsError, Stat, VersionBase, WriteOptions, WriteOutcome};

use super::get::set_tag;
use crate::{
    answer::{DavError, DavResponse, empty_response},
    client_memory::KnownFile,
    conditions::{KnownFileState, RequestConditions, entity_tag},
    if_header::IfState,
    request::DavContent,
    service::{DavCall, LockedChange},
    side_files::is_side_file,
};

impl DavCall<'_> {
    /// Answers PUT.
    pub(crate) async fn put(&self, content: DavContent) -> Result<DavResponse, DavError> {
        let path = &self.request.path;
        if self.request.has_content_range() {
            return Err(DavError::bad_request("a PUT writes a whole file"));
        }
        let conditions = RequestConditions::of(self.request.headers)?;
        let stat = self.find(path).await?;
        self.check_locks(
            path,
            match stat {
                Some(_) => LockedChange::Content,
                None => LockedChange::Name,
            },
        )?;
        match &stat {
            Some(stat) if !stat.is_file() => {
                return Err(DavError::new(StatusCode::METHOD_NOT_ALLOWED, "it is a collection"));
            }
            Some(stat) => self.check_known(stat, &conditions)?,
            None if conditions.create == CreateMode::Never => return Err(stale()),
            None => self.needs_parent(path).await?,
        }
        if stat.is_none() && is_side_file(path) {
            return self.put_side_file(&content);
        }
        let replaced = match &stat {
            Some(_) => None,
            None => self.restore_renamed(path).await?,
        };
        let is_conditional = conditions.known.is_some() || conditions.create == CreateMode::New;
        let is_held = (!is_conditional || replaced.is_some())
            && self.caller.may_write
            && content.bytes().is_some_and(<[u8]>::is_empty);
        let status = if stat.is_none() { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
        let known = stat.as_ref().or(replaced.as_ref());
        if let Some(stat) = known.filter(|stat| is_held && stat.size > 0) {
            self.hold(stat);
            return Ok(empty_response(status));
        }
        let written = self.write(known, conditions, content).await?;
        if known.is_none() {
            let now = Instant::now();
            self.service.memory.lock().note_creation(&self.caller.client, written.id.clone(), now);
        }
        let mut response = empty_response(status);
        if let Some(version) = &written.version {
            set_tag(&mut response, &entity_tag(&written.id, version));
        }
        Ok(response)
    }

    /// Checks the conditions on the file that is there.
    fn check_known(&self, stat: &Stat, conditions: &RequestConditions) -> Result<(), DavError> {
        if conditions.create == CreateMode::New {
            return Err(stale());
        }
        if let Some(known) = &conditions.known {
            known.check_file(&stat.id, self.request.path.as_str())?;
        }
        Ok(())
    }

    /// Writes the content over what the client knows, and remembers it.
    async fn write(
        &self,
        stat: Option<&Stat>,
        conditions: RequestConditions,
        mut content: DavContent,
    ) -> Result<WriteOutcome, DavError> {
        let client = &self.caller.client;
        let known = stat.and_then(|stat| self.service.memory.lock().get(client, &stat.id));
        let mut options = WriteOptions { parents: false, ..WriteOptions::default() };
        if stat.is_none() {
            options.create = CreateMode::New;
        }
        // What its last write was merged into, the client has not read, whatever tag it names.
        let unread = known.as_ref().and_then(|known| known.content.clone());
        let unread = unread.map(VersionBase::Content);
        let outcome = match conditions.known {
            Some(tagged) if self.request.merges || self.holds_lock() => {
                let bases = unread.into_iter().chain([VersionBase::Version(tagged.version)]);
                self.write_on(bases, &mut content, &mut options).await
            }
            Some(tagged) => {
                options.expected_version = Some(tagged.version);
                options.base = unread;
                self.write_with(&mut content, &options).await
            }
            None => self.write_over(stat, known, &mut content, options).await,
        };
        let written = outcome.map_err(|error| match error.code {
            FsCode::EEXIST if stat.is_none() => stale(),
            _ => error.into(),
        })?;
        let bytes = content.bytes().filter(|_| written.version.is_none());
        let known = KnownFile {
            content: bytes.map(Bytes::copy_from_slice),
            version: written.version.clone(),
            held: None,
        };
        self.service.memory.lock().remember(client, &written.id, known);
        Ok(written)
    }

    /// Writes over what the client has read. If that can no longer be found, a client with a lock
    /// is refused, and another overwrites the file, as one that never read it does.
    async fn write_over(
        &self,
        stat: Option<&Stat>,
        known: Option<KnownFile>,
        content: &mut DavContent,
        mut options: WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let tagged = stat.and_then(|stat| self.version_in_if(stat));
        let bases = known.map(|known| known.bases()).unwrap_or_default();
        let bases = tagged.into_iter().chain(bases);
        match self.write_on(bases, content, &mut options).await {
            Err(error) if error.code == FsCode::ESTALE && !self.holds_lock() => {
                options.base = None;
                self.write_with(content, &options).await
            }
            written => written,
        }
    }

    /// Writes over the first of several bases that can be found, or over the content that is there
    /// if there are none.
    async fn write_on(
        &self,
        bases: impl Iterator<Item = VersionBase>,
        content: &mut DavContent,
        options: &mut WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let mut refused = None;
        for base in bases {
            options.base = Some(base);
            match self.write_with(content, options).await {
                Err(error) if error.code == FsCode::ESTALE => refused = Some(error),
                written => return written,
            }
        }
        match refused {
            Some(error) => Err(error),
            None => self.write_with(content, options).await,
        }
    }

    async fn write_with(
        &self,
        content: &mut DavContent,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let (fs, path) = (&self.caller.fs, &self.request.path);
        match content {
            DavContent::Empty => fs.write(path, Bytes::new(), options).await,
            DavContent::Bytes(bytes) => fs.write(path, bytes.clone(), options).await,
            DavContent::Stored(stored) => stored.write(path, options).await,
        }
    }

    /// Returns the version that the `If` header names of the file.
    fn version_in_if(&self, stat: &Stat) -> Option<VersionBase> {
        let lists = self.request.conditions.lists.iter().filter(|list| list.resource.is_none());
        let mut conditions = lists.flat_map(|list| &list.conditions);
        conditions.find_map(|condition| match &condition.state {
            IfState::Tag(tag) if !condition.is_negated => {
                let known = KnownFileState::parse(tag).ok()?;
                known.check_file(&stat.id, "").ok()?;
                Some(VersionBase::Version(known.version))
            }
            _ => None,
        })
    }

    fn put_side_file(&self, content: &DavContent) -> Result<DavResponse, DavError> {
        if !self.caller.may_write {
            return Err(DavError::new(StatusCode::FORBIDDEN, "the token allows no writing"));
        }
        let (path, credential) = (&self.request.path, &self.caller.client.credential);
        let now = Millis(jiff::Timestamp::now().as_millisecond());
        let mut sides = self.service.sides.lock();
        match content.bytes().and_then(|bytes| sides.put(credential, path, bytes, now)) {
            Some(true) => Ok(empty_response(StatusCode::CREATED)),
            Some(false) => Ok(empty_response(StatusCode::NO_CONTENT)),
            None => {
                Err(DavError::new(StatusCode::INSUFFICIENT_STORAGE, "the side file is too large"))
            }
        }
    }
}

fn stale() -> DavError {
    DavError::new(StatusCode::PRECONDITION_FAILED, "a condition of the request does not hold")
}
