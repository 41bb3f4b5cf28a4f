//! Which contacts are called, and when.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use yfs_replica::client::jittered;

use super::{MAX_CONNECTIONS, NodeShared};
use crate::{contact::PeerContact, peer_error::PeerError, peer_key::PeerId};

/// The delay before the next call of a peer after a failure: first, and at most.
pub(super) const CALL_AGAIN: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(30)];

/// How long contacts are used that were read, while nothing is committed to the store.
const CONTACTS_FOR: Duration = Duration::from_secs(30);

/// When a peer is called next.
#[derive(Debug)]
pub(super) struct CallPlan {
    pub(super) due: Instant,
    pub(super) rest: Duration,
    pub(super) is_calling: bool,
}

/// The contacts of the store when they were read.
#[derive(Debug)]
pub(super) struct KnownContacts {
    /// The commits of the store that the list shows.
    stamp: Option<i64>,
    read: Instant,
    /// The contacts, and whether each may be connected to.
    list: Arc<Vec<(PeerContact, bool)>>,
}

impl NodeShared {
    /// Returns the contacts, and whether each may be connected to.
    pub(super) fn known_contacts(&self) -> Result<Arc<Vec<(PeerContact, bool)>>, PeerError> {
        // Read before the contacts: a commit in between changes it.
        let stamp = self.member.workspace().store().commit_stamp()?;
        let mut known = self.known.lock();
        let is_current = |known: &&KnownContacts| {
            stamp.is_some() && known.stamp == stamp && known.read.elapsed() < CONTACTS_FOR
        };
        if let Some(known) = known.as_ref().filter(is_current) {
            return Ok(known.list.clone());
        }
        let mut list = Vec::new();
        for contact in self.member.contacts()? {
            let may_connect = self.may_connect(&contact)?;
            list.push((contact, may_connect));
        }
        let list = Arc::new(list);
        *known = Some(KnownContacts { stamp, read: Instant::now(), list: list.clone() });
        Ok(list)
    }

    /// Reports whether there is a way to call a contact.
    pub(super) fn has_address(&self, contact: &PeerContact) -> bool {
        let is_found = self.lan.as_ref().is_some_and(|lan| lan.has(contact.peer));
        !contact.addresses.is_empty() || is_found || self.relays.is_some()
    }

    /// Reports whether a contact may be connected to.
    pub(super) fn may_connect(&self, contact: &PeerContact) -> Result<bool, PeerError> {
        let note = self.member.note(contact.peer)?;
        if note.is_blocked || note.is_forgotten {
            return Ok(false);
        }
        match contact.certificate() {
            Some(certificate) => Ok(self.member.check_current(certificate)?.is_ok()),
            None => Ok(true),
        }
    }

    /// Returns the contacts that are to be called now.
    pub(super) fn due_calls(&self) -> Result<Vec<PeerContact>, PeerError> {
        if !self.first.is_free(Instant::now()) {
            return Ok(Vec::new());
        }
        let known = self.known_contacts()?;
        let mut contacts = Vec::new();
        for peer in self.lan.iter().flat_map(|lan| lan.found()) {
            let contact = PeerContact::unsigned(peer, Vec::new());
            if !known.iter().any(|(contact, _)| contact.peer == peer) {
                let may_connect = self.may_connect(&contact)?;
                contacts.push((contact, may_connect));
            }
        }
        let now = Instant::now();
        let mut due = Vec::new();
        for (contact, may_connect) in known.iter().chain(&contacts) {
            if !may_connect || !self.has_address(contact) || self.is_held(contact.peer) {
                continue;
            }
            let n_links = {
                let links = self.links.lock();
                if links.contains_key(&contact.peer) {
                    continue;
                }
                links.len()
            };
            let mut calls = self.calls.lock();
            let n_calling = calls.values().filter(|plan| plan.is_calling).count();
            let fresh = || CallPlan { due: now, rest: CALL_AGAIN[0], is_calling: false };
            let plan = calls.entry(contact.peer).or_insert_with(fresh);
            if plan.is_calling || plan.due > now || n_links + n_calling >= MAX_CONNECTIONS / 2 {
                continue;
            }
            plan.is_calling = true;
            due.push(contact.clone());
        }
        Ok(due)
    }

    /// Plans the next call after one ended.
    pub(super) fn plan_next_call(&self, peer: PeerId, ended: &Result<(), PeerError>) {
        let was_open = !matches!(
            ended,
            Err(PeerError::Unreachable { .. } | PeerError::Denied(_) | PeerError::Denies(_))
        );
        let is_final = matches!(ended, Err(PeerError::Denied(code)) if !code.may_pass_later());
        let mut calls = self.calls.lock();
        let Some(plan) = calls.get_mut(&peer) else { return };
        let rest = if was_open { CALL_AGAIN[0] } else { plan.rest };
        let rest = if is_final { CALL_AGAIN[1] } else { rest };
        plan.due = Instant::now() + jittered(rest);
        plan.rest = (rest * 2).min(CALL_AGAIN[1]);
        plan.is_calling = false;
        self.wake.notify_one();
    }
}
