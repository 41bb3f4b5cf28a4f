//! The protocols of Yjs clients, as state machines.
//!
//! A session is one peer at one document. It takes the bytes of a message, reads or changes the
//! [`SyncDocument`], and returns the frames to send. Sockets, tasks and clocks belong to the owner
//! of the session: times are arguments, counted from any fixed moment.
//!
//! - [`hub`] is the accepting side of a connection to one document.
//! - [`presence`] is the presence of clients at a document.
//! - [`collab`] carries many documents over one connection, as Hocuspocus frames them.
//! - [`replica`] has the messages between two stores of one workspace.
//! - [`wire`] has the encoding of values in messages of ours.
//!
//! # Invariants
//!
//! - No input makes it panic, and allocations are proportional to the input.
//! - A rejected message has changed nothing.
//! - An update is acknowledged after the document has applied it, never before.
//!
//! # Example
//!
//! ```
//! use std::time::Duration;
//! use yfs_sync::{
//!     StateDiff, SyncDocument, SyncError,
//!     hub::{DocumentWithPresence, HubSession, PeerAccess},
//!     message::SyncMessage,
//!     presence::{PresenceConnection, PresenceRoom},
//! };
//!
//! /// A document that only counts, and its room.
//! #[derive(Default)]
//! struct Counted(usize, PresenceRoom);
//!
//! impl SyncDocument for Counted {
//!     fn state_vector(&self) -> Result<Vec<u8>, SyncError> {
//!         Ok(vec![0])
//!     }
//!     fn diff(&self, _state_vector: &[u8]) -> Result<StateDiff, SyncError> {
//!         Ok(vec![0, 0].into())
//!     }
//!     fn receive(&mut self, _update: &[u8]) -> Result<(), SyncError> {
//!         self.0 += 1;
//!         Ok(())
//!     }
//!     fn contains_update(&self, _update: &[u8]) -> Result<bool, SyncError> {
//!         Ok(self.0 > 0)
//!     }
//! }
//!
//! impl DocumentWithPresence for Counted {
//!     fn receive_presence(
//!         &mut self, connection: PresenceConnection, update: &[u8], now: Duration,
//!     ) -> Result<Option<Vec<u8>>, SyncError> {
//!         Ok(self.1.receive(connection, update, now)?)
//!     }
//!     fn all_states(&self) -> Option<Vec<u8>> {
//!         self.1.all()
//!     }
//! }
//!
//! let mut document = Counted::default();
//! let mut hub = HubSession::new(document.1.enter(), PeerAccess::ReadWrite);
//! // The hub asks first, before it sends anything else.
//! let question = hub.ask(&document)?.into_bytes();
//! assert_eq!(SyncMessage::decode(&question)?, SyncMessage::Step1(&[0]));
//! let answer = SyncMessage::Step2(&[0, 0]).encode();
//! assert_eq!(hub.receive(&mut document, &answer, Duration::ZERO)?.applied, Some(true));
//! # Ok::<(), SyncError>(())
//! ```

pub mod collab;
mod frame;
pub mod hub;
pub mod message;
pub mod presence;
mod presence_state;
pub mod replica;
mod sync_document;
pub mod wire;

pub use crate::{
    frame::SharedFrame,
    presence_state::{checked_state, is_printable_name},
    sync_document::{StateDiff, SyncDocument, SyncError},
};
