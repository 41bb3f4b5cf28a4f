//! `yfs peer share --code` and `yfs peer join CODE`: real processes over loopback, by an address,
//! by a relay and by multicast DNS.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path};

use yfs_tests::{
    command::{ok, run},
    multicast::LanListener,
    peers::{Connected, LOOPBACK, shared_directory, wait_for_file, wait_until},
};

/// Returns the code that `yfs peer share --code` printed, and the address where it is offered.
fn offered(share: &Connected) -> (String, String) {
    let printed = share.printed();
    assert!(printed.get("ticket").is_none(), "{printed}");
    assert_eq!(printed["once"], true, "{printed}");
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    (text(&printed["code"]), text(&printed["code_addresses"][0]))
}

/// Returns another code with the same number.
fn wrong(code: &str) -> String {
    let (number, words) = code.split_once('-').unwrap();
    let other = if words == "amber-falcon" { "falcon-amber" } else { "amber-falcon" };
    format!("{number}-{other}")
}

fn join(home: &Path, args: &[&str]) -> Result<(), String> {
    let args = [&["peer", "join"], args, &["--no-wait"], &LOOPBACK].concat();
    let ended = run(home, &args, b"");
    if ended.code == Some(0) { Ok(()) } else { Err(ended.stderr) }
}

#[test]
fn a_code_is_used_once() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let share = Connected::share(&here, &["--code"]);
    let (code, at) = offered(&share);
    let at = format!("--at={at}");

    // A word that is none costs nothing, and no message repeats what was typed.
    let typo = format!("{}-amber-falkon", code.split('-').next().unwrap());
    let refused = join(home.path(), &[&typo, "there", &at]).unwrap_err();
    assert!(refused.contains("did you mean `falcon`"), "{refused}");
    assert!(!refused.contains("amber"), "{refused}");

    join(home.path(), &[&code, "there", &at]).unwrap();
    let there = home.path().join("there");
    assert_eq!(fs::read_to_string(there.join("plan.txt")).unwrap(), "one\n");
    let again = join(home.path(), &[&code, "other", &at]).unwrap_err();
    assert!(again.contains("used already"), "{again}");
    assert!(!home.path().join("other").exists());

    // The clone goes on as with a ticket.
    let running = Connected::start(&there, &["peer", "join"]);
    fs::write(here.join("more.txt"), "two\n").unwrap();
    wait_for_file(&there, "more.txt", "two\n");
    drop((share, running));
}

#[test]
fn a_wrong_code_ends_the_code() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let share = Connected::share(&here, &["--code"]);
    let (code, at) = offered(&share);
    let at = format!("--at={at}");
    let refused = join(home.path(), &[&wrong(&code), "there", &at]).unwrap_err();
    assert!(refused.contains("the code is wrong"), "{refused}");
    let refused = join(home.path(), &[&code, "there", &at]).unwrap_err();
    assert!(refused.contains("an attempt with wrong words has ended the code"), "{refused}");
    for word in code.split('-').skip(1) {
        assert!(!refused.contains(word), "{refused}");
    }
    assert!(!home.path().join("there").exists());

    // Beside a running `share`, another one offers a code and ends once it was used.
    let second = Connected::share(&here, &["--code", "--code-for=1h"]);
    let (code, at) = offered(&second);
    join(home.path(), &[&code, "there", &format!("--at={at}")]).unwrap();
    drop((share, second));
}

/// Starts a relay on loopback, and returns it with its name.
fn relay(home: &Path, args: &[&str]) -> (Connected, String) {
    let args = [&["peer", "relay", "--listen", "127.0.0.1:0"], args].concat();
    let relay = Connected::start_with(home, &args);
    let name = relay.printed()["listening"].as_str().unwrap().to_owned();
    (relay, name)
}

#[test]
fn a_code_is_used_once_through_a_relay() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let (relay, name) = relay(home.path(), &[]);
    let by_relay = ["--relay", &name];
    let share = Connected::share(&here, &["--code", by_relay[0], by_relay[1]]);
    let (code, _) = offered(&share);
    let number: u16 = code.split('-').next().unwrap().parse().unwrap();
    assert!((1000..=9999).contains(&number), "{code}");
    assert_eq!(share.printed()["relays"], serde_json::json!([name]));

    // No relay is asked that was not named.
    let refused = join(home.path(), &[&code, "there"]).unwrap_err();
    assert!(refused.contains("a join code needs --relay"), "{refused}");
    let other = if number == 9999 { 1000 } else { number + 1 };
    let other = code.replacen(&number.to_string(), &other.to_string(), 1);
    let args = |code: &str, dir: &str| [code, dir, by_relay[0], by_relay[1]].map(str::to_owned);
    let join_by_relay = |code: &str, dir: &str| {
        let args = args(code, dir);
        join(home.path(), &args.each_ref().map(String::as_str))
    };
    let refused = join_by_relay(&other, "there").unwrap_err();
    assert!(
        refused.contains(&format!("the relay {name} has no code with the number")),
        "{refused}"
    );
    assert!(!home.path().join("there").exists());

    join_by_relay(&code, "there").unwrap();
    let there = home.path().join("there");
    assert_eq!(fs::read_to_string(there.join("plan.txt")).unwrap(), "one\n");
    let again = join_by_relay(&code, "other").unwrap_err();
    assert!(again.contains("used already"), "{again}");

    // Beside a running `share`, another one offers a code at the same relay, and no other one.
    let elsewhere = ok_fails(&here, &["peer", "share", "--code", "--relay", "192.0.2.1:9"]);
    assert!(elsewhere.contains("does not use the relay 192.0.2.1:9"), "{elsewhere}");
    let second = Connected::share(&here, &["--code"]);
    let (code, _) = offered(&second);
    let refused = join_by_relay(&wrong(&code), "other").unwrap_err();
    assert!(refused.contains("the code is wrong"), "{refused}");
    let refused = join_by_relay(&code, "other").unwrap_err();
    assert!(!home.path().join("other").exists(), "{refused}");
    drop((relay, share, second));
}

/// A relay for certain workspaces offers no codes of others, and needs to know no joiner.
#[test]
fn a_relay_with_an_allow_list_offers_only_codes_of_its_workspaces() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let first = Connected::share(&here, &[]);
    let id: serde_json::Value =
        serde_json::from_str(&ok(&here, &["peer", "id", "--json"])).unwrap();
    drop(first);
    let group = id["relay_group"].as_str().unwrap();
    let (allowing, name) = relay(home.path(), &["--allow", group]);
    let share = Connected::share(&here, &["--code", "--relay", &name]);
    let (code, _) = offered(&share);
    join(home.path(), &[&code, "there", "--relay", &name]).unwrap();
    drop((share, allowing));

    let (refusing, name) = relay(home.path(), &["--allow", &"0".repeat(32)]);
    let share = Connected::share(&here, &["--code", "--no-relay"]);
    drop(share);
    let share = Connected::share(&here, &["--code", "--relay", &name]);
    let (code, at) = offered(&share);
    let refused = join(home.path(), &[&code, "other", "--relay", &name]).unwrap_err();
    assert!(refused.contains("has no code with the number"), "{refused}");
    // The code has its other ways.
    join(home.path(), &[&code, "other", &format!("--at={at}"), "--no-relay"]).unwrap();
    drop((share, refusing));
}

/// Runs a command that fails, and returns what it prints.
fn ok_fails(dir: &Path, args: &[&str]) -> String {
    let ended = run(dir, &[args, &LOOPBACK].concat(), b"");
    assert_ne!(ended.code, Some(0), "{}", ended.stderr);
    ended.stderr
}

#[test]
fn a_code_finds_its_peer_in_the_local_network() {
    let Some(listener) = LanListener::start() else {
        println!("skipped: loopback carries no multicast here");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let share = Connected::start_with(&here, &["peer", "share", "--code", "--listen=127.0.0.1:0"]);
    let (code, at) = offered(&share);
    let port: u16 = at.rsplit(':').next().unwrap().parse().unwrap();
    let announced = [&[0, 0, 0, 0][..], &port.to_be_bytes()].concat();
    wait_until("the code is announced", || listener.contain(&announced));
    assert!(listener.contain(b"_yfs-code"));
    let args = ["peer", "join", &code, "there", "--no-wait", "--listen=127.0.0.1:0"];
    ok(home.path(), &args);
    assert_eq!(fs::read_to_string(home.path().join("there/plan.txt")).unwrap(), "one\n");
    for word in code.split('-').skip(1) {
        assert!(!listener.contain(word.as_bytes()), "{word}");
    }
    drop(share);
}

#[test]
fn a_ticket_is_printed_as_a_qr_code() {
    let home = tempfile::tempdir().unwrap();
    let here = shared_directory(home.path());
    let share = Connected::share(&here, &[]);
    let printed = ok(&here, &["peer", "share", "--qr"]);
    let mut lines = printed.lines();
    assert!(lines.next().unwrap().starts_with("yfspeer_"), "{printed}");
    let code: Vec<&str> = lines.collect();
    let width = code[0].chars().count();
    assert!((40..=80).contains(&width), "{printed}");
    assert!(code.iter().all(|line| line.chars().count() == width), "{printed}");
    assert_eq!(code.len(), width.div_ceil(2), "{printed}");
    drop(share);
}
