//! Serves a workspace to Yjs clients over HTTP and WebSocket.
//!
//! `/sync/{guid}` serves one document by the y-websocket protocol: the main document under the
//! workspace's id, a file's content under the file's id. `/collab` serves any number of documents
//! over one connection by the Hocuspocus protocol, named by their guids. `/api/files/{path}` has
//! the files as HTTP resources, `GET /api/tree` lists them with their guids, `GET /events` streams
//! the changes, `/mcp` serves agents. `docs/format/http.md` and `GET /openapi.json` describe all of
//! it.
//!
//! ```no_run
//! use std::sync::Arc;
//! use yfs::{Workspace, WorkspaceOptions};
//! use yfs_server::{ServeOptions, Server};
//! use yfs_store::MemoryStore;
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let workspace = Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default())?;
//! let server = Server::bind(&ServeOptions::default()).await?;
//! println!("http://{}", server.address());
//! server.run(workspace, std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Every client presents a [token](access::TokenKeys), unless the server is
//! [open](ServeOptions::open) to this machine. Pages of other origins are rejected, so that a
//! website cannot read a workspace through the browser of its visitor.

pub mod access;
mod artifacts;
mod blobs;
mod body;
mod body_requests;
mod caller;
mod close_reason;
mod collab;
mod connection_stream;
mod dav;
mod document_access;
mod events;
mod extract;
mod files;
mod grant_stream;
mod listen;
mod listing_tags;
mod live_presence;
mod mcp;
mod metrics;
mod metrics_page;
mod openapi;
mod origin;
mod peers;
mod people;
mod prelude;
mod presence_bridge;
mod problem;
mod replicate;
mod rooms;
mod routes;
pub mod serve;
mod server_state;
mod threads;
mod token_uses;
mod tokens;
mod transfers;
mod tree_response;
mod unread_body;
mod upgrade;
mod web;
mod websocket_session;
mod websocket_wire;
mod work_shares;

pub use crate::{
    live_presence::AgentSigns,
    peers::{peer_json, presence_json},
    serve::{ServeError, ServeOptions, Server},
};
