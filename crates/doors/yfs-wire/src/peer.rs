//! The peers of a workspace.

use serde::Serialize;

use crate::time::UnixMillis;

/// A peer of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Peer"))]
pub struct PeerJson {
    /// The id, which is its public key: 64 hexadecimal digits.
    pub id: String,
    /// The name that a person gave to it, or for which its ticket was made.
    pub name: Option<String>,
    /// What it may do, if that is known.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["read", "write", null])))]
    pub rights: Option<String>,
    /// The time when its certificate expires; null if it does not, or is not known.
    pub expires: Option<UnixMillis>,
    /// Whether there is a connection.
    pub connected: bool,
    /// How it is connected, or was the last time: `direct`, or `relayed` through a relay.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["direct", "relayed"])))]
    pub via: &'static str,
    /// The address at the other end of the last connection: of the peer, or of the relay.
    pub address: Option<String>,
    /// Whether this side made the connection.
    pub dialed: bool,
    /// Whether both sides have everything, as far as this side knows.
    pub in_step: bool,
    /// The number of documents that changed here since the peer had everything; null if that is not
    /// known.
    pub behind: Option<u64>,
    /// Whether `behind` counts the last 10,000 updates only, because the peer was away for longer.
    pub behind_at_least: bool,
    /// The time when the last connection ended, or the current one began.
    pub last_seen: Option<UnixMillis>,
    /// The bytes of messages that were sent to it.
    pub bytes_sent: u64,
    /// The bytes of messages that were received from it.
    pub bytes_received: u64,
    /// The number of its updates that were refused; they are in the quarantine.
    pub refused: u64,
    /// The number of files for which it sent other content under ids that items have here: it
    /// forked its log, or passed on what another one had forked.
    pub forked: u64,
    /// How often it violated the protocol or its rights.
    pub faults: u64,
    /// Why the last connection failed or ended.
    pub error: Option<String>,
    /// Whether it is blocked.
    pub blocked: bool,
    /// The path of the directory that is shared with it; null if that is the whole workspace.
    pub path: Option<String>,
}

/// The answer of `GET /api/peers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Peers"))]
pub struct PeerList {
    /// The id of this store, if the workspace was shared or joined.
    pub id: Option<String>,
    /// Whether a process connects the workspace with its peers.
    pub running: bool,
    /// The peers, without those that were forgotten; those of shared directories are the last.
    pub peers: Vec<PeerJson>,
    /// The files that are open in editors on the servers of other peers.
    pub presence: Vec<PeerPresenceJson>,
}

/// A file that is open in editors on the servers of a peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PeerPresence"))]
pub struct PeerPresenceJson {
    /// The id of the peer.
    pub peer: String,
    /// The id of the file, or of the workspace for its tree.
    pub id: String,
    /// The path of the file; null for the tree, and if this store does not have the file.
    pub path: Option<String>,
    /// The name of each editor's user, as the peer says; null if the editor shows none.
    pub editors: Vec<Option<String>>,
}
