//! Reads that are answered from memory, without a future: for callers that must not wait, such as
//! an event loop.
//!
//! # Cost
//!
//! A look-up of the path. The store is read only for the length of a text that was neither read nor
//! measured since the store was opened.

use std::sync::Arc;

use smol_str::SmolStr;
use yfs_engine::{id::FileId, path::VPath, time::Millis, tree::FinalLink};
use yfs_store::DocHead;
use yfs_vfs::{DirEntry, FileKind, FsCode, FsError, Op, VersionToken, WalkOptions};

use super::{
    WorkspaceFs,
    convert_types::{ContentLocation, file_kind, fs_error, version_token},
    read::node_entry,
};

impl WorkspaceFs {
    /// Returns the entry at a path as a listing would, and its creation time. [`Op::Lstat`] does
    /// not follow a link at the end.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::stat`](yfs_vfs::FileSystem::stat) does.
    pub fn entry(&self, path: &VPath, op: Op) -> Result<(DirEntry, Millis), FsError> {
        self.refresh_if_unfollowed(op)?;
        let follow = if op == Op::Lstat { FinalLink::No } else { FinalLink::Yes };
        let found = {
            let main = self.state.main.read();
            let node = self.resolve(&main, op, path, follow)?;
            let created = |id| main.files().attributes(id).map(|row| row.created_at);
            node_entry(&main, node).zip(node.id().and_then(created))
        };
        let Some(((mut entry, is_text), created)) = found else {
            let stat = self.reader().stat(path, op)?;
            let mut entry = DirEntry::new("", stat.id, stat.kind);
            (entry.mtime, entry.mode) = (stat.mtime, stat.mode);
            return Ok((entry, stat.created));
        };
        let measured = self.state.measure_all([(&mut entry, &is_text)].into_iter());
        measured.map_err(|error| fs_error(error, op, path))?;
        Ok((entry, created))
    }

    /// Lists the names in a directory and the kinds of their objects, without sizes.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::readdir`](yfs_vfs::FileSystem::readdir) does.
    pub fn names(&self, path: &VPath) -> Result<Vec<(FileKind, SmolStr)>, FsError> {
        self.refresh_if_unfollowed(Op::Scandir)?;
        let main = self.state.main.read();
        let node = self.resolve(&main, Op::Scandir, path, FinalLink::Yes)?;
        if !node.is_directory() {
            return Err(FsError::new(FsCode::ENOTDIR, Op::Scandir, path));
        }
        let (directory, mut names) = (node.path(), Vec::new());
        main.for_each_child(node.id(), |_, name, row| {
            if self.lists(&directory, name) {
                names.push((file_kind(&row), SmolStr::new(name)));
            }
        });
        Ok(names)
    }

    /// Lists every path of the workspace except `/`: each directory before its entries.
    ///
    /// # Errors
    ///
    /// Fails if the store does.
    pub fn all_paths(&self) -> Result<Vec<(FileKind, VPath)>, FsError> {
        let options = WalkOptions { measured: false, ..WalkOptions::default() };
        let found = self.lister().walk(&VPath::root(), &options)?;
        Ok(found.into_iter().map(|found| (found.entry.kind, found.path)).collect())
    }

    /// Returns the target of a link, as [`FileSystem::readlink`](yfs_vfs::FileSystem::readlink)
    /// does.
    ///
    /// # Errors
    ///
    /// Fails as it does.
    pub fn target_of(&self, path: &VPath) -> Result<String, FsError> {
        self.reader().readlink(path)
    }

    /// Returns the version of a file's content. It changes with the content.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::read`](yfs_vfs::FileSystem::read) does.
    pub fn version(&self, path: &VPath) -> Result<VersionToken, FsError> {
        self.refresh_if_unfollowed(Op::Open)?;
        let found = self.resolve_file(&self.state.main.read(), Op::Open, path)?;
        self.reader().refreshed_version_of(&found, path)
    }

    /// Returns the id, text and version of a file, if the text is in the cache and at most
    /// `max_len` bytes long.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystem::read`](yfs_vfs::FileSystem::read) does.
    pub fn text_in_memory(
        &self,
        path: &VPath,
        max_len: usize,
    ) -> Result<Option<TextInMemory>, FsError> {
        self.refresh_if_unfollowed(Op::Open)?;
        let found = self.resolve_file(&self.state.main.read(), Op::Open, path)?;
        if found.location != ContentLocation::Text {
            return Ok(None);
        }
        let text =
            self.state.texts.cache.get(&found.id).filter(|text| text.content.len() <= max_len);
        Ok(text.map(|text| TextInMemory { id: found.id, head: text.head, content: text.content }))
    }
}

/// A text that is in the cache.
#[derive(Debug, Clone)]
pub struct TextInMemory {
    /// The file.
    pub id: FileId,
    /// The text.
    pub content: Arc<str>,
    head: DocHead,
}

impl TextInMemory {
    /// Returns the version of the text.
    pub fn version(&self) -> VersionToken {
        version_token(self.head, &ContentLocation::Text)
    }

    /// Returns a number that identifies this text of this file among all texts of the store; `None`
    /// for a text that is not in the log.
    pub fn state(&self) -> Option<u64> {
        (self.head != DocHead::ZERO).then_some(self.head.seq.0)
    }
}
