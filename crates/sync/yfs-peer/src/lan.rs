//! Peers of the same workspace in the local network, found by multicast DNS (RFC 6762, 6763).
//!
//! # Invariants
//!
//! - What is announced is the text of [`LanGroupKey::announce`], a port, and the addresses of the
//!   interface on which it is announced. Names are random.
//! - Addresses that are found are only called: the peer proves its key as at any other address.
//! - At most [`MAX_FOUND`] peers, [`MAX_INSTANCES`] announcements of each, and [`MAX_ADDRESSES`]
//!   addresses of each announcement are remembered.

use std::{
    collections::{BTreeMap, VecDeque},
    net::{IpAddr, SocketAddr, SocketAddrV6},
    sync::Arc,
    time::Duration,
};

use mdns_sd::{
    IfKind, Receiver, ResolvedService, ScopedIp, ServiceDaemon, ServiceEvent, ServiceInfo,
};
use parking_lot::Mutex;
use tokio::{sync::watch, task::JoinHandle, time::interval};

use crate::{
    lan_announcement::{LanGroupKey, NONCE_LEN},
    peer_key::PeerId,
};

/// The type of the service.
const SERVICE_TYPE: &str = "_yfs-peer._udp.local.";

/// The property with the text of the announcement.
const PROPERTY: &str = "a";

/// The most peers that are remembered.
const MAX_FOUND: usize = 64;

/// The most announcements of one peer that are remembered. A peer has one; others are of its
/// earlier starts, or of an attacker that repeats them.
const MAX_INSTANCES: usize = 4;

/// The most addresses of one announcement.
const MAX_ADDRESSES: usize = 8;

/// The most records of the network that are kept before discovery ends, and how often they are
/// counted. The library that keeps them has no bound.
pub(crate) const MAX_RECORDS: i64 = 20_000;
const COUNT_EVERY: Duration = Duration::from_secs(10);

/// Announces this peer, and collects the announcements of others, until it is dropped.
pub(crate) struct LanDiscovery {
    daemon: ServiceDaemon,
    fullname: String,
    task: JoinHandle<()>,
}

/// The peers that were found.
#[derive(Debug)]
pub(crate) struct LanPeers {
    own: PeerId,
    group: LanGroupKey,
    found: Mutex<BTreeMap<PeerId, VecDeque<LanInstance>>>,
    changes: watch::Sender<()>,
}

/// One announcement of a peer.
#[derive(Debug, PartialEq, Eq)]
struct LanInstance {
    fullname: String,
    addresses: Vec<SocketAddr>,
}

impl LanDiscovery {
    /// Announces the peer that listens on an address, and collects what others announce.
    pub(crate) fn start(peers: Arc<LanPeers>, bound: SocketAddr) -> Result<Self, mdns_sd::Error> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).expect("the operating system has a random source");
        let text = peers.group.announce(peers.own, nonce);
        let daemon = ServiceDaemon::new()?;
        let started = announce(&daemon, &text, bound).and_then(|fullname| {
            let events = daemon.browse(SERVICE_TYPE)?;
            Ok((fullname, events))
        });
        match started {
            Ok((fullname, events)) => {
                let task = tokio::spawn(collect(peers, daemon.clone(), events));
                Ok(Self { daemon, fullname, task })
            }
            Err(error) => {
                daemon.shutdown().ok();
                Err(error)
            }
        }
    }
}

impl std::fmt::Debug for LanDiscovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LanDiscovery").field("fullname", &self.fullname).finish_non_exhaustive()
    }
}

impl Drop for LanDiscovery {
    fn drop(&mut self) {
        self.task.abort();
        self.daemon.unregister(&self.fullname).ok();
        self.daemon.shutdown().ok();
    }
}

/// Announces a text and the port of an address, on the interface of the address, or on all.
fn announce(
    daemon: &ServiceDaemon,
    text: &str,
    bound: SocketAddr,
) -> Result<String, mdns_sd::Error> {
    // The text begins with random bytes: no two peers have the same name.
    let name: String = text.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    let property = (PROPERTY, text);
    start_service(daemon, &LanService { service_type: SERVICE_TYPE, name: &name, property, bound })
}

/// What is announced.
pub(crate) struct LanService<'s> {
    pub(crate) service_type: &'s str,
    /// The name of the instance and of its host.
    pub(crate) name: &'s str,
    pub(crate) property: (&'s str, &'s str),
    /// The address at which the service listens.
    pub(crate) bound: SocketAddr,
}

/// Announces a service on the interface of its address, or on all; returns its full name.
pub(crate) fn start_service(
    daemon: &ServiceDaemon,
    service: &LanService<'_>,
) -> Result<String, mdns_sd::Error> {
    let LanService { service_type, name, property, bound } = *service;
    let (ip, port) = (bound.ip(), bound.port());
    restrict_to(daemon, ip)?;
    let host = format!("{name}.local.");
    let properties = &[property][..];
    let info = if ip.is_unspecified() {
        ServiceInfo::new(service_type, name, &host, (), port, properties)?.enable_addr_auto()
    } else {
        ServiceInfo::new(service_type, name, &host, ip, port, properties)?
    };
    let fullname = info.get_fullname().to_owned();
    daemon.register(info)?;
    Ok(fullname)
}

/// Uses only the interface of an address, unless the address stands for all.
pub(crate) fn restrict_to(daemon: &ServiceDaemon, ip: IpAddr) -> Result<(), mdns_sd::Error> {
    if !ip.is_unspecified() {
        daemon.disable_interface(IfKind::All)?;
        daemon.enable_interface(IfKind::Addr(ip))?;
    } else if ip.is_ipv4() {
        daemon.disable_interface(IfKind::IPv6)?;
    }
    Ok(())
}

/// Collects announcements until the daemon ends, or the network sends more than is kept.
async fn collect(peers: Arc<LanPeers>, daemon: ServiceDaemon, events: Receiver<ServiceEvent>) {
    let mut count = interval(COUNT_EVERY);
    loop {
        tokio::select! {
            event = events.recv_async() => match event {
                Ok(ServiceEvent::ServiceResolved(service)) => peers.add(&service),
                Ok(ServiceEvent::ServiceRemoved(_, fullname)) => peers.remove(&fullname),
                Ok(_) => {}
                Err(_) => break,
            },
            _ = count.tick() => {
                if n_records(&daemon).await > MAX_RECORDS {
                    daemon.shutdown().ok();
                    break;
                }
            }
        }
    }
    peers.found.lock().clear();
}

/// Returns the number of records that the daemon keeps.
pub(crate) async fn n_records(daemon: &ServiceDaemon) -> i64 {
    let Ok(metrics) = daemon.get_metrics() else { return 0 };
    let counters = metrics.recv_async().await.unwrap_or_default();
    counters.iter().filter(|(name, _)| name.starts_with("cached-")).map(|(_, n)| n).sum()
}

impl LanPeers {
    /// Makes an empty list, for a member of a group.
    pub(crate) fn new(own: PeerId, group: LanGroupKey) -> Self {
        Self { own, group, found: Mutex::default(), changes: watch::Sender::new(()) }
    }

    /// Returns the peers that were found.
    pub(crate) fn found(&self) -> Vec<PeerId> {
        self.found.lock().keys().copied().collect()
    }

    /// Reports whether a peer was found.
    pub(crate) fn has(&self, peer: PeerId) -> bool {
        self.found.lock().contains_key(&peer)
    }

    /// Returns the addresses at which a peer was found.
    pub(crate) fn addresses_of(&self, peer: PeerId) -> Vec<SocketAddr> {
        let found = self.found.lock();
        let instances = found.get(&peer).into_iter().flatten();
        instances.flat_map(|instance| instance.addresses.iter().copied()).collect()
    }

    /// Returns a receiver that is notified of changes from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn add(&self, service: &ResolvedService) {
        let text = service.get_property_val_str(PROPERTY).unwrap_or_default();
        let addresses = addresses_of(service);
        self.add_announcement(text, &service.fullname, addresses);
    }

    fn add_announcement(&self, text: &str, fullname: &str, mut addresses: Vec<SocketAddr>) {
        let Some(peer) = self.group.read(text).filter(|peer| *peer != self.own) else { return };
        // The same set in the same order each time: a repetition is no change.
        addresses.sort_unstable();
        addresses.truncate(MAX_ADDRESSES);
        let mut found = self.found.lock();
        if found.len() >= MAX_FOUND && !found.contains_key(&peer) {
            return;
        }
        let instances = found.entry(peer).or_default();
        let instance = LanInstance { fullname: fullname.to_owned(), addresses };
        if instances.contains(&instance) {
            return;
        }
        instances.retain(|known| known.fullname != fullname);
        instances.push_front(instance);
        instances.truncate(MAX_INSTANCES);
        drop(found);
        self.changes.send_replace(());
    }

    fn remove(&self, fullname: &str) {
        self.found.lock().retain(|_, instances| {
            instances.retain(|instance| instance.fullname != fullname);
            !instances.is_empty()
        });
    }
}

/// Returns the addresses in an announcement that can be those of one machine.
pub(crate) fn addresses_of(service: &ResolvedService) -> Vec<SocketAddr> {
    let port = service.port;
    let address = |ip: &ScopedIp| match ip {
        ScopedIp::V6(v6) if v6.addr().is_unicast_link_local() => {
            Some(SocketAddr::V6(SocketAddrV6::new(*v6.addr(), port, 0, v6.scope_id().index)))
        }
        ip => {
            let ip = ip.to_ip_addr();
            let is_one = !ip.is_unspecified() && !ip.is_multicast() && !is_broadcast(ip);
            is_one.then(|| SocketAddr::new(ip, port))
        }
    };
    if port == 0 { Vec::new() } else { service.addresses.iter().filter_map(address).collect() }
}

fn is_broadcast(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V4(ip) if ip.is_broadcast())
}

#[cfg(test)]
mod tests {
    use yfs_engine::id::WorkspaceId;

    use super::*;
    use crate::peer_key::PeerSecretKey;

    fn id(seed: u8) -> PeerId {
        PeerSecretKey::from_seed([seed; 32]).id()
    }

    fn group() -> LanGroupKey {
        LanGroupKey::of(id(0), &WorkspaceId::parse("abcdefghijklmnopqrstu").unwrap())
    }

    fn at(last: u8) -> Vec<SocketAddr> {
        vec![SocketAddr::from(([192, 168, 1, last], 4700))]
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let peers = LanPeers::new(id(255), group());
        for seed in 0..200 {
            let text = group().announce(id(seed), [seed; NONCE_LEN]);
            peers.add_announcement(&text, &format!("{seed}"), at(seed));
        }
        assert_eq!(peers.found().len(), MAX_FOUND);
        // An attacker that repeats one announcement with other names and addresses.
        let peer = peers.found()[0];
        let text = group().announce(peer, [1; NONCE_LEN]);
        for last in 0..200 {
            let many = (0..50).map(|port| SocketAddr::from(([10, 0, 0, last], port + 1)));
            peers.add_announcement(&text, &format!("false {last}"), many.collect());
        }
        assert_eq!(peers.addresses_of(peer).len(), MAX_INSTANCES * MAX_ADDRESSES);
    }

    #[test]
    fn the_latest_announcement_of_a_peer_counts_and_its_own_does_not() {
        let peers = LanPeers::new(id(255), group());
        let mut changes = peers.changes();
        let text = group().announce(id(1), [1; NONCE_LEN]);
        peers.add_announcement(&text, "one", at(1));
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        peers.add_announcement(&text, "one", at(1));
        assert!(!changes.has_changed().unwrap());
        peers.add_announcement(&text, "one", at(2));
        assert!(changes.has_changed().unwrap());
        assert_eq!(peers.addresses_of(id(1)), at(2));
        peers.remove("one");
        assert_eq!(peers.found(), []);

        peers.add_announcement(&group().announce(id(255), [2; NONCE_LEN]), "own", at(3));
        let other = LanGroupKey::of(id(9), &WorkspaceId::parse("abcdefghijklmnopqrstu").unwrap());
        peers.add_announcement(&other.announce(id(3), [2; NONCE_LEN]), "other", at(3));
        assert_eq!(peers.found(), []);
    }
}
