//! The store of artifacts: large results as files with references.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use napi::bindgen_prelude::{Uint8Array, Uint8ArraySlice};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use yfs::clock::{Clock, SystemClock};
use yfs_agent_workspace::WorkspacePast;
use yfs_artifacts::{
    ArtifactError, ArtifactIds, ArtifactOptions, CleanupPolicy, CleanupReport, FileMetadata,
    FileSystemArtifactStore, FileSystemOps, FileSystemStore, NamespaceStrategy, StoredArtifact,
    ToolResponseContent, extract_context,
};
use yfs_engine::path::VPath;
use yfs_vfs::Op;

use crate::{
    descriptions::PreviewOptions,
    error, message,
    owned_future::OwnedFuture,
    workspace_slot::{WorkspaceSlot, path},
};

/// A store of artifacts in a workspace, on behalf of an actor.
#[derive(Debug)]
#[napi]
pub struct NativeArtifacts {
    slot: WorkspaceSlot,
    store: Weak<FileSystemArtifactStore>,
}

/// Which results become files, and how they are shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct StoreOptions {
    actor: Option<String>,
    label: Option<String>,
    root: Option<String>,
    search_root: Option<String>,
    preset: Option<String>,
    size_threshold: Option<usize>,
    token_threshold: Option<usize>,
    namespace: Option<String>,
    preview: Option<PreviewOptions>,
    max_pending_bytes: Option<usize>,
}

/// The ids of a call.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CallIds {
    thread_id: String,
    task_id: String,
    tool_call_id: String,
}

/// Which artifacts are removed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct CleanupOptions {
    max_age_ms: Option<f64>,
    max_total_bytes: Option<u64>,
    max_files: Option<usize>,
    kept_directories: BTreeSet<String>,
    dry_run: bool,
}

/// Where artifacts are, unless the caller names another directory: as for the `yfs` command.
const DEFAULT_ROOT: &str = "/artifacts";

impl StoreOptions {
    fn into_options(self) -> napi::Result<ArtifactOptions> {
        let mut options = match self.preset.as_deref() {
            None | Some("production") => ArtifactOptions::production(),
            Some("development") => ArtifactOptions::development(),
            Some("high_memory" | "highMemory") => ArtifactOptions::high_memory(),
            Some(other) => return Err(error::invalid("a preset", other)),
        };
        options.root = path(Op::Open, self.root.as_deref().unwrap_or(DEFAULT_ROOT))?;
        if let Some(root) = &self.search_root {
            options.search_root = path(Op::Walk, root)?;
        }
        if let Some(namespace) = &self.namespace {
            let parsed = NamespaceStrategy::parse(namespace);
            options.namespace_strategy =
                parsed.map_err(|problem| invalid_namespace(&problem, namespace))?;
        }
        options.token_threshold = self.token_threshold;
        options.size_threshold = self.size_threshold.unwrap_or(options.size_threshold);
        options.preview = self.preview.map_or(options.preview, Into::into);
        options.max_pending_bytes = self.max_pending_bytes.unwrap_or(options.max_pending_bytes);
        Ok(options)
    }
}

fn invalid_namespace(problem: &dyn std::fmt::Display, namespace: &str) -> napi::Error {
    error::invalid(&format!("a namespace ({problem})"), namespace)
}

impl NativeArtifacts {
    /// Makes a store.
    pub(crate) fn new(slot: WorkspaceSlot, options: &str) -> napi::Result<Self> {
        let mut given: StoreOptions =
            serde_json::from_str(options).map_err(|error| error::invalid_options(&error))?;
        let actor = given.actor.take().map(|actor| message::actor(&actor)).transpose()?;
        let (label, workspace) = (given.label.take(), slot.get()?);
        let options = given.into_options()?;
        let fs = workspace.fs_for(actor.unwrap_or_else(|| slot.actor().clone()));
        let fs = match label {
            Some(label) => fs.labelled(&label),
            None => fs,
        };
        let past = Arc::new(WorkspacePast::new(workspace));
        let files = FileSystemStore::new(Arc::new(fs), options).with_past(past);
        let store = slot.keep(FileSystemArtifactStore::new(files))?;
        Ok(Self { slot, store })
    }

    /// Returns the store, unless the workspace is closed.
    fn store(&self) -> napi::Result<Arc<FileSystemArtifactStore>> {
        self.store.upgrade().ok_or_else(error::closed)
    }

    /// Runs a call on another thread.
    fn ask<T: Send + 'static, F: Future<Output = Result<T, ArtifactError>>>(
        &self,
        call: impl FnOnce(Arc<FileSystemArtifactStore>) -> F + Send + 'static,
    ) -> napi::Result<OwnedFuture<T>> {
        let store = self.store()?;
        Ok(OwnedFuture::blocking(move || {
            let done = Handle::current().block_on(call(store));
            done.map_err(|error| error::of_artifacts(&error))
        }))
    }

    /// Does the same for a call on the file of a reference.
    fn ask_of<T: Send + 'static, F: Future<Output = Result<T, ArtifactError>>>(
        &self,
        reference: &str,
        call: impl FnOnce(Arc<FileSystemArtifactStore>, FileMetadata) -> F + Send + 'static,
    ) -> napi::Result<OwnedFuture<T>> {
        let metadata = reference_of(reference)?;
        self.ask(move |store| call(store, metadata))
    }
}

impl Drop for NativeArtifacts {
    fn drop(&mut self) {
        self.slot.release(&self.store);
    }
}

#[napi]
impl NativeArtifacts {
    /// Stores a content if it is large: returns the reference and a warning, each null if there is
    /// none.
    #[napi]
    pub fn store_content(
        &self,
        content: Uint8ArraySlice<'_>,
        ids: String,
    ) -> napi::Result<OwnedFuture<String>> {
        let (content, ids) = (Bytes::from(content.to_vec()), ids_of(&ids)?);
        self.ask(async move |store: Arc<FileSystemArtifactStore>| {
            let stored = store.store_content(content, &ids).await?;
            Ok(json!({ "metadata": stored.metadata, "warning": stored.warning }).to_string())
        })
    }

    /// Stores a content, and returns its reference.
    #[napi]
    pub fn store_file(
        &self,
        content: Uint8ArraySlice<'_>,
        ids: String,
    ) -> napi::Result<OwnedFuture<String>> {
        let (content, ids) = (Bytes::from(content.to_vec()), ids_of(&ids)?);
        self.ask(async move |store: Arc<FileSystemArtifactStore>| {
            let metadata = store.files().store_file(&ids, content).await?;
            Ok(json!(metadata).to_string())
        })
    }

    /// Returns the content of a reference, verified.
    #[napi]
    pub fn resolve(&self, reference: String) -> napi::Result<OwnedFuture<Uint8Array>> {
        self.ask_of(&reference, async move |store: Arc<FileSystemArtifactStore>, metadata| {
            Ok(Uint8Array::new(store.resolve(&metadata).await?.to_vec()))
        })
    }

    /// Returns where the file of a reference is.
    #[napi]
    pub fn path_now(&self, reference: String) -> napi::Result<OwnedFuture<String>> {
        self.ask_of(&reference, async move |store: Arc<FileSystemArtifactStore>, metadata| {
            Ok(store.files().path_now(&metadata).await?.to_string())
        })
    }

    /// Moves the file of a reference to the trash.
    #[napi]
    pub fn delete_file(&self, reference: String) -> napi::Result<OwnedFuture<()>> {
        self.ask_of(&reference, async move |store: Arc<FileSystemArtifactStore>, metadata| {
            store.files().delete_file(&metadata).await
        })
    }

    /// Returns the reference to the file that is at a path now.
    #[napi]
    pub fn reference_at(&self, at: String) -> napi::Result<OwnedFuture<String>> {
        self.ask(async move |store: Arc<FileSystemArtifactStore>| {
            let files = store.files();
            let bad = || ArtifactError::BadReference(at.clone());
            let path = match at.strip_prefix('/') {
                Some(_) => VPath::parse(&at).map_err(|_| bad())?,
                None => files.path_now(&FileMetadata::at_path(at.clone(), None)).await?,
            };
            Ok(json!(files.reference_at(&path).await?).to_string())
        })
    }

    #[napi]
    pub fn list(&self, patterns: Vec<String>) -> napi::Result<OwnedFuture<String>> {
        self.ask(async move |store: Arc<FileSystemArtifactStore>| {
            let listed = store.files().list(&patterns).await?;
            Ok(listed.iter().map(describe).collect::<Value>().to_string())
        })
    }

    #[napi]
    pub fn clean_up(&self, options: String) -> napi::Result<OwnedFuture<String>> {
        let given: CleanupOptions =
            serde_json::from_str(&options).map_err(|error| error::invalid_options(&error))?;
        let policy = CleanupPolicy {
            max_age: given.max_age_ms.map(|age| Duration::from_millis(age as u64)),
            max_total_bytes: given.max_total_bytes,
            max_files: given.max_files,
            kept_directories: given.kept_directories,
        };
        let dry_run = given.dry_run;
        self.ask(async move |store: Arc<FileSystemArtifactStore>| {
            let report = store.files().clean_up(&policy, SystemClock.now(), dry_run).await?;
            Ok(describe_cleanup(&report, dry_run).to_string())
        })
    }

    /// Writes the results that are only in memory; returns how many were written.
    #[napi]
    pub fn write_pending(&self) -> napi::Result<OwnedFuture<u32>> {
        self.ask(async move |store: Arc<FileSystemArtifactStore>| {
            Ok(store.write_pending().await? as u32)
        })
    }

    /// Returns the text that stands for a content in a model's context, and what callers got before
    /// there were references.
    #[napi]
    pub fn texts_of(content: String) -> napi::Result<Vec<String>> {
        let content: ToolResponseContent = serde_json::from_str(&content)
            .map_err(|error| error::not_json("the content of a response", &error))?;
        Ok(vec![content.context_text(), content.result().to_string()])
    }

    /// Returns what to know of a stored file before reading it.
    #[napi]
    pub fn context_of(reference: String) -> napi::Result<String> {
        Ok(extract_context(&reference_of(&reference)?))
    }

    #[napi]
    pub fn metrics(&self) -> napi::Result<String> {
        let metrics = self.store()?.metrics();
        let described = json!({
            "nDirect": metrics.n_direct,
            "nStored": metrics.n_stored,
            "nDeduplicated": metrics.n_deduplicated,
            "bytesStored": metrics.bytes_stored,
            "savedTokens": metrics.saved_tokens,
            "nResolved": metrics.n_resolved,
            "nMissing": metrics.n_missing,
            "nCorrupt": metrics.n_corrupt,
            "nPending": metrics.n_pending,
        });
        Ok(described.to_string())
    }
}

fn reference_of(text: &str) -> napi::Result<FileMetadata> {
    FileMetadata::parse_reference(text.as_bytes())
        .map_err(|error| error::not_json("a reference", &error))
}

fn ids_of(text: &str) -> napi::Result<ArtifactIds> {
    let CallIds { thread_id, task_id, tool_call_id } =
        serde_json::from_str(text).map_err(|error| error::not_json("the ids of a call", &error))?;
    Ok(ArtifactIds { thread_id, task_id, tool_call_id })
}

fn describe(artifact: &StoredArtifact) -> Value {
    json!({
        "path": artifact.path.as_str(),
        "artifact": artifact.relative_path,
        "size": artifact.size,
        "mime": artifact.media_type,
        "changedMs": artifact.changed.0,
    })
}

fn describe_cleanup(report: &CleanupReport, dry_run: bool) -> Value {
    let removed = report.removed.iter().map(|removed| {
        let path = removed.path.as_str();
        json!({ "path": path, "size": removed.size, "reason": removed.reason.name() })
    });
    let failed = report.failed.iter();
    let failed =
        failed.map(|(path, error)| json!({ "path": path.as_str(), "code": error.code.as_str() }));
    json!({
        "removed": removed.collect::<Value>(),
        "freedBytes": report.freed_bytes,
        "failed": failed.collect::<Value>(),
        "dryRun": dry_run,
    })
}
