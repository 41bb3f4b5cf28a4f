//! The side that has a join code: reaches the peer that offers it through a relay.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    join_code::{JoinCode, JoinCodeError},
    join_code_offer::{CodeRefusal, code_hello},
    pake::{PakeExchange, PakeSide},
    relay_code_message::{JoinerMessage, SharerMessage, TicketPart},
    relay_dialog::RelayDialog,
    relay_message::{RelayChallenge, RelayRefusal, RelayReply, RelayRequest},
    relay_name::RelayName,
};

/// When a message is repeated. The relay passes a few on each second.
const KNOCK_AGAIN: [u64; 8] = [500, 1000, 2000, 3000, 3000, 3000, 3000, 3000];

/// The exchange with a peer through one relay.
struct RelayedCall<'c> {
    code: &'c JoinCode,
    relay: String,
    dialog: RelayDialog,
    challenge: RelayChallenge,
}

/// What the relay replies to a knock.
enum KnockReply {
    Answered(SharerMessage),
    Refused(RelayRefusal),
}

/// Proves a code to the peer that offers it at a relay, and returns the text of its ticket. Counts
/// the confirmation that was sent, if any was.
pub(crate) async fn redeem_at_relay(
    code: &JoinCode,
    name: &RelayName,
    n_confirmed: &mut u32,
) -> Result<String, JoinCodeError> {
    let relay = format!("the relay {name}");
    let begun = RelayDialog::begin(name).await;
    let (dialog, challenge) =
        begun.map_err(|reason| JoinCodeError::Unreachable { at: relay.clone(), reason })?;
    let mut call = RelayedCall { code, relay, dialog, challenge };
    let exchange = PakeExchange::start(PakeSide::Joiner, code);
    let begin = JoinerMessage::Begin(code_hello(code.number(), exchange.message()));
    let answer = call.knock(&begin, |message| match message {
        SharerMessage::Begun(answer) => Some(answer),
        SharerMessage::Confirmed { .. } => None,
    });
    let answer = answer.await?.map_err(CodeRefusal::error_of)?;
    let keys = exchange.finish(&answer).ok_or(JoinCodeError::Fault("its answer is invalid"))?;
    *n_confirmed += 1;
    let confirmation = keys.confirmation();
    let mut sealed = Vec::new();
    let mut n_parts = 1;
    for part in 0.. {
        if part >= n_parts {
            break;
        }
        let received = call.part(&JoinerMessage::Confirm { confirmation, part }, part).await;
        // The confirmation was a guess of the other side: the code is not tried elsewhere.
        let received = received.map_err(|error| match error.may_be_elsewhere() {
            true => JoinCodeError::Fault("it does not answer any more"),
            false => error,
        })?;
        if part > 0 && received.n_parts != n_parts {
            return Err(JoinCodeError::Fault("the parts of its ticket do not fit"));
        }
        n_parts = received.n_parts;
        sealed.extend_from_slice(&received.bytes);
    }
    let opened = keys.open(sealed).and_then(|text| String::from_utf8(text).ok());
    // A peer that does not know the code claims to have accepted it.
    opened.ok_or(JoinCodeError::Wrong)
}

impl RelayedCall<'_> {
    /// Gets a part of the sealed ticket.
    async fn part(
        &mut self,
        confirm: &JoinerMessage,
        part: u8,
    ) -> Result<TicketPart, JoinCodeError> {
        let answer = self.knock(confirm, |message| match message {
            SharerMessage::Confirmed { part: of, answer } if of == part => Some(answer),
            _ => None,
        });
        answer.await?.map_err(CodeRefusal::error_of)
    }

    /// Sends a message until the peer gives an expected answer.
    async fn knock<R>(
        &mut self,
        message: &JoinerMessage,
        expect: impl Fn(SharerMessage) -> Option<R>,
    ) -> Result<R, JoinCodeError> {
        let (number, payload) = (self.code.number(), message.encode());
        let mut reason = "the peer does not answer there";
        for pause in KNOCK_AGAIN {
            let challenge = self.challenge;
            let knock = RelayRequest::Knock { challenge, number, payload: &payload };
            self.dialog.send(&knock).await;
            let until = Instant::now() + Duration::from_millis(pause);
            while let Some(reply) = self.dialog.receive_until(until, knock_reply).await {
                match reply {
                    KnockReply::Answered(message) => {
                        if let Some(answer) = expect(message) {
                            return Ok(answer);
                        }
                    }
                    KnockReply::Refused(RelayRefusal::NoCode) => {
                        let relay = self.relay.clone();
                        return Err(JoinCodeError::NotAtRelay { number, relay });
                    }
                    KnockReply::Refused(RelayRefusal::StaleChallenge) => {
                        let asked = self.dialog.ask_challenge().await;
                        self.challenge = asked.map_err(|reason| self.unreachable(reason))?;
                        break;
                    }
                    // The next one is sent after the pause.
                    KnockReply::Refused(refusal) => reason = refusal.reason(),
                }
            }
        }
        Err(self.unreachable(reason.to_owned()))
    }

    fn unreachable(&self, reason: String) -> JoinCodeError {
        JoinCodeError::Unreachable { at: self.relay.clone(), reason }
    }
}

fn knock_reply(reply: RelayReply<'_>) -> Option<KnockReply> {
    match reply {
        RelayReply::Answered { payload } => {
            Some(KnockReply::Answered(SharerMessage::decode(payload)?))
        }
        RelayReply::Refused(refusal) => Some(KnockReply::Refused(refusal)),
        _ => None,
    }
}
