//! Calling a peer: at all addresses that are known, and at those that are found meanwhile.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use futures::{StreamExt, stream::FuturesUnordered};
use quinn::{ClientConfig, Connection, Endpoint};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use crate::{
    lan::LanPeers, peer_error::PeerError, peer_key::PeerId, peer_node::NodeRelays, quic,
    relay_paths::is_relayed,
};

/// The most addresses that one call tries.
const MAX_TRIED: usize = 32;

/// How long only direct addresses are tried, before relays are as well.
const RELAY_AFTER: Duration = Duration::from_millis(400);

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
    /// The relays, if any was named.
    pub(crate) relays: Option<&'c Arc<NodeRelays>>,
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
        let mut found = self.lan.map(|lan| lan.changes());
        let mut registered = self.relays.map(|relays| relays.changes());
        let (relay_after, mut may_relay) = (sleep(RELAY_AFTER), false);
        tokio::pin!(relay_after);
        let mut tried = BTreeSet::new();
        let mut attempts = FuturesUnordered::new();
        loop {
            for address in self.addresses(may_relay) {
                if tried.len() < MAX_TRIED && tried.insert(address) {
                    attempts.push(quic::connect(self.endpoint, self.config.clone(), address));
                }
            }
            if tried.is_empty() && self.relays.is_none() {
                "it has no address that may be used".clone_into(last_reason);
            }
            tokio::select! {
                Some(attempt) = attempts.next() => match attempt {
                    Ok(connection) => return Some(connection),
                    Err(reason) => *last_reason = reason,
                },
                true = has_changed(&mut found) => {}
                true = has_changed(&mut registered) => {}
                () = &mut relay_after, if self.relays.is_some() && !may_relay => may_relay = true,
                else => return None,
            }
        }
    }

    fn addresses(&self, may_relay: bool) -> Vec<SocketAddr> {
        let found = self.lan.map(|lan| lan.addresses_of(self.peer)).unwrap_or_default();
        let direct = self.known.iter().copied().chain(found);
        let direct = direct.filter(|address| {
            !is_relayed(*address) && (!self.is_lan_only || quic::is_local(*address))
        });
        let relays = self.relays.filter(|_| may_relay);
        let relayed = relays.map(|relays| relays.addresses_of(self.peer)).unwrap_or_default();
        direct.chain(relayed).collect()
    }
}

/// Waits for a change. Returns false if there will be none.
async fn has_changed(changes: &mut Option<watch::Receiver<()>>) -> bool {
    match changes {
        Some(changes) => changes.changed().await.is_ok(),
        None => false,
    }
}
