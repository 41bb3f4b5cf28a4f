//! The reasons why peers do not meet, or part.

use thiserror::Error;
use yfs::WorkspaceError;
use yfs_replica::ReplicaError;
use yfs_store::StoreError;

use crate::peer_key::PeerId;

/// The reason why a peer denies a connection, as both sides name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DenialCode {
    /// The certificate is not signed by the owner of this workspace, or names another key.
    NotAdmitted,
    /// The certificate has expired.
    Expired,
    /// The owner blocked the key or its ticket, or this peer blocked it.
    Blocked,
    /// The ticket admits one peer, and another has used it.
    Used,
    /// Only the issuer of the ticket may admit a peer with it.
    NeedsOwner,
    /// Both sides have another connection already.
    Duplicate,
    /// This peer has as many connections as it serves.
    Busy,
    /// One side has just joined, and is receiving the workspace from another peer first.
    Joining,
}

/// The reason why a connection to a peer fails or ends.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The text is not a ticket.
    #[error("the text is not a valid ticket")]
    BadTicket,
    /// The workspace has no certificate: it was neither shared nor joined.
    #[error(
        "the workspace is not shared yet; run `yfs peer share`, or `yfs peer join` with a ticket"
    )]
    NotShared,
    /// Only the store that shared the workspace first may sign tickets.
    #[error("only the store that shared the workspace first can create tickets and block peers")]
    NotOwner,
    /// The peer denies the connection.
    #[error("the peer refuses: {}", .0.reason())]
    Denied(DenialCode),
    /// This side denies the connection.
    #[error("refused the peer: {}", .0.reason())]
    Denies(DenialCode),
    /// The peer violated the protocol.
    #[error("the peer violated the protocol: {0}")]
    Fault(&'static str),
    /// The peer sent changes that it may not make. They are in the quarantine.
    #[error("the peer sent changes that it may not make ({0}); they are in the quarantine")]
    Unauthorized(DenialReason),
    /// The peer could not be reached.
    #[error("cannot reach peer {}: {reason}", .peer.short())]
    Unreachable {
        /// The peer.
        peer: PeerId,
        /// The reason.
        reason: String,
    },
    /// Another process connects this workspace with its peers.
    #[error("another process connects this workspace with its peers")]
    AlreadyRunning,
    /// The address cannot be used.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// The reason.
        source: std::io::Error,
    },
    /// No peer is known by a name or the beginning of an id, or several are.
    #[error("{0}: {1}")]
    NoPeer(String, &'static str),
    /// The workspace was opened without its path and key, so its directories cannot be shared.
    #[error("the key of the encrypted workspace is not known")]
    KeyUnknown,
    /// The connection ended.
    #[error("the connection ended: {0}")]
    Gone(String),
    /// The exchange failed.
    #[error(transparent)]
    Replica(ReplicaError),
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

/// The reason why a key may not make changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DenialReason {
    /// The key may only read.
    #[error("its key may only read")]
    ReadOnly,
    /// The certificate has expired.
    #[error("its certificate has expired")]
    Expired,
    /// The key or its ticket was blocked.
    #[error("its key is blocked")]
    Blocked,
    /// The signature or the certificate is invalid.
    #[error("its signature is invalid")]
    Forged,
}

impl PeerError {
    /// Reports whether the peer violated the protocol or its rights, as opposed to a failure of the
    /// network or of this side.
    pub(crate) fn is_fault(&self) -> bool {
        matches!(
            self,
            Self::Fault(_)
                | Self::Unauthorized(_)
                | Self::Replica(
                    ReplicaError::Protocol(_)
                        | ReplicaError::OutOfTurn(_)
                        | ReplicaError::Unasked
                        | ReplicaError::BadBlob(_)
                        | ReplicaError::TooMuch
                        | ReplicaError::MainTooLarge { .. }
                        | ReplicaError::OutOfMemory { .. }
                        | ReplicaError::TooManyMessages { .. }
                )
        )
    }
}

impl From<ReplicaError> for PeerError {
    fn from(error: ReplicaError) -> Self {
        match error {
            ReplicaError::Closed { reason, .. } => Self::Gone(reason),
            error => Self::Replica(error),
        }
    }
}

impl DenialCode {
    /// All codes, by their number on the wire.
    const ALL: [Self; 8] = [
        Self::NotAdmitted,
        Self::Expired,
        Self::Blocked,
        Self::Used,
        Self::NeedsOwner,
        Self::Duplicate,
        Self::Busy,
        Self::Joining,
    ];

    /// Returns the number on the wire.
    pub(crate) fn number(self) -> u64 {
        Self::ALL.iter().position(|code| *code == self).unwrap_or_default() as u64
    }

    /// Returns the code of a number on the wire. An unknown number denies as well.
    pub(crate) fn of_number(number: u64) -> Self {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        Self::ALL.get(index).copied().unwrap_or(Self::NotAdmitted)
    }

    /// Reports whether a later attempt with the same certificate may succeed.
    pub fn may_pass_later(self) -> bool {
        matches!(self, Self::Duplicate | Self::Busy | Self::NeedsOwner | Self::Joining)
    }

    fn reason(self) -> &'static str {
        match self {
            Self::NotAdmitted => "the certificate is not one of this workspace's owner",
            Self::Expired => "the certificate has expired",
            Self::Blocked => "the key or its ticket is blocked",
            Self::Used => "the ticket admits one peer, and another has used it",
            Self::NeedsOwner => "the ticket admits one peer, and only its issuer can admit it",
            Self::Duplicate => "there is a connection already",
            Self::Busy => "too many connections",
            Self::Joining => "the workspace comes from another peer first",
        }
    }
}
