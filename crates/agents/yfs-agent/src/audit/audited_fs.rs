//! A filesystem whose changes are recorded.

use std::{
    fmt,
    sync::Arc,
    time::{Instant, SystemTime},
};

use async_trait::async_trait;
use parking_lot::Mutex;
use smol_str::SmolStr;
use yfs_types::{actor::Actor, path::VPath};
use yfs_vfs::{
    FileSystem, FsError, Op, VersionToken,
    guarded_fs::{AdmittedCall, FsGuard, GuardedCall, GuardedFs},
};

use super::{AuditOutcome, AuditRecord, AuditSink, AuditedFile};

/// The most files that one call lists in its record.
const MAX_FILES: usize = 256;

/// The origin of the operations of one [`FileAudit`].
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
pub type AuditedFs = GuardedFs<FileAudit>;

/// The guard that records operations.
pub struct FileAudit {
    sink: Arc<dyn AuditSink>,
    origin: AuditOrigin,
    /// The files of the operations so far, each once.
    files: Mutex<Vec<AuditedFile>>,
}

/// An operation under way; dropped before its end, it is recorded as abandoned.
struct RunningOperation<'a> {
    audit: &'a FileAudit,
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

impl FileAudit {
    /// Makes a guard that writes to a sink.
    pub fn new(sink: Arc<dyn AuditSink>, origin: AuditOrigin) -> Self {
        Self { sink, origin, files: Mutex::default() }
    }

    /// Returns the origin of its operations.
    pub fn origin(&self) -> &AuditOrigin {
        &self.origin
    }

    /// Returns the files that were read or changed so far, each with its first and its last
    /// version. Of many files, the first 256.
    pub(crate) fn touched_files(&self) -> Vec<AuditedFile> {
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

    /// Makes a change, and records it with the files that it is about.
    pub(crate) async fn record_change<T>(
        &self,
        fs: &dyn FileSystem,
        op: Op,
        paths: &[VPath],
        made: impl Future<Output = Result<T, FsError>> + Send,
    ) -> Result<T, FsError> {
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let before = version(fs, path).await;
            files.push(AuditedFile { path: path.to_string(), before, after: None });
        }
        let mut running = RunningOperation {
            audit: self,
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
                    file.after = version(fs, path).await;
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
            self.audit.note_files(&files);
        }
        let outcome = std::mem::replace(&mut self.outcome, AuditOutcome::Abandoned);
        let record = self.audit.origin.record(self.at, self.started, outcome, files);
        let operation = Some(self.op.as_str().to_owned());
        self.audit.sink.record(AuditRecord { operation, ..record });
    }
}

/// Returns the version of the file at a path.
async fn version(fs: &dyn FileSystem, path: &VPath) -> Option<String> {
    let stat = fs.stat(path).await.ok()?;
    Some(stat.version?.to_string())
}

impl fmt::Debug for FileAudit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileAudit").field("origin", &self.origin).finish_non_exhaustive()
    }
}

#[async_trait]
impl FsGuard for FileAudit {
    async fn run_call(
        &self,
        fs: &dyn FileSystem,
        call: &GuardedCall<'_>,
        admitted: AdmittedCall<'_>,
    ) -> Result<(), FsError> {
        if !call.writes {
            return admitted.await;
        }
        self.record_change(fs, call.op, &call.objects(), admitted).await
    }
}
