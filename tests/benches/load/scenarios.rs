//! What the servers are put through. Each scenario has a server of its own, and is bounded in time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures::future::join_all;
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{interval, sleep, timeout},
};
use yfs_sync::{
    message::SyncMessage,
    presence::{PresenceEntry, encode},
};
use yrs::{Doc, Text, Transact};

use crate::{
    client::{self, Receiver, Sender},
    server::{self, Kind, Server, Target, Used},
};

/// How many connect at once where that is not what is measured.
const CONNECTING: usize = 64;

/// How long those who write do so.
const WRITING: Duration = Duration::from_secs(8);

/// How long what was sent may take to arrive.
const ARRIVING: Duration = Duration::from_secs(40);

/// The state vector and the update of an empty document.
const EMPTY: &[u8] = &[0];

/// What came of a scenario.
pub(crate) struct Outcome {
    pub(crate) before: Used,
    pub(crate) after: Used,
    /// How long each thing took that was waited for.
    pub(crate) latencies: Vec<Duration>,
    /// How many there should have been.
    pub(crate) expected: usize,
}

/// The clients that observe a document, and those that write to it.
#[derive(Clone, Copy)]
pub(crate) struct Audience {
    pub(crate) n_observers: usize,
    pub(crate) n_writers: usize,
    /// How often each writer writes in a second.
    pub(crate) rate: u32,
    /// How many clients move their cursor five times a second; without a number, no client has a
    /// presence.
    pub(crate) presence: Option<usize>,
}

/// Updates on their way: when each was sent, and how long each took to whom.
struct Flight {
    began: Instant,
    sent: Vec<AtomicU64>,
    n_arrived: AtomicUsize,
    stop: AtomicBool,
}

/// Writes while others look on, and takes the time from writing to each of them.
pub(crate) async fn audience(kind: Kind, audience: Audience) -> Outcome {
    let server = Server::start(kind, 1);
    let (target, document) = (server.target.clone(), server.documents[0].clone());
    let Audience { n_observers, n_writers, rate, presence } = audience;
    let n_updates = n_writers * (WRITING.as_secs() as usize) * rate as usize;
    let sent = (0..n_updates).map(|_| AtomicU64::new(0)).collect();
    let (n_arrived, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let flight = Arc::new(Flight { began: Instant::now(), sent, n_arrived, stop });
    let clients = join(&target, &document, n_observers + n_writers).await;
    let mut tasks = JoinSet::new();
    let mut latencies = Vec::new();
    let mut writers = Vec::new();
    for (number, (sender, receiver)) in clients.into_iter().enumerate() {
        let (target, flight) = (target.clone(), flight.clone());
        let is_writer = number >= n_observers;
        let (pong, pongs) = tokio::sync::mpsc::channel(4);
        if is_writer {
            writers.push((sender, pongs));
        } else {
            let moves = presence.map(|n_moving| number < n_moving);
            tokio::spawn(attend(sender, pongs, document.clone(), number, moves, flight.clone()));
        }
        tasks.spawn(listen(receiver, pong, target, flight));
    }
    // The server announces all clients to all others before the measurement begins.
    sleep(Duration::from_secs(if presence.is_some() { 6 } else { 2 })).await;
    let before = server.used();
    let writing = writers.into_iter().enumerate().map(|(number, (sender, pongs))| {
        tokio::spawn(write(sender, pongs, document.clone(), number, audience, flight.clone()))
    });
    // Held to the end, because a client that drops its sender receives nothing more.
    let senders = join_all(writing.collect::<Vec<_>>()).await;
    let expected = n_updates * (n_observers + n_writers);
    let deadline = Instant::now() + ARRIVING;
    while flight.n_arrived.load(Relaxed) < expected && Instant::now() < deadline {
        sleep(Duration::from_millis(20)).await;
    }
    let after = server.used();
    flight.stop.store(true, Relaxed);
    drop(senders);
    drop(server);
    while let Some(times) = tasks.join_next().await {
        latencies.extend(times.expect("a listener does not panic"));
    }
    Outcome { before, after, latencies, expected }
}

/// Listens to the end, and returns how long each update took.
async fn listen(
    mut receiver: Receiver,
    pong: tokio::sync::mpsc::Sender<()>,
    target: Target,
    flight: Arc<Flight>,
) -> Vec<Duration> {
    let mut latencies = Vec::new();
    while let Ok(frame) = receiver.next().await {
        let Some(frame) = frame else {
            pong.try_send(()).ok();
            continue;
        };
        let message = frame.message(&target);
        if message.starts_with(&[0, 2]) {
            // An update says its number behind a sign that nothing else in it has.
            for number in numbers(message) {
                let now = flight.began.elapsed();
                let sent = Duration::from_nanos(flight.sent[number].load(Relaxed));
                latencies.push(now.saturating_sub(sent));
                flight.n_arrived.fetch_add(1, Relaxed);
            }
        }
    }
    latencies
}

fn numbers(message: &[u8]) -> impl Iterator<Item = usize> {
    message
        .split(|byte| *byte == b'#')
        .skip(1)
        .filter_map(|rest| std::str::from_utf8(rest.get(..7)?).ok()?.parse().ok())
}

/// Writes, a number at a time.
async fn write(
    mut sender: Sender,
    mut pongs: tokio::sync::mpsc::Receiver<()>,
    document: String,
    writer: usize,
    audience: Audience,
    flight: Arc<Flight>,
) -> Sender {
    let doc = Doc::with_client_id(1_000_000 + writer as u64);
    let text = doc.get_or_insert_text("text");
    let period = Duration::from_secs(1) / audience.rate;
    // Not all at the same moment.
    sleep(period * writer as u32 / audience.n_writers as u32).await;
    let mut ticks = interval(period);
    let n_updates = WRITING.as_secs() as usize * audience.rate as usize;
    for number in (0..n_updates).map(|number| writer * n_updates + number) {
        ticks.tick().await;
        let update = {
            let mut txn = doc.transact_mut();
            text.push(&mut txn, &format!("#{number:07}"));
            txn.encode_update_v1()
        };
        flight.sent[number].store(flight.began.elapsed().as_nanos() as u64, Relaxed);
        if sender.say(&document, &SyncMessage::Update(&update)).await.is_err() {
            break;
        }
        if pongs.try_recv().is_ok() {
            sender.pong().await.ok();
        }
    }
    sender
}

/// Is there, as an editor is: says so every 15 seconds, and moves a caret if it `moves`.
async fn attend(
    mut sender: Sender,
    mut pongs: tokio::sync::mpsc::Receiver<()>,
    document: String,
    number: usize,
    moves: Option<bool>,
    flight: Arc<Flight>,
) {
    let renewal = Duration::from_secs(15);
    let period = if moves == Some(true) { Duration::from_millis(200) } else { renewal };
    let mut clock = 0;
    let mut at = Instant::now();
    while !flight.stop.load(Relaxed) {
        let rest = at.saturating_duration_since(Instant::now());
        if timeout(rest.max(Duration::from_millis(1)), pongs.recv()).await.is_ok() {
            if sender.pong().await.is_err() {
                return;
            }
            continue;
        }
        if moves.is_some() {
            clock += 1;
            let caret = if moves == Some(true) { clock } else { 0 };
            let state = format!(
                r##"{{"user":{{"name":"observer {number}","color":"#30bced"}},"cursor":{{"anchor":{caret},"head":{caret}}}}}"##
            );
            let entry = PresenceEntry { id: 5_000 + number as u64, clock, state: &state };
            if sender.say(&document, &SyncMessage::Awareness(&encode(&[entry]))).await.is_err() {
                return;
            }
        }
        // The first renewals are spread, as those of people who came one after the other.
        let spread = if clock == 1 && moves == Some(false) { number as u32 % 15 } else { 0 };
        at = Instant::now() + if spread > 0 { Duration::from_secs(spread.into()) } else { period };
    }
}

/// Lets many join a document with a long history at once, and takes the time of each.
pub(crate) async fn joiners(kind: Kind, n_joiners: usize, bytes: usize) -> Outcome {
    let server = Server::start(kind, 1);
    let (target, document) = (server.target.clone(), server.documents[0].clone());
    let update = server::history(bytes);
    let (mut loader, mut receiver) = client::connect(&target, &document).await.expect("it runs");
    loader.join(&document, EMPTY).await.expect("it runs");
    loader.say(&document, &SyncMessage::Update(&update)).await.expect("it takes it");
    // It has taken the update when it answers what was asked behind it.
    loader.say(&document, &SyncMessage::Step1(EMPTY)).await.expect("it runs");
    wait_for_state(&mut receiver, &target, update.len() / 2).await;
    let before = server.used();
    let expected = n_joiners;
    let joining = (0..n_joiners).map(|_| {
        let (target, document, least) = (target.clone(), document.clone(), update.len() / 2);
        tokio::spawn(async move {
            let began = Instant::now();
            loop {
                let Ok((mut sender, mut receiver)) = client::connect(&target, &document).await
                else {
                    continue;
                };
                if sender.join(&document, EMPTY).await.is_err() {
                    continue;
                }
                if wait_for_state(&mut receiver, &target, least).await {
                    return began.elapsed();
                }
            }
        })
    });
    let joined = timeout(3 * ARRIVING, join_all(joining.collect::<Vec<_>>())).await;
    let latencies = joined.map(|all| all.into_iter().flatten().collect()).unwrap_or_default();
    Outcome { before, after: server.used(), latencies, expected }
}

/// Disconnects all clients at once, and measures the time until each has connected again.
pub(crate) async fn reconnects(kind: Kind, n_clients: usize, bytes: usize) -> Outcome {
    let server = Server::start(kind, 1);
    let (target, document) = (server.target.clone(), server.documents[0].clone());
    let update = server::history(bytes);
    let (mut loader, mut receiver) = client::connect(&target, &document).await.expect("it runs");
    loader.join(&document, EMPTY).await.expect("it runs");
    loader.say(&document, &SyncMessage::Update(&update)).await.expect("it takes it");
    loader.say(&document, &SyncMessage::Step1(EMPTY)).await.expect("it runs");
    wait_for_state(&mut receiver, &target, update.len() / 2).await;
    let clients = join(&target, &document, n_clients).await;
    drop(clients);
    // The state vector of the whole history, which all clients have.
    let state_vector = state_vector_of(&update);
    let before = server.used();
    let joining = (0..n_clients).map(|_| {
        let (target, document, have) = (target.clone(), document.clone(), state_vector.clone());
        tokio::spawn(async move {
            let began = Instant::now();
            let (mut sender, mut receiver) =
                client::connect(&target, &document).await.expect("it runs");
            sender.join(&document, &have).await.expect("it runs");
            wait_for_state(&mut receiver, &target, 0).await;
            began.elapsed()
        })
    });
    let joined = timeout(ARRIVING, join_all(joining.collect::<Vec<_>>())).await;
    let latencies = joined.map(|all| all.into_iter().flatten().collect()).unwrap_or_default();
    Outcome { before, after: server.used(), latencies, expected: n_clients }
}

/// Opens so many documents, each by one connection; at `/collab` so many over one connection.
pub(crate) async fn documents(kind: Kind, n_documents: usize, per_socket: usize) -> Outcome {
    let server = Server::start(kind, n_documents);
    let target = server.target.clone();
    let before = server.used();
    let mut latencies = Vec::new();
    let mut held = Vec::new();
    let gate = Arc::new(Semaphore::new(CONNECTING));
    let mut joining = JoinSet::new();
    for documents in server.documents.chunks(per_socket) {
        let (target, gate, documents) = (target.clone(), gate.clone(), documents.to_vec());
        joining.spawn(async move {
            let _permit = gate.acquire().await.expect("it is never closed");
            let began = Instant::now();
            let connected = client::connect(&target, &documents[0]).await;
            let (mut sender, mut receiver) = connected.expect("it runs");
            for document in &documents {
                sender.join(document, EMPTY).await.expect("it runs");
                wait_for_state(&mut receiver, &target, 0).await;
            }
            (sender, receiver, began.elapsed() / documents.len() as u32)
        });
    }
    while let Some(joined) = joining.join_next().await {
        let (sender, receiver, took) = joined.expect("a joiner does not panic");
        held.push((sender, receiver));
        latencies.push(took);
    }
    sleep(Duration::from_secs(2)).await;
    let expected = latencies.len();
    Outcome { before, after: server.used(), latencies, expected }
}

/// Holds so many connections to one document that say nothing.
pub(crate) async fn idle(kind: Kind, n_sockets: usize) -> Outcome {
    let server = Server::start(kind, 1);
    let (target, document) = (server.target.clone(), server.documents[0].clone());
    let before = server.used();
    let clients = join(&target, &document, n_sockets).await;
    sleep(Duration::from_secs(2)).await;
    Outcome { before, after: server.used(), latencies: Vec::new(), expected: clients.len() }
}

/// Connects so many to one document, some at a time.
async fn join(target: &Target, document: &str, n_clients: usize) -> Vec<(Sender, Receiver)> {
    let gate = Semaphore::new(CONNECTING);
    let joining = (0..n_clients).map(|_| async {
        let _permit = gate.acquire().await.expect("it is never closed");
        let (mut sender, mut receiver) = client::connect(target, document).await.expect("it runs");
        sender.join(document, EMPTY).await.expect("it runs");
        wait_for_state(&mut receiver, target, 0).await;
        (sender, receiver)
    });
    join_all(joining).await
}

/// Waits for what answers a SyncStep1; tells whether it came.
async fn wait_for_state(receiver: &mut Receiver, target: &Target, least: usize) -> bool {
    while let Ok(frame) = receiver.next().await {
        let Some(frame) = frame else { continue };
        if frame.message(target).starts_with(&[0, 1]) && frame.len >= least {
            return true;
        }
    }
    false
}

fn state_vector_of(update: &[u8]) -> Vec<u8> {
    use yrs::{
        ReadTxn, Update,
        updates::{decoder::Decode, encoder::Encode},
    };
    let doc = Doc::new();
    let update = Update::decode_v1(update).expect("yjs wrote it");
    doc.transact_mut().apply_update(update).expect("it is complete");
    doc.transact().state_vector().encode_v1()
}
