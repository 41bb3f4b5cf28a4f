//! Artifacts as files: written with a hash, found again after a rename, verified on read.
//!
//! A stored file has marks in its custom metadata: the path that its reference names, and the hash
//! of the stored content. They move with the file, so a reference finds a file that was renamed,
//! and a path alone is as good as a reference: a content that was changed since is not returned as
//! the stored one.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use yfs_analysis::{ContentAnalysis, analyze, extension_for};
use yfs_types::path::VPath;
#[cfg(target_os = "linux")]
use yfs_vfs::HostFs;
use yfs_vfs::{FileSystem, FileSystemExt, FsCode, FsError, Metadata, WalkOptions, WriteOptions};

use crate::{
    config::{ArtifactIds, ArtifactOptions, FileSystemConfig, id_as_name},
    error::ArtifactError,
    past_contents::PastContents,
    tool_response::FileMetadata,
};

/// The member of a file's custom metadata with the path that its reference names.
pub(crate) const MARK: &str = "artifact";

/// The member with the BLAKE3 hash of the stored content, in hexadecimal.
const CHECKSUM_MARK: &str = "artifact_checksum";

/// The operations on stored files (`docs/spec/artifacts.md`).
#[async_trait]
pub trait FileSystemOps: Send + Sync {
    /// Stores the result of a call and returns the reference.
    ///
    /// # Errors
    ///
    /// Fails if the ids give no path or the file cannot be written.
    async fn store_file(
        &self,
        ids: &ArtifactIds,
        content: Bytes,
    ) -> Result<FileMetadata, ArtifactError>;

    /// Returns the content of a stored file, as it was stored.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Missing`] and [`ArtifactError::Corrupt`] say how to get the file back.
    async fn read_file(&self, metadata: &FileMetadata) -> Result<Bytes, ArtifactError>;

    /// Removes a stored file.
    ///
    /// # Errors
    ///
    /// Fails as [`read_file`](Self::read_file) does, but for a content that was changed.
    async fn delete_file(&self, metadata: &FileMetadata) -> Result<(), ArtifactError>;
}

/// The files of artifacts in a filesystem.
#[derive(Debug)]
pub struct FileSystemStore {
    fs: Arc<dyn FileSystem>,
    past: Option<Arc<dyn PastContents>>,
    options: ArtifactOptions,
    /// Where files are that are not where their reference says. Guarded for the length of a lookup.
    moved: Mutex<HashMap<String, VPath>>,
}

/// The content of an artifact, as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedArtifact {
    /// The content.
    pub data: Bytes,
    /// Whether the file has another content now, so that this is an earlier version of it.
    pub is_earlier: bool,
}

/// A file before it is written.
#[derive(Debug, Clone)]
pub(crate) struct PlannedArtifact {
    pub(crate) metadata: FileMetadata,
    pub(crate) content: Bytes,
}

impl FileSystemStore {
    /// Makes a store in a filesystem.
    pub fn new(fs: Arc<dyn FileSystem>, options: ArtifactOptions) -> Self {
        Self { fs, past: None, options, moved: Mutex::default() }
    }

    /// Makes a store in a directory of the host, which is created if it is missing.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be created or opened.
    #[cfg(target_os = "linux")]
    pub fn open(config: FileSystemConfig) -> Result<Self, ArtifactError> {
        let FileSystemConfig { base_path, size_threshold, namespace_strategy } = config;
        let opened = std::fs::create_dir_all(&base_path).and_then(|()| HostFs::open(&base_path));
        let fs = opened.map_err(|source| ArtifactError::Open { path: base_path, source })?;
        let options =
            ArtifactOptions { size_threshold, namespace_strategy, ..ArtifactOptions::default() };
        Ok(Self::new(Arc::new(fs), options))
    }

    /// Sets the past of the files, from which a reference to a changed file is resolved.
    #[must_use]
    pub fn with_past(self, past: Arc<dyn PastContents>) -> Self {
        Self { past: Some(past), ..self }
    }

    /// Returns the options.
    pub fn options(&self) -> &ArtifactOptions {
        &self.options
    }

    /// Returns the filesystem.
    pub fn fs(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// Returns a reference to a file as it is now: one that was stored, or any other below the
    /// root.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, and with [`ArtifactError::BadReference`] for a file
    /// outside of the root that was not stored.
    pub async fn reference_at(&self, path: &VPath) -> Result<FileMetadata, ArtifactError> {
        let stat = self.fs.stat(path).await?;
        let content = self.fs.read(path).await?.data;
        let mark = stat.metadata.get(MARK).and_then(Value::as_str);
        let relative = mark.or_else(|| path.relative_to(&self.options.root));
        let relative = relative.filter(|relative| !relative.is_empty());
        let relative =
            relative.ok_or_else(|| ArtifactError::BadReference(path.as_str().to_owned()))?;
        let file_id = relative.rsplit('/').next().unwrap_or(relative).to_owned();
        let ContentAnalysis { media_type, size, stats, preview, .. } = analyze(&file_id, &content);
        Ok(FileMetadata {
            file_id,
            relative_path: relative.to_owned(),
            size,
            content_type: Some(media_type),
            preview: Some(preview.render(&stats, self.options.preview)),
            stats,
            checksum: Some(content_hash(&content)),
        })
    }

    /// Returns the path at which the file of a reference is now.
    ///
    /// # Errors
    ///
    /// Fails with [`ArtifactError::Missing`] if it is at no path.
    pub async fn path_now(&self, metadata: &FileMetadata) -> Result<VPath, ArtifactError> {
        self.locate(metadata).await
    }

    /// Returns the content of a stored file, as it was stored: the one with the hash of the
    /// reference, or, if the reference has none, with the hash that the file was stored with.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemOps::read_file`] does.
    pub async fn read_verified(
        &self,
        metadata: &FileMetadata,
    ) -> Result<VerifiedArtifact, ArtifactError> {
        let path = self.locate(metadata).await?;
        let data = self.fs.read(&path).await?.data;
        let expected = match &metadata.checksum {
            Some(checksum) => Some(checksum.clone()),
            None => self.stored_checksum(&path, &metadata.relative_path).await?,
        };
        let Some(expected) = expected else {
            return Ok(VerifiedArtifact { data, is_earlier: false });
        };
        let is_wanted =
            |content: &[u8]| blake3::hash(content).to_hex().starts_with(expected.as_str());
        if is_wanted(&data) {
            return Ok(VerifiedArtifact { data, is_earlier: false });
        }
        if let Some(past) = &self.past
            && let Some(data) = past.find_content(&path, &is_wanted).await?
        {
            return Ok(VerifiedArtifact { data, is_earlier: true });
        }
        let found = blake3::hash(&data).to_hex()[..16].to_owned();
        Err(ArtifactError::Corrupt { path, expected, found })
    }

    /// Returns the hash with which the file at a path was stored, if it is the one that a reference
    /// names and the filesystem keeps it.
    async fn stored_checksum(
        &self,
        path: &VPath,
        relative_path: &str,
    ) -> Result<Option<String>, FsError> {
        let stat = self.fs.stat(path).await?;
        let text = |name: &str| stat.metadata.get(name).and_then(Value::as_str);
        let is_own = text(MARK) == Some(relative_path);
        Ok(text(CHECKSUM_MARK).filter(|_| is_own).map(str::to_owned))
    }

    /// Describes a content, and names the file that it will be.
    pub(crate) fn plan(
        &self,
        ids: &ArtifactIds,
        content: Bytes,
    ) -> Result<PlannedArtifact, ArtifactError> {
        let ContentAnalysis { media_type, size, stats, preview, .. } = analyze("", &content);
        let call = id_as_name(&ids.tool_call_id, "tool call id")?;
        let file_id = format!("tool_call_{call}{}", extension_for(&media_type));
        let relative_path = self.options.namespace_strategy.relative_path(ids, &file_id)?;
        let metadata = FileMetadata {
            file_id,
            relative_path,
            size,
            content_type: Some(media_type),
            preview: Some(preview.render(&stats, self.options.preview)),
            stats,
            checksum: Some(content_hash(&content)),
        };
        Ok(PlannedArtifact { metadata, content })
    }

    /// Writes a planned file; returns whether an equal one was there.
    pub(crate) async fn write_planned(
        &self,
        planned: &PlannedArtifact,
    ) -> Result<bool, ArtifactError> {
        let path = self.path_of(&planned.metadata)?;
        let stored = self.fs.stat(&path).await;
        if stored.is_ok_and(|stat| stat.size == planned.metadata.size)
            && self.fs.read_if_exists(&path).await?.as_ref() == Some(&planned.content)
        {
            return Ok(true);
        }
        let PlannedArtifact { metadata: FileMetadata { relative_path, checksum, .. }, .. } =
            planned;
        let mark = json!({ MARK: relative_path, CHECKSUM_MARK: checksum });
        let metadata: Option<Metadata> = mark.as_object().cloned();
        let mime = planned.metadata.content_type.as_deref().map(Into::into);
        let options = WriteOptions { metadata, mime, ..WriteOptions::default() };
        match self.fs.write(&path, planned.content.clone(), &options).await {
            // A host has no metadata; its files are found by their paths alone.
            Err(error) if error.code == FsCode::ENOSYS => {
                let options = WriteOptions::default();
                self.fs.write(&path, planned.content.clone(), &options).await?;
            }
            written => drop(written?),
        }
        Ok(false)
    }

    /// Returns the path that a reference names.
    pub(crate) fn path_of(&self, metadata: &FileMetadata) -> Result<VPath, ArtifactError> {
        let relative = &metadata.relative_path;
        let bad = || ArtifactError::BadReference(relative.clone());
        let is_strange = |part: &str| matches!(part, "" | "." | "..");
        if relative.split('/').any(is_strange) {
            return Err(bad());
        }
        self.options.root.resolve(relative).map_err(|_| bad())
    }

    /// Finds the file of a reference at another path than it names.
    async fn find_moved(&self, relative_path: &str) -> Result<Option<VPath>, FsError> {
        let known = self.moved.lock().get(relative_path).cloned();
        if let Some(path) = known
            && self.has_mark(&path, relative_path).await
        {
            return Ok(Some(path));
        }
        let walked = self.fs.walk(&self.options.search_root, &WalkOptions::default()).await?;
        for found in walked {
            if self.has_mark(&found.path, relative_path).await {
                self.moved.lock().insert(relative_path.to_owned(), found.path.clone());
                return Ok(Some(found.path));
            }
        }
        Ok(None)
    }

    async fn has_mark(&self, path: &VPath, relative_path: &str) -> bool {
        let stat = self.fs.lstat(path).await;
        stat.is_ok_and(|stat| {
            stat.is_file() && stat.metadata.get(MARK).and_then(Value::as_str) == Some(relative_path)
        })
    }

    /// Returns the path at which the file of a reference is.
    async fn locate(&self, metadata: &FileMetadata) -> Result<VPath, ArtifactError> {
        let path = self.path_of(metadata)?;
        match self.fs.stat(&path).await {
            // Another file may have taken the name of one that was moved.
            Ok(stat) if stat.is_file() => {
                let mark = stat.metadata.get(MARK).and_then(Value::as_str);
                let is_own = mark == Some(&metadata.relative_path);
                match is_own {
                    true => Ok(path),
                    false => {
                        let found = self.find_moved(&metadata.relative_path).await?;
                        Ok(found.unwrap_or(path))
                    }
                }
            }
            Err(error) if !matches!(error.code, FsCode::ENOENT | FsCode::ENOTDIR) => {
                Err(error.into())
            }
            _ => {
                let found = self.find_moved(&metadata.relative_path).await?;
                found.ok_or(ArtifactError::Missing { path })
            }
        }
    }
}

#[async_trait]
impl FileSystemOps for FileSystemStore {
    async fn store_file(
        &self,
        ids: &ArtifactIds,
        content: Bytes,
    ) -> Result<FileMetadata, ArtifactError> {
        let planned = self.plan(ids, content)?;
        self.write_planned(&planned).await?;
        Ok(planned.metadata)
    }

    async fn read_file(&self, metadata: &FileMetadata) -> Result<Bytes, ArtifactError> {
        Ok(self.read_verified(metadata).await?.data)
    }

    async fn delete_file(&self, metadata: &FileMetadata) -> Result<(), ArtifactError> {
        let path = self.locate(metadata).await?;
        self.fs.rm(&path, &yfs_vfs::RemoveOptions::default()).await?;
        Ok(())
    }
}

/// Stores the result of a tool call as a file, and returns its reference
/// (`docs/spec/artifacts.md`).
///
/// # Errors
///
/// Fails as [`FileSystemOps::store_file`] does.
pub async fn store_and_return_metadata(
    file_system: &FileSystemStore,
    tool_response_data: &Value,
    thread_id: &str,
    task_id: &str,
    tool_call_id: &str,
) -> Result<FileMetadata, ArtifactError> {
    let ids = ArtifactIds {
        thread_id: thread_id.to_owned(),
        task_id: task_id.to_owned(),
        tool_call_id: tool_call_id.to_owned(),
    };
    file_system.store_file(&ids, content_of(tool_response_data)).await
}

/// Returns the BLAKE3 hash of a content in hexadecimal, as references have it.
pub fn content_hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

/// Returns the bytes of a result: of a string its text, of any other value its JSON.
pub(crate) fn content_of(result: &Value) -> Bytes {
    match result {
        Value::String(text) => Bytes::copy_from_slice(text.as_bytes()),
        value => Bytes::from(value.to_string()),
    }
}
