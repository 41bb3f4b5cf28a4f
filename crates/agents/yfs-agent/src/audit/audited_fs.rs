//! A filesystem whose changes are recorded.

use std::{
    fmt,
    sync::Arc,
    time::{Instant, SystemTime},
};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use smol_str::SmolStr;
use yfs_types::{actor::Actor, path::VPath, time::Millis};
use yfs_vfs::{
    CallScope, ChangeCursor, ChangePage, ChangesOptions, ChunkStream, CopyOptions, DirEntry,
    DirectoryStream, EditOutcome, FileContent, FileSystem, FsError, GlobQuery, GlobResult,
    GrepQuery, GrepResult, GrepSink, LinePage, Metadata, MkdirOptions, MoveOptions, Op,
    RemoveOptions, Stat, StreamOptions, TextReplacement, TreeTotals, VersionToken, WalkEntry,
    WalkOptions, WalkStream, WriteOptions, WriteOutcome,
};

use super::{AuditOutcome, AuditRecord, AuditSink, AuditedFile};

/// The most files that one call lists in its record.
const MAX_FILES: usize = 256;

/// The origin of the operations of one [`AuditedFs`].
#[derive(Debug, Clone)]
pub struct AuditOrigin {
    /// The actor.
    pub actor: Actor,
    /// The session.
    pub session: SmolStr,
    /// The caller's id of the call, if a tool makes the operations.
    pub call_id: Option<SmolStr>,
    /// The tool, if one makes the operations.
    pub tool: Option<SmolStr>,
}

/// A filesystem that records every operation that changes it, with the versions before and after.
///
/// Versions are read by `stat`, beside the operation: if another writer changes the file in the
/// same moment, the record may name that writer's version.
#[derive(Clone)]
pub struct AuditedFs {
    inner: Arc<dyn FileSystem>,
    sink: Arc<dyn AuditSink>,
    origin: Arc<AuditOrigin>,
    /// The files of the operations so far, each once.
    files: Arc<Mutex<Vec<AuditedFile>>>,
}

/// An operation under way; dropped before its end, it is recorded as abandoned.
struct RunningOperation<'a> {
    fs: &'a AuditedFs,
    op: Op,
    at: SystemTime,
    started: Instant,
    files: Vec<AuditedFile>,
    outcome: AuditOutcome,
}

impl AuditOrigin {
    /// Makes a record of what just ended.
    pub(crate) fn record(
        &self,
        at: SystemTime,
        started: Instant,
        outcome: AuditOutcome,
        files: Vec<AuditedFile>,
    ) -> AuditRecord {
        let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        AuditRecord {
            at_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            actor: self.actor.to_string(),
            session: self.session.to_string(),
            call_id: self.call_id.as_ref().map(SmolStr::to_string),
            tool: self.tool.as_ref().map(SmolStr::to_string),
            operation: None,
            arguments_digest: None,
            outcome,
            duration_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
            files,
        }
    }
}

impl AuditedFs {
    /// Wraps a filesystem.
    pub fn new(inner: Arc<dyn FileSystem>, sink: Arc<dyn AuditSink>, origin: AuditOrigin) -> Self {
        Self { inner, sink, origin: Arc::new(origin), files: Arc::default() }
    }

    /// Returns the origin of its operations.
    pub fn origin(&self) -> &AuditOrigin {
        &self.origin
    }

    /// Returns the files that were read or changed so far, each with its first and its last
    /// version. Of many files, the first 256.
    pub fn touched_files(&self) -> Vec<AuditedFile> {
        self.files.lock().clone()
    }

    /// Adds a file that the call only read.
    pub(crate) fn note_read(&self, path: &VPath, version: &VersionToken) {
        let version = Some(version.to_string());
        let file = AuditedFile { path: path.to_string(), before: version.clone(), after: version };
        self.note_files(std::slice::from_ref(&file));
    }

    fn note_files(&self, files: &[AuditedFile]) {
        let mut noted = self.files.lock();
        for file in files {
            if let Some(known) = noted.iter_mut().find(|known| known.path == file.path) {
                known.after.clone_from(&file.after);
            } else if noted.len() < MAX_FILES {
                noted.push(file.clone());
            }
        }
    }

    /// Makes a change that does not go through the filesystem, and records the files that it
    /// changes.
    pub(crate) async fn record_beside<T>(
        &self,
        paths: &[VPath],
        made: impl Future<Output = Result<T, FsError>> + Send,
    ) -> Result<T, FsError> {
        self.run(Op::Write, &paths.iter().collect::<Vec<_>>(), made).await
    }

    async fn version(&self, path: &VPath) -> Option<String> {
        let stat = self.inner.stat(path).await.ok()?;
        Some(stat.version?.to_string())
    }

    async fn run<T>(
        &self,
        op: Op,
        paths: &[&VPath],
        made: impl Future<Output = Result<T, FsError>> + Send,
    ) -> Result<T, FsError> {
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let before = self.version(path).await;
            files.push(AuditedFile { path: path.to_string(), before, after: None });
        }
        let mut running = RunningOperation {
            fs: self,
            op,
            at: SystemTime::now(),
            started: Instant::now(),
            files,
            outcome: AuditOutcome::Abandoned,
        };
        let result = made.await;
        match &result {
            Ok(_) => {
                for (file, path) in running.files.iter_mut().zip(paths) {
                    file.after = self.version(path).await;
                }
                running.outcome = AuditOutcome::Done;
            }
            Err(error) => {
                let reason = error.code.as_str().to_owned();
                running.files.iter_mut().for_each(|file| file.after.clone_from(&file.before));
                running.outcome = AuditOutcome::Failed { reason };
            }
        }
        result
    }
}

impl Drop for RunningOperation<'_> {
    fn drop(&mut self) {
        let files = std::mem::take(&mut self.files);
        if !matches!(self.outcome, AuditOutcome::Failed { .. }) {
            self.fs.note_files(&files);
        }
        let outcome = std::mem::replace(&mut self.outcome, AuditOutcome::Abandoned);
        let record = self.fs.origin.record(self.at, self.started, outcome, files);
        let operation = Some(self.op.as_str().to_owned());
        self.fs.sink.record(AuditRecord { operation, ..record });
    }
}

impl fmt::Debug for AuditedFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditedFs").field("origin", &self.origin).finish_non_exhaustive()
    }
}

#[async_trait]
impl FileSystem for AuditedFs {
    async fn read(&self, path: &VPath) -> Result<FileContent, FsError> {
        self.inner.read(path).await
    }

    async fn read_many(&self, paths: &[VPath]) -> Vec<Result<Bytes, FsError>> {
        self.inner.read_many(paths).await
    }

    async fn read_range(&self, path: &VPath, offset: u64, len: u64) -> Result<Bytes, FsError> {
        self.inner.read_range(path, offset, len).await
    }

    async fn read_lines(&self, path: &VPath, offset: u64, limit: u64) -> Result<LinePage, FsError> {
        self.inner.read_lines(path, offset, limit).await
    }

    async fn read_stream(
        &self,
        path: &VPath,
        options: &StreamOptions,
    ) -> Result<ChunkStream, FsError> {
        self.inner.read_stream(path, options).await
    }

    async fn write(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.run(Op::Write, &[path], self.inner.write(path, data, options)).await
    }

    async fn append(
        &self,
        path: &VPath,
        data: Bytes,
        options: &WriteOptions,
    ) -> Result<WriteOutcome, FsError> {
        self.run(Op::Append, &[path], self.inner.append(path, data, options)).await
    }

    async fn edit(&self, path: &VPath, edit: &TextReplacement) -> Result<EditOutcome, FsError> {
        self.run(Op::Edit, &[path], self.inner.edit(path, edit)).await
    }

    async fn stat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.inner.stat(path).await
    }

    async fn lstat(&self, path: &VPath) -> Result<Stat, FsError> {
        self.inner.lstat(path).await
    }

    async fn readdir(&self, path: &VPath) -> Result<Vec<DirEntry>, FsError> {
        self.inner.readdir(path).await
    }

    async fn mkdir(&self, path: &VPath, options: &MkdirOptions) -> Result<(), FsError> {
        self.run(Op::Mkdir, &[path], self.inner.mkdir(path, options)).await
    }

    async fn rm(&self, path: &VPath, options: &RemoveOptions) -> Result<(), FsError> {
        self.run(Op::Rm, &[path], self.inner.rm(path, options)).await
    }

    async fn cp(&self, from: &VPath, to: &VPath, options: &CopyOptions) -> Result<(), FsError> {
        self.run(Op::Cp, &[from, to], self.inner.cp(from, to, options)).await
    }

    async fn mv(&self, from: &VPath, to: &VPath, options: &MoveOptions) -> Result<(), FsError> {
        self.run(Op::Rename, &[from, to], self.inner.mv(from, to, options)).await
    }

    async fn symlink(&self, target: &str, path: &VPath) -> Result<(), FsError> {
        self.run(Op::Symlink, &[path], self.inner.symlink(target, path)).await
    }

    async fn readlink(&self, path: &VPath) -> Result<String, FsError> {
        self.inner.readlink(path).await
    }

    async fn link(&self, existing: &VPath, path: &VPath) -> Result<(), FsError> {
        self.run(Op::Link, &[existing, path], self.inner.link(existing, path)).await
    }

    async fn realpath(&self, path: &VPath) -> Result<VPath, FsError> {
        self.inner.realpath(path).await
    }

    async fn utimes(&self, path: &VPath, mtime: Millis) -> Result<(), FsError> {
        self.run(Op::Utimes, &[path], self.inner.utimes(path, mtime)).await
    }

    async fn chmod(&self, path: &VPath, mode: u32) -> Result<(), FsError> {
        self.run(Op::Chmod, &[path], self.inner.chmod(path, mode)).await
    }

    async fn set_metadata(&self, path: &VPath, metadata: Metadata) -> Result<(), FsError> {
        self.run(Op::SetMetadata, &[path], self.inner.set_metadata(path, metadata)).await
    }

    async fn walk(&self, path: &VPath, options: &WalkOptions) -> Result<Vec<WalkEntry>, FsError> {
        self.inner.walk(path, options).await
    }

    fn walk_batches<'a>(&'a self, path: &'a VPath, options: &'a WalkOptions) -> WalkStream<'a> {
        self.inner.walk_batches(path, options)
    }

    fn walk_directories<'a>(
        &'a self,
        path: &'a VPath,
        options: &'a WalkOptions,
    ) -> DirectoryStream<'a> {
        self.inner.walk_directories(path, options)
    }

    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, FsError> {
        self.inner.glob(query).await
    }

    async fn grep(&self, query: &GrepQuery) -> Result<GrepResult, FsError> {
        self.inner.grep(query).await
    }

    async fn grep_each(
        &self,
        query: &GrepQuery,
        sink: &mut dyn GrepSink,
    ) -> Result<GrepResult, FsError> {
        self.inner.grep_each(query, sink).await
    }

    async fn totals(&self, path: &VPath) -> Result<TreeTotals, FsError> {
        self.inner.totals(path).await
    }

    fn without_links(&self) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.without_links()?;
        Some(Arc::new(Self { inner, ..self.clone() }))
    }

    fn in_new_step(&self) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.in_new_step()?;
        Some(Arc::new(Self { inner, ..self.clone() }))
    }

    fn for_call(&self, scope: &CallScope) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.for_call(scope)?;
        Some(Arc::new(Self { inner, ..self.clone() }))
    }

    fn without_questions(&self) -> Option<Arc<dyn FileSystem>> {
        let inner = self.inner.without_questions()?;
        Some(Arc::new(Self { inner, ..self.clone() }))
    }

    async fn cursor(&self) -> Result<ChangeCursor, FsError> {
        self.inner.cursor().await
    }

    async fn changes(
        &self,
        since: &ChangeCursor,
        options: &ChangesOptions,
    ) -> Result<ChangePage, FsError> {
        self.inner.changes(since, options).await
    }
}
