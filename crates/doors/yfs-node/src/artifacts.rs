//! The store of artifacts: large results as files with references.

use std::sync::{Arc, Weak};

use serde_json::json;
use yfs::clock::{Clock, SystemClock};
use yfs_agent_workspace::WorkspacePast;
use yfs_artifacts::{
    ArtifactIds, ArtifactOptions, FileMetadata, FileSystemArtifactStore, FileSystemOps,
    FileSystemStore, NamespaceStrategy, ToolResponseContent, extract_context,
};
use yfs_wire::{ArtifactRequest, FailedArtifactJson, UnixMillis};

use crate::{descriptions::PreviewOptions, prelude::*};

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
            options.namespace_strategy =
                NamespaceStrategy::parse(namespace).map_err(|problem| {
                    error::invalid(&format!("a namespace ({problem})"), namespace)
                })?;
        }
        options.token_threshold = self.token_threshold;
        options.size_threshold = self.size_threshold.unwrap_or(options.size_threshold);
        options.preview = self.preview.map_or(options.preview, Into::into);
        options.max_pending_bytes = self.max_pending_bytes.unwrap_or(options.max_pending_bytes);
        Ok(options)
    }
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
}

impl Drop for NativeArtifacts {
    fn drop(&mut self) {
        self.slot.release(&self.store);
    }
}

#[napi]
impl NativeArtifacts {
    /// Serves a request for artifacts.
    #[napi]
    pub fn call(&self, request: String) -> napi::Result<OwnedFuture<String>> {
        let request: ArtifactRequest = message::request(&request)?;
        let store = self.store()?;
        Ok(OwnedFuture::calling(async move || {
            let failed = |failed: &_| FailedArtifactJson::from(failed);
            let served =
                request.serve::<_, UnixMillis>(store.files(), SystemClock.now(), failed).await;
            served.map(|served| message::json(&served))
        }))
    }

    /// Stores a content if it is large: returns the reference and a warning, each null if there is
    /// none.
    #[napi]
    pub fn store_content(
        &self,
        content: Uint8ArraySlice<'_>,
        ids: String,
    ) -> napi::Result<OwnedFuture<String>> {
        let (store, content, ids) = (self.store()?, content.to_vec(), ids_of(&ids)?);
        Ok(OwnedFuture::calling(async move || {
            let stored = store.store_content(content.into(), &ids).await;
            stored.map(|stored| {
                json!({ "metadata": stored.metadata, "warning": stored.warning }).to_string()
            })
        }))
    }

    /// Stores a content, and returns its reference.
    #[napi]
    pub fn store_file(
        &self,
        content: Uint8ArraySlice<'_>,
        ids: String,
    ) -> napi::Result<OwnedFuture<String>> {
        let (store, content, ids) = (self.store()?, content.to_vec(), ids_of(&ids)?);
        Ok(OwnedFuture::calling(async move || {
            let stored = store.files().store_file(&ids, content.into()).await;
            stored.map(|metadata| message::json(&metadata))
        }))
    }

    /// Returns the content of a reference, verified.
    #[napi]
    pub fn resolve(&self, reference: String) -> napi::Result<OwnedFuture<Uint8Array>> {
        let (metadata, store) = (reference_of(&reference)?, self.store()?);
        Ok(OwnedFuture::calling(async move || {
            store.resolve(&metadata).await.map(|content| Uint8Array::new(content.to_vec()))
        }))
    }

    /// Writes the results that are only in memory; returns how many were written.
    #[napi]
    pub fn write_pending(&self) -> napi::Result<OwnedFuture<u32>> {
        let store = self.store()?;
        Ok(OwnedFuture::calling(async move || {
            store.write_pending().await.map(|n_written| n_written as u32)
        }))
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

    /// Returns what the store has done.
    #[napi]
    pub fn metrics(&self) -> napi::Result<String> {
        Ok(message::js(&self.store()?.metrics()).to_string())
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
