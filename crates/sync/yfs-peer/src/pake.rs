//! The exchange by which two sides that know a join code agree on a key: SPAKE2 on the curve of
//! Ed25519 (decision 71), a confirmation, and the ticket sealed with the key.
//!
//! # Invariants
//!
//! - A side learns from one exchange whether one guess of the code is right, and nothing else. An
//!   eavesdropper learns nothing.
//! - The sharer sends nothing that depends on the key before the joiner has confirmed it, so that
//!   every guess at the sharer shows itself there.

use blake3::Hash;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use spake2::{Ed25519Group, Identity, Password, Spake2};

use crate::join_code::JoinCode;

/// The length of a message of SPAKE2, in bytes: the side, and a point.
pub(crate) const PAKE_LEN: usize = 33;

/// The length of a confirmation, in bytes.
pub(crate) const CONFIRMATION_LEN: usize = 32;

/// The context of the key of an exchange.
const KEY_CONTEXT: &str = "yfs join code key v1";

/// The names of the two sides.
const JOINER: &[u8] = b"yfs join code joiner";
const SHARER: &[u8] = b"yfs join code sharer";

/// The side of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PakeSide {
    /// The side that has the code from a person.
    Joiner,
    /// The side that made the code.
    Sharer,
}

/// An exchange whose message was made, and that waits for the message of the other side.
pub(crate) struct PakeExchange {
    state: Spake2<Ed25519Group>,
    side: PakeSide,
    own: [u8; PAKE_LEN],
}

/// The keys of a finished exchange. Both sides have the same if they used the same code.
pub(crate) struct PakeKeys {
    confirmation: Hash,
    seal: Hash,
}

impl PakeExchange {
    /// Begins an exchange.
    pub(crate) fn start(side: PakeSide, code: &JoinCode) -> Self {
        let password = Password::new(code.to_string());
        let [joiner, sharer] = [JOINER, SHARER].map(Identity::new);
        let (state, own) = match side {
            PakeSide::Joiner => Spake2::start_a(&password, &joiner, &sharer),
            PakeSide::Sharer => Spake2::start_b(&password, &joiner, &sharer),
        };
        let own = own.try_into().expect("a message of SPAKE2 has 33 bytes");
        Self { state, side, own }
    }

    /// Returns the message for the other side.
    pub(crate) fn message(&self) -> [u8; PAKE_LEN] {
        self.own
    }

    /// Returns the keys; `None` if the message of the other side is not a point of its side.
    pub(crate) fn finish(self, theirs: &[u8; PAKE_LEN]) -> Option<PakeKeys> {
        let secret = self.state.finish(theirs).ok()?;
        let messages = match self.side {
            PakeSide::Joiner => [&self.own, theirs],
            PakeSide::Sharer => [theirs, &self.own],
        };
        let material = [&secret[..], messages[0], messages[1]].concat();
        let key = blake3::derive_key(KEY_CONTEXT, &material);
        Some(PakeKeys {
            confirmation: blake3::keyed_hash(&key, b"confirmation"),
            seal: blake3::keyed_hash(&key, b"seal"),
        })
    }
}

impl PakeKeys {
    /// Returns what shows the sharer that the joiner has the same keys.
    pub(crate) fn confirmation(&self) -> [u8; CONFIRMATION_LEN] {
        *self.confirmation.as_bytes()
    }

    /// Reports whether the joiner has the same keys, in constant time.
    pub(crate) fn are_confirmed_by(&self, confirmation: &[u8; CONFIRMATION_LEN]) -> bool {
        self.confirmation == Hash::from_bytes(*confirmation)
    }

    /// Seals the only message of an exchange.
    pub(crate) fn seal(self, mut message: Vec<u8>) -> Vec<u8> {
        let key = self.seal_key();
        key.seal_in_place_append_tag(only_nonce(), Aad::empty(), &mut message)
            .expect("a ticket is shorter than the limit of the cipher");
        message
    }

    /// Opens the message; `None` if it was not sealed with these keys.
    pub(crate) fn open(self, mut sealed: Vec<u8>) -> Option<Vec<u8>> {
        let len =
            self.seal_key().open_in_place(only_nonce(), Aad::empty(), &mut sealed).ok()?.len();
        sealed.truncate(len);
        Some(sealed)
    }

    fn seal_key(&self) -> LessSafeKey {
        let key = UnboundKey::new(&CHACHA20_POLY1305, self.seal.as_bytes());
        LessSafeKey::new(key.expect("a hash has the length of a key"))
    }
}

/// Returns the nonce of the only message: each exchange has its own key.
fn only_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> JoinCode {
        text.parse().unwrap()
    }

    fn keys(joiner: &str, sharer: &str) -> [PakeKeys; 2] {
        let joiner = PakeExchange::start(PakeSide::Joiner, &code(joiner));
        let sharer = PakeExchange::start(PakeSide::Sharer, &code(sharer));
        let messages = [joiner.message(), sharer.message()];
        [joiner.finish(&messages[1]).unwrap(), sharer.finish(&messages[0]).unwrap()]
    }

    #[test]
    fn the_same_code_gives_the_same_keys() {
        let [joiner, sharer] = keys("7-amber-falcon", "7-amber-falcon");
        assert!(sharer.are_confirmed_by(&joiner.confirmation()));
        let sealed = sharer.seal(b"ticket".to_vec());
        assert!(!sealed.windows(6).any(|part| part == b"ticket"));
        assert_eq!(joiner.open(sealed), Some(b"ticket".to_vec()));
    }

    #[test]
    fn another_code_gives_other_keys() {
        for wrong in ["7-amber-zebra", "8-amber-falcon", "7-falcon-amber"] {
            let [joiner, sharer] = keys(wrong, "7-amber-falcon");
            assert!(!sharer.are_confirmed_by(&joiner.confirmation()), "{wrong}");
            assert_eq!(joiner.open(sharer.seal(b"ticket".to_vec())), None, "{wrong}");
        }
    }

    #[test]
    fn a_changed_or_returned_message_gives_no_common_key() {
        let start = |side| PakeExchange::start(side, &code("7-amber-falcon"));
        // A message that comes back to its sender.
        let joiner = start(PakeSide::Joiner);
        let own = joiner.message();
        assert!(joiner.finish(&own).is_none());
        for at in 0..PAKE_LEN {
            let (joiner, sharer) = (start(PakeSide::Joiner), start(PakeSide::Sharer));
            let (mut changed, answer) = (joiner.message(), sharer.message());
            changed[at] ^= 1;
            let Some(keys) = sharer.finish(&changed) else { continue };
            let joiner = joiner.finish(&answer).unwrap();
            assert!(!keys.are_confirmed_by(&joiner.confirmation()), "byte {at}");
        }
        // A sealed ticket that was changed on its way.
        let [joiner, sharer] = keys("7-amber-falcon", "7-amber-falcon");
        let mut sealed = sharer.seal(b"ticket".to_vec());
        sealed[0] ^= 1;
        assert_eq!(joiner.open(sealed), None);
    }

    /// All that goes over the wire differs at each exchange, so that no table of codes helps an
    /// eavesdropper.
    #[test]
    fn no_message_repeats() {
        let start = |side| PakeExchange::start(side, &code("7-amber-falcon")).message();
        for side in [PakeSide::Joiner, PakeSide::Sharer] {
            assert_ne!(start(side), start(side));
        }
        let [one, _] = keys("7-amber-falcon", "7-amber-falcon");
        let [other, _] = keys("7-amber-falcon", "7-amber-falcon");
        assert_ne!(one.confirmation(), other.confirmation());
    }
}
