//! Peers find each other in the local network by multicast DNS, on the loopback interface: real
//! processes, and the packets that they send. Where loopback carries no multicast, the tests print
//! that they are skipped.

#![cfg(target_os = "linux")]

use std::{fs, path::Path};

use yfs_tests::{
    command::{ok, run},
    multicast::LanListener,
    peers::{Connected, fresh_address, peers, shared_directory, wait_for_file, wait_until},
};

/// Returns the option for a port of loopback that is free.
fn fresh_port() -> String {
    format!("--listen={}", fresh_address())
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
    ok(
        home.path(),
        &["peer", "join", &share.ticket(), "there", "--no-wait", &fresh_port(), "--no-lan"],
    );
    let id = ok(&there, &["peer", "id"]);
    drop(share);

    // Both have a new address, and the other knows only the old one.
    let share = start(&here, &["peer", "share", &fresh_port(), "--lan-only"]);
    fs::write(here.join("plan.txt"), "one\ntwo\n").unwrap();
    let alone = run(&there, &["peer", "join", "--no-wait", "--no-lan", &fresh_port()], b"");
    assert_eq!(alone.code, Some(1), "{}", alone.stderr);
    assert!(alone.stderr.contains("cannot reach peer"), "{}", alone.stderr);
    let join = start(&there, &["peer", "join", &fresh_port(), "--lan-only"]);
    wait_for_file(&there, "plan.txt", "one\ntwo\n");

    // A third address, while the other side keeps running.
    drop(join);
    wait_until("the peer is away", || peers(&here)[0]["connected"] == false);
    let join = start(&there, &["peer", "join", &fresh_port()]);
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
    let share = start(&here, &["peer", "share", &port, "--for", "benjamin"]);
    let number: u16 = port.rsplit(':').next().unwrap().parse().unwrap();
    // The service is announced: its type, and its port as the record SRV has it, after priority
    // and weight. Other tests may announce at the same time.
    let announced = [&[0, 0, 0, 0][..], &number.to_be_bytes()].concat();
    wait_until("the peer is announced", || listener.contain(&announced));
    assert!(listener.contain(b"_yfs-peer"));

    let id: serde_json::Value =
        serde_json::from_str(&ok(&here, &["peer", "id", "--json"])).unwrap();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    for secret in ["id", "owner", "workspace"].map(|name| id[name].as_str().unwrap()) {
        assert!(!listener.contain(secret.as_bytes()), "{secret}");
        assert!(!listener.contain(&hex(secret)), "{secret}");
    }
    for secret in ["plan.txt", "benjamin", host.trim()] {
        // A name of two letters is found in random text, too.
        assert!(secret.len() < 4 || !listener.contain(secret.as_bytes()), "{secret}");
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
    let quiet = start(&here, &["peer", "share", &quiet_port, "--no-lan"]);
    // A peer that announces itself, to see that the listener works until the end.
    let other_home = tempfile::tempdir().unwrap();
    let other = shared_directory(other_home.path());
    let loud_port = fresh_port();
    let loud = start(&other, &["peer", "share", &loud_port]);
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
