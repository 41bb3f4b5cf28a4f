//! How two peers find a direct path: both send probes to the address at which a relay sees the
//! other, so that the NAT of each lets the other's datagrams in.
//!
//! A meeting only finds an address. The peer with the lesser key then connects to it by QUIC, which
//! checks the key at the other end.
//!
//! # Invariants
//!
//! - Probes have 9 bytes. For one message of a relay, at most [`PROBE_PAUSES`] and
//!   [`MAX_ANSWERS`] of them are sent, so that a relay that names the address of another machine
//!   does little harm.
//! - At most [`MAX_MEETINGS`] at once, and one for each peer.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use crate::{
    peer_key::PeerId,
    relay_message::{MeetingNumber, PathProbe},
    relay_paths::is_relayed,
};

/// The pauses before probes, in milliseconds.
pub(crate) const PROBE_PAUSES: [u64; 12] =
    [0, 20, 50, 100, 150, 200, 300, 400, 500, 700, 900, 1200];

/// The most answers in one meeting.
const MAX_ANSWERS: u32 = 16;

/// The most meetings at once.
const MAX_MEETINGS: usize = 16;

/// How long a meeting lasts.
pub(crate) const MEETING_LASTS: Duration = Duration::from_secs(10);

/// The meetings that go on.
#[derive(Debug, Default)]
pub(crate) struct RelayMeetings(HashMap<MeetingNumber, RelayMeeting>);

#[derive(Debug)]
struct RelayMeeting {
    peer: PeerId,
    n_answers: u32,
    is_reached: bool,
}

/// What to do after a probe.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProbeOutcome {
    /// The answer to send to the same address.
    pub(crate) answer: Option<Vec<u8>>,
    /// The peer that was reached at this address, the first time.
    pub(crate) reached: Option<PeerId>,
}

impl RelayMeetings {
    /// Begins a meeting. Returns false if there are too many, or one with this peer, or if no
    /// machine can have the address.
    pub(crate) fn begin(
        &mut self,
        meeting: MeetingNumber,
        peer: PeerId,
        address: SocketAddr,
    ) -> bool {
        let is_free = self.0.len() < MAX_MEETINGS
            && !self.0.contains_key(&meeting)
            && self.0.values().all(|known| known.peer != peer);
        if !is_free || !is_one_machine(address) {
            return false;
        }
        self.0.insert(meeting, RelayMeeting { peer, n_answers: 0, is_reached: false });
        true
    }

    /// Ends a meeting.
    pub(crate) fn end(&mut self, meeting: &MeetingNumber) {
        self.0.remove(meeting);
    }

    /// Reports whether probes are still needed.
    pub(crate) fn is_searching(&self, meeting: &MeetingNumber) -> bool {
        self.0.get(meeting).is_some_and(|known| !known.is_reached)
    }

    /// Processes a probe.
    pub(crate) fn receive(&mut self, probe: PathProbe) -> ProbeOutcome {
        let Some(known) = self.0.get_mut(&probe.meeting) else {
            return ProbeOutcome { answer: None, reached: None };
        };
        let is_first = !known.is_reached;
        known.is_reached = true;
        let is_answered = !probe.is_answer && known.n_answers < MAX_ANSWERS;
        known.n_answers += u32::from(is_answered);
        let answer = PathProbe { is_answer: true, ..probe };
        ProbeOutcome {
            answer: is_answered.then(|| answer.encode()),
            reached: is_first.then_some(known.peer),
        }
    }
}

/// Reports whether an address can be the one of another machine.
fn is_one_machine(address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !(ip.is_unspecified() || ip.is_multicast() || is_broadcast || is_relayed(address))
        && address.port() > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer_key::PeerSecretKey;

    fn peer(seed: u8) -> PeerId {
        PeerSecretKey::from_seed([seed; 32]).id()
    }

    fn address() -> SocketAddr {
        SocketAddr::from(([203, 0, 113, 9], 4711))
    }

    #[test]
    fn what_a_relay_causes_is_bounded() {
        let mut meetings = RelayMeetings::default();
        let n_begun = (0..200).filter(|n| meetings.begin([*n; 8], peer(*n), address())).count();
        assert_eq!(n_begun, MAX_MEETINGS);
        let mut meetings = RelayMeetings::default();
        let n_begun = (0..200).filter(|n| meetings.begin([*n; 8], peer(1), address())).count();
        assert_eq!(n_begun, 1);
        let answers = (0..1000).filter(|_| {
            let probe = PathProbe { meeting: [0; 8], is_answer: false };
            meetings.receive(probe).answer.is_some()
        });
        assert_eq!(answers.count(), MAX_ANSWERS as usize);
        for ip in [[0, 0, 0, 0], [224, 0, 0, 1], [255, 255, 255, 255], [240, 0, 0, 1]] {
            let mut meetings = RelayMeetings::default();
            assert!(!meetings.begin([1; 8], peer(1), SocketAddr::from((ip, 9))), "{ip:?}");
        }
    }

    #[test]
    fn a_peer_is_reached_once_and_answers_are_not_answered() {
        let mut meetings = RelayMeetings::default();
        let probe = PathProbe { meeting: [1; 8], is_answer: false };
        let nothing = ProbeOutcome { answer: None, reached: None };
        assert_eq!(meetings.receive(probe), nothing);
        assert!(meetings.begin([1; 8], peer(1), address()));
        assert!(meetings.is_searching(&[1; 8]));
        let outcome = meetings.receive(probe);
        assert!(outcome.answer.is_some());
        assert_eq!(outcome.reached, Some(peer(1)));
        assert!(!meetings.is_searching(&[1; 8]));
        let answer = PathProbe { is_answer: true, ..probe };
        assert_eq!(meetings.receive(answer), nothing);
        meetings.end(&[1; 8]);
        assert_eq!(meetings.receive(probe), nothing);
    }
}
