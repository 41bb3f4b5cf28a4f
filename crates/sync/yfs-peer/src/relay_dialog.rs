//! Requests to a relay over a socket of their own, one after the other: those of join codes, which
//! are made beside the process that connects a workspace, or before there is one.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use tokio::{
    net::UdpSocket,
    time::{Instant, timeout_at},
};

use crate::{
    relay_client::{REPLY_WITHIN, random_session},
    relay_message::{MAX_DATAGRAM_LEN, RelayChallenge, RelayReply, RelayRequest, RelaySession},
    relay_name::RelayName,
};

/// The most addresses of a relay that are tried.
const MAX_TRIED: usize = 4;

/// A socket that exchanges datagrams with one relay.
#[derive(Debug)]
pub(crate) struct RelayDialog {
    socket: UdpSocket,
    pub(crate) session: RelaySession,
    buffer: [u8; MAX_DATAGRAM_LEN + 1],
}

impl RelayDialog {
    /// Reaches a relay at one of its addresses, and gets a challenge.
    pub(crate) async fn begin(name: &RelayName) -> Result<(Self, RelayChallenge), String> {
        let found = name.resolve().await?;
        let mut reason = "its name has no address".to_owned();
        for address in found.take(MAX_TRIED) {
            match Self::begin_at(address).await {
                Ok(begun) => return Ok(begun),
                Err(failure) => reason = failure,
            }
        }
        Err(reason)
    }

    async fn begin_at(address: SocketAddr) -> Result<(Self, RelayChallenge), String> {
        let local: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let reason = |error: std::io::Error| error.to_string();
        let socket = UdpSocket::bind(local).await.map_err(reason)?;
        // Datagrams of others are not received.
        socket.connect(address).await.map_err(reason)?;
        let buffer = [0; MAX_DATAGRAM_LEN + 1];
        let mut dialog = Self { socket, session: random_session(), buffer };
        let challenge = dialog.ask_challenge().await?;
        Ok((dialog, challenge))
    }

    /// Gets a challenge.
    pub(crate) async fn ask_challenge(&mut self) -> Result<RelayChallenge, String> {
        self.ask(&RelayRequest::Hello, |reply| match reply {
            RelayReply::Challenge(challenge) => Some(challenge),
            _ => None,
        })
        .await
    }

    /// Sends a request until the relay gives an expected reply.
    pub(crate) async fn ask<R>(
        &mut self,
        request: &RelayRequest<'_>,
        expect: impl Fn(RelayReply<'_>) -> Option<R>,
    ) -> Result<R, String> {
        for within in REPLY_WITHIN {
            self.send(request).await;
            let until = Instant::now() + within;
            if let Some(expected) = self.receive_until(until, &expect).await {
                return Ok(expected);
            }
        }
        Err("it does not reply".to_owned())
    }

    /// Sends a request. A failure is like a datagram that is lost on its way.
    pub(crate) async fn send(&self, request: &RelayRequest<'_>) {
        self.socket.send(&request.encode(&self.session)).await.ok();
    }

    /// Sends a request at once, or not at all.
    pub(crate) fn send_now(&self, request: &RelayRequest<'_>) {
        self.socket.try_send(&request.encode(&self.session)).ok();
    }

    /// Receives until there is an expected reply, or a time is over.
    pub(crate) async fn receive_until<R>(
        &mut self,
        until: Instant,
        expect: impl Fn(RelayReply<'_>) -> Option<R>,
    ) -> Option<R> {
        timeout_at(until, self.receive(expect)).await.ok()
    }

    /// Receives until there is an expected reply.
    pub(crate) async fn receive<R>(&mut self, expect: impl Fn(RelayReply<'_>) -> Option<R>) -> R {
        loop {
            let Ok(len) = self.socket.recv(&mut self.buffer).await else {
                // The relay is not there at the moment, for instance.
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            let decoded = RelayReply::decode(&self.buffer[..len]);
            let of_session = decoded.filter(|(session, _)| *session == self.session);
            if let Some(expected) = of_session.and_then(|(_, reply)| expect(reply)) {
                return expected;
            }
        }
    }
}
