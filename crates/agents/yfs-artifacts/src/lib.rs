//! Large results as files with references: the artifact store of `docs/spec/artifacts.md` over any
//! [`FileSystem`](yfs_vfs::FileSystem).
//!
//! A [`FileSystemArtifactStore`] keeps a small result as a value and writes a large one to a file;
//! its reference has the type, statistics and a preview. [`KeptAnalyses`] keeps the statistics of
//! any file as of a version, and renders the context of a tree within a number of tokens.
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use yfs_artifacts::{ArtifactIds, ArtifactOptions, FileSystemArtifactStore, FileSystemStore};
//! use yfs_vfs::MemoryFs;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let files = FileSystemStore::new(Arc::new(MemoryFs::new()), ArtifactOptions::development());
//! let store = FileSystemArtifactStore::new(files);
//! let ids = ArtifactIds {
//!     thread_id: "t1".to_owned(),
//!     task_id: "k1".to_owned(),
//!     tool_call_id: "001".to_owned(),
//! };
//! let rows: Vec<_> = (0..1_000).map(|id| json!({"id": id, "kind": "a"})).collect();
//! let stored = store.store(json!(rows), &ids).await?;
//! let metadata = stored.content.get_file_metadata().expect("it is large");
//! assert_eq!(metadata.relative_path, "t1/tool_call_001.json");
//! assert_eq!(store.resolve_value(metadata).await?, json!(rows));
//! # Ok::<(), yfs_artifacts::ArtifactError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod artifact_store;
mod cleanup;
mod config;
mod context;
mod error;
mod file_store;
mod kept_analyses;
mod listing;
mod past_contents;
mod tool_response;
mod tree_walker;

pub use crate::{
    artifact_store::{
        ArtifactMetrics, FileSystemArtifactStore, StoredContent, StoredResult,
        ToolResponseProcessor,
    },
    cleanup::{CleanupPolicy, CleanupReason, CleanupReport, RemovedArtifact},
    config::{ArtifactIds, ArtifactOptions, FileSystemConfig, NamespaceError, NamespaceStrategy},
    context::{ContextRequest, DEFAULT_TEMPLATE, RenderedContext},
    error::ArtifactError,
    file_store::{
        FileSystemOps, FileSystemStore, VerifiedArtifact, content_hash, store_and_return_metadata,
    },
    kept_analyses::{AnalysisMemory, DerivedShelf, FileAnalysis, KeptAnalyses},
    listing::StoredArtifact,
    past_contents::PastContents,
    tool_response::{
        FileMetadata, Part, ToolResponse, ToolResponseContent, extract_context, human_size,
    },
    tree_walker::{FileSelection, SelectedFile},
};
