//! The hybrid store of `docs/spec/artifacts.md`: small results stay values, large ones become
//! files.
//!
//! If the filesystem cannot be written, a result is kept in memory; the reference works all the
//! same, and the next call tries to write it.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use yfs_analysis::estimate_tokens;

use crate::{
    config::ArtifactIds,
    error::ArtifactError,
    file_store::{FileSystemOps, FileSystemStore, PlannedArtifact, content_of},
    tool_response::{FileMetadata, ToolResponse, ToolResponseContent},
};

/// The store of tools' results.
#[derive(Debug)]
pub struct FileSystemArtifactStore {
    files: FileSystemStore,
    /// The files that could not be written, by path. No other task waits while it is locked.
    pending: Mutex<BTreeMap<String, PlannedArtifact>>,
    counters: ArtifactCounters,
}

/// A stored result.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredResult {
    /// The result, or the reference to its file.
    pub content: ToolResponseContent,
    /// Why the file is only in memory so far, or why a large result stayed a value.
    pub warning: Option<String>,
}

/// A content after [`FileSystemArtifactStore::store_content`].
#[derive(Debug, Clone, PartialEq)]
pub struct StoredContent {
    /// The reference to its file; absent if the content is not in a file, because it is small or
    /// could not be written.
    pub metadata: Option<FileMetadata>,
    /// Why the file is only in memory so far, or why a large content is in no file.
    pub warning: Option<String>,
}

#[derive(Debug, Default)]
struct ArtifactCounters {
    n_direct: AtomicU64,
    n_stored: AtomicU64,
    n_deduplicated: AtomicU64,
    bytes_stored: AtomicU64,
    saved_tokens: AtomicU64,
    n_resolved: AtomicU64,
    n_missing: AtomicU64,
    n_corrupt: AtomicU64,
}

/// What a store has done since it was made.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ArtifactMetrics {
    /// Results that stayed values.
    pub n_direct: u64,
    /// Results that became files.
    pub n_stored: u64,
    /// Those of them whose file was there already, with the same content.
    pub n_deduplicated: u64,
    /// The bytes of the results that became files.
    pub bytes_stored: u64,
    /// The estimated tokens that references took less than their results.
    pub saved_tokens: u64,
    /// References that were resolved.
    pub n_resolved: u64,
    /// References whose file was not there.
    pub n_missing: u64,
    /// References whose file had another content.
    pub n_corrupt: u64,
    /// Files that are not written yet.
    pub n_pending: u64,
}

impl FileSystemArtifactStore {
    /// Makes a store over files.
    pub fn new(files: FileSystemStore) -> Self {
        Self { files, pending: Mutex::default(), counters: ArtifactCounters::default() }
    }

    /// Returns the files.
    pub fn files(&self) -> &FileSystemStore {
        &self.files
    }

    /// Stores a result: returns it as it is if it is small, and otherwise the reference to its
    /// file.
    ///
    /// # Errors
    ///
    /// Fails if the ids give no path. A filesystem that cannot be written is a warning.
    pub async fn store(
        &self,
        result: Value,
        ids: &ArtifactIds,
    ) -> Result<StoredResult, ArtifactError> {
        let StoredContent { metadata, warning } =
            self.store_content(content_of(&result), ids).await?;
        let content = match metadata {
            None => ToolResponseContent::Direct { result },
            Some(metadata) => metadata.into(),
        };
        Ok(StoredResult { content, warning })
    }

    /// Stores a content if it is large.
    ///
    /// # Errors
    ///
    /// Fails as [`store`](Self::store) does.
    pub async fn store_content(
        &self,
        content: Bytes,
        ids: &ArtifactIds,
    ) -> Result<StoredContent, ArtifactError> {
        if !self.is_large(&content) {
            add(&self.counters.n_direct, 1);
            return Ok(StoredContent { metadata: None, warning: None });
        }
        let planned = self.files.plan(ids, content)?;
        let mut warning = self.write_pending().await.err().map(|error| warning_of(&error));
        if warning.is_none() {
            match self.files.write_planned(&planned).await {
                Ok(was_there) => add(&self.counters.n_deduplicated, u64::from(was_there)),
                Err(error) => warning = Some(warning_of(&error)),
            }
        }
        if warning.is_some() && !self.keep_in_memory(planned.clone()) {
            add(&self.counters.n_direct, 1);
            return Ok(StoredContent { metadata: None, warning });
        }
        let PlannedArtifact { metadata, content } = planned;
        let reference = ToolResponseContent::from(metadata.clone());
        let n_tokens = estimate_tokens(&String::from_utf8_lossy(&content));
        let n_shown = estimate_tokens(&reference.context_text());
        add(&self.counters.n_stored, 1);
        add(&self.counters.bytes_stored, content.len() as u64);
        add(&self.counters.saved_tokens, n_tokens.saturating_sub(n_shown) as u64);
        Ok(StoredContent { metadata: Some(metadata), warning })
    }

    /// Returns the content of a reference, verified.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemOps::read_file`] does.
    pub async fn resolve(&self, metadata: &FileMetadata) -> Result<Bytes, ArtifactError> {
        let kept = self.pending.lock().get(&metadata.relative_path).cloned();
        let content = match kept {
            Some(kept) if kept.metadata.checksum == metadata.checksum => Ok(kept.content),
            _ => self.files.read_file(metadata).await,
        };
        let counter = match &content {
            Ok(_) => &self.counters.n_resolved,
            Err(ArtifactError::Corrupt { .. }) => &self.counters.n_corrupt,
            Err(_) => &self.counters.n_missing,
        };
        add(counter, 1);
        content
    }

    /// Returns the result of a reference as a value: JSON as itself, and other text as a string.
    ///
    /// # Errors
    ///
    /// Fails as [`resolve`](Self::resolve) does.
    pub async fn resolve_value(&self, metadata: &FileMetadata) -> Result<Value, ArtifactError> {
        let content = self.resolve(metadata).await?;
        match metadata.content_type.as_deref() {
            Some("application/json") => Ok(serde_json::from_slice(&content)?),
            _ => Ok(Value::String(String::from_utf8_lossy(&content).into_owned())),
        }
    }

    /// Writes the results that are only in memory; returns how many were written.
    ///
    /// # Errors
    ///
    /// Fails if one cannot be written; it and those after it stay in memory.
    pub async fn write_pending(&self) -> Result<usize, ArtifactError> {
        let mut n_written = 0;
        loop {
            let next = self.pending.lock().first_key_value().map(|(_, planned)| planned.clone());
            let Some(planned) = next else { return Ok(n_written) };
            self.files.write_planned(&planned).await?;
            let mut pending = self.pending.lock();
            let path = &planned.metadata.relative_path;
            // A later result of the same call may have taken its place meanwhile.
            if pending.get(path).is_some_and(|kept| kept.content == planned.content) {
                pending.remove(path);
            }
            n_written += 1;
        }
    }

    /// Returns what the store has done.
    pub fn metrics(&self) -> ArtifactMetrics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        ArtifactMetrics {
            n_direct: read(&counters.n_direct),
            n_stored: read(&counters.n_stored),
            n_deduplicated: read(&counters.n_deduplicated),
            bytes_stored: read(&counters.bytes_stored),
            saved_tokens: read(&counters.saved_tokens),
            n_resolved: read(&counters.n_resolved),
            n_missing: read(&counters.n_missing),
            n_corrupt: read(&counters.n_corrupt),
            n_pending: self.pending.lock().len() as u64,
        }
    }

    fn is_large(&self, content: &[u8]) -> bool {
        let options = self.files.options();
        let has_many_tokens = |limit| {
            // A token has at least one byte, so a short text needs no count.
            content.len() > limit && estimate_tokens(&String::from_utf8_lossy(content)) > limit
        };
        content.len() > options.size_threshold
            || options.token_threshold.is_some_and(has_many_tokens)
    }

    /// Keeps a file in memory; reports whether there is room.
    fn keep_in_memory(&self, planned: PlannedArtifact) -> bool {
        let mut pending = self.pending.lock();
        let path = planned.metadata.relative_path.clone();
        let others = pending.iter().filter(|(other, _)| **other != path);
        let n_bytes: usize = others.map(|(_, planned)| planned.content.len()).sum();
        if n_bytes + planned.content.len() > self.files.options().max_pending_bytes {
            return false;
        }
        pending.insert(path, planned);
        true
    }
}

/// Turns responses of tools into references where they are large, and back
/// (`docs/spec/artifacts.md`).
#[derive(Debug)]
pub struct ToolResponseProcessor {
    store: FileSystemArtifactStore,
}

impl ToolResponseProcessor {
    /// Makes a processor over a store.
    pub fn new(store: FileSystemArtifactStore) -> Self {
        Self { store }
    }

    /// Returns the store.
    pub fn store(&self) -> &FileSystemArtifactStore {
        &self.store
    }

    /// Returns the response with a large result replaced by a reference, and a warning if its file
    /// is only in memory.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemArtifactStore::store`] does.
    pub async fn process(
        &self,
        response: ToolResponse,
        thread_id: &str,
        task_id: &str,
    ) -> Result<(ToolResponse, Option<String>), ArtifactError> {
        let ToolResponse { tool_call_id, tool_name, content } = response;
        let (content, warning) = match content {
            ToolResponseContent::Direct { result } => {
                let ids = ArtifactIds {
                    thread_id: thread_id.to_owned(),
                    task_id: task_id.to_owned(),
                    tool_call_id: tool_call_id.clone(),
                };
                let stored = self.store.store(result, &ids).await?;
                (stored.content, stored.warning)
            }
            reference => (reference, None),
        };
        Ok((ToolResponse { tool_call_id, tool_name, content }, warning))
    }

    /// Returns the whole content of a reference, verified.
    ///
    /// # Errors
    ///
    /// Fails as [`FileSystemArtifactStore::resolve`] does.
    pub async fn resolve_file_content(
        &self,
        metadata: &FileMetadata,
    ) -> Result<Bytes, ArtifactError> {
        self.store.resolve(metadata).await
    }
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

fn warning_of(error: &ArtifactError) -> String {
    let cause =
        std::error::Error::source(error).map_or(String::new(), |cause| format!(": {cause}"));
    format!("the result is not in a file yet, {error}{cause}")
}
