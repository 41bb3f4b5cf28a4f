//! A directory of a workspace as a filesystem of its own, as after `chroot`.
//!
//! Paths and links begin at the directory: `/` is the directory itself, an absolute link target
//! begins there, and `..` stays there. A path is first converted to one of the workspace without
//! links; the call then runs on a handle that follows no link and is confined to the directory by
//! its id. So a link that another writer makes in between is an error, and no path, link or rename
//! leads out.
//!
//! # Invariants
//!
//! - No call reads, names or changes anything outside of the directory, and none tells whether
//!   there is anything.
//! - The directory itself can be neither moved nor removed, and its metadata is not visible: it
//!   belongs to the program that made the directory.

mod calls;
mod changes;
mod removed;
#[cfg(test)]
mod tests;
mod upload;

use std::path::PathBuf;

use bytes::Bytes;
use yfs_engine::{
    id::FileId,
    main_doc::MainDoc,
    path::VPath,
    tree::{FinalLink, NodeRef},
};
use yfs_vfs::{FileKind, FsCode, FsError, Metadata, Op};

use super::{WorkspaceFs, convert_types::lookup_error};
use crate::{error::Result, store_keys::THUMBNAIL_DIRECTORY, workspace::versions::VersionInfo};

/// How often a call starts over because a link was made on its way meanwhile.
const MAX_ATTEMPTS: usize = 16;

/// A directory of a workspace as a filesystem of its own.
#[derive(Debug, Clone)]
pub struct RootedFs {
    /// Confined to the directory; follows no links.
    fs: WorkspaceFs,
    directory: FileId,
    /// Whether paths lead through links, inside of the directory.
    follows_links: bool,
}

/// The path of a call, in the filesystem and in the workspace.
#[derive(Debug, Clone)]
struct RootedPath<'a> {
    outer: &'a VPath,
    inner: VPath,
}

impl WorkspaceFs {
    /// Returns the directory with an id as a filesystem of its own. If there is no such directory,
    /// or it is removed later, every call fails with `ENOENT`.
    pub fn rooted_at(&self, directory: FileId) -> RootedFs {
        let fs = self.clone().confined_to_id(directory.clone());
        RootedFs { fs: Self { follows_links: false, ..fs }, directory, follows_links: true }
    }

    /// Returns the directory of the host for thumbnails of the workspace's images, if the store has
    /// a place for one and is not encrypted. It may not exist yet; redaction and purges remove it.
    pub fn thumbnail_directory(&self) -> Option<PathBuf> {
        let directory = self.state().store.derived_directory()?;
        let is_plain = directory.cipher().is_none();
        is_plain.then(|| directory.path().join(THUMBNAIL_DIRECTORY))
    }

    /// Changes custom metadata by a merge patch (RFC 7396): a member that is null is removed, and
    /// members that the patch does not name stay.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemExt::set_metadata`](yfs_vfs::FileSystemExt::set_metadata) does.
    pub fn patch_metadata(&self, path: &VPath, patch: &Metadata) -> Result<(), FsError> {
        self.tree().patch_metadata(path, patch)
    }
}

impl RootedFs {
    /// Returns the id of the directory.
    pub fn directory(&self) -> &FileId {
        &self.directory
    }

    /// Returns the path of the directory in the workspace; `None` if it is gone.
    pub fn directory_path(&self) -> Option<VPath> {
        self.fs.path_of(&self.directory)
    }

    /// Returns the directory for thumbnails as [`WorkspaceFs::thumbnail_directory`] does.
    pub fn thumbnail_directory(&self) -> Option<PathBuf> {
        self.fs.thumbnail_directory()
    }

    /// Returns the same filesystem with a label for its changes.
    #[must_use]
    pub fn labelled(self, label: &str) -> Self {
        Self { fs: self.fs.labelled(label), ..self }
    }

    /// Changes custom metadata as [`WorkspaceFs::patch_metadata`] does.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemExt::set_metadata`](yfs_vfs::FileSystemExt::set_metadata) does.
    pub fn patch_metadata(&self, path: &VPath, patch: &Metadata) -> Result<(), FsError> {
        self.change_metadata(path, |fs, at| fs.tree().patch_metadata(at, patch))
    }

    /// Changes the metadata of an object, but not that of the directory itself.
    fn change_metadata(
        &self,
        path: &VPath,
        change: impl Fn(&WorkspaceFs, &VPath) -> Result<(), FsError>,
    ) -> Result<(), FsError> {
        self.at(Op::SetMetadata, path, FinalLink::Yes, |fs, at| {
            let is_root = self.directory_path().is_some_and(|base| base == *at);
            if is_root {
                return Err(FsError::new(FsCode::EPERM, Op::SetMetadata, at));
            }
            change(fs, at)
        })
    }

    /// Returns the metadata of the directory itself.
    ///
    /// # Errors
    ///
    /// Fails with `ENOENT` if the directory is gone.
    pub fn directory_metadata(&self) -> Result<Metadata, FsError> {
        let root = VPath::root();
        Ok(self
            .at(Op::Stat, &root, FinalLink::No, |fs, at| fs.reader().stat(at, Op::Stat))?
            .metadata)
    }

    /// Lists the versions of a file as [`WorkspaceFs::versions`] does.
    ///
    /// # Errors
    ///
    /// Fails as reading the file does.
    pub fn versions(&self, path: &VPath) -> Result<Vec<VersionInfo>> {
        let at = self.locate(Op::Open, path, FinalLink::Yes)?;
        self.fs.versions(&at.inner)
    }

    /// Returns the content of a version as [`WorkspaceFs::version_content`] does.
    ///
    /// # Errors
    ///
    /// Fails as [`WorkspaceFs::version_content`] does.
    pub fn version_content(&self, path: &VPath, number: u64) -> Result<Bytes> {
        let at = self.locate(Op::Open, path, FinalLink::Yes)?;
        self.fs.version_content(&at.inner, number)
    }

    /// Runs a call at a path, on the handle of the workspace; starts over if a link was made on the
    /// way meanwhile.
    fn at<T>(
        &self,
        op: Op,
        path: &VPath,
        follow: FinalLink,
        call: impl Fn(&WorkspaceFs, &VPath) -> Result<T, FsError>,
    ) -> Result<T, FsError> {
        for _ in 0..MAX_ATTEMPTS {
            let at = self.locate(op, path, follow)?;
            match call(&self.fs, &at.inner) {
                Err(error) if error.code == FsCode::ELOOP && self.follows_links => (),
                result => return result.map_err(|error| at.convert_error(error)),
            }
        }
        Err(FsError::new(FsCode::ELOOP, op, path))
    }

    /// As [`at`](Self::at), for a call with two paths.
    fn at_both<T>(
        &self,
        op: Op,
        (from, to): (&VPath, &VPath),
        follow_to: FinalLink,
        call: impl Fn(&WorkspaceFs, &VPath, &VPath) -> Result<T, FsError>,
    ) -> Result<T, FsError> {
        let convert = |error: FsError| named(error, from.as_str(), Some(to.as_str()));
        for _ in 0..MAX_ATTEMPTS {
            let source = self.locate(op, from, FinalLink::No).map_err(convert)?;
            let target = self.locate(op, to, follow_to).map_err(convert)?;
            match call(&self.fs, &source.inner, &target.inner) {
                Err(error) if error.code == FsCode::ELOOP && self.follows_links => (),
                result => return result.map_err(convert),
            }
        }
        Err(FsError::new(FsCode::ELOOP, op, from).to(to))
    }

    /// Converts a path to one of the workspace, without links.
    fn locate<'a>(
        &self,
        op: Op,
        path: &'a VPath,
        follow: FinalLink,
    ) -> Result<RootedPath<'a>, FsError> {
        self.fs.refresh_if_unfollowed(op)?;
        let inner = self.locate_in(&self.fs.state().main.read(), op, path, follow)?;
        Ok(RootedPath { outer: path, inner })
    }

    fn locate_in(
        &self,
        main: &MainDoc,
        op: Op,
        path: &VPath,
        follow: FinalLink,
    ) -> Result<VPath, FsError> {
        let fail = |code| FsError::new(code, op, path);
        let top = main.tree().node(&self.directory).filter(NodeRef::is_visible);
        let top = top.filter(NodeRef::is_directory).ok_or_else(|| fail(FsCode::ENOENT))?;
        let below = if self.follows_links {
            let unlinked = main.tree().unlinked_path(top, path, follow);
            unlinked.map_err(|error| lookup_error(error, op, path))?
        } else {
            path.as_str().trim_start_matches('/').to_owned()
        };
        let base = top.path();
        if below.is_empty() {
            return Ok(base);
        }
        base.resolve(&below).map_err(|_| fail(FsCode::ENAMETOOLONG))
    }

    /// Reports whether a link is at the end of a path.
    fn is_link(&self, path: &VPath) -> bool {
        let stat = |fs: &WorkspaceFs, at: &VPath| fs.reader().stat(at, Op::Lstat);
        let stat = self.at(Op::Lstat, path, FinalLink::No, stat);
        stat.is_ok_and(|stat| stat.kind == FileKind::Symlink)
    }

    fn check_not_root(&self, op: Op, path: &VPath, code: FsCode) -> Result<(), FsError> {
        if path.is_root() { Err(FsError::new(code, op, path)) } else { Ok(()) }
    }
}

impl RootedPath<'_> {
    /// Converts a path of the workspace that lies at or below this one.
    fn outer_path(&self, inner: &VPath) -> Option<VPath> {
        match inner.relative_to(&self.inner)? {
            "" => Some(self.outer.clone()),
            below => self.outer.resolve(below).ok(),
        }
    }

    fn convert_error(&self, error: FsError) -> FsError {
        named(error, self.outer.as_str(), None)
    }
}

/// Returns an error about other paths. Its cause is left out if it may name paths of the workspace.
fn named(error: FsError, path: &str, dest: Option<&str>) -> FsError {
    FsError { path: Some(path.into()), dest: dest.map(Into::into), ..error }
}
