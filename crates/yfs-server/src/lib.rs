//! Serves a workspace to Yjs clients over HTTP and WebSocket.
//!
//! `/sync/{guid}` speaks the y-websocket protocol for one document: the main document under the
//! workspace's id, a file's content under the file's id. `/collab` speaks Hocuspocus: any number of
//! documents over one connection, named by their guids. `/api/files/{path}` has the files as HTTP
//! resources, `GET /api/tree` lists them with their guids, `GET /events` tells what changes.
//! `docs/format/http.md` and `GET /openapi.json` describe all of it.
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
//! [open](ServeOptions::open) to this machine. Pages of other origins are refused, so that a
//! website cannot reach into a workspace through its visitor.

pub mod access;
mod blobs;
mod body;
mod caller;
mod collab;
mod connection_stream;
mod document_access;
mod events;
mod extract;
mod files;
mod listen;
mod metrics;
pub mod openapi;
mod origin;
mod problem;
mod replicate;
mod rooms;
mod routes;
pub mod serve;
mod tree_response;
mod upgrade;
mod websocket_session;
mod websocket_wire;

pub use crate::serve::{ServeError, ServeOptions, Server};
