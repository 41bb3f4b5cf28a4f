//! The joiners that reach the sharer of a code through a relay. Does no I/O, reads no clock.
//!
//! # Invariants
//!
//! - At most [`MAX_VISITS`] exchanges are remembered, the latest ones. One that is forgotten was no
//!   guess, unless it has ended the code.
//! - A message that is repeated is answered as before: one exchange is one guess, also if the relay
//!   repeats or changes messages.

use std::{collections::VecDeque, time::Instant};

use crate::{
    join_code_offer::{CODE_HELLO_LEN, CodeOffer, CodeRefusal},
    pake::{CONFIRMATION_LEN, PAKE_LEN, PakeKeys},
    relay_code_message::{JoinerMessage, PART_LEN, SharerMessage, TicketPart},
    relay_message::RelaySession,
};

/// The most exchanges at once.
const MAX_VISITS: usize = 32;

/// The exchanges of one code at one relay.
#[derive(Default)]
pub(crate) struct CodeVisits(VecDeque<CodeVisit>);

/// The exchange with one joiner.
struct CodeVisit {
    joiner: RelaySession,
    hello: [u8; CODE_HELLO_LEN],
    answer: [u8; PAKE_LEN],
    state: VisitState,
}

enum VisitState {
    /// The joiner has not confirmed yet.
    Begun(PakeKeys),
    /// How its confirmation was answered: with the sealed ticket, or not.
    Ended(Result<Vec<u8>, CodeRefusal>),
}

impl CodeVisits {
    /// Answers a message of a joiner. Returns nothing for one that is not to be answered.
    pub(crate) fn answer(
        &mut self,
        offer: &CodeOffer,
        joiner: RelaySession,
        message: &[u8],
        now: Instant,
    ) -> Option<Vec<u8>> {
        let answer = match JoinerMessage::decode(message)? {
            JoinerMessage::Begin(hello) => {
                let begun = self.begin(offer, joiner, hello, now);
                SharerMessage::Begun(begun.map_err(CodeRefusal::byte))
            }
            JoinerMessage::Confirm { confirmation, part } => {
                let sealed = self.confirm(offer, joiner, &confirmation, now);
                let answer = sealed.and_then(|sealed| ticket_part(&sealed, part));
                SharerMessage::Confirmed { part, answer: answer.map_err(CodeRefusal::byte) }
            }
        };
        Some(answer.encode())
    }

    fn begin(
        &mut self,
        offer: &CodeOffer,
        joiner: RelaySession,
        hello: [u8; CODE_HELLO_LEN],
        now: Instant,
    ) -> Result<[u8; PAKE_LEN], CodeRefusal> {
        if let Some(known) = self.0.iter().find(|visit| visit.joiner == joiner) {
            return if known.hello == hello {
                Ok(known.answer)
            } else {
                Err(CodeRefusal::BadMessage)
            };
        }
        let (keys, answer) = offer.begin(&hello, now)?;
        if self.0.len() >= MAX_VISITS {
            self.0.pop_front();
        }
        self.0.push_back(CodeVisit { joiner, hello, answer, state: VisitState::Begun(keys) });
        Ok(answer)
    }

    /// Returns the sealed ticket, if the confirmation is right.
    fn confirm(
        &mut self,
        offer: &CodeOffer,
        joiner: RelaySession,
        confirmation: &[u8; CONFIRMATION_LEN],
        now: Instant,
    ) -> Result<Vec<u8>, CodeRefusal> {
        let at = self.0.iter().position(|visit| visit.joiner == joiner);
        let mut visit = at.and_then(|at| self.0.remove(at)).ok_or(CodeRefusal::BadMessage)?;
        let ended = match visit.state {
            VisitState::Begun(keys) => offer.conclude(keys, confirmation, now),
            VisitState::Ended(ended) => ended,
        };
        visit.state = VisitState::Ended(ended.clone());
        // An exchange that goes on is forgotten last.
        self.0.push_back(visit);
        ended
    }
}

/// Returns a part of a sealed ticket.
fn ticket_part(sealed: &[u8], part: u8) -> Result<TicketPart, CodeRefusal> {
    let bytes = sealed.chunks(PART_LEN).nth(usize::from(part)).ok_or(CodeRefusal::BadMessage)?;
    let n_parts = u8::try_from(sealed.len().div_ceil(PART_LEN)).expect("a ticket has 2 KiB");
    Ok(TicketPart { n_parts, bytes: bytes.to_vec() })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        join_code::JoinCode,
        join_code_offer::{JoinCodeOutcome, code_hello},
        pake::{PakeExchange, PakeSide},
    };

    const CODE: &str = "4711-amber-falcon";
    const TICKET_LEN: usize = 1500;

    struct TestSharer {
        offer: CodeOffer,
        visits: CodeVisits,
        now: Instant,
    }

    fn sharer() -> TestSharer {
        let now = Instant::now();
        let offer = CodeOffer::new(
            CODE.parse().unwrap(),
            "t".repeat(TICKET_LEN),
            now + Duration::from_secs(9),
        );
        TestSharer { offer, visits: CodeVisits::default(), now }
    }

    fn hello(exchange: &PakeExchange) -> Vec<u8> {
        JoinerMessage::Begin(code_hello(4711, exchange.message())).encode()
    }

    fn exchange(code: &str) -> PakeExchange {
        PakeExchange::start(PakeSide::Joiner, &code.parse::<JoinCode>().unwrap())
    }

    impl TestSharer {
        fn answer(&mut self, joiner: u8, message: &[u8]) -> SharerMessage {
            let answer = self.visits.answer(&self.offer, [joiner; 8], message, self.now);
            SharerMessage::decode(&answer.expect("an answer")).expect("it can be decoded")
        }

        /// Begins an exchange with a code, and returns the keys of the joiner.
        fn begin(&mut self, joiner: u8, code: &str) -> PakeKeys {
            let exchange = exchange(code);
            match self.answer(joiner, &hello(&exchange)) {
                SharerMessage::Begun(Ok(answer)) => exchange.finish(&answer).unwrap(),
                other => panic!("{other:?}"),
            }
        }

        fn part(&mut self, joiner: u8, keys: &PakeKeys, part: u8) -> Result<TicketPart, u8> {
            let confirmation = keys.confirmation();
            let message = JoinerMessage::Confirm { confirmation, part }.encode();
            match self.answer(joiner, &message) {
                SharerMessage::Confirmed { part: of, answer } if of == part => answer,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_ticket_comes_in_parts_as_often_as_they_are_asked_for() {
        let mut sharer = sharer();
        let keys = sharer.begin(1, CODE);
        let first = sharer.part(1, &keys, 0).unwrap();
        assert_eq!((first.n_parts, first.bytes.len()), (2, PART_LEN));
        let second = sharer.part(1, &keys, 1).unwrap();
        assert_eq!(sharer.part(1, &keys, 0), Ok(first.clone()));
        assert_eq!(sharer.part(1, &keys, 2), Err(CodeRefusal::BadMessage.byte()));
        let opened = keys.open([first.bytes, second.bytes].concat()).unwrap();
        assert_eq!(opened, "t".repeat(TICKET_LEN).into_bytes());
        // Another joiner with the code comes too late.
        let late = hello(&exchange(CODE));
        let used = SharerMessage::Begun(Err(CodeRefusal::Used.byte()));
        assert_eq!(sharer.answer(2, &late), used);
    }

    /// A relay that repeats or changes a message does not turn one guess into several, and does not
    /// cost the code.
    #[test]
    fn repeated_messages_are_answered_as_before() {
        let mut sharer = sharer();
        let exchange = exchange(CODE);
        let begin = hello(&exchange);
        let SharerMessage::Begun(Ok(answer)) = sharer.answer(1, &begin) else { panic!("begun") };
        assert_eq!(sharer.answer(1, &begin), SharerMessage::Begun(Ok(answer)));
        let other = hello(&self::exchange(CODE));
        let refused = SharerMessage::Begun(Err(CodeRefusal::BadMessage.byte()));
        assert_eq!(sharer.answer(1, &other), refused);
        let keys = exchange.finish(&answer).unwrap();
        let first = sharer.part(1, &keys, 0).unwrap();
        // A wrong confirmation after the right one is none.
        let wrong = JoinerMessage::Confirm { confirmation: [0; CONFIRMATION_LEN], part: 0 };
        let repeated = SharerMessage::Confirmed { part: 0, answer: Ok(first) };
        assert_eq!(sharer.answer(1, &wrong.encode()), repeated);
        assert_eq!(sharer.offer.outcome(sharer.now), Some(JoinCodeOutcome::Used));
    }

    #[test]
    fn the_first_wrong_confirmation_ends_the_code() {
        let mut sharer = sharer();
        let honest = sharer.begin(1, CODE);
        let guess = sharer.begin(2, "4711-amber-zebra");
        let again = sharer.begin(3, "4711-falcon-zebra");
        assert_eq!(sharer.part(2, &guess, 0), Err(CodeRefusal::Wrong.byte()));
        assert_eq!(sharer.part(2, &honest, 0), Err(CodeRefusal::Wrong.byte()));
        assert_eq!(sharer.part(3, &again, 0), Err(CodeRefusal::Spent.byte()));
        assert_eq!(sharer.part(1, &honest, 0), Err(CodeRefusal::Spent.byte()));
        assert_eq!(sharer.offer.outcome(sharer.now), Some(JoinCodeOutcome::WrongWords));
    }

    #[test]
    fn visits_without_end_take_bounded_memory_and_are_no_guesses() {
        let mut sharer = sharer();
        for joiner in 0..200 {
            sharer.begin(joiner, "4711-amber-zebra");
        }
        assert_eq!(sharer.visits.0.len(), MAX_VISITS);
        let noise: [&[u8]; 4] = [&[], &[1], &[2, 0, 0], &[7; 60]];
        for noise in noise {
            assert_eq!(sharer.visits.answer(&sharer.offer, [9; 8], noise, sharer.now), None);
        }
        // One that was forgotten is refused, and costs nothing.
        let forgotten = sharer.begin(201, CODE);
        for joiner in 202..=255 {
            sharer.begin(joiner, "4711-amber-zebra");
        }
        let refused = Err(CodeRefusal::BadMessage.byte());
        assert_eq!(sharer.part(201, &forgotten, 0), refused);
        let keys = sharer.begin(0, CODE);
        assert!(sharer.part(0, &keys, 0).is_ok());
    }
}
