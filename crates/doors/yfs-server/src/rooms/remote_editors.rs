//! The editors at one document on the servers of other peers.
//!
//! A peer sends all its editors at a document at once. Editors of this server come first: a peer
//! can neither change nor remove them, nor use the client id of one that has just left. Among peers
//! the first that names a client id has it until it leaves.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use yfs_engine::id::ClientId;
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
    /// The clock of its peer.
    clock: u64,
    /// The clock at which the editors of this server are sent its state. Clients remember the clock
    /// of an editor that left, and ignore a state at that clock.
    shown: u64,
    state: String,
    renewed: Duration,
    /// When the clock that is shown was advanced.
    changed: Duration,
}

/// The client ids of editors of this server that have left, with the time.
#[derive(Debug, Default)]
pub(super) struct LeftClients(BTreeMap<u64, Duration>);

/// The changes to send to the editors of this server.
pub(crate) type EditorChanges = Vec<(u64, u64, String)>;

impl RemoteEditors {
    /// Replaces the editors of a peer; `left_clock` is the clock at which an editor was shown last
    /// before it left. Returns what has changed.
    pub(crate) fn replace(
        &mut self,
        peer: PeerId,
        entries: &[PresenceEntry<'_>],
        left_clock: impl Fn(u64) -> Option<u64>,
        now: Duration,
    ) -> EditorChanges {
        let ids: BTreeSet<u64> = entries.iter().map(|entry| entry.id).collect();
        let mut changes = self.remove(|id, editor| editor.peer == peer && !ids.contains(&id));
        for PresenceEntry { id, clock, state } in entries {
            let (clock, before) = match self.editors.get_mut(id) {
                Some(editor) if editor.peer != peer => continue,
                Some(editor) if editor.clock == *clock && editor.state == *state => {
                    editor.renewed = now;
                    continue;
                }
                Some(editor) => (*clock, Some(editor.shown)),
                None => (*clock, left_clock(*id)),
            };
            let shown = clock.max(before.map_or(0, next_clock));
            let state = (*state).to_owned();
            changes.push((*id, shown, state.clone()));
            let (renewed, changed) = (now, now);
            let editor = RemoteEditor { peer, clock, shown, state, renewed, changed };
            self.editors.insert(*id, editor);
        }
        changes
    }

    /// Advances the clocks of all editors that have not changed since an editor of this server left
    /// that is back now. Returns their states.
    pub(crate) fn advance_unchanged(&mut self, left: Duration, now: Duration) -> EditorChanges {
        let unchanged = self.editors.iter_mut().filter(|(_, editor)| editor.changed <= left);
        let advanced = unchanged.map(|(id, editor)| {
            (editor.shown, editor.changed) = (next_clock(editor.shown), now);
            (*id, editor.shown, editor.state.clone())
        });
        advanced.collect()
    }

    /// Removes the editors that were not renewed in time.
    pub(crate) fn expire(&mut self, now: Duration) -> EditorChanges {
        self.remove(|_, editor| now.saturating_sub(editor.renewed) >= EXPIRY)
    }

    /// Returns the presence of each editor.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (PeerId, PresenceEntry<'_>)> {
        self.editors.iter().map(|(id, editor)| {
            let entry = PresenceEntry { id: *id, clock: editor.shown, state: &editor.state };
            (editor.peer, entry)
        })
    }

    /// Returns the clock at which an editor is shown.
    pub(crate) fn clock_of(&self, id: u64) -> Option<u64> {
        self.editors.get(&id).map(|editor| editor.shown)
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
                changes.push((*id, editor.shown, GONE.to_owned()));
            }
            !is_gone
        });
        changes
    }
}

/// Returns the clock after another, or the greatest that JavaScript can represent.
fn next_clock(clock: u64) -> u64 {
    (clock + 1).min(ClientId::LIMIT - 1)
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
        assert_eq!(remote.replace(peer(1), &both, |_| None, NOW).len(), 2);
        assert_eq!(remote.replace(peer(1), &both, |_| None, NOW), []);
        let one = [entry(8, 2, "{}")];
        let changes = [change(7, 1, GONE), change(8, 2, "{}")];
        assert_eq!(remote.replace(peer(1), &one, |_| None, NOW), changes);
        assert_eq!(remote.replace(peer(2), &[], |_| None, NOW), []);
        assert_eq!(remote.replace(peer(1), &[], |_| None, NOW), [change(8, 2, GONE)]);
        assert!(remote.is_empty());
    }

    #[test]
    fn a_peer_cannot_change_the_editor_of_another() {
        let mut remote = RemoteEditors::default();
        remote.replace(peer(1), &[entry(7, 1, "{}")], |_| None, NOW);
        assert_eq!(remote.replace(peer(2), &[entry(7, 9, "{\"a\":1}")], |_| None, NOW), []);
        assert_eq!(remote.replace(peer(2), &[], |_| None, NOW), []);
        let known: Vec<_> = remote.entries().collect();
        assert_eq!(known, [(peer(1), entry(7, 1, "{}"))]);
        // Once it has left, another may have its client id.
        remote.replace(peer(1), &[], |_| None, NOW);
        assert_eq!(
            remote.replace(peer(2), &[entry(7, 9, "{}")], |_| None, NOW),
            [change(7, 9, "{}")]
        );
    }

    #[test]
    fn an_editor_that_is_not_renewed_is_removed() {
        let mut remote = RemoteEditors::default();
        remote.replace(peer(1), &[entry(7, 1, "{}"), entry(8, 1, "{}")], |_| None, NOW);
        let later = NOW + EXPIRY - Duration::from_millis(1);
        remote.replace(peer(2), &[entry(9, 1, "{}")], |_| None, later);
        assert_eq!(remote.expire(later), []);
        assert_eq!(remote.expire(NOW + EXPIRY), [change(7, 1, GONE), change(8, 1, GONE)]);
        assert_eq!(remote.entries().count(), 1);
    }

    /// An editor whose peer was out of reach stayed invisible until it was renewed twice.
    #[test]
    fn an_editor_that_is_back_is_shown_at_a_clock_that_others_do_not_know() {
        let mut remote = RemoteEditors::default();
        let same = [entry(7, 5, "{}")];
        assert_eq!(remote.replace(peer(1), &same, |_| None, NOW), [change(7, 5, "{}")]);
        assert_eq!(remote.replace(peer(1), &[], |_| None, NOW), [change(7, 5, GONE)]);
        assert_eq!(remote.replace(peer(1), &same, |_| Some(5), NOW), [change(7, 6, "{}")]);
        // Its next move has the clock at which it was shown.
        let moved = [entry(7, 6, "{\"a\":1}")];
        assert_eq!(remote.replace(peer(1), &moved, |_| None, NOW), [change(7, 7, "{\"a\":1}")]);
        assert_eq!(remote.clock_of(7), Some(7));
        // An editor of this server that was away since has forgotten the state, not the clock.
        let later = NOW + Duration::from_secs(1);
        assert_eq!(remote.advance_unchanged(NOW, later), [change(7, 8, "{\"a\":1}")]);
        assert_eq!(remote.advance_unchanged(NOW, later), []);
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
