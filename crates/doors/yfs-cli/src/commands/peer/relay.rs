//! `yfs peer relay`: passes encrypted datagrams between peers that cannot reach each other.

use std::{net::SocketAddr, time::Duration};

use tokio::time::{MissedTickBehavior, interval};
use yfs_peer::{PeerId, RelayAllowList, RelayGroupTag, RelayLimits, RelayServer, RelayStatistics};

use crate::{format_text::sentence_size, prelude::*, stop_signal::wait_for_signal};

const HELP: &str = "\
Run it on a machine that all peers reach, and name it with `yfs peer share --relay HOST:PORT`. It
needs no workspace and keeps nothing on the disk. What it passes on is encrypted from peer to
peer. It sees the keys and addresses of the peers, which of them belong together, and how much
they send.

A peer registers by signing with its key. A datagram is passed on only between registered peers
of the same workspace, which know a secret that is derived from the ticket. The relay also
reports to both peers the address of the other, and they connect directly if their routers allow
that.

It also brings the two sides of a join code together (`yfs peer share --code --relay`): it knows the
number of the code, and neither its words nor the ticket.

Without --allow, the relay serves all peers that can send to it. With it, only these peers and
workspaces offer join codes; the person who has such a code needs no permission.

Examples:
  yfs peer relay                                       on UDP port 4690 of all addresses
  yfs peer relay --listen 192.0.2.1:4700
  yfs peer relay --allow \"$(yfs peer id --json | jq -r .relay_group)\"   one workspace only
  yfs peer relay --json --stats-every 10s

JSON: {listening}, then one line {peers, registered, refused, forwarded, forwarded_bytes, calls,
codes, knocks, over_limit, no_target, no_sender, malformed} whenever a count has changed, and at the
end.";

/// Pass encrypted datagrams between peers that cannot reach each other
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RelayArgs {
    /// Listen on this address [default: port 4690 of all addresses]
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
    /// Serve only this peer, by its id, or this workspace, by the `relay_group` of
    /// `yfs peer id --json`; can be given several times
    #[arg(long, value_name = "ID")]
    allow: Vec<AllowedId>,
    /// The most peers at once
    #[arg(long, value_name = "N", default_value_t = RelayLimits::default().max_peers)]
    max_peers: usize,
    /// The most join codes at once
    #[arg(long, value_name = "N", default_value_t = RelayLimits::default().max_codes)]
    max_codes: usize,
    /// The most bytes per second that are passed on for one peer [default: 2M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    peer_rate: Option<u64>,
    /// The most bytes per second that are passed on for all peers [default: 16M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    rate: Option<u64>,
    /// How often the counts are printed if they have changed
    #[arg(long, value_name = "AGE", default_value = "60s")]
    #[arg(value_parser = parse_time::parse_duration)]
    stats_every: Duration,
}

/// An id of `--allow`.
#[derive(Debug, Clone, Copy)]
enum AllowedId {
    Peer(PeerId),
    Group(RelayGroupTag),
}

impl std::str::FromStr for AllowedId {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let peer = text.parse().map(Self::Peer);
        peer.or_else(|_| text.parse().map(Self::Group)).map_err(|_| {
            "the id of a peer has 64 hexadecimal digits, the one of a workspace at relays has 32"
        })
    }
}

/// Runs `yfs peer relay`.
pub(crate) async fn run(args: RelayArgs, context: &mut CommandContext) -> Result {
    let defaults = RelayLimits::default();
    let limits = RelayLimits {
        max_peers: args.max_peers,
        max_codes: args.max_codes,
        bytes_of_peer: args.peer_rate.unwrap_or(defaults.bytes_of_peer),
        bytes_of_all: args.rate.unwrap_or(defaults.bytes_of_all),
        ..defaults
    };
    let mut allowed = RelayAllowList::default();
    for id in args.allow {
        match id {
            AllowedId::Peer(peer) => allowed.peers.push(peer),
            AllowedId::Group(group) => allowed.groups.push(group),
        }
    }
    let listen = args.listen.unwrap_or_else(RelayServer::default_address);
    let server = RelayServer::bind(listen, limits, allowed).await?;
    let address = server.local_addr().map_err(yfs_peer::PeerError::from)?;
    if context.out.json {
        context.out.json_line(&json!({ "listening": address.to_string() }))?;
    } else {
        context.out.line(&format!("relay {address}"))?;
    }
    context.out.flush()?;
    tokio::select! {
        () = server.run() => {}
        () = wait_for_signal() => {}
        result = print_changes(&server, args.stats_every, context) => return result,
    }
    print_statistics(&server.statistics(), context)
}

/// Prints the counts whenever they have changed.
async fn print_changes(
    server: &RelayServer,
    every: Duration,
    context: &mut CommandContext,
) -> Result {
    let mut ticks = interval(every.max(Duration::from_millis(100)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut printed = RelayStatistics::default();
    loop {
        ticks.tick().await;
        let statistics = server.statistics();
        if statistics != printed {
            printed = statistics;
            print_statistics(&statistics, context)?;
        }
    }
}

fn print_statistics(statistics: &RelayStatistics, context: &mut CommandContext) -> Result {
    if context.out.json {
        context.out.json_line(&statistics_json(statistics))?;
    } else {
        let RelayStatistics { peers, registered, refused, forwarded, calls, .. } = statistics;
        let dropped = [
            ("over the limit", statistics.over_limit),
            ("to peers that are not here", statistics.no_target),
            ("of peers that are not here", statistics.no_sender),
            ("malformed", statistics.malformed),
        ];
        let mut line = format!(
            "{peers} peers; {registered} registrations, {refused} refused; {forwarded} datagrams \
             passed on, {}; {calls} calls; {} codes, {} messages for them",
            sentence_size(statistics.forwarded_bytes),
            statistics.codes,
            statistics.knocks,
        );
        for (what, count) in dropped.iter().filter(|(_, count)| *count > 0) {
            line += &format!("; {count} dropped, {what}");
        }
        context.out.line(&line)?;
    }
    context.out.flush()
}

fn statistics_json(statistics: &RelayStatistics) -> Value {
    json!({
        "peers": statistics.peers,
        "registered": statistics.registered,
        "refused": statistics.refused,
        "forwarded": statistics.forwarded,
        "forwarded_bytes": statistics.forwarded_bytes,
        "calls": statistics.calls,
        "codes": statistics.codes,
        "knocks": statistics.knocks,
        "over_limit": statistics.over_limit,
        "no_target": statistics.no_target,
        "no_sender": statistics.no_sender,
        "malformed": statistics.malformed,
    })
}
