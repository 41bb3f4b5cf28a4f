//! The reasons why replication ends.

use std::time::Duration;

use thiserror::Error;
use yfs::WorkspaceError;
use yfs_engine::{hash::ContentHash, id::WorkspaceId};
use yfs_store::StoreError;
use yfs_sync::message::ProtocolError;

/// The reason why replication ends.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// The peer sent an invalid message.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The peer sent a message that is not allowed in the current state.
    #[error("the peer sent the message {0} when the protocol does not allow it")]
    OutOfTurn(&'static str),
    /// The peer has another workspace.
    #[error(
        "the server has another workspace, {0}; to copy it, run `yfs clone` in another directory"
    )]
    OtherWorkspace(WorkspaceId),
    /// The peer sent a blob that was not requested.
    #[error("the peer sent a blob that was not requested")]
    Unasked,
    /// A blob's content does not match its hash.
    #[error("the content of blob {0} does not match its hash")]
    BadBlob(ContentHash),
    /// The peer sent more of the main document than this side takes.
    #[error(
        "the server sent more names and directories than the limit of {limit} bytes allows \
         ({stored} bytes are stored, {received} more arrived); what was stored is kept, and \
         `yfs sync --main-limit SIZE` with a larger limit receives the rest"
    )]
    MainTooLarge {
        /// The limit.
        limit: u64,
        /// The size of the main document in the store.
        stored: u64,
        /// The size of its updates in the message, which were not stored.
        received: u64,
    },
    /// What the peer sent takes more memory than this side gives.
    #[error(
        "what the server sent takes {used} bytes of memory, and the limit is {limit} bytes \
         ({received} bytes of updates were received); what was stored is kept, and `yfs sync \
         --memory-limit SIZE` with a larger limit receives the rest"
    )]
    OutOfMemory {
        /// The limit.
        limit: u64,
        /// The memory that was taken already.
        used: u64,
        /// The size of the updates received, in bytes.
        received: u64,
    },
    /// The peer sent more messages and updates than this side takes before both have everything.
    #[error(
        "the server sent {n_received} messages and updates and came to no end; each counts 256 \
         bytes, and the limit is {limit} bytes; what was stored is kept, and `yfs sync \
         --memory-limit SIZE` with a larger limit receives the rest"
    )]
    TooManyMessages {
        /// The limit, in bytes.
        limit: u64,
        /// The number of messages and updates received.
        n_received: u64,
    },
    /// The peer requested too much at once.
    #[error("the peer requested too many blobs at once")]
    TooMuch,
    /// The peer denied access, or closed the connection.
    #[error("the server closed the connection: {reason}")]
    Closed {
        /// The reason.
        reason: String,
        /// Whether a retry cannot succeed.
        is_final: bool,
    },
    /// The server could not be reached.
    #[error("cannot connect to {url}: {reason}")]
    Connect {
        /// The address, without secrets.
        url: String,
        /// The reason.
        reason: String,
        /// Whether a retry cannot succeed.
        is_final: bool,
    },
    /// The peer accepted the connection and did not answer in time.
    #[error("{peer} did not answer within {} s", .within.as_secs())]
    Silent {
        /// The peer, without secrets.
        peer: String,
        /// The time that it had.
        within: Duration,
    },
    /// Another process continuously syncs the store with that server.
    #[error("another process synchronizes this workspace with {0}")]
    AlreadyFollowed(String),
    /// The workspace failed.
    #[error("cannot read or write the workspace")]
    Workspace(#[from] WorkspaceError),
    /// The store failed.
    #[error("cannot read or write the store")]
    Store(#[from] StoreError),
    /// An I/O operation of the host failed.
    #[error("cannot access a file or the network")]
    Io(#[from] std::io::Error),
}

impl ReplicaError {
    /// Makes the error of a closed connection after which a retry may succeed.
    pub fn gone(reason: impl Into<String>) -> Self {
        Self::Closed { reason: reason.into(), is_final: false }
    }

    /// Reports whether a retry cannot succeed.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Closed { is_final, .. } | Self::Connect { is_final, .. } => *is_final,
            Self::OtherWorkspace(_)
            | Self::AlreadyFollowed(_)
            | Self::MainTooLarge { .. }
            | Self::OutOfMemory { .. }
            | Self::TooManyMessages { .. } => true,
            _ => false,
        }
    }
}
