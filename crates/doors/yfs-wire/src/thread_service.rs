//! The service of threads: its requests, which each door parses, and the answers to them.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use yfs_threads::{
    ExternalFile, FileSearch, RetentionPolicy, Thread, ThreadContext, ThreadError, ThreadFileError,
    ThreadFiles, Threads,
};
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::{FsCode, Metadata};

use crate::{
    thread::{
        ArchivedThreadJson, RetentionReportJson, ThreadFileJson, ThreadJson, ThreadLinkRequest,
        ThreadList, ThreadListing, ThreadMatchList, ThreadMkdirRequest, ThreadMoveRequest,
        ThreadPathList, ThreadStatsJson,
    },
    time::UnixMillis,
};

/// A request for a thread that is opened afterwards.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields have the names of the calls' arguments")]
pub enum ThreadOpening {
    /// The thread, which is created if it does not exist.
    Open { id: String },
    /// The same for the thread that values lead to.
    OpenFor { values: BTreeMap<String, String> },
    /// The thread, which must exist.
    Existing { id: String },
    /// A new thread.
    Create { id: String },
    /// A new thread with the files of another.
    Fork { from: String, to: String },
    /// The thread that was deleted last of those with this id.
    Restore { id: String },
}

/// A request for threads.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields have the names of the calls' arguments")]
pub enum ThreadRequest {
    /// The threads in order of their ids; archived ones, too, if `archived` is set.
    List { archived: bool },
    /// The description of a thread.
    Info { id: String },
    /// The description of a thread that is opened.
    #[serde(skip)]
    Open(ThreadOpening),
    /// Makes a thread read-only, and leaves it out of lists.
    Archive { id: String },
    /// Reverses that.
    Unarchive { id: String },
    /// Moves a thread to the trash.
    Delete { id: String },
    /// Moves the threads to the trash that a policy does not keep, or only reports them.
    Prune(RetentionRules),
}

/// The limits of a retention.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionRules {
    /// The greatest time without a change, in milliseconds.
    pub older_than_ms: Option<f64>,
    /// The greatest size of all threads, in bytes.
    pub max_size: Option<f64>,
    /// Whether archived threads are deleted, too, and count.
    pub archived: bool,
    /// Whether the threads are only reported.
    pub dry_run: bool,
}

/// A request for the files of a thread. Paths begin at its root.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields have the names of the calls' arguments")]
pub enum ThreadFileRequest {
    /// The entries of a directory.
    List { path: String },
    /// The record of a file or directory.
    Stat { path: String },
    /// The number and size of all files.
    Stats,
    /// The files with a glob.
    Find { glob: String },
    /// The lines with a text.
    Grep(ThreadSearchRequest),
    /// Makes an entry for a file whose bytes are elsewhere.
    Link(ThreadLinkRequest),
    /// Sets members of the metadata; null removes one.
    Patch { path: String, metadata: Metadata },
    /// Makes a directory, and those above it.
    Mkdir(ThreadMkdirRequest),
    /// Moves a file or directory; nothing is replaced.
    Move(ThreadMoveRequest),
    /// Moves a file to the trash.
    Unlink { path: String },
    /// Moves an empty directory to the trash.
    Rmdir { path: String },
    /// Moves a file or an empty directory to the trash.
    Delete { path: String },
}

/// A search for lines in the files of a thread.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ThreadSearchRequest {
    /// The text to find.
    pub pattern: String,
    /// Whether the pattern is a regular expression.
    pub regex: bool,
    /// Whether upper and lower case are equal.
    pub ignore_case: bool,
    /// Globs of the files to search; all files if empty.
    pub include: Vec<String>,
    /// The greatest number of lines.
    pub limit: Option<usize>,
}

/// The answer to a request for threads or their files.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ThreadResponse<T = UnixMillis> {
    /// Threads.
    Threads(ThreadList<T>),
    /// A thread.
    Thread(ThreadJson<T>),
    /// Whether a thread is archived.
    Archived(ArchivedThreadJson<T>),
    /// What a retention deleted.
    Retention(RetentionReportJson<T>),
    /// A file or directory.
    File(ThreadFileJson),
    /// The entries of a directory.
    Listing(ThreadListing),
    /// The statistics of a thread.
    Stats(ThreadStatsJson),
    /// Matching lines.
    Matches(ThreadMatchList),
    /// Paths.
    Paths(ThreadPathList),
    /// There is no such file.
    Missing,
    /// A thread or file is in the trash now.
    Removed,
}

impl ThreadOpening {
    /// Opens the thread.
    ///
    /// # Errors
    ///
    /// Fails as the call of [`Threads`] does.
    pub async fn open(&self, threads: &Threads) -> Result<Thread, ThreadError> {
        match self {
            Self::Open { id } => threads.thread(id).await,
            Self::OpenFor { values } => {
                let with = |context: ThreadContext, (name, value): (&String, &String)| {
                    context.with(name, value)
                };
                threads.thread_for(&values.iter().fold(ThreadContext::default(), with)).await
            }
            Self::Existing { id } => threads.existing(id).await,
            Self::Create { id } => threads.create(id).await,
            Self::Fork { from, to } => threads.fork(from, to).await,
            Self::Restore { id } => threads.restore(id).await,
        }
    }
}

impl RetentionRules {
    /// Returns the policy.
    pub fn policy(self) -> RetentionPolicy {
        RetentionPolicy {
            max_age: self.older_than_ms.map(|age| Duration::from_millis(age as u64)),
            max_bytes: self.max_size.map(|size| size as u64),
            archived: self.archived,
            dry_run: self.dry_run,
        }
    }
}

impl ThreadRequest {
    /// Reports whether the request changes threads.
    pub fn writes(&self) -> bool {
        match self {
            Self::List { .. } | Self::Info { .. } => false,
            Self::Prune(rules) => !rules.dry_run,
            _ => true,
        }
    }

    /// Serves the request at a time.
    ///
    /// # Errors
    ///
    /// Fails as the call of [`Threads`] does.
    pub async fn serve<T: From<Millis>>(
        self,
        threads: &Threads,
        now: Millis,
    ) -> Result<ThreadResponse<T>, ThreadError> {
        Ok(match self {
            Self::List { archived } => {
                let infos = threads.list(archived).await?;
                let threads = infos.iter().map(ThreadJson::from).collect();
                ThreadResponse::Threads(ThreadList { threads })
            }
            Self::Info { id } => ThreadResponse::Thread((&threads.info(&id).await?).into()),
            Self::Open(opening) => {
                let id = opening.open(threads).await?.address().to_string();
                ThreadResponse::Thread((&threads.info(&id).await?).into())
            }
            Self::Archive { id } => {
                let archived = Some(threads.archive(&id, now).await?.into());
                ThreadResponse::Archived(ArchivedThreadJson { id, archived })
            }
            Self::Unarchive { id } => {
                threads.unarchive(&id).await?;
                ThreadResponse::Archived(ArchivedThreadJson { id, archived: None })
            }
            Self::Delete { id } => {
                threads.delete(&id).await?;
                ThreadResponse::Removed
            }
            Self::Prune(rules) => {
                let report = threads.prune(&rules.policy(), now).await?;
                ThreadResponse::Retention(RetentionReportJson::new(&report, rules.dry_run))
            }
        })
    }
}

impl ThreadFileRequest {
    /// Reports whether the request changes files.
    pub fn writes(&self) -> bool {
        let reads = matches!(
            self,
            Self::List { .. } | Self::Stat { .. } | Self::Stats | Self::Find { .. } | Self::Grep(_)
        );
        !reads
    }

    /// Serves the request.
    ///
    /// # Errors
    ///
    /// Fails as the call of [`ThreadFiles`] does.
    pub async fn serve<T>(self, files: &ThreadFiles) -> Result<ThreadResponse<T>, ThreadFileError> {
        let record = match self {
            Self::List { path } => {
                let entries = files.readdir_file(&path).await?;
                let entries = entries.iter().map(ThreadFileJson::from).collect();
                let path = VPath::parse(&path).map_or(path, |path| path.to_string());
                return Ok(ThreadResponse::Listing(ThreadListing { path, entries }));
            }
            Self::Stat { path } => match files.stat_file(&path).await? {
                Some(record) => record,
                None => return Ok(ThreadResponse::Missing),
            },
            Self::Stats => {
                let stats = files.file_stats().await?;
                return Ok(ThreadResponse::Stats(ThreadStatsJson {
                    id: files.thread().address().to_string(),
                    files: stats.n_files,
                    directories: stats.n_directories,
                    bytes: stats.n_bytes,
                }));
            }
            Self::Find { glob } => {
                let paths = files.find_files(&glob).await?;
                return Ok(ThreadResponse::Paths(ThreadPathList { paths }));
            }
            Self::Grep(ThreadSearchRequest { pattern, regex, ignore_case, include, limit }) => {
                let search = FileSearch { regex, ignore_case, include, limit };
                let found = files.grep_files(&pattern, &search).await?;
                return Ok(ThreadResponse::Matches(found.into()));
            }
            Self::Link(ThreadLinkRequest { path, url, size, hash, mime, metadata }) => {
                let external = ExternalFile { url, size, hash };
                files.link_file(&path, &external, mime.as_deref(), metadata).await?
            }
            Self::Patch { path, metadata } => files.patch_metadata(&path, &metadata).await?,
            Self::Mkdir(ThreadMkdirRequest { path }) => files.mkdir_file(&path).await?,
            Self::Move(ThreadMoveRequest { from, to }) => files.move_file(&from, &to).await?,
            Self::Unlink { path } => return removed(files.unlink_file(&path).await),
            Self::Rmdir { path } => return removed(files.rmdir_file(&path).await),
            Self::Delete { path } => match files.unlink_file(&path).await {
                Err(ThreadFileError::Fs(error)) if error.code == FsCode::EISDIR => {
                    return removed(files.rmdir_file(&path).await);
                }
                unlinked => return removed(unlinked),
            },
        };
        Ok(ThreadResponse::File((&record).into()))
    }
}

fn removed<T>(done: Result<(), ThreadFileError>) -> Result<ThreadResponse<T>, ThreadFileError> {
    done.map(|()| ThreadResponse::Removed)
}
