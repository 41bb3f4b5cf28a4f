//! What agents have of a workspace: sessions with its history, durable namespaces, its audit
//! records, and statistics that it keeps.
//!
//! Agents use any [`FileSystem`](yfs_vfs::FileSystem) by `yfs-agent` alone; what only a workspace
//! can do is here.
//!
//! ```
//! use std::sync::Arc;
//! use yfs::{Workspace, WorkspaceOptions};
//! use yfs_agent_workspace::session_over;
//! use yfs_store::MemoryStore;
//! use yfs_vfs::FileSystemExt;
//!
//! # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
//! let workspace = Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default())?;
//! let session = session_over(&workspace, "agent:bob".parse()?, "s1").build();
//! session.fs().write_text(&"/plan.md".parse()?, "1. Listen").await?;
//! let versions = session.history().expect("a workspace has one");
//! let versions = versions.list_versions(&"/plan.md".parse()?).await?;
//! assert_eq!(versions.last().and_then(|last| last.label.as_deref()), Some("s1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod artifact_sources;
mod store_backend;
mod workspace_audit;
mod workspace_backend;
mod workspace_history;

pub use self::{
    artifact_sources::{WorkspacePast, WorkspaceShelf},
    store_backend::{BadNamespace, OpenNamespaceError, StoreBackend, StoreNamespace},
    workspace_audit::{audit_directory_of, open_workspace_audit, workspace_audit_records},
    workspace_backend::{WorkspaceBackend, session_over},
    workspace_history::{LabelUndoError, WorkspaceHistory},
};
