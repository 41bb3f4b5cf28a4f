//! The reasons why the gate rejects an update.

use thiserror::Error;

use crate::{
    id::{ClientId, ItemId},
    lib0::Lib0Error,
};

/// The reason why an update, or a request of a peer, was rejected. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GateRejection {
    /// It is not an update at all.
    #[error("the update is malformed at byte {at}")]
    Malformed {
        /// The number of bytes read before the fault.
        at: usize,
        /// The fault.
        source: Lib0Error,
    },
    /// It can be parsed, but no implementation writes such an update.
    #[error("the update is malformed: {what} at {id:?}")]
    Nonsense {
        /// The fault.
        what: &'static str,
        /// The item at fault.
        id: ItemId,
    },
    /// yrs cannot read it.
    #[error("the update cannot be decoded: {reason}")]
    Undecodable {
        /// The error of yrs.
        reason: String,
    },
    /// It holds more than a limit allows.
    #[error("the update is too large: {what} is {is}, the limit is {limit}")]
    TooLarge {
        /// The quantity that is too large.
        what: &'static str,
        /// Its value.
        is: u64,
        /// The greatest allowed value.
        limit: u64,
    },
    /// It is nested more deeply than a limit allows.
    #[error("the update is nested too deeply at {id:?}")]
    TooDeep {
        /// The item that is nested too deeply.
        id: ItemId,
    },
    /// It holds content of a kind that would harm a reader of the list that it is in.
    #[error("the update puts {content} into {list} at {id:?}, which must not contain it")]
    WrongContent {
        /// The kind of content.
        content: &'static str,
        /// The list that it was put into.
        list: String,
        /// The item that holds it.
        id: ItemId,
    },
    /// It holds items of a client that lives in this process, and that this process has not
    /// written.
    #[error("the update has new items of client {client}, which belongs to this process")]
    OurClient {
        /// The client id.
        client: ClientId,
    },
    /// Too many updates wait for missing items.
    #[error("too many updates wait for missing items")]
    TooMuchParked,
    /// yrs failed on it. The state of the document cannot be trusted.
    #[error("the document is poisoned: {reason}")]
    Poisoned {
        /// The error of yrs.
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
