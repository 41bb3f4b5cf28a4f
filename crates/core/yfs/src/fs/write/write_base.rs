//! The content that a writer had read, which its write is merged with.

use yfs_engine::{
    content::{ContentBase, Version},
    hash::ContentHash,
};
use yfs_store::DocHead;
use yfs_vfs::{FsCode, FsError, VersionBase, VersionToken};

use super::FileContentWriter;
use super::write_target::WriteTarget;
use crate::{
    content::version_at,
    fs::{
        convert_types::{ContentLocation, head_of_token, is_of_blob},
        durable_version::DurableVersion,
    },
};

/// The base of a write, kept while the document is resolved.
pub(super) enum WriteBase {
    /// The current content, up to the record that was the last when it was read.
    Current(DocHead),
    /// An earlier version in the history of the document.
    Version(Version),
    /// A text that the writer passed.
    Text(String),
}

impl WriteBase {
    /// Returns the base to merge with; `None` if the content has not changed since.
    pub(super) fn as_base(&self) -> Option<ContentBase<'_>> {
        match self {
            Self::Current(_) => None,
            Self::Version(version) => Some(ContentBase::Version(version)),
            Self::Text(text) => Some(ContentBase::Text(text)),
        }
    }
}

impl FileContentWriter<'_> {
    /// Resolves the base that the writer had read.
    pub(super) fn resolve_base(
        &self,
        target: WriteTarget<'_>,
        base: Option<&VersionBase>,
    ) -> Result<Option<WriteBase>, FsError> {
        let stale = || target.fail(FsCode::ESTALE);
        match base {
            None => Ok(None),
            Some(VersionBase::Content(bytes)) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(WriteBase::Text(text.to_owned()))),
                Err(_) => Err(stale()),
            },
            Some(VersionBase::Version(token)) => self.resolve_version_base(target, token).map(Some),
        }
    }

    fn resolve_version_base(
        &self,
        target: WriteTarget<'_>,
        token: &VersionToken,
    ) -> Result<WriteBase, FsError> {
        let stale = || target.fail(FsCode::ESTALE);
        match DurableVersion::of_token(token) {
            Some(DurableVersion::Text(version)) => return Ok(WriteBase::Version(version)),
            Some(DurableVersion::Blob(_)) => return Err(stale()),
            None if is_of_blob(token) => return Err(stale()),
            None => {}
        }
        let head = head_of_token(token).ok_or_else(stale)?;
        if self.reader().version_of(target.found, target.path)? == *token {
            return Ok(WriteBase::Current(head));
        }
        let version = version_at(&self.state, &target.found.id, head);
        let version = version.map_err(|error| target.convert_error(error))?;
        version.map(WriteBase::Version).ok_or_else(stale)
    }

    /// Rejects a base that cannot be merged with, unless it is the current content. It must still
    /// be current when the write is logged, so the head to expect is returned.
    pub(super) fn check_unmerged_base(
        &self,
        target: WriteTarget<'_>,
        base: Option<&VersionBase>,
    ) -> Result<Option<DocHead>, FsError> {
        let Some(base) = base else { return Ok(None) };
        let version = self.reader().version_of(target.found, target.path)?;
        let is_current = match base {
            VersionBase::Version(token) => match DurableVersion::of_token(token) {
                Some(lasting) => lasting.is_blob_of(&target.found.location),
                None => version == *token,
            },
            VersionBase::Content(bytes) => match target.found.location {
                ContentLocation::Blob(blob) => {
                    blob.size == bytes.len() as u64 && blob.hash == ContentHash::of(bytes)
                }
                ContentLocation::Text => self.reader().read(target.path)?.data == *bytes,
            },
        };
        if is_current { Ok(head_of_token(&version)) } else { Err(target.fail(FsCode::ESTALE)) }
    }
}
