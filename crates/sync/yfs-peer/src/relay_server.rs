//! A relay on a UDP socket.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{
    net::UdpSocket,
    time::{interval, sleep},
};

use crate::{
    peer_error::PeerError,
    peer_key::random_seed,
    relay_core::{RelayCore, RelayStatistics},
    relay_limits::{RelayAllowList, RelayLimits},
    relay_message::MAX_DATAGRAM_LEN,
    relay_name::RELAY_PORT,
};

/// How often registrations that have ended are removed while nothing arrives.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// The pause after an error of the socket.
const ERROR_PAUSE: Duration = Duration::from_millis(20);

/// A relay: it passes datagrams between the peers that have registered, and reads nothing.
#[derive(Debug)]
pub struct RelayServer {
    socket: UdpSocket,
    core: Mutex<RelayCore>,
    started: Instant,
}

impl RelayServer {
    /// Returns the address on which a relay listens by default.
    pub fn default_address() -> SocketAddr {
        SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), RELAY_PORT)
    }

    /// Binds a socket.
    ///
    /// # Errors
    ///
    /// [`PeerError::Listen`] if the address cannot be used.
    pub async fn bind(
        listen: SocketAddr,
        limits: RelayLimits,
        allowed: RelayAllowList,
    ) -> Result<Self, PeerError> {
        let socket = match UdpSocket::bind(listen).await {
            // Where there is no IPv6.
            Err(_) if listen.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) => {
                UdpSocket::bind((Ipv4Addr::UNSPECIFIED, listen.port())).await
            }
            bound => bound,
        };
        let socket = socket.map_err(|source| PeerError::Listen { address: listen, source })?;
        let core = RelayCore::new(limits, allowed, random_seed(), Duration::ZERO);
        Ok(Self { socket, core: Mutex::new(core), started: Instant::now() })
    }

    /// Returns the address of the socket.
    ///
    /// # Errors
    ///
    /// If the operating system does not report it.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Returns the counts since the start.
    pub fn statistics(&self) -> RelayStatistics {
        self.core.lock().statistics()
    }

    /// Serves until the future is dropped.
    pub async fn run(&self) {
        // One byte more than is passed on, so that a longer datagram is seen to be too long.
        let mut buffer = [0; MAX_DATAGRAM_LEN + 1];
        let mut out = Vec::new();
        let mut sweep = interval(SWEEP_EVERY);
        loop {
            tokio::select! {
                received = self.socket.recv_from(&mut buffer) => {
                    let Ok((len, from)) = received else {
                        // The network is down, or has refused an earlier datagram.
                        sleep(ERROR_PAUSE).await;
                        continue;
                    };
                    let now = self.started.elapsed();
                    self.core.lock().handle(now, from, &buffer[..len], &mut out);
                }
                _ = sweep.tick() => self.core.lock().sweep(self.started.elapsed()),
            }
            for (to, datagram) in out.drain(..) {
                self.socket.send_to(&datagram, self.mapped(to)).await.ok();
            }
        }
    }

    /// Returns an address as the socket needs it.
    fn mapped(&self, address: SocketAddr) -> SocketAddr {
        let is_v6 = self.socket.local_addr().is_ok_and(|local| local.is_ipv6());
        match address.ip() {
            IpAddr::V4(ip) if is_v6 => {
                SocketAddr::new(IpAddr::V6(ip.to_ipv6_mapped()), address.port())
            }
            _ => address,
        }
    }
}
