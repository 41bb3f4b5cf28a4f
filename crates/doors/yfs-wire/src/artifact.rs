//! Artifacts, what files contain, and contexts.

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::Value;
use yfs_artifacts::{
    CleanupReport, ContextRequest, FileAnalysis, FileSelection, RenderedContext, StoredArtifact,
};
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::FsError;

use crate::time::UnixMillis;

/// An artifact in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Artifact"))]
pub struct ArtifactJson<T = UnixMillis> {
    /// The path in the workspace.
    pub path: String,
    /// The path that references name.
    pub artifact: String,
    /// The size in bytes.
    pub size: u64,
    /// The media type.
    pub mime: Option<String>,
    /// The time when the content last changed.
    pub changed: T,
}

/// The answer of `GET /api/artifacts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ArtifactList"))]
pub struct ArtifactList<T = UnixMillis> {
    /// The artifacts, in order of their paths.
    pub artifacts: Vec<ArtifactJson<T>>,
}

/// What a file contains.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "FileStats"))]
pub struct FileStatsJson {
    /// The path.
    pub path: String,
    /// The version of the content.
    pub version: Option<String>,
    /// The media type.
    pub mime: String,
    /// The size in bytes.
    pub size: u64,
    /// An object with one member, named Json, JsonArray, Csv, Html, Markdown, Text or Binary.
    pub stats: Value,
    /// What the statistics leave out, and what is wrong with the content.
    pub notes: Vec<String>,
    /// The beginning of the content, or its structure; null if none was asked for.
    pub preview: Option<String>,
}

impl FileStatsJson {
    /// Describes the content of a file, with the preview that was asked for.
    pub fn new(path: &VPath, analysis: &FileAnalysis, preview: Option<String>) -> Self {
        Self {
            path: path.to_string(),
            version: analysis.version.clone(),
            mime: analysis.media_type.clone(),
            size: analysis.size,
            stats: serde_json::to_value(&analysis.stats).expect("strings and numbers are JSON"),
            notes: analysis.notes.clone(),
            preview,
        }
    }
}

/// What a cleanup removed, or would remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ArtifactCleanup"))]
pub struct CleanupReportJson<F = String> {
    /// The artifacts, the oldest first. They are in the trash.
    pub removed: Vec<RemovedArtifactJson>,
    /// Their size in bytes.
    pub freed_bytes: u64,
    /// The paths of artifacts that could not be removed.
    pub failed: Vec<F>,
    /// Whether nothing was removed.
    pub dry_run: bool,
}

/// An artifact that a cleanup removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RemovedArtifact"))]
pub struct RemovedArtifactJson {
    /// The path in the workspace.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// Why: `age`, `size` or `files`.
    pub reason: &'static str,
}

/// An artifact that a cleanup could not remove, for programs that tell the reasons apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedArtifactJson {
    /// The path in the workspace.
    pub path: String,
    /// The code of POSIX.
    pub code: &'static str,
}

impl From<&(VPath, FsError)> for FailedArtifactJson {
    fn from((path, error): &(VPath, FsError)) -> Self {
        Self { path: path.to_string(), code: error.code.as_str() }
    }
}

impl<F> CleanupReportJson<F> {
    /// Makes the report of a cleanup.
    pub fn new(
        report: &CleanupReport,
        dry_run: bool,
        failed: impl Fn(&(VPath, FsError)) -> F,
    ) -> Self {
        let removed = report.removed.iter().map(|removed| RemovedArtifactJson {
            path: removed.path.to_string(),
            size: removed.size,
            reason: removed.reason.name(),
        });
        Self {
            removed: removed.collect(),
            freed_bytes: report.freed_bytes,
            failed: report.failed.iter().map(failed).collect(),
            dry_run,
        }
    }
}

impl<T: From<Millis>> From<StoredArtifact> for ArtifactJson<T> {
    fn from(artifact: StoredArtifact) -> Self {
        Self {
            path: artifact.path.to_string(),
            artifact: artifact.relative_path,
            size: artifact.size,
            mime: artifact.media_type,
            changed: artifact.changed.into(),
        }
    }
}

impl From<RenderedContext> for ContextJson {
    fn from(rendered: RenderedContext) -> Self {
        Self {
            text: rendered.text,
            tokens: rendered.n_tokens,
            files: rendered.n_files,
            listed: rendered.n_listed,
            previewed: rendered.n_previewed,
        }
    }
}

/// A context for a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Context"))]
pub struct ContextJson {
    /// The text.
    pub text: String,
    /// Its estimated number of tokens.
    pub tokens: usize,
    /// The number of files that were selected.
    pub files: usize,
    /// The number of files that the text lists.
    pub listed: usize,
    /// The number of those that have a preview.
    pub previewed: usize,
}

/// The body of `POST /api/artifact-cleanup`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CleanupRequest {
    /// Remove artifacts that were changed longer ago than this number of seconds.
    pub older_than: Option<u64>,
    /// Remove the oldest, until the rest has no more bytes.
    pub max_size: Option<u64>,
    /// Remove the oldest, until the rest is no more files.
    pub max_files: Option<usize>,
    /// Directories below the root in which nothing is removed.
    #[serde(default)]
    pub keep: Vec<String>,
    /// Whether the artifacts are only reported.
    #[serde(default)]
    pub dry_run: bool,
}

/// The body of `POST /api/context`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextBody {
    /// The files and directories; by default all that the caller may see.
    pub paths: Vec<String>,
    /// The greatest number of tokens; by default 8,000. An earlier name is `tokens`.
    #[serde(alias = "tokens")]
    pub max_tokens: Option<usize>,
    /// Patterns as in `.gitignore`: a file must match one.
    pub include: Vec<String>,
    /// Patterns as in `.gitignore` of files and directories that are left out.
    pub exclude: Vec<String>,
    /// Whether names that begin with a dot are included.
    pub hidden: bool,
    /// Whether files that `.gitignore` and `.yfsignore` name are included.
    pub ignored: bool,
    /// The size above which a file is only listed, in bytes.
    pub max_file_size: Option<u64>,
    /// The length of each preview in characters; by default 300.
    pub preview: Option<usize>,
}

impl ContextBody {
    /// Returns the request for files, with the default previews.
    pub fn request(self, paths: Vec<VPath>) -> ContextRequest {
        let default = ContextRequest::default();
        ContextRequest {
            selection: FileSelection {
                paths,
                include: self.include,
                exclude: self.exclude,
                hidden: self.hidden,
                ignored: self.ignored,
                max_file_size: self.max_file_size.unwrap_or(default.selection.max_file_size),
            },
            max_tokens: self.max_tokens.unwrap_or(default.max_tokens),
            ..default
        }
    }
}

/// The query of `GET /api/artifacts`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArtifactsQuery {
    /// The directory of all artifacts.
    pub root: Option<String>,
    /// A pattern of paths, in which `*` also matches slashes.
    pub pattern: Option<String>,
    token: Option<IgnoredAny>,
}

/// The query of `POST /api/artifacts`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreArtifactQuery {
    /// The directory of all artifacts.
    pub root: Option<String>,
    /// The thread of the call.
    pub thread: Option<String>,
    /// The task of the call.
    pub task: Option<String>,
    /// The id of the call; by default the beginning of the content's hash.
    pub call: Option<String>,
    /// Where the file is put: `thread_id`, `task_id`, `flat`, `runs`, or a template.
    pub namespace: Option<String>,
    /// The size up to which nothing is stored and the answer has the result itself, in bytes.
    pub threshold: Option<u64>,
    /// The length of the preview in characters.
    pub preview: Option<usize>,
    token: Option<IgnoredAny>,
}

/// The query of routes on one artifact.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArtifactQuery {
    /// The directory of all artifacts.
    pub root: Option<String>,
    /// The BLAKE3 hash of the content, or its beginning.
    pub checksum: Option<String>,
    /// The length of the preview in characters.
    pub preview: Option<usize>,
    token: Option<IgnoredAny>,
}

/// The query of `GET /api/stats`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatsQuery {
    /// The file.
    pub path: String,
    /// The length of a preview in tokens; without it there is none.
    pub preview: Option<usize>,
    token: Option<IgnoredAny>,
}
