//! Tools with which agents use a filesystem: one core over any [`FileSystem`](yfs_vfs::FileSystem),
//! spoken in several vocabularies.
//!
//! An [`AgentSession`] is one agent's use of a filesystem. It remembers what the agent has read, so
//! a write of a whole file keeps what others changed since. A [`ToolCatalog`] has the tools of one
//! or several [vocabularies](ToolVocabulary), with their JSON schemas, and calls them.
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use yfs_agent::{AgentSession, CallContext, DeepAgentsProfile, ToolCatalog, ToolVocabulary};
//! use yfs_vfs::{FileSystem, FileSystemExt, MemoryFs, TextReplacement};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new());
//! let plan = "/plan.md".parse()?;
//! fs.write_text(&plan, "1. Listen\n2. Answer\n3. Rest\n").await?;
//!
//! let tools = ToolCatalog::new(&[ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing)])?;
//! let session = AgentSession::builder(fs.clone(), "agent:bob".parse()?).id("s1").build();
//! let call = |name, arguments| tools.call_tool(&session, name, arguments, CallContext::default());
//! let read = call("read_file", json!({"file_path": "/plan.md"})).await?;
//! assert_eq!(read.joined_text(), "@@ lines 1-3 of 3 @@\n1. Listen\n2. Answer\n3. Rest");
//!
//! // A person changes the file, which the agent then writes as it knows it.
//! fs.edit(&plan, &TextReplacement::once("Rest", "Rest well")).await?;
//! let content = "1. Attend\n2. Answer\n3. Rest\n";
//! call("write_file", json!({"file_path": "/plan.md", "content": content})).await?;
//! assert_eq!(fs.read_to_string(&plan).await?, "1. Attend\n2. Answer\n3. Rest well\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Below the tools are the [`backends`] with the files, and what limits an agent there:
//! [`permissions`], [`approval`] and [`hooks`]. Each is a filesystem around another one.
//!
//! ```
//! use std::sync::Arc;
//! use yfs_agent::permissions::{
//!     AccessKind, PermissionRule, PermissionRules, PermittedFs, RuleMode,
//! };
//! use yfs_vfs::{FileSystem, FileSystemExt, MemoryFs};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let files = Arc::new(MemoryFs::new());
//! files.write_text(&"/keys/id".parse().unwrap(), "secret").await?;
//! let access = [AccessKind::Read, AccessKind::Write];
//! let rule = PermissionRule::new(RuleMode::Deny, &access, "/keys/**");
//! let fs = PermittedFs::new(files, PermissionRules::new([rule]).unwrap()).unwrap();
//! fs.symlink("/keys/id", &"/innocent".parse().unwrap()).await?;
//! assert!(fs.read(&"/innocent".parse().unwrap()).await.is_err());
//! # Ok::<(), yfs_vfs::FsError>(())
//! # }).unwrap();
//! ```

mod agent_path;
pub mod approval;
pub mod audit;
pub mod backends;
mod call_progress;
pub mod catalog;
pub mod execute;
pub mod history;
pub mod hooks;
pub mod json_query;
pub mod large_results;
mod media;
pub mod path_locks;
pub mod permissions;
mod registered_tool;
pub mod session;
pub mod tool;
pub(crate) mod tool_call;
mod tool_outcome;
pub mod vocabulary;
pub mod work_budget;

pub use crate::{
    catalog::{ToolCatalog, ToolNameClash, UnknownTool},
    execute::{CommandExecutor, CommandOutput, ExecuteError, ExecuteOptions},
    media::file_uri,
    session::{AccessPreparer, AgentSession, AgentSessionBuilder, SessionLimits},
    tool::{CallContext, ReplyBlock, ToolAnnotations, ToolDefinition, ToolReply},
    tool_call::ToolCall,
    vocabulary::{DeepAgentsProfile, ToolVocabulary},
};
