//! Join codes in the local network, by multicast DNS: a peer announces the number of the code that
//! it offers, and a port.
//!
//! # Invariants
//!
//! - An announcement has the number, a random name, the port, and the addresses of the interface:
//!   nothing that depends on the words of the code, the workspace or the peer.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use mdns_sd::{Receiver, ServiceDaemon, ServiceEvent};
use tokio::time::{Interval, interval};

use crate::lan::{LanService, MAX_RECORDS, addresses_of, n_records, restrict_to, start_service};

/// The type of the service.
const SERVICE_TYPE: &str = "_yfs-code._tcp.local.";

/// The property with the number of the code.
const PROPERTY: &str = "n";

/// How often the records that the network has sent are counted.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// Announces the number of a code until it is dropped.
pub(crate) struct LanCodeAnnouncement {
    daemon: ServiceDaemon,
    fullname: String,
}

/// A search for the peers that offer codes with one number, until it is dropped.
pub(crate) struct LanCodeSearch {
    number: String,
    daemon: ServiceDaemon,
    events: Receiver<ServiceEvent>,
    count: Interval,
}

impl LanCodeAnnouncement {
    /// Announces the number of a code, and the address at which it is offered.
    pub(crate) fn start(number: u16, bound: SocketAddr) -> Result<Self, mdns_sd::Error> {
        let name = format!("{:016x}", getrandom::u64().expect("the system has a random source"));
        let number = number.to_string();
        let service = LanService {
            service_type: SERVICE_TYPE,
            name: &name,
            property: (PROPERTY, &number),
            bound,
        };
        let daemon = ServiceDaemon::new()?;
        match start_service(&daemon, &service) {
            Ok(fullname) => Ok(Self { daemon, fullname }),
            Err(error) => {
                daemon.shutdown().ok();
                Err(error)
            }
        }
    }
}

impl Drop for LanCodeAnnouncement {
    fn drop(&mut self) {
        self.daemon.unregister(&self.fullname).ok();
        self.daemon.shutdown().ok();
    }
}

impl LanCodeSearch {
    /// Begins to search on the interface of an address, or on all.
    pub(crate) fn start(number: u16, interface: IpAddr) -> Result<Self, mdns_sd::Error> {
        let daemon = ServiceDaemon::new()?;
        let started = restrict_to(&daemon, interface).and_then(|()| daemon.browse(SERVICE_TYPE));
        match started {
            Ok(events) => {
                let count = interval(COUNT_EVERY);
                Ok(Self { number: number.to_string(), daemon, events, count })
            }
            Err(error) => {
                daemon.shutdown().ok();
                Err(error)
            }
        }
    }

    /// Returns the addresses of the next peer that offers a code with the number; `None` if the
    /// search has ended, because the network sends more than is kept.
    pub(crate) async fn next(&mut self) -> Option<Vec<SocketAddr>> {
        loop {
            tokio::select! {
                event = self.events.recv_async() => {
                    let ServiceEvent::ServiceResolved(service) = event.ok()? else { continue };
                    let number = service.get_property_val_str(PROPERTY);
                    if number == Some(self.number.as_str()) {
                        return Some(addresses_of(&service));
                    }
                }
                _ = self.count.tick() => {
                    if n_records(&self.daemon).await > MAX_RECORDS {
                        return None;
                    }
                }
            }
        }
    }
}

impl Drop for LanCodeSearch {
    fn drop(&mut self) {
        self.daemon.shutdown().ok();
    }
}
