//! Threads of agents, and their files.

use serde::{Deserialize, Serialize, de::IgnoredAny};
use yfs_threads::{FileRecord, RetentionReport, ThreadInfo};
use yfs_types::time::Millis;
use yfs_vfs::{GrepLine, GrepResult, Metadata};

use crate::time::UnixMillis;

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Thread"))]
pub struct ThreadJson<T = UnixMillis> {
    /// The id, or the parts of its namespace with slashes between.
    pub id: String,
    /// The path of the directory with its files.
    pub path: String,
    /// The id of that directory.
    pub directory: String,
    /// The time when it was created.
    pub created: T,
    /// The time when one of its files last changed.
    pub changed: T,
    /// The time when it was archived; null if it is not.
    pub archived: Option<T>,
    /// The thread that it is a fork of.
    pub forked_from: Option<String>,
    /// The number of files.
    pub files: u64,
    /// The number of directories, without the root.
    pub directories: u64,
    /// The size of all files, in bytes.
    pub bytes: u64,
}

/// The answer of `POST /api/threads/{id}/archive` and `/unarchive`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ArchivedThread"))]
pub struct ArchivedThreadJson<T = UnixMillis> {
    /// The id, or the parts of its namespace with slashes between.
    pub id: String,
    /// The time when it was archived; null if it is not.
    pub archived: Option<T>,
}

/// The answer of `GET /api/threads`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ThreadList"))]
pub struct ThreadList<T = UnixMillis> {
    /// The threads, in order of their ids.
    pub threads: Vec<ThreadJson<T>>,
}

/// The number and size of a thread's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ThreadStats"))]
pub struct ThreadStatsJson {
    /// The id of the thread.
    pub id: String,
    /// The number of files and links to files.
    pub files: u64,
    /// The number of directories, without the root.
    pub directories: u64,
    /// The size of all files in bytes, with the sizes that entries of external files state.
    pub bytes: u64,
}

/// What a retention deleted, or would delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ThreadRetention"))]
pub struct RetentionReportJson<T = UnixMillis> {
    /// The threads, the one that changed the longest time ago first. They are in the trash.
    pub removed: Vec<RemovedThreadJson<T>>,
    /// The number of threads that stay.
    pub kept: usize,
    /// The size of their files in bytes.
    pub kept_bytes: u64,
    /// Whether nothing was deleted.
    pub dry_run: bool,
}

/// A thread that a retention deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RemovedThread"))]
pub struct RemovedThreadJson<T = UnixMillis> {
    /// The thread as it was.
    #[serde(flatten)]
    pub thread: ThreadJson<T>,
    /// Why: `age` or `size`.
    pub reason: &'static str,
}

/// The record of a file or directory of a thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ThreadFile"))]
pub struct ThreadFileJson {
    /// The path, from the root of the thread.
    pub path: String,
    /// The name; empty for the root.
    pub name: String,
    /// The media type.
    pub mime: String,
    /// Where the bytes are: `yfs:` and the id of the file, or the URL of an external file.
    pub storage: String,
    /// The size in bytes.
    pub size: u64,
    /// Whether this is a directory.
    pub is_directory: bool,
    /// The metadata that programs set.
    pub metadata: Metadata,
    /// The width of an image in pixels.
    pub width: Option<u32>,
    /// The height of an image in pixels.
    pub height: Option<u32>,
}

/// The answer of `GET /api/threads/{id}/files` for a directory.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ThreadListing"))]
pub struct ThreadListing {
    /// The path of the directory, from the root of the thread.
    pub path: String,
    /// The files and directories in it.
    pub entries: Vec<ThreadFileJson>,
}

/// The answer of `GET /api/threads/{id}/grep`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ThreadMatches"))]
pub struct ThreadMatchList {
    /// The files with matching lines.
    pub files: Vec<ThreadMatchesJson>,
    /// The number of files that were skipped because they are not text.
    pub binary: u64,
    /// The paths of the first 20 of these files, from the root of the thread.
    pub binary_paths: Vec<String>,
}

/// The matching lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ThreadFileMatches"))]
pub struct ThreadMatchesJson {
    /// The path of the file, from the root of the thread.
    pub path: String,
    /// The lines.
    pub matches: Vec<ThreadLineJson>,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ThreadLine"))]
pub struct ThreadLineJson {
    /// The number of the line, counted from 1.
    pub line: u64,
    /// The line without its newline.
    pub content: String,
}

/// The answer of `GET /api/threads/{id}/find`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ThreadPaths"))]
pub struct ThreadPathList {
    /// The paths, from the root of the thread.
    pub paths: Vec<String>,
}

/// The body of `POST /api/threads`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CreateThreadRequest {
    /// The id.
    pub id: String,
    /// Whether a thread that exists is accepted.
    #[serde(default)]
    pub if_missing: bool,
}

/// The body of `POST /api/thread-retention`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetentionRequest {
    /// Delete threads without a change for longer than this number of seconds.
    pub older_than: Option<u64>,
    /// Delete those without a change for longest, until the rest has no more bytes.
    pub max_size: Option<u64>,
    /// Whether archived threads are deleted, too, and count.
    #[serde(default)]
    pub archived: bool,
    /// Whether the threads are only reported.
    #[serde(default)]
    pub dry_run: bool,
}

/// The body of `POST /api/threads/{id}/fork`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForkThreadRequest {
    /// The id of the new thread.
    pub to: String,
}

/// The body of `POST /api/threads/{id}/mkdir`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadMkdirRequest {
    /// The path of the directory, from the root of the thread.
    pub path: String,
}

/// The body of `POST /api/threads/{id}/move`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadMoveRequest {
    /// The path of the source, from the root of the thread.
    pub from: String,
    /// The path of the destination, which must not exist.
    pub to: String,
}

/// The body of `POST /api/threads/{id}/link`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadLinkRequest {
    /// The path of the entry, from the root of the thread; it must not exist.
    pub path: String,
    /// Where the bytes are. The server never fetches them.
    pub url: String,
    /// Their number.
    pub size: Option<u64>,
    /// Their hash: `blake3:` or `sha256:` and hexadecimal digits.
    pub hash: Option<String>,
    /// The media type.
    pub mime: Option<String>,
    /// The metadata.
    pub metadata: Option<Metadata>,
}

/// The parameters by which requests name the threads of another namespace or directory.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ThreadPlaceQuery {
    /// The directory of all threads.
    pub root: Option<String>,
    /// The namespace: `thread_id`, `task_id`, `flat` or a template.
    pub namespace: Option<String>,
}

/// Declares the query of a route of threads: its own parameters, and those of all such routes.
macro_rules! thread_query {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $kind,)*
            root: Option<IgnoredAny>,
            namespace: Option<IgnoredAny>,
            token: Option<IgnoredAny>,
        }
    };
}

thread_query! {
    /// The query of routes without parameters of their own.
    ThreadQuery {}
}

thread_query! {
    /// The query of `GET /api/threads`.
    ThreadsQuery {
        /// Whether archived threads are listed, too.
        archived: bool,
    }
}

thread_query! {
    /// The query of `GET /api/threads/{id}/files/{path}`.
    ThreadReadQuery {
        /// The greatest width and height of a picture of the image, such as `200x100`.
        thumbnail: Option<String>,
    }
}

thread_query! {
    /// The query of `PUT /api/threads/{id}/files/{path}`.
    ThreadWriteQuery {
        /// The media type; by default that of the content and the name.
        mime: Option<String>,
        /// Members of the metadata as a JSON object.
        metadata: Option<String>,
    }
}

thread_query! {
    /// The query of `GET /api/threads/{id}/grep`.
    ThreadGrepQuery {
        /// The text to find.
        pattern: String,
        /// Whether the pattern is a regular expression.
        regex: bool,
        /// Whether upper and lower case are equal.
        ignore_case: bool,
        /// A glob of the files to search.
        include: Option<String>,
        /// The greatest number of lines.
        limit: Option<usize>,
    }
}

thread_query! {
    /// The query of `GET /api/threads/{id}/find`.
    ThreadFindQuery {
        /// The glob, from the root of the thread.
        glob: String,
    }
}

impl<T: From<Millis>> From<&ThreadInfo> for ThreadJson<T> {
    fn from(info: &ThreadInfo) -> Self {
        Self {
            id: info.id.clone(),
            path: info.path.to_string(),
            directory: info.directory.to_string(),
            created: info.created.into(),
            changed: info.changed.into(),
            archived: info.archived.map(Into::into),
            forked_from: info.forked_from.clone(),
            files: info.totals.n_files,
            directories: info.totals.n_directories,
            bytes: info.totals.n_bytes,
        }
    }
}

impl<T: From<Millis>> RetentionReportJson<T> {
    /// Makes the report of a retention.
    pub fn new(report: &RetentionReport, dry_run: bool) -> Self {
        let removed = report.removed.iter().map(|removed| RemovedThreadJson {
            thread: ThreadJson::from(&removed.info),
            reason: removed.reason.name(),
        });
        let (kept, kept_bytes) = (report.n_kept, report.kept_bytes);
        Self { removed: removed.collect(), kept, kept_bytes, dry_run }
    }
}

impl From<&FileRecord> for ThreadFileJson {
    fn from(record: &FileRecord) -> Self {
        Self {
            path: record.path.to_string(),
            name: record.name.clone(),
            mime: record.mime_type.clone(),
            storage: record.storage.clone(),
            size: record.size,
            is_directory: record.is_directory,
            metadata: record.metadata.clone(),
            width: record.width,
            height: record.height,
        }
    }
}

impl From<GrepResult> for ThreadMatchList {
    fn from(found: GrepResult) -> Self {
        let line = |line: GrepLine| ThreadLineJson { line: line.number, content: line.text };
        let files = found.files.into_iter().map(|file| ThreadMatchesJson {
            path: file.path.to_string(),
            matches: file.lines.into_iter().filter(|line| line.is_match).map(line).collect(),
        });
        let binary_paths = found.binary_paths.iter().map(ToString::to_string).collect();
        Self { files: files.collect(), binary: found.n_binary, binary_paths }
    }
}
