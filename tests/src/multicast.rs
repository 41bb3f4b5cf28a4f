//! The packets of multicast DNS on the loopback interface.

use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use socket2::{Domain, Protocol, Socket, Type};

/// The group and the port of multicast DNS.
const MDNS: (Ipv4Addr, u16) = (Ipv4Addr::new(224, 0, 0, 251), 5353);

/// The packets of multicast DNS on loopback.
#[derive(Debug, Clone)]
pub struct LanListener(Arc<Mutex<Vec<Vec<u8>>>>);

impl LanListener {
    /// Listens until the test ends. Returns nothing if loopback carries no multicast here.
    ///
    /// # Panics
    ///
    /// Its thread panics if another one panicked while it kept a packet.
    pub fn start() -> Option<Self> {
        let socket = join_group().ok()?;
        let probe = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
        probe.send_to(b"probe", MDNS).ok()?;
        socket.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let mut buffer = [0; 9000];
        loop {
            let len = socket.recv(&mut buffer).ok()?;
            if &buffer[..len] == b"probe" {
                break;
            }
        }
        let packets = Self(Arc::default());
        let kept = packets.clone();
        thread::spawn(move || {
            loop {
                let Ok(len) = socket.recv(&mut buffer) else { continue };
                kept.0.lock().expect("no thread panics with it").push(buffer[..len].to_vec());
            }
        });
        Some(packets)
    }

    /// Reports whether a packet contains these bytes.
    ///
    /// # Panics
    ///
    /// Panics if the thread that listens panicked.
    pub fn contain(&self, bytes: &[u8]) -> bool {
        let packets = self.0.lock().expect("no thread panics with it");
        packets.iter().any(|packet| packet.windows(bytes.len()).any(|part| part == bytes))
    }
}

/// Makes a socket of the group that others may have as well.
fn join_group() -> std::io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, MDNS.1)).into())?;
    socket.set_multicast_all_v4(false)?;
    socket.join_multicast_v4(&MDNS.0, &Ipv4Addr::LOCALHOST)?;
    Ok(socket.into())
}
