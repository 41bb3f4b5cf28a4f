//! Peers in network namespaces of their own: joined by a link with delay and loss, and behind two
//! NATs, with a relay that both reach. Links and NATs are made of TUN interfaces
//! (`tests/python/slow_link.py`, `nat_network.py`), because not every kernel has `netem` and not
//! every machine `nft`. The tests need the rights of root, `ip` and `python3`; otherwise they print
//! that they are skipped, and why.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "the test reports what it measured")]
#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use yfs::{Workspace, WorkspaceOptions};
use yfs_engine::path::VPath;
use yfs_tests::{
    command::{ok, program},
    peers::{Connected, peers, wait_until},
    root,
};
use yfs_vfs::WriteOptions;

/// The delay in each direction, in milliseconds, and the share of packets that are lost.
const DELAY_MS: u32 = 300;
const LOSS_PERCENT: u32 = 5;

/// How long an edit may take. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// The number of edits that are measured in each direction.
const N_EDITS: usize = 25;

/// The delay of each datagram behind NATs, in milliseconds.
const NAT_DELAY_MS: u32 = 10;

/// The address of the relay in the tests with NATs.
const RELAY: &str = "198.51.100.1:4690";

/// A script that moves packets between interfaces, in a namespace. It ends when dropped.
struct PacketMover {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl PacketMover {
    fn start(namespace: &str, script: &str, args: &[&str]) -> Result<Self, String> {
        let mut child = Command::new("ip")
            .args(["netns", "exec", namespace, "python3", "-I"])
            .arg(root().join("tests/python").join(script))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut mover = Self { child, input, output };
        if mover.read_line() == "ready" {
            Ok(mover)
        } else {
            Err("python3 cannot make TUN interfaces".to_owned())
        }
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Returns the numbers of packets.
    fn counts(&mut self) -> Value {
        self.input.as_mut().unwrap().write_all(b"\n").unwrap();
        serde_json::from_str(&self.read_line()).unwrap()
    }
}

impl Drop for PacketMover {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().ok();
    }
}

/// Network namespaces. Removed when dropped.
struct Namespaces(Vec<String>);

impl Namespaces {
    fn make(ends: &[&str]) -> Result<Self, String> {
        // Tests run at the same time in one process.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut made = Self(Vec::new());
        for end in ends {
            let name = format!("yfs-{}-{number}-{end}", std::process::id());
            ip(&["netns", "add", &name])?;
            made.0.push(name);
        }
        Ok(made)
    }

    /// Moves an interface from the first namespace, and gives it an address.
    fn connect(&self, end: usize, device: &str, address: &str) -> Result<(), String> {
        let name = &self.0[end];
        if end > 0 {
            ip(&["-n", &self.0[0], "link", "set", device, "netns", name])?;
        }
        ip(&["-n", name, "address", "add", address, "dev", device])?;
        ip(&["-n", name, "link", "set", device, "up"])?;
        ip(&["-n", name, "link", "set", "lo", "up"])
    }

    /// Runs `yfs` in one of the namespaces.
    fn run(&self, end: usize, dir: &Path, args: &[&str]) -> Connected {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[end]]).arg(program());
        Connected::start_after(command, dir, args)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.0 {
            ip(&["netns", "delete", name]).ok();
        }
    }
}

/// Two namespaces with a link between them.
struct LinkedNetworks {
    link: PacketMover,
    spaces: Namespaces,
}

/// Two namespaces behind NATs, and one with a public address. They are numbered 1, 2 and 0.
struct NatNetworks {
    /// The NATs, unless they are those of the kernel.
    router: Option<PacketMover>,
    spaces: Namespaces,
}

impl NatNetworks {
    /// Makes the namespaces, with NATs of these kinds.
    fn start(kinds: [&str; 2]) -> Result<Self, String> {
        let spaces = Namespaces::make(&["relay", "a", "b"])?;
        let delay = NAT_DELAY_MS.to_string();
        let args = ["yfs1", "yfs2", "yfs0", kinds[0], kinds[1], &delay];
        let router = PacketMover::start(&spaces.0[0], "nat_network.py", &args)?;
        spaces.connect(0, "yfs0", "198.51.100.1/24")?;
        ip(&["-n", &spaces.0[0], "route", "add", "default", "dev", "yfs0"])?;
        for end in [1, 2] {
            let device = format!("yfs{end}");
            spaces.connect(end, &device, &format!("10.{end}.0.2/24"))?;
            ip(&["-n", &spaces.0[end], "route", "add", "default", "dev", &device])?;
        }
        Ok(Self { router: Some(router), spaces })
    }

    /// The same with NATs of the kernel, which masquerade with these flags. The NATs are numbered 3
    /// and 4.
    fn with_nft(flags: [&str; 2]) -> Result<Self, String> {
        let spaces = Namespaces::make(&["relay", "a", "b", "nat-a", "nat-b"])?;
        let networks = Self { router: None, spaces };
        let [relay, ..] = &networks.spaces.0[..] else { unreachable!("there are five") };
        ip_line(&format!("-n {relay} link add wan type bridge"))?;
        networks.spaces.connect(0, "wan", "198.51.100.1/24")?;
        for end in [1, 2] {
            let (inner, nat) = (&networks.spaces.0[end], &networks.spaces.0[end + 2]);
            ip_line(&format!(
                "link add wan netns {nat} type veth peer name wan{end} netns {relay}"
            ))?;
            ip_line(&format!("-n {relay} link set wan{end} master wan up"))?;
            ip_line(&format!("-n {nat} address add 198.51.100.1{end}/24 dev wan"))?;
            ip_line(&format!("link add lan netns {nat} type veth peer name lan netns {inner}"))?;
            ip_line(&format!("-n {nat} address add 10.{end}.0.1/24 dev lan"))?;
            ip_line(&format!("-n {inner} address add 10.{end}.0.2/24 dev lan"))?;
            for (name, device) in [(nat, "wan"), (nat, "lan"), (inner, "lan"), (inner, "lo")] {
                ip_line(&format!("-n {name} link set {device} up"))?;
            }
            ip_line(&format!("-n {inner} route add default via 10.{end}.0.1"))?;
            set_masquerade(nat, flags[end - 1])?;
        }
        Ok(networks)
    }

    fn relay(&self, home: &Path) -> Connected {
        self.spaces.run(0, home, &["peer", "relay", "--listen", RELAY])
    }

    /// Returns the numbers of datagrams through the relay, directly, and not let in.
    fn counts(&mut self) -> [u64; 3] {
        let counts = self.router.as_mut().unwrap().counts();
        ["server", "direct", "blocked"].map(|name| counts[name].as_u64().unwrap())
    }
}

impl LinkedNetworks {
    /// Makes the namespaces, with the addresses 10.77.0.1 and 10.77.0.2.
    fn start() -> Result<Self, String> {
        let spaces = Namespaces::make(&["a", "b"])?;
        let args = ["yfs0", "yfs1", &DELAY_MS.to_string(), &LOSS_PERCENT.to_string()];
        let link = PacketMover::start(&spaces.0[0], "slow_link.py", &args)?;
        spaces.connect(0, "yfs0", "10.77.0.1/24")?;
        spaces.connect(1, "yfs1", "10.77.0.2/24")?;
        Ok(Self { link, spaces })
    }

    /// Returns the numbers of packets that were passed on and lost.
    fn counts(&mut self) -> (u64, u64) {
        let counts = self.link.counts();
        (counts["passed"].as_u64().unwrap(), counts["lost"].as_u64().unwrap())
    }
}

/// Makes a namespace a router that masquerades, and lets nothing in that was not asked for.
fn set_masquerade(name: &str, flags: &str) -> Result<(), String> {
    let rules = format!(
        "table ip filter {{
            chain post {{
                type nat hook postrouting priority 100
                oifname wan masquerade {flags}
            }}
            chain enter {{
                type filter hook input priority 0; policy drop
                ct state established,related accept
            }}
            chain pass {{
                type filter hook forward priority 0; policy drop
                iifname lan accept
                ct state established,related accept
            }}
        }}
        "
    );
    let script = "echo 1 > /proc/sys/net/ipv4/ip_forward && nft -f -";
    let mut nft = Command::new("ip")
        .args(["netns", "exec", name, "sh", "-c", script])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    nft.stdin.take().unwrap().write_all(rules.as_bytes()).ok();
    let output = nft.wait_with_output().unwrap();
    let reason = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("nft: {}", reason.trim())) }
}

fn ip_line(line: &str) -> Result<(), String> {
    ip(&line.split(' ').collect::<Vec<_>>())
}

fn ip(args: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(args).output().map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}

/// Opens a workspace that a process in a namespace has open as well.
fn open(dir: &Path) -> Workspace {
    Workspace::open_at(&dir.join(".yfs/workspace.db"), WorkspaceOptions::default()).unwrap()
}

/// Appends lines one after the other, and returns how long each took to be readable at the other
/// peer.
fn measure(writer: &Workspace, reader: &Workspace, n_edits: usize) -> Vec<Duration> {
    let path = VPath::parse("/plan.txt").unwrap();
    let actor = || WorkspaceOptions::default().actor;
    let (writer, reader) = (writer.session(actor()), reader.session(actor()));
    let length = || reader.read(&path).unwrap().data.len();
    let mut delays = Vec::new();
    for number in 0..n_edits {
        let expected = length() + 5;
        let begun = Instant::now();
        writer.append(&path, b"line\n", &WriteOptions::default()).unwrap();
        while length() < expected {
            assert!(begun.elapsed() < PATIENCE, "edit {number}: not within {PATIENCE:?}");
            thread::sleep(Duration::from_millis(1));
        }
        delays.push(begun.elapsed());
    }
    delays
}

fn report(what: &str, mut delays: Vec<Duration>) {
    delays.sort_unstable();
    let at = |percent: usize| delays[(delays.len() - 1) * percent / 100].as_millis();
    println!("{what}: p50 {} ms, p99 {} ms, {} edits", at(50), at(99), delays.len());
}

#[test]
fn live_edits_arrive_over_a_bad_link_and_after_a_change_of_address() {
    let mut networks = match LinkedNetworks::start() {
        Ok(networks) => networks,
        Err(reason) => {
            println!("skipped: no network namespaces with a link here: {reason}");
            return;
        }
    };
    let home = tempfile::tempdir().unwrap();
    let here = home.path().join("here");
    let there = home.path().join("there");
    fs::create_dir(&here).unwrap();
    ok(&here, &["init", "--quiet"]);
    ok(&here, &["write", "/plan.txt", "--content", "one\n"]);
    let share =
        networks.spaces.run(0, &here, &["peer", "share", "--listen", "10.77.0.1:0", "--no-lan"]);
    let join = networks.spaces.run(
        1,
        home.path(),
        &["peer", "join", &share.ticket(), "there", "--no-files", "--no-lan"],
    );
    let id = || ok(&there, &["peer", "id"]).trim().to_owned();
    wait_until("the peers have met", || {
        there.join(".yfs/workspace.db").exists()
            // Once it is in step here, the workspace there is complete.
            && peers(&here).iter().any(|peer| peer["in_step"] == true && peer["id"] == id())
    });
    let (writer, reader) = (open(&here), open(&there));
    let network = format!("{DELAY_MS} ms of delay, {LOSS_PERCENT} % loss");
    report(&format!("{network}, owner to peer"), measure(&writer, &reader, N_EDITS));
    report(&format!("{network}, peer to owner"), measure(&reader, &writer, N_EDITS));

    // The dialer loses its address and gets another.
    wait_until("the peer there lists the other", || !peers(&there).is_empty());
    let n_connections = || peers(&there)[0]["last_seen"].clone();
    let connected_at = n_connections();
    ip(&["-n", &networks.spaces.0[1], "address", "delete", "10.77.0.2/24", "dev", "yfs1"]).unwrap();
    ip(&["-n", &networks.spaces.0[1], "address", "add", "10.77.0.3/24", "dev", "yfs1"]).unwrap();
    let first = measure(&writer, &reader, 1);
    println!("the first edit after the change of address: {} ms", first[0].as_millis());
    report("after the change, owner to peer", measure(&writer, &reader, N_EDITS));
    report("after the change, peer to owner", measure(&reader, &writer, N_EDITS));
    let is_same = connected_at == n_connections();
    println!("the connection {}", if is_same { "continued" } else { "was made again" });

    let (passed, lost) = networks.counts();
    println!("{passed} packets passed, {lost} lost");
    // Each edit is a packet at least, and the link counts which ones it loses.
    assert!(passed > 4 * N_EDITS as u64 && lost >= passed * u64::from(LOSS_PERCENT) / 100);
    let plan = ok(&here, &["cat", "/plan.txt"]);
    assert_eq!(plan, ok(&there, &["cat", "/plan.txt"]));
    assert_eq!(plan.lines().count(), 2 + 4 * N_EDITS);
    drop((join, share));
}

/// Two peers behind NATs, and a relay.
struct NatPair {
    networks: NatNetworks,
    home: tempfile::TempDir,
    relay: Option<Connected>,
    _peers: [Connected; 2],
}

impl NatPair {
    /// Makes the networks, and waits until the peers have met by a ticket.
    fn start(networks: Result<NatNetworks, String>) -> Option<Self> {
        Self::start_by(networks, |share| vec![share.ticket()], &[])
    }

    /// The same by a join code, for which the second peer has to know the relay.
    fn start_by_code(networks: Result<NatNetworks, String>) -> Option<Self> {
        let code = |share: &Connected| {
            let code = share.printed()["code"].as_str().unwrap().to_owned();
            vec![code, format!("--relay={RELAY}")]
        };
        Self::start_by(networks, code, &["--code"])
    }

    fn start_by(
        networks: Result<NatNetworks, String>,
        invitation: impl Fn(&Connected) -> Vec<String>,
        share_args: &[&str],
    ) -> Option<Self> {
        let networks = match networks {
            Ok(networks) => networks,
            Err(reason) => {
                println!("skipped: no network namespaces with NATs here: {reason}");
                return None;
            }
        };
        let home = tempfile::tempdir().unwrap();
        let here = home.path().join("here");
        fs::create_dir(&here).unwrap();
        ok(&here, &["init", "--quiet"]);
        ok(&here, &["write", "/plan.txt", "--content", "one\n"]);
        let relay = Some(networks.relay(home.path()));
        let args = [&["peer", "share", "--no-lan", "--relay", RELAY], share_args].concat();
        let share = networks.spaces.run(1, &here, &args);
        let [invitation, options @ ..] = &invitation(&share)[..] else { panic!("an invitation") };
        let mut args = vec!["peer", "join", invitation, "there", "--no-files", "--no-lan"];
        args.extend(options.iter().map(String::as_str));
        let join = networks.spaces.run(2, home.path(), &args);
        let pair = Self { networks, home, relay, _peers: [share, join] };
        wait_until("the peers have met", || {
            // Once it is in step here, the workspace there is complete.
            let is_in_step = |dir: PathBuf| peers(&dir).iter().any(|peer| peer["in_step"] == true);
            is_in_step(pair.here()) && is_in_step(pair.there())
        });
        Some(pair)
    }

    fn here(&self) -> PathBuf {
        self.home.path().join("here")
    }

    fn there(&self) -> PathBuf {
        self.home.path().join("there")
    }

    /// Returns what each side lists of the other.
    fn connections(&self) -> [Value; 2] {
        [self.here(), self.there()].map(|dir| peers(&dir).first().cloned().unwrap_or_default())
    }

    fn wait_until_via(&self, via: &str) {
        wait_until(&format!("both are {via}"), || {
            self.connections().iter().all(|peer| peer["connected"] == true && peer["via"] == via)
        });
    }

    /// Measures edits in both directions.
    fn measure(&self, what: &str, n_edits: usize) {
        let (writer, reader) = (open(&self.here()), open(&self.there()));
        report(&format!("{what}, owner to peer"), measure(&writer, &reader, n_edits));
        report(&format!("{what}, peer to owner"), measure(&reader, &writer, n_edits));
    }
}

#[test]
fn peers_behind_nats_that_keep_ports_connect_directly() {
    for kinds in [["preserving", "preserving"], ["symmetric", "open"]] {
        let Some(mut pair) = NatPair::start(NatNetworks::start(kinds)) else { return };
        pair.wait_until_via("direct");
        let what = format!("behind {} and {} NATs, direct", kinds[0], kinds[1]);
        pair.measure(&what, N_EDITS);
        // The relay is not needed any more.
        pair.relay = None;
        pair.measure("the same without the relay", N_EDITS);
        pair.wait_until_via("direct");
        let [through_relay, direct, blocked] = pair.networks.counts();
        println!(
            "{through_relay} datagrams through the relay, {direct} direct, {blocked} not let in"
        );
        // Each edit without the relay is a datagram at least.
        assert!(direct >= 2 * N_EDITS as u64, "{direct}");
    }
}

#[test]
fn one_symmetric_nat_needs_the_relay_and_so_do_two() {
    for kinds in [["symmetric", "preserving"], ["symmetric", "symmetric"]] {
        let Some(mut pair) = NatPair::start(NatNetworks::start(kinds)) else { return };
        pair.wait_until_via("relayed");
        pair.measure(&format!("behind {} and {} NATs, relayed", kinds[0], kinds[1]), N_EDITS);

        // The relay is killed and started again.
        pair.relay = None;
        let (writer, reader) = (open(&pair.here()), open(&pair.there()));
        pair.relay = Some(pair.networks.relay(pair.home.path()));
        let first = measure(&writer, &reader, 1);
        println!("the first edit after a new start of the relay: {} ms", first[0].as_millis());
        pair.measure("after a new start of the relay", N_EDITS);
        pair.wait_until_via("relayed");
        wait_until("a probe is sent", || pair.networks.counts()[2] > 0);
        let [through_relay, direct, blocked] = pair.networks.counts();
        println!(
            "{through_relay} datagrams through the relay, {direct} direct, {blocked} not let in"
        );
        assert_eq!(direct, 0);
        wait_until("both list what they sent by the relay", || {
            pair.connections()
                .iter()
                .all(|peer| peer["address"] == RELAY && peer["bytes_sent"].as_u64() > Some(0))
        });
    }
}

/// Two persons behind NATs that let nothing in have a code of words, and a relay.
#[test]
fn a_code_brings_peers_behind_nats_together() {
    let networks = NatNetworks::start(["symmetric", "symmetric"]);
    let Some(mut pair) = NatPair::start_by_code(networks) else { return };
    pair.wait_until_via("relayed");
    pair.measure("joined with a code behind symmetric NATs, relayed", N_EDITS);
    let [through_relay, direct, _] = pair.networks.counts();
    assert!(through_relay > 0);
    assert_eq!(direct, 0);
}

/// The NATs of Linux, where `nft` is installed.
#[test]
fn peers_behind_nats_of_the_kernel_connect() {
    let random = "random,fully-random";
    for (flags, via) in [(["", ""], "direct"), (["", random], "relayed")] {
        let Some(pair) = NatPair::start(NatNetworks::with_nft(flags)) else { return };
        pair.wait_until_via(via);
        pair.measure(&format!("behind NATs of the kernel, {via}"), N_EDITS);
        pair.wait_until_via(via);
    }
}

/// Without the relay, the same networks let no peer through.
#[test]
fn nats_of_the_test_let_no_peer_through_by_themselves() {
    let networks = match NatNetworks::start(["preserving", "preserving"]) {
        Ok(networks) => networks,
        Err(reason) => {
            println!("skipped: no network namespaces with NATs here: {reason}");
            return;
        }
    };
    let home = tempfile::tempdir().unwrap();
    let here = home.path().join("here");
    fs::create_dir(&here).unwrap();
    ok(&here, &["init", "--quiet"]);
    let share = networks.spaces.run(1, &here, &["peer", "share", "--no-lan"]);
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &networks.spaces.0[2]]).arg(program());
    command.args(["peer", "join", &share.ticket(), "there", "--no-files", "--no-lan", "--no-wait"]);
    let output = command.current_dir(home.path()).env_remove("YFS_WORKSPACE").output().unwrap();
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && reason.contains("cannot reach peer"), "{reason}");
}
