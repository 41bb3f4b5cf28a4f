//! The id of a step: all that one command, one call of a tool or one request changed.
//!
//! Every change of a step records the id, so that the step can be listed and undone as a whole.
//! The id begins with the time at which the step began: a reader of a history, latest first, has
//! seen all changes of a step once it reads changes from before that time.

use std::fmt;

use smol_str::SmolStr;
use thiserror::Error;

use crate::time::Millis;

/// The number of digits of the time, in base 36. They suffice until the year 5188.
const TIME_DIGITS: usize = 9;

/// The number of digits after the time.
const RANDOM_DIGITS: usize = 5;

/// The id of a step: 9 digits of the time at which it began, in milliseconds, and 5 random ones, in
/// base 36.
///
/// ```
/// use yfs_types::{step::StepId, time::Millis};
///
/// let step = StepId::new(Millis(1_795_296_141_108), 7);
/// assert_eq!(step.as_str(), "0mwqwyw5000007");
/// assert_eq!(step.begun_at(), Millis(1_795_296_141_108));
/// assert_eq!(StepId::parse(step.as_str()), Ok(step));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId(SmolStr);

/// The text is not the id of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the id of a step is {} digits and lower-case letters", TIME_DIGITS + RANDOM_DIGITS)]
pub struct StepIdError;

impl StepId {
    /// Makes the id of a step that begins at a time. `random` tells it from the others that begin
    /// in the same millisecond; its remainder by 36^5 is used.
    pub fn new(begun_at: Millis, random: u64) -> Self {
        let time = u64::try_from(begun_at.0).unwrap_or(0);
        let mut id = String::with_capacity(TIME_DIGITS + RANDOM_DIGITS);
        push_digits(&mut id, time, TIME_DIGITS);
        push_digits(&mut id, random, RANDOM_DIGITS);
        Self(id.into())
    }

    /// Parses an id.
    ///
    /// # Errors
    ///
    /// Fails with [`StepIdError`] unless the text is 14 digits in base 36.
    pub fn parse(text: &str) -> Result<Self, StepIdError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        let is_id = text.len() == TIME_DIGITS + RANDOM_DIGITS && text.bytes().all(is_digit);
        if is_id { Ok(Self(text.into())) } else { Err(StepIdError) }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the time at which the step began, by the clock of its author.
    pub fn begun_at(&self) -> Millis {
        let time = self.0.get(..TIME_DIGITS).and_then(|time| i64::from_str_radix(time, 36).ok());
        Millis(time.unwrap_or(0))
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes the last digits of a number in base 36.
fn push_digits(out: &mut String, number: u64, n_digits: usize) {
    let mut digits = vec![b'0'; n_digits];
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        let value = (rest % 36) as u8;
        *digit = if value < 10 { b'0' + value } else { b'a' + value - 10 };
        rest /= 36;
    }
    out.extend(digits.into_iter().map(char::from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_fourteen_digits_in_base_36() {
        for text in ["", "0mwrbf1uc0000", "0mwrbf1uc00007a", "0mwrbf1uc0000A", "0mwrbf1uc000é"] {
            assert_eq!(StepId::parse(text), Err(StepIdError), "{text}");
        }
        let last = StepId::parse("zzzzzzzzzzzzzz").unwrap();
        assert_eq!(StepId::new(last.begun_at(), u64::from(36_u32.pow(5) - 1)), last);
    }

    #[test]
    fn times_before_1970_count_as_1970() {
        assert_eq!(StepId::new(Millis(-1), 0).begun_at(), Millis(0));
    }
}
