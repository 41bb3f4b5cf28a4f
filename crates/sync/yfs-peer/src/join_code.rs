//! Join codes: a number and two words that two persons say to each other, instead of a ticket.
//!
//! A code is worth 16 bits, so it must never be possible to try codes without being counted. It is
//! exchanged by SPAKE2 (`pake.rs`): each exchange is one guess, and a wrong guess ends the code.
//!
//! The number selects the code, in a local network among few, at a relay among those of strangers:
//! so numbers of codes that a relay offers are longer.

use std::{fmt, ops::RangeInclusive, str::FromStr, time::Duration};

use thiserror::Error;

use crate::join_code_words::WORDS;

/// How long a code may be used, if the caller does not choose another time.
pub const JOIN_CODE_LIFETIME: Duration = Duration::from_secs(600);

/// The number of words of a code.
const N_WORDS: usize = 2;

/// The greatest number of a code that no relay offers.
pub(crate) const MAX_LOCAL_NUMBER: u16 = 99;

/// The numbers of codes that relays offer.
pub(crate) const RELAY_NUMBERS: RangeInclusive<u16> = 1000..=9999;

/// The greatest length of a text that is parsed, in bytes.
const MAX_TEXT_LEN: usize = 64;

/// The number of first letters that identify a word.
const BEGINNING_LEN: usize = 3;

/// A short code that gives a ticket once, such as `7-amber-falcon`. Its `Debug` form shows only the
/// number.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinCode {
    number: u16,
    words: [&'static str; N_WORDS],
}

/// The reason why a join code gives no ticket. No message contains the code.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JoinCodeError {
    /// The text is not a code.
    #[error("a join code is a number of at most 4 digits and two words, such as 7-amber-falcon")]
    Malformed,
    /// A part of the text is not a word of join codes.
    #[error("word {position} of the code is not a word of join codes{}", hint(*.suggestion))]
    UnknownWord {
        /// Which of the words, from 1.
        position: usize,
        /// The word that was probably meant.
        suggestion: Option<&'static str>,
    },
    /// No peer that offers a code with this number was found.
    #[error(
        "no peer in the local network offers a code with the number {number}; it may have expired \
         or been used. `--at HOST:PORT` names the address that `yfs peer share --code` prints, \
         `--relay HOST:PORT` the relay of the peer"
    )]
    NotFound {
        /// The number of the code.
        number: u16,
    },
    /// No relay has an offer with this number.
    #[error("{relay} has no code with the number {number}; it may have expired or been used")]
    NotAtRelay {
        /// The number of the code.
        number: u16,
        /// The relay, with the word.
        relay: String,
    },
    /// The peer or the relay could not be reached.
    #[error("cannot reach {at}: {reason}")]
    Unreachable {
        /// The address.
        at: String,
        /// The reason.
        reason: String,
    },
    /// The words of the code are not those of the peer.
    #[error("the code is wrong, and is of no use any more; ask for a new one")]
    Wrong,
    /// Another attempt with a wrong code has ended the code.
    #[error("an attempt with wrong words has ended the code; ask for a new one")]
    Spent,
    /// The code has given its ticket.
    #[error("the code was used already; ask for a new one")]
    Used,
    /// The time of the code is over.
    #[error("the code has expired; ask for a new one")]
    Expired,
    /// The peer offers a code with another number.
    #[error("the peer offers a code with another number")]
    OtherNumber,
    /// The other side violated the protocol.
    #[error("the other side does not speak the protocol of join codes: {0}")]
    Fault(&'static str),
    /// The local network cannot be searched.
    #[error("cannot search the local network: {0}")]
    Lan(String),
}

impl JoinCodeError {
    /// Reports whether the code was not found, and may be found at another place.
    pub(crate) fn may_be_elsewhere(&self) -> bool {
        matches!(self, Self::NotAtRelay { .. } | Self::Unreachable { .. })
    }
}

impl JoinCode {
    /// Makes a random code that no relay offers.
    ///
    /// # Panics
    ///
    /// Panics if the operating system has no random source.
    pub fn generate() -> Self {
        Self::generate_in(1..=MAX_LOCAL_NUMBER)
    }

    /// Makes a random code that relays may offer.
    pub(crate) fn generate_for_relays() -> Self {
        Self::generate_in(RELAY_NUMBERS)
    }

    fn generate_in(numbers: RangeInclusive<u16>) -> Self {
        let random = getrandom::u64().expect("the operating system has a random source");
        let [first, second, rest @ ..] = random.to_le_bytes();
        // 2^48 numbers fall on 9,000 at most: no two are chosen with measurably different
        // frequency.
        let rest = rest.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        let n_numbers = u64::from(numbers.end() - numbers.start()) + 1;
        let number = numbers.start() + u16::try_from(rest % n_numbers).expect("it is below 9,000");
        Self { number, words: [first, second].map(|byte| WORDS[usize::from(byte)]) }
    }

    /// Reports whether a text is a code rather than a ticket: it begins with a digit.
    pub fn is_like(text: &str) -> bool {
        text.trim_start().starts_with(|first: char| first.is_ascii_digit())
    }

    /// Returns the number, which is not secret.
    pub fn number(&self) -> u16 {
        self.number
    }
}

impl fmt::Display for JoinCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)?;
        self.words.iter().try_for_each(|word| write!(f, "-{word}"))
    }
}

impl fmt::Debug for JoinCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinCode").field("number", &self.number).finish_non_exhaustive()
    }
}

impl FromStr for JoinCode {
    type Err = JoinCodeError;

    /// Reads a code in any case, with hyphens or spaces between its parts.
    fn from_str(text: &str) -> Result<Self, JoinCodeError> {
        if text.len() > MAX_TEXT_LEN {
            return Err(JoinCodeError::Malformed);
        }
        let text = text.to_ascii_lowercase();
        let is_separator = |char: char| char == '-' || char.is_whitespace();
        let parts: Vec<&str> = text.split(is_separator).filter(|part| !part.is_empty()).collect();
        let [number, typed @ ..] = &parts[..] else { return Err(JoinCodeError::Malformed) };
        let typed: &[&str; N_WORDS] = typed.try_into().map_err(|_| JoinCodeError::Malformed)?;
        let number = number.parse().ok().filter(|number| is_number(*number));
        let number = number.ok_or(JoinCodeError::Malformed)?;
        let mut words = [""; N_WORDS];
        for (at, typed) in typed.iter().enumerate() {
            let known = WORDS.iter().find(|word| *word == typed);
            words[at] = known.ok_or_else(|| JoinCodeError::UnknownWord {
                position: at + 1,
                suggestion: similar_word(typed),
            })?;
        }
        Ok(Self { number, words })
    }
}

/// Reports whether codes have a number.
fn is_number(number: u16) -> bool {
    (1..=MAX_LOCAL_NUMBER).contains(&number) || RELAY_NUMBERS.contains(&number)
}

/// Returns the word with the same beginning.
fn similar_word(typed: &str) -> Option<&'static str> {
    let beginning = typed.get(..BEGINNING_LEN)?;
    WORDS.iter().find(|word| word.starts_with(beginning)).copied()
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_written_and_as_people_type_them() {
        for _ in 0..100 {
            for code in [JoinCode::generate(), JoinCode::generate_for_relays()] {
                assert_eq!(code.to_string().parse::<JoinCode>().unwrap(), code);
            }
            assert!((1..=99).contains(&JoinCode::generate().number()));
            assert!((1000..=9999).contains(&JoinCode::generate_for_relays().number()));
        }
        let code: JoinCode = "7-amber-falcon".parse().unwrap();
        assert_eq!(code.to_string(), "7-amber-falcon");
        assert_eq!(code.number(), 7);
        for text in [" 7 amber  falcon\n", "7-AMBER-Falcon", "07-amber-falcon"] {
            assert_eq!(text.parse::<JoinCode>().unwrap(), code, "{text}");
        }
        assert!(JoinCode::is_like("7-amber-falcon") && !JoinCode::is_like("yfspeer_7-amber"));
    }

    #[test]
    fn what_is_not_a_code_is_refused_with_a_hint() {
        let message = |text: &str| text.parse::<JoinCode>().unwrap_err().to_string();
        for text in [
            "",
            "7",
            "7-amber",
            "7-amber-falcon-falcon",
            "amber-falcon-7",
            "0-amber-falcon",
            "100-amber-falcon",
            "999-amber-falcon",
            "10000-amber-falcon",
            "65543-amber-falcon",
            &"7-".repeat(40),
        ] {
            assert!(message(text).contains("a number of at most 4 digits and two words"), "{text}");
        }
        let unknown = message("7-amber-falkon");
        assert_eq!(
            unknown,
            "word 2 of the code is not a word of join codes; did you mean `falcon`?"
        );
        assert_eq!(message("7-éé-falcon"), "word 1 of the code is not a word of join codes");
        assert_eq!(message("7-zzz-falcon"), "word 1 of the code is not a word of join codes");
    }

    #[test]
    fn a_code_is_not_in_messages_for_programmers() {
        let code: JoinCode = "7-amber-falcon".parse().unwrap();
        let text = format!("{code:?}");
        assert!(text.contains('7') && !text.contains("amber") && !text.contains("falcon"));
    }
}
