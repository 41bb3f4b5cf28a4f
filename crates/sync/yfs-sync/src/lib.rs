//! The protocols of Yjs clients, as state machines.
//!
//! A session is one peer at one document. It takes the bytes of a message, reads or changes the
//! [`SyncDocument`], and returns the frames to send. Sockets, tasks and clocks belong to the owner
//! of the session: times are arguments, counted from any fixed moment.
//!
//! - [`hub`] is the accepting side, [`guest`] the joining side.
//! - [`presence`] is the presence of clients at a document.
//! - [`collab`] carries many documents over one connection, as Hocuspocus frames them.
//! - [`replica`] has the messages between two stores of one workspace.
//! - [`simulated_network`] is an unreliable network in memory, for tests.
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
//!     guest::GuestSession,
//!     hub::{PeerAccess, LockedHubDocument, HubSession},
//!     presence::PresenceRoom,
//! };
//!
//! /// A document that only counts.
//! struct Counted(usize);
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
//! let now = Duration::ZERO;
//! let (mut here, mut there) = (Counted(0), Counted(0));
//! let mut room = PresenceRoom::default();
//! let mut hub = HubSession::new(room.enter(), PeerAccess::ReadWrite);
//! let mut guest = GuestSession::default();
//! // The hub asks first, before it sends anything else.
//! guest.receive(&mut here, &hub.ask(&there)?.into_bytes(), now)?;
//! for frame in guest.join(&here, now)? {
//!     let mut place = LockedHubDocument { document: &mut there, room: &mut room };
//!     for frame in hub.receive(&mut place, &frame, now)?.frames {
//!         guest.receive(&mut here, &frame.into_bytes(), now)?;
//!     }
//! }
//! assert!(guest.is_synced());
//! # Ok::<(), SyncError>(())
//! ```

pub mod collab;
mod frame;
pub mod guest;
pub mod hub;
pub mod message;
pub mod presence;
mod presence_state;
pub mod replica;
pub mod simulated_network;
mod sync_document;

pub use crate::{
    frame::SharedFrame,
    presence_state::checked_state,
    sync_document::{StateDiff, SyncDocument, SyncError},
};
