//! The editors at one document on the servers of other peers.
//!
//! A peer sends all its editors at a document at once. Editors of this server come first: a peer
//! can neither change nor remove them, nor use the client id of one that has just left. Among peers
//! the first that names a client id has it until it leaves.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use yfs_peer::PeerId;
use yfs_sync::presence::{EXPIRY, PresenceEntry};

/// The state of an editor that has left.
pub(super) const GONE: &str = "null";

/// The most client ids that have left and are remembered.
const MAX_LEFT: usize = 10_000;

/// The editors of other peers at one document.
#[derive(Debug, Default)]
pub(crate) struct RemoteEditors {
    editors: BTreeMap<u64, RemoteEditor>,
}

#[derive(Debug)]
struct RemoteEditor {
    peer: PeerId,
    clock: u64,
    state: String,
    renewed: Duration,
}

/// The client ids of editors of this server that have left, with the time.
#[derive(Debug, Default)]
pub(super) struct LeftClients(BTreeMap<u64, Duration>);

/// The changes to send to the editors of this server.
pub(crate) type EditorChanges = Vec<(u64, u64, String)>;

impl RemoteEditors {
    /// Replaces the editors of a peer. Returns what has changed or was renewed.
    pub(crate) fn replace(
        &mut self,
        peer: PeerId,
        entries: &[PresenceEntry<'_>],
        now: Duration,
    ) -> EditorChanges {
        let ids: BTreeSet<u64> = entries.iter().map(|entry| entry.id).collect();
        let mut changes = self.remove(|id, editor| editor.peer == peer && !ids.contains(&id));
        for PresenceEntry { id, clock, state } in entries {
            let is_known = match self.editors.get(id) {
                Some(editor) if editor.peer != peer => continue,
                Some(editor) => editor.clock == *clock && editor.state == *state,
                None => false,
            };
            let (clock, state) = (*clock, (*state).to_owned());
            if !is_known {
                changes.push((*id, clock, state.clone()));
            }
            self.editors.insert(*id, RemoteEditor { peer, clock, state, renewed: now });
        }
        changes
    }

    /// Removes the editors that were not renewed in time.
    pub(crate) fn expire(&mut self, now: Duration) -> EditorChanges {
        self.remove(|_, editor| now.saturating_sub(editor.renewed) >= EXPIRY)
    }

    /// Returns the presence of each editor.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (PeerId, PresenceEntry<'_>)> {
        self.editors.iter().map(|(id, editor)| {
            let entry = PresenceEntry { id: *id, clock: editor.clock, state: &editor.state };
            (editor.peer, entry)
        })
    }

    /// Returns the clock of an editor.
    pub(crate) fn clock_of(&self, id: u64) -> Option<u64> {
        self.editors.get(&id).map(|editor| editor.clock)
    }

    /// Reports whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.editors.is_empty()
    }

    fn remove(&mut self, is_gone: impl Fn(u64, &RemoteEditor) -> bool) -> EditorChanges {
        let mut changes = Vec::new();
        self.editors.retain(|id, editor| {
            let is_gone = is_gone(*id, editor);
            if is_gone {
                // At an equal clock clients remove an editor, and its next renewal is newer.
                changes.push((*id, editor.clock, GONE.to_owned()));
            }
            !is_gone
        });
        changes
    }
}

impl LeftClients {
    /// Records the clients that have left in an awareness update of this server.
    pub(super) fn note(&mut self, entries: &[PresenceEntry<'_>], now: Duration) {
        self.0.retain(|_, left| now.saturating_sub(*left) < EXPIRY);
        for entry in entries.iter().filter(|entry| entry.state == GONE) {
            if self.0.len() < MAX_LEFT {
                self.0.insert(entry.id, now);
            }
        }
    }

    /// Reports whether a client has left a moment ago.
    pub(super) fn has(&self, id: u64, now: Duration) -> bool {
        self.0.get(&id).is_some_and(|left| now.saturating_sub(*left) < EXPIRY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    fn peer(byte: u8) -> PeerId {
        PeerId::from_bytes([byte; 32])
    }

    fn entry(id: u64, clock: u64, state: &str) -> PresenceEntry<'_> {
        PresenceEntry { id, clock, state }
    }

    fn change(id: u64, clock: u64, state: &str) -> (u64, u64, String) {
        (id, clock, state.to_owned())
    }

    #[test]
    fn a_message_replaces_the_editors_of_its_peer() {
        let mut remote = RemoteEditors::default();
        let both = [entry(7, 1, "{}"), entry(8, 1, "{}")];
        assert_eq!(remote.replace(peer(1), &both, NOW).len(), 2);
        assert_eq!(remote.replace(peer(1), &both, NOW), []);
        let one = [entry(8, 2, "{}")];
        let changes = [change(7, 1, GONE), change(8, 2, "{}")];
        assert_eq!(remote.replace(peer(1), &one, NOW), changes);
        assert_eq!(remote.replace(peer(2), &[], NOW), []);
        assert_eq!(remote.replace(peer(1), &[], NOW), [change(8, 2, GONE)]);
        assert!(remote.is_empty());
    }

    #[test]
    fn a_peer_cannot_change_the_editor_of_another() {
        let mut remote = RemoteEditors::default();
        remote.replace(peer(1), &[entry(7, 1, "{}")], NOW);
        assert_eq!(remote.replace(peer(2), &[entry(7, 9, "{\"a\":1}")], NOW), []);
        assert_eq!(remote.replace(peer(2), &[], NOW), []);
        let known: Vec<_> = remote.entries().collect();
        assert_eq!(known, [(peer(1), entry(7, 1, "{}"))]);
        // Once it has left, another may have its client id.
        remote.replace(peer(1), &[], NOW);
        assert_eq!(remote.replace(peer(2), &[entry(7, 9, "{}")], NOW), [change(7, 9, "{}")]);
    }

    #[test]
    fn an_editor_that_is_not_renewed_is_removed() {
        let mut remote = RemoteEditors::default();
        remote.replace(peer(1), &[entry(7, 1, "{}"), entry(8, 1, "{}")], NOW);
        let later = NOW + EXPIRY - Duration::from_millis(1);
        remote.replace(peer(2), &[entry(9, 1, "{}")], later);
        assert_eq!(remote.expire(later), []);
        assert_eq!(remote.expire(NOW + EXPIRY), [change(7, 1, GONE), change(8, 1, GONE)]);
        assert_eq!(remote.entries().count(), 1);
    }

    #[test]
    fn clients_that_have_left_are_remembered_for_a_while() {
        let mut left = LeftClients::default();
        left.note(&[entry(7, 2, GONE), entry(8, 1, "{}")], NOW);
        assert!(left.has(7, NOW) && !left.has(8, NOW));
        assert!(!left.has(7, NOW + EXPIRY));
        left.note(&[], NOW + EXPIRY);
        assert!(left.0.is_empty());
    }
}
