//! Serves a filesystem to agents by the Model Context Protocol (MCP).
//!
//! The tools are those of `yfs-agent`; files are resources. A [`SessionOpener`] decides what a
//! client sees, [`McpServer`] speaks the protocol, and [`serve_stdio`] and [`McpHttpService`] carry
//! it. This is the only crate that knows MCP.
//!
//! ```
//! use std::sync::Arc;
//! use yfs_agent::AgentSession;
//! use yfs_mcp::{FixedSession, McpProfile, McpServer};
//! use yfs_types::actor::{Actor, ActorKind};
//! use yfs_vfs::MemoryFs;
//!
//! # async fn serve() -> std::io::Result<()> {
//! let actor = Actor::new(ActorKind::Agent, "scout");
//! let session = AgentSession::builder(Arc::new(MemoryFs::new()), actor).build();
//! let opener = FixedSession::new(session, McpProfile::Fs);
//! yfs_mcp::serve_stdio(McpServer::new(Arc::new(opener))).await
//! # }
//! ```
//!
//! # Invariants
//!
//! - One client is one [`AgentSession`](yfs_agent::AgentSession); what one client has read is never
//!   the base of another client's write.
//! - Nothing but protocol messages is written to standard output.

mod approvals;
mod client_session;
mod directory_broker;
mod envelope_scan;
mod file_uri;
mod http_requests;
mod http_service;
mod inline_blocking;
mod line_transport;
mod message_check;
mod open_session;
mod profile;
mod prompts;
mod resources;
mod server;
mod session_owners;
mod session_shell;
mod stdio;
mod tool_calls;
mod unread_request;
mod watching;

#[cfg(test)]
mod tests;

pub use crate::{
    approvals::ElicitingBroker,
    directory_broker::DirectoryBroker,
    file_uri::{file_uri, path_of_uri},
    http_service::{McpHttpService, RequestOpener},
    open_session::{
        ClientIdentity, FixedSession, OpenedSession, SessionOpener, SessionRefusal, WatchedTree,
    },
    profile::{McpProfile, UnknownProfile},
    server::McpServer,
    session_shell::shell_over,
    stdio::{serve_stdio, serve_stdio_reporting},
};
