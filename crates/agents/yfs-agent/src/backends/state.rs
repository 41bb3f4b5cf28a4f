//! Files in memory that belong to one thread of an agent, and can be saved with its state.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use yfs_types::{path::VPath, time::Millis};
use yfs_vfs::{
    FileKind, FileSystem, FileSystemExt, FsError, MemoryFs, Metadata, MkdirOptions, WalkOptions,
    WriteOptions,
};

use super::AgentBackend;

/// The version of the saved form.
const STATE_VERSION: u32 = 1;

/// Files in memory.
#[derive(Debug, Clone, Default)]
pub struct StateBackend {
    fs: Arc<MemoryFs>,
}

/// The saved form of all files.
#[derive(Debug, Serialize, Deserialize)]
struct StateFormat {
    version: u32,
    entries: Vec<StateEntryFormat>,
}

/// The saved form of one object. Directories precede what is in them.
#[derive(Debug, Serialize, Deserialize)]
struct StateEntryFormat {
    path: String,
    #[serde(flatten)]
    body: StateBodyFormat,
    mode: u32,
    modified_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mime: Option<String>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateBodyFormat {
    Text(String),
    Base64(String),
    Link(String),
    Directory(()),
}

/// The reason why a saved state could not be read.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum BadSavedState {
    /// The value does not have the form of a saved state.
    #[error("the saved state is malformed: {0}")]
    Malformed(String),
    /// The version is not known.
    #[error("the saved state has the unknown version {0}")]
    Version(u32),
    /// An object could not be made.
    #[error("the saved state holds an object that cannot be made")]
    Object(#[from] FsError),
}

impl StateBackend {
    /// Makes a backend without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns all files as JSON. The form is equal for equal trees.
    pub async fn save(&self) -> Result<Value, FsError> {
        let mut entries = Vec::new();
        for found in self.fs.walk(&VPath::root(), &WalkOptions::default()).await? {
            let stat = self.fs.lstat(&found.path).await?;
            // The time of a link cannot be set, so a loaded state would differ.
            let is_link = stat.kind == FileKind::Symlink;
            let body = match stat.kind {
                FileKind::Directory => StateBodyFormat::Directory(()),
                FileKind::Symlink => StateBodyFormat::Link(self.fs.readlink(&found.path).await?),
                _ => {
                    let data = self.fs.read(&found.path).await?.data;
                    match std::str::from_utf8(&data) {
                        Ok(text) => StateBodyFormat::Text(text.to_owned()),
                        Err(_) => StateBodyFormat::Base64(STANDARD.encode(&data)),
                    }
                }
            };
            entries.push(StateEntryFormat {
                path: found.path.to_string(),
                body,
                mode: stat.mode,
                modified_ms: if is_link { 0 } else { stat.mtime.0 },
                mime: stat.mime.map(Into::into),
                metadata: stat.metadata,
            });
        }
        let format = StateFormat { version: STATE_VERSION, entries };
        Ok(serde_json::to_value(format).expect("the form has only text keys"))
    }

    /// Makes a backend with the files that [`save`](Self::save) returned.
    pub async fn load(saved: &Value) -> Result<Self, BadSavedState> {
        let format = StateFormat::deserialize(saved);
        let format = format.map_err(|error| BadSavedState::Malformed(error.to_string()))?;
        if format.version != STATE_VERSION {
            return Err(BadSavedState::Version(format.version));
        }
        let backend = Self::new();
        for entry in &format.entries {
            backend.restore(entry).await?;
        }
        // Making what is in a directory does not change its time, but a later entry may lie in one
        // that is restored already.
        for entry in &format.entries {
            if matches!(entry.body, StateBodyFormat::Directory(())) {
                let path = saved_path(entry)?;
                backend.fs.utimes(&path, Millis(entry.modified_ms)).await?;
            }
        }
        Ok(backend)
    }

    async fn restore(&self, entry: &StateEntryFormat) -> Result<(), BadSavedState> {
        let path = saved_path(entry)?;
        let data = match &entry.body {
            StateBodyFormat::Directory(()) => {
                let options = MkdirOptions { recursive: false, mode: Some(entry.mode) };
                self.fs.mkdir(&path, &options).await?;
                self.fs.set_metadata(&path, entry.metadata.clone()).await?;
                return Ok(());
            }
            StateBodyFormat::Link(target) => return Ok(self.fs.symlink(target, &path).await?),
            StateBodyFormat::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
            StateBodyFormat::Base64(text) => {
                let bytes = STANDARD.decode(text);
                bytes.map_err(|error| BadSavedState::Malformed(error.to_string()))?.into()
            }
        };
        let options = WriteOptions {
            create: yfs_vfs::CreateMode::New,
            mode: Some(entry.mode),
            mime: entry.mime.as_deref().map(Into::into),
            metadata: Some(entry.metadata.clone()),
            mtime: Some(Millis(entry.modified_ms)),
            parents: false,
            ..WriteOptions::default()
        };
        self.fs.write(&path, data, &options).await?;
        Ok(())
    }
}

fn saved_path(entry: &StateEntryFormat) -> Result<VPath, BadSavedState> {
    match VPath::parse(&entry.path) {
        Ok(path) if path.as_str() == entry.path => Ok(path),
        _ => Err(BadSavedState::Malformed(format!("{:?} is not a path", entry.path))),
    }
}

impl AgentBackend for StateBackend {
    fn fs(&self) -> Arc<dyn FileSystem> {
        self.fs.clone()
    }
}
