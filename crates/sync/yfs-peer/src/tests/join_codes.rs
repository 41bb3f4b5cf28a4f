//! Join codes over TCP on loopback: honest peers, and sharers and joiners that are not.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

use super::group::{TestPeer, request};
use crate::{
    JoinCode, JoinCodeError, JoinCodeHost, JoinCodeOptions, JoinCodeOutcome, JoinCodeSearch,
    PeerRights, PeerTicket,
    join_code_offer::{CODE_HELLO_LEN, code_hello},
    pake::{PakeExchange, PakeSide},
};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn run<T>(test: impl Future<Output = T>) -> T {
    Runtime::new().unwrap().block_on(test)
}

fn code() -> JoinCode {
    "7-amber-falcon".parse().unwrap()
}

fn ticket() -> PeerTicket {
    let owner = TestPeer::owner();
    let addresses = vec![SocketAddr::from(([192, 0, 2, 1], 4700))];
    owner.member.issue(request(PeerRights::Write), addresses).unwrap()
}

async fn offer(ticket: &PeerTicket, lifetime: Duration) -> JoinCodeHost {
    let options = JoinCodeOptions {
        listen: SocketAddr::new(LOOPBACK, 0),
        lifetime,
        is_lan_only: true,
        is_announced: false,
    };
    JoinCodeHost::start(code(), ticket, options).await.unwrap()
}

fn local_search() -> JoinCodeSearch {
    JoinCodeSearch {
        at: None,
        relays: Vec::new(),
        is_lan_searched: false,
        interface: LOOPBACK,
        is_lan_only: true,
    }
}

async fn redeem_at(code: &str, at: SocketAddr) -> Result<PeerTicket, JoinCodeError> {
    let search = JoinCodeSearch { at: Some(at.to_string()), ..local_search() };
    code.parse::<JoinCode>().unwrap().redeem(&search).await
}

async fn outcome(host: &JoinCodeHost) -> JoinCodeOutcome {
    host.outcome().wait_for(Option::is_some).await.unwrap().unwrap()
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_code_gives_the_ticket_with_the_address_that_answered() {
    run(async {
        let ticket = ticket();
        let host = offer(&ticket, HOUR).await;
        let at = host.addresses()[0];
        let received = redeem_at("7-amber-falcon", at).await.unwrap();
        assert_eq!(received.signed, ticket.signed);
        assert_eq!(received.addresses[0], SocketAddr::new(LOOPBACK, 4700));
        assert_eq!(received.addresses[1..], ticket.addresses);
        assert_eq!(outcome(&host).await, JoinCodeOutcome::Used);
        let again = redeem_at("7-amber-falcon", at).await.unwrap_err();
        assert!(matches!(again, JoinCodeError::Used), "{again}");
    });
}

#[test]
fn a_wrong_code_ends_the_code() {
    run(async {
        let host = offer(&ticket(), HOUR).await;
        let at = host.addresses()[0];
        let other = redeem_at("8-amber-falcon", at).await.unwrap_err();
        assert!(matches!(other, JoinCodeError::OtherNumber), "{other}");
        let wrong = redeem_at("7-amber-zebra", at).await.unwrap_err();
        assert!(matches!(wrong, JoinCodeError::Wrong), "{wrong}");
        assert_eq!(outcome(&host).await, JoinCodeOutcome::WrongWords);
        let spent = redeem_at("7-amber-falcon", at).await.unwrap_err();
        assert!(matches!(spent, JoinCodeError::Spent), "{spent}");
    });
}

#[test]
fn a_code_expires() {
    run(async {
        let host = offer(&ticket(), Duration::ZERO).await;
        assert_eq!(outcome(&host).await, JoinCodeOutcome::Expired);
        let late = redeem_at("7-amber-falcon", host.addresses()[0]).await.unwrap_err();
        assert!(matches!(late, JoinCodeError::Expired), "{late}");
    });
}

#[test]
fn an_address_without_a_peer_is_named() {
    run(async {
        let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
        let at = listener.local_addr().unwrap();
        drop(listener);
        let absent = redeem_at("7-amber-falcon", at).await.unwrap_err().to_string();
        assert!(absent.contains(&format!("cannot reach {at}")), "{absent}");
        let search = JoinCodeSearch { at: Some("192.0.2.1:1".to_owned()), ..local_search() };
        let foreign = code().redeem(&search).await.unwrap_err().to_string();
        assert!(foreign.contains("no address that may be used"), "{foreign}");
    });
}

/// Joiners that connect and send nothing, or half a message, take up a bounded number of places,
/// and those that send noise none.
#[test]
fn stalling_joiners_do_not_end_the_code() {
    run(async {
        let host = offer(&ticket(), HOUR).await;
        let at = host.addresses()[0];
        for _ in 0..20 {
            let mut stream = TcpStream::connect(at).await.unwrap();
            stream.write_all(&[0xff; CODE_HELLO_LEN]).await.unwrap();
            assert_eq!(stream.read_u8().await.unwrap(), 6);
        }
        let mut stalled = Vec::new();
        for _ in 0..7 {
            let mut stream = TcpStream::connect(at).await.unwrap();
            stream.write_all(b"yfscode2").await.unwrap();
            stalled.push(stream);
        }
        redeem_at("7-amber-falcon", at).await.unwrap();
    });
}

/// A sharer that does not know the words and claims to accept them gives no ticket.
#[test]
fn a_false_sharer_gives_no_ticket() {
    run(async {
        let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
        let at = listener.local_addr().unwrap();
        let text = ticket().to_string();
        let sharer = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut hello = [0; CODE_HELLO_LEN];
            stream.read_exact(&mut hello).await.unwrap();
            let guess = PakeExchange::start(PakeSide::Sharer, &"7-amber-zebra".parse().unwrap());
            let answer = guess.message();
            let keys = guess.finish(hello[10..].try_into().unwrap()).unwrap();
            stream.write_all(&[&[0], &answer[..]].concat()).await.unwrap();
            let mut confirmation = [0; 32];
            stream.read_exact(&mut confirmation).await.unwrap();
            let is_right = keys.are_confirmed_by(&confirmation);
            let sealed = keys.seal(text.into_bytes());
            let len = u16::try_from(sealed.len()).unwrap();
            stream.write_all(&[&[0], &len.to_be_bytes()[..], &sealed].concat()).await.unwrap();
            is_right
        });
        let refused = redeem_at("7-amber-falcon", at).await.unwrap_err();
        assert!(matches!(refused, JoinCodeError::Wrong), "{refused}");
        assert!(!sharer.await.unwrap(), "its guess was wrong");
    });
}

/// All that a sharer may send is bounded: a long ticket is refused before it is read.
#[test]
fn a_sharer_that_announces_a_long_ticket_is_refused() {
    run(async {
        let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut hello = [0; CODE_HELLO_LEN];
            stream.read_exact(&mut hello).await.unwrap();
            let answer = PakeExchange::start(PakeSide::Sharer, &code()).message();
            stream.write_all(&[&[0], &answer[..], &[0, 0xff, 0xff]].concat()).await.unwrap();
            stream.read_exact(&mut [0; 32]).await.unwrap();
            std::future::pending::<()>().await;
        });
        let refused = redeem_at("7-amber-falcon", at).await.unwrap_err().to_string();
        assert!(refused.contains("too long"), "{refused}");
    });
}

/// What an eavesdropper of a whole exchange has does not let it test a guess: neither the ticket
/// nor the words are in the bytes, and the bytes of the same exchange differ each time.
#[test]
fn the_wire_carries_neither_words_nor_ticket() {
    let hello = |code: &JoinCode| {
        let exchange = PakeExchange::start(PakeSide::Joiner, code);
        code_hello(code.number(), exchange.message())
    };
    let (one, other) = (hello(&code()), hello(&code()));
    assert_eq!(one[..10], other[..10]);
    assert_ne!(one[10..], other[10..]);
    for word in ["amber", "falcon"] {
        assert!(!one.windows(word.len()).any(|part| part == word.as_bytes()));
    }
}

/// Silent connections had all slots for ten seconds each, and the joiner was not answered.
#[test]
fn silent_connections_do_not_keep_the_joiner_out() {
    run(async {
        let ticket = ticket();
        let host = offer(&ticket, HOUR).await;
        let at = host.addresses()[0];
        let mut silent = Vec::new();
        for _ in 0..300 {
            silent.push(TcpStream::connect(at).await.unwrap());
        }
        redeem_at("7-amber-falcon", at).await.unwrap();
        assert_eq!(outcome(&host).await, JoinCodeOutcome::Used);
        drop(silent);
    });
}
