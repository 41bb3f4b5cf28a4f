//! Serves a workspace to Yjs clients over HTTP and WebSocket.
//!
//! `/sync/{guid}` speaks the y-websocket protocol for one document: the main document under the
//! workspace's id, a file's content under the file's id. `/collab` speaks Hocuspocus: any number of
//! documents over one connection, named by their guids. `GET /api/tree` lists the files with their
//! guids. `GET /healthz` answers `ok`.
//!
//! ```no_run
//! use std::sync::Arc;
//! use yfs::{Options, Workspace};
//! use yfs_server::{ServeOptions, Server};
//! use yfs_store::MemoryStore;
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let workspace = Workspace::create(Arc::new(MemoryStore::new()), Options::default())?;
//! let server = Server::bind(&ServeOptions::default()).await?;
//! println!("http://{}", server.address());
//! server.run(workspace, std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! This is the first form of the server: it binds to loopback and asks for no token. Pages of other
//! origins are refused, so that a website cannot reach into a workspace through its visitor.

mod collab;
mod origin;
mod rooms;
pub mod serve;
mod session;
mod tree;

pub use crate::serve::{ServeError, ServeOptions, Server};
