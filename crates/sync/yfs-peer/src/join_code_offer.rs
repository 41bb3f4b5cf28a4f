//! A join code that is offered, and whether it may still be used. Does no I/O, reads no clock.
//!
//! # Invariants
//!
//! - The ticket leaves at most once, sealed for the holder of the code.
//! - The first wrong confirmation ends the code, also if others are on their way.

use std::time::Instant;

use parking_lot::Mutex;

use crate::{
    join_code::{JoinCode, JoinCodeError},
    pake::{CONFIRMATION_LEN, PAKE_LEN, PakeExchange, PakeKeys, PakeSide},
};

/// The first bytes of an exchange.
const MAGIC: [u8; 8] = *b"yfscode2";

/// The length of the first message of the joiner, in bytes: the protocol, the number of the code, a
/// message of SPAKE2.
pub(crate) const CODE_HELLO_LEN: usize = MAGIC.len() + 2 + PAKE_LEN;

/// The greatest length of a sealed ticket, in bytes.
pub(crate) const MAX_SEALED_LEN: usize = 4 << 10;

/// How a code ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinCodeOutcome {
    /// It gave its ticket.
    Used,
    /// A peer tried other words.
    WrongWords,
    /// Its time is over.
    Expired,
}

/// Why the sharer refuses, as one byte on the wire. Zero stands for no refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeRefusal {
    OtherNumber = 1,
    Expired = 2,
    Used = 3,
    Spent = 4,
    Wrong = 5,
    BadMessage = 6,
}

/// A code that is offered.
pub(crate) struct CodeOffer {
    code: JoinCode,
    ticket: String,
    ends: Instant,
    outcome: Mutex<Option<JoinCodeOutcome>>,
}

impl CodeOffer {
    /// Makes an offer that gives a ticket until a time.
    pub(crate) fn new(code: JoinCode, ticket: String, ends: Instant) -> Self {
        Self { code, ticket, ends, outcome: Mutex::default() }
    }

    /// Returns the time at which it ends.
    pub(crate) fn ends(&self) -> Instant {
        self.ends
    }

    /// Returns the number of the code.
    pub(crate) fn number(&self) -> u16 {
        self.code.number()
    }

    /// Returns how the code ended, if it has.
    pub(crate) fn outcome(&self, now: Instant) -> Option<JoinCodeOutcome> {
        let mut outcome = self.outcome.lock();
        if outcome.is_none() && now >= self.ends {
            *outcome = Some(JoinCodeOutcome::Expired);
        }
        *outcome
    }

    /// Answers the first message of a joiner. It is no guess yet: the answer does not depend on the
    /// code in a way that the joiner could check.
    pub(crate) fn begin(
        &self,
        hello: &[u8; CODE_HELLO_LEN],
        now: Instant,
    ) -> Result<(PakeKeys, [u8; PAKE_LEN]), CodeRefusal> {
        let (number, message) = read_hello(hello).ok_or(CodeRefusal::BadMessage)?;
        if number != self.number() {
            return Err(CodeRefusal::OtherNumber);
        }
        self.check_open(now)?;
        let exchange = PakeExchange::start(PakeSide::Sharer, &self.code);
        let answer = exchange.message();
        let keys = exchange.finish(&message).ok_or(CodeRefusal::BadMessage)?;
        Ok((keys, answer))
    }

    /// Checks the confirmation of a joiner, and returns the sealed ticket. A wrong one ends the
    /// code.
    pub(crate) fn conclude(
        &self,
        keys: PakeKeys,
        confirmation: &[u8; CONFIRMATION_LEN],
        now: Instant,
    ) -> Result<Vec<u8>, CodeRefusal> {
        // The state is decided under one lock, so that of many guesses at once the first counts.
        let mut outcome = self.outcome.lock();
        check_state(*outcome, now >= self.ends)?;
        if !keys.are_confirmed_by(confirmation) {
            *outcome = Some(JoinCodeOutcome::WrongWords);
            return Err(CodeRefusal::Wrong);
        }
        *outcome = Some(JoinCodeOutcome::Used);
        drop(outcome);
        Ok(keys.seal(self.ticket.clone().into_bytes()))
    }

    fn check_open(&self, now: Instant) -> Result<(), CodeRefusal> {
        check_state(*self.outcome.lock(), now >= self.ends)
    }
}

impl CodeRefusal {
    /// Returns the byte on the wire.
    pub(crate) fn byte(self) -> u8 {
        self as u8
    }

    /// Returns what a byte on the wire means to the joiner.
    pub(crate) fn error_of(byte: u8) -> JoinCodeError {
        match byte {
            1 => JoinCodeError::OtherNumber,
            2 => JoinCodeError::Expired,
            3 => JoinCodeError::Used,
            4 => JoinCodeError::Spent,
            5 => JoinCodeError::Wrong,
            _ => JoinCodeError::Fault("it does not accept the message"),
        }
    }
}

fn check_state(outcome: Option<JoinCodeOutcome>, is_over: bool) -> Result<(), CodeRefusal> {
    match outcome {
        Some(JoinCodeOutcome::Used) => Err(CodeRefusal::Used),
        Some(JoinCodeOutcome::WrongWords) => Err(CodeRefusal::Spent),
        Some(JoinCodeOutcome::Expired) => Err(CodeRefusal::Expired),
        None if is_over => Err(CodeRefusal::Expired),
        None => Ok(()),
    }
}

/// Makes the first message of a joiner.
pub(crate) fn code_hello(number: u16, message: [u8; PAKE_LEN]) -> [u8; CODE_HELLO_LEN] {
    let bytes = [&MAGIC[..], &number.to_be_bytes(), &message].concat();
    bytes.try_into().expect("the lengths were added")
}

fn read_hello(hello: &[u8; CODE_HELLO_LEN]) -> Option<(u16, [u8; PAKE_LEN])> {
    let (number, message) = hello.strip_prefix(&MAGIC)?.split_first_chunk()?;
    Some((u16::from_be_bytes(*number), message.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    struct Joiner {
        keys: PakeKeys,
        sharers: PakeKeys,
    }

    fn offer(now: Instant) -> CodeOffer {
        let code = "7-amber-falcon".parse().unwrap();
        CodeOffer::new(code, "yfspeer_ticket".to_owned(), now + 10 * MINUTE)
    }

    /// Exchanges the first messages with a code.
    fn begin(offer: &CodeOffer, code: &str, now: Instant) -> Result<Joiner, CodeRefusal> {
        let code: JoinCode = code.parse().unwrap();
        let exchange = PakeExchange::start(PakeSide::Joiner, &code);
        let (sharers, answer) = offer.begin(&code_hello(code.number(), exchange.message()), now)?;
        Ok(Joiner { keys: exchange.finish(&answer).unwrap(), sharers })
    }

    fn redeem(offer: &CodeOffer, code: &str, now: Instant) -> Result<String, CodeRefusal> {
        conclude(offer, begin(offer, code, now)?, now)
    }

    fn conclude(offer: &CodeOffer, joiner: Joiner, now: Instant) -> Result<String, CodeRefusal> {
        let confirmation = joiner.keys.confirmation();
        let sealed = offer.conclude(joiner.sharers, &confirmation, now)?;
        Ok(String::from_utf8(joiner.keys.open(sealed).unwrap()).unwrap())
    }

    #[test]
    fn a_code_gives_its_ticket_once() {
        let now = Instant::now();
        let offer = offer(now);
        assert_eq!(redeem(&offer, "7-amber-falcon", now).as_deref(), Ok("yfspeer_ticket"));
        assert_eq!(redeem(&offer, "7-amber-falcon", now), Err(CodeRefusal::Used));
        assert_eq!(offer.outcome(now), Some(JoinCodeOutcome::Used));
    }

    #[test]
    fn a_wrong_guess_costs_the_code() {
        let now = Instant::now();
        let offer = offer(now);
        assert_eq!(redeem(&offer, "7-amber-zebra", now), Err(CodeRefusal::Wrong));
        assert_eq!(redeem(&offer, "7-amber-falcon", now), Err(CodeRefusal::Spent));
        assert_eq!(offer.outcome(now), Some(JoinCodeOutcome::WrongWords));
    }

    /// Exchanges that all begin before the first guess are one guess.
    #[test]
    fn guesses_at_once_are_one() {
        let now = Instant::now();
        let offer = offer(now);
        let honest = begin(&offer, "7-amber-falcon", now).unwrap();
        let joiners: Vec<Joiner> =
            (0..30).map(|_| begin(&offer, "7-amber-zebra", now).unwrap()).collect();
        let mut ends = joiners.into_iter().map(|joiner| conclude(&offer, joiner, now));
        assert_eq!(ends.next(), Some(Err(CodeRefusal::Wrong)));
        assert!(ends.all(|ended| ended == Err(CodeRefusal::Spent)));
        assert_eq!(conclude(&offer, honest, now), Err(CodeRefusal::Spent));
    }

    /// What a joiner receives before it confirms does not tell it whether a guess is right, so that
    /// an exchange that is broken off costs nothing.
    #[test]
    fn an_exchange_that_is_broken_off_is_no_guess() {
        let now = Instant::now();
        let offer = offer(now);
        for _ in 0..20 {
            begin(&offer, "7-amber-zebra", now).unwrap();
        }
        assert_eq!(redeem(&offer, "7-amber-falcon", now).as_deref(), Ok("yfspeer_ticket"));
    }

    #[test]
    fn a_code_ends_in_the_middle_of_an_exchange_as_well() {
        let now = Instant::now();
        let late = now + 10 * MINUTE;
        let offer = offer(now);
        let joiner = begin(&offer, "7-amber-falcon", late - MINUTE).unwrap();
        assert_eq!(conclude(&offer, joiner, late), Err(CodeRefusal::Expired));
        assert_eq!(redeem(&offer, "7-amber-falcon", late), Err(CodeRefusal::Expired));
        assert_eq!(offer.outcome(late - MINUTE), None);
        assert_eq!(offer.outcome(late), Some(JoinCodeOutcome::Expired));
    }

    #[test]
    fn other_numbers_and_noise_cost_nothing() {
        let now = Instant::now();
        let offer = offer(now);
        assert_eq!(redeem(&offer, "8-amber-falcon", now), Err(CodeRefusal::OtherNumber));
        let noise = [[0xff; CODE_HELLO_LEN], code_hello(7, [0xff; PAKE_LEN])];
        for hello in noise {
            assert_eq!(offer.begin(&hello, now).err(), Some(CodeRefusal::BadMessage));
        }
        assert_eq!(redeem(&offer, "7-amber-falcon", now).as_deref(), Ok("yfspeer_ticket"));
    }

    #[test]
    fn refusals_have_their_numbers() {
        for refusal in [
            CodeRefusal::OtherNumber,
            CodeRefusal::Expired,
            CodeRefusal::Used,
            CodeRefusal::Spent,
            CodeRefusal::Wrong,
        ] {
            let error = format!("{:?}", CodeRefusal::error_of(refusal.byte()));
            assert_eq!(error, format!("{refusal:?}"));
        }
    }
}
