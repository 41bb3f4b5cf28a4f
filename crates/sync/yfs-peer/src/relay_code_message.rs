//! The messages of the exchange of a join code through a relay (`docs/format/relay.md`). Each fits
//! a datagram, and each of the joiner may be repeated: the sharer repeats its answer.

use crate::{
    join_code_offer::{CODE_HELLO_LEN, MAX_SEALED_LEN},
    pake::{CONFIRMATION_LEN, PAKE_LEN},
};

/// The greatest length of a part of a sealed ticket, in bytes.
pub(crate) const PART_LEN: usize = 1024;

/// The most parts of a sealed ticket.
pub(crate) const MAX_PARTS: usize = MAX_SEALED_LEN.div_ceil(PART_LEN);

const BEGIN: u8 = 1;
const CONFIRM: u8 = 2;

/// The byte that stands for no refusal.
const ACCEPTED: u8 = 0;

/// A message of the joiner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinerMessage {
    /// The first message.
    Begin([u8; CODE_HELLO_LEN]),
    /// The confirmation, which asks for a part of the sealed ticket.
    Confirm { confirmation: [u8; CONFIRMATION_LEN], part: u8 },
}

/// A message of the sharer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SharerMessage {
    /// The answer to the first message: one of SPAKE2, or the byte of a refusal.
    Begun(Result<[u8; PAKE_LEN], u8>),
    /// The answer to the confirmation: a part of the sealed ticket and the number of parts, or the
    /// byte of a refusal.
    Confirmed { part: u8, answer: Result<TicketPart, u8> },
}

/// A part of a sealed ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TicketPart {
    pub(crate) n_parts: u8,
    pub(crate) bytes: Vec<u8>,
}

impl JoinerMessage {
    /// Encodes a message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Begin(hello) => [&[BEGIN], &hello[..]].concat(),
            Self::Confirm { confirmation, part } => [&[CONFIRM, *part], &confirmation[..]].concat(),
        }
    }

    /// Decodes a message.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [BEGIN, hello @ ..] => Some(Self::Begin(hello.try_into().ok()?)),
            [CONFIRM, part, confirmation @ ..] => {
                Some(Self::Confirm { confirmation: confirmation.try_into().ok()?, part: *part })
            }
            _ => None,
        }
    }
}

impl SharerMessage {
    /// Encodes a message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Begun(Ok(message)) => [&[BEGIN, ACCEPTED], &message[..]].concat(),
            Self::Begun(Err(refusal)) => vec![BEGIN, *refusal],
            Self::Confirmed { part, answer: Ok(TicketPart { n_parts, bytes }) } => {
                [&[CONFIRM, *part, ACCEPTED, *n_parts], &bytes[..]].concat()
            }
            Self::Confirmed { part, answer: Err(refusal) } => vec![CONFIRM, *part, *refusal],
        }
    }

    /// Decodes a message.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [BEGIN, ACCEPTED, message @ ..] => Some(Self::Begun(Ok(message.try_into().ok()?))),
            [BEGIN, refusal] => Some(Self::Begun(Err(*refusal))),
            [CONFIRM, part, ACCEPTED, n_parts, bytes @ ..] => {
                let is_valid = (1..=MAX_PARTS).contains(&usize::from(*n_parts))
                    && part < n_parts
                    && (1..=PART_LEN).contains(&bytes.len());
                let answer = Ok(TicketPart { n_parts: *n_parts, bytes: bytes.to_vec() });
                is_valid.then_some(Self::Confirmed { part: *part, answer })
            }
            [CONFIRM, part, refusal] if *refusal != ACCEPTED => {
                Some(Self::Confirmed { part: *part, answer: Err(*refusal) })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_are_decoded_as_they_were_encoded() {
        let confirmation = [3; CONFIRMATION_LEN];
        for message in [
            JoinerMessage::Begin([7; CODE_HELLO_LEN]),
            JoinerMessage::Confirm { confirmation, part: 2 },
        ] {
            assert_eq!(JoinerMessage::decode(&message.encode()), Some(message));
        }
        let part = |part, n_parts, len| SharerMessage::Confirmed {
            part,
            answer: Ok(TicketPart { n_parts, bytes: vec![5; len] }),
        };
        for message in [
            SharerMessage::Begun(Ok([9; PAKE_LEN])),
            SharerMessage::Begun(Err(4)),
            part(0, 1, 1),
            part(3, 4, PART_LEN),
            SharerMessage::Confirmed { part: 1, answer: Err(5) },
        ] {
            assert_eq!(SharerMessage::decode(&message.encode()), Some(message));
        }
        // Of no part, too many, one after the last, an empty one, and a long one.
        for message in
            [part(0, 0, 1), part(0, 5, 1), part(2, 2, 1), part(0, 1, 0), part(0, 1, PART_LEN + 1)]
        {
            assert_eq!(SharerMessage::decode(&message.encode()), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..60), kind in 0u8..4,
        ) {
            let bytes = [&[kind], &bytes[..]].concat();
            if let Some(message) = JoinerMessage::decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes.clone());
            }
            if let Some(message) = SharerMessage::decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }
}
