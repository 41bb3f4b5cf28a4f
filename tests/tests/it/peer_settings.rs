//! `yfs config peer-…`: what `yfs peer share` and `yfs peer join` use if no option says otherwise,
//! in real processes over loopback.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    net::UdpSocket,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use yfs_tests::{
    command::{command, run},
    peers::{Connected, peers, shared_directory, wait_until},
};

/// A home with a workspace, and a file with the settings of the account.
struct Home {
    dir: tempfile::TempDir,
    here: PathBuf,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let here = shared_directory(dir.path());
        Self { dir, here }
    }

    fn account(&self) -> PathBuf {
        self.dir.path().join("account.toml")
    }

    fn command(&self) -> Command {
        let mut command = command();
        command.env("YFS_CONFIG", self.account());
        command
    }

    /// Sets a setting of the account.
    fn set(&self, key: &str, value: &str) {
        let output = self.config(&[key, value]);
        assert!(output.is_ok(), "{output:?}");
    }

    fn config(&self, args: &[&str]) -> Result<String, String> {
        self.run(self.dir.path(), &[&["config"], args].concat())
    }

    fn run(&self, dir: &Path, args: &[&str]) -> Result<String, String> {
        let mut command = self.command();
        let output = command.args(args).current_dir(dir).env_remove("YFS_WORKSPACE").output();
        let output = output.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn share(&self, args: &[&str]) -> Connected {
        Connected::start_after(self.command(), &self.here, &[&["peer", "share"], args].concat())
    }
}

/// Returns the names of the relays in the ticket that `yfs peer share` printed.
fn relays(share: &Connected) -> Value {
    share.printed()["relays"].clone()
}

fn name_of(socket: &UdpSocket) -> String {
    socket.local_addr().unwrap().to_string()
}

#[test]
fn settings_are_checked_and_listed() {
    let home = Home::new();
    for (key, value) in [
        ("peer-lan", "maybe"),
        ("peer-lan-only", "yes"),
        ("peer-listen", "here"),
        ("peer-listen", "127.0.0.1"),
        ("peer-relays", "a b"),
        ("peer-relays", "a,b,c,d,e"),
    ] {
        home.config(&[key, value]).unwrap_err();
    }
    assert!(!home.account().exists());
    home.set("peer-relays", "relay.example, [2001:db8::1]:9");
    home.set("peer-listen", "127.0.0.1:0");
    let listed = home.config(&[]).unwrap();
    assert!(listed.contains("peer-relays = relay.example, [2001:db8::1]:9  ("), "{listed}");
    // A file that another program wrote is checked when it is read, and the command does nothing.
    fs::write(home.account(), "peer-lan = \"maybe\"\n").unwrap();
    let refused = home.run(&home.here, &["peer", "share"]).unwrap_err();
    assert!(refused.contains("peer-lan: invalid value 'maybe'"), "{refused}");
}

#[test]
fn peers_use_the_settings_and_options_override_them() {
    let home = Home::new();
    home.set("peer-lan", "off");
    home.set("peer-listen", "127.0.0.1:0");
    home.set("peer-relays", "127.0.0.1:9, 127.0.0.1:10");
    let share = home.share(&[]);
    assert_eq!(relays(&share), json!(["127.0.0.1:9", "127.0.0.1:10"]));
    let addresses = share.printed()["addresses"].clone();
    let [address] = &addresses.as_array().unwrap()[..] else { panic!("{addresses}") };
    assert!(address.as_str().unwrap().starts_with("127.0.0.1:"), "{address}");
    drop(share);
    // A relay of an option takes the place of those of the settings, which are not remembered.
    let share = home.share(&["--relay", "127.0.0.1:11", "--listen", "127.0.0.2:0"]);
    assert_eq!(relays(&share), json!(["127.0.0.1:11"]));
    let listen = share.printed()["addresses"][0].as_str().unwrap().to_owned();
    assert!(listen.starts_with("127.0.0.2:"), "{listen}");
    drop(share);
    let share = home.share(&["--no-relay"]);
    assert_eq!(relays(&share), json!([]));
    drop(share);
    // The file of the workspace replaces that of the account.
    home.run(&home.here, &["config", "--local", "peer-relays", "127.0.0.1:12"]).unwrap();
    let share = home.share(&[]);
    assert_eq!(relays(&share), json!(["127.0.0.1:12"]));
    drop(share);
    // With the setting that only the local network is used, no relay is, unless both are changed.
    home.set("peer-lan-only", "on");
    let share = home.share(&[]);
    assert_eq!(relays(&share), json!([]));
    drop(share);
    let refused = home.run(&home.here, &["peer", "share", "--relay", "127.0.0.1:9"]).unwrap_err();
    assert!(refused.contains("--lan-only=off"), "{refused}");
    let share = home.share(&["--lan-only=off"]);
    assert_eq!(relays(&share), json!(["127.0.0.1:12"]));
    drop(share);
}

/// A relay of the settings receives nothing unless `share` or `join` runs.
#[test]
fn only_share_and_join_contact_the_relays_of_the_settings() {
    let home = Home::new();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    silent.set_nonblocking(true).unwrap();
    home.set("peer-lan", "off");
    home.set("peer-listen", "127.0.0.1:0");
    home.set("peer-relays", &name_of(&silent));
    let mut buffer = [0; 2048];
    for args in [
        &["peer", "ls"][..],
        &["peer", "id"],
        &["ls"],
        &["status"],
        &["config"],
        &["admin", "info"],
    ] {
        home.run(&home.here, args).unwrap();
    }
    home.run(&home.here, &["mirror", ".", "--once", "--quiet"]).unwrap();
    assert!(silent.recv(&mut buffer).is_err(), "a relay was contacted");
    // The control: the relay is asked for a challenge.
    let share = home.share(&[]);
    wait_until("the relay receives a request", || silent.recv(&mut buffer).is_ok());
    assert_eq!(buffer[0], 1);
    drop(share);
}

/// Two persons who have set the same relay type only the code.
#[test]
fn a_code_is_found_at_the_relay_of_the_settings() {
    let home = Home::new();
    let relay =
        Connected::start_with(home.dir.path(), &["peer", "relay", "--listen", "127.0.0.1:0"]);
    home.set("peer-relays", relay.printed()["listening"].as_str().unwrap());
    home.set("peer-lan", "off");
    home.set("peer-listen", "127.0.0.1:0");
    let share = home.share(&["--code"]);
    let code = share.printed()["code"].as_str().unwrap().to_owned();
    home.run(home.dir.path(), &["peer", "join", &code, "there", "--no-wait"]).unwrap();
    let there = home.dir.path().join("there");
    assert_eq!(fs::read_to_string(there.join("plan.txt")).unwrap(), "one\n");
    assert_eq!(peers(&home.here).len(), 1);
    // Without the setting, the code needs an option, and is not used.
    let share = home.share(&["--code"]);
    let code = share.printed()["code"].as_str().unwrap().to_owned();
    let ended = run(home.dir.path(), &["peer", "join", &code, "other", "--no-lan"], b"");
    assert!(ended.stderr.contains("a join code needs --relay"), "{}", ended.stderr);
    drop((share, relay));
}
