//! The service of artifacts: its requests, which doors parse, and the answers to them. Contents are
//! no part of it: each door has a call of its own for them.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;
use yfs_artifacts::{ArtifactError, CleanupPolicy, FileMetadata, FileSystemOps, FileSystemStore};
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::FsError;

use crate::{
    artifact::{ArtifactJson, ArtifactList, CleanupReportJson},
    time::UnixMillis,
};

/// A request for artifacts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields have the names of the calls' arguments")]
pub enum ArtifactRequest {
    /// The artifacts in order of their paths: those that match a pattern, or all if there is none.
    List { patterns: Vec<String> },
    /// The reference to an artifact, by the path that references name.
    Show { artifact: String },
    /// The reference to the file at a path of the workspace.
    ShowAt { path: String },
    /// The path of a reference's file.
    PathNow { reference: ArtifactReference },
    /// Moves a reference's file to the trash.
    Delete { reference: ArtifactReference },
    /// Moves the artifacts to the trash that a policy does not keep, or only reports them.
    Clean(CleanupRules),
}

/// A reference to a file, or the content of a response with one.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtifactReference(pub Box<FileMetadata>);

/// The limits of a cleanup.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CleanupRules {
    /// The greatest time without a change, in milliseconds.
    pub older_than_ms: Option<f64>,
    /// The greatest size of all artifacts, in bytes.
    pub max_size: Option<u64>,
    /// The greatest number of artifacts.
    pub max_files: Option<usize>,
    /// Directories below the root in which nothing is removed.
    pub keep: Vec<String>,
    /// Whether the artifacts are only reported.
    pub dry_run: bool,
}

/// The answer to a request for artifacts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ArtifactResponse<F = String, T = UnixMillis> {
    /// Artifacts.
    Artifacts(ArtifactList<T>),
    /// A reference.
    Reference(Box<FileMetadata>),
    /// A path of the workspace.
    Path(String),
    /// What a cleanup removed.
    Cleaned(CleanupReportJson<F>),
    /// A file is in the trash now.
    Removed,
}

impl<'de> Deserialize<'de> for ArtifactReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let reference = Value::deserialize(deserializer)?;
        let metadata = FileMetadata::of_reference(&reference).map_err(D::Error::custom)?;
        Ok(Self(Box::new(metadata)))
    }
}

impl CleanupRules {
    /// Returns the policy.
    pub fn policy(&self) -> CleanupPolicy {
        CleanupPolicy {
            max_age: self.older_than_ms.map(|age| Duration::from_millis(age as u64)),
            max_total_bytes: self.max_size,
            max_files: self.max_files,
            kept_directories: self.keep.iter().cloned().collect(),
        }
    }
}

impl ArtifactRequest {
    /// Serves the request at a time. `failed` describes a file that a cleanup could not remove.
    ///
    /// # Errors
    ///
    /// Fails as the call of [`FileSystemStore`] does.
    pub async fn serve<F, T: From<Millis>>(
        self,
        store: &FileSystemStore,
        now: Millis,
        failed: impl Fn(&(VPath, FsError)) -> F,
    ) -> Result<ArtifactResponse<F, T>, ArtifactError> {
        Ok(match self {
            Self::List { patterns } => {
                let listed = store.list(&patterns).await?.into_iter().map(ArtifactJson::from);
                ArtifactResponse::Artifacts(ArtifactList { artifacts: listed.collect() })
            }
            Self::Show { artifact } => {
                let path = store.path_now(&FileMetadata::at_path(artifact, None)).await?;
                ArtifactResponse::Reference(Box::new(store.reference_at(&path).await?))
            }
            Self::ShowAt { path } => {
                let path = VPath::parse(&path).map_err(|_| ArtifactError::BadReference(path))?;
                ArtifactResponse::Reference(Box::new(store.reference_at(&path).await?))
            }
            Self::PathNow { reference } => {
                ArtifactResponse::Path(store.path_now(&reference.0).await?.to_string())
            }
            Self::Delete { reference } => {
                store.delete_file(&reference.0).await?;
                ArtifactResponse::Removed
            }
            Self::Clean(rules) => {
                let report = store.clean_up(&rules.policy(), now, rules.dry_run).await?;
                ArtifactResponse::Cleaned(CleanupReportJson::new(&report, rules.dry_run, failed))
            }
        })
    }
}
