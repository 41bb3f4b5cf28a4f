//! A filesystem behind permission rules.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream;
use thiserror::Error;
use tokio::sync::RwLock;
use yfs_types::{id::FileId, path::VPath};
use yfs_vfs::{
    CallScope, ChangeCursor, ChangePage, ChangesOptions, ChunkStream, CopyOptions, CreateMode,
    DirEntry, DirectoryStream, EditOutcome, FileAttribute, FileContent, FileKind, FileSystem,
    FileSystemExt, FsCode, FsError, FsView, GlobQuery, GlobResult, GrepQuery, GrepResult, GrepSink,
    MkdirOptions, MoveOptions, Op, RemoveOptions, Stat, StreamOptions, TextReplacement,
    WalkOptions, WalkStream, WriteOptions, WriteOutcome, walk,
};

use super::{
    admission::{AccessNeed, AccessReach, Admission},
    broker::{ApprovalBroker, RefusingBroker},
    object_places::ObjectPlaces,
    rules::{AccessKind, PermissionRules, RuleMode},
    search::{PermittedSearch, SearchPurpose},
};

/// A filesystem that refuses what its rules do not allow, and hides what they do not let read.
///
/// # What a rule binds
///
/// A rule applies to an object if it matches the path as the caller spelled it, the path without
/// symbolic links, or a place that the object, or a directory above it, had before this session
/// moved it. The strictest of these decides. Operations then act on the path without links, on a
/// handle of the backend that follows none ([`FsView::WithoutLinks`]).
///
/// # What a refusal reveals
///
/// A refused call returns `EACCES` whether or not the object exists, with the path as the caller
/// spelled it and a [`PermissionRefusal`] as its source. Listings, searches, totals and changes
/// leave out what the rules do not let read. A search asks for its root only; below it, it reads
/// what needs no approval or has one, and counts the other files in the [`CallScope`].
#[derive(Debug, Clone)]
pub struct PermittedFs {
    pub(super) inner: Arc<dyn FileSystem>,
    /// The handle that operations act on.
    pub(super) handle: Arc<dyn FileSystem>,
    pub(super) rules: PermissionRules,
    pub(super) broker: Arc<dyn ApprovalBroker>,
    pub(super) places: Arc<ObjectPlaces>,
    /// Held from the checks of a call to its end; exclusively by calls that change where paths
    /// lead. The clones of one filesystem share it.
    pub(super) lock: Arc<RwLock<()>>,
    /// The search for which this handle is, which asks no question.
    pub(super) search: Option<PermittedSearch>,
    /// The call for which this handle is.
    pub(super) call: Option<CallScope>,
    /// Whether paths lead through links.
    pub(super) follows_links: bool,
    /// Files that rules bind by every name that they have.
    pub(super) guarded: Arc<[VPath]>,
}

/// The backend has no handle that follows no links, so that what was checked might not be what is
/// used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the filesystem has no handle that follows no links, so no rule can bind its files")]
pub struct MissingLinkHandle;

/// The cause of an `EACCES` of a [`PermittedFs`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("permission denied for {} on {path}{}", match .access {
    AccessKind::Read => "read",
    AccessKind::Write => "write",
}, self.hint())]
pub struct PermissionRefusal {
    /// The access that the rules do not allow.
    pub access: AccessKind,
    /// The path as the caller spelled it.
    pub path: VPath,
    /// The directories that alone are allowed, if there are any and the path is in none of them.
    pub allowed: Vec<VPath>,
}

/// The most directories that the text of a refusal names.
const MAX_NAMED: usize = 8;

impl PermissionRefusal {
    /// Returns the part of the text about the directories that alone are allowed.
    pub(crate) fn hint(&self) -> String {
        let named: Vec<&str> = self.allowed.iter().take(MAX_NAMED).map(VPath::as_str).collect();
        match (named.is_empty(), self.allowed.len() - named.len()) {
            (true, _) => String::new(),
            (false, 0) => format!("; allowed is only {}", named.join(", ")),
            (false, n_more) => format!("; allowed is only {} and {n_more} more", named.join(", ")),
        }
    }
}

impl PermittedFs {
    /// Wraps a filesystem. Rules in the mode `Interrupt` refuse until there is a
    /// broker.
    ///
    /// Several sets of rules are one layer: see `PermissionRules::all_of`.
    ///
    /// # Errors
    ///
    /// Fails if the filesystem has no [handle without links](FsView::WithoutLinks). One that
    /// has no links at all returns itself there.
    pub fn new(
        inner: Arc<dyn FileSystem>,
        rules: PermissionRules,
    ) -> Result<Self, MissingLinkHandle> {
        let handle = inner.view(FsView::WithoutLinks).ok_or(MissingLinkHandle)?;
        Ok(Self {
            inner,
            handle,
            rules,
            broker: Arc::new(RefusingBroker),
            places: Arc::default(),
            lock: Arc::default(),
            search: None,
            call: None,
            follows_links: true,
            guarded: Arc::new([]),
        })
    }

    /// Binds some files by their hard links as well: whatever a rule says of one of these paths, it
    /// says of every other name of the file that is there at the time of a call.
    #[must_use]
    pub(crate) fn guarding_files(self, paths: &[VPath]) -> Self {
        Self { guarded: paths.into(), ..self }
    }

    /// Sets the side that decides about rules in the mode `Interrupt`.
    #[must_use]
    pub(crate) fn with_broker(self, broker: Arc<dyn ApprovalBroker>) -> Self {
        Self { broker, ..self }
    }

    /// Returns a filesystem of the same session with other rules, for a sub-agent. The earlier
    /// places of objects and the granted approvals are shared.
    #[must_use]
    pub fn with_rules(&self, rules: PermissionRules) -> Self {
        Self { rules, ..self.clone() }
    }

    /// Returns a filesystem of the same session on another handle of the same files, for example
    /// one whose changes have another label.
    ///
    /// # Errors
    ///
    /// Fails as [`new`](Self::new) does.
    pub fn with_inner(&self, inner: Arc<dyn FileSystem>) -> Result<Self, MissingLinkHandle> {
        let handle = inner.view(FsView::WithoutLinks).ok_or(MissingLinkHandle)?;
        Ok(Self { inner, handle, ..self.clone() })
    }

    /// Binds every object that a rule restricts now to its present place, so that the rule applies
    /// to it wherever other sessions, people or programs move it.
    pub async fn bind_restricted(&self) -> Result<(), FsError> {
        let root = VPath::root();
        for found in self.handle.walk(&root, &WalkOptions::default()).await? {
            let is_restricted = [AccessKind::Read, AccessKind::Write]
                .iter()
                .any(|access| self.rules.mode_at(*access, &found.path) != RuleMode::Allow);
            if is_restricted {
                self.places.bind(&found.entry.id, found.path);
            }
        }
        Ok(())
    }

    /// Returns this filesystem for a search.
    pub(super) fn for_search(&self, purpose: SearchPurpose) -> Self {
        Self { search: Some(PermittedSearch::new(purpose)), ..self.clone() }
    }

    /// Returns this filesystem for a call.
    pub(super) fn in_call(&self, scope: &CallScope) -> Self {
        Self { call: Some(scope.clone()), ..self.clone() }
    }

    /// Returns the guarded files that are there, with their ids.
    pub(super) async fn guarded_files(&self) -> Vec<(FileId, VPath)> {
        let mut files = Vec::new();
        for path in &*self.guarded {
            if let Ok(stat) = self.handle.lstat(path).await {
                files.push((stat.id, path.clone()));
            }
        }
        files
    }

    /// Replaces the paths of an error by the spelled path: the path without links is not the
    /// caller's to know. A link that appeared after the checks refuses the call.
    pub(super) fn spell(&self, error: FsError, op: Op, spelled: &VPath) -> FsError {
        if self.follows_links && error.code == FsCode::ELOOP && error.path.is_some() {
            return self.refusal(AccessKind::Read, op, spelled);
        }
        FsError { path: Some(spelled.as_str().into()), dest: None, op, ..error }
    }

    /// Returns the paths of an admitted call's error as the caller spelled them.
    fn spelled<T>(
        result: Result<T, FsError>,
        path: &VPath,
        dest: Option<&VPath>,
    ) -> Result<T, FsError> {
        result.map_err(|error| FsError {
            path: Some(path.as_str().into()),
            dest: dest.map(|dest| dest.as_str().into()),
            ..error
        })
    }

    /// Binds what was moved or linked to the places that it had.
    async fn bind_moved(&self, admission: &Admission<'_>) {
        let [from, .., to] = &admission.paths[..] else { return };
        let (Some(old), Ok(new)) = (&from.stat, self.handle.lstat(&to.real).await) else { return };
        self.places.rebind(&old.id, &new.id);
        for place in from.places.iter().filter(|place| self.rules.may_restrict(place)) {
            self.places.bind(&new.id, place.clone());
        }
    }

    /// Keeps the binding of a file that got a new id with its new content.
    fn rebind_written(&self, admission: &Admission<'_>, id: &FileId) {
        let old = admission.paths.first().and_then(|path| path.stat.as_ref());
        if let Some(old) = old {
            self.places.rebind(&old.id, id);
        } else if let Some(created) = admission.paths.first() {
            self.places.rebind_created(&created.real, id);
        }
    }
}

/// Returns the path of the only need of a call.
fn only<'a>(admission: &'a Admission<'_>) -> &'a VPath {
    &admission.paths.first().expect("a call has a need").real
}

/// Returns the paths of a call with two of them.
fn both<'a>(admission: &'a Admission<'_>) -> (&'a VPath, &'a VPath) {
    let last = admission.paths.last().expect("a call has a need");
    (only(admission), &last.real)
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl FileSystem for PermittedFs {
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        let admission = self.admit(Op::Open, &[AccessNeed::read(path)]).await?;
        Self::spelled(self.handle.read(only(&admission)).await, path, None)
    }

    async fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        let admission = self.admit(Op::Open, &[AccessNeed::read(path)]).await?;
        Self::spelled(self.handle.read_range(only(&admission), offset, len).await, path, None)
    }

    async fn read_stream(
        &self,
        path: &VPath,
        options: &StreamOptions,
    ) -> Result<ChunkStream, FsError> {
        let admission = self.admit(Op::Open, &[AccessNeed::read(path)]).await?;
        Self::spelled(self.handle.read_stream(only(&admission), options).await, path, None)
    }

    async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let follow = options.follow && options.create != CreateMode::New;
        let need = AccessNeed { follow, ..AccessNeed::write(path) };
        let admission = self.admit(Op::Open, &[need]).await?;
        let written = self.handle.write(only(&admission), data, options).await;
        let written = Self::spelled(written, path, None)?;
        self.rebind_written(&admission, &written.id);
        Ok(written)
    }

    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        let follow = options.create != CreateMode::New;
        let need = AccessNeed { follow, ..AccessNeed::write(path) };
        let admission = self.admit(Op::Append, &[need]).await?;
        let written = self.handle.append(only(&admission), data, options).await;
        let written = Self::spelled(written, path, None)?;
        self.rebind_written(&admission, &written.id);
        Ok(written)
    }

    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        // Whether an edit succeeds reveals what the file holds.
        let needs = [AccessNeed::read(path), AccessNeed::write(path)];
        let admission = self.admit(Op::Edit, &needs).await?;
        let edited = self.handle.edit(only(&admission), edit).await;
        let edited = Self::spelled(edited, path, None)?;
        if let Ok(stat) = self.handle.lstat(only(&admission)).await {
            self.rebind_written(&admission, &stat.id);
        }
        Ok(edited)
    }

    async fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        let admission = self.admit(Op::Stat, &[AccessNeed::read(path)]).await?;
        Self::spelled(self.handle.stat(only(&admission)).await, path, None)
    }

    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        let admission = self.admit(Op::Lstat, &[AccessNeed::read(path).itself()]).await?;
        Self::spelled(self.handle.lstat(only(&admission)).await, path, None)
    }

    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.list_permitted(path).await
    }

    async fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        let need = AccessNeed::write(path).itself();
        let mut admission = self.admit(Op::Mkdir, &[need]).await?;
        let is_link = |admission: &Admission<'_>| {
            let stat = admission.paths.first().and_then(|checked| checked.stat.as_ref());
            stat.is_some_and(|stat| stat.kind == FileKind::Symlink)
        };
        if options.recursive && is_link(&admission) {
            // A link to a directory counts as one; a dangling one is in the way.
            drop(admission);
            admission = self.admit(Op::Mkdir, &[AccessNeed::write(path)]).await?;
            if admission.paths.iter().any(|checked| checked.stat.is_none()) {
                return Err(FsError::new(FsCode::EEXIST, Op::Mkdir, path));
            }
        }
        Self::spelled(self.handle.mkdir(only(&admission), options).await, path, None)
    }

    async fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        let reach = if options.recursive && !path.is_root() {
            AccessReach::Everything
        } else {
            AccessReach::Object
        };
        let need = AccessNeed::write(path).itself().reaching(reach);
        let admission = self.admit(Op::Rm, &[need]).await?;
        Self::spelled(self.handle.rm(only(&admission), options).await, path, None)
    }

    async fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        let needs = [
            AccessNeed::read(from).itself().reaching(AccessReach::Existing),
            AccessNeed::write(to).itself().reaching(AccessReach::NamesOfFirst),
        ];
        let admission = self.admit_alone(Op::Cp, &needs).await;
        let admission = admission.map_err(|error| error.to(to))?;
        let (source, target) = both(&admission);
        Self::spelled(self.handle.cp(source, target, options).await, from, Some(to))
    }

    async fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError> {
        // What may not be read here could be read there by every other session.
        let needs = [
            AccessNeed::write(from).itself().reaching(AccessReach::Existing),
            AccessNeed::read(from).itself().reaching(AccessReach::Existing),
            AccessNeed::write(to).itself().reaching(AccessReach::NamesOfFirst),
        ];
        let admission = self.admit_alone(Op::Rename, &needs).await;
        let admission = admission.map_err(|error| error.to(to))?;
        let (source, target) = both(&admission);
        Self::spelled(self.handle.mv(source, target, options).await, from, Some(to))?;
        self.bind_moved(&admission).await;
        Ok(())
    }

    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        let need = AccessNeed::write(path).itself();
        let admission = self.admit_alone(Op::Symlink, &[need]).await;
        let admission =
            admission.map_err(|error| FsError { path: Some(target.into()), ..error }.to(path))?;
        let made = self.handle.symlink(target, only(&admission)).await;
        made.map_err(|error| FsError { path: Some(target.into()), ..error }.to(path))
    }

    async fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        let admission = self.admit(Op::Readlink, &[AccessNeed::read(path).itself()]).await?;
        Self::spelled(self.handle.readlink(only(&admission)).await, path, None)
    }

    async fn link(&self, existing: &VPath, path: &VPath) -> Result<(), FsError> {
        let needs = [
            AccessNeed::read(existing).itself(),
            AccessNeed::write(existing).itself(),
            AccessNeed::write(path).itself(),
        ];
        let admission = self.admit_alone(Op::Link, &needs).await;
        let admission = admission.map_err(|error| error.to(path))?;
        let (source, target) = both(&admission);
        Self::spelled(self.handle.link(source, target).await, existing, Some(path))?;
        self.bind_moved(&admission).await;
        Ok(())
    }

    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        let admission = self.admit(Op::Realpath, &[AccessNeed::read(path)]).await?;
        Self::spelled(self.handle.realpath(only(&admission)).await, path, None)
    }

    async fn set_attribute(&self, path: &VPath, attribute: FileAttribute) -> Result<(), FsError> {
        let admission = self.admit(attribute.op(), &[AccessNeed::write(path)]).await?;
        Self::spelled(self.handle.set_attribute(only(&admission), attribute).await, path, None)
    }

    fn walk_batches<'a>(&'a self, path: &'a VPath, options: &'a WalkOptions) -> WalkStream<'a> {
        Box::pin(stream::once(self.walk_permitted(path, options)))
    }

    fn walk_directories<'a>(
        &'a self,
        path: &'a VPath,
        options: &'a WalkOptions,
    ) -> DirectoryStream<'a> {
        walk::walk_directories(self, path, options)
    }

    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, FsError> {
        self.glob_permitted(query).await
    }

    async fn grep_each(
        &self,
        query: &GrepQuery,
        sink: &mut dyn GrepSink,
    ) -> Result<GrepResult, FsError> {
        self.grep_permitted(query, sink).await
    }

    fn view(&self, view: FsView<'_>) -> Option<Arc<dyn FileSystem>> {
        match view {
            FsView::WithoutLinks => {
                let inner = self.handle.clone();
                Some(Arc::new(Self { inner, follows_links: false, ..self.clone() }))
            }
            FsView::NewStep => Some(Arc::new(self.with_inner(self.inner.view(view)?).ok()?)),
            FsView::ForCall(scope) => {
                let inner = self.inner.view(view).unwrap_or_else(|| self.inner.clone());
                let permitted = self.with_inner(inner).ok()?.in_call(scope);
                Some(Arc::new(match self.broker.for_this_call() {
                    Some(broker) => permitted.with_broker(broker),
                    None => permitted,
                }))
            }
            FsView::WithoutQuestions => {
                Some(Arc::new(self.for_search(SearchPurpose::Descriptions)))
            }
        }
    }

    async fn cursor(&self) -> Result<ChangeCursor, FsError> {
        self.inner.cursor().await
    }

    async fn changes(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        let page = self.inner.changes(since, options).await?;
        self.hide_changes(page).await
    }
}
