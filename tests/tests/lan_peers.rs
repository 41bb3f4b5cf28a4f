//! Peers find each other in the local network by multicast DNS, on the loopback interface: real
//! processes, and the packets that they send. Where loopback carries no multicast, the tests print
//! that they are skipped.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use socket2::{Domain, Protocol, Socket, Type};
use yfs_tests::{
    command::{ok, run},
    peers::{Connected, peers, shared_directory, wait_for_file, wait_until},
};

/// The group and the port of multicast DNS.
const MDNS: (Ipv4Addr, u16) = (Ipv4Addr::new(224, 0, 0, 251), 5353);

/// The packets of multicast DNS on loopback.
#[derive(Clone)]
struct LanListener(Arc<Mutex<Vec<Vec<u8>>>>);

impl LanListener {
    /// Listens until the test ends. Returns nothing if loopback carries no multicast here.
    fn start() -> Option<Self> {
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
                kept.0.lock().unwrap().push(buffer[..len].to_vec());
            }
        });
        Some(packets)
    }

    fn contain(&self, bytes: &[u8]) -> bool {
        let packets = self.0.lock().unwrap();
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

/// Returns the option for a port of loopback that is free now.
fn fresh_port() -> String {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    format!("--listen={}", socket.local_addr().unwrap())
}

fn start(dir: &Path, args: &[&str]) -> Connected {
    Connected::start_with(dir, args)
}

#[test]
fn peers_whose_addresses_changed_find_each_other() {
    let Some(_listener) = LanListener::start() else {
        println!("skipped: loopback carries no multicast here");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let there = home.path().join("there");
    let share = Connected::share(&here, &[]);
    ok(home.path(), &["join", &share.ticket(), "there", "--no-wait", &fresh_port(), "--no-lan"]);
    let id = ok(&there, &["id"]);
    drop(share);

    // Both have a new address, and the other knows only the old one.
    let share = start(&here, &["share", &fresh_port(), "--lan-only"]);
    fs::write(here.join("plan.txt"), "one\ntwo\n").unwrap();
    let alone = run(&there, &["join", "--no-wait", "--no-lan", &fresh_port()], b"");
    assert_eq!(alone.code, Some(1), "{}", alone.stderr);
    assert!(alone.stderr.contains("cannot reach peer"), "{}", alone.stderr);
    let join = start(&there, &["join", &fresh_port(), "--lan-only"]);
    wait_for_file(&there, "plan.txt", "one\ntwo\n");

    // A third address, while the other side keeps running.
    drop(join);
    wait_until("the peer is away", || peers(&here)[0]["connected"] == false);
    let join = start(&there, &["join", &fresh_port()]);
    wait_until("the peer is back", || {
        peers(&here).iter().any(|peer| peer["id"] == id.trim() && peer["connected"] == true)
    });
    drop((share, join));
}

#[test]
fn what_is_announced_names_nothing() {
    let Some(listener) = LanListener::start() else {
        println!("skipped: loopback carries no multicast here");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let port = fresh_port();
    let share = start(&here, &["share", &port, "--for", "benjamin"]);
    let number: u16 = port.rsplit(':').next().unwrap().parse().unwrap();
    // The service is announced: its type, and its port as the record SRV has it, after priority
    // and weight. Other tests may announce at the same time.
    let announced = [&[0, 0, 0, 0][..], &number.to_be_bytes()].concat();
    wait_until("the peer is announced", || listener.contain(&announced));
    assert!(listener.contain(b"_yfs-peer"));

    let id: serde_json::Value = serde_json::from_str(&ok(&here, &["id", "--json"])).unwrap();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    for secret in ["id", "owner", "workspace"].map(|name| id[name].as_str().unwrap()) {
        assert!(!listener.contain(secret.as_bytes()), "{secret}");
        assert!(!listener.contain(&hex(secret)), "{secret}");
    }
    for secret in ["plan.txt", "benjamin", host.trim()] {
        assert!(secret.is_empty() || !listener.contain(secret.as_bytes()), "{secret}");
    }
    drop(share);
}

#[test]
fn nothing_is_announced_unless_asked() {
    let Some(listener) = LanListener::start() else {
        println!("skipped: loopback carries no multicast here");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let quiet_port = fresh_port();
    let quiet = start(&here, &["share", &quiet_port, "--no-lan"]);
    // A peer that announces itself, to see that the listener works until the end.
    let other_home = tempfile::tempdir().unwrap();
    let other = shared_directory(other_home.path());
    let loud_port = fresh_port();
    let loud = start(&other, &["share", &loud_port]);
    let record = |port: &str| {
        let number: u16 = port.rsplit(':').next().unwrap().parse().unwrap();
        [&[0, 0, 0, 0][..], &number.to_be_bytes()].concat()
    };
    wait_until("the other is announced", || listener.contain(&record(&loud_port)));
    assert!(!listener.contain(&record(&quiet_port)));
    drop((quiet, loud));
}

/// Returns the bytes of hexadecimal digits; of other text, the text.
fn hex(text: &str) -> Vec<u8> {
    let digits = |at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(digits).collect();
    bytes.unwrap_or_else(|| text.as_bytes().to_vec())
}
