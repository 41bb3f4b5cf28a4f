//! Why the gate did not let something through.

use thiserror::Error;

use crate::{
    id::{ClientId, ItemId},
    lib0::Lib0Error,
};

/// Why an update, or a question of a peer, was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GateRejection {
    /// It is not an update at all.
    #[error("the update is malformed at byte {at}")]
    Malformed {
        /// How many bytes had been read.
        at: usize,
        /// What is wrong there.
        source: Lib0Error,
    },
    /// It can be read, but no implementation writes such a thing.
    #[error("the update is malformed: {what} at {id:?}")]
    Nonsense {
        /// What is wrong.
        what: &'static str,
        /// Where.
        id: ItemId,
    },
    /// yrs cannot read it.
    #[error("the update cannot be decoded: {reason}")]
    Undecodable {
        /// What yrs said.
        reason: String,
    },
    /// It holds more than a limit allows.
    #[error("the update is too large: {what} is {is}, the limit is {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        is: u64,
        /// How large it may be.
        limit: u64,
    },
    /// It is nested more deeply than a limit allows.
    #[error("the update is nested too deeply at {id:?}")]
    TooDeep {
        /// The item that is nested too deeply.
        id: ItemId,
    },
    /// It holds content of a kind that would harm a reader of the list that it is in.
    #[error("the update puts {content} into {list} at {id:?}")]
    WrongContent {
        /// The kind of content.
        content: &'static str,
        /// What it was put into.
        list: String,
        /// The item that holds it.
        id: ItemId,
    },
    /// It holds work of a client that lives in this process, and that this process has not done.
    #[error("the update claims to be by client {client}, which is ours")]
    OurClient {
        /// The client id.
        client: ClientId,
    },
    /// Too much is waiting for what has not arrived.
    #[error("too many updates wait for what has not arrived")]
    TooMuchParked,
    /// yrs failed on it. The document changed nothing that can be trusted.
    #[error("the document is poisoned: {reason}")]
    Poisoned {
        /// What yrs said.
        reason: String,
    },
}

impl GateRejection {
    /// Returns the code with which to close the socket of the peer that sent it.
    pub fn code(&self) -> u16 {
        match self {
            Self::Malformed { .. } | Self::Nonsense { .. } | Self::Undecodable { .. } => 4400,
            Self::OurClient { .. } => 4403,
            Self::TooMuchParked => 4408,
            Self::TooLarge { .. } => 4413,
            Self::WrongContent { .. } => 4415,
            Self::TooDeep { .. } => 4422,
            Self::Poisoned { .. } => 4500,
        }
    }
}
