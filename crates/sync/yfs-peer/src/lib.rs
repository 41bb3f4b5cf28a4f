//! Peers: stores of one workspace that meet without a server.
//!
//! A store has a key, which is its name ([`PeerId`]). The first store that shares the workspace is
//! its *owner*: it signs tickets, and a ticket makes the key of a new peer a member with rights and
//! an end. All peers check these certificates themselves, for every message with updates that they
//! accept. See `docs/format/peers.md` for the bytes, decisions 60 and 61 for the reasons.
//!
//! - [`PeerMembership`] is what a store knows of its group: keys, certificate, blocks, contacts.
//! - [`PeerSession`] is one side of one connection, without a transport.
//! - [`PeerNode`] connects a workspace with its peers over QUIC.
//! - [`JoinCode`] is a short code that two persons say to each other instead of a ticket.
//! - [`DirectoryShares`] are workspaces with one directory of a workspace, which [`RunningShares`]
//!   keeps equal with it. [`PeerGroups`] are the peers of the workspace and of these.
//! - [`RelayServer`] passes datagrams between peers that cannot reach each other.
//!
//! ```
//! use std::sync::Arc;
//! use yfs::{Workspace, WorkspaceOptions};
//! use yfs_peer::{PeerMembership, PeerRights, PeerSession, TicketRequest};
//! use yfs_replica::FrameSession;
//! use yfs_store::MemoryStore;
//!
//! let here = Workspace::create(Arc::new(MemoryStore::new()), WorkspaceOptions::default())?;
//! let owner = Arc::new(PeerMembership::of(&here)?);
//! owner.found()?;
//! let request = TicketRequest {
//!     rights: PeerRights::Write, expires: None, is_once: false, label: "ana".to_owned() };
//! let ticket = owner.issue(request, vec![])?;
//!
//! let there = Workspace::create_replica(
//!     Arc::new(MemoryStore::new()), &ticket.signed.grant.workspace, WorkspaceOptions::default())?;
//! let guest = Arc::new(PeerMembership::of(&there)?);
//! guest.join(&ticket)?;
//! let mut dialer = PeerSession::dialer(guest.clone(), owner.id())?;
//! let mut acceptor = PeerSession::acceptor(owner.clone(), guest.id())?;
//! while !dialer.is_done() {
//!     while let Some(frame) = dialer.next_frame()? {
//!         acceptor.receive(&frame)?;
//!     }
//!     while let Some(frame) = acceptor.next_frame()? {
//!         dialer.receive(&frame)?;
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod carried;
mod contact;
mod dial;
mod directory_shares;
mod first_exchange;
mod join_code;
mod join_code_call;
mod join_code_host;
mod join_code_offer;
mod join_code_words;
mod lan;
mod lan_announcement;
mod lan_code;
mod membership;
mod pake;
mod peer_error;
mod peer_grant;
mod peer_groups;
mod peer_key;
mod peer_link;
mod peer_message;
mod peer_node;
mod peer_session;
mod peer_status;
mod presence;
mod quic;
mod relay_client;
mod relay_code_call;
mod relay_code_host;
mod relay_code_message;
mod relay_code_visits;
mod relay_codes;
mod relay_core;
mod relay_dialog;
mod relay_limits;
mod relay_meetings;
mod relay_message;
mod relay_name;
mod relay_paths;
mod relay_server;
mod relay_socket;
mod share_upkeep;
#[cfg(test)]
mod tests;
mod ticket;

pub use crate::{
    contact::PeerContact,
    directory_shares::{DirectoryShareFile, DirectoryShares, FoundShares, note_ticket_of_share},
    join_code::{JOIN_CODE_LIFETIME, JoinCode, JoinCodeError},
    join_code_call::JoinCodeSearch,
    join_code_host::{JoinCodeHost, JoinCodeOptions},
    join_code_offer::JoinCodeOutcome,
    membership::{PeerMembership, PeerNote, TicketRequest},
    peer_error::{DenialCode, DenialReason, PeerError},
    peer_grant::{
        BlockTarget, MAX_LABEL_LEN, PeerCertificate, PeerRights, SignedBlock, SignedGrant,
        TicketGrant, TicketId,
    },
    peer_groups::{PeerGroup, PeerGroups},
    peer_key::{PeerId, PeerIdError, PeerSecretKey},
    peer_node::{PeerEvent, PeerNode, PeerOptions, is_running, issue_ticket},
    peer_session::PeerSession,
    peer_status::{PeerStatus, read_status},
    presence::{LocalPresence, PresenceSender, RemotePresence, SocketAddress},
    relay_code_host::ReservedJoinCode,
    relay_core::RelayStatistics,
    relay_limits::{RelayAllowList, RelayLimits},
    relay_name::{MAX_RELAYS, RelayGroupTag, RelayName, RelayNameError},
    relay_server::RelayServer,
    share_upkeep::{RunningShares, ShareReport},
    ticket::PeerTicket,
};
