//! Our server under load, beside `y-websocket-server` and Hocuspocus under the same.
//!
//! One program of cheap clients drives each server in turn over the loopback interface. The CPU
//! time and the memory of the server's process are measured; latencies are those of the clients,
//! which compete for the same cores. `YFS_BENCH_LOAD=observers,joiners` chooses scenarios,
//! `YFS_BENCH_SERVERS=yfs` chooses servers by a part of their names, and `YFS_BENCH_SCALE=10`
//! starts a tenth of the clients. Linux only; the peers need Node.js with npm.

#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "load/client.rs"]
mod client;
#[path = "load/scenarios.rs"]
mod scenarios;
#[path = "load/server.rs"]
mod server;

use std::env;

use scenarios::{Audience, Outcome};
use server::Kind;

/// A scenario: its name, what one of its unit is, and how many units it has at full scale.
struct Scenario {
    name: &'static str,
    unit: &'static str,
    run: fn(Kind, usize) -> Running,
}

type Running = std::pin::Pin<Box<dyn Future<Output = Outcome>>>;

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "observers-10",
        unit: "delivery",
        run: |kind, scale| watched(kind, scale, 10, None),
    },
    Scenario {
        name: "observers-50",
        unit: "delivery",
        run: |kind, scale| watched(kind, scale, 50, None),
    },
    Scenario {
        name: "presence-10",
        unit: "delivery",
        run: |kind, scale| watched(kind, scale, 10, Some(50)),
    },
    Scenario {
        name: "writers-200",
        unit: "delivery",
        run: |kind, scale| {
            let (n_writers, rate) = (200 / scale, 2);
            let audience = Audience { n_observers: 0, n_writers, rate, presence: None };
            Box::pin(scenarios::audience(kind, audience))
        },
    },
    Scenario {
        name: "joiners-20MB",
        unit: "joiner",
        run: |kind, scale| Box::pin(scenarios::joiners(kind, 150 / scale, 20_000_000)),
    },
    Scenario {
        name: "reconnects",
        unit: "client",
        run: |kind, scale| Box::pin(scenarios::reconnects(kind, 200 / scale, 200_000)),
    },
    Scenario {
        name: "documents",
        unit: "document",
        run: |kind, scale| {
            let per_socket =
                if matches!(kind, Kind::Collab | Kind::Hocuspocus) { 500 / scale } else { 1 };
            Box::pin(scenarios::documents(kind, 10_000 / scale, per_socket))
        },
    },
    Scenario {
        name: "idle",
        unit: "socket",
        run: |kind, scale| Box::pin(scenarios::idle(kind, 10_000 / scale)),
    },
];

fn watched(kind: Kind, scale: usize, rate: u32, presence: Option<usize>) -> Running {
    let (n_observers, presence) = (1500 / scale, presence.map(|n_moving| n_moving / scale));
    Box::pin(scenarios::audience(kind, Audience { n_observers, n_writers: 1, rate, presence }))
}

fn main() {
    let chosen = |variable: &str| env::var(variable).unwrap_or_default();
    let (scenarios, servers) = (chosen("YFS_BENCH_LOAD"), chosen("YFS_BENCH_SERVERS"));
    let is_chosen =
        |list: &str, name: &str| list.is_empty() || list.split(',').any(|part| name.contains(part));
    let scale = chosen("YFS_BENCH_SCALE").parse().unwrap_or(1);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("the system has room for threads");
    println!(
        "| scenario | server | done | p50, ms | p99, ms | CPU, s | of it kernel | CPU a unit, µs \
         | memory a unit, KB | peak, MB |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for scenario in SCENARIOS.iter().filter(|scenario| is_chosen(&scenarios, scenario.name)) {
        for kind in Kind::ALL.into_iter().filter(|kind| is_chosen(&servers, kind.name())) {
            let outcome = runtime.block_on((scenario.run)(kind, scale));
            println!("{}", row(scenario, kind, outcome));
        }
    }
    // Clients whose server is gone end by themselves.
    runtime.shutdown_background();
}

fn row(scenario: &Scenario, kind: Kind, outcome: Outcome) -> String {
    let Outcome { before, after, mut latencies, expected } = outcome;
    latencies.sort_unstable();
    let percentile = |share: usize| {
        let at = (latencies.len() * share / 100).min(latencies.len().saturating_sub(1));
        let latency = latencies.get(at);
        latency.map_or("none".to_owned(), |latency| format!("{:.1}", latency.as_secs_f64() * 1e3))
    };
    let cpu = after.cpu_since(&before);
    // If the scenario timed nothing, or no client finished in time, all clients share the cost.
    let n_done = if latencies.is_empty() { expected } else { latencies.len() };
    let done = format!("{} of {expected}", latencies.len());
    let kernel = 100.0 * (after.system - before.system) / cpu.max(0.01);
    format!(
        "| {} ({}) | {} | {done} | {} | {} | {cpu:.2} | {kernel:.0} % | {:.1} | {:.1} | {:.0} |",
        scenario.name,
        scenario.unit,
        kind.name(),
        percentile(50),
        percentile(99),
        cpu * 1e6 / n_done.max(1) as f64,
        (after.rss - before.rss) * 1024.0 / expected.max(1) as f64,
        after.peak,
    )
}
