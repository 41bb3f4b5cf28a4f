//! Replication between two stores of one workspace, over WebSocket or any transport of frames.
//!
//! Each side sends the part of its log that the other side does not have, and logs the updates that
//! it receives. Finding the changes takes one round trip, however many documents there are, and
//! only changes are sent. See `docs/format/replicate.md` for the messages and `docs/decisions/0016`
//! for the reasons.
//!
//! - [`ReplicaSession`] is one side of one connection, without a transport.
//! - [`carry`] moves its frames over any pair of a sink and a stream.
//! - [`client`] connects to a server and reconnects.
//!
//! ```
//! use std::sync::Arc;
//! use yfs::{Workspace, WorkspaceOptions};
//! use yfs_replica::ReplicaSession;
//! use yfs_store::MemoryStore;
//!
//! let here = Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default())?;
//! let there = Workspace::create_replica(
//!     Arc::new(MemoryStore::new()), here.id(), WorkspaceOptions::default())?;
//! let mut hub = ReplicaSession::hub(here.clone(), true);
//! let mut guest = ReplicaSession::guest(there.clone(), &Default::default());
//! while let Some(frame) = guest.next_frame()? {
//!     hub.receive(&frame)?;
//!     while let Some(frame) = hub.next_frame()? {
//!         guest.receive(&frame)?;
//!     }
//! }
//! assert!(guest.is_done());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blob_exchange;
mod blob_pool;
mod blob_tree;
pub mod client;
mod exchange_marks;
pub mod follow_lock;
mod memory_guard;
mod part_store;
mod replica_error;
mod replica_session;
mod run_session;

pub use crate::{
    blob_pool::BlobPool,
    exchange_marks::{ExchangeRights, HubMarks, MarkStore},
    replica_error::ReplicaError,
    replica_session::{DEFAULT_MAIN_LIMIT, ExchangeProgress, ReplicaSession, SessionOptions},
    run_session::{FrameSession, WELCOME_WITHIN, carry, run_blocking},
};
