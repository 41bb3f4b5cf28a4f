//! What a session needs of the document that it syncs, and what can go wrong.

use std::{error::Error, sync::Arc};

use thiserror::Error;
use yfs_engine::{gate::GateRejection, lib0::Lib0Error};

use crate::message::ProtocolError;

/// A document that is synced. All bytes are in the encoding v1 of Yjs.
pub trait SyncDocument {
    /// Returns the state vector.
    fn state_vector(&self) -> Result<Vec<u8>, SyncError>;

    /// Returns what a peer with this state vector lacks.
    fn diff(&self, state_vector: &[u8]) -> Result<StateDiff, SyncError>;

    /// Takes a peer's update. When it returns, the update may be acknowledged: it is as durable as
    /// the document promises. Whoever else is to hear of it is the document's business.
    fn receive(&mut self, update: &[u8]) -> Result<(), SyncError>;

    /// Tells whether the document has everything that an update says.
    fn holds(&self, update: &[u8]) -> Result<bool, SyncError>;
}

/// What a peer lacks, in pieces that others may be sent as well.
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

/// Why a session cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The peer sent what is not a message.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The gate refused the peer's update or question.
    #[error(transparent)]
    Refused(#[from] GateRejection),
    /// The peer may not enter; it said why.
    #[error("access denied: {0}")]
    Denied(String),
    /// The document failed, through no fault of the peer.
    #[error("the document failed")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

impl SyncError {
    /// Returns the code with which to close a WebSocket.
    pub fn code(&self) -> u16 {
        match self {
            Self::Protocol(_) => 4400,
            Self::Refused(refusal) => refusal.code(),
            Self::Denied(_) => 4403,
            Self::Failed(_) => 1011,
        }
    }

    /// Returns what the peer is told, in a few words.
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
