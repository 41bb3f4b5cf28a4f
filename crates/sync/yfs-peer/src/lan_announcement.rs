//! What a peer announces in the local network: a text by which the members of its workspace
//! recognize it, and from which others learn nothing.
//!
//! The text is random to each reader that does not know both the owner's public key and the
//! workspace's id, which are in tickets. Each start of a peer has another text.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use yfs_engine::id::WorkspaceId;

use crate::peer_key::{KEY_LEN, PeerId};

/// The context of the key of a group.
const GROUP_CONTEXT: &str = "yfs peer lan group v1";

/// The length of the random bytes of an announcement, and of its tag.
pub(crate) const NONCE_LEN: usize = 16;
const TAG_LEN: usize = 16;

/// The length of an announcement, in bytes.
const ANNOUNCEMENT_LEN: usize = NONCE_LEN + KEY_LEN + TAG_LEN;

/// The secret of a group by which its members recognize each other in a local network.
#[derive(Clone)]
pub(crate) struct LanGroupKey([u8; KEY_LEN]);

impl LanGroupKey {
    /// Derives the key of an owner's workspace.
    pub(crate) fn of(owner: PeerId, workspace: &WorkspaceId) -> Self {
        let material = [owner.as_bytes(), workspace.as_str().as_bytes()].concat();
        Self(blake3::derive_key(GROUP_CONTEXT, &material))
    }

    /// Returns the text that announces a peer of the group.
    pub(crate) fn announce(&self, peer: PeerId, nonce: [u8; NONCE_LEN]) -> String {
        let masked = self.mask(nonce, *peer.as_bytes());
        let bytes = [&nonce[..], &masked, &self.tag(&nonce, &masked)].concat();
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the peer that a text announces; `None` if the text is not one of this group.
    pub(crate) fn read(&self, text: &str) -> Option<PeerId> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let bytes: [u8; ANNOUNCEMENT_LEN] = bytes.try_into().ok()?;
        let (nonce, rest) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let (masked, tag) = rest.split_first_chunk::<KEY_LEN>()?;
        (self.tag(nonce, masked) == tag).then(|| PeerId::from_bytes(self.mask(*nonce, *masked)))
    }

    /// Adds to a key the bytes that belong to a nonce. A second time gives the key back.
    fn mask(&self, nonce: [u8; NONCE_LEN], mut key: [u8; KEY_LEN]) -> [u8; KEY_LEN] {
        let pad = blake3::keyed_hash(&self.0, &[b"mask".as_slice(), &nonce].concat());
        key.iter_mut().zip(pad.as_bytes()).for_each(|(byte, pad)| *byte ^= pad);
        key
    }

    fn tag(&self, nonce: &[u8; NONCE_LEN], masked: &[u8; KEY_LEN]) -> [u8; TAG_LEN] {
        let hash = blake3::keyed_hash(&self.0, &[b"tag".as_slice(), nonce, masked].concat());
        let mut tag = [0; TAG_LEN];
        tag.copy_from_slice(&hash.as_bytes()[..TAG_LEN]);
        tag
    }
}

impl std::fmt::Debug for LanGroupKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LanGroupKey").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer_key::PeerSecretKey;

    fn id(seed: u8) -> PeerId {
        PeerSecretKey::from_seed([seed; KEY_LEN]).id()
    }

    fn group(owner: u8, workspace: &str) -> LanGroupKey {
        LanGroupKey::of(id(owner), &WorkspaceId::parse(workspace).unwrap())
    }

    #[test]
    fn members_recognize_each_other_and_others_do_not() {
        let here = group(1, "abcdefghijklmnopqrstu");
        let text = here.announce(id(7), [9; NONCE_LEN]);
        assert_eq!(here.read(&text), Some(id(7)));
        // Another owner, and another workspace of the same owner.
        assert_eq!(group(2, "abcdefghijklmnopqrstu").read(&text), None);
        assert_eq!(group(1, "abcdefghijklmnopqrstv").read(&text), None);
    }

    #[test]
    fn a_text_has_no_part_in_common_with_the_next_of_the_same_peer() {
        let here = group(1, "abcdefghijklmnopqrstu");
        let decode = |text: String| URL_SAFE_NO_PAD.decode(text).unwrap();
        let first = decode(here.announce(id(7), [1; NONCE_LEN]));
        let second = decode(here.announce(id(7), [2; NONCE_LEN]));
        for part in first.windows(4) {
            assert!(!second.windows(4).any(|other| other == part));
            assert!(!id(7).as_bytes().windows(4).any(|other| other == part));
            assert!(!id(1).as_bytes().windows(4).any(|other| other == part));
        }
    }

    #[test]
    fn a_changed_text_is_of_no_group() {
        let here = group(1, "abcdefghijklmnopqrstu");
        let bytes = URL_SAFE_NO_PAD.decode(here.announce(id(7), [9; NONCE_LEN])).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(here.read(&URL_SAFE_NO_PAD.encode(changed)), None, "byte {at}");
        }
        for text in ["", "AAAA", "!", &URL_SAFE_NO_PAD.encode([0; 200])] {
            assert_eq!(here.read(text), None);
        }
    }
}
