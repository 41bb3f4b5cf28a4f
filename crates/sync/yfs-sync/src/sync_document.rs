//! The document that a session syncs, and the errors of a session.

use std::{error::Error, sync::Arc};

use thiserror::Error;
use yfs_engine::{gate::GateRejection, lib0::Lib0Error};

use crate::message::ProtocolError;

/// A document that is synced. All bytes are in the encoding v1 of Yjs.
pub trait SyncDocument {
    /// Returns the state vector.
    fn state_vector(&self) -> Result<Vec<u8>, SyncError>;

    /// Returns the updates that a peer with this state vector lacks.
    fn diff(&self, state_vector: &[u8]) -> Result<StateDiff, SyncError>;

    /// Applies a peer's update. When it returns, the update may be acknowledged: it is as durable
    /// as the document promises. The document sends the update to other peers itself.
    fn receive(&mut self, update: &[u8]) -> Result<(), SyncError>;

    /// Reports whether the document has all content of an update.
    fn contains_update(&self, update: &[u8]) -> Result<bool, SyncError>;
}

/// The updates that a peer lacks, in parts that messages to other peers may share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDiff {
    /// The update, as of some moment.
    pub update: Arc<[u8]>,
    /// The updates since that moment.
    pub later: Vec<Arc<[u8]>>,
}

impl From<Vec<u8>> for StateDiff {
    fn from(update: Vec<u8>) -> Self {
        Self { update: update.into(), later: Vec::new() }
    }
}

/// The reason why a session must end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The peer sent an invalid message.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The gate rejected the peer's update or request.
    #[error(transparent)]
    Refused(#[from] GateRejection),
    /// The peer denied access, with a reason.
    #[error("access denied: {0}")]
    Denied(String),
    /// The document failed; the peer did not cause it.
    #[error("cannot read or write the document")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

impl SyncError {
    /// Returns the code for closing a WebSocket.
    pub fn code(&self) -> u16 {
        match self {
            Self::Protocol(_) => 4400,
            Self::Refused(refusal) => refusal.code(),
            Self::Denied(_) => 4403,
            Self::Failed(_) => 1011,
        }
    }

    /// Returns a short reason for the peer.
    pub fn reason(&self) -> String {
        match self {
            Self::Failed(cause) => cause.to_string(),
            fault => fault.to_string(),
        }
    }
}

impl From<Lib0Error> for SyncError {
    fn from(error: Lib0Error) -> Self {
        Self::Protocol(error.into())
    }
}
