//! Bodies and query parameters of HTTP requests.

use serde::{Deserialize, de::IgnoredAny};

/// The body of `POST /api/mkdir`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MkdirRequest {
    /// The path of the directory.
    pub path: String,
    /// Whether missing parents are created, and an existing directory is accepted.
    #[serde(default)]
    pub recursive: bool,
}

/// The body of `POST /api/move` and `POST /api/copy`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferRequest {
    /// The path of the source.
    pub from: String,
    /// The path of the destination.
    pub to: String,
    /// Whether a file at the destination is replaced.
    #[serde(default)]
    pub replace: bool,
    /// Whether a directory is copied with everything below it.
    #[serde(default)]
    pub recursive: bool,
}

/// The body of `POST /api/symlink`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SymlinkRequest {
    /// The path of the link.
    pub path: String,
    /// The target.
    pub target: String,
}

/// The body of `POST /api/restore`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestoreRequest {
    /// The id of the node in the trash.
    pub id: String,
    /// The path where to put it; by default the path where it was.
    pub to: Option<String>,
}

/// The body of `POST /api/conflicts/{path}`: the decision about a conflict of words, or, with
/// `removal`, about a removal beside a change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettleRequest {
    /// The index of the place in the list of the file, from 0. Of several places with the same
    /// words, it is this one or the next.
    #[serde(default)]
    pub place: usize,
    /// The words of the place. One word that mixes the changes of two writers is accepted.
    #[serde(default)]
    pub words: Vec<String>,
    /// The index of the word to keep, from 0; null keeps all.
    pub keep: Option<usize>,
    /// Whether what was removed is restored, or stays in the trash.
    pub removal: Option<RemovalChoice>,
}

/// The decision about a file that one writer removed and another changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RemovalChoice {
    /// It is restored, with the change.
    Restore,
    /// It stays in the trash.
    Delete,
}

/// The body of `POST /api/uploads`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UploadRequest {
    /// The path of the file.
    pub path: String,
    /// The size of the file, in bytes.
    pub size: u64,
}

/// The body of `POST /api/uploads/{id}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FinishUploadRequest {
    /// The path of the file, if it is another one than at the beginning.
    pub path: Option<String>,
    /// Whether a file at the path is replaced.
    #[serde(default)]
    pub replace: bool,
}

/// The body of `POST /api/downloads`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DownloadRequest {
    /// The paths of files and directories.
    pub paths: Vec<String>,
}

/// The body of `PATCH /api/files/{path}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EditRequest {
    /// The text to replace.
    pub old: String,
    /// The new text.
    pub new: String,
    /// Whether all occurrences are replaced; otherwise there must be exactly one.
    #[serde(default)]
    pub all: bool,
}

/// The query of `GET /events`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventsQuery {
    /// The id of the last event that the client received.
    pub since: Option<String>,
    /// Whether the client is a page that shows who is there.
    pub people: bool,
    token: Option<IgnoredAny>,
}

/// The query of `GET /api/files/{path}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadQuery {
    /// Whether a directory is listed with everything below it.
    pub recursive: bool,
    /// The number of a version, as `/api/versions` counts them; by default the current content.
    pub version: Option<u64>,
    /// The greatest width and height of a picture of an image, such as `200x100`.
    pub thumbnail: Option<String>,
    token: Option<IgnoredAny>,
}

/// The query of `PUT` and `POST /api/files/{path}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WriteQuery {
    /// What to do if another writer changed the file since the version of `If-Match`.
    pub conflict: ConflictPolicy,
    /// Permission bits, in octal.
    pub mode: Option<String>,
    /// The time when the content last changed, in milliseconds since the Unix epoch.
    pub mtime: Option<i64>,
    token: Option<IgnoredAny>,
}

/// What a write does if another writer changed the file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictPolicy {
    /// The write is rejected with 412.
    #[default]
    Refuse,
    /// Both changes are merged.
    Merge,
}

/// The query of `GET /api/search`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchQuery {
    /// The text to find.
    pub pattern: String,
    /// The directory or file to search; by default all that the caller may see.
    pub path: Option<String>,
    /// Whether the pattern is a regular expression.
    pub regex: bool,
    /// Whether upper and lower case are equal.
    pub ignore_case: bool,
    /// Whether only whole words match.
    pub word: bool,
    /// The greatest number of lines.
    pub limit: Option<usize>,
    token: Option<IgnoredAny>,
}

/// The query of `GET /api/blame/{path}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BlameQuery {
    /// Whether the parts of each line are wanted.
    pub parts: bool,
    token: Option<IgnoredAny>,
}

/// The query of `GET /api/log`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogQuery {
    /// The directory or file; by default all that the caller may see.
    pub path: Option<String>,
    /// The greatest number of changes.
    pub limit: Option<usize>,
    /// The number of latest changes to leave out.
    pub skip: usize,
    token: Option<IgnoredAny>,
}

/// The query of `DELETE /api/files/{path}`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoveQuery {
    /// Whether a directory is removed with everything below it.
    pub recursive: bool,
    token: Option<IgnoredAny>,
}
