//! Where artifacts are stored, and which results become artifacts.

use std::path::PathBuf;

use thiserror::Error;
use yfs_analysis::PreviewLimit;
use yfs_types::path::VPath;

/// The configuration of `docs/spec/artifacts.md`: a directory of the host, one threshold, one
/// strategy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystemConfig {
    /// The root of the artifacts, on the host.
    pub base_path: PathBuf,
    /// The size above which a result becomes a file, in bytes.
    pub size_threshold: usize,
    /// Where a file is put.
    pub namespace_strategy: NamespaceStrategy,
}

/// Where a file is put below the root.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum NamespaceStrategy {
    /// `/{thread_id}/{file_id}`
    #[default]
    ThreadId,
    /// `/{task_id}/{file_id}`
    TaskId,
    /// `/{file_id}`
    Flat,
    /// A template with the placeholders `{thread_id}`, `{task_id}`, `{tool_call_id}` and
    /// `{file_id}`, which comes last; for example `runs/{thread_id}/{task_id}/{file_id}`.
    Custom(String),
}

/// The ids of the call that a result is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactIds {
    /// The thread.
    pub thread_id: String,
    /// The task in it.
    pub task_id: String,
    /// The call of a tool.
    pub tool_call_id: String,
}

/// A result cannot have a path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// An id is empty.
    #[error("the {0} is empty")]
    EmptyId(&'static str),
    /// A template has an unknown placeholder, or does not end in `{file_id}`.
    #[error("{0:?} is no template of a path: {1}")]
    BadTemplate(String, &'static str),
    /// A text is no name of a strategy, and has no placeholder.
    #[error(
        "expected thread_id, task_id, flat, runs, or a template such as {{thread_id}}/{{file_id}}"
    )]
    Unknown,
}

/// Which results become files, and how they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactOptions {
    /// The root of the artifacts, in the filesystem.
    pub root: VPath,
    /// The directory below which files are searched that were moved.
    pub search_root: VPath,
    /// The size above which a result becomes a file, in bytes.
    pub size_threshold: usize,
    /// The estimated number of tokens above which a result becomes a file, if that counts too.
    pub token_threshold: Option<usize>,
    /// Where a file is put.
    pub namespace_strategy: NamespaceStrategy,
    /// The length of the previews in references.
    pub preview: PreviewLimit,
    /// The bytes of results that are kept in memory while the store cannot be written.
    pub max_pending_bytes: usize,
}

impl ArtifactOptions {
    /// Returns the options for development: 10 KB.
    pub fn development() -> Self {
        Self::with_threshold(10 * 1024)
    }

    /// Returns the options for production: 50 KB.
    pub fn production() -> Self {
        Self::with_threshold(50 * 1024)
    }

    /// Returns the options for machines with much memory: 100 KB.
    pub fn high_memory() -> Self {
        Self::with_threshold(100 * 1024)
    }

    fn with_threshold(size_threshold: usize) -> Self {
        Self {
            root: VPath::root(),
            search_root: VPath::root(),
            size_threshold,
            token_threshold: None,
            namespace_strategy: NamespaceStrategy::default(),
            preview: PreviewLimit::default(),
            max_pending_bytes: 64 << 20,
        }
    }
}

impl Default for ArtifactOptions {
    fn default() -> Self {
        Self::production()
    }
}

impl NamespaceStrategy {
    /// Parses the name of a strategy, or a template.
    ///
    /// # Errors
    ///
    /// Fails with [`NamespaceError::Unknown`]. A template is checked when it is used.
    pub fn parse(text: &str) -> Result<Self, NamespaceError> {
        match text {
            "thread_id" => Ok(Self::ThreadId),
            "task_id" => Ok(Self::TaskId),
            "flat" => Ok(Self::Flat),
            "runs" => Ok(Self::runs()),
            template if template.contains('{') => Ok(Self::Custom(template.to_owned())),
            _ => Err(NamespaceError::Unknown),
        }
    }

    /// Returns the strategy of the runtime in `docs/spec/artifacts.md`:
    /// `runs/{thread_id}/{task_id}/{file_id}`.
    pub fn runs() -> Self {
        Self::Custom("runs/{thread_id}/{task_id}/{file_id}".to_owned())
    }

    /// Returns the path of a file of this call, from the root of the artifacts.
    ///
    /// Different ids have different paths: a character that a name cannot have is written as `%`
    /// and two hexadecimal digits for each of its bytes.
    ///
    /// # Errors
    ///
    /// Fails if an id that the path needs is empty, or for a bad template.
    pub fn relative_path(
        &self,
        ids: &ArtifactIds,
        file_id: &str,
    ) -> Result<String, NamespaceError> {
        let template = match self {
            Self::ThreadId => "{thread_id}/{file_id}",
            Self::TaskId => "{task_id}/{file_id}",
            Self::Flat => "{file_id}",
            Self::Custom(template) => template,
        };
        let bad = |reason| NamespaceError::BadTemplate(template.to_owned(), reason);
        let trimmed = template.trim_start_matches('/');
        if !trimmed.ends_with("{file_id}") {
            return Err(bad("it must end in {file_id}"));
        }
        let (mut path, mut rest) = (String::new(), trimmed);
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or(bad("a brace is not closed"))?;
            path.push_str(before);
            path.push_str(&match name {
                "thread_id" => id_as_name(&ids.thread_id, "thread id")?,
                "task_id" => id_as_name(&ids.task_id, "task id")?,
                "tool_call_id" => id_as_name(&ids.tool_call_id, "tool call id")?,
                "file_id" => file_id.to_owned(),
                _ => return Err(bad("a placeholder is unknown")),
            });
            rest = after;
        }
        path.push_str(rest);
        let is_strange = |part: &str| matches!(part, "" | "." | "..");
        match path.split('/').any(is_strange) {
            true => Err(bad("a part of the path is empty, . or ..")),
            false => Ok(path),
        }
    }
}

/// Returns an id as a name: reversible, except for ids that are too long for one.
pub(crate) fn id_as_name(id: &str, what: &'static str) -> Result<String, NamespaceError> {
    const MAX_LEN: usize = 180;
    if id.is_empty() {
        return Err(NamespaceError::EmptyId(what));
    }
    let mut name = String::with_capacity(id.len());
    for (at, char) in id.char_indices() {
        let is_plain = char.is_ascii_alphanumeric()
            || matches!(char, '_' | '-')
            || (char == '.' && at > 0)
            || (!char.is_ascii() && char.is_alphanumeric());
        if is_plain {
            name.push(char);
            continue;
        }
        let mut buffer = [0; 4];
        for byte in char.encode_utf8(&mut buffer).bytes() {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.len() > MAX_LEN {
        let hash = blake3::hash(id.as_bytes()).to_hex();
        let mut end = MAX_LEN - 40;
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        name.truncate(end);
        name.push_str(&format!("~{}", &hash[..32]));
    }
    Ok(name)
}
