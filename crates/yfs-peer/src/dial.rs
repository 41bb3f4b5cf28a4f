//! Calling a peer: at all addresses that are known, and at those that are found meanwhile.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use futures::{StreamExt, stream::FuturesUnordered};
use quinn::{ClientConfig, Connection, Endpoint};
use tokio::time::timeout;

use crate::{lan::LanPeers, peer_error::PeerError, peer_key::PeerId, quic};

/// The most addresses that one call tries.
const MAX_TRIED: usize = 32;

/// A call of one peer.
#[derive(Debug)]
pub(crate) struct PeerCall<'c> {
    pub(crate) endpoint: &'c Endpoint,
    pub(crate) config: ClientConfig,
    pub(crate) peer: PeerId,
    /// The addresses that are known.
    pub(crate) known: &'c [SocketAddr],
    /// The peers that are found in the local network, if they are searched.
    pub(crate) lan: Option<&'c Arc<LanPeers>>,
    /// Whether only addresses of this machine and its local network are called.
    pub(crate) is_lan_only: bool,
}

impl PeerCall<'_> {
    /// Connects with the first address that answers in time.
    pub(crate) async fn connect(&self, within: Duration) -> Result<Connection, PeerError> {
        let mut last_reason = "it does not answer".to_owned();
        let connected = timeout(within, self.try_all(&mut last_reason)).await.ok().flatten();
        connected.ok_or(PeerError::Unreachable { peer: self.peer, reason: last_reason })
    }

    /// Tries addresses until one answers. Returns nothing if none is left that could.
    async fn try_all(&self, last_reason: &mut String) -> Option<Connection> {
        let mut changes = self.lan.map(|lan| lan.changes());
        let mut tried = BTreeSet::new();
        let mut attempts = FuturesUnordered::new();
        loop {
            for address in self.addresses() {
                if tried.len() < MAX_TRIED && tried.insert(address) {
                    attempts.push(quic::connect(self.endpoint, self.config.clone(), address));
                }
            }
            if tried.is_empty() {
                "it has no address that may be used".clone_into(last_reason);
            }
            let found = async {
                match &mut changes {
                    Some(changes) => changes.changed().await.is_ok(),
                    None => false,
                }
            };
            tokio::select! {
                Some(attempt) = attempts.next() => match attempt {
                    Ok(connection) => return Some(connection),
                    Err(reason) => *last_reason = reason,
                },
                true = found => {}
                else => return None,
            }
        }
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        let found = self.lan.map(|lan| lan.addresses_of(self.peer)).unwrap_or_default();
        let all = self.known.iter().copied().chain(found);
        all.filter(|address| !self.is_lan_only || quic::is_local(*address)).collect()
    }
}
