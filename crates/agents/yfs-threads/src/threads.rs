//! The threads of a workspace.

use thiserror::Error;
use yfs::{Workspace, WorkspaceError, WorkspaceFs};
use yfs_types::{actor::Actor, id::FileId, path::VPath, time::Millis};
use yfs_vfs::{
    CopyOptions, FileKind, FileSystem, FileSystemExt, FsCode, FsError, Metadata, MkdirOptions,
    RemoveOptions, Stat, TreeTotals, WalkOptions,
};

use crate::{
    namespace::{NamespaceStrategy, ThreadAddress, ThreadContext},
    thread::{ARCHIVED, FORKED_FROM, RECORD, Thread, thread_record},
    thread_id::BadThreadId,
};

/// The name of the directory that holds all threads.
const DIRECTORY: &str = "threads";

/// The threads of a workspace, on behalf of an actor.
#[derive(Debug, Clone)]
pub struct Threads {
    pub(crate) workspace: Workspace,
    pub(crate) fs: WorkspaceFs,
    root: VPath,
    strategy: NamespaceStrategy,
    /// The directory that all calls are confined to; the root if there is no limit.
    scope: VPath,
}

/// The description of a thread.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ThreadInfo {
    /// Its id, or the parts of its namespace with slashes between.
    pub id: String,
    /// The directory that holds its files.
    pub directory: FileId,
    /// The path of that directory in the workspace.
    pub path: VPath,
    /// When it was created.
    pub created: Millis,
    /// When one of its files last changed; if it has none, when it was created.
    pub changed: Millis,
    /// When it was archived, if it is.
    pub archived: Option<Millis>,
    /// The thread that it is a fork of.
    pub forked_from: Option<String>,
    /// The number and size of its files.
    pub totals: TreeTotals,
}

/// The failure of a call on threads.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ThreadError {
    /// The id is not valid, or a context lacks a part of it.
    #[error("not a thread")]
    Id(#[from] BadThreadId),
    /// There is no such thread.
    #[error("there is no thread {0:?}")]
    Missing(String),
    /// The thread exists already.
    #[error("there is a thread {0:?} already")]
    Exists(String),
    /// The filesystem failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The workspace failed.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl Threads {
    /// Opens the threads of a workspace, on behalf of its own actor. Nothing is written until a
    /// thread is made.
    pub fn open(workspace: &Workspace) -> Self {
        let root = VPath::root().join(DIRECTORY);
        let (strategy, scope) = (NamespaceStrategy::default(), VPath::root());
        Self { workspace: workspace.clone(), fs: workspace.fs(), root, strategy, scope }
    }

    /// Returns the same threads on behalf of another actor.
    #[must_use]
    pub fn acting_for(self, actor: Actor) -> Self {
        let fs = self.workspace.fs_for(actor).confined_to(self.scope.clone());
        Self { fs, ..self }
    }

    /// Returns the same threads confined to a directory of the workspace: a call on a thread that
    /// is not at or below it fails with `EACCES`, and lists do not have such threads.
    #[must_use]
    pub fn confined_to(self, directory: VPath) -> Self {
        Self { fs: self.fs.confined_to(directory.clone()), scope: directory, ..self }
    }

    /// Returns the same threads with a label for all changes.
    #[must_use]
    pub fn labelled(self, label: &str) -> Self {
        Self { fs: self.fs.labelled(label), ..self }
    }

    /// Returns the threads of another strategy.
    #[must_use]
    pub fn with_strategy(self, strategy: NamespaceStrategy) -> Self {
        Self { strategy, ..self }
    }

    /// Returns the threads that another directory holds.
    #[must_use]
    pub fn in_directory(self, root: VPath) -> Self {
        Self { root, ..self }
    }

    /// Returns the directory that holds all threads.
    pub fn directory(&self) -> &VPath {
        &self.root
    }

    /// Returns the directory of a thread, whether or not it exists.
    ///
    /// # Errors
    ///
    /// If the id is not valid.
    pub fn directory_of(&self, id: &str) -> Result<VPath, ThreadError> {
        Ok(self.strategy.parse_address(id)?.directory(&self.root))
    }

    /// Returns a thread. Creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// If the id is not valid, or the workspace is read-only and has no such thread.
    pub async fn thread(&self, id: &str) -> Result<Thread, ThreadError> {
        self.open_address(self.strategy.parse_address(id)?).await
    }

    /// Returns the thread that a context leads to. Creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// As [`thread`](Self::thread).
    pub async fn thread_for(&self, context: &ThreadContext) -> Result<Thread, ThreadError> {
        self.open_address(self.strategy.address(context)?).await
    }

    /// Returns a thread, if it exists.
    ///
    /// # Errors
    ///
    /// If the id is not valid.
    pub async fn find(&self, id: &str) -> Result<Option<Thread>, ThreadError> {
        self.find_address(self.strategy.parse_address(id)?).await
    }

    /// Returns a thread that must exist.
    ///
    /// # Errors
    ///
    /// Fails with [`ThreadError::Missing`] if it does not.
    pub async fn existing(&self, id: &str) -> Result<Thread, ThreadError> {
        self.find(id).await?.ok_or_else(|| ThreadError::Missing(id.to_owned()))
    }

    /// Creates a thread that must not exist.
    ///
    /// # Errors
    ///
    /// Fails with [`ThreadError::Exists`] if it does. Of several concurrent calls exactly one
    /// succeeds.
    pub async fn create(&self, id: &str) -> Result<Thread, ThreadError> {
        let address = self.strategy.parse_address(id)?;
        let directory = address.directory(&self.root);
        if let Some(parent) = directory.parent() {
            self.fs.mkdir(&parent, &MkdirOptions::recursive()).await?;
        }
        match self.fs.mkdir(&directory, &MkdirOptions::default()).await {
            Err(error) if error.code == FsCode::EEXIST => Err(ThreadError::Exists(id.to_owned())),
            made => {
                made?;
                self.open_address(address).await
            }
        }
    }

    /// Returns the thread in a directory that was that of this address before. Its calls fail with
    /// `ENOENT` if the directory is gone, also if another thread has the address now.
    pub fn thread_in(&self, address: ThreadAddress, directory: FileId) -> Thread {
        Thread::new(address, self.fs.rooted_at(directory))
    }

    async fn open_address(&self, address: ThreadAddress) -> Result<Thread, ThreadError> {
        if let Some(thread) = self.find_address(address.clone()).await? {
            return Ok(thread);
        }
        let directory = address.directory(&self.root);
        self.fs.mkdir(&directory, &MkdirOptions::recursive()).await?;
        let found = self.find_address(address.clone()).await?;
        found.ok_or_else(|| ThreadError::Missing(address.to_string()))
    }

    async fn find_address(&self, address: ThreadAddress) -> Result<Option<Thread>, ThreadError> {
        let directory = address.directory(&self.root);
        match self.fs.lstat(&directory).await {
            Ok(stat) if stat.is_directory() => {
                Ok(Some(Thread::new(address, self.fs.rooted_at(stat.id))))
            }
            Ok(_) => Err(FsError::new(FsCode::ENOTDIR, yfs_vfs::Op::Scandir, &directory).into()),
            Err(error) if error.code == FsCode::ENOENT => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Lists the threads of this strategy, in order of their ids; archived ones too if `archived`
    /// is set.
    ///
    /// # Errors
    ///
    /// If the workspace cannot be read.
    pub async fn list(&self, archived: bool) -> Result<Vec<ThreadInfo>, ThreadError> {
        let mut infos = Vec::new();
        let mut pending = Vec::from_iter(self.first_directory());
        while let Some((directory, names)) = pending.pop() {
            if names.len() == self.strategy.depth() {
                let shown: Vec<&str> = names.iter().map(String::as_str).collect();
                let Some(address) = self.strategy.address_of_names(&shown) else { continue };
                let path = address.directory(&self.root);
                let Some(stat) = self.stat_of(&path).await? else { continue };
                if archived || archived_at(&stat).is_none() {
                    infos.extend(self.describe_directory(&address, path, stat).await?);
                }
                continue;
            }
            let entries = match self.fs.readdir(&directory).await {
                Ok(entries) => entries,
                Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => continue,
                Err(error) => return Err(error.into()),
            };
            for entry in entries.iter().filter(|entry| entry.kind == FileKind::Directory) {
                let mut names = names.clone();
                names.push(entry.name.to_string());
                pending.push((directory.join(&entry.name), names));
            }
        }
        infos.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(infos)
    }

    /// Returns the directory that contains all threads of the scope, and the names that lead to it
    /// from the directory of all threads; `None` if the scope contains no whole thread.
    fn first_directory(&self) -> Option<(VPath, Vec<String>)> {
        if self.root.starts_with(&self.scope) {
            return Some((self.root.clone(), Vec::new()));
        }
        let below = self.scope.relative_to(&self.root)?;
        let names: Vec<String> = below.split('/').map(str::to_owned).collect();
        (names.len() <= self.strategy.depth()).then(|| (self.scope.clone(), names))
    }

    /// Reports whether the calls are confined to a directory above threads, or not at all: not to
    /// one thread, a part of it, or a directory elsewhere.
    pub fn is_above_threads(&self) -> bool {
        self.first_directory().is_some_and(|(_, names)| names.len() < self.strategy.depth())
    }

    /// Describes a thread.
    ///
    /// # Errors
    ///
    /// Fails with [`ThreadError::Missing`] if there is none.
    pub async fn info(&self, id: &str) -> Result<ThreadInfo, ThreadError> {
        let info = self.describe(&self.strategy.parse_address(id)?).await?;
        info.ok_or_else(|| ThreadError::Missing(id.to_owned()))
    }

    pub(crate) async fn describe(
        &self,
        address: &ThreadAddress,
    ) -> Result<Option<ThreadInfo>, ThreadError> {
        let path = address.directory(&self.root);
        let Some(stat) = self.stat_of(&path).await? else { return Ok(None) };
        self.describe_directory(address, path, stat).await
    }

    /// Describes a thread, whose files it lists.
    async fn describe_directory(
        &self,
        address: &ThreadAddress,
        path: VPath,
        stat: Stat,
    ) -> Result<Option<ThreadInfo>, ThreadError> {
        let missing = |error: &FsError| matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR);
        let entries = match self.fs.walk(&path, &WalkOptions::default()).await {
            Err(error) if missing(&error) => return Ok(None),
            entries => entries?,
        };
        let (mut totals, mut changed) = (TreeTotals::default(), stat.created);
        for found in &entries {
            match found.entry.kind {
                FileKind::Directory => totals.n_directories += 1,
                FileKind::File => {
                    totals.n_files += 1;
                    totals.n_bytes += found.entry.size;
                    changed = changed.max(found.entry.mtime);
                }
                _ => changed = changed.max(found.entry.mtime),
            }
        }
        let record = thread_record(&stat.metadata);
        let archived = archived_at(&stat);
        let forked_from = record.get(FORKED_FROM).and_then(serde_json::Value::as_str);
        Ok(Some(ThreadInfo {
            id: address.to_string(),
            directory: stat.id,
            path,
            created: stat.created,
            changed,
            archived,
            forked_from: forked_from.map(str::to_owned),
            totals,
        }))
    }

    /// Returns the metadata of a thread's directory; `None` if there is none.
    async fn stat_of(&self, path: &VPath) -> Result<Option<Stat>, ThreadError> {
        match self.fs.lstat(path).await {
            Ok(stat) => Ok(Some(stat).filter(Stat::is_directory)),
            Err(error) if matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a thread with the files that another has now, in one step: it exists with all of them
    /// or not at all.
    ///
    /// Contents that are kept by hash (binary and large files) are shared, and no byte of them is
    /// written again. A text begins a history of its own with its present content.
    ///
    /// # Errors
    ///
    /// Fails with [`ThreadError::Missing`] if there is no such thread, and with
    /// [`ThreadError::Exists`] if the new one exists.
    pub async fn fork(&self, from: &str, to: &str) -> Result<Thread, ThreadError> {
        let (source, target) =
            (self.strategy.parse_address(from)?, self.strategy.parse_address(to)?);
        let paths = (source.directory(&self.root), target.directory(&self.root));
        if source == target {
            return Err(ThreadError::Exists(to.to_owned()));
        }
        // A copy of a link would be a link.
        self.existing(from).await?;
        let options = CopyOptions { recursive: true, replace: false, parents: true };
        if let Err(error) = self.fs.cp(&paths.0, &paths.1, &options).await {
            return Err(match error.code {
                FsCode::EEXIST => ThreadError::Exists(to.to_owned()),
                FsCode::ENOENT => ThreadError::Missing(from.to_owned()),
                _ => error.into(),
            });
        }
        let origin = source.to_string();
        self.set_record(&paths.1, FORKED_FROM, origin.into())?;
        self.open_address(target).await
    }

    /// Archives a thread: it is read-only from now on, and not in lists unless they ask for it.
    /// Returns when it was archived, which is earlier if it was archived already.
    ///
    /// # Errors
    ///
    /// Fails with [`ThreadError::Missing`] if there is no such thread.
    pub async fn archive(&self, id: &str, at: Millis) -> Result<Millis, ThreadError> {
        Ok(self.set_archived(id, Some(at)).await?.unwrap_or(at))
    }

    /// Reverses [`archive`](Self::archive).
    ///
    /// # Errors
    ///
    /// As [`archive`](Self::archive).
    pub async fn unarchive(&self, id: &str) -> Result<(), ThreadError> {
        self.set_archived(id, None).await?;
        Ok(())
    }

    /// [Archives](Self::archive) a thread at a time, or [reverses](Self::unarchive) that, without
    /// reading its files. A thread that is archived keeps its time. Returns the time of a thread
    /// that is archived now.
    ///
    /// # Errors
    ///
    /// As [`archive`](Self::archive).
    pub async fn set_archived(
        &self,
        id: &str,
        at: Option<Millis>,
    ) -> Result<Option<Millis>, ThreadError> {
        let path = self.strategy.parse_address(id)?.directory(&self.root);
        let stat = self.stat_of(&path).await?;
        let stat = stat.ok_or_else(|| ThreadError::Missing(id.to_owned()))?;
        let known = archived_at(&stat);
        if known.is_some() == at.is_some() {
            return Ok(known);
        }
        let value = at.map_or(serde_json::Value::Null, |at| at.0.into());
        self.set_record(&path, ARCHIVED, value)?;
        Ok(at)
    }

    fn set_record(
        &self,
        path: &VPath,
        member: &str,
        value: serde_json::Value,
    ) -> Result<(), FsError> {
        let record = Metadata::from_iter([(member.to_owned(), value)]);
        self.fs.patch_metadata(path, &Metadata::from_iter([(RECORD.to_owned(), record.into())]))
    }

    /// Moves a thread to the trash, with all its files.
    ///
    /// # Errors
    ///
    /// Fails with [`ThreadError::Missing`] if there is no such thread.
    pub async fn delete(&self, id: &str) -> Result<(), ThreadError> {
        let path = self.existing(id).await?.rooted().directory_path();
        let path = path.ok_or_else(|| ThreadError::Missing(id.to_owned()))?;
        Ok(self.fs.rm(&path, &RemoveOptions { recursive: true, force: false }).await?)
    }

    /// Restores a thread from the trash: the one with this id that was deleted last.
    ///
    /// # Errors
    ///
    /// Fails with [`ThreadError::Missing`] if there is none, and with [`ThreadError::Exists`] if
    /// there is a thread with this id.
    pub async fn restore(&self, id: &str) -> Result<Thread, ThreadError> {
        let address = self.strategy.parse_address(id)?;
        if self.find_address(address.clone()).await?.is_some() {
            return Err(ThreadError::Exists(id.to_owned()));
        }
        let path = address.directory(&self.root);
        if !path.starts_with(&self.scope) {
            return Err(FsError::new(FsCode::EACCES, yfs_vfs::Op::Rename, &path).into());
        }
        let trashed = self.workspace.trash().list()?.into_iter();
        let is_it = |entry: &yfs::TrashEntry| {
            entry.kind == FileKind::Directory && entry.original == path.as_str()
        };
        let latest = trashed.filter(is_it).max_by_key(|entry| entry.order);
        let latest = latest.ok_or_else(|| ThreadError::Missing(id.to_owned()))?;
        self.fs.restore_removed(&latest.id, &path)?;
        self.open_address(address).await
    }
}

/// Returns when the thread with this directory was archived, if it is.
fn archived_at(directory: &Stat) -> Option<Millis> {
    thread_record(&directory.metadata).get(ARCHIVED).and_then(serde_json::Value::as_i64).map(Millis)
}
