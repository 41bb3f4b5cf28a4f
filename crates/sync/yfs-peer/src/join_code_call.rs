//! The side that has a join code: finds the peer that offers it, proves the code, and gets the
//! ticket. It is called at an address, or searched at relays and then in the local network.
//!
//! # Invariants
//!
//! - One call confirms the code to at most [`MAX_CONFIRMED`] peers. A false sharer that announces
//!   the same number has one guess with each of them. A code that was confirmed at a relay is tried
//!   at no other place.
//! - All that is received has a fixed length, or one of at most 4 KiB.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, lookup_host},
    time::{Instant, timeout, timeout_at},
};

use crate::{
    join_code::{JoinCode, JoinCodeError, RELAY_NUMBERS},
    join_code_host::EXCHANGE_WITHIN,
    join_code_offer::{CodeRefusal, MAX_SEALED_LEN, code_hello},
    lan_code::LanCodeSearch,
    pake::{PAKE_LEN, PakeExchange, PakeSide},
    quic::is_local,
    relay_code_call::redeem_at_relay,
    relay_name::{MAX_RELAYS, RelayName},
    ticket::{MAX_ADDRESSES, PeerTicket},
};

/// How long the local network is searched.
const SEARCH_WITHIN: Duration = Duration::from_secs(20);

/// How long the search goes on after a peer with the number of the code has refused: there may be
/// another.
const SEARCH_ON: Duration = Duration::from_secs(2);

/// The time for a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// The most peers to which one call confirms the code.
const MAX_CONFIRMED: u32 = 3;

/// The most addresses that one call tries.
const MAX_TRIED: usize = 32;

/// Where the peer that offers a code is.
#[derive(Debug, Clone)]
pub struct JoinCodeSearch {
    /// Its address, as `HOST:PORT`; `None` if it is to be searched.
    pub at: Option<String>,
    /// The relays at which it may offer the code. At most four are asked, and none for a code that
    /// no relay offers.
    pub relays: Vec<RelayName>,
    /// Whether the local network is searched, if no relay has the code.
    pub is_lan_searched: bool,
    /// The address of the network interface that is searched; an unspecified one stands for all.
    pub interface: IpAddr,
    /// Whether only addresses of this machine and its local network may be called.
    pub is_lan_only: bool,
}

/// A search in progress.
struct CodeCall<'c> {
    code: &'c JoinCode,
    n_confirmed: u32,
}

impl JoinCode {
    /// Proves the code to the peer that offers it, and returns its ticket. The address at which
    /// the peer answered becomes the first address of the ticket.
    ///
    /// # Errors
    ///
    /// [`JoinCodeError`] if there is no such peer, or the code is wrong, used or expired. A wrong
    /// code is of no use afterwards.
    pub async fn redeem(&self, search: &JoinCodeSearch) -> Result<PeerTicket, JoinCodeError> {
        let mut call = CodeCall { code: self, n_confirmed: 0 };
        if let Some(at) = &search.at {
            return call.redeem_at(at, search.is_lan_only).await;
        }
        let failure = match call.redeem_at_relays(search).await {
            Some(Err(failure)) if failure.may_be_elsewhere() => Some(failure),
            Some(redeemed) => return redeemed,
            None => None,
        };
        if !search.is_lan_searched {
            return Err(failure.unwrap_or(JoinCodeError::NotFound { number: self.number() }));
        }
        match (call.redeem_in_lan(search).await, failure) {
            // The relay's reason says more than that the local network has no such peer.
            (Err(JoinCodeError::NotFound { .. }), Some(failure)) => Err(failure),
            (redeemed, _) => redeemed,
        }
    }
}

impl CodeCall<'_> {
    /// Asks the relays, one after the other; `None` if there are none that could have the code.
    async fn redeem_at_relays(
        &mut self,
        search: &JoinCodeSearch,
    ) -> Option<Result<PeerTicket, JoinCodeError>> {
        let is_of_relays = RELAY_NUMBERS.contains(&self.code.number());
        let relays = search.relays.iter().take(MAX_RELAYS);
        let mut last = None;
        for name in relays.filter(|_| is_of_relays && !search.is_lan_only) {
            let redeemed = redeem_at_relay(self.code, name, &mut self.n_confirmed).await;
            let redeemed = redeemed.and_then(|text| read_ticket(&text));
            let goes_on = redeemed.as_ref().is_err_and(JoinCodeError::may_be_elsewhere);
            last = Some(redeemed);
            if !goes_on {
                break;
            }
        }
        last
    }

    /// Tries the addresses of a host.
    async fn redeem_at(
        &mut self,
        at: &str,
        is_lan_only: bool,
    ) -> Result<PeerTicket, JoinCodeError> {
        let unreachable = |reason: String| JoinCodeError::Unreachable { at: at.to_owned(), reason };
        let found = timeout(CONNECT_WITHIN, lookup_host(at)).await;
        let found = found.map_err(|_| unreachable("its name was not resolved".to_owned()))?;
        let found = found.map_err(|error| unreachable(error.to_string()))?;
        let usable = found.filter(|address| !is_lan_only || is_local(*address)).take(MAX_ADDRESSES);
        let mut last = unreachable("it has no address that may be used".to_owned());
        for address in usable {
            match self.redeem_from(address).await {
                Err(JoinCodeError::Unreachable { reason, .. }) => last = unreachable(reason),
                ended => return ended,
            }
        }
        Err(last)
    }

    /// Tries the peers that announce the number of the code.
    async fn redeem_in_lan(
        &mut self,
        search: &JoinCodeSearch,
    ) -> Result<PeerTicket, JoinCodeError> {
        let number = self.code.number();
        let mut announced = LanCodeSearch::start(number, search.interface)
            .map_err(|error| JoinCodeError::Lan(error.to_string()))?;
        let mut until = Instant::now() + SEARCH_WITHIN;
        let mut last = JoinCodeError::NotFound { number };
        let mut tried: Vec<SocketAddr> = Vec::new();
        while let Ok(Some(addresses)) = timeout_at(until, announced.next()).await {
            for address in addresses {
                let is_usable = !search.is_lan_only || is_local(address);
                if !is_usable || tried.contains(&address) || tried.len() >= MAX_TRIED {
                    continue;
                }
                tried.push(address);
                match self.redeem_from(address).await {
                    Ok(ticket) => return Ok(ticket),
                    // The announcement is old, or of another network.
                    Err(JoinCodeError::Unreachable { .. }) => continue,
                    Err(error) => {
                        last = error;
                        until = until.min(Instant::now() + SEARCH_ON);
                        // The other addresses are of the same peer.
                        break;
                    }
                }
            }
            if self.n_confirmed >= MAX_CONFIRMED {
                break;
            }
        }
        Err(last)
    }

    /// Tries one address.
    async fn redeem_from(&mut self, address: SocketAddr) -> Result<PeerTicket, JoinCodeError> {
        let unreachable =
            |reason: String| JoinCodeError::Unreachable { at: address.to_string(), reason };
        let connected = timeout(CONNECT_WITHIN, TcpStream::connect(address)).await;
        let connected = connected.map_err(|_| unreachable("it does not answer".to_owned()))?;
        let mut stream = connected.map_err(|error| unreachable(error.to_string()))?;
        let exchanged = timeout(EXCHANGE_WITHIN, self.exchange(&mut stream)).await;
        let text = exchanged.map_err(|_| JoinCodeError::Fault("it does not answer in time"))??;
        let mut ticket = read_ticket(&text)?;
        // This address is certainly one at which the peer can be reached.
        if let Some(port) = ticket.addresses.first().map(SocketAddr::port) {
            let here = SocketAddr::new(address.ip(), port);
            ticket.addresses.retain(|known| *known != here);
            ticket.addresses.insert(0, here);
            ticket.addresses.truncate(MAX_ADDRESSES);
        }
        Ok(ticket)
    }

    /// Carries one exchange, and returns the text of the ticket.
    async fn exchange(&mut self, stream: &mut TcpStream) -> Result<String, JoinCodeError> {
        let cut = |_| JoinCodeError::Fault("it closed the connection");
        let exchange = PakeExchange::start(PakeSide::Joiner, self.code);
        let hello = code_hello(self.code.number(), exchange.message());
        stream.write_all(&hello).await.map_err(cut)?;
        read_status(stream).await?;
        let mut answer = [0; PAKE_LEN];
        stream.read_exact(&mut answer).await.map_err(cut)?;
        let keys = exchange.finish(&answer).ok_or(JoinCodeError::Fault("its answer is invalid"))?;
        self.n_confirmed += 1;
        stream.write_all(&keys.confirmation()).await.map_err(cut)?;
        read_status(stream).await?;
        let len = usize::from(stream.read_u16().await.map_err(cut)?);
        if len > MAX_SEALED_LEN {
            return Err(JoinCodeError::Fault("its ticket is too long"));
        }
        let mut sealed = vec![0; len];
        stream.read_exact(&mut sealed).await.map_err(cut)?;
        let opened = keys.open(sealed).and_then(|text| String::from_utf8(text).ok());
        // A peer that does not know the code claims to have accepted it.
        opened.ok_or(JoinCodeError::Wrong)
    }
}

fn read_ticket(text: &str) -> Result<PeerTicket, JoinCodeError> {
    text.parse().map_err(|_| JoinCodeError::Fault("it sent no ticket"))
}

/// Reads the byte that says whether the exchange goes on.
async fn read_status(stream: &mut TcpStream) -> Result<(), JoinCodeError> {
    let read = stream.read_u8().await;
    match read.map_err(|_| JoinCodeError::Fault("it closed the connection"))? {
        0 => Ok(()),
        byte => Err(CodeRefusal::error_of(byte)),
    }
}
