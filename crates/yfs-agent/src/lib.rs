//! Tools with which agents use a filesystem: one core over any [`FileSystem`](yfs_vfs::FileSystem),
//! spoken in several vocabularies.

pub mod agent_path;
pub mod approval;
pub mod audit;
pub mod backends;
pub mod catalog;
pub mod execute;
pub mod history;
pub mod large_results;
mod media;
pub mod path_locks;
pub mod permissions;
pub mod session;
pub mod tool;
pub mod tool_call;
pub mod vocabulary;

pub use crate::{
    catalog::{ToolCatalog, ToolNameClash, UnknownTool},
    execute::{CommandExecutor, CommandOutput, ExecuteError, ExecuteOptions},
    session::{AccessPreparer, AgentSession, AgentSessionBuilder, SessionLimits},
    tool::{CallContext, ReplyBlock, ToolAnnotations, ToolDefinition, ToolReply},
    tool_call::ToolCall,
    vocabulary::{DeepAgentsProfile, ToolVocabulary},
};
