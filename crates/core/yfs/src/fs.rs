//! A workspace as a [`FileSystem`].
//!
//! Look-ups happen in memory. A call that writes structure is planned from the head of the log, and
//! its append fails if the head has moved (`commit.rs`), so that `EEXIST` and similar errors are
//! exact across all processes of a store.

#[macro_use]
mod parts;

pub(crate) mod batch;
mod cached_read;
mod convert_types;
pub(crate) mod durable_version;
mod moves;
mod pinned_content;
pub(crate) mod read;
mod read_many;
pub mod rooted;
mod scope;
pub(crate) mod stream;
mod structure;
mod walk;
mod walk_directories;
mod write;

pub use self::{
    cached_read::TextInMemory, durable_version::blob_version_of, pinned_content::PinnedContent,
};
pub(crate) use self::{
    convert_types::{
        ContentLocation, ResolvedFile, bytes_of, file_kind, fs_error, lookup_error, mode_of,
        resolve, resolve_file, version_token,
    },
    structure::op_error,
};

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::timeout;
use yfs_engine::{id::FileId, path::VPath, step::StepId};
use yfs_vfs::{
    ChangeAuthor, ChangeCursor, ChangePage, ChangesOptions, ChunkStream, CopyOptions, DirEntry,
    DirectoryStream, EditOutcome, FileAttribute, FileContent, FileKind, FileSystem, FsError,
    FsView, GrepQuery, GrepResult, GrepSink, MkdirOptions, MoveOptions, Op, RemoveOptions, Stat,
    StreamOptions, TextReplacement, WalkOptions, WalkStream, WriteOptions, WriteOutcome,
};

use crate::{Workspace, state::WorkspaceState};

/// A workspace as a filesystem, on behalf of an actor.
///
/// Clones are handles of the same workspace. The calls are synchronous: their futures are ready at
/// once.
#[derive(Debug, Clone)]
pub struct WorkspaceFs {
    state: Arc<WorkspaceState>,
    author: ChangeAuthor,
    /// The directory that the filesystem is confined to, if any.
    scope: Option<scope::ScopeDirectory>,
    /// Whether the directories above that directory are seen, as the way to it.
    shows_way: bool,
    /// Whether paths lead through links; see [`FsView::WithoutLinks`].
    follows_links: bool,
}

impl WorkspaceFs {
    pub(crate) fn new(state: Arc<WorkspaceState>, author: ChangeAuthor) -> Self {
        Self { state, author, scope: None, shows_way: false, follows_links: true }
    }

    /// Returns the same filesystem with a label for its changes: a session, a tool call.
    #[must_use]
    pub fn labelled(mut self, label: &str) -> Self {
        self.author.label = Some(label.into());
        self
    }

    /// Returns the same filesystem with a step for its changes, which are undone together.
    #[must_use]
    pub fn in_step(mut self, step: &StepId) -> Self {
        self.author.step = Some(step.clone());
        self
    }

    /// Reads a file, and returns its id with the content.
    pub(crate) fn read_with_id(&self, path: &VPath) -> Result<(FileId, FileContent), FsError> {
        let found = self.resolve_at(Op::Open, path)?;
        let content = self.reader().read_found(path, &found)?;
        Ok((found.id, content))
    }

    /// Returns the path of a file, if it is visible.
    pub(crate) fn path_of(&self, id: &FileId) -> Option<VPath> {
        self.state.main.read().tree().path_of(id)
    }

    /// Finds the file at a path, through links, inside the scope.
    pub(crate) fn resolve_at(&self, op: Op, path: &VPath) -> Result<ResolvedFile, FsError> {
        self.refresh_if_unfollowed(op)?;
        self.resolve_file(&self.state.main.read(), op, path)
    }

    pub(crate) fn state(&self) -> &WorkspaceState {
        &self.state
    }

    /// Returns the id of the file at a path, through links.
    pub(crate) fn id_at(&self, path: &VPath) -> Option<FileId> {
        self.refresh_if_unfollowed(Op::Stat).ok()?;
        let found = self.resolve_file(&self.state.main.read(), Op::Open, path);
        found.ok().map(|found| found.id)
    }

    /// Reports whether a path names a symbolic link.
    pub(crate) fn is_link(&self, path: &VPath) -> bool {
        self.reader().stat(path, Op::Lstat).is_ok_and(|stat| stat.kind == FileKind::Symlink)
    }

    /// Returns the workspace.
    pub fn workspace(&self) -> Workspace {
        Workspace::of(self.state.clone())
    }

    /// Replays the changes since a cursor that the workspace gave before it was last opened.
    fn replay_changes(&self, since: &ChangeCursor) -> Result<ChangePage, FsError> {
        let (state, root) = (&self.state, VPath::root());
        let after = state.events.position(since).ok_or_else(FsError::cursor_lost)?;
        let replayed = state.replay.changes_since(state, after);
        let replayed = replayed.map_err(|error| fs_error(error, Op::Watch, &root))?;
        replayed.ok_or_else(FsError::cursor_lost)
    }

    async fn wait_for_change(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<(), FsError> {
        let Some(wait) = options.wait else { return Ok(()) };
        let arrival = self.state.events.arrival();
        tokio::pin!(arrival);
        // Registered before the check, so that no change is missed in between.
        arrival.as_mut().enable();
        if self.state.events.since(since, 1, yfs_store::Seq::ZERO)?.events.is_empty() {
            // A timeout is a valid result, too.
            timeout(wait, arrival).await.ok();
        }
        Ok(())
    }
}

#[async_trait]
impl FileSystem for WorkspaceFs {
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        self.reader().read(path)
    }

    async fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        self.reader().read_range(path, offset, len)
    }

    async fn read_stream(
        &self,
        path: &VPath,
        options: &StreamOptions,
    ) -> Result<ChunkStream, FsError> {
        self.reader().read_stream(path, options)
    }

    async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.writer().write(path, &data, options)
    }

    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.writer().append(path, &data, options)
    }

    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        self.writer().edit(path, edit)
    }

    async fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.reader().stat(path, Op::Stat)
    }

    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.reader().stat(path, Op::Lstat)
    }

    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.reader().readdir(path)
    }

    async fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        self.tree().mkdir(path, options)
    }

    async fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        self.tree().rm(path, options)
    }

    async fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        self.tree().cp(from, to, options)
    }

    async fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError> {
        self.tree().mv(from, to, options)
    }

    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        self.tree().symlink(target, path)
    }

    async fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        self.reader().readlink(path)
    }

    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        self.reader().realpath(path)
    }

    async fn set_attribute(&self, path: &VPath, attribute: FileAttribute) -> Result<(), FsError> {
        match attribute {
            FileAttribute::Mtime(mtime) => self.tree().utimes(path, mtime),
            FileAttribute::Mode(mode) => self.tree().chmod(path, mode),
            FileAttribute::Metadata(metadata) => self.tree().set_metadata(path, &metadata),
        }
    }

    fn walk_batches<'a>(&'a self, path: &'a VPath, options: &'a WalkOptions) -> WalkStream<'a> {
        self.lister().walk_batches(path, options)
    }

    fn walk_directories<'a>(
        &'a self,
        path: &'a VPath,
        options: &'a WalkOptions,
    ) -> DirectoryStream<'a> {
        self.lister().walk_directories(path, options)
    }

    async fn grep_each(
        &self,
        query: &GrepQuery,
        sink: &mut dyn GrepSink,
    ) -> Result<GrepResult, FsError> {
        self.searcher().grep_each(query, sink).await
    }

    fn view(&self, view: FsView<'_>) -> Option<Arc<dyn FileSystem>> {
        match view {
            FsView::WithoutLinks => Some(Arc::new(Self { follows_links: false, ..self.clone() })),
            FsView::NewStep => Some(Arc::new(self.clone().in_step(&self.state.new_step()))),
            FsView::ForCall(_) | FsView::WithoutQuestions => None,
        }
    }

    async fn cursor(&self) -> Result<ChangeCursor, FsError> {
        self.refresh_if_unfollowed(Op::Watch)?;
        Ok(self.state.events.cursor(self.state.tailed()))
    }

    async fn changes(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        self.refresh_if_unfollowed(Op::Watch)?;
        let mut since = since.clone();
        if !self.state.events.is_own(&since) {
            let replayed = self.replay_changes(&since)?;
            if !replayed.events.is_empty() {
                return Ok(replayed);
            }
            since = replayed.next;
        }
        self.wait_for_change(&since, options).await?;
        // Read first: changes that are logged from now on may be reported twice, but none is lost.
        let seen = self.state.tailed();
        self.state.events.since(&since, options.limit, seen)
    }
}
