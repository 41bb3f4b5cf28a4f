//! The side that offers a join code at relays: reserves its number, and answers the joiners that
//! the relays bring.
//!
//! Each relay has a socket and a task of its own, so that a code can be offered beside the process
//! that connects the workspace. The tasks end with the host of the code.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::join_all;
use tokio::time::{sleep, sleep_until};
use yfs_replica::client::jittered;

use crate::{
    join_code::JoinCode,
    join_code_offer::CodeOffer,
    membership::PeerMembership,
    peer_error::PeerError,
    relay_client::{MAX_UNANSWERED, PING_AGAIN, PING_EVERY},
    relay_code_visits::CodeVisits,
    relay_dialog::RelayDialog,
    relay_message::{RelayRefusal, RelayReply, RelayRequest, RelayVisit},
    relay_name::{MAX_RELAYS, RelayGroupTag, RelayName},
};

/// The most numbers that are tried.
const MAX_NUMBERS: usize = 8;

/// The pause before the next attempt to offer: first, and at most.
const OFFER_AGAIN: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(8)];

/// A join code whose number is reserved at relays, if there are any.
#[derive(Debug)]
pub struct ReservedJoinCode {
    pub(crate) code: JoinCode,
    relays: Vec<CodeRelay>,
    failures: Vec<(RelayName, String)>,
}

/// The offer of one code at one relay.
#[derive(Debug)]
pub(crate) struct CodeRelay {
    member: Arc<PeerMembership>,
    group: RelayGroupTag,
    name: RelayName,
    number: u16,
    dialog: Option<RelayDialog>,
}

/// Why a code is not offered at a relay.
enum CodeRelayFailure {
    /// Its number is that of another peer's code.
    Taken,
    Other(String),
}

impl ReservedJoinCode {
    /// Makes a random code, and reserves its number at relays. A relay that does not reply is asked
    /// again while the code is offered.
    ///
    /// # Errors
    ///
    /// If the store cannot be read, or the workspace is not shared.
    pub async fn reserve(
        member: &Arc<PeerMembership>,
        relays: &[RelayName],
    ) -> Result<Self, PeerError> {
        if relays.is_empty() {
            let code = JoinCode::generate();
            return Ok(Self { code, relays: Vec::new(), failures: Vec::new() });
        }
        let group = RelayGroupTag::of_member(member)?.ok_or(PeerError::NotShared)?;
        for attempt in 1.. {
            let code = JoinCode::generate_for_relays();
            let offers = relays.iter().take(MAX_RELAYS).map(|name| CodeRelay {
                member: member.clone(),
                group,
                name: name.clone(),
                number: code.number(),
                dialog: None,
            });
            let mut relays: Vec<CodeRelay> = offers.collect();
            let offered = join_all(relays.iter_mut().map(CodeRelay::offer)).await;
            let is_taken = |offered: &Result<_, _>| matches!(offered, Err(CodeRelayFailure::Taken));
            if attempt < MAX_NUMBERS && offered.iter().any(is_taken) {
                continue;
            }
            let failed = relays.iter().zip(offered);
            let failed = failed
                .filter_map(|(relay, offered)| Some((relay.name.clone(), offered.err()?.reason())));
            let failures = failed.collect();
            return Ok(Self { code, relays, failures });
        }
        unreachable!("the last attempt returns")
    }

    /// Returns the code.
    pub fn code(&self) -> &JoinCode {
        &self.code
    }

    /// Returns the relays at which the code is not offered yet, each with the reason.
    pub fn failures(&self) -> &[(RelayName, String)] {
        &self.failures
    }

    /// Returns the offers of the relays.
    pub(crate) fn into_relays(self) -> Vec<CodeRelay> {
        self.relays
    }
}

impl From<JoinCode> for ReservedJoinCode {
    /// Makes a code that no relay offers.
    fn from(code: JoinCode) -> Self {
        Self { code, relays: Vec::new(), failures: Vec::new() }
    }
}

impl CodeRelayFailure {
    fn reason(self) -> String {
        match self {
            Self::Taken => RelayRefusal::Taken.reason().to_owned(),
            Self::Other(reason) => reason,
        }
    }
}

impl CodeRelay {
    /// Offers the code at the relay.
    async fn offer(&mut self) -> Result<(), CodeRelayFailure> {
        self.dialog = None;
        let begun = RelayDialog::begin(&self.name).await;
        let (mut dialog, challenge) = begun.map_err(CodeRelayFailure::Other)?;
        let offered = (self.number, self.group.0);
        let request = RelayRequest::offer(self.member.key(), &dialog.session, challenge, offered);
        let answer = dialog.ask(&request, |reply| match reply {
            RelayReply::Registered { .. } => Some(None),
            RelayReply::Refused(refusal) => Some(Some(refusal)),
            _ => None,
        });
        match answer.await.map_err(CodeRelayFailure::Other)? {
            None => {
                self.dialog = Some(dialog);
                Ok(())
            }
            Some(RelayRefusal::Taken) => Err(CodeRelayFailure::Taken),
            Some(refusal) => {
                Err(CodeRelayFailure::Other(format!("it refuses: {}", refusal.reason())))
            }
        }
    }

    /// Answers joiners, and offers the code again if the relay has lost it, until a time.
    pub(crate) async fn serve(mut self, offer: Arc<CodeOffer>, until: Instant, report: impl Fn()) {
        let mut visits = CodeVisits::default();
        let mut pause = OFFER_AGAIN[0];
        let serving = async {
            loop {
                if let Some(dialog) = &mut self.dialog {
                    pause = OFFER_AGAIN[0];
                    answer_visits(dialog, &offer, &mut visits, &report).await;
                    self.dialog = None;
                }
                sleep(jittered(pause)).await;
                pause = (pause * 2).min(OFFER_AGAIN[1]);
                self.offer().await.ok();
            }
        };
        tokio::select! {
            () = serving => {}
            () = sleep_until(until.into()) => {}
        }
    }
}

impl Drop for CodeRelay {
    /// Frees the number, so that the relay does not wait until the silence is long enough.
    fn drop(&mut self) {
        if let Some(dialog) = &self.dialog {
            dialog.send_now(&RelayRequest::Leave);
        }
    }
}

/// What the relay sends to a sharer.
enum SharerEvent {
    Visit(RelayVisit, Vec<u8>),
    Alive,
    Lost,
}

/// Answers joiners until the relay does not know the offer any more, or does not reply.
async fn answer_visits(
    dialog: &mut RelayDialog,
    offer: &CodeOffer,
    visits: &mut CodeVisits,
    report: &impl Fn(),
) {
    let now = tokio::time::Instant::now;
    let (mut n_unanswered, mut due) = (0, now() + PING_EVERY);
    loop {
        let event = dialog.receive_until(due, |reply| match reply {
            RelayReply::Visit { visit, payload } => {
                Some(SharerEvent::Visit(visit, payload.to_vec()))
            }
            RelayReply::Registered { .. } => Some(SharerEvent::Alive),
            RelayReply::Unknown => Some(SharerEvent::Lost),
            _ => None,
        });
        match event.await {
            Some(SharerEvent::Visit(visit, message)) => {
                let answer = visits.answer(offer, visit.session, &message, Instant::now());
                report();
                if let Some(payload) = answer {
                    dialog.send(&RelayRequest::Answer { visit, payload: &payload }).await;
                }
            }
            Some(SharerEvent::Alive) => (n_unanswered, due) = (0, now() + PING_EVERY),
            Some(SharerEvent::Lost) => return,
            None if n_unanswered >= MAX_UNANSWERED => return,
            None => {
                n_unanswered += 1;
                due = now() + PING_AGAIN;
                dialog.send(&RelayRequest::Ping).await;
            }
        }
    }
}
