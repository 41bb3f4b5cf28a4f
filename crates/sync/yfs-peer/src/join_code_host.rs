//! The side that offers a join code: listens on TCP, announces the number of the code in the local
//! network, and offers it at relays.
//!
//! The tasks of the host end some minutes after the code, so that a late joiner learns why it gets
//! no ticket, or when the host is dropped.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{AbortHandle, JoinHandle},
    time::{sleep_until, timeout},
};

use crate::{
    join_code_offer::{CODE_HELLO_LEN, CodeOffer, CodeRefusal, JoinCodeOutcome},
    lan_code::LanCodeAnnouncement,
    pake::CONFIRMATION_LEN,
    peer_error::PeerError,
    peer_node::local_addresses,
    quic::is_local,
    relay_code_host::ReservedJoinCode,
    ticket::PeerTicket,
};

/// The most connections at once, and of one address. Beyond it, one that has sent nothing is closed
/// for the new one, the oldest first: a joiner sends its first message at once.
const MAX_CONNECTIONS: usize = 64;
const MAX_PER_ADDRESS: usize = 8;

/// The time for a whole exchange.
pub(crate) const EXCHANGE_WITHIN: Duration = Duration::from_secs(10);

/// How long the end of a code is reported to late joiners.
const LINGER: Duration = Duration::from_secs(600);

/// How a code is offered.
#[derive(Debug, Clone)]
pub struct JoinCodeOptions {
    /// Where to listen. Port 0 stands for any.
    pub listen: SocketAddr,
    /// How long the code may be used.
    pub lifetime: Duration,
    /// Whether only addresses of this machine and its local network may use it.
    pub is_lan_only: bool,
    /// Whether the number of the code is announced in the local network.
    pub is_announced: bool,
}

/// A code that is offered until it is used, a wrong one was tried, its time is over, or this is
/// dropped.
#[derive(Debug)]
pub struct JoinCodeHost {
    addresses: Vec<SocketAddr>,
    outcome: watch::Receiver<Option<JoinCodeOutcome>>,
    tasks: Vec<JoinHandle<()>>,
    lan_failure: Option<String>,
}

impl JoinCodeHost {
    /// Offers a ticket to the first peer that has the code, also at the relays at which its number
    /// is reserved.
    ///
    /// # Errors
    ///
    /// [`PeerError::Listen`] if the address cannot be used.
    pub async fn start(
        reserved: impl Into<ReservedJoinCode>,
        ticket: &PeerTicket,
        options: JoinCodeOptions,
    ) -> Result<Self, PeerError> {
        let reserved = reserved.into();
        let code = reserved.code.clone();
        let listener = bind(options.listen).await?;
        let bound = listener.local_addr()?;
        let (mut announcement, mut lan_failure) = (None, None);
        if options.is_announced {
            match LanCodeAnnouncement::start(code.number(), bound) {
                Ok(started) => announcement = Some(started),
                Err(error) => lan_failure = Some(error.to_string()),
            }
        }
        let ends = Instant::now() + options.lifetime;
        let offer = Arc::new(CodeOffer::new(code, ticket.to_string(), ends));
        let (outcome, outcomes) = watch::channel(None);
        let outcome = Arc::new(outcome);
        let relayed = reserved.into_relays().into_iter().map(|relay| {
            let (offer, outcome) = (offer.clone(), outcome.clone());
            let reported = offer.clone();
            let report = move || report_outcome(&reported, &outcome);
            tokio::spawn(relay.serve(offer, ends + LINGER, report))
        });
        let mut tasks: Vec<JoinHandle<()>> = relayed.collect();
        let serving = serve_code(listener, offer, options.is_lan_only, outcome, announcement);
        tasks.push(tokio::spawn(serving));
        let addresses = local_addresses(bound);
        Ok(Self { addresses, outcome: outcomes, tasks, lan_failure })
    }

    /// Returns the addresses for `--at`.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns why the number is not announced, if it should be.
    pub fn lan_failure(&self) -> Option<&str> {
        self.lan_failure.as_deref()
    }

    /// Returns a receiver of the end of the code, which is `None` until then.
    pub fn outcome(&self) -> watch::Receiver<Option<JoinCodeOutcome>> {
        self.outcome.clone()
    }
}

/// The connections that are answered, oldest first.
#[derive(Debug, Default)]
struct OpenJoiners(Vec<OpenJoiner>);

#[derive(Debug)]
struct OpenJoiner {
    from: IpAddr,
    /// Whether its first message has arrived.
    has_spoken: Arc<AtomicBool>,
    task: AbortHandle,
}

impl OpenJoiners {
    /// Makes room for a connection from an address; reports whether there is any.
    fn make_room(&mut self, from: IpAddr) -> bool {
        self.0.retain(|joiner| !joiner.task.is_finished());
        let n_of = |from: IpAddr| self.0.iter().filter(|joiner| joiner.from == from).count();
        let crowded = match (n_of(from) >= MAX_PER_ADDRESS, self.0.len() >= MAX_CONNECTIONS) {
            (true, _) => from,
            (false, false) => return true,
            // The address with the most gives way.
            (false, true) => {
                let addresses = self.0.iter().map(|joiner| joiner.from);
                addresses.max_by_key(|from| n_of(*from)).unwrap_or(from)
            }
        };
        let is_silent = |joiner: &OpenJoiner| !joiner.has_spoken.load(Ordering::Relaxed);
        let oldest = self.0.iter().position(|joiner| joiner.from == crowded && is_silent(joiner));
        let Some(oldest) = oldest else { return false };
        self.0.remove(oldest).task.abort();
        true
    }
}

impl Drop for JoinCodeHost {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn bind(listen: SocketAddr) -> Result<TcpListener, PeerError> {
    let failed = |source| PeerError::Listen { address: listen, source };
    match TcpListener::bind(listen).await {
        // Where there is no IPv6.
        Err(_) if listen.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) => {
            let v4 = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), listen.port());
            TcpListener::bind(v4).await.map_err(failed)
        }
        bound => bound.map_err(failed),
    }
}

/// Answers joiners until some time after the code has ended.
async fn serve_code(
    listener: TcpListener,
    offer: Arc<CodeOffer>,
    is_lan_only: bool,
    outcome: Arc<watch::Sender<Option<JoinCodeOutcome>>>,
    announcement: Option<LanCodeAnnouncement>,
) {
    let mut joiners = OpenJoiners::default();
    let is_over = || offer.outcome(Instant::now()).is_some();
    let ends = offer.ends();
    loop {
        report_outcome(&offer, &outcome);
        let expired = sleep_until(ends.into());
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, from)) = accepted else {
                    // Too many open files, for instance: not a reason to end.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                if is_lan_only && !is_local(from) || !joiners.make_room(from.ip()) {
                    continue;
                }
                let (offer, outcome) = (offer.clone(), outcome.clone());
                let has_spoken = Arc::new(AtomicBool::new(false));
                let spoken = has_spoken.clone();
                let task = tokio::spawn(async move {
                    timeout(EXCHANGE_WITHIN, answer_joiner(stream, &offer, &spoken)).await.ok();
                    report_outcome(&offer, &outcome);
                });
                let task = task.abort_handle();
                joiners.0.push(OpenJoiner { from: from.ip(), has_spoken, task });
            }
            () = expired, if !is_over() => {}
            () = sleep_until((ends + LINGER).into()) => break,
        }
    }
    drop(announcement);
}

/// Notes how the code ended, if it has.
fn report_outcome(offer: &CodeOffer, outcome: &watch::Sender<Option<JoinCodeOutcome>>) {
    let now = offer.outcome(Instant::now());
    outcome.send_if_modified(|known| std::mem::replace(known, now) != now);
}

/// Carries one exchange. Reads messages of fixed lengths only.
async fn answer_joiner(
    mut stream: TcpStream,
    offer: &CodeOffer,
    has_spoken: &AtomicBool,
) -> std::io::Result<()> {
    let mut hello = [0; CODE_HELLO_LEN];
    stream.read_exact(&mut hello).await?;
    has_spoken.store(true, Ordering::Relaxed);
    let (keys, answer) = match offer.begin(&hello, Instant::now()) {
        Ok(begun) => begun,
        Err(refusal) => return refuse(stream, refusal).await,
    };
    stream.write_all(&[&[0], &answer[..]].concat()).await?;
    let mut confirmation = [0; CONFIRMATION_LEN];
    stream.read_exact(&mut confirmation).await?;
    match offer.conclude(keys, &confirmation, Instant::now()) {
        Ok(sealed) => {
            let len = u16::try_from(sealed.len()).expect("a ticket has at most 2 KiB");
            stream.write_all(&[&[0], &len.to_be_bytes()[..], &sealed].concat()).await?;
            stream.shutdown().await
        }
        Err(refusal) => refuse(stream, refusal).await,
    }
}

async fn refuse(mut stream: TcpStream, refusal: CodeRefusal) -> std::io::Result<()> {
    stream.write_all(&[refusal.byte()]).await?;
    stream.shutdown().await
}
